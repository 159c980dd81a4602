"""`pagefault recall`: pages of a session, or of all, by various queries."""

from __future__ import annotations

from typing import Any

import click

from pagefault.cli.app import App, Group, complete_session, session_argument
from pagefault.cli.asking import (
    JSON,
    RELEVANCE,
    QuestionVerb,
    ask,
    asking_options,
    profile_option,
    search_words,
)


@click.group(cls=Group)
def recall() -> None:
    """Find pages: the latest, by topic, by task, by time, by words.

    A page's time is when it was said, or else when it was logged. Days, and times without a zone,
    are by this computer's clock.
    """


@recall.command(
    "recent",
    help=f"""List the latest pages, newest first.

    Without SESSION, from every session.

    {JSON}
    """,
)
@session_argument
@asking_options
def recent(app: App, /, session_name: str | None, **options: Any) -> None:
    _ask(
        app,
        session_name,
        lambda asked, wanted, limit, tokens: asked.recent(limit, wanted, tokens=tokens),
        options,
    )


@recall.command(
    "timeline",
    help=f"""List what was said from --since until --until, in order.

    Without SESSION, from every session.

    {JSON}
    """,
)
@session_argument
@asking_options
def timeline(app: App, /, session_name: str | None, **options: Any) -> None:
    _ask(
        app,
        session_name,
        lambda asked, wanted, limit, tokens: asked.timeline(
            wanted=wanted, limit=limit, tokens=tokens
        ),
        options,
    )


def _ask(
    app: App, session_name: str | None, question: QuestionVerb, options: dict[str, Any]
) -> None:
    """Query the session, or all if none is named."""
    ask(app, question, session_name=session_name, everywhere=session_name is None, **options)


def _named(
    _ctx: click.Context, _param: click.Parameter, words: tuple[str, ...]
) -> tuple[str | None, str]:
    """A session, if there are two arguments, and the query."""
    if len(words) > 2:
        raise click.UsageError("Give at most a session and one word; quote what has blanks.")
    return (words[0] if len(words) == 2 else None), words[-1]


@recall.command(
    "topic",
    help=f"""Find pages with TOPIC among their topics, most relevant first.

    Without SESSION, from every session.

    {JSON}
    """,
)
@click.argument("named", metavar="[SESSION] TOPIC", nargs=-1, required=True, callback=_named)
@asking_options
def topic(app: App, /, named: tuple[str | None, str], **options: Any) -> None:
    session_name, topic = named
    _ask(
        app,
        session_name,
        lambda asked, wanted, limit, tokens: asked.by_topic(topic, limit, wanted, tokens=tokens),
        options,
    )


@recall.command(
    "task",
    help=f"""Find pages that name TASK (#42 or 42, ABC-7), most relevant first.

    Without SESSION, from every session.

    {JSON}
    """,
)
@click.argument("named", metavar="[SESSION] TASK", nargs=-1, required=True, callback=_named)
@asking_options
def task(app: App, /, named: tuple[str | None, str], **options: Any) -> None:
    session_name, task = named
    _ask(
        app,
        session_name,
        lambda asked, wanted, limit, tokens: asked.by_task(task, limit, wanted, tokens=tokens),
        options,
    )


@recall.command(
    "search",
    help=f"""Find pages of SESSION that bear on some WORDS: up to three claims, then the best first.

    `pagefault search` searches every session.

    {RELEVANCE}

    {JSON}
    """,
)
@click.argument("session_name", metavar="SESSION", shell_complete=complete_session)
@click.argument("words", nargs=-1, required=True)
@profile_option
@asking_options
def search(app: App, /, session_name: str, words: tuple[str, ...], **options: Any) -> None:
    search_words(app, words, session_name=session_name, **options)
