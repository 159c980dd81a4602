"""The ladder bench: what it shows of the ladder, and that it can tell a bad one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pagefault.lab import ladder
from pagefault.lab.engineering import conversation
from pagefault.lab.ladder import Range, bench_ladder, ranges, survivors
from pagefault.lab.transcripts import read_conversations
from pagefault.pack.count import O200k
from pagefault.represent import salience
from pagefault.represent.api import CountTokens
from tests.lab.test_transcripts import LOCOMO

COUNT = O200k().count
LOCOMO5 = Path(__file__).parents[3] / "shared" / "data" / "locomo" / "locomo5.json"
KEEPS = ("identifiers", "numbers", "negations")


@pytest.fixture(scope="module")
def figures() -> dict[str, Any]:
    return bench_ladder([conversation(seed) for seed in range(4)], count=COUNT)


def check_promises(told: dict[str, Any]) -> None:
    """What the ladder promises of any conversation, and what is better than no ladder."""
    assert told["level1_ratio"] >= 1
    assert told["level2_ratio_min"] >= 10
    for what in KEEPS:
        assert told[f"level1_{what}_frac"] >= 0.95
        assert told[f"level2_cited_{what}_frac"] >= 0.7
    for sort in ("answering", "evidence"):
        for plain in ("truncation", "lead"):
            assert told[f"{sort}_ladder_frac"] > told[f"{sort}_{plain}_frac"]


def test_conversations_of_engineers_keep_what_is_asked_about(figures: dict[str, Any]) -> None:
    check_promises(figures)
    json.dumps(figures, allow_nan=False)
    assert figures["ranges"] == 4
    assert figures["answering_sentences"] == 32


def test_control_a_ladder_that_takes_any_sentence_is_caught(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(salience, "is_citable", lambda sentence: False)
    monkeypatch.setattr(salience.Candidate, "gain", lambda self, *_: 1.0 / self.tokens)
    told = bench_ladder([conversation(0)], count=COUNT)
    with pytest.raises(AssertionError):
        check_promises(told)


def test_a_sentence_survives_where_most_of_its_terms_stand_in_one_sentence() -> None:
    (talk,) = ranges([conversation(1)])
    asked = [talk.sentences[place].text for place in talk.answering]
    assert survivors(talk, "\n".join(asked), talk.answering) == len(asked)
    assert survivors(talk, "", talk.answering) == 0
    shuffled = "\n".join(word for text in asked for word in text.split())
    assert survivors(talk, shuffled, talk.answering) == 0


@pytest.mark.parametrize("method", ladder.METHODS.values(), ids=ladder.METHODS)
def test_every_method_keeps_the_size(method: ladder.Shorten) -> None:
    def counted(talk: Range, room: int, count: CountTokens) -> int:
        return count(method(talk, room, count))

    (talk,) = ranges([conversation(2)])
    for room in (0, 10, 200):
        assert counted(talk, room, COUNT) <= room


def test_a_file_of_conversations_is_read_by_its_sessions(tmp_path: Path) -> None:
    path = tmp_path / "locomo.json"
    path.write_text(json.dumps([LOCOMO]))
    told = bench_ladder(read_conversations(path, "locomo"), count=COUNT)
    assert told["ranges"] >= 1
    assert told["answering_sentences"] >= 1


def test_nothing_to_measure_is_null_and_no_failure() -> None:
    told = bench_ladder([], count=COUNT)
    assert told["ranges"] == 0
    assert told["level2_ratio"] is None


@pytest.mark.slow
@pytest.mark.skipif(not LOCOMO5.exists(), reason="needs LoCoMo beside the checkout")
def test_locomo_sessions_keep_the_promises() -> None:
    check_promises(bench_ladder(read_conversations(LOCOMO5, "locomo"), count=COUNT))
