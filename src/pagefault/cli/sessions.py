"""`pagefault sessions`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from pagefault.cli.app import App, Command, json_option, pass_app, titles_of
from pagefault.cli.term import iso, local, named, plural
from pagefault.model.kinds import ControlMode

if TYPE_CHECKING:
    from pagefault.model.page import SessionRow


@click.command(cls=Command)
@click.option("--forks", is_flag=True, help="Include forks. JSON always includes them.")
@json_option
@pass_app
def sessions(app: App, forks: bool, as_json: bool) -> None:
    """List the sessions of a memory.

    The most recently used comes first. JSON is a list of objects: session_id, name, turns, pages
    (those it can see, including its parent's), own_pages and bytes (those it holds itself now,
    which quotas count), opened, last_used (ISO 8601, UTC) and parent (the session_id it was forked
    from, or null), mode (`pagefault mode`), and title (of imported sessions).
    """
    rows, modes, titles = app.run(_read(app))
    if as_json:
        app.term.data(_objects(rows, modes, titles))
        return
    marked = any(mode != ControlMode.ASSIST for mode in modes.values())
    by_number = {row.session: row for row in rows}
    shown = [row for row in rows if forks or row.parent not in by_number]
    if shown:
        app.term.table(
            [
                "name",
                "turns",
                "pages",
                "last used",
                "id",
                *(["title"] if titles else []),
                *(["mode"] if marked else []),
                *(["fork of"] if forks else []),
            ],
            [
                [
                    named(row.name) or "(no name)",
                    f"{row.turns:,}",
                    f"{row.pages:,}",
                    local(row.last_used_ms),
                    row.session_id,
                    *([titles.get(row.session_id, "")] if titles else []),
                    *([modes.get(row.session_id, "")] if marked else []),
                    *([_parent(row, by_number)] if forks else []),
                ]
                for row in shown
            ],
            right="turns pages",
        )
    else:
        app.term.note("no sessions yet; `pagefault chat` begins one")
    hidden = len(rows) - len(shown)
    if hidden:
        app.term.note(f"and {plural(hidden, 'fork')}: --forks shows them")


async def _read(app: App) -> tuple[list[SessionRow], dict[str, str], dict[str, str]]:
    async with app.reading() as memory:
        rows = await memory.sessions()
        return rows, await memory.controls(), await titles_of(memory, rows)


def _objects(
    rows: Sequence[SessionRow], modes: dict[str, str], titles: dict[str, str]
) -> list[dict[str, Any]]:
    ids = {row.session: row.session_id for row in rows}
    return [
        {
            "session_id": row.session_id,
            "name": row.name,
            "turns": row.turns,
            "pages": row.pages,
            "own_pages": row.own_pages,
            "bytes": row.bytes,
            "opened": iso(row.opened_at_ms),
            "last_used": iso(row.last_used_ms),
            "parent": ids.get(row.parent) if row.parent else None,
            "mode": modes.get(row.session_id, ""),
            "title": titles.get(row.session_id, ""),
        }
        for row in rows
    ]


def _parent(row: SessionRow, by_number: dict[Any, SessionRow]) -> str:
    if not row.parent:
        return ""
    parent = by_number.get(row.parent)
    return (named(parent.name) or parent.session_id) if parent else "(forgotten)"
