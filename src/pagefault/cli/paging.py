"""`pagefault goal`, `undo`, `redo`, `checkpoint` and `pagefault fork`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from pagefault.cli.app import (
    App,
    Command,
    called,
    complete_session,
    dry_run_option,
    find_row,
    find_session,
    json_option,
)
from pagefault.cli.moments import WHEN, time_of
from pagefault.cli.proxied import QUOTED_SOON
from pagefault.cli.term import iso, local, plural

if TYPE_CHECKING:
    from pagefault.service.memory import Memory
    from pagefault.service.session import Session


@click.command(cls=Command)
@click.argument("session", required=False, shell_complete=complete_session)
@click.argument("text", required=False)
@click.option("--clear", is_flag=True, help="Clear the goal.")
@json_option
def goal(app: App, session: str | None, text: str | None, clear: bool) -> None:
    """Set the goal that stays in a session's window; without TEXT, show it.

    Without SESSION, that of the one used last (forks and MCP notes excluded); a TEXT of several
    words, which names no session, may stand alone. It is a pinned page until the next goal replaces
    it, or --clear ends it.

    JSON: {session, goal (a page's id, or null), text (of that page, or null), proxied (then it is
    quoted with the next message, unless the client's request shows it)}.
    """
    from pagefault.model.errors import SessionNotFound

    if clear and text is not None:
        raise click.UsageError("Either TEXT or --clear.")
    if text is not None:
        _check_says_something(text)
    app.existing_directory()
    if session is not None and text is None and not clear and len(session.split()) > 1:
        # A single word may be a mistyped name: showing a goal must not set one.
        session, text = app.run(_named_or_text(app, session))

    async def show() -> dict[str, Any]:
        async with app.reading() as memory:
            return await _goal_of(memory, await find_session(memory, session))

    async def write() -> dict[str, Any]:
        async with app.writing() as memory:
            found = await find_session(memory, session)
            await found.goal("" if text is None else text)
            return await _goal_of(memory, found)

    try:
        told = app.run(show() if text is None and not clear else write())
    except SessionNotFound as missing:
        if session is not None and text is None and not clear:
            missing.hint = f"{missing.hint}; a goal of one word needs its session before it"
        raise
    if app.as_json:
        app.term.data(told)
    elif not told["goal"]:
        app.term.line("no goal is set")
    elif text is None:
        app.term.text(told["text"])
        app.term.note(f"{told['goal']} of {called(told['session'])}")
    else:
        app.term.line(f"{told['goal']} is the goal of {called(told['session'])}")
    if told["proxied"] and text is not None and not app.as_json:
        app.term.note(QUOTED_SOON)


async def _named_or_text(app: App, words: str) -> tuple[str | None, str | None]:
    """Read a lone argument as (session, text): the name of a session, or else the text."""
    from pagefault.model.errors import SessionNotFound

    async with app.reading() as memory:
        try:
            return (await find_row(memory, words)).session_id, None
        except SessionNotFound:
            return None, words


def _check_says_something(text: str) -> None:
    from pagefault.model.errors import BadInput

    if not text.strip():
        raise BadInput(
            "the goal is blank", hint="--clear removes the goal; without TEXT the goal is shown"
        )


async def _goal_of(memory: Memory, session: Session) -> dict[str, Any]:
    page_id = (await session.status()).auto_pins.goal
    return {
        "session": session.called,
        "goal": page_id or None,
        "text": (await session.page(page_id)).text if page_id else None,
        "proxied": await memory.proxied(session) is not None,
    }


@click.command(cls=Command)
@click.argument("session", required=False, shell_complete=complete_session)
@dry_run_option
@json_option
def undo(app: App, session: str | None) -> None:
    """Undo the newest pin, unpin or goal, the claims of a message, or a ruling on one.

    Without SESSION, in the last one used (forks and MCP notes excluded).

    What it replaced stands again, unless it was forgotten or edited since. Repeated, it undoes the
    one before; `pagefault redo` restores it. Nothing that was said changes.

    JSON: {session, undone (pin, unpin, goal, claims or ruling), page_ids, standing (the pages that
    stand or are pinned again because of it: what comes back is a new page), proxied, dry_run}.
    """
    _undo(app, session, "undone")


@click.command(cls=Command)
@click.argument("session", required=False, shell_complete=complete_session)
@dry_run_option
@json_option
def redo(app: App, session: str | None) -> None:
    """Redo what `undo` undid last, unless something was pinned, set or claimed since.

    JSON: as of `undo`, with `redone` for `undone`.
    """
    _undo(app, session, "redone")


def _undo(app: App, session: str | None, how: str) -> None:
    app.existing_directory()

    async def write() -> dict[str, Any]:
        async with app.writing(dry_run=app.dry_run) as memory:
            found = await find_session(memory, session)
            done = await (found.undo if how == "undone" else found.redo)(dry_run=app.dry_run)
            return {
                "session": found.called,
                how: done.what,
                "page_ids": list(done.page_ids),
                "standing": list(done.standing),
                "dry_run": app.dry_run,
                "proxied": await memory.proxied(found) is not None,
            }

    told = app.run(write())
    if app.as_json:
        app.term.data(told)
        return
    head = f"would be {how}" if app.dry_run else how
    app.term.line(f"{head}: {told[how]} {', '.join(told['page_ids'])} ({told['session']})")
    if told["standing"]:
        app.term.note(f"standing because of it: {', '.join(told['standing'])}")
    if told["proxied"] and told[how] != "claims" and told["standing"] and not app.dry_run:
        app.term.note(QUOTED_SOON)


@click.command(cls=Command)
@click.argument("session", shell_complete=complete_session)
@click.argument("name", required=False)
@json_option
def checkpoint(app: App, session: str, name: str | None) -> None:
    """Name the current point of a session; without NAME, list the names.

    Everything written so far is flushed first. `pagefault at SESSION checkpoint:NAME` shows the
    window at that point; `diff` takes it too.

    JSON: {session, name, seq (of its record)}; without NAME, {session, checkpoints: [{name, seq,
    turn, at, pages, epoch}]}.
    """
    app.existing_directory()
    if name is None:
        _list_checkpoints(app, session)
        return

    async def write(session: Session) -> dict[str, Any]:
        seq = await session.checkpoint(name)
        return {"session": session.called, "name": name, "seq": seq}

    told = app.write(session, write)
    if app.as_json:
        app.term.data(told)
        return
    app.term.line(f"{told['name']!r} is record {told['seq']:,} of {called(told['session'])}")


@click.command(
    cls=Command,
    help=f"""Fork a session, from here or from a moment in the past.

    The fork sees what was said by then, and has its own pages from there on; SESSION is unchanged.

    {WHEN}

    JSON: {{session, session_id, fork_of, pages}}; `fork_of` is the id of SESSION.
    """,
)
@click.argument("session", shell_complete=complete_session)
@click.argument("name", required=False, default="")
@click.option(
    "--at",
    "when",
    metavar="WHEN",
    help="Point to fork from: a turn, seq:345, checkpoint:NAME or a time. Default: now.",
)
@json_option
def fork(app: App, session: str, name: str, when: str | None) -> None:
    async def write(session: Session) -> dict[str, Any]:
        made = await session.fork(name, **(time_of(when) if when else {}))
        return {
            "session": made.name,
            "session_id": made.session_id,
            "fork_of": session.session_id,
            "pages": (await made.status()).pages,
        }

    told = app.write(session, write)
    if app.as_json:
        app.term.data(told)
        return
    made = called(told["session"]) if told["session"] else "a session without a name"
    app.term.line(f"{made}, {told['session_id']}: {plural(told['pages'], 'page')}")


def _list_checkpoints(app: App, session: str) -> None:
    from pagefault.service.inspection.checkpoints import Checkpoint

    async def read(session: Session) -> tuple[str, list[Checkpoint]]:
        return session.called, await session.checkpoints()

    name, made = app.read(session, read)
    if app.as_json:
        told = [
            {
                "name": one.name,
                "seq": one.seq,
                "turn": one.turn,
                "at": iso(one.at_ms),
                "pages": one.pages,
                "epoch": one.epoch,
            }
            for one in made
        ]
        app.term.data({"session": name, "checkpoints": told})
        return
    if made:
        app.term.table(
            ["name", "seq", "turn", "pages", "epoch", "made"],
            [
                [
                    one.name,
                    f"{one.seq:,}",
                    str(one.turn),
                    f"{one.pages:,}",
                    str(one.epoch),
                    local(one.at_ms),
                ]
                for one in made
            ],
            right="seq turn pages epoch",
        )
    app.term.note(f"{plural(len(made), 'checkpoint')} of {called(name)}")
