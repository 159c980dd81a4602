"""How a user says that something is done becomes a procedure; what only sounds so does not."""

from __future__ import annotations

import pytest

from pagefault.truth.procedures import STEPS_MAX, Procedure, bears_on, procedures
from tests.truth.turns import assistant, tool, user


def _resolves(told: Procedure, text: str) -> None:
    quotes = [text.encode()[e.start : e.end].decode() for e in told.evidence]
    assert quotes[0] == told.subject
    for quote, step in zip(quotes[1:], told.steps, strict=True):
        assert " ".join(quote.split()).startswith(step)


@pytest.mark.parametrize(
    ("text", "subject", "steps"),
    [
        (
            "To deploy the site, run `make build`, then `make ship`.",
            "deploy the site",
            ("run `make build`", "`make ship`"),
        ),
        (
            "To release: bump the version, tag the commit and push it.",
            "release",
            ("bump the version", "tag the commit", "push it"),
        ),
        (
            "How we restore a backup:\n1. Stop the service.\n2. Copy the dump.\n- Start it.\n",
            "restore a backup",
            ("Stop the service", "Copy the dump", "Start it"),
        ),
        (
            "In order to rotate the keys, first open the vault, run rotate.sh → restart it.",
            "rotate the keys",
            ("open the vault", "run rotate.sh", "restart it"),
        ),
        (
            "When calling weather_tool, always load the location first.",
            "When calling weather_tool",
            ("load the location first",),
        ),
        (
            "Before running the migration, check the replica lag.",
            "Before running the migration",
            ("check the replica lag",),
        ),
    ],
)
def test_what_a_user_states_is_told_with_its_words(
    text: str, subject: str, steps: tuple[str, ...]
) -> None:
    [told] = procedures(user(text))
    assert (told.subject, told.steps) == (subject, steps)
    _resolves(told, text)


@pytest.mark.parametrize(
    "text",
    [
        "To deploy, should we run make build, then make ship?",
        "To be honest, I like it, and then I do not.",
        "If you want to deploy, run make build, then make ship.",
        "To deploy, run make ship.",  # one step is an order, no procedure
        "> To deploy, run make build, then make ship.",
        "```\nTo deploy, run make build, then make ship.\n```",
        "Tom told me to deploy: run make build, then make ship.",
        "I went to the harbour, then bought bread and then came home.",
        "Suppose that, to deploy, run make build, then make ship.",
    ],
)
def test_what_only_sounds_so_is_no_procedure(text: str) -> None:
    assert procedures(user(text)) == []


@pytest.mark.parametrize("make", [assistant, tool])
def test_only_a_users_own_words_tell_any(make: type) -> None:
    text = "To deploy, run make build, then make ship."
    assert procedures(make(text)) == []
    assert procedures(user(text, origin="web")) == []
    assert len(procedures(user(text))) == 1


def test_a_message_calls_for_a_procedure_by_its_purpose() -> None:
    assert bears_on("deploy the site", "How do we deploy the site?")
    assert bears_on("When calling weather_tool", "weather_tool")
    assert not bears_on("deploy the site", "How do we deploy the app?")
    assert not bears_on("do it", "How do we deploy the app?")


def test_a_list_of_more_steps_than_a_procedure_has_is_none() -> None:
    def listed(steps: int) -> str:
        return "To deploy the site:\n" + "".join(f"{n}. run step{n}\n" for n in range(1, steps + 1))

    [told] = procedures(user(listed(STEPS_MAX)))
    assert len(told.steps) == STEPS_MAX
    assert procedures(user(listed(STEPS_MAX + 1))) == []
