"""Pages derived from given pages, directly or indirectly."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass

from pagefault.language.analyzer import analyze
from pagefault.model.errors import StoreCorrupt
from pagefault.model.events import (
    Claimed,
    DerivedBody,
    Event,
    FormationEnded,
    Learned,
    PageBody,
    Represented,
)
from pagefault.model.ids import NOTHING, PageId, Seq, SessionNo
from pagefault.model.kinds import DERIVED_TYPES, GOAL_SUBJECT, PAGE_PREFIX
from pagefault.model.page import PageRow
from pagefault.service.runtime import Runtime

_CORE = PAGE_PREFIX["core"] + "_"


class Going:
    """Pages to be erased, as each of some sessions sees them. One id may name two pages: a
    parent's, and that of a fork made before the parent's page.
    """

    def __init__(
        self, runtime: Runtime, sessions: Collection[SessionNo], rows: Iterable[PageRow]
    ) -> None:
        self.rows: list[PageRow] = []
        self._named: dict[PageId, list[PageRow]] = {}
        self._seqs: set[Seq] = set()
        self._upto = {session: dict(runtime.could_see(session).parts) for session in sessions}
        self.add(rows)

    def add(self, rows: Iterable[PageRow]) -> None:
        for row in rows:
            self.rows.append(row)
            self._seqs.add(row.seq)
            self._named.setdefault(row.page_id, []).append(row)

    def __contains__(self, row: PageRow) -> bool:
        return row.seq in self._seqs

    def seen(self, session: SessionNo, row: PageRow) -> bool:
        """Whether a session sees a page."""
        return row.seq <= self._upto[session].get(row.session, NOTHING)

    def meets(self, session: SessionNo, page_ids: Iterable[PageId]) -> bool:
        """Whether one of these ids, as a session uses it, is of an erased page."""
        return any(
            self.seen(session, row) for page_id in page_ids for row in self._named.get(page_id, ())
        )

    def meets_range(self, session: SessionNo, one: FormationEnded) -> bool:
        """Whether an erased page is in a range that this session formed."""
        return any(
            one.order_from <= row.order <= one.order_to and self.seen(session, row)
            for row in self.rows
        )


@dataclass(frozen=True, slots=True)
class _Made:
    session: SessionNo
    row: PageRow
    body: DerivedBody

    @property
    def sources(self) -> set[PageId]:
        body = self.body
        spans = (span.page_id for span in body.evidence)
        return {*body.provenance, *spans, *_represented(body), *_restated(body), *_repeated(body)}


def add_derivatives(runtime: Runtime, sessions: Collection[SessionNo], going: Going) -> None:
    """Add the derived pages of these sessions that rest on an erased page, however indirectly, or
    that repeat the words of one; and what was proposed for core memory when its range was formed.

    A claim names the one that it replaced, and may borrow its subject. So if a claim is erased, the
    one that superseded it is erased too if it has a word of it that its own sources do not have.
    The words of a claim are those in its sources: a subject may be a word of ours ("home").

    Reads every derived record of the sessions: for rare operations. Damaged ones are left out.
    """
    made = [one for session in sessions for one in _derived(runtime, session)]
    _add_resting(made, going)
    for session in sessions:
        going.add(_proposed_of(runtime, session, going))
    claimed = set[str]()
    for one in made:  # in log order: a superseding claim comes later
        body = one.body
        if one.row in going:
            words = set(analyze(_claim_of(body)))
            said = _words_of(runtime, one)
            claimed |= words & said if said else words  # if they cannot be read, all are
        elif body.supersedes and not _is_goal(body):
            says = set(analyze(f"{body.text} {_claim_of(body)}"))
            if going.meets(one.session, [body.supersedes]) and not claimed.isdisjoint(
                says - _words_of(runtime, one)
            ):
                going.add([one.row])
    _add_resting(made, going)


def _add_resting(made: Sequence[_Made], going: Going) -> None:
    """Pages that rest on an erased page; and a claim that an erased one was restated from."""
    again = [(one, page_id) for one in made for page_id in _restated(one.body)]
    while rest := [
        one
        for one in made
        if one.row not in going
        and (
            going.meets(one.session, one.sources)
            or any(
                other.row in going
                and page_id == one.row.page_id
                and going.seen(other.session, one.row)
                for other, page_id in again
            )
        )
    ]:
        going.add(one.row for one in rest)


def _proposed_of(runtime: Runtime, session: SessionNo, going: Going) -> list[PageRow]:
    """Core memory proposals from ranges with one of these pages."""
    scope = runtime.scope(session)
    named = [
        page_id
        for event in readable_events(runtime, session, ("formation_ended",))
        if isinstance(event.body, FormationEnded) and going.meets_range(session, event.body)
        for page_id in event.body.made
        if page_id.startswith(_CORE)
    ]
    rows = [runtime.index.find_page(scope, page_id) for page_id in named]
    return [row for row in rows if row is not None and row not in going]


def _represented(body: DerivedBody) -> tuple[PageId, ...]:
    return (body.represents,) if isinstance(body, Represented) else ()


def _restated(body: DerivedBody) -> tuple[PageId, ...]:
    return (body.restates,) if isinstance(body, Claimed) and body.restates else ()


def _repeated(body: DerivedBody) -> tuple[PageId, ...]:
    """What a forgotten claim says is not to come back as the proposal that was merged into it."""
    return (body.repeats,) if isinstance(body, Claimed) and body.repeats else ()


def _claim_of(body: DerivedBody) -> str:
    """The subject and text of a claim, or the purpose of a procedure."""
    match body:
        case Claimed(subject=subject, value=value):
            return f"{subject} {value}"
        case Learned(subject=subject):
            return subject
        case _:
            return ""


def _is_goal(body: DerivedBody) -> bool:
    return isinstance(body, Claimed) and body.subject == GOAL_SUBJECT


def _derived(runtime: Runtime, session: SessionNo) -> Iterator[_Made]:
    for event in readable_events(runtime, session, sorted(map(str, DERIVED_TYPES))):
        row = runtime.index.page_at(event.seq)
        if row is not None and isinstance(event.body, DerivedBody):
            yield _Made(session, row, event.body)


def readable_events(
    runtime: Runtime, session: SessionNo, types: Collection[str], turns: Collection[int] = ()
) -> Iterator[Event]:
    """A session's own records of some types, and of these turns if any are given; damaged ones are
    left out.
    """
    for seq in runtime.index.events(session, types=types, turns=turns):
        with suppress(StoreCorrupt):
            yield runtime.log.get(seq)


def _words_of(runtime: Runtime, one: _Made) -> set[str]:
    """The words of a derived page's sources, as far as they can be read."""
    scope = runtime.scope(one.session)
    words = set[str]()
    for page_id in one.sources:
        row = runtime.index.find_page(scope, page_id)
        if row is not None:
            words |= set(analyze(_text(runtime, row.seq)))
    return words


def _text(runtime: Runtime, seq: Seq) -> str:
    try:
        body = runtime.log.get(seq).body
    except StoreCorrupt:
        return ""
    return body.text if isinstance(body, PageBody) else ""
