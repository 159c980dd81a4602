"""The words of a page as they stood at a time."""

from __future__ import annotations

from pathlib import Path

import pytest

import pagefault
from pagefault import BadInput, Incoming, NoSuchPage, RecordGone, Session
from pagefault.model.ids import PageId
from pagefault.service.bootstrap import open_memory

MONDAY, FRIDAY, SUNDAY = "Come on Monday.", "Come on Friday.", "Come on Sunday."


async def edited(session: Session, old: PageId, text: str) -> PageId:
    """Other words for a message, as a client of the proxy sends them."""
    return (
        await session.say(
            [Incoming(text=text, role="user", supersedes=old)],  # type: ignore[arg-type]
            origin="user_typed",
        )
    )[0]


async def three_versions(session: Session) -> list[PageId]:
    ids = [await session.user(MONDAY)]
    await session.assistant("Gladly.")
    ids.append(await edited(session, ids[0], FRIDAY))
    await session.checkpoint("friday")
    await session.user("And bring a cake.")
    ids.append(await edited(session, ids[1], SUNDAY))
    await session.user("Are you coming?")
    return ids


async def test_an_edited_message_stands_in_the_words_of_its_time_whichever_version_is_named(
    tmp_path: Path,
) -> None:
    async with open_memory(tmp_path / "m", claims="off") as memory:
        session = await memory.session("s")
        ids = await three_versions(session)
        written = [(await session.page(one)).row for one in ids]
        times = [row.seq for row in written]
    async with open_memory(tmp_path / "m", read_only=True) as memory:
        session = await memory.session("s", create=False)
        for page_id in ids:
            told = [(await session.page_at(page_id, seq=seq)).text for seq in times]
            assert told == [MONDAY, FRIDAY, SUNDAY]
            assert (await session.page_at(page_id, seq=times[1] - 1)).text == MONDAY
            assert (await session.page_at(page_id, checkpoint="friday")).text == FRIDAY
            assert (await session.page_at(page_id, turn=2)).text == SUNDAY
            assert (await session.page_at(page_id, "2999-01-01")).page_id == ids[2]
            assert (await session.page_at(page_id, written[2].at_ms)).page_id == ids[2]
        assert (await session.page(ids[0])).text == MONDAY, "a page never changes"


async def test_what_was_not_written_yet_has_no_words_and_a_time_must_be_named() -> None:
    async with pagefault.open(":memory:") as memory:
        session = await memory.session("s")
        first = await session.user("Hello.")
        later = await session.user("How are you?")
        row = (await session.page(first)).row
        with pytest.raises(BadInput, match="was not written by then") as refused:
            await session.page_at(later, seq=row.seq)
        assert "Session.history" in refused.value.hint
        assert (await session.page_at(later, turn=1)).text == "How are you?"
        with pytest.raises(NoSuchPage):
            await session.page_at("msg_99", turn=0)
        with pytest.raises(BadInput, match="give exactly one time"):
            await session.page_at(first)
        with pytest.raises(BadInput, match="give exactly one time"):
            await session.page_at(first, "2999-01-01", turn=0)
        with pytest.raises(BadInput, match="did not exist yet"):
            await session.page_at(first, "1999-01-01")


async def test_a_fork_sees_the_words_that_stood_where_it_left() -> None:
    async with open_memory(":memory:", claims="off") as memory:
        session = await memory.session("s")
        first = await session.user(MONDAY)
        await session.assistant("Gladly.")
        fork = await session.fork("f")
        second = await edited(session, first, FRIDAY)
        await fork.user("What day was it?")
        assert (await session.page_at(first, "2999-01-01")).page_id == second
        assert (await fork.page_at(first, "2999-01-01")).text == MONDAY


async def test_words_that_were_forgotten_are_gone_from_their_time_too() -> None:
    async with open_memory(":memory:", claims="off") as memory:
        session = await memory.session("s")
        ids = await three_versions(session)
        seqs = [(await session.page(one)).row.seq for one in ids]
        await memory.forget(session, ids[0])
        with pytest.raises(RecordGone):
            await session.page_at(ids[0], seq=seqs[0])
        for page_id in ids[1:]:
            with pytest.raises(RecordGone):
                await session.page_at(page_id, seq=seqs[0])
            assert (await session.page_at(page_id, seq=seqs[1])).text == FRIDAY


async def test_a_part_of_a_long_text_is_the_part_of_that_number_or_the_first() -> None:
    async with open_memory(":memory:", window=16_000, claims="off") as memory:
        session = await memory.session("s")
        long = " ".join(f"Sentence {n} of the first version." for n in range(900))
        first = await session.user(long)
        parts = (await session.page(first)).row.parts
        assert parts > 2
        seq = (await session.page(f"msg_{parts}")).row.seq
        other = long.replace("first version", "second one")
        second = await edited(session, first, other)
        last = (await session.page(second)).row
        third_part = f"msg_{int(second.partition('_')[2]) + 2}"
        assert (await session.page_at(third_part, seq=seq)).page_id == "msg_3"
        assert (await session.page_at("msg_3", "2999-01-01")).page_id == third_part
        assert last.parts > 2
        short = await edited(session, second, SUNDAY)
        assert (await session.page_at("msg_3", "2999-01-01")).page_id == short


async def test_of_a_claim_it_is_the_one_that_stood_then() -> None:
    async with pagefault.open(":memory:") as memory:
        session = await memory.session("s")
        await session.user("Let's use PostgreSQL for the database.")
        then = (await session.at(turn=0)).seq
        await session.user("Let's use MySQL for the database.")
        [old, new] = [claim.claim_id for claim in await session.claims()]
        for claim in (old, new):
            assert (await session.page_at(claim, seq=then)).page_id == old
            assert (await session.page_at(claim, turn=1)).page_id == new


def test_the_synchronous_face_goes_back_too() -> None:
    with pagefault.sync.open(":memory:") as memory:
        session = memory.session("s")
        first = session.user(MONDAY)
        session.say(
            [Incoming(text=FRIDAY, role="user", supersedes=first)],  # type: ignore[arg-type]
            origin="user_typed",
        )
        seq = session.page(first).row.seq
        assert session.page_at(first, seq=seq).text == MONDAY
        assert session.page_at(first, "2999-01-01").text == FRIDAY
