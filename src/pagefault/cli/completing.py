"""Shell completion: the names of sessions, and the ids of their pages and claims.

It prints no errors and writes nothing: if a memory cannot be read, there are no completions.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Final

import click

from pagefault.cli.app import App, find_session
from pagefault.model.errors import PagefaultError

if TYPE_CHECKING:
    from pagefault.service.memory import Memory
    from pagefault.service.session import Session

PAGES_MAX: Final = 200  # the latest: a shell asks before it lists as many


def sessions(ctx: click.Context, incomplete: str) -> list[str]:
    """The names of sessions with this prefix, or the id if there is no name; the latest first."""

    async def read(memory: Memory) -> list[str]:
        rows = await memory.sessions()
        return list(dict.fromkeys(row.called for row in rows))

    return _begun(ctx, incomplete, read)


def pages(ctx: click.Context, incomplete: str) -> list[str]:
    """The ids of pages with this prefix; the latest first."""

    async def read(memory: Memory) -> list[str]:
        session = await find_session(memory, ctx.params.get("session_name"))
        rows = await memory.pages(session, limit=PAGES_MAX, newest_first=True)
        return [row.page_id for row in rows]

    return _begun(ctx, incomplete, read)


def claims(ctx: click.Context, incomplete: str) -> list[str]:
    """The ids of claims with this prefix; the latest first."""

    async def read(session: Session) -> list[str]:
        told = [str(one.claim_id) for one in await session.claims() if one.status != "closing"]
        return told[::-1][:PAGES_MAX]

    return _begun_in_session(ctx, incomplete, read)


def proposals(ctx: click.Context, incomplete: str) -> list[str]:
    """The ids of core memory proposals with this prefix; the latest first."""

    async def read(session: Session) -> list[str]:
        return [str(one.page_id) for one in await session.core(proposed=True)][::-1]

    return _begun_in_session(ctx, incomplete, read)


def items(ctx: click.Context, incomplete: str) -> list[str]:
    """The ids of hot items with this prefix."""

    async def read(session: Session) -> list[str]:
        return [str(item.id) for item in await session.heat_hot()]

    return _begun_in_session(ctx, incomplete, read)


def _begun_in_session(
    ctx: click.Context, incomplete: str, read: Callable[[Session], Awaitable[list[str]]]
) -> list[str]:
    async def of_session(memory: Memory) -> list[str]:
        return await read(await find_session(memory, ctx.params.get("session_name")))

    return _begun(ctx, incomplete, of_session)


def _begun(
    ctx: click.Context, incomplete: str, read: Callable[[Memory], Awaitable[list[str]]]
) -> list[str]:
    """The words read that begin with `incomplete`; none if the memory cannot be read."""
    app = App(root=ctx.ensure_object(App).root)
    app.term.loudness = -1

    async def work() -> list[str]:
        async with app.reading() as memory:
            return await read(memory)

    try:
        return [word for word in app.run(work()) if word.startswith(incomplete)]
    except (PagefaultError, OSError):
        return []
