"""The ladder without a model keeps the compressor's contract, and what only it promises."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pagefault.model.kinds import Level
from pagefault.pack.count import O200k
from pagefault.represent import reduce, reversal, salience
from pagefault.represent.api import Compressor, CountTokens, Representation, Source, full_text
from pagefault.represent.extractive import Extractive, compress_page, compress_range, key_sentences
from pagefault.represent.protected import Guarded, guarded_set, retained
from pagefault.testing.compressor_contract import (
    CompressorContract,
    check_ladder,
    check_spans,
    source,
    talk,
)
from tests.represent.texts import ranges

COUNT = O200k().count


class TestExtractive(CompressorContract):
    @pytest.fixture
    def count(self) -> CountTokens:
        return COUNT

    @pytest.fixture
    def compressor(self, count: CountTokens) -> Compressor:
        return Extractive(count)


class TestExtractiveCountingCharacters(CompressorContract):
    """Whoever counts: nothing rests on one vocabulary."""

    @pytest.fixture
    def count(self) -> CountTokens:
        return len

    @pytest.fixture
    def compressor(self, count: CountTokens) -> Compressor:
        return Extractive(count)


@settings(deadline=None)
@given(ranges())
async def test_levels_shrink_and_spans_resolve_whatever_is_said(sources: list[Source]) -> None:
    made = await check_ladder(Extractive(COUNT), COUNT, sources)
    for level, one in made.items():
        assert compress_range(sources, level, count=COUNT) == one


@settings(deadline=None)
@given(ranges())
def test_reduced_loses_no_name_number_or_negation(sources: list[Source]) -> None:
    made = compress_range(sources, Level.REDUCED, count=COUNT)
    assert _names(full_text(sources)) <= _names(made.text)
    whole, kept = _denials(full_text(sources)), _denials(made.text)
    assert whole <= kept


@settings(deadline=None)
@given(ranges(), st.integers(0, 80))
def test_an_abstract_keeps_any_size(sources: list[Source], tokens_max: int) -> None:
    made = compress_range(sources, Level.ABSTRACT, count=COUNT, tokens_max=tokens_max)
    assert COUNT(made.text) == made.tokens <= tokens_max
    check_spans(made, sources)


def _names(text: str) -> set[tuple[Guarded, str]]:
    return {one for one in guarded_set(text) if one[0] is not Guarded.NEGATION}


def _denials(text: str) -> set[str]:
    return {said for what, said in guarded_set(text) if what is Guarded.NEGATION and " " in said}


# --- pages --------------------------------------------------------------------------------------


def page(text: str, level: Level) -> str:
    return compress_page(source(1, text), level, count=COUNT).text


def test_courtesy_goes_and_the_rest_stays_as_it_was_written() -> None:
    text = (
        "Hey! How are you? Well, the index is really slow since Tuesday. "
        "It actually takes 90 seconds for /var/lib/app.  Thanks so much!\n\n"
        "Have a great day!\n\nThe disk is full.  Thanks!  It was half full in May.\n"
    )
    assert page(text, Level.REDUCED) == (
        "Well, the index is really slow since Tuesday. "
        "It actually takes 90 seconds for /var/lib/app.\n\n"
        "The disk is full.  It was half full in May.\n"
    )


@pytest.mark.parametrize(
    "sentence",
    [
        "It is not really a bug.",
        "This is not just for tests, it never was.",
        "I don't actually know.",
        "We no longer very much care for Redis.",
        "Use tabs instead of the really old spaces.",
        "How really odd.",
    ],
)
def test_a_sentence_that_could_come_to_mean_another_thing_keeps_every_word(sentence: str) -> None:
    assert page(f"The port is 5432. {sentence}", Level.REDUCED).endswith(sentence)


@pytest.mark.parametrize(
    "sentence",
    [
        "Make it sound fun.", "It was good.", "She is feeling good today.", "It makes her happy.",
        "They loved it, and they thought it was amazing.", "Good Morning, Sunshine.",
        "Thanks, it was good.", "Hello, Dolly.", "What about you?", "Thank him.",
    ],
)  # fmt: skip
def test_praise_wishes_and_names_are_no_courtesy_and_stay(sentence: str) -> None:
    text = f"The cake has nine layers of chocolate. {sentence} We open on 3 May."
    assert page(text, Level.REDUCED) == text


@pytest.mark.parametrize(
    "answer", ["Yes.", "No, thanks.", "Great, let's do that.", "ok", "Agreed."]
)
def test_an_answer_is_no_courtesy(answer: str) -> None:
    made = compress_range(talk(("Shall we drop the table?", answer)), Level.REDUCED, count=COUNT)
    assert answer in made.text


def test_a_page_that_is_courtesy_alone_stays_and_goes_from_a_range() -> None:
    assert page("Thanks so much!", Level.REDUCED) == "Thanks so much!"
    made = compress_range(
        talk(("The port is 5432.", "Thanks so much!")), Level.REDUCED, count=COUNT
    )
    assert made.text == "Ada: The port is 5432." or "Thanks" not in made.text


def test_what_is_said_again_stays_each_time() -> None:
    """What was decided, taken back and decided again is told by the order."""
    on, off = "We will use Redis as the cache.", "We will not use Redis as the cache."
    made = compress_range(talk((on, off, on)), Level.REDUCED, count=COUNT)
    assert made.text == full_text(talk((on, off, on)))


def test_an_abstract_quotes_the_last_of_what_is_said_again() -> None:
    """Between the two it may have been taken back."""
    on, off = "We will use Redis as the cache.", "We will not use Redis as the cache."
    made = compress_range(talk((on, off, on)), Level.ABSTRACT, count=COUNT)
    assert made.text.count(on) == 1
    assert made.text.index(off) < made.text.index(on)


def test_code_and_tables_stay_as_they_are() -> None:
    code = "```python\ndef really(very):\n    return not very\n```"
    table = "| really | very |\n| --- | --- |\n| 1 | 2 |"
    assert page(f"Here:\n{code}\n{table}", Level.REDUCED) == f"Here:\n{code}\n{table}"


def test_identical_lines_of_output_stay_as_many_as_there_were() -> None:
    log = "```\n" + "retrying 10.0.0.7\n" * 40 + "connected\n```"
    assert page(log, Level.REDUCED) == log


def test_an_abstract_of_a_page_is_its_key_sentence() -> None:
    text = (
        "I had another look at the graphs this morning, and they are about what I thought. "
        "We decided to move ABC-123 to db-2.internal:5433, not db-1. "
        "There is more to say about how it looks, of course. What do you think about all of it?"
    )
    assert page(text, Level.ABSTRACT) == (
        "We decided to move ABC-123 to db-2.internal:5433, not db-1."
    )


def test_a_short_page_is_the_same_at_two_levels_and_has_no_room_for_a_reference() -> None:
    assert page("It broke.", Level.REDUCED) == page("It broke.", Level.ABSTRACT) == "It broke."
    assert page("ok", Level.REFERENCE) == ""


def test_a_reference_says_which_page_what_kind_how_long_and_what_about() -> None:
    text = "The eviction policy of the cache sorts pages by importance. " * 10
    assert page(text, Level.REFERENCE).startswith("msg_1 transcript 1")
    assert "eviction" in page(text, Level.REFERENCE)


def test_an_empty_page_is_empty_at_every_level() -> None:
    for level in (Level.REDUCED, Level.ABSTRACT, Level.REFERENCE):
        assert page("", level) == page("\n \n", level).strip() == ""


# --- ranges -------------------------------------------------------------------------------------


PLACES = "Lisbon Porto Madrid Seville Toulouse Lyon Geneva Milan Vienna Prague Berlin Oslo".split()
THINGS = "lamps kites maps bells scarves stamps chairs drums vases clocks boots knives".split()


def news_and_one_decision() -> list[str]:
    """Sentences full of news, and among them a plain one that a claim may cite."""
    said = [
        f"I went to {place} yesterday with Melanie and bought {thing} for {number} neighbours."
        for number, (place, thing) in enumerate(zip(PLACES, THINGS, strict=True), 2)
    ]
    said.insert(5, "We agreed that clients never touch that file, and retries stop at 4.")
    return said


def kept_of_the_decision(said: list[str]) -> float:
    made = compress_range(talk(tuple(said)), Level.ABSTRACT, count=COUNT)
    assert 0 < made.tokens * 10 <= max(240, sum(map(COUNT, said)))
    return retained(made.text, said[5])


def test_what_a_claim_may_cite_outlives_news_ten_to_one() -> None:
    assert kept_of_the_decision(news_and_one_decision()) == 1.0


def taken_back() -> list[Source]:
    """A decision in few words, taken back at length, in talk that leaves little room."""
    filler = tuple(f"The weather in Lisbon was number {n} on some list of mine." for n in range(9))
    return talk(
        (
            "We decided to use Redis 7 for sessions.",
            *filler,
            "Scratch that: after the review with legal and everybody else who had a say in it, "
            "sessions will not be in Redis 7.",
        )
    )


def says_the_opposite(made: Representation) -> bool:
    return "We decided to use Redis" in made.text and "Scratch that" not in made.text


def test_a_decision_that_is_taken_back_does_not_stand_alone() -> None:
    for tokens_max in range(8, 120):
        made = compress_range(taken_back(), Level.ABSTRACT, count=COUNT, tokens_max=tokens_max)
        assert not says_the_opposite(made)


def test_control_without_looking_for_reversals_it_would(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reversal.Reversals, "of", lambda self, place: None)
    assert any(
        says_the_opposite(
            compress_range(taken_back(), Level.ABSTRACT, count=COUNT, tokens_max=tokens_max)
        )
        for tokens_max in range(8, 120)
    )


# --- controls: weakened builds that the same checks catch ---------------------------------------


def test_control_losing_a_number_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reduce, "is_courtesy", lambda sentence: "5432" in sentence)
    text = "The port is 5432. The host is db-2."
    kept = compress_page(source(1, text), Level.REDUCED, count=COUNT).text
    assert not _names(text) <= _names(kept)


def test_control_without_a_bonus_for_what_may_be_cited_it_is_lost(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(salience, "is_citable", lambda sentence: False)
    monkeypatch.setattr(salience, "is_decision", lambda sentence: False)
    assert kept_of_the_decision(news_and_one_decision()) < 1.0


class Padding(Extractive):
    """Adds a word below, so that a level is longer than the one above."""

    async def compress(
        self, sources: object, level: Level, *, tokens_max: int | None = None
    ) -> Representation:
        made = await super().compress(sources, level, tokens_max=tokens_max)  # type: ignore[arg-type]
        text = f"{made.text} indeed" if level is Level.ABSTRACT else made.text
        return Representation(
            text=text, level=level, tokens=COUNT(text), pages=made.pages, spans=made.spans
        )


class Shifted(Extractive):
    """Its spans are off by one byte."""

    async def compress(
        self, sources: object, level: Level, *, tokens_max: int | None = None
    ) -> Representation:
        made = await super().compress(sources, level, tokens_max=tokens_max)  # type: ignore[arg-type]
        spans = tuple(replace(span, start=span.start + 1, end=span.end + 1) for span in made.spans)
        return Representation(
            text=made.text, level=level, tokens=made.tokens, pages=made.pages, spans=spans
        )


@pytest.mark.parametrize("weak", [Padding(COUNT), Shifted(COUNT)], ids=["padding", "shifted"])
async def test_control_the_contract_catches(weak: Extractive) -> None:
    with pytest.raises(AssertionError):
        await check_ladder(weak, COUNT, [source(1, "The port is 5432."), source(2, "ok then")])


def test_key_sentences_that_follow_one_another_cost_one_line() -> None:
    one, other = "The alarm code is 4471.", "Ines Duarte keeps the spare key until 3 May."

    def lines(text: str) -> list[tuple[int, str]]:
        return key_sentences(
            [source(1, text)],
            count=lambda text: len(text.split()),
            tokens_max=5 + 9 + 10,
            line_tokens=10,
        )

    assert lines(f"{one} {other} Fine.") == [(0, f"{one} {other}")]
    assert len(lines(f"{one}\n\n{other}\n\nFine.")) == 1, "two lines have no room"
