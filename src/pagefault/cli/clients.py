"""Coding clients: where each would send its requests, and what has it send them here instead.

Nothing of a user's is changed: each of these takes an address from its environment or its command
line, for one run. What a client reads of its own settings goes before the environment with some
(Claude Code), so it is looked at, and answered on the command line. Of settings only addresses and
names of models are read, never a key; whether Codex is logged in with an account or a key it is
asked itself.

Heads (what is sent before anybody said anything) were measured on the versions that
`script/clients` names, opencode on 1.18 and aider on none: there it is assumed.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from pagefault.model.catalogue import find_model
from pagefault.model.errors import BadInput

ANTHROPIC: Final = "https://api.anthropic.com"
OPENAI: Final = "https://api.openai.com"
CHATGPT: Final = "https://chatgpt.com/backend-api/codex"  # where Codex goes with an account
TOKEN_VARIABLE: Final = "PAGEFAULT_WRAP_TOKEN"  # of one client's own private proxy
_TOKEN_HEADER: Final = "x-pagefault-token"
_ASK_S: Final = 5.0


@dataclass(frozen=True, slots=True)
class Launch:
    """A client's program that is to be run, and what it would find."""

    words: tuple[str, ...]  # its arguments
    env: Mapping[str, str]
    here: Path
    program: str = ""  # its file

    def option(self, *names: str) -> str:
        """What one of these options is given among the arguments, "" if nothing."""
        for at, word in enumerate(self.words):
            if word in names and at + 1 < len(self.words):
                return self.words[at + 1]
            for name in names:
                if word.startswith(f"{name}=") and name.startswith("--"):
                    return word.removeprefix(f"{name}=")
                if len(name) == 2 < len(word) and word.startswith(name):
                    return word[2:].removeprefix("=")
        return ""

    @property
    def home(self) -> Path:
        return Path(self.env.get("HOME") or Path.home())

    def given(self, *names: str) -> list[tuple[int, int, str]]:
        """Each time that one of these options is given before a `--`: where its words begin and
        end, and its value.
        """
        found = []
        at, words = 0, self.words
        while at < len(words) and words[at] != "--":
            begin, at = at, at + 1
            for name in names:
                if words[begin] == name and at < len(words):
                    found.append((begin, at + 1, words[at]))
                    at += 1
                elif name.startswith("--") and words[begin].startswith(f"{name}="):
                    found.append((begin, at, words[begin].removeprefix(f"{name}=")))
                elif len(name) == 2 < len(words[begin]) and words[begin].startswith(name):
                    found.append((begin, at, words[begin][2:].removeprefix("=")))
        return found

    def without(self, given: Sequence[tuple[int, int, str]]) -> tuple[str, ...]:
        gone = {at for begin, end, _ in given for at in range(begin, end)}
        return tuple(word for at, word in enumerate(self.words) if at not in gone)


@dataclass(frozen=True, slots=True)
class Route:
    """Where a client would send its requests, and what says so. `others` are providers that it may
    ask besides, as a proxy is told of them: by a format, or by a path's beginning.
    """

    upstream: str
    why: str
    others: Mapping[str, str] = field(default_factory=dict)


@dataclass(slots=True)
class Adjusted:
    """What a client is given for one run: variables, and words before its own arguments. `own` are
    those arguments, where some of them would go before what it is given.
    """

    env: dict[str, str] = field(default_factory=dict)
    words: list[str] = field(default_factory=list)
    own: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class Door:
    """A proxy as a client is to find it. `session` names a conversation for one that has no id;
    `others` are providers that the proxy has besides.
    """

    url: str
    upstream: str
    token: str
    session: str
    others: Mapping[str, str] = field(default_factory=dict)

    @property
    def v1(self) -> str:
        """The address that OpenAI's clients want."""
        return f"{self.url}{_v1(self.upstream)}"

    @property
    def named(self) -> str:
        return f"{self.url}/s/{self.session}"


def _v1(upstream: str) -> str:
    """What stands behind our address for a provider. One without `/v1` (as behind accounts) has it
    as it is.
    """
    path = urlsplit(upstream).path.rstrip("/")
    return "/v1" if not path or path.endswith("/v1") else ""


@dataclass(frozen=True, slots=True)
class Client:
    """`believes` is the window that it takes a model to have, and `compacts` what of it it keeps
    free at most before it sums up by itself; `head` what each request has before anything is said.
    All are tokens.
    """

    name: str
    install: str
    head: int
    compacts: int
    believes: Callable[[Launch], int]
    route: Callable[[Launch], Route]
    change: Callable[[Launch, Door], Adjusted]
    wire: str = ""  # the format that it speaks, where that is one
    takes_headers: bool = True
    note: str = ""

    def window(self, run: Launch) -> int:
        """So large that the client's own compaction is not reached, and less the head: providers
        count more tokens than we do before a conversation has taught us their tokenizer.
        """
        return self.believes(run) - self.compacts - self.head


def client_of(program: str) -> Client | None:
    return CLIENTS.get(Path(program).name)


# --- Claude Code --------------------------------------------------------------------------------


def _claude_given(run: Launch) -> dict[str, Any] | None:
    """What `--settings` gives it: JSON, or a file of it. It takes the last one alone."""
    given = run.given("--settings")
    if not given:
        return None
    text = given[-1][2].strip()
    try:
        told = json.loads(text if text.startswith("{") else (run.here / text).read_bytes())
    except OSError as error:
        raise BadInput(f"cannot read the file of --settings: {error.strerror}") from None
    except (ValueError, RecursionError):
        told = None
    if not isinstance(told, dict) or not isinstance(told.get("env", {}), dict):
        raise BadInput(
            "what --settings gives is no settings of Claude Code's",
            hint="where they would send its requests cannot be told",
        )
    return told


def claude_settings(run: Launch) -> Iterator[tuple[Path, Mapping[str, Any]]]:
    """Its settings, those first that go before others."""
    if (given := _claude_given(run)) is not None:
        yield Path("--settings"), given
    user = Path(run.env.get("CLAUDE_CONFIG_DIR") or run.home / ".claude")
    files = (
        run.here / ".claude" / "settings.local.json",
        run.here / ".claude" / "settings.json",
        user / "settings.json",
    )
    for path in files:
        try:
            told = json.loads(path.read_bytes())
        except (OSError, ValueError, RecursionError):
            continue
        if isinstance(told, dict):
            yield path, told


def _claude_variable(run: Launch, name: str) -> tuple[str, str]:
    """A variable as it will find it, and where: what settings say goes before the environment."""
    for path, told in claude_settings(run):
        variables = told.get("env")
        if isinstance(variables, dict) and isinstance(found := variables.get(name), str) and found:
            return found, str(path)
    return run.env.get(name, ""), name


def _claude_route(run: Launch) -> Route:
    for name in ("CLAUDE_CODE_USE_BEDROCK", "CLAUDE_CODE_USE_VERTEX", "CLAUDE_CODE_USE_FOUNDRY"):
        found, where = _claude_variable(run, name)
        if found not in ("", "0", "false"):
            raise BadInput(
                f"Claude Code goes to a cloud of its own ({where} sets {name}), past any proxy"
            )
    found, where = _claude_variable(run, "ANTHROPIC_BASE_URL")
    return Route(found, where) if found else Route(ANTHROPIC, "its own default")


def _claude_believes(run: Launch) -> int:
    model = run.option("--model") or _claude_variable(run, "ANTHROPIC_MODEL")[0]
    if not model:
        told = (one.get("model") for _, one in claude_settings(run))
        model = next((one for one in told if isinstance(one, str)), "")
    return 1_000_000 if model.endswith("[1m]") else 200_000


def _claude_change(run: Launch, door: Door) -> Adjusted:
    variables = {"ANTHROPIC_BASE_URL": door.url}
    if door.token:
        others = _claude_variable(run, "ANTHROPIC_CUSTOM_HEADERS")[0].splitlines()
        others = [one for one in others if not one.lower().startswith(_TOKEN_HEADER)]
        header = f"{_TOKEN_HEADER}: {door.token}"
        variables["ANTHROPIC_CUSTOM_HEADERS"] = "\n".join([*others, header])
    change = Adjusted(env=dict(variables))
    told = [one for _, one in claude_settings(run)]
    settings: dict[str, Any] = {}
    if any(name in (one.get("env") or {}) for one in told for name in variables):
        settings["env"] = variables
    is_seen = not {"-p", "--print"} & set(run.words)
    if is_seen and not any("statusLine" in one for one in told):
        settings["statusLine"] = {"type": "command", "command": STATUSLINE}
    given = _claude_given(run)
    if given is not None:  # theirs would go before ours: it takes one
        change.own = run.without(run.given("--settings"))
        settings = _merged(given, settings)
    if settings:
        change.words += ["--settings", json.dumps(settings)]
    return change


_LINE: Final = "from pagefault.statusline import main; main()"
STATUSLINE: Final = shlex.join([sys.executable, "-P", "-c", _LINE])
"""`-m` would take as long again as Python's own start."""


# --- Codex --------------------------------------------------------------------------------------


def codex_config(run: Launch) -> tuple[Path, Mapping[str, Any]]:
    path = Path(run.env.get("CODEX_HOME") or run.home / ".codex") / "config.toml"
    try:
        told: dict[str, Any] = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        told = {}
    for name, value in _codex_overrides(run):
        *tables, last = name.split(".")
        told = _merged(
            told, reduce(lambda one, table: {table: one}, reversed(tables), {last: value})
        )
    chosen = _codex_profile(run, told)[1]
    said = {name.partition(".")[0] for name, _ in _codex_overrides(run)}
    if "model_provider" in said and chosen.get("model_provider"):
        raise BadInput("both -c and the profile name a provider", hint="leave one of them out")
    return path, told | {name: one for name, one in chosen.items() if name not in said}


def _codex_profile(run: Launch, told: Mapping[str, Any]) -> tuple[str, Mapping[str, Any]]:
    """The profile that it takes, "" unless that names a provider, which goes before the setting;
    and what the profile says.
    """
    profiles = told.get("profiles")
    named = run.option("-p", "--profile") or told.get("profile")
    one = profiles.get(named) if isinstance(profiles, dict) and isinstance(named, str) else None
    if not isinstance(one, dict):
        return "", {}
    return str(named) if one.get("model_provider") else "", one


def _codex_overrides(run: Launch) -> list[tuple[str, Any]]:
    """What `-c NAME=VALUE` gives: TOML, or else a text."""
    found: list[tuple[str, Any]] = []
    for _, _, word in run.given("-c", "--config"):
        name, _, text = word.partition("=")
        try:
            value = tomllib.loads(f"value = {text}")["value"]
        except (ValueError, RecursionError):
            value = text.strip().strip("\"'")
        found.append((name.strip(), value))
    return found


def _codex_checked(run: Launch, ours: Sequence[str]) -> tuple[str, ...]:
    """Its arguments without those that would go before `ours`, names that are set for it. Raises
    `BadInput` for one that says more than an address or a provider.
    """
    if {"--oss", "--local-provider"} & {word.partition("=")[0] for word in run.words}:
        raise BadInput("--oss has Codex go to a model of this machine, past any proxy")
    gone = []
    for one in run.given("-c", "--config"):
        name = one[2].partition("=")[0].strip()
        if name in ours and name.endswith(("base_url", "model_provider")):
            gone.append(one)
        elif name.partition(".")[0] in ("profile", "profiles") or any(
            set_.startswith(f"{name}.") or f"{name}.".startswith(f"{set_}.") for set_ in ours
        ):
            raise BadInput(
                f"-c {name} would go before the address of the proxy",
                hint="write it in config.toml, or name with -c the provider's base_url alone",
            )
    return run.without(gone)


def _codex_setting(told: Mapping[str, Any], name: str) -> str:
    found = told.get(name)
    return found if isinstance(found, str) else ""


def _codex_provider(run: Launch) -> tuple[str, str, str]:
    """The provider that it goes to, the address of one of its user's own, and what says so."""
    path, told = codex_config(run)
    provider = _codex_setting(told, "model_provider") or "openai"
    providers = told.get("model_providers")
    one = providers.get(provider) if isinstance(providers, dict) else None
    url = one.get("base_url") if isinstance(one, dict) else None
    return provider, url if isinstance(url, str) else "", str(path)


def _codex_route(run: Launch) -> Route:
    provider, url, path = _codex_provider(run)
    _codex_checked(run, [f"model_providers.{provider}.base_url"])
    if url:
        return Route(url, f"{path}, provider {provider}")
    if provider != "openai":
        raise BadInput(
            f"where Codex finds its provider {provider!r} is not written down",
            hint="say it with --upstream",
        )
    told = codex_config(run)[1]
    found = _codex_setting(told, "openai_base_url")
    if found:
        return Route(found, f"{path}, openai_base_url")
    if found := run.env.get("OPENAI_BASE_URL", ""):
        return Route(found, "OPENAI_BASE_URL")
    if not run.env.get("OPENAI_API_KEY") and _has_account(run):
        return Route(CHATGPT, "its login with an account")
    return Route(OPENAI, "its own default")


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


def _codex_believes(run: Launch) -> int:
    told = codex_config(run)[1]
    window = told.get("model_context_window")
    if isinstance(window, int) and window > 0:
        return window
    return _known(run.option("-m", "--model") or _codex_setting(told, "model"), 272_000)


def _codex_change(run: Launch, door: Door) -> Adjusted:
    provider, url, _ = _codex_provider(run)
    headers = f'{{"{_TOKEN_HEADER}"="{TOKEN_VARIABLE}"}}' if door.token else "{}"
    if url:  # the user's own, with all that it says but the address
        at = f"model_providers.{provider}"
        words = ["-c", f"{at}.base_url={json.dumps(door.v1)}"]
        if door.token:
            words += ["-c", f'{at}.env_http_headers.{_TOKEN_HEADER}="{TOKEN_VARIABLE}"']
    else:
        key = 'env_key="OPENAI_API_KEY"' if run.env.get("OPENAI_API_KEY") else ""
        key = key or "requires_openai_auth=true"
        told = f'name="pagefault",base_url={json.dumps(door.v1)},wire_api="responses"'
        words = ["-c", f"model_providers.pagefault={{{told},{key},env_http_headers={headers}}}"]
        words += ["-c", 'model_provider="pagefault"']
        if profile := _codex_profile(run, codex_config(run)[1])[0]:
            words += ["-c", f'profiles.{profile}.model_provider="pagefault"']
    ours = [word.partition("=")[0] for word in words if word != "-c"]
    env = {TOKEN_VARIABLE: door.token} if door.token else {}
    return Adjusted(env, words, _codex_checked(run, ours))


# --- opencode -----------------------------------------------------------------------------------

_PROVIDERS: Final = {
    "anthropic": ANTHROPIC,
    "openai": OPENAI,
    "openrouter": "https://openrouter.ai/api/v1",
    "groq": "https://api.groq.com/openai/v1",
    "deepseek": "https://api.deepseek.com",
    "mistral": "https://api.mistral.ai/v1",
    "xai": "https://api.x.ai/v1",
}


def _opencode_config(run: Launch) -> dict[str, Any]:
    """Its settings: later files go before earlier ones, field by field."""
    base = Path(run.env.get("XDG_CONFIG_HOME") or run.home / ".config") / "opencode"
    files = [base / "opencode.json", base / "opencode.jsonc"]
    files += [Path(named)] if (named := run.env.get("OPENCODE_CONFIG", "")) else []
    files += [run.here / "opencode.json", run.here / "opencode.jsonc"]
    texts = []
    for path in files:
        try:
            texts.append(path.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            continue
    found: dict[str, Any] = {}
    for text in [*texts, run.env.get("OPENCODE_CONFIG_CONTENT", "")]:
        try:
            told = json.loads(text)
        except (ValueError, RecursionError):
            continue  # with remarks, maybe: then --upstream and -m say what is needed
        found = _merged(found, told) if isinstance(told, dict) else found
    return found


def _merged(one: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, Any]:
    found = dict(one)
    for name, value in other.items():
        old = found.get(name)
        if isinstance(old, dict) and isinstance(value, dict):
            found[name] = _merged(old, value)
        else:
            found[name] = value
    return found


def _opencode_model(run: Launch) -> tuple[str, str]:
    told = run.option("-m", "--model") or _opencode_config(run).get("model")
    provider, slash, model = told.partition("/") if isinstance(told, str) else ("", "", "")
    if not slash:
        raise BadInput(
            "which provider opencode is to ask is not written down",
            hint="say it: -m PROVIDER/MODEL after `--`, or `model` in opencode.json",
        )
    return provider, model


def _opencode_route(run: Launch) -> Route:
    """Besides the model's provider, those that its user has settings or a key of: whoever switches
    the model is not to leave the proxy.
    """
    provider, _ = _opencode_model(run)
    own = _opencode_urls(run)
    others = own | {
        name: url
        for name, url in _PROVIDERS.items()
        if name not in own and f"{name.upper()}_API_KEY" in run.env
    }
    others.pop(provider, None)
    named = {f"/{name}": url for name, url in others.items() if _PLAIN.fullmatch(name)}
    if provider in own:
        return Route(own[provider], f"opencode.json, provider {provider}", named)
    if provider not in _PROVIDERS:
        raise BadInput(
            f"where opencode finds its provider {provider!r} is not known here",
            hint="say it with --upstream",
        )
    return Route(_PROVIDERS[provider], "its own default", named)


_PLAIN: Final = re.compile(r"[a-z][a-z0-9_-]*")


def _opencode_urls(run: Launch) -> dict[str, str]:
    """The addresses in its settings, by provider."""
    providers = _opencode_config(run).get("provider")
    found = {}
    for name, one in (providers if isinstance(providers, dict) else {}).items():
        options = one.get("options") if isinstance(one, dict) else None
        url = options.get("baseURL") if isinstance(options, dict) else None
        if isinstance(url, str) and url:
            found[name] = url
    return found


def _opencode_believes(run: Launch) -> int:
    return _known(_opencode_model(run)[1], 128_000)


def _opencode_change(run: Launch, door: Door) -> Adjusted:
    provider, _ = _opencode_model(run)
    more: dict[str, Any] = {}
    if door.token:
        more["headers"] = {_TOKEN_HEADER: f"{{env:{TOKEN_VARIABLE}}}"}
    urls = {provider: door.v1}
    urls |= {at[1:]: f"{door.url}{at}{_v1(url)}" for at, url in door.others.items()}
    told = {"provider": {name: {"options": {"baseURL": url, **more}} for name, url in urls.items()}}
    try:
        given = json.loads(run.env.get("OPENCODE_CONFIG_CONTENT") or "{}")
    except ValueError:
        raise BadInput("OPENCODE_CONFIG_CONTENT is no JSON") from None
    env = {"OPENCODE_CONFIG_CONTENT": json.dumps(_merged(given, told))}
    return Adjusted(env=env | ({TOKEN_VARIABLE: door.token} if door.token else {}))


# --- aider --------------------------------------------------------------------------------------


def _aider_model(run: Launch) -> str:
    shortcuts = {"--sonnet", "--opus", "--haiku"}
    if shortcuts & set(run.words):
        return "anthropic/claude"
    return run.option("--model") or run.env.get("AIDER_MODEL", "")


def _is_anthropic(run: Launch) -> bool:
    model = _aider_model(run)
    if not model:
        return bool(run.env.get("ANTHROPIC_API_KEY")) and not run.env.get("OPENAI_API_KEY")
    names = ("claude", "anthropic/", "sonnet", "opus", "haiku")
    return model.startswith(names)


def _aider_route(run: Launch) -> Route:
    """It asks a second, weaker model, which may be of the other provider."""
    anthropic, openai = (
        next(((run.env[name], name) for name in names if run.env.get(name)), (otherwise, ""))
        for names, otherwise in (
            (("ANTHROPIC_API_BASE", "ANTHROPIC_BASE_URL"), ANTHROPIC),
            (("OPENAI_API_BASE", "OPENAI_BASE_URL"), OPENAI),
        )
    )
    if given := run.option("--openai-api-base"):
        openai = given, "--openai-api-base"
    main, other = (anthropic, openai) if _is_anthropic(run) else (openai, anthropic)
    wire = "chat" if _is_anthropic(run) else "messages"
    return Route(main[0], main[1] or "its own default", {wire: other[0]})


def _aider_believes(run: Launch) -> int:
    return _known(_aider_model(run).rpartition("/")[2], 128_000)


def _aider_change(run: Launch, door: Door) -> Adjusted:
    main = "messages" if _is_anthropic(run) else "chat"
    urls = {main: door.upstream, **door.others}
    names = {
        "messages": ("ANTHROPIC_API_BASE", "ANTHROPIC_BASE_URL"),
        "chat": ("OPENAI_API_BASE", "OPENAI_BASE_URL", "AIDER_OPENAI_API_BASE"),
    }
    behind = {wire: _v1(url) if wire == "chat" else "" for wire, url in urls.items()}
    env = {name: f"{door.named}{behind[wire]}" for wire in urls for name in names[wire]}
    return Adjusted(env=env, own=run.without(run.given("--openai-api-base")))


def _known(model: str, otherwise: int) -> int:
    found = find_model(model) if model else None
    return found.window_tokens if found is not None and found.is_known else otherwise


# --- any other ----------------------------------------------------------------------------------

VARIABLES: Final = {
    "ANTHROPIC_BASE_URL": "{url}",
    "ANTHROPIC_API_BASE": "{url}",
    "OPENAI_BASE_URL": "{url}/v1",
    "OPENAI_API_BASE": "{url}/v1",
}
"""What the client libraries of the two providers read, for a command that is not known here."""


def checked_variables(given: Sequence[str]) -> dict[str, str]:
    """Variables by their names. Raises `BadInput` for what is no NAME=VALUE."""
    return dict(_pair(one) for one in given)


def variables_of(door: Door, given: Sequence[str]) -> dict[str, str]:
    """Variables for any command: `given` as NAME=VALUE, or those that the libraries of its
    provider read. `{url}` and `{token}` stand for the proxy's.
    """
    told = checked_variables(given)
    if not told:
        family = "ANTHROPIC" if "anthropic" in door.upstream else "OPENAI"
        told = {name: value for name, value in VARIABLES.items() if name.startswith(family)}
        told |= {name: door.v1 for name in told if family == "OPENAI"}
    return {name: filled(value, door) for name, value in told.items()}


def filled(text: str, door: Door) -> str:
    return text.replace("{url}", door.url).replace("{token}", door.token)


def _pair(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not name.isidentifier():
        raise BadInput(f"{text!r} is no NAME=VALUE", hint="like --env OPENAI_BASE_URL={url}/v1")
    return name, value


CLIENTS: Final = {
    one.name: one
    for one in (
        Client(
            name="claude",
            install="npm install -g @anthropic-ai/claude-code",
            head=29_000,
            compacts=33_000,  # room for an answer, and what it keeps before its automatic summary
            believes=_claude_believes,
            route=_claude_route,
            change=_claude_change,
            wire="messages",
            note="at an address that is not its maker's it may take a model of 1M tokens for one "
            "of 200,000; one whose name ends in [1m] keeps them",
        ),
        Client(
            name="codex",
            install="npm install -g @openai/codex",
            head=14_000,
            compacts=28_000,  # it sums up at nine tenths of its window
            believes=_codex_believes,
            route=_codex_route,
            change=_codex_change,
            wire="responses",
        ),
        Client(
            name="opencode",
            install="npm install -g opencode-ai",
            head=9_000,
            compacts=32_000,  # room for an answer
            believes=_opencode_believes,
            route=_opencode_route,
            change=_opencode_change,
        ),
        Client(
            name="aider",
            install="python -m pip install aider-install && aider-install",
            head=5_000,
            compacts=16_000,
            believes=_aider_believes,
            route=_aider_route,
            change=_aider_change,
            takes_headers=False,
        ),
    )
}


def find_program(name: str, env: Mapping[str, str]) -> str:
    """The file of a command. Raises `BadInput`, which says how to get it."""
    import shutil

    found = shutil.which(name, path=env.get("PATH", os.defpath))
    if found is None:
        known = client_of(name)
        hint = f"install it: {known.install}" if known is not None else "is it installed?"
        raise BadInput(f"there is no {name} on your PATH", hint=hint)
    return found
