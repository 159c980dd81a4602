"""What might be wanted soon: strategies that are told facts of a session and name pages.

A strategy is a plug-in: a name, and a function of the facts. It loads nothing and costs the model
nothing; what a wish comes to is the affair of `service/turn/prefetch.py`. Which strategies run is a
choice of four: `on_demand` none, `predictive` those that know what is usually needed,
`contextual` those that look around, too, and `speculative` whatever a text names by its id.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Protocol, TypeVar

from pagefault.model.ids import PageId

K = TypeVar("K")


class Habits:
    """Which pages were used after which, and before which tool's results: counts, no more."""

    def __init__(self, kept_max: int = 512) -> None:
        self._kept_max = kept_max
        self._after: dict[PageId, Counter[PageId]] = {}
        self._before: dict[str, Counter[PageId]] = {}

    def used(self, page_id: PageId, after: PageId | None) -> None:
        if after is not None and after != page_id:
            self._note(self._after, after, page_id)

    def called(self, tool: str, with_pages: Sequence[PageId]) -> None:
        """A tool's result came in after these pages were used in the same turn."""
        for page_id in with_pages:
            self._note(self._before, tool, page_id)

    def after(self, page_id: PageId) -> list[PageId]:
        """What was used after it, oftenest first."""
        return _ranked(self._after.get(page_id))

    def before(self, tool: str) -> list[PageId]:
        """What was used before this tool's results, oftenest first."""
        return _ranked(self._before.get(tool))

    def _note(self, counts: dict[K, Counter[PageId]], key: K, page_id: PageId) -> None:
        counts[key] = found = counts.pop(key, Counter())
        found[page_id] += 1
        while len(counts) > self._kept_max:
            del counts[next(iter(counts))]


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """What is known when a request was packed. Sequences begin with the likeliest."""

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
    """A page that somebody might want. Sorted, the first is the likeliest."""

    rank: float
    page_id: PageId
    strategy: str = field(compare=False)


class Strategy(Protocol):
    """A plug-in, ours or handed to `pagefault.open(prefetch=…)`. `weight` is about how likely its
    first wish is to be used: 0 to 1.
    """

    @property
    def name(self) -> str: ...

    @property
    def weight(self) -> float: ...

    def pages(self, facts: Facts) -> Sequence[str]:
        """The pages that it would load, the likeliest first."""
        ...


@dataclass(frozen=True, slots=True)
class LastSummaries:
    """What was summed up last is what "what did we discuss" asks for."""

    name: str = "last_summaries"
    weight: float = 0.3
    count: int = 2

    def pages(self, facts: Facts) -> Sequence[PageId]:
        return facts.summaries[: self.count]


@dataclass(frozen=True, slots=True)
class TopClaims:
    name: str = "top_claims"
    weight: float = 0.4
    count: int = 3

    def pages(self, facts: Facts) -> Sequence[PageId]:
        return facts.claims[: self.count]


@dataclass(frozen=True, slots=True)
class ToolPrerequisites:
    """What is said about how a tool is used, and what was read before it was called."""

    name: str = "tool_prerequisites"
    weight: float = 0.5
    count: int = 3

    def pages(self, facts: Facts) -> Sequence[PageId]:
        wanted: list[PageId] = []
        for tool in facts.tools:
            wanted += [*facts.procedures.get(tool, ()), *facts.habits.before(tool)[: self.count]]
        return wanted


@dataclass(frozen=True, slots=True)
class Learned:
    """What followed the pages in use, the last times they were used."""

    name: str = "learned"
    weight: float = 0.6
    count: int = 2

    def pages(self, facts: Facts) -> Sequence[PageId]:
        return [page for used in facts.used for page in facts.habits.after(used)[: self.count]]


@dataclass(frozen=True, slots=True)
class Sequential:
    """Who reads a page reads on."""

    name: str = "sequential"
    weight: float = 0.5
    count: int = 2

    def pages(self, facts: Facts) -> Sequence[PageId]:
        return [page for used in facts.used[:2] for page in _next(used, self.count)]


@dataclass(frozen=True, slots=True)
class Similar:
    """What bears on the newest message, and had no room beside it."""

    name: str = "similar"
    weight: float = 0.7
    count: int = 5

    def pages(self, facts: Facts) -> Sequence[PageId]:
        return facts.similar[: self.count]


@dataclass(frozen=True, slots=True)
class Named:
    """What a text names by its id may be asked for at once."""

    name: str = "named"
    weight: float = 0.9

    def pages(self, facts: Facts) -> Sequence[PageId]:
        return facts.named


_PREDICTIVE: Final[tuple[Strategy, ...]] = (
    LastSummaries(),
    TopClaims(),
    ToolPrerequisites(),
    Learned(),
)
_CONTEXTUAL: Final = (*_PREDICTIVE, Sequential(), Similar())

LOADING: Final[dict[str, tuple[Strategy, ...]]] = {
    "on_demand": (),
    "predictive": _PREDICTIVE,
    "contextual": _CONTEXTUAL,
    "speculative": (*_CONTEXTUAL, Named()),
}


def wishes(strategies: Sequence[Strategy], facts: Facts) -> Iterator[Wish]:
    """What all of them wish for; a page that several do, several times."""
    for strategy in strategies:
        for place, page_id in enumerate(strategy.pages(facts)):
            yield Wish(-strategy.weight / (1 + place), PageId(page_id), strategy.name)


def _next(page_id: PageId, count: int) -> list[PageId]:
    stem, _, number = page_id.rpartition("_")
    return [PageId(f"{stem}_{int(number) + step}") for step in range(1, count + 1)]
