"""Embedders: the shipped ones keep the contract, and the remote one its manners."""

from __future__ import annotations

import hashlib
import os
import re
import sys
import threading
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from pagefault.engine.embedding import Embedder
from pagefault.engine.endpoint import Retries, Timeouts
from pagefault.engine.onnx_embedding import OVERLAP_TOKENS, WINDOW_TOKENS, OnnxEmbedder
from pagefault.engine.remote_embedding import BATCH_TEXTS, RemoteEmbedder
from pagefault.engine.static_embedding import StaticEmbedder
from pagefault.model.errors import (
    BadInput,
    CallerError,
    EngineError,
    EngineGarbled,
    EngineRefused,
    EngineUnreachable,
)
from pagefault.service.derived.embedders import EmbedderSpec
from pagefault.testing.embedder_contract import EmbedderContract
from pagefault.testing.embedders import WordEmbedder
from tests.engine.providers import Provider, no_wait, serving
from tests.engine.tiny_encoder import WORDS, save_encoder, table, write_json

KEY = "sk-test-0123456789abcdef"


class TestWordEmbedder(EmbedderContract):
    @pytest.fixture
    def embedder(self) -> Embedder:
        return WordEmbedder()


# --- static ---------------------------------------------------------------------------------------


def save_model(directory: Path, *, seed: int = 7) -> Path:
    """A model of a few words, as `StaticModel.save_pretrained` writes one."""
    model2vec = pytest.importorskip("model2vec", reason="the extra `embeddings` is not installed")
    from tokenizers import Tokenizer
    from tokenizers.models import WordLevel
    from tokenizers.normalizers import Lowercase
    from tokenizers.pre_tokenizers import Whitespace

    words = (
        "[UNK] the we which database did pick picked postgres for in of was harbour lisbon boats"
    )
    words += " full swimming on friday perhaps ledger ok word line"
    tokenizer = Tokenizer(WordLevel({w: n for n, w in enumerate(words.split())}, "[UNK]"))
    tokenizer.normalizer = Lowercase()
    tokenizer.pre_tokenizer = Whitespace()
    vectors = np.random.default_rng(seed).standard_normal((len(words.split()), 32))
    model = model2vec.StaticModel(vectors.astype(np.float32), tokenizer)
    model.save_pretrained(str(directory))
    return directory


class TestStaticEmbedder(EmbedderContract):
    @pytest.fixture
    def embedder(self, tmp_path: Path) -> Embedder:
        return StaticEmbedder(save_model(tmp_path / "tiny"))

    def test_another_model_in_the_same_directory_has_another_name(self, tmp_path: Path) -> None:
        name = StaticEmbedder(save_model(tmp_path / "tiny")).name
        assert re.fullmatch(r"model2vec:tiny#[0-9a-f]{8}", name)
        assert StaticEmbedder(save_model(tmp_path / "tiny")).name == name
        assert StaticEmbedder(save_model(tmp_path / "tiny", seed=8)).name != name

    def test_a_directory_without_a_model_is_said_to_be_one(self, tmp_path: Path) -> None:
        pytest.importorskip("model2vec", reason="the extra `embeddings` is not installed")
        with pytest.raises(BadInput, match="no model can be loaded"):
            StaticEmbedder(tmp_path).embed(["hello"], kind="page")

    def test_nothing_is_loaded_before_it_is_needed(self, tmp_path: Path) -> None:
        assert "nowhere" in repr(StaticEmbedder(tmp_path / "nowhere"))


# --- encoders -------------------------------------------------------------------------------------


class TestOnnxEmbedder(EmbedderContract):
    @pytest.fixture
    def embedder(self, tmp_path: Path) -> Embedder:
        return OnnxEmbedder(save_encoder(tmp_path / "tiny"))


class TestOnnxEmbedderThatPoolsItself(EmbedderContract):
    @pytest.fixture
    def embedder(self, tmp_path: Path) -> Embedder:
        return OnnxEmbedder(save_encoder(tmp_path / "tiny", pooled=True))


ENCODER = os.environ.get("PAGEFAULT_TEST_ENCODER", "")


@cache
def real_encoder() -> OnnxEmbedder:
    return OnnxEmbedder(ENCODER)


@pytest.mark.skipif(not ENCODER, reason="PAGEFAULT_TEST_ENCODER names no directory of an encoder")
class TestARealEncoder(EmbedderContract):
    @pytest.fixture
    def embedder(self) -> Embedder:
        return real_encoder()

    def test_it_knows_what_no_word_tells(self, embedder: Embedder) -> None:
        asked, answer, other = embedder.embed(
            ["Where does her sibling live?", "My brother moved to Oslo.", "Dinner is at eight."],
            kind="page",
        )
        assert asked @ answer > asked @ other


def vector_of(words: str) -> NDArray[np.float32]:
    """The mean of the words' vectors, at length 1."""
    mean = table()[[WORDS.index(word) for word in words.split()]].mean(axis=0)
    unit: NDArray[np.float32] = mean / np.linalg.norm(mean)
    return unit


def test_an_encoder_takes_the_mean_of_its_tokens_or_the_first_as_its_files_say(
    tmp_path: Path,
) -> None:
    directory = save_encoder(tmp_path / "tiny")
    [mean] = OnnxEmbedder(directory).embed(["Harbour of Lisbon"], kind="page")
    assert np.allclose(mean, vector_of("harbour of lisbon"), atol=1e-6)
    for said in ({"pooling_mode_cls_token": True}, {"pooling_mode": "cls"}):
        write_json(directory / "1_Pooling" / "config.json", said)
        [first] = OnnxEmbedder(directory).embed(["Harbour of Lisbon"], kind="page")
        assert np.allclose(first, vector_of("harbour"), atol=1e-6)
    write_json(directory / "1_Pooling" / "config.json", {"pooling_mode_lasttoken": True})
    with pytest.raises(BadInput, match="lasttoken"):
        OnnxEmbedder(directory).embed(["Harbour of Lisbon"], kind="page")


def test_every_part_of_a_long_text_counts_for_its_row(tmp_path: Path) -> None:
    embedder = OnnxEmbedder(save_encoder(tmp_path / "tiny"))
    step = WINDOW_TOKENS - OVERLAP_TOKENS
    text = " ".join(["line"] * WINDOW_TOKENS + ["boats"] * step)
    [row] = embedder.embed([text], kind="page")
    second = (OVERLAP_TOKENS * vector_raw("line") + step * vector_raw("boats")) / WINDOW_TOKENS
    whole = vector_of("line") + second / np.linalg.norm(second)
    assert np.allclose(row, whole / np.linalg.norm(whole), atol=1e-5)


def vector_raw(word: str) -> NDArray[np.float32]:
    row: NDArray[np.float32] = table()[WORDS.index(word)]
    return row


def test_prompts_are_those_of_the_model_unless_others_are_given(tmp_path: Path) -> None:
    directory = save_encoder(tmp_path / "tiny")
    prompts = {"query": "query : ", "document": "page : "}
    write_json(directory / "config_sentence_transformers.json", {"prompts": prompts})
    embedder = OnnxEmbedder(directory)
    [asked] = embedder.embed(["harbour"], kind="query")
    [page] = embedder.embed(["harbour"], kind="page")
    assert np.allclose(asked, vector_of("query : harbour"), atol=1e-6)
    assert np.allclose(page, vector_of("page : harbour"), atol=1e-6)
    plain = OnnxEmbedder(directory, queries="", pages="first ")
    assert np.allclose(plain.embed(["harbour"], kind="query")[0], vector_of("harbour"), atol=1e-6)
    assert "page='first '" in plain.name
    assert plain.name != embedder.name


def test_other_weights_in_the_same_directory_have_another_name(tmp_path: Path) -> None:
    name = OnnxEmbedder(save_encoder(tmp_path / "tiny")).name
    assert re.fullmatch(r"onnx:tiny#[0-9a-f]{8}", name)
    assert OnnxEmbedder(save_encoder(tmp_path / "tiny")).name == name
    assert OnnxEmbedder(save_encoder(tmp_path / "tiny", seed=8)).name != name


def test_an_encoder_is_found_where_repositories_keep_it_or_by_its_file(tmp_path: Path) -> None:
    directory = save_encoder(tmp_path / "tiny", file="onnx/model.onnx")
    [here] = OnnxEmbedder(directory).embed(["harbour"], kind="page")
    [named] = OnnxEmbedder(directory / "onnx" / "model.onnx").embed(["harbour"], kind="page")
    assert np.array_equal(here, named)


def test_what_is_no_encoder_is_refused_with_what_one_has(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="it has no tokenizer") as refused:
        OnnxEmbedder(tmp_path / "nowhere").embed(["harbour"], kind="page")
    assert "model.onnx" in refused.value.hint
    directory = save_encoder(tmp_path / "tiny")
    write_json(directory / "modules.json", [{"type": "models.Transformer"}, {"type": "a.Dense"}])
    with pytest.raises(BadInput, match="Dense"):
        OnnxEmbedder(directory).embed(["harbour"], kind="page")
    (directory / "model.onnx").write_bytes(b"not a model")
    with pytest.raises(BadInput, match="no encoder can be loaded"):
        OnnxEmbedder(directory).embed(["harbour"], kind="page")


def test_without_the_runtime_it_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    directory = tmp_path / "tiny"
    directory.mkdir()
    for name in ("tokenizer.json", "model.onnx"):
        (directory / name).write_bytes(b"")
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    with pytest.raises(CallerError) as refused:
        OnnxEmbedder(directory).embed(["harbour"], kind="page")
    assert "pagefault[onnx]" in refused.value.hint


# --- remote ---------------------------------------------------------------------------------------


def embeddings(body: dict[str, Any]) -> dict[str, Any]:
    """What a provider answers: here by words, not of unit length, and in no order."""
    rows = 3 * WordEmbedder().embed(body["input"], kind="page")
    data = [
        {"object": "embedding", "index": n, "embedding": row.tolist()} for n, row in enumerate(rows)
    ]
    return {"object": "list", "model": body["model"], "data": data[::-1]}


@pytest.fixture
def provider() -> Iterator[Provider]:
    with serving(embeddings) as told:
        yield told


@pytest.fixture
def remote(provider: Provider) -> Iterator[RemoteEmbedder]:
    embedder = RemoteEmbedder(
        provider.url, "tiny", KEY, sleep=no_wait, timeouts=Timeouts(connect_s=2, first_byte_s=5)
    )
    yield embedder
    embedder.close()


class TestRemoteEmbedder(EmbedderContract):
    @pytest.fixture
    def embedder(self, remote: RemoteEmbedder) -> Embedder:
        return remote


def test_it_asks_the_embeddings_endpoint_with_the_key(
    provider: Provider, remote: RemoteEmbedder
) -> None:
    remote.embed(["one", "two"], kind="page")
    assert provider.paths == ["/v1/embeddings"]
    assert provider.keys == [f"Bearer {KEY}"]
    assert provider.seen == [{"model": "tiny", "input": ["one", "two"], "encoding_format": "float"}]
    assert KEY not in repr(remote) + remote.name


def test_many_texts_are_several_calls_and_a_text_is_sent_once(
    provider: Provider, remote: RemoteEmbedder
) -> None:
    texts = [f"text {n}" for n in range(BATCH_TEXTS + 1)]
    rows = remote.embed([*texts, texts[0]], kind="page")
    assert [len(body["input"]) for body in provider.seen] == [BATCH_TEXTS, 1]
    assert np.array_equal(rows[0], rows[-1])


def test_queries_and_pages_get_what_the_model_wants_before_them(provider: Provider) -> None:
    embedder = RemoteEmbedder(provider.url, "e5", queries="query: ", pages="passage: ")
    try:
        embedder.embed(["a"], kind="query")
        embedder.embed(["a"], kind="page")
    finally:
        embedder.close()
    assert [body["input"] for body in provider.seen] == [["query: a"], ["passage: a"]]
    assert "passage: " in embedder.name, "other vectors come of other words before a text"


def test_a_server_that_fails_for_a_moment_is_asked_again(
    provider: Provider, remote: RemoteEmbedder
) -> None:
    answers = [(503, {"error": {"message": "busy"}}), (429, {"error": {"message": "slow down"}})]
    provider.answer = lambda body: answers.pop() if answers else (200, embeddings(body))
    assert remote.embed(["hello"], kind="page").any()
    assert len(provider.seen) == 3


def test_a_refused_key_is_told_once_and_without_it(
    provider: Provider, remote: RemoteEmbedder
) -> None:
    provider.answer = lambda body: (401, {"error": {"message": f"bad key {KEY}"}})
    with pytest.raises(EngineRefused) as refused:
        remote.embed(["hello"], kind="page")
    assert len(provider.seen) == 1
    assert KEY not in str(refused.value) + refused.value.hint
    assert "[key]" in str(refused.value)


def test_what_is_too_long_for_the_model_is_cut_until_it_fits(
    provider: Provider, remote: RemoteEmbedder
) -> None:
    def answer(body: dict[str, Any]) -> tuple[int, Any]:
        if max(map(len, body["input"])) > 1_000:
            return 400, {"error": {"message": "maximum context length is 512 tokens"}}
        return 200, embeddings(body)

    provider.answer = answer
    rows = remote.embed(["ever " * 2_000, "short"], kind="page")
    assert np.linalg.norm(rows, axis=1) == pytest.approx([1, 1])
    assert provider.seen[-1]["input"][1] == "short", "what fits is not cut"


@pytest.mark.parametrize(
    "document",
    [
        {},
        {"data": []},
        {"data": [{"index": 0, "embedding": [1.0, float("nan")]}]},
        {"data": [{"index": 0, "embedding": []}]},
        {"data": [{"index": 0, "embedding": "text"}]},
        {"data": [{"index": 1, "embedding": [1.0]}]},
        {"data": [{"index": 0, "embedding": [1.0]}, {"index": 1, "embedding": [1.0]}]},
    ],
)
def test_what_is_no_embedding_is_not_taken_for_one(
    provider: Provider, remote: RemoteEmbedder, document: dict[str, Any]
) -> None:
    provider.answer = lambda body: (200, document)
    with pytest.raises(EngineGarbled):
        remote.embed(["hello"], kind="page")


def test_nobody_at_the_address_is_an_error_with_a_hint() -> None:
    embedder = RemoteEmbedder(
        "http://127.0.0.1:9/v1", "tiny", retries=Retries(attempts_max=2), sleep=no_wait
    )
    try:
        with pytest.raises(EngineUnreachable) as unreachable:
            embedder.embed(["hello"], kind="page")
        assert unreachable.value.hint
    finally:
        embedder.close()


def test_closing_ends_who_waits_for_an_answer(provider: Provider) -> None:
    asked, go = threading.Event(), threading.Event()

    def answer(body: dict[str, Any]) -> tuple[int, Any]:
        asked.set()
        go.wait(300)
        return 200, embeddings(body)

    provider.answer = answer
    embedder = RemoteEmbedder(provider.url, "tiny")
    outcome: list[Exception] = []

    def embed() -> None:
        try:
            embedder.embed(["hello"], kind="page")
        except EngineError as failure:
            outcome.append(failure)

    thread = threading.Thread(target=embed, daemon=True)
    thread.start()
    assert asked.wait(300)
    embedder.close()
    thread.join(300)
    go.set()
    assert not thread.is_alive()
    assert isinstance(outcome[0], EngineUnreachable)
    with pytest.raises(EngineUnreachable):
        embedder.embed(["hello"], kind="page")


def test_several_threads_may_ask_at_a_time(provider: Provider, remote: RemoteEmbedder) -> None:
    made: dict[int, float] = {}

    def embed(number: int) -> None:
        text = f"word{number}"
        [row] = remote.embed([text], kind="page")
        made[number] = float(row @ WordEmbedder().embed([text], kind="page")[0])

    threads = [threading.Thread(target=embed, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(300)
    assert made == pytest.approx(dict.fromkeys(range(8), 1.0))


# --- as it is configured --------------------------------------------------------------------------


def made_here() -> WordEmbedder:
    return WordEmbedder("made here")


def test_an_embedder_is_named_by_its_form() -> None:
    static = EmbedderSpec(text="model2vec:/models/potion").make()
    assert isinstance(static, StaticEmbedder)
    encoder = EmbedderSpec(text="onnx:/models/minilm").make()
    assert isinstance(encoder, OnnxEmbedder)
    own = EmbedderSpec(text="python:tests.engine.test_embedding:made_here").make()
    assert own.name == "made here"


def test_an_address_of_its_own_gets_no_key(provider: Provider) -> None:
    spec = EmbedderSpec(
        text=f"openai:tiny@{provider.url}", base_url="https://api.example.com/v1", api_key=KEY
    )
    embedder = spec.make()
    try:
        embedder.embed(["hello"], kind="page")
    finally:
        spec.close(embedder)
    assert provider.keys == [""]
    assert KEY not in repr(spec)


def test_without_an_address_it_is_the_engines_with_its_key(provider: Provider) -> None:
    spec = EmbedderSpec(text="openai:tiny", base_url=provider.url, api_key=KEY)
    embedder = spec.make()
    try:
        embedder.embed(["hello"], kind="page")
    finally:
        spec.close(embedder)
    assert provider.keys == [f"Bearer {KEY}"]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "model2vec",
        "model2vec:",
        "onnx:",
        "word2vec:x",
        "openai:",
        "openai:@http://localhost/v1",
        "python:os",
        "python:no_such_module:X",
        "python:os:no_such_name",
        "python:os:environ",
        f"python:{hashlib.__name__}:sha256",
    ],
)
def test_what_names_no_embedder_is_said_to_be_none(text: str) -> None:
    with pytest.raises(BadInput):
        EmbedderSpec(text=text, base_url="https://api.example.com/v1").make()
