"""`pagefault bench`: measurements. Later benches join the group."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from pagefault.cli.app import App, Command, Group, json_option, pass_app
from pagefault.cli.term import plural


@click.group(cls=Group)
def bench() -> None:
    """Time what a memory does."""


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
