"""Cues as regular expressions, for one language or for several at once."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from enum import Enum
from functools import cached_property, lru_cache

from pagefault.language.english import ENGLISH
from pagefault.language.known import LANGUAGES, LATIN, told, told_or_latin, without_formatting
from pagefault.language.language import Cue, Language


def joined(cue: Cue, languages: Iterable[Language] = LANGUAGES) -> str:
    """The pattern source of a cue in any of these languages, or one that never matches."""
    found = [one.cues[cue] for one in languages if cue in one.cues]
    return "|".join(f"(?:{one})" for one in found) or r"(?!)"


class Anywhere:
    """Searches for cues in texts of any language.

    An ASCII text is not searched for cues of other scripts than the Latin one, which would take
    most of the time.
    """

    def __init__(self, cue: Cue) -> None:
        self._cue = cue

    @cached_property
    def _in_latin(self) -> re.Pattern[str]:
        return re.compile(joined(self._cue, LATIN), re.IGNORECASE)

    @cached_property
    def _in_all(self) -> re.Pattern[str]:
        return re.compile(joined(self._cue), re.IGNORECASE)

    def search(self, text: str) -> re.Match[str] | None:
        return self._for(text).search(text)

    def finditer(self, text: str) -> Iterator[re.Match[str]]:
        return self._for(text).finditer(text)

    def _for(self, text: str) -> re.Pattern[str]:
        return self._in_latin if text.isascii() else self._in_all


def anywhere(cue: Cue) -> Anywhere:
    """The cue in texts of any language, if `Cue` allows that for it."""
    return Anywhere(cue)


class Where(Enum):
    """Where in a text a cue must stand."""

    ANYWHERE = "{cue}"
    START = r"^\W*+{cue}"
    END = r"(?<!\S){cue}\W*$"


def shows(cue: Cue, text: str, *, where: Where = Where.ANYWHERE) -> bool:
    """Whether a text has a cue in its detected languages, or if none is, in any in Latin letters."""
    pattern = _pattern(cue, told_or_latin(text), where)
    return pattern.search(without_formatting(text)) is not None


def count(cue: Cue, text: str, *, flags: re.RegexFlag = re.IGNORECASE) -> int:
    """The number of matches in a text, in its languages, or in English if none is detected."""
    pattern = _pattern(cue, told(text) or (ENGLISH,), flags=flags)
    return sum(1 for _ in pattern.finditer(text))


@lru_cache(maxsize=512)
def _pattern(
    cue: Cue,
    languages: Sequence[Language],
    where: Where = Where.ANYWHERE,
    flags: re.RegexFlag = re.IGNORECASE,
) -> re.Pattern[str]:
    source = where.value.replace("{cue}", f"(?:{joined(cue, languages)})")
    return re.compile(source, flags)
