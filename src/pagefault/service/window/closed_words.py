"""Words that a claim rested on until another took its place, or took it back: where they still
stand, so that nothing shows them as if they held.

The words of a page are *closed* if a closed claim rests on them and no claim that stands does: an
undo, or an edit that leaves the words alone, opens them again. Whoever closes the claim decides no
more here than there: with the user's authority over any page, without it only over pages that are
trusted no more than itself. A claim that lapsed by time or check leaves its words as they are.

A derived page repeats closed words if it has a sentence in which they stand, or, where it was
formed, cites their page without a mark. So one whose sentences are all its own words is not seen.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from pagefault.model.ids import PageId
from pagefault.model.page import Evidence, Page
from pagefault.pack.citations import sources
from pagefault.pack.render import changed

WORDS_CHARS_MIN: Final = 8  # of closed words that are searched for: shorter ones occur anywhere

_BRACKETS: Final = str.maketrans(dict.fromkeys("[［﹇", "⁅"))


@dataclass(frozen=True, slots=True)
class ClosedWords:
    """The words at `span`, and the claim that holds in their place, or that took them back."""

    span: Evidence
    by: PageId


def overlap(one: Evidence, other: Evidence) -> bool:
    return one.page_id == other.page_id and max(one.start, other.start) < min(one.end, other.end)


def repeats(page: Page, source: Page, closed: Sequence[ClosedWords]) -> bool:
    """Whether a derived page repeats closed words of one of its sources."""
    if marked(page.text, source.page_id, closed[-1].by) != page.text:
        return True
    from pagefault.represent.sentences import touched  # only where something was closed

    text = _plain(page.text)
    spans = [one.span for one in closed]
    said = (
        _plain(source.text[unit.start : unit.end])
        for unit in touched(source.page_id, source.text, spans)
    )
    return any(len(one) >= WORDS_CHARS_MIN and one in text for one in said)


def _plain(text: str) -> str:
    """`text` without line breaks, and with one bracket for those that `uncited` shows as others."""
    return " ".join(text.translate(_BRACKETS).split())


def marked(text: str, page_id: PageId, by: PageId) -> str:
    """A formed text, with a note on each line that cites this page and has none."""
    note = f"({changed(by)})"
    return "\n".join(
        f"{line} {note}" if page_id in sources(line)[1] and note not in line else line
        for line in text.split("\n")
    )
