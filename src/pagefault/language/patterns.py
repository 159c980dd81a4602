"""Cues as regular expressions, of one language or of several at once."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache

from pagefault.language.english import ENGLISH
from pagefault.language.known import LANGUAGES, told, told_or_all
from pagefault.language.language import Cue, Language


def joined(cue: Cue, languages: Iterable[Language] = LANGUAGES) -> str:
    """The source of what shows it in any of these languages; what never matches, if in none."""
    found = [one.cues[cue] for one in languages if cue in one.cues]
    return "|".join(f"(?:{one})" for one in found) or r"(?!)"


def anywhere(*cues: Cue, flags: re.RegexFlag = re.IGNORECASE) -> re.Pattern[str]:
    """Looked for in texts of any language: of the cues that `Cue` allows it for."""
    return re.compile("|".join(map(joined, cues)), flags)


def shows(cue: Cue, text: str, *, at_start: bool = False, within: str = "") -> bool:
    """Whether a text shows it, in the languages that it tells, or that the text `within` which it
    stands does.
    """
    return _pattern(cue, told_or_all(within or text), at_start).search(text) is not None


def count(cue: Cue, text: str, *, flags: re.RegexFlag = re.IGNORECASE) -> int:
    """How often a text shows it, in its languages, or in English where it shows none."""
    pattern = _pattern(cue, told(text) or (ENGLISH,), False, flags)
    return sum(1 for _ in pattern.finditer(text))


@lru_cache(maxsize=512)
def _pattern(
    cue: Cue, languages: Sequence[Language], at_start: bool, flags: re.RegexFlag = re.IGNORECASE
) -> re.Pattern[str]:
    source = joined(cue, languages)
    return re.compile(rf"^\W*+(?:{source})" if at_start else source, flags)
