"""`pagefault bench`: measurements. Later benches join the group."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from pagefault.cli.app import App, Command, Group, json_option, pass_app
from pagefault.cli.outcome import PROBLEMS
from pagefault.cli.term import plural


@click.group(cls=Group)
def bench() -> None:
    """Time what a memory does, and see what it remembers."""


@bench.command("kernel", cls=Command)
@click.option("--pages", type=click.IntRange(min=10), default=10_000, show_default=True)
@click.option(
    "--at",
    type=click.Path(path_type=Path, file_okay=False),
    help="Measure on this folder's disk; without it, a temporary folder.",
)
@json_option
@pass_app
def kernel(app: App, pages: int, at: Path | None, as_json: bool) -> None:
    """What the store and a session cost, at a number of pages: fsynced, indexed, on a real disk.

    JSON: one object of figures; names end in their unit.
    """
    from pagefault.lab.kernel import bench_kernel

    with app.term.progress() as progress:
        figures: dict[str, Any] = app.run(bench_kernel(pages=pages, root=at, progress=progress))
    if as_json:
        app.term.data(figures)
        return
    app.term.line(app.term.style(f"kernel, {plural(pages, 'page')}", "bold"))
    app.term.table(["measure", "value"], [[name, number(value)] for name, value in figures.items()])


@bench.command("northstar", cls=Command)
@click.option("--seeds", type=click.IntRange(min=1), default=50, show_default=True)
@click.option(
    "--windows",
    default="32000,4000",
    show_default=True,
    metavar="TOKENS,…",
    help="The windows to run at, each a variant.",
)
@click.option(
    "--claims",
    type=click.Choice(["rules", "off"]),
    default="rules",
    show_default=True,
    help="off shows what the figures would be without claims.",
)
@json_option
@pass_app
def northstar(app: App, seeds: int, windows: str, claims: str, as_json: bool) -> None:
    """Decisions recalled two hundred turns later, with citations: the share of runs that succeed.

    JSON: {seeds, claims, variants: {name: {rate, recall_rate, faults_max, thrash_index_max, …}}}.
    Exit code 1 if a variant stays below 0.95.
    """
    from pagefault.lab.northstar import bench_northstar

    try:
        tokens = [int(window) for window in windows.split(",")]
    except ValueError:
        raise click.BadParameter("numbers, with commas between", param_hint="--windows") from None
    with app.term.progress() as progress:
        told: dict[str, Any] = app.run(
            bench_northstar(seeds=seeds, windows=tokens, claims=claims, progress=progress)
        )
    if as_json:
        app.term.data(told)
    else:
        app.term.line(app.term.style(f"north star, {plural(seeds, 'seed')}", "bold"))
        names = list(told["variants"])
        rows = [name for name in next(iter(told["variants"].values())) if name != "failures"]
        app.term.table(
            ["measure", *names],
            [[row, *(number(told["variants"][name][row]) for name in names)] for row in rows],
        )
    if not all(figures["reached"] for figures in told["variants"].values()):
        raise click.exceptions.Exit(PROBLEMS)


def number(value: Any) -> str:
    """A figure for a person: thousands apart, no false precision."""
    match value:
        case None:
            return "–"
        case bool():
            return "yes" if value else "no"
        case int():
            return f"{value:,}"
        case float():
            return f"{value:,.3f}".rstrip("0").rstrip(".")
        case _:
            return str(value)
