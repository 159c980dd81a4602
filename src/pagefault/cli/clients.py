"""Coding clients: where each would send its requests, and how to route them here instead.

Nothing of a user's is changed: each of these takes an address from its environment or its command
line, for one run. A client's own settings are read in its order of precedence, and overridden on
the command line where that wins. Only addresses and model names from settings are passed on, never
a key; Codex itself is asked whether it is logged in with an account or a key.

Heads (what is sent before the first message) were measured on the versions that `script/clients`
names, opencode on 1.18; for aider it is an assumption.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from pagefault.cli import client_aider, client_claude, client_codex, client_opencode
from pagefault.cli.launch import Adjusted, Door, Launch, Route
from pagefault.model.errors import BadInput


@dataclass(frozen=True, slots=True)
class Client:
    """`believes` is the window that it assumes a model to have, and `compacts` the size at which it
    compacts by itself; `head` is what precedes the first message. All are tokens. `check` raises
    `PastProxy` if it would go past the proxy whatever it is given; it, `route` and `change` raise
    `BrokenSettings` for a file that it cannot read.
    """

    name: str
    install: str
    head: int
    believes: Callable[[Launch], int]
    compacts: Callable[[Launch], int]
    check: Callable[[Launch], None]
    route: Callable[[Launch], Route]
    change: Callable[[Launch, Door], Adjusted]
    wire: str = ""  # its wire format, if it has a single one
    takes_headers: Callable[[Launch], bool] = lambda _: True
    note: str = ""

    def window(self, run: Launch) -> int:
        """The largest window that stays below the client's own compaction, with a margin: the head,
        or a quarter if that is smaller. Providers count more tokens than we do until a conversation
        has taught us their tokenizer.
        """
        compacts = self.compacts(run)
        return compacts - min(self.head, compacts // 4)


def client_of(program: str) -> Client | None:
    return CLIENTS.get(Path(program).name)


# --- any other ----------------------------------------------------------------------------------

VARIABLES: Final = {
    "ANTHROPIC_BASE_URL": "{url}",
    "ANTHROPIC_API_BASE": "{url}",
    "OPENAI_BASE_URL": "{url}/v1",
    "OPENAI_API_BASE": "{url}/v1",
}
"""The variables that the client libraries of the two providers read, for an unknown command."""


def checked_variables(given: Sequence[str]) -> dict[str, str]:
    """Variables by their names. Raises `BadInput` for anything but NAME=VALUE."""
    return dict(_pair(one) for one in given)


def variables_of(door: Door, given: Sequence[str]) -> dict[str, str]:
    """Variables for any command: `given` as NAME=VALUE, or those that the libraries of its provider
    read. `{url}` and `{token}` are replaced by the proxy's.
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
        raise BadInput(f"{text!r} is not NAME=VALUE", hint="like --env OPENAI_BASE_URL={url}/v1")
    return name, value


CLIENTS: Final = {
    one.name: one
    for one in (
        Client(
            name="claude",
            install="npm install -g @anthropic-ai/claude-code",
            head=29_000,
            believes=client_claude.believes,
            compacts=client_claude.compacts,
            check=client_claude.check,
            route=client_claude.route,
            change=client_claude.change,
            wire="messages",
            takes_headers=client_claude.takes_headers,
            note="at an address that is not its maker's it may take a model of 1M tokens for one "
            "of 200,000; one whose name ends in [1m] keeps them",
        ),
        Client(
            name="codex",
            install="npm install -g @openai/codex",
            head=14_000,
            believes=client_codex.believes,
            compacts=client_codex.compacts,
            check=client_codex.check,
            route=client_codex.route,
            change=client_codex.change,
            wire="responses",
        ),
        Client(
            name="opencode",
            install="npm install -g opencode-ai",
            head=9_000,
            believes=client_opencode.believes,
            compacts=client_opencode.compacts,
            check=client_opencode.check,
            route=client_opencode.route,
            change=client_opencode.change,
        ),
        Client(
            name="aider",
            install="python -m pip install aider-install && aider-install",
            head=5_000,
            believes=client_aider.believes,
            compacts=lambda run: client_aider.believes(run) - 16_000,  # room for an answer
            check=client_aider.check,
            route=client_aider.route,
            change=client_aider.change,
            takes_headers=lambda _: False,
        ),
    )
}


def find_program(name: str, env: Mapping[str, str]) -> str:
    """The file of a command. Raises `BadInput`, which says how to install it."""
    import shutil
    from difflib import get_close_matches

    found = shutil.which(name, path=env.get("PATH", os.defpath))
    if found is None:
        known = client_of(name)
        near = get_close_matches(name, CLIENTS, n=1)
        guess = f"did you mean {near[0]}?" if near else "is it installed?"
        hint = f"install it: {known.install}" if known is not None else guess
        where = f"{name} is not a program" if os.sep in name else f"there is no {name} on your PATH"
        raise BadInput(where, hint=hint)
    return found
