"""A run of a coding client: its program, where it would send its requests, and what it is given to
send them here instead.
"""

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
TOKEN_VARIABLE: Final = "PAGEFAULT_WRAP_TOKEN"  # of one client's own private proxy
TOKEN_HEADER: Final = "x-pagefault-token"
PRIVATE_FILE: Final = "{settings}"
"""Stands among a client's words for the file that only its user can read."""


class PastProxy(BadInput):
    """Something that goes before whatever `wrap` says leads the client to another address."""


def managed(path: Path | str, setting: str, client: str) -> PastProxy:
    """Raise it where an administrator's file sets what leads the client elsewhere."""
    return PastProxy(
        f"{path} sets {setting}, which goes before what wrap says: with it {client} goes past the "
        "proxy",
        hint="an administrator manages that file; without wrap, `pagefault import` takes its "
        "conversations in afterwards",
    )


@dataclass(frozen=True, slots=True)
class Launch:
    """A client's program that is to be run, and what it would find."""

    words: tuple[str, ...]  # its arguments
    env: Mapping[str, str]
    here: Path
    program: str = ""  # its file
    system: Path = Path("/")  # where what an administrator manages is

    def option(self, *names: str) -> str:
        """What one of these options is given last, "" if nothing."""
        given = self.given(*names)
        return given[-1][2] if given else ""

    def has(self, flag: str) -> bool:
        """Whether a flag stands among the arguments, before a `--`."""
        words = self.words[: self.words.index("--")] if "--" in self.words else self.words
        return any(word.partition("=")[0] == flag for word in words)

    @property
    def home(self) -> Path:
        return Path(self.env.get("HOME") or Path.home())

    @property
    def repository(self) -> Path | None:
        """The root of the repository that it runs in."""
        return next(
            (one for one in (self.here, *self.here.parents) if (one / ".git").exists()), None
        )

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
    those arguments, where some of them would go before what it is given. `file` is what stands in
    the file of `PRIVATE_FILE`: arguments can be listed by other users of the machine.
    """

    env: dict[str, str] = field(default_factory=dict)
    words: list[str] = field(default_factory=list)
    own: tuple[str, ...] | None = None
    file: str = ""


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
        return f"{self.url}{v1_of(self.upstream)}"

    @property
    def named(self) -> str:
        return f"{self.url}/s/{self.session}"


def v1_of(upstream: str) -> str:
    """What stands behind our address for a provider. One without `/v1` (as behind accounts) has it
    as it is.
    """
    path = urlsplit(upstream).path.rstrip("/")
    return "/v1" if not path or path.endswith("/v1") else ""


_PROXIES: Final = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY")
NO_PROXY: Final = ("NO_PROXY", "no_proxy")


def asked_directly(env: Mapping[str, str], door: Door) -> dict[str, str]:
    """Variables that have a client ask our address itself, where it goes to the network through a
    proxy of the user's: that would be told the token, and all that is said.
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
