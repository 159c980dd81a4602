"""The policy bench: every eviction policy against the optimum, on traces and on recorded windows.

The traces are from papers, with pages of weight one, so their optimum is exact. In recorded
windows, pages have their real weights; there, misses are compared with a lower bound, and with a
choice that knows the future (`lab/bounds.py`). Policies are wrapped there as in a session.

A default is chosen on half of the recorded conversations, every other one by name, and judged on
the rest: by the mean, over conversations and windows, of its misses over the bound's. The default
is only replaced by a policy that is better by `MARGIN`; less is noise.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from statistics import mean
from typing import Any, Final

from pagefault.lab.bounds import Belady
from pagefault.lab.caches import alike, misses, optimal_misses
from pagefault.lab.compare import PRICES
from pagefault.lab.page_traces import PageTrace, record
from pagefault.lab.rules import RULES
from pagefault.lab.traces import KNOWN_LRU, Trace, name_of, read_trace
from pagefault.lab.transcripts import Conversation
from pagefault.lab.windows import (
    Played,
    by_rule,
    each_time,
    in_batches,
    least_each_time,
    least_in_batches,
)
from pagefault.model import defaults
from pagefault.model.errors import BadInput
from pagefault.model.progress import StageProgress
from pagefault.paging.questions import EvictionPolicy
from pagefault.policy.steady import Steady
from pagefault.service.bootstrap import POLICIES

WINDOWS: Final = (2_000, 4_000, 8_000)
OPTIMUM: Final = "belady"
UNSTEADY: Final = "lru_unsteady"  # without the wrapper against thrashing, to show its worth

MARGIN: Final = 0.01

Make = Callable[[], EvictionPolicy]


def choose(
    paths: Sequence[Path], conversations: Sequence[Conversation], only: Sequence[str]
) -> tuple[list[Path], list[Conversation]]:
    """The traces and conversations of these names; all if none is named. Raises `BadInput`."""
    names = [*map(name_of, paths), *(one.name for one in conversations)]
    unknown = [name for name in only if name not in names]
    if unknown:
        raise BadInput(
            f"there is no trace or conversation {unknown[0]!r}", hint=f"one of {', '.join(names)}"
        )
    wanted = only or names
    return (
        [path for path in paths if name_of(path) in wanted],
        [one for one in conversations if one.name in wanted],
    )


def bench_traces(paths: Sequence[Path], *, progress: StageProgress) -> dict[str, Any]:
    """Miss ratios of every policy on every trace, beside the published figures of LRU."""
    traces: dict[str, Any] = {}
    for number, path in enumerate(paths, 1):
        trace = read_trace(path)
        traces[trace.name] = _trace(trace, progress)
        progress("traces", number, len(paths))
    off = [row["known_lru_off_by"] for one in traces.values() for row in one["sizes"].values()]
    known = [points for points in off if points is not None]
    return {
        "known_lru_rows": len(known),
        "known_lru_off_by_max": max(known, default=None),
        "traces": traces,
    }


def _trace(trace: Trace, progress: StageProgress) -> dict[str, Any]:
    references, pages = trace.references, alike(trace.references)
    total, done = len(references), 0
    sizes: dict[str, Any] = {}
    for size in trace.sizes:
        optimum = optimal_misses(references, size)
        row: dict[str, Any] = {}
        for name, make in POLICIES.items():
            missed = misses(make(), references, pages, size)
            row[name] = {
                "miss_ratio": round(missed / total, 5),
                "over_optimum": round(missed / optimum, 4),
            }
            done += 1
            progress(trace.name, done, len(trace.sizes) * len(POLICIES))
        known = KNOWN_LRU.get(trace.name, {}).get(size)
        hits = round(100 * (1 - row["lru"]["miss_ratio"]), 2)
        sizes[str(size)] = {
            "optimum_miss_ratio": round(optimum / total, 5),
            "policies": row,
            "lru_hit_percent": hits,
            "known_lru_hit_percent": known,
            "known_lru_off_by": None if known is None else round(abs(hits - known), 3),
        }
    return {"references": total, "pages": len(pages), "sizes": sizes}


async def bench_windows(
    conversations: Sequence[Conversation],
    *,
    windows: Sequence[int] = WINDOWS,
    questions_max: int | None = None,
    progress: StageProgress,
) -> dict[str, Any]:
    """Policies on the page traces of conversations, recorded at several windows."""
    traces = [
        await record(one, window=window, questions_max=questions_max, progress=progress)
        for one in conversations
        for window in windows
    ]
    told: list[dict[str, Any]] = []
    for number, trace in enumerate(traces, 1):
        told.append(_window(trace))
        progress("windows", number, len(traces))
    names = sorted({one.name for one in conversations})
    chosen_on = names[::2]
    first = [one for one in told if one["name"] in chosen_on]
    rest = [one for one in told if one["name"] not in chosen_on]
    scored = [*POLICIES, UNSTEADY, OPTIMUM]
    scores = {name: _score(first, name) for name in scored}
    best = min(POLICIES, key=lambda name: (scores[name], name != defaults.EVICTION_POLICY))
    is_better = scores[best] < (1 - MARGIN) * scores[defaults.EVICTION_POLICY]
    return {
        "windows_tokens": list(windows),
        "recorded": told,
        "chosen_on": chosen_on,
        "scores": scores,
        "scores_of_the_others": {name: _score(rest, name) for name in scored} if rest else None,
        "best": best,
        "chosen": best if is_better else defaults.EVICTION_POLICY,
        "default": defaults.EVICTION_POLICY,
        "when_and_which": _when_and_which(traces),
    }


def _score(told: Sequence[Mapping[str, Any]], name: str) -> float:
    """The mean of misses over the bound's, at the recorded epochs."""
    ratios: list[float] = [one["in_batches"]["policies"][name]["over_bound"] for one in told]
    return round(mean(ratios), 4)


def _window(trace: PageTrace) -> dict[str, Any]:
    makers = _makers(trace)
    references = trace.references
    return {
        "name": trace.name,
        "window_tokens": trace.window_tokens,
        "head_tokens": trace.head_tokens,
        "room_tokens": trace.room_tokens,
        "target_tokens": trace.target_tokens,
        "requests": sum(bool(step.said) for step in trace.steps),
        "references": len(references),
        "pages": len(trace.pages),
        "page_tokens": sum(page.tokens for page in trace.pages.values()),
        "epochs": sum(step.epoch for step in trace.steps),
        "in_batches": _beside(trace, makers, in_batches, least_in_batches),
        "each_time": _beside(trace, makers, each_time, least_each_time),
    }


def _makers(trace: PageTrace) -> dict[str, Make]:
    def steady(make: Make) -> Make:
        return lambda: Steady(make())

    makers = {name: steady(make) for name, make in POLICIES.items()}
    makers[UNSTEADY] = POLICIES["lru"]
    makers[OPTIMUM] = lambda: Belady(trace.references, trace.pages)
    return makers


def _beside(
    trace: PageTrace,
    makers: Mapping[str, Make],
    play: Callable[[PageTrace, EvictionPolicy], Played],
    least: Callable[..., int],
) -> dict[str, Any]:
    played = {name: play(trace, make()) for name, make in makers.items()}
    bound = least(trace, reached=min(one.misses for one in played.values()))
    first = len(trace.pages)
    return {
        "bound_misses": bound,
        "bound_returns": max(0, bound - first),
        "policies": {
            name: {
                "misses": one.misses,
                "miss_ratio": round(one.misses / len(trace.references), 5),
                "over_bound": round(one.misses / bound, 4),
                "returns": one.returns,
                "returns_over_belady": (
                    round(one.returns / played[OPTIMUM].returns, 4)
                    if played[OPTIMUM].returns
                    else None
                ),
            }
            for name, one in played.items()
        },
    }


def _when_and_which(traces: Sequence[PageTrace]) -> dict[str, Any]:
    """Costs over all traces: each epoch rule with the default policy, LRU, and foresight."""
    prices = PRICES[0]
    told: dict[str, Any] = {}
    for rule, make_rule in RULES.items():
        told[rule] = {}
        for name in (defaults.EVICTION_POLICY, "lru", OPTIMUM):
            played = [by_rule(trace, _makers(trace)[name](), make_rule(prices)) for trace in traces]
            cost = sum(one.cost for one in played)
            returned = sum(one.returns_cost for one in played)
            told[rule][name] = {
                "effective_input_cost": round(cost),
                "returns": sum(one.returns for one in played),
                "returns_cost_share": round(returned / cost, 4) if cost else None,
                "epochs": sum(len(one.epochs) for one in played),
            }
    return {"prices": prices.name, "rules": told}
