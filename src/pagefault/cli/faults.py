"""`pagefault faults`."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import click

from pagefault.cli.app import (
    App,
    Command,
    either,
    find_row,
    json_option,
    session_either,
    session_option,
)
from pagefault.cli.term import iso, plural

if TYPE_CHECKING:
    from pagefault.model.events import Event


@click.command(cls=Command)
@session_either
@session_option
@click.option("--forks", is_flag=True, help="Include the faults of this session's forks.")
@click.option(
    "--by",
    type=click.Choice(["reason", "level", "outcome", "turn"]),
    help="Show counts grouped by this, instead of a list.",
)
@json_option
def faults(
    app: App, session_named: str | None, session_name: str | None, forks: bool, by: str | None
) -> None:
    """List the page faults of a session, with their outcomes.

    Without SESSION, the last one used (forks and MCP notes excluded).

    JSON is a list of objects, oldest first: session, turn, page_id, level, reason, tokens, outcome
    (served, already_mapped or refused), code and why (of a refusal), faults_left, at. With --by, a
    list of {by, faults, share, served, already_mapped, refused, tokens}.
    """
    rows, forked, is_proxied = app.run(_read(app, either(session_named, session_name), forks=forks))
    if by is not None:
        _print_counts(app, rows, by)
        return
    if app.as_json:
        app.term.data(rows)
        return
    if rows:
        app.term.table(
            [
                *(["session"] if forks else []),
                "turn",
                "page",
                "level",
                "tokens",
                "reason",
                "outcome",
            ],
            [
                [
                    *([row["session"]] if forks else []),
                    *cells(row),
                ]
                for row in rows
            ],
            right="turn level tokens",
        )
    outcomes = Counter(row["outcome"].replace("_", " ") for row in rows)
    told = ", ".join(f"{count} {name}" for name, count in sorted(outcomes.items()))
    elsewhere = f"; {forked:,} more in its forks: --forks" if forked and not forks else ""
    app.term.note(f"{plural(len(rows), 'fault')}{f' ({told})' if told else ''}{elsewhere}")
    if is_proxied:
        app.term.note(
            "proxied: `pagefault status` shows whether the model may ask for pages, and what was "
            "quoted without its asking"
        )


def _print_counts(app: App, rows: list[dict[str, Any]], by: str) -> None:
    counts: dict[Any, dict[str, Any]] = {}
    for row in rows:
        empty = {"by": row[by], "faults": 0, "share": 0.0}
        empty |= {"served": 0, "already_mapped": 0, "refused": 0, "tokens": 0}
        told = counts.setdefault(row[by], empty)
        told["faults"] += 1
        told[row["outcome"]] += 1
        told["tokens"] += row["tokens"]
    for told in counts.values():
        told["share"] = round(told["faults"] / len(rows), 4)
    ordered = [counts[key] for key in sorted(counts)]
    if app.as_json:
        app.term.data(ordered)
        return
    if ordered:
        app.term.table(
            [by, "faults", "share", "served", "mapped", "refused", "tokens"],
            [
                [
                    str(told["by"]),
                    f"{told['faults']:,}",
                    f"{told['share']:.0%}",
                    f"{told['served']:,}",
                    f"{told['already_mapped']:,}",
                    f"{told['refused']:,}",
                    f"{told['tokens']:,}",
                ]
                for told in ordered
            ],
            right="faults share served mapped refused tokens",
        )
    app.term.note(plural(len(rows), "fault"))


async def _read(
    app: App, session_name: str | None, *, forks: bool
) -> tuple[list[dict[str, Any]], int, bool]:
    """The faults to show, the number of those in forks, which are not shown, and whether the
    session is proxied.
    """
    async with app.reading() as memory:
        asked = await find_row(memory, session_name)
        family = {asked.session}
        everyone = sorted(await memory.sessions(), key=lambda row: row.session)
        for row in everyone:
            if row.parent in family:
                family.add(row.session)
        told: list[dict[str, Any]] = []
        forked, is_proxied = 0, False
        for row in everyone:
            if row.session in family:
                session = await memory.session(row.session_id, create=False)
                events = await session.faults()
                if row.session == asked.session:
                    is_proxied = await memory.proxied(session) is not None
                if row.session == asked.session or forks:
                    told += [fault_object(row.called, event) for event in events]
                else:
                    forked += len(events)
        return told, forked, is_proxied


def fault_object(session: str, event: Event) -> dict[str, Any]:
    from pagefault.model.events import Faulted

    body = event.body
    assert isinstance(body, Faulted)
    served = "already_mapped" if body.already_mapped else "served"
    return {
        "session": session,
        "turn": event.turn,
        "page_id": body.page_id,
        "level": body.level,
        "reason": str(body.reason),
        "tokens": body.tokens,
        "outcome": "refused" if body.refusal else served,
        "code": body.refusal or None,
        "why": body.why,
        "faults_left": body.faults_left,
        "at": iso(event.at_ms),
    }


def cells(row: dict[str, Any]) -> list[str]:
    """A fault as a line of a table: turn, page, level, tokens, reason, outcome."""
    why = f": {row['why']}" if row["why"] else ""
    return [
        str(row["turn"]),
        row["page_id"],
        str(row["level"]),
        f"{row['tokens']:,}",
        row["reason"],
        row["outcome"].replace("_", " ") + why,
    ]
