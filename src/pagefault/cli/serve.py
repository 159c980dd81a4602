"""`pagefault serve`: a proxy between a client and its provider, with a memory in between."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import click

from pagefault.cli.app import App, Command, json_option, pass_app
from pagefault.cli.term import plural


@click.command(cls=Command)
@click.option(
    "--upstream",
    "upstreams",
    required=True,
    multiple=True,
    metavar="[FORMAT=|/PATH=]URL",
    help="The provider: https://api.openai.com, https://api.anthropic.com, a server of yours. "
    "Several: for a format (chat, responses, messages, gemini), as messages=URL; for what begins "
    "with a path, which is taken off, as /groq=URL; one for all else, the first if none is.",
)
@click.option(
    "--host",
    default="127.0.0.1",
    show_default=True,
    help="Where to listen. Other machines reach it by another one; then a token is wanted.",
)
@click.option(
    "--port",
    type=click.IntRange(0, 65_535),
    default=8788,
    show_default=True,
    help="Where to listen; 0 for any that is free.",
)
@click.option(
    "--window",
    type=int,
    metavar="TOKENS",
    help="Page what is sent on so that it fits. Without it, everything is sent as it came.",
)
@click.option(
    "--faults/--no-faults",
    default=None,
    help="Under a window, let the model search and load pages: memory's tools stand beside the "
    "client's, and calls of them are answered here. Without either, where the client has tools.",
)
@click.option(
    "--token",
    envvar="PAGEFAULT_PROXY_TOKEN",
    metavar="TOKEN",
    help="Serve only who sends it as x-pagefault-token. Others on this machine can read the option "
    "in a list of processes, but not the variable PAGEFAULT_PROXY_TOKEN.",
)
@click.option(
    "--tokens",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Serve only who sends one of these, each for its own user: a line for each, NAME TOKEN. "
    "Nobody else may be able to read the file.",
)
@click.option(
    "--user",
    metavar="NAME",
    help="All requests are this user's, whatever key they come with. Without it, and without "
    "--tokens, each key is a user of its own.",
)
@json_option
@pass_app
def serve(
    app: App,
    upstreams: tuple[str, ...],
    host: str,
    port: int,
    window: int | None,
    faults: bool | None,
    token: str | None,
    tokens: Path | None,
    user: str | None,
    as_json: bool,
) -> None:
    """A proxy for coding clients: their conversations are kept, and fit a window.

    Point the client's base URL here; its key goes on to the provider and is kept nowhere. Chat
    Completions, Responses, Messages and generateContent are read, all else is passed on. One line
    a request on stderr. Ctrl-C stops it. JSON, once it listens: {url, upstream, upstreams, root,
    window}.
    """
    from pagefault.model.errors import BadInput
    from pagefault.proxy.principal import checked_user
    from pagefault.proxy.token import checked_token, read_tokens
    from pagefault.proxy.upstreams import read_upstreams

    if tokens is not None and (token is not None or user is not None):
        raise BadInput(
            "--tokens says who each token's user is, so there is no other token and no one user",
            hint="give --tokens alone, or --token and --user",
        )
    who = _Who(
        token=checked_token(token) if token is not None else "",
        tokens=read_tokens(tokens) if tokens is not None else {},
        user=checked_user(user) if user is not None else "",
    )
    if faults and window is None:
        raise BadInput("pages are loaded where something left", hint="give --window TOKENS, too")
    read = read_upstreams(upstreams)
    app.run(_serve(app, read, host, port, window, faults, who, as_json=as_json))


@dataclass(frozen=True, slots=True)
class _Who:
    """Who is served, and whose their requests are."""

    token: str
    tokens: dict[str, str]
    user: str

    @property
    def secrets(self) -> dict[str, str]:
        """What nobody may find in the memory, though a client should show it: by name."""
        by_name = {f"token of {name}": token for token, name in self.tokens.items()}
        return by_name | ({"token": self.token} if self.token else {})


async def _serve(
    app: App,
    upstreams: Mapping[str, str],
    host: str,
    port: int,
    window: int | None,
    faults: bool | None,
    who: _Who,
    *,
    as_json: bool,
) -> None:
    from pagefault.engine.endpoint import checked_url, is_loopback
    from pagefault.model.clock import SystemClock
    from pagefault.pack.count import O200k
    from pagefault.proxy.listen import bound, serve
    from pagefault.service.retention import hourly

    app.config(window_tokens=window)  # as small as any window may be, and no smaller
    config = app.config()
    for url in upstreams.values():
        checked_url(url, allow_http=config.engine.allow_http)  # before a memory is made for it
    named = {name: url for name, url in upstreams.items() if name}
    listening = bound(host, port, wants_token=bool(who.token or who.tokens))

    def ready(url: str) -> None:
        if as_json:
            told = {"url": url, "upstream": upstreams[""], "root": config.root}
            app.term.record(told | {"upstreams": named, "window": window or 0})
        app.term.note(f"listening on {url}, passing on to {upstreams['']}")
        for name, upstream in named.items():
            app.term.note(f"{name} goes to {upstream}")
        if not window:
            app.term.note("logging only; --window TOKENS would page what is sent on")
        if not is_loopback(host):
            app.term.note(
                "other machines can reach it, and what they send it is not encrypted: keys, the "
                "token, all that is said. A tunnel would be"
            )

    async with (
        app.writing(config, secrets=who.secrets) as memory,
        hourly(memory.keep_retention, app.term.note),
    ):
        requests = await serve(
            memory,
            upstreams=upstreams,
            listening=listening,
            counter=O200k(),
            clock=SystemClock(),
            window_tokens=window or 0,
            token=who.token,
            tokens=who.tokens,
            user=who.user,
            faults=faults,
            allow_http=config.engine.allow_http,
            log=app.term.note,
            ready=ready,
        )
    app.term.note(f"stopped after {plural(requests, 'request')}")
