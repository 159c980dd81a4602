"""`pagefault pack`, `handoff`, `synopsis` and `digest`: packages of a memory for others."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from pagefault.cli.app import (
    App,
    Command,
    complete_session,
    either,
    find_row,
    json_option,
    number_option,
    options,
    session_either,
    session_option,
)
from pagefault.cli.term import plural, redacted
from pagefault.cli.when import first_ms, last_ms
from pagefault.cli.wording import ONLY_SESSION
from pagefault.views.files import file_of, place

if TYPE_CHECKING:
    from pagefault.activity.commits import Commit
    from pagefault.pack.context_forms import PackDiff
    from pagefault.pack.context_pack import ContextPack
    from pagefault.service.lookup.imported import ImportedSession
    from pagefault.service.memory import Memory
    from pagefault.service.session import Session

_FORMS: Final = ("md", "json", "claude", "codex")
_JSON: Final = """JSON: {query, generated_at, pack_type, a list of {text, cites} for each section
    (summary, active_tasks, recent_decisions, changed_files, open_questions …), matched, fallback,
    token_budget: {target, used, trimmed}, validation_report: {checked, failed, stale, unproved},
    source_mix, evidence, inclusion_reason, left_out, left_out_total};
    docs/context-packs.md explains the fields."""

_BUDGET_FIRST: Final = 128
_BUDGET_LAST: Final = 1 << 16
"""Budgets between which the smallest is sought that would hold something."""
_EMPTY: Final = {"digest": "nothing changed"}
_packing = options(
    number_option("--budget", 2_000, "Token budget of the text.", metavar="N"),
    click.option(
        "--format",
        "form",
        type=click.Choice(_FORMS),
        default="md",
        show_default=True,
        help="md for people, json for programs, claude or codex for that client's model.",
    ),
    click.option(
        "--at",
        "at",
        metavar="WHEN",
        help='Time to use as now: 2026-03-01, yesterday, "3 days ago". Later messages are '
        "included all the same.",
    ),
    click.option(
        "-o",
        "--output",
        "target",
        type=click.Path(path_type=Path, allow_dash=True),
        help="File to write, replacing what is there; in a folder, the file gets a name of "
        "its own. - is stdout.",
    ),
    click.option(
        "--diff",
        "older",
        type=click.Path(path_type=Path, exists=True, dir_okay=False),
        help="Show what changed since this pack, which was written with --format json.",
    ),
    json_option,
)


_only_session = click.option(
    "--session",
    "session_name",
    metavar="NAME",
    shell_complete=complete_session,
    help=ONLY_SESSION,
)


@click.command(
    "pack",
    cls=Command,
    help=f"""Pack what bears on a query for a prompt: within a token budget, with sources.

    Decisions, tasks, changed files, open questions and pages that bear on QUERY, each line with the
    ids of its sources. Without QUERY it is a pack to begin with (`boot`). If nothing bears on it,
    the latest messages are shown, and `matched` is 0. Without --session it covers every session.
    Stale and unconfirmed claims are left out.

    {_JSON}
    """,
)
@click.argument("words", metavar="[QUERY]", nargs=-1)
@_only_session
@click.option(
    "--type",
    "pack_type",
    type=click.Choice(["boot", "task"]),
    help="Type of pack. Default: task with a QUERY, else boot.",
)
@click.option("--unproved", is_flag=True, help="Include stale and unconfirmed claims.")
@click.option(
    "--check",
    is_flag=True,
    help="First check claims against the files and branches of the project in this folder; leave "
    "out those that fail.",
)
@_packing
def pack(
    app: App,
    /,
    words: tuple[str, ...],
    session_name: str | None,
    pack_type: str | None,
    unproved: bool,
    check: bool,
    **options: Any,
) -> None:
    query = " ".join(words)

    async def make(asked: Session | Memory, given: dict[str, Any]) -> ContextPack:
        return await asked.pack(
            query,
            pack_type=pack_type or "",
            unproved=unproved,
            root=os.getcwd() if check else "",
            **given,
        )

    _hand_on(app, make, session_name, "PACK", **options)


@click.command(
    "handoff",
    cls=Command,
    help=f"""Pack what somebody needs to continue a session: what changed, failed, and is next.

    With `-o FOLDER` it is written to HANDOFF_SESSION_DAY.md there.

    {_JSON}
    """,
)
@session_either
@session_option
@_packing
def handoff(
    app: App, /, session_named: str | None, session_name: str | None, **options: Any
) -> None:
    async def make(asked: Session | Memory, given: dict[str, Any]) -> ContextPack:
        from pagefault.service.session import Session

        assert isinstance(asked, Session)
        return await asked.handoff(**given)

    name = either(session_named, session_name)
    _hand_on(app, make, name, "HANDOFF", everywhere=False, **options)


@click.command(
    "synopsis",
    cls=Command,
    help=f"""Summarise what a session or project is about, and how its work is run.

    Made from the log each time, so it is never out of date. Without SESSION it covers the sessions
    used last.

    {_JSON}
    """,
)
@session_either
@_only_session
@_packing
def synopsis(
    app: App, /, session_named: str | None, session_name: str | None, **options: Any
) -> None:
    async def make(asked: Session | Memory, given: dict[str, Any]) -> ContextPack:
        return await asked.synopsis(**given)

    _hand_on(app, make, either(session_named, session_name), "SYNOPSIS", **options)


@click.command(
    "digest",
    cls=Command,
    help=f"""Summarise what changed since some time: commits, files, tests, decisions.

    --git reads the commits of a range (`v1.2..HEAD`) of the current repository; without --since,
    the rest begins with the first of them.

    {_JSON}
    """,
)
@session_either
@_only_session
@click.option(
    "--since", metavar="WHEN", help='Only changes since WHEN: 2026-03-01, yesterday, "3 days ago".'
)
@click.option("--git", "git_range", metavar="RANGE", help="Commits to include, as for `git log`.")
@_packing
def digest(
    app: App,
    /,
    session_named: str | None,
    session_name: str | None,
    since: str | None,
    git_range: str | None,
    **options: Any,
) -> None:
    from pagefault.cli.git_range import commits_of

    commits: list[Commit] = commits_of(git_range) if git_range else []
    now = datetime.now(UTC)
    since_ms = first_ms(since, now) if since else min((c.at_ms for c in commits), default=0)

    async def make(asked: Session | Memory, given: dict[str, Any]) -> ContextPack:
        return await asked.digest(since_ms, commits=commits, **given)

    _hand_on(app, make, either(session_named, session_name), "DIGEST", **options)


def _hand_on(
    app: App,
    make: Callable[[Session | Memory, dict[str, Any]], Awaitable[ContextPack]],
    session_name: str | None,
    name: str,
    *,
    budget: int,
    form: str,
    at: str | None,
    target: Path | None,
    older: Path | None,
    everywhere: bool = True,
) -> None:
    """Make a pack of a session, or of all of a memory, and print or write it."""
    from pagefault.pack.context_forms import to_data
    from pagefault.pack.context_pack import ContextPack

    given: dict[str, Any] = {"budget": budget}
    if at is not None:
        given["at"] = last_ms(at, datetime.now(UTC))
    before = None if older is None else ContextPack.from_json(older.read_text("utf-8"))

    async def read() -> tuple[ContextPack, str, int, list[ImportedSession]]:
        async with app.reading() as memory:
            asked: Session | Memory = memory
            of = "all"
            waiting = [one for one in await memory.imports() if not one.is_approved]
            if session_name is not None or not everywhere:
                row = await find_row(memory, session_name)
                asked = await memory.session(row.session_id, create=False)
                of = row.called
                waiting = [one for one in waiting if one.session_id == row.session_id]
            made = await make(asked, given)
            least = 0
            if made.token_budget.trimmed and not made.token_budget.used:
                least = await _least(lambda budget: make(asked, given | {"budget": budget}), budget)
            return made, of, least, waiting

    made, of, least, waiting = app.run(read())
    form = "json" if app.as_json else form
    if before is not None:
        _print_changes(app, made.since(before), form)
        return
    if target is not None and str(target) != "-":
        if target.is_dir():
            ending = "json" if form == "json" else "md"
            target = file_of(target, name, of, made.generated_at, ending)
        size = place(target, redacted(made.text(form)))
        mark = app.term.style("✓", "green", "bold")
        app.term.line(f"{mark} {target}: {size:,} bytes")
    elif form == "json":
        app.term.data(to_data(made))
    else:
        for line in made.text(form).splitlines():
            app.term.line(line)
    _note(app, made, least, waiting)


def _print_changes(app: App, changes: PackDiff, form: str) -> None:
    if form == "json":
        app.term.data(
            {
                which: [{"section": one.section, **_line(one.line)} for one in changed]
                for which, changed in (("added", changes.added), ("removed", changes.removed))
            }
        )
        return
    for line in changes.text().splitlines():
        app.term.line(line)
    if not (changes.added or changes.removed):
        app.term.note("nothing is different")


async def _least(make: Callable[[int], Awaitable[ContextPack]], empty: int) -> int:
    """The smallest budget whose pack holds something, above one whose pack is `empty`; 0 if none is
    found.
    """
    holds = max(2 * empty, _BUDGET_FIRST)
    while not (await make(holds)).token_budget.used:
        empty, holds = holds, 2 * holds
        if holds > _BUDGET_LAST:
            return 0
    while holds - empty > 1:
        middle = (empty + holds) // 2
        if (await make(middle)).token_budget.used:
            holds = middle
        else:
            empty = middle
    return holds


def _note(app: App, made: ContextPack, least: int, waiting: Sequence[ImportedSession]) -> None:
    tokens = made.token_budget
    left = f", {plural(made.left_out_total, 'item')} left out" if made.left_out_total else ""
    app.term.note(f"{tokens.used:,} of {tokens.target:,} tokens{left}")
    if waiting:
        sources = dict.fromkeys(one.source for one in waiting)
        approve = (app.command("import", "approve", "--in", one) for one in sources)
        commands = " and ".join(f"`{one}`" for one in approve)
        app.term.note(
            f"{plural(len(waiting), 'imported session')} left out until you approve: {commands}"
        )
    elif not tokens.used and not made.left_out_total:
        app.term.note(_EMPTY.get(made.pack_type, "there is nothing in memory to tell of"))
    if least:
        app.term.note(f"the budget is too small for anything: --budget {least} holds something")
    if made.fallback:
        app.term.note("nothing bears on these words: what was said last is shown instead")


def _line(line: Any) -> dict[str, Any]:
    return {"text": line.text, "cites": list(line.cites)}
