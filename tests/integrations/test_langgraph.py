"""The store, beside the one of LangGraph that keeps nothing."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import pagefault
from tests.integrations.frameworks import needs

if TYPE_CHECKING:
    from langgraph.graph import MessagesState
    from langgraph.store.base import BaseStore, Op

    from pagefault.integrations.langgraph import PagefaultStore

pytestmark = needs("langgraph", "LangGraph")

ANA, BEN = ("users", "ana"), ("users", "ben")


@pytest.fixture
def store(tmp_path: Path) -> Iterator[PagefaultStore]:
    from pagefault.integrations.langgraph import PagefaultStore

    store = PagefaultStore(memory=tmp_path / "m")
    yield store
    store.close()


def test_what_is_put_is_there_until_it_is_deleted(store: PagefaultStore) -> None:
    assert store.get(ANA, "drink") is None
    store.put(ANA, "drink", {"likes": "dark roast coffee", "cups": 3})
    store.put(ANA, "drink", {"likes": "green tea", "cups": 4})
    store.put(BEN, "drink", {"likes": "cocoa"})
    item = store.get(ANA, "drink")
    assert item is not None
    assert item.value == {"likes": "green tea", "cups": 4}
    assert item.created_at <= item.updated_at
    store.delete(ANA, "drink")
    store.delete(ANA, "nothing")
    assert store.get(ANA, "drink") is None
    assert store.list_namespaces() == [BEN]


def test_a_query_finds_by_words_what_is_true_now(store: PagefaultStore) -> None:
    store.put(ANA, "drink", {"likes": "dark roast coffee"})
    store.put(ANA, "sport", {"likes": "rowing on the lake", "days": 2})
    store.put(BEN, "drink", {"likes": "coffee with milk"})
    store.put(BEN, "hidden", {"likes": "coffee ice cream"}, index=False)
    assert {i.value["likes"] for i in store.search(("users",), query="coffee")} == {
        "dark roast coffee",
        "coffee with milk",
    }
    [found] = store.search(ANA, query="rowing", filter={"days": 2})
    assert found.score is not None
    assert 0 < found.score <= 1
    assert store.search(ANA, query="rowing", filter={"days": 3}) == []
    store.put(ANA, "drink", {"likes": "green tea"})
    assert [i.namespace for i in store.search(("users",), query="coffee")] == [BEN]
    assert len(store.search(("users",), query="coffee tea", limit=1)) == 1


def test_it_outlives_the_process_that_put_it(tmp_path: Path) -> None:
    from pagefault.integrations.langgraph import PagefaultStore

    long = {"text": "line of a long letter, " * 4_000}
    for _ in range(2):
        store = PagefaultStore(memory=tmp_path / "m")
        if store.get(ANA, "letter") is None:
            store.put(ANA, "letter", long)
        store.close()
    store = PagefaultStore(memory=tmp_path / "m")
    item = store.get(ANA, "letter")
    assert item is not None
    assert item.value == long
    store.close()


def test_what_is_deleted_is_nowhere_and_secrets_never_were(tmp_path: Path) -> None:
    from pagefault.integrations.langgraph import PagefaultStore

    store = PagefaultStore(memory=tmp_path / "m")
    store.put(ANA, "old", {"word": "xylophonist"})
    store.put(ANA, "old", {"word": "zitherist"})
    store.put(ANA, "key", {"token": "ghp_" + "a1B2" * 9})
    store.delete(ANA, "old")
    item = store.get(ANA, "key")
    assert item is not None
    assert "ghp_a1B2" not in item.value["token"]
    store.close()
    kept = b"".join(path.read_bytes() for path in (tmp_path / "m").rglob("*") if path.is_file())
    assert b"xylophonist" not in kept
    assert b"zitherist" not in kept
    assert b"ghp_a1B2" not in kept


FILTERS: list[dict[str, Any]] = [
    {"n": {"$eq": 1}},
    {"n": {"$ne": 1}},
    {"n": {"$gt": 0, "$lte": 2}},
    {"n": {"$gte": "1"}},
    {"n": {"$lt": 2}, "t": ["x"]},
    {"in": {"n": 1}},
    {"in": {"n": {"$gt": 0}, "deep": {"of": "x"}}},
    {"in": {"deep": {"$ne": {"of": "y"}}}},
    {"in.n": 1},
    {"in.n": {"$ne": 1}},
    {"t": []},
    {"missing": None},
    {"missing": {"$ne": 1}},
]


def _drawn(chance: random.Random) -> Op:
    from langgraph.store.base import GetOp, ListNamespacesOp, MatchCondition, PutOp, SearchOp

    namespace = tuple(chance.choices("ab", k=chance.randint(1, 3)))
    key = chance.choice("xyz")
    match chance.randrange(7):
        case 0:
            return GetOp(namespace, key)
        case 1:
            return SearchOp(namespace[:1], filter={"n": chance.randrange(3)}, limit=2)
        case 2:
            return SearchOp(namespace, limit=3, offset=chance.randrange(2))
        case 3:
            return SearchOp(namespace[:1], filter=chance.choice(FILTERS), limit=2)
        case 4:
            suffix = (MatchCondition("suffix", (chance.choice("ab"),)),)
            return ListNamespacesOp(suffix, max_depth=chance.choice([None, 2]))
        case _:
            nested = {"n": chance.randrange(3), "deep": {"of": chance.choice("xy")}}
            value: Any = {"n": chance.randrange(3), "t": ["x"], "in": nested, "in.n": 1}
            return PutOp(namespace, key, value if chance.random() < 0.8 else None)


def _told(results: list[Any]) -> list[Any]:
    def one(result: Any) -> Any:
        if isinstance(result, list):
            return sorted(map(repr, map(one, result)))
        return (result.namespace, result.key, result.value) if hasattr(result, "key") else result

    return [one(result) for result in results]


@pytest.mark.parametrize("again", [False, True], ids=["in one go", "opened again and again"])
async def test_it_answers_as_the_store_of_langgraph_does(again: bool, tmp_path: Path) -> None:
    from langgraph.store.base import ListNamespacesOp, SearchOp
    from langgraph.store.memory import InMemoryStore

    from pagefault.integrations.langgraph import PagefaultStore

    chance = random.Random(15)
    model = InMemoryStore()
    store = PagefaultStore(memory=tmp_path / "m")
    for number in range(40):
        ops = [_drawn(chance) for _ in range(chance.randint(1, 5))]
        unlimited = [
            op._replace(limit=99, offset=0) if isinstance(op, SearchOp) else op for op in ops
        ]
        for empty in [one for one, items in model._data.items() if not items]:
            del model._data[empty]  # it would tell of every namespace that it was ever asked for
        unlimited.sort(key=lambda op: not isinstance(op, ListNamespacesOp))
        expected = _told(await model.abatch(unlimited))
        assert _told(await store.abatch(unlimited)) == expected, ops
        if again and number % 8 == 0:
            await asyncio.to_thread(store.close)
            store = PagefaultStore(memory=tmp_path / "m")
    await asyncio.to_thread(store.close)


def test_a_filter_holds_beside_a_query_too(store: PagefaultStore) -> None:
    from langgraph.store.memory import InMemoryStore

    model = InMemoryStore()
    for number in range(3):
        value = {"n": number, "says": "coffee", "in": {"n": number}, "in.n": 9 - number}
        store.put(ANA, str(number), value)
        model.put(ANA, str(number), value)
    for wanted in ({"n": {"$gte": 1}}, {"in": {"n": {"$ne": 1}}}, {"in.n": 9}, {"in.n": 0}):
        found = {one.key for one in store.search(ANA, query="coffee", filter=wanted)}
        assert found == {one.key for one in model.search(ANA, filter=wanted)}
    for one in (store, model):
        with pytest.raises(ValueError, match="\\$in"):
            one.search(ANA, query="coffee", filter={"n": {"$in": [1]}})


def test_a_value_that_is_no_json_is_refused_before_anything_is_written(
    store: PagefaultStore,
) -> None:
    from langgraph.store.base import PutOp

    with pytest.raises(pagefault.BadInput, match="is JSON"):
        store.batch([PutOp(ANA, "a", {"n": 1}), PutOp(ANA, "b", {"n": {1, 2}})])
    assert store.get(ANA, "a") is None


def test_a_graph_uses_it(store: PagefaultStore) -> None:
    from langgraph.graph import END, START, MessagesState, StateGraph

    def remember(state: MessagesState, *, store: BaseStore) -> dict[str, Any]:
        said = str(state["messages"][-1].content)
        known = [item.value["said"] for item in store.search(("facts",), query=said)]
        store.put(("facts",), str(len(known)) + said[:4], {"said": said})
        return {"messages": [("ai", "; ".join(known) or "Noted.")]}

    builder: Any = StateGraph(MessagesState)
    builder.add_node("remember", remember)
    builder.add_edge(START, "remember")
    builder.add_edge("remember", END)
    graph = builder.compile(store=store)
    said = [("user", "The spare key hangs behind the barrel.")]
    assert graph.invoke({"messages": said})["messages"][-1].content == "Noted."
    asked = graph.invoke({"messages": [("user", "Where is the spare key?")]})
    assert asked["messages"][-1].content == "The spare key hangs behind the barrel."
