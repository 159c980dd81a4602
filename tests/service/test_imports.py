"""Imports: what comes in, once, from whom, and what it may not do."""

from __future__ import annotations

import asyncio
import json
import tempfile
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

import pagefault
from pagefault import BadInput, Memory, SearchFilter, SessionNotFound, StoreReadOnly
from pagefault.service import imports
from pagefault.service.bootstrap import open_memory
from tests.examples import few
from tests.history import exports
from tests.service.memories import text_of

SECRET = "correct-horse-battery-staple"


@asynccontextmanager
async def opened(root: Path | str, **options: Any) -> AsyncIterator[Memory]:
    async with open_memory(root, window=4_000, sync="os", **options) as memory:
        yield memory


async def told(memory: Memory) -> dict[str, list[str]]:
    """The texts of every session, by its name."""
    found = {}
    for row in await memory.sessions():
        session = await memory.session(row.session_id, create=False)
        pages = await memory.pages(session, limit=10_000)
        found[row.name] = [(await memory.read(page)).text for page in pages]
    return found


async def talks(memory: Memory) -> list[list[str]]:
    """The texts of every session: names may be keyed with the memory's own secret."""
    return sorted((await told(memory)).values())


def an_export(folder: Path) -> Path:
    """Something of every program."""
    exports.jsonl(folder / "cc.jsonl", exports.claude_code())
    exports.chatgpt_zip(folder / "gpt.zip")
    (folder / "claude.json").write_text(json.dumps(exports.claude()))
    (folder / "projects.json").write_text(json.dumps(exports.claude_projects()))
    exports.jsonl(folder / "rollout.jsonl", exports.codex())
    exports.opencode_store(folder / "oc")
    (folder / "aider.md").write_text(exports.AIDER)
    (folder / "messages.json").write_text(json.dumps(exports.messages()))
    (folder / "note.md").write_text(exports.NOTE)
    return folder


SOURCES = {"claude-code", "chatgpt", "claude", "codex", "opencode", "aider", "messages", "notes"}


async def test_everything_comes_in_once_with_its_source_project_and_time(tmp_path: Path) -> None:
    export = an_export(tmp_path / "x")
    async with opened(tmp_path / "m") as memory:
        planned = await memory.import_history([export], dry_run=True)
        assert not planned.done
        assert await memory.sessions() == []
        report = await memory.import_history([export])
        assert report.done
        assert report.flaws == planned.flaws == ()
        assert report.sources == planned.sources, "what was shown is what was written"
        assert {one.source for one in report.sources} == SOURCES
        again = await memory.import_history([export])
        assert (again.messages, again.sessions, again.known) == (0, 0, report.messages)
        assert again.run == ""
        sessions = await memory.imports()
        assert len(sessions) == report.sessions
        assert sum(one.pages for one in sessions) == report.messages
        assert {one.source for one in sessions} == SOURCES
        assert all(one.runs == (report.run,) and not one.is_approved for one in sessions)
        found = await memory.recall("tower is 31 metres high", limit=1)
        assert (found.hits[0].source, found.hits[0].project) == ("claude", "Tower")
        assert found.hits[0].occurred_at == "2025-04-01T08:00:00.000Z"
        assert (await memory.verify()).problems == ()


async def test_no_path_is_written_down(tmp_path: Path) -> None:
    export = an_export(tmp_path / "a-very-own-folder" / "x")
    async with opened(tmp_path / "m") as memory:
        await memory.import_history([export])
    log = b"".join(path.read_bytes() for path in (tmp_path / "m").rglob("*") if path.is_file())
    assert b"somebody" in (export / "cc.jsonl").read_bytes(), "the control: the file has one"
    assert b"a-very-own-folder" not in log
    assert b"/home/somebody" not in log


async def test_the_branch_that_is_current_is_the_session_and_an_edit_is_a_fork(
    tmp_path: Path,
) -> None:
    exports.chatgpt_zip(tmp_path / "x")
    async with opened(tmp_path / "m") as memory:
        await memory.import_history([tmp_path / "x"])
        rows = {row.session: row for row in await memory.sessions()}
        [fork] = [row for row in rows.values() if row.parent]
        texts = await told(memory)
        main = texts["import:chatgpt:conv-1"]
        assert main[:3] == [
            "Where do the swifts nest?",
            "Under the eaves.",
            "How many holes in June?",
        ]
        assert rows[fork.parent].name == "import:chatgpt:conv-1"
        assert texts[fork.name] == [*main[:2], "How many holes?", "Eleven."]


async def test_calls_are_items_and_attachments_are_artifacts(tmp_path: Path) -> None:
    exports.chatgpt_zip(tmp_path / "x")
    async with opened(tmp_path / "m") as memory:
        await memory.import_history([tmp_path / "x"])
        session = await memory.session("import:chatgpt:conv-1", create=False)
        kinds = [str(item.kind) for item in await session.items()]
        assert kinds == [
            *("message", "message", "message", "call", "result", "message", "media", "message"),
        ]
        [art] = [row for row in await memory.pages(session) if row.kind == "artifact"]
        assert await session.artifact_bytes(art.page_id) == exports.PIXEL
        page = await session.page(art.page_id)
        assert (page.title, page.mime_type) == ("bird.png", "image/png")


# --- again, and after a kill ----------------------------------------------------------------------


async def test_of_a_file_that_grew_only_what_is_new_comes_in(tmp_path: Path) -> None:
    lines = exports.claude_code()
    path = exports.jsonl(tmp_path / "x", lines[:6])
    async with opened(tmp_path / "m") as memory:
        first = await memory.import_history([path])
        exports.jsonl(path, lines)
        second = await memory.import_history([path])
        assert second.known == first.messages
        in_two = await talks(memory)
    async with opened(tmp_path / "n") as memory:
        exports.jsonl(path, lines)
        whole = await memory.import_history([path])
        assert first.messages + second.messages == whole.messages
        assert await talks(memory) == in_two


async def test_an_edit_between_two_exports_becomes_a_fork(tmp_path: Path) -> None:
    path = tmp_path / "x"
    [talk, other] = exports.chatgpt()
    nodes = talk["mapping"]
    older = {
        name: node for name, node in nodes.items() if name not in ("q2b", "t1", "t2", "a3", "q3")
    }
    async with opened(tmp_path / "m") as memory:
        path.write_text(json.dumps([talk | {"mapping": older, "current_node": "a2"}, other]))
        await memory.import_history([path])
        path.write_text(json.dumps([talk, other]))
        report = await memory.import_history([path])
        assert (report.sessions, report.messages) == (1, 6)
        texts = await told(memory)
        assert texts["import:chatgpt:conv-1"][2:] == ["How many holes?", "Eleven."]
        [fork] = [name for name in texts if "~" in name]
        assert texts[fork][2:4] == ["How many holes in June?", "print(5 + 6)"]


async def test_the_same_conversation_in_two_files_comes_in_once(tmp_path: Path) -> None:
    for name in ("a", "b"):
        exports.jsonl(tmp_path / "x" / name, exports.claude_code())
    async with opened(tmp_path / "m") as memory:
        planned = await memory.import_history([tmp_path / "x"], dry_run=True)
        report = await memory.import_history([tmp_path / "x"])
        assert report.known == report.messages == planned.messages
        assert planned.sources == report.sources


async def test_what_was_forgotten_in_the_middle_stays_forgotten(tmp_path: Path) -> None:
    path = exports.jsonl(tmp_path / "x", exports.claude_code())
    async with opened(tmp_path / "m") as memory:
        await memory.import_history([path])
        name = f"import:claude-code:{exports.CC_SESSION}"
        session = await memory.session(name, create=False)
        pages = await memory.pages(session)
        await memory.forget(session, pages[3].page_id)
    async with opened(tmp_path / "m") as memory:
        report = await memory.import_history([path])
        assert (report.messages, report.sessions) == (0, 0)


class Killed(Exception):
    """The process died here, as far as the store can tell."""


STEPS = st.lists(st.integers(0, 6), min_size=1, max_size=4)


@few(3, torture=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=STEPS, batch=st.integers(1, 7), opens=st.booleans())
def test_however_often_it_is_killed_each_message_comes_in_once(
    steps: list[int], batch: int, opens: bool, monkeypatch: pytest.MonkeyPatch, empty_home: Path
) -> None:
    """Killed after so many batches, or after the sessions of one were opened; then repeated."""
    monkeypatch.setattr(imports, "BATCH", batch)

    async def work(root: Path, export: Path) -> list[list[str]]:
        for step in [*steps, None]:
            async with opened(root) as memory:
                if step is not None:
                    _kill_after(memory, step, at_opening=opens)
                with suppress(Killed):
                    await memory.import_history([export])
        async with opened(root) as memory:
            assert (await memory.verify()).problems == ()
            return await talks(memory)

    with tempfile.TemporaryDirectory() as folder:
        export = an_export(Path(folder) / "x")
        whole = asyncio.run(_imported(Path(folder) / "whole", export))
        assert asyncio.run(work(Path(folder) / "m", export)) == whole


def _kill_after(memory: Memory, writes: int, *, at_opening: bool) -> None:
    journal, left = memory._runtime.journal, [writes]

    def mortal(verb: Callable[..., Any]) -> Callable[..., Any]:
        async def called(*args: Any) -> Any:
            if left[0] <= 0:
                raise Killed
            left[0] -= 1
            return await verb(*args)

        return called

    journal.bring = mortal(journal.bring)  # type: ignore[method-assign]
    if at_opening:
        journal.open_sessions = mortal(journal.open_sessions)  # type: ignore[method-assign]


async def _imported(root: Path, export: Path) -> list[list[str]]:
    async with opened(root) as memory:
        await memory.import_history([export])
        return await talks(memory)


async def test_giving_up_keeps_what_is_written_and_another_run_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(imports, "BATCH", 4)
    export = an_export(tmp_path / "x")
    async with opened(tmp_path / "m") as memory:
        begun = asyncio.Event()
        loop = asyncio.get_running_loop()
        bring = memory._runtime.journal.bring

        async def slow(*args: Any) -> Any:
            events = await bring(*args)
            loop.call_soon(begun.set)
            await asyncio.sleep(0.01)
            return events

        monkeypatch.setattr(memory._runtime.journal, "bring", slow)
        task = asyncio.ensure_future(memory.import_history([export]))
        await begun.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    whole = await _imported(tmp_path / "whole", export)
    async with opened(tmp_path / "m") as memory:
        assert 0 < sum(map(len, await talks(memory))) < sum(map(len, whole))
        await memory.import_history([export])
        assert await talks(memory) == whole


# --- quarantine -----------------------------------------------------------------------------------

ASKED = "What is the code of the vault below the tower?"
CODE = "xylophone-seventy-seven"


def a_vault(path: Path, *more: dict[str, str]) -> Path:
    said = [
        {"role": "user", "content": f"The code of the vault below the tower is {CODE}."},
        {"role": "assistant", "content": "Noted: the vault below the tower."},
        {"role": "user", "content": "We decided to use Postgres for the tower."},
    ]
    path.write_text(json.dumps([*said, *more]))
    return path


@pytest.mark.parametrize("layout", ["stable", "developer"])
async def test_an_imported_page_is_in_no_request_until_it_is_approved_and_after_it_is_revoked(
    tmp_path: Path, layout: str
) -> None:
    path = a_vault(tmp_path / "x")
    async with opened(tmp_path / "m", layout=layout) as memory:
        report = await memory.import_history([path])
        [one] = await memory.imports()
        found = await memory.recall(ASKED)
        assert CODE in found.hits[0].excerpt, "whoever asks finds it"
        session = await memory.session(one.name, create=False)
        assert CODE in (await session.recall(ASKED)).hits[0].excerpt
        await session.user(ASKED)
        request = await session.request()
        assert CODE not in text_of(request)
        assert "vault" not in text_of(request).replace(ASKED, "")
        await session.assistant("I do not know.")

        await memory.approve_import(run=report.run)
        await session.user(f"Again: {ASKED}")
        assert CODE in text_of(await session.request()), "the control: approved, it is recalled"
        await session.assistant("Now I do.")

        await memory.revoke_import(session=one.name)
        fork = await session.fork("later", turn=2)
        await fork.user(f"And now: {ASKED}")
        assert CODE not in text_of(await fork.request())


async def test_what_is_imported_after_an_approval_waits_anew(tmp_path: Path) -> None:
    path = a_vault(tmp_path / "x")
    async with opened(tmp_path / "m") as memory:
        await memory.import_history([path])
        [one] = await memory.approve_import(source="messages")
        assert one.is_approved
        a_vault(path, {"role": "user", "content": "The second vault opens with accordion-three."})
        await memory.import_history([path])
        [one] = await memory.imports()
        assert not one.is_approved
        session = await memory.session(one.name, create=False)
        await session.user("What opens the second vault? And what is the code of the first vault?")
        request = text_of(await session.request())
        assert "accordion" not in request
        assert CODE in request


async def test_no_claim_is_made_of_what_is_imported(tmp_path: Path) -> None:
    path = a_vault(tmp_path / "x")
    async with opened(tmp_path / "m") as memory:
        await memory.import_history([path])
        await memory.approve_import(source="messages")
        [one] = await memory.imports()
        session = await memory.session(one.name, create=False)
        await session.user("Hello")
        await session.request()
        assert await session.claims() == []
        typed = await memory.session("typed")
        await typed.user("We decided to use Postgres for the tower.")
        assert len(await typed.claims()) == 1, "the control: typed, it is a claim"


async def test_a_claim_that_quotes_an_import_is_in_quarantine_with_it(tmp_path: Path) -> None:
    path = a_vault(tmp_path / "x")
    async with opened(tmp_path / "m") as memory:
        await memory.import_history([path])
        [one] = await memory.imports()
        session = await memory.session(one.name, create=False)
        await session.remember("We decided to use Postgres for the tower")
        assert [claim.authority for claim in await session.claims()] == ["proposed"]
        await session.user("What do we use for the tower?")
        assert "Postgres" not in text_of(await session.request())
        await session.assistant("I do not know.")
        await memory.approve_import(session=one.name)
        await session.user("What do we use for the tower now?")
        assert "Fact: We decided to use Postgres" in text_of(await session.request()), "the control"


async def test_an_imported_page_is_pinned_only_once_it_is_approved(tmp_path: Path) -> None:
    path = a_vault(tmp_path / "x")
    async with opened(tmp_path / "m") as memory:
        await memory.import_history([path])
        [one] = await memory.imports()
        session = await memory.session(one.name, create=False)
        with pytest.raises(BadInput, match="not been approved"):
            await session.pin("msg_1")
        await memory.approve_import(session=one.session_id)
        await session.pin("msg_1")


async def test_a_conversation_goes_on_after_its_import(tmp_path: Path) -> None:
    """Turn after turn in a small window, with epochs and summaries: nothing imported leaks."""
    lines = [{"role": "user", "content": f"Canary number {n} of the tower"} for n in range(60)]
    path = tmp_path / "x"
    path.write_text(json.dumps(lines))
    async with opened(tmp_path / "m") as memory:
        await memory.import_history([path])
        [one] = await memory.imports()
        session = await memory.session(one.name, create=False)
        for turn in range(12):
            await session.user(
                f"What of turn {turn}? " + "The weather in the valley is fine. " * 50
            )
            assert "Canary" not in text_of(await session.request())
            await session.assistant("Fine. " * 150)
        session.check()
        texts = await told(memory)
    async with opened(tmp_path / "m") as memory:
        session = await memory.session(one.name, create=False)
        await session.user("And after a restart?")
        assert "Canary" not in text_of(await session.request())
        assert (await told(memory))[one.name][:-1] == texts[one.name]
        lines.append({"role": "user", "content": "Canary of later"})
        path.write_text(json.dumps(lines))
        report = await memory.import_history([path])
        assert (report.messages, report.sessions) == (1, 1), "it went on elsewhere: a fork"


async def test_an_approval_names_one_thing_that_is_there(tmp_path: Path) -> None:
    async with opened(tmp_path / "m") as memory:
        await memory.import_history([a_vault(tmp_path / "x")])
        with pytest.raises(BadInput, match="one of"):
            await memory.approve_import()
        with pytest.raises(BadInput, match="one of"):
            await memory.approve_import(source="messages", run="imp_1")
        with pytest.raises(SessionNotFound):
            await memory.approve_import(source="codex")
        with pytest.raises(BadInput, match="reserved for imported"):
            await memory.session("import:messages:mine")


# --- what is asked, redacted, forgotten -----------------------------------------------------------


async def test_a_search_is_narrowed_by_source_and_time(tmp_path: Path) -> None:
    export = an_export(tmp_path / "x")
    async with opened(tmp_path / "m") as memory:
        await memory.import_history([export])
        talk = await memory.session("talk")
        await talk.user("Do the swifts nest here, too?")
        for source, expected in {
            "claude": {"claude", "claude-code"},
            "codex": {"codex"},
            "nothing": set(),
        }.items():
            wanted = SearchFilter(imported_from=source)
            found = await memory.recall("swifts nest who ringed it", limit=50, wanted=wanted)
            assert {hit.source for hit in found.hits} == expected
            recent = await memory.recent(50, wanted)
            assert {hit.source for hit in recent.hits} == expected
        wanted = SearchFilter(imported_from="claude", since="2025-04-01", until="2025-05-01")
        found = await memory.recall("swifts nest who ringed it", limit=50, wanted=wanted)
        assert {hit.source for hit in found.hits} == {"claude"}


async def test_what_looks_like_a_secret_is_told_first_and_never_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TOWER_TOKEN", SECRET)
    path = tmp_path / "x"
    path.write_text(json.dumps([{"role": "user", "content": f"It is {SECRET}, really"}]))
    async with opened(tmp_path / "m") as memory:
        planned = await memory.import_history([path], dry_run=True)
        assert dict(planned.secrets) == {"TOWER_TOKEN": 1}
        assert planned.secret_places == (f"{path}, line 1, message 1",)
        report = await memory.import_history([path])
        assert report.secrets == planned.secrets
        assert (await memory.import_history([path])).messages == 0
    files = [path.read_bytes() for path in (tmp_path / "m").rglob("*") if path.is_file()]
    assert not any(SECRET.encode() in data for data in files)


async def test_a_token_that_nobody_configured_is_told_and_redacted_as_well(tmp_path: Path) -> None:
    token = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    path = tmp_path / "x"
    path.write_text(json.dumps([{"role": "user", "content": f"Push with {token} then"}]))
    async with opened(tmp_path / "m") as memory:
        report = await memory.import_history([path])
        assert sum(report.secrets.values()) == 1
        [[text]] = await talks(memory)
        assert token not in text
        assert "[REDACTED:" in text


async def test_forgetting_its_sessions_leaves_nothing_of_an_import(tmp_path: Path) -> None:
    lines = [{"role": "user", "content": "A canary called Ambrosius"}]
    (tmp_path / "x").write_text(json.dumps({"title": "About Ambrosius", "messages": lines}))
    root = tmp_path / "m"

    def traces() -> int:
        files = [path.read_bytes() for path in root.rglob("*") if path.is_file()]
        return sum(b"Ambrosius" in data or b"ambrosius" in data for data in files)

    async with opened(root) as memory:
        await memory.import_history([tmp_path / "x"])
        assert traces(), "the control: it is there"
        [one] = await memory.imports()
        await memory.forget(one.session_id)
        assert await memory.imports() == []
        assert (await memory.verify()).problems == ()
    assert traces() == 0


async def test_a_session_that_another_process_writes_to_is_left_alone(tmp_path: Path) -> None:
    path = a_vault(tmp_path / "x")
    async with opened(tmp_path / "m") as memory:
        await memory.import_history([path])
        [one] = await memory.imports()
    a_vault(path, {"role": "user", "content": "One more"})
    (tmp_path / "y").write_text(json.dumps(exports.messages()))
    async with opened(tmp_path / "m") as memory:
        async with opened(tmp_path / "m") as other:
            session = await other.session(one.name, create=False)
            await session.checkpoint("mine")
            report = await memory.import_history([path, tmp_path / "y"])
            assert [flaw.place for flaw in report.flaws] == [one.name]
            assert report.messages == 5, "the other file came in"
        report = await memory.import_history([path])
        assert (report.messages, report.flaws) == (1, ())
        assert (await memory.verify()).problems == ()


async def test_a_session_that_is_open_here_goes_on_with_what_is_imported_into_it(
    tmp_path: Path,
) -> None:
    path = a_vault(tmp_path / "x")
    async with opened(tmp_path / "m") as memory:
        await memory.import_history([path])
        [one] = await memory.imports()
        session = await memory.session(one.name, create=False)
        a_vault(path, {"role": "user", "content": "One more"})
        assert (await memory.import_history([path])).sessions == 0
        assert await session.user("Mine") == "msg_5"
        assert (await told(memory))[one.name][-2:] == ["One more", "Mine"]
        session.check()
        assert (await memory.verify()).problems == ()


def test_programs_without_an_event_loop_import_as_well(tmp_path: Path, empty_home: Path) -> None:
    path = a_vault(tmp_path / "x")
    with pagefault.sync.open(tmp_path / "m") as memory:
        assert memory.import_history([path]).messages == 3
        assert [one.source for one in memory.imports()] == ["messages"]
        assert memory.approve_import(source="messages")[0].is_approved
        assert not memory.revoke_import(source="messages")[0].is_approved


async def test_where_nothing_is_kept_nothing_is_imported(tmp_path: Path) -> None:
    path = a_vault(tmp_path / "x")
    async with opened(tmp_path / "m") as memory:
        await memory.set_control("paused")
        assert (await memory.import_history([path], dry_run=True)).messages == 3
        with pytest.raises(StoreReadOnly, match="paused"):
            await memory.import_history([path])
        assert await memory.sessions() == []
        await memory.set_control("assist")
        await memory.import_history([path])
        [one] = await memory.imports()
        session = await memory.session(one.name, create=False)
        await session.set_control("paused")
        a_vault(path, {"role": "user", "content": "One more"})
        report = await memory.import_history([path])
        assert (report.messages, [flaw.place for flaw in report.flaws]) == (0, [one.name])
        await session.set_control("assist")
        assert (await memory.import_history([path])).messages == 1


async def test_what_was_imported_is_forgotten_by_its_source_and_by_its_origin(
    tmp_path: Path,
) -> None:
    async with opened(tmp_path / "m") as memory:
        await memory.import_history([a_vault(tmp_path / "x")])
        typed = await memory.session("typed")
        await typed.user("The vault is below the tower.")
        for source, stays in (("codex", 3), ("messages", 1)):
            await memory.forget_matching("vault below", wanted=SearchFilter(imported_from=source))
            left = {name: len(texts) for name, texts in (await told(memory)).items()}
            assert left.pop("typed") == 1
            assert list(left.values()) == [stays]
        await memory.forget_matching(wanted=SearchFilter(origins=("import",)))
        assert sorted(map(len, await talks(memory))) == [0, 1]
