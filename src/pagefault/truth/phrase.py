"""The words after "let's use": a value, what it is for, what it replaces."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from pagefault.truth.language import Language, Words

VALUE_WORDS_MAX: Final = 9
SUBJECT_WORDS_MAX: Final = 7
_NAME: Final = re.compile(
    r"^[\"“'`(]?(?:[A-Z]|\d|[$€£¥#@~<>≥≤.-]?\d)|^[\w.-]*[a-z][A-Z]|^\w+[.+#/\d]+\w*|^\w*\d"
)
_PREPOSED: Final = re.compile(
    r"^(?:the|a|an|our|my|on|in|at|by|every|around|about|from|plain|version|port)\s+(?=\S)",
    re.IGNORECASE,
)
_PAIRS: Final = {"(": ")", "[": "]", "{": "}"}


@dataclass(frozen=True, slots=True)
class Piece:
    """Some words and where they begin in their sentence."""

    text: str
    at: int

    @property
    def end(self) -> int:
        return self.at + len(self.text)

    def cut(self, start: int, end: int) -> Piece:
        return Piece(self.text[start:end], self.at + start)


@dataclass(frozen=True, slots=True)
class Choice:
    """A value, with the subject and the replaced value that stand beside it, where they do."""

    value: Piece
    subject: Piece | None = None
    old: Piece | None = None


def choices(tail: Piece, language: Language) -> Iterator[Choice]:
    """What a tail says, first things first: "X for the api and Y for the web" are two."""
    rest: Piece | None = tail
    while rest is not None:
        choice, rest = _choice(rest, language)
        if choice is None:
            return
        yield choice


def value_of(piece: Piece, language: Language) -> Piece | None:
    """A value less what surrounds it; None where nothing is named, or it is not settled."""
    piece = _trimmed(_until(piece, language.ends), language)
    is_proper = piece.at > 0 and piece.text[:1].isupper() and len(piece.text) > 1  # Go, Make, Next
    if not piece.text or language.or_else.search(piece.text):
        return None
    if not is_proper and language.empty.match(piece.text):
        return None
    return piece if len(piece.text.split()) <= VALUE_WORDS_MAX else None


def subject_of(piece: Piece, language: Language) -> Piece | None:
    """A subject less its article and what surrounds it; None where nothing is named."""
    piece = _until(piece, language.ends)
    piece = _trimmed(_until(piece, _COMMA), language)
    article = language.article.match(piece.text)
    if article:
        piece = piece.cut(article.end(), len(piece.text))
    if not piece.text or language.empty.match(piece.text) or language.or_else.search(piece.text):
        return None
    return piece if len(piece.text.split()) <= SUBJECT_WORDS_MAX else None


def is_name(text: str) -> bool:
    """Whether it begins as names, numbers and quoted words do."""
    if _NAME.match(text):
        return True
    lead = _PREPOSED.match(text)
    return bool(lead and is_name(text[lead.end() :]))


_COMMA: Final = re.compile(r",.*")


def _choice(tail: Piece, language: Language) -> tuple[Choice | None, Piece | None]:
    serves = language.serves.search(tail.text)
    ends = language.ends.search(tail.text)
    if serves and ends and ends.start() < serves.start():
        serves = None
    if serves is None:
        head, old = _parted(tail, language)
        value = value_of(_until(head, _COMMA), language)
        return (Choice(value, None, old) if value else None), None
    head, old = _parted(tail.cut(0, serves.start()), language)
    value = value_of(_until(head, _COMMA), language)
    if value is None:
        return None, None
    after = tail.cut(serves.end(), len(tail.text))
    subject, rest = _with_rest(after, language)
    subject, old_too = _parted(subject, language)
    return Choice(value, subject_of(subject, language), old or old_too), rest


def _with_rest(piece: Piece, language: Language) -> tuple[Piece, Piece | None]:
    """A subject, and a further pair of value and subject behind it, if one follows."""
    for found in re.finditer(r",|;|\s+(?:and|&|\+|plus|while|with)\s", piece.text):
        rest = piece.cut(found.start(), len(piece.text))
        also = language.also.match(rest.text)
        if also is None:
            continue
        beyond = rest.cut(also.end(), len(rest.text))
        serves = language.serves.search(beyond.text)
        if serves and is_name(beyond.text) and serves.start() < 50:
            return piece.cut(0, found.start()), beyond
    return piece, None


def _parted(piece: Piece, language: Language) -> tuple[Piece, Piece | None]:
    """A piece before "instead of", and what is replaced."""
    found = language.replaces.search(piece.text)
    if found is None or found.start() == 0:
        return piece, None
    old = value_of(_until(piece.cut(found.end(), len(piece.text)), _COMMA), language)
    return piece.cut(0, found.start()), old


def _until(piece: Piece, pattern: Words | re.Pattern[str]) -> Piece:
    found = pattern.search(piece.text)
    return piece.cut(0, found.start()) if found else piece


def _trimmed(piece: Piece, language: Language) -> Piece:
    lead = len(piece.text) - len(piece.text.lstrip(" \t\r\n\"'“‘`*_(,:–—-"))
    piece = piece.cut(lead, len(piece.text))
    front = language.trim_front.match(piece.text)
    if front and front.end() < len(piece.text):
        piece = piece.cut(front.end(), len(piece.text))
        lead = len(piece.text) - len(piece.text.lstrip("\"'“‘`*_("))
        piece = piece.cut(lead, len(piece.text))
    back = language.trim_back.search(piece.text)
    if back:
        piece = piece.cut(0, back.start())
    return piece
