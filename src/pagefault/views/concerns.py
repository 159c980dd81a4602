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
    """`what` is wrong, `why` it matters, and what to `do`; `figure` names the missed target, if
    that is the problem.
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
            why="The client's own tools and instructions, with what it just said, took more room "
            "than the limit leaves.",
            do="Give `--window` more tokens, or take tools out of the client.",
        )
    if bill.unmarked.requests:
        yield Concern(
            what=f"{counted(bill.unmarked.requests, 'request')} without a cache mark.",
            why="This provider caches only what a client marks, so every token was paid in full; "
            f"marked, they would have cost {bill.marking_saves:,.0f} input tokens less.",
            do="Turn prompt caching on in the client, or have it done: `pagefault serve --mark`.",
        )
    edited = bill.misses.get("edited")
    if edited is not None:
        yield Concern(
            what=f"The client edited old messages in {counted(edited.requests, 'request')}.",
            why=f"The provider's cache was lost each time: {edited.tokens:,} tokens had to be read "
            "again.",
            do="Look which hook or setting of the client changes what was said before.",
        )
    for subject, number in _conflicts(claims):
        yield Concern(
            what=f"{number} claims say different things about “{subject}”.",
            why="All of them stand, so the model may be told either.",
            do="Retract those that are wrong: `pagefault claims retract ID`.",
        )
    lapsed = [one for one in claims if one.status in ("stale", "expired")]
    if lapsed:
        yield Concern(
            what=f"Of {len(claims)} claims {len(lapsed)} hold{'s' * (len(lapsed) == 1)} no more.",
            why="What one rests on changed or is gone, or nobody checked it for too long, so no "
            "request shows it as if it held.",
            do="Check, edit or retract what is listed: `pagefault cards review`.",
        )
    if bill.unpriced and proxied is not None:  # unproxied, it may be no provider's model at all
        yield Concern(
            what=f"{counted(bill.unpriced, 'request')} to a model whose prices are not known.",
            why="The bill counts their tokens, and no cost.",
            do="Say which price list applies: `pagefault config`, `prices`.",
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
        what=f"{what}: {_figure(judged.value, target)}, where {_RELATIONS[target.relation]} "
        f"{_figure(target.bound, target)} is asked.",
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
        "Many needed pages had to be asked for",
        "Each costs the model a call before it can answer.",
        "A larger window, or more room for recall, keeps more of them there.",
    ),
    "thrash_index": (
        "The same pages leave and come back",
        "What is talked about does not fit the window.",
        "Give the session a larger window, or pin what is always needed.",
    ),
    "recall_success": (
        "Answers about the past are often corrected",
        "The user's next message said that they were wrong.",
        "Look at what was brought back for them, above.",
    ),
    "compression_ratio": (
        "Summaries save little",
        "They are not much shorter than what they stand for.",
        "Short messages have short summaries: nothing to do, if the talk is like that.",
    ),
    "context_utilisation": (
        "The window stays half empty",
        "In this layout it is meant to be full.",
        "A smaller window costs less.",
    ),
    "effective_tokens": (
        "Answers use little of what is sent",
        "Most of the prompt is neither cited nor asked for.",
        "A smaller window costs less.",
    ),
    "prefetch_hit_rate": (
        "What is read ahead is not used",
        "Reading ahead costs time on disk, and no tokens.",
        "Turn it off: `prefetch = none`.",
    ),
    "fault_p95_ms": (
        "Bringing a page back is slow",
        "One in twenty takes longer than this, in milliseconds.",
        "Look at the disk that the memory is on.",
    ),
    "tlb_hit_rate": (
        "Look-ups of pages miss the table in memory",
        "Each goes to the disk.",
        "Nothing is wrong with the answers; the session reads far back.",
    ),
    "prefix_breaks_outside_epochs": (
        "The beginning of requests changed when it should not",
        "The provider's cache was lost each time.",
        "This is a mistake of pagefault's: please report it with `pagefault ledger --json`.",
    ),
    "epochs_share": (
        "The window is rewritten often",
        "Each rewrite makes the provider read it all again.",
        "Give the session a larger window.",
    ),
    "regret": (
        "Rewrites came at a bad time",
        "In hindsight the same requests could have cost less.",
        "If prices are not the provider's, set them: `pagefault config`, `prices`.",
    ),
    "user_requested_recall": (
        "Few pages are asked for because the user wants them",
        "The model loads pages for reasons of its own, a share of them for nothing.",
        "Look at `pagefault faults --by reason`.",
    ),
    "resolve_reference": (
        "Most pages are asked for to find out what something refers to",
        "What is referred to leaves the window too early.",
        "A larger window, or more room for recall, keeps more of it there.",
    ),
    "tool_prereq": (
        "Many pages are asked for because a tool needs them",
        "Tools read what the window no longer has.",
        "Pin what tools always need.",
    ),
    "speculative": (
        "Many pages are asked for in case they are needed",
        "Each is paid for, needed or not.",
        "Look at `pagefault faults --by reason`.",
    ),
}
"""Each missed target in words, for readers who do not know its name."""
