"""`pagefault report`: a session as a page of HTML."""

from __future__ import annotations

import shlex
from datetime import datetime
from pathlib import Path

import click

from pagefault import __version__
from pagefault.cli.app import App, Command, find_session, json_option, session_argument
from pagefault.cli.term import plural, printable, redacted
from pagefault.views.files import place


@click.command(cls=Command)
@session_argument
@click.option(
    "-o",
    "--output",
    "target",
    type=click.Path(path_type=Path, dir_okay=False, allow_dash=True),
    default="report.html",
    show_default=True,
    help="File to write, replacing what is there. - is stdout.",
)
@json_option
def report(app: App, session_name: str | None, target: Path) -> None:
    """Write a session as one page of HTML: what each request held, what came back, what it cost.

    The page needs no network and no script, and can be printed. It quotes the conversation: what
    counts as a secret is removed first, and a later `pagefault forget` does not reach into it.
    Without SESSION, the last one used (forks and MCP notes excluded).

    JSON: the same as values, without a file: {name, session_id, turns, window_tokens, map:
    {messages, requests, columns, rows}, answers, claims, bill, concerns, …}.
    """
    from pagefault.views.picture import Picture, picture_of, to_dict

    async def read() -> Picture:
        async with app.reading() as memory:
            session = await find_session(memory, session_name)
            return await picture_of(memory, session, clean=lambda text: printable(redacted(text)))

    picture = app.run(read())
    if app.as_json:
        app.term.data(to_dict(picture))
        return
    from pagefault.views.report import render_report

    words = ["pagefault", "report", picture.name, "-o", target.name or "-"]
    page = render_report(
        picture,
        made_at=datetime.now().astimezone(),
        command=shlex.join(words),
        version=__version__,
    )
    if str(target) == "-":
        app.term.exact(page)
        return
    size = place(target, page)
    app.term.line(
        f"{app.term.style('✓', 'green', 'bold')} {target}: "
        f"{plural(picture.map.messages, 'message')}, {plural(picture.map.requests, 'request')}, "
        f"{size:,} bytes"
    )
