"""`pagefault embed`: vectors for the pages that have none."""

from __future__ import annotations

from dataclasses import asdict

import click

from pagefault.cli.app import App, Command, json_option
from pagefault.cli.term import plural


@click.command(cls=Command)
@click.option("--embedder", metavar="NAME", help="Embedder to use instead of the configured one.")
@click.option(
    "--prune", is_flag=True, help="Afterwards, delete the vectors of all other embedders."
)
@json_option
def embed(app: App, embedder: str | None, prune: bool) -> None:
    """Compute the missing vectors of pages, for search by meaning.

    A memory in use does this by itself, after each append; this command catches up at once. The
    embedder is the setting `embedder`: onnx:DIRECTORY, model2vec:DIRECTORY, openai:MODEL,
    openai:MODEL@URL or python:MODULE:NAME. Vectors are derived: the log stays as it is.

    JSON: {made, embedder, embedded, missing, failure, hint}.
    """
    config = app.config(embedder=embedder)
    path = app.existing_directory()

    async def make() -> tuple[int, dict[str, object]]:
        async with app.writing(config) as memory:
            with app.term.progress() as progress:
                made = await memory.embed(
                    lambda done, total: progress("embedding pages", done, total), prune=prune
                )
            now = await memory.embedding()
            assert now is not None
            return made, asdict(now)

    made, now = app.run(make())
    if app.as_json:
        app.term.data({"made": made, **now})
        return
    app.term.line(f"{plural(made, 'page')} embedded, {now['embedded']:,} in all, at {path}")
    app.term.note(f"by {now['embedder']}")
