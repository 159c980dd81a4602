"""The two tools a model has."""

from __future__ import annotations

from typing import Any, Final

from pagefault.model.defaults import FAULT_LEVEL, SEARCH_LIMIT
from pagefault.model.kinds import FaultReason, Modality
from pagefault.model.request import ToolSpec
from pagefault.paging.fault import FaultLimits

PAGE_FAULT: Final = "page_fault"
SEARCH_PAGES: Final = "search_pages"
ARCHIVAL_SEARCH: Final = "archival_memory_search"
CONVERSATION_SEARCH: Final = "conversation_search"
MEMORY_TOOLS: Final = frozenset(
    {
        *("core_memory_append", "core_memory_replace", "archival_memory_insert"),
        *(ARCHIVAL_SEARCH, CONVERSATION_SEARCH),
    }
)
"""The tools of core and archival memory, by the names of requirement 003."""
SEARCH_LIMIT_MAX: Final = 50


def vm_tools(limits: FaultLimits) -> tuple[ToolSpec, ...]:
    """Sorted by name and frozen, since tools come first in every provider's cached prefix."""
    reason: dict[str, Any] = {
        "type": "string",
        "enum": [str(reason) for reason in limits.reasons],
        "description": "Why it is needed",
    }
    required = ["page_id"]
    if FaultReason.RESOLVE_REFERENCE in limits.reasons:
        reason["default"] = str(FaultReason.RESOLVE_REFERENCE)
    else:
        required.append("reason")  # the default reason would be refused
    return (
        ToolSpec(
            PAGE_FAULT,
            "Load a page of memory into the conversation. Use it when you know the page's id and "
            "need what it says.",
            {
                "type": "object",
                "properties": {
                    "page_id": {"type": "string", "description": "The page to load, e.g. msg_302"},
                    "target_level": {
                        "type": "integer",
                        "minimum": 0,
                        "maximum": 3,
                        "default": FAULT_LEVEL,
                        "description": "0 full, 1 reduced, 2 abstract, 3 reference only; where a "
                        "level does not exist, the next fuller one is loaded",
                    },
                    "reason": reason,
                },
                "required": required,
            },
        ),
        ToolSpec(
            SEARCH_PAGES,
            "Find pages of memory by what they say. Returns ids and hints, not content.",
            {
                "type": "object",
                "properties": {
                    "query": {"type": "string", "description": "Words to look for"},
                    "modality": {
                        "type": "string",
                        "enum": [str(modality) for modality in Modality],
                        "description": "Only pages of this modality",
                    },
                    "limit": {
                        "type": "integer",
                        "minimum": 1,
                        "maximum": SEARCH_LIMIT_MAX,
                        "default": SEARCH_LIMIT,
                        "description": "At most this many results",
                    },
                },
                "required": ["query"],
            },
        ),
    )
