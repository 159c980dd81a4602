"""`pagefault schema`."""

from __future__ import annotations

import click

from pagefault.cli.app import App, Command, json_option


@click.command(cls=Command)
@json_option
def schema(app: App) -> None:
    """Print the JSON Schema of a log record.

    Each line of a file under log/ is one record. The schema is JSON with or without --json.
    """
    from pagefault.store.schema import record_schema

    app.term.data(record_schema())
