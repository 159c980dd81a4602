"""Rerankers: the shipped one keeps the contract on both wires, and its manners."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import pytest

from pagefault.engine.endpoint import Retries, Timeouts
from pagefault.engine.remote_reranking import RemoteReranker
from pagefault.engine.reranking import Reranker
from pagefault.model.errors import (
    BadInput,
    EngineError,
    EngineGarbled,
    EngineRefused,
    EngineUnreachable,
)
from pagefault.service.derived.rerankers import RerankerSpec
from pagefault.testing.reranker_contract import RerankerContract
from pagefault.testing.rerankers import WordReranker
from tests.engine.providers import Provider, no_wait, serving

KEY = "sk-test-0123456789abcdef"


def results(body: dict[str, Any]) -> dict[str, Any]:
    """What Jina, Cohere and vLLM answer: the best first, by the index that each text had."""
    scores = WordReranker().rerank(body["query"], body["documents"])
    found = [{"index": n, "relevance_score": score} for n, score in enumerate(scores)]
    found.sort(key=lambda one: -one["relevance_score"])
    return {"model": body["model"], "results": found, "usage": {"total_tokens": 9}}


def of_tei(body: dict[str, Any]) -> tuple[int, Any]:
    """What Text Embeddings Inference answers, which takes `texts` and nothing else."""
    if "texts" not in body:
        return 422, {"error": "missing field `texts` at line 1 column 80", "error_type": "Input"}
    scores = WordReranker().rerank(body["query"], body["texts"])
    found = [{"index": n, "score": score} for n, score in enumerate(scores)]
    return 200, sorted(found, key=lambda one: -one["score"])


@pytest.fixture
def provider() -> Iterator[Provider]:
    with serving(results) as told:
        yield told


@pytest.fixture
def remote(provider: Provider) -> Iterator[RemoteReranker]:
    reranker = RemoteReranker(
        provider.url, "tiny", KEY, sleep=no_wait, timeouts=Timeouts(connect_s=2, first_byte_s=5)
    )
    yield reranker
    reranker.close()


class TestWordReranker(RerankerContract):
    @pytest.fixture
    def reranker(self) -> Reranker:
        return WordReranker()


class TestRemoteReranker(RerankerContract):
    @pytest.fixture
    def reranker(self, remote: RemoteReranker) -> Reranker:
        return remote


class TestRemoteRerankerOfTexts(RerankerContract):
    @pytest.fixture
    def reranker(self, provider: Provider, remote: RemoteReranker) -> Reranker:
        provider.answer = of_tei
        return remote


def test_it_asks_the_rerank_endpoint_with_the_key_for_all_texts_at_once(
    provider: Provider, remote: RemoteReranker
) -> None:
    scores = remote.rerank("red tea", ["green tea", "red tea", " "])
    assert scores == [0.5, 1.0, 0.5], "what is blank is not sent, and as good as the worst"
    assert provider.paths == ["/v1/rerank"]
    assert provider.keys == [f"Bearer {KEY}"]
    assert provider.seen == [
        {"model": "tiny", "query": "red tea", "documents": ["green tea", "red tea"], "top_n": 2}
    ]
    assert KEY not in repr(remote) + remote.name


def test_a_server_that_wants_texts_is_asked_that_way_from_then_on(
    provider: Provider, remote: RemoteReranker
) -> None:
    provider.answer = of_tei
    assert remote.rerank("red tea", ["green tea", "red tea"]) == [0.5, 1.0]
    assert remote.rerank("red tea", ["red tea"]) == [1.0]
    assert ["texts" in body for body in provider.seen] == [False, True, True]


def test_a_server_that_takes_neither_is_asked_as_before(
    provider: Provider, remote: RemoteReranker
) -> None:
    provider.answer = lambda body: (422, {"error": "too many texts today"})
    with pytest.raises(EngineRefused):
        remote.rerank("tea", ["red tea"])
    provider.answer = lambda body: (200, results(body))
    assert remote.rerank("tea", ["red tea"]) == [1.0]


def test_a_server_that_fails_for_a_moment_is_asked_again(
    provider: Provider, remote: RemoteReranker
) -> None:
    answers = [(503, {"error": {"message": "busy"}}), (429, {"error": {"message": "slow down"}})]
    provider.answer = lambda body: answers.pop() if answers else (200, results(body))
    assert remote.rerank("tea", ["red tea"]) == [1.0]
    assert len(provider.seen) == 3


def test_a_refused_key_is_told_once_and_without_it(
    provider: Provider, remote: RemoteReranker
) -> None:
    provider.answer = lambda body: (401, {"error": {"message": f"bad key {KEY}"}})
    with pytest.raises(EngineRefused) as refused:
        remote.rerank("tea", ["red tea"])
    assert len(provider.seen) == 1
    assert KEY not in str(refused.value) + refused.value.hint


def test_what_is_too_long_for_the_model_is_cut_until_it_fits(
    provider: Provider, remote: RemoteReranker
) -> None:
    def answer(body: dict[str, Any]) -> tuple[int, Any]:
        if max(map(len, body["documents"])) > 1_000:
            return 400, {"error": {"message": "maximum context length is 512 tokens"}}
        return 200, results(body)

    provider.answer = answer
    assert remote.rerank("tea", ["tea " * 2_000, "short"]) == [1.0, 0.0]
    assert provider.seen[-1]["documents"][1] == "short", "what fits is not cut"


GOOD = {"index": 0, "relevance_score": 0.5}


@pytest.mark.parametrize(
    "document",
    [
        {},
        [],
        "text",
        {"results": []},
        {"results": None},
        {"results": ["text"]},
        {"results": [GOOD]},
        {"results": [GOOD, GOOD]},
        {"results": [GOOD, {"index": 2, "relevance_score": 0.5}]},
        {"results": [GOOD, {"index": -1, "relevance_score": 0.5}]},
        {"results": [GOOD, {"index": True, "relevance_score": 0.5}]},
        {"results": [GOOD, {"index": "1", "relevance_score": 0.5}]},
        {"results": [GOOD, {"index": 1}]},
        {"results": [GOOD, {"index": 1, "relevance_score": "0.5"}]},
        {"results": [GOOD, {"index": 1, "relevance_score": float("nan")}]},
        {"results": [GOOD, {"index": 1, "relevance_score": float("-inf")}]},
        [{"index": 0, "score": 0.5}, {"index": 1, "score": None}],
    ],
)
def test_what_are_no_scores_is_not_taken_for_them(
    provider: Provider, remote: RemoteReranker, document: object
) -> None:
    provider.answer = lambda body: (200, document)
    with pytest.raises(EngineGarbled):
        remote.rerank("tea", ["red tea", "green tea"])
    provider.answer = lambda body: (200, results(body))
    assert len(remote.rerank("tea", ["red tea", "green tea"])) == 2


def test_a_complaint_in_an_answer_that_says_yes_is_one(
    provider: Provider, remote: RemoteReranker
) -> None:
    provider.answer = lambda body: (200, {"error": {"message": "no such model"}})
    with pytest.raises(EngineRefused, match="no such model"):
        remote.rerank("tea", ["red tea"])


def test_a_server_that_is_silent_is_waited_for_no_longer_than_was_said(provider: Provider) -> None:
    go = threading.Event()

    def answer(body: dict[str, Any]) -> tuple[int, Any]:
        go.wait(300)
        return 200, results(body)

    provider.answer = answer
    reranker = RemoteReranker(provider.url, "tiny", timeouts=Timeouts(first_byte_s=0.2))
    try:
        with pytest.raises(EngineUnreachable, match="no first byte"):
            reranker.rerank("tea", ["red tea"])
    finally:
        go.set()
        reranker.close()


def test_nobody_at_the_address_is_an_error_with_a_hint() -> None:
    reranker = RemoteReranker(
        "http://127.0.0.1:9/v1", "tiny", retries=Retries(attempts_max=2), sleep=no_wait
    )
    try:
        with pytest.raises(EngineUnreachable) as unreachable:
            reranker.rerank("tea", ["red tea"])
        assert unreachable.value.hint
    finally:
        reranker.close()


def test_closing_ends_who_waits_for_an_answer(provider: Provider) -> None:
    asked, go = threading.Event(), threading.Event()

    def answer(body: dict[str, Any]) -> tuple[int, Any]:
        asked.set()
        go.wait(300)
        return 200, results(body)

    provider.answer = answer
    reranker = RemoteReranker(provider.url, "tiny")
    outcome: list[Exception] = []

    def rerank() -> None:
        try:
            reranker.rerank("tea", ["red tea"])
        except EngineError as failure:
            outcome.append(failure)

    thread = threading.Thread(target=rerank, daemon=True)
    thread.start()
    assert asked.wait(300)
    reranker.close()
    thread.join(300)
    go.set()
    assert isinstance(outcome[0], EngineUnreachable)


def test_a_weight_is_said_or_small() -> None:
    assert RemoteReranker("http://127.0.0.1:9", "tiny").weight == 0.1
    assert RemoteReranker("http://127.0.0.1:9", "tiny", weight=1.5).weight == 1.5
    for weight in (-1.0, float("nan"), float("inf")):
        with pytest.raises(BadInput, match=r"^weight is"):
            RemoteReranker("http://127.0.0.1:9", "tiny", weight=weight)


# --- as it is configured --------------------------------------------------------------------------


def made_here() -> WordReranker:
    return WordReranker("made here")


def made_wrong() -> object:
    return object()


def test_a_reranker_is_named_by_its_form(provider: Provider) -> None:
    own = RerankerSpec(text="python:tests.engine.test_reranking:made_here").make()
    assert own.name == "made here"
    at_the_engine = RerankerSpec(text="rerank:tiny", base_url=provider.url, api_key=KEY)
    reranker = at_the_engine.make()
    try:
        reranker.rerank("tea", ["red tea"])
    finally:
        at_the_engine.close(reranker)
    assert provider.keys == [f"Bearer {KEY}"]


@pytest.mark.parametrize(
    "text",
    [
        "nonsense",
        "rerank:",
        "rerank:@http://127.0.0.1:9",
        "rerank:tiny@http://example.com",
        "python:nowhere:made",
        "python:tests.engine.test_reranking:made_wrong",
    ],
)
def test_what_names_no_reranker_is_refused_with_what_there_is(text: str) -> None:
    with pytest.raises(BadInput) as refused:
        RerankerSpec(text=text).make()
    assert refused.value.hint


def test_an_address_of_its_own_gets_no_key_and_may_name_the_path(provider: Provider) -> None:
    spec = RerankerSpec(
        text=f"rerank:tiny@{provider.url}/rerank",
        base_url="https://api.example.com/v1",
        api_key=KEY,
    )
    reranker = spec.make()
    try:
        reranker.rerank("tea", ["red tea"])
    finally:
        spec.close(reranker)
    assert provider.keys == [""]
    assert provider.paths == ["/v1/rerank"]
    assert KEY not in repr(spec)
