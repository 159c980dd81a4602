"""What a text is about, by form alone: topics, entities, tasks.

Each is one pass of one expression, because a search asks hundreds of pages. They serve to find and
group pages; nothing is held true because of them.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Set
from functools import cache, lru_cache
from itertools import accumulate
from typing import Final

from pagefault.language.known import LANGUAGES
from pagefault.language.language import Cue, Script
from pagefault.language.patterns import joined
from pagefault.represent.protected import IDENTIFIER, suspects
from pagefault.represent.words import common_words

TAGS_MAX: Final = 5
ENTITIES_MAX: Final = 16
TASKS_MAX: Final = 16
READ_MAX: Final = 20_000
"""Characters that are read: a text says early on what it is about."""

_TASK: Final = re.compile(
    r"\b(?!(?:UTF|ISO|SHA|RFC|CVE|GPT|AES|RSA|MD|HTTP|TLS|US|COVID)-)[A-Z][A-Z0-9]{1,9}-\d{1,7}\b"
    r"|(?<![\w#&/])#\d{1,7}\b"
    rf"|(?i:\b(?:{joined(Cue.TASK_NUMBER)})[ ]#?(?P<number>\d{{1,7}})\b)"
)
_IDENTIFIER: Final = re.compile(IDENTIFIER)
_DATE: Final = re.compile(
    r"\b\d{4}-\d\d-\d\d\b|\b\d{1,2}[./]\d{1,2}[./]\d{2,4}\b" rf"|{joined(Cue.DATE)}"
)
_NAME: Final = re.compile(
    r"(?P<start>(?:\A|[.!?…:]|\n|[\"“‘(*-])\s*)?"
    r"\b(?P<name>[A-Z][a-zà-öø-ÿ]+(?:[-'’][A-Z][a-z]+)*"
    rf"(?: (?:{joined(Cue.NAME_JOINER)})?[A-Z][a-zà-öø-ÿ]+)*)\b"
)
_GRAMMAR: Final = re.escape("".join(one.breaks for one in LANGUAGES))
_HAN: Final = rf"[\u3400-\u9fff々](?<![{_GRAMMAR}])"
_SIGN: Final = r"\u0900-\u0963\u0970-\u0dff"  # letters and vowel signs; \w lacks the latter
_WORD: Final = re.compile(
    # Runs of two or more: Han without grammatical characters, katakana, hangul.
    rf"{_HAN}(?:{_HAN})+"
    r"|[\u30a0-\u30ff]{2,}|[\uac00-\ud7af]{2,}"
    rf"|[^\W\d_\u3040-\u9fff\uac00-\ud7af](?:[^\W\u3040-\u9fff\uac00-\ud7af]++|[{_SIGN}]++)*+"
    r"(?:[-'’][^\W_\u3040-\u9fff\uac00-\ud7af]+)*"
)
_PLAIN: Final = re.compile(r"(?:[\"'(]*[A-Z]?[a-z]+[\"'),.;:!?]*(?:\s+|\Z))*")
"""Ordinary words only: a quick check that a text has no identifiers."""
_DIGIT: Final = re.compile(r"\d")


@cache
def _run_words() -> re.Pattern[str]:
    """Uninformative words inside runs of characters."""
    words = {
        word
        for one in LANGUAGES
        if one.script in (Script.HAN, Script.KANA)
        for word in one.stop_words | one.fillers | one.calendar
        if len(word) > 1
    }
    return re.compile("|".join(sorted(words, key=lambda word: (-len(word), word))))


def task_refs(text: str) -> tuple[str, ...]:
    """Tasks in a text, distinct and in order: `ABC-123`, `#42`; *issue 42* becomes `#42`."""
    if _DIGIT.search(text) is None:
        return ()
    found = (
        f"#{match['number']}" if match["number"] else match[0]
        for match in _TASK.finditer(text, 0, READ_MAX)
    )
    return _first(found, TASKS_MAX)


def entities(text: str) -> tuple[str, ...]:
    """Names, identifiers, paths and dates in a text, distinct and in order, as written.

    A name is capitalised. At the beginning of a sentence, where every word is, it counts if it also
    occurs elsewhere in the text, or has several words.
    """
    text = text[:READ_MAX]
    no_name = common_words(text)
    found = []
    if _PLAIN.fullmatch(text) is None:
        found = [
            (match.start(), match[0])
            for start, end in suspects(text)
            for match in _IDENTIFIER.finditer(text, start, end)
        ]
    if _DIGIT.search(text) is not None:
        found += [(match.start(), match[0]) for match in _DATE.finditer(text)]
    is_within = _longer_spans((at, at + len(name)) for at, name in found)
    sure: set[str] = set()
    begins: list[tuple[int, str]] = []
    for match in _NAME.finditer(text):
        name, at = match["name"], match.start("name")
        if match["start"] is not None:
            begins.append((at, name))
        elif name.casefold() not in no_name:
            sure.add(name)
            found.append((at, name))
    for at, name in begins:
        first, _, rest = name.partition(" ")
        if name in sure:
            found.append((at, name))
        elif rest and first.casefold() in no_name:
            if rest.casefold() not in no_name:
                found.append((at + len(first) + 1, rest))
        elif rest:
            found.append((at, name))
    apart = [(at, name) for at, name in found if not is_within(at, at + len(name))]
    return _first((name for _, name in sorted(apart)), ENTITIES_MAX)


def _longer_spans(spans: Iterable[tuple[int, int]]) -> Callable[[int, int], bool]:
    """Tests whether a span is strictly inside one of these."""
    ordered = sorted(spans)
    begins = [begin for begin, _ in ordered]
    ends = [*accumulate((end for _, end in ordered), max)]  # running maximum of the ends

    def is_within(begin: int, end: int) -> bool:
        before = bisect_left(begins, begin)
        upto = bisect_right(begins, begin, before)
        longer = before > 0 and ends[before - 1] >= end
        return longer or (upto > 0 and ends[upto - 1] > end)

    return is_within


def topic_tags(text: str) -> tuple[str, ...]:
    """A few words for the subject of a text, most informative first; lower case, no markup.

    A word weighs more the more often it occurs, the longer it is, and if it is a name. Words common
    to all conversations do not count; a text of only those has no tags.
    """
    weights: dict[str, float] = {}
    text = text[:READ_MAX]
    common = common_words(text)
    if not text.isascii():
        text = _run_words().sub(" ", text)
    words = _WORD.findall(text)
    counts = Counter(words)  # in order of first occurrence
    first = dict(zip(reversed(words), range(len(words) - 1, -1, -1), strict=True))
    for word, times in counts.items():
        tag, weight, named = _telling(word, common)
        if not tag:
            continue
        if tag not in weights:
            place = first[word]
            weights[tag] = weight + (named if place else 0.0) - min(place, 200) / 1000
            times -= 1
        for _ in range(times):  # one by one, so that floats add up in a fixed order
            weights[tag] += 1.0
    ranked = sorted(weights, key=lambda word: (-weights[word], word))
    return tuple(_distinct(ranked))


@lru_cache(maxsize=8_192)
def _telling(word: str, common: Set[str]) -> tuple[str, float, float]:
    """The tag of a word, its weight, and what it gains as a name; "" if it gives none."""
    folded = word.casefold()
    if len(folded) < 3 and folded.isascii() and not word.isupper():
        return "", 0.0, 0.0
    before, _, after = folded.replace("’", "'").partition("'")
    if before in common or folded in common:
        if not after or after in common or not (before in _ELIDED and len(after) > 2):
            return "", 0.0, 0.0
        folded = after
    return folded[:40], 1.0 + min(len(folded), 12) / 24, 0.5 if word[0].isupper() else 0.0


_ELIDED: Final = frozenset[str]().union(*(one.elisions for one in LANGUAGES)) - {"t", "m", "s", "d"}


def _distinct(ranked: Iterable[str]) -> list[str]:
    """The first few, merging a word with its plural."""
    chosen: list[str] = []
    for word in ranked:
        if not any(word.rstrip("s") == other.rstrip("s") for other in chosen):
            chosen.append(word)
            if len(chosen) == TAGS_MAX:
                break
    return chosen


def _first(found: Iterable[str], count: int) -> tuple[str, ...]:
    kept: dict[str, None] = {}
    for one in found:
        kept[one] = None
        if len(kept) == count:
            break
    return tuple(kept)
