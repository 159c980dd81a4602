"""`pagefault chat`: one message from a pipe, or a conversation at a terminal."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import click

from pagefault.cli.app import App, Command, complete_session, json_option
from pagefault.cli.term import named, plural
from pagefault.cli.wording import LAYOUT, MODE, WINDOW

if TYPE_CHECKING:
    from pagefault.engine.api import Engine
    from pagefault.service.config import Config
    from pagefault.service.memory import Memory
    from pagefault.service.session import Session
    from pagefault.service.turn.drive import Answer

SESSION = "chat"


@click.command(cls=Command)
@click.argument(
    "session_name",
    metavar="[SESSION]",
    required=False,
    default=SESSION,
    shell_complete=complete_session,
)
@click.option(
    "--engine",
    "engine_name",
    type=click.Choice(["remote", "scripted"]),
    default="remote",
    show_default=True,
    help="remote: the configured endpoint. scripted: no model; works offline and quotes "
    "what it finds.",
)
@click.option("--engine-model", metavar="NAME", help="Model to use instead of the configured one.")
@click.option(
    "--engine-base-url",
    metavar="URL",
    help="Base URL of the endpoint to use instead of the configured one.",
)
@click.option("--window", type=click.IntRange(min=1), metavar="TOKENS", help=WINDOW)
@click.option("--mode", type=click.Choice(["passive", "active", "strict"]), help=MODE)
@click.option("--layout", type=click.Choice(["stable", "developer"]), help=LAYOUT)
@click.option("--system", metavar="TEXT", help="System prompt of this session.")
@json_option
def chat(
    app: App,
    session_name: str,
    engine_name: str,
    engine_model: str | None,
    engine_base_url: str | None,
    window: int | None,
    mode: str | None,
    layout: str | None,
    system: str | None,
) -> None:
    """Chat with a model that remembers. SESSION is created if missing; the default is "chat".

    At a terminal, /help lists what else you can type. Otherwise it reads one message from stdin,
    answers it and exits. JSON: {session, page_id, text, citations, citations_invalid, faults,
    searches, request_tokens, usage, complete}.
    """
    config = app.config(
        window_tokens=window,
        mode=mode,
        layout=layout,
        engine__model=engine_model,
        engine__base_url=engine_base_url,
    )
    setting = {"window": window, "mode": mode, "layout": layout, "system": system}
    talks = app.term.is_interactive and not app.as_json
    message = "" if talks else _message()
    with asyncio.Runner() as runner:
        opening = _open(app, config, session_name, engine_name, setting)
        memory, session, engine = runner.run(opening.__aenter__())
        try:
            if talks:
                from pagefault.cli.conversation import Chat

                Chat(app.term, runner, memory, session, engine).talk()
            else:
                _once(app, runner, session, engine, message)
        finally:
            runner.run(opening.__aexit__(None, None, None))


@asynccontextmanager
async def _open(
    app: App, config: Config, name: str, engine_name: str, setting: dict[str, Any]
) -> AsyncIterator[tuple[Memory, Session, Engine]]:
    if engine_name == "scripted":
        from pagefault.engine.scripted import ScriptedEngine

        async with app.writing(config) as memory:
            yield (
                memory,
                await _session(app, memory, name, setting),
                ScriptedEngine(),
            )
        return
    from pagefault.cli.engines import remote_engine

    async with remote_engine(config) as engine, app.writing(config) as memory:
        yield memory, await _session(app, memory, name, setting), engine


async def _session(app: App, memory: Memory, name: str, setting: dict[str, Any]) -> Session:
    """The session with that name; a new one is announced."""
    from pagefault.service.arguments import check_name
    from pagefault.service.lookup.names import short_names

    rows = await memory.sessions()
    if not any(name in (row.name, row.session_id) for row in rows):
        check_name(name)
        others = [row.name for row in rows if name in short_names(row.name)]
        besides = f"; of a proxy there is {', '.join(map(named, others))}" if others else ""
        if not app.as_json:
            app.term.note(f"a new session: {named(name)}{besides}")
    return await memory.session(name, **setting)


def _message() -> str:
    from pagefault.model.defaults import TEXT_BYTES
    from pagefault.model.errors import BadInput

    if sys.stdin.isatty():
        raise BadInput(
            "no message was given",
            hint="echo 'your question' | pagefault chat, or do not redirect stdout",
        )
    try:
        data = sys.stdin.buffer.read(TEXT_BYTES + 1)  # and no more, however much there is
        if len(data) > TEXT_BYTES:
            raise BadInput(
                f"the message is larger than {TEXT_BYTES:,} bytes",
                hint="send a part of it, or save it to a file for `pagefault replay`",
            )
        text = data.decode().strip()
    except UnicodeDecodeError:
        raise BadInput("the message is not UTF-8", hint="convert it first") from None
    if not text:
        raise BadInput("the message is empty", hint="echo 'your question' | pagefault chat")
    return text


def _once(app: App, runner: asyncio.Runner, session: Session, engine: Engine, message: str) -> None:
    if app.as_json:
        answer = runner.run(ask(session, engine, message, None))
        app.term.data(_object(session, answer))
        return
    with app.term.stream() as show:
        answer = runner.run(ask(session, engine, message, show))
    app.term.line()
    tell(app.term.note, answer)


async def ask(
    session: Session, engine: Engine, message: str, on_text: Callable[[str], None] | None
) -> Answer:
    """Say something, unless it is empty, and let the engine answer."""
    if message:
        await session.user(message)
    return await session.run(engine, on_text=on_text)


def tell(note: Callable[[str], None], answer: Answer) -> None:
    """Print what the answer took, in a line."""
    told = [plural(answer.request_tokens, "token")]
    if answer.searches:
        told.append(plural(answer.searches, "search", "searches"))
    if answer.faults:
        told.append(plural(answer.faults, "fault"))
    if answer.faults_refused:
        told.append(f"{answer.faults_refused} refused")
    if answer.citations:
        told.append(f"cites {', '.join(answer.citations)}")
    note(" · ".join(told))
    if answer.citations_invalid:
        note(f"invalid citations, of pages not in view: {', '.join(answer.citations_invalid)}")
    if not answer.complete:
        note("the answer was not finished within its steps; ask again")


def _object(session: Session, answer: Answer) -> dict[str, Any]:
    usage = answer.usage
    return {
        "session": session.called,
        "page_id": answer.page_id,
        "text": answer.text,
        "citations": list(answer.citations),
        "citations_invalid": list(answer.citations_invalid),
        "requests": answer.requests,
        "faults": answer.faults,
        "faults_refused": answer.faults_refused,
        "searches": answer.searches,
        "request_tokens": answer.request_tokens,
        "usage": None
        if usage is None
        else {
            "input_tokens": usage.input_tokens,
            "output_tokens": usage.output_tokens,
            "cached_tokens": usage.cached_tokens,
        },
        "complete": answer.complete,
    }
