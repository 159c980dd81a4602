"""Text to terms: what two words must have in common to match.

Engine-neutral and versioned: an index made under another `ANALYZER` is rebuilt. The same function
reads pages and queries, so whatever it does to one it does to the other.

 - Unicode is brought to one form (NFKC, casefolded), diacritics are dropped.
 - English words are stemmed (Snowball), so that a plural finds its singular; irregular forms are
   led back to their word (`irregular.py`). Other alphabets pass.
 - Scripts without blanks become overlapping pairs of characters.
 - A name such as `fooBar`, `foo_bar.py` or `src/foo-bar` stands as a whole, without its joints, so
   that all ways of writing it meet; and in its pieces; a path also in its components.
 - Numbers keep their joints (`3.5`, `2023-05-07`), as 35 is another number; `1,200` is 1200.
"""

from __future__ import annotations

import re
import threading
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator
from datetime import date, datetime
from functools import lru_cache
from itertools import chain
from typing import Final

import Stemmer

from pagefault.model.events import PageBody
from pagefault.model.kinds import EventType
from pagefault.store.irregular import led_back

ANALYZER: Final = 5
"""Changes whenever any text could yield other terms than before."""

TERM_CHARS_MAX: Final = 64  # longer ones are data (keys, base64), told apart by their beginning
NAME_CHARS_MAX: Final = 256  # a longer name of pieces is data too, unless it is a list with commas

# Scripts written without blanks between words: Thai to Khmer, kana, Han, Hangul.
_UNSPACED: Final = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u1100-\u11ff\u3005-\u3007\u3040-\u30ff\u31f0-\u31ff"
    "\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff"
)
_JOINT: Final = r"[_.,:/\\@#&+'-]"
_CHUNK: Final = re.compile(rf"[^\W_]+(?:{_JOINT}+[^\W_]+)*")
_CHUNK_OR_RUN: Final = re.compile(
    rf"[{_UNSPACED}]+|[^\W_{_UNSPACED}]+(?:{_JOINT}+[^\W_{_UNSPACED}]+)*"
)
_PIECE: Final = re.compile(r"[^\W_]+")
_COMPONENT: Final = re.compile(r"[^/\\:@]+")
_HUMP: Final = re.compile(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_DIACRITICS: Final = "\u0300-\u036f\u0591-\u05c7\u064b-\u065f\u1ab0-\u1aff\u1dc0-\u1dff"
_DIACRITIC: Final = re.compile(f"[{_DIACRITICS}]")
_WRITTEN: Final = re.compile(
    rf"[{_UNSPACED}]+"
    rf"|[^\W_{_UNSPACED}][^\W_{_UNSPACED}{_DIACRITICS}]*"
    rf"(?:[{_DIACRITICS}]+[^\W_{_UNSPACED}{_DIACRITICS}]*|['’ʼ＇_.,:/\\@#&+-]+[^\W_{_UNSPACED}{_DIACRITICS}]+)*"
)
"""Words as they stand in a text, before anything is done to it."""
_WRITTEN_PIECE: Final = re.compile(rf"[^\W_](?:[^\W_]|[{_DIACRITICS}])*")
_RUN: Final = re.compile(rf"[{_UNSPACED}]+")
_NUMBER_JOINT: Final = re.compile(r"[^\w.:]|_")
_THOUSANDS: Final = re.compile(r"\d{1,3}(?:,\d{3})+")
_APOSTROPHES: Final = str.maketrans("’ʼ＇", "'''")

_STOP_WORDS: Final = frozenset(
    """
    a about above after again against all am an and any are as at be because been before being
    below between both but by can could did do does doing down during each few for from further
    had has have having he her here hers herself him himself his how i if in into is it its itself
    just let me might more most must my myself no nor not now of off on once only or other our ours
    ourselves out over own same shall she should so some such than that the their theirs them
    themselves then there these they this those through to too under until up upon us very was we
    were what when where which while who whom whose why will with would you your yours yourself
    yourselves d ll m re s t ve don doesn didn isn wasn weren hasn haven hadn won wouldn shouldn
    couldn ain aren mustn mightn cannot
    """.split()
)


def analyze(text: str) -> list[str]:
    """The terms of a text, in its order, repeated as they repeat."""
    return list(_analyzed(text))


def word_spans(text: str) -> Iterator[tuple[int, int, tuple[str, ...]]]:
    """Where each word of a text stands, from and to (without), and its terms: of a name with joints
    those of each piece, and then those of the whole; of a script without blanks each pair.
    """
    for chunk in _WRITTEN.finditer(text):
        start, end = chunk.span()
        written = chunk[0]
        terms = tuple(analyze(written))
        if _RUN.fullmatch(written) and len(terms) == len(written) - 1:
            for at, term in enumerate(terms, start):
                yield at, at + 2, (term,)
            continue
        pieces = list(_WRITTEN_PIECE.finditer(written))
        if len(pieces) > 1:
            for piece in pieces:
                told = tuple(analyze(piece[0]))
                yield start + piece.start(), start + piece.end(), told
                terms = tuple(term for term in terms if term not in told)
        yield start, end, terms


def query_terms(text: str) -> list[str]:
    """The terms a question is about, each once, in its order.

    Stop words are left out, unless there is nothing else: `to be or not to be` is a query too.
    """
    words = list(_words(text))
    telling = [word for word in words if not _is_stop(word)]
    return list(dict.fromkeys(term for word in telling or words for term in _terms(word)))


def is_telling(text: str) -> bool:
    """Whether it has any word but stop words."""
    return not all(map(_is_stop, _words(text)))


_SAYS_AGAIN: Final = frozenset({EventType.SUMMARY, EventType.REPRESENTATION})


def page_terms(body: PageBody, said: Counter[str]) -> Counter[str]:
    """What a page can be found by, and how often: its text, its title and when it happened.
    `said` are the terms of its text.

    What only says again what other pages say, shorter, is found by these.
    """
    if body.event_type in _SAYS_AGAIN:
        return Counter()
    terms = said.copy()
    if body.title:
        terms.update(_analyzed(body.title))
    if body.occurred_at:
        terms.update(_occurred_terms(body.occurred_at))
    return terms


def _analyzed(text: str) -> Iterator[str]:
    if text.isascii():  # no name spans a blank, so what stands between blanks can be remembered
        if len(_ASCII_TERMS) > _REMEMBERED:
            _ASCII_TERMS.clear()
        return chain.from_iterable(map(_ASCII_TERMS.__getitem__, text.split()))
    return chain.from_iterable(map(_terms, _words(text)))


def _words(text: str) -> Iterable[str]:
    """Words, names and numbers as written, brought to one Unicode form; case is kept for humps."""
    if text.isascii():
        return _CHUNK.findall(text)
    text = _DIACRITIC.sub("", unicodedata.normalize("NFKD", text.translate(_APOSTROPHES)))
    return _CHUNK_OR_RUN.findall(unicodedata.normalize("NFKC", text))


class _Terms(dict[str, tuple[str, ...]]):
    """The terms of what stands between blanks, as it is asked for: quicker than an LRU cache. Long
    ones are data, seldom seen twice, and would fill it with whole files.
    """

    def __missing__(self, token: str) -> tuple[str, ...]:
        terms = tuple(chain.from_iterable(map(_terms, _CHUNK.findall(token))))
        if len(token) <= TERM_CHARS_MAX:
            self[token] = terms
        return terms


_REMEMBERED: Final = 65_536
_ASCII_TERMS: Final = _Terms()


def _terms(word: str) -> tuple[str, ...]:
    """The terms of one word: one for most, several for a name with joints or humps."""
    return _remembered(word) if len(word) <= TERM_CHARS_MAX else _terms_of(word)


def _terms_of(word: str) -> tuple[str, ...]:
    folded = word.casefold()
    has_humps = _HUMP.search(word) is not None
    if not has_humps and folded.isalnum():
        if folded.isascii():
            return (_stem(folded[:TERM_CHARS_MAX]),)
        return _unspaced_terms(folded)
    if "'" in folded and folded.replace("'", "").isalpha():
        return (_stem(folded[:TERM_CHARS_MAX]).replace("'", ""),)
    if _THOUSANDS.fullmatch(folded):
        return (folded.replace(",", ""),)
    if len(word) > NAME_CHARS_MAX and "," not in word:
        word, has_humps = word[:NAME_CHARS_MAX], False  # those of data are not of words
        folded = word.casefold()
    terms = [_whole(folded)]
    components: list[str] = _COMPONENT.findall(folded)
    if len(components) > 1:
        terms += map(_whole, components)
    if has_humps:
        for piece in _PIECE.findall(word):
            humps = _HUMP.split(piece) if len(piece) > 1 else ()
            terms += [_stem(part.casefold()[:TERM_CHARS_MAX]) for part in (piece, *humps)]
    else:
        terms += [_stem(piece[:TERM_CHARS_MAX]) for piece in _PIECE.findall(folded)]
    return tuple(dict.fromkeys(terms))


_remembered: Final = lru_cache(maxsize=32_768)(_terms_of)


def _whole(folded: str) -> str:
    """The term of a name as one word."""
    joined = "".join(_PIECE.findall(folded))
    if joined.isdigit() or not joined:
        return _NUMBER_JOINT.sub("-", folded)[:TERM_CHARS_MAX]
    return _stem(joined[:TERM_CHARS_MAX])


def _unspaced_terms(word: str) -> tuple[str, ...]:
    if _CHUNK_OR_RUN.match(word) and re.match(f"[{_UNSPACED}]", word):
        if len(word) == 1:
            return (word,)
        return tuple(word[i : i + 2] for i in range(len(word) - 1))
    return (_stem(word[:TERM_CHARS_MAX]),)


def _is_stop(word: str) -> bool:
    folded = word.casefold()
    return folded in _STOP_WORDS or ("'" in folded and folded.split("'", 1)[0] in _STOP_WORDS)


def date_terms(day: date) -> list[str]:
    """Weekday, month and year by name: how people ask for a day."""
    return [_stem(_DAYS[day.weekday()]), _stem(_MONTHS[day.month - 1]), str(day.year)]


def _occurred_terms(occurred_at: str) -> list[str]:
    try:
        return date_terms(datetime.fromisoformat(occurred_at))
    except ValueError:
        return []


_DAYS: Final = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_MONTHS: Final = (
    "january", "february", "march", "april", "may", "june",
    "july", "august", "september", "october", "november", "december",
)  # fmt: skip


class _Stemmers(threading.local):
    """One Snowball stemmer for each thread: they are not to be shared."""

    def __init__(self) -> None:
        self.english = Stemmer.Stemmer("english", 0)  # `_remembered` is the cache


_STEMMERS: Final = _Stemmers()


def _regular_stem(word: str) -> str:
    if len(word) < 3 or word[-1] in "0123456789":
        return word  # no suffix of English: the stemmer would change nothing
    stemmed: str = _STEMMERS.english.stemWord(word)
    return stemmed


_IRREGULAR: Final = led_back(_regular_stem)


def _stem(word: str) -> str:
    stemmed = _regular_stem(word)
    return _IRREGULAR.get(stemmed, stemmed)
