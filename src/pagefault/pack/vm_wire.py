"""The two tools in Chat Completions format, with the default limits: for requests made by hand.

A session's own requests carry the tools with that session's limits.
"""

from __future__ import annotations

from typing import Any, Final

from pagefault.model import defaults
from pagefault.pack.tools import vm_tools
from pagefault.paging.fault import FaultLimits

VM_TOOLS: Final[list[dict[str, Any]]] = [
    {
        "type": "function",
        "function": {
            "name": tool.name,
            "description": tool.description,
            "parameters": dict(tool.parameters),
        },
    }
    for tool in vm_tools(
        FaultLimits(
            faults_max=defaults.FAULTS_PER_TURN,
            tokens_max=defaults.FAULT_TOKENS_PER_TURN,
            threshold=defaults.FAULT_THRESHOLD,
        )
    )
]
