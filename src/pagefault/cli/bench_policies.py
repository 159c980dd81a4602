"""`pagefault bench policies`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pagefault.cli.app import App, Command, json_option, number_option
from pagefault.cli.term import plural
from pagefault.cli.transcripts import FORMATS, guess

if TYPE_CHECKING:
    from pagefault.lab.transcripts import Conversation

MADE_UP = 4


@click.command("policies", cls=Command)
@click.option(
    "--traces",
    "folder",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    help="Folder of traces: *.lis, *.trace, *.jsonl, optionally compressed (.zst, .gz).",
)
@click.option(
    "--replay",
    "file",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    help="Conversations to record windows from. Default: generated conversations of engineers.",
)
@click.option(
    "--format",
    "form",
    type=FORMATS,
    help="Format of the --replay file. Default: guessed from its name and first lines.",
)
@click.option(
    "--windows",
    default="2000,4000,8000",
    show_default=True,
    metavar="TOKENS,…",
    help="Window sizes to record at, in tokens.",
)
@number_option(
    "--questions-max", 60, "Ask at most N questions at the end of a conversation.", metavar="N"
)
@click.option(
    "--only",
    multiple=True,
    metavar="NAME",
    help="Only this trace or conversation. May be repeated.",
)
@json_option
def policies(
    app: App,
    folder: Path | None,
    file: Path | None,
    form: str | None,
    windows: str,
    questions_max: int,
    only: tuple[str, ...],
) -> None:
    """Compare every eviction policy with the optimum, on traces and on recorded windows.

    In traces all pages weigh one, and the optimum is exact. Windows are recorded from conversations
    under the stable layout; their pages have weights, and misses are compared with a lower bound
    and with a choice that knows the future (belady). A default is chosen on every other
    conversation, and its score reported for the rest.

    Trace formats: .lis has `start count - -` per line (ARC), .trace one number per line (LIRS),
    .jsonl objects with `hash_ids` (Mooncake).

    JSON: {known_lru_rows, known_lru_off_by_max, traces: {NAME: {references, pages, sizes: {SIZE:
    {optimum_miss_ratio, policies: {POLICY: {miss_ratio, over_optimum}}, lru_hit_percent,
    known_lru_hit_percent, known_lru_off_by}}}}, windows: {recorded: [{name, window_tokens,
    in_batches: {bound_misses, policies: {POLICY: {misses, over_bound, …}}}, each_time: {…}}],
    chosen_on, scores, scores_of_the_others, best, chosen, default, when_and_which}}
    """
    from pagefault.lab.policies import bench_traces, bench_windows, choose
    from pagefault.lab.traces import find_traces

    try:
        sizes = [int(window) for window in windows.split(",")]
    except ValueError:
        raise click.BadParameter("numbers, with commas between", param_hint="--windows") from None
    paths, talks = choose(find_traces(folder) if folder else [], _conversations(file, form), only)
    told: dict[str, Any] = {}
    with app.term.progress() as progress:
        if paths:
            told |= bench_traces(paths, progress=progress)
        if talks:
            told["windows"] = app.run(
                bench_windows(talks, windows=sizes, questions_max=questions_max, progress=progress)
            )
    if app.as_json:
        app.term.data(told)
        return
    if paths:
        _show_traces(app, told)
    if talks:
        _show_windows(app, told["windows"])


def _conversations(file: Path | None, form: str | None) -> list[Conversation]:
    from pagefault.lab.engineering import conversation
    from pagefault.lab.transcripts import read_conversations

    if file is None:
        return [conversation(number) for number in range(MADE_UP)]
    return read_conversations(file, form or guess(file))


def _show_traces(app: App, told: dict[str, Any]) -> None:
    rows = []
    for name, trace in told["traces"].items():
        for size, row in trace["sizes"].items():
            ratios = [_ratio(one["miss_ratio"]) for one in row["policies"].values()]
            known = row["known_lru_hit_percent"]
            rows.append(
                [
                    name,
                    f"{int(size):,}",
                    _ratio(row["optimum_miss_ratio"]),
                    *ratios,
                    "–" if known is None else f"{row['lru_hit_percent']:.2f} / {known:.2f}",
                ]
            )
    names = _policies(told["traces"])
    app.term.line(app.term.style("traces: misses of all references", "bold"))
    columns = ["trace", "pages", "optimum", *names, "lru-hit-%/known"]
    app.term.table(columns, rows, right=" ".join(columns[1:]))
    off = told["known_lru_off_by_max"]
    if off is not None:
        rows_known = plural(told["known_lru_rows"], "known row")
        app.term.note(f"LRU is off by at most {off:.3f} points from {rows_known}")
    app.term.line("")


def _policies(traces: dict[str, Any]) -> list[str]:
    first = next(iter(traces.values()))
    return list(next(iter(first["sizes"].values()))["policies"])


def _show_windows(app: App, told: dict[str, Any]) -> None:
    for how, title in (("in_batches", "epochs as they were"), ("each_time", "room made each time")):
        names = list(told["recorded"][0][how]["policies"])
        app.term.line(app.term.style(f"windows, {title}: misses over the bound", "bold"))
        columns = ["conversation", "window", "bound", *names]
        rows = [
            [
                one["name"],
                f"{one['window_tokens']:,}",
                f"{one[how]['bound_misses']:,}",
                *(f"{row['over_bound']:.3f}" for row in one[how]["policies"].values()),
            ]
            for one in told["recorded"]
        ]
        app.term.table(columns, rows, right=" ".join(columns[1:]))
        app.term.line("")
    app.term.line(app.term.style("when and which: cost of all requests", "bold"))
    rules = told["when_and_which"]["rules"]
    names = list(next(iter(rules.values())))
    app.term.table(
        ["epochs", *names],
        [
            [rule, *(f"{one['effective_input_cost']:,}" for one in row.values())]
            for rule, row in rules.items()
        ],
        right=" ".join(names),
    )
    app.term.line("")
    others = told["scores_of_the_others"] or {}
    app.term.line(app.term.style("scores: misses over the bound, epochs as they were", "bold"))
    app.term.table(
        ["policy", "chosen-on", "others"],
        [
            [name, f"{score:.4f}", f"{others[name]:.4f}" if others else "–"]
            for name, score in told["scores"].items()
        ],
        right="chosen-on others",
    )
    app.term.note(f"best: {told['best']}; chosen: {told['chosen']}; default: {told['default']}")


def _ratio(share: float) -> str:
    return f"{share:.4f}"
