"""The retrieval bench: it measures what a session finds, and can tell a bad ranking from a good."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pagefault.lab.baseline import PlainBm25
from pagefault.lab.retrieval import (
    bench_retrieval,
    find_audit,
    ndcg,
    read_audit,
)
from pagefault.lab.transcripts import Conversation, Line, Question
from pagefault.model.errors import BadInput
from pagefault.model.kinds import Role
from pagefault.recall.search import Searcher, SearchResult
from pagefault.testing.rerankers import WordReranker

SAID = (
    ("D1:1", "Ann", "I planted three apple trees behind the barn."),
    ("D1:2", "Ben", "How lovely, do they bear fruit already?"),
    ("D1:3", "Ann", "Not before the autumn after next."),
    ("D2:1", "Ben", "My bicycle was stolen at the station."),
    ("D2:2", "Ann", "Did you tell the police about it?"),
    ("D2:3", "Ben", "They have written it down."),
)


def asks(text: str, *evidence: str, category: str = "4") -> Question:
    return Question(
        text=text, evidence=evidence, category=category, answerable=category != "5", answer=""
    )


TALK = Conversation(
    name="talk",
    lines=tuple(
        Line(role=Role.USER if who == "Ann" else Role.ASSISTANT, text=text, speaker=who, ref=ref)
        for ref, who, text in SAID
    ),
    questions=(
        asks("Which trees did Ann plant?", "D1:1"),
        asks("Where was the bicycle of Ben stolen?", "D2:1", category="2"),
        asks("Did Ann or Ben plant trees or lose a bicycle?", "D1:1", "D2:1", category="1"),
        asks("What did Zoë say of xylophones?", "D2:1", category="5"),
        asks("Nobody knows where that stands?", category="4"),
    ),
)


async def test_what_is_found_at_once_counts_at_every_depth() -> None:
    told = await bench_retrieval([TALK])
    assert told["questions"] == told["turn"]["n"] == 3
    assert told["turn"]["frac"] == {"1": 83.33, "5": 100, "10": 100, "20": 100, "50": 100}
    assert told["turn"]["all"]["1"] == 66.67
    assert told["turn"]["any"]["1"] == 100
    assert told["by_category"]["1"]["frac"]["1"] == 50
    assert set(told["by_conversation"]) == {"talk"}
    assert told["corrected"] is None
    json.dumps(told, allow_nan=False)


async def test_a_question_without_an_answer_counts_by_whether_anything_was_offered() -> None:
    told = await bench_retrieval([TALK])
    assert told["adversarial"] == {"questions": 1, "nothing_offered": 100}
    assert told["all_categories"]["turn"]["n"] == 4
    assert told["all_categories"]["turn"]["frac"]["50"] == 75


class Contrary(WordReranker):
    """Likes best what has the fewest of the question's words."""

    def rerank(self, query: str, texts: Sequence[str]) -> Sequence[float]:
        return [-score for score in super().rerank(query, texts)]


async def test_what_a_reranker_gains_or_loses_is_seen() -> None:
    told = await bench_retrieval([TALK])
    lost = await bench_retrieval([TALK], reranker=Contrary("contrary", weight=10))
    assert (told["reranker"], lost["reranker"]) == (None, "contrary")
    assert lost["turn"]["frac"]["1"] < told["turn"]["frac"]["1"]
    assert lost["turn"]["frac"]["50"] == told["turn"]["frac"]["50"], "it finds and hides nothing"


async def test_control_a_ranking_that_begins_with_the_worst_is_seen(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    search = Searcher.search

    def worst_first(self: Searcher, *args: Any, **options: Any) -> SearchResult:
        found = search(self, *args, **options)
        return SearchResult(found.hits[::-1], found.total)

    monkeypatch.setattr(Searcher, "search", worst_first)
    told = await bench_retrieval([TALK])
    assert told["turn"]["frac"]["1"] == 0
    assert told["turn"]["ndcg10"] < 70


async def test_corrections_take_the_place_of_what_they_correct(tmp_path: Path) -> None:
    audit = tmp_path / "audit7.json"
    entry = {
        "question": "Which trees did Ann plant?",
        "cited_evidence": ["D1:1"],
        "correct_evidence": ["D2:3; D2:2"],
    }
    audit.write_text(json.dumps([entry]), encoding="utf-8")
    assert find_audit(tmp_path / "talk7.json") == audit
    assert find_audit(tmp_path / "talk8.json") is None
    (correction,) = read_audit(audit)
    assert correction.evidence == ("D2:3", "D2:2")
    told = await bench_retrieval([TALK], audit=[correction])
    assert told["corrected"]["turn"]["frac"]["1"] == 50
    assert told["turn"]["frac"]["1"] == 83.33


@pytest.mark.parametrize("text", ["", "{}", "[1]", '[{"question": "?"}]', "[" * 100_000])
def test_what_is_no_audit_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "audit.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(BadInput, match="not an audit"):
        read_audit(path)


def test_ndcg_is_one_for_the_best_order_and_less_for_any_other() -> None:
    assert ndcg(["a", "b", "c"], {"a", "b"}) == pytest.approx(1)
    assert ndcg(["a", "c", "b"], {"a", "b"}) == pytest.approx((1 + 0.5) / (1 + 0.6309297535714575))
    assert ndcg(["c"], {"a"}) == 0


async def test_a_question_asked_in_the_middle_finds_only_what_was_said_before_it() -> None:
    early = replace(asks("Whose bicycle was stolen?", "D2:1"), before=3)
    told = await bench_retrieval([replace(TALK, kind="people", questions=(early,))])
    assert told["turn"]["frac"]["50"] == told["bm25"]["frac"]["50"] == 0
    told = await bench_retrieval(
        [replace(TALK, kind="people", questions=(replace(early, before=4),))]
    )
    assert told["turn"]["frac"]["50"] == told["by_kind"]["people"]["bm25"]["frac"]["1"] == 100


def test_plain_bm25_puts_rare_words_in_short_texts_first() -> None:
    plain = PlainBm25(["the red boat and the blue boat", "a red house", "red", "nothing"])
    assert plain.rank("red boats") == [0, 2, 1]
    assert plain.rank("red", among=2) == [1, 0]
    assert plain.rank("xylophone") == []


def test_plain_bm25_leaves_out_the_stop_words_of_the_lines_languages() -> None:
    plain = PlainBm25(["El lunes se celebra el enlace de los vecinos.", "Se casa en el parque."])
    assert plain.rank("¿Dónde se celebra el enlace?") == [0]
