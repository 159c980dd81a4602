"""Serves the model's calls, and records the result of each.

Never raises for the model's mistakes: a refusal is a result too.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from typing import Final

from pagefault.model.errors import ArchiveMissing, FaultRefused, RecordGone
from pagefault.model.events import CallRefused, Faulted, Hit, Searched
from pagefault.model.ids import PageId, Seq
from pagefault.model.kinds import Actor, Level, Modality
from pagefault.model.request import ToolCall
from pagefault.pack.envelope import refusal, told_level
from pagefault.pack.tools import PAGE_FAULT
from pagefault.recall.search import SearchHit, SearchResult
from pagefault.service.derived.levels import Levels
from pagefault.service.lookup.closed_hits import ClosedHits
from pagefault.service.ownership import Owned
from pagefault.service.runtime import Runtime
from pagefault.service.turn.auto_recall import TurnRecall
from pagefault.service.turn.prefetch import Prefetcher
from pagefault.service.turn.turn import (
    Refuse,
    ServeFault,
    ServeSearch,
    as_kept,
    encodable,
    read_call,
)
from pagefault.service.window.room import exchange_tokens, fault_room, fits
from pagefault.service.window.state import SessionState

ARGUMENTS_MAX: Final = 1_000  # characters of a call's arguments; no call of ours needs more
REFUSAL_TOKENS: Final = 200  # of a refusal and its call without arguments, at most

Find = Callable[[str, int, Modality | None], Awaitable[SearchResult]]


class CallServer:
    def __init__(
        self,
        owned: Owned,
        runtime: Runtime,
        *,
        levels: Levels,
        recall: TurnRecall,
        prefetcher: Prefetcher,
    ) -> None:
        self._owned = owned
        self._runtime = runtime
        self._levels = levels
        self._recall = recall
        self._prefetcher = prefetcher

    def fit(self) -> int:
        """How many more calls the window can take in this turn, if each were refused."""
        return max(0, self._owned.state.room_for_results()) // REFUSAL_TOKENS

    async def serve(self, call: ToolCall, said: str = "", *, cause: Seq | None = None) -> str:
        """Serve a call and queue its record. Returns the result's text; if there is no room for it,
        a refusal that is not recorded.
        """

        async def verb() -> str:
            with self._runtime.timed("fault" if call.name == PAGE_FAULT else "search"):
                return await self._serve(call, said, cause)

        return await self._owned.whole(verb)

    async def _serve(self, call: ToolCall, said: str, cause: Seq | None) -> str:
        await self._owned.lease()  # a call is folded before its record is written
        state = self._owned.state
        if not self.fit():
            return refusal(
                "no_room",
                "the window has no room for more calls in this turn: answer now",
                faults_left=state.calls.budget.faults_left,
            )
        with state.table.faults():
            body = await self._body(call, said, state)
            body = self._runtime.journal.clean_body(body)
            result = self._owned.note_call(body, cause=cause)
        if isinstance(body, Faulted) and not body.refusal:
            self._prefetcher.used([body.page_id])
        return result

    async def _body(
        self, call: ToolCall, said: str, state: SessionState
    ) -> CallRefused | Faulted | Searched:
        """The record of a call and of the text with it; nothing is written.

        Text and arguments are cut to what a request can carry. A page served in full is LOADING
        until the record is folded: call this within `PageTable.faults`, which ends that if the
        record is never folded.
        """
        clean = self._runtime.journal.clean
        action = read_call(call)
        if len(call.arguments) > ARGUMENTS_MAX:
            action = Refuse(call, "bad_arguments", "the arguments are too long")
        words = _said_beside(clean(encodable(said)), state)
        action = replace(action, call=_as_kept(as_kept(action.call, clean), words, state))
        match action:
            case ServeFault():
                return _fault(action, words, state, self._runtime, self._levels)
            case ServeSearch():
                return await _search(action, words, state, self._recall.find_for_model)
            case Refuse(code=code, why=why):
                return CallRefused(
                    call_id=action.call.call_id,
                    name=action.call.name,
                    arguments=action.call.arguments,
                    code=code,
                    why=why,
                    said=words,
                    faults_left=state.calls.budget.faults_left,
                )


def _said_beside(said: str, state: SessionState) -> str:
    """The model's text beside its calls; only its beginning, if it would crowd them out."""
    room = state.room_for_results() // 4
    while said and exchange_tokens(state, said) > room:
        said = said[: len(said) // 2]
    return said


def _as_kept(call: ToolCall, said: str, state: SessionState) -> ToolCall:
    """The call as it is recorded and shown."""
    room = state.room_for_results() - exchange_tokens(state, said)
    if len(call.arguments) > min(ARGUMENTS_MAX, room - REFUSAL_TOKENS):
        return replace(call, arguments="{}")
    return call


async def _search(action: ServeSearch, said: str, state: SessionState, find: Find) -> Searched:
    asked = Searched(
        call_id=action.call.call_id,
        arguments=action.call.arguments,
        query=action.query,
        said=said,
    )
    if state.calls.searches_left < 1:
        return replace(
            asked,
            refusal="search_limit",
            why="no searches are left in this turn: answer from what you can see",
            faults_left=state.calls.budget.faults_left,
        )
    # Pages in the window are known to the model, so they do not crowd out others.
    seen = state.working_set
    result = await find(action.query, action.limit + len(seen), action.modality)
    hits = [hit for hit in result.hits if hit.page.page_id not in seen]
    told = [hit for hit in hits if not hit.archive]  # the others could not be shown
    found = replace(
        asked,
        hits=as_recorded(told[: action.limit], state),
        total=result.total - (len(result.hits) - len(hits)),
    )
    while found.hits and not fits(state, found):
        found = replace(found, hits=found.hits[:-1])
    return found


def as_recorded(hits: Sequence[SearchHit], state: SessionState) -> tuple[Hit, ...]:
    """The hits of a search as its record has them."""
    return tuple(
        Hit(
            page_id=hit.page.page_id,
            relevance=round(hit.relevance, 3),
            lapse=hit.lapse or state.closures.lapse_of(hit.page.page_id),
        )
        for hit in hits
    )


def _fault(
    action: ServeFault, said: str, state: SessionState, runtime: Runtime, levels: Levels
) -> Faulted:
    asked = Faulted(
        call_id=action.call.call_id,
        arguments=action.call.arguments,
        page_id=action.page_id,
        level=action.level,
        reason=action.reason,
        said=said,
        faults_left=state.calls.budget.faults_left,
    )
    row = state.table.find(action.page_id)
    if row is None:
        return replace(asked, refusal="unknown_page", why="there is no page of that id")
    asked = replace(asked, lapse=ClosedHits(runtime).lapse_in(state.closures, row))
    if runtime.quarantine.is_unseen(row):
        return replace(asked, refusal="withdrawn", why=runtime.quarantine.why_unseen(row))
    mapped = state.mapped_level(row.page_id, action.level)
    if mapped is not None:
        return replace(asked, level=mapped, already_mapped=True)
    state.table.begin_fault(row, action.level)
    try:
        page = runtime.pages.read(row)  # one read of a file: cheaper than a hop to a thread
        ladder = levels.ladder(page)
        room = fault_room(state, asked, page)
        level = state.calls.budget.grant(row.page_id, action.level, action.reason, ladder, room)
        level = ladder.fullest(level)
    except RecordGone:
        return replace(asked, refusal="forgotten", why="the page was forgotten")
    except ArchiveMissing:
        why = "the page is in an archive that cannot be reached now"
        return replace(asked, refusal="archive_missing", why=why)
    except FaultRefused as refused:
        offers = zip(map(Level, refused.levels), refused.tokens, strict=True)
        told = {int(told_level(row, level)): tokens for level, tokens in offers}
        return replace(
            asked,
            refusal=refused.code,
            why=refused.why,
            levels=tuple(told),
            level_tokens=tuple(told.values()),
        )
    shows = PageId("")
    if level is not Level.FULL:  # the representation is another page
        state.table.failed(row.page_id)
        shows = levels.keep(ladder, level, Actor.MODEL).page_id
    return replace(
        asked,
        level=level,
        tokens=ladder[level],
        shows=shows,
        faults_left=state.calls.budget.faults_left - 1,
    )
