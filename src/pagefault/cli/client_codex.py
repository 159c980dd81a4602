"""Codex: its settings, in its order of precedence, and how to route it here.

`-c` wins over the files, and an administrator's settings over that. A project's file cannot name a
provider, and the variable OPENAI_BASE_URL is not read (checked with 0.169).
"""

from __future__ import annotations

import json
import re
import subprocess
import tomllib
from collections.abc import Mapping, Sequence
from functools import reduce
from pathlib import Path
from typing import Any, Final

from pagefault.cli.client_settings import dotenv, merged, toml_settings
from pagefault.cli.launch import (
    OPENAI,
    TOKEN_HEADER,
    TOKEN_VARIABLE,
    Adjusted,
    Door,
    Launch,
    PastProxy,
    Route,
    asked_directly,
    known_window,
    managed,
    positive,
)
from pagefault.model.errors import BadInput

CHATGPT: Final = "https://chatgpt.com/backend-api/codex"  # where it goes with an account
_ASK_S: Final = 5.0
_OURS: Final = "pagefault"  # the provider that we define


def _home(run: Launch) -> Path:
    return Path(run.env.get("CODEX_HOME") or run.home / ".codex")


def _env(run: Launch) -> Mapping[str, str]:
    """Its environment, including its own file of variables."""
    own = dotenv(_home(run) / ".env")
    return {**run.env, **{name: one for name, one in own.items() if not name.startswith("CODEX_")}}


def _files(run: Launch) -> list[tuple[str, dict[str, Any]]]:
    """Later ones win."""
    paths = [run.system / "etc/codex/config.toml", _home(run) / "config.toml"]
    profile = run.option("-p", "--profile")
    if re.fullmatch(r"[\w-]+", profile):
        paths.append(_home(run) / f"{profile}.config.toml")
    return [(str(path), toml_settings(path)) for path in paths]


def _config(run: Launch) -> dict[str, Any]:
    told: dict[str, Any] = reduce(merged, (one for _, one in _files(run)), {})
    for name, value in _overrides(run):
        *tables, last = name.split(".")
        one = reduce(lambda inner, table: {table: inner}, reversed(tables), {last: value})
        told = merged(told, one)
    return merged(told, toml_settings(run.system / "etc/codex/managed_config.toml"))


def _overrides(run: Launch) -> list[tuple[str, Any]]:
    """The values of `-c NAME=VALUE`: TOML, or else a text."""
    found: list[tuple[str, Any]] = []
    for _, _, word in run.given("-c", "--config"):
        name, _, text = word.partition("=")
        try:
            value = tomllib.loads(f"value = {text}")["value"]
        except (ValueError, RecursionError):
            value = text.strip().strip("\"'")
        found.append((name.strip(), value))
    return found


def check(run: Launch) -> None:
    """Raise `PastProxy` if it would go past the proxy, whatever it is given, and `BadInput` for
    arguments that set more than an address or a provider.
    """
    if run.has("--oss") or run.has("--local-provider"):
        raise PastProxy("--oss makes Codex use a model on this machine, which bypasses any proxy")
    provider, url = _provider(run)
    ours = provider if url else _OURS
    for name in ("managed_config.toml", "requirements.toml"):
        path = run.system / "etc/codex" / name
        told = toml_settings(path)
        for setting in ("model_provider", f"model_providers.{ours}"):
            if _at(told, *setting.split(".")) is not None:
                raise managed(path, setting, "Codex")
    legacy = [named for where, told in _files(run) if (named := told.get("profile"))]
    if legacy:
        raise BadInput(
            f"`profile` in config.toml ({legacy[0]!r}) is no longer read by Codex",
            hint="move its settings into a file named after the profile, and select it with "
            "--profile",
        )
    _without_ours(run, [f"model_providers.{ours}.base_url", *([] if url else ["model_provider"])])


def _at(told: Any, *names: str) -> Any:
    """The value under these nested names; None if there is none."""
    for name in names:
        told = told.get(name) if isinstance(told, dict) else None
    return told


def _without_ours(run: Launch, ours: Sequence[str]) -> tuple[str, ...]:
    """Its arguments without those that would win over `ours`, the names that we set. Raises
    `BadInput` for one that sets more than an address or a provider.
    """
    gone = []
    for one in run.given("-c", "--config"):
        name = one[2].partition("=")[0].strip()
        if name in ours and name.endswith(("base_url", "model_provider")):
            gone.append(one)
        elif name.partition(".")[0] in ("profile", "profiles") or any(
            set_.startswith(f"{name}.") or f"{name}.".startswith(f"{set_}.") for set_ in ours
        ):
            raise BadInput(
                f"-c {name} would take precedence over the proxy's address",
                hint="write it in config.toml, or name with -c the provider's base_url alone",
            )
    return run.without(gone)


def _text(told: Mapping[str, Any], name: str) -> str:
    found = told.get(name)
    return found if isinstance(found, str) else ""


def _provider(run: Launch) -> tuple[str, str]:
    """Its provider, and the address of a provider of the user's own."""
    told = _config(run)
    provider = _text(told, "model_provider") or "openai"
    url = _at(told, "model_providers", provider, "base_url")
    return provider, url if isinstance(url, str) else ""


def _where(run: Launch, *names: str) -> str:
    """The source of a setting: an argument, or a file."""
    if any(".".join(names) == name for name, _ in _overrides(run)):
        return f"-c {names[0]}"
    said = (path for path, told in reversed(_files(run)) if _at(told, *names) is not None)
    return next(said, "config.toml")


def route(run: Launch) -> Route:
    provider, url = _provider(run)
    if url:
        where = _where(run, "model_providers", provider, "base_url")
        return Route(url, f"{where}, provider {provider}")
    if provider != "openai":
        raise BadInput(
            f"Codex's settings give no address for its provider {provider!r}",
            hint="name it with --upstream",
        )
    if found := _text(_config(run), "openai_base_url"):
        return Route(found, f"{_where(run, 'openai_base_url')}, openai_base_url")
    if not _env(run).get("OPENAI_API_KEY") and _has_account(run):
        return Route(CHATGPT, "its login with an account")
    ignored = "; it does not read OPENAI_BASE_URL" if run.env.get("OPENAI_BASE_URL") else ""
    return Route(OPENAI, f"its own default{ignored}")


def _has_account(run: Launch) -> bool:
    """Whether Codex says that it is logged in with an account. It shows no key in full."""
    if not run.program:
        return False
    try:
        done = subprocess.run(
            [run.program, "login", "status"],
            env=dict(run.env),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_ASK_S,
            check=False,
        )
    except (OSError, subprocess.SubprocessError):
        return False
    return b"ChatGPT" in done.stdout + done.stderr


def believes(run: Launch) -> int:
    told = _config(run)
    model = run.option("-m", "--model") or _text(told, "model")
    return positive(told.get("model_context_window")) or known_window(model, 272_000)


def compacts(run: Launch) -> int:
    """Nine tenths of its window, or the user's own limit if that is lower."""
    most = believes(run) * 9 // 10
    return min(positive(_config(run).get("model_auto_compact_token_limit")) or most, most)


def change(run: Launch, door: Door) -> Adjusted:
    provider, url = _provider(run)
    env = _env(run)
    headers = f'{{"{TOKEN_HEADER}"="{TOKEN_VARIABLE}"}}' if door.token else "{}"
    if url:  # the user's own, complete but for the address
        at = f"model_providers.{provider}"
        words = ["-c", f"{at}.base_url={json.dumps(door.v1)}"]
        if door.token:
            words += ["-c", f'{at}.env_http_headers.{TOKEN_HEADER}="{TOKEN_VARIABLE}"']
    else:
        key = 'env_key="OPENAI_API_KEY"' if env.get("OPENAI_API_KEY") else ""
        key = key or "requires_openai_auth=true"
        told = f'name="{_OURS}",base_url={json.dumps(door.v1)},wire_api="responses"'
        words = ["-c", f"model_providers.{_OURS}={{{told},{key},env_http_headers={headers}}}"]
        words += ["-c", f'model_provider="{_OURS}"']
    ours = [word.partition("=")[0] for word in words if word != "-c"]
    given = {TOKEN_VARIABLE: door.token} if door.token else {}
    return Adjusted(given | asked_directly(env, door), words, _without_ours(run, ours))
