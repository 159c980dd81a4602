"""What rules make of sentences that were written and labelled without knowledge of the rules.

`labelled.jsonl`: a text, its language, what it is (or none), and the words that a claim of it must
keep, since without them it would say something else. `labelled_changes.jsonl`: two messages, and
whether the second closes what the first claims.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

from pagefault.model.ids import PageId
from pagefault.model.kinds import ClaimType
from pagefault.truth.claims import ClaimBook, held_of
from pagefault.truth.extract import extract
from tests.truth.turns import user

PRECISION_MIN: Final = 0.95
"""Of the claims that are made, those that should be. How many are missed has no bar."""


def _rows(name: str) -> list[dict[str, Any]]:
    lines = (Path(__file__).parent / name).read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


def _made(text: str) -> list[str]:
    """The values of what would stand."""
    claims = extract(user(text))
    return [claim.value for claim in claims if claim.type is not ClaimType.RETRACTION]


def test_what_is_claimed_of_strangers_sentences_is_right() -> None:
    made = [(row, value) for row in _rows("labelled.jsonl") for value in _made(row["text"])]
    right = [row["label"] != "none" for row, _ in made]
    assert right, "else nothing was judged"
    assert sum(right) / len(right) >= PRECISION_MIN


def test_no_claim_loses_a_word_that_turns_it_round() -> None:
    for row in _rows("labelled.jsonl"):
        for value in _made(row["text"]):
            for word in row["keeps"]:
                assert word.casefold() in value.casefold(), (row["text"], value)


def test_no_change_closes_what_it_is_not_about() -> None:
    for row in _rows("labelled_changes.jsonl"):
        book = ClaimBook()
        for number, text in enumerate((row["first"], row["second"])):
            count = len(book)
            entries = book.entries(extract(user(text, number)), "clm", count, 0)
            for place, entry in enumerate(entries, count + 1):
                book.fold(held_of(PageId(f"clm_{place}"), entry))
        closed = any(held.closed_by for held in book)
        assert row["closes"] or not closed, row
