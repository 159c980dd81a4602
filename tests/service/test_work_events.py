"""Typed events: what calls did, asked by file, command and test, in whatever way they came in."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

import pagefault
from pagefault.model.errors import BadInput, SessionNotFound
from pagefault.model.request import ToolCall
from pagefault.service.bootstrap import open_memory
from tests.service.test_retention import Clock
from tests.service.traces import Files

FAILED = "F\nFAILED tests/test_tea.py::test_boils - assert 1 == 2\n1 failed, 1 passed in 0.02s"
PASSED = "..\n2 passed in 0.02s\n"
NAMED = "tests/test_tea.py::test_boils PASSED [ 50%]\n2 passed in 0.02s\n"
RECORDINGS = Path(__file__).parents[1] / "history" / "recordings"


async def run(
    session: pagefault.Session, name: str, arguments: dict[str, Any], result: str, **more: Any
) -> None:
    """A user asks, a model calls, a tool answers."""
    await session.user("Go on.")
    call_id = f"c{(await session.status()).pages}"
    await session.assistant("", calls=[ToolCall(call_id, name, json.dumps(arguments))])
    await session.tool_result(call_id, result, **more)


async def test_commands_files_and_tests_of_a_sessions_own_calls(tmp_path: Path) -> None:
    async with open_memory(tmp_path / "m", clock=Clock()) as memory:
        session = await memory.session("talk")
        await run(session, "Write", {"file_path": "src/tea.py", "content": "x = 1\n"}, "Done.")
        await run(session, "Bash", {"command": "pytest -q"}, FAILED)
        await run(session, "Bash", {"command": "make"}, "Exit code 2\nno", is_error=True)
        kinds = sorted(one.event_type for one in await memory.events())
        assert kinds == ["command_run", "command_run", "file_change", "test_result"]
        [change] = await memory.events(path="tea.py")
        assert (change.path, change.change, change.failed) == ("src/tea.py", "written", False)
        assert change.page_id.startswith("msg_")
        assert "Done." in (await session.page(change.result_id)).text
        [make] = await memory.events(command="make")
        assert (make.argv, make.exit_code, make.failed) == (("make",), 2, True)
        [tests] = await memory.events(event_type="test_result")
        assert (tests.runner, tests.tests_passed, tests.tests_failed) == ("pytest", 1, 1)
        assert tests.failing == ("tests/test_tea.py::test_boils",)
        assert tests.script == "pytest -q"


async def test_when_a_test_last_passed(tmp_path: Path) -> None:
    clock = Clock()
    async with open_memory(tmp_path / "m", clock=clock) as memory:
        session, moments = await memory.session("talk"), []
        for result in (NAMED, FAILED, PASSED, FAILED, "collected 0 items"):
            clock.pass_days(1)
            moments.append(clock.ms)
            await run(session, "Bash", {"command": "pytest"}, result)
        clock.pass_days(1)
        await run(session, "Bash", {"command": "pytest tests/test_cake.py"}, PASSED)
        named = await memory.events(test="test_boils")
        assert [(one.outcome, one.how) for one in named] == [
            ("failed", "named"),
            ("passed", "whole"),
            ("failed", "named"),
            ("passed", "named"),
        ], "what ran other tests, or none, says nothing of this one"
        [last] = await memory.events(test="test_boils", outcome="passed", limit=1)
        assert last.at_ms == moments[2]
        [failed] = await memory.events(
            test="tests/test_tea.py::test_boils", outcome="failed", limit=1
        )
        assert failed.at_ms == moments[3]
        assert await memory.events(test="test_nothing_of_the_kind", outcome="failed") == []


async def test_a_run_that_failed_elsewhere_passed_the_rest(tmp_path: Path) -> None:
    async with open_memory(tmp_path / "m", clock=Clock()) as memory:
        session = await memory.session("talk")
        await run(session, "Bash", {"command": "pytest tests/test_tea.py"}, FAILED)
        [other] = await memory.events(test="tests/test_tea.py::test_pours")
        assert (other.outcome, other.how) == ("passed", "selected")
        await run(session, "Bash", {"command": "pytest -q"}, "FF\n2 failed, 3 passed in 0.1s")
        [only] = await memory.events(test="tests/test_tea.py::test_pours")
        assert only.how == "selected", "a failure without a name may be this one's"


async def test_hashes_are_keyed_and_the_same_for_the_same_content(tmp_path: Path) -> None:
    hashes = []
    for root in ("one", "two"):
        async with open_memory(tmp_path / root) as memory:
            session = await memory.session("talk")
            for name in ("a", "b"):
                await run(session, "Write", {"file_path": name, "content": "same"}, "Done.")
            await session.record_event("file_change", facts={"path": "c", "content": "same"})
            hashes.append({one.hash for one in await memory.events()})
    assert [len(one) for one in hashes] == [1, 1]
    assert hashes[0] != hashes[1]
    assert "0967115f2813a3541eaef77de9d9d577" not in str(hashes), "no bare digest"


async def test_what_a_host_states(tmp_path: Path) -> None:
    async with open_memory(tmp_path / "m") as memory:
        session = await memory.session("talk")
        await session.record_event("voice_transcript", "Please run the tests.")
        await session.record_event("command_intent", "run pytest on the tea")
        await session.record_event(
            "command_run",
            NAMED,
            facts={"argv": ["pytest", "-v"], "exit_code": 0, "duration_ms": 1_200},
        )
        await session.record_event(
            "test_result", facts={"runner": "mine", "passing": ["a"], "failing": ["b"]}
        )
        page = await session.record_event("test_result", FAILED)
        told = {str(one.event_type): one for one in await memory.events(limit=100)}
        assert told["voice_transcript"].text == "Please run the tests."
        assert told["voice_transcript"].origin == "user_typed"
        [intent] = await memory.events(command="pytest on")
        assert intent.event_type == "command_intent"
        [ran] = await memory.events(event_type="command_run")
        assert (ran.argv, ran.exit_code, ran.duration_ms) == (("pytest", "-v"), 0, 1_200)
        assert ran.origin == "command_output"
        [mine] = await memory.events(test="b")
        assert (mine.runner, mine.outcome) == ("mine", "failed")
        boils = await memory.events(test="test_boils")
        assert {(one.page_id == page, one.outcome) for one in boils} == {
            (True, "failed"),
            (False, "passed"),
        }


@pytest.mark.parametrize(
    ("event_type", "text", "facts"),
    [
        ("chat_turn", "x", {}),
        ("sneezed", "x", {}),
        ("voice_transcript", "", {}),
        ("voice_transcript", "x", {"argv": ["x"]}),
        ("command_run", "x", {}),
        ("command_run", "", {"argv": "pytest"}),
        ("command_run", "", {"argv": ["x"], "exit_code": "0"}),
        ("command_run", "", {"argv": ["x"], "duration_ms": -1}),
        ("file_change", "", {"path": ""}),
        ("file_change", "", {"path": "a", "change": "renamed"}),
        ("test_result", "", {"passed": True}),
        ("test_result", "", {}),
    ],
)
async def test_what_cannot_be_stated(
    tmp_path: Path, event_type: str, text: str, facts: dict[str, Any]
) -> None:
    async with open_memory(tmp_path / "m") as memory:
        session = await memory.session("talk")
        before = memory.records
        with pytest.raises(BadInput):
            await session.record_event(event_type, text, facts=facts)
        assert memory.records == before


async def test_what_is_forgotten_is_no_event_and_a_secret_none_in_one(tmp_path: Path) -> None:
    root, secret = tmp_path / "m", "Zx81-Qp93kLm27Vt65nR"
    async with open_memory(root, secrets={"key": secret}) as memory:
        session = await memory.session("talk")
        await run(session, "Bash", {"command": f"deploy --key {secret}"}, f"used {secret}")
        [ran] = await memory.events(command="deploy")
        assert secret not in str(ran)
        assert "REDACTED" in ran.script
        await memory.forget("talk", ran.page_id)
        assert await memory.events() == []
    assert not Files(root).traces({"secret": secret})


async def test_a_long_result_is_read_whole(tmp_path: Path) -> None:
    limits = pagefault.Limits(page_tokens_max=64)
    async with open_memory(tmp_path / "m", limits=limits) as memory:
        session = await memory.session("talk")
        names = "".join(f"tests/test_tea.py::test_{n} PASSED\n" for n in range(300))
        await run(session, "Bash", {"command": "pytest -v"}, f"{names}300 passed in 1.00s\n")
        [told] = await memory.events(event_type="test_result")
        assert (told.tests_passed, len(told.passing)) == (300, 300)


async def test_events_are_of_a_session_or_of_all_and_bounded_by_times(tmp_path: Path) -> None:
    clock = Clock()
    async with open_memory(tmp_path / "m", clock=clock) as memory:
        for name in ("a", "b"):
            await run(await memory.session(name), "Bash", {"command": f"ls {name}"}, "")
            clock.pass_days(1)
        assert [one.session for one in await memory.events()] == ["b", "a"]
        assert [one.script for one in await memory.events(session="a")] == ["ls a"]
        assert [one.script for one in await memory.events(limit=1)] == ["ls b"]
        noon = datetime.fromtimestamp(clock.ms / 1000 - 1.5 * 86_400, UTC)
        assert [one.script for one in await memory.events(since=noon)] == ["ls b"]
        assert [one.script for one in await memory.events(until=noon)] == ["ls a"]
        with pytest.raises(SessionNotFound):
            await memory.events(session="nowhere")
        with pytest.raises(BadInput):
            await memory.events(outcome="maybe")
        with pytest.raises(BadInput):
            await memory.events(event_type="sneezed")
        with pytest.raises(BadInput):
            await memory.events(since="some day")


ASKED: list[dict[str, Any]] = [
    *({"path": path} for path in ("tea.py", "src/", "über/tëa.py", "Pot.java")),
    *({"command": words} for words in ("pytest", "make  kettle", "ake kett", "it's", "echo é")),
    *({"test": name} for name in ("test_boils", "tests/test_tea.py::test_boils", "Pot.leaks")),
    *({"outcome": "failed"}, {"event_type": "test_result"}, {"test": "test_rare"}),
    {"test": "test_boils", "outcome": "passed"},
    {"path": "tea.py", "command": "pytest"},
]


async def test_what_is_asked_for_is_found_whether_or_not_lines_are_looked_at_first(
    tmp_path: Path,
) -> None:
    """A memory in memory alone has no lines in a log: there every call is read."""
    long = "x = 1  # of the kettle\n" * 900
    outputs = [NAMED, FAILED, PASSED, "\x1b[32m\x1b[1m2 passed\x1b[0m in 0.02s", "no tests"]

    async def found(where: Path | str) -> list[list[Any]]:
        async with open_memory(where, clock=Clock()) as memory:
            session = await memory.session("talk")
            for path in ("src/tea.py", "über/tëa.py", "a/Pot.java"):
                await run(session, "Write", {"file_path": path, "content": "x"}, "Done.")
            await run(session, "Write", {"content": long, "file_path": "late/tea.py"}, "Done.")
            for command in ("pytest", "pytest tests/test_tea.py", "cd a && pytest -k test_rare"):
                for output in outputs:
                    await run(session, "Bash", {"command": command}, output)
                    await run(session, "shell", {"command": ["bash", "-lc", command]}, output)
            await run(session, "Bash", {"command": "pytest"}, json.dumps({"output": NAMED}))
            await run(session, "Bash", {"command": "pytest"}, "y" * 30_000 + "\n" + FAILED)
            for command in ("make kettle", "echo é", 'echo "it\'s"', "cat log | grep passed"):
                await run(session, "Bash", {"command": command}, f"{command}\n3 passed in 0.1s")
            await session.record_event("test_result", FAILED)
            await session.record_event("command_run", facts={"argv": ["make", "kettle"]})
            return [
                [replace(one, session_id="", hash="") for one in await memory.events(**asked)]
                for asked in ASKED
            ]

    here, everything_read = await found(tmp_path / "m"), await found(":memory:")
    for asked, one, other in zip(ASKED, here, everything_read, strict=True):
        assert one == other, asked
        nothing = asked in ({"path": "tea.py", "command": "pytest"}, {"test": "Pot.leaks"})
        assert one or nothing, asked


async def test_what_was_withdrawn_is_told_as_such_and_believed_of_no_test(tmp_path: Path) -> None:
    async with open_memory(tmp_path / "m", clock=Clock()) as memory:
        session = await memory.session("talk")
        await run(session, "Bash", {"command": "pytest -q"}, FAILED)
        await run(session, "Bash", {"command": "pytest tests/test_tea.py"}, NAMED)
        [event, _] = await memory.events(event_type="command_run")
        assert (await memory.events(test="test_boils", outcome="passed")) != [], "the control"
        await memory.revoke_origin(session, event.result_id)
        [event, other] = await memory.events(event_type="command_run")
        assert (event.withdrawn, other.withdrawn) == (True, False)
        assert event.script == "pytest tests/test_tea.py", "what was called for is kept"
        assert await memory.events(test="test_boils", outcome="passed") == []
        assert [one.tests_failed for one in await memory.events(event_type="test_result")] == [1]
        page = await session.record_event("command_run", facts={"argv": ["pour"], "exit_code": 3})
        await memory.revoke_origin(session, page)
        [stated] = await memory.events(command="pour")
        assert (stated.withdrawn, stated.exit_code, stated.failed) == (True, None, False)


async def test_imports_have_their_events(tmp_path: Path) -> None:
    aider = tmp_path / "p" / ".aider.chat.history.md"
    aider.parent.mkdir()
    aider.write_text(
        "# aider chat started at 2025-03-01 10:00:00\n\n"
        "#### /test pytest -q\n"
        "> F\n> FAILED tests/test_tea.py::test_boils - no\n> 1 failed in 0.10s\n\n"
        "#### Please mend it.\n\nI did.\n"
    )
    async with open_memory(tmp_path / "m") as memory:
        await memory.import_history([RECORDINGS, aider])
        echoed = await memory.events(command="echo eaves")
        [codex] = [one for one in echoed if "codex" in one.session]
        assert (codex.exit_code, codex.duration_ms, codex.failed) == (0, 0, False)
        assert codex.origin == "import"
        [claude] = [one for one in echoed if "claude" in one.session]
        assert claude.argv == ("echo", "eaves")
        assert pagefault.WorkEvent is type(claude)
        [tests] = await memory.events(test="test_boils")
        assert (tests.outcome, tests.script) == ("failed", "pytest -q")
        assert tests.at_ms // 86_400_000 == 20_148, "when it was, not when it was imported"
