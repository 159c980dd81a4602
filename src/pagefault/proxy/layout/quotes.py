"""Quotes in a proxied conversation: where, which pages, and which part of each.

Three kinds are quoted, once each, and stay where they are. With an epoch that lets turns leave:
pins, shorter forms that were asked for, claims on the user's word, and what was formed of turns
that left. Before a message that opens a turn: what it calls for, and new pins. In the same place:
replacements for words that were edited after they were quoted, and claims that closed others.

Words of a closed claim (`service/window/closed_words.py`) are quoted with a note that names what
closed it, as of the record of the request that quoted them, so a restart finds the same.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable, Collection, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Final

from pagefault.model.defaults import CORE_WINDOW_SHARE, PASSAGE_TOKENS, PASSAGE_TOKENS_MIN
from pagefault.model.errors import CallerError, PagefaultError, RecordGone, SessionNotFound
from pagefault.model.events import Relayed
from pagefault.model.ids import FOREVER, PageId, Seq
from pagefault.model.kinds import IMPORT, Compaction, Kind, Level, Origin
from pagefault.model.page import Derived, Evidence, Page
from pagefault.model.trust import is_untrusted
from pagefault.pack import render
from pagefault.pack.count import MESSAGE_TOKENS, TokenCounter
from pagefault.proxy.history.trie import Node
from pagefault.proxy.layout.outgoing import Outgoing
from pagefault.proxy.layout.verbatim import Verbatim
from pagefault.recall.gate import gate
from pagefault.recall.passages import passage
from pagefault.service.memory import Memory
from pagefault.service.session import Session
from pagefault.service.turn.auto_recall import is_chat
from pagefault.service.window.claim_pages import is_claim

CANDIDATES: Final = 50
QUERY_CHARS_MAX: Final = 4_000
STANDS: Final = "[What the user decided, prefers and told there, as it stands:]"
PINNED: Final = "[What is pinned, and what the user decided, prefers and told there, as it stands:]"
SHORTER: Final = "[What is pinned or kept in short, and what the user decided there, as it stands:]"
FORMED: Final = (
    "[What stood there in short, and what is pinned or was decided there, as it stands:]"
)
TOO_LONG: Final = "[too long to be quoted here]"
QUOTED: Final = "[From earlier in this conversation, quoted because it may bear on what follows:]"


@dataclass(slots=True)
class Chosen:
    """The quotes that are new with a request."""

    core: list[Page] = field(default_factory=list)  # in front, with an epoch
    here: list[Page] = field(default_factory=list)  # before the message that opens the turn
    opening: Node | None = None  # that message
    passages: dict[PageId, Evidence] = field(default_factory=dict)  # of pages quoted in part

    @property
    def pages(self) -> list[Page]:
        return [*self.core, *self.here]

    @property
    def brought_back(self) -> int:
        """How many pages these bring back, as `inspection/brought.py` defines it."""
        return sum(page.derived is None for page in self.here)


class Quotes:
    """For one conversation. `problem` is called with the reason if nothing could be found."""

    def __init__(
        self,
        memory: Memory,
        counter: TokenCounter,
        verbatim: Verbatim,
        *,
        session: Callable[[], Awaitable[Session]],
        said_in: Callable[[Node], Sequence[str]],
        problem: Callable[[str], None],
    ) -> None:
        self._memory = memory
        self._counter = counter
        self._verbatim = verbatim
        self._session = session
        self._said_in = said_in
        self._problem = problem
        self._seal = render.sealed_with(memory.keyed)
        self._edits: dict[str, Sequence[str]] = {}  # replaced pages, and their replacements
        self._former: dict[str, str] = {}  # the reverse
        self._owes_claims = False  # those said in what the client compacted
        self.unquote()

    def unquote(self) -> None:
        """Drop all quotes."""
        self._verbatim.unquote()
        self._inserted: dict[str, list[PageId]] = {}  # by the node of the message that they precede
        self._parts: dict[tuple[str, PageId], Evidence] = {}  # of those quoted in part
        self._cored: dict[str, list[PageId]] = {}  # by the epoch whose notice they follow
        self._as_of: dict[tuple[str, PageId], Seq] = {}  # before which record quotes are judged

    def note_edit(self, old: Sequence[str], new: Sequence[str]) -> None:
        """The pages `new` replace the pages `old`."""
        if old and new and old != new:
            self._edits.update(dict.fromkeys(old, new))
            self._former.update(dict.fromkeys(new, old[0]))

    # --- choosing -----------------------------------------------------------------------------

    async def is_nothing_due(self, outgoing: Outgoing) -> bool:
        """Whether `choose` would plan no epoch and quote nothing, whatever is logged before it is
        called: the request fits, and if a turn opens with it, nothing that it does not show could
        be recalled, and nothing that it shows was edited or taken back.
        """
        spare = self._recall_room() if outgoing.opening() is not None else 0
        if not outgoing.fits(spare):
            return False
        if outgoing.turn() is None:
            return True
        if outgoing.hidden() or self._edits or self._owes_claims:
            return False
        try:
            state = (await self._session()).owned.state
        except SessionNotFound:
            return True  # nothing was said before
        return not state.pins_there() and not state.closures.any_closed

    async def choose(
        self,
        outgoing: Outgoing,
        newest: str,
        *,
        is_compacted: bool,
        loaded: Collection[PageId] = (),
    ) -> Chosen:
        """Plan the request, and insert its quotes. `newest` is the user's newest message,
        `is_compacted` says that the client has just summarised what came before, and `loaded` are
        pages that the model asked for and the request shows.
        """
        chosen = Chosen()
        self._owes_claims = self._owes_claims or is_compacted
        opening = outgoing.opening()
        room = self._recall_room() if opening is not None else 0
        epoch = outgoing.plan(room)
        if epoch:
            if outgoing.has_new_front:
                chosen.core = await self._pinned(outgoing, outgoing.free_tokens() - room)
                free = outgoing.free_tokens() - room - sum(map(_cost, chosen.core))
                chosen.core += await self._shorter(outgoing, free, told=chosen.core)
                free = outgoing.free_tokens() - room - sum(map(_cost, chosen.core))
                chosen.core += await self._standing(outgoing, free, told=chosen.core)
                free = outgoing.free_tokens() - room - sum(map(_cost, chosen.core))
                chosen.core += await self._formed(outgoing, free)
            if chosen.core:
                await self._put_in_front(outgoing.front, chosen.core)
            await self._requote(outgoing.quoting())
        chosen.here = await self._closing(outgoing)
        due = len(chosen.here)
        recalled: list[Page] = []
        if opening is not None:
            free = outgoing.free_tokens() - sum(map(_cost, chosen.here))
            chosen.here += await self._pinned(outgoing, free, told=chosen.here)
            free = outgoing.free_tokens()
            taken = sum(map(_cost, chosen.here))
            free, room = free - taken, room - taken
            if self._owes_claims and not epoch:
                chosen.here += await self._standing(outgoing, free - room, told=chosen.here)
            self._owes_claims = False
            told = {page.page_id for page in chosen.here}
            recalled, passages = await self._recall(outgoing, newest, min(room, free), loaded)
            recalled = [page for page in recalled if page.page_id not in told]
            chosen.here += recalled
            chosen.passages = {i: span for i, span in passages.items() if i not in told}
            room = free - sum(map(_cost, chosen.here))
            for page in await self._closing(outgoing, told=chosen.here):
                chosen.here += [page] if _cost(page) <= room else []
                room -= _cost(page)
        chosen.opening = outgoing.turn() if chosen.here else None
        if chosen.opening is not None:
            here = [page.page_id for page in chosen.here]
            await self._put_before(chosen.opening.key, here, chosen.passages.values())
            other = [page for page in chosen.here[due:] if page not in recalled]
            await self._fit(outgoing, chosen, [*other, *recalled])
        return chosen

    async def _fit(self, outgoing: Outgoing, chosen: Chosen, optional: list[Page]) -> None:
        """Take back the last of these quotes until the request fits: what a quote takes with its
        labels is known once it is written.
        """
        assert chosen.opening is not None
        key = chosen.opening.key
        while optional and outgoing.free_tokens() < 0:
            page = optional.pop()
            chosen.here.remove(page)
            chosen.passages.pop(page.page_id, None)
            self._inserted[key].remove(page.page_id)
            if self._inserted[key]:
                await self._put_in(key)
            else:
                self._verbatim.take_out(key)
                chosen.opening = None

    async def again(
        self, told: Relayed, *, seq: Seq, epoch: str | None, opening: str | None
    ) -> None:
        """Restore the quotes of a record, without what was forgotten since: `epoch` is the node at
        which one began, `opening` that of the message.
        """
        if epoch is not None:
            core = await self._still_there(told.core)
            if core:
                await self._put_in_front(epoch, core, seq)
            await self._requote(list(self._inserted), upto=seq)
        if opening is not None:
            here = [page_id for page_id in told.recalled if page_id not in told.core]
            await self._put_before(opening, here, told.passages, seq)

    async def _put_in_front(self, epoch: str, pages: Sequence[Page], upto: Seq = FOREVER) -> None:
        self._cored[epoch] = [page.page_id for page in pages]
        has_pins = any(page.row.kind is not Kind.CLAIM for page in pages)
        has_shorter = any(page.derived and page.derived.represents for page in pages)
        has_formed = any(page.row.kind is Kind.SUMMARY for page in pages)
        why = SHORTER if has_shorter else PINNED if has_pins else STANDS
        why = FORMED if has_formed else why
        held = [await self._as_it_held(page, upto) for page in pages]
        self._verbatim.put_in_front(epoch, self._quoted(held, why))

    async def _put_before(
        self,
        opening: str,
        page_ids: Sequence[PageId],
        passages: Iterable[Evidence],
        upto: Seq = FOREVER,
    ) -> None:
        upto = min(upto, await self._next_seq())
        self._inserted.setdefault(opening, []).extend(page_ids)
        self._as_of |= {(opening, page_id): upto for page_id in page_ids}
        self._parts |= {(opening, span.page_id): span for span in passages}
        await self._put_in(opening)

    async def _still_there(self, ids: Iterable[PageId]) -> list[Page]:
        pages = []
        session = await self._session()
        for page_id in ids:
            with suppress(RecordGone, CallerError):
                page = await session.page(page_id)
                if not session.owned.runtime.quarantine.is_withdrawn(page.row):
                    pages.append(page)
        return pages

    def quoted_whole(self, outgoing: Outgoing) -> set[PageId]:
        """The pages that the planned request quotes in full."""
        told = {(key, page) for key in outgoing.quoting() for page in self._inserted[key]}
        whole = {page for key, page in told if (key, page) not in self._parts}
        return whole | set(self._cored.get(outgoing.front, ()))

    # --- the quotes ---------------------------------------------------------------------------

    def _quoted(self, pages: Sequence[Page], why: str = QUOTED) -> str:
        """Claims first, then messages, each in order. A page that replaced another names it, so
        that it closes an earlier quote of that one.
        """
        ordered = sorted(pages, key=lambda page: (page.derived is None, page.row.order))
        lines = [self._line(page) for page in ordered]
        return f"{why}\n{render.block(lines, self._seal)}"

    def _line(self, page: Page) -> str:
        former = self._former.get(page.page_id)
        if page.row.kind is Kind.SUMMARY and not page.text:
            return render.summary(page, Level.REFERENCE)
        if former is None:
            return render.line([page])
        text = page.text if _cost(page) <= self._recall_room() else TOO_LONG
        return render.line([replace(page, text=text, derived=Derived(supersedes=PageId(former)))])

    async def _put_in(self, opening: str) -> None:
        pages = await self._still_there(dict.fromkeys(self._inserted[opening]))
        if pages:
            told = [
                await self._as_it_held(
                    self._part(page, self._parts.get((opening, page.page_id))),
                    self._as_of.get((opening, page.page_id), FOREVER),
                )
                for page in pages
            ]
            self._verbatim.put_in(opening, self._quoted(told))

    async def _next_seq(self) -> Seq:
        """The first record that no claim has yet."""
        return Seq((await self._session()).owned.state.claims.upto + 1)

    async def _as_it_held(self, page: Page, upto: Seq) -> Page:
        """The page, with a note where it has words of a claim closed before this record; of a
        summary in the hierarchical way nothing, as its header is quoted.
        """
        state = (await self._session()).owned.state
        is_summary = page.row.kind is Kind.SUMMARY and page.derived and not page.derived.represents
        if is_summary and state.compaction is Compaction.HIERARCHICAL:
            return replace(page, text="")
        if not state.closures.any_closed or page.row.kind is Kind.CLAIM:
            return page
        if is_summary:  # formed: each line cites its pages
            return state.closures.noted(page, upto)
        return replace(
            page, lapse=render.changed(", ".join(state.closures.closers_of(page.page_id, upto)))
        )

    async def _requote(self, openings: Iterable[str], upto: int | None = None) -> None:
        """Replace quotes of words edited since, and note what was closed since, when an epoch
        begins: the provider's cache is lost there anyway. `upto` is the record reached, if the log
        is being replayed.
        """
        has_closed = (
            bool(self._inserted) and (await self._session()).owned.state.closures.any_closed
        )
        if not self._edits and not has_closed:
            return
        closed = await self._closed_by_edits(upto) if self._edits else {}
        as_of = await self._next_seq() if upto is None else Seq(upto)
        for opening in openings:
            old = self._inserted[opening]
            new = [
                now
                for page_id in old
                if page_id not in closed
                for now in await self._now(page_id, upto)
            ]
            self._as_of |= {(opening, page_id): as_of for page_id in new}
            if new != old or has_closed:
                self._inserted[opening] = new
                await self._put_in(opening)

    async def _now(self, page_id: PageId, upto: int | None = None) -> list[PageId]:
        """The pages that replace this one; itself if it was not edited."""
        found, seen = [page_id], {page_id}
        while (new := self._edits.get(found[0])) and await self._is_before(PageId(new[0]), upto):
            found = [PageId(one) for one in new]
            if not seen.isdisjoint(found):
                break
            seen.update(found)
        return found

    async def _is_before(self, page_id: PageId, upto: int | None) -> bool:
        return upto is None or any(
            page.row.seq < upto for page in await self._still_there([page_id])
        )

    async def _closed_by_edits(self, upto: int | None = None) -> dict[PageId, PageId]:
        """Claims whose words were edited, each with the note that closed it."""
        session = await self._session()
        found: dict[PageId, PageId] = {}
        for claim in await session.claims():
            is_edited = any(span.page_id in self._edits for span in claim.evidence)
            if is_edited and claim.closed_by and await self._is_before(claim.closed_by, upto):
                found[claim.claim_id] = claim.closed_by
        return found

    async def _closing(self, outgoing: Outgoing, told: Sequence[Page] = ()) -> list[Page]:
        """Replacements for words that were edited after they were quoted and are still quoted:
        those bytes were sent, and stay; and the claims that closed what the request shows or is
        `told`, if nothing shown says so. Nothing if no turn opens.
        """
        if outgoing.turn() is None:
            return []
        shown = list(self._cored.get(outgoing.front, ()))
        for key in outgoing.quoting():
            shown += self._inserted[key]
        shown += (page.page_id for page in told)
        try:
            wanted = await self._closers(outgoing, shown)
            closed = await self._closed_by_edits() if self._edits else {}
            for page_id in shown:
                if page_id in closed:
                    wanted[closed[page_id]] = None
                elif page_id in self._edits:
                    wanted.update(dict.fromkeys(await self._now(page_id)))
            return await self._still_there(one for one in wanted if one not in shown)
        except PagefaultError as error:
            self._problem(error.message)
            return []

    async def _closers(self, outgoing: Outgoing, quoted: Sequence[PageId]) -> dict[PageId, None]:
        """The claims that closed what is quoted, or words of what the client sends, and rest on no
        words that it sends.
        """
        found: dict[PageId, None] = {}
        try:
            state = (await self._session()).owned.state
        except SessionNotFound:
            return found  # nothing has been said yet
        if not state.closures.any_closed:
            return found
        sent = {PageId(page) for node in outgoing.shown() for page in self._said_in(node)}
        for page_id in dict.fromkeys((*quoted, *sorted(sent))):
            closers = state.closures.closers_of(page_id)
            if is_claim(page_id):
                closers = [
                    by for by in [state.claims.instead_of(page_id, FOREVER)] if by != page_id
                ]
            found |= {by: None for by in closers if not state.claims.rests_on_any(by, sent)}
        return found

    # --- recall -------------------------------------------------------------------------------

    def _recall_room(self) -> int:
        return self._memory.limits.recall_room(self._verbatim.window_tokens, faults=False)

    async def _recall(
        self, outgoing: Outgoing, newest: str, room: int, loaded: Collection[PageId]
    ) -> tuple[list[Page], dict[PageId, Evidence]]:
        """What the newest message calls for and the request does not show: pages, and the part of
        each that is quoted in part.
        """
        chosen: list[Page] = []
        passages: dict[PageId, Evidence] = {}
        allowed = {page for node in outgoing.hidden() for page in self._said_in(node)}
        allowed.difference_update(loaded)
        query = newest[:QUERY_CHARS_MAX]
        if not allowed or is_chat(query):
            return chosen, passages
        calls_for = gate(query)
        room = int(calls_for.room_share * room)
        share = int(room * self._memory.limits.untrusted_recall_share)
        strangers = Counter[Origin]()
        try:
            session = await self._session()
            found = await session._candidates(query, CANDIDATES)
            bearing = [hit for hit in found.hits if hit.page.page_id in allowed]
            for hit in calls_for.admitted(bearing):
                if room <= render.LABEL_TOKENS:
                    break
                with suppress(RecordGone):
                    page = await self._memory.read(hit.page)
                    origin = page.row.origin
                    is_more = origin in strangers and is_untrusted(origin) and origin != IMPORT
                    free = min(room, share - strangers[origin]) if is_more else room
                    span = self._bearing(page, query, free - render.LABEL_TOKENS)
                    if span is None:
                        continue
                    chosen.append(page)
                    if span != _whole(page):
                        passages[page.page_id] = span
                    cost = _cost(self._part(page, span))
                    room -= cost
                    strangers[origin] += cost
        except PagefaultError as error:
            self._problem(error.message)
        return chosen, passages

    def _bearing(self, page: Page, query: str, room: int) -> Evidence | None:
        """The part of a page to quote within so many tokens: all of a short one, otherwise the part
        that bears on the query; None if there is none.
        """
        most = min(room, PASSAGE_TOKENS)
        if page.row.tokens <= most:
            return _whole(page)
        span = passage(
            page.text,
            query,
            self._counter.count_all,
            tokens_max=most,
            tokens_min=PASSAGE_TOKENS_MIN,
        )
        if span is None:
            return None
        start, end = (len(page.text[:at].encode()) for at in span)
        return Evidence(page_id=page.page_id, start=start, end=end)

    def _part(self, page: Page, span: Evidence | None) -> Page:
        """The page with only this part of its text; without a part, the page."""
        whole = page.text.encode()
        if span is None or span == _whole(page) or span.end > len(whole):
            return page
        text = whole[span.start : span.end].decode(errors="replace")
        shown = f"{'… ' * bool(span.start)}{text}{' …' * (span.end < len(whole))}"
        return replace(page, text=shown, row=replace(page.row, tokens=self._counter.count(shown)))

    async def _pinned(
        self, outgoing: Outgoing, free: int, *, told: Sequence[Page] = ()
    ) -> list[Page]:
        """Pins, goals included, that neither the request nor `told` shows, in the order of the
        pins, as far as there is room: a pin is for every request.
        """
        there = {page.page_id for page in told} | set(self._cored.get(outgoing.front, ()))
        there |= {page_id for key in outgoing.quoting() for page_id in self._inserted[key]}
        there |= {PageId(page) for node in outgoing.shown() for page in self._said_in(node)}
        chosen: list[Page] = []
        try:
            session = await self._session()
            pins = session.owned.state.pins_there()
            for page in await self._still_there(one for one in pins if one not in there):
                if _cost(page) + MESSAGE_TOKENS <= free:
                    chosen.append(page)
                    free -= _cost(page)
        except SessionNotFound:
            pass  # nothing was said yet
        except PagefaultError as error:
            self._problem(error.message)
        return chosen

    def _core_room(self, free: int) -> int:
        return min(int(self._verbatim.window_tokens * CORE_WINDOW_SHARE), free) - MESSAGE_TOKENS

    async def _shorter(self, outgoing: Outgoing, free: int, *, told: Sequence[Page]) -> list[Page]:
        """The shorter forms, asked for, of what the request does not show: the newest that fit the
        room for claims.
        """
        here = {page.page_id for page in told}
        hidden = {PageId(page) for node in outgoing.hidden() for page in self._said_in(node)}
        room = self._core_room(free)
        chosen: list[Page] = []
        try:
            asked = (await self._session()).owned.state.asked_shorter()
            for page_id, made in reversed(asked.items()):
                if page_id not in hidden or page_id in here or page_id in self._edits:
                    continue
                for page in await self._still_there([made]):
                    if _cost(page) <= room:
                        chosen.append(page)
                        room -= _cost(page)
        except PagefaultError as error:
            self._problem(error.message)
        return chosen[::-1]

    async def _formed(self, outgoing: Outgoing, free: int) -> list[Page]:
        """What was formed of turns of which some left: the newest that fits the room for summaries,
        in the hierarchical way of compaction its headers. It waits some turns after it was formed,
        so that a model does not meet its own words at once.
        """
        limits = self._memory.limits
        room = int(self._verbatim.window_tokens * limits.summary_window_share)
        room = min(room, free) - MESSAGE_TOKENS
        hidden = {PageId(page) for node in outgoing.hidden() for page in self._said_in(node)}
        chosen: list[Page] = []
        try:
            state = (await self._session()).owned.state
            active = state.ranges.active(state.turn, after_turns=limits.formed_after_turns)
            for page in await self._still_there(one.summary for one in reversed(active)):
                has_left = page.derived and not hidden.isdisjoint(page.derived.provenance)
                told = await self._as_it_held(page, FOREVER)
                cost = _cost(page) if told.text else self._counter.count(self._line(told))
                if has_left and cost <= room:
                    chosen.append(page)
                    room -= cost
        except PagefaultError as error:
            self._problem(error.message)
        return chosen[::-1]

    async def _standing(
        self, outgoing: Outgoing, free: int, *, told: Sequence[Page] = ()
    ) -> list[Page]:
        """Claims that hold on the user's word and that neither the request nor `told` shows: the
        newest that fit.
        """
        there = {page.page_id for page in told}
        room = self._core_room(free)
        allowed = {page for node in outgoing.hidden() for page in self._said_in(node)}
        chosen: list[Page] = []
        if not allowed:
            return chosen
        try:
            session = await self._session()
            for claim in reversed(await session.claims()):
                said = {span.page_id for span in claim.evidence}
                is_standing = claim.status == "standing" and claim.authority == "user"
                if not is_standing or not said or not said <= allowed or claim.claim_id in there:
                    continue
                page = await session.page(claim.claim_id)
                if _cost(page) <= room:
                    chosen.append(page)
                    room -= _cost(page)
        except PagefaultError as error:
            self._problem(error.message)
        return chosen[::-1]


def _whole(page: Page) -> Evidence:
    return Evidence(page_id=page.page_id, start=0, end=len(page.text.encode()))


def _cost(page: Page) -> int:
    return page.row.tokens + render.LABEL_TOKENS
