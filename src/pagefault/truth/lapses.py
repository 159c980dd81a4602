"""Claims that lapsed, though nothing replaced them: a fold over claims and rulings.

A standing claim *lapses* by itself if words that it rests on are gone, its last check failed, its
time is over, or a ruling ended it; and also if a claim that it was derived from does not hold.

The theory. Take the graph of claims with an edge from each to those that it was derived from. The
claims that lapsed by themselves, or were closed, are a set B in it; stale is every claim from which
some member of B can be reached. One walk from B against the edges finds these in O(V + E), at any
depth, and visits each claim once, so that it would end even on a cycle, which no verb writes.
Nothing is written when a claim goes stale with another: so it happens at once, a restart sees the
same, and if the source recovers (an undo, a check that passes), so does all that rests on it.

An edge leads to the source's *current* version. A claim that was restated, by an undo or by an edit
of anything but its words, is still the same claim: what rests on it is not stale. Nor is it if a
later claim with the same content replaced the source.

Invariants, true between any two public calls:
 (1) Of several rulings of one kind on a claim, the last one that was not undone is valid.
 (2) A claim that restates another has its age, its checks and its rulings.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from pagefault.model.events import ClaimRuled
from pagefault.model.ids import PageId, Seq
from pagefault.model.kinds import CheckOutcome, ClaimType, RulingKind
from pagefault.truth.held import Held, Lapse, LapseReason, Status, kind_of
from pagefault.truth.subjects import value_key

_NEVER: Final = 2**63


@dataclass(frozen=True, slots=True)
class Ruled:
    """A ruling, its record, and its time."""

    seq: Seq
    at_ms: int
    body: ClaimRuled


class Rulings:
    """The rulings on the claims of one session, and which of them are valid."""

    def __init__(self) -> None:
        self._of: dict[PageId, list[Ruled]] = {}
        self._undoes: dict[Seq, Seq] = {}  # an undoing, and the ruling that it finally refers to
        self._undone: set[Seq] = set()

    def copy(self) -> Rulings:
        other = Rulings()
        other._of = {claim_id: list(ruled) for claim_id, ruled in self._of.items()}
        other._undoes, other._undone = dict(self._undoes), set(self._undone)
        return other

    def add(self, ruled: Ruled) -> None:
        body = ruled.body
        if body.what is RulingKind.UNDONE:
            first = self._undoes.get(body.undoes, body.undoes)
            self._undoes[ruled.seq] = first
            self._undone ^= {first}
        else:
            for claim_id in filter(None, (body.claim_id, body.other)):
                self._of.setdefault(claim_id, []).append(ruled)

    def of(self, claim_ids: tuple[PageId, ...], what: RulingKind) -> list[Ruled]:
        """The valid rulings of a kind on a claim under any of its ids, oldest first; for a
        contradiction, on either of the two.
        """
        found = [
            one
            for claim_id in claim_ids
            for one in self._of.get(claim_id, ())
            if one.body.what is what and one.seq not in self._undone
        ]
        return sorted(found, key=lambda one: one.seq)


class Lapses:
    """The lapsed claims of a book. Holds no claims: `held` is the book's own."""

    def __init__(self, held: Mapping[PageId, Held]) -> None:
        self._held = held
        self.rulings = Rulings()
        self._ids: dict[PageId, tuple[PageId, ...]] = {}  # the ids of each claim
        self._first: dict[PageId, PageId] = {}  # the first of these
        self._found: dict[PageId, Lapse] = {}
        self._from_ms, self._until_ms = 0, 0  # the validity of the cached result

    def copy(self, held: Mapping[PageId, Held]) -> Lapses:
        other = Lapses(held)
        other.rulings = self.rulings.copy()
        other._ids, other._first = dict(self._ids), dict(self._first)
        return other

    def rule(self, ruled: Ruled) -> None:
        self.rulings.add(ruled)
        self.changed()

    def claimed(self, held: Held) -> None:
        first = self._first.get(held.restates, held.restates) or held.claim_id
        self._first[held.claim_id] = first
        self._ids[first] = (*self._ids.get(first, ()), held.claim_id)
        self.changed()

    def changed(self) -> None:
        """Invalidate the cached result: the book has changed."""
        self._until_ms = self._from_ms

    def at(self, now_ms: int) -> Mapping[PageId, Lapse]:
        """The standing claims that do not hold at this time, and why."""
        if not self._from_ms <= now_ms < self._until_ms:
            self._found, self._from_ms = self._find(now_ms), now_ms
        return self._found

    def ids(self, claim_id: PageId) -> tuple[PageId, ...]:
        """Every id under which a claim was written, in order."""
        return self._ids.get(self._first.get(claim_id, claim_id), (claim_id,))

    def now(self, claim_id: PageId) -> PageId:
        """The current version of a claim: the last that restates it, or that replaced it with the
        same content, unless somebody had ended it.
        """
        seen: set[PageId] = set()
        while claim_id not in seen:
            claim_id = self.ids(claim_id)[-1]
            seen.add(claim_id)
            held = self._held.get(claim_id)
            closer = None if held is None else self._held.get(held.closed_by)
            if held is None or closer is None or not _say_the_same(held, closer):
                continue
            if not self.rulings.of(self.ids(claim_id), RulingKind.ENDED):
                claim_id = closer.claim_id
        return claim_id

    def checked(self, claim_id: PageId) -> Ruled | None:
        """The last conclusive check of a claim."""
        checks = self.rulings.of(self.ids(claim_id), RulingKind.CHECKED)
        told = [one for one in checks if one.body.outcome is not CheckOutcome.UNKNOWN]
        return told[-1] if told else None

    def _find(self, now_ms: int) -> dict[PageId, Lapse]:
        self._until_ms = _NEVER
        found: dict[PageId, Lapse] = {}
        resting: dict[PageId, list[PageId]] = {}
        for held in self._held.values():
            if held.status is not Status.STANDING:
                continue
            lapse = self._own(held, now_ms)
            for premise in held.premises:
                now = self.now(premise)
                source = self._held.get(now)
                if source is not None and source.status is Status.STANDING:
                    resting.setdefault(now, []).append(held.claim_id)
                elif lapse is None:
                    lapse = Lapse(LapseReason.SOURCE, now)
            if lapse is not None:
                found[held.claim_id] = lapse
        waiting = deque(found)
        while waiting:
            source_id = waiting.popleft()
            for claim_id in resting.get(source_id, ()):
                if claim_id not in found:
                    found[claim_id] = Lapse(LapseReason.SOURCE, source_id)
                    waiting.append(claim_id)
        return found

    def _own(self, held: Held, now_ms: int) -> Lapse | None:
        """Why a claim would not hold even if all that it was derived from did."""
        ids = self.ids(held.claim_id)
        if not held.has_evidence:
            return Lapse(LapseReason.EVIDENCE)
        if self.rulings.of(ids, RulingKind.ENDED):
            return Lapse(LapseReason.ENDED)
        check = self.checked(held.claim_id)
        if check is not None and check.body.outcome is CheckOutcome.FAIL:
            return Lapse(LapseReason.FAILED)
        first = self._held.get(ids[0], held)
        if self._is_over(first.made_ms, held.max_age_ms, now_ms):
            return Lapse(LapseReason.OLD)
        trusted_ms = first.made_ms if check is None else check.at_ms
        if self._is_over(trusted_ms, held.decay_ms, now_ms):
            return Lapse(LapseReason.UNCHECKED)
        return None

    def _is_over(self, since_ms: int, for_ms: int | None, now_ms: int) -> bool:
        """Whether a time is over. If not, limits the cached result's validity to its end."""
        if for_ms is None:
            return False
        if now_ms < since_ms + for_ms:
            self._until_ms = min(self._until_ms, since_ms + for_ms)
            return False
        return True


def _say_the_same(held: Held, closer: Held) -> bool:
    return (
        closer.type is not ClaimType.RETRACTION
        and kind_of(held.type) == kind_of(closer.type)
        and value_key(held.value) == value_key(closer.value)
    )
