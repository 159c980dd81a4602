"""The book of claims: a fold that determines which claims stand.

A claim closes the one that stood on the same subject, or the choice that it names, and any
repetitions of that. The old one is kept, closed and linked. A retraction closes without a
replacement. What a user said is superseded only by a user, never by a proposal. `lapses.py` finds
claims that stand and still do not hold.

Invariants, true between any two public calls:
 (1) Every claim has one status; one that does not stand names the claim that closed it.
 (2) No two standing claims of one kind and the same authority are about the same known subject.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from pagefault.model.ids import PageId
from pagefault.model.kinds import ClaimType, RulingKind
from pagefault.truth.claim import Authority, Claim
from pagefault.truth.held import Held, Lapse, Status, kind_of
from pagefault.truth.lapses import Lapses, Ruled
from pagefault.truth.subjects import subject_key, value_key


@dataclass(frozen=True, slots=True)
class ClaimEntry:
    """A claim to be written, with the one that it closes, if any."""

    claim: Claim
    supersedes: PageId = PageId("")
    restates: PageId = PageId("")
    merges: tuple[PageId, ...] = ()
    repeats: PageId = PageId("")


class ClaimBook:
    def __init__(self) -> None:
        self._held: dict[PageId, Held] = {}
        self._places: dict[PageId, int] = {}
        self._lapses = Lapses(self._held)

    def __iter__(self) -> Iterator[Held]:
        """Every claim, oldest first."""
        return iter(self._held.values())

    def __len__(self) -> int:
        return len(self._held)

    def find(self, claim_id: PageId) -> Held | None:
        return self._held.get(claim_id)

    def copy(self) -> ClaimBook:
        other = ClaimBook()
        other._held, other._places = dict(self._held), dict(self._places)
        other._lapses = self._lapses.copy(other._held)
        return other

    def fold(self, held: Held) -> None:
        """Fold in one more claim, as written."""
        retracts = held.type is ClaimType.RETRACTION
        status = Status.RETRACTED if retracts else Status.SUPERSEDED
        for old in filter(None, map(self._held.get, held.closes)):
            also = [] if held.repeats else self._repeating(old, held.authority)
            for one in (old, *also):
                self._held[one.claim_id] = replace(one, status=status, closed_by=held.claim_id)
        if retracts:
            held = replace(held, status=Status.CLOSING)
        elif held.repeats in self._held:
            held = replace(held, status=Status.MERGED, closed_by=held.repeats)
        self._held[held.claim_id] = held
        self._places.setdefault(held.claim_id, len(self._places))
        self._lapses.claimed(held)

    def rule(self, ruled: Ruled) -> None:
        """Fold in one more ruling, as written."""
        self._lapses.rule(ruled)

    def lapses(self, now_ms: int) -> Mapping[PageId, Lapse]:
        """The standing claims that do not hold at this time, and why."""
        return self._lapses.at(now_ms)

    def holding(self, now_ms: int) -> list[Held]:
        """The claims that hold at this time: standing and not lapsed."""
        lapsed = self.lapses(now_ms)
        return [held for held in self.standing() if held.claim_id not in lapsed]

    def now(self, claim_id: PageId) -> PageId:
        """A claim's current version: itself, or one that restates it or replaced it unchanged."""
        return self._lapses.now(claim_id)

    def made_ms(self, claim_id: PageId) -> int:
        """When a claim was first made, under any id; 0 if unknown."""
        first = self._held.get(self._lapses.ids(claim_id)[0])
        return 0 if first is None else first.made_ms

    def lost(self, claim_ids: Iterable[PageId]) -> None:
        """Note that words which these rest on cannot be read."""
        for claim_id in claim_ids:
            self._held[claim_id] = replace(self._held[claim_id], has_evidence=False)
        self._lapses.changed()

    def checked(self, claim_id: PageId) -> Ruled | None:
        """The last check of a claim that passed or failed."""
        return self._lapses.checked(claim_id)

    def rulings(self, claim_id: PageId, what: RulingKind) -> list[Ruled]:
        """The valid rulings of a kind on a claim, oldest first."""
        return self._lapses.rulings.of(self._lapses.ids(claim_id), what)

    def against(self, claim_id: PageId) -> list[PageId]:
        """The claims found to contradict a claim, in their current versions."""
        ids = self._lapses.ids(claim_id)
        found = [one.body for one in self.rulings(claim_id, RulingKind.CONTRADICTED)]
        others = (one.other if one.claim_id in ids else one.claim_id for one in found)
        return list(dict.fromkeys(map(self.now, others)))

    def merged(self) -> dict[PageId, list[Held]]:
        """The proposals that repeat a claim, oldest first, by the current version of that."""
        found: dict[PageId, list[Held]] = {}
        for held in self:
            if held.status is Status.MERGED:
                found.setdefault(self.now(held.repeats), []).append(held)
        return found

    def versions(self, claim_id: PageId) -> list[Held]:
        """The history of a claim: what it restates or replaced, oldest first, and itself."""
        found: dict[PageId, Held] = {}
        waiting = [claim_id]
        while waiting:
            held = self._held.get(waiting.pop())
            if held is not None and held.claim_id not in found:
                found[held.claim_id] = held
                waiting += [held.restates, *held.closes]
        return sorted(found.values(), key=lambda one: self._places[one.claim_id])

    def resting_on(self, claim_id: PageId) -> list[Held]:
        """The claims derived, directly or not, from a claim's current version, oldest first."""
        resting: dict[PageId, list[PageId]] = {}
        for held in self:
            for premise in held.premises:
                resting.setdefault(self.now(premise), []).append(held.claim_id)
        found = dict.fromkeys([claim_id])
        waiting = [claim_id]
        while waiting:
            more = [one for one in resting.get(self.now(waiting.pop()), ()) if one not in found]
            found |= dict.fromkeys(more)
            waiting += more
        return [held for held in self if held.claim_id in found and held.claim_id != claim_id]

    def latest(self, claim_id: PageId) -> PageId:
        """The claim now in place of this one: itself, or the last in the chain that closed it."""
        seen = {claim_id}
        held = self._held.get(claim_id)
        while held is not None and held.closed_by and held.closed_by not in seen:
            seen.add(held.closed_by)
            claim_id = held.closed_by
            held = self._held.get(claim_id)
        return claim_id

    def standing(self) -> list[Held]:
        return [held for held in self if held.status is Status.STANDING]

    def entries(
        self, claims: Sequence[Claim], name: str, after: int, now_ms: int
    ) -> list[ClaimEntry]:
        """The entries to write for the claims of one turn, in order, given the book at this time.

        Claims that already hold are left out, and so are retractions that close nothing. The
        claims will get ids of `name` and the numbers from `after` + 1 on.
        """
        book, entries = self.copy(), list[ClaimEntry]()
        for claim in claims:
            for entry in book._entries(claim, now_ms):
                entries.append(entry)
                book.fold(held_of(PageId(f"{name}_{after + len(entries)}"), entry))
        return entries

    def _entries(self, claim: Claim, now_ms: int) -> list[ClaimEntry]:
        if claim.resting_on:
            gone = set(claim.resting_on)
            resting = [held for held in self._closable(claim) if not gone.isdisjoint(held.pages)]
            return [_closing(claim, held, "takes back") for held in resting]
        entry = self.entry(claim, now_ms)
        return [] if entry is None else [entry]

    def entry(self, claim: Claim, now_ms: int, replaces: Held | None = None) -> ClaimEntry | None:
        """A claim with the one that it closes: `replaces`, if the caller named one, having checked
        that it may be closed and that no other would have to be. None for a claim that already
        holds. One that says the same and has lapsed is closed: whoever says it again holds it true.

        It closes a claim that is certainly about the same thing: of its own subject, or the only
        one whose choice it names. A claim that names neither closes nothing, however it is worded;
        both stand, and the later is shown last. So a change of mind that does not name its subject
        leaves the old claim standing, until somebody names it.
        """
        if claim.type is ClaimType.RETRACTION:
            old = replaces or _only(self._named(claim))
            return _closing(claim, old, "takes back") if old else None
        if self.same(claim, now_ms) is not None:
            return None
        lapsed = next(iter(self._alike(claim)), None)
        old = replaces or self.rival(claim) or lapsed or _only(self._named(claim))
        if old is None:
            return ClaimEntry(claim)
        if not claim.subject and old.subject:  # the claim that it replaces gives the subject
            claim = replace(claim, subject=old.subject)
            old = replaces or self.rival(claim) or old
        return _closing(claim, old, "instead of")

    def _closable(self, claim: Claim) -> list[Held]:
        """The standing claims that a claim of this authority may close."""
        return [held for held in self.standing() if may_close(claim.authority, held)]

    def rival(self, claim: Claim) -> Held | None:
        """The standing claim of this kind on the same subject, if any."""
        key = subject_key(claim.subject)
        rivals = [
            held
            for held in self._closable(claim)
            if key
            and kind_of(held.type) == kind_of(claim.type)
            and subject_key(held.subject) == key
        ]
        rivals.sort(key=lambda held: held.authority is claim.authority)
        return rivals[-1] if rivals else None

    def _named(self, claim: Claim) -> list[Held]:
        """The claims whose choice a claim names, and of its subject, if it has one."""
        from pagefault.truth.english import choice_of  # with its patterns, needed only here

        key, name = subject_key(claim.subject), value_key(claim.instead_of)
        about = set(subject_key(claim.about).split())
        found: list[Held] = []
        for held in self._closable(claim):
            if about:
                words = set(subject_key(f"{held.subject} {held.value}").split())
                is_named = about <= words
            else:
                of_kind = claim.type is ClaimType.RETRACTION or (
                    kind_of(held.type) == kind_of(claim.type)
                )
                is_named = bool(name) and of_kind and _is_version(choice_of(held.value), name)
                is_named = is_named and (not key or subject_key(held.subject) in ("", key))
            if is_named:
                found.append(held)
        return found

    def same(self, claim: Claim, now_ms: int) -> Held | None:
        """The claim of the same content and authority that holds at this time, if any."""
        alike = self._alike(claim)
        lapsed = self.lapses(now_ms) if alike else {}
        return next((held for held in alike if held.claim_id not in lapsed), None)

    def _alike(self, claim: Claim) -> list[Held]:
        """The standing claims of the same content and authority, lapsed or not."""
        return [
            held
            for held in self.standing()
            if kind_of(held.type) == kind_of(claim.type)
            and held.authority is claim.authority
            and value_key(held.value) == value_key(claim.value)
        ]

    def _repeating(self, closed: Held, authority: Authority) -> list[Held]:
        """Claims that repeat a closed one, and are closed with it: proposals of a model in the
        user's words.
        """
        return [
            held
            for held in self.standing()
            if held.claim_id != closed.claim_id
            and may_close(authority, held)
            and kind_of(held.type) == kind_of(closed.type)
            and value_key(held.value) == value_key(closed.value)
        ]

    def check(self) -> None:
        """Check the invariants, slowly."""
        seen: set[tuple[str, str, str]] = set()
        for held in self:
            closed = held.status in (Status.SUPERSEDED, Status.MERGED, Status.RETRACTED)
            assert closed == bool(held.closed_by), "(1)"
            key = (kind_of(held.type), subject_key(held.subject), held.authority)
            if held.status is Status.STANDING and key[1]:
                assert key not in seen, f"(2) {key}"
                seen.add(key)


def may_close(authority: Authority, held: Held) -> bool:
    """Whether a claim of this authority may replace another, or retract it."""
    return authority is Authority.USER or held.authority is Authority.PROPOSED


def held_of(claim_id: PageId, entry: ClaimEntry) -> Held:
    claim = entry.claim
    return Held(
        claim_id=claim_id,
        type=claim.type,
        subject=claim.subject,
        value=claim.value,
        authority=claim.authority,
        pages=claim.pages,
        supersedes=entry.supersedes,
        merges=entry.merges,
        restates=entry.restates,
        repeats=entry.repeats,
        premises=claim.premises,
    )


def _closing(claim: Claim, old: Held, how: str) -> ClaimEntry:
    return ClaimEntry(replace(claim, text=f"{claim.text} ({how} {old.claim_id})"), old.claim_id)


def _only(found: Sequence[Held]) -> Held | None:
    return found[0] if len(found) == 1 else None


def _is_version(choice: str, name: str) -> bool:
    """Whether a choice is the named one, or a version of it: "PostgreSQL 16" is PostgreSQL."""
    chosen, named = value_key(choice).split(), name.split()
    more = [word for word in chosen if word not in named]
    return set(named) <= set(chosen) and all(re.search(r"\d", word) for word in more)
