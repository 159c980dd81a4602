"""Which claims stand: a fold over them in the order in which they were made.

A claim on a subject supersedes what stood on it; the old one is kept, closed and linked. A
retraction closes without putting anything in its place. What a user said is superseded by what a
user says, never by what was only proposed.

Invariants, true between any two public calls:
 (1) Every claim has one status; one that does not stand says by which other it was closed.
 (2) No two standing claims of one kind and the same authority are about the same known subject.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from pagefault.model.ids import PageId
from pagefault.model.kinds import ClaimType
from pagefault.truth.changes import could_be_meant, find_changed, find_returned
from pagefault.truth.claim import Authority, Claim, Turn, wording
from pagefault.truth.held import Held, Status, kind_of
from pagefault.truth.phrase import is_name
from pagefault.truth.subjects import subject_key, value_key


@dataclass(frozen=True, slots=True)
class Entry:
    """A claim as it is to be written, with the one that it closes, if it closes one."""

    claim: Claim
    supersedes: PageId = PageId("")


class ClaimBook:
    def __init__(self) -> None:
        self._held: dict[PageId, Held] = {}

    def __iter__(self) -> Iterator[Held]:
        """Every claim, oldest first."""
        return iter(self._held.values())

    def __len__(self) -> int:
        return len(self._held)

    def find(self, claim_id: PageId) -> Held | None:
        return self._held.get(claim_id)

    def copy(self) -> ClaimBook:
        other = ClaimBook()
        other._held = dict(self._held)
        return other

    def fold(self, held: Held) -> None:
        """Take one more claim into account, as it was written."""
        retracts = held.type is ClaimType.RETRACTION
        old = self._held.get(held.supersedes)
        if old is not None:
            status = Status.RETRACTED if retracts else Status.SUPERSEDED
            self._held[old.claim_id] = replace(old, status=status, closed_by=held.claim_id)
        self._held[held.claim_id] = replace(held, status=Status.CLOSING) if retracts else held

    def latest(self, claim_id: PageId) -> PageId:
        """The claim that stands in place of this one now: itself, or what closed it last."""
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
        self, claims: Sequence[Claim], name: str, after: int, said: Sequence[Turn] = ()
    ) -> list[Entry]:
        """What to write of claims of one turn, one after another, as the book stands.

        What stands already is left out, and so is a retraction of what does not. The ids that they
        will get are `name` and the numbers from `after` + 1 on. `said` are the turn itself and
        those right before it, newest first: what the turn names, a change in it may be about.
        """
        book, entries = self.copy(), list[Entry]()
        for claim in claims:
            for entry in book._entries(claim, entries, said):
                entries.append(entry)
                claim_id = PageId(f"{name}_{after + len(entries)}")
                book.fold(held_of(claim_id, entry))
        return entries

    def _entries(self, claim: Claim, before: Sequence[Entry], said: Sequence[Turn]) -> list[Entry]:
        if claim.type is ClaimType.RETRACTION:
            return [self._closing(claim, old) for old in self._retracted(claim)]
        if claim.returns and not claim.subject:
            closed = [held for held in self if held.status in (Status.SUPERSEDED, Status.RETRACTED)]
            subject = find_returned(claim, closed)
            if not subject:
                return []  # to what, of which thing, nobody can tell
            claim = _about(claim, subject)
        if not claim.subject and before and before[-1].claim.type is ClaimType.RETRACTION:
            claim = _about(claim, before[-1].claim.subject)  # "scratch that, let's use Y"
            old = self._rival(claim)
        else:
            old = self._rival(claim)
            old = old or find_changed(claim, self.standing(), said[0] if said else None)
        is_sure = not claim.changes or not could_be_meant(claim, self.standing())
        if old is None and not claim.subject and is_sure:
            claim = _about(claim, claim.topic)
        if old is not None and not claim.subject:
            claim = _about(claim, old.subject)  # what it replaces tells what it is about
            old = self._rival(claim) or old
        if old is None:
            is_loose = claim.changes and not claim.subject and not is_name(claim.value)
            return [] if is_loose or self._stands(claim) else [Entry(claim)]
        if value_key(old.value) == value_key(claim.value) and (
            old.authority is claim.authority or claim.authority is Authority.PROPOSED
        ):
            return []
        if old.authority is Authority.USER and claim.authority is Authority.PROPOSED:
            return [Entry(claim)]
        was = f" (instead of {old.value}, {old.claim_id})"
        text = wording(claim.type, claim.subject, claim.value) + was
        return [Entry(replace(claim, text=text, instead_of=old.value), old.claim_id)]

    def _rival(self, claim: Claim) -> Held | None:
        """What stands on the subject of a claim, or is named by it as replaced."""
        key, named = subject_key(claim.subject), value_key(claim.instead_of)
        rivals = [held for held in self.standing() if kind_of(held.type) == kind_of(claim.type)]
        rivals.sort(key=lambda held: held.authority is claim.authority)
        if key:
            for held in reversed(rivals):
                if subject_key(held.subject) == key:
                    return held
        if named:
            near = [
                held
                for held in reversed(rivals)
                if value_key(held.value) == named
                and (
                    not key
                    or not subject_key(held.subject)
                    or set(key.split()) & set(subject_key(held.subject).split())
                )
            ]
            if near and (key or len({subject_key(held.subject) for held in near}) == 1):
                return near[0]
        return None

    def _stands(self, claim: Claim) -> bool:
        return any(
            kind_of(held.type) == kind_of(claim.type)
            and value_key(held.value) == value_key(claim.value)
            and subject_key(claim.subject) in ("", subject_key(held.subject))
            for held in self.standing()
        )

    def _retracted(self, claim: Claim) -> list[Held]:
        """The standing claims that a retraction is about."""
        standing = [
            held
            for held in self.standing()
            if not (held.authority is Authority.USER and claim.authority is Authority.PROPOSED)
        ]
        if claim.about:
            return [held for held in standing if set(claim.about) & set(held.pages)]
        named = {key for key in (value_key(claim.value),) if key}
        subjects = {subject_key(words) for words in (claim.value, claim.subject)} - {""}
        by_value = [held for held in standing if _names(named, held)]
        if claim.subject and len(by_value) > 1:
            key = subject_key(claim.subject)
            by_value = [held for held in by_value if subject_key(held.subject) == key] or by_value
        if by_value:
            return by_value
        return [held for held in standing if subject_key(held.subject) in subjects]

    def _closing(self, claim: Claim, old: Held) -> Entry:
        about = f" for {old.subject}" if old.subject else ""
        text = f"No longer: {old.value}{about} (was {old.claim_id})"
        told = replace(claim, subject=old.subject, value=old.value, text=text, about=())
        return Entry(told, old.claim_id)

    def check(self) -> None:
        """The invariants, slowly."""
        seen: set[tuple[str, str, str]] = set()
        for held in self:
            closed = held.status in (Status.SUPERSEDED, Status.RETRACTED)
            assert closed == bool(held.closed_by), "(1)"
            key = (kind_of(held.type), subject_key(held.subject), held.authority)
            if held.status is Status.STANDING and key[1]:
                assert key not in seen, f"(2) {key}"
                seen.add(key)


def held_of(claim_id: PageId, entry: Entry) -> Held:
    claim = entry.claim
    return Held(
        claim_id=claim_id,
        type=claim.type,
        subject=claim.subject,
        value=claim.value,
        authority=claim.authority,
        pages=claim.pages,
        supersedes=entry.supersedes,
    )


def _names(named: set[str], held: Held) -> bool:
    """Whether a value is one of these, or one of these less its version."""
    key = value_key(held.value)
    return any(key == name or set(name.split()) <= set(key.split()) for name in named)


def _about(claim: Claim, subject: str) -> Claim:
    if subject == claim.subject:
        return claim
    text = wording(claim.type, subject, claim.value, claim.instead_of)
    return replace(claim, subject=subject, text=text)
