"""`pagefault form`: ranges of turns become memory."""

from __future__ import annotations

from contextlib import AsyncExitStack
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from pagefault.cli.app import (
    App,
    Command,
    called,
    dry_run_with_help,
    find_session,
    json_option,
    session_argument,
)
from pagefault.cli.term import plural

if TYPE_CHECKING:
    from pagefault.service.turn.formation import Formed


@click.command(cls=Command)
@session_argument
@click.option(
    "--by",
    type=click.Choice(["model", "rules"]),
    default="model",
    show_default=True,
    help="Who forms memory: the configured model, which should be the one the session "
    "runs with, or rules, which only quote.",
)
@click.option(
    "--rest",
    is_flag=True,
    help="Treat the conversation as paused: form its last turns as well, and propose "
    "lines for core memory (`pagefault core show --proposed`) and lessons of finished work "
    "(`pagefault cards review`).",
)
@dry_run_with_help("Only show what would be asked.")
@json_option
def form(app: App, session_name: str | None, by: str, rest: bool) -> None:
    """Form memory from the turns of a session, by the model that lived them or by rules.

    Every closed range of about 2,000 tokens is formed once. The model gets the session's own
    request with one more message. What it proposes is kept if the pages that it cites say so: a
    summary, which an epoch shows some turns later, and claims, which are proposed until somebody
    states them (`pagefault claims`). Then all ranges are listed.

    JSON: {session, dry_run, formed (what this run did, or would do), ranges (all of them)}; each a
    list of {first, last (pages), pages, outcome (formed, nothing, given_up, begun, due), tries,
    former, made, is_active, dropped: {REASON: COUNT}, conflicts: [{page_id, stands, session_id}],
    tokens, input_tokens, output_tokens, cached_tokens}.
    """
    from pagefault.cli.engines import remote_engine

    app.existing_directory()
    config = app.config()

    async def read() -> dict[str, Any]:
        async with AsyncExitStack() as opened:
            engine = None
            if by == "model":
                engine = await opened.enter_async_context(remote_engine(config))
            opening = app.writing(config, dry_run=app.dry_run)
            memory = await opened.enter_async_context(opening)
            session = await find_session(memory, session_name)
            formed = await session.form(engine, rest=rest, dry_run=app.dry_run)
            return {
                "session": session.called,
                "dry_run": app.dry_run,
                "formed": [formed_object(one) for one in formed],
                "ranges": [formed_object(one) for one in await session.formations()],
            }

    told = app.run(read())
    if app.as_json:
        app.term.data(told)
        return
    if told["ranges"]:
        app.term.table(
            ["range", "pages", "outcome", "made", "dropped", "tokens"],
            [
                [
                    f"{one['first']}…{one['last']}",
                    f"{one['pages']:,}",
                    one["outcome"] + (", active" if one["is_active"] else ""),
                    ", ".join(one["made"]),
                    ", ".join(f"{count} {why}" for why, count in one["dropped"].items()),
                    f"{one['tokens']:,}",
                ]
                for one in told["ranges"]
            ],
            right="pages tokens",
        )
    for one in told["ranges"]:
        for conflict in one["conflicts"]:
            of = f" of session {conflict['session_id']}" if conflict["session_id"] else ""
            app.term.note(f"{conflict['page_id']} says otherwise than {conflict['stands']}{of}")
    count = plural(len(told["formed"]), "range")
    tokens = sum(one["tokens"] for one in told["formed"])
    asked = f", {tokens:,} tokens of requests" if tokens else ""
    app.term.note(
        f"{count} {'would be ' if app.dry_run else ''}formed of {called(told['session'])}{asked}"
    )
    if not told["ranges"] and not rest:
        app.term.note("no range is closed yet; --rest also forms the last turns")


def formed_object(one: Formed) -> dict[str, Any]:
    """A range as JSON."""
    return {
        "first": one.first,
        "last": one.last,
        "pages": one.pages,
        "outcome": one.outcome,
        "tries": one.tries,
        "former": one.former,
        "made": list(one.made),
        "is_active": one.is_active,
        "dropped": {each.why: each.count for each in one.dropped},
        "conflicts": [asdict(conflict) for conflict in one.conflicts],
        "tokens": one.tokens,
        "input_tokens": one.input_tokens,
        "output_tokens": one.output_tokens,
        "cached_tokens": one.cached_tokens,
    }
