"""`pagefault forget`."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

import click

from pagefault.cli.app import App, Command, find_kept, json_option, names_of, page_argument
from pagefault.cli.asking import filter_of, in_option, kinds_option, origins_option, period_options
from pagefault.cli.term import plural

if TYPE_CHECKING:
    from pagefault.service.forget import Forgetting


@click.command(cls=Command)
@page_argument(required=False)
@click.option(
    "--all", "--session-whole", "whole", is_flag=True, help="Erase all of --session, not one page."
)
@click.option("--query", metavar="WORDS", help="Only pages that contain all of WORDS.")
@kinds_option()
@origins_option
@in_option()
@period_options("pages")
@click.option(
    "--session",
    "session_name",
    metavar="NAME",
    help="Session to erase from: full name or id, or region:NAME.",
)
@click.option(
    "--yes", is_flag=True, help="Erase it. Without --yes, only show what would be erased."
)
@json_option
def forget(
    app: App,
    page_id: str | None,
    whole: bool,
    query: str | None,
    kinds: tuple[str, ...],
    origins: tuple[str, ...],
    imported_from: str,
    since: str | None,
    until: str | None,
    session_name: str | None,
    yes: bool,
) -> None:
    """Erase a page, all pages that match, or a whole session, for good.

    --query, --kind, --origin, --in, --since and --until select the pages that meet all of them, in
    every session or in --session. Everything derived from a page is erased with it.

    Afterwards no byte of it is left in the log, the index or the quarantine of this memory. Without
    --yes it is a dry run that changes nothing. JSON: {done, session, session_id, pages, calls (of
    the model, erased with them), records, seen_from (forks, and sessions that mount a region, which
    lose it too), copies (in regions, erased with it), quoted_by (answers that cite it; their text
    stays), stays (what may contain words of it without being a page: {what, session, count,
    command, which erases it}), beyond_reach, and, in a dry run, command}; of pages that match
    {done, sessions (an object like that for each), command}.
    """
    matching = bool(query or kinds or origins or imported_from or since or until)
    if [bool(page_id), whole, matching].count(True) != 1:
        raise click.UsageError(
            "Name a PAGE_ID, or what pages have in common (--query, --origin …), or give "
            "--all with --session."
        )
    if whole and not session_name:
        raise click.UsageError("--all needs --session NAME: it is never guessed.")
    app.existing_directory()

    from pagefault.model.errors import NoSuchPage

    async def work() -> list[tuple[str, Forgetting]]:
        async with app.writing(dry_run=not yes) as memory:
            names = await names_of(memory)
            if matching:
                wanted = filter_of(kinds, (), origins, since, until, imported_from=imported_from)
                if session_name:
                    wanted = replace(wanted, session=await find_kept(memory, session_name))
                plans = await memory.forget_matching(query or "", wanted=wanted, dry_run=not yes)
            else:
                kept = await find_kept(memory, session_name)
                try:
                    plans = (await memory.forget(kept, page_id or "", dry_run=not yes),)
                except NoSuchPage as missing:
                    if page_id in {*names, *names.values()}:
                        whole_one = f"pagefault forget --all --session {shlex.quote(page_id)}"
                        missing.hint = f"that is a session: `{whole_one}` shows what would go"
                    raise
            return [(names[plan.session_id], plan) for plan in plans]

    found = app.run(work())
    what = [page_id] if page_id else ["--all"]
    if matching:
        given = [("--query", (query,) if query else ()), ("--kind", kinds), ("--origin", origins)]
        given += [("--in", (imported_from,) if imported_from else ())]
        given += [("--since", (since,) if since else ()), ("--until", (until,) if until else ())]
        what = [word for option, values in given for one in values for word in (option, one)]
    where = session_name or "" if matching else found[0][1].session_id
    command = _command(app, what, where)
    if app.as_json:
        objects = [_object(app, name, plan) for name, plan in found]
        told = {"done": yes, "sessions": objects} if matching else objects[0]
        app.term.data(told if yes else told | {"command": command})
        return
    if not found:
        app.term.note("nothing matches")
        return
    for name, plan in found:
        _tell(app, name, plan, f"page {page_id} of {name!r}" if page_id else "", whole=whole)
    app.term.line("  beyond reach:")
    for place in found[0][1].beyond_reach:
        app.term.line(f"    - {place}")
    if not yes:
        app.term.line()
        app.term.line("nothing was changed. To do it, which cannot be undone:")
        app.term.line(f"  {command}")


def _object(app: App, name: str, plan: Forgetting) -> dict[str, Any]:
    return {
        "done": plan.done,
        "session": name,
        "session_id": plan.session_id,
        "pages": list(plan.pages),
        "calls": plan.calls,
        "records": plan.records,
        "seen_from": list(plan.seen_from),
        "copies": list(plan.copies),
        "quoted_by": list(plan.quoted_by),
        "stays": [
            {
                "what": one.what,
                "session": one.session,
                "count": one.count,
                "command": _command(app, ["--all"], one.session_id),
            }
            for one in plan.stays
        ],
        "beyond_reach": list(plan.beyond_reach),
    }


def _tell(app: App, name: str, plan: Forgetting, page: str, *, whole: bool) -> None:
    term = app.term
    what = page or (f"the whole session {name!r}" if whole else f"what matches in {name!r}")
    head = f"forgotten: {what}" if plan.done else f"would be forgotten: {what}"
    term.line(term.style(head, "bold"))
    term.line(
        f"  {plural(len(plan.pages), 'page')}, {plural(plan.records, 'record')}: {_few(plan.pages)}"
    )
    if plan.calls:
        term.line(f"  {plural(plan.calls, 'call')} of the model with them")
    if plan.seen_from:
        term.line(f"  also gone from sessions that see it: {_few(plan.seen_from)}")
    if plan.copies:
        term.line(f"  copies in regions: {_few(plan.copies)}")
    if plan.quoted_by:
        term.line(f"  answers that cite it keep their own text: {_few(plan.quoted_by)}")
        first = plan.quoted_by[0].rpartition(": ")
        where = next(
            (one.session_id for one in plan.stays if one.session == first[0]), plan.session_id
        )
        term.line(f"    to forget an answer: {_command(app, [first[2]], where)}")
    staying = dict.fromkeys(one.session_id for one in plan.stays)
    if staying:
        term.line("  kept until the whole session is forgotten:")
    for session_id in staying:
        here = [one for one in plan.stays if one.session_id == session_id]
        kept = "; ".join(_STAYS[one.what].format(count=one.count) for one in here)
        term.line(f"    - {here[0].session!r}: {kept}")
    for session_id in list(staying)[:1]:
        which = "to erase that" if len(staying) == 1 else "to erase the first"
        term.line(f"    {which}: {_command(app, ['--all'], session_id)}")


_STAYS: Final = {
    "calls": "the queries and arguments of the model's other calls: {count:,}",
    "checkpoints": "the names of its checkpoints: {count:,}",
    "imports": "the titles and projects of its imports: {count:,}",
    "name": "its name",
    "system": "its system prompts: {count:,}",
    "assignment": "its user and project: {count:,}",
    "counts": "token counts and models of its requests: {count:,}",
}


def _command(app: App, what: Sequence[str], session: str) -> str:
    where = ["--session", session] if session else []
    return app.command("forget", *what, *where, "--yes")


def _few(names: tuple[str, ...]) -> str:
    return (
        ", ".join(names)
        if len(names) <= 8
        else f"{', '.join(names[:8])} and {len(names) - 8:,} more"
    )
