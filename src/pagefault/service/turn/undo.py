"""Undo and redo of pins, goals, claims, and rulings on claims.

The log is only appended to, so undoing an action appends its inverse: an unpin for a pin, a pin for
an unpin; for a claim a retraction note, and another copy of the claim that it replaced, with the
same words, origin and evidence. Redoing appends the undone action in the same way. These are
ordinary records, so every fold takes them as such, and a pin or goal that is restored takes effect
like a new one.

An action is what a person did with one call or one message: a pin, an unpin, a goal with its pins,
a ruling on a claim, or the claims of a message. What can be undone and redone is a fold of the
records, as in an editor: two stacks, and a new action clears the second. A record of an undo or a
redo is recognised by its header, which a forget leaves: its actor is a person, and its `cause` is
the action, undo or redo that it reverses. No other pin, goal, ruling or claim has both.

While a claim did not hold, formation may have proposed it again. If it is restored, that proposal
is merged into it, as if it had held all along: no two claims that hold say the same.

What a client took back by editing a message is no longer an action. A claim is restored only while
the words that it rests on exist, and are current.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property

from pagefault.model.errors import CannotUndo, RecordGone
from pagefault.model.events import (
    Body,
    Claimed,
    ClaimRuled,
    Draft,
    Erased,
    Event,
    Pinned,
    Unpinned,
    expected,
)
from pagefault.model.ids import NOTHING, PageId, Seq
from pagefault.model.kinds import (
    GOAL_SUBJECT,
    PAGE_PREFIX,
    RUNTIME,
    Actor,
    ClaimType,
    Kind,
    Origin,
    RulingKind,
)
from pagefault.model.page import Page
from pagefault.service.derived.claim_book import book_of
from pagefault.service.ownership import Owned
from pagefault.service.restore import records
from pagefault.service.runtime import Runtime
from pagefault.service.window.claim_pages import authority_of
from pagefault.service.window.content import page_of
from pagefault.service.window.room import check_pins
from pagefault.truth.claims import ClaimBook, may_close
from pagefault.truth.held import kind_of
from pagefault.truth.subjects import value_key

_STEM = PAGE_PREFIX["claim"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Undone:
    """What was undone, or redone: a "pin", an "unpin", a "goal", "claims", or a "ruling" on one.

    `page_ids` are the pages affected; `standing` those that hold or are pinned again because of it,
    under their current ids: a restored claim or goal is a new page.
    """

    what: str
    page_ids: tuple[PageId, ...]
    standing: tuple[PageId, ...]


@dataclass(frozen=True, slots=True)
class _Act:
    seq: Seq  # of the record that last did, undid or redid it
    records: tuple[Event, ...]

    @property
    def is_gone(self) -> bool:
        return all(isinstance(event.body, Erased) for event in self.records)

    def told(self, standing: Sequence[PageId]) -> Undone:
        first = self.records[0].body
        match first:
            case Pinned(page_id=page_id):
                what, pages = "pin", [page_id]
            case Unpinned(page_id=page_id):
                what, pages = "unpin", [page_id]
            case ClaimRuled(claim_id=page_id):
                what, pages = "ruling", [page_id]
            case _:
                claims = [one.body for one in self.records if isinstance(one.body, Claimed)]
                what = "goal" if _is_goal(first) else "claims"
                pages = [claim.page_id for claim in claims]
        return Undone(what=what, page_ids=tuple(pages), standing=tuple(standing))


def plan_undo(owned: Owned, runtime: Runtime) -> tuple[list[Draft], Undone]:
    """The records that undo the newest action. Blocks on the store."""
    acts = _Acts(records(runtime, owned.scope, types=_TYPES))
    while acts.done and acts.done[-1].is_gone:
        acts.done.pop()
    if not acts.done:
        raise CannotUndo(
            "there is nothing to undo",
            hint="pins, unpins, goals, claims and rulings on claims can be undone",
        )
    act = acts.done[-1]
    plan = _Plan(owned, runtime, acts, act)
    for event in reversed(act.records):
        if isinstance(event.body, Claimed):
            plan.take_back(event.body)
    for event in reversed(act.records):
        match event.body:
            case Pinned(page_id=page_id):
                plan.unpin(page_id)
            case Unpinned(page_id=page_id):
                plan.pin(page_id)
            case ClaimRuled(claim_id=page_id):
                plan.turn(page_id)
    return plan.drafts, act.told(plan.standing)


def plan_redo(owned: Owned, runtime: Runtime) -> tuple[list[Draft], Undone]:
    """The records that redo the last undone action. Blocks on the store."""
    acts = _Acts(records(runtime, owned.scope, types=_TYPES))
    if not acts.undone:
        raise CannotUndo(
            "there is nothing to redo",
            hint="an undo can be redone until something new is pinned, set or claimed",
        )
    act = acts.undone[-1]
    if act.is_gone:
        raise CannotUndo("what was undone was forgotten since, so it does not come back")
    plan = _Plan(owned, runtime, acts, act)
    for event in act.records:
        if isinstance(event.body, Claimed):
            plan.claim_again(event.body)
    for event in act.records:
        match event.body:
            case Pinned(page_id=page_id):
                plan.pin(page_id)
            case Unpinned(page_id=page_id):
                plan.unpin(page_id)
            case ClaimRuled(claim_id=page_id):
                plan.turn(page_id)
    return plan.drafts, act.told(plan.standing)


_TYPES = ("pinned", "unpinned", "claim", "claim_ruled", "formation_begun")


class _Acts:
    """Two stacks: actions done and not undone, and actions undone, the newest last."""

    def __init__(self, events: Iterable[Event]) -> None:
        self.done: list[_Act] = []
        self.undone: list[_Act] = []
        self.restated: dict[PageId, PageId] = {}  # claims that were restated, and their copies
        self.closer: dict[PageId, PageId] = {}  # claims that no longer hold, and what closed each
        self._moved = NOTHING
        self._formations: set[Seq] = set()
        for event in events:
            self._fold(event)

    def now(self, page_id: PageId) -> PageId:
        """The current page for a page: its last copy, or itself."""
        seen = {page_id}
        while (later := self.restated.get(page_id, page_id)) not in seen:
            seen.add(later)
            page_id = later
        return page_id

    def _fold(self, event: Event) -> None:
        body = event.body
        if event.type == "formation_begun":
            self._formations.add(event.seq)
            return
        if isinstance(body, Claimed):
            self.note(body)
        elif not isinstance(body, Pinned | Unpinned | ClaimRuled | Erased):
            return
        if event.type == "claim_ruled" and event.actor is not Actor.USER:
            return  # a check's finding: a new check settles doubts
        is_lesson = event.actor is Actor.TOOL and bool(event.cause)  # of `reflection.py`, at rest
        if event.cause in self._formations or is_lesson:
            return  # proposed in the background: not an action
        if event.actor is Actor.USER and event.cause:
            self._move(event)
        elif event.type == "claim" and event.actor is not Actor.USER and event.origin == RUNTIME:
            if isinstance(body, Claimed):
                self._edited(body.supersedes)
        elif self.done and _goes_on(self.done[-1], event):
            last = self.done.pop()
            self.done.append(replace(last, records=(*last.records, event)))
        else:
            self.undone.clear()
            self.done.append(_Act(event.seq, (event,)))

    def note(self, claim: Claimed) -> None:
        for closed in filter(None, (claim.supersedes, *claim.merges)):
            self.closer[closed] = claim.page_id
        if claim.restates:
            self.restated[claim.restates] = claim.page_id

    def _move(self, event: Event) -> None:
        """Move an action from one stack to the other; the records of one undo have the same
        cause.
        """
        if event.cause == self._moved:
            return
        self._moved = event.cause
        for stack, other in ((self.done, self.undone), (self.undone, self.done)):
            for place in range(len(stack) - 1, -1, -1):
                if stack[place].seq == event.cause:
                    other.append(replace(stack.pop(place), seq=event.seq))
                    return
                if not stack[place].is_gone:
                    break
        self.undone.append(_Act(event.seq, ()))

    def _edited(self, page_id: PageId) -> None:
        """The words of a claim were edited away: it can be neither undone nor redone."""

        def rest(act: _Act) -> _Act:
            return replace(act, records=tuple(e for e in act.records if not self._is(e, page_id)))

        self.done = [left for act in self.done if (left := rest(act)).records]

    def _is(self, event: Event, page_id: PageId) -> bool:
        return isinstance(event.body, Claimed) and self.now(event.body.page_id) == page_id


def _goes_on(act: _Act, event: Event) -> bool:
    """Whether a record belongs to the previous action: to a goal, or to the claims of a message."""
    first, last = act.records[0], act.records[-1]
    if event.type == "claim":
        return event.cause == last.cause != NOTHING and event.session == last.session
    if not _is_goal(first.body) or event.seq != last.seq + 1 or event.session != last.session:
        return False
    match event.body:
        case Unpinned(page_id=page_id):
            return isinstance(first.body, Claimed) and page_id == first.body.supersedes
        case Pinned(page_id=page_id):
            return isinstance(first.body, Claimed) and page_id == first.body.page_id
        case _:
            return False


def _is_goal(body: Body) -> bool:
    return isinstance(body, Claimed) and body.subject == GOAL_SUBJECT


class _Plan:
    """The records of one undo or redo, while they are collected."""

    def __init__(self, owned: Owned, runtime: Runtime, acts: _Acts, act: _Act) -> None:
        self._owned = owned
        self._runtime = runtime
        self._acts = acts
        self._cause = act.seq
        self._made: dict[PageId, Page] = {}
        self._unpinned: Page | None = None
        self.drafts: list[Draft] = []
        self.standing: list[PageId] = []
        if any(isinstance(event.body, Erased) for event in act.records):
            raise CannotUndo("a part of it was forgotten since, so the rest stays as it is")

    @cached_property
    def _book(self) -> ClaimBook:
        return book_of(self._runtime, self._owned.session)

    def take_back(self, claim: Claimed) -> None:
        """Withdraw a claim; what it closed holds again."""
        page_id = self._standing(claim.page_id)
        note = self._claim(
            Claimed(
                page_id=page_id,
                order=0,
                text=f"Undone: {page_id} is taken back.",
                tokens=0,
                claim_type=ClaimType.RETRACTION,
                subject=GOAL_SUBJECT if _is_goal(claim) else "",
            ),
            RUNTIME,
            supersedes=page_id,
        )
        place = note
        for closed in filter(None, (claim.supersedes, *claim.merges)):
            self._restate(closed, place)
            place = PageId("")

    def claim_again(self, claim: Claimed) -> None:
        """Restore a claim, which closes again what it closed."""
        if claim.supersedes:
            place = self._standing(claim.supersedes)
        else:
            place = self._acts.closer.get(self._acts.now(claim.page_id), PageId(""))
        self._restate(claim.page_id, place)

    def pin(self, page_id: PageId) -> None:
        page = self._page(self._acts.now(page_id))
        state = self._owned.state
        if not state.table.is_pinned(page.page_id):
            check_pins(state, page, instead=self._unpinned)
        self._add(Pinned(page_id=page.page_id), RUNTIME)
        if page.page_id not in self.standing:
            self.standing.append(page.page_id)

    def unpin(self, page_id: PageId) -> None:
        page_id = self._acts.now(page_id)
        pins = self._owned.state.pinned_pages()
        self._unpinned = next((page for page in pins if page.page_id == page_id), None)
        self._add(Unpinned(page_id=page_id), RUNTIME)

    def turn(self, claim_id: PageId) -> None:
        """Revert a ruling, or restore it."""
        what = RulingKind.UNDONE
        self._add(ClaimRuled(claim_id=claim_id, what=what, undoes=self._cause), RUNTIME)
        now = self._acts.now(claim_id)
        with suppress(CannotUndo):  # forgotten: a ruling brings nothing back
            self._join(*self._claimed(now), now)

    def _standing(self, page_id: PageId) -> PageId:
        now = self._acts.now(page_id)
        if now in self._acts.closer:
            closer = self._acts.closer[now]
            raise CannotUndo(f"{now} no longer holds: {closer} has replaced or retracted it since")
        return now

    def _restate(self, page_id: PageId, place: PageId) -> None:
        """Copy a claim, in place of another; `CannotUndo` if it was forgotten."""
        runtime, scope = self._runtime, self._owned.scope
        body, origin = self._claimed(page_id)
        for source in {*body.provenance, *(span.page_id for span in body.evidence)}:
            found = runtime.index.find_page(scope, source)
            if found is None:
                raise _forgotten(page_id, f"rests on {source}, which was forgotten")
            if scope.is_history(found) and found.kind is not Kind.CLAIM:
                raise _forgotten(page_id, f"rests on {source}, which was edited")
        merges = tuple(map(self._acts.now, body.merges))
        again = replace(body, restates=page_id, merges=merges)
        made = self._claim(again, origin, supersedes=place)
        if body.claim_type != ClaimType.RETRACTION:
            self.standing.append(made)
            self._join(body, origin, made)

    def _join(self, claim: Claimed, origin: Origin, page_id: PageId) -> None:
        """Merge into a claim that holds again what was formed meanwhile and says the same."""
        key = kind_of(ClaimType(claim.claim_type)), value_key(claim.value)
        for held in () if _is_goal(claim) else self._book.standing():
            if (
                held.claim_id != page_id
                and held.claim_id not in self._acts.closer
                and may_close(authority_of(origin), held)
                and (kind_of(held.type), value_key(held.value)) == key
            ):
                proof, label = self._claimed(held.claim_id)
                proof = replace(proof, restates=held.claim_id, merges=(), repeats=page_id)
                self._claim(proof, label, supersedes=held.claim_id)

    def _claimed(self, page_id: PageId) -> tuple[Claimed, Origin]:
        """A claim as it was written; `CannotUndo` if it was forgotten."""
        row = self._runtime.index.find_page(self._owned.scope, page_id)
        if row is None:
            raise _forgotten(page_id, "is not there any more")
        event = self._runtime.log.get(row.seq)
        if not isinstance(event.body, Claimed):
            raise _forgotten(page_id, "was forgotten")
        return event.body, event.origin

    def _claim(self, claim: Claimed, origin: Origin, *, supersedes: PageId) -> PageId:
        state, number = self._owned.state, len(self._made)
        made = replace(
            claim,
            page_id=PageId(f"{_STEM}_{state.numbers.get(_STEM, 0) + number + 1}"),
            order=state.derived_order_next + number,
            tokens=claim.tokens or state.counter.count(claim.text),
            supersedes=supersedes,
        )
        self._acts.note(made)
        draft = self._add(made, origin)
        self._made[made.page_id] = page_of(expected(draft), made)
        return made.page_id

    def _page(self, page_id: PageId) -> Page:
        if page_id in self._made:
            return self._made[page_id]
        row = self._runtime.index.find_page(self._owned.scope, page_id)
        if row is None:
            raise _forgotten(page_id, "is not there any more")
        try:
            return self._runtime.pages.read(row)
        except RecordGone:
            raise _forgotten(page_id, "was forgotten") from None

    def _add(self, body: Body, origin: Origin) -> Draft:
        draft = self._owned.draft(body, Actor.USER, origin, cause=self._cause)
        self.drafts.append(draft)
        return draft


def _forgotten(page_id: PageId, why: str) -> CannotUndo:
    return CannotUndo(
        f"this would bring back {page_id}, which {why}",
        hint="forgotten or edited text does not come back; say, pin or set it again",
    )
