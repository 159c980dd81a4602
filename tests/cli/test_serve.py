"""`pagefault serve`, run as a person would: it starts, says where, refuses plainly, stops."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import httpx2
import pytest

import pagefault
from tests import warm
from tests.cli.conftest import Cli
from tests.proxy.histories import body, user
from tests.proxy.upstream import Say, Seen, Upstream, always

KEY = "sk-ant-api03-none-of-your-business-0123456789"


@contextmanager
def serving(
    *words: str, root: Path, popen: type[subprocess.Popen[Any]] = warm.Forked
) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-m", "pagefault.cli", "serve", "--port", "0", *words]
    process = popen(
        [*command, "--root", str(root)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PAGEFAULT_HOME": str(root)},
    )
    try:
        yield process
    finally:
        if process.poll() is None:
            process.kill()
        process.communicate(timeout=300)


@pytest.mark.slow
def test_it_says_where_it_listens_passes_on_logs_and_stops_when_told(tmp_path: Path) -> None:
    root = tmp_path / "memory"
    words = ("--window", "5000", "--json")
    with (
        Upstream(always("Good day.")) as upstream,
        serving("--upstream", upstream.url, *words, root=root, popen=subprocess.Popen) as process,
    ):
        assert process.stdout is not None
        told = json.loads(process.stdout.readline())
        assert told == {
            "url": told["url"], "upstream": upstream.url, "upstreams": {}, "root": str(root),
            "window": 5000, "instance": told["instance"], "pid": process.pid, "log": "",
        }  # fmt: skip
        answer = httpx2.post(
            f"{told['url']}/v1/messages",
            json=body(user("hello")),
            headers={"x-api-key": KEY},
            timeout=300,
        )
        assert answer.json()["content"] == [{"type": "text", "text": "Good day."}]
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=300)
        assert process.returncode == 0
    assert "POST /v1/messages 200" in said
    assert "stopped after 1 request" in said
    assert KEY not in said
    assert "Traceback" not in said


def test_a_mode_given_by_a_command_reaches_a_proxy_and_a_program_that_run(
    cli: Cli, tmp_path: Path
) -> None:
    root = tmp_path / "memory"
    headers = {"x-api-key": KEY, "x-pagefault-session": "agent"}

    def log() -> bytes:
        return b"".join(path.read_bytes() for path in sorted((root / "log").iterdir()))

    with (
        Upstream(always("Good day.")) as upstream,
        serving("--upstream", upstream.url, "--json", root=root) as process,
        pagefault.sync.open(root) as memory,
    ):
        assert process.stdout is not None
        url = json.loads(process.stdout.readline())["url"]

        def ask(text: str) -> None:
            httpx2.post(
                f"{url}/v1/messages", json=body(user(text)), headers=headers, timeout=300
            ).raise_for_status()

        session = memory.session("talk")
        ask("Hello")
        session.user("Hello")
        assert cli("--root", root, "mode", "paused").code == 0
        before = log()
        ask("Say no word of the lighthouse")
        session.user("Say no word of the lighthouse")
        session.request()
        assert log() == before
        assert session.control == "paused"
        assert cli("--root", root, "mode", "assist").code == 0
        session.user("The harbour")
        ask("The harbour")
        assert log() != before, "the control: it is written again"
    assert b"lighthouse" not in log()


@pytest.mark.slow
def test_who_waits_for_an_answer_is_told_in_its_own_format_that_the_proxy_was_stopped(
    tmp_path: Path,
) -> None:
    asked = threading.Event()

    def thinks(_: Seen) -> Say:
        asked.set()
        time.sleep(8)
        return Say(text="Good day.")

    with (
        Upstream(thinks) as upstream,
        serving("--upstream", upstream.url, "--json", root=tmp_path / "memory") as process,
        ThreadPoolExecutor(1) as pool,
    ):
        assert process.stdout is not None
        url = json.loads(process.stdout.readline())["url"]
        waiting = pool.submit(
            httpx2.post, f"{url}/v1/messages", json=body(user("hello")), timeout=300
        )
        assert asked.wait(300)
        process.send_signal(signal.SIGINT)
        answer = waiting.result(timeout=300)
        assert (answer.status_code, answer.json()["type"]) == (503, "error")
        assert "stopped" in answer.json()["error"]["message"]
        _, said = process.communicate(timeout=300)
        assert process.returncode == 0
    assert "Traceback" not in said


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["--upstream", "https://api.example.com", "--host", "0.0.0.0"], "other machines"),
        (["--upstream", "http://api.example.com"], "plain http"),
        (["--upstream", "ftp://x"], "not an http or https address"),
        (["--upstream", "https://user:key@api.example.com"], "without user, password"),
        ([], "--upstream"),
        (["--upstream", "https://api.example.com", "--faults"], "--window"),
    ],
)
def test_what_would_be_unsafe_is_refused_before_anything_listens(
    tmp_path: Path, words: list[str], why: str
) -> None:
    root = tmp_path / "memory"
    with serving(*words, root=root) as process:
        _, said = process.communicate(timeout=300)
    assert process.returncode == 2
    assert why in said
    assert "key@" not in said
    assert not root.exists()


def test_a_port_that_is_taken_is_named(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        words = ["--upstream", "https://api.example.com", "--port", str(port)]
        with serving(*words, root=tmp_path) as process:
            _, said = process.communicate(timeout=300)
    assert process.returncode == 2
    assert f"port {port} is in use" in said


def test_a_window_too_small_for_any_request_is_refused(cli: Cli, tmp_path: Path) -> None:
    for window in ("10", "0", "-1"):
        refused = cli(
            *("--root", tmp_path / "m", "serve", "--upstream", "http://127.0.0.1:9"),
            *("--window", window),
        )
        assert refused.code == 2
        assert "at least 256" in refused.err
    assert not (tmp_path / "m").exists()


def test_a_missing_package_is_named_before_a_memory_is_made(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    refused = cli("--root", tmp_path / "m", "serve", "--upstream", "http://127.0.0.1:9")
    assert refused.code == 2
    assert "the package uvicorn, which is not installed" in refused.err
    assert not (tmp_path / "m").exists()


@pytest.mark.parametrize("is_answered", [True, False], ids=["answered", "under way"])
def test_a_killed_proxy_loses_only_the_json_of_a_request_under_way(
    is_answered: bool, tmp_path: Path
) -> None:
    """A resumed client leaves its old thinking out, and the provider is sent it all the same, if
    the request that brought it had its answer. Words are logged in either case.
    """
    thinking = {"type": "thinking", "thinking": "In the notes.", "signature": "c2ln"}
    called = {"type": "tool_use", "id": "c1", "name": "Read", "input": {"path": "notes.txt"}}
    found = {"type": "tool_result", "tool_use_id": "c1", "content": "The swifts nest there. " * 30}
    first = [user("Where do the swifts nest?")]
    second = [*first, {"role": "assistant", "content": [thinking, called]}, user(found)]
    resumed = [*first, {"role": "assistant", "content": [called]}, user(found)]
    goes_on, waits = threading.Event(), threading.Event()
    said = iter([Say(text="I look."), Say(pieces=(waits,)) if not is_answered else Say(text="So.")])
    headers = {"x-api-key": KEY, "x-pagefault-session": "s"}

    def answer(seen: Seen) -> Say:
        say = next(said, Say(text="Under the eaves."))
        if say.pieces:
            goes_on.set()
        return say

    def ask(url: str, messages: list[Any]) -> None:
        with suppress(httpx2.TransportError):
            httpx2.post(f"{url}/v1/messages", json=body(*messages), headers=headers, timeout=300)

    words = ("--window", "5000", "--json")
    with Upstream(answer) as upstream:
        with serving("--upstream", upstream.url, *words, root=tmp_path) as process:
            assert process.stdout is not None
            url = json.loads(process.stdout.readline())["url"]
            ask(url, first)
            asking = threading.Thread(target=ask, args=(url, second))
            asking.start()
            if is_answered:
                asking.join()
            else:
                assert goes_on.wait(300)
            _until_it_is_logged(tmp_path, "swifts nest there", "So." if is_answered else "")
            process.kill()
            waits.set()
            asking.join()
        with serving("--upstream", upstream.url, *words, root=tmp_path) as process:
            assert process.stdout is not None
            url = json.loads(process.stdout.readline())["url"]
            ask(url, [*resumed, {"role": "assistant", "content": "So."}, user("And when?")])
        sent = upstream.seen[-1].body["messages"]
    assert sent[:3] == (second if is_answered else resumed)


def _until_it_is_logged(root: Path, *words: str) -> None:
    for _ in range(600):
        log = "".join(file.read_text() for file in (root / "log").glob("*.jsonl"))
        if all(word in log for word in words):
            return
        time.sleep(0.05)
    raise AssertionError(f"not logged: {words}")
