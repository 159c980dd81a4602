"""The known languages, and language detection.

Detection is a function of the text alone. A script of a single language decides; if several
languages share a script, grammatical words are counted. In Latin letters the default is English,
until another language has at least two different grammatical words, and more than English has: a
foreign name (*Museo de la Ciudad*) does not change an English sentence. One of the words must not
be an everyday English word, as German *die* and Spanish *de* are.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence, Set
from functools import lru_cache
from types import MappingProxyType
from typing import Final

from pagefault.language.arabic import ARABIC
from pagefault.language.chinese import CHINESE
from pagefault.language.dutch import DUTCH
from pagefault.language.english import ENGLISH
from pagefault.language.french import FRENCH
from pagefault.language.german import GERMAN
from pagefault.language.hindi import HINDI
from pagefault.language.italian import ITALIAN
from pagefault.language.japanese import JAPANESE
from pagefault.language.language import Language, Script
from pagefault.language.others import OTHERS
from pagefault.language.portuguese import PORTUGUESE
from pagefault.language.russian import RUSSIAN
from pagefault.language.spanish import SPANISH

LANGUAGES: Final = (
    ENGLISH, GERMAN, FRENCH, SPANISH, RUSSIAN, ARABIC, HINDI, CHINESE, JAPANESE, ITALIAN,
    PORTUGUESE, DUTCH, *OTHERS,
)  # fmt: skip
"""On ties the first is detected."""

BY_CODE: Final = MappingProxyType({one.code: one for one in LANGUAGES})

DEFAULT: Final = MappingProxyType(
    {
        Script.LATIN: ENGLISH,
        Script.CYRILLIC: RUSSIAN,
        Script.ARABIC: ARABIC,
        Script.DEVANAGARI: HINDI,
        Script.GREEK: BY_CODE["el"],
        Script.ARMENIAN: BY_CODE["hy"],
        Script.TAMIL: BY_CODE["ta"],
        Script.HAN: CHINESE,
        Script.KANA: JAPANESE,
        Script.HANGUL: BY_CODE["ko"],
    }
)
"""The default of each script. Hebrew letters are not taken for Yiddish."""

OTHER_CODES: Final = tuple(
    one.code for one in LANGUAGES if one.snowball and DEFAULT.get(one.script) is not one
)
"""Languages that analyse a word differently from the default of its script: an index records which
of them occur in a scope.
"""

TOLD_MIN: Final = 2  # different grammatical words needed to detect such a language

_ALSO_ENGLISH: Final = frozenset(
    """
    a ai al all also alter am an arm art as at bald bare bin biz brief bus c car certain ci co
    com come comment con da dag dan de dele dell den des dess di die dies dig dir do dog dole
    door dos du due e el end era ere eta etc fast fi fin for fort get gift go gut ha hade hat
    hay he hell hen her hier him hun hut i im in is it j jam ki kim kind la las le les li list
    lo log los ma man mar me mein men met mi min mine mint mit mon mu mutter my na ne nest net
    ni no non nor not note nu o of ole on or os par pas pendant per plus pod post pour pro quant
    rat rock rot sa sans se sea sense si sin so son sons sou sous star sur ta tag tale tam tan
    taste tau te tel ten tend ti ties to todo todos toll ton too tot tout toute tu u un una ut
    van var ve vet vi via vis w wand war warm wars wart was we wen wider will wit wo y z za zone
    """.split()
)

_ENGLISH_GRAMMAR: Final = ENGLISH.stop_words | ENGLISH.function_words | ENGLISH.fillers
_BY_WORD: Final[dict[str, tuple[str, ...]]] = {}
for _code in OTHER_CODES:
    for _word in BY_CODE[_code].stop_words:
        _BY_WORD[_word] = (*_BY_WORD.get(_word, ()), _code)
_SIGNS: Final = frozenset(_BY_WORD) - _ENGLISH_GRAMMAR - _ALSO_ENGLISH

TELLING: Final = _SIGNS | frozenset(map(str.capitalize, _SIGNS))
"""Without any of these words a text is in the default languages of its scripts."""

_SCRIPTS: Final = re.compile(
    r"(?P<cyrillic>[\u0400-\u052f])|(?P<greek>[\u0370-\u03ff\u1f00-\u1fff])|(?P<armenian>[\u0530-\u058f])"
    r"|(?P<hebrew>[\u0590-\u05ff\ufb1d-\ufb4f])|(?P<devanagari>[\u0900-\u097f])|(?P<tamil>[\u0b80-\u0bff])"
    r"|(?P<arabic>[\u0600-\u06ff\u0750-\u077f\u08a0-\u08ff\ufb50-\ufdff\ufe70-\ufefc])"
    r"|(?P<hangul>[\u1100-\u11ff\uac00-\ud7af])|(?P<kana>[\u3040-\u30ff\u31f0-\u31ff])|(?P<han>[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff])"
)


FORMATTING: Final = (
    "\u00ad\u061c\u180b-\u180f\u200c-\u200f\u202a-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff"
    "\ufff9-\ufffb\U000e0001-\U000e007f\U000e0100-\U000e01ef"
)
"""Characters that neither show nor separate words: soft hyphens, joiners, marks of direction,
variation selectors (Unicode Standard Annex #29, rule WB4). A zero-width space separates.
"""
_FORMATTING: Final = re.compile(f"[{FORMATTING}]+")


def without_formatting(text: str) -> str:
    """The text without the characters of `FORMATTING`."""
    return text if text.isascii() else _FORMATTING.sub("", text)


def script_of(word: str) -> Script:
    """The script of a word in one script; Latin, if it has no letter of another known one."""
    found = None if word.isascii() else _SCRIPTS.search(word)
    return Script(str(found.lastgroup)) if found else Script.LATIN


def is_ideograph(text: str) -> bool:
    """Whether it is one Chinese character: these alone may be whole words."""
    return len(text) == 1 and script_of(text) is Script.HAN


def others_in(words: Iterable[str]) -> tuple[str, ...]:
    """The languages that the words of a text identify, except defaults, at most one per script."""
    different = set(map(str.casefold, words))
    telling = {code for word in different & _SIGNS for code in _BY_WORD[word]}
    if not telling:
        return ()
    counts = Counter(code for word in different for code in _BY_WORD.get(word, ()))
    least = {Script.LATIN: len(different & _ENGLISH_GRAMMAR)}
    told: dict[Script, str] = {}
    for code in OTHER_CODES:  # ties go to the first
        if code not in telling:
            continue
        language, count = BY_CODE[code], counts[code]
        script = language.script
        if script not in least:
            default = DEFAULT.get(script)
            least[script] = len(different & default.stop_words) if default else 0
        if count >= TOLD_MIN and count > least[script]:
            told[script] = code
            least[script] = count
    return tuple(told.values())


def told(text: str) -> tuple[Language, ...]:
    """The languages that a text shows, by its scripts and all known words: none for a few Latin
    words that could be of any language. Unlike for terms one word is enough, because nothing stored
    depends on it. In Latin letters: the languages with most words, if these are a majority or
    several words, and English unless another has more.
    """
    return _remembered(text) if len(text) <= _REMEMBERED_CHARS else _told(text)


def _told(text: str) -> tuple[Language, ...]:
    text = without_formatting(text)
    words = frozenset(_WORD.findall(text.casefold()))
    found = [*_most(words)]
    if text.isascii():
        return tuple(found)
    scripts = {script_of(char) for char in set(text) if char > _LATIN_LAST} - {Script.LATIN}
    if Script.KANA in scripts:
        scripts.discard(Script.HAN)
    for code in others_in(words):
        if BY_CODE[code].script in scripts:
            scripts.discard(BY_CODE[code].script)
            found.append(BY_CODE[code])
    return (*found, *(one for script, one in DEFAULT.items() if script in scripts))


_REMEMBERED_CHARS: Final = 2_000  # of a question, used many times; longer ones are not cached
_remembered: Final = lru_cache(maxsize=256)(_told)


def _most(words: frozenset[str]) -> Sequence[Language]:
    """The Latin languages to which most of these words belong."""
    signs = words & _LATIN_SIGNS
    if not signs:
        return () if words.isdisjoint(_ENGLISH_WORDS) else (ENGLISH,)
    counts = Counter(code for word in words & _LATIN_WORDS for code in _LATIN_BY_WORD[word])
    telling = {code for word in signs for code in _LATIN_BY_WORD[word]}
    most = max(counts[code] for code in telling)
    english = len(words & _ENGLISH_WORDS)
    if most <= english:
        return (ENGLISH,)
    if most < TOLD_MIN and 2 * most <= len(words):
        return ()
    return [one for one in LANGUAGES if one.code in telling and counts[one.code] == most]


def _vocabulary(one: Language) -> Set[str]:
    return (
        one.stop_words
        | one.function_words
        | one.fillers
        | one.times
        | one.calendar
        | one.anything
        | one.greetings
    )


_WORD: Final = re.compile(r"[\w\u0900-\u0963\u0970-\u0dff]+")  # with Indian vowel signs
_LATIN_LAST: Final = "\u024f"
_ENGLISH_WORDS: Final = _vocabulary(ENGLISH)
_LATIN_BY_WORD: Final[dict[str, list[str]]] = defaultdict(list)
for _one in LANGUAGES:
    if _one.script is Script.LATIN and _one is not ENGLISH:
        for _word in _vocabulary(_one):
            _LATIN_BY_WORD[_word].append(_one.code)
_LATIN_WORDS: Final = frozenset(_LATIN_BY_WORD)
_LATIN_SIGNS: Final = _LATIN_WORDS - _ALSO_ENGLISH - _ENGLISH_WORDS


LATIN: Final = tuple(one for one in LANGUAGES if one.script is Script.LATIN)


def may_be_other(text: str) -> bool:
    """Whether all that a text has of English are words of other languages, too: *Was war am 9.?*"""
    words = (match[0] for match in _WORD.finditer(text.casefold()))
    return all(word in _ALSO_ENGLISH and word != "i" for word in words if word in _ENGLISH_WORDS)


def told_or_latin(text: str) -> tuple[Language, ...]:
    """The languages that a text shows; if none, all in Latin letters. Any other script shows at
    least one language.
    """
    return told(text) or LATIN
