"""Case, apostrophes, blanks and a full stop change nothing; a capital that is evidence does."""

from __future__ import annotations

import pytest

from pagefault.truth.extract import extract
from tests.truth.turns import assistant, user

CANONICAL = (
    "Let's use Postgres.",
    "Let's go with Postgres.",
    "Let's use Postgres for the database.",
    "We'll stick with Redis for our cache.",
    "We've decided to use Valkey instead of Redis.",
    "Let's switch from Redis to Valkey.",
    "I prefer tabs over spaces.",
    "I'd like you to never touch the database.",
    "Please always answer in German.",
    "I'm allergic to peanuts.",
    "Our budget is $50K.",
    "Our deadline is 15 March.",
    "Forget about Redis.",
)
FIRST = ("Let's", "I'm", "I'd", "We've")


@pytest.mark.parametrize("text", CANONICAL)
def test_every_spelling_behaves_as_the_canonical_one(text: str) -> None:
    [expected] = extract(user(text))
    spellings = {
        text.lower(),
        text.upper(),
        text.rstrip("."),
        text.replace(".", "!"),
        text.replace("'", "’"),
        text.replace("'", "ʼ").upper(),
        text.replace(" ", "  "),
        f"{text}  \n",
    }
    if text.startswith(FIRST):
        spellings |= {text.replace("'", ""), text.replace("'", "").lower()}
    for said in spellings:
        claims = extract(user(said))
        assert [(c.type, c.subject.casefold()) for c in claims] == [
            (expected.type, expected.subject.casefold())
        ], said
        assert claims[0].value == said.strip().rstrip(".!"), "as it was written"


@pytest.mark.parametrize("text", ["My name is Maria", "I live in Lisbon", "I work for Siemens"])
def test_where_a_capital_is_the_evidence_a_text_without_such_says_nothing(text: str) -> None:
    assert len(extract(user(text))) == 1
    assert extract(user(text.lower())) == extract(user(text.upper())) == []


@pytest.mark.parametrize("text", ["I'm allergic to Mondays", "im allergic to meetings"])
def test_nobody_is_allergic_to_what_is_no_allergen(text: str) -> None:
    assert extract(user(text)) == []


SHOWN = "For speed I'd recommend React with TypeScript for the web client, for a start."


def test_a_choice_of_several_words_is_one_where_the_turn_before_names_it_so() -> None:
    said = user("Agreed, let’s go with React with TypeScript for the web client.")
    [claim] = extract(said, [assistant(SHOWN)])
    assert (claim.subject, claim.authority) == ("web client", "user")
    assert claim.text == f"Decision: {said.text.rstrip('.')}"
    shown = claim.evidence[1]
    quote = SHOWN.encode()[shown.start : shown.end].decode()
    assert quote == "React with TypeScript for the web client"


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ("Agreed, let's go with React with TypeScript for the web client", "I recommend Vue."),
        ("Agreed, let's go with React with JavaScript for the web client", SHOWN),
        ("Agreed, let's go with React with TypeScript for the web client?", SHOWN),
        ("Agreed, let's go with React with TypeScript for now", SHOWN),
        ("Agreed, let's go with a start for now", SHOWN),
        ("He agreed, let's go with React with TypeScript for the web client", SHOWN),
    ],
)
def test_other_words_than_those_shown_are_no_name(said: str, shown: str) -> None:
    assert extract(user(said), [assistant(shown)]) == []
    assert extract(user(said)) == []
