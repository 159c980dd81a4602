"""Vectors are made behind a memory's back, are found by, and are forgotten with the pages."""

from __future__ import annotations

import asyncio
import itertools
import json
import subprocess
import threading
import zlib
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import pagefault
from pagefault import Incoming, SearchFilter
from pagefault.engine.embedding import TextKind
from pagefault.model.errors import BadInput, EngineUnreachable, StoreBusy
from pagefault.model.kinds import USER_TYPED, Role
from pagefault.model.page import EVERYTHING
from pagefault.service.bootstrap import open_memory
from pagefault.service.config import MEMORY
from pagefault.service.derived.embedding import Embedding
from pagefault.store.embedded.vectors import SqliteVectors
from pagefault.store.store import Store
from pagefault.store.vector_cache import VectorCache
from pagefault.testing.embedders import FailingEmbedder, SlowEmbedder, WordEmbedder
from tests.service.memories import files_with
from tests.warm import python

SECRET = "Zanzibarqux keeps her wumpustines in Gryphonburgh."
if TYPE_CHECKING:
    from pagefault.engine.embedding import Vectors

KINDRED = (("boat", "vessel", "ship"), ("harbour", "port"))


def stored_vector(text: str, embedder: WordEmbedder | None = None) -> bytes:
    [row] = (embedder or WordEmbedder()).embed([text], kind="page")
    return bytes(row.astype("<f2").tobytes())


async def until_embedded(memory: pagefault.Memory, count: int) -> None:
    async with asyncio.timeout(300):
        while True:
            now = await memory.embedding()
            assert now is not None
            if now.embedded == count and not now.missing:
                return
            await asyncio.sleep(0.01)


async def until_failed(memory: pagefault.Memory, words: str) -> pagefault.EmbeddingStatus:
    async with asyncio.timeout(300):
        while True:
            now = await memory.embedding()
            assert now is not None
            if words in now.failure:
                return now
            await asyncio.sleep(0.01)


async def _until(is_so: Callable[[], bool]) -> None:
    async with asyncio.timeout(300):
        while not is_so():  # noqa: ASYNC110 - there is no event for it
            await asyncio.sleep(0.01)


async def said(session: pagefault.Session, texts: Sequence[str]) -> None:
    """In one batch: each of these is a message of the user's."""
    batch = [Incoming(text=text, role=Role.USER) for text in texts]
    if batch:
        await session.say(batch, origin=USER_TYPED)


def delete(root: Path, pattern: str) -> None:
    for path in root.glob(pattern):
        path.unlink()


def places_of(memory: pagefault.Memory, session: pagefault.Session, query: str) -> list[int]:
    """The orders of the pages nearest to a query, the nearest first."""
    embedding = memory._embedding
    assert embedding is not None
    [found] = embedding(memory._runtime.scope(session.session), [query], limit=10)
    ranked = sorted(zip(found.scores.tolist(), found.places.tolist(), strict=True), reverse=True)
    return [place for score, place in ranked if score > 0.3]


# --- in the background ----------------------------------------------------------------------------


async def test_what_is_said_gets_its_vector_by_itself(tmp_path: Path) -> None:
    embedder = WordEmbedder(synonyms=KINDRED)
    async with pagefault.open(tmp_path, embedder=embedder) as memory:
        session = await memory.session("s")
        await session.user("We looked for a vessel.", speaker="Ana")
        await session.assistant("It rained all day.")
        await until_embedded(memory, 2)
        assert places_of(memory, session, "ship") == [0]
    assert embedder.texts == ["Ana: We looked for a vessel.", "It rained all day."]
    async with pagefault.open(tmp_path, embedder=WordEmbedder(synonyms=KINDRED)) as memory:
        await until_embedded(memory, 2)


async def test_no_append_waits_for_an_embedder() -> None:
    embedder = SlowEmbedder()
    async with pagefault.open(":memory:", embedder=embedder) as memory:
        session = await memory.session("s")
        for number in range(5):
            await session.user(f"message {number}")
        assert await asyncio.to_thread(embedder.asked.wait, 10)
        await session.user("said while the embedder is at it")
        assert (await session.recall("while")).hits, "search goes by words"
        assert not embedder.go.is_set()
        embedder.go.set()
        await until_embedded(memory, 6)


async def test_a_failing_embedder_leaves_appends_and_search_alone(tmp_path: Path) -> None:
    embedder = FailingEmbedder()
    async with pagefault.open(tmp_path, embedder=embedder) as memory:
        session = await memory.session("s")
        await session.user("The boat lies in the harbour.")
        now = await until_failed(memory, "no embedder is there")
        assert now.hint == "start it"
        assert (now.embedded, now.missing) == (0, 1)
        asked = embedder.calls
        for _ in range(5):
            assert (await session.recall("boat")).hits
        assert embedder.calls == asked, "who failed is left alone for a while"
        with pytest.raises(EngineUnreachable):
            await memory.embed()
        embedder.failure = None
        assert await memory.embed() == 1
        mended = await memory.embedding()
        assert mended is not None
        assert not mended.failure
        assert places_of(memory, session, "harbour boat") == [0]


async def test_who_failed_a_search_is_asked_for_no_page_for_a_while(tmp_path: Path) -> None:
    async with pagefault.open(tmp_path) as memory:
        await (await memory.session("s")).user("The boat lies in the harbour.")
    embedder = FailingEmbedder()
    async with pagefault.open(tmp_path, embedder=embedder) as memory:
        session = await memory.session("s")
        assert (await session.recall("boat or ferry")).hits
        assert embedder.calls == 1
        await session.user("It has a red sail.")
        await asyncio.sleep(0.2)  # in which the thread would ask
        assert embedder.calls == 1


async def test_an_embedder_that_breaks_in_its_own_way_breaks_nothing_else() -> None:
    embedder = FailingEmbedder()
    embedder.failure = ZeroDivisionError("in somebody's code")
    async with pagefault.open(":memory:", embedder=embedder) as memory:
        session = await memory.session("s")
        await session.user("The boat lies in the harbour.")
        assert (await session.recall("boat")).hits
        await until_failed(memory, "ZeroDivisionError")


async def test_closing_does_not_wait_for_all_that_is_missing(tmp_path: Path) -> None:
    async with pagefault.open(tmp_path) as memory:
        await said(await memory.session("s"), [f"message {number}" for number in range(200)])
    embedder = SlowEmbedder()
    async with pagefault.open(tmp_path, embedder=embedder) as memory:
        session = await memory.session("s")
        await session.user("the last")
        assert await asyncio.to_thread(embedder.asked.wait, 10)
        threading.Timer(0.2, embedder.go.set).start()
    assert len(embedder.texts) < 200


# --- at once --------------------------------------------------------------------------------------


async def test_embedding_catches_up_and_tells_how_far_it_is(tmp_path: Path) -> None:
    async with pagefault.open(tmp_path) as memory:
        for name in ("one", "two"):
            texts = [f"message {number} of {name}" for number in range(70)]
            await said(await memory.session(name), texts)
    told: list[tuple[int, int]] = []
    embedder = WordEmbedder()
    async with pagefault.open(tmp_path, embedder=embedder) as memory:
        made = await memory.embed(lambda done, total: told.append((done, total)))
        assert made == 140
        assert await memory.embed() == 0
        now = await memory.embedding()
    assert told[0] == (0, 140)
    assert told[-1] == (140, 140)
    assert now == pagefault.EmbeddingStatus(embedder="words", embedded=140, missing=0)
    assert len(embedder.texts) == len(set(embedder.texts)) == 140


async def test_the_log_knows_nothing_of_embedding(tmp_path: Path) -> None:
    async with pagefault.open(tmp_path) as memory:
        await (await memory.session("s")).user("hello")

    def logged() -> bytes:
        return b"".join(path.read_bytes() for path in sorted((tmp_path / "log").iterdir()))

    before = logged()
    for embedder in (WordEmbedder("first"), WordEmbedder("second")):
        async with pagefault.open(tmp_path, embedder=embedder) as memory:
            assert await memory.embed() == 1
    assert logged() == before


async def test_deleting_the_vectors_loses_nothing(tmp_path: Path) -> None:
    for _ in range(2):
        async with pagefault.open(tmp_path, embedder=WordEmbedder()) as memory:
            session = await memory.session("s")
            await session.user("The boat lies in the harbour.", key="once")
            await memory.embed()
            assert places_of(memory, session, "boat harbour") == [0]
        delete(tmp_path, "vectors.db*")


async def test_vectors_outlive_an_index_that_is_made_anew(tmp_path: Path) -> None:
    async with pagefault.open(tmp_path, embedder=WordEmbedder()) as memory:
        await (await memory.session("s")).user("The boat lies in the harbour.")
        await memory.embed()
    delete(tmp_path, "index.db*")
    embedder = WordEmbedder()
    async with pagefault.open(tmp_path, embedder=embedder) as memory:
        assert await memory.embed() == 0
        session = await memory.session("s", create=False)
        assert places_of(memory, session, "boat harbour") == [0]
    assert not embedder.texts


async def test_a_damaged_file_of_vectors_is_made_again(tmp_path: Path) -> None:
    async with pagefault.open(tmp_path, embedder=WordEmbedder()) as memory:
        await (await memory.session("s")).user("hello")
        await memory.embed()
    (tmp_path / "vectors.db").write_bytes(b"no database" * 1_000)
    async with pagefault.open(tmp_path, embedder=WordEmbedder()) as memory:
        assert await memory.embed() == 1
        assert not (await memory.verify()).problems


async def test_another_embedders_vectors_can_be_dropped(tmp_path: Path) -> None:
    async with pagefault.open(tmp_path, embedder=WordEmbedder("old")) as memory:
        await (await memory.session("s")).user("hello")
        await memory.embed()
    async with pagefault.open(tmp_path, embedder=WordEmbedder("new")) as memory:
        assert await memory.embed(prune=True) == 1
        assert memory._store.vectors is not None
        assert memory._store.vectors.counts() == {"new": 1}


async def test_without_an_embedder_there_is_nothing_to_embed_with(tmp_path: Path) -> None:
    async with pagefault.open(tmp_path) as memory:
        assert await memory.embedding() is None
        with pytest.raises(BadInput, match="no embedder"):
            await memory.embed()
    assert not (tmp_path / "vectors.db").exists()


async def test_a_reader_finds_by_what_is_there_and_makes_nothing(tmp_path: Path) -> None:
    async with pagefault.open(tmp_path, embedder=WordEmbedder()) as memory:
        await (await memory.session("s")).user("The boat lies in the harbour.")
        await memory.embed()
    async with pagefault.open(tmp_path) as memory:
        await (await memory.session("s")).user("Another boat came.")
    async with pagefault.open(tmp_path, embedder=WordEmbedder(), read_only=True) as memory:
        session = await memory.session("s", create=False)
        assert places_of(memory, session, "boat") == [0]
        now = await memory.embedding()
        assert now is not None
        assert (now.embedded, now.missing) == (1, 1)
        with pytest.raises(pagefault.StoreReadOnly):
            await memory.embed()


async def test_a_fork_finds_what_it_sees_of_its_parent(tmp_path: Path) -> None:
    async with pagefault.open(tmp_path, embedder=WordEmbedder()) as memory:
        session = await memory.session("s")
        await session.user("The boat lies in the harbour.")
        fork = await session.fork("f")
        await session.user("A boat that the fork never saw.")
        await fork.user("The fork has a boat of its own.")
        await memory.embed()
        assert sorted(places_of(memory, fork, "boat")) == [0, 1]
        assert sorted(places_of(memory, session, "boat")) == [0, 1]
        embedding = memory._embedding
        assert embedding is not None
        [found] = embedding(EVERYTHING, ["boat"], limit=10)
        assert len(found.places) == 3


# --- of some pages alone --------------------------------------------------------------------------


def by_signs(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if there were so many vectors that most are told apart by their signs alone."""
    few = partial(VectorCache, exact_max=100, shortlist=50)
    monkeypatch.setattr("pagefault.store.vector_cache.VectorCache", few)


def deaf_to_filters(monkeypatch: pytest.MonkeyPatch) -> None:
    """The control: the nearest of all are told, and what is wanted is looked for among them."""
    call = Embedding.__call__

    def deaf(self, scope, query, *, limit, only=None):  # type: ignore[no-untyped-def]
        return call(self, scope, query, limit=limit)

    monkeypatch.setattr(Embedding, "__call__", deaf)


WANTED: dict[str, SearchFilter] = {
    "time": SearchFilter(since="2026-03-01", until="2026-03-31"),
    "origin": SearchFilter(origins=("tool:radio",)),
    "kind": SearchFilter(kinds=("artifact",)),
    "modality": SearchFilter(modalities=("image",)),
    "task": SearchFilter(),
}


class BoatEmbedder:
    """Knows how near a text is to `boat` by one word of it. In three directions texts differ far
    more: what sets most pages apart is left out of what is compared (`store/vector_cache.py`).
    """

    name = "boats"

    def embed(self, texts: Sequence[str], *, kind: TextKind) -> Vectors:
        import numpy as np

        rows = np.zeros((len(texts), 96), np.float32)
        for row, text in zip(rows, texts, strict=True):
            chance = np.random.default_rng(zlib.crc32(text.encode()))
            share = 0.5 if "ship" in text else 0.485 if "vessel" in text else 0.0
            own = chance.standard_normal(92)
            own *= (1 - share**2 - 3 * 0.2) ** 0.5 / np.linalg.norm(own)
            row[:] = [share, *(chance.choice([-1, 1], 3) * 0.2**0.5), *own]
            if kind == "query":
                row[:] = np.eye(96)[0]
        return rows


async def crowded(memory: pagefault.Memory) -> set[str]:
    """300 pages near to `boat`, and others; of those that pass a filter 3 are near, if less so.
    Tells which.
    """
    session = await memory.session("crowd")
    near: set[str] = set()
    loaves = itertools.count()

    def bread() -> Incoming:
        return Incoming(text=f"bread {next(loaves)}", role=Role.USER, occurred_at="2026-01-02")

    async def apart(count: int) -> None:
        await session.say([bread() for _ in range(count)], origin=USER_TYPED)

    ships = [
        Incoming(text=f"ship {number}", role=Role.USER, occurred_at="2026-01-01")
        for number in range(300)
    ]
    await session.say([one for ship in ships for one in (ship, bread())], origin=USER_TYPED)
    for number in range(3):
        near.add(await session.user(f"vessel a{number} ABC-7", occurred_at="2026-03-05"))
        await apart(3)
        near.update(await session.tool_result(f"vessel b{number}", name="radio"))
        await apart(3)
        near.add(await session.artifact(b"1", name="c.png", text=f"vessel {number}"))
        await apart(3)
        await session.user(f"pears {number}", occurred_at="2026-05-05")
        await apart(3)
    await memory.embed()
    return near


@pytest.mark.parametrize("way", ["exact", "signs", "control"])
async def test_a_filter_finds_by_meaning_however_many_others_are_nearer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    if way == "signs":
        by_signs(monkeypatch)
    if way == "control":
        deaf_to_filters(monkeypatch)
    monkeypatch.setenv("PAGEFAULT_CLAIMS__EXTRACT", "off")
    async with pagefault.open(tmp_path, embedder=BoatEmbedder(), sync="os") as memory:
        near = await crowded(memory)
        for name, wanted in WANTED.items():
            for limit in (3, 50):
                task = "ABC-7" if name == "task" else ""
                found = await memory.recall("boat", wanted=wanted, task=task, limit=limit)
                best = {hit.page.page_id for hit in found.hits[:3]} & near
                assert len(best) == (0 if way == "control" else 3), name
                assert all(hit.parts["own"] == 0 for hit in found.hits), "by meaning alone"
        pears = SearchFilter(since="2026-05-05", until="2026-05-05")
        assert not (await memory.recall("boat", wanted=pears)).hits, "what is not near is not found"


async def test_a_filter_that_all_pass_changes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PAGEFAULT_CLAIMS__EXTRACT", "off")
    embedder = WordEmbedder(synonyms=KINDRED)
    async with pagefault.open(tmp_path, embedder=embedder, sync="os") as memory:
        session = await memory.session("s")
        for number in range(10):
            await session.user(f"A ship at pier {number} with the soup of that day.")
            await session.user(f"Nothing but soup, {number} times.")
        for more in (0, 300):
            await said(
                session, [f"Weather of day {number}, and a vessel." for number in range(more)]
            )
            await memory.embed()
            for query in ("boat", "the boat at pier 3", "soup"):
                whole = await session.recall(query, limit=50)
                all_pass = SearchFilter(since="2000-01-01")
                assert await session.recall(query, limit=50, wanted=all_pass) == whole


# --- when it is asked -----------------------------------------------------------------------------


class CountingEmbedder(WordEmbedder):
    """Remembers what each call asked for."""

    def __init__(self) -> None:
        super().__init__(synonyms=KINDRED)
        self.calls: list[list[str]] = []

    def embed(self, texts: Sequence[str], *, kind: TextKind) -> Vectors:
        if kind == "query":
            self.calls.append(list(texts))
        return super().embed(texts, kind=kind)


async def test_an_embedder_is_asked_only_where_words_leave_it_open() -> None:
    embedder = CountingEmbedder()
    async with pagefault.open(":memory:", embedder=embedder) as memory:
        session = await memory.session("s")
        for line in ("The boat lies in the harbour of Wedel.", "It rained.", "We had soup."):
            await session.user(line)
        await memory.embed()
        stated = await session.recall("the boat in the harbour of Wedel")
        assert stated.hits[0].page.order == 0
        assert embedder.calls == []
        found = await session.recall("the vessel")
        assert embedder.calls == [["the vessel"]]
        assert [hit.why for hit in found.hits[:1]] == ["meaning"]


async def test_control_a_profile_that_says_what_a_score_is_always_asks() -> None:
    embedder = CountingEmbedder()
    async with open_memory(MEMORY, embedder=embedder, profile="studio-v1") as memory:
        session = await memory.session("s")
        for line in ("The boat lies in the harbour of Wedel.", "It rained.", "We had soup."):
            await session.user(line)
        await memory.embed()
        await session.recall("the boat in the harbour of Wedel")
        assert embedder.calls == [["the boat in the harbour of Wedel"]]


async def test_all_questions_of_a_message_are_one_call_and_none_is_asked_twice() -> None:
    embedder = CountingEmbedder()
    message = "Where is the vessel moored? When does the ferry leave for the island?"
    async with pagefault.open(":memory:", embedder=embedder) as memory:
        session = await memory.session("s")
        for line in ("The boat lies in the harbour of Wedel.", "It rained.", "We had soup."):
            await session.user(line)
        await memory.embed()
        await session.recall(message)
        [asked] = embedder.calls
        assert asked[0] == message
        assert asked[1:] == message.replace("? ", "?\n").splitlines()
        await session.recall(message)
        assert len(embedder.calls) == 1


# --- an embedder that hangs -----------------------------------------------------------------------


async def test_of_an_embedder_that_hangs_one_call_is_waited_for_and_no_other_begun(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("pagefault.service.derived.embedding.QUERY_WAIT_S", 0.05)
    monkeypatch.setattr("pagefault.service.derived.embedding.REST_S", 0.0)
    monkeypatch.setattr("pagefault.service.derived.embedding.REST_S_MAX", 0.0)
    embedder = HangingEmbedder()
    async with pagefault.open(":memory:", embedder=embedder) as memory:
        session = await memory.session("s")
        await session.user("The boat lies in the harbour.")
        try:
            for number in range(30):
                assert (await session.recall(f"boat {number}")).hits, "search goes by words"
            assert embedder.hanging == 1
            assert "no vector of a query" in (await until_failed(memory, "no vector")).failure
        finally:
            embedder.go.set()
        await memory.embed()
        async with asyncio.timeout(300):
            while not places_of(memory, session, "harbour boat"):  # noqa: ASYNC110
                await asyncio.sleep(0.01)


class HangingEmbedder(WordEmbedder):
    """Answers no query before `go` is set."""

    def __init__(self) -> None:
        super().__init__()
        self.go = threading.Event()
        self.hanging = 0
        self.queries: list[str] = []

    def embed(self, texts: Sequence[str], *, kind: TextKind) -> Vectors:
        if kind == "query":
            self.queries += texts
            self.hanging += 1
            self.go.wait(300)
            self.hanging -= 1
        return super().embed(texts, kind=kind)


async def test_what_was_asked_before_a_forgetting_is_not_kept_after_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A message that is forgotten was a query, too; its vector may come later than that."""
    monkeypatch.setattr("pagefault.service.derived.embedding.QUERY_WAIT_S", 0.05)
    monkeypatch.setattr("pagefault.service.derived.embedding.REST_S", 0.0)
    embedder = HangingEmbedder()
    query = f"Did I say this? {SECRET}"
    async with pagefault.open(":memory:", embedder=embedder) as memory:
        session = await memory.session("s")
        page_id = await session.user(SECRET)
        try:
            await session.recall(query)
            await memory.forget("s", page_id=page_id)
        finally:
            embedder.go.set()
        async with asyncio.timeout(300):
            while embedder.queries.count(query) < 2:  # asked again: the first is not remembered
                await asyncio.sleep(0.01)
                await session.recall(query)


async def test_how_far_it_is_raises_nothing_where_the_pages_cannot_be_counted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with pagefault.open(":memory:", embedder=WordEmbedder()) as memory:
        await (await memory.session("s")).user("The boat lies in the harbour.")
        await memory.embed()
        with monkeypatch.context() as broken:

            def busy(*_: object, **__: object) -> None:
                raise StoreBusy("the index is in use", hint="try again")

            broken.setattr(memory._store.index, "sessions", busy)
            now = await memory.embedding()
        assert now is not None
        assert (now.embedder, now.missing) == ("words", 0)
        assert (now.failure, now.hint) == ("the index is in use", "try again")
        whole = pagefault.EmbeddingStatus(embedder="words", embedded=1, missing=0)
        async with asyncio.timeout(300):  # its thread may have met the same, and tries again
            while await memory.embedding() != whole:  # noqa: ASYNC110 - there is no event for it
                await asyncio.sleep(0.01)


async def test_a_store_that_was_in_use_once_is_no_failure_once_the_pages_are_counted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Nothing is missing, so no batch of vectors comes that would tell."""
    monkeypatch.setattr("pagefault.service.derived.embedding.REST_S", 0.05)
    async with pagefault.open(":memory:", embedder=WordEmbedder()) as memory:
        await (await memory.session("s")).user("The boat lies in the harbour.")
        await memory.embed()
        with monkeypatch.context() as broken:

            def busy(*_: object, **__: object) -> None:
                raise StoreBusy("the index is in use", hint="try again")

            broken.setattr(memory._store.index, "sessions", busy)
            embedding = memory._embedding
            assert embedding is not None
            embedding.wake()
            await _until(lambda: embedding.failure is not None)
        await _until(lambda: embedding.failure is None)


# --- forgetting -----------------------------------------------------------------------------------


async def _with_secret(root: Path) -> None:
    async with pagefault.open(root, embedder=WordEmbedder()) as memory:
        session = await memory.session("s")
        await session.user("We met in the harbour.")
        await session.user(SECRET)
        await session.assistant("I shall not repeat that.")
        await memory.embed()
    assert files_with(root, stored_vector(SECRET))


async def test_a_forgotten_pages_vector_is_nowhere(tmp_path: Path) -> None:
    await _with_secret(tmp_path)
    async with pagefault.open(tmp_path, embedder=WordEmbedder()) as memory:
        session = await memory.session("s")
        assert places_of(memory, session, SECRET)[0] == 1
        await memory.forget("s", "msg_2")
        assert not files_with(tmp_path, stored_vector(SECRET))
        assert 1 not in places_of(memory, session, SECRET)
        assert await memory.embed() == 0, "what is gone is not missing"
        assert not (await memory.verify()).problems
    assert files_with(tmp_path, stored_vector("We met in the harbour."))


async def test_who_has_no_embedder_forgets_vectors_too(tmp_path: Path) -> None:
    await _with_secret(tmp_path)
    async with pagefault.open(tmp_path) as memory:
        await memory.forget("s", "msg_2")
    assert not files_with(tmp_path, stored_vector(SECRET))


async def test_control_a_forgetting_that_knows_no_vectors_leaves_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await _with_secret(tmp_path)
    with monkeypatch.context() as weakened:
        weakened.setattr(Store, "_forget_vectors", lambda self, begun, seqs, sessions: None)
        async with pagefault.open(tmp_path) as memory:
            await memory.forget("s", "msg_2")
            assert files_with(tmp_path, stored_vector(SECRET))
            found = await memory.verify()
            assert found.problems == ("1 vectors are of pages that are not there",)
    async with pagefault.open(tmp_path, embedder=WordEmbedder()) as memory:
        await memory.embed()  # what was forgotten meanwhile is noticed when the file is opened
    assert not files_with(tmp_path, stored_vector(SECRET))


async def test_a_forgetting_that_stopped_before_the_vectors_is_finished(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await _with_secret(tmp_path)

    def dies(self: SqliteVectors, *_: object) -> None:
        raise StoreBusy("the process died here")

    with monkeypatch.context() as weakened:
        weakened.setattr(SqliteVectors, "forget", dies)
        async with pagefault.open(tmp_path) as memory:
            with pytest.raises(StoreBusy):
                await memory.forget("s", "msg_2")
    assert files_with(tmp_path, stored_vector(SECRET))
    async with pagefault.open(tmp_path):
        assert not files_with(tmp_path, stored_vector(SECRET)), "by opening it, with no embedder"


async def test_a_forgotten_session_takes_its_vectors_with_it(tmp_path: Path) -> None:
    await _with_secret(tmp_path)
    async with pagefault.open(tmp_path, embedder=WordEmbedder()) as memory:
        await memory.forget("s")
        assert memory._store.vectors is not None
        assert not memory._store.vectors.places()
    assert not files_with(tmp_path, stored_vector(SECRET))


@pytest.mark.parametrize("is_weakened", [False, True], ids=["sound", "control"])
async def test_what_is_forgotten_while_it_is_embedded_gets_no_vector(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_weakened: bool
) -> None:
    if is_weakened:  # whoever puts does not look whether something was forgotten
        put = SqliteVectors.put

        def careless(self, embedder, pages, vectors, *, forgotten):  # type: ignore[no-untyped-def]
            return put(self, embedder, pages, vectors, forgotten=self.forgotten())

        monkeypatch.setattr(SqliteVectors, "put", careless)
    embedder = SlowEmbedder()
    async with pagefault.open(tmp_path, embedder=embedder) as memory:
        session = await memory.session("s")
        await session.user(SECRET)
        assert await asyncio.to_thread(embedder.asked.wait, 10)
        await memory.forget("s", "msg_1")  # its text is in the embedder's hands
        embedder.go.set()
        await session.user("Something else.")
        await memory.embed()
    assert bool(files_with(tmp_path, stored_vector(SECRET))) is is_weakened


_FORGET = """
import sys, pagefault
with pagefault.sync.open(sys.argv[1]) as memory:
    memory.forget("s", "msg_2")
"""


@pytest.mark.slow
async def test_what_another_process_forgets_is_not_found_here(tmp_path: Path) -> None:
    await _with_secret(tmp_path)
    async with pagefault.open(tmp_path, embedder=WordEmbedder()) as memory:
        session = await memory.session("s")
        assert places_of(memory, session, SECRET)[0] == 1
        elsewhere = [*python(), "-c", _FORGET, str(tmp_path)]
        await asyncio.to_thread(subprocess.run, elsewhere, check=True, timeout=300)
        assert 1 not in places_of(memory, session, SECRET)
        assert not files_with(tmp_path, stored_vector(SECRET))


_EMBED = """
import json, sys, pagefault
from pagefault.testing.embedders import WordEmbedder
embedder = WordEmbedder()
with pagefault.sync.open(sys.argv[1], embedder=embedder) as memory:
    memory.embed()
print(json.dumps(embedder.texts))
"""


@pytest.mark.slow
async def test_processes_that_embed_at_once_do_no_page_twice(tmp_path: Path) -> None:
    root = tmp_path / "root"
    async with pagefault.open(root) as memory:
        await said(await memory.session("s"), [f"message {number}" for number in range(300)])
    elsewhere = [*python(), "-c", _EMBED, str(root)]
    run = partial(subprocess.run, elsewhere, check=True, timeout=300, stdout=subprocess.PIPE)
    told = await asyncio.gather(*(asyncio.to_thread(run) for _ in range(2)))
    texts = [text for one in told for text in json.loads(one.stdout)]
    assert sorted(texts) == sorted(f"message {number}" for number in range(300))


# --- backups --------------------------------------------------------------------------------------


async def test_a_backup_leaves_vectors_out_and_they_are_made_again(tmp_path: Path) -> None:
    await _with_secret(tmp_path / "root")
    async with pagefault.open(tmp_path / "root") as memory:
        await memory.backup(tmp_path / "copy")
    kept = {path.name for path in (tmp_path / "copy").iterdir()}
    assert "log" in kept
    assert not {"vectors.db", "embedding.lock"} & kept
