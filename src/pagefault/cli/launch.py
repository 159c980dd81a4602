"""A run of a coding client: its program, the destination of its requests, and its new arguments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from pagefault.model.catalogue import find_model
from pagefault.model.errors import BadInput

ANTHROPIC: Final = "https://api.anthropic.com"
OPENAI: Final = "https://api.openai.com"
TOKEN_VARIABLE: Final = "PAGEFAULT_WRAP_TOKEN"  # for one client's own private proxy
TOKEN_HEADER: Final = "x-pagefault-token"
PRIVATE_FILE: Final = "{settings}"
"""A placeholder among a client's arguments for the file that only its user can read."""


class PastProxy(BadInput):
    """Something with precedence over whatever `wrap` sets sends the client to another address."""


def managed(path: Path | str, setting: str, client: str) -> PastProxy:
    """Raise it if an administrator's file sends the client elsewhere."""
    return PastProxy(
        f"{path} sets {setting}, which overrides wrap: {client} would bypass the proxy",
        hint="an administrator manages that file; run it without wrap, and `pagefault import` can "
        "import its conversations afterwards",
    )


@dataclass(frozen=True, slots=True)
class Launch:
    """A client's program to be run, and its surroundings."""

    words: tuple[str, ...]  # its arguments
    env: Mapping[str, str]
    here: Path
    program: str = ""  # its file
    system: Path = Path("/")  # the root of an administrator's files

    def option(self, *names: str) -> str:
        """The last value of one of these options, "" if there is none."""
        given = self.given(*names)
        return given[-1][2] if given else ""

    def has(self, flag: str) -> bool:
        """Whether a flag is among the arguments, before a `--`."""
        words = self.words[: self.words.index("--")] if "--" in self.words else self.words
        return any(word.partition("=")[0] == flag for word in words)

    @property
    def home(self) -> Path:
        return Path(self.env.get("HOME") or Path.home())

    @property
    def repository(self) -> Path | None:
        """The root of the current repository."""
        return next(
            (one for one in (self.here, *self.here.parents) if (one / ".git").exists()), None
        )

    def given(self, *names: str) -> list[tuple[int, int, str]]:
        """Each occurrence of one of these options before a `--`: the range of its arguments, and
        its value.
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
    """The destination of a client's requests, and its source. `others` are providers that it may
    use besides, in the proxy's form: by a format, or by a path prefix.
    """

    upstream: str
    why: str
    others: Mapping[str, str] = field(default_factory=dict)


@dataclass(slots=True)
class Adjusted:
    """A client's changes for one run: variables, and arguments before its own. `own` are its own
    arguments, if some of them would win over the changes. `file` is the content of the file at
    `PRIVATE_FILE`: other users of the machine can list arguments.
    """

    env: dict[str, str] = field(default_factory=dict)
    words: list[str] = field(default_factory=list)
    own: tuple[str, ...] | None = None
    file: str = ""


@dataclass(frozen=True, slots=True)
class Door:
    """A proxy from a client's view. `session` names a conversation for a client without ids;
    `others` are the proxy's additional providers.
    """

    url: str
    upstream: str
    token: str
    session: str
    others: Mapping[str, str] = field(default_factory=dict)

    @property
    def v1(self) -> str:
        """The address in the form of OpenAI's clients."""
        return f"{self.url}{v1_of(self.upstream)}"

    @property
    def named(self) -> str:
        return f"{self.url}/s/{self.session}"


def v1_of(upstream: str) -> str:
    """The path after our address for a provider. One without `/v1` (as behind accounts) is used as
    it is.
    """
    path = urlsplit(upstream).path.rstrip("/")
    return "/v1" if not path or path.endswith("/v1") else ""


_PROXIES: Final = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY")
NO_PROXY: Final = ("NO_PROXY", "no_proxy")


def asked_directly(env: Mapping[str, str], door: Door) -> dict[str, str]:
    """Variables that make a client contact our address directly, if it reaches the network through
    a proxy of the user's: that would see the token, and everything that is said.
    """
    if not has_proxy(env):
        return {}
    host = urlsplit(door.url).hostname or ""
    told = next((env[name] for name in NO_PROXY if env.get(name)), "")
    hosts = told if is_direct(told, host) else f"{told},{host}".lstrip(",")
    return dict.fromkeys(NO_PROXY, hosts)


def has_proxy(env: Mapping[str, str]) -> bool:
    """Whether the network is reached through a proxy."""
    return any(env.get(name) or env.get(name.lower()) for name in _PROXIES)


def is_direct(no_proxy: str, host: str) -> bool:
    return bool({"*", host} & {one.strip() for one in no_proxy.split(",")})


def known_window(model: str, otherwise: int) -> int:
    found = find_model(model) if model else None
    return found.window_tokens if found is not None and found.is_known else otherwise


def positive(value: object) -> int:
    """A positive number from a settings file; 0 for any other value."""
    return value if isinstance(value, int) and value > 0 else 0
