"""`pagefault mode`: what memory may do with conversations."""

from __future__ import annotations

from typing import Any

import click

from pagefault.cli.app import App, Command, find_row, json_option, names_of
from pagefault.cli.wording import ONLY_SESSION
from pagefault.model.kinds import ControlMode


@click.command(cls=Command)
@click.argument("mode", required=False, type=click.Choice([str(mode) for mode in ControlMode]))
@click.option("--session", "session_name", metavar="NAME", help=ONLY_SESSION)
@json_option
def mode(app: App, mode: str | None, session_name: str | None) -> None:
    """Set what memory keeps of conversations and brings back; without MODE, show it.

    \b
    assist        keep what is said, and bring back what was kept
    capture_only  keep it, and bring nothing into requests
    paused        bring back what was kept, and write nothing more
    incognito     likewise, for a conversation that leaves nothing behind
    off           neither

    Without --session it applies to every session, including later ones, until they are given
    another: a running `serve` follows with its next request, and a program with an open session
    with its next verb. What is said while nothing is kept is gone when the process that heard it
    ends.

    JSON: {mode, sessions: [{session, session_id, mode}]}.
    """
    if mode is None:
        app.existing_directory()

    async def work() -> dict[str, Any]:
        async with app.reading() if mode is None else app.writing() as memory:
            only = (await find_row(memory, session_name)).session_id if session_name else ""
            if mode is not None:
                await memory.set_control(mode, session=only)
            names = await names_of(memory, briefly=not app.as_json)
            return {
                "mode": await memory.control(),
                "sessions": [
                    {"session": names[one], "session_id": one, "mode": control}
                    for one, control in (await memory.controls()).items()
                    if only in ("", one)
                ],
            }

    told = app.run(work())
    if app.as_json:
        app.term.data(told)
        return
    app.term.line(f"new sessions: {told['mode']}")
    if told["sessions"]:
        rows = [[one["session"], one["mode"]] for one in told["sessions"]]
        app.term.table(["session", "mode"], rows)
