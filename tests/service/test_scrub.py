"""What a memory holds already is redacted as if it had never been let in: everywhere, with what
rests on it, whatever ends the process in between; and the rest of it stays as it was.
"""

from __future__ import annotations

import asyncio
import json
import threading
from pathlib import Path
from typing import Any

import pytest

import pagefault
from pagefault import (
    BadInput,
    Incoming,
    Memory,
    ScreenFailed,
    SessionBusy,
    StoreReadOnly,
    ToolCall,
)
from pagefault.guard import layers
from pagefault.guard.screen import applied
from pagefault.guard.structure import Structure
from pagefault.model.clock import SystemClock
from pagefault.model.kinds import USER_TYPED, Role
from pagefault.service.root.parts import MemoryParts
from pagefault.service.scrub import remnants
from pagefault.store.embedded.archiver import archive
from pagefault.store.embedded.root import rebuild
from pagefault.store.store import Store
from tests.service.memories import files_with, text_of
from tests.service.test_forget_canaries import Told, tell
from tests.service.test_redaction import PASSWORD, TOKEN
from tests.service.traces import Files
from tests.store.roots import make_segments_tiny

VALUE = "Kvothe" + "-9f83!ä"


def _words(told: Told) -> dict[str, str]:
    return {
        name: word for name, word in told.words.items() if told.of["nothing"].isdisjoint([name])
    }


async def _answers(memory: Memory) -> dict[str, Any]:
    """What can be asked of a memory, session by session."""
    found: dict[str, Any] = {}
    for row in await memory.sessions():
        session = await memory.session(row.session_id, create=False)
        pages = await memory.pages(session, limit=1_000)
        hits = await session.recall("login harbour token database secret")
        found[row.session_id] = (
            row.name,
            [(page.page_id, page.tokens, (await memory.read(page)).text) for page in pages],
            [(hit.page.page_id, hit.relevance) for hit in hits.hits],
            [claim.text for claim in await session.claims()],
        )
    return found


@pytest.mark.slow
@pytest.mark.parametrize("place", ["log", "archive"])
async def test_no_field_of_the_public_face_keeps_a_scrubbed_word(
    tmp_path: Path, place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_segments_tiny(monkeypatch)
    root = tmp_path / "m"
    async with pagefault.open(root, sync="os") as memory:
        told = await tell(memory)
        session = await memory.session((await memory.sessions())[0].session_id)
        fork = await session.fork(told.word("Session.fork.name", "fork"))
        await fork.user(f"In the fork: {told.word('fork', 'fork')}")
    words = _words(told)
    assert set(Files(root).traces(words)) == set(words), "control: all of them stand there"
    if place == "archive":
        assert archive(root, clock=SystemClock(), keep=0).segments
    async with pagefault.open(root, sync="os") as memory:
        planned = await memory.scrub(list(words.values()), dry_run=True)
        assert not planned.done
        assert Files(root).traces(words), "a dry run changes nothing"
        done = await memory.scrub(list(words.values()))
        assert (done.records, done.done) == (planned.records, True)
        assert done.found == planned.found
        assert not any(word in str(done) + str(planned) for word in words.values())
        assert (await memory.verify()).problems == ()
        before = await _answers(memory)
    assert Files(root).traces(words) == {}
    rebuild(root, clock=SystemClock(), minter=_minter())
    assert Files(root).traces(words) == {}
    async with pagefault.open(root, sync="os") as memory:
        assert await _answers(memory) == before
        assert (await memory.verify()).problems == ()
        assert (await memory.scrub(list(words.values()), dry_run=True)).records == 0


def _minter() -> Any:
    from random import Random

    from pagefault.model.ids import IdMinter

    return IdMinter(SystemClock(), Random(1))


async def _old(root: Path | str) -> None:
    """A memory from before anything was looked for."""
    async with pagefault.open(root, sync="os", redact="known") as memory:
        session = await memory.session("talk", system=f"Use {TOKEN}.")
        await session.user(f"Log in at the harbour with the token {TOKEN} from now on.")
        await session.claim(f"log in with {TOKEN}", evidence=[f"with the token {TOKEN}"])
        await session.user("We decided to use Redis for the queue.")
        await session.document(f"# notes\nDB_PASSWORD={PASSWORD}\nThe rest of it.", title="notes")
        await session.artifact(f"token = {TOKEN}\n".encode(), name="a.txt", text="A file.")
        await session.artifact(
            f"token = {TOKEN}\n".encode("utf-16"), name="b.txt", text="Another file."
        )
        await session.request()


async def test_what_the_guard_knows_today_goes_from_what_was_written_before(tmp_path: Path) -> None:
    root = tmp_path / "m"
    await _old(root)
    async with pagefault.open(root, sync="os") as memory:
        session = await memory.session("talk")
        claim, other = await session.claims()
        assert (claim.status, other.status) == ("standing", "standing")
        done = await memory.scrub()
        assert done.found == {"github-token": 6, "password": 1}
        [one] = done.sessions
        assert (one.session, one.stale) == ("talk", (claim.claim_id,))
        session = await memory.session("talk")
        [stale, standing] = await session.claims()
        assert (stale.status, standing.status) == ("stale", "standing")
        assert "[REDACTED:github-token:" in stale.text
        assert standing.quotes == ("We decided to use Redis for the queue",)
        hits = (await session.recall("harbour")).hits
        assert [hit.page.page_id for hit in hits][:1] == ["msg_1"]
        for page_id, coding in (("art_2", "utf-8"), ("art_3", "utf-16")):
            told = (await session.artifact_bytes(page_id)).decode(coding)
            assert told.startswith("token = [REDACTED:github-token:")
        request = await session.request()
        assert TOKEN not in text_of(request)
        assert (await memory.verify()).problems == ()
    assert Files(root).traces({"token": TOKEN, "line": f"DB_PASSWORD={PASSWORD}"}) == {}
    assert files_with(root, PASSWORD.encode()) == []
    assert files_with(root, b"[REDACTED:github-token:") != []


async def test_a_secret_that_a_split_cut_in_two_goes_and_evidence_behind_it_moves(
    tmp_path: Path,
) -> None:
    root = tmp_path / "m"
    text = " ".join(f"word{number}" for number in range(1_400))
    async with pagefault.open(root, sync="os", window=1_200) as memory:
        session = await memory.session("talk")
        first = (await session.document(text, title="long"))[0]
        cut = len((await session.page(first)).text)
        await memory.forget(session, first)
        secret = "kvothe 9f83 hides his name from all of them"
        for at in range(cut - len(secret), cut):
            pages = await session.document(text[:at] + secret + text[at:], title="long")
            own = [(await session.page(page_id)).text for page_id in pages]
            if not any(secret in part for part in own):
                break
            await memory.forget(session, pages[0])
        assert not any(secret in part for part in own), "control: no part has it whole"
        quoted = " ".join(own[1].split()[20:26])
        await session.claim("it goes on", evidence=[pagefault.Quote(quoted, pages[1])])
        done = await memory.scrub([secret])
        assert done.found == {"given.1": 1}
        session = await memory.session("talk")
        whole = "".join([(await session.page(page_id)).text for page_id in pages])
        assert "[REDACTED:given.1:" in whole
        assert whole.replace(whole[at : whole.index("]") + 1], "") == text
        [claim] = await session.claims()
        assert (claim.status, claim.quotes) == ("standing", (quoted,))
        assert (await memory.verify()).problems == ()
    for half in ("kvothe 9f83", "all of them"):
        assert files_with(root, half.encode()) == []


async def test_forks_see_what_was_redacted_and_go_on(tmp_path: Path) -> None:
    async with pagefault.open(tmp_path / "m", sync="os", redact="known") as memory:
        session = await memory.session("talk")
        await session.user(f"My token is {TOKEN}.")
        fork = await session.fork("other")
        await fork.user("And on.")
        before = await fork.request()
        assert TOKEN in text_of(before)
        await memory.scrub([TOKEN])
        after = await fork.request()
        assert TOKEN not in text_of(after)
        assert files_with(tmp_path / "m", b'"reason":"scrubbed"') != []
        assert await fork.user("Still here.") == "msg_3"


async def test_what_another_process_has_open_shows_it_no_longer(tmp_path: Path) -> None:
    root = tmp_path / "m"
    await _old(root)
    async with pagefault.open(root, sync="os", redact="known") as memory:
        session = await memory.session("talk")
        assert TOKEN in (await session.page("msg_1")).text
        async with pagefault.open(root, sync="os") as other:
            assert (await other.scrub()).records
        assert TOKEN not in (await session.page("msg_1")).text
        assert TOKEN not in text_of(await session.request())
        assert files_with(root, b'"reason":"scrubbed"') != []
        async with pagefault.open(root, sync="os") as other:
            await session.user(f"And again: {TOKEN}.")
            with pytest.raises(SessionBusy):
                await other.scrub()
    assert files_with(root, TOKEN.encode()) != []
    assert not (root / "scrub.staged").exists()


async def test_who_reads_while_the_writer_takes_in_a_scrub_is_not_shown_what_is_still_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = tmp_path / "m"
    await _old(root)
    is_held, reached, go_on = False, threading.Event(), threading.Event()
    flush = MemoryParts._others_forgot

    def hold(parts: MemoryParts) -> None:
        if is_held and not reached.is_set():
            reached.set()
            go_on.wait(300)
        flush(parts)

    monkeypatch.setattr(MemoryParts, "_others_forgot", hold)
    async with pagefault.open(root, sync="os", redact="known") as memory:
        session = await memory.session("talk")
        assert TOKEN in (await session.page("msg_1")).text
        async with pagefault.open(root, sync="os") as other:
            assert (await other.scrub()).records
        is_held = True
        writing = asyncio.create_task(session.user("Something new."))
        await asyncio.to_thread(reached.wait, 10)
        reading = asyncio.create_task(session.page("msg_1"))
        await asyncio.wait([reading], timeout=0.2)
        go_on.set()
        assert TOKEN not in (await reading).text
        await writing


async def test_a_writer_is_not_current_until_it_let_go_of_what_others_scrubbed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = tmp_path / "m"
    await _old(root)
    current: list[bool] = []
    catch_up = Store.catch_up

    async with pagefault.open(root, sync="os", redact="known") as memory:

        def told(store: Store, *args: Any, **named: Any) -> int:
            if store is memory._store and store.log.head() != store._known:
                current.append(store.is_current())
            return catch_up(store, *args, **named)

        beside = await memory.session("beside")
        await beside.user("Hello.")
        monkeypatch.setattr(Store, "catch_up", told)
        async with pagefault.open(root, sync="os") as other:
            assert (await other.scrub()).records
        await beside.user("And on.")
    assert current
    assert not any(current)


@pytest.mark.parametrize("mode", ["paused", "off"])
async def test_a_memory_that_nothing_is_written_to_is_not_scrubbed(
    tmp_path: Path, mode: str
) -> None:
    await _old(tmp_path / "m")
    async with pagefault.open(tmp_path / "m", sync="os") as memory:
        await memory.set_control(mode)
        with pytest.raises(StoreReadOnly, match="nothing scrubbed"):
            await memory.scrub()
        assert (await memory.scrub(dry_run=True)).records
    async with pagefault.open(tmp_path / "m", read_only=True) as memory:
        with pytest.raises(StoreReadOnly):
            await memory.scrub()


async def test_where_a_layer_fails_nothing_is_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await _old(tmp_path / "m")

    class Failing(Structure):
        def find(self, text: str) -> Any:
            raise RuntimeError(text)

    monkeypatch.setattr(layers, "Structure", Failing)
    async with pagefault.open(tmp_path / "m", sync="os") as memory:
        records = memory.records
        with pytest.raises(ScreenFailed) as failed:
            await memory.scrub()
        assert TOKEN not in str(failed.value)
        assert memory.records == records
    assert files_with(tmp_path / "m", TOKEN.encode()) != []


async def test_a_value_that_is_too_short_is_refused_and_not_shown(tmp_path: Path) -> None:
    async with pagefault.open(tmp_path / "m", sync="os") as memory:
        with pytest.raises(BadInput, match="value 2") as refused:
            await memory.scrub(["long enough", "1234"])
        assert "1234" not in str(refused.value)


async def test_home_paths_go_where_that_is_asked(tmp_path: Path) -> None:
    async with pagefault.open(tmp_path / "m", sync="os") as memory:
        session = await memory.session("talk")
        await session.user("It lies in /home/ann/code/x.py.")
        assert (await memory.scrub(dry_run=True)).records == 0
        assert (await memory.scrub(home_paths=True)).found == {"path": 1}
        assert (await session.page("msg_1")).text == "It lies in ~/code/x.py."


async def test_bytes_that_are_no_text_are_named(tmp_path: Path) -> None:
    async with pagefault.open(tmp_path / "m", sync="os") as memory:
        session = await memory.session("talk")
        data = b"\x89PNG\xff\xfe" + VALUE.encode() + b"\x00"
        page_id = await session.artifact(data, name="a.png")
        done = await memory.scrub([VALUE])
        assert [one.left for one in done.sessions] == [(page_id,)]
        assert done.records == 0


async def test_a_key_that_may_be_made_of_the_text_goes_with_it(tmp_path: Path) -> None:
    root = tmp_path / "m"
    async with pagefault.open(root, sync="os", redact="known") as memory:
        session = await memory.session("talk")
        await session.user(f"It is {VALUE}.", key=f"It is {VALUE}.")
        kept = await session.user("Another.", key="another")
        await memory.scrub([VALUE])
        assert await session.user("Another.", key="another") == kept
        with pytest.raises(pagefault.RecordGone):  # a late retry would bring it back
            await session.user(f"It is {VALUE}.", key=f"It is {VALUE}.")
    assert Files(root).traces({"it": f"It is {VALUE}."}) == {}


async def test_tools_arguments_and_results_stay_readable(tmp_path: Path) -> None:
    async with pagefault.open(tmp_path / "m", sync="os", redact="known") as memory:
        session = await memory.session("talk")
        await session.user("Log in.")
        call = ToolCall("c", "login", json.dumps({"user": "ann", "password": PASSWORD}))
        page_id = await session.assistant("", calls=[call])
        await session.tool_result("c", json.dumps({"token": TOKEN}))
        await session.say(
            [Incoming(text="plain", role=Role.USER, title=f"of {TOKEN}")], origin=USER_TYPED
        )
        await memory.scrub([PASSWORD, TOKEN])
        session = await memory.session("talk")
        text = (await session.page(page_id)).text
        assert json.loads(text[text.index("{") :])["user"] == "ann"
        assert PASSWORD not in text_of(await session.request())


async def test_an_import_of_entries_with_ids_that_is_repeated_brings_nothing_twice(
    tmp_path: Path,
) -> None:
    lines = [
        {
            "type": "user",
            "uuid": f"00000000-0000-4000-8000-{number:012}",
            "parentUuid": f"00000000-0000-4000-8000-{number - 1:012}" if number else None,
            "sessionId": "11111111-1111-4111-8111-111111111111",
            "timestamp": f"2025-01-01T00:00:{number:02}.000Z",
            "cwd": "/tmp",
            "version": "1.0.0",
            "message": {"role": "user", "content": f"Entry {number} says {VALUE}."},
        }
        for number in range(3)
    ]
    file = tmp_path / "one.jsonl"
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    root = tmp_path / "m"
    async with pagefault.open(root, sync="os") as memory:
        await memory.import_history([file])
        assert (await memory.scrub([VALUE])).records == 3
        records = memory.records
        await memory.import_history([file])
        texts = [(await memory.read(hit.page)).text for hit in (await memory.recall("Entry")).hits]
        assert len(texts) == 3
        assert not any(VALUE in text for text in texts)
        assert memory.records - records < 3
    assert Files(root).traces({"it": VALUE}) == {}


async def test_vectors_of_what_changed_are_made_again(tmp_path: Path) -> None:
    seen: list[str] = []

    class Embedder:
        name = "letters"
        dimensions = 4

        def embed(self, texts: Any, *, kind: str) -> Any:
            import numpy as np

            seen.extend(texts)
            return np.ones((len(texts), 4), dtype=np.float32)

    async with pagefault.open(tmp_path / "m", sync="os", embedder=Embedder()) as memory:
        session = await memory.session("talk")
        await session.user(f"It is {VALUE}.")
        await session.user("Another.")
        await memory.embed()
        seen.clear()
        await memory.scrub([VALUE])
        await memory.embed()
        assert [text for text in seen if "[REDACTED:given.1:" in text]
        assert (await memory.verify()).problems == ()


async def test_what_is_not_written_is_told_to_be_out_of_reach(tmp_path: Path) -> None:
    async with pagefault.open(tmp_path / "m", sync="os", redact="known") as memory:
        kept = await memory.session("kept")
        await kept.user(f"It is {VALUE}.")
        await kept.set_control("incognito")
        await kept.user("And on.")
        done = await memory.scrub([VALUE])
        assert done.records
        assert any("incognito" in one for one in done.beyond_reach)
        assert VALUE not in text_of(await kept.request())


def test_what_was_made_of_a_page_loses_parts_of_what_goes_too() -> None:
    one, two = "kvothe-" + "q7Rk2" * 5, "denna-" + "z4Wp9" * 5
    gone = [(one, "<1>"), (two, "<2>"), (one, "<1>")]
    for text, left in (
        (f"Not {two}, and not {one}, nor {two}: {one[:20]}", "Not <2>, and not <1>, nor <2>: <1>"),
        (f"It ends within {one[:14]}", "It ends within <1>"),
        (f"…{two[9:]} begins within", "…<2> begins within"),
        (f"Fewer stand there by chance: {one[:9]}", f"Fewer stand there by chance: {one[:9]}"),
    ):
        spans = [(found.start, found.end, found.mark) for found in remnants(text, gone)]
        assert applied(text, spans) == left
