"""A LangGraph store in a memory: persistent, and searchable by words.

store = PagefaultStore(memory="./memory")
graph = builder.compile(store=store)
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any

from pagefault.integrations.documents import Document, Documents
from pagefault.integrations.pager import Root
from pagefault.model.errors import BadInput, not_installed

try:
    from langgraph.store.base import BaseStore, Item, Op, PutOp, Result, SearchItem, SearchOp
    from langgraph.store.memory import InMemoryStore
except ImportError as missing:
    raise not_installed("the store needs LangGraph 1", "langgraph") from missing


class PagefaultStore(BaseStore):
    """A `BaseStore`: does what `InMemoryStore` does, in a session of a memory.

    A query finds by words, and by meaning if the memory has an embedder; the whole of a value is
    searched, unless it was put with `index=False`. Deleted values are forgotten. Values are JSON,
    and are stored without secrets. `origin` is their origin.

    `memory` is a root, as `pagefault.open` takes it, or an open memory. One process at a time
    writes to a `session`: another's `put` raises `SessionBusy`.
    """

    def __init__(
        self,
        *,
        memory: Root = None,
        session: str = "langgraph",
        origin: str = "model_generated",
    ) -> None:
        self._documents = Documents(memory, session, origin)

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        return self._documents.home.waited(self._batch(list(ops)))

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        return await self._documents.home.awaited(self._batch(list(ops)))

    def close(self) -> None:
        """Close the memory, if it was opened here and has no other user."""
        self._documents.close()

    async def _batch(self, ops: list[Op]) -> list[Result]:
        """As `InMemoryStore` does it: reads see the state before the batch's writes."""
        puts = {_key(op.namespace, op.key): op for op in ops if isinstance(op, PutOp)}
        texts = {key: _json(op.value) for key, op in puts.items() if op.value is not None}
        kept = await self._documents.all()
        beside = InMemoryStore()
        for key, one in kept.items():
            item = _item(key, one)
            beside._data[item.namespace][item.key] = item
        results: list[Result] = []
        for op in ops:
            if isinstance(op, SearchOp) and op.query:
                results.append(await self._search(op, kept, beside))
            elif isinstance(op, PutOp):
                results.append(None)
            else:
                results += beside.batch([op])
        for key, op in puts.items():
            if op.value is None:
                await self._documents.delete(key)
            else:
                told = None if op.index is None else {"index": op.index}
                await self._documents.put(key, texts[key], beside=told)
        return results

    async def _search(
        self, op: SearchOp, kept: dict[str, Document], beside: InMemoryStore
    ) -> list[SearchItem]:
        wanted = beside.search(op.namespace_prefix, filter=op.filter, limit=len(kept) + 1)
        items = {_key(one.namespace, one.key): one for one in wanted}
        scores = await self._documents.search(op.query or "", len(kept) + 1)
        found = [
            SearchItem(one.namespace, one.key, one.value, one.created_at, one.updated_at, score)
            for key, score in scores.items()
            if (one := items.get(key)) and (kept[key].beside or {}).get("index") is not False
        ]
        return found[op.offset : op.offset + op.limit]


def _key(namespace: tuple[str, ...], key: str) -> str:
    return json.dumps([*namespace, key], ensure_ascii=False)


def _item(key: str, one: Document) -> Item:
    *namespace, name = json.loads(key)
    return Item(
        value=json.loads(one.text),
        key=name,
        namespace=tuple(namespace),
        created_at=datetime.fromtimestamp(one.created_ms / 1_000, UTC),
        updated_at=datetime.fromtimestamp(one.updated_ms / 1_000, UTC),
    )


def _json(value: Any) -> str:
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError) as wrong:
        raise BadInput(f"a value of the store is JSON: {wrong}") from None
