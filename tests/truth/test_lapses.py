"""Staleness of claims that rest on others, against a model that does not know how it is found."""

from __future__ import annotations

import random
from collections import Counter, deque
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import pytest

from pagefault.model.events import ClaimRuled
from pagefault.model.ids import PageId, Seq
from pagefault.model.kinds import CheckOutcome, ClaimType, RulingKind
from pagefault.truth.claim import Authority
from pagefault.truth.claims import ClaimBook
from pagefault.truth.held import Held, Lapse, LapseReason
from pagefault.truth.lapses import Ruled
from pagefault.truth.lifetimes import DAY_MS

GRAPHS = 1_000
Written = Held | Ruled


@dataclass
class Naive:
    """The records, asked anew for every claim, by recursion, as somebody reads them with a pencil.

    A claim is bad where it was closed by other words, ended, failed its last check or outlived its
    days; and where one that it names is bad, each as it was written last.
    """

    records: list[Written] = field(default_factory=list)

    def claims(self) -> list[Held]:
        return [one for one in self.records if isinstance(one, Held)]

    def find(self, claim_id: PageId) -> Held:
        return next(one for one in self.claims() if one.claim_id == claim_id)

    def origin(self, claim_id: PageId) -> PageId:
        restates = self.find(claim_id).restates
        return self.origin(restates) if restates else claim_id

    def newest(self, claim_id: PageId) -> Held:
        """The last record that is the same claim."""
        first = self.origin(claim_id)
        return [one for one in self.claims() if self.origin(one.claim_id) == first][-1]

    def is_closed(self, claim_id: PageId) -> bool:
        return any(claim_id in one.closes for one in self.claims())

    def counts(self, ruled: Ruled) -> bool:
        undoings = [
            one for one in self.records if isinstance(one, Ruled) and one.body.undoes == ruled.seq
        ]
        return not any(self.counts(one) for one in undoings)

    def rulings(self, claim_id: PageId, what: RulingKind) -> list[Ruled]:
        first = self.origin(claim_id)
        return [
            one
            for one in self.records
            if isinstance(one, Ruled)
            and one.body.what is what
            and self.origin(one.body.claim_id) == first
            and self.counts(one)
        ]

    def is_bad(self, claim: Held, now_ms: int) -> bool:
        if self.is_closed(claim.claim_id):
            return True
        made_ms = self.find(self.origin(claim.claim_id)).made_ms
        checks = self.rulings(claim.claim_id, RulingKind.CHECKED)
        trusted_ms = checks[-1].at_ms if checks else made_ms
        return (
            bool(self.rulings(claim.claim_id, RulingKind.ENDED))
            or (bool(checks) and checks[-1].body.outcome is CheckOutcome.FAIL)
            or (claim.decay_ms is not None and now_ms >= trusted_ms + claim.decay_ms)
            or (claim.max_age_ms is not None and now_ms >= made_ms + claim.max_age_ms)
            or any(self.is_bad(self.newest(one), now_ms) for one in claim.premises)
        )

    def lapsed(self, now_ms: int) -> set[PageId]:
        return {
            one.claim_id
            for one in self.claims()
            if one.type is not ClaimType.RETRACTION
            and not self.is_closed(one.claim_id)
            and self.is_bad(one, now_ms)
        }


class Graph:
    """A history of claims, drawn by chance. A record is written down once, for both."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)
        self.naive = Naive()
        self.book = ClaimBook()
        self.now_ms = 1_000

    def write(self, record: Written) -> None:
        self.naive.records.append(record)
        fold(self.book, record)

    @property
    def seq(self) -> Seq:
        return Seq(len(self.naive.records) + 1)

    def claim(self, like: Held | None = None, **given: object) -> None:
        number = self.seq
        held = like or Held(
            claim_id=PageId(""),
            type=ClaimType.FACT,
            subject="",
            value=f"value {number}",
            authority=Authority.USER,
            pages=(),
        )
        made = {"claim_id": PageId(f"clm_{number}"), "made_ms": self.now_ms, "merges": ()}
        self.write(replace(held, **(made | given)))  # type: ignore[arg-type]

    def rule(self, claim_id: PageId, what: RulingKind, **given: object) -> None:
        body = ClaimRuled(claim_id=claim_id, what=what, **given)  # type: ignore[arg-type]
        self.write(Ruled(self.seq, self.now_ms, body))

    def draw(self) -> None:
        chance = self.chance
        self.now_ms += chance.choice([0, 0, 1, DAY_MS, 9 * DAY_MS])
        standing = self.book.standing()
        what = chance.choice([*["claim"] * 9, *WHAT])
        if what == "claim" or not standing:
            lapsed = self.book.lapses(self.now_ms)
            sound = [one.claim_id for one in standing if one.claim_id not in lapsed]
            self.claim(
                premises=tuple(
                    chance.sample(sound, min(len(sound), chance.choice([0, 1, 1, 2, 3])))
                ),
                decay_ms=chance.choice([None, None, 20 * DAY_MS]),
                max_age_ms=chance.choice([None, None, None, 15 * DAY_MS]),
            )
            return
        one = chance.choice(standing)
        closed = [
            held
            for held in self.naive.claims()
            if held.type is not ClaimType.RETRACTION
            and self.naive.is_closed(self.naive.newest(held.claim_id).claim_id)
        ]
        match what:
            case "retract":
                self.claim(type=ClaimType.RETRACTION, supersedes=one.claim_id)
            case "change":
                self.claim(supersedes=one.claim_id)
            case "merge" if len(standing) > 1:
                both = [held.claim_id for held in chance.sample(standing, 2)]
                self.claim(supersedes=both[0], merges=(both[1],))
            case "edit":
                self.claim(one, restates=one.claim_id, supersedes=one.claim_id)
            case "undo" if closed:
                old = chance.choice(closed)
                self.claim(old, restates=old.claim_id, supersedes=PageId(""))
            case "pass" | "fail":
                self.rule(one.claim_id, RulingKind.CHECKED, outcome=CheckOutcome(what))
            case "end":
                self.rule(one.claim_id, RulingKind.ENDED)
            case "unrule":
                ruled = [one for one in self.naive.records if isinstance(one, Ruled)]
                if ruled:
                    last = ruled[-1]
                    self.rule(last.body.claim_id, RulingKind.UNDONE, undoes=last.seq)


WHAT = ["retract", "change", "merge", "edit", "undo", "pass", "fail", "end", "unrule"]


def fold(book: ClaimBook, record: Written) -> None:
    if isinstance(record, Held):
        book.fold(record)
    else:
        book.rule(record)


def lapsed(book: ClaimBook, now_ms: int) -> set[PageId]:
    return set(book.lapses(now_ms))


def test_what_is_stale_is_just_what_a_naive_model_calls_so_at_each_step_and_after_a_restart() -> (
    None
):
    """Precision and recall of 1, over 1,000 histories; of which most have something stale."""
    why: Counter[LapseReason] = Counter()
    deep = 0
    for seed in range(GRAPHS):
        graph = Graph(seed)
        steps = graph.chance.randint(6, 14)
        for step in range(steps):
            graph.draw()
            now_ms = graph.now_ms
            if step == steps - 1 or seed % 16 == 0:
                assert lapsed(graph.book, now_ms) == graph.naive.lapsed(now_ms), f"seed {seed}"
        later_ms = graph.now_ms + 12 * DAY_MS
        assert lapsed(graph.book, later_ms) == graph.naive.lapsed(later_ms), f"seed {seed}"
        graph.book.check()
        again = ClaimBook()
        for record in graph.naive.records:
            fold(again, record)
        found = graph.book.lapses(graph.now_ms)
        assert dict(again.lapses(graph.now_ms)) == dict(found)
        why.update(one.why for one in found.values())
        deep += any(is_deep(found, one) for one in found)
    assert min(why[one] for one in LapseReason if one is not LapseReason.EVIDENCE) > 20, why
    assert deep > 60


def is_deep(found: Mapping[PageId, Lapse], claim_id: PageId) -> bool:
    """Whether a claim is stale because one is that is so itself only with another."""
    source = found.get(found[claim_id].by)
    return source is not None and bool(source.by)


def test_a_fold_that_looks_one_step_far_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """The control of the test above."""

    class OneStep(deque[PageId]):
        def append(self, one: PageId) -> None:
            pass

    monkeypatch.setattr("pagefault.truth.lapses.deque", OneStep)
    with pytest.raises(AssertionError):
        test_what_is_stale_is_just_what_a_naive_model_calls_so_at_each_step_and_after_a_restart()


def test_ten_thousand_claims_in_a_row_go_stale_with_the_first() -> None:
    graph = Graph(0)
    graph.claim()
    for number in range(1, 10_000):
        graph.claim(premises=(PageId(f"clm_{number}"),))
    assert not lapsed(graph.book, 0)
    graph.claim(type=ClaimType.RETRACTION, supersedes=PageId("clm_1"))
    assert len(lapsed(graph.book, 0)) == 9_999
    told = graph.book.lapses(0)[PageId("clm_3")]
    assert told.told == "stale: it rests on clm_2, which no longer holds"
