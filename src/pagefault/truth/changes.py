"""What a change is about that does not say: "I changed my mind, let's use MySQL instead".

It closes what stands only where one claim alone can be meant. Could be meant: claims of its type,
with a value of the same form (a name, a sum, so many days). Meant is, of those, the one that the
turn itself names, or that the turn right before made and this one points at ("scrap that"); else
the only one that stands. That something was spoken of right before is no reason: who has just heard
of the host may still mean the database. Where two could be meant nothing is closed: both stand, and
the next "for the database" settles it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from pagefault.model.kinds import ClaimType
from pagefault.truth.claim import Authority, Claim, Turn
from pagefault.truth.held import Held, kind_of
from pagefault.truth.subjects import subject_key, value_key


def find_changed(claim: Claim, standing: Sequence[Held], said: Turn | None) -> Held | None:
    """The standing claim that `claim` takes the place of and does not name, if it is certain.

    `said` is the turn that makes the claim. Where nothing
    says that something changes, only another version of the same thing does: "PostgreSQL 17".
    """
    if claim.instead_of:
        return None  # it names what it replaces, and that does not stand
    rivals = [held for held in standing if _may_replace(claim, held)]
    key = subject_key(claim.subject)
    if not claim.changes:
        return None if key else _only([held for held in rivals if _is_version(claim, held)])
    if key:  # less said than before means the same thing, more said may mean a part of it
        words = set(key.split())
        return _only([held for held in rivals if words < set(subject_key(held.subject).split())])
    named = [held for held in rivals if said is not None and _names(said.text, held)]
    if named:
        return _only(named)
    pointed = [held for held in rivals if set(claim.about) & set(held.pages)]
    if pointed:
        return _only(pointed)
    return _only(rivals) if all(_is_near(claim, held) for held in rivals) else None


def could_be_meant(claim: Claim, standing: Sequence[Held]) -> bool:
    """Whether anything that stands could be what a change is about."""
    return any(_may_replace(claim, held) for held in standing)


def find_returned(claim: Claim, closed: Sequence[Held]) -> str:
    """The one subject of which the value of `claim` held before; empty if none or several did."""
    value = value_key(claim.value)
    subjects = {
        subject_key(held.subject): held.subject
        for held in closed
        if kind_of(held.type) == kind_of(claim.type) and value_key(held.value) == value
    }
    return next(iter(subjects.values())) if len(subjects) == 1 else ""


def _is_near(claim: Claim, held: Held) -> bool:
    """Whether what was spoken of last does not tell against it: any name may be of anything."""
    topic, subject = subject_key(claim.topic), subject_key(held.subject)
    if not topic or not subject or _form(claim.value) != _NAME:
        return True
    return not set(topic.split()).isdisjoint(subject.split())


def _only(held: Sequence[Held]) -> Held | None:
    return held[0] if len(held) == 1 else None


def _may_replace(claim: Claim, held: Held) -> bool:
    if held.authority is Authority.USER and claim.authority is Authority.PROPOSED:
        return False
    if kind_of(held.type) != kind_of(claim.type) or _form(held.value) != _form(claim.value):
        return False
    if claim.type is ClaimType.RULE:
        return held.value.split()[:1] == claim.value.split()[:1]  # answer in …, answer in …
    return held.type is claim.type or _form(claim.value) != _NAME


def _names(text: str, held: Held) -> bool:
    """Whether a text names a claim: its value, or every word of its subject."""
    value, subject = value_key(held.value), subject_key(held.subject)
    if value and re.search(rf"(?<!\w){re.escape(value)}(?!\w)", text.casefold()):
        return True
    return bool(subject) and set(subject.split()) <= set(subject_key(text).split())


def _is_version(claim: Claim, held: Held) -> bool:
    """Whether two values are one name with different numbers."""
    new, old = value_key(claim.value), value_key(held.value)
    name = _unnumbered(new)
    return new != old and name == _unnumbered(old) and bool(name) and name != new


def _unnumbered(value: str) -> str:
    return " ".join(word for word in value.split() if not re.search(r"\d", word))


_NAME: Final = "name"
_FORMS: Final = (
    ("sum", re.compile(r"[$€£¥]|\b(?:dollars?|euros?|pounds?|usd|eur|gbp)\b", re.IGNORECASE)),
    ("share", re.compile(r"\d ?%|\bpercent\b", re.IGNORECASE)),
    ("time", re.compile(r"\b\d{1,2}:\d\d\b|\b\d{4}-\d\d|\b\d{1,2} ?[ap]m\b", re.IGNORECASE)),
    (
        "day",
        re.compile(
            r"\b(?:mon|tues|wednes|thurs|fri|satur|sun)days?\b|\b(?:january|february|march|april"
            r"|may|june|july|august|september|october|november|december) \d",
            re.IGNORECASE,
        ),
    ),
)
_NUMBER: Final = re.compile(r"[<>~≤≥]?\s*\d[\d.,]*\s*(?P<unit>[a-z]*)", re.IGNORECASE)


def _form(value: str) -> str:
    """What sort of value it is; of a number its unit."""
    for form, pattern in _FORMS:
        if pattern.search(value):
            return form
    number = _NUMBER.match(value)
    return f"number of {subject_key(number['unit'])}" if number else _NAME
