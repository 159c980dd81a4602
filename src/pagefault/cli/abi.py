"""`pagefault abi`."""

from __future__ import annotations

from typing import Any

import click

from pagefault.cli.app import App, Command, json_option, session_argument
from pagefault.cli.term import number


@click.command(cls=Command)
@session_argument
@json_option
def abi(app: App, session_name: str | None) -> None:
    """A session's window contents and free room, for programs.

    Without SESSION, the most recently used. JSON: {pages, faults_allowed, upgrade_budget_tokens,
    max_context_tokens, reserved_tokens, available_tokens, tool_schema_tokens_reserved,
    active_toolset_hash, modality_weights}; each page is {page_id, modality, page_type,
    compression_level, tokens, importance, provenance, can_evict, can_compress}.
    """
    found = app.run(_read(app, session_name))
    if app.as_json:
        app.term.data(found)
        return
    pages = found.pop("pages")
    weights = found.pop("modality_weights")
    told = ", ".join(f"{name} {weight}" for name, weight in weights.items())
    rows = [[name.replace("_", " "), number(value)] for name, value in found.items()]
    app.term.table(["term", "value"], [*rows, ["modality weights", told]])
    app.term.table(
        ["page", "type", "modality", "level", "tokens", "importance", "may leave"],
        [
            [
                page["page_id"],
                page["page_type"],
                page["modality"],
                str(page["compression_level"]),
                number(page["tokens"]),
                str(page["importance"]),
                "yes" if page["can_evict"] else "no",
            ]
            for page in pages
        ],
        right="level tokens importance",
    )


async def _read(app: App, name: str | None) -> dict[str, Any]:
    from pagefault.cli.app import find_row
    from pagefault.model.errors import BadInput

    async with app.reading() as memory:
        row = await find_row(memory, name)
        session = await memory.session(row.session_id, create=False)
        if await memory.proxied(session) is not None:
            raise BadInput(
                f"{row.called!r} is proxied: its client decides what the window "
                "holds, so nothing can be loaded into it",
                hint="`pagefault status` shows how large its requests are",
            )
        return session.abi().as_dict()
