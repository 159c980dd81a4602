"""A log with records that no fold can take: they are named, and everything else is as it was."""

from __future__ import annotations

import asyncio
import dataclasses
import json
import random
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, TypeVar

import pytest
from hypothesis import HealthCheck, Phase, given
from hypothesis import strategies as st

import pagefault
from pagefault.cli.outcome import run
from pagefault.model.clock import SystemClock
from pagefault.model.events import (
    BODY_TYPES,
    Body,
    Claimed,
    Draft,
    ForgetBegun,
    Packed,
    PageBody,
    Received,
    Represented,
    Said,
    ScrubBegun,
    Stored,
    Summarised,
)
from pagefault.model.ids import IdMinter, PageId, Seq, SessionNo, TurnNo
from pagefault.model.kinds import RUNTIME, USER_TYPED, Actor, EventType, Role
from pagefault.model.page import DERIVED_ORDER
from pagefault.store import acceptance
from pagefault.store.embedded import backup
from pagefault.store.embedded.root import open_store, rebuild, repair
from tests.adopted import adopted
from tests.examples import few

NONE: Final[tuple[str, ...]] = ()


def _tools() -> dict[str, Any]:
    clock = SystemClock()
    return {"clock": clock, "minter": IdMinter(clock, random.Random(1))}


@contextmanager
def _unchecked() -> Iterator[None]:
    """Within this block logs accept whatever can be encoded, as other versions did."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(acceptance, "flaw", lambda event: "")
        yield


_Body = TypeVar("_Body", bound=Body)


def _made(cls: Callable[..., _Body], order: int = 8, **fields: Any) -> _Body:
    """Something that was made of other pages, in a place among what was said."""
    return cls(page_id=PageId("msg_9"), order=order, text="It is.", tokens=6, **fields)


def _any_page(event_type: EventType, **fields: Any) -> Body:
    """A page of a type, with those of the fields that it has."""
    cls = BODY_TYPES[event_type]
    usual = {"event_type": event_type, "text": "It is.", "tokens": 6, "call_id": "c1"}
    names = {field.name for field in dataclasses.fields(cls)}
    body: Body = cls(**{name: it for name, it in (usual | fields).items() if name in names})
    return body


def _page(**fields: Any) -> Said:
    usual: dict[str, Any] = {
        "event_type": EventType.CHAT_TURN,
        "page_id": PageId("msg_9"),
        "order": 8,
        "role": Role.USER,
        "text": "Aside is what I am.",
        "tokens": 6,
    }
    return Said(**(usual | fields))


def _draft(body: Body, turn: int = 1) -> Draft:
    return Draft(
        session=SessionNo(1),
        turn=TurnNo(turn),
        actor=Actor.USER,
        origin=USER_TYPED if isinstance(body, PageBody) else RUNTIME,
        body=body,
    )


def _append(root: Path, bodies: Sequence[Body]) -> None:
    """Append to the first session of a root, as a program would that checks nothing."""
    store = open_store(root, **_tools())
    try:
        with _unchecked(), store.writing():
            store.lease(SessionNo(1))
            store.index.apply(store.log.append([_draft(body) for body in bodies]))
    finally:
        store.close()


async def _begin(root: Path) -> None:
    async with pagefault.open(root, window=4_000) as memory:
        session = await memory.session("talk")
        await session.user("The word is alpha.")
        await session.request()


_FOR_EVER: Final = ((Seq(1), Seq(1 << 60)),)

BAD: Final[dict[str, Callable[[], Body]]] = {
    "a summary in the place of what was said": lambda: _made(Summarised),
    "a claim in the place of what was said": lambda: _made(Claimed, order=0, claim_type="fact"),
    "something said in the place of what was made": lambda: _page(order=DERIVED_ORDER),
    "a modality there is none of": lambda: _page(modality="smell"),
    "a message of a type there is none of": lambda: _page(event_type=EventType.SUMMARY),
    "a place that is taken": lambda: _page(order=0),
    "an id that is taken": lambda: _page(page_id=PageId("msg_1")),
    "an id that is none": lambda: _page(page_id=PageId("nine")),
    "an endless number in its id": lambda: _page(page_id=PageId("msg_" + "9" * 5_000)),
    "a place before the first": lambda: _page(order=-1),
    "a place beyond the last": lambda: _page(order=1 << 40),
    "more tokens than a number holds": lambda: _page(tokens=1 << 70),
    "a part that there is not": lambda: _page(part=7, parts=2),
    "a level there is none of": lambda: _made(
        Represented, order=DERIVED_ORDER, represents=PageId("msg_1"), level=17
    ),
    "a scrub of more records than there are": lambda: ScrubBegun(targets=_FOR_EVER, vouches=""),
    "a forgetting of what is to come": lambda: ForgetBegun(targets=_FOR_EVER),
}


@pytest.mark.parametrize("bad", BAD.values(), ids=BAD)
async def test_it_is_named_and_everything_else_opens(
    tmp_path: Path, bad: Callable[[], Body]
) -> None:
    root = tmp_path / "m"
    await _begin(root)
    await asyncio.to_thread(_append, root, [bad()])
    for again in (False, True):
        async with pagefault.open(root) as memory:
            assert any("set aside" in notice for notice in memory.notices)
            found = await memory.verify()
            assert found.problems == NONE
            assert len(found.set_aside) == 1
            assert "Aside is what" not in found.set_aside[0]
            session = await memory.session("talk", create=False)
            session.check()
            assert (await session.page("msg_1")).text == "The word is alpha."
            await session.user("And what was the word?")
            assert "alpha" in str(await session.request())
            fork = await session.fork()
            await fork.user("Go on.")
            await fork.request()
            for told in (session.metrics, session.ledger, session.claims, session.history):
                await told()
            assert (await memory.recall("Aside is what I am")).hits == ()
            assert (await memory.recall("alpha")).hits
        if not again:
            assert await asyncio.to_thread(lambda: rebuild(root, **_tools()).aside) == 1


async def test_repair_backup_and_archive_take_it_along(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    root, copy, restored = tmp_path / "m", tmp_path / "copy", tmp_path / "restored"
    await _begin(root)
    await asyncio.to_thread(_append, root, [_page(event_type=EventType.SUMMARY)])
    assert (await asyncio.to_thread(lambda: repair(root, **_tools()))).rewritten == []
    async with pagefault.open(root) as memory:
        await memory.backup(copy)
    await asyncio.to_thread(lambda: backup.restore(copy, restored, clock=SystemClock()))
    for place in (root, adopted(restored)):
        async with pagefault.open(place) as memory:
            assert len((await memory.verify()).set_aside) == 1
            await (await memory.session("talk", create=False)).user("Still here?")
    assert await asyncio.to_thread(run, ["--root", str(root), "verify", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["ok"]
    assert len(told["set_aside"]) == 1
    assert await asyncio.to_thread(run, ["--root", str(root), "doctor"]) != 2
    assert "set aside" in capsys.readouterr().out


def _files_with(root: Path, words: bytes) -> list[Path]:
    files = [path for path in root.rglob("*") if path.is_file()]
    return [path for path in files if words in path.read_bytes()]


async def test_it_is_erased_with_its_session(tmp_path: Path) -> None:
    await _begin(tmp_path)
    await asyncio.to_thread(_append, tmp_path, [_page(event_type=EventType.SUMMARY)])
    async with pagefault.open(tmp_path) as memory:
        await memory.forget("talk")
        assert (await memory.verify()).set_aside == NONE
    assert not await asyncio.to_thread(_files_with, tmp_path, b"Aside is what")


async def test_a_key_of_what_was_set_aside_is_free(tmp_path: Path) -> None:
    await _begin(tmp_path)

    def append() -> None:
        store = open_store(tmp_path, **_tools())
        with _unchecked(), store.writing():
            store.lease(SessionNo(1))
            body = _page(event_type=EventType.SUMMARY)
            draft = Draft(
                session=SessionNo(1),
                turn=TurnNo(1),
                actor=Actor.USER,
                origin=USER_TYPED,
                body=body,
                key="k",
            )
            store.index.apply(store.log.append([draft]))
        store.close()

    await asyncio.to_thread(append)
    async with pagefault.open(tmp_path) as memory:
        session = await memory.session("talk", create=False)
        page_id = await session.user("Said once more.", key="k")
        assert (await session.page(page_id)).text == "Said once more."
        assert await session.user("Said once more.", key="k") == page_id


# --- any record at all --------------------------------------------------------------------------

BODIES = st.one_of(
    *(st.from_type(cls) for cls in sorted(set(BODY_TYPES.values()) - {PageBody}, key=str)),
    st.builds(
        _any_page,
        st.sampled_from(EventType),
        page_id=st.sampled_from(["msg_1", "msg_2", "sum_1", "clm_1", "x", "msg_2_3"]).map(PageId),
        order=st.sampled_from([0, 1, 2, DERIVED_ORDER, DERIVED_ORDER + 1]) | st.integers(),
        role=st.sampled_from(Role),
        level=st.integers(-1, 5),
        part=st.integers(-1, 3),
        parts=st.integers(-1, 3),
        represents=st.sampled_from(["", "msg_1", "clm_1"]).map(PageId),
        supersedes=st.sampled_from(["", "clm_1"]).map(PageId),
        claim_type=st.sampled_from(["", "decision", "rule", "goal", "retraction", "hunch"]),
    ),
)
ACCEPTED = sorted({"session_opened", "forget_begun", "forget_done", "lost"})


def _is_of_a_session(body: Body) -> bool:
    """Of a session alone: what a whole store says of itself is the store's to prove. It names no
    bytes, which would be missing.
    """
    is_of_a_store = any(type(body) is BODY_TYPES[name] for name in ACCEPTED)
    names_bytes = (isinstance(body, Stored) and bool(body.blob)) or (
        isinstance(body, Received) and any(hole.blob for hole in body.holes)
    )
    return not is_of_a_store and not names_bytes


@few(8, torture=160, phases=(Phase.generate,), suppress_health_check=list(HealthCheck))
@given(bodies=st.lists(BODIES.filter(_is_of_a_session), min_size=1, max_size=4))
def test_whatever_records_say_the_rest_is_there(
    tmp_path_factory: pytest.TempPathFactory, bodies: list[Body]
) -> None:
    asyncio.run(_check_any(tmp_path_factory.mktemp("any") / "m", bodies))


async def _check_any(root: Path, bodies: list[Body]) -> None:
    await _begin(root)
    try:
        await asyncio.to_thread(_append, root, bodies)
    except pagefault.BadInput:
        return  # not even JSON can hold it
    async with pagefault.open(root, window=4_000) as memory:
        assert (await memory.verify()).problems == NONE
        session = await memory.session("talk", create=False)
        assert (await session.page("msg_1")).text == "The word is alpha."
        await session.configure(window=4_000)  # whatever they say of it
        await session.set_control("assist")  # likewise: of one that is off there is no fork
        said = await session.user("What was the word?")
        await session.request()
        for told in (session.metrics, session.ledger, session.claims, session.history):
            await told()
        await session.faults(), await session.checkpoints(), await session.status()
        await memory.pages(session)
        await session.at(turn=0)
        await (await session.fork()).user("Go on.")
    await asyncio.to_thread(lambda: rebuild(root, **_tools()))
    async with pagefault.open(root) as memory:
        session = await memory.session("talk", create=False)
        assert (await session.page(said)).text == "What was the word?"


# --- controls -----------------------------------------------------------------------------------


async def test_a_request_that_shares_more_than_it_has_is_set_aside(tmp_path: Path) -> None:
    await _begin(tmp_path)
    bad = Packed(request=1, renderer=3, tokens=100, shared=90, tail=20)
    await asyncio.to_thread(_append, tmp_path, [bad])
    async with pagefault.open(tmp_path) as memory:
        assert any("set aside" in notice for notice in memory.notices)
        session = await memory.session("talk", create=False)
        await session.metrics(), await session.ledger(), await session.status()


async def _append_for_session(root: Path, further: int) -> int:
    """A page for a session that began nowhere: its number is this much more than the last record's.
    The number.
    """

    def append() -> int:
        store = open_store(root, **_tools())
        try:
            with store.writing():
                number = SessionNo(store.log.head() + further)
                draft = replace(_draft(_page()), session=number)
                store.index.apply(store.log.append([draft]))
        finally:
            store.close()
        return number

    return await asyncio.to_thread(append)


@pytest.mark.parametrize("further", [2, 1_000], ids=["that is to come", "that began nowhere"])
async def test_a_record_for_a_session_is_in_none(tmp_path: Path, further: int) -> None:
    await _begin(tmp_path)
    number = await _append_for_session(tmp_path, further)
    async with pagefault.open(tmp_path) as memory:
        assert [row.name for row in await memory.sessions()] == ["talk"]
        session = await memory.session("new")
        await session.user("Is anybody here?")
        assert len((await memory.verify()).set_aside) == 1
    async with pagefault.open(tmp_path) as memory:
        rows = {row.name: row for row in await memory.sessions()}
        assert (rows["new"].session == number) == (further == 2)
        assert rows.keys() == {"talk", "new"}
        session = await memory.session("new")
        assert [page.seq for page in await memory.pages(session)] == [number - further + 3]
        assert (await memory.verify()).problems == NONE


async def test_control_without_setting_aside_such_a_log_opens_no_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await _begin(tmp_path)
    await asyncio.to_thread(_append, tmp_path, [_page(order=0)])
    monkeypatch.setattr("pagefault.store.embedded.batch.Batch._collision", lambda *_, **__: "")
    with pytest.raises(pagefault.StoreError, match="UNIQUE"):
        await asyncio.to_thread(lambda: rebuild(tmp_path, **_tools()))


async def test_what_was_written_and_cannot_be_folded_is_not_acknowledged(tmp_path: Path) -> None:
    async with pagefault.open(tmp_path) as memory:
        session = await memory.session("talk")
        await session.user("The word is alpha.")
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(acceptance, "flaw", lambda event: "")
            session._state.order_next = 0
            with pytest.raises(pagefault.StoreLatched):
                await session.user("And in its place?")
    async with pagefault.open(tmp_path) as memory:
        session = await memory.session("talk", create=False)
        assert await session.user("Go on.")
        session.check()
