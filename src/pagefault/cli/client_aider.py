"""aider: its settings, in its order of precedence, and how to route it here (checked with 0.86.2).

Its `.env` files win over the environment. `--set-env` and `--openai-api-base` win over these, and
for both the command line wins over a `.aider.conf.yml`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from pagefault.cli.client_settings import dotenv, text_of
from pagefault.cli.launch import (
    ANTHROPIC,
    OPENAI,
    Adjusted,
    Door,
    Launch,
    PastProxy,
    Route,
    asked_directly,
    known_window,
    v1_of,
)

_NAMES: Final = {  # highest precedence first
    "messages": ("ANTHROPIC_API_BASE", "ANTHROPIC_BASE_URL"),
    "chat": ("OPENAI_BASE_URL", "OPENAI_API_BASE"),
}
_OPTION: Final = "--openai-api-base"
_DEFAULTS: Final = {"messages": ANTHROPIC, "chat": OPENAI}
_ADDRESS: Final = re.compile(r"\b(?:OPENAI|ANTHROPIC)_(?:API_BASE|BASE_URL)\b|\bno_proxy\b", re.I)


def _folders(run: Launch) -> list[Path]:
    """The folders of its files; later ones win."""
    found = [run.home, *([run.repository] if run.repository else []), run.here]
    return list(dict.fromkeys(found))


def _yaml(run: Launch) -> Iterator[tuple[Path, str]]:
    named = run.option("-c", "--config")
    for folder in _folders(run):
        yield folder / ".aider.conf.yml", text_of(folder / ".aider.conf.yml")
    if named:
        yield run.here / named, text_of(run.here / named)


def _setting(run: Launch, name: str) -> str:
    """A single-line setting in its YAML files."""
    line = re.compile(
        rf"^{name}\s*:\s*(?:\"([^\"]*)\"|'([^']*)'|(.*?))\s*(?:\s#.*)?$", re.MULTILINE
    )
    found = ""
    for _, text in _yaml(run):
        for one in line.finditer(text):
            found = one[1] or one[2] or one[3] or ""
    return found


def _dotenvs(run: Launch) -> Iterator[tuple[Path, dict[str, str]]]:
    """Later ones win."""
    named = run.option("--env-file") or run.env.get("AIDER_ENV_FILE") or _setting(run, "env-file")
    named = named or (str(run.repository / ".env") if run.repository else "")
    paths = [run.home / ".aider" / "oauth-keys.env", *(one / ".env" for one in _folders(run))]
    paths += [run.here / named] if named else []
    last = {path: at for at, path in enumerate(paths)}
    for path in sorted(last, key=lambda one: last[one]):
        yield path, dotenv(path)


def _env(run: Launch) -> dict[str, tuple[str, str]]:
    """Its effective environment: values, and their sources."""
    found = {name: (value, name) for name, value in run.env.items()}
    for path, told in _dotenvs(run):
        found |= {name: (value, f"{name} in {path}") for name, value in told.items()}
    for _, _, one in run.given("--set-env"):
        name, _, value = one.partition("=")
        found[name.strip()] = (value.strip(), f"--set-env {name.strip()}")
    option = run.option(_OPTION)
    in_env, where = found.get("AIDER_OPENAI_API_BASE", ("", ""))
    in_file = _setting(run, "openai-api-base")
    if option or in_env or in_file:
        said = (option, _OPTION) if option else (in_env, where)
        found["OPENAI_API_BASE"] = (
            said if said[0] else (in_file, "openai-api-base in .aider.conf.yml")
        )
    return found


def _model(run: Launch) -> str:
    for short in ("--sonnet", "--opus", "--haiku"):
        if run.has(short):
            return "anthropic/claude"
    return run.option("--model") or _env(run).get("AIDER_MODEL", ("",))[0] or _setting(run, "model")


def _is_anthropic(run: Launch) -> bool:
    model, env = _model(run), _env(run)
    if not model:
        return "ANTHROPIC_API_KEY" in env and "OPENAI_API_KEY" not in env
    return model.startswith(("claude", "anthropic/", "sonnet", "opus", "haiku"))


def check(run: Launch) -> None:
    """Raise `PastProxy` if it would go past the proxy, whatever it is given."""
    provider, slash, _ = _model(run).partition("/")
    if slash and provider not in ("openai", "anthropic"):
        raise PastProxy(
            f"aider asks {provider} directly for {_model(run)!r}, which bypasses the proxy",
            hint="if it speaks OpenAI's format: --model openai/… after `--`, with --upstream",
        )
    lists = [(f"`set-env` in {path}", text) for path, text in _yaml(run) if _SET_ENV.search(text)]
    in_env, where = _env(run).get("AIDER_SET_ENV", ("", ""))
    lists += [(where, in_env)] if in_env else []
    for where, text in lists:
        if _ADDRESS.search(text) or _answered(run):
            raise PastProxy(
                f"{where} takes precedence over the proxy's address",
                hint="name those variables in the environment, or with --set-env after `--`",
            )


_SET_ENV: Final = re.compile(r"^set-env\s*:", re.MULTILINE)


def _answered(run: Launch) -> bool:
    """Whether something else names an address, or hosts to ask directly, with precedence over the
    environment.
    """
    named = [told for _, told in _dotenvs(run)]
    given = [one.partition("=")[0].strip() for _, _, one in run.given("--set-env")]
    return any(_ADDRESS.search(name) for name in (*given, *(one for told in named for one in told)))


def route(run: Launch) -> Route:
    """It asks a second, weaker model, which may be of the other provider."""
    env = _env(run)
    found = {
        wire: next((env[name] for name in names if env.get(name, ("",))[0]), (_DEFAULTS[wire], ""))
        for wire, names in _NAMES.items()
    }
    main, other = ("messages", "chat") if _is_anthropic(run) else ("chat", "messages")
    return Route(found[main][0], found[main][1] or "its own default", {other: found[other][0]})


def believes(run: Launch) -> int:
    return known_window(_model(run).rpartition("/")[2], 128_000)


def change(run: Launch, door: Door) -> Adjusted:
    main = "messages" if _is_anthropic(run) else "chat"
    urls = {main: door.upstream, **door.others}
    behind = {wire: v1_of(url) if wire == "chat" else "" for wire, url in urls.items()}
    env = {name: f"{door.named}{behind[wire]}" for wire in urls for name in _NAMES[wire]}
    found = {name: value for name, (value, _) in _env(run).items()}
    env |= asked_directly(found, door)
    mine = [one for one in run.given("--set-env") if one[2].partition("=")[0].strip() in env]
    adjusted = Adjusted(env=env, own=run.without([*mine, *run.given(_OPTION)]))
    if "chat" in urls:
        adjusted.words += [_OPTION, env["OPENAI_API_BASE"]]
    if _answered(run):
        adjusted.words += [w for name, one in env.items() for w in ("--set-env", f"{name}={one}")]
    return adjusted
