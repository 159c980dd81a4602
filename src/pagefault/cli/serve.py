"""`pagefault serve`: a proxy between a client and its provider, with a memory in between."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from pagefault.cli.app import App, Command, json_option
from pagefault.cli.term import plural

if TYPE_CHECKING:
    from pagefault.proxy.desk import Desk
    from pagefault.proxy.running import Running


@click.command(cls=Command)
@click.option(
    "--upstream",
    "upstreams",
    required=True,
    multiple=True,
    metavar="[FORMAT=|/PATH=]URL",
    help="Provider's URL: https://api.openai.com, https://api.anthropic.com, your own "
    "server. Repeat it to route by request format (messages=URL; also chat, responses, "
    "gemini) or by path prefix, which is stripped (/groq=URL). Everything else goes to the "
    "plain URL or, without one, to the first.",
)
@click.option(
    "--host",
    default="127.0.0.1",
    show_default=True,
    help="Address to listen on. Any that other machines can reach needs --token.",
)
@click.option(
    "--port",
    type=click.IntRange(0, 65_535),
    default=8788,
    show_default=True,
    help="Port to listen on; 0 picks a free one.",
)
@click.option(
    "--window",
    type=int,
    metavar="TOKENS",
    help="Token limit of a request: older messages leave it, and come back when they "
    "matter. Without --window, requests pass through unchanged.",
)
@click.option(
    "--faults/--no-faults",
    default=None,
    help="With --window, let the model search and load pages: memory's tools are added "
    "to the client's, and the proxy answers their calls. Default: only if the client has "
    "tools of its own.",
)
@click.option(
    "--mark",
    "marks",
    is_flag=True,
    help="Add Anthropic cache marks to requests that have none; `pagefault bill` shows "
    "what that saved or lost. The header x-pagefault-mark (on or off) overrides it for a "
    "request.",
)
@click.option(
    "--form",
    "forms",
    is_flag=True,
    help="Have the client's own model form memory of its conversations, in extra "
    "requests billed to the user named by --user, who must consent. The header "
    "x-pagefault-form (on or off) overrides it for a request; with several users, each "
    "consents by sending it.",
)
@click.option(
    "--token",
    envvar="PAGEFAULT_PROXY_TOKEN",
    metavar="TOKEN",
    help="Serve only clients that send TOKEN as x-pagefault-token. Prefer the variable "
    "PAGEFAULT_PROXY_TOKEN: other users of this machine can see options in the process "
    "list.",
)
@click.option(
    "--tokens",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Serve only clients that send a token from FILE, each on behalf of its user. "
    "One `NAME TOKEN` per line; only you may be able to read the file.",
)
@click.option(
    "--user",
    metavar="NAME",
    help="Treat all requests as this user's, whatever their API key. Without --user and "
    "--tokens, each API key is a separate user.",
)
@click.option(
    "--mcp-write",
    is_flag=True,
    help="Also offer `remember` at /mcp: what a client's model notes is stored as its "
    "proposal. Needs --tokens, or --token and --user.",
)
@click.option(
    "--detach",
    is_flag=True,
    help="Run in the background, and return once it answers. `pagefault stop` ends it.",
)
@click.option(
    "--print-unit",
    "unit_kind",
    type=click.Choice(["systemd", "launchd"]),
    help="Print a unit file that keeps such a proxy running, and start nothing.",
)
@click.option("--parent", type=int, default=0, hidden=True)
@click.option("--log", default="", hidden=True)
@json_option
def serve(
    app: App,
    upstreams: tuple[str, ...],
    host: str,
    port: int,
    window: int | None,
    faults: bool | None,
    marks: bool,
    forms: bool,
    token: str | None,
    tokens: Path | None,
    user: str | None,
    mcp_write: bool,
    detach: bool,
    unit_kind: str | None,
    parent: int,
    log: str,
) -> None:
    """Run a proxy for coding clients that keeps their conversations and fits them into a window.

    Point the client's base URL here; its key is passed on to the provider and stored nowhere. Chat
    Completions, Responses, Messages and generateContent are read, everything else is passed on.
    Prints one line per request on stderr. Ctrl-C stops it. JSON, once it listens: {url, upstream,
    upstreams, root, window, instance, pid, log}; with --detach also whether it was started, or was
    running already.
    """
    from pagefault.model.errors import BadInput
    from pagefault.proxy.http.principal import checked_user
    from pagefault.proxy.http.token import checked_token, read_tokens
    from pagefault.proxy.http.upstreams import read_upstreams

    if tokens is not None and (token is not None or user is not None):
        raise BadInput(
            "--tokens says who each token's user is, so --token and --user cannot be used with it",
            hint="give --tokens alone, or --token and --user",
        )
    who = _Who(
        token=checked_token(token) if token is not None else "",
        tokens=read_tokens(tokens) if tokens is not None else {},
        user=checked_user(user) if user is not None else "",
        mcp_writes=mcp_write,
    )
    if mcp_write and tokens is None and (token is None or user is None):
        raise BadInput(
            "/mcp writes to somebody's memory, so it needs a token",
            hint="give --tokens, or --token and --user",
        )
    if faults and window is None:
        raise BadInput("loading pages needs a limited window", hint="add --window TOKENS")
    if forms and user is None:
        raise BadInput(
            "--form is one user's consent, and nobody says whose",
            hint="add --user NAME; or let each user send the header x-pagefault-form: on",
        )
    read = read_upstreams(upstreams)
    words = ["serve", "--host", host, "--port", str(port)]
    words += [word for one in upstreams for word in ("--upstream", one)]
    words += ["--window", str(window)] if window is not None else []
    words += ["--tokens", str(tokens.absolute())] if tokens is not None else []
    words += ["--user", user] if user is not None else []
    words += ["--faults" if faults else "--no-faults"] if faults is not None else []
    words += ["--mark"] if marks else []
    words += ["--form"] if forms else []
    words += ["--mcp-write"] if mcp_write else []
    if unit_kind is not None:
        from pagefault.cli.background import unit

        words[:0] = ["--root", os.path.realpath(app.directory())]
        app.term.exact(unit(unit_kind, words, wants_token=token is not None))
    elif detach:
        wants_token = token is not None or tokens is not None
        wanted = _Wanted(
            read, window or 0, user or "", wants_token, faults, marks, forms, mcp_write
        )
        _detach(app, words, wanted, token)
    else:
        how = _How(faults, marks, forms, parent, log)
        app.run(_serve(app, read, host, port, window, who, how))


@dataclass(frozen=True, slots=True)
class _Wanted:
    """The required properties of a running proxy, for it to be used instead of a new one."""

    upstreams: Mapping[str, str]
    window: int
    user: str
    wants_token: bool
    faults: bool | None
    marks: bool
    forms: bool
    mcp_writes: bool


def _detach(app: App, words: list[str], wanted: _Wanted, token: str | None) -> None:
    import fcntl

    from pagefault.cli.background import log_file, running_on, start
    from pagefault.engine.endpoint import checked_url
    from pagefault.model.errors import StoreBusy

    config = app.config(window_tokens=wanted.window or None)
    for url in wanted.upstreams.values():
        checked_url(url, allow_http=config.engine.allow_http)
    root = os.path.realpath(app.directory())
    log = log_file(f"serve-{_digest(root)}")
    with log.with_suffix(".lock").open("w") as lock:  # the second finds what the first started
        fcntl.flock(lock, fcntl.LOCK_EX)
        found = [one for one in running_on(root) if one.ask() is not None]
        if found:
            one = found[0]
            runs = _Wanted(
                one.all_upstreams,
                one.window,
                one.user,
                one.wants_token,
                one.faults,
                one.marks,
                one.forms,
                one.mcp_writes,
            )
            if runs != wanted:
                raise StoreBusy(
                    f"another proxy already runs on {root}: {one.url} to "
                    f"{one.upstream}, window {one.window:,}",
                    hint="`pagefault stop` ends it",
                )
            _told(app, one, started=False)
            return
        env = {**os.environ, **({"PAGEFAULT_PROXY_TOKEN": token} if token is not None else {})}
        words = ["--root", root, *words, "--log", str(log)]
        _told(app, start(words, log=log, env=env), started=True)


def _told(app: App, one: Running, *, started: bool) -> None:
    if app.as_json:
        app.term.data(_object(one) | {"started": started})
        return
    is_new = "listening on" if started else "already running on"
    app.term.line(f"{is_new} {one.url}, passing on to {one.upstream}; pid {one.pid}")
    app.term.note(f"log: {one.log}; `pagefault stop` ends it")
    if one.dashboard_url:
        app.term.way_in("dashboard", one.dashboard_url)


def _object(one: Running) -> dict[str, object]:
    return {
        "url": one.url,
        "upstream": one.upstream,
        "upstreams": one.upstreams,
        "root": one.root,
        "window": one.window,
        "instance": one.instance,
        "pid": one.pid,
        "log": one.log,
    }


def _digest(root: str) -> str:
    from hashlib import sha256

    return sha256(root.encode("utf-8", "surrogateescape")).hexdigest()[:12]


@dataclass(frozen=True, slots=True)
class _How:
    """Whether models may ask for pages, what no client marks is marked, and memory is formed. For a
    proxy that another process of ours started: its parent, if it is to end with that, and the file
    of its log.
    """

    faults: bool | None
    marks: bool
    forms: bool
    parent: int
    log: str


@dataclass(frozen=True, slots=True)
class _Who:
    """The served principals, and the owner of their requests."""

    token: str
    tokens: dict[str, str]
    user: str
    mcp_writes: bool  # and may store things at /mcp

    @property
    def secrets(self) -> dict[str, str]:
        """Secrets to keep out of the memory, even if a client shows them, by name."""
        by_name = {f"token of {name}": token for token, name in self.tokens.items()}
        return by_name | ({"token": self.token} if self.token else {})


async def _serve(
    app: App,
    upstreams: Mapping[str, str],
    host: str,
    port: int,
    window: int | None,
    who: _Who,
    how: _How,
) -> None:
    from pagefault.cli.dashboard import dashboard_beside
    from pagefault.engine.endpoint import checked_url, is_loopback
    from pagefault.mcp_server.http import mcp_path
    from pagefault.model.clock import SystemClock
    from pagefault.pack.count import O200k
    from pagefault.proxy.desk import Desk
    from pagefault.proxy.http.client import principal_in
    from pagefault.proxy.listen import bound, needs_uvicorn, serve
    from pagefault.proxy.running import dashboard_token
    from pagefault.service.periodic import periodically

    app.config(window_tokens=window)  # as small as any window may be, and no smaller
    config = app.config()
    for url in upstreams.values():
        checked_url(url, allow_http=config.engine.allow_http)  # before a memory is made for it
    needs_uvicorn()  # likewise
    listening = bound(host, port, wants_token=bool(who.token or who.tokens))
    desk = Desk()

    def ready(url: str) -> None:
        one = _running(desk, config.root, url, upstreams, window or 0, who, how)
        _list(leaving, app, one)
        if app.as_json:
            app.term.record(_object(one))
        app.term.note(f"listening on {url}, passing on to {upstreams['']}")
        for name, upstream in one.upstreams.items():
            app.term.note(f"{name} goes to {upstream}")
        if one.dashboard_url:
            app.term.way_in("dashboard", one.dashboard_url)
        if not window:
            app.term.note("recording only; pass --window TOKENS to page requests")
        if how.forms:
            app.term.note("memory is formed in extra requests, billed to the user")
        if not is_loopback(host):
            app.term.note(
                "other machines can reach it, and traffic is not encrypted, including keys and the "
                "token: use an encrypted tunnel"
            )

    with ExitStack() as leaving:  # last of all: an unlisted proxy has released its memory
        async with (
            app.writing(config, secrets=who.secrets) as memory,
            mcp_path(memory, principal_in, writes=who.mcp_writes) as mcp,
            dashboard_beside(memory, config, token=dashboard_token(desk.key)) as dashboard,
            periodically(memory.keep_retention, app.term.note, every_s=3600),
        ):
            desk.memory = _memory_id(config.root)
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
                faults=how.faults,
                marks=how.marks,
                forms=how.forms,
                allow_http=config.engine.allow_http,
                log=app.term.note,
                ready=ready,
                desk=desk,
                mcp=mcp,
                dashboard=dashboard if is_loopback(host) else None,
                is_wanted=(lambda: _is_wanted(how.parent, desk.instance)) if how.parent else None,
            )
    app.term.note(f"stopped after {plural(requests, 'request')}")


def _running(
    desk: Desk, root: str, url: str, upstreams: Mapping[str, str], window: int, who: _Who, how: _How
) -> Running:
    from pagefault import __version__
    from pagefault.proxy.running import Running
    from pagefault.service.config import MEMORY

    return Running(
        instance=desk.instance,
        key=desk.key,
        pid=os.getpid(),
        url=url,
        upstream=upstreams[""],
        upstreams={name: one for name, one in upstreams.items() if name},
        root=root if root == MEMORY else os.path.realpath(root),
        memory=desk.memory,
        window=window,
        version=__version__,
        user=who.user,
        wants_token=bool(who.token or who.tokens),
        started_ms=int(time.time() * 1_000),
        faults=how.faults,
        marks=how.marks,
        forms=how.forms,
        mcp_writes=who.mcp_writes,
        log=how.log,
        parent=how.parent,
    )


def _is_wanted(parent: int, instance: str) -> bool:
    """Whether the client of a private proxy lives. If not, its changes are reverted at once."""
    from pagefault.cli.background import marker_of
    from pagefault.cli.swaps import put_back

    if os.getppid() == parent:
        return True
    put_back(marker_of(instance))
    return False


def _list(leaving: ExitStack, app: App, one: Running) -> None:
    from pagefault.cli.background import proxies
    from pagefault.proxy.running import listed

    try:
        leaving.enter_context(listed(proxies(), one))
    except OSError as error:
        app.term.note(f"note: it cannot be listed, so `stop` and `wrap` do not find it ({error})")


def _memory_id(root: str) -> str:
    from pagefault.service.adopt import facts_of
    from pagefault.service.config import MEMORY

    return "" if root == MEMORY else facts_of(Path(os.path.realpath(root))).id
