"""Extraction of claims from messages, without a model: few, and right.

A claim is a whole message: one sentence of a known form (`english.py`) and nothing else. Whatever
retracts, limits, quotes, questions or disowns a sentence is beside it or in it, in unlimited
wordings, so only the form's own words are allowed. A message that says more is talk, which search
finds. A wrong claim misleads.

ENSURES for every claim: `value` is a whole message without its outer white space and final mark;
its span is in the evidence, after the span of the words that agree to it, if it was agreed to.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from pagefault.model.kinds import MODEL_GENERATED, USER_APPROVED, USERS, ClaimType, Origin, Role
from pagefault.model.page import Evidence
from pagefault.truth import english
from pagefault.truth.claim import Authority, Claim, Utterance, wording

_CONFIDENCE: Final = 0.9
_OF_A_PERSON: Final = (ClaimType.FACT, ClaimType.PREFERENCE)


def extract(turn: Utterance, before: Sequence[Utterance] = ()) -> list[Claim]:
    """The claim that `turn` makes, if any. `before` is everything said since the user's previous
    message, newest last. Pure.
    """
    said = english.only_sentence(turn.text)
    if turn.role is not Role.USER or not said:
        return []
    if english.ASSENT.fullmatch(said.lower()):
        return _agreed(turn, before)
    authority = Authority.USER if turn.origin in USERS else Authority.PROPOSED
    reading = english.read(said)
    if reading is None:
        return _repeated(turn, said, before, authority)
    is_personal = reading.kind in _OF_A_PERSON and not reading.subject.lower().startswith("our ")
    if turn.speaker and (is_personal or reading.about):
        return []  # "I" may be one of several people, and no claim records which
    return [_claim(reading, said, (_span(turn, said),), authority, turn.origin)]


def _repeated(
    turn: Utterance, said: str, before: Sequence[Utterance], authority: Authority
) -> list[Claim]:
    """A decision whose choice and subject the turn right before has in the same words: the value is
    the user's own sentence, and the other turn is evidence that it is a single choice.
    """
    if [shown.role for shown in before] != [Role.ASSISTANT]:
        return []
    [shown] = before
    repeated = english.read_repeat(said, shown.text)
    if repeated is None:
        return []
    reading, (first, last) = repeated
    start = len(shown.text[:first].encode())
    end = start + len(shown.text[first:last].encode())
    evidence = (_span(turn, said), Evidence(page_id=shown.page_id, start=start, end=end))
    return [_claim(reading, said, evidence, authority, turn.origin)]


def _agreed(turn: Utterance, before: Sequence[Utterance]) -> list[Claim]:
    """The object of a mere "yes": the turn right before, if it makes one proposal and no more."""
    if [shown.role for shown in before] != [Role.ASSISTANT]:
        return []
    [shown] = before
    said = english.only_sentence(shown.text)
    reading = english.read_proposal(said)
    if reading is None:
        return []
    authority, origin = Authority.PROPOSED, shown.origin
    if turn.origin not in USERS:
        origin = turn.origin
    elif shown.origin == MODEL_GENERATED:
        authority, origin = Authority.USER, USER_APPROVED
    evidence = (_span(turn, turn.text.rstrip()), _span(shown, said))
    return [_claim(reading, said, evidence, authority, origin)]


def _claim(
    reading: english.Parse,
    value: str,
    evidence: tuple[Evidence, ...],
    authority: Authority,
    origin: Origin,
) -> Claim:
    return Claim(
        type=reading.kind,
        subject=reading.subject,
        value=value,
        text=wording(reading.kind, value, how="agreed" if origin == USER_APPROVED else ""),
        evidence=evidence,
        authority=authority,
        origin=origin,
        confidence=_CONFIDENCE,
        instead_of=reading.old,
        about=reading.about,
    )


def _span(turn: Utterance, beginning: str) -> Evidence:
    return Evidence(page_id=turn.page_id, start=0, end=len(beginning.encode()))
