"""`pagefault dashboard`: a memory as a page in the browser, also beside a proxy."""

from __future__ import annotations

import json
import secrets
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING, Final

import click

from pagefault.cli.app import App, Command, json_option
from pagefault.cli.term import printable, redacted

if TYPE_CHECKING:
    from pagefault.dashboard.app import Dashboard
    from pagefault.service.config import Config
    from pagefault.service.memory import Memory
    from pagefault.views.feed import Feed

PATIENCE_S: Final = 2.0  # that a page waits while a long session is read


@click.command(cls=Command)
@click.option(
    "--host",
    default="127.0.0.1",
    show_default=True,
    help="Address to listen on. It must be a loopback address.",
)
@click.option(
    "--port",
    type=click.IntRange(0, 65_535),
    default=0,
    show_default=True,
    help="Port to listen on; 0 picks a free one.",
)
@click.option("--open", "opens", is_flag=True, help="Open it in a browser.")
@json_option
def dashboard(app: App, host: str, port: int, opens: bool) -> None:
    """Show a memory in the browser as it is used: read-only, live.

    Prints an address with a token, which is valid until this command ends; Ctrl-C ends it. Other
    programs can use the memory meanwhile: nothing is written. `pagefault serve` has the same page,
    and prints its address too. JSON, once it listens: {url, root}.
    """
    app.run(_serve(app, host, port, opens=opens))


async def _serve(app: App, host: str, port: int, *, opens: bool) -> None:
    import asyncio

    from pagefault.dashboard.app import Dashboard
    from pagefault.engine.endpoint import is_loopback
    from pagefault.model.errors import BadInput
    from pagefault.proxy.listen import bound, run

    if not is_loopback(host):
        raise BadInput(
            f"{host} can be reached from other machines, and the dashboard shows all of your "
            "memory",
            hint="listen on 127.0.0.1; `ssh -L` brings it to another machine",
        )
    async with app.reading() as memory:
        shown, token = _feed_of(memory), secrets.token_urlsafe(32)

        async def feed() -> Feed:
            return shown

        page = Dashboard(feed, token=token)

        def ready(url: str) -> None:
            address = f"{url}/dashboard/?token={token}"
            told = {"url": address, "root": app.config().root}
            app.term.exact(
                f"{json.dumps(told) if app.as_json else address}\n"
            )  # whole: it needs its token
            app.term.note("Ctrl-C ends it")  # and the line before it is out
            if opens:
                click.launch(address)

        listening = bound(host, port)
        warming = asyncio.create_task(page.warm())
        try:
            await run(page, listening, ready=ready, leaving=page.stop)
        finally:
            listening.close()
            await shown.aclose()
            await asyncio.gather(warming, return_exceptions=True)


@asynccontextmanager
async def dashboard_beside(
    memory: Memory, config: Config, *, token: str
) -> AsyncIterator[Dashboard]:
    """The dashboard of a memory that is being written to here. It reads through an opening of its
    own, which cannot write, and which is opened on the first visit.
    """
    import asyncio

    from pagefault.dashboard.app import Dashboard
    from pagefault.service.bootstrap import open_memory, wiring_of
    from pagefault.service.config import MEMORY

    opening = asyncio.Lock()
    opened: list[Feed] = []
    async with AsyncExitStack() as stack:

        async def feed() -> Feed:
            async with opening:
                if not opened:
                    read = memory
                    if config.root != MEMORY:  # it has no files that could be opened again
                        wiring = wiring_of(config, {"read_only": True})
                        read = await stack.enter_async_context(open_memory(config.root, **wiring))
                    opened.append(_feed_of(read))
            return opened[0]

        try:
            yield Dashboard(feed, token=token)
        finally:
            for one in opened:
                await one.aclose()


def _feed_of(memory: Memory) -> Feed:
    from pagefault.views.feed import Feed

    return Feed(memory, clean=lambda text: printable(redacted(text)), patience_s=PATIENCE_S)
