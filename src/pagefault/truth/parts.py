"""What a sentence that makes a claim is about, as far as it can be told for certain.

This says which claims are about the same thing, and nothing about what any of them says. A part is
known only where every word of the sentence is accounted for; else the sentence has none.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from pagefault.model.kinds import ClaimType
from pagefault.truth import english
from pagefault.truth.subjects import subject_key
from pagefault.truth.voice import straightened

_NOWHERE: Final = (0, 0)
_NAMED: Final = ("what", "named", "moved")  # groups of the opening of a fact


@dataclass(frozen=True, slots=True)
class Parts:
    """Where the parts of a sentence stand in it: what it is about, what it chooses, what that takes
    the place of, and what of all that was said it names. `fixed` is a subject that is not named.
    """

    subject: tuple[int, int] = _NOWHERE
    value: tuple[int, int] = _NOWHERE
    old: tuple[int, int] = _NOWHERE
    about: tuple[int, int] = _NOWHERE
    fixed: str = ""


def folded(text: str) -> str:
    """Without capitals and of the same length, with straight apostrophes."""
    lowered = text.lower()
    if len(lowered) != len(text):  # a capital of which lower case makes two
        lowered = "".join(char.lower()[0] for char in text)
    return straightened(lowered)


def kind_of(plain: str) -> tuple[ClaimType | None, str]:
    """Which claim a folded sentence begins as, and what follows the words that say so."""
    if english.TAKES_BACK.fullmatch(plain):
        return ClaimType.RETRACTION, ""
    for kind, opening in english.OPENINGS:
        found = opening.match(plain)
        if found and (kind is not ClaimType.FACT or not _names_nothing(found)):
            return kind, plain[found.end() :]
    return None, plain


def _names_nothing(found: re.Match[str]) -> bool:
    """Whether a fact is told of a word that says nothing: "my question is 42"."""
    named = [name for name in _NAMED if found[name]]
    return bool(named) and _subject(found, named[0]) == _NOWHERE


def parts_of(plain: str) -> Parts:
    """The parts of a folded sentence; none where it is not understood whole."""
    back = english.TAKES_BACK.fullmatch(plain)
    if back:
        if back["said"]:
            return Parts(about=back.span("name"))
        return Parts(old=back.span("name"), subject=_subject(back, "subject"))
    for choice in english.CHOICES:
        found = choice.fullmatch(plain)
        if found:
            return _chosen(found)
    for pattern, fixed in english.SUBJECTS:
        if pattern.match(plain):
            return Parts(fixed=fixed)
    for _, opening in english.OPENINGS:
        found = opening.match(plain)
        if found:
            named = [_subject(found, name) for name in (*_NAMED, "kind")]
            return Parts(subject=next((place for place in named if place != _NOWHERE), _NOWHERE))
    return Parts()


def choice_of(value: str) -> str:
    """What a claim chooses, by its value: a value that is no sentence is the choice itself."""
    plain = folded(value)
    place = parts_of(plain).value
    if place != _NOWHERE:
        return value[slice(*place)]
    return value if kind_of(plain)[0] is None else ""


def _chosen(found: re.Match[str]) -> Parts:
    groups = found.re.groupindex
    subject = _subject(found, "subject")
    if subject == _NOWHERE:
        subject = _subject(found, "topic")
    value = found.span("value") if "value" in groups else _NOWHERE
    old = found.span("old") if "old" in groups and found["old"] else _NOWHERE
    return Parts(subject=subject, value=value, old=old)


def _subject(found: re.Match[str], name: str) -> tuple[int, int]:
    """A subject, if it names something that can be decided about."""
    if name not in found.re.groupindex or not found[name]:
        return _NOWHERE
    words = set(subject_key(found[name]).split())
    if words <= english.NO_SUBJECT or not english.JOINS.isdisjoint(found[name].split()):
        return _NOWHERE
    return found.span(name)
