"""`pagefault goal` and `pagefault checkpoint`."""

from __future__ import annotations

from typing import Any

import click

from pagefault.cli.app import App, Command, find_session, json_option, pass_app, session_option


@click.command(cls=Command)
@click.argument("text")
@session_option
@json_option
@pass_app
def goal(app: App, text: str, session_name: str | None, as_json: bool) -> None:
    """Set the goal that stays in a session's window.

    TEXT is a pinned page until the next goal takes its place; "" ends it.

    JSON: {session, goal (a page's id, or null)}.
    """
    app.existing_directory()

    async def write() -> dict[str, Any]:
        async with app.writing() as memory:
            session = await find_session(memory, session_name)
            page_id = await session.goal(text)
            return {"session": session.name or session.session_id, "goal": page_id}

    told = app.run(write())
    if as_json:
        app.term.data(told)
        return
    app.term.line(f"{told['goal']} is the goal" if told["goal"] else "no goal stands")


@click.command(cls=Command)
@click.argument("session")
@click.argument("name")
@json_option
@pass_app
def checkpoint(app: App, session: str, name: str, as_json: bool) -> None:
    """Name the present point of a session, with everything written.

    JSON: {session, name, seq (of the record that says so)}.
    """
    app.existing_directory()

    async def write() -> dict[str, Any]:
        async with app.writing() as memory:
            found = await find_session(memory, session)
            seq = await found.checkpoint(name)
            return {"session": found.name or found.session_id, "name": name, "seq": seq}

    told = app.run(write())
    if as_json:
        app.term.data(told)
        return
    app.term.line(f"{told['name']!r} is record {told['seq']:,} of {told['session']!r}")
