"""`pagefault wrap` and `pagefault unwrap`.

`wrap` starts a proxy as its child, or finds one, and then becomes the client (`exec`): there is no
process between the terminal and the client, so keys, signals, sizes, stopping and the exit code are
the client's own. The private proxy is a child of the client from then on, in a session of its own;
it watches its parent, and ends when that is gone, for whatever reason.
"""

from __future__ import annotations

import getpass
import os
import re
import secrets
import signal
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from pagefault.cli.app import App, Command, json_option

if TYPE_CHECKING:
    from pagefault.cli.clients import Client
    from pagefault.cli.launch import Adjusted, Door, Launch, Route
    from pagefault.cli.swaps import Swap
    from pagefault.proxy.running import Running

ROOM_TOKENS: Final = 15_000  # beside a client's head: the smallest useful window


@dataclass(frozen=True, slots=True)
class _Wanted:
    """The options on the command line; None and "" leave the choice to the client's settings."""

    upstream: str
    window: int | None
    user: str
    env: tuple[str, ...]
    swaps: tuple[tuple[str, str, str], ...]
    private: bool
    forms: bool


@click.command(
    cls=Command, context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False}
)
@click.option(
    "--upstream",
    metavar="URL",
    help="Provider's URL. Default: where the client would send its requests.",
)
@click.option(
    "--window",
    type=click.IntRange(0),
    metavar="TOKENS",
    help="Token limit of what is sent on. Default: the client's own window, less its "
    "system prompt and tools. With 0, the conversation is only recorded.",
)
@click.option("--user", metavar="NAME", help="Owner of the conversations. Default: you.")
@click.option(
    "--env",
    multiple=True,
    metavar="NAME=VALUE",
    help="Environment variable for the command; {url} and {token} stand for the "
    "proxy's. May be repeated.",
)
@click.option(
    "--in-file",
    "swaps",
    multiple=True,
    nargs=3,
    metavar="FILE OLD NEW",
    help="Replace OLD with NEW in FILE while the client runs, for clients that read "
    "their address only from a file. May be repeated.",
)
@click.option(
    "--form",
    "forms",
    is_flag=True,
    help="Have the client's own model form memory of the conversation, in extra "
    "requests billed to you.",
)
@click.option(
    "--private",
    is_flag=True,
    help="Start a separate proxy for this run, even if one is already running.",
)
@click.argument("command", nargs=-1, type=click.UNPROCESSED, required=True)
def wrap(
    app: App,
    upstream: str | None,
    window: int | None,
    user: str | None,
    env: tuple[str, ...],
    swaps: tuple[tuple[str, str, str], ...],
    private: bool,
    forms: bool,
    command: tuple[str, ...],
) -> None:
    """Run a coding client through a proxy, for this run only: claude, codex, opencode, aider.

    `pagefault wrap claude -- -p "…"`: arguments after `--` are the client's. A proxy that runs on
    this memory is used; else a private one is started, which ends with the client. Any other
    command is given the variables that the libraries of its provider read, or those of --env; then
    --upstream is required. The exit code is the client's.
    """
    wanted = _Wanted(upstream or "", window, user or "", env, swaps, private, forms)
    name, *words = command
    _run(app, name, words[1:] if words[:1] == ["--"] else words, wanted)


def _run(app: App, name: str, words: list[str], wanted: _Wanted) -> None:
    from pagefault.cli.background import marker_of
    from pagefault.cli.clients import checked_variables, client_of, find_program
    from pagefault.cli.launch import Launch
    from pagefault.cli.swaps import Swap, checked, unclaimed

    program = find_program(name, os.environ)
    run = Launch(tuple(words), dict(os.environ), Path.cwd(), program)
    client = client_of(name)
    swaps = [Swap(*one) for one in wanted.swaps]
    unclaimed(swaps, marker_of("").parent)
    checked(swaps)
    checked_variables(wanted.env)
    if client is not None:
        client.check(run)
    route = _route(app, run, client, wanted)
    window = _window(run, client, wanted)
    takes_token = client.takes_headers(run) if client is not None else _takes_token(wanted)
    wire = client.wire if client is not None else ""
    found = _found(app, route, wire, wanted, takes_token=takes_token)
    if found is not None and _change(run, client, _door(*found, route, name), wanted).file:
        found = None  # it has a file that only a private proxy can remove
    proxy, token = found or _started(app, route, window, wanted, takes_token=takes_token)
    door = _door(proxy, token, route, name)
    change = _change(run, client, door, wanted)
    _tell(app, name, run, client, proxy, route.why)
    if swaps:
        _swap(swaps, proxy, door)
    if change.file:
        _give(change, proxy)
    own = words if change.own is None else change.own
    _become(program, [name, *change.words, *own], {**os.environ, **change.env})


def _route(app: App, run: Launch, client: Client | None, wanted: _Wanted) -> Route:
    """The destination of requests, and its source. A client that was pointed at a proxy of ours is
    not sent through two.
    """
    from pagefault.cli.background import proxies
    from pagefault.cli.launch import Route
    from pagefault.engine.endpoint import checked_url
    from pagefault.model.errors import BadInput
    from pagefault.proxy.running import all_running

    if wanted.upstream:
        route = Route(wanted.upstream, "--upstream")
    elif client is None:
        raise BadInput(
            "pagefault does not know where this command sends its requests",
            hint="give that address with --upstream; if the command does not read the variables "
            "of its provider's libraries, also name the one it reads with --env NAME={url}",
        )
    else:
        route = client.route(run)
    for one in all_running(proxies()):
        if one.is_at(route.upstream):
            wire = client.wire if client is not None else ""
            through = one.upstreams.get(wire, one.upstream)
            route = Route(through, f"through {one.url} so far", one.upstreams)
    for url in (route.upstream, *route.others.values()):
        checked_url(url, allow_http=app.config().engine.allow_http)
    return route


def _window(run: Launch, client: Client | None, wanted: _Wanted) -> int:
    if wanted.window is not None:
        return wanted.window
    return client.window(run) if client is not None else 0


def _found(
    app: App, route: Route, wire: str, wanted: _Wanted, *, takes_token: bool
) -> tuple[Running, str] | None:
    """A running proxy on this memory with the wanted properties, and the token that it requires."""
    from pagefault.cli.background import running_on

    token = os.environ.get("PAGEFAULT_PROXY_TOKEN", "")
    if wanted.private or wanted.swaps:
        return None
    for one in running_on(os.path.realpath(app.directory())):
        is_it = (
            (bool(wire) or not one.upstreams)
            and _plain(one.upstreams.get(wire, one.upstream)) == _plain(route.upstream)
            and wanted.window in (None, one.window)
            and wanted.user in ("", one.user)
            and (one.forms or not wanted.forms)
            and (not one.wants_token or (takes_token and token))
        )
        if is_it and one.ask() is not None:
            return one, token if one.wants_token else ""
    return None


def _plain(upstream: str) -> str:
    return upstream.strip().rstrip("/").removesuffix("/v1").rstrip("/")


def _started(
    app: App, route: Route, window: int, wanted: _Wanted, *, takes_token: bool
) -> tuple[Running, str]:
    """A private one: on a free port, for clients with its token, if the client can send one."""
    from pagefault.cli.background import log_file, start

    app.config(window_tokens=window or None)
    log = log_file("wrap")
    words = ["--root", app.root] if app.root is not None else []
    words += ["serve", "--upstream", route.upstream]
    words += [word for at, url in route.others.items() for word in ("--upstream", f"{at}={url}")]
    words += ["--port", "0", "--user", wanted.user or _login()]
    words += ["--window", str(window)] if window else []
    words += ["--form"] if wanted.forms else []
    words += ["--parent", str(os.getpid()), "--log", str(log)]
    token = secrets.token_urlsafe(32) if takes_token else ""
    env = {name: told for name, told in os.environ.items() if name != "PAGEFAULT_PROXY_TOKEN"}
    return start(
        words, log=log, env=env | ({"PAGEFAULT_PROXY_TOKEN": token} if token else {})
    ), token


def _takes_token(wanted: _Wanted) -> bool:
    return any("{token}" in one for one in (*wanted.env, *(new for _, _, new in wanted.swaps)))


def _login() -> str:
    """The user's name as a principal's."""
    try:
        name = getpass.getuser()
    except (KeyError, OSError, ImportError):
        name = ""
    return re.sub(r"\A[^A-Za-z0-9]+|[^A-Za-z0-9._-]", "", name)[:32] or "me"


def _door(proxy: Running, token: str, route: Route, name: str) -> Door:
    """The proxy's address for this run. A client without ids has one conversation per run."""
    from pagefault.cli.launch import Door

    folder = re.sub(r"[^A-Za-z0-9._-]+", "-", Path.cwd().name)[:24]
    session = "-".join(filter(None, (Path(name).name[:12], folder, secrets.token_hex(3))))
    others = {at: url for at, url in route.others.items() if proxy.upstreams.get(at) == url}
    return Door(proxy.url, route.upstream, token, session, others)


def _change(run: Launch, client: Client | None, door: Door, wanted: _Wanted) -> Adjusted:
    from pagefault.cli.clients import variables_of
    from pagefault.cli.launch import Adjusted, asked_directly

    if client is None:
        if wanted.swaps and not wanted.env:
            return Adjusted(env=asked_directly(os.environ, door))
        return Adjusted(env=asked_directly(os.environ, door) | variables_of(door, wanted.env))
    change = client.change(run, door)
    if wanted.env:
        change.env |= variables_of(door, wanted.env)
    return change


def _tell(
    app: App, name: str, run: Launch, client: Client | None, proxy: Running, why: str
) -> None:
    kind = f"started for it, pid {proxy.pid}" if proxy.parent else f"runs, pid {proxy.pid}"
    paged = f"window {proxy.window:,}" if proxy.window else "recorded, not paged"
    paged += ", memory formed" if proxy.forms else ""
    if client is not None and proxy.window:
        paged += f" of the {client.believes(run):,} tokens that it believes in"
    app.term.note(
        f"pagefault: {name} → {proxy.url} ({kind}) → {proxy.upstream} ({why}) · {paged} · memory "
        f"{proxy.root}"
    )
    if proxy.parent and not proxy.wants_token:
        app.term.warn(
            f"warning: this proxy asks for no token, so any process of this machine can write as "
            f"{proxy.user} while it runs"
            + ("; {token} in an --env gives it one" if client is None else "")
        )
    if client is None or not proxy.window:
        return
    most, enough = client.compacts(run), client.head + ROOM_TOKENS
    if proxy.window < enough:
        better = f"--window {enough:,} or more" if enough <= most else "a model with a larger one"
        app.term.warn(
            f"warning: of a window of {proxy.window:,} tokens {name} takes about {client.head:,} "
            f"before anything is said (its instructions and tools), so little of the conversation "
            f"fits. {better} is better"
        )
    if proxy.window > most:
        app.term.warn(
            f"warning: {name} compacts by itself before {proxy.window:,} tokens are reached, at "
            f"{most:,}. --window {client.window(run):,} is better"
        )
    if client.note and client.believes(run) < 1_000_000:
        app.term.note(f"note: {client.note}")


def _swap(swaps: Sequence[Swap], proxy: Running, door: Door) -> None:
    from pagefault.cli.background import marker_of
    from pagefault.cli.clients import filled
    from pagefault.cli.swaps import Swap, swap_in

    filled_in = [Swap(one.path, one.old, filled(one.new, door)) for one in swaps]
    swap_in(filled_in, marker_of(proxy.instance))


def _give(change: Adjusted, proxy: Running) -> None:
    """The file that the proxy removes when its client has ended."""
    from pagefault.cli.background import marker_of
    from pagefault.cli.launch import PRIVATE_FILE
    from pagefault.cli.swaps import keep_beside

    path = keep_beside(marker_of(proxy.instance), change.file)
    change.words = [str(path) if word == PRIVATE_FILE else word for word in change.words]


def _become(program: str, words: Sequence[str], env: dict[str, str]) -> None:
    """Become the client. It must not inherit the signals that Python ignores for itself."""
    sys.stdout.flush()
    sys.stderr.flush()
    for name in ("SIGPIPE", "SIGXFSZ"):
        if number := getattr(signal, name, None):
            signal.signal(number, signal.SIG_DFL)
    os.execve(program, list(words), env)


@click.command(cls=Command)
@json_option
def unwrap(app: App) -> None:
    """Restore what `wrap` left behind when it was killed with its proxy.

    What `wrap` gives a client ends with it, so all there is to restore is a file named with
    --in-file, a settings file that only you could read, and a private proxy whose client is gone.
    Live runs are left alone. JSON: {files: [{path, restored, gone}], removed: [path], proxies:
    [{url, pid, stopped}], running: [url]}.
    """
    from pagefault.cli.background import tidy

    found = tidy()
    if app.as_json:
        app.term.data(found.to_dict())
    else:
        for file in found.files:
            said = "was restored" if file.is_back else "has changed since: check it"
            said = "was deleted: nothing to restore" if file.is_gone else said
            app.term.line(f"{file.path} {said}")
        for path in found.removed:
            app.term.line(f"removed {path}")
        for one, stopped in found.proxies:
            app.term.line(f"{'ended' if stopped else 'could not end'} {one.url} (pid {one.pid})")
        for one in found.running:
            app.term.note(f"{one.url} belongs to a live run (pid {one.parent})")
        if not found.files and not found.removed and not found.proxies:
            app.term.note("nothing was left behind")
    if not found.is_clean:
        raise click.exceptions.Exit(1)
