"""Claude Code: its settings, in its order of precedence, and how to route it here.

Its settings win over the environment, `--settings` over the files, and an administrator's over
everything (checked with 2.1.331).
"""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from pagefault.cli.client_settings import BrokenSettings, json_settings, merged, parsed_json
from pagefault.cli.launch import (
    ANTHROPIC,
    NO_PROXY,
    PRIVATE_FILE,
    TOKEN_HEADER,
    Adjusted,
    Door,
    Launch,
    PastProxy,
    Route,
    asked_directly,
    has_proxy,
    is_direct,
    managed,
)

_URL: Final = "ANTHROPIC_BASE_URL"
_HEADERS: Final = "ANTHROPIC_CUSTOM_HEADERS"
_CLOUDS: Final = tuple(
    f"CLAUDE_CODE_USE_{name}"
    for name in "BEDROCK VERTEX FOUNDRY MANTLE GATEWAY ANTHROPIC_AWS ANTHROPIC_GOOGLE_CLOUD".split()
)

Settings = tuple[str, Mapping[str, Any]]  # their source, and their contents


def _managed(run: Launch) -> Iterator[Settings]:
    folder = "etc/claude-code"
    if sys.platform == "darwin":
        folder = "Library/Application Support/ClaudeCode"
    base = run.system / folder
    parts = sorted((base / "managed-settings.d").glob("*.json"), reverse=True)
    for path in (*parts, base / "managed-settings.json"):
        yield str(path), _checked(str(path), json_settings(path))


def _given(run: Launch) -> dict[str, Any] | None:
    """The value of `--settings`: JSON, or a file of it. Only the last one counts."""
    given = run.given("--settings")
    if not given:
        return None
    text, where = given[-1][2].strip(), "--settings"
    if text.startswith("{"):
        told = parsed_json(text, where)
    else:
        path = run.here / text
        if not path.is_file():
            raise BrokenSettings(path, "--settings names no file")
        told, where = json_settings(path), str(path)
    return dict(_checked(where, told))


def _files(run: Launch) -> Iterator[Settings]:
    """The user's own files, as `--setting-sources` allows, highest precedence first.

    Local ones are looked for at the root of the repository, those of the project in the current
    folder.
    """
    user = Path(run.env.get("CLAUDE_CONFIG_DIR") or run.home / ".claude")
    roots = dict.fromkeys((run.repository or run.here, run.here))
    named = [("local", root / ".claude" / "settings.local.json") for root in roots]
    named += [("project", run.here / ".claude" / "settings.json"), ("user", user / "settings.json")]
    sources = {"local", "project", "user"}
    if given := run.given("--setting-sources"):
        sources = {one.strip() for one in given[-1][2].split(",")}
    if run.has("--restricted"):
        sources = set()
    for source, path in named:
        if source in sources:
            yield str(path), _checked(str(path), json_settings(path))
    state = (Path(run.env.get("CLAUDE_CONFIG_DIR") or run.home)) / ".claude.json"
    yield str(state), {"env": _checked(str(state), json_settings(state)).get("env", {})}


def _checked(where: str, told: Mapping[str, Any]) -> Mapping[str, Any]:
    if not isinstance(told.get("env", {}), dict):
        raise BrokenSettings(where, '"env" is not an object of variables')
    return told


def _settings(run: Launch) -> list[Settings]:
    """All of them, highest precedence first."""
    given = _given(run)
    return [*_managed(run), *([("--settings", given)] if given is not None else []), *_files(run)]


def _env(run: Launch) -> dict[str, tuple[str, str]]:
    """Its effective environment, and the sources: settings win over existing variables."""
    found = {name: (value, name) for name, value in run.env.items()}
    for where, told in reversed(_settings(run)):
        for name, value in told.get("env", {}).items():
            found[name] = (value if isinstance(value, str) else json.dumps(value), where)
    return found


def takes_headers(run: Launch) -> bool:
    """Whether it sends a header of ours: not if an administrator sets its headers."""
    return not any(_HEADERS in told.get("env", {}) for _, told in _managed(run))


def check(run: Launch) -> None:
    """Raise `PastProxy` if it would go past the proxy, whatever it is given."""
    found = _env(run)
    for name in _CLOUDS:
        value, where = found.get(name, ("", ""))
        if value not in ("", "0", "false"):
            raise PastProxy(
                f"Claude Code uses its own cloud ({where} sets {name}), which bypasses any proxy"
            )
    is_proxied = has_proxy({name: value for name, (value, _) in found.items()})
    for where, told in _managed(run):
        env = told.get("env", {})
        leads = [name for name in (_URL,) if name in env]
        leads += [
            name
            for name in NO_PROXY
            if is_proxied and not is_direct(str(env.get(name, "*")), "127.0.0.1")
        ]
        if leads:
            raise managed(where, f"env.{leads[0]}", "Claude Code")


def route(run: Launch) -> Route:
    found, where = _env(run).get(_URL, ("", ""))
    return Route(found, where) if found else Route(ANTHROPIC, "its own default")


def believes(run: Launch) -> int:
    model = run.option("--model") or _env(run).get("ANTHROPIC_MODEL", ("",))[0]
    if not model:
        told = (one.get("model") for _, one in _settings(run))
        model = next((one for one in told if isinstance(one, str)), "")
    return 1_000_000 if model.endswith("[1m]") else 200_000


def compacts(run: Launch) -> int:
    return believes(run) - 33_000  # room for an answer, and its reserve


def change(run: Launch, door: Door) -> Adjusted:
    """The address is also in `--settings`, because an unknown file may set it."""
    told = _settings(run)
    found = {name: value for name, (value, _) in _env(run).items()}
    variables = {_URL: door.url, **asked_directly(found, door)}
    if door.token:
        others = found.get(_HEADERS, "").splitlines()
        others = [one for one in others if not one.lower().startswith(TOKEN_HEADER)]
        variables[_HEADERS] = "\n".join([*others, f"{TOKEN_HEADER}: {door.token}"])
    is_set = {name for _, one in told for name in one.get("env", {})}
    answered = {name: value for name, value in variables.items() if name == _URL or name in is_set}
    settings: dict[str, Any] = {"env": answered}
    is_seen = not (run.has("-p") or run.has("--print"))
    if is_seen and not any("statusLine" in one for _, one in told):
        settings["statusLine"] = {"type": "command", "command": STATUSLINE}
    adjusted = Adjusted(env=variables)
    given = _given(run)
    if given is not None:  # theirs would win over ours: it takes one
        adjusted.own = run.without(run.given("--settings"))
        settings = merged(given, settings)
    text = json.dumps(settings)
    if given is not None or _HEADERS in answered:  # the user's headers may be secret, and ours are
        adjusted.file, text = text, PRIVATE_FILE
    adjusted.words += ["--settings", text]
    return adjusted


_LINE: Final = "from pagefault.statusline import main; main()"
STATUSLINE: Final = shlex.join([sys.executable, "-P", "-c", _LINE])
"""`-m` would take as long again as Python's own start."""
