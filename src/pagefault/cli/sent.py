"""`pagefault sent`: a past request, as the model read it."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from pagefault.cli.app import App, Command, json_option, session_argument
from pagefault.cli.term import iso, plural

if TYPE_CHECKING:
    from pagefault.service.inspection.timetravel import Sent
    from pagefault.service.session import Session


@click.command(cls=Command)
@session_argument
@click.argument("turn", metavar="[TURN]", type=click.IntRange(min=0), required=False)
@click.option(
    "--request",
    "number",
    metavar="N",
    type=click.IntRange(min=0),
    help="Number of the request, as in `pagefault ledger`.",
)
@json_option
def sent(app: App, session_name: str | None, turn: int | None, number: int | None) -> None:
    """Show a past request, byte for byte as it was packed: the last of a turn, or by number.

    Without SESSION, of the last one used (forks and MCP notes excluded).

    If part of it was forgotten since, it says so and shows the rest. A proxied client's requests
    are its own, and are not kept.

    JSON: {session, turn, request, seq, at, tokens, window_tokens, is_exact, missing, forgotten,
    messages: [{role, content, tool_calls: [{call_id, name, arguments}], call_id}], tail, tools};
    `tail` follows the newest message, `forgotten` are the records that are gone.
    """
    if turn is None and number is None and session_name and session_name.isdecimal():
        turn, session_name = int(session_name), None  # a TURN alone, of the session used last
    if (turn is None) == (number is None):
        raise click.UsageError("Name a TURN, or give --request N.")

    async def read(session: Session) -> tuple[str, Sent]:
        return session.called, await session.sent(turn, request=number)

    name, told = app.read(session_name, read)
    request = told.request
    if app.as_json:
        app.term.data(
            {
                "session": name,
                "turn": told.turn,
                "request": told.number,
                "seq": told.seq,
                "at": iso(told.at_ms),
                "tokens": request.tokens,
                "window_tokens": request.window_tokens,
                "is_exact": told.is_exact,
                "missing": list(told.missing),
                "forgotten": list(told.forgotten),
                "messages": [asdict(message) for message in request.messages],
                "tail": request.tail,
                "tools": [asdict(tool) for tool in request.tools],
            }
        )
    else:
        for message in request.messages:
            app.term.line(f"[{message.role}{message.call_id and f' {message.call_id}'}]")
            if message.content:
                app.term.text(message.content, indent="  ")
            for call in message.tool_calls:
                app.term.line(f"  -> {call.name}({call.arguments}) {call.call_id}")
        if request.tail:
            app.term.text(request.tail, indent="  ")
    for one in told.missing:
        app.term.note(f"not as it was: {one}")
    app.term.note(
        f"request {told.number} of turn {told.turn} (seq {told.seq}): "
        f"{plural(len(request.messages), 'message')}, {plural(len(request.tools), 'tool')}, "
        f"{request.tokens:,} of {request.window_tokens:,} tokens"
    )
