"""opencode: its settings, in its order of precedence, and how to route it here.

OPENCODE_CONFIG_CONTENT wins over every file except an administrator's (checked with 1.18.33).
Settings that an organisation serves to its members' accounts are not read.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator, Mapping
from functools import reduce
from pathlib import Path
from typing import Any, Final

from pagefault.cli.client_settings import BrokenSettings, json_settings, merged, parsed_json
from pagefault.cli.launch import (
    ANTHROPIC,
    OPENAI,
    TOKEN_HEADER,
    TOKEN_VARIABLE,
    Adjusted,
    Door,
    Launch,
    Route,
    asked_directly,
    known_window,
    managed,
    positive,
    v1_of,
)
from pagefault.model.errors import BadInput

_PROVIDERS: Final = {
    "anthropic": ANTHROPIC,
    "openai": OPENAI,
    "openrouter": "https://openrouter.ai/api/v1",
    "groq": "https://api.groq.com/openai/v1",
    "deepseek": "https://api.deepseek.com",
    "mistral": "https://api.mistral.ai/v1",
    "xai": "https://api.x.ai/v1",
}
_CONTENT: Final = "OPENCODE_CONFIG_CONTENT"
ANSWER_MAX: Final = 32_000  # tokens that it keeps free for an answer
RESERVED_MAX: Final = 20_000  # likewise, if the model has a limit for its input


def _paths(run: Launch) -> Iterator[Path]:
    """Its files; later ones win."""
    base = Path(run.env.get("XDG_CONFIG_HOME") or run.home / ".config") / "opencode"
    yield base / "config.json"
    yield from _both(base)
    if named := run.env.get("OPENCODE_CONFIG", ""):
        yield run.here / named
    top = run.repository
    inside = [run.here, *run.here.parents]
    inside = inside[: inside.index(top) + 1] if top is not None else inside
    if run.env.get("OPENCODE_DISABLE_PROJECT_CONFIG") in ("1", "true"):
        inside = []
    for folder in reversed(inside):
        yield from _both(folder)
    for folder in (*inside, run.home):
        yield from _both(folder / ".opencode")
    if named := run.env.get("OPENCODE_CONFIG_DIR", ""):
        yield from _both(Path(named))


def _both(folder: Path) -> tuple[Path, Path]:
    return folder / "opencode.json", folder / "opencode.jsonc"


def _config(run: Launch) -> dict[str, Any]:
    """The settings in its files and variables, field by field. Raises `BrokenSettings`."""
    told = [json_settings(path, remarks=True) for path in _paths(run)]
    return reduce(merged, [*told, _content(run)], {})


def _content(run: Launch) -> dict[str, Any]:
    return parsed_json(run.env.get(_CONTENT, ""), _CONTENT, remarks=True)


def check(run: Launch) -> None:
    """Raise `PastProxy` if it would go past the proxy, whatever it is given."""
    folder = "etc/opencode"
    if sys.platform == "darwin":
        folder = "Library/Application Support/opencode"
    ours = {_model(run)[0], *_others(run)}
    for path in _both(run.system / folder):
        for name in _urls(run, json_settings(path, remarks=True), str(path)):
            if name in ours:
                raise managed(path, f"provider.{name}.options.baseURL", "opencode")


def _model(run: Launch) -> tuple[str, str]:
    told = run.option("-m", "--model") or _config(run).get("model")
    provider, slash, model = told.partition("/") if isinstance(told, str) else ("", "", "")
    if not slash:
        raise BadInput(
            "opencode's settings do not say which provider to ask",
            hint="name it: -m PROVIDER/MODEL after `--`, or `model` in opencode.json",
        )
    return provider, model


def _others(run: Launch) -> dict[str, str]:
    """Other providers for which the user has settings or a key: switching the model must not leave
    the proxy.
    """
    own = _urls(run, _config(run), "opencode.json")
    return own | {
        name: url
        for name, url in _PROVIDERS.items()
        if name not in own and f"{name.upper()}_API_KEY" in run.env
    }


def route(run: Launch) -> Route:
    provider, _ = _model(run)
    own, others = _urls(run, _config(run), "opencode.json"), _others(run)
    others.pop(provider, None)
    named = {f"/{name}": url for name, url in others.items() if _PLAIN.fullmatch(name)}
    if provider in own:
        return Route(own[provider], f"opencode.json, provider {provider}", named)
    if provider not in _PROVIDERS:
        raise BadInput(
            f"the address of opencode's provider {provider!r} is not known",
            hint="name it with --upstream",
        )
    return Route(_PROVIDERS[provider], "its own default", named)


_PLAIN: Final = re.compile(r"[a-z][a-z0-9_-]*")
_VARIABLE: Final = re.compile(r"\{env:([^}]+)\}")


def _urls(run: Launch, config: Mapping[str, Any], where: str) -> dict[str, str]:
    """The addresses in settings, by provider. A variable in one is replaced by its value."""
    providers = config.get("provider")
    found = {}
    for name, one in (providers if isinstance(providers, dict) else {}).items():
        options = one.get("options") if isinstance(one, dict) else None
        url = options.get("baseURL") if isinstance(options, dict) else None
        if not isinstance(url, str) or not url:
            continue
        if "{file:" in url:
            raise BrokenSettings(where, f"the baseURL of {name} is in a file of its own")
        found[name] = _VARIABLE.sub(lambda at: run.env.get(at[1], ""), url)
    return found


def believes(run: Launch) -> int:
    """The model's context in the user's settings, or else the window known for that model."""
    return positive(_limit(run).get("context")) or known_window(_model(run)[1], 128_000)


def compacts(run: Launch) -> int:
    """The context without the room that it keeps for an answer. If the model has a limit for its
    input, that limit without `compaction.reserved`. Source: opencode 1.18.33.
    """
    limit, compaction = _limit(run), _config(run).get("compaction")
    answer = min(positive(limit.get("output")) or ANSWER_MAX, ANSWER_MAX)
    if most := positive(limit.get("input")):
        reserved = compaction.get("reserved") if isinstance(compaction, dict) else None
        return max(0, most - (positive(reserved) or min(answer, RESERVED_MAX)))
    return max(0, believes(run) - answer)


def _limit(run: Launch) -> dict[str, Any]:
    """The limits that the user's settings give the model, in tokens."""
    found: Any = _config(run).get("provider")
    provider, model = _model(run)
    for name in (provider, "models", model, "limit"):
        found = found.get(name) if isinstance(found, dict) else None
    return found if isinstance(found, dict) else {}


def change(run: Launch, door: Door) -> Adjusted:
    provider, _ = _model(run)
    more: dict[str, Any] = {}
    if door.token:
        more["headers"] = {TOKEN_HEADER: f"{{env:{TOKEN_VARIABLE}}}"}
    urls = {provider: door.v1}
    urls |= {at[1:]: f"{door.url}{at}{v1_of(url)}" for at, url in door.others.items()}
    told = {"provider": {name: {"options": {"baseURL": url, **more}} for name, url in urls.items()}}
    env = {_CONTENT: json.dumps(merged(_content(run), told))} | asked_directly(run.env, door)
    return Adjusted(env=env | ({TOKEN_VARIABLE: door.token} if door.token else {}))
