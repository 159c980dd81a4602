"""Sentences that state nothing make no claim, in whatever case and spelling.

`negatives.jsonl` has plans, hypotheses, questions, quotations, sarcasm, reported decisions and
negations in a dozen languages, multi-line and pasted ones too. They were written before their
writer had seen a form of `truth/`; where one makes a claim, the mechanism is wrong and not the
sentence.
"""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from pagefault.truth.extract import extract
from pagefault.truth.procedures import procedures
from tests.truth.turns import assistant, user

NEGATIVES = [
    json.loads(line)
    for line in (Path(__file__).parent / "negatives.jsonl").read_text("utf-8").splitlines()
]
KINDS = {"plan", "hypothesis", "question", "quotation", "sarcasm", "reported_decision", "negation"}


def _spellings(text: str) -> set[str]:
    curly = text.replace("'", "’")
    return {
        text,
        text.lower(),
        text.upper(),
        text.capitalize(),
        curly,
        curly.upper(),
        text.replace("'", ""),
        text.replace("'", "").lower(),
        text.rstrip(" ."),
        f"{text.rstrip(' .')}.",
        f"{text}\n",
    }


def test_there_are_enough_of_every_kind() -> None:
    counted = Counter(one["kind"] for one in NEGATIVES)
    assert set(counted) == KINDS
    assert len({one["text"] for one in NEGATIVES}) >= 300
    assert min(counted.values()) >= 30


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_none_of_them_makes_a_claim(kind: str) -> None:
    false = [
        (claim.text, said)
        for one in NEGATIVES
        if one["kind"] == kind
        for said in _spellings(one["text"])
        for before in ([], [assistant("I recommend Postgres for the database.")])
        for claim in extract(user(said), before)
    ]
    assert false == []


def test_none_of_them_tells_a_procedure() -> None:
    assert [one for one in NEGATIVES if procedures(user(one["text"]))] == []


def test_control_the_same_spellings_of_a_decision_make_one() -> None:
    for said in _spellings("Let's use Postgres for the database."):
        assert len(extract(user(said))) == 1, said
