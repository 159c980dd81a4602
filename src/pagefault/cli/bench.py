"""`pagefault bench`: measurements. Later benches join the group."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from pagefault.cli.app import App, Command, Group, json_option, pass_app
from pagefault.cli.term import plural


@click.group(cls=Group)
def bench() -> None:
    """Measure what a memory does."""


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


@bench.command("ladder", cls=Command)
@click.option(
    "--data",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    help="Conversations with sessions and questions; without it, made-up ones of engineers.",
)
@click.option(
    "--format",
    type=click.Choice(["jsonl", "locomo", "openai"]),
    default="locomo",
    show_default=True,
    help="How the file is written.",
)
@click.option(
    "--sessions",
    type=click.IntRange(min=1),
    default=20,
    show_default=True,
    help="How many to make up.",
)
@json_option
@pass_app
def ladder(app: App, data: Path | None, format: str, sessions: int, as_json: bool) -> None:
    """How short each level of a session is and what it keeps, beside plainer ways of shortening.

    JSON: one object of figures; shares are of 1.
    """
    from pagefault.lab.engineering import conversation
    from pagefault.lab.ladder import bench_ladder
    from pagefault.lab.transcripts import read_conversations
    from pagefault.pack.count import O200k

    talks = read_conversations(data, format) if data else [conversation(n) for n in range(sessions)]
    with app.term.progress() as progress:
        figures = bench_ladder(talks, count=O200k().count, progress=progress)
    if as_json:
        app.term.data(figures)
        return
    title = f"ladder, {data.name if data else 'made-up conversations'}"
    app.term.line(app.term.style(title, "bold"))
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
