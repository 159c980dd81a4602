"""A kind of text, number, list or bytes is taken as the plain value of it."""

from __future__ import annotations

import enum
from collections import UserDict
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pagefault
from pagefault import BadInput, Incoming, Role, SearchFilter, ToolCall, Usage


class Text(str):
    """A text that says of itself whatever it likes."""

    __slots__ = ()

    def __str__(self) -> str:
        return "another text"

    def encode(self, encoding: str = "utf-8", errors: str = "strict") -> bytes:
        return b"other bytes"


class Word(enum.StrEnum):
    TEA = "tea"


class Number(enum.IntEnum):
    ONE = 1


class Bytes(bytes):
    def __bytes__(self) -> bytes:
        return b"other bytes"


TEXTS: list[str] = [Text("tea"), Word.TEA, np.str_("tea")]


@pytest.mark.parametrize("text", TEXTS, ids=lambda text: type(text).__name__)
async def test_every_text_a_verb_takes_may_be_a_kind_of_text(tmp_path: Path, text: str) -> None:
    async with pagefault.open(tmp_path / "m", sync="os") as memory:
        session = await memory.session(text, system=text)
        page_id = await session.user(text, speaker=text, key=text)
        await session.document(text, title=text)
        await session.tool_result(text, name=text, call_id=text)
        await session.artifact(b"x", name=text, text=text)
        await session.say([Incoming(text=text, role=Role.USER, title=text)], origin="user_typed")
        await session.goal(text)
        await session.checkpoint(text)
        await session.configure(system=text)
        await session.call(ToolCall(text, text, text)) if (await session.request()).tools else None
        assert (await session.page(page_id)).text == "tea"
        assert (await session.recall(text, topic=text)).total >= 0
        assert (await session.fork(Text("fork"))).name == "fork"
    async with pagefault.open(tmp_path / "m", sync="os") as memory:
        found = await memory.verify()
        assert (found.problems, found.set_aside) == ((), ())
        session = await memory.session("tea", create=False)
        page = await session.page("msg_1")
        assert (page.text, page.speaker, type(page.text)) == ("tea", "tea", str)


async def test_a_number_may_be_a_kind_of_number() -> None:
    async with pagefault.open(":memory:") as memory:
        session = await memory.session("work", window=enum.IntEnum("W", {"X": 4_000}).X)  # type: ignore[attr-defined]
        await session.user("One.")
        await session.request()
        await session.observe(Usage(input_tokens=Number.ONE, output_tokens=Number.ONE))
        assert (await session.ledger())[-1].reported is not None
        assert len((await session.recent(limit=Number.ONE)).hits) == 1
    assert pagefault.Limits(core_window_share=np.float64(0.25)).core_window_share == 0.25


@pytest.mark.parametrize("number", [True, np.int64(1), 1.0, "1"], ids=repr)
async def test_what_only_looks_like_a_number_is_refused(number: Any) -> None:
    async with pagefault.open(":memory:") as memory:
        with pytest.raises(BadInput, match="limit is a whole number, not"):
            await memory.recent(limit=number)


@pytest.mark.parametrize(
    "data", [bytearray(b"same"), memoryview(b"same"), Bytes(b"same"), np.bytes_(b"same")],
    ids=lambda data: type(data).__name__,
)  # fmt: skip
async def test_bytes_may_be_any_kind_of_bytes(data: Any) -> None:
    async with pagefault.open(":memory:") as memory:
        session = await memory.session("work")
        page_id = await session.artifact(data, name="a.bin")
        assert await session.artifact_bytes(page_id) == b"same"


async def test_bytes_that_were_let_go_of_are_refused() -> None:
    gone = memoryview(b"gone")
    gone.release()
    async with pagefault.open(":memory:") as memory:
        session = await memory.session("work")
        with pytest.raises(BadInput, match="data is bytes"):
            await session.artifact(gone, name="a.bin")  # type: ignore[arg-type]


async def test_a_list_is_read_once() -> None:
    """What was checked is what is used."""

    class Changing(list[Incoming]):
        asked = 0

        def __iter__(self) -> Any:
            self.asked += 1
            return iter([Incoming(text="one", role=Role.USER)] if self.asked == 1 else [object()])

    async with pagefault.open(":memory:") as memory:
        session = await memory.session("work")
        assert await session.say(Changing([None]), origin="user_typed") == ["msg_1"]  # type: ignore[list-item]


def test_an_object_may_be_any_mapping_and_is_copied() -> None:
    given = UserDict({"page_id": Text("msg_1")})
    assert ToolCall("c", "page_fault", given).arguments == '{"page_id": "msg_1"}'
    kinds = ["claim"]
    wanted = SearchFilter(kinds=kinds)
    kinds.append("anything")
    assert wanted.kinds == ("claim",)


async def test_what_says_that_it_is_something_else_is_refused() -> None:
    class Proxy:
        @property  # type: ignore[misc]
        def __class__(self) -> type:
            return str

        def __getattr__(self, name: str) -> Any:
            return getattr("tea", name)

    async with pagefault.open(":memory:") as memory:
        session = await memory.session("work")
        with pytest.raises(BadInput, match="text is a str, not Proxy"):
            await session.user(Proxy())  # type: ignore[arg-type]


LONG = "x" * 1_001


@pytest.mark.parametrize(
    "call",
    [
        lambda s, name: s.user("x", speaker=name),
        lambda s, name: s.assistant("x", speaker=name),
        lambda s, name: s.document("x", title=name),
        lambda s, name: s.tool_result("x", name=name),
        lambda s, name: s.tool_result("x", name="tool", call_id=name),
    ],
)
async def test_a_name_has_a_length_it_may_not_pass(call: Any) -> None:
    async with pagefault.open(":memory:") as memory:
        session = await memory.session("work")
        before = memory.records
        with pytest.raises(BadInput, match="1,001 characters: it takes at most 1,000"):
            await call(session, LONG)
        assert memory.records == before
        await call(session, LONG[1:])
