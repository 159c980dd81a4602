"""The bill: the cost of requests, against the cost of the same conversations without pagefault.

Theory. `pack/cost.py` has the cost of a request of N tokens, of which C are read from the
provider's cache. The requests sent are known. Those that the client alone would have sent are a
model:

    without us     the client sends all of its history each time, to the same provider, under the
                   same caching rules: what it had sent before is read from the cache, unless the
                   cache had lapsed, or the client itself changed its beginning
    not possible   if that exceeds the model's window, there is no such request: it is counted, and
                   neither its price nor ours is compared
    nothing        if the model called memory's tools and was asked again, or was asked to form
                   memory: only pagefault causes such requests
    uncached       if the provider caches at marks alone, and the client sets none: whether or not
                   we set some for it

A provider's report replaces our estimate of what was sent. If it shows more cached tokens than
predicted, it counts for both sides, so that our luck does not look like a saving: an unexpectedly
warm cache would have been warm for the client's own request as well, and one that never held
anything would have held nothing of that either. If it shows fewer, which may be our fault, it
counts against us alone. Our counts are scaled by the provider's for the same request or, without
one, by those for the other requests of the conversation.

The net of a bill is the difference of the two totals. It already includes the costs of epochs,
quotes and calls, which are also listed separately.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Final

from pagefault.model.prices import PriceList
from pagefault.model.request import Usage
from pagefault.pack.cost import effective_input_cost
from pagefault.pack.ledger import Disagreement, reported_cost

UNCACHED_REPORTS_MIN: Final = 3  # reports of nothing read before we conclude there is no cache
PER: Final = 1_000_000  # tokens per unit of price
MISSES: Final = {
    "cold": "the cache had lapsed",
    "epoch": "pagefault rewrote it: old messages left together",
    "tools_changed": "the session's tools or settings changed",
    "reinstructed": "the client changed its tools or instructions",
    "edited": "the client changed what it had sent",
    "branched": "the client went on from an earlier message",
    "compacted": "the client compacted the conversation",
    "remodelled": "the client switched to another model",
    "begun": "the client started over",
    "same": "the client went back",
    "extended": "the client changed text outside the conversation",
    "prefix_changed": "pagefault changed the beginning: a bug",
    "unmarked": "the client sets no marks for the cache",
    "below_minimum": "too short to be cached",
    "quantum": "the rest fills no whole step of the cache",
    "provider": "the provider read less than expected, and does not say why",
}
"""Why something that had been sent before was not read from the cache, in words."""
PARTS: Final = {
    "rewritten": "resent after rewrites",
    "added": "quotes, notices and tools added by pagefault",
    "memory_calls": "follow-ups after calls of memory's tools",
    "formation": "forming memory",
}
"""The parts of what requests cost that would not have been without pagefault, in words."""
_COSTS: Final = ("cost", "estimate", "marking_saves", "saved")  # in input tokens, of a part
_NO_REPORT: Final = (Disagreement.UNREPORTED, Disagreement.COUNTED)


@dataclass(frozen=True, slots=True, kw_only=True)
class BillItem:
    """One request, from the log; tokens by our count. `without` is what the client would have sent
    itself, and `without_shared` how much of that it had sent before. With `is_ours` it would have
    sent nothing: the model had called memory's tools, and was asked again, or, with `is_formation`,
    was asked to form memory.
    """

    session: str
    model: str
    at_ms: int
    tokens: int
    predicted_cached: int
    volatile: int = 0
    before: int | None = None  # tokens of the request before it
    shared: int = 0  # the common prefix with that request
    new: int = 0  # tokens that the client had not sent before
    without: int = 0
    without_shared: int = 0
    is_ours: bool = False
    is_formation: bool = False
    left: int = 0
    added: int = 0  # tokens that we inserted
    added_new: int = 0  # of these, tokens that were not in the request before it
    is_cold: bool = False
    is_unmarked: bool = False  # the client marks nothing, and the provider caches at marks alone
    is_marked_here: bool = False  # the same, but the proxy marked for it
    epoch: str = ""
    broke: str = ""  # why the cache did not have all of the request before it
    window: int = 0  # of the model, in its tokens; 0 if unknown
    usage: Usage | None = None
    disagreement: Disagreement = Disagreement.UNREPORTED
    prices: PriceList | None = None  # None if unknown

    @property
    def report(self) -> Usage | None:
        """The provider's count, unless it cannot be a count of this request."""
        return None if self.disagreement in _NO_REPORT else self.usage


@dataclass(slots=True)
class BillPart:
    """A part of a bill. Cost in effective input tokens, of requests whose prices are known."""

    requests: int = 0
    tokens: int = 0
    cost: float = 0.0


@dataclass(slots=True)
class BillRow:
    """The sums over some requests: of a session, a day or a model, named `of`.

    Tokens are as the provider counts them, as far as that is known. Costs are in effective input
    tokens: what as many uncached tokens of input cost. `without_…` is the model of the client
    alone, an estimate always, of those requests that are `compared`: all but those that would not
    have been possible, and what the model asked of memory meanwhile.
    """

    of: str
    requests: int = 0
    unpriced: int = 0  # of these, of models whose prices are not known: tokens alone
    counted: int = 0  # those whose tokens the provider counted, priced or not
    estimated: int = 0  # of the priced ones, those whose cost no report tells
    tokens: int = 0  # that were sent
    cached_tokens: int = 0
    judged_tokens: int = 0  # of those sent, where it is known or predicted what was cached
    cost: float = 0.0
    compared: BillPart = field(default_factory=BillPart)
    without_tokens: int = 0
    without_cached_tokens: int = 0
    without_judged_tokens: int = 0
    without_cost: float = 0.0
    left_tokens: int = 0  # that the client sent, and were left out
    output_tokens: int = 0  # as reported; the same on both sides but for those after memory's calls
    reported: BillPart = field(default_factory=BillPart)  # priced, with what it read of its cache
    reported_estimate: float = 0.0  # what was predicted for these
    rewritten: BillPart = field(
        default_factory=BillPart
    )  # by epochs: sent before, and written again
    added: BillPart = field(default_factory=BillPart)  # quotes and notices
    memory_calls: BillPart = field(
        default_factory=BillPart
    )  # asked again after calls of memory's tools
    memory_output_tokens: int = 0  # of the answers to these
    formation: BillPart = field(default_factory=BillPart)  # asked to form memory
    formation_output_tokens: int = 0  # of the answers to these
    impossible: BillPart = field(
        default_factory=BillPart
    )  # larger than the model's window without us
    misses: dict[str, BillPart] = field(
        default_factory=dict
    )  # by reason: sent before, and not read
    unmarked: BillPart = field(default_factory=BillPart)  # where the client marks nothing
    marking_saves: float = 0.0  # if it had marked what it sent
    marked_here: BillPart = field(default_factory=BillPart)  # where we marked for it
    marks_saved: float = 0.0  # by that, as against the same requests without
    money: float = 0.0
    compared_money: float = 0.0
    without_money: float = 0.0
    unvalued: int = 0  # priced requests that nobody said the money for

    @property
    def net(self) -> float:
        """The saving; negative for a loss."""
        return self.without_cost - self.compared.cost

    @property
    def cached_share(self) -> float | None:
        """The share of sent tokens that were read from the cache."""
        return self.cached_tokens / self.judged_tokens if self.judged_tokens else None

    @property
    def without_cached_share(self) -> float | None:
        judged = self.without_judged_tokens
        return self.without_cached_tokens / judged if judged else None

    @property
    def is_priced(self) -> bool:
        return self.unpriced < self.requests

    @property
    def is_valued(self) -> bool:
        """Whether every priced request has an amount of money."""
        return self.is_priced and not self.unvalued

    def to_dict(self) -> dict[str, Any]:
        """As plain values; None for unknown figures."""
        told = asdict(self)
        for name in ("unvalued", "judged_tokens", "without_judged_tokens"):
            del told[name]
        told["reported"]["estimate"] = told.pop("reported_estimate")
        told["memory_calls"]["output_tokens"] = told.pop("memory_output_tokens")
        told["formation"]["output_tokens"] = told.pop("formation_output_tokens")
        told["unmarked"]["marking_saves"] = told.pop("marking_saves")
        told["marked_here"]["saved"] = told.pop("marks_saved")
        told["cached_share"] = self.cached_share
        told["without_cached_share"] = self.without_cached_share
        told["net"] = self.net
        told["net_share"] = self.net / self.without_cost if self.without_cost else None
        told["net_money"] = self.without_money - self.compared_money
        if not self.is_priced:
            told |= dict.fromkeys(("cost", "without_cost", "net", "net_share"))
            for part in (*told.values(), *told["misses"].values()):
                if isinstance(part, dict):
                    part |= {name: None for name in _COSTS if name in part}
        if not self.is_valued:
            money = ("money", "compared_money", "without_money", "net_money")
            told |= dict.fromkeys(money)
        return told


@dataclass(frozen=True, slots=True, kw_only=True)
class Bill:
    """Rows by session, day (UTC) or model, and their total. `prices` names the price list of each
    model.
    """

    by: str
    rows: list[BillRow]
    total: BillRow
    prices: dict[str, str]

    def to_dict(self) -> dict[str, Any]:
        return {
            "by": self.by,
            "prices": self.prices,
            "rows": [row.to_dict() for row in self.rows],
            "total": self.total.to_dict(),
        }


def add_up(
    named: Iterable[tuple[str, BillItem]], *, by: str, per_million: Mapping[str, float]
) -> Bill:
    """The bill of requests, each with the name of its row. `per_million` is the price of a million
    uncached input tokens, by model or for all others under "".
    """
    requests = list(named)
    habits = _habits(item for _, item in requests)
    rows: dict[str, BillRow] = {}
    total = BillRow("")
    prices: dict[str, str] = {}
    for name, item in requests:
        scale, caches = habits[item.session, item.model]
        row = rows.setdefault(name, BillRow(name))
        money = per_million.get(item.model, per_million.get(""))
        if item.prices is not None:
            prices[item.model] = item.prices.name
        for one in (row, total):
            _add(one, item, scale=scale, caches=caches, per_million=money)
    return Bill(by=by, rows=list(rows.values()), total=total, prices=prices)


def _habits(items: Iterable[BillItem]) -> dict[tuple[str, str], tuple[float, bool]]:
    """For each session and model: the provider's tokens for one of ours, and whether its cache ever
    held anything that it should have held.
    """
    counted: dict[tuple[str, str], list[int]] = {}
    for item in items:
        sums = counted.setdefault((item.session, item.model), [0, 0, 0, 0])
        report = item.report
        if report is None:
            continue
        sums[0] += report.input_tokens
        sums[1] += item.tokens
        if report.cached_tokens is not None and item.predicted_cached:
            sums[2] += 1
            sums[3] += report.cached_tokens
    return {
        key: (
            theirs / ours if ours and theirs else 1.0,
            read > 0 or reports < UNCACHED_REPORTS_MIN,
        )
        for key, (theirs, ours, reports, read) in counted.items()
    }


def _add(
    row: BillRow, item: BillItem, *, scale: float, caches: bool, per_million: float | None
) -> None:
    report, prices = item.report, item.prices
    row.requests += 1
    if report is not None and item.tokens:
        scale = report.input_tokens / item.tokens
    tokens = round(item.tokens * scale)
    predicted = min(round(item.predicted_cached * scale), tokens) if caches else 0
    known = report.cached_tokens if report is not None else None
    is_judged = known is not None or prices is not None
    cached = min(predicted if known is None else known, tokens) if is_judged else 0
    is_plain = item.is_unmarked or not caches  # nothing is written to a cache

    cost = 0.0
    row.counted += report is not None
    if prices is None:
        row.unpriced += 1
    else:
        volatile = tokens if is_plain else min(round(item.volatile * scale), tokens - predicted)
        kept = 0 if is_plain else predicted
        cost = estimate = effective_input_cost(prices, tokens, kept, volatile_tokens=volatile)
        told = None if report is None else reported_cost(prices, report, is_unwritten=is_plain)
        if told is None:
            row.estimated += 1
        else:
            cost = told
            _count(row.reported, tokens, cost)
            row.reported_estimate += estimate
        row.unvalued += per_million is None
        if item.is_marked_here:
            _count(row.marked_here, tokens, cost)
            plain = effective_input_cost(prices, tokens, 0, volatile_tokens=tokens)
            row.marks_saved += plain - cost
    worth = (per_million or 0.0) / PER

    row.tokens += tokens
    row.cached_tokens += cached
    row.judged_tokens += tokens if is_judged else 0
    row.cost += cost
    row.money += cost * worth
    row.left_tokens += round(item.left * scale)
    output = report.output_tokens if report is not None else 0
    row.output_tokens += output
    without = round(item.without * scale)
    is_possible = not item.window or without <= item.window
    if item.is_formation:
        _count(row.formation, tokens, cost)
        row.formation_output_tokens += output
    elif item.is_ours:
        _count(row.memory_calls, tokens, cost)
        row.memory_output_tokens += output
    elif not is_possible:
        _count(row.impossible, tokens, cost)
    else:
        is_plain_without = is_plain or item.is_marked_here
        kept = 0 if is_plain_without else _without_cached(item, without, scale, cached)
        row.without_tokens += without
        if is_judged:
            row.without_cached_tokens += kept
            row.without_judged_tokens += without
        if prices is not None:
            whole = effective_input_cost(
                prices, without, kept, volatile_tokens=without if is_plain_without else 0
            )
            row.without_cost += whole
            row.without_money += whole * worth
    if is_possible:
        _count(row.compared, tokens, cost)
        row.compared_money += cost * worth
    _add_parts(row, item, scale=scale, tokens=tokens, cached=cached, is_plain=is_plain)


def _count(part: BillPart, tokens: int, cost: float) -> None:
    part.requests += 1
    part.tokens += tokens
    part.cost += cost


def _without_cached(item: BillItem, without: int, scale: float, cached: int) -> int:
    """How much of its own request the client would have read from the cache."""
    is_warm = not item.is_cold or item.disagreement is Disagreement.MORE
    shared = min(round(item.without_shared * scale), without) if is_warm else 0
    kept = shared if item.prices is None else item.prices.cacheable(shared)
    return max(kept, min(cached, without)) if item.disagreement is Disagreement.MORE else kept


def _add_parts(
    row: BillRow, item: BillItem, *, scale: float, tokens: int, cached: int, is_plain: bool
) -> None:
    """Add the parts of a request's cost that have a reason of their own."""
    prices = item.prices
    read, write = (prices.read, prices.write) if prices is not None else (0.0, 0.0)
    premium = 0.0 if is_plain else write - read
    again = min(round((item.before or 0) * scale), tokens) - cached
    is_cold = item.is_cold and item.disagreement is not Disagreement.MORE
    if item.epoch and is_cold:
        _count(row.rewritten, 0, 0.0)  # all of it had to be written anyway
    elif item.epoch:
        again = tokens - cached - round((item.new + item.volatile) * scale)
        _count(row.rewritten, max(0, again), max(0, again) * premium)
    if item.broke and again > 0:
        # If a client marks nothing, all is plain input, which costs more than cached input.
        dearer = 1.0 - read if item.is_unmarked and prices is not None else premium
        _count(row.misses.setdefault(item.broke, BillPart()), again, again * dearer)
    if item.added:
        put_in = round(item.added * scale)
        written = round(item.added_new * scale) if cached and not item.epoch else put_in
        price = put_in if is_plain else write * written + read * (put_in - written)
        _count(row.added, put_in, price if prices is not None else 0.0)
    if item.is_unmarked and prices is not None:
        kept = 0
        if not item.is_cold:
            kept = prices.cacheable(min(round(item.shared * scale), tokens))
        plain = effective_input_cost(prices, tokens, 0, volatile_tokens=tokens)
        _count(row.unmarked, tokens, plain)
        row.marking_saves += plain - effective_input_cost(prices, tokens, kept)
