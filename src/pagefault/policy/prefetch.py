"""Prefetch strategies: from facts about a session to the pages it may want soon.

A strategy is a plug-in: a name, and a function of the facts. It loads nothing and costs the model
nothing; `service/turn/prefetch.py` acts on its wishes. There are four sets: `on_demand` has none,
`predictive` those for what is usually needed, `contextual` adds those that look at neighbouring and
similar pages, `speculative` adds every page that a text names by its id.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Protocol, TypeVar

from pagefault.model.ids import PageId

KEPT_MAX: Final = 512  # pages, and tools

K = TypeVar("K")


class Habits:
    """Counts of which pages were used after which page, and before which tool's results."""

    def __init__(self) -> None:
        self._after: dict[PageId, Counter[PageId]] = {}
        self._before: dict[str, Counter[PageId]] = {}

    def used(self, page_id: PageId, after: PageId | None) -> None:
        if after is not None and after != page_id:
            self._note(self._after, after, page_id)

    def called(self, tool: str, with_pages: Sequence[PageId]) -> None:
        """A tool's result arrived after these pages were used in the same turn."""
        for page_id in with_pages:
            self._note(self._before, tool, page_id)

    def after(self, page_id: PageId) -> list[PageId]:
        """The pages used after it, most frequent first."""
        return _ranked(self._after.get(page_id))

    def before(self, tool: str) -> list[PageId]:
        """The pages used before this tool's results, most frequent first."""
        return _ranked(self._before.get(tool))

    def _note(self, counts: dict[K, Counter[PageId]], key: K, page_id: PageId) -> None:
        counts[key] = found = counts.pop(key, None) or Counter()
        found[page_id] += 1
        while len(counts) > KEPT_MAX:
            del counts[next(iter(counts))]


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """The facts known when a request was packed. Sequences begin with the likeliest page."""

    summaries: Sequence[PageId] = ()  # latest first
    claims: Sequence[PageId] = ()  # latest first
    tools: Sequence[str] = ()  # called lately, latest first
    used: Sequence[PageId] = ()  # faulted, recalled or cited lately, latest first
    similar: Sequence[PageId] = ()  # found for the newest message, beyond what was brought in
    named: Sequence[PageId] = ()  # by a text of this turn
    procedures: Mapping[str, Sequence[PageId]] = field(default_factory=dict)  # of those tools
    habits: Habits = field(default_factory=Habits)


def _ranked(counts: Mapping[PageId, int] | None) -> list[PageId]:
    return sorted(counts or (), key=lambda page_id: (-(counts or {})[page_id], page_id))


@dataclass(frozen=True, slots=True, order=True)
class Wish:
    """A page that may be wanted. Wishes sort by likelihood, the likeliest first."""

    rank: float
    page_id: PageId
    strategy: str = field(compare=False)


class Strategy(Protocol):
    """A plug-in, built in or passed to `pagefault.open(prefetch=…)`. `weight`, 0 to 1, is roughly
    the probability that its first wish is used.
    """

    @property
    def name(self) -> str: ...

    @property
    def weight(self) -> float: ...

    def pages(self, facts: Facts) -> Sequence[str]:
        """The pages to load, likeliest first."""
        ...


@dataclass(frozen=True, slots=True)
class _BuiltIn:
    """A strategy that is a function of the facts."""

    name: str
    weight: float
    wanted: Callable[[Facts], Iterable[PageId]]

    def pages(self, facts: Facts) -> Sequence[PageId]:
        return list(self.wanted(facts))


def _prerequisites(facts: Facts) -> Iterator[PageId]:
    """Procedures for a tool in use, and the pages read before its earlier calls."""
    for tool in facts.tools:
        yield from facts.procedures.get(tool, ())
        yield from facts.habits.before(tool)[:3]


def _learned(facts: Facts) -> Iterator[PageId]:
    """The pages that followed the pages in use at earlier times."""
    for used in facts.used:
        yield from facts.habits.after(used)[:2]


def _sequential(facts: Facts) -> Iterator[PageId]:
    """The pages after a page in use: reading continues."""
    for used in facts.used[:2]:
        stem, _, number = used.rpartition("_")
        yield from (PageId(f"{stem}_{int(number) + step}") for step in (1, 2))


_PREDICTIVE: Final[tuple[Strategy, ...]] = (
    _BuiltIn("last_summaries", 0.3, lambda facts: facts.summaries[:2]),  # "what did we discuss"
    _BuiltIn("top_claims", 0.4, lambda facts: facts.claims[:3]),
    _BuiltIn("tool_prerequisites", 0.5, _prerequisites),
    _BuiltIn("learned", 0.6, _learned),
)
_CONTEXTUAL: Final[tuple[Strategy, ...]] = (
    *_PREDICTIVE,
    _BuiltIn("sequential", 0.5, _sequential),
    _BuiltIn("similar", 0.7, lambda facts: facts.similar[:5]),  # that had no room
)

LOADING: Final[dict[str, tuple[Strategy, ...]]] = {
    "on_demand": (),
    "predictive": _PREDICTIVE,
    "contextual": _CONTEXTUAL,
    "speculative": (*_CONTEXTUAL, _BuiltIn("named", 0.9, lambda facts: facts.named)),
}


def wishes(strategies: Sequence[Strategy], facts: Facts) -> Iterator[Wish]:
    """The wishes of all strategies. A page wished for by several appears several times."""
    for strategy in strategies:
        for place, page_id in enumerate(strategy.pages(facts)):
            yield Wish(-strategy.weight / (1 + place), PageId(page_id), strategy.name)
