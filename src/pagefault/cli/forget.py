"""`pagefault forget`."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any, Final

import click

from pagefault.cli.app import App, Command, find_row, json_option, pass_app
from pagefault.cli.term import plural

if TYPE_CHECKING:
    from pagefault.service.forget import Forgetting


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
    --yes it is a dry run that changes nothing. JSON: {done, session, session_id, pages, calls (of
    the model, that go with them), records, seen_from (forks that lose it too), quoted_by (answers
    that cite it; their text stays), stays (what may hold words of it and has no page: {what,
    session, count, command, which erases it}), beyond_reach}.
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
            "calls": plan.calls,
            "records": plan.records,
            "seen_from": list(plan.seen_from),
            "quoted_by": list(plan.quoted_by),
            "stays": [
                {
                    "what": one.what,
                    "session": one.session,
                    "count": one.count,
                    "command": _command(app, None, one.session_id),
                }
                for one in plan.stays
            ],
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
    if plan.calls:
        term.line(f"  with them {plural(plan.calls, 'call')} of the model")
    if plan.seen_from:
        term.line(f"  gone from these forks too: {_few(plan.seen_from)}")
    if plan.quoted_by:
        term.line(f"  these answers cite it, and their own words stay: {_few(plan.quoted_by)}")
    for session_id in dict.fromkeys(one.session_id for one in plan.stays):
        here = [one for one in plan.stays if one.session_id == session_id]
        term.line(f"  stays, until {here[0].session!r} is forgotten whole:")
        for one in here:
            term.line(f"    - {_STAYS[one.what].format(count=one.count)}")
        term.line(f"    by: {_command(app, None, session_id)}")
    term.line("  beyond reach:")
    for place in plan.beyond_reach:
        term.line(f"    - {place}")
    if not plan.done:
        term.line()
        term.line("nothing was changed. To do it, which cannot be undone:")
        term.line(f"  {command}")


_STAYS: Final = {
    "calls": "the queries and arguments of the model's other calls: {count:,}",
    "checkpoints": "the names of its checkpoints: {count:,}",
    "imports": "the titles and projects of its imports: {count:,}",
    "name": "its name",
    "system": "its system prompts: {count:,}",
    "counts": "how many tokens its requests had, and for which model: {count:,}",
}


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
