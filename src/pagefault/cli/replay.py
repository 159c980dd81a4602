"""`pagefault replay`."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pagefault.cli.app import App, Command, json_option
from pagefault.cli.term import number, plural
from pagefault.cli.transcripts import FORMATS, guess
from pagefault.cli.wording import GUESSED_FORMAT, LAYOUT, MODE, WINDOW

if TYPE_CHECKING:
    from pagefault.lab.transcripts import Conversation
    from pagefault.service.config import Config

_SHOWN = {  # of the report, for people; JSON has it all
    "turns": "lines replayed",
    "requests": "requests packed",
    "window_tokens": "window, tokens",
    "max_request_tokens": "largest request, tokens",
    "requests_over_window": "requests over the window",
    "newest_turn_missing": "requests without the newest turn",
    "duplicate_pages": "pages shown twice",
    "too_large_for_window": "lines too long for the window",
    "questions": "questions asked",
    "evidence_found_frac": "evidence found, share",
    "unanswerable_declined_frac": "unanswerable questions declined, share",
    "faults": "faults served",
    "faults_refused": "faults refused",
    "paged_in_tokens_per_question": "paged in for a question, tokens",
    "paged_in_tokens_per_question_max": "paged in for a question, tokens at most",
    "citations": "citations",
    "citations_valid_frac": "citations valid, share",
    "prefix_breaks_outside_epochs": "prefix changed outside epochs, calls",
    "prefix_survival": "prefix that survives, share",
    "epochs": "epochs",
    "epochs_share": "epochs, share of calls",
    "effective_input_cost": "cost, effective input tokens",
    "regret": "cost against the best possible, ratio",
    "cost_vs_rebuild": "cost over a message rebuilt each turn",
    "cost_vs_flush": "cost over flush when full",
    "tlb_hit_rate": "look-ups that hit, share",
    "prefetch_hit_rate": "prefetched and used, share",
    "thrash_index": "thrash index",
    "context_utilisation": "window used, share",
    "compression_ratio": "summaries are shorter by",
    "append_p50_ms": "append p50, ms",
    "append_p95_ms": "append p95, ms",
    "request_p50_ms": "request p50, ms",
    "request_p95_ms": "request p95, ms",
    "search_p95_ms": "search p95, ms",
    "fault_p95_ms": "fault p95, ms",
}
_FIRST = (
    "turns",
    "requests",
    "max_request_tokens",
    "evidence_found_frac",
    "faults",
    "citations_valid_frac",
    "prefix_survival",
    "regret",
)
_AMISS = (  # shown with these unless they are 0
    "requests_over_window",
    "newest_turn_missing",
    "duplicate_pages",
    "too_large_for_window",
    "prefix_breaks_outside_epochs",
)


@click.command(cls=Command)
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option(
    "--format",
    "form",
    type=FORMATS,
    help=GUESSED_FORMAT,
)
@click.option("--window", type=click.IntRange(min=1), metavar="TOKENS", help=WINDOW)
@click.option("--mode", type=click.Choice(["passive", "active", "strict"]), help=MODE)
@click.option("--layout", type=click.Choice(["stable", "developer"]), help=LAYOUT)
@click.option("--questions", is_flag=True, help="Ask the file's questions, each in a fork.")
@click.option(
    "--questions-max",
    type=click.IntRange(min=1),
    metavar="N",
    help="Ask at most N questions per conversation.",
)
@click.option(
    "--paged-in-tokens",
    type=click.IntRange(min=1),
    metavar="N",
    help="Token limit of what recall and faults together may bring in per turn.",
)
@click.option(
    "--prices",
    metavar="NAME",
    help="Price list: a name from `pagefault models --json`, or READ/WRITE/SECONDS.",
)
@click.option("--ephemeral", is_flag=True, help="Use a temporary folder, deleted afterwards.")
@click.option("--all", "every", is_flag=True, help="Show every figure. JSON always has all.")
@json_option
def replay(
    app: App,
    file: Path,
    form: str | None,
    window: int | None,
    mode: str | None,
    layout: str | None,
    questions: bool,
    questions_max: int | None,
    paged_in_tokens: int | None,
    prices: str | None,
    ephemeral: bool,
    every: bool,
) -> None:
    """Run recorded conversations through a small window and measure what is lost.

    FILE has LoCoMo samples (locomo), one {"role", "content"} per line (jsonl), a list of OpenAI
    messages (openai), or one {"turns", "questions"} per line (turns). It is read whole first: a
    malformed line changes nothing. Each conversation becomes a new session of the memory, unless
    --ephemeral. Its user lines count as typed by you, with your authority: claims and procedures
    come from them. Answers come from the offline scripted engine; a pause in the conversation lets
    the provider's cache lapse. The cost of requests is measured on their bytes, and compared with
    other layouts of the same conversation.
    JSON: one object of figures.
    """
    from pagefault.lab.transcripts import read_conversations

    conversations = read_conversations(file, form or guess(file))
    wanted = questions or questions_max is not None
    if wanted and not any(one.questions for one in conversations):
        app.term.note("note: this file has no questions")
    folder = tempfile.mkdtemp(prefix="pagefault-replay-") if ephemeral else None
    try:
        if folder is not None:
            app.root = folder
        config = app.config(
            window_tokens=window,
            mode=mode,
            layout=layout,
            prices=prices,
            limits__paged_in_tokens_max=paged_in_tokens,
        )
        report = app.run(_replay(app, conversations, config, wanted, questions_max))
    finally:
        if folder is not None:
            shutil.rmtree(folder, ignore_errors=True)
    if app.as_json:
        app.term.data(report)
    else:
        measured = [name for name in _SHOWN if report.get(name) is not None]
        shown = [
            name
            for name in measured
            if every or name in _FIRST or (name in _AMISS and report[name])
        ]
        app.term.table(
            ["measure", "value"], [[_SHOWN[name], number(report[name])] for name in shown]
        )
        if any(one.system for one in conversations):
            app.term.note("the system message is the session's prompt, not one of the lines")
        if len(shown) < len(measured):
            app.term.note(f"{len(measured) - len(shown)} more figures: --all, or --json")
    if folder is None:
        names = ", ".join(repr(name) for name in report["sessions"])
        app.term.note(f"made {plural(len(report['sessions']), 'session')}: {names}")
    else:
        app.term.note("the temporary memory was deleted")


async def _replay(
    app: App,
    conversations: list[Conversation],
    config: Config,
    questions: bool,
    questions_max: int | None,
) -> dict[str, Any]:
    from pagefault.lab.replay import replay as run_replay
    from pagefault.lab.turns import ConversationClock
    from pagefault.model.errors import StoreReadOnly
    from pagefault.model.kinds import ControlMode
    from pagefault.service.stopwatch import Stopwatch

    watch, clock = Stopwatch(), ConversationClock()
    async with app.writing(config, meter=watch, cache_s=clock.monotonic_s) as memory:
        control = await memory.control()
        if not ControlMode(control).captures:
            raise StoreReadOnly(
                f"the memory is {control}: no session of a replay would be kept",
                hint="`pagefault mode assist`, or --ephemeral",
            )
        with app.term.progress() as progress:
            report = await run_replay(
                memory,
                conversations,
                window=config.window_tokens,
                mode=config.mode,
                questions=questions,
                questions_max=questions_max,
                stopwatch=watch,
                progress=progress,
                clock=clock,
            )
    return report.to_dict()
