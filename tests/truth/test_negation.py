"""What a user forbids is never turned round: a claim holds every negation, or is not made."""

from __future__ import annotations

from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pagefault.truth.extract import extract
from pagefault.truth.procedures import procedures
from tests.examples import few
from tests.truth.turns import assistant, user

NEGATIONS: Final = (
    "never", "don't", "don’t", "DON'T", "do not", "Do absolutely not", "dont", "no longer", "not",
    "NOT", "no", "avoid", "stop", "without", "refuse to", "nobody should", "hardly", "barely",
    "under no circumstances", "refrain from", "except", "unless asked", "instead of", "rather than",
    "anything but", "by no means", "must not", "can't", "cannot", "won’t", "isn't", "wouldn't",
    "shouldn't ever", "never, ever,", "not, please,", "I forbid you to", "no way to",
    "it is not true that", "only a fool would", "nicht", "kein", "niemals", "ne jamais", "pas",
    "nunca", "no se debe", "non", "mai", "niet", "geen", "не", "никогда не", "不要", "决不", "ない",
    "しないで", "لا", "asla", "मत",
)  # fmt: skip
SENTENCES: Final = (
    "Let's use tabs for the indentation",
    "We decided to use postgres for our database",
    "Please always answer in German",
    "I want you to always touch the database",
    "I prefer spaces over tabs",
    "We'll stick with telnet for the login after all",
    "Our deadline is 15 March",
    "I'm allergic to shellfish and nuts",
    "My name is Maria",
    "I live in Oslo",
    "My favourite editor is Emacs",
    "Forget what I decided about the cache",
    "Let's switch from Redis to Valkey for the cache",
)
JOINS: Final = (" ", ", ", " - ", " — ", " (", ") ", "\n", "\n\n", " ... ", "… ", ": ", "; ", " … ")
STATEMENTS: Final = (
    "To deploy the site, run `make build`, then run `make ship`",
    "When calling weather_tool, always load the location first",
)
LIST: Final = "To deploy the site:\n1. run make build\n2. run make ship\n"
HEADINGS: Final = (
    "Don't do any of these:\n- {}\n- {}",
    "Things we never do:\n\n* {}\n\n* {}",
    "What I do NOT want:\n1. {}\n2. {}",
    "# Forbidden\n\n{}\n\n{}",
    "Never do this: {}.",
    "None of these is allowed.\n\n- {}\n- {}",
    "Don't do any of these. {}. {}.",
    "The following is wrong. {}.",
    "What comes next is a lie. {}.",
    "Not true! {}.",
    "Never! {}.",
    "We do not\n\n{}",
    "It is forbidden to\n{}",
    "{}. That is not what I want.",
    "{}. Never mind.",
    "{}. It's the opposite.",
    "{}. Not!",
    "{} (not really).",
    "{}\n\nnot",
    "{}. Unless it is Monday.",
    "{}. But only in tests.",
    "{}. Except on Fridays.",
    "{}. Actually, no.",
    "{}. Hm, wait. No, scratch that.",
    "It is not so that {}.",
    "I would never say {}.",
    'Never say "{}".',
    "Nobody here wants this\n\n{}",
    "Ignore the next sentence. {}.",
    "Bad advice: {}.",
)


def _squeezed(text: str) -> str:
    return " ".join(text.lower().replace("’", "'").split())


@st.composite
def negated(draw: st.DrawFn, sentences: tuple[str, ...]) -> tuple[str, str]:
    """A sentence with a negation somewhere in it, before it or behind it; and the negation."""
    words = draw(st.sampled_from(sentences)).split(" ")
    negation = draw(st.sampled_from(NEGATIONS))
    at = draw(st.integers(0, len(words)))
    before, after = draw(st.sampled_from(JOINS)), draw(st.sampled_from(JOINS))
    head, tail = " ".join(words[:at]), " ".join(words[at:])
    text = f"{head}{before if head else ''}{negation}{after if tail else ''}{tail}"
    frame = draw(st.sampled_from(["{}", "{}.", "{}!", "Hi there. {}. Thanks a lot.", "Ok, {}"]))
    if draw(st.booleans()):
        text = draw(st.sampled_from([text.upper(), text.lower(), text.capitalize()]))
    return frame.format(text), negation


@few(300)
@given(negated(SENTENCES))
def test_a_claim_holds_the_negation_wherever_it_stands(said: tuple[str, str]) -> None:
    text, negation = said
    for claim in extract(user(text)):
        assert _squeezed(negation).rstrip(",") in _squeezed(claim.value), (text, claim.value)


def test_every_negation_at_every_place_of_every_sentence() -> None:
    for sentence in SENTENCES:
        assert len(extract(user(sentence))) == 1, "else nothing was tried"
        words = sentence.split(" ")
        for negation in NEGATIONS:
            for at in range(len(words) + 1):
                text = " ".join([*words[:at], negation, *words[at:]])
                for claim in extract(user(text)):
                    assert negation.replace("’", "'").rstrip(",") in claim.value.replace("’", "'")


@few(100)
@given(negated(("I recommend tabs for the indentation", "Let's use telnet for the login")))
def test_what_is_agreed_to_holds_the_negation(said: tuple[str, str]) -> None:
    text, negation = said
    for claim in extract(user("Sounds good."), [assistant(text)]):
        assert _squeezed(negation).rstrip(",") in _squeezed(claim.value), (text, claim.value)


@few(100)
@given(negated(STATEMENTS))
def test_a_procedure_holds_the_negation(said: tuple[str, str]) -> None:
    text, negation = said
    for told in procedures(user(text)):
        assert _squeezed(negation).rstrip(",") in _squeezed(told.text), (text, told.text)


@pytest.mark.parametrize("sentence", SENTENCES)
@pytest.mark.parametrize("heading", HEADINGS)
def test_what_is_denied_from_outside_makes_no_claim(sentence: str, heading: str) -> None:
    for one in (sentence, sentence.lower()):
        assert extract(user(heading.format(one, one))) == []


@pytest.mark.parametrize(
    "text",
    [
        f"Never do this.\n\n{LIST}",
        f"Don't:\n{LIST}",
        f"{LIST}\nBut not on Fridays.",
        f"{LIST}\nNever do that.",
        LIST.replace("To deploy", "To not deploy"),
        f"> {LIST}",
        f'"{LIST}"',
    ],
)
def test_a_list_that_is_denied_is_no_procedure(text: str) -> None:
    assert procedures(user(text)) == []
    assert len(procedures(user(LIST))) == 1


@pytest.mark.parametrize(
    "text",
    [
        "Neither let's use tabs nor spaces.",
        "We use neither tabs nor spaces.",
        "Let's use neither tabs nor spaces for the code.",
        "Always use neither tabs nor spaces.",
    ],
)
def test_neither_and_nor_stay_together(text: str) -> None:
    for claim in extract(user(text)):
        assert "neither" in claim.value.lower()
        assert "nor" in claim.value
