"""The checks of `pagefault doctor` for proxies and their clients."""

from __future__ import annotations

import os
import shutil
import socket
import time
from collections.abc import Iterator
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from pagefault.cli.app import App
from pagefault.cli.background import ProxyFailed, left_behind, log_file, proxies, running_on
from pagefault.cli.checks import Check
from pagefault.cli.term import plural
from pagefault.model.errors import BadInput, PagefaultError

if TYPE_CHECKING:
    from pagefault.cli.canary import Flight
    from pagefault.cli.clients import Client
    from pagefault.cli.launch import Launch
    from pagefault.proxy.running import Running
    from pagefault.service.config import Config

SESSIONS_TOLD: Final = 5  # a proxy's latest ones, whose cache share is printed
SESSIONS_MAX: Final = 20  # that are searched for these
CACHE_WARN: Final = 0.5  # of the input, below which most tokens cost the full price
SKEW_WARN_S: Final = 120.0
_WAIT_S: Final = 10.0


def proxy_checks(app: App, config: Config, *, canary: bool, live: bool) -> Iterator[Check]:
    """Each in order. Without the proxy's packages there is nothing to check."""
    from importlib.util import find_spec

    if find_spec("uvicorn") is None or find_spec("httpx2") is None:
        yield Check("proxy", "ok", "not installed (pip install 'pagefault[proxy]' adds it)")
        return
    running = running_on(os.path.realpath(config.root))
    yield from _proxies(running, config)
    yield _left_behind()
    is_made = os.path.lexists(Path(config.root) / "root.json")
    mode = app.run(_mode(app, config)) if is_made else str(config.control)
    if mode != "assist":
        yield Check(
            "mode",
            "warn",
            f"{mode}: {_MODES.get(mode, 'new conversations are not fully handled')}",
            "`pagefault mode assist` records conversations and brings memories back",
        )
    elif canary:
        yield from _canaries(app, config, running)
    yield from _clients(running)
    if is_made and (hits := app.run(_cache(app, config))) is not None:
        yield hits
    if live:
        for url in dict.fromkeys(url for one in running for url in one.all_upstreams.values()):
            yield from _upstream(url)


_MODES: Final = {
    "capture_only": "new conversations are recorded, but nothing is brought back",
    "paused": "new conversations are not recorded",
    "incognito": "new conversations are not recorded",
    "off": "new conversations are not recorded",
}


def _proxies(running: list[Running], config: Config) -> Iterator[Check]:
    from pagefault import __version__
    from pagefault.proxy.listen import DEFAULT_PORT

    if not running:
        yield Check("proxy", "ok", "none running on this memory")
        if _answers("127.0.0.1", DEFAULT_PORT):
            advice = "`serve --port 0` picks a free one, as `wrap` does"
            found = f"{DEFAULT_PORT}, the default of `serve`, is in use"
            yield Check("port", "warn", found, advice)
        else:
            yield Check("port", "ok", f"{DEFAULT_PORT} is free")
        return
    for one in running:
        told = one.ask()
        found = f"{one.url} to {one.upstream}, pid {one.pid}"
        if told is None:
            advice = "`pagefault stop`, then start it again"
            yield Check(
                "proxy", "fail", f"{found}: its process is alive but does not answer", advice
            )
        elif not told.get("ok"):
            found = f"{found}: {plural(told['not_logged'], 'conversation')} could not be recorded"
            found += f": {told['problem']}" if told.get("problem") else ""
            yield Check("proxy", "fail", found, one.log and f"see its log: {one.log}")
        elif one.version != __version__:
            found = f"{found}, of version {one.version}"
            yield Check("proxy", "warn", found, "`pagefault stop`, then start it again")
        else:
            paged = f"window {one.window:,}" if one.window else "recorded, not paged"
            yield Check("proxy", "ok", f"{found}, {paged}, {plural(told['requests'], 'request')}")
        if one.wants_token and told is not None:
            yield _token(one)


def _token(one: Running) -> Check:
    """Whether this environment has the token that a proxy requires: it is asked."""
    from pagefault.proxy.http.token import TOKEN_HEADER

    headers = os.environ.get("ANTHROPIC_CUSTOM_HEADERS", "").splitlines()
    pairs = (line.partition(":") for line in headers)
    token = next((told for name, _, told in pairs if name.strip().lower() == TOKEN_HEADER), "")
    token = os.environ.get("PAGEFAULT_PROXY_TOKEN") or token.strip()
    advice = "`wrap` takes it from PAGEFAULT_PROXY_TOKEN"
    if not token:
        found = f"{one.url} requires a token, and this environment has none"
        return Check("token", "warn", found, advice)
    if one.ask(headers={TOKEN_HEADER: token}) is None:
        found = f"{one.url} does not accept the token of this environment"
        return Check("token", "fail", found, advice)
    return Check("token", "ok", f"{one.url} accepts the token of this environment")


def _answers(host: str, port: int) -> bool:
    try:
        with socket.create_connection((host, port), timeout=1.0):
            return True
    except OSError:
        return False


def _left_behind() -> Check:
    markers, orphans, _ = left_behind()
    if not markers and not orphans:
        return Check("wrap", "ok", "nothing left behind")
    parts = [plural(len(markers), "file") + " to restore or remove"] if markers else []
    parts += [plural(len(orphans), "proxy", "proxies") + " without a client"] if orphans else []
    return Check("wrap", "warn", " and ".join(parts), "`pagefault unwrap`, or --fix")


async def _mode(app: App, config: Config) -> str:
    try:
        async with app.memory(config, read_only=True) as memory:
            return str(await memory.control())
    except PagefaultError:
        return "assist"  # the reason was reported above


# --- canaries -----------------------------------------------------------------------------------


def _canaries(app: App, config: Config, running: list[Running]) -> Iterator[Check]:
    """One through each proxy that runs on this memory, or through one that is started for it."""
    from pagefault.cli.canary import fly, started

    for one in running:
        yield _flown(fly(app, one), f"{one.url} (running)", config)
    if running:
        return
    try:
        with started(app) as one:
            check = _flown(fly(app, one), "a temporary proxy with its own memory", config)
        if check.status == "ok":  # else its log says more
            log_file("doctor").unlink(missing_ok=True)
        yield check
    except ProxyFailed as error:
        yield Check("canary", "fail", f"no proxy can be started: {error.message}", error.hint)
    except BadInput as error:
        yield Check("canary", "fail", error.message, error.hint)


def _flown(flight: Flight, where: str, config: Config) -> Check:
    from pagefault.cli.canary import words

    is_home = flight.is_home
    if flight.kept and flight.paged and not flight.problem and not config.limits.recall_tokens_max:
        is_home = True  # nothing is recalled: limits.recall_tokens_max
    if is_home:
        return Check("canary", "ok", words(flight, where))
    advice = "conversations through this proxy are not safe: see its log"
    return Check("canary", "fail", words(flight, where), advice)


# --- clients ------------------------------------------------------------------------------------


def _clients(running: list[Running]) -> Iterator[Check]:
    from pagefault.cli.client_settings import BrokenSettings
    from pagefault.cli.clients import CLIENTS
    from pagefault.cli.launch import Launch, PastProxy

    for client in CLIENTS.values():
        program = shutil.which(client.name)
        if program is None:
            continue
        run = Launch((), dict(os.environ), Path.cwd(), program)
        try:
            client.check(run)
            route = client.route(run)
        except BrokenSettings as error:
            yield Check(client.name, "fail", error.message, error.hint)
        except PastProxy as error:
            yield Check(client.name, "warn", error.message, error.hint)
        except BadInput as error:
            yield Check(client.name, "ok", f"{error.message}; `wrap` asks for --upstream")
        else:
            yield _routed(client, run, route.upstream, route.why, running)


def _routed(client: Client, run: Launch, upstream: str, why: str, running: list[Running]) -> Check:
    """Where an installed client's requests would go from here."""
    from pagefault.engine.endpoint import is_loopback
    from pagefault.proxy.running import all_running

    parts = urlsplit(upstream)
    try:
        host, port = parts.hostname or "", parts.port or 80
    except ValueError:
        return Check(client.name, "fail", f"{why}: {upstream!r} is not an address")
    here = next((one for one in all_running(proxies()) if one.is_at(upstream)), None)
    if here is not None:
        return _through(client, run, here, why, running)
    if not is_loopback(host):
        found = f"goes to {upstream} ({why}), not through pagefault"
        return Check(
            client.name, "ok", found, f"`pagefault wrap {client.name}` sends it through pagefault"
        )
    if _answers(host, port):
        return Check(
            client.name, "ok", f"goes to {upstream} ({why}), which is not a pagefault proxy"
        )
    return Check(
        client.name,
        "fail",
        f"points at {upstream} ({why}), where nothing answers",
        "start the proxy (`pagefault serve --detach`), or remove the address",
    )


def _through(client: Client, run: Launch, here: Running, why: str, running: list[Running]) -> Check:
    found = f"goes through {here.url} ({why})"
    if not here.parent and here not in running:
        found = f"{found}, which uses another memory: {here.root}"
        return Check(client.name, "warn", found)
    if not here.window:
        return Check(client.name, "ok", f"{found}, recorded, not paged")
    believes = client.believes(run)
    found = f"{found}, window {here.window:,} of the {believes:,} tokens it assumes"
    if here.window > client.compacts(run):
        advice = f"it compacts by itself before that: a window of {client.window(run):,} is better"
        return Check(client.name, "warn", found, advice)
    if here.window < client.head + 15_000:
        advice = (
            f"its instructions and tools take about {client.head:,} tokens: use a larger window"
        )
        return Check(client.name, "warn", found, advice)
    return Check(client.name, "ok", found, client.note)


# --- provider reports -----------------------------------------------------------------------------


async def _cache(app: App, config: Config) -> Check | None:
    """The share of the latest sessions' input that came from a cache, by their providers'
    counts.
    """
    sent = cached = told = 0
    try:
        async with app.memory(config, read_only=True) as memory:
            named = [row for row in await memory.sessions() if "@" in row.name]
            for row in named[:SESSIONS_MAX]:
                if told == SESSIONS_TOLD:
                    break
                session = await memory.session(row.session_id, create=False)
                if await memory.proxied(session) is None:
                    continue
                said = [one.reported for one in await session.ledger() if one.reported is not None]
                known = [one for one in said[1:] if one.cached_tokens is not None]
                told += bool(known)
                sent += sum(one.input_tokens for one in known)
                cached += sum(one.cached_tokens or 0 for one in known)
    except PagefaultError:
        return None  # the reason was reported above
    if not sent:
        return None
    found = f"{cached / sent:.0%} of what {plural(told, 'session')} sent was read from a cache"
    if cached / sent < CACHE_WARN:
        return Check(
            "cache", "warn", found, "`pagefault ledger SESSION` shows why for each request"
        )
    return Check("cache", "ok", found)


def _upstream(url: str) -> Iterator[Check]:
    """Whether the provider can be reached, with a valid certificate, and has our time."""
    import httpx2

    began = time.time()
    try:
        answer = httpx2.head(url, timeout=_WAIT_S, follow_redirects=False)
    except httpx2.HTTPError as error:
        said = str(error)
        advice = "this machine does not trust its certificate" if "CERT" in said else ""
        found = f"cannot reach {url} ({type(error).__name__})"
        yield Check("upstream", "fail", found, advice or "check the network and the address")
        return
    took_s = time.time() - began
    secure = "TLS" if url.startswith("https") else "plain http"
    yield Check("upstream", "ok", f"{url} answers over {secure} in {took_s:.1f} s")
    try:
        skew_s = parsedate_to_datetime(answer.headers["date"]).timestamp() - time.time()
    except (KeyError, ValueError, TypeError):
        return
    if abs(skew_s) > SKEW_WARN_S:
        found = f"{abs(skew_s):,.0f} s {'behind' if skew_s > 0 else 'ahead of'} the provider's"
        yield Check("clock", "warn", found, "set the system clock")
