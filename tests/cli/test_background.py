"""Proxies in the background: started once, found again, ended by what they wrote down."""

from __future__ import annotations

import json
import os
import plistlib
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import httpx2
import pytest

from pagefault.cli.background import proxies
from pagefault.proxy.desk import Desk
from pagefault.proxy.running import KEY_HEADER, Running, all_running, listed
from tests.cli.conftest import Cli
from tests.proxy.histories import body, user
from tests.proxy.standing import KEY, SESSION, standing
from tests.proxy.upstream import Upstream, always


@pytest.fixture
def upstream() -> Iterator[Upstream]:
    with Upstream(always("Good day.")) as up:
        yield up


@pytest.mark.slow
@pytest.mark.usefixtures("started_anew")
def test_a_proxy_in_the_background_is_started_once_and_ends_when_told(
    tmp_path: Path, cli: Cli, upstream: Upstream
) -> None:
    words = ("--root", tmp_path / "m", "serve", "--upstream", upstream.url, "--port", "0")
    first = cli(*words, "--detach", "--json").data
    try:
        assert first["started"]
        assert Path(first["log"]).stat().st_mode & 0o077 == 0
        health = httpx2.get(f"{first['url']}/healthz", timeout=300).json()
        assert health["instance"] == first["instance"]
        assert health["memory"]
        assert "key" not in health
        again = cli(*words, "--detach", "--json").data
        assert (again["started"], again["pid"]) == (False, first["pid"])
        other = cli(*words, "--window", "9000", "--detach")
        assert other.code == 4
        assert "`pagefault stop` ends it" in other.err
        answer = httpx2.post(f"{first['url']}/v1/messages", json=body(user("hello")), timeout=300)
        assert answer.json()["content"][0]["text"] == "Good day."
        assert (
            cli("--root", tmp_path / "m", "stop", "--dry-run", "--json").data[0]["stopped"] is False
        )
    finally:
        done = cli("--root", tmp_path / "m", "stop", "--json")
    assert done.data == [
        {
            "url": first["url"], "pid": first["pid"], "instance": first["instance"],
            "root": str(tmp_path / "m"), "stopped": True,
        }
    ]  # fmt: skip
    assert all_running(proxies()) == []
    assert "stopped after" in Path(first["log"]).read_text()
    assert cli("--root", tmp_path / "m", "stop").code == 3


@pytest.mark.slow
def test_one_that_cannot_start_says_why(tmp_path: Path, cli: Cli, upstream: Upstream) -> None:
    (tmp_path / "m").write_text("no folder")
    done = cli("--root", tmp_path / "m", "serve", "--upstream", upstream.url, "--detach")
    assert done.code == 4
    assert "it is a file" in done.err


@contextmanager
def bystander() -> Iterator[subprocess.Popen[bytes]]:
    """A process that has nothing to do with any of this."""
    process = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    try:
        yield process
    finally:
        process.kill()
        process.wait(timeout=300)


def of(url: str, root: Path | str, pid: int, **more: object) -> Running:
    one = Running(
        instance="i", key="k", pid=pid, url=url, upstream="https://x", upstreams={},
        root=str(root), memory="",
        window=0, version="0", user="", wants_token=False, started_ms=1,
    )  # fmt: skip
    return replace(one, **more)  # type: ignore[arg-type]


def test_a_pid_that_another_process_has_by_now_is_not_ended(tmp_path: Path, cli: Cli) -> None:
    """Its file says that it runs, and is even locked; but nobody there says the instance."""
    with bystander() as process:
        with listed(proxies(), of("http://127.0.0.1:9", tmp_path, process.pid)):
            done = cli("--root", tmp_path, "stop")
            assert done.code == 4
            assert process.poll() is None
        assert process.poll() is None


async def test_who_answers_as_another_instance_is_not_it(
    tmp_path: Path, upstream: Upstream
) -> None:
    async with standing(upstream) as to:
        one = of(to.url, tmp_path, os.getpid())
        assert await _asked(one) is None
        desk = to.proxy._desk
        assert await _asked(replace(one, instance=desk.instance, key=desk.key)) is not None


async def _asked(one: Running) -> object:
    import asyncio

    return await asyncio.to_thread(one.ask)


def test_an_address_is_a_proxy_s_by_host_and_port() -> None:
    one = of("http://127.0.0.1:8788", "/m", 1)
    assert one.is_at("http://localhost:8788/v1")
    assert not one.is_at("http://127.0.0.1:87881")
    assert not one.is_at("http://[")


def test_the_file_of_a_dead_proxy_is_removed(tmp_path: Path) -> None:
    proxies().mkdir(parents=True, exist_ok=True)
    path = proxies() / "127.0.0.1_9.json"
    path.write_text("{}")
    assert all_running(proxies()) == []
    assert not path.exists()
    with listed(proxies(), of("http://127.0.0.1:9", tmp_path, 1)):
        assert path.stat().st_mode & 0o777 == 0o600
        assert [one.pid for one in all_running(proxies())] == [1]
    assert not path.exists()


@pytest.mark.slow
def test_a_private_proxy_ends_with_its_parent(tmp_path: Path, upstream: Upstream) -> None:
    code = (
        "import sys, subprocess, os, time; p = subprocess.Popen([sys.executable, '-m', "
        "'pagefault.cli', *sys.argv[1:], '--parent', str(os.getpid())]); time.sleep(120)"
    )
    words = ["--root", str(tmp_path / "m"), "serve", "--upstream", upstream.url, "--port", "0"]
    parent = subprocess.Popen([sys.executable, "-c", code, *words], stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + 300
    while not (found := all_running(proxies())):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    parent.send_signal(signal.SIGKILL)
    parent.wait(timeout=300)
    began = time.monotonic()
    while all_running(proxies()):
        assert time.monotonic() - began < 300
        time.sleep(0.05)
    assert found[0].parent == parent.pid


# --- the operator -------------------------------------------------------------------------------


async def test_the_operator_is_told_who_it_is_and_has_no_way_to_the_provider(
    upstream: Upstream,
) -> None:
    async with standing(upstream, token="t" * 20) as to:
        key = {KEY_HEADER: to.proxy._desk.key}
        assert (await to.http.get("/healthz")).status_code == 401
        assert (await to.http.get("/healthz", headers={KEY_HEADER: "no"})).status_code == 401
        assert (await to.http.get("/healthz", headers=key)).status_code == 200
        assert (await to.http.get("/v1/models", headers=key)).status_code == 404
        answer = await to.http.post("/v1/messages", json=body(user("hi")), headers=key)
        assert answer.status_code == 200
        assert upstream.seen == []


async def test_the_operator_s_key_is_never_sent_on_and_is_nobody_s_credential(
    upstream: Upstream,
) -> None:
    async with standing(upstream) as to:
        for more in ({}, {KEY_HEADER: "not-the-key"}):
            await to.http.post("/v1/messages", json=body(user("hi")), headers={**SESSION, **more})
        assert len(await to.sessions()) == 1
        assert all(KEY_HEADER not in one.headers for one in upstream.seen)


async def test_canaries_are_forgotten_and_nothing_else_is(upstream: Upstream) -> None:
    async with standing(upstream) as to:
        await to.http.post("/v1/messages", json=body(user("hi")), headers=SESSION)
        key = {KEY_HEADER: to.proxy._desk.key}
        said = {"model": "m", "messages": [{"role": "user", "content": "canary-0123abcd"}]}
        answer = await to.http.post("/s/x/v1/chat/completions", json=said, headers=key)
        assert answer.headers["x-pagefault-canary"] == "canary-0123abcd"
        assert len(await to.sessions()) == 2
        assert (await to.http.delete("/canaries")).status_code == 200  # passed on: of no operator
        assert len(await to.sessions()) == 2
        assert (await to.http.delete("/canaries", headers=key)).json() == {"forgotten": 1}
        [left] = await to.sessions()
        assert left.startswith("planning:")


# --- units --------------------------------------------------------------------------------------


def test_a_unit_runs_the_same_proxy(tmp_path: Path, cli: Cli) -> None:
    words = ("--root", tmp_path / "a b%$c", "serve", "--upstream", "https://api.openai.com")
    text = cli(
        *words, "--window", "9000", "--mark", "--form", "--user", "me", "--print-unit", "systemd"
    ).out
    [line] = [one for one in text.splitlines() if one.startswith("ExecStart=")]
    argv = shlex.split(line.removeprefix("ExecStart=").replace("%%", "%").replace("$$", "$"))
    assert argv[argv.index("--root") + 1] == str(tmp_path / "a b%$c")
    assert argv[argv.index("--window") + 1] == "9000"
    assert "--mark" in argv
    assert "--form" in argv
    plist = plistlib.loads(cli(*words, "--print-unit", "launchd").out.encode())
    assert "--upstream https://api.openai.com" in " ".join(plist["ProgramArguments"])
    assert not (tmp_path / "a b%$c").exists()
    assert "PAGEFAULT_PROXY_TOKEN" not in text
    token = cli(*words, "--token", KEY, "--print-unit", "systemd").out
    assert "EnvironmentFile" in token
    assert KEY not in token


# --- the status line ----------------------------------------------------------------------------


async def test_the_line_tells_how_a_session_of_claude_code_stands(upstream: Upstream) -> None:
    from tests.proxy.upstream import Say

    upstream.script = lambda _: Say(text="Noted.", input_tokens=52_000, cached_tokens=26_000)
    asked = {"session_id": "abc", "cost": {"total_cost_usd": 0.414}}
    mine = {"X-Claude-Code-Session-Id": "abc", "x-api-key": KEY}
    async with standing(upstream, window=138_000) as to:
        key = {KEY_HEADER: to.proxy._desk.key}
        assert (await to.http.post("/statusline", json=asked, headers=key)).text == ""
        await to.http.post("/v1/messages", json=body(user("hi")), headers=mine)
        await to.proxy.settled()
        line = await to.http.post("/statusline", json=asked, headers=key)
        assert line.text == "pagefault 52k/138k · cache 50% · $0.41"
        assert (await to.http.post("/statusline", json=asked)).text == ""  # of nobody: not his
        own = await to.http.post("/statusline", json=asked, headers={"x-api-key": KEY})
        assert own.text == line.text
        for odd in (b"", b"[]", b'{"session_id": 3}', b"\xff", b'{"session_id":"abc","cost":7}'):
            answer = await to.http.post("/statusline", content=odd, headers=key)
            assert answer.status_code == 200
        took = []
        for _ in range(50):
            began = time.thread_time()  # on a busy machine others' work would count, too
            to.proxy._desk.statusline(json.dumps(asked).encode(), "~operator")
            took.append(time.thread_time() - began)
        assert sorted(took)[25] < 0.005
        assert len(upstream.seen) == 1


async def test_with_tokens_a_line_tells_of_its_own_user_s_sessions_alone(
    upstream: Upstream,
) -> None:
    tokens = {"a" * 20: "ann", "b" * 20: "bob"}
    async with standing(upstream, tokens={name: token for token, name in tokens.items()}) as to:
        ann = {"x-pagefault-token": "a" * 20, "X-Claude-Code-Session-Id": "abc"}
        await to.http.post("/v1/messages", json=body(user("hi")), headers=ann)
        await to.proxy.settled()
        for token, is_told in (("a" * 20, True), ("b" * 20, False)):
            line = await to.http.post(
                "/statusline", json={"session_id": "abc"}, headers={"x-pagefault-token": token}
            )
            assert bool(line.text) is is_told
        assert (await to.http.post("/statusline", json={"session_id": "abc"})).status_code == 401


def test_a_desk_forgets_who_has_not_been_there_for_long() -> None:
    from pagefault.model.request import Usage

    desk = Desk()
    for number in range(1_200):
        desk.answered(f"claude:{number}:abcdef@~", Usage(input_tokens=10, output_tokens=1))
    assert desk.statusline(b'{"session_id":"0"}', "~") == ""
    assert desk.statusline(b'{"session_id":"1199"}', "~") == "pagefault 10"


LINE = "from pagefault.statusline import main; main()"


def line(told: bytes, *, code: str = LINE, **env: str) -> tuple[int, str, str]:
    done = subprocess.run(
        [sys.executable, "-c", code], input=told, env={**os.environ, **env},
        capture_output=True, timeout=300, check=False,
    )  # fmt: skip
    return done.returncode, done.stdout.decode(), done.stderr.decode()


@pytest.mark.slow
def test_the_command_asks_the_proxy_that_its_client_goes_through(
    tmp_path: Path, cli: Cli, upstream: Upstream
) -> None:
    words = ("--root", tmp_path / "m", "serve", "--upstream", upstream.url, "--port", "0")
    url = cli(*words, "--detach", "--json").data["url"]
    try:
        mine = {"X-Claude-Code-Session-Id": "abc", "x-api-key": KEY}
        httpx2.post(f"{url}/v1/messages", json=body(user("hi")), headers=mine, timeout=300)
        told = b'{"session_id": "abc"}'
        assert line(told, ANTHROPIC_BASE_URL=url)[:2] == (0, "pagefault 0\n")
        other = "import sys; sys.argv[1:] = ['statusline']; from pagefault.cli import main; main()"
        assert line(told, code=other, ANTHROPIC_BASE_URL=url)[:2] == (0, "pagefault 0\n")
        assert line(b'{"session_id": "not"}', ANTHROPIC_BASE_URL=url) == (0, "", "")
    finally:
        cli("--root", tmp_path / "m", "stop")
    assert line(told, ANTHROPIC_BASE_URL=url) == (0, f"pagefault: no proxy at {url[7:]}\n", "")


@pytest.mark.parametrize(
    "url", ["", "https://api.anthropic.com", "http://10.0.0.1:80", "http://127.0.0.1:x", "http://["]
)
def test_no_other_machine_is_asked_for_a_line(url: str) -> None:
    assert line(b"{}", ANTHROPIC_BASE_URL=url) == (0, "", "")


@pytest.mark.parametrize("before", [["--root", "anywhere"], ["--quiet"]])
def test_options_before_it_leave_the_line_its_exit_code(cli: Cli, before: list[str]) -> None:
    assert cli(*before, "statusline").code == 0


def test_a_line_that_would_act_on_a_terminal_is_not_printed_as_it_is(upstream: Upstream) -> None:
    from pagefault import statusline

    def odd(*_: object) -> bytes:
        return b"HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\n\r\n\x1b[2Jhello\nforged"

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(statusline, "_asked", odd)
        assert statusline.told(b"{}", {"ANTHROPIC_BASE_URL": "http://127.0.0.1:1"}) == "[2Jhello"


def test_the_line_costs_hardly_more_than_python_s_own_start() -> None:
    """What it imports is what it costs: of modules that take time, none."""
    code = (
        "import sys; before = set(sys.modules); from pagefault.statusline import told; "
        "told(b'{}', {'ANTHROPIC_BASE_URL': 'http://127.0.0.1:9'}); "
        "print(*sorted(set(sys.modules) - before))"
    )
    _, out, _ = line(b"", code=code)
    assert set(out.split()) == {"__future__", "_socket", "pagefault", "pagefault.statusline"}


def test_the_state_folder_is_where_the_proxy_lists_itself(tmp_path: Path) -> None:
    from pagefault.statusline import _state

    for env in ({"XDG_STATE_HOME": str(tmp_path)}, {"HOME": str(tmp_path)}):
        code = "import platformdirs as p; print(p.user_state_path('pagefault', appauthor=False))"
        done = subprocess.run(
            [sys.executable, "-c", code], env={**env, "PATH": ""}, capture_output=True, check=True
        )
        assert _state(env) == done.stdout.decode().strip()


def test_two_that_start_at_once_on_one_memory_are_one_proxy(
    tmp_path: Path, empty_home: Path, cli: Cli
) -> None:
    with Upstream(always("Yes.")) as upstream:
        words = ["--root", str(tmp_path / "memory"), "serve", "--upstream", upstream.url]
        command = [
            sys.executable,
            "-m",
            "pagefault.cli",
            *words,
            "--port",
            "0",
            "--detach",
            "--json",
        ]
        both = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(2)]
        try:
            told = [json.loads(one.communicate(timeout=300)[0]) for one in both]
        finally:
            cli("--root", str(tmp_path / "memory"), "stop")
    assert [one.returncode for one in both] == [0, 0]
    assert told[0]["instance"] == told[1]["instance"]
    assert sorted(one["started"] for one in told) == [False, True]
