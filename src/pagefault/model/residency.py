"""Residency and tier of a page. Residency changes only through `step`, and `LEGAL` is the law; the
tier is determined only by `tier_of`.

`docs/paging.md` shows the table as a diagram, generated from it.
"""

from __future__ import annotations

from enum import Enum
from typing import Final

from pagefault.model.errors import IllegalTransition
from pagefault.model.kinds import Kind, Modality, Tier
from pagefault.model.page import PageRow


class Residency(Enum):
    GHOST = "ghost"  # in the table; its content is not in the window
    LOADING = "loading"  # a fault is in flight
    CLEAN = "clean"  # in the window, and equal to the stored content
    DIRTY = "dirty"  # in the window, derived, and not yet written

    __hash__ = object.__hash__  # by identity: an enum's own is in Python, and pages step often


class Cause(Enum):
    FAULTED = "faulted"  # it was requested
    LOADED = "loaded"  # its content arrived
    FAILED = "failed"  # its content did not arrive
    ADMITTED = "admitted"  # new content entered the window with its own record
    DERIVED = "derived"  # new content entered the window before its record was written
    FLUSHED = "flushed"  # its record is durable
    EVICTED = "evicted"  # policy asked, and nothing objected
    INVALIDATED = "invalidated"  # a command that cannot be refused

    __hash__ = object.__hash__


LEGAL: Final[dict[tuple[Residency, Cause], Residency]] = {
    (Residency.GHOST, Cause.FAULTED): Residency.LOADING,
    (Residency.GHOST, Cause.ADMITTED): Residency.CLEAN,
    (Residency.GHOST, Cause.DERIVED): Residency.DIRTY,
    (Residency.GHOST, Cause.INVALIDATED): Residency.GHOST,
    (Residency.LOADING, Cause.LOADED): Residency.CLEAN,
    (Residency.LOADING, Cause.FAILED): Residency.GHOST,
    (Residency.LOADING, Cause.INVALIDATED): Residency.GHOST,
    (Residency.CLEAN, Cause.DERIVED): Residency.DIRTY,
    (Residency.CLEAN, Cause.EVICTED): Residency.GHOST,  # no such edge from DIRTY: flush first
    (Residency.CLEAN, Cause.INVALIDATED): Residency.GHOST,
    (Residency.DIRTY, Cause.DERIVED): Residency.DIRTY,
    (Residency.DIRTY, Cause.FLUSHED): Residency.CLEAN,
    (Residency.DIRTY, Cause.INVALIDATED): Residency.GHOST,  # unsaved work is lost, by command
}


def step(state: Residency, cause: Cause) -> Residency:
    """The state after `cause`; `IllegalTransition` if the table has no such edge."""
    try:
        return LEGAL[state, cause]
    except KeyError:
        raise IllegalTransition(state.value, cause.value) from None


def tier_of(
    row: PageRow, *, in_window: bool = False, is_dirty: bool = False, is_archived: bool = False
) -> Tier:
    """The tier of a page's content: the nearest place that has it.

    L0 is the window. L1, our memory, has derived pages that are not written yet (dirty). Every
    other page must be read, and its tier is the slowest place involved: L4 if its record is in the
    archive, L3 if it has bytes beside its record, else L2, the log.

    From the row alone it is the *source tier*. Requests state that one because it never changes: no
    record says that a segment moved to the archive, and sent requests must be reproducible.

    A plain text file that was stored with `artifact` is L2: its row is that of a document.
    """
    if in_window:
        return Tier.L0
    if is_dirty:
        return Tier.L1
    if is_archived:
        return Tier.L4
    return Tier.L3 if is_media(row) else Tier.L2


def is_media(row: PageRow) -> bool:
    """Whether a page represents bytes that are not text: its own text describes them."""
    return row.kind is Kind.ARTIFACT and row.modality is not Modality.TEXT


def mermaid() -> str:
    """The table as a Mermaid state diagram, for the documentation."""
    lines = ["stateDiagram-v2", "    [*] --> ghost"]
    lines += [f"    {a.value} --> {b.value}: {cause.value}" for (a, cause), b in LEGAL.items()]
    return "\n".join(lines) + "\n"
