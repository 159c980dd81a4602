"""A coding client behind a proxy for one run: nothing of it is in the way, and nothing is left."""

from __future__ import annotations

import json
import os
import pty
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import httpx2
import pytest

import pagefault
from pagefault.cli import swaps
from pagefault.cli.background import marker_of, proxies, state
from pagefault.cli.client_codex import CHATGPT
from pagefault.cli.clients import CLIENTS
from pagefault.cli.launch import PRIVATE_FILE, Door, Launch
from pagefault.model.errors import BadInput
from pagefault.proxy.running import Running, all_running
from tests import warm
from tests.cli.conftest import Cli
from tests.proxy.upstream import Upstream, always

FAKE = Path(__file__).with_name("fake_client.py")
pytestmark = pytest.mark.slow


@dataclass
class Bench:
    """Clients that are none, on a PATH of their own, and a memory."""

    folder: Path
    upstream: Upstream
    popen: type[subprocess.Popen[Any]] = warm.Forked
    note: Path = field(init=False)
    root: Path = field(init=False)

    def __post_init__(self) -> None:
        self.note, self.root = self.folder / "note.json", self.folder / "memory"
        (self.folder / "bin").mkdir()
        for name in (*CLIENTS, "other"):
            words = shlex.join([sys.executable, str(FAKE), str(self.note)])
            script = self.folder / "bin" / name
            script.write_text(f'#!/bin/sh\nexec {words} "$@"\n')
            script.chmod(0o755)

    @property
    def env(self) -> dict[str, str]:
        path = f"{self.folder / 'bin'}{os.pathsep}{os.environ['PATH']}"
        return {**os.environ, "PATH": path, "PAGEFAULT_HOME": str(self.root)}

    def start(self, *words: str, env: Mapping[str, str] | None = None) -> subprocess.Popen[str]:
        return self.popen(
            [sys.executable, "-m", "pagefault.cli", "wrap", *words],
            env={**self.env, **(env or {})},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def run(self, *words: str, env: Mapping[str, str] | None = None) -> tuple[int, str, str]:
        process = self.start(*words, env=env)
        out, err = process.communicate(timeout=300)
        return process.returncode, out, err

    @property
    def told(self) -> Any:
        """What the client was given, once it runs."""
        until(self.note.exists)
        return json.loads(self.note.read_text())


@pytest.fixture
def bench(tmp_path: Path, empty_home: Path) -> Iterator[Bench]:
    with Upstream(always("Under the northern eaves.")) as upstream:
        yield Bench(tmp_path, upstream)
    until(lambda: not private())


def private() -> list[Running]:
    return [one for one in all_running(proxies()) if one.parent]


def until(is_so: Callable[[], object], within_s: float = 300.0) -> None:
    deadline = time.monotonic() + within_s
    while not is_so():
        assert time.monotonic() < deadline, "it did not come about in time"
        time.sleep(0.02)


def said(root: Path) -> list[str]:
    with pagefault.sync.open(root, read_only=True) as memory:
        return [
            memory.read(page).text
            for row in memory.sessions()
            for page in memory.pages(memory.session(row.session_id, create=False))
        ]


def test_a_client_goes_through_a_proxy_that_ends_with_it_and_its_words_are_in_the_memory(
    bench: Bench,
) -> None:
    code, out, err = bench.run(
        "claude", "--", "ask", "ANTHROPIC_BASE_URL", "exit", "7",
        env={"ANTHROPIC_BASE_URL": bench.upstream.url},
    )  # fmt: skip
    assert code == 7, err
    assert "Under the northern eaves." in out
    [line, note] = err.splitlines()
    told = bench.told["env"]
    for words in (told["ANTHROPIC_BASE_URL"], bench.upstream.url, "window 138,000", "started for"):
        assert words in line
    assert "200,000" in note
    until(lambda: not private())
    assert said(bench.root) == ["Where do the swifts nest?", "Under the northern eaves."]
    assert "x-pagefault-token" not in bench.upstream.seen[-1].headers
    assert not list((proxies().parent / "wraps").glob("*"))


def test_it_is_the_client_itself_that_the_shell_waits_for(bench: Bench) -> None:
    """No process stands between: so keys, stopping, sizes and signals are the client's own."""
    bench.popen = subprocess.Popen
    process = bench.start("--upstream", bench.upstream.url, "claude", "sleep")
    try:
        assert bench.told["pid"] == process.pid
        [proxy] = private()
        assert proxy.parent == process.pid
        headers = dict([bench.told["env"]["ANTHROPIC_CUSTOM_HEADERS"].split(": ")])
        assert (
            httpx2.get(f"{proxy.url}/healthz", timeout=300).status_code == 401
        )  # others on this machine
        assert httpx2.get(f"{proxy.url}/healthz", headers=headers, timeout=300).status_code == 200
        assert os.getsid(proxy.pid) != os.getsid(process.pid)  # the terminal's signals miss it
    finally:
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=300)
    assert process.returncode in (-signal.SIGINT, 1, 130)


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="it tells of signals")
def test_it_inherits_nothing_that_python_ignores_for_itself(bench: Bench) -> None:
    words = ("--upstream", bench.upstream.url, "grep", "SigIgn", "/proc/self/status")
    _, out, _ = bench.run(*words)
    assert not int(out.split()[1], 16) >> (signal.SIGPIPE - 1) & 1


def test_it_has_the_terminal(bench: Bench) -> None:
    ours, theirs = pty.openpty()
    process = warm.Forked(
        [sys.executable, "-m", "pagefault.cli", "wrap", "--upstream", bench.upstream.url,
         "--env", "X={url}", "--", "sh", "-c", "test -t 0 && test -t 1 && exit 5"],
        env=bench.env, stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True,
    )  # fmt: skip
    os.close(theirs)
    assert process.wait(timeout=300) == 5
    os.close(ours)


@pytest.mark.parametrize("moment", ["before it has a proxy", "as it has one", "while it runs"])
def test_nothing_is_left_of_a_run_that_is_killed(bench: Bench, moment: str, cli: Cli) -> None:
    settings = bench.folder / "settings.json"
    settings.write_text('{"url": "https://api.example.com"}\n')
    process = bench.start(
        "--upstream", bench.upstream.url,
        "--in-file", str(settings), "https://api.example.com", "{url}", "other", "sleep",
    )  # fmt: skip
    if moment == "before it has a proxy":
        until((state() / "logs").exists)  # where it is about to log
    elif moment == "as it has one":
        until(private)
    else:
        assert bench.told
        assert "127.0.0.1" in settings.read_text()
    process.kill()
    process.communicate(timeout=300)
    time.sleep(0.2)
    until(lambda: not private())
    assert settings.read_text() == '{"url": "https://api.example.com"}\n'
    assert cli("unwrap").code == 0
    assert not list((proxies().parent / "wraps").glob("*"))


def test_what_was_changed_is_put_back_though_the_proxy_is_killed_too(
    bench: Bench, cli: Cli
) -> None:
    """With the control: until `unwrap`, or `doctor --fix`, the file points at a dead proxy."""
    settings = bench.folder / "settings.toml"
    for fix in (["unwrap", "--json"], ["doctor", "--fix", "--no-canary"]):
        settings.write_bytes(before := b"url = 'https://api.example.com'\r\n# \xff\n")
        settings.chmod(0o640)
        bench.note.unlink(missing_ok=True)
        process = bench.start(
            "--upstream", bench.upstream.url,
            "--in-file", str(settings), "https://api.example.com", "{url}", "other", "sleep",
        )  # fmt: skip
        assert bench.told
        [proxy] = private()
        os.kill(proxy.pid, signal.SIGKILL)
        process.kill()
        process.communicate(timeout=300)
        assert proxy.url.encode() in settings.read_bytes()
        found = {one["name"]: one for one in cli("doctor", "--no-canary", "--json").data["checks"]}
        assert found["wrap"]["status"] == "warn"
        cli(*fix)
        assert settings.read_bytes() == before
        assert settings.stat().st_mode & 0o777 == 0o640
        assert not marker_of(proxy.instance).exists()


def test_nothing_is_left_of_a_marker_that_was_not_written_to_its_end(
    bench: Bench, cli: Cli
) -> None:
    markers = state() / "wraps"
    markers.mkdir(parents=True, exist_ok=True)
    for name in (".0123abcd.json.pagefault", "4567cdef.settings"):
        (markers / name).write_text('{"files": [{"before": "c2VjcmV0')
    assert cli("unwrap").code == 0
    assert not list(markers.iterdir())


def test_a_run_that_lives_is_left_alone(bench: Bench, cli: Cli) -> None:
    settings = bench.folder / "settings.json"
    settings.write_text("old")
    process = bench.start(
        "--upstream", bench.upstream.url, "--in-file", str(settings), "old", "new", "other", "sleep"
    )
    try:
        assert bench.told
        assert cli("unwrap", "--json").data["running"] == [private()[0].url]
        assert settings.read_text() == "new"
    finally:
        process.terminate()
        process.communicate(timeout=300)
    until(lambda: settings.read_text() == "old")


def test_what_somebody_else_changed_meanwhile_stays_changed(tmp_path: Path) -> None:
    file, marker = tmp_path / "settings.json", tmp_path / "wraps" / "x.json"
    file.write_text('{"url": "there", "n": 1}')
    swaps.swap_in([swaps.Swap(str(file), "there", "here")], marker)
    file.write_text('{"url": "here", "n": 2}')
    assert [one.is_back for one in swaps.put_back(marker)] == [True]
    assert file.read_text() == '{"url": "there", "n": 2}'
    swaps.swap_in([swaps.Swap(str(file), "there", "here")], marker)
    file.write_text("another thing")
    assert [one.is_back for one in swaps.put_back(marker)] == [False]
    assert file.read_text() == "another thing"
    assert marker.exists()


def test_a_link_to_a_file_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "dotfiles").write_text("there")
    (tmp_path / "link").symlink_to(tmp_path / "dotfiles")
    marker = tmp_path / "m.json"
    swaps.swap_in([swaps.Swap(str(tmp_path / "link"), "there", "here")], marker)
    assert (tmp_path / "dotfiles").read_text() == "here"
    swaps.put_back(marker)
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "link").read_text() == "there"


def test_a_proxy_that_runs_on_this_memory_is_taken_and_stays(bench: Bench, cli: Cli) -> None:
    words = ("--root", bench.root, "serve", "--upstream", bench.upstream.url, "--port", "0")
    standing = cli(*words, "--window", "60000", "--detach", "--json").data
    try:
        code, _, err = bench.run("--upstream", f"{bench.upstream.url}/v1", "claude", "exit", "0")
        assert code == 0
        assert bench.told["env"]["ANTHROPIC_BASE_URL"] == standing["url"]
        assert f"runs, pid {standing['pid']}" in err
        code, _, err = bench.run("--upstream", bench.upstream.url, "--private", "claude")
        assert code == 0
        assert bench.told["env"]["ANTHROPIC_BASE_URL"] != standing["url"]
    finally:
        assert cli("--root", bench.root, "stop").code == 0


def test_a_client_in_a_client_goes_through_one_proxy_only(bench: Bench, cli: Cli) -> None:
    words = ("--root", bench.root, "serve", "--upstream", bench.upstream.url, "--port", "0")
    standing = cli(*words, "--detach", "--json").data
    try:
        _, _, err = bench.run("--private", "claude", env={"ANTHROPIC_BASE_URL": standing["url"]})
        assert f"→ {bench.upstream.url} (through {standing['url']} so far)" in err
    finally:
        cli("--root", bench.root, "stop")


def test_a_proxy_that_cannot_start_is_said_and_no_client_runs(bench: Bench) -> None:
    bench.root.write_text("no folder")
    code, _, err = bench.run("--upstream", bench.upstream.url, "claude")
    assert code == 4, err
    assert "error: cannot make a memory" in err
    assert not bench.note.exists()


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["nowhere-to-be-found"], "there is no nowhere-to-be-found on your PATH"),
        (["claud"], "did you mean claude?"),
        (["./nowhere"], "./nowhere is not a program"),
        (["other"], "--upstream"),
        (["--upstream", "ftp://x", "claude"], "not an http or https address"),
        (["--upstream", "https://x.example", "--env", "no pair", "other"], "not NAME=VALUE"),
        (
            ["--upstream", "https://x.example", "--in-file", "gone", "a", "b", "other"],
            "cannot read",
        ),
    ],
)
def test_what_cannot_be_is_refused_before_anything_starts(
    bench: Bench, words: list[str], why: str
) -> None:
    code, _, err = bench.run(*words)
    assert code == 2
    assert why in err
    assert not bench.root.exists()


def test_a_client_that_is_not_installed_is_told_how_to_get(bench: Bench, cli: Cli) -> None:
    (bench.folder / "bin" / "codex").unlink()
    code, _, err = bench.run("codex", env={"PATH": str(bench.folder / "bin")})
    assert code == 2
    assert "npm install -g @openai/codex" in err


def test_a_window_near_the_client_s_own_head_is_warned_of(bench: Bench) -> None:
    to = ("--upstream", bench.upstream.url)
    _, _, err = bench.run(*to, "--window", "40000", "claude")
    assert "warning: of a window of 40,000 tokens claude takes about 29,000" in err
    _, _, err = bench.run(*to, "--window", "190000", "claude")
    assert "compacts by itself" in err


def test_any_command_gets_the_variables_of_its_library(bench: Bench) -> None:
    code, _, err = bench.run("--upstream", bench.upstream.url, "other")
    assert code == 0
    env = bench.told["env"]
    assert env["OPENAI_BASE_URL"] == env["OPENAI_API_BASE"]
    assert env["OPENAI_BASE_URL"].endswith("/v1")
    assert "recorded, not paged" in err
    bench.run(
        "--upstream", bench.upstream.url, "--env", "LLM={url}/x", "--env", "T={token}", "other"
    )
    env = bench.told["env"]
    assert env["LLM"].endswith("/x")
    assert len(env["T"]) > 16


# --- what each client is given ------------------------------------------------------------------

DOOR = Door("http://127.0.0.1:9", "https://api.example.com", "t" * 20, "aider-x")


def run_of(tmp_path: Path, *words: str, **env: str) -> Launch:
    return Launch(words, {"HOME": str(tmp_path), **env}, tmp_path)


def test_settings_of_claude_code_that_name_an_address_are_answered_for_the_run(
    tmp_path: Path,
) -> None:
    claude = CLIENTS["claude"]
    assert claude.route(run_of(tmp_path)).upstream == "https://api.anthropic.com"
    plain = claude.change(run_of(tmp_path, "-p", "x"), DOOR)
    assert json.loads(plain.words[1]) == {"env": {"ANTHROPIC_BASE_URL": DOOR.url}}
    assert not plain.file
    folder = tmp_path / ".claude"
    folder.mkdir()
    env = {"ANTHROPIC_BASE_URL": "https://gate.example", "ANTHROPIC_CUSTOM_HEADERS": "a: b"}
    said = {"env": env, "statusLine": {"type": "x"}}
    (folder / "settings.json").write_text(json.dumps(said))
    run = run_of(tmp_path, ANTHROPIC_BASE_URL="https://not.this")
    assert claude.route(run).upstream == "https://gate.example"
    change = claude.change(run, DOOR)
    assert change.env["ANTHROPIC_CUSTOM_HEADERS"] == f"a: b\nx-pagefault-token: {'t' * 20}"
    assert change.words == ["--settings", PRIVATE_FILE]  # a token is not for a list of processes
    assert json.loads(change.file) == {"env": change.env}
    own = claude.change(run_of(tmp_path, "--settings", '{"model": "m"}', "-p", "x"), DOOR)
    assert own.own == ("-p", "x")
    assert json.loads(own.file) == {"model": "m", "env": own.env}


@pytest.mark.parametrize("form", ["a file", "a file, joined", "inline"])
def test_an_address_in_settings_on_claude_code_s_command_line_is_gone_to_through_the_proxy(
    bench: Bench, form: str
) -> None:
    told = json.dumps({"env": {"ANTHROPIC_BASE_URL": bench.upstream.url}, "model": "m"})
    (bench.folder / "given.json").write_text(told)
    given = {
        "a file": ["--settings", str(bench.folder / "given.json")],
        "a file, joined": [f"--settings={bench.folder / 'given.json'}"],
        "inline": [f"--settings={told}"],
    }[form]
    code, _, err = bench.run("claude", "--", *given, "-p", "hello")
    assert code == 0, err
    assert f"→ {bench.upstream.url} (--settings)" in err
    argv = bench.told["argv"]
    assert argv[0] == "--settings"
    assert argv[2:] == ["-p", "hello"]
    told = bench.told["settings"]
    assert told["mode"] == 0o600
    until(lambda: not Path(argv[1]).exists())
    settings = json.loads(told["text"])
    assert settings["model"] == "m"
    assert settings["env"]["ANTHROPIC_BASE_URL"] == bench.told["env"]["ANTHROPIC_BASE_URL"]
    assert settings["env"]["ANTHROPIC_BASE_URL"] != bench.upstream.url


@pytest.mark.parametrize("form", ["-c {}", "-c{}", "--config={}", "--config {}"])
def test_an_address_on_codex_s_command_line_is_gone_to_through_the_proxy(
    bench: Bench, form: str
) -> None:
    home = bench.folder / "codex"
    home.mkdir()
    (home / "config.toml").write_text(
        'model_provider = "me"\n[model_providers.me]\nbase_url = "https://not.this/v1"\n'
    )
    given = form.format(f'model_providers.me.base_url="{bench.upstream.url}/v1"').split(" ")
    code, _, err = bench.run("codex", "--", "exec", *given, "hello", env={"CODEX_HOME": str(home)})
    assert code == 0, err
    assert f"→ {bench.upstream.url}/v1 (" in err
    argv = bench.told["argv"]
    assert argv[-2:] == ["exec", "hello"]
    assert not any(bench.upstream.url in word for word in argv)
    assert argv[1].startswith('model_providers.me.base_url="http://127.0.0.1:')


@pytest.mark.parametrize(
    "words",
    [
        ["codex", "--", "--oss"],
        ["codex", "--", "-c", 'model_providers.me={base_url="http://127.0.0.1:9"}'],
        ["codex", "--", "-c", "profile=mine"],
        ["claude", "--", "--settings", "/nowhere/at/all.json"],
        ["claude", "--", "--settings={broken"],
    ],
)
def test_a_command_line_that_would_lead_past_the_proxy_is_refused(
    bench: Bench, words: list[str]
) -> None:
    home = bench.folder / "codex"
    home.mkdir()
    (home / "config.toml").write_text(
        'model_provider = "me"\n[model_providers.me]\nbase_url = "https://api.example.com/v1"\n'
    )
    upstream = ["--upstream", bench.upstream.url]
    for more in ([], upstream):
        code, _, err = bench.run(*more, *words, env={"CODEX_HOME": str(home)})
        assert code == 2, err
        assert "error: " in err
    assert not bench.note.exists()


def test_an_address_on_aider_s_command_line_is_gone_to_through_the_proxy(bench: Bench) -> None:
    url = f"{bench.upstream.url}/v1"
    code, _, err = bench.run("aider", "--", "--model", "gpt-4o", "--openai-api-base", url)
    assert code == 0, err
    assert f"→ {url} (--openai-api-base)" in err
    assert bench.told["argv"] == [
        "--openai-api-base", bench.told["env"]["OPENAI_API_BASE"], "--model", "gpt-4o",
    ]  # fmt: skip


@pytest.mark.parametrize("closed", [">&-", "2>&-", "<&- >&- 2>&-"])
def test_a_client_runs_though_streams_are_closed(bench: Bench, closed: str) -> None:
    words = [sys.executable, "-m", "pagefault.cli", "wrap", "--upstream", bench.upstream.url]
    line = f"{shlex.join([*words, 'claude', '--', 'exit', '7'])} {closed}"
    done = subprocess.run(["/bin/sh", "-c", line], env=bench.env, timeout=300, check=False)
    assert done.returncode == 7
    assert bench.told["argv"][-2:] == ["exit", "7"]


def test_a_file_that_one_run_has_is_refused_to_another(bench: Bench) -> None:
    file = bench.folder / "settings.json"
    file.write_text("at https://api.example.com")
    words = ["--upstream", bench.upstream.url, "--in-file", str(file), "{}", "{url}", "other", "--"]
    words[4] = "https://api.example.com"
    first = bench.start(*words, "sleep")
    assert bench.told
    words[4] = "http"
    code, _, err = bench.run(*words)
    assert code == 2
    assert "contains the address of another run" in err
    first.terminate()
    first.communicate(timeout=300)
    until(lambda: file.read_text() == "at https://api.example.com")


@pytest.mark.parametrize("becomes", ["the original", "nothing"])
def test_unwrap_clears_the_marker_of_a_file_that_somebody_restored_or_deleted(
    tmp_path: Path, empty_home: Path, cli: Cli, becomes: str
) -> None:
    file = tmp_path / "settings.json"
    file.write_text("at A and B")
    marker = marker_of("gone")
    changes = [swaps.Swap(str(file), "A", "x"), swaps.Swap(str(file), "B", "y")]
    swaps.swap_in(changes, marker)
    assert file.read_text() == "at x and y"
    if becomes == "nothing":
        file.unlink()
    else:
        file.write_text("at A and B")
    assert cli("unwrap").code == 0
    assert not marker.exists()


def test_a_private_proxy_without_a_token_is_warned_of(bench: Bench) -> None:
    at = ["--upstream", bench.upstream.url]
    assert "asks for no token" in bench.run(*at, "other")[2]
    with_token = [*at, "--env", "T={token}", "--env", "OPENAI_BASE_URL={url}/v1"]
    assert "asks for no token" not in bench.run(*with_token, "other")[2]


def test_a_status_line_ends_with_0_whatever_it_is_given() -> None:
    command = [sys.executable, "-m", "pagefault.cli", "statusline", "--bogus"]
    done = subprocess.run(command, input="{}", text=True, timeout=300, check=False)
    assert done.returncode == 0


def test_a_cloud_of_its_own_is_no_way_through_a_proxy(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="bypasses any proxy"):
        CLIENTS["claude"].check(run_of(tmp_path, CLAUDE_CODE_USE_BEDROCK="1"))


def test_a_model_of_a_million_tokens_is_believed(tmp_path: Path) -> None:
    claude = CLIENTS["claude"]
    assert claude.believes(run_of(tmp_path, "--model", "sonnet")) == 200_000
    assert claude.believes(run_of(tmp_path, "--model=sonnet[1m]")) == 1_000_000
    assert claude.window(run_of(tmp_path)) == 200_000 - 33_000 - 29_000


def test_codex_keeps_a_provider_of_its_user_s_but_for_the_address(tmp_path: Path) -> None:
    codex = CLIENTS["codex"]
    words = codex.change(run_of(tmp_path, OPENAI_API_KEY="k"), DOOR).words
    assert words[-1] == 'model_provider="pagefault"'
    assert 'env_key="OPENAI_API_KEY"' in words[1]
    assert "requires_openai_auth" in codex.change(run_of(tmp_path), DOOR).words[1]
    folder = tmp_path / ".codex"
    folder.mkdir()
    (folder / "config.toml").write_text(
        'model_provider = "mine"\n[model_providers.mine]\nbase_url = "http://localhost:11434/v1"\n'
    )
    run = run_of(tmp_path)
    assert codex.route(run).upstream == "http://localhost:11434/v1"
    assert codex.change(run, DOOR).words[:2] == [
        "-c", 'model_providers.mine.base_url="http://127.0.0.1:9/v1"',
    ]  # fmt: skip
    with pytest.raises(BadInput, match="give no address"):
        codex.route(run_of(tmp_path, "-c", 'model_provider="gone"'))


def test_codex_with_an_account_goes_where_accounts_do(tmp_path: Path) -> None:
    program = tmp_path / "codex"
    program.write_text("#!/bin/sh\necho Logged in using ChatGPT >&2\n")
    program.chmod(0o755)
    run = Launch((), {"HOME": str(tmp_path), "PATH": "/bin:/usr/bin"}, tmp_path, str(program))
    route = CLIENTS["codex"].route(run)
    assert route.upstream == CHATGPT
    door = Door("http://127.0.0.1:9", route.upstream, "", "x")
    assert 'base_url="http://127.0.0.1:9"' in CLIENTS["codex"].change(run, door).words[1]


@pytest.mark.parametrize(
    ("limit", "compacts"),
    [
        ({"context": 32_768, "output": 4_096}, 28_672),
        ({"context": 200_000, "output": 64_000}, 168_000),
        ({"context": 400_000, "input": 272_000, "output": 128_000}, 252_000),
        ({"context": 0, "output": 0}, 96_000),  # which tells it nothing
    ],
)
def test_opencode_s_window_is_the_model_s_in_its_settings(
    tmp_path: Path, limit: dict[str, int], compacts: int
) -> None:
    told = {"model": "own/m", "provider": {"own": {"models": {"m": {"limit": limit}}}}}
    (tmp_path / "opencode.json").write_text(json.dumps(told))
    opencode, run = CLIENTS["opencode"], run_of(tmp_path)
    assert opencode.believes(run) == (limit["context"] or 128_000)
    assert opencode.compacts(run) == compacts
    assert compacts * 3 // 4 <= opencode.window(run) < compacts


def test_codex_with_a_small_window_has_most_of_it_paged(tmp_path: Path) -> None:
    codex, settings = CLIENTS["codex"], tmp_path / ".codex/config.toml"
    settings.parent.mkdir()
    settings.write_text("model_context_window = 32_768\n")
    assert codex.window(run_of(tmp_path)) == 22_119
    settings.write_text("model_auto_compact_token_limit = 20_000\n")
    assert codex.compacts(run_of(tmp_path)) == 20_000
    assert codex.window(run_of(tmp_path)) == 15_000


def test_opencode_s_provider_is_the_model_s_and_its_other_settings_stay(tmp_path: Path) -> None:
    opencode = CLIENTS["opencode"]
    with pytest.raises(BadInput, match="which provider"):
        opencode.route(run_of(tmp_path))
    run = run_of(tmp_path, "run", "-m", "openai/gpt-5", OPENCODE_CONFIG_CONTENT='{"theme": "x"}')
    assert opencode.route(run).upstream == "https://api.openai.com"
    change = opencode.change(run, DOOR)
    told = json.loads(change.env["OPENCODE_CONFIG_CONTENT"])
    assert told["theme"] == "x"
    options = told["provider"]["openai"]["options"]
    assert options["baseURL"] == "http://127.0.0.1:9/v1"
    name = options["headers"]["x-pagefault-token"].strip("{}").removeprefix("env:")
    assert change.env[name] == DOOR.token
    (tmp_path / "opencode.json").write_text(
        '{"model": "own/m", "provider": {"own": {"options": {"baseURL": "http://localhost:1/v1"}}}}'
    )
    run = run_of(tmp_path, ANTHROPIC_API_KEY="k")
    route = opencode.route(run)
    assert route.upstream == "http://localhost:1/v1"
    assert route.others == {"/anthropic": "https://api.anthropic.com"}
    door = Door("http://127.0.0.1:9", route.upstream, "", "x", route.others)
    told = json.loads(opencode.change(run, door).env["OPENCODE_CONFIG_CONTENT"])["provider"]
    assert told["own"]["options"]["baseURL"] == "http://127.0.0.1:9/v1"
    assert told["anthropic"]["options"]["baseURL"] == "http://127.0.0.1:9/anthropic/v1"


def test_aider_which_has_no_ids_has_a_conversation_of_its_own(tmp_path: Path) -> None:
    aider = CLIENTS["aider"]
    run = run_of(tmp_path, "--model", "gpt-4o")
    assert aider.route(run).upstream == "https://api.openai.com"
    assert aider.change(run, DOOR).env["OPENAI_API_BASE"] == "http://127.0.0.1:9/s/aider-x/v1"
    run = run_of(tmp_path, "--model", "anthropic/claude-sonnet-4-5")
    assert aider.route(run).upstream == "https://api.anthropic.com"
    assert aider.change(run, DOOR).env["ANTHROPIC_API_BASE"] == "http://127.0.0.1:9/s/aider-x"
    assert "OPENAI_API_BASE" not in aider.change(run, DOOR).env
    assert aider.route(run).others == {"chat": "https://api.openai.com"}
    both = replace(DOOR, others=aider.route(run).others)
    assert aider.change(run, both).env["OPENAI_API_BASE"] == "http://127.0.0.1:9/s/aider-x/v1"
