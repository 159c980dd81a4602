"""`pagefault sessions`."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Any, Final

import click

from pagefault.cli.app import App, Command, json_option, shown_titles, titles_of
from pagefault.cli.term import cut, iso, local, named, plural
from pagefault.model.kinds import ControlMode

if TYPE_CHECKING:
    from pagefault.model.page import SessionRow
    from pagefault.service.memory import Memory

_TITLE: Final = 40  # cells


@click.command(cls=Command)
@click.option("--forks", is_flag=True, help="Include forks. JSON always includes them.")
@json_option
def sessions(app: App, forks: bool) -> None:
    """List the sessions of a memory.

    The most recently used comes first. `name` is enough to name a session; for a proxied or
    imported one it is a short form, and JSON has the full name. JSON is a list of objects:
    session_id, name, turns, pages (those it can see, including its parent's), own_pages and bytes
    (those it holds itself now, which quotas count), opened, last_used (ISO 8601, UTC) and parent
    (the session_id it was forked from, or null), mode (`pagefault mode`), and title (of imported
    sessions).
    """
    from pagefault.service.lookup.names import brief_names, forked

    rows, modes, titles = app.run(_read(app, titles_of if app.as_json else shown_titles))
    if app.as_json:
        app.term.data(_objects(rows, modes, titles))
        return
    marked = any(mode != ControlMode.ASSIST for mode in modes.values())
    by_number = {row.session: row for row in rows}
    apart = set() if forks else forked(rows)
    shown = [row for row in rows if row.session not in apart]
    names = brief_names(rows)
    if shown:
        app.term.table(
            [
                *(["title"] if titles else []),
                "name",
                "turns",
                "pages",
                "last used",
                "id",
                *(["mode"] if marked else []),
                *(["fork of"] if forks else []),
            ],
            [
                [
                    *([cut(titles.get(row.session_id, ""), _TITLE)] if titles else []),
                    named(names[row.session_id] if row.name else "") or "(no name)",
                    f"{row.turns:,}",
                    f"{row.pages:,}",
                    local(row.last_used_ms),
                    row.session_id,
                    *([modes.get(row.session_id, "")] if marked else []),
                    *([_parent(row, by_number)] if forks else []),
                ]
                for row in shown
            ],
            right="turns pages",
            spare=("id", "pages", "turns"),
        )
    else:
        app.term.note("no sessions yet; `pagefault chat` begins one")
    hidden = len(rows) - len(shown)
    if hidden:
        app.term.note(f"and {plural(hidden, 'fork')}: --forks shows them")


async def _read(
    app: App, titled: Callable[[Memory, list[SessionRow]], Awaitable[dict[str, str]]]
) -> tuple[list[SessionRow], dict[str, str], dict[str, str]]:
    async with app.reading() as memory:
        rows = await memory.sessions()
        return rows, await memory.controls(), await titled(memory, rows)


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
