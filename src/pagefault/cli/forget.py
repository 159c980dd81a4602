"""`pagefault forget`."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any

import click

from pagefault.cli.app import App, Command, find_row, json_option, pass_app
from pagefault.cli.term import plural

if TYPE_CHECKING:
    from pagefault.service.memory import Forgetting


@click.command(cls=Command)
@click.argument("page_id", required=False)
@click.option("--session-whole", "whole", is_flag=True, help="The whole session, not one page.")
@click.option("--session", "session_name", metavar="NAME", help="Which session, by name or id.")
@click.option("--yes", is_flag=True, help="Do it. Without this, only say what would go.")
@json_option
@pass_app
def forget(
    app: App, page_id: str | None, whole: bool, session_name: str | None, yes: bool, as_json: bool
) -> None:
    """Erase a page, or a whole session, for good.

    Afterwards no byte of it is left in the log, the index or the quarantine of this memory. Without
    --yes it is a dry run that changes nothing. JSON: {done, session, session_id, pages, records,
    seen_from (forks that lose it too), quoted_by (answers that cite it; their text stays),
    beyond_reach}.
    """
    if whole == bool(page_id):
        raise click.UsageError("Name a PAGE_ID, or give --session-whole with --session.")
    if whole and not session_name:
        raise click.UsageError("--session-whole needs --session NAME: it is never guessed.")
    app.existing_directory()

    async def work() -> tuple[str, Forgetting]:
        async with app.writing() if yes else app.reading() as memory:
            row = await find_row(memory, session_name)
            name = row.name or row.session_id
            plan = await memory.forget(row.session_id, page_id or "", dry_run=not yes)
            return name, plan

    name, plan = app.run(work())
    command = _command(app, page_id, plan.session_id)
    if as_json:
        told: dict[str, Any] = {
            "done": plan.done,
            "session": name,
            "session_id": plan.session_id,
            "pages": list(plan.pages),
            "records": plan.records,
            "seen_from": list(plan.seen_from),
            "quoted_by": list(plan.quoted_by),
            "beyond_reach": list(plan.beyond_reach),
        }
        app.term.data(told if yes else told | {"command": command})
        return
    term = app.term
    what = f"page {page_id} of {name!r}" if page_id else f"the whole session {name!r}"
    head = f"forgotten: {what}" if plan.done else f"would be forgotten: {what}"
    term.line(term.style(head, "bold"))
    term.line(
        f"  {plural(len(plan.pages), 'page')}, {plural(plan.records, 'record')}: {_few(plan.pages)}"
    )
    if plan.seen_from:
        term.line(f"  gone from these forks too: {_few(plan.seen_from)}")
    if plan.quoted_by:
        term.line(f"  these answers cite it, and their own words stay: {_few(plan.quoted_by)}")
    term.line("  beyond reach:")
    for place in plan.beyond_reach:
        term.line(f"    - {place}")
    if not plan.done:
        term.line()
        term.line("nothing was changed. To do it, which cannot be undone:")
        term.line(f"  {command}")


def _command(app: App, page_id: str | None, session_id: str) -> str:
    root = ["--root", app.root] if app.root else []
    what = [page_id] if page_id else ["--session-whole"]
    return shlex.join(["pagefault", *root, "forget", *what, "--session", session_id, "--yes"])


def _few(names: tuple[str, ...]) -> str:
    return (
        ", ".join(names)
        if len(names) <= 8
        else f"{', '.join(names[:8])} and {len(names) - 8:,} more"
    )
