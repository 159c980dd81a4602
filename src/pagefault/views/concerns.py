"""Concerns: the problems of a session that somebody should look at, and what to do about each.

Only known problems are listed, not figures that have no target or cannot be judged yet.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from pagefault.model.reprs import counted
from pagefault.pack.bill import BillRow
from pagefault.service.derived.claims import ClaimInfo
from pagefault.service.inspection.relayed import Proxied
from pagefault.service.inspection.report import Metrics
from pagefault.service.inspection.targets import Judged, Target
from pagefault.service.memory import Memory
from pagefault.service.session import Session


@dataclass(frozen=True, slots=True, kw_only=True)
class Concern:
    """`what` is wrong, `why` it matters, and what to `do`. `figure` names the missed target if that
    is the problem, `claims` or `imports` if it is one of them.
    """

    what: str
    why: str
    do: str
    figure: str = ""


async def concerns_of(
    memory: Memory, session: Session, metrics: Metrics, proxied: Proxied | None
) -> list[Concern]:
    """The concerns of a session; `metrics` and `proxied` are its current figures."""
    bill = await memory.bill(session.session_id)
    return list(concerns(metrics, proxied, bill.total, await session.claims()))


def concerns(
    metrics: Metrics | None, proxied: Proxied | None, bill: BillRow, claims: Sequence[ClaimInfo]
) -> Iterator[Concern]:
    """All concerns, most expensive first; without `metrics`, none of missed targets."""
    if proxied is not None and proxied.over_window:
        yield Concern(
            what=f"{counted(proxied.over_window, 'request')} larger than the window.",
            why="The client's tools, instructions and newest messages alone exceed the limit.",
            do="Raise `--window`, or remove tools from the client.",
        )
    if bill.unmarked.requests and bill.marking_saves >= 1:  # else no advice would pay
        yield Concern(
            what=f"{counted(bill.unmarked.requests, 'request')} without a cache mark.",
            why="This provider caches only what a client marks, so every token cost the full "
            f"price. With marks they would have cost {bill.marking_saves:,.0f} input tokens less.",
            do="Turn on prompt caching in the client, or run `pagefault serve --mark`.",
        )
    edited = bill.misses.get("edited")
    if edited is not None:
        yield Concern(
            what=f"The client edited old messages in {counted(edited.requests, 'request')}.",
            why=f"Each edit invalidated the provider's cache: {edited.tokens:,} tokens had to be "
            "processed again.",
            do="Find the hook or setting of the client that changes earlier messages.",
        )
    for subject, number in _conflicts(claims):
        yield Concern(
            what=f"{number} claims disagree about “{subject}”.",
            why="All of them stand, so the model may be shown any of them.",
            do="Retract the wrong ones: `pagefault claims retract ID`.",
            figure="claims",
        )
    lapsed = [one for one in claims if one.status in ("stale", "expired")]
    if lapsed:
        yield Concern(
            what=f"{len(lapsed)} of {counted(len(claims), 'claim')} no longer hold"
            f"{'s' * (len(lapsed) == 1)}.",
            why="Their evidence changed or is gone, or they were not checked for too long. "
            "Requests no longer present them as true.",
            do="Check, edit or retract them: `pagefault cards review` lists them.",
            figure="claims",
        )
    if bill.unpriced and proxied is not None:  # unproxied, it may be no provider's model at all
        yield Concern(
            what=f"{counted(bill.unpriced, 'request')} to a model with unknown prices.",
            why="The bill counts their tokens but not their cost.",
            do="Set PAGEFAULT_PRICES to a model with such prices (`pagefault models`), or to "
            "READ/WRITE, as 0.10/1.25; or write `prices` into the file of `pagefault config path`.",
        )
    for judged in metrics.red_flags if metrics is not None else ():
        yield _missed(judged)


def _conflicts(claims: Sequence[ClaimInfo]) -> Iterator[tuple[str, int]]:
    """Subjects on which standing claims of one type differ, and how many values there are."""
    said: dict[tuple[str, str], dict[str, str]] = {}
    for one in claims:
        if one.status == "standing" and one.subject:
            values = said.setdefault((one.type, one.subject.casefold()), {})
            values.setdefault(one.value.casefold(), one.subject)
    for values in said.values():
        if len(values) > 1:
            yield next(iter(values.values())), len(values)


def _missed(judged: Judged) -> Concern:
    target = judged.target
    what, why, do = WORDS[target.name]
    return Concern(
        what=f"{what}: {_figure(judged.value, target)}; the target is "
        f"{_RELATIONS[target.relation]} {_figure(target.bound, target)}.",
        why=why,
        do=do,
        figure=target.name,
    )


_RELATIONS: Final = {"<": "less than", ">": "more than", "≤": "at most", "≥": "at least"}


def _figure(value: float | None, target: Target) -> str:
    """A figure as people say it: what is asked to be below or above a part of 1 is a share."""
    assert value is not None, "what is missed has a value"
    return f"{value:.0%}" if 0 < target.bound < 1 else f"{value:g}"


WORDS: Final = {
    "fault_rate_needed": (
        "The model had to load many of the pages it needed",
        "Each costs it a call before it can answer.",
        "Use a larger window, or raise the recall limit, so that more of them stay in it.",
    ),
    "thrash_index": (
        "The same pages leave the window and come back",
        "The current topic does not fit the window.",
        "Use a larger window, or pin what is always needed.",
    ),
    "recall_success": (
        "The user often corrects answers about the past",
        "The next message said that the answer was wrong.",
        "Check what was brought back for those answers.",
    ),
    "compression_ratio": (
        "Summaries save little",
        "They are not much shorter than what they summarise.",
        "If the messages themselves are short, there is nothing to do.",
    ),
    "context_utilisation": (
        "The window stays half empty",
        "This layout is meant to fill it.",
        "A smaller window costs less.",
    ),
    "effective_tokens": (
        "Answers use little of the prompt",
        "Most of it is neither cited nor asked for.",
        "A smaller window costs less.",
    ),
    "prefetch_hit_rate": (
        "Prefetched pages are rarely used",
        "Prefetching costs disk time, but no tokens.",
        "Turn it off with `prefetch = none`.",
    ),
    "fault_p95_ms": (
        "Bringing a page back is slow",
        "One in twenty takes longer than this many milliseconds.",
        "Check the disk that the memory is on.",
    ),
    "tlb_hit_rate": (
        "Many page look-ups miss the cache in memory",
        "Each miss reads from disk.",
        "Answers are not affected: the session just reads far back.",
    ),
    "prefix_breaks_outside_epochs": (
        "The prefix of requests changed when it should not have",
        "Each change invalidated the provider's cache.",
        "This is a bug in pagefault: please report it, with `pagefault ledger --json`.",
    ),
    "epochs_share": (
        "The window is rewritten often",
        "After each rewrite, the provider must process the prompt from scratch.",
        "Use a larger window.",
    ),
    "regret": (
        "Rewrites came at bad times",
        "In hindsight, the same requests could have cost less.",
        "If the prices are not your provider's, change the setting `prices`.",
    ),
    "user_requested_recall": (
        "Few pages are loaded because the user asked for them",
        "The model loads pages for its own reasons, some of them in vain.",
        "See `pagefault faults --by reason`.",
    ),
    "resolve_reference": (
        "Most pages are loaded to resolve a reference",
        "What is referred to leaves the window too early.",
        "Use a larger window, or raise the recall limit, so that more of it stays there.",
    ),
    "tool_prereq": (
        "Many pages are loaded because a tool needs them",
        "Tools use what has left the window.",
        "Pin what tools always need.",
    ),
    "speculative": (
        "Many pages are loaded just in case",
        "Each costs tokens, needed or not.",
        "See `pagefault faults --by reason`.",
    ),
}
"""Each missed target in words, for readers who do not know its name."""
