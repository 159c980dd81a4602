"""The texts of the kernel bench: of the promised length, equal for equal seeds, rich as speech."""

import random
import re

import pytest

from pagefault.lab.texts import TEXTS, WORDS, English, Texts


@pytest.fixture(params=TEXTS, scope="module")
def texts(request: pytest.FixtureRequest) -> Texts:
    return TEXTS[request.param]()


def _sample(texts: Texts, seed: int) -> list[str]:
    chance = random.Random(seed)
    return [f(chance) for _ in range(20) for f in (texts.turn, texts.query, texts.message)]


def test_turns_queries_and_messages_have_their_lengths(texts: Texts) -> None:
    chance = random.Random(3)
    assert {len(texts.turn(chance).split()) for _ in range(50)} == {WORDS}
    assert {len(texts.query(chance).split()) for _ in range(50)} == {6}
    assert {len(texts.message(chance).split()) for _ in range(50)} == {12}


def test_equal_seeds_give_equal_texts(texts: Texts) -> None:
    assert _sample(texts, 7) == _sample(type(texts)(), 7)
    assert _sample(texts, 7) != _sample(texts, 8)


def test_the_vocabulary_of_english_grows_about_as_that_of_real_text() -> None:
    chance, english = random.Random(7), English()
    seen: set[str] = set()
    told = 0
    for turns in range(1, 3_001):
        words = re.findall(r"\w[\w']*", english.turn(chance).lower())
        told += len(words)
        seen.update(words)
        if turns in (1_000, 3_000):
            assert 0.4 < len(seen) / (44 * told**0.49) < 1.6


def test_english_has_the_function_words_of_speech() -> None:
    chance, english = random.Random(7), English()
    words = " ".join(english.turn(chance) for _ in range(200)).lower().split()
    assert words.count("the") > len(words) / 50
