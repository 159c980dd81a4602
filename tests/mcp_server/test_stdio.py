"""`pagefault mcp` as a client runs it: a process whose stdin and stdout are the protocol."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import pagefault
from tests import warm
from tests.faults.media import tmpfs
from tests.integrations.frameworks import needs
from tests.mcp_server.memories import TALKS, data, fill, refused, text_of

if TYPE_CHECKING:
    from mcp import Client

pytestmark = needs("mcp", "the package mcp")

WAIT_S = 300
HELLO = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    },
}


@pytest.fixture
async def root(tmp_path: Path, empty_home: Path) -> Path:
    path = tmp_path / "m"
    async with pagefault.open(path, sync="os") as memory:
        await fill(memory)
    return path


def command(root: Path, *words: str) -> list[str]:
    return ["-m", "pagefault.cli", "--root", str(root), "mcp", *words]


def started_client(root: Path, *words: str, mode: str = "auto") -> Client:
    """One that starts it; it gives its children few variables by itself."""
    from mcp import Client
    from mcp.client.stdio import StdioServerParameters, stdio_client

    program, *arguments = *warm.python(), *command(root, *words)
    server = StdioServerParameters(command=program, args=arguments, env=dict(os.environ))
    return Client(stdio_client(server), mode=mode)


class Child:
    """A server that is spoken to in lines."""

    def __init__(self, root: Path, *, popen: type[subprocess.Popen[Any]] = warm.Forked) -> None:
        pipe = subprocess.PIPE
        self.process = popen(
            [sys.executable, *command(root)], stdin=pipe, stdout=pipe, stderr=pipe, text=True
        )

    def say(self, message: dict[str, Any] | str) -> None:
        assert self.process.stdin is not None
        line = message if isinstance(message, str) else json.dumps(message)
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()

    def hear(self) -> Any:
        assert self.process.stdout is not None
        return json.loads(self.process.stdout.readline())

    def end(self) -> tuple[int, str, str]:
        """Close stdin, and tell how it ended: its code, and what it still said on either side."""
        out, err = self.process.communicate(timeout=WAIT_S)
        return self.process.returncode, out, err


@pytest.fixture
def popen() -> type[subprocess.Popen[Any]]:
    return warm.Forked


@pytest.fixture
def child(root: Path, popen: type[subprocess.Popen[Any]]) -> Iterator[Child]:
    one = Child(root, popen=popen)
    yield one
    one.process.kill()
    with suppress(ValueError):  # it was told to end, and read to its end
        one.process.communicate()


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["legacy", "auto"])
async def test_a_client_of_either_era_starts_it_and_is_answered(root: Path, mode: str) -> None:
    async with started_client(root, mode=mode) as one:
        era = one.protocol_version
        assert era == ("2025-11-25" if mode == "legacy" else "2026-07-28")
        found = await data(one, "memory_recall", query="What did we decide about the heating?")
        assert found["pages"][0]["text"] == TALKS["planning"][0]
        assert "no page" in await refused(one, "page_fault", page_id="msg_9", session="planning")


@pytest.mark.slow
async def test_what_another_process_writes_meanwhile_is_found(root: Path) -> None:
    async with started_client(root) as one:
        before = text_of(await one.call_tool("memory_recall", {"query": "thermostat"}))
        async with pagefault.open(root, sync="os") as memory:
            session = await memory.session("planning")
            await session.user("The thermostat hangs beside the door.")
            after = text_of(await one.call_tool("memory_recall", {"query": "thermostat"}))
    assert ("door" in before, "door" in after) == (False, True)


@pytest.mark.slow
async def test_a_note_is_kept_for_the_next_process(root: Path) -> None:
    async with started_client(root, "--write") as one:
        await data(one, "remember", text="The boiler is a Viessmann.")
    async with pagefault.open(root) as memory:
        [hit, *_] = (await memory.recall("Viessmann")).hits
        assert hit.page.origin == "tool:mcp"


@pytest.mark.slow
@pytest.mark.parametrize("popen", [subprocess.Popen], ids=["started anew"])
def test_stdout_carries_the_protocol_and_nothing_else(child: Child) -> None:
    child.say("this is no message")
    child.say(HELLO)
    answer = child.hear()
    while answer.get("id") != 1:
        answer = child.hear()
    assert answer["result"]["serverInfo"]["name"] == "pagefault"
    assert "memory_recall" in answer["result"]["instructions"]
    code, out, err = child.end()
    assert (code, out) == (0, "")
    assert "Traceback" not in err


@pytest.mark.slow
def test_a_line_that_is_no_message_is_answered_too(child: Child) -> None:
    child.say(HELLO)
    child.hear()
    child.say("no JSON")
    child.say("[" * 100_000)
    child.say({"jsonrpc": "2.0", "id": 7})
    child.say({"jsonrpc": "2.0", "id": 8, "result": {}})  # an answer, which nobody answers
    asked = {"name": "search_pages", "arguments": {"query": "compressor \ud83d"}}
    child.say({"jsonrpc": "2.0", "id": 9, "method": "tools/call", "params": asked})
    heard = [child.hear() for _ in range(4)]
    codes = [(one["id"], one["error"]["code"]) for one in heard[:3]]
    assert codes == [(None, -32700), (None, -32700), (7, -32600)]
    assert heard[3]["id"] == 9
    assert heard[3]["result"]["structuredContent"]["results"], "half of a character is left out"


@pytest.mark.slow
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 0)])
def test_it_ends_when_told_to_while_it_waits_for_a_line(
    child: Child, number: signal.Signals, code: int
) -> None:
    child.say(HELLO)
    child.hear()
    child.process.send_signal(number)
    assert child.process.wait(timeout=WAIT_S) == code
    assert child.process.stderr is not None
    assert child.process.stderr.read().strip() in ("interrupted", "")


@pytest.mark.slow
def test_a_line_without_an_end_is_not_kept(child: Child) -> None:
    child.say("x" * 6_000_000)
    child.say(HELLO)
    answer = child.hear()
    while answer.get("id") != 1:
        answer = child.hear()
    assert answer["result"]["protocolVersion"] == "2025-11-25"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "code", "said"),
    [((), 3, "no memory"), (("--session", "nowhere"), 3, "no session 'nowhere'")],
)
def test_what_is_not_there_is_said_before_anything_is_served(
    root: Path, words: tuple[str, ...], code: int, said: str
) -> None:
    where = root if words else root / "elsewhere"
    done = subprocess.run(
        [*warm.python(), *command(where, *words)],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=WAIT_S,
        check=False,
    )
    assert (done.returncode, done.stdout) == (code, "")
    assert said in done.stderr


@pytest.mark.slow
def test_without_its_package_it_says_how_to_get_it(root: Path) -> None:
    blocked = "import sys; sys.modules['mcp'] = None; from pagefault.cli import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", blocked, "--root", str(root), "mcp"],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=WAIT_S,
        check=False,
    )
    assert done.returncode == 2
    assert "pip install 'pagefault[mcp]'" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.slow
async def test_on_a_full_disk_memory_is_read_and_a_note_is_refused(
    tmp_path: Path, empty_home: Path
) -> None:
    folder = tmp_path / "small"
    folder.mkdir()
    with tmpfs(folder, 20_000) as disk:
        root = disk.folder / "m"
        async with pagefault.open(root, sync="os") as memory:
            await fill(memory)
        async with started_client(root, "--write") as one:
            disk.fill()
            for number in range(200):
                asked = {"text": f"Note {number}: {'the boiler is new ' * 20}"}
                result = await one.call_tool("remember", asked)
                if result.is_error:
                    break
            assert "full" in text_of(result) or "space" in text_of(result)
            found = await data(one, "memory_recall", query="What did we decide about the heating?")
            assert found["pages"][0]["text"] == TALKS["planning"][0]
