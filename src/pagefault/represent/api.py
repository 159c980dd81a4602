"""The contract of a compressor: pages in, one shorter text out, and where each part of it is from.

Levels are those of `model.kinds.Level`. *Reduced* says all that the text says, without what says
nothing. *Abstract* is its key sentences, a tenth of a range. *Reference* tells that it is there
and what it is about, and none of its sentences. Invariants, for every compressor:

 (1) A level is never longer than the one above it, in tokens and in UTF-8 bytes; level 0 of a range
     is `full_text`. A short text may be the same at two levels; what has no room for a reference
     has an empty one.
 (2) Every span lies within the stored text of a page that was given, on boundaries of characters.
     At levels 1 and 2 a text that is not empty has spans; at level 3 none.
 (3) The pages given are not changed: level 0 is theirs.
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
"""How long a text is, in the unit of stored counts. Passed in: who counts is not our business."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """A page that is to become shorter: its text at level 0 and who said it when."""

    page_id: PageId
    text: str
    kind: Kind = Kind.TRANSCRIPT
    role: Role = Role.USER
    speaker: str = ""
    occurred_at: str = ""
    found: Found | None = field(default=None, compare=False, repr=False)  # of the page

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
    """One page, or a range of them, at a level.

    `tokens` counts `text`. `spans` are what it was taken from, in the order of the text. What is
    `verbatim` says nothing but what stands at its spans, and who speaks; else a model wrote it.
    """

    text: str
    level: Level
    tokens: int
    pages: tuple[PageId, ...]
    spans: tuple[Evidence, ...] = ()
    verbatim: bool = True
    made_by: str = ""  # the compressor, if not our rules


class Compressor(Protocol):
    """Makes pages of one modality shorter.

    It is asynchronous because one that asks a model, or decodes a video elsewhere, has to wait
    and must be cancellable while it does. One that needs neither is a plain function behind it
    (`extractive.compress_page`, `compress_range`), for callers without a loop.
    """

    @property
    def modality(self) -> Modality: ...

    async def compress(
        self, sources: Sequence[Source], level: Level, *, tokens_max: int | None = None
    ) -> Representation:
        """One page, or a range of pages in their order, at `level` (1, 2 or 3).

        `tokens_max` asks for an abstract or a reference of at most that size; without it an
        abstract is as long as its level says. Reduced keeps all there is to keep, so it takes no
        size. Raises `BadInput` for a level or size that cannot be asked for, and for no pages.
        """
        ...


def check_asked(sources: Sequence[Source], level: Level, tokens_max: int | None) -> None:
    """Raises `BadInput` for what no compressor does."""
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
    """Who speaks, on one line."""
    return " ".join(source.speaker.split()) or source.role.value


def full_text(sources: Sequence[Source]) -> str:
    """Level 0: the text of a page; of a range the texts one under the other, saying who speaks.

    Who speaks is said where somebody else begins to, so an empty page says nothing.
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
