"""`pagefault models`: the catalogue, and the prices of your own engine."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from pagefault.cli.app import App, WithDefault, json_option
from pagefault.cli.term import iso, plural

if TYPE_CHECKING:
    from pagefault.model.prices import Measured


@click.group(cls=WithDefault, default="ls")
def models() -> None:
    """Show the windows and cache prices of models, as known offline.

    `pagefault models [NAMES]` lists them; `pagefault models calibrate` times an engine of yours.
    """


@models.command("ls")
@click.argument("names", nargs=-1)
@json_option
def ls(app: App, names: tuple[str, ...]) -> None:
    """Show the windows and cache prices of models, as known offline.

    NAMES are models, as an API calls them; without any, all that are known. An unknown one gets
    cautious assumptions, and a note says so. Prices are per token, in uncached input tokens.

    JSON: {as_of, models: [{name, provider, is_known, window_tokens, reserve_tokens, room_tokens,
    tokenizer, factor, note, prices: {name, as_of, read, write, output, ttl_s, min_tokens, quantum,
    takes_marks, cliff_tokens, cliff_factor, whole_units}}]}
    """
    from pagefault.model.catalogue import AS_OF, CATALOGUE, Model, find_model

    chosen = [find_model(name) for name in names] or list(CATALOGUE)

    def told(model: Model) -> dict[str, Any]:
        return asdict(model) | {"is_known": model.is_known, "room_tokens": model.room_tokens}

    if app.as_json:
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
        spare=("cliff", "minimum", "lifetime", "reserve"),
    )
    for model in chosen:
        if not model.is_known:
            app.term.note(f"{model.name}: {model.note}")
    app.term.note(f"{plural(len(chosen), 'model')}, as of {AS_OF}; --json has notes and the rest")


@models.command("calibrate")
@json_option
def calibrate(app: App) -> None:
    """Time the configured engine and print its price list: for one that is paid in seconds.

    Sends five prompts of 500 to 4,000 random words, and times prefill and decoding. The unit is the
    time to prefill one token; keeping one in the prefix costs what it adds to decoding an answer.
    Run it while the engine is idle, and not with a provider that bills.

    JSON: {prices (the value for `prices`), read, write, output, calls: [{prompt_tokens,
    prefilled_tokens, prefill_s, decoded_tokens, decode_s}]}.
    """
    from pagefault.cli.engines import remote_engine
    from pagefault.lab.calibration import timed_calls
    from pagefault.model.clock import SystemClock
    from pagefault.model.prices import calibrate as price_list

    config, clock = app.config(), SystemClock()
    engine = remote_engine(config)

    async def measure() -> list[Measured]:
        try:
            with app.term.progress() as progress:
                return await timed_calls(
                    engine,
                    seed=clock.now_ms(),  # new words each time: the engine has a cache
                    now_s=clock.monotonic_s,
                    told=lambda done, total: progress("asking the engine", done, total),
                )
        finally:
            await engine.aclose()

    calls = app.run(measure())
    prices = price_list(calls, name=config.engine.model, as_of=iso(clock.now_ms())[:7])
    setting = f"{prices.read:.3g}/{prices.write:g}/inf"
    if app.as_json:
        told = {"prices": setting, "read": prices.read, "write": prices.write}
        app.term.data(told | {"output": prices.output, "calls": [asdict(one) for one in calls]})
        return
    app.term.table(
        ["prompt", "prefill", "answer", "decoding"],
        [
            [
                f"{one.prompt_tokens:,} tokens",
                f"{one.prefill_s:.2f} s",
                f"{one.decoded_tokens + 1:,} tokens",
                f"{one.decode_s:.2f} s",
            ]
            for one in calls
        ],
        right="prompt prefill answer decoding",
    )
    app.term.line(f'prices = "{setting}"')
    app.term.note(
        f"a generated token costs {prices.output:.3g} prefilled ones; the line goes into a config "
        "file, or what it quotes into PAGEFAULT_PRICES"
    )


def _lifetime(seconds: float | None) -> str:
    if seconds is None:
        return "–"
    if seconds < 3_600:
        return f"{seconds / 60:g} min"
    return f"{seconds / 3_600:g} h"
