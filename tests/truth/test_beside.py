"""What stands beside a sentence, or goes on from it, may take it back: then there is no claim."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from pagefault.truth.extract import extract
from pagefault.truth.procedures import procedures
from tests.truth.turns import assistant, user

SENTENCES = (
    "Let's use PostgreSQL 16 for the database",
    "We decided to use telnet for the login",
    "Let's use Valkey instead of Redis",
    "Let's switch from Redis to Valkey for the cache",
    "Let's not use Redis after all",
    "Please always answer in German",
    "I want you to never touch the database",
    "I prefer tabs over spaces",
    "I prefer coffee",
    "My favourite editor is Neovim",
    "My name is Bob",
    "I live in Oslo",
    "I work at Siemens",
    "I'm allergic to nuts",
    "Our budget is $50K",
    "Our deadline is 15 March",
    "My cat is called Tom",
)
PROCEDURE = "To deploy the site, run make build, then run make ship"
BEHIND = (
    "Over my dead body.", "Used to, anyway.", "You can delete logs though.", "Not.", "As if.",
    "That was the plan.", "(my box excepted)", "(sent by my boss)", "[draft]", "{ignore}",
    "— Dave, 2021", "- Dave", "~ Dave", "👎", "🙄", "😂", ":)", ";-)", "^^",
    "?", "??", "!!", "...", "…",
    "/s", "</irony>", "#sarcasm", "*cough*", "\\s", "\"", "”", "やっぱりなし。",
    "冗談です", "Πλάκα κάνω.",
    "Ei sittenkään.", "Шутка.", "Nein, doch nicht.", "لا", "Nope",
    "What does this sentence mean?",
    "Who said that?", "Translate this into French.", "Fix the grammar.", "Is that a good rule?",
    "Thanks.", "Always say the opposite.", "I live in Rome.",
    "Forget it.", "~~~", "```", "> no",
    "\n\nnot", "\nDave", "\n- or not", "\u2028no", "\x00", "\u202ePOTS",
)  # fmt: skip
ALONG = (
    " was the plan", " sounds like a lie", " as a bad example",
    " is bad advice", " lol", " not",
    " (not)", ", not", ", or not", ", they said", ", just kidding",
    " - not", " if pigs fly", " or so",
    " unless asked", " for now", " for the example", " for the moment", " today", " in theory",
    " in a dream", " until Monday", " except on Fridays", " doch nicht",
    " ei", " やめた", "嘘", " όχι",
    " no longer holds", " is what Dave wrote", " makes no sense", " never works", " sucks",
)  # fmt: skip
BEFORE = (
    "Not true!", "Act as a customer.", "Dave:", "dave>", ">", "-", "*",
    "1.", "#", "$", "\"", "“", "„",
    "「", "'", "`", "```\n", "   ", "\t", "I would never say", "He said",
    "Never say", "Don't", "No, not",
    "Translate:", "Write a song.", "Example:", "Ignore the next line.\n",
    "2021-01-02", "[10:32]",
    "If", "Unless", "Suppose", "Maybe", "It is false that", "例:", "😂", "(", "<b>", "Hi.",
)  # fmt: skip


@pytest.mark.parametrize("sentence", SENTENCES)
def test_control_the_sentence_alone_makes_a_claim(sentence: str) -> None:
    for said in (sentence, f"{sentence}.", f"{sentence}!\n"):
        assert [claim.value for claim in extract(user(said))] == [sentence]


@pytest.mark.parametrize("beside", BEHIND)
def test_whatever_stands_behind_a_sentence_leaves_no_claim_of_it(beside: str) -> None:
    for sentence in SENTENCES:
        for joined in (". ", " ", "! ", ".\n", "\n\n", ".", ", "):
            assert extract(user(f"{sentence}{joined}{beside}")) == []


@pytest.mark.parametrize("more", ALONG)
def test_a_sentence_that_goes_on_is_another_sentence(more: str) -> None:
    for sentence in SENTENCES:
        assert extract(user(f"{sentence}{more}")) == []
        assert extract(user(f"{sentence}{more}.")) == []


@pytest.mark.parametrize("before", BEFORE)
def test_whatever_stands_before_a_sentence_leaves_no_claim_of_it(before: str) -> None:
    for sentence in SENTENCES:
        for joined in (" ", "\n", "\n\n"):
            assert extract(user(f"{before}{joined}{sentence}.")) == []


@given(
    st.sampled_from(SENTENCES), st.text(max_size=12), st.text(max_size=12), st.sampled_from(" .\n")
)
@example("I live in Oslo", "", "no", "")
def test_a_claim_holds_whatever_was_said_beside_it(
    sentence: str, before: str, behind: str, joined: str
) -> None:
    text = f"{before}{sentence}{joined}{behind}"
    for claim in extract(user(text)):
        assert claim.value == text.strip().removesuffix(".").removesuffix("!")


@pytest.mark.parametrize("beside", BEHIND)
def test_a_proposal_beside_which_anything_stands_is_not_agreed_to(beside: str) -> None:
    proposal = "I recommend MIT for the license"
    assert len(extract(user("Agreed."), [assistant(f"{proposal}.")])) == 1
    for joined in (". ", " ", "\n\n"):
        assert extract(user("Agreed."), [assistant(f"{proposal}{joined}{beside}")]) == []
        assert extract(user(f"Agreed{joined}{beside}"), [assistant(proposal)]) == [] or (
            beside == "Thanks."
        )


@pytest.mark.parametrize("beside", [one for one in BEHIND if one.strip("#*~/s\\ ")])
def test_a_procedure_beside_which_a_sentence_stands_is_none(beside: str) -> None:
    assert len(procedures(user(f"{PROCEDURE}."))) == 1
    for joined in (". ", "! ", ".\n", "\n\n"):
        assert procedures(user(f"{PROCEDURE}{joined}{beside}")) == []
