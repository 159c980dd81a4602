"""The contract of a compressor: pages in, one shorter text out, with the source of each part.

Levels are those of `model.kinds.Level`. *Reduced* drops only what carries no meaning. *Abstract*
has the key sentences, a tenth of a range. *Reference* has the existence and subject of a range, and
none of its sentences. Invariants, for every compressor:

 (1) A level is never longer than the one above it, in tokens or in UTF-8 bytes; level 0 of a range
     is `full_text`. A short text may be the same at two levels, and its reference may be empty if
     there is no room for one.
 (2) Every span lies within the stored text of a given page, on character boundaries. A non-empty
     text has spans at levels 1 and 2, and none at level 3.
 (3) The given pages are not changed: level 0 is theirs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from pagefault.model.errors import BadInput
from pagefault.model.ids import PageId
from pagefault.model.kinds import Kind, Level, Modality, Role
from pagefault.model.page import Evidence, Page
from pagefault.represent.about import Found

CountTokens = Callable[[str], int]
"""Counts the tokens of a text, in the unit of stored counts. Injected, whatever the tokenizer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """A page to be shortened: its text at level 0, its speaker and its time."""

    page_id: PageId
    text: str
    kind: Kind = Kind.TRANSCRIPT
    role: Role = Role.USER
    speaker: str = ""
    occurred_at: str = ""
    found: Found | None = field(default=None, compare=False, repr=False)  # the page's

    @classmethod
    def of(cls, page: Page) -> Source:
        return cls(
            page_id=page.page_id,
            text=page.text,
            kind=page.row.kind,
            role=page.row.role,
            speaker=page.speaker,
            occurred_at=page.occurred_at,
            found=page.about if isinstance(page.about, Found) else None,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Representation:
    """One page, or a range of pages, at a level.

    `tokens` counts `text`. `spans` are its sources, in the order of the text. A `verbatim` text has
    nothing but the text of its spans and the speakers' names; any other was written by a model.
    """

    text: str
    level: Level
    tokens: int
    pages: tuple[PageId, ...]
    spans: tuple[Evidence, ...] = ()
    verbatim: bool = True
    made_by: str = ""  # the compressor, if not our rules


class Compressor(Protocol):
    """Shortens pages of one modality.

    Asynchronous, because a compressor that calls a model, or decodes a video elsewhere, has to wait
    and must be cancellable. For callers without a loop, compressors that never wait are also plain
    functions (`extractive.compress_page`, `compress_range`).
    """

    @property
    def modality(self) -> Modality: ...

    async def compress(
        self, sources: Sequence[Source], level: Level, *, tokens_max: int | None = None
    ) -> Representation:
        """One page, or a range of pages in order, at `level` (1, 2 or 3).

        `tokens_max` limits an abstract or a reference; by default an abstract has its level's usual
        length. Reduced keeps all there is to keep, so it takes no limit. Raises `BadInput` for an
        impossible level or limit, and for no pages.
        """
        ...


def check_asked(sources: Sequence[Source], level: Level, tokens_max: int | None) -> None:
    """Raise `BadInput` for requests that no compressor accepts."""
    if level is Level.FULL:
        raise BadInput("level 0 is the page's own text", hint="ask for level 1, 2 or 3")
    if not sources:
        raise BadInput("no pages to compress", hint="give at least one")
    if len({source.page_id for source in sources}) < len(sources):
        raise BadInput("a page is given twice", hint="give each page of a range once")
    if tokens_max is not None and level is Level.REDUCED:
        raise BadInput(
            "level 1 keeps everything, so it takes no size",
            hint="ask for level 2 with a size",
        )
    if tokens_max is not None and tokens_max < 0:
        raise BadInput(f"{tokens_max} is not a number of tokens", hint="0 or more")


def speaker_of(source: Source) -> str:
    """The speaker's name, or else the role, on one line."""
    return " ".join(source.speaker.split()) or source.role.value


def full_text(sources: Sequence[Source]) -> str:
    """Level 0: the text of a page; for a range, the texts one below the other, with speakers.

    A speaker is named where the speaker changes. Empty pages are skipped.
    """
    if len(sources) == 1:
        return sources[0].text
    lines: list[str] = []
    speaker = ""
    for source in sources:
        who = speaker_of(source)
        if source.text:
            lines.append(source.text if who == speaker else f"{who}: {source.text}")
            speaker = who
    return "\n".join(lines)


def size_of(text: str) -> int:
    return len(text.encode())
