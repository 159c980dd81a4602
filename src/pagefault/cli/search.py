"""`pagefault search`: pages of every session."""

from __future__ import annotations

from typing import Any

import click

from pagefault.cli.app import App, Command
from pagefault.cli.asking import (
    JSON,
    RELEVANCE,
    asking_options,
    in_option,
    profile_option,
    search_words,
)


@click.command(
    cls=Command,
    help=f"""Find pages in every session.

    Pages that bear on some WORDS, best first, each with its session; but an answer that cites a
    listed page, and its question, come after that page (in JSON, by score alone). `pagefault recall
    search` searches one session. A model's own search never leaves its session.

    {RELEVANCE}

    {JSON}
    """,
)
@click.argument("words", nargs=-1, required=True)
@in_option("Only pages imported from SOURCE: chatgpt, claude, claude-code, codex …")
@profile_option
@asking_options
def search(app: App, /, words: tuple[str, ...], **options: Any) -> None:
    search_words(app, words, everywhere=True, **options)
