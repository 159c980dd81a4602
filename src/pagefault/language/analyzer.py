"""Text analysis: the terms by which two words match.

Engine-neutral and versioned: an index made with another `ANALYZER` is rebuilt. Pages and queries go
through the same function, so they are treated alike.

- Unicode is normalised (NFKC, casefolded); diacritics and characters that do not show are dropped.
- Words are stemmed (Snowball), so that a plural finds its singular, and irregular forms map to
  their base word: in the language detected for their paragraph (`known.py`), or else in the default
  of their script. Words without a stemmer stay unchanged. The terms of a text are those of its
  paragraphs, so equal paragraphs have equal terms anywhere.
- A query is too short for language detection: it is analysed in the languages of its scope
  (`query_words`).
- Scripts without blanks become overlapping pairs of characters, in Japanese within a run of one
  script; kanji between kana are single terms, as their endings vary.
- A name such as `fooBar`, `foo_bar.py` or `src/foo-bar` is a term as a whole, without its joints,
  so that all spellings match, and also in pieces; a path also in components. Code has no natural
  language: its pieces are always stemmed as English.
- Numbers keep their joints (`3.5`, `2023-05-07`), as 35 is another number; `1,200` is 1200.
"""

from __future__ import annotations

import re
import threading
import unicodedata
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from datetime import date
from functools import cache, lru_cache
from itertools import chain, pairwise, zip_longest
from typing import Final

import Stemmer

from pagefault.language.english import MONTHS, WEEKDAYS
from pagefault.language.known import (
    BY_CODE,
    DEFAULT,
    FORMATTING,
    LANGUAGES,
    TELLING,
    is_ideograph,
    others_in,
    script_of,
    told,
    without_formatting,
)
from pagefault.language.language import Language, Script
from pagefault.language.sought import Sought, alternatives

ANALYZER: Final = 10
"""Increased whenever any text could yield other terms than before."""

TERM_CHARS_MAX: Final = 64  # longer ones are data (keys, base64), distinguished by their beginning
NAME_CHARS_MAX: Final = 256  # a longer name of pieces is data, too, unless it is a list with commas

# Scripts without blanks between words: Thai to Khmer, kana, Han, Hangul.
_UNSPACED: Final = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u1100-\u11ff\u3005-\u3007\u3040-\u30ff\u31f0-\u31ff"
    "\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff"
)
_SIGNS: Final = "\u0900-\u0963\u0970-\u0dff"  # vowel signs and letters in the scripts of India
_LETTERS: Final = rf"(?:[^\W_{_UNSPACED}]++|[{_SIGNS}]++)++"
_JOINT: Final = r"[_.,:/\\@#&+'-]"
_CHUNK: Final = re.compile(rf"[^\W_]+(?:{_JOINT}+[^\W_]+)*")
_CHUNK_OR_RUN: Final = re.compile(rf"[{_UNSPACED}]+|{_LETTERS}(?:{_JOINT}+{_LETTERS})*")
_PIECE: Final = re.compile(rf"(?:[^\W_]++|[{_SIGNS}]++)++")
_COMPONENT: Final = re.compile(r"[^/\\:@]+")
_HUMP: Final = re.compile(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_DIACRITICS: Final = "\u0300-\u036f\u0591-\u05c7\u064b-\u065f\u093c\u1ab0-\u1aff\u1dc0-\u1dff"
_DIACRITIC: Final = re.compile(f"[{_DIACRITICS}]")
_SPELLINGS: Final = {
    **str.maketrans("’ʼ＇\u0901łŁ", "'''\u0902lL", "\u0640"),
    ord("œ"): "oe",
    ord("Œ"): "Oe",
    ord("æ"): "ae",
    ord("Æ"): "Ae",
}
"""Apostrophes; a Hindi nasal with two spellings; a Polish letter that Unicode does not decompose; an
ornamental stroke; letters that are written as two where a keyboard lacks them.
"""
_WRITTEN_PIECE: Final = re.compile(rf"[^\W_](?:[^\W_]|[{_SIGNS}{_DIACRITICS}{FORMATTING}])*")
_RUN: Final = re.compile(rf"[{_UNSPACED}]+")
_LETTERS_ALONE: Final = re.compile(
    "[\u3005-\u3007\u3041-\u3096\u30a1-\u30fe\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7a3"
    "\U00020000-\U0003ffff]+"
)
"""Runs in which nothing is written on another character: Han, kana, Hangul."""
_OF_ONE_SCRIPT: Final = re.compile(
    "[\u3040-\u309f]+|[\u30a0-\u30ff\u31f0-\u31ff]+|[^\u3040-\u30ff\u31f0-\u31ff]+"
)
_KANA_WITHIN: Final = re.compile("[\u3041-\u309f]")
_HIRAGANA: Final = re.compile("[\u3040-\u309f]+")
_NUMBER_JOINT: Final = re.compile(r"[^\w.:]|_")
_THOUSANDS: Final = re.compile(r"\d{1,3}(?:,\d{3})+")
_OF_CODE: Final = re.compile(r"[_.:/\\@#&+\d]")
_PARAGRAPH: Final = re.compile(r"\n\s*\n")


@cache  # takes milliseconds, and only searches need it
def _written() -> re.Pattern[str]:
    """Words as written in a text, before any processing."""
    return re.compile(
        rf"[{_UNSPACED}][{_UNSPACED}{FORMATTING}]*"
        rf"|[^\W_{_UNSPACED}](?:[^\W_{_UNSPACED}]|[{_SIGNS}])*"
        rf"(?:[{_DIACRITICS}{FORMATTING}]+(?:[^\W_{_UNSPACED}]|[{_SIGNS}])*"
        rf"|['’ʼ＇_.,:/\\@#&+-]['’ʼ＇_.,:/\\@#&+{FORMATTING}-]*[^\W_{_UNSPACED}]+)*"
    )


@cache
def _written_run() -> re.Pattern[str]:
    return re.compile(rf"[{_UNSPACED}][{_UNSPACED}{FORMATTING}]*")


_ENGLISH: Final = ()  # no other language detected: the default of each script


def analyze(text: str) -> list[str]:
    """The terms of a text, in order, with repetitions."""
    return analyze_told(text)[0]


def analyze_told(text: str) -> tuple[list[str], tuple[str, ...]]:
    """The terms of a text, and its `other_languages`."""
    if len(_TERMS) > _REMEMBERED:
        _TERMS.clear()
    try:
        return [*chain.from_iterable(map(_TERMS.__getitem__, text.split()))], _ENGLISH
    except TellsLanguage:
        pass
    terms: list[str] = []
    told: dict[str, None] = {}
    for paragraph in _PARAGRAPH.split(text):
        words = _words(paragraph)
        others = _told(paragraph, words)
        told.update(dict.fromkeys(others))
        terms += chain.from_iterable([_terms_in(word, others) for word in words])
    return terms, tuple(told)


def terms_alone(piece: str) -> tuple[str, ...]:
    """The terms of a piece between blanks, in a text of the default languages only: no word or name
    spans a blank. `TellsLanguage` for a word that may identify another language.
    """
    if _is_plain(piece) and piece not in TELLING:
        return (english_stem(piece.casefold()[:TERM_CHARS_MAX]),)
    return _terms_alone(piece, _words)


def _is_plain(word: str) -> bool:
    """Whether it is letters of ASCII without humps, as most words are."""
    return word.isascii() and word.isalpha() and word[1:].islower()


def _terms_alone(piece: str, words: Callable[[str], Sequence[str]]) -> tuple[str, ...]:
    if without_formatting(piece) in TELLING:
        raise TellsLanguage
    found = words(piece)
    if len(found) == 1:
        return _terms_in(found[0], _ENGLISH)
    return tuple(chain.from_iterable([_terms_in(word, _ENGLISH) for word in found]))


def other_languages(text: str) -> tuple[str, ...]:
    """The codes of the languages of a text's paragraphs, except the defaults of scripts."""
    text = without_formatting(text)
    if TELLING.isdisjoint(text.split()):
        return ()
    return tuple(dict.fromkeys(chain.from_iterable(map(_told, _PARAGRAPH.split(text)))))


def word_spans(text: str) -> Iterator[tuple[int, int, tuple[str, ...]]]:
    """The span of each word of a text (end exclusive), and its terms: for a name with joints those
    of each piece, then those of the whole; in a script without blanks, each pair.
    """
    begin = 0
    for end in (*(found.end() for found in _PARAGRAPH.finditer(text)), len(text)):
        others = _told(text[begin:end])
        for chunk in _written().finditer(text, begin, end):
            written = chunk[0]
            if written.isascii() and written.isalnum() and len(written) <= TERM_CHARS_MAX:
                yield *chunk.span(), _remembered(written, others)  # nothing to take apart
            else:
                yield from _spans_of(written, chunk.start(), others)
        begin = end


def _spans_of(
    written: str, start: int, others: tuple[str, ...]
) -> Iterator[tuple[int, int, tuple[str, ...]]]:
    if _written_run().fullmatch(written):
        yield from _spans_in_run(written, start)
        return
    terms = tuple(chain.from_iterable(_terms_in(word, others) for word in _words(written)))
    pieces = list(_WRITTEN_PIECE.finditer(written))
    if len(pieces) > 1:
        for piece in pieces:
            found = chain.from_iterable(_terms_in(word, others) for word in _words(piece[0]))
            of_piece = tuple(found)
            yield start + piece.start(), start + piece.end(), of_piece
            terms = tuple(term for term in terms if term not in of_piece)
    yield start, start + len(written), terms


def _spans_in_run(run: str, start: int) -> Iterator[tuple[int, int, tuple[str, ...]]]:
    """The pairs of a run: whole characters, with their vowel signs and tones, and invisible ones."""
    if _LETTERS_ALONE.fullmatch(run) and unicodedata.is_normalized("NFKC", run):
        for at, term in _pairs(run):
            yield start + at, start + at + len(term), (term,)
        return
    bounds = [0, *(at for at in range(1, len(run)) if not _extends(run[at])), len(run)]
    whole = (without_formatting(run[begin:end]) for begin, end in pairwise(bounds))
    normalised = [unicodedata.normalize("NFKC", one) for one in whole]
    of_char = [number for number, one in enumerate(normalised) for _ in one]
    for at, term in _pairs("".join(normalised)):
        first, last = of_char[at], of_char[at + len(term) - 1]
        yield start + bounds[first], start + bounds[last + 1], (term,)


def _extends(char: str) -> bool:
    """Whether a character of a run is written on or in the one before it."""
    return unicodedata.category(char) in ("Mn", "Mc", "Cf") or "\u1160" <= char <= "\u11ff"


def query_terms(text: str, languages: Collection[str] | None = None) -> list[str]:
    """The terms of a question, without duplicates, in order, as a text in these languages (their
    codes; the defaults of scripts for the rest) would have them; by default in its own.

    Stop words are left out, unless there is nothing else: `to be or not to be` is a query too.
    """
    if languages is None:
        return list(dict.fromkeys(_telling_terms(text))) or list(dict.fromkeys(analyze(text)))
    sought = query_words(text, languages)
    return list(dict.fromkeys(chain.from_iterable(map(alternatives, sought))))


def _telling_terms(text: str) -> Iterable[str]:
    """The terms of a text without its stop words, with repetitions."""
    if len(_TELLING_TERMS) > _REMEMBERED:
        _TELLING_TERMS.clear()
    try:
        return [*chain.from_iterable(map(_TELLING_TERMS.__getitem__, text.split()))]
    except TellsLanguage:
        pass
    found: list[tuple[str, ...]] = []
    for paragraph in _PARAGRAPH.split(text):
        others = _told(paragraph)
        found += [_terms_in(word, others) for word in _telling(_words(paragraph), others)]
    return chain.from_iterable(found)


def query_words(text: str, languages: Collection[str] = ()) -> list[Sought]:
    """The words of a question, without duplicates, in order: for each its term, or its alternatives
    if it differs between these languages and the defaults. So a word counts once, in any language
    that a page has it in.
    """
    return [*_query_words(text, tuple(languages))]


def forms_of(asked: Iterable[Sought]) -> frozenset[str]:
    """All alternatives of these search terms."""
    return frozenset(chain.from_iterable((w,) if isinstance(w, str) else w for w in asked))


@lru_cache(maxsize=8)  # a search requests those of its query several times
def _query_words(text: str, languages: tuple[str, ...]) -> tuple[Sought, ...]:
    words = list(_words(text))
    shown = told(text)
    stops = [one.code for one in shown] if shown else languages
    _, elisions = _stops(tuple(stops))
    asked: list[Sought] = []
    for word in (_unelided(one, elisions) for one in _telling(words, stops) or words):
        told_by_all = [_terms_in(word, _ENGLISH)]
        told_by_all += [_terms_in(word, (code,)) for code in languages]
        for terms in zip_longest(*told_by_all, fillvalue=""):
            any_of = tuple(dict.fromkeys(filter(None, terms)))
            asked.append(any_of if len(any_of) > 1 else any_of[0])
    return tuple(dict.fromkeys(asked))


def _unelided(word: str, elisions: Collection[str]) -> str:
    """A word without an elided one before it: `d'octobre` also searches English pages."""
    before, _, after = word.partition("'")
    return after if after and before.casefold() in elisions else word


def terms_of(text: str, language: Language) -> list[str]:
    """The terms of a text in this known language, without duplicates."""
    others = () if DEFAULT.get(language.script) is language else (language.code,)
    return list(dict.fromkeys(term for word in _words(text) for term in _terms_in(word, others)))


def is_telling(text: str) -> bool:
    """Whether it has any word that is not a stop word."""
    if text.isascii() and any(map(_tells_anywhere, _CHUNK.finditer(text))):
        return True  # nearly always decided by one of the first words
    return bool(_telling(_words(text), [one.code for one in told(text)]))


def _tells_anywhere(word: re.Match[str]) -> bool:
    folded = word[0].casefold()
    return folded.isalpha() and folded not in _STOPS_ANYWHERE


def unseen_joints(asked: Sequence[Sought], seen: Sequence[bool]) -> frozenset[int]:
    """The uninformative pairs of characters in a query, given which of its terms occur in scope.

    In a script without blanks, a query's pairs are its words and the joints between them. A joint
    rarely occurs anywhere, and is not a missing word. So an unseen pair counts only if it overlaps
    no pair that counts, where seen ones have precedence.
    """
    counting = list(seen)
    for at, one in enumerate(asked):
        before = at > 0 and counting[at - 1] and _overlap(asked[at - 1], one)
        after = at + 1 < len(asked) and seen[at + 1] and _overlap(one, asked[at + 1])
        counting[at] = seen[at] or not (before or after)
    return frozenset(at for at, counts in enumerate(counting) if not counts)


def _overlap(one: Sought, other: Sought) -> bool:
    return (
        isinstance(one, str)
        and isinstance(other, str)
        and len(one) == len(other) == 2
        and one[1] == other[0]
        and _RUN.fullmatch(one + other) is not None
    )


def date_terms(day: date) -> list[str]:
    """Weekday, month and year by name, as people ask for a day."""
    return [english_stem(WEEKDAYS[day.weekday()]), month_term(day.month), str(day.year)]


def month_term(month: int) -> str:
    """The term of a month (1 to 12), independent of the page's language."""
    return english_stem(MONTHS[month - 1])


# --- words of a text ----------------------------------------------------------------------------


def _told(paragraph: str, words: Sequence[str] | None = None) -> tuple[str, ...]:
    """The languages of a paragraph, except the defaults of scripts; `words` are its words."""
    if TELLING.isdisjoint(without_formatting(paragraph).split()):
        return _ENGLISH
    return others_in(_words(paragraph) if words is None else words)


def _words(text: str) -> Sequence[str]:
    """Words, names and numbers in normalised Unicode; case is kept, for camel case."""
    if text.isascii():
        return _CHUNK.findall(text)
    text = unicodedata.normalize("NFKC", without_formatting(text).translate(_SPELLINGS))
    return _CHUNK_OR_RUN.findall(_DIACRITIC.sub("", text))


def _telling(words: Iterable[str], others: Collection[str]) -> list[str]:
    """The words that are not stop words in these languages or in the default of their script; for a
    run without blanks, the parts between its stop words.
    """
    stops, elisions = _stops(tuple(others))
    found: list[str] = []
    for word in words:
        folded = word.casefold()
        if folded in stops:
            continue
        if not word.isascii() and _RUN.match(word):
            found += _between_stops(word)
            continue
        if "'" in folded:
            before = folded.partition("'")[0]
            if before in stops and before not in elisions:
                continue
        if elisions and all(one in stops or one in elisions for one in _PIECE.findall(folded)):
            continue  # `s'est-il`, `y a-t-il`
        found.append(word)
    return found


@lru_cache(maxsize=256)
def _stops(others: Sequence[str]) -> tuple[frozenset[str], frozenset[str]]:
    """The stop words of these languages and of the defaults of scripts, and the elisions."""
    those = [BY_CODE[code] for code in others]
    stops = frozenset[str]().union(*(one.stop_words for one in (*DEFAULT.values(), *those)))
    return stops, frozenset[str]().union(*(one.elisions for one in those))


_STOPS_ANYWHERE: Final = frozenset(
    word for one in LANGUAGES for word in (*one.stop_words, *one.elisions)
)


def _between_stops(run: str) -> Iterator[str]:
    for part in _OF_ONE_SCRIPT.findall(run):
        if _HIRAGANA.match(part):
            continue
        if len(part) == 1:
            if part not in _RUN_STOPS:
                yield part
            continue
        yield from (one for one in _RUN_STOP.split(part) if len(one) > 1 or is_ideograph(one))


class TellsLanguage(Exception):
    """A word may identify a language: the piece has no terms by itself."""


class _Terms(dict[str, tuple[str, ...]]):
    """A cache of the terms of some `words` of a piece, faster than an LRU one. Long pieces are left
    out: they are data, seldom seen twice, and would fill it with whole files. So are pieces that
    may identify another language: a text found here completely needs no language detection.
    """

    def __init__(self, words: Callable[[str], Sequence[str]]) -> None:
        super().__init__()
        self._words = words

    def __missing__(self, piece: str) -> tuple[str, ...]:
        terms = _terms_alone(piece, self._words)
        if len(piece) <= TERM_CHARS_MAX:
            self[piece] = terms
        return terms


_REMEMBERED: Final = 65_536
_TERMS: Final = _Terms(_words)
_TELLING_TERMS: Final = _Terms(lambda piece: _telling(_words(piece), _ENGLISH))

_RUN_STOPS: Final = frozenset(
    word for one in LANGUAGES if one.script in (Script.HAN, Script.KANA) for word in one.stop_words
)
_RUN_STOP: Final = re.compile("|".join(sorted(map(re.escape, _RUN_STOPS), key=len, reverse=True)))

# --- terms of a word ----------------------------------------------------------------------------


def _terms_in(word: str, others: tuple[str, ...]) -> tuple[str, ...]:
    """The terms of one word of a text in these languages: one for most, several for a name with
    joints or in camel case.
    """
    return _remembered(word, others) if len(word) <= TERM_CHARS_MAX else _terms_of(word, others)


def _terms_of(word: str, others: tuple[str, ...]) -> tuple[str, ...]:
    if not others and _is_plain(word):  # none of what follows applies
        return (english_stem(word.casefold()[:TERM_CHARS_MAX]),)
    if not word.isascii() and _RUN.match(word):
        return tuple(term for _, term in _pairs(word.casefold()) if term.isprintable())
    folded = word.casefold()
    has_humps = not word.islower() and _HUMP.search(word) is not None
    is_code = not others or has_humps or _OF_CODE.search(word)
    language = _language_of(word, () if is_code else others)
    if not has_humps and _PIECE.fullmatch(folded):
        return (_stem(folded[:TERM_CHARS_MAX], language),)
    if "'" in folded and folded.replace("'", "").isalpha():
        return (_apostrophe_term(folded, language),)
    if _THOUSANDS.fullmatch(folded):
        return (folded.replace(",", ""),)
    if len(word) > NAME_CHARS_MAX and "," not in word:
        word, has_humps = word[:NAME_CHARS_MAX], False  # data does not consist of words
        folded = word.casefold()
    terms = [_whole(folded, language)]
    components: list[str] = _COMPONENT.findall(folded)
    if len(components) > 1:
        terms += [_whole(component, language) for component in components]
    if has_humps:
        for piece in _PIECE.findall(word):
            humps = _HUMP.split(piece) if len(piece) > 1 else ()
            terms += [_stem(part.casefold()[:TERM_CHARS_MAX], language) for part in (piece, *humps)]
    else:
        terms += [_stem(piece[:TERM_CHARS_MAX], language) for piece in _PIECE.findall(folded)]
    return tuple(dict.fromkeys(terms))


_remembered: Final = lru_cache(maxsize=32_768)(_terms_of)


def _apostrophe_term(folded: str, language: Language | None) -> str:
    """The term of a word with an apostrophe: after an elision, that of the second part."""
    before, _, after = folded.partition("'")
    while language is not None and before in language.elisions and after:
        folded = after
        before, _, after = folded.partition("'")
    return _stem(folded[:TERM_CHARS_MAX], language).replace("'", "")


def _whole(folded: str, language: Language | None) -> str:
    """The term of a name as one word."""
    joined = "".join(_PIECE.findall(folded))
    if joined.isdigit() or not joined:
        return _NUMBER_JOINT.sub("-", folded)[:TERM_CHARS_MAX]
    return _stem(joined[:TERM_CHARS_MAX], language)


def _pairs(run: str) -> Iterator[tuple[int, str]]:
    """The pairs of characters in a run without blanks, with their positions."""
    if not _KANA_WITHIN.search(run) and _OF_ONE_SCRIPT.fullmatch(run):
        parts = [(0, run)]
    else:
        parts = [(part.start(), part[0]) for part in _OF_ONE_SCRIPT.finditer(run)]
    for start, part in parts:
        if len(part) > 1:
            yield from ((start + at, part[at : at + 2]) for at in range(len(part) - 1))
        elif len(parts) == 1 or not _HIRAGANA.match(part):
            yield start, part


def _language_of(word: str, others: Sequence[str]) -> Language | None:
    if not others and word.isascii():
        return _OF_LATIN
    script = script_of(word)
    for code in others:
        if BY_CODE[code].script is script:
            return BY_CODE[code]
    return DEFAULT.get(script)


class _Stemmers(threading.local):
    """Snowball stemmers, one per language and thread: they are not thread-safe."""

    def __init__(self) -> None:
        self._made: dict[str, Stemmer.Stemmer] = {}

    def __getitem__(self, snowball: str) -> Stemmer.Stemmer:
        made = self._made.get(snowball)
        if made is None:
            made = self._made[snowball] = Stemmer.Stemmer(snowball, 0)  # `_remembered` is the cache
        return made


_STEMMERS: Final = _Stemmers()
_OF_LATIN: Final = DEFAULT[Script.LATIN]  # English


def _stem(word: str, language: Language | None) -> str:
    """The common stem of a lower-case word and its other forms, without diacritics."""
    if language is None or not language.snowball:
        return _bare(word)
    if language is _OF_LATIN:
        return english_stem(_bare(word))
    regular = _regular_stem(word, language.snowball)
    return _bare(_led_back(language).get(regular, regular))


@lru_cache(maxsize=32_768)  # names have their pieces in common
def english_stem(word: str) -> str:
    """The term of a plain English word: case-folded ASCII letters."""
    regular = _regular_stem(word, _OF_LATIN.snowball)
    return _led_back(_OF_LATIN).get(regular, regular)


def _regular_stem(word: str, snowball: str) -> str:
    if len(word) < 3 or word[-1] in "0123456789":
        return word  # no suffix: stemming would change nothing
    stemmed: str = _STEMMERS[snowball].stemWord(word)
    return stemmed or word


@cache
def _led_back(language: Language) -> dict[str, str]:
    """A mapping from the stem of each irregular form to the stem of its base word."""
    back: dict[str, str] = {}
    for line in language.irregular.split("\n"):
        word, _, forms = line.partition(":")
        for form in forms.split():
            stem = _regular_stem(form.casefold(), language.snowball)
            back[stem] = _regular_stem(word.strip().casefold(), language.snowball)
    return back


def _bare(word: str) -> str:
    """Without diacritics, in normalised Unicode."""
    if word.isascii():
        return word
    stripped = _DIACRITIC.sub("", unicodedata.normalize("NFKD", word))
    return unicodedata.normalize("NFKC", stripped)[:TERM_CHARS_MAX]
