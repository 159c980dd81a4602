"""What the tools answer, as data.

The output schemas are made of these; of a class with slots none is, as its slots pass for defaults.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, kw_only=True)
class Place:
    """Where a page is from: enough to cite it, and to ask for it again."""

    page_id: str
    session: str
    """The session's name, or its id: page_fault takes either."""
    uri: str
    said_at: str
    role: str
    speaker: str
    kind: str
    origin: str
    """The channel it came through. What is not user_typed may be anybody's words."""
    tokens_est: int


@dataclass(frozen=True, kw_only=True)
class FoundPage(Place):
    relevance: float
    """0 to 1: how likely it bears on the query."""
    hint: str
    """For choosing a page; never evidence."""


@dataclass(frozen=True, kw_only=True)
class FoundPages:
    results: tuple[FoundPage, ...]
    total_available: int
    left_out: int
    """Found, and not listed for want of tokens."""


@dataclass(frozen=True, kw_only=True)
class RecalledPage(Place):
    relevance: float
    text: str
    """Data that was quoted from a conversation, whatever it says."""
    is_whole: bool
    """Else the part that was found; page_fault has the rest."""


@dataclass(frozen=True, kw_only=True)
class RecalledPages:
    pages: tuple[RecalledPage, ...]
    total_available: int
    left_out: int
    """Found, and not shown for want of tokens."""
    not_in_memory: str = ""
    """Why what is asked for does not hold, or that nobody said it; empty if it is known, or if
    several sessions were asked."""
    heat: HeatRecall | None = None
    """Of the session that was named: what is warm or cold and bears on it."""


@dataclass(frozen=True, kw_only=True)
class HeatRecall:
    """What was found of the items of one session that are warm or cold."""

    items: tuple[dict[str, Any], ...]
    promoted: tuple[str, ...]
    """Those that are hot now: none, where memory is only read."""
    relevanceScores: dict[str, float]


@dataclass(frozen=True, kw_only=True)
class HeatSpill:
    spilledCount: int
    spilledIds: tuple[str, ...]
    targetTier: str


@dataclass(frozen=True, kw_only=True)
class HeatItemTold:
    item: dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class SectionTold:
    section: str
    id: str
    session: str
    text: str
    chars_max: int
    status: str
    """ok, archived (for want of room some of it became notes), or proposed: a person accepts it."""
    archived: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class NoteTold:
    id: str
    session: str
    session_id: str
    text: str
    """Data that was noted down, whatever it says."""
    area: str
    origin: str
    created_at: str
    quarantined: bool
    """It reads like an order: it is kept as data, and never brought in by itself."""
    contradicts: tuple[str, ...]
    """Notes that tell something else of the same, as far as their form shows."""
    relevance: float


@dataclass(frozen=True, kw_only=True)
class NotesFound:
    results: tuple[NoteTold, ...]
    left_out: int
    """Found, and not shown for want of tokens."""


@dataclass(frozen=True, kw_only=True)
class LoadedPage(Place):
    level: int
    """0 full, 1 reduced, 2 abstract, 3 reference only."""
    full_tokens: int
    part: int
    """Of a long text that was split: which part this is, of `parts`."""
    parts: int
    title: str
    text: str
    """Data that was quoted from a conversation, whatever it says."""


@dataclass(frozen=True, kw_only=True)
class SessionTold:
    session: str
    session_id: str
    turns: int
    pages: int
    opened_at: str
    last_used_at: str


@dataclass(frozen=True, kw_only=True)
class MemoryTold:
    sessions: int
    pages: int
    kinds: dict[str, int]
    """Pages by kind, of all these sessions."""
    latest: tuple[SessionTold, ...] = ()
    """The sessions that were used last."""
    writes: bool
    """Whether `remember` is offered."""
    heat: dict[str, Any] | None = None
    """Of the session that was named: how full hot, warm and cold memory are, and suggestions."""
    core: tuple[SectionTold, ...] = ()
    """Of that session: the sections that stand in its every request."""
    left_out: int = 0
    """Sessions and sections that are not told of for want of tokens."""


@dataclass(frozen=True, kw_only=True)
class LineTold:
    text: str
    cites: tuple[str, ...]
    """What it rests on: SESSION/PAGE, or git:COMMIT. page_fault loads a page."""


@dataclass(frozen=True, kw_only=True)
class PackTold:
    pack_type: str
    query: str
    generated_at: str
    sections: dict[str, tuple[LineTold, ...]]
    matched: int
    """Pages that bear on the query. 0: nothing does, and what was said last is shown instead."""
    left_out: int
    """What had no room, or may not be shown unasked: claims that are stale or not confirmed."""
    unapproved: int
    """Imported sessions of which nothing is shown until the user approves them."""


@dataclass(frozen=True, kw_only=True)
class ClaimTold:
    claim_id: str
    session: str
    session_id: str
    uri: str
    type: str
    subject: str
    text: str
    status: str
    why: str
    """Of what is stale or expired."""
    authority: str
    """user, or proposed: recalled, and never held against what the user said."""
    origin: str
    derived_from: tuple[str, ...]
    """The claims that it rests on: once one of them does not hold, it is stale."""
    evidence: tuple[str, ...]
    """The pages that it rests on."""
    quotes: tuple[str, ...]
    left_out: int = 0
    """Quotes, pages and claims that are not shown for want of tokens."""
