"""What counts as asking for the past, and as correcting an answer."""

from __future__ import annotations

import pytest

from pagefault.recall.corrections import asks_to_recall, corrects


@pytest.mark.parametrize(
    "message",
    [
        "What did we decide about the database?",
        "which library had you said we should pick?",
        "Do you remember my sister's name?",
        "Remind me where the keys are.",
        "What was the port again?",
        "Let's go on as we agreed.",
    ],
)
def test_a_message_that_asks_for_the_past(message: str) -> None:
    assert asks_to_recall(message)
    assert not corrects(message)


@pytest.mark.parametrize(
    "message",
    [
        "No, that's wrong.",
        "no, I said Postgres",
        "That's not what we decided.",
        "That is wrong, it was in March.",
        "I said Tuesday.",
        "We agreed on MySQL, not Postgres.",
        "But we picked MySQL.",
        "You're mistaken.",
        "I never said that.",
        "Actually, it was Maria.",
        "Nope.",
    ],
)
def test_a_message_that_corrects(message: str) -> None:
    assert corrects(message)


@pytest.mark.parametrize(
    "message",
    [
        "Thanks!",
        "No problem, go on.",
        "Write a test for the parser.",
        "What is the capital of France?",
        "Nothing is wrong with it, I think.",
        "The number is 12.",
        "She said that it rains.",
        "We picked Postgres for the database.",
        "I decided not to go.",
        "",
    ],
)
def test_a_message_that_does_neither(message: str) -> None:
    assert not asks_to_recall(message)
    assert not corrects(message)
