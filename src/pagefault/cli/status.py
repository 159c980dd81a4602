"""`pagefault status` and `pagefault ledger`: what a session tells about itself."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from pagefault.cli.app import App, Command, find_session, json_option, pass_app
from pagefault.cli.bench import number
from pagefault.cli.term import iso, plural

if TYPE_CHECKING:
    from pagefault.service.embedding import EmbeddingStatus
    from pagefault.service.ledger import Entry
    from pagefault.service.reporting import Metrics
    from pagefault.service.status import Status
    from pagefault.service.targets import Judged

_SHOWN = {  # of the figures, for people; JSON has them all
    "requests": "requests",
    "request_tokens_mean": "request, tokens on average",
    "context_utilisation": "window used, share",
    "live_fraction": "of the prompt not dead, share",
    "effective_tokens": "tokens used by the answers, share",
    "page_references": "page references",
    "faults": "faults",
    "fault_rate": "faults, share of references",
    "thrash_index": "thrash index",
    "recalls": "questions about the past",
    "recall_success": "of these answered uncorrected, share",
    "evictions": "pages evicted",
    "compression_ratio": "summaries are shorter by",
    "prefix_survival": "prefix that survives, share",
    "prefix_breaks_outside_epochs": "prefix changed outside epochs, calls",
    "epochs": "epochs",
    "epochs_share": "epochs, share of calls",
    "effective_input_cost": "cost, effective input tokens",
    "effective_input_cost_reported": "cost as reported",
    "regret": "cost over the best epochs in hindsight",
    "tlb_hit_rate": "look-ups that hit, share",
    "prefetch_hit_rate": "prefetched and used, share",
    "metadata_overhead": "records over texts, share of bytes",
}


@click.command(cls=Command)
@click.argument("session_name", metavar="[SESSION]", required=False)
@click.option("--per-turn", is_flag=True, help="The figures of each turn, too; JSON only.")
@json_option
@pass_app
def status(app: App, session_name: str | None, per_turn: bool, as_json: bool) -> None:
    """How a session stands: its window, its figures, and the targets that they miss.

    Without SESSION, the one used last that is no fork. The figures are folded from the log; a red
    flag marks those that somebody should look at.

    JSON: {session_id, name, turns, pages, window_tokens, request_tokens, mode, epoch, requests,
    resident_pages, pinned, faults_left, tlb_hits, tlb_misses, metrics: {FIGURE: …, targets:
    [{name, value, target, source, met, red_flag}], red_flags, per_turn}}; docs/benchmarks.md
    defines the figures. With an embedder also embedding: {embedder, embedded, missing, failure,
    hint}, of the whole memory.
    """

    async def read() -> tuple[Status, Metrics, EmbeddingStatus | None]:
        async with app.reading() as memory:
            session = await find_session(memory, session_name)
            metrics = await session.metrics(per_turn=per_turn)
            return await session.status(), metrics, await memory.embedding()

    now, metrics, embedding = app.run(read())
    if as_json:
        budget = asdict(now.budget) | {
            "reserved": now.budget.reserved,
            "used": now.budget.used,
            "available": now.budget.available,
        }
        told = {"budget": budget, "metrics": metrics.to_dict()}
        if embedding is not None:
            told["embedding"] = asdict(embedding)
        app.term.data(asdict(now) | told)
        return
    share = now.request_tokens / now.window_tokens
    app.term.line(app.term.style(now.name or now.session_id, "bold"))
    rows = [
        ["turns", f"{now.turns:,}"],
        ["pages", f"{now.pages:,}; in the window {now.resident_pages:,}, summaries too"],
        ["window", f"{now.request_tokens:,} of {now.window_tokens:,} tokens ({share:.0%})"],
        ["mode", now.mode],
        ["pinned", ", ".join(now.pinned) or "nothing"],
    ]
    if embedding is not None:
        rows.append(["vectors", _vectors(embedding)])
    rows += [[told, number(metrics.figures[name])] for name, told in _SHOWN.items()]
    app.term.table(["measure", "value"], rows)
    app.term.line("")
    app.term.table(
        ["target", "asked", "measured", "met"],
        [
            [
                one.target.name.replace("_", " "),
                str(one.target),
                number(one.value),
                _met(one),
            ]
            for one in metrics.judged
        ],
        right="measured",
    )
    flags = metrics.red_flags
    named = ", ".join(one.target.name.replace("_", " ") for one in flags)
    app.term.note(f"{plural(len(flags), 'red flag')}{': ' if flags else ''}{named}")


def _vectors(now: EmbeddingStatus) -> str:
    failed = f"; the embedder fails: {now.failure}" if now.failure else ""
    return f"of {now.embedded:,} pages, {now.missing:,} missing{failed}"


def _met(one: Judged) -> str:
    if one.is_met is None:
        return "–"
    return "yes" if one.is_met else "no: a red flag" if one.is_red_flag else "no"


@click.command(cls=Command)
@click.argument("session_name", metavar="[SESSION]", required=False)
@json_option
@pass_app
def ledger(app: App, session_name: str | None, as_json: bool) -> None:
    """What every request should have cost, what the provider reported, and why that differs.

    Costs are in effective input tokens, by the price list that is configured. Without SESSION, the
    one used last that is no fork.

    JSON: {session, prices, calls: [{request, turn, seq, at, prompt_tokens, volatile_tokens,
    survival, predicted_cached, predicted_cost, broke, epoch, reported, reported_cost,
    disagreement}], summary}.
    """
    from pagefault.pack.ledger import summary, to_dict

    async def read() -> tuple[str, Any, list[Entry]]:
        async with app.reading() as memory:
            session = await find_session(memory, session_name)
            return session.name or session.session_id, session.prices, await session.ledger()

    name, prices, entries = app.run(read())
    lines = [entry.line(prices) for entry in entries]
    if as_json:
        calls = [
            {
                "request": entry.packed.request,
                "turn": entry.turn,
                "seq": entry.seq,
                "at": iso(entry.at_ms),
            }
            | to_dict(line)
            for entry, line in zip(entries, lines, strict=True)
        ]
        told = summary(prices, lines)
        app.term.data({"session": name, "prices": prices.name, "calls": calls, "summary": told})
        return
    if lines:
        app.term.table(
            ["request", "turn", "tokens", "cached", "cost", "reported", "why"],
            [
                [
                    str(entry.packed.request),
                    str(entry.turn),
                    f"{line.prompt_tokens:,}",
                    f"{line.predicted_cached:,}",
                    f"{line.predicted_cost:,.0f}",
                    "" if line.reported_cost is None else f"{line.reported_cost:,.0f}",
                    _why(line.epoch, str(line.broke), str(line.disagreement)),
                ]
                for entry, line in zip(entries, lines, strict=True)
            ],
            right="request turn tokens cached cost reported",
        )
    cost = sum(line.predicted_cost for line in lines)
    app.term.note(f"{plural(len(lines), 'call')} in {name!r}, {cost:,.0f} by {prices.name!r}")


def _why(epoch: str, broke: str, disagreement: str) -> str:
    told = [f"epoch: {epoch}" if epoch else "", broke if broke != "epoch" else ""]
    told.append("" if disagreement == "unreported" else disagreement)
    return ", ".join(one.replace("_", " ") for one in told if one)
