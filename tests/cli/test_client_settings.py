"""What goes before what, in each client's own eyes: what would lead past the proxy is refused, a
broken file is told by its line, and no token reaches a stranger.

Each rank was seen with the client itself, of the version that its module names.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from pagefault.cli.background import marker_of
from pagefault.cli.client_settings import BrokenSettings, dotenv, json_settings
from pagefault.cli.clients import CLIENTS
from pagefault.cli.launch import PRIVATE_FILE, Adjusted, Door, Launch, PastProxy
from pagefault.cli.swaps import keep_beside
from pagefault.model.errors import BadInput
from tests.cli.conftest import Cli

TOKEN = "t" * 20
DOOR = Door("http://127.0.0.1:9", "https://api.example.com/v1", TOKEN, "one")
ELSEWHERE = "https://gate.example/v1"


class Desk:
    """A home, a repository in it, and what an administrator manages."""

    def __init__(self, folder: Path) -> None:
        self.home, self.system = folder / "home", folder / "system"
        self.top = self.home / "work"
        self.here = self.top / "inside"
        (self.top / ".git").mkdir(parents=True)
        self.here.mkdir()

    def run(self, *words: str, **env: str) -> Launch:
        told = {"HOME": str(self.home), **env}
        return Launch(words, told, self.here, system=self.system)

    def put(self, path: Path, text: str | Mapping[str, Any]) -> Path:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text if isinstance(text, str) else json.dumps(text))
        return path


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


def env(url: str, **more: str) -> dict[str, Any]:
    return {"env": {"ANTHROPIC_BASE_URL": url, **more}}


def provider(name: str, url: str) -> str:
    return f'model_provider = "{name}"\n[model_providers.{name}]\nbase_url = "{url}"\n'


def opencode(url: str, name: str = "own") -> dict[str, Any]:
    return {"provider": {name: {"options": {"baseURL": url}}}}


# --- broken files -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("client", "at", "text", "line", "what"),
    [
        ("claude", ".claude/settings.json", '{\n "env": {},\n}', 3, "property name"),
        ("claude", ".claude.json", '{\n "env": {}\n', 3, "delimiter"),
        ("claude", ".claude/settings.json", '{"env": "x"}', 0, "not an object of variables"),
        ("claude", ".claude/settings.json", "[]", 1, "not an object"),
        ("codex", ".codex/config.toml", "a = 1\nb\n", 2, "Expected '='"),
        ("codex", ".codex/config.toml", 'a = 1\nb = "x', 2, "Unterminated string"),
        ("opencode", ".config/opencode/opencode.json", '// a\n{"a": 1\n"b": 2}', 3, "delimiter"),
        ("aider", ".env", "A=\udcff", 1, "UTF-8"),
    ],
)
def test_a_broken_file_of_settings_is_told_by_its_line_and_what_is_wrong(
    desk: Desk, client: str, at: str, text: str, line: int, what: str
) -> None:
    path = desk.home / at
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(before := text.encode(errors="surrogateescape"))
    run = desk.run("-m", "openai/gpt-5")
    for do in (CLIENTS[client].check, CLIENTS[client].route):
        with pytest.raises(BrokenSettings) as found:
            do(run)
        assert str(path) in found.value.message
        assert what in found.value.message
        assert not line or f", line {line}:" in found.value.message
        assert "fix it" in found.value.hint
    assert path.read_bytes() == before


def test_the_doctor_fails_over_a_broken_file_and_wrap_starts_nothing(
    tmp_path: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the control: mended, the doctor says where the client goes."""
    for name in ("claude", "codex"):
        program = tmp_path / "bin" / name
        program.parent.mkdir(exist_ok=True)
        program.write_text("#!/bin/sh\n")
        program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:/usr/bin:/bin")
    monkeypatch.setenv("CODEX_HOME", str(tmp_path / "codex"))
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "claude"))
    files = {"codex": tmp_path / "codex/config.toml", "claude": tmp_path / "claude/settings.json"}
    for path in files.values():
        path.parent.mkdir()
        path.write_text("broken")
    doctor = ("--root", tmp_path / "m", "doctor", "--no-canary", "--json")
    found = {one["name"]: one for one in cli(*doctor).data["checks"]}
    for name, path in files.items():
        assert found[name]["status"] == "fail"
        assert f"{path}, line 1: " in found[name]["found"]
        for more in ([], ["--upstream", "https://api.example.com"]):
            told = cli("--root", tmp_path / "m", "wrap", *more, name)
            assert told.code == 2
            assert f"error: cannot read the settings in {path}, line 1: " in told.err
        assert path.read_text() == "broken"
        path.write_text("")
    assert not (tmp_path / "m").exists()
    found = {one["name"]: one for one in cli(*doctor).data["checks"]}
    assert {found[name]["status"] for name in files} == {"ok"}


def test_remarks_and_last_commas_are_read_where_a_client_takes_them(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonc"
    path.write_text('{// one\n"a": "// none, }", /* two\nlines */ "b": [1, 2, ],\n}')
    assert json_settings(path, remarks=True) == {"a": "// none, }", "b": [1, 2]}
    with pytest.raises(BrokenSettings, match="line 1"):
        json_settings(path)


def test_variables_of_a_dotenv_file_are_read_as_its_library_reads_plain_ones(
    tmp_path: Path,
) -> None:
    (tmp_path / ".env").write_text(
        "# no\nexport A=1 # why\nB = 'two words'\nC=\"x # y\"\nbroken line\nD=a#b\nE=\n"
    )
    told = {"A": "1", "B": "two words", "C": "x # y", "D": "a#b", "E": ""}
    assert dotenv(tmp_path / ".env") == told


# --- what goes before what wrap says ------------------------------------------------------------


@pytest.mark.parametrize(
    ("client", "at", "text", "setting"),
    [
        ("claude", "etc/claude-code/managed-settings.json", env(ELSEWHERE), "env.ANTHROPIC_BASE"),
        ("claude", "etc/claude-code/managed-settings.d/7.json", env(ELSEWHERE), "env.ANTHROPIC"),
        (
            "claude", "etc/claude-code/managed-settings.json",
            {"env": {"HTTPS_PROXY": "http://corp:1", "NO_PROXY": ".corp"}}, "env.NO_PROXY",
        ),
        ("codex", "etc/codex/managed_config.toml", provider("me", ELSEWHERE), "model_provider"),
        ("codex", "etc/codex/requirements.toml", 'model_provider = "me"', "model_provider"),
        (
            "codex", "etc/codex/managed_config.toml",
            f'[model_providers.pagefault]\nbase_url = "{ELSEWHERE}"', "model_providers.pagefault",
        ),
        ("opencode", "etc/opencode/opencode.jsonc", opencode(ELSEWHERE), "provider.own.options"),
    ],
)  # fmt: skip
def test_what_an_administrator_manages_is_refused_by_file_and_setting(
    desk: Desk, client: str, at: str, text: Any, setting: str
) -> None:
    """It goes before all that wrap can say, so the token would reach another address."""
    one = CLIENTS[client]
    words = ("-m", "own/m")
    run = desk.run(*words, OPENCODE_CONFIG_CONTENT=json.dumps(opencode("http://localhost:1")))
    one.check(run)  # the control
    path = desk.put(desk.system / at, text)
    with pytest.raises(PastProxy) as found:
        one.check(run)
    assert str(path) in found.value.message
    assert setting in found.value.message


def test_a_broken_file_that_is_managed_is_told_of(desk: Desk) -> None:
    path = desk.put(desk.system / "etc/codex/requirements.toml", "x")
    with pytest.raises(BrokenSettings, match=str(path)):
        CLIENTS["codex"].check(desk.run())


def test_whom_to_ask_directly_matters_where_the_network_is_reached_through_a_proxy(
    desk: Desk,
) -> None:
    path = desk.system / "etc/claude-code/managed-settings.json"
    desk.put(path, {"env": {"NO_PROXY": ".corp"}})
    CLIENTS["claude"].check(desk.run())
    with pytest.raises(PastProxy, match="NO_PROXY"):
        CLIENTS["claude"].check(desk.run(HTTPS_PROXY="http://corp:1"))


def test_a_cloud_that_settings_name_by_a_number_is_one(desk: Desk) -> None:
    desk.put(desk.home / ".claude/settings.json", {"env": {"CLAUDE_CODE_USE_BEDROCK": 1}})
    with pytest.raises(PastProxy, match="sets CLAUDE_CODE_USE_BEDROCK"):
        CLIENTS["claude"].check(desk.run())


def test_headers_that_are_managed_leave_no_room_for_a_token(desk: Desk) -> None:
    claude = CLIENTS["claude"]
    assert claude.takes_headers(desk.run())
    path = desk.system / "etc/claude-code/managed-settings.json"
    desk.put(path, {"env": {"ANTHROPIC_CUSTOM_HEADERS": "a: b"}})
    claude.check(desk.run())
    assert not claude.takes_headers(desk.run())


# --- Claude Code --------------------------------------------------------------------------------


def test_claude_code_s_sources_of_settings_are_ranked_as_it_ranks_them(desk: Desk) -> None:
    claude = CLIENTS["claude"]
    ranked = [
        desk.put(desk.home / ".claude.json", env("https://state.example")),
        desk.put(desk.home / ".claude/settings.json", env("https://user.example")),
        desk.put(desk.here / ".claude/settings.json", env("https://project.example")),
        desk.put(desk.top / ".claude/settings.local.json", env("https://local.example")),
    ]
    run = desk.run(ANTHROPIC_BASE_URL="https://variable.example")
    for path in reversed(ranked):
        found = claude.route(run)
        assert found.upstream == json.loads(path.read_text())["env"]["ANTHROPIC_BASE_URL"]
        assert found.why == str(path)
        path.unlink()
    assert claude.route(run).upstream == "https://variable.example"


@pytest.mark.parametrize("words", [["--setting-sources", "project"], ["--restricted"]])
def test_sources_that_claude_code_is_told_to_leave_out_send_nobody_a_key(
    desk: Desk, words: list[str]
) -> None:
    desk.put(desk.home / ".claude/settings.json", env(ELSEWHERE))
    assert CLIENTS["claude"].route(desk.run()).upstream == ELSEWHERE
    assert CLIENTS["claude"].route(desk.run(*words)).upstream == "https://api.anthropic.com"


def test_a_token_or_what_a_file_of_the_user_s_says_is_in_no_argument(desk: Desk) -> None:
    claude = CLIENTS["claude"]
    own = desk.put(desk.home / "own.json", {"env": {"ANTHROPIC_AUTH_TOKEN": "secret"}})
    given = claude.change(desk.run("--settings", str(own)), DOOR)
    desk.put(desk.home / ".claude/settings.json", env("", ANTHROPIC_CUSTOM_HEADERS="a: b"))
    for change in (given, claude.change(desk.run(), DOOR)):
        assert change.words == ["--settings", PRIVATE_FILE]
        assert not {TOKEN, "secret"} & set(" ".join([*change.words, *(change.own or ())]).split())
    headers = json.loads(claude.change(desk.run(), DOOR).file)["env"]["ANTHROPIC_CUSTOM_HEADERS"]
    assert headers == f"a: b\nx-pagefault-token: {TOKEN}"


# --- Codex --------------------------------------------------------------------------------------


def test_codex_s_files_are_ranked_as_it_ranks_them(desk: Desk) -> None:
    codex = CLIENTS["codex"]
    desk.put(desk.here / ".codex/config.toml", provider("project", "https://project.example"))
    system = desk.put(desk.system / "etc/codex/config.toml", provider("a", "https://a.example"))
    assert codex.route(desk.run()).upstream == "https://a.example"
    assert codex.route(desk.run()).why == f"{system}, provider a"
    desk.put(desk.home / ".codex/config.toml", provider("b", "https://b.example"))
    assert codex.route(desk.run()).upstream == "https://b.example"
    desk.put(desk.home / ".codex/work.config.toml", provider("c", "https://c.example"))
    assert codex.route(desk.run()).upstream == "https://b.example"
    run = desk.run("exec", "--profile", "work")
    assert codex.route(run).upstream == "https://c.example"
    assert codex.change(run, DOOR).words[1].startswith("model_providers.c.base_url=")


def test_codex_is_sent_where_it_goes_and_not_where_a_variable_says_that_it_does_not_read(
    desk: Desk,
) -> None:
    run = desk.run(OPENAI_BASE_URL=ELSEWHERE, OPENAI_API_KEY="k")
    found = CLIENTS["codex"].route(run)
    assert found.upstream == "https://api.openai.com"
    assert "does not read OPENAI_BASE_URL" in found.why


def test_a_profile_of_old_that_codex_does_not_read_is_refused(desk: Desk) -> None:
    desk.put(desk.home / ".codex/config.toml", 'profile = "x"\n[profiles.x]\nmodel = "m"\n')
    with pytest.raises(BadInput, match="no longer read by Codex"):
        CLIENTS["codex"].check(desk.run())


def test_a_key_in_codex_s_own_file_of_variables_is_one(desk: Desk) -> None:
    desk.put(desk.home / ".codex/.env", "OPENAI_API_KEY=k\n")
    assert 'env_key="OPENAI_API_KEY"' in CLIENTS["codex"].change(desk.run(), DOOR).words[1]


# --- opencode -----------------------------------------------------------------------------------


def test_opencode_s_files_are_ranked_as_it_ranks_them(desk: Desk) -> None:
    one = CLIENTS["opencode"]
    run = desk.run(
        "run",
        "-m",
        "own/m",
        OPENCODE_CONFIG=str(desk.home / "named.json"),
        GATE="https://7.example",
    )
    paths = [
        desk.home / ".config/opencode/config.json",
        desk.home / ".config/opencode/opencode.jsonc",
        desk.home / "named.json",
        desk.top / "opencode.json",
        desk.here / "opencode.jsonc",
        desk.here / ".opencode/opencode.json",
        desk.home / ".opencode/opencode.json",
    ]
    for number, path in enumerate(paths):
        desk.put(path, "// a remark\n" + json.dumps(opencode(f"https://{number}.example")))
        assert one.route(run).upstream == f"https://{number}.example", path
    desk.put(paths[-1], opencode("{env:GATE}"))
    assert one.route(run).upstream == "https://7.example"


# --- aider --------------------------------------------------------------------------------------


def aider_env(change: Adjusted) -> list[str]:
    return [
        two for one, two in zip(change.words, change.words[1:], strict=False) if one == "--set-env"
    ]


def test_aider_s_sources_are_ranked_as_it_ranks_them(desk: Desk) -> None:
    aider, words = CLIENTS["aider"], ("--model", "gpt-4o")
    base = "OPENAI_API_BASE"
    assert aider.route(desk.run(*words, **{base: "https://0.example"})).upstream.endswith(
        "0.example"
    )
    desk.put(desk.home / ".env", f"{base}=https://1.example\n")
    desk.put(desk.here / ".env", f"{base}=https://2.example\n")
    desk.put(desk.top / ".env", f'export {base}="https://3.example"\n')
    files = [desk.top / ".env", desk.here / ".env", desk.home / ".env"]
    for number, path in zip((3, 2, 1), files, strict=True):
        assert aider.route(desk.run(*words)).upstream == f"https://{number}.example", path
        path.unlink()
    named = desk.put(desk.home / "more.env", f"{base}=https://4.example\n")
    run = desk.run(*words, "--env-file", str(named))
    assert aider.route(run).upstream == "https://4.example"
    run = desk.run(*words, "--env-file", str(named), "--set-env", f"{base}=https://5.example")
    assert aider.route(run).upstream == "https://5.example"
    desk.put(desk.top / ".aider.conf.yml", "openai-api-base: 'https://6.example'  # why\n")
    assert aider.route(run).upstream == "https://6.example"
    run = desk.run(*words, "--openai-api-base", "https://7.example")
    assert aider.route(run).upstream == "https://7.example"
    assert (
        aider.route(desk.run(*words, OPENAI_BASE_URL="https://8.example")).why == "OPENAI_BASE_URL"
    )


def test_what_a_dotenv_file_says_to_aider_is_answered_by_what_goes_before_it(desk: Desk) -> None:
    """Variables alone would not do: such a file goes before them."""
    aider = CLIENTS["aider"]
    plain = aider.change(desk.run("--model", "gpt-4o"), DOOR)
    assert aider_env(plain) == []
    desk.put(desk.here / ".env", f"ANTHROPIC_API_BASE={ELSEWHERE}\n")
    run = desk.run("--opus", "--set-env", f"ANTHROPIC_BASE_URL={ELSEWHERE}", "--set-env", "A=1")
    aider.check(run)
    change = aider.change(run, DOOR)
    assert aider_env(change) == [
        f"{name}={DOOR.named}" for name in ("ANTHROPIC_API_BASE", "ANTHROPIC_BASE_URL")
    ]
    assert change.own == ("--opus", "--set-env", "A=1")


@pytest.mark.parametrize(
    ("at", "text"),
    [
        (".aider.conf.yml", f"set-env:\n  - OPENAI_API_BASE={ELSEWHERE}\n"),
        (".env", f'AIDER_SET_ENV="[OPENAI_BASE_URL={ELSEWHERE}]"\n'),
    ],
)
def test_a_list_of_variables_that_goes_before_all_is_refused(
    desk: Desk, at: str, text: str
) -> None:
    path = desk.put(desk.top / at, text)
    with pytest.raises(PastProxy, match=str(path)):
        CLIENTS["aider"].check(desk.run("--model", "gpt-4o"))


def test_a_provider_that_aider_asks_itself_is_refused(desk: Desk) -> None:
    with pytest.raises(PastProxy, match="asks deepseek directly"):
        CLIENTS["aider"].check(desk.run("--model", "deepseek/deepseek-chat"))


# --- a proxy of the network's -------------------------------------------------------------------


@pytest.mark.parametrize("client", CLIENTS)
def test_nobody_s_network_proxy_is_told_the_token(desk: Desk, client: str) -> None:
    """With the control: where there is none, nothing is said."""
    change, words = CLIENTS[client].change, ("-m", "openai/gpt-5")
    assert "NO_PROXY" not in change(desk.run(*words), DOOR).env
    for name in ("HTTPS_PROXY", "http_proxy"):
        told = {name: "http://corp.example:3128", "no_proxy": ".corp.example"}
        given = change(desk.run(*words, **told), DOOR).env
        assert given["NO_PROXY"] == given["no_proxy"] == ".corp.example,127.0.0.1"
    every = change(desk.run(*words, HTTP_PROXY="http://corp.example:3128", NO_PROXY="*"), DOOR).env
    assert every["NO_PROXY"] == "*"


# --- the file that a run has of its own ---------------------------------------------------------


@pytest.mark.parametrize("fix", [["unwrap"], ["doctor", "--fix", "--no-canary"]])
def test_a_file_with_a_token_goes_though_client_and_proxy_were_killed(
    cli: Cli, empty_home: Path, fix: list[str]
) -> None:
    path = keep_beside(marker_of("gone"), TOKEN)
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.parent.stat().st_mode & 0o777 == 0o700
    found = {one["name"]: one for one in cli("doctor", "--no-canary", "--json").data["checks"]}
    assert found["wrap"]["status"] == "warn"
    told = cli(*fix)
    assert str(path) in told.out + told.err
    assert not path.exists()
    assert cli("unwrap", "--json").data["removed"] == []


def test_a_home_that_cannot_be_written_is_told_with_another_place_to_name(
    tmp_path: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "claude").write_text("#!/bin/sh\n")
    (tmp_path / "claude").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "claude"))  # no folder
    told = cli("--root", tmp_path / "m", "wrap", "claude")
    assert told.code == 2
    assert "cannot write" in told.err
    assert "set XDG_STATE_HOME" in told.err
    assert not (tmp_path / "m").exists()
