"""`pagefault bench formation`."""

from __future__ import annotations

from contextlib import AsyncExitStack
from dataclasses import replace
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any

import click

from pagefault.cli.app import App, Command, json_option, number_option
from pagefault.cli.wording import WINDOW


@click.command("formation", cls=Command)
@click.option(
    "--data",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Conversation to form memory from. Default: the one of `pagefault demo`.",
)
@click.option(
    "--format",
    "format_",
    type=click.Choice(["jsonl", "openai", "locomo", "turns"]),
    default="jsonl",
    show_default=True,
    help="Format of the --data file.",
)
@click.option(
    "--prices-of",
    default="claude-opus-5",
    show_default=True,
    help="Model whose price list applies.",
)
@number_option("--window", 32_000, WINDOW, least=4_000, metavar="TOKENS")
@click.option(
    "--engine",
    "asks",
    is_flag=True,
    help="Ask the configured endpoint. Without --engine, a scripted proposer answers.",
)
@click.option(
    "--other-model", metavar="NAME", help="Also ask this model, showing it only the range."
)
@click.option(
    "--other-base-url",
    metavar="URL",
    help="Endpoint of --other-model. Default: the configured one.",
)
@json_option
def formation_bench(
    app: App,
    data: Path | None,
    format_: str,
    prices_of: str,
    window: int,
    asks: bool,
    other_model: str | None,
    other_base_url: str | None,
) -> None:
    """Measure the quality and cost of forming memory from a talk, by who forms it and from what
    state.

    A recorded talk is played through a session, and its ranges are formed by rules, by a model over
    the live request, and by a model that reads only the range. A provider in this process counts
    and caches. The limits of the results are printed with them.

    JSON: {rows: [{arm, ranges, made, dropped: {REASON: COUNT}, fidelity, voice, requests, tokens,
    cached_share, cost, talk_cost, over_talk}], prices_of, window, limits: [TEXT]}.
    """
    from pagefault.cli.engines import remote_engine
    from pagefault.lab.formation import LIMITS_OF_IT, bench_formation
    from pagefault.lab.transcripts import read_conversations

    config = app.config()
    with as_file(files("pagefault.lab") / "demo.jsonl") as demo:
        conversation = read_conversations(data or demo, format_)[0]

    async def play() -> list[dict[str, Any]]:
        async with AsyncExitStack() as opened:
            engine = other = None
            if asks:
                engine = await opened.enter_async_context(remote_engine(config))
            if other_model:
                told = replace(config.engine, model=other_model)
                told = replace(told, base_url=other_base_url or told.base_url)
                beside = replace(config, engine=told)
                other = await opened.enter_async_context(remote_engine(beside))
            return await bench_formation(
                conversation, prices_of=prices_of, window=window, engine=engine, other=other
            )

    rows = app.run(play())
    if app.as_json:
        app.term.data(
            {"rows": rows, "prices_of": prices_of, "window": window, "limits": LIMITS_OF_IT}
        )
        return
    app.term.table(
        [
            *("arm", "ranges", "made", "dropped", "fidelity", "voice"),
            *("tokens", "cached", "cost", "of-talk"),
        ],
        [
            [
                row["arm"],
                str(row["ranges"]),
                str(row["made"]),
                str(sum(row["dropped"].values())),
                _share(row["fidelity"]),
                _share(row["voice"]),
                f"{row['tokens']:,}",
                _share(row["cached_share"]),
                f"{row['cost']:,}",
                _share(row["over_talk"]),
            ]
            for row in rows
        ],
        right="ranges made dropped fidelity voice tokens cached cost of-talk",
    )
    for line in LIMITS_OF_IT:
        app.term.note(line)


def _share(value: float | None) -> str:
    return "" if value is None else f"{value:.1%}"
