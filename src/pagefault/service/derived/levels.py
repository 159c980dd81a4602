"""The levels of a page: its representation at each, found in the log or made on demand.

A representation is made once. It is folded at once and written with the next record of the session,
whatever that is, and so before any request that could show it; the key of its record finds it
again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from pagefault.model.errors import StoreCorrupt
from pagefault.model.events import Represented
from pagefault.model.ids import PageId
from pagefault.model.kinds import Actor, EventType, Level
from pagefault.model.page import Derived, Page
from pagefault.pack.envelope import offered_levels
from pagefault.service.ownership import Owned
from pagefault.service.runtime import Runtime
from pagefault.service.window.content import page_of
from pagefault.service.window.derived_drafts import Made

if TYPE_CHECKING:
    from pagefault.represent.api import Representation

_KEY: Final = "pagefault/represents/{page_id}/{level}"


class Ladder(Mapping[Level, int]):
    """One page's levels and their tokens. Those below the text are found or made on demand."""

    def __init__(
        self,
        page: Page,
        find: Callable[[Page, Level], Page | None],
        make: Callable[[Page, Level], tuple[Made, int]],
        given: Mapping[Level, tuple[Made, int]] | None = None,
    ) -> None:
        self.page = page
        self._find = find
        self._make = make
        self._given = given or {}  # written by a caller's compressor, for what is not found
        self._levels = offered_levels(page.row)
        self._known: dict[Level, Page | tuple[Made, int]] = {}

    def __iter__(self) -> Iterator[Level]:
        return iter(self._levels)

    def __len__(self) -> int:
        return len(self._levels)

    def __getitem__(self, level: Level) -> int:
        if level not in self._levels:
            raise KeyError(level)
        if level is Level.FULL:
            return self.page.row.tokens
        found = self.form(level)
        return found.row.tokens if isinstance(found, Page) else found[1]

    def form(self, level: Level) -> Page | tuple[Made, int]:
        """The representation: a written page, or a draft, and its tokens."""
        if level not in self._known:
            found = self._find(self.page, level) or self._given.get(level)
            self._known[level] = found or self._make(self.page, level)
        return self._known[level]

    def text(self, level: Level) -> str:
        """The page at an offered level."""
        if level is Level.FULL:
            return self.page.text
        found = self.form(level)
        return found.text if isinstance(found, Page) else found[0].text

    def fullest(self, level: Level) -> Level:
        """The fullest level with the same content: a page with nothing to leave out is whole."""
        text = self.text(level)
        return next(other for other in self._levels if self.text(other) == text)


class Levels:
    """The levels of one session's pages."""

    def __init__(self, owned: Owned, runtime: Runtime) -> None:
        self._owned = owned
        self._runtime = runtime

    def ladder(self, page: Page, given: Mapping[Level, tuple[Made, int]] | None = None) -> Ladder:
        return Ladder(page, self._find, self._make, given)

    def has(self, page: Page, level: Level) -> bool:
        """Whether this form of a page was made before."""
        return self._find(page, level) is not None

    def keep(self, ladder: Ladder, level: Level, actor: Actor) -> Page:
        """The representation of the page at `level`, 1 to 3; from now on it is in L1."""
        form = ladder.form(level)
        if isinstance(form, Page):
            self._owned.state.l1.met(form)
            return form
        made, _ = form
        drafts = self._owned.derive([made])
        key = _KEY.format(page_id=ladder.page.page_id, level=int(level))
        self._owned.keep([replace(draft, key=key, actor=actor) for draft in drafts])
        page = self._owned.state.l1.find(ladder.page.page_id, level)
        assert page is not None
        return page

    def _find(self, page: Page, level: Level) -> Page | None:
        known = self._owned.state.l1.find(page.page_id, level)
        return known or self._stored(page.page_id, level)

    def _stored(self, page_id: PageId, level: Level) -> Page | None:
        """From the log, of this session or one it was forked from."""
        runtime, key = self._runtime, _KEY.format(page_id=page_id, level=int(level))
        for session, upto in self._owned.scope.parts:
            seq = runtime.index.find_key(session, runtime.hash_key(session, key))
            if seq is None or seq > upto:
                continue
            try:
                event = runtime.log.get(seq)
            except StoreCorrupt:
                continue
            match event.body:
                case Represented(represents=of, level=at) as body if (of, at) == (page_id, level):
                    return page_of(event, body)
                case _:
                    pass  # it was forgotten, or a caller used the key
        return None

    def _make(self, page: Page, level: Level) -> tuple[Made, int]:
        return representation(page, level, self._runtime.counter.count)


def representation(page: Page, level: Level, count: Callable[[str], int]) -> tuple[Made, int]:
    """A page at `level` (1 to 3), as a draft, and its tokens."""
    # Only callers of levels need these imports.
    from pagefault.represent.api import Source
    from pagefault.represent.extractive import compress_page

    made = compress_page(Source.of(page), level, count=count)
    return made_of(page, level, made), made.tokens


def made_of(page: Page, level: Level, written: Representation) -> Made:
    """A compressor's form of a page, as a draft."""
    return Made(
        event_type=EventType.REPRESENTATION,
        text=written.text,
        origin=page.row.origin,
        cause=page.row.seq,
        derived=Derived(
            provenance=(page.page_id,),
            represents=page.page_id,
            level=int(level),
            evidence=written.spans,
            source_tokens=page.row.tokens,
            made_by=written.made_by,
        ),
        importance=page.row.importance,
    )
