"""Texts for the benches, English or made-up words. Equal seeds give equal texts.

*Made-up words* have Zipf frequencies over a fixed vocabulary. They cost an analyzer little: there
is nothing to stem, and no phrase that a rule matches.

*English* is the demo's conversation, in sentences of random order. Its 700 words would be too few:
the vocabulary of real text grows with its length n as about 44 n^0.49 (Heaps' law, constants of
Manning et al., Introduction to Information Retrieval, 5.1.1). So its rare words, numbers included,
are slots. Half of the time a slot keeps its word. Otherwise it gets a word by Zipf's law, first
the demo's rare words and then made-up names. Grammar and function words are those of speech,
while what is said is nonsense, and all on one subject: a common noun is on more pages than in real
text.
"""

from __future__ import annotations

import json
import random
import re
from collections import Counter
from importlib.resources import files
from itertools import accumulate, islice
from typing import Final, Protocol

from pagefault.represent.words import telling_terms

WORDS: Final = 60
VOCABULARY: Final = 20_000
STOP_WORDS: Final = 50
RARE: Final = 2  # a word that the demo has at most this often is a slot
RANKS: Final = 300_000  # words for slots; with them, vocabularies grow as Heaps' law says

_WORD: Final = re.compile(r"(\w(?:[\w',.:-]*\w)?)")


class Texts(Protocol):
    """A source of turns, search queries and messages."""

    name: str

    def turn(self, chance: random.Random) -> str:
        """A turn of `WORDS` words."""

    def query(self, chance: random.Random) -> str:
        """Six words to search for, none of them a stop word."""

    def message(self, chance: random.Random) -> str:
        """A user's message of twelve words."""


class MadeUp:
    name = "made-up"

    def turn(self, chance: random.Random) -> str:
        return words(chance)

    def query(self, chance: random.Random) -> str:
        return _telling_words(chance, 6)

    def message(self, chance: random.Random) -> str:
        return _telling_words(chance, 12)


class English:
    name = "english"

    def __init__(self) -> None:
        lines = files("pagefault.lab").joinpath("demo.jsonl").read_text(encoding="utf-8")
        said = [json.loads(line)["content"] for line in lines.splitlines()]
        counts = Counter(word.lower() for text in said for word in _WORD.findall(text))
        self._rare = [word for word, n in counts.items() if n <= RARE and telling_terms(word)]
        self._slots = frozenset(self._rare)
        # Each as its text around words, and words: alternately, as `split` gives them.
        self._sentences = [
            _WORD.split(sentence) for text in said for sentence in re.split(r"(?<=[.!?])\s+", text)
        ]

    def turn(self, chance: random.Random) -> str:
        return self._said(chance, WORDS)

    def query(self, chance: random.Random) -> str:
        return " ".join(self._slot(chance, chance.choice(self._rare)) for _ in range(6))

    def message(self, chance: random.Random) -> str:
        return self._said(chance, 12).rstrip(".,!?;:") + "?"

    def _said(self, chance: random.Random, count: int) -> str:
        said: list[str] = []
        while len(said) < count:
            pieces = list(chance.choice(self._sentences))
            for n in range(1, len(pieces), 2):
                if pieces[n].lower() in self._slots:
                    pieces[n] = self._slot(chance, pieces[n])
            said += "".join(pieces).split()
        return " ".join(islice(said, count))

    def _slot(self, chance: random.Random, word: str) -> str:
        if chance.random() < 0.5:
            return word
        rank = int(RANKS ** chance.random()) - 1  # Zipf: ranks 1 to 9 are as likely as 10 to 99
        return self._rare[rank] if rank < len(self._rare) else _word(rank).capitalize()


TEXTS: Final[dict[str, type[Texts]]] = {kind.name: kind for kind in (English, MadeUp)}


def words(chance: random.Random, count: int = WORDS) -> str:
    """Made-up words with Zipf frequencies, as in speech."""
    return " ".join(chance.choices(_VOCABULARY, cum_weights=_ZIPF, k=count))


def _telling_words(chance: random.Random, count: int) -> str:
    """`words` without the most frequent, which stand for stop words."""
    return " ".join(chance.choices(_VOCABULARY[STOP_WORDS:], cum_weights=_TELLING, k=count))


def _word(rank: int) -> str:
    syllables = ("ba", "ke", "di", "fo", "gu", "la", "me", "ni", "po", "ru", "sa", "te", "vi", "wo")
    text = ""
    rank += len(syllables)
    while rank:
        rank, digit = divmod(rank, len(syllables))
        text += syllables[digit]
    return text


_VOCABULARY: Final = [_word(rank) for rank in range(VOCABULARY)]
_ZIPF: Final = list(accumulate(1 / rank for rank in range(1, VOCABULARY + 1)))
_TELLING: Final = list(accumulate(1 / rank for rank in range(STOP_WORDS + 1, VOCABULARY + 1)))
