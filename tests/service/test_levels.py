"""Levels 1 and 2 of a page: made on demand, dirty until written, found again, never longer."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import pagefault
from pagefault import Limits, Session
from pagefault.model.errors import BadInput, NoSuchPage
from pagefault.model.events import Represented
from pagefault.model.page import Page
from pagefault.pack.count import O200k
from pagefault.service.derived.levels import Ladder, Levels
from tests.service.memories import check_request, fault, faulted, files_with, text_of, words

LONG = " ".join(
    f"So, well, we decided on {n} May to run ledger-{n} on Postgres, because MySQL 5.{n} did not "
    f"replicate in time. It was sunny, I think, and lunch was at noon, you know. Thank you so much!"
    for n in range(1, 9)
)
COUNT = O200k().count


async def push_out(session: Session, turns: int = 10) -> None:
    """Talk about something else until what was said before has left the window."""
    for number in range(turns):
        await session.user(f"Something else, number {number}. " + words(120, f"x{number}y"))
        await session.assistant(words(120, f"z{number}a"))
    await session.request()


async def talked(session: Session, text: str = LONG) -> str:
    page_id = await session.user(text)
    await session.request()
    await session.assistant("Noted.")
    await push_out(session)
    await session.user("Ready?")
    await session.request()
    assert page_id not in session.resident()
    return page_id


def served(result: Any) -> tuple[int, str, int]:
    page = result["page"]
    return page["level"], page["content"]["text"], result["effects"]["tokens_est"]


async def representations(root: Path) -> list[Represented]:
    """As the log has them, read by somebody else."""
    async with pagefault.open(root, read_only=True) as memory:
        events = [
            event
            for row in await memory.sessions()
            for event in memory._runtime.events_of(row.session, ("representation",))
        ]
    return [event.body for event in events if isinstance(event.body, Represented)]


async def test_no_level_is_longer_than_the_one_above_and_each_is_what_it_says(
    tmp_path: Path,
) -> None:
    """CASES 2."""
    limits = Limits(faults_per_turn_max=9)
    async with pagefault.open(tmp_path / "m", sync="os", window=6_000, limits=limits) as memory:
        session = await memory.session("s")
        page_id = await talked(session)
        found = [served(await faulted(session, fault(page_id, level=n))) for n in (3, 2, 1, 0)]
        assert [level for level, _, _ in found] == [3, 2, 1, 0]
        texts = [text for _, text, _ in found]
        assert [tokens for _, _, tokens in found] == [COUNT(text) for text in texts]
        assert [COUNT(text) for text in texts] == sorted(map(COUNT, texts))
        assert texts[3] == LONG
        assert "Postgres" in texts[1]
        assert not any(sentence in texts[0] for sentence in LONG.split(". "))
        check_request(await session.request(), "Ready?")
        session.check()


async def test_a_page_that_leaves_nothing_out_is_served_as_level_0(tmp_path: Path) -> None:
    async with pagefault.open(tmp_path / "m", sync="os", window=4_000) as memory:
        session = await memory.session("s")
        page_id = await talked(session, "Maria has the keys.")
        assert served(await faulted(session, fault(page_id, level=2)))[:2] == (
            0, "Maria has the keys.",
        )  # fmt: skip
    assert await representations(tmp_path / "m") == []


async def test_a_representation_is_in_the_log_before_the_request_that_shows_it(
    tmp_path: Path,
) -> None:
    async with pagefault.open(tmp_path / "m", sync="os", window=4_000) as memory:
        session = await memory.session("s")
        page_id = await talked(session)
        _, text, _ = served(await faulted(session, fault(page_id, level=2)))
        await session.request()
        [made] = await representations(tmp_path / "m")
        assert (made.represents, made.level, made.text) == (page_id, 2, text)
        assert made.provenance == (page_id,)
        for span in made.evidence:
            assert LONG.encode()[span.start : span.end].decode() in LONG
        assert (await session.status()).dirty_pages == ()


async def test_control_a_representation_that_is_not_written_is_missed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def forget_to_write(self: Any, drafts: Any) -> None:
        from pagefault.model.events import expected

        for draft in drafts:
            self.state.fold(expected(draft))

    monkeypatch.setattr("pagefault.service.ownership.Owned.keep", forget_to_write)
    with pytest.raises(ValueError, match="not enough values"):
        await test_a_representation_is_in_the_log_before_the_request_that_shows_it(tmp_path)


async def test_it_is_made_once_for_every_fault_restart_and_fork(tmp_path: Path) -> None:
    async with pagefault.open(tmp_path / "m", sync="os", window=4_000) as memory:
        session = await memory.session("s")
        page_id = await talked(session)
        first = served(await faulted(session, fault(page_id, level=2)))
        request = await session.request()
    async with pagefault.open(tmp_path / "m", window=4_000) as memory:
        session = await memory.session("s")
        assert (await session.request()).messages == request.messages
        session.check()
        await session.assistant("I see.")
        await push_out(session)
        await session.user("Ready?")
        assert served(await faulted(session, fault(page_id, level=2))) == first
        await session.request()
        fork = await session.fork("f")
        await push_out(fork)
        await fork.user("And here?")
        assert served(await faulted(fork, fault(page_id, level=2))) == first
        await fork.request()
    assert len(await representations(tmp_path / "m")) == 1


async def test_level_0_is_byte_identical_across_compress_evict_and_restart(tmp_path: Path) -> None:
    """CASES 3."""
    text = LONG + " \r\n\t数据库 e\u0301 👩‍👩‍👧‍👦 trailing  "
    limits = Limits(page_tokens_max=2_000)
    async with pagefault.open(tmp_path / "m", sync="os", window=6_000, limits=limits) as memory:
        session = await memory.session("s")
        page_id = await session.user(text)
        made = await session.compress(page_id, 2)
        assert made.derived is not None
        assert made.derived.represents == page_id
        assert len(made.text) < len(text)
        assert (await session.status()).dirty_pages == (made.page_id,)
        await session.request()
        assert (await session.status()).dirty_pages == ()
        await push_out(session)
        assert page_id not in session.resident()
    async with pagefault.open(tmp_path / "m", window=6_000, limits=limits) as memory:
        session = await memory.session("s")
        assert (await session.page(page_id)).text == text
        shown = text.replace("\r\n", "\n")  # a model is shown one kind of line end
        assert served(await faulted(session, fault(page_id, level=0)))[:2] == (0, shown)


async def test_what_is_shown_at_a_level_need_not_be_faulted_again_but_for_more(
    tmp_path: Path,
) -> None:
    limits = Limits(faults_per_turn_max=9)
    async with pagefault.open(tmp_path / "m", sync="os", window=6_000, limits=limits) as memory:
        session = await memory.session("s")
        page_id = await talked(session)
        await faulted(session, fault(page_id, level=1))
        left = (await session.status()).faults_left
        for level in (1, 2, 3):
            again = await faulted(session, fault(page_id, level=level))
            assert (again["page"]["level"], again["page"]["content"]["text"]) == (1, "")
        assert (await session.status()).faults_left == left
        assert served(await faulted(session, fault(page_id, level=0)))[:2] == (0, LONG)
        check_request(await session.request(), "Ready?")


async def test_an_answer_may_cite_what_it_saw_at_level_2(tmp_path: Path) -> None:
    async with pagefault.open(tmp_path / "m", sync="os", window=4_000) as memory:
        session = await memory.session("s")
        page_id = await talked(session)
        assert page_id not in session.visible()
        await faulted(session, fault(page_id, level=2))
        assert page_id in session.visible()


async def test_a_refusal_offers_the_levels_there_are_and_what_each_takes(tmp_path: Path) -> None:
    """CASES 4."""
    limits = Limits(fault_tokens_per_turn_max=100)
    async with pagefault.open(tmp_path / "m", sync="os", window=4_000, limits=limits) as memory:
        session = await memory.session("s")
        page_id = await talked(session)
        error = (await faulted(session, fault(page_id, level=0)))["error"]
        assert (error["code"], error["levels"]) == ("token_limit", [2, 3])
        tokens = error["level_tokens"]
        level, text, spent = served(await faulted(session, fault(page_id, level=2)))
        assert (level, spent) == (2, tokens["2"])
        assert spent == COUNT(text) <= 100


async def test_explicit_compression_takes_effect_at_the_next_epoch_and_not_before(
    tmp_path: Path,
) -> None:
    async with pagefault.open(tmp_path / "m", sync="os", window=4_000) as memory:
        session = await memory.session("s", mode="active")
        page_id = await talked(session)
        await faulted(session, fault(page_id, level=0))
        before = await session.request()
        made = await session.compress(page_id, 1)
        assert (await session.status()).compressed == (page_id,)
        await session.user("Go on.")
        after = await session.request()
        assert after.messages[: len(before.messages)] == before.messages, "the prefix changed"
        for _ in range(40):
            await session.assistant(f"As said [ref: {page_id}] " + words(60, "w"))
            await session.user(words(60, "v"))
            shown = text_of(await session.request())
            if page_id not in session.resident():
                break
        assert made.page_id in session.resident(), "the shorter form stands for it"
        assert f"L1 of {page_id}" in shown
        session.check()


async def test_what_is_dirty_is_flushed_when_asked_and_when_the_memory_is_closed(
    tmp_path: Path,
) -> None:
    async with pagefault.open(tmp_path / "m", sync="os", window=4_000) as memory:
        session = await memory.session("s")
        one, two = await session.user(LONG), await session.assistant(LONG[::-1])
        await session.compress(one, 2)
        assert await representations(tmp_path / "m") == []
        await session.flush()
        assert [made.represents for made in await representations(tmp_path / "m")] == [one]
        await session.compress(one, 1)
        assert two
    assert [made.level for made in await representations(tmp_path / "m")] == [2, 1]


async def test_a_checkpoint_names_a_point_at_which_everything_is_written(tmp_path: Path) -> None:
    async with pagefault.open(tmp_path / "m", sync="os", window=4_000) as memory:
        session = await memory.session("s")
        page_id = await session.user(LONG)
        await session.compress(page_id, 2)
        seq = await session.checkpoint("before the move")
        assert (await session.status()).dirty_pages == ()
        [made] = await representations(tmp_path / "m")
        assert made.represents == page_id
        assert await session.checkpoint("after it") == seq + 1
        with pytest.raises(BadInput):
            await session.checkpoint("a/b")
    assert len(files_with(tmp_path / "m" / "log", b"before the move")) == 1


async def test_forgetting_a_page_takes_its_representations_dirty_or_not(tmp_path: Path) -> None:
    async with pagefault.open(tmp_path / "m", sync="os", window=4_000) as memory:
        session = await memory.session("s")
        page_id = await session.user(LONG)
        made = await session.compress(page_id, 2)
        await session.flush()
        dirty = await session.compress(page_id, 1)
        assert made.page_id in (await memory.forget("s", page_id)).pages
        for gone in (made.page_id, dirty.page_id):
            with pytest.raises((NoSuchPage, pagefault.RecordGone)):
                await session.page(gone)
    assert files_with(tmp_path / "m", b"ledger-3") == []


async def test_bad_levels_change_nothing(tmp_path: Path) -> None:
    async with pagefault.open(tmp_path / "m", sync="os") as memory:
        session = await memory.session("s")
        page_id = await session.user(LONG)
        for level in (0, 4, -1):
            with pytest.raises(BadInput, match="not a level"):
                await session.compress(page_id, level)
        with pytest.raises(NoSuchPage):
            await session.compress("msg_99", 1)
        assert (await session.at_level(page_id, 2))[0] == 2
        assert (await session.status()).dirty_pages == ()


@pytest.mark.parametrize(
    ("age", "thresholds", "is_compressed"),
    [(200, (9, 9, 9), True), (10**9, (0.2, 0.3, 0.4), True), (10**9, (9, 9, 9), False)],
    ids=["old", "pressed", "control: neither"],
)
async def test_old_pages_and_pages_under_pressure_are_compressed_by_themselves(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    age: int,
    thresholds: tuple[float, ...],
    is_compressed: bool,
) -> None:
    monkeypatch.setattr("pagefault.paging.pressure.THRESHOLDS", thresholds)
    padded = "Thank you so much! " * 60 + "It is in the garden."
    limits = Limits(compress_after_tokens=age)
    async with pagefault.open(tmp_path / "m", sync="os", window=4_000, limits=limits) as memory:
        session = await memory.session("s")
        page_id = await talked(session, padded)
        await faulted(session, fault(page_id, level=0))
        await session.assistant("I see.")
        seen = set()
        for number in range(6):
            await session.user(words(30, f"p{number}q"))
            await session.request()
            await session.assistant(words(30, f"r{number}s"))
            seen |= set((await session.status()).compressed)
        assert (page_id in seen) == is_compressed


async def test_however_many_pages_grew_old_at_once_a_request_looks_at_few_and_none_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With no form that is worth keeping among them, too: each look takes time all the same."""
    looked: list[str] = []

    class NoShorter(Levels):
        def ladder(self, page: Page, given: Any = None) -> Ladder:
            looked.append(page.page_id)
            return Ladder(page, lambda page, level: page, self._make)

    monkeypatch.setattr("pagefault.service.derived.compression.AT_ONCE_MAX", 2)
    monkeypatch.setattr("pagefault.paging.pressure.THRESHOLDS", (9, 9, 9))
    limits = Limits(compress_after_tokens=10**9, faults_per_turn_max=9)
    async with pagefault.open(tmp_path / "m", sync="os", window=8_000, limits=limits) as memory:
        session = await memory.session("s")
        pages = [await session.user(words(60, f"old{n}w")) for n in range(8)]
        await push_out(session, 20)
        for page_id in pages:
            await faulted(session, fault(page_id, level=0))
        session._requests._levels = NoShorter(session.owned, memory._runtime)
        await session.request()
        await session.flush()  # which waits for what is done after a request
        assert not looked, "control: neither old nor pressed"
        monkeypatch.setattr("pagefault.paging.pressure.THRESHOLDS", (0.1, 0.2, 0.3))
        looks = []
        for _ in range(6):
            before = len(looked)
            await session.request()
            await session.flush()
            looks.append(len(looked) - before)
        assert looks[:2] == [2, 2]
        assert max(looks) == 2
        assert len(looked) == len(set(looked)), "each once"
        assert (await session.status()).compressed == ()


async def test_a_flush_that_fails_loses_nothing_and_is_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """CASES 15: what is dirty stays, and stays accounted for, until the medium takes it."""
    async with pagefault.open(tmp_path / "m", sync="os", window=4_000) as memory:
        session = await memory.session("s")
        page_id = await session.user(LONG)
        made = await session.compress(page_id, 2)

        async def full(*args: Any, **more: Any) -> Any:
            raise pagefault.StoreError("the disk is full")

        with monkeypatch.context() as broken:
            broken.setattr(memory._runtime.journal, "append", full)
            with pytest.raises(pagefault.StoreError, match="full"):
                await session.flush()
            assert (await session.status()).dirty_pages == (made.page_id,)
            assert (await session.page(made.page_id)).text == made.text
            session.check()
        await session.flush()
        assert (await session.status()).dirty_pages == ()
    assert len(await representations(tmp_path / "m")) == 1
