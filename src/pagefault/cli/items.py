"""`pagefault items`: a conversation by kind, and what a client of the proxy sent, as it sent it."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from pagefault.cli.app import App, Command, called, json_option, session_argument
from pagefault.cli.term import plural

if TYPE_CHECKING:
    from pagefault.service.inspection.received import ConversationItem
    from pagefault.service.session import Session


@click.command(cls=Command)
@session_argument
@click.option(
    "--message",
    metavar="SEQ",
    type=click.IntRange(min=1),
    help="Only this message of the proxied client, as JSON, as it was sent.",
)
@json_option
def items(app: App, session_name: str | None, message: int | None) -> None:
    """List a conversation by kind, and show what a proxy's client sent, as it sent it.

    Without SESSION, of the last one used (forks and MCP notes excluded). Kinds are message, call,
    result, reasoning, media and opaque (which only its provider can read).

    Items are in order. `message_seq` is the record of the log that has the client's own JSON of the
    message, 0 if there is none.

    JSON: {session, items: [{kind, turn, role, page_ids, message_seq}]}; with --message {session,
    message_seq, json}, `json` being the message itself.
    """

    async def read(session: Session) -> tuple[str, list[ConversationItem], str]:
        name = session.called
        if message is not None:
            return name, [], await session.client_json(message)
        return name, await session.items(), ""

    name, found, sent = app.read(session_name, read)
    if message is not None:
        value = json.loads(sent)
        told = {"session": name, "message_seq": message, "json": value}
        app.term.data(told if app.as_json else value)
        return
    if app.as_json:
        app.term.data({"session": name, "items": [asdict(one) for one in found]})
        return
    app.term.table(
        ["turn", "kind", "who", "pages", "message"],
        [
            [
                str(one.turn),
                one.kind,
                one.role or "",
                _span(one.page_ids),
                str(one.message_seq) if one.message_seq else "",
            ]
            for one in found
        ],
        right="turn message",
    )
    kept = len({one.message_seq for one in found if one.message_seq})
    app.term.note(
        f"{plural(len(found), 'item')} in {called(name)}; {plural(kept, 'message')} of a client"
    )


def _span(page_ids: tuple[str, ...]) -> str:
    return " to ".join(dict.fromkeys([page_ids[0], page_ids[-1]])) if page_ids else ""
