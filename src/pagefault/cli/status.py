"""`pagefault status` and `pagefault ledger`: the figures of a session."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any, Final

import click

from pagefault.cli.app import (
    App,
    Command,
    called,
    find_session,
    json_option,
    session_argument,
    shown_titles,
)
from pagefault.cli.proxied import instead_of_own_window, rows_of
from pagefault.cli.term import Term, named, number, one_line, plural
from pagefault.model import defaults

if TYPE_CHECKING:
    from pagefault.model.page import SessionRow
    from pagefault.pack.ledger import Line
    from pagefault.service.derived.embedding import EmbeddingStatus
    from pagefault.service.inspection.ledger import Entries, Entry
    from pagefault.service.inspection.relayed import Proxied
    from pagefault.service.inspection.report import Metrics
    from pagefault.service.inspection.status import Status
    from pagefault.service.inspection.targets import Judged
    from pagefault.service.memory import Memory
    from pagefault.service.session import Session
    from pagefault.service.turn.formation import Formed
    from pagefault.store.allowance import QuotaUse
    from pagefault.views.concerns import Concern


@dataclass(frozen=True, slots=True, kw_only=True)
class _State:
    row: SessionRow
    control: str
    now: Status | None  # None if a proxy packs the requests and nobody asked for JSON
    proxied: Proxied | None
    metrics: Metrics
    embedding: EmbeddingStatus | None
    uses: list[QuotaUse]
    formed: list[Formed]
    amiss: list[Concern]
    is_adopted: bool
    called: str  # for people


_SHOWN = {  # the figures for people; JSON has them all
    "requests": "requests",
    "request_tokens_mean": "mean request, tokens",
    "context_utilisation": "window used, share",
    "live_fraction": "still needed, share of the prompt",
    "effective_tokens": "used by answers, share of the prompt",
    "page_references": "page references",
    "faults": "faults",
    "fault_rate": "faults, share of page references",
    "pages_needed": "pages needed by answers",
    "fault_rate_needed": "faults, share of pages needed",
    "thrash_index": "thrash index",
    "recalls": "recalls",
    "recall_success": "recalls not contradicted by the next message, share",
    "evictions": "pages evicted",
    "compression_ratio": "compression by summaries, ratio",
    "prefix_survival": "prefix kept between requests, share",
    "prefix_breaks_outside_epochs": "prefix changed outside epochs, calls",
    "epochs": "epochs",
    "epochs_share": "epochs, share of calls",
    "effective_input_cost": "cost, effective input tokens",
    "effective_input_cost_reported": "cost as reported",
    "regret": "cost over the optimum, ratio",
    "tlb_hit_rate": "look-ups that hit, share",
    "prefetch_hit_rate": "prefetched and used, share",
    "metadata_bytes_per_page": "metadata per page, bytes",
    "metadata_overhead": "log overhead over text, share",
}


@click.command(cls=Command)
@session_argument
@click.option("--all", "every", is_flag=True, help="Show every figure, and its target.")
@click.option("--per-turn", is_flag=True, help="Include the figures of each turn (JSON only).")
@json_option
def status(app: App, session_name: str | None, every: bool, per_turn: bool) -> None:
    """Show the state of a session: its window, what came back, what needs attention.

    Without SESSION, the last one used (forks and MCP notes excluded). All figures are folded from
    the log.

    JSON: {session_id, name, turns, pages, window_tokens, request_tokens, mode, control (`pagefault
    mode`), quotas: [{quota, owner, used, limit}] (those that are set, for this session, its tenant
    and the project), formation: {ranges, formed, nothing, given_up, begun, due, tokens} (`pagefault
    form`), concerns: [{what, why, do, figure}], epoch, requests, resident_pages, resident_derived,
    pinned, faults_left, tlb_hits, tlb_misses, proxied, metrics: {FIGURE: …, targets: [{name, value,
    target, source, met, aim, red_flag, waits_for}], red_flags, per_turn}}; docs/benchmarks.md
    defines the figures. For a proxied session, window, request and epoch are those of what was
    passed on, and `proxied` has more. With an embedder also embedding: {embedder, embedded,
    missing, failure, hint}, for the whole memory.
    """
    from pagefault.views.concerns import concerns_of

    async def gather() -> _State:
        async with app.reading() as memory:
            session = await find_session(memory, session_name)
            rows = await memory.sessions()
            row = next(one for one in rows if one.session_id == session.session_id)
            control = await memory.control_of(row.session_id)
            metrics = await session.metrics(per_turn=per_turn)
            proxied = await memory.proxied(session)
            now = None
            if proxied is None or app.as_json:  # it counts the next request, which takes long
                now = replace(await session.status(), control=control)
            return _State(
                row=row,
                control=control,
                now=now,
                proxied=proxied,
                metrics=metrics,
                embedding=await memory.embedding(),
                uses=await memory.usage(session.session_id),
                formed=await session.formations(),
                amiss=await concerns_of(memory, session, metrics, proxied),
                is_adopted=memory.is_adopted,
                called="" if app.as_json else await _called(app.term, memory, row, rows),
            )

    state = app.run(gather())
    if app.as_json:
        app.term.data(_json(state))
        return
    app.term.line(state.called)
    if every:
        _show_all(app.term, state)
    else:
        _show(app.term, state)
    for one in state.amiss:
        app.term.warn(f"{one.what} {one.why} {one.do}")
    if not state.amiss:
        app.term.note("nothing needs attention")


def _json(state: _State) -> dict[str, Any]:
    now = state.now
    assert now is not None
    budget = asdict(now.budget) | {
        "reserved": now.budget.reserved,
        "used": now.budget.used,
        "available": now.budget.available,
    }
    told = asdict(now) | {"budget": budget, "proxied": None}
    if state.proxied is not None:
        told |= instead_of_own_window(state.proxied)
    if state.embedding is not None:
        told["embedding"] = asdict(state.embedding)
    return told | {
        "quotas": [use._asdict() for use in state.uses],
        "concerns": [asdict(one) for one in state.amiss],
        "formation": _formation(state.formed),
        "adopted": state.is_adopted,
        "metrics": state.metrics.to_dict(),
    }


async def _called(term: Term, memory: Memory, own: SessionRow, rows: Sequence[SessionRow]) -> str:
    """What a session is called: its title, if it has one, then its name as it can be typed."""
    from pagefault.service.lookup.names import brief_names

    title = (await shown_titles(memory, [own])).get(own.session_id, "")
    name = named(brief_names(rows)[own.session_id]) or own.session_id
    if not title or title == name:
        return term.style(name, "bold")
    return f"{term.style(one_line(title), 'bold')}  {term.style(name, 'dim')}"


_WIDTH: Final = 16  # of the gauge


def _show(term: Term, state: _State) -> None:
    """What most people want to know, one line each."""
    told, now = state.metrics.figures, state.now
    talk = now or state.row
    rows = [["conversation", f"{plural(talk.turns, 'turn')}, {plural(talk.pages, 'page')}"]]
    if state.proxied is not None:
        rows += rows_of(state.proxied)[:4]
    elif now is not None:
        filled = min(_WIDTH, round(_WIDTH * now.request_tokens / now.window_tokens))
        gauge = "█" * filled + "░" * (_WIDTH - filled)
        share = now.request_tokens / now.window_tokens
        size = f"{now.request_tokens:,} of {now.window_tokens:,} tokens ({share:.0%})"
        rows += [["window", f"{gauge} {size}"], ["pages", pages_of(now)]]
        if now.pinned:
            rows.append(["pinned", ", ".join(now.pinned)])
    if state.control != "assist":
        rows.append(["memory mode", state.control])
    if told["requests"]:
        survival = told["prefix_survival"]
        is_followed = survival is not None and told["requests"] > 1
        kept = f"; {survival:.0%} of each prefix kept" if is_followed else ""
        times = f"rewritten {plural(told['epochs'], 'time')}"
        rows.append(["requests", f"{told['requests']:,}, {times}{kept}"])
    back = told["brought_back"]
    if back:
        by_model = told["faults"]
        how = f"{back - by_model:,} by recall, {by_model:,} by the model"
        rows.append(["brought back", f"{plural(back, 'page')}: {how}"])
    if told["recalls"]:
        wrong = told["recalls_corrected"]
        rows.append(
            ["recalls", f"{told['recalls']:,}, {wrong or 'none'} contradicted by the next message"]
        )
    if state.embedding is not None:
        rows.append(["vectors", _vectors(state.embedding)])
    told = _formation(state.formed)
    if told["ranges"] != told["due"]:
        done = f"{told['formed']:,} of {plural(told['ranges'], 'range')} formed"
        rows.append(["memory", f"{done}, at a cost of {told['tokens']:,} tokens"])
    rows += _quotas(one for one in state.uses if _matters(one))
    width = max(len(name) for name, _ in rows)
    for name, value in rows:
        term.line(f"  {term.style(name.ljust(width), 'dim')}  {value}")


def _formation(formed: list[Formed]) -> dict[str, int]:
    """The session's ranges by outcome, and the cost of asking for them."""
    outcomes = ("formed", "nothing", "given_up", "begun", "due")
    counts = {one: sum(each.outcome == one for each in formed) for one in outcomes}
    return {"ranges": len(formed), **counts, "tokens": sum(one.tokens for one in formed)}


def _matters(use: QuotaUse) -> bool:
    """Whether somebody set this quota, or half of it is used."""
    return use.limit != defaults.TOOL_BYTES_PER_MINUTE or 2 * use.used >= use.limit


def _quotas(uses: Iterable[QuotaUse]) -> list[list[str]]:
    return [
        [f"{use.quota.replace('_', ' ')} {use.owner}".rstrip(), f"{use.used:,} of {use.limit:,}"]
        for use in uses
    ]


def _show_all(term: Term, state: _State) -> None:
    """Every figure, with its target if it has one."""
    now, control, metrics = state.now, state.control, state.metrics
    rows = [["turns", f"{(now or state.row).turns:,}"]]
    if state.proxied is not None:
        rows += [["pages", f"{(now or state.row).pages:,}"], *rows_of(state.proxied)]
    elif now is not None:
        share = now.request_tokens / now.window_tokens
        rows += [
            ["pages", pages_of(now)],
            ["window", f"{now.request_tokens:,} of {now.window_tokens:,} tokens ({share:.0%})"],
            ["mode", now.mode if control == "assist" else f"{now.mode}, {control}"],
            ["pinned", ", ".join(now.pinned) or "nothing"],
        ]
    if state.embedding is not None:
        rows.append(["vectors", _vectors(state.embedding)])
    rows += _quotas(state.uses)
    rows.append(["pages by tier", _tiers(metrics.figures["tiers"])])
    rows += [[words, number(metrics.figures[name])] for name, words in _SHOWN.items()]
    rows += [
        [f"faults, {reason.replace('_', ' ')}", _success(told)]
        for reason, told in metrics.figures["fault_success_by_reason"].items()
    ]
    term.table(["measure", "value"], rows)
    term.line("")
    term.table(
        ["figure", "target", "measured", "met"],
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


def pages_of(now: Status) -> str:
    """The number of pages, how many of them are in the window, and what else is."""
    held = f"{now.resident_pages - now.resident_derived:,} in the window"
    beside = plural(now.resident_derived, "summary or claim", "summaries and claims")
    return f"{now.pages:,}, {held}" + (f" with {beside}" if now.resident_derived else "")


def _success(told: dict[str, Any]) -> str:
    return f"{told['calls']:,} requested · {told['served']:,} served · {told['cited']:,} cited"


def _tiers(tiers: dict[str, dict[str, int]]) -> str:
    held = [f"{tier} {of['pages']:,}" for tier, of in tiers.items() if of["pages"]]
    return " · ".join(held) or "none"


def _vectors(now: EmbeddingStatus) -> str:
    failed = f"; the embedder fails: {now.failure}" if now.failure else ""
    return f"{now.embedded:,} pages embedded, {now.missing:,} missing{failed}"


def _met(one: Judged) -> str:
    if one.waits_for:
        return f"too early: needs {one.waits_for}"
    if one.is_met is None:
        return "–"
    if one.is_met:
        return "yes"
    return "no: red flag" if one.is_aim else "n/a for this layout"


@click.command(cls=Command)
@session_argument
@json_option
def ledger(app: App, session_name: str | None) -> None:
    """Show each request's predicted cost, the provider's report, and why they differ.

    `tokens`, `cached` and `cost` are predictions; `counted`, `read` and `reported` are the
    provider's figures, ? if it does not report its cache. Costs are in effective input tokens, by
    the configured price list, or else that of the model requested by a proxy's client. Without
    SESSION, the last one used (forks and MCP notes excluded).

    JSON: {session, prices, calls: [{request, turn, seq, at, change, prompt_tokens, volatile_tokens,
    survival, predicted_cached, predicted_cost, broke, epoch, reported, reported_cost,
    disagreement}], summary}.
    """
    from pagefault.pack.ledger import summary
    from pagefault.service.inspection.ledger import prices_of

    async def read(session: Session) -> tuple[str, Any, Entries]:
        entries = await session.ledger()
        return session.called, prices_of(entries, session.prices), entries

    name, prices, entries = app.read(session_name, read)
    lines = [entry.line(prices) for entry in entries]
    if app.as_json:
        calls = entries.to_dicts(prices)
        told = summary(prices, lines)
        app.term.data({"session": name, "prices": prices.name, "calls": calls, "summary": told})
        return
    if lines:
        app.term.table(
            ["request", "turn", "tokens", "cached", "cost", "counted", "read", "reported", "why"],
            [
                [
                    str(entry.packed.request),
                    str(entry.turn),
                    f"{line.prompt_tokens:,}",
                    f"{line.predicted_cached:,}",
                    f"{line.predicted_cost:,.0f}",
                    *_reported(line),
                    _why(entry, line),
                ]
                for entry, line in zip(entries, lines, strict=True)
            ],
            right="request turn tokens cached cost counted read reported",
        )
    cost = sum(line.predicted_cost for line in lines)
    reports = [line.reported_cost for line in lines if line.reported_cost is not None]
    said = f"{sum(reports):,.0f} as reported by the provider for {len(reports):,}"
    app.term.note(
        f"{plural(len(lines), 'call')} in {called(name)}, {cost:,.0f} by {prices.name!r}; "
        + (said if reports else "the provider reported no cache use")
    )


def _reported(line: Line) -> list[str]:
    """The provider's count, what it read from its cache, and the cost by that."""
    if line.reported is None:
        return ["", "", ""]
    counted, read = line.reported.input_tokens, line.reported.cached_tokens
    if read is None or line.reported_cost is None:
        return [f"{counted:,}", "?", "?"]
    return [f"{counted:,}", f"{read:,}", f"{line.reported_cost:,.0f}"]


def _why(entry: Entry, line: Line) -> str:
    """What began, why not all of the previous request was cached, how the provider disagrees."""
    change = entry.relayed.change if entry.relayed is not None else ""
    broke = str(line.broke)
    told = [f"epoch: {line.epoch}" if line.epoch else ""]
    told.append(f"by the client: {change}" if broke == "client_changed" else broke)
    if line.reported is not None:
        told.append(str(line.disagreement))
    return ", ".join(one.replace("_", " ") for one in told if one and one != "epoch")
