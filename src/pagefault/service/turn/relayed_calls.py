"""Serves a model's calls of memory's tools in a proxied request.

The client decides what the request shows, so the caller passes it: the pages shown, those that it
had and does not show, and the tokens of room. Nothing else is found or loaded: a model reads only
its own conversation, and no branch that its client left.

Never raises for the model's mistakes: a refusal is a result too.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from pagefault.model.errors import (
    ArchiveMissing,
    CallerError,
    FaultRefused,
    PagefaultError,
    RecordGone,
)
from pagefault.model.events import CallRefused, Faulted, MemoryCalled, Searched
from pagefault.model.ids import NOTHING, PageId, Seq
from pagefault.model.kinds import MODEL_GENERATED, Actor, Level
from pagefault.model.page import Page
from pagefault.model.request import ToolCall
from pagefault.pack.envelope import refusal, told_level
from pagefault.recall.search import SearchResult
from pagefault.service.derived.levels import Levels
from pagefault.service.ownership import Owned
from pagefault.service.turn.call_server import ARGUMENTS_MAX, as_recorded
from pagefault.service.turn.memory_calls import MemoryCalls, memory_result
from pagefault.service.turn.turn import Refuse, ServeFault, ServeSearch, as_kept, read_call
from pagefault.service.window.results import fault_result, search_result

FRAMING_TOKENS: Final = 120  # of a result besides the page that it loads
CANDIDATES: Final = 50  # that a search looks at for each hit that may be shown

Body = CallRefused | Faulted | MemoryCalled | Searched


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """The pages that a request shows, and those that it had and does not show, by id; and the level
    of each page that the model was served before and still sees.
    """

    shown: Collection[PageId]
    hidden: Collection[PageId]
    served: Mapping[PageId, Level] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Served:
    """A call as it was stored, the model's result, and the record; NOTHING if none could be
    written, and then why.
    """

    call: ToolCall
    result: str
    body: Body
    seq: Seq
    problem: str


Find = Callable[[str, int], Awaitable[SearchResult]]
ReadPage = Callable[[str], Awaitable[Page]]


class RelayedCalls:
    """The calls of one session. `find` searches it, `read` reads a page of it; `keep` serves the
    tools of core and archival memory, if they are offered.
    """

    def __init__(
        self, owned: Owned, *, find: Find, read: ReadPage, keep: MemoryCalls | None = None
    ) -> None:
        self._owned = owned
        self._keep = keep
        self._levels = Levels(owned, owned.runtime)
        self._find = find
        self._read = read

    async def serve(self, call: ToolCall, view: View, *, room: int, cause: Seq) -> Served:
        """Serve a call within so many tokens, and record the result. `cause` is the record of the
        request.
        """
        runtime = self._owned.runtime
        action = read_call(call)
        is_long = len(call.arguments) > ARGUMENTS_MAX
        if is_long:
            action = Refuse(call, "bad_arguments", "the arguments are too long")
        kept = as_kept(call, runtime.journal.clean)
        if len(kept.arguments) > ARGUMENTS_MAX:
            kept = replace(kept, arguments="{}")
        if self._keep is not None and self._keep.serves(call.name) and not is_long:
            said = await self._keep.serve(call, kept)
            return await self._write(kept, await self._that_fits(said, room), cause)
        action = replace(action, call=kept)
        match action:
            case ServeFault():
                body: Body = await self._fault(action, view, room)
            case ServeSearch():
                body = await self._search(action, view, room)
            case Refuse():
                body = self._refuse(kept, action.code, action.why)
        return await self._write(kept, body, cause)

    async def refuse(self, call: ToolCall, code: str, why: str, *, cause: Seq) -> Served:
        """Refuse a call, whatever it asks for."""
        kept = as_kept(call, self._owned.runtime.journal.clean)
        if len(kept.arguments) > ARGUMENTS_MAX:
            kept = replace(kept, arguments="{}")
        return await self._write(kept, self._refuse(kept, code, why), cause)

    async def result(self, body: Body) -> str:
        """The model's result from a record, without what was forgotten or withdrawn since."""
        pages: dict[PageId, Page] = {}
        match body:
            case MemoryCalled(hits=hits):
                found = [(hit, await self._page(hit.page_id)) for hit in hits]
                return memory_result(body, [(hit, page) for hit, page in found if page])
            case CallRefused():
                return refusal(body.code, body.why, faults_left=body.faults_left)
            case Searched(hits=hits):
                wanted = [hit.page_id for hit in hits]
            case Faulted(page_id=page_id, shows=shows):
                wanted = [page_id, shows] if shows else [page_id]
        for page_id in wanted:
            page = await self._page(page_id)
            if page is not None:
                pages[page_id] = page
        if isinstance(body, Searched):
            return search_result(body, pages.get)
        return fault_result(body, pages.get)[0]

    async def _that_fits(self, body: MemoryCalled, room: int) -> MemoryCalled:
        """The same, with as many hits as fit."""
        counter = self._owned.runtime.counter
        while body.hits and counter.count(await self.result(body)) > room:
            body = replace(body, hits=body.hits[:-1])
        return body

    async def _page(self, page_id: PageId) -> Page | None:
        try:
            page = await self._read(page_id)
        except (CallerError, RecordGone, ArchiveMissing):
            return None
        return None if self._owned.runtime.quarantine.is_unseen(page.row) else page

    async def _write(self, kept: ToolCall, body: Body, cause: Seq) -> Served:
        owned = self._owned
        clean = owned.runtime.journal.clean_body(body)
        result = await self.result(clean)

        async def verb() -> Seq:
            draft = owned.draft(
                clean, Actor.MODEL, MODEL_GENERATED, cause=cause, model=owned.runtime.model
            )
            return (await owned.commit([draft]))[-1].seq

        try:
            return Served(kept, result, clean, await owned.whole(verb), "")
        except PagefaultError as error:  # it is answered all the same
            return Served(kept, result, clean, NOTHING, error.message)

    def _refuse(self, kept: ToolCall, code: str, why: str) -> CallRefused:
        return CallRefused(
            call_id=kept.call_id,
            name=kept.name,
            arguments=kept.arguments,
            code=code,
            why=why,
            faults_left=max(0, self._owned.state.calls.budget.faults_left),
            relayed=True,
        )

    async def _search(self, action: ServeSearch, view: View, room: int) -> Searched:
        asked = Searched(
            call_id=action.call.call_id,
            arguments=action.call.arguments,
            query=action.query,
            relayed=True,
        )
        state = self._owned.state
        if state.calls.searches_left < 1:
            return replace(
                asked,
                refusal="search_limit",
                why="no searches are left in this turn: answer from what you can see",
                faults_left=max(0, state.calls.budget.faults_left),
            )
        found = await self._find(action.query, action.limit + CANDIDATES)
        hits = [
            hit
            for hit in found.hits
            if hit.page.page_id in view.hidden
            and hit.page.page_id not in view.served
            and not hit.archive
            and (action.modality is None or hit.page.modality is action.modality)
        ]
        told = replace(asked, hits=as_recorded(hits[: action.limit], state), total=len(hits))
        counter = self._owned.runtime.counter
        while told.hits and counter.count(await self.result(told)) > room:
            told = replace(told, hits=told.hits[:-1])
        return told

    async def _fault(self, action: ServeFault, view: View, room: int) -> Faulted:
        state = self._owned.state
        asked = Faulted(
            call_id=action.call.call_id,
            arguments=action.call.arguments,
            page_id=action.page_id,
            level=action.level,
            reason=action.reason,
            lapse=state.closures.lapse_of(action.page_id),
            faults_left=max(0, state.calls.budget.faults_left),
            relayed=True,
        )
        if action.page_id in view.shown:
            return replace(asked, level=Level.FULL, already_mapped=True)
        there = view.served.get(action.page_id)
        if there is not None and there <= action.level:
            return replace(asked, level=there, already_mapped=True)
        try:
            page = await self._read(action.page_id)
        except RecordGone:
            return replace(asked, refusal="forgotten", why="the page was forgotten")
        except ArchiveMissing:
            why = "the page is in an archive that cannot be reached now"
            return replace(asked, refusal="archive_missing", why=why)
        except CallerError:
            page = None
        if page is None or not self._is_of(page, view):
            return replace(asked, refusal="unknown_page", why="there is no page of that id")
        quarantine = self._owned.runtime.quarantine
        if quarantine.is_unseen(page.row):
            return replace(asked, refusal="withdrawn", why=quarantine.why_unseen(page.row))
        ladder = self._levels.ladder(page)
        try:
            level = state.calls.budget.grant(
                page.page_id, action.level, action.reason, ladder, room - FRAMING_TOKENS
            )
        except FaultRefused as refused:
            offers = zip(map(Level, refused.levels), refused.tokens, strict=True)
            levels = {int(told_level(page.row, level)): tokens for level, tokens in offers}
            return replace(
                asked,
                refusal=refused.code,
                why=refused.why,
                levels=tuple(levels),
                level_tokens=tuple(levels.values()),
            )
        level = ladder.fullest(level)
        shows = PageId("")
        if level is not Level.FULL:  # the representation is another page
            shows = self._levels.keep(ladder, level, Actor.MODEL).page_id
        return replace(
            asked,
            level=level,
            tokens=ladder[level],
            shows=shows,
            faults_left=max(0, state.calls.budget.faults_left - 1),
        )

    @staticmethod
    def _is_of(page: Page, view: View) -> bool:
        """Whether a page is from the conversation, or derived from nothing else."""
        if page.page_id in view.hidden:
            return True
        if page.derived is None:
            return False
        sources = {span.page_id for span in page.derived.evidence} | set(page.derived.provenance)
        if page.derived.represents:
            sources.add(page.derived.represents)
        return bool(sources) and all(one in view.hidden or one in view.shown for one in sources)
