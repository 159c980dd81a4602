"""A doctor that is green says that it works: what fails on the way is found, whatever answers."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import socket
import ssl
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import pagefault
from pagefault.cli.background import proxies, state
from pagefault.cli.checks_proxy import _upstream
from pagefault.cli.outcome import run
from pagefault.model.errors import StoreBusy
from pagefault.proxy.conversation.conversation import Conversation
from pagefault.proxy.running import Running, listed
from pagefault.service.adopt import facts_of
from tests.cli.conftest import Cli
from tests.proxy.standing import Standing, standing
from tests.proxy.test_metrics import told
from tests.proxy.upstream import Upstream, always


@pytest.fixture
def upstream() -> Iterator[Upstream]:
    with Upstream(always()) as up:
        yield up


def running(to: Standing, root: Path) -> Running:
    desk = to.proxy._desk
    return Running(
        instance=desk.instance, key=desk.key, pid=os.getpid(), url=to.url,
        upstream=to.upstream.url, upstreams={}, root=str(root), memory="", window=0,
        version=pagefault.__version__, user="", wants_token=False, started_ms=1,
    )  # fmt: skip


async def checked(
    one: Running, root: Path, capsys: pytest.CaptureFixture[str], *words: str
) -> tuple[int, dict[str, Any]]:
    with listed(proxies(), one):
        code = await asyncio.to_thread(run, ["--root", str(root), "doctor", "--json", *words])
    told = json.loads(capsys.readouterr().out)
    return code, {check["name"]: check for check in told["checks"]}


async def test_a_canary_comes_home_through_a_proxy_that_runs_and_leaves_no_trace(
    tmp_path: Path, upstream: Upstream, capsys: pytest.CaptureFixture[str]
) -> None:
    async with standing(upstream, root=tmp_path / "m") as to:
        code, checks = await checked(running(to, tmp_path / "m"), tmp_path / "m", capsys)
        assert code == 0, "no engine is configured, and none is needed"
        assert checks["canary"]["status"] == "ok", checks["canary"]
        for words in ("kept in the log", "paged out of a window", "found again", "(running)"):
            assert words in checks["canary"]["found"]
        assert await to.sessions() == []
        assert upstream.seen == []
        samples = await told(to)
        counted = {key[1] for key, value in samples.items() if key[0] == "requests_total" and value}
        assert counted == {"operator"}
        sums = ("sent_tokens_total", "left_tokens_total", "recalled_pages_total", "l0_utilization")
        assert [samples[one,] for one in sums] == [0, 0, 0, 0]
        assert samples["added_seconds_count",] == 0
        assert (await to.http.get("/healthz")).json()["conversations"] == 0


async def test_a_proxy_that_answers_and_keeps_nothing_is_found_out(
    tmp_path: Path, upstream: Upstream, capsys: pytest.CaptureFixture[str]
) -> None:
    """The control: it says that it runs on this memory, pages and answers, and writes elsewhere."""
    async with pagefault.open(tmp_path / "m"):
        pass
    async with standing(upstream) as to:
        code, checks = await checked(running(to, tmp_path / "m"), tmp_path / "m", capsys)
    assert code == 2
    assert "not kept in the log" in checks["canary"]["found"]


async def test_a_proxy_that_does_not_page_is_found_out(
    tmp_path: Path,
    upstream: Upstream,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    whole = Conversation.receive

    async def unpaged(self: Conversation, *given: Any, **more: Any) -> Any:
        return await whole(self, *given, **{**more, "pages": False})

    monkeypatch.setattr(Conversation, "receive", unpaged)
    async with standing(upstream, root=tmp_path / "m") as to:
        code, checks = await checked(running(to, tmp_path / "m"), tmp_path / "m", capsys)
    assert code == 2
    assert "not paged out" in checks["canary"]["found"]
    assert "kept in the log" in checks["canary"]["found"]


async def test_a_proxy_that_does_not_bring_back_is_found_out(
    tmp_path: Path,
    upstream: Upstream,
    capsys: pytest.CaptureFixture[str],
) -> None:
    limits = pagefault.Limits(recall_tokens_max=0)
    async with standing(upstream, root=tmp_path / "m", limits=limits) as to:
        code, checks = await checked(running(to, tmp_path / "m"), tmp_path / "m", capsys)
    assert code == 2
    assert "not found again" in checks["canary"]["found"]


async def test_one_that_lives_and_does_not_answer_is_found_out(
    tmp_path: Path, upstream: Upstream, capsys: pytest.CaptureFixture[str]
) -> None:
    async with standing(upstream, root=tmp_path / "m") as to:
        one = replace(running(to, tmp_path / "m"), instance="another")
        code, checks = await checked(one, tmp_path / "m", capsys, "--no-canary")
    assert code == 2
    assert "does not answer" in checks["proxy"]["found"]


async def test_where_nothing_is_kept_the_doctor_says_so(
    tmp_path: Path, upstream: Upstream, capsys: pytest.CaptureFixture[str]
) -> None:
    async with standing(upstream, root=tmp_path / "m") as to:
        await to.memory.set_control("paused")
        _, checks = await checked(running(to, tmp_path / "m"), tmp_path / "m", capsys)
    assert checks["mode"]["status"] == "warn"
    assert "not recorded" in checks["mode"]["found"]
    assert "canary" not in checks


@pytest.mark.slow
@pytest.mark.usefixtures("started_anew")
def test_where_none_runs_one_is_started_and_the_memory_stays_as_it_is(
    cli: Cli, memory_root: Path
) -> None:
    before = facts_of(memory_root), sorted(memory_root.rglob("*"))
    left = {path for path in state().rglob("*") if path.is_file()}
    log = [path.read_bytes() for path in sorted((memory_root / "log").iterdir())]
    checks = {
        one["name"]: one for one in cli("--root", memory_root, "doctor", "--json").data["checks"]
    }
    assert checks["canary"]["status"] == "ok", checks["canary"]
    assert "a temporary proxy" in checks["canary"]["found"]
    assert [path.read_bytes() for path in sorted((memory_root / "log").iterdir())] == log
    assert before[0] == facts_of(memory_root)
    assert {path for path in state().rglob("*") if path.is_file()} == left


async def test_where_a_client_would_go_is_told(
    tmp_path: Path,
    upstream: Upstream,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    bins = tmp_path / "bin"
    bins.mkdir()
    for name in ("claude", "codex"):
        (bins / name).write_text("#!/bin/sh\n")
        (bins / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{bins}:/usr/bin:/bin")
    async with standing(upstream, root=tmp_path / "m") as to:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", to.url)
        monkeypatch.setenv("CODEX_HOME", str(tmp_path))
        (tmp_path / "config.toml").write_text('openai_base_url = "http://127.0.0.1:9"')
        one = replace(running(to, tmp_path / "m"), window=40_000)
        code, checks = await checked(one, tmp_path / "m", capsys, "--no-canary")
    assert code == 2
    assert "goes through" in checks["claude"]["found"]
    assert checks["claude"]["status"] == "warn"  # a window that its own head nearly fills
    assert checks["codex"]["status"] == "fail"
    assert "where nothing answers" in checks["codex"]["found"]


@pytest.mark.parametrize(("cached", "status"), [(900, "ok"), (100, "warn")])
async def test_how_much_came_from_a_cache_is_told(
    tmp_path: Path,
    upstream: Upstream,
    capsys: pytest.CaptureFixture[str],
    cached: int,
    status: str,
) -> None:
    from tests.proxy.histories import body, model, text, user
    from tests.proxy.standing import SESSION
    from tests.proxy.upstream import Say

    upstream.script = lambda _: Say(text="b", input_tokens=1_000, cached_tokens=cached)
    async with standing(upstream, root=tmp_path / "m") as to:
        said = [user("a")]
        for word in "cd":
            await to.http.post("/v1/messages", json=body(*said), headers=SESSION)
            said += [model(text("b")), user(word)]
        await to.proxy.settled()
        _, checks = await checked(
            running(to, tmp_path / "m"), tmp_path / "m", capsys, "--no-canary"
        )
    assert checks["cache"]["found"].startswith(f"{cached // 10}%")
    assert checks["cache"]["status"] == status


async def test_providers_of_running_proxies_are_asked_for_a_sign_of_life(
    tmp_path: Path, upstream: Upstream, capsys: pytest.CaptureFixture[str]
) -> None:
    async with standing(upstream, root=tmp_path / "m") as to:
        one, words = running(to, tmp_path / "m"), ("--no-canary", "--live")
        _, checks = await checked(one, tmp_path / "m", capsys, *words)
        assert checks["upstream"]["status"] == "ok"
        one = replace(one, upstream="http://127.0.0.1:9")
        code, checks = await checked(one, tmp_path / "m", capsys, *words)
    assert code == 2
    assert "cannot reach http://127.0.0.1:9" in checks["upstream"]["found"]


# --- each check sees what it is there for -------------------------------------------------------


async def test_a_token_is_tried_and_not_only_looked_for(
    tmp_path: Path,
    upstream: Upstream,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with standing(upstream, root=tmp_path / "m", token="t" * 20) as to:
        one = replace(running(to, tmp_path / "m"), wants_token=True)
        for token, status in (("", "warn"), ("u" * 20, "fail"), ("t" * 20, "ok")):
            monkeypatch.setenv("PAGEFAULT_PROXY_TOKEN", token)
            _, checks = await checked(one, tmp_path / "m", capsys, "--no-canary")
            assert checks["token"]["status"] == status, checks["token"]
        monkeypatch.delenv("PAGEFAULT_PROXY_TOKEN")
        monkeypatch.setenv("ANTHROPIC_CUSTOM_HEADERS", f"a: b\nX-Pagefault-Token: {'t' * 20}")
        _, checks = await checked(one, tmp_path / "m", capsys, "--no-canary")
        assert checks["token"]["status"] == "ok"


async def test_a_proxy_that_could_not_keep_something_or_is_of_another_version_is_told(
    tmp_path: Path,
    upstream: Upstream,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def full(_: object) -> None:
        raise StoreBusy("the disk is full")

    async with standing(upstream, root=tmp_path / "m") as to:
        one = running(to, tmp_path / "m")
        other = replace(one, version="0.0.1")
        _, checks = await checked(other, tmp_path / "m", capsys, "--no-canary")
        assert (checks["proxy"]["status"], "of version 0.0.1" in checks["proxy"]["found"]) == (
            "warn",
            True,
        )
        to.proxy._keeping.problem = "the disk is full"
        monkeypatch.setattr("pagefault.proxy.keeping.check_writable", full)  # and still is
        code, checks = await checked(one, tmp_path / "m", capsys, "--no-canary")
    assert code == 2
    assert "could not be recorded: the disk is full" in checks["proxy"]["found"]


def test_a_port_that_another_program_has_is_told(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        monkeypatch.setattr("pagefault.proxy.listen.DEFAULT_PORT", other.getsockname()[1])
        told = cli("--root", tmp_path / "m", "doctor", "--no-canary", "--json").data
        found = {one["name"]: one for one in told["checks"]}
        assert found["port"]["status"] == "warn"
    told = cli("--root", tmp_path / "m", "doctor", "--no-canary", "--json").data
    assert {one["name"]: one["status"] for one in told["checks"]}["port"] == "ok"


def test_a_clock_that_was_ahead_when_something_was_written_is_told(
    cli: Cli, memory_root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def clock() -> str:
        checks = cli("--root", memory_root, "doctor", "--no-canary", "--json").data["checks"]
        return str(next(one["status"] for one in checks if one["name"] == "clock"))

    assert clock() == "ok"
    now = time.time()
    monkeypatch.setattr("pagefault.cli.checks.time.time", lambda: now - 86_400)
    assert clock() == "warn"
    monkeypatch.setattr("pagefault.cli.checks.time.time", lambda: 0.0)
    assert clock() == "fail"


def test_a_full_disk_is_told(cli: Cli, memory_root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for free, status in ((10**7, "fail"), (10**8, "warn")):
        monkeypatch.setattr(
            "pagefault.cli.checks.shutil.disk_usage",
            lambda _, free=free: SimpleNamespace(free=free),
        )
        checks = cli("--root", memory_root, "doctor", "--no-canary", "--json").data["checks"]
        assert {one["name"]: one["status"] for one in checks}["disk"] == status


class _Provider(BaseHTTPRequestHandler):
    ahead_s = 0.0

    def do_HEAD(self) -> None:
        self.send_response(404)
        self.end_headers()

    def date_time_string(self, timestamp: float | None = None) -> str:
        return formatdate(time.time() + self.ahead_s, usegmt=True)

    def log_message(self, format: str, *args: object) -> None:
        """Quiet."""


@contextmanager
def provider(*, ahead_s: float = 0.0, certificate: Path | None = None) -> Iterator[str]:
    handler = type("Handler", (_Provider,), {"ahead_s": ahead_s})
    with HTTPServer(("127.0.0.1", 0), handler) as server:
        if certificate is not None:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(certificate)
            server.socket = context.wrap_socket(server.socket, server_side=True)
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            yield f"http{'s' if certificate is not None else ''}://localhost:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


@pytest.mark.parametrize("ahead_s", [600.0, -600.0])
def test_a_clock_that_is_not_the_provider_s_is_told(ahead_s: float) -> None:
    with provider() as url:
        assert [one.status for one in _upstream(url)] == ["ok"]
    with provider(ahead_s=ahead_s) as url:
        answers, clock = _upstream(url)
    assert (answers.status, clock.name, clock.status) == ("ok", "clock", "warn")
    assert ("behind" if ahead_s > 0 else "ahead of") in clock.found


@pytest.mark.skipif(shutil.which("openssl") is None, reason="it makes a certificate")
def test_a_certificate_that_nobody_vouches_for_is_told(tmp_path: Path) -> None:
    both = tmp_path / "both.pem"
    made = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"]
    made += ["-nodes", "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"]
    made += ["-days", "9", "-keyout", str(tmp_path / "key"), "-out", str(tmp_path / "cert")]
    subprocess.run(made, check=True, capture_output=True)
    both.write_bytes((tmp_path / "key").read_bytes() + (tmp_path / "cert").read_bytes())
    with provider(certificate=both) as url:
        [found] = _upstream(url)
    assert found.status == "fail"
    assert "certificate" in found.advice
