"""`pagefault pages compress`."""

from __future__ import annotations

from typing import Any

import click

from pagefault.cli.app import App, Command, find_session, json_option, page_argument, session_option
from pagefault.cli.engines import compressor_of
from pagefault.cli.proxied import KEPT_SHORT


@click.command(cls=Command)
@page_argument()
@session_option
@click.option(
    "--level",
    type=click.IntRange(1, 2),
    default=1,
    show_default=True,
    help="1: reduced, with everything it says. 2: abstract, with the main points.",
)
@click.option(
    "--by",
    type=click.Choice(["rules", "model"]),
    help="Who writes an abstract: rules, which only quote, or the configured model.",
)
@json_option
def compress(app: App, page_id: str, session_name: str | None, level: int, by: str | None) -> None:
    """Let the next epoch keep a shorter form of a page. The page's own text does not change.

    A model's text is accepted if it is short enough and keeps names and numbers; else the rules'
    form is used. A form that exists already stays.

    JSON: {session, page_id, made (the page that will be shown in its place; itself, if nothing can
    be left out), is_new (whether it was made now), level, tokens, made_by (the model that wrote it;
    empty for rules), text, proxied}.
    """
    from pagefault.model.ids import NOTHING

    app.existing_directory()
    config = app.config(compress__by=by)
    compressor = compressor_of(config)

    async def write() -> dict[str, Any]:
        async with app.writing(config, compressor=compressor) as memory:
            session = await find_session(memory, session_name)
            made = await session.compress(page_id, level)
            return {
                "session": session.called,
                "page_id": page_id,
                "made": made.page_id,
                "is_new": made.page_id != page_id and made.row.seq == NOTHING,
                "level": made.derived.level if made.derived is not None else 0,
                "tokens": made.row.tokens,
                "made_by": made.derived.made_by if made.derived is not None else "",
                "text": made.text,
                "proxied": await memory.proxied(session) is not None,
            }

    told = app.run(write())
    if app.as_json:
        app.term.data(told)
        return
    app.term.line(told["text"])
    if told["proxied"]:
        app.term.note(KEPT_SHORT)
    if told["made"] == page_id:
        app.term.note(f"nothing changed: nothing can be left out of {page_id}")
        return
    before = "" if told["is_new"] else "made before; nothing changed: "
    what = f"level {told['level']} of {page_id}, {told['tokens']:,} tokens"
    whose = f", written by {told['made_by']}" if told["made_by"] else ""
    app.term.note(f"{before}{told['made']}: {what}{whose}")
