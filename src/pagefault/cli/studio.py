"""`pagefault studio`: a memory in the terminal."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from pagefault.cli.app import App, Command, find_session, session_argument
from pagefault.cli.term import printable, redacted

if TYPE_CHECKING:
    from pagefault.service.memory import Memory


@click.command(cls=Command)
@session_argument
@click.option(
    "--theme",
    metavar="NAME",
    default="",
    help="Colour theme. Ctrl+P in the studio changes it, too.",
)
@click.option("--words", is_flag=True, help="Show sentences instead of bars, for screen readers.")
def studio(app: App, session_name: str | None, theme: str, words: bool) -> None:
    """Browse a memory, travel in time, and correct its claims.

    It shows the window of each request, pages with filters, claims, what was done, imports that
    await approval, and what needs attention. `?` shows the keys. Nothing is written except by what
    you do there; if another process writes to the session, it says so. NO_COLOR is respected.
    Without SESSION, the last one used (forks and MCP notes excluded).
    """
    from pagefault.studio import check_installed

    check_installed()
    if not _has_terminal():
        raise click.UsageError(
            "The studio needs a terminal; `pagefault status`, `report` and `dashboard` need none."
        )
    app.run(_run(app, session_name, theme, words=words))


def _has_terminal() -> bool:
    return sys.stdin.isatty() and sys.stderr.isatty()  # it draws on stderr


async def _run(app: App, session_name: str | None, theme: str, *, words: bool) -> None:
    from pagefault.model.errors import BadInput
    from pagefault.service.bootstrap import open_memory, wiring_of
    from pagefault.store.embedded.adoption import not_adopted
    from pagefault.studio.app import StudioApp

    config = app.config()

    @asynccontextmanager
    async def writing() -> AsyncIterator[Memory]:
        """As `App.writing`, but silent: the screen belongs to the studio."""
        async with open_memory(config.root, **wiring_of(config, {})) as memory:
            if not memory.is_adopted:
                raise not_adopted(Path(config.root))
            yield memory

    async with app.reading() as memory:
        session = await find_session(memory, session_name)
        shown = StudioApp(
            memory, session, writing=writing, clean=lambda text: printable(redacted(text))
        )
        if theme and theme not in shown.available_themes:
            raise BadInput(
                f"there is no theme {theme!r}", hint=f"one of {', '.join(shown.available_themes)}"
            )
        if theme:
            shown.theme = theme
        shown.in_words = words
        await shown.run_async()
