"""`pagefault bench`: measurements."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import click

from pagefault.cli.app import App, Group, json_option, number_option
from pagefault.cli.outcome import PROBLEMS
from pagefault.cli.term import number, plural
from pagefault.cli.transcripts import FORMATS, guess
from pagefault.cli.wording import GUESSED_FORMAT
from pagefault.model.errors import BadInput


@click.group(cls=Group)
def bench() -> None:
    """Measure the quality and cost of a memory."""


@bench.command("kernel")
@number_option("--pages", 10_000, "Number of pages to write.", least=10)
@click.option(
    "--at",
    type=click.Path(path_type=Path, file_okay=False),
    help="Folder on the disk to measure. Default: a temporary folder.",
)
@click.option(
    "--text",
    type=click.Choice(["english", "made-up"]),
    default="english",
    show_default=True,
    help="English: sentences of the demo with other names and rare words. Or made-up words.",
)
@json_option
def kernel(app: App, pages: int, at: Path | None, text: str) -> None:
    """Measure the store and a session at a number of pages: fsynced, indexed, on a real disk.

    JSON: one object of figures; names end in their unit.
    """
    from pagefault.lab.kernel import bench_kernel

    with app.term.progress() as progress:
        figures: dict[str, Any] = app.run(
            bench_kernel(pages=pages, root=at, text=text, tell=progress)
        )
    _print_figures(app, f"kernel, {plural(pages, 'page')}", figures)


@bench.command("serve")
@number_option("--sessions", 20, "Number of concurrent sessions.", least=1)
@number_option(
    "--requests",
    300,
    "Requests to send by each route. A session's first requests are reported separately.",
    least=1,
)
@click.option(
    "--rate",
    type=click.FloatRange(min=0, min_open=True),
    default=5.0,
    show_default=True,
    metavar="PER_S",
    help="Offered load in requests per second, both routes together.",
)
@number_option("--body-kb", 300, "Approximate size of a request body, in kB.", least=1)
@number_option(
    "--window", 60_000, "Token limit of the proxy's requests.", least=1_000, metavar="TOKENS"
)
@json_option
def serving(app: App, sessions: int, requests: int, rate: float, body_kb: int, window: int) -> None:
    """Measure what the proxy adds to a request, against a plain pass-through, interleaved.

    JSON: one object of figures; names end in their unit. Exit code 1 if a request failed.
    """
    from pagefault.lab.serving import bench_serve

    with app.term.progress() as progress:
        figures: dict[str, Any] = app.run(
            bench_serve(
                sessions=sessions,
                requests=requests,
                rate=rate,
                body_bytes=1_000 * body_kb,
                window=window,
                tell=progress,
            )
        )
    _print_figures(app, f"serve, {plural(sessions, 'session')}", figures)
    if figures["errors"]:
        raise click.exceptions.Exit(PROBLEMS)


NORTH_STARS: Final = ("club", "german", "spanish", "museum", "boulangerie", "hof")


@bench.command("northstar")
@number_option("--seeds", 50, "Number of conversations per variant.", least=1)
@click.option(
    "--windows",
    default="32000,4000",
    show_default=True,
    metavar="TOKENS,…",
    help="Window sizes to run at, in tokens. Each is a variant.",
)
@click.option(
    "--phrasing",
    type=click.Choice(["script", "talk", "both", *NORTH_STARS, "all"]),
    default="both",
    show_default=True,
    help="How it is phrased: script (short sentences), talk (natural, with changes of mind), both "
    "of them, one of the other conversations, or all.",
)
@click.option(
    "--claims",
    type=click.Choice(["rules", "off"]),
    default="rules",
    show_default=True,
    help="How claims are formed. With off, the figures show memory without claims.",
)
@click.option(
    "--harder",
    is_flag=True,
    help="Ask harder questions: decoys, changed decisions, paraphrases, undone "
    "decisions, knock-on effects of a change, and decisions never made.",
)
@click.option(
    "--templates",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="JSON file with your own sentences for the harder questions; "
    "docs/benchmarks.md has the format.",
)
@click.option(
    "--embedder",
    metavar="EMBEDDER",
    help="Also search by meaning, with this embedder: a value of the setting `embedder`.",
)
@json_option
def northstar(
    app: App,
    seeds: int,
    windows: str,
    phrasing: str,
    claims: str,
    harder: bool,
    templates: Path | None,
    embedder: str | None,
) -> None:
    """Measure whether requests show decisions made two hundred turns earlier, and what is answered.

    JSON: {seeds, claims, variants: {name: {visible_frac, read_frac, rate, recall_rate, …}}}: memory
    is responsible for what is visible, the scripted engine for how much of it is read correctly;
    --harder: {decoys_frac, changed_frac, other_words_frac, undone_frac, cascade_frac,
    undecided_frac, …}. Exit code 1 if in some variant fewer than 0.95 of the questions, with
    --harder of those of each kind, have in sight what they need.
    """
    from pagefault.lab.northstar import bench_northstar
    from pagefault.lab.northstar_harder import bench_harder, read_templates
    from pagefault.lab.phrasings import NAMES, SHIPPED

    several = {"both": ("script", "talk"), "all": NAMES}
    names = several.get(phrasing, (phrasing,))
    try:
        tokens = [int(window) for window in windows.split(",")]
    except ValueError:
        raise click.BadParameter("numbers, with commas between", param_hint="--windows") from None
    told: dict[str, Any]
    spec = app.config(embedder=embedder).embedder_spec if embedder else None
    embeds = spec.make() if spec is not None else None
    with app.term.progress() as progress:
        asked: dict[str, Any] = {
            "seeds": seeds,
            "windows": tokens,
            "claims": claims,
            "embedder": embeds,
            "progress": progress,
        }
        if harder or templates:
            said = (
                {templates.stem: read_templates(templates)}
                if templates
                else {name: SHIPPED[name] for name in names}
            )
            told = app.run(bench_harder(phrasings=said, **asked))
        else:
            told = app.run(bench_northstar(phrasings=names, **asked))
    if spec is not None and embeds is not None:
        spec.close(embeds)
    if app.as_json:
        app.term.data(told)
    else:
        app.term.line(app.term.style(f"north star, {plural(seeds, 'seed')}", "bold"))
        variants = list(told["variants"])
        first = told["variants"][variants[0]]
        rows = [name for name, value in first.items() if not isinstance(value, list | dict)]
        app.term.table(
            ["measure", *variants],
            [[row, *(number(told["variants"][name][row]) for name in variants)] for row in rows],
        )
    reached = "reached" if harder or templates else "visible_reached"
    if not all(figures[reached] for figures in told["variants"].values()):
        raise click.exceptions.Exit(PROBLEMS)


@bench.command("ladder")
@click.option(
    "--data",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    help="Conversations with sessions and questions. Default: generated conversations "
    "of engineers.",
)
@click.option(
    "--format",
    type=FORMATS,
    default="locomo",
    show_default=True,
    help="File format.",
)
@number_option("--sessions", 20, "Number of conversations to generate.", least=1)
@json_option
def ladder(app: App, data: Path | None, format: str, sessions: int) -> None:
    """Measure how short each level of a session is and what it keeps, against simpler ways to
    shorten.

    JSON: one object of figures; shares are 0 to 1.
    """
    from pagefault.lab.engineering import conversation
    from pagefault.lab.ladder import bench_ladder
    from pagefault.lab.transcripts import read_conversations
    from pagefault.pack.count import O200k

    talks = read_conversations(data, format) if data else [conversation(n) for n in range(sessions)]
    with app.term.progress() as progress:
        figures = bench_ladder(talks, count=O200k().count, progress=progress)
    _print_figures(app, f"ladder, {data.name if data else 'made-up conversations'}", figures)


@bench.command("layout")
@click.option(
    "--data",
    "file",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    required=True,
    help="Recorded conversations.",
)
@click.option(
    "--format",
    "form",
    type=FORMATS,
    help=GUESSED_FORMAT,
)
@number_option(
    "--window",
    8_000,
    "Token limit of every request, except in the full-history layout.",
    least=1,
    metavar="TOKENS",
)
@click.option(
    "--recall",
    type=click.IntRange(min=0),
    metavar="TOKENS",
    help="Token limit of what a turn may page in at its start, in every layout. "
    "Default: that of a session.",
)
@click.option(
    "--conversations",
    type=click.IntRange(min=1),
    metavar="N",
    help="Use only the first N conversations.",
)
@json_option
def layout(
    app: App,
    file: Path,
    form: str | None,
    window: int,
    recall: int | None,
    conversations: int | None,
) -> None:
    """Compare the cost of request layouts, replayed over recorded conversations.

    The stable layout (by a real session, in memory), the full history, a sliding window, flush when
    full, and a developer message rebuilt each turn, under five price lists, in effective input
    tokens. Then the rules for epochs, in tokens alone, against the optimum in hindsight.

    JSON: {window_tokens, recall_tokens_max, recalled_tokens_per_call, new_tokens_per_call,
    conversations, calls, prices: {LIST: {read, write, ttl_s, layouts: {NAME: {effective_input_cost,
    cost_vs_rebuild, cost_vs_flush, prefix_survival, prefix_reuse, epochs, epochs_share, …}}, rules:
    {NAME: {effective_input_cost, regret, regret_max, …}}}}}
    """
    from pagefault.lab.compare import compare
    from pagefault.lab.transcripts import read_conversations
    from pagefault.service.limits import Limits

    found = read_conversations(file, form or guess(file))[:conversations]
    limits = Limits() if recall is None else Limits(recall_tokens_max=recall)
    with app.term.progress() as progress:
        report = app.run(compare(found, window=window, limits=limits, progress=progress))
    if app.as_json:
        app.term.data(report)
        return
    for name, told in report["prices"].items():
        for what, columns in (("layouts", _LAYOUT_COLUMNS), ("rules", _RULE_COLUMNS)):
            app.term.line(app.term.style(f"{what}, read/write {name}", "bold"))
            app.term.table(
                ["name", *columns.values()],
                [
                    [row_name, *(number(row[column]) for column in columns)]
                    for row_name, row in told[what].items()
                ],
                right=" ".join(columns.values()),
            )
            app.term.line("")
    app.term.note(
        f"{plural(report['conversations'], 'conversation')}, {plural(report['calls'], 'call')},"
        f" window {window:,}; a call adds {number(report['new_tokens_per_call'])} tokens said and"
        f" {number(report['recalled_tokens_per_call'])} recalled"
    )


@bench.command("retrieval")
@click.option(
    "--data",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    required=True,
    help="Conversations with questions that name their evidence, in the locomo or turns format.",
)
@click.option(
    "--audit",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Corrections to the evidence. Default: audit….json beside the data, if there is one.",
)
@click.option(
    "--cross-validate",
    is_flag=True,
    help="Also rank each conversation with weights fitted to the others.",
)
@click.option(
    "--embedder",
    metavar="NAME",
    help="Also search by meaning, with this embedder: a value of the setting `embedder`.",
)
@click.option(
    "--reranker",
    metavar="NAME",
    help="Rerank close results with this reranker: a value of the setting `reranker`.",
)
@json_option
def retrieval(
    app: App,
    data: Path,
    audit: Path | None,
    cross_validate: bool,
    embedder: str | None,
    reranker: str | None,
) -> None:
    """Measure how much of a question's evidence search finds, by line and by session.

    Each conversation is played into a session in memory, and each of its questions goes to
    `recall`. Figures are percentages; the first three cover the questions that can be answered.
    `bm25` is plain BM25 over the same lines.

    JSON: {questions, turn: {n, frac: {"1", "5", "10", "20", "50"}, any: {…}, all: {…}, ndcg10},
    session: {…}, bm25: {…}, by_kind: {KIND: {turn, bm25}}, by_category: {…}, by_conversation: {…},
    all_categories: {turn, session}, corrected: {turn, session} or null, adversarial: {questions,
    nothing_offered}, search_p50_ms, search_p95_ms, embedder, reranker}, and cross_validated: {turn,
    session} if asked for
    """
    from pagefault.lab.retrieval import bench_retrieval, find_audit, read_audit
    from pagefault.lab.transcripts import read_conversations

    conversations = read_conversations(data, guess(data))
    if not any(one.questions for one in conversations):
        raise BadInput(f"{data} has no questions", hint="is it the right file?")
    audit = audit or find_audit(data)
    corrections = read_audit(audit) if audit else []
    spec = app.config(embedder=embedder).embedder_spec if embedder else None
    embeds = spec.make() if spec is not None else None
    judging = app.config(reranker=reranker).reranker_spec if reranker else None
    judges = judging.make() if judging is not None else None
    with app.term.progress() as progress:
        told: dict[str, Any] = app.run(
            bench_retrieval(
                conversations,
                audit=corrections,
                cross_validate=cross_validate,
                embedder=embeds,
                reranker=judges,
                progress=progress,
            )
        )
    if spec is not None and embeds is not None:
        spec.close(embeds)
    if judging is not None and judges is not None:
        judging.close(judges)
    if app.as_json:
        app.term.data(told)
        return
    rows = {
        "lines": told["turn"],
        "sessions": told["session"],
        "lines, by plain BM25": told["bm25"],
        **{
            name: figures
            for kind, one in told["by_kind"].items()
            for name, figures in ((kind, one["turn"]), (f"{kind}, by plain BM25", one["bm25"]))
        },
        **{f"category {name}": one for name, one in told["by_category"].items()},
        **told["by_conversation"],
        "all categories": told["all_categories"]["turn"],
        "corrected": (told["corrected"] or {}).get("turn", {}),
        "cross-validated": told.get("cross_validated", {}).get("turn", {}),
    }
    app.term.table(
        ["share of the evidence", "n", "@1", "@5", "@10", "@20", "@50", "all@10", "any@5"],
        [
            [
                name,
                number(one["n"]),
                *(f"{share:.1f}" for share in one["frac"].values()),
                f"{one['all']['10']:.1f}",
                f"{one['any']['5']:.1f}",
            ]
            for name, one in rows.items()
            if one
        ],
        right="n @1 @5 @10 @20 @50 all@10 any@5",
    )
    unanswerable = told["adversarial"]
    app.term.note(
        f"{plural(unanswerable['questions'], 'question')} without an answer, of which"
        f" {number(unanswerable['nothing_offered'])} % were offered nothing;"
        f" a search took {number(told['search_p50_ms'])} ms (p50)"
    )


_LAYOUT_COLUMNS = {
    "effective_input_cost": "cost",
    "cost_vs_rebuild": "vs-rebuild",
    "cost_vs_flush": "vs-flush",
    "prefix_survival": "survival",
    "prefix_reuse": "reuse",
    "epochs_share": "epochs",
    "prompt_tokens_mean": "prompt",
}
_RULE_COLUMNS = {
    "effective_input_cost": "cost",
    "cost_vs_rebuild": "vs-rebuild",
    "cost_vs_flush": "vs-flush",
    "prefix_survival": "survival",
    "regret": "regret",
    "epochs_share": "epochs",
    "prompt_tokens_mean": "prompt",
}


def _print_figures(app: App, title: str, figures: dict[str, Any]) -> None:
    if app.as_json:
        app.term.data(figures)
        return
    app.term.line(app.term.style(title, "bold"))
    app.term.table(["measure", "value"], [[name, number(value)] for name, value in figures.items()])


# Commands with modules of their own; they import from this one, so they come last.
from pagefault.cli.bench_bill import bill_bench  # noqa: E402
from pagefault.cli.bench_formation import formation_bench  # noqa: E402
from pagefault.cli.bench_policies import policies  # noqa: E402

bench.add_command(policies)
bench.add_command(bill_bench)
bench.add_command(formation_bench)
