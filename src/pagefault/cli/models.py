"""`pagefault models`."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import click

from pagefault.cli.app import App, Command, json_option, pass_app
from pagefault.cli.term import plural


@click.command(cls=Command)
@click.argument("names", nargs=-1)
@json_option
@pass_app
def models(app: App, names: tuple[str, ...], as_json: bool) -> None:
    """Windows and cache prices of models, as far as they are known offline.

    NAMES are models, as an API calls them; without any, all that are known. One that is not known
    gets cautious assumptions, and a note says so. Prices are per token, in uncached input tokens.

    JSON: {as_of, models: [{name, provider, is_known, window_tokens, reserve_tokens, room_tokens,
    tokenizer, factor, note, prices: {name, as_of, read, write, output, ttl_s, min_tokens, quantum,
    takes_marks, cliff_tokens, cliff_factor, whole_units}}]}
    """
    from pagefault.model.catalogue import AS_OF, CATALOGUE, Model, find_model

    chosen = [find_model(name) for name in names] or list(CATALOGUE)

    def told(model: Model) -> dict[str, Any]:
        return asdict(model) | {"is_known": model.is_known, "room_tokens": model.room_tokens}

    if as_json:
        app.term.data({"as_of": AS_OF, "models": [told(model) for model in chosen]})
        return
    app.term.table(
        ["model", "window", "reserve", "read", "write", "lifetime", "minimum", "cliff"],
        [
            [
                model.name,
                f"{model.window_tokens:,}",
                f"{model.reserve_tokens:,}",
                f"{model.prices.read:g}",
                f"{model.prices.write:g}",
                _lifetime(model.prices.ttl_s),
                f"{model.prices.min_tokens:,}",
                "" if model.prices.cliff_tokens is None else f"{model.prices.cliff_tokens:,}",
            ]
            for model in chosen
        ],
        right="window reserve read write lifetime minimum cliff",
    )
    for model in chosen:
        if not model.is_known:
            app.term.note(f"{model.name}: {model.note}")
    app.term.note(f"{plural(len(chosen), 'model')}, as of {AS_OF}; --json has notes and the rest")


def _lifetime(seconds: float | None) -> str:
    if seconds is None:
        return "–"
    if seconds < 3_600:
        return f"{seconds / 60:g} min"
    return f"{seconds / 3_600:g} h"
