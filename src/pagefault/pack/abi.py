"""The Memory ABI: what a request holds and could still take, for programs.

A smaller model, or a tool that weighs the cost of its result, decides by these figures. All tokens
are our own count (o200k).
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from types import MappingProxyType
from typing import Any, Final

from pagefault.model.ids import PageId
from pagefault.model.kinds import Kind, Modality
from pagefault.model.page import Page
from pagefault.model.request import ToolSpec
from pagefault.pack.envelope import dump
from pagefault.pack.manifest import level_of

MODALITY_WEIGHTS: Final[Mapping[str, float]] = MappingProxyType(
    {
        Modality.TEXT.value: 1.0,
        Modality.IMAGE.value: 0.8,
        Modality.AUDIO.value: 0.6,
        Modality.VIDEO.value: 0.4,
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class PageManifestEntry:
    """A page in the window."""

    page_id: PageId
    modality: str
    page_type: str
    compression_level: int
    tokens: int
    importance: float
    provenance: tuple[PageId, ...] = ()
    can_evict: bool = True
    can_compress: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryABI:
    """The current contract between a memory and its user.

    `max_context_tokens` is the sum of `reserved_tokens` (prompt, rules and framing),
    `tool_schema_tokens_reserved` and `available_tokens`; the pages are part of the last.
    """

    pages: tuple[PageManifestEntry, ...]
    faults_allowed: bool
    upgrade_budget_tokens: int
    max_context_tokens: int
    reserved_tokens: int
    available_tokens: int
    tool_schema_tokens_reserved: int = 0
    active_toolset_hash: str | None = None
    modality_weights: Mapping[str, float] = field(default_factory=lambda: dict(MODALITY_WEIGHTS))

    def as_dict(self) -> dict[str, Any]:
        """The JSON form."""
        return asdict(self)


def toolset_hash(tools: Sequence[ToolSpec]) -> str | None:
    """A digest of exactly these tools; None without tools."""
    if not tools:
        return None
    told = dump([[tool.name, tool.description, dict(tool.parameters)] for tool in tools])
    return hashlib.sha256(told.encode()).hexdigest()[:16]


def entry_of(page: Page, *, can_evict: bool) -> PageManifestEntry:
    row = page.row
    return PageManifestEntry(
        page_id=row.page_id,
        modality=str(row.modality),
        page_type=str(row.kind),
        compression_level=int(level_of(page)),
        tokens=row.tokens,
        importance=row.importance,
        provenance=page.derived.provenance if page.derived is not None else (),
        can_evict=can_evict,
        can_compress=can_evict and row.kind in (Kind.TRANSCRIPT, Kind.ARTIFACT),
    )
