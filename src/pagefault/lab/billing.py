"""The cost of agents' sessions: the client alone, the client that compacts, and pagefault's proxy.

Each client plays one script in each arm. A provider in this process accepts what arrives, refuses
requests larger than the model's window, and counts tokens. What was sent is then priced under
several lists, with the cache of `CachedPrefixes`, so the arms differ only in bytes. Facts are
planted in the script and asked about at its end: a fact counts as kept if the request that asks
contains it. Where memory's tools are offered, the model is one that knows what it lacks: if a
request does not contain the answer, it searches with the question's words and loads the hits.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import Any, Final

from pagefault.lab.agents import CLIENTS, Agent, Json, Turn, agent, script
from pagefault.model.catalogue import find_model
from pagefault.model.ids import PageId
from pagefault.model.kinds import Level
from pagefault.model.prices import PriceList
from pagefault.model.progress import StageProgress
from pagefault.model.request import ToolCall
from pagefault.pack.bill import BillRow
from pagefault.pack.cost import effective_input_cost
from pagefault.pack.count import O200k
from pagefault.pack.tools import PAGE_FAULT, SEARCH_PAGES
from pagefault.represent.api import Source
from pagefault.represent.extractive import compress_range

MODELS: Final = (
    *("claude-opus-5", "claude-opus-5-5", "gpt-5-5", "gpt-6-1-sol", "deepseek-v4-1-flash"),
)
"""Models whose price lists are applied: read/write 0.10/1.25, 0.05/1.25, 0.10/1.00, 0.05/1.25 in
whole units with a cliff, and 0.02/1.00 in whole units.
"""
LOOKBACK: Final = 20  # blocks before a mark that Anthropic searches for an earlier entry
SUMMARY_TOKENS: Final = 2_000
COMPACT_AT: Final = 0.8  # of the window, by the provider's count
_OUTPUT_S: Final = 3.0


# --- what arrived ---------------------------------------------------------------------------------


class Blocks:
    """Requests as a provider's cache sees them: a sequence of blocks of bytes."""

    def __init__(self) -> None:
        self._counter = O200k()
        self._known: dict[str, tuple[bytes, int]] = {}

    def of(self, body: Json, *, at_s: float, step: int) -> Arrived:
        head = [("tools", body.get("tools") or []), *_items(body.get("system") or [], "system")]
        talk = list(_items(body.get("messages", body.get("input")), ""))
        opening = next((n for n, (of, _) in enumerate(talk) if of not in _INSTRUCTS), len(talk))
        hashes, sizes, marks = [], [], []
        seen, total = hashlib.blake2b(digest_size=16), 0
        for n, (of, block) in enumerate([*head, *talk]):
            if isinstance(block, dict) and "cache_control" in block:
                marks.append(n)
            key, tokens = self._block(of, block)
            seen.update(key)
            total += tokens
            hashes.append(seen.digest())
            sizes.append(total)
        return Arrived(hashes, sizes, marks, len(head) + opening - 1, at_s, step)

    def _block(self, of: str, block: Any) -> tuple[bytes, int]:
        if isinstance(block, dict):
            block = {k: v for k, v in block.items() if k != "cache_control"}
        text = f"{of} {json.dumps(block, ensure_ascii=False)}"
        if text not in self._known:
            key = hashlib.blake2b(text.encode(), digest_size=16).digest()
            self._known[text] = key, self._counter.count(text)
        return self._known[text]


_INSTRUCTS: Final = ("system", "developer")


def _items(value: Any, of: str) -> Sequence[tuple[str, Any]]:
    found: list[tuple[str, Any]] = []
    for one in value:
        role = of or one.get("role", one.get("type", ""))
        content = one.get("content") if not of else None
        if isinstance(content, list):
            found += [(role, block) for block in content]
        else:
            found.append((role, one))
    return found


@dataclass(frozen=True, slots=True)
class Arrived:
    """A request: for each block, the digest and the tokens of all up to it; the places of marks;
    and the last block of the head.
    """

    hashes: list[bytes]
    sizes: list[int]
    marks: list[int]
    head: int
    at_s: float
    step: int

    @property
    def tokens(self) -> int:
        return self.sizes[-1]


class CachedPrefixes:
    """A provider's cache for one conversation, by a price list.

    Lists with marks cache the prefixes at a client's marks or, if it sets none, at those set for
    it: after the head, and at the end. Anthropic finds an entry within `LOOKBACK` blocks of a mark.
    Lists with whole units cache at the same places, and find entries anywhere. All others cache
    every prefix. Reading an entry renews it.
    """

    def __init__(self, prices: PriceList, *, looks_back: int) -> None:
        self.prices = prices
        self._looks_back = looks_back
        self._held: dict[bytes, float] = {}  # expiry

    def cost(self, one: Arrived) -> tuple[float, int]:
        """Effective input tokens, and tokens read from the cache. Caches the request."""
        prices = self.prices
        lives = float("inf") if prices.ttl_s is None else one.at_s + prices.ttl_s
        last = len(one.hashes) - 1
        in_units = prices.takes_marks or prices.whole_units
        own = one.marks if self._looks_back < last else []
        places = (own or [one.head, last]) if in_units else list(range(last + 1))
        read = self._find(one, places, last)
        cached = prices.cacheable(one.sizes[read]) if read >= 0 else 0
        for place in places:
            self._held[one.hashes[place]] = lives
        if read >= 0:
            self._held[one.hashes[read]] = lives
        volatile = one.tokens - max(cached, one.sizes[max(places)])
        return effective_input_cost(prices, one.tokens, cached, volatile_tokens=volatile), cached

    def _find(self, one: Arrived, places: Sequence[int], last: int) -> int:
        if not (self.prices.takes_marks or self.prices.whole_units):
            places = [last]
        for mark in sorted(places, reverse=True):
            for at in range(mark, max(-1, mark - self._looks_back - 1), -1):
                if self._held.get(one.hashes[at], -1.0) >= one.at_s:
                    return at
        return -1


def cache_of(model: str) -> CachedPrefixes:
    known = find_model(model)
    looks_back = LOOKBACK if known.provider == "anthropic" else 1_000_000
    return CachedPrefixes(known.prices, looks_back=looks_back)


# --- arms -----------------------------------------------------------------------------------------

Send = Callable[[Agent, Json], Awaitable[None]]
"""Sends a client's request to the provider, by whatever route."""


@dataclass(frozen=True, slots=True)
class Way:
    """How a proxy pages: whether it quotes what left, and whether the model may ask for pages."""

    quotes: bool
    asks: bool


PROXIED: Final = {
    "pagefault": Way(quotes=True, asks=True),  # the way of `serve --window`
    "quotes alone": Way(quotes=True, asks=False),
    "asks alone": Way(quotes=False, asks=True),
}
ARMS: Final = ("alone", "compacts", "compacts small", *PROXIED)
LOADS_MAX: Final = 4  # pages that the model loads per question
Saying = tuple[str, ToolCall | None]


@dataclass
class Provider:
    """Answers with the script's next step, and records requests."""

    window: int
    blocks: Blocks
    cache: CachedPrefixes
    arrived: list[Arrived] = field(default_factory=list)
    failed: list[int] = field(default_factory=list)  # steps of refused requests
    last: Json = field(default_factory=dict)
    now_s: float = 0.0
    step: int = 0
    tokens: int = 0  # of the previous request
    saying: Saying = ("", None)
    asked: int = 0  # calls of memory's tools
    _lacks: tuple[str, str] = ("", "")  # a question, and the answer that the request must contain
    _found: list[str] | None = None  # pages to load; None before the search

    def lacks(self, question: str, answer: str) -> None:
        """Set the text that the next request must contain; "" for none."""
        self._lacks, self._found = (question, answer), None

    def answer(self, client: Agent, body: Json) -> Json | None:
        """The answer; None if the request is larger than the window."""
        one = self.blocks.of(body, at_s=self.now_s, step=self.step)
        if one.tokens > self.window:
            self.failed.append(self.step)
            return None
        self.last = body
        self.arrived.append(one)
        self.tokens = one.tokens
        _, cached = self.cache.cost(one)
        text, call = self._asks(body) or self.saying
        return client.reply(text, call, (one.tokens, cached))

    def _asks(self, body: Json) -> Saying | None:
        """A call of memory's tools; None if nothing is lacking, or nothing is left to try."""
        question, answer = self._lacks
        is_offered = SEARCH_PAGES in json.dumps(body.get("tools") or ())
        if not (answer and is_offered) or answer in json.dumps(body):
            return None
        if self._found is None:
            self._found = []
            return "", self._call(SEARCH_PAGES, query=question)
        if results := _results(body):
            self._found = results[:LOADS_MAX]
        if not self._found:
            return None
        return "", self._call(PAGE_FAULT, page_id=self._found.pop(0))

    def _call(self, name: str, **arguments: str) -> ToolCall:
        self.asked += 1
        return ToolCall(f"ask_{self.asked}", name, json.dumps(arguments))


def _results(body: Json) -> list[str]:
    """The pages found by a search, if its result is the request's last item."""
    *_, (_, last) = _items(body.get("messages", body.get("input")), "")
    try:
        told = json.loads(_text(last))
    except ValueError:
        return []
    found = told.get("results", ()) if isinstance(told, dict) else ()
    return [str(one["page_id"]) for one in found]


@dataclass
class Played:
    """A session in one arm, and its outcome."""

    client: str
    arm: str
    provider: Provider
    facts: int = 0
    kept: int = 0
    compactions: int = 0
    bill: BillRow | None = None  # pagefault's own
    epochs: int = 0


async def play(
    client: Agent,
    turns: Sequence[Turn],
    provider: Provider,
    send: Send,
    arm: str,
    compact_at: int,
) -> Played:
    """Play the whole script."""
    played = Played(client.name, arm, provider)

    async def ask(text: str, call: ToolCall | None) -> None:
        if compact_at and provider.tokens > compact_at:
            await compact()
        provider.saying = text, call
        await send(client, client.body())
        provider.step += 1
        provider.now_s += _OUTPUT_S
        client.answered(text, call)

    async def compact() -> None:
        summary = _summary(client, provider.blocks)
        provider.saying = summary, None
        await send(client, client.summary_body())
        provider.now_s += _OUTPUT_S * 10
        client.compact(summary)
        played.compactions += 1

    calls = 0
    for turn in turns:
        provider.now_s += turn.pause_s
        client.ask(turn.user)
        for step in turn.steps:
            calls += 1
            await ask(step.said, client.reads(f"call_{calls}", step.path))
            client.returned(f"call_{calls}", step.result)
            provider.now_s += step.pause_s
        refused = len(provider.failed)
        provider.lacks(turn.user, turn.answer_is)
        await ask(turn.answer, None)
        if turn.answer_is:
            played.facts += 1
            is_refused = len(provider.failed) > refused
            played.kept += not is_refused and turn.answer_is in json.dumps(provider.last)
    return played


def _summary(client: Agent, blocks: Blocks) -> str:
    """The client's summary, by our extractive summariser in place of its model."""
    talk = client.body()
    sources = [
        Source(page_id=PageId(f"msg_{n}"), text=text)
        for n, (of, block) in enumerate(_items(talk.get("messages", talk.get("input")), ""))
        if of not in _INSTRUCTS and (text := _text(block))
    ]
    made = compress_range(
        sources, Level.ABSTRACT, count=blocks._counter.count, tokens_max=SUMMARY_TOKENS
    )
    return made.text


def _text(block: Json) -> str:
    for name in ("text", "content", "output"):
        if isinstance(block.get(name), str):
            return str(block[name])
    return ""


# --- the bench ------------------------------------------------------------------------------------


@dataclass
class Route:
    """The route to a provider; if a proxy is on it, with that proxy's bill and number of epochs."""

    send: Send
    bill: Callable[[], Awaitable[tuple[BillRow, int]]] | None = None


Through = Callable[[Provider, Path, int, Way], AbstractAsyncContextManager[Route]]


async def bench_bill(
    *,
    recordings: Path,
    through: Through,
    home: Path,
    tokens: int,
    window: int,
    head_tokens: int,
    seeds: Sequence[int] = (1,),
    clients: Sequence[str] = CLIENTS,
    arms: Sequence[str] = ARMS,
    progress: StageProgress | None = None,
    played_all: Callable[[Sequence[dict[str, Any]]], None] = lambda rows: None,
) -> list[dict[str, Any]]:
    """A row per seed, client and arm (proxied arms may be left out), at the window of the recorded
    model. `window` is the limit for the proxy and for the arm `compacts small`. `through` puts a
    proxy in front of a provider. `played_all` gets the rows of each seed and client once its arms
    are played.
    """
    tell = progress or (lambda label, done, total: None)
    rows: list[dict[str, Any]] = []
    for seed, name in product(seeds, clients):
        turns, blocks = script(seed, tokens=tokens), Blocks()
        played: list[Played] = []
        for n, arm in enumerate(arms):
            tell(f"{name}, seed {seed}: {arm}", n, len(arms))
            client = agent(name, recordings, head_tokens=head_tokens, session=f"bench-{name}")
            model_window = find_model(client.model).window_tokens
            provider = Provider(model_window, blocks, cache_of(client.model))
            believed = {"alone": 0, "compacts small": window}.get(arm, model_window)
            compact_at = int(believed * COMPACT_AT)
            way = PROXIED.get(arm)
            direct = nullcontext(Route(_straight_to(provider)))
            place = home / f"{seed}-{name}-{n}"
            async with through(provider, place, window, way) if way else direct as route:
                one = await play(client, turns, provider, route.send, arm, compact_at)
                if route.bill is not None:
                    one.bill, one.epochs = await route.bill()
            played.append(one)
        made = [{"seed": seed} | row for row in _rows(played)]
        played_all(made)
        rows += made
    return rows


def _straight_to(provider: Provider) -> Send:
    async def send(client: Agent, body: Json) -> None:
        provider.answer(client, body)
        await asyncio.sleep(0)

    return send


def _rows(played: Sequence[Played]) -> list[dict[str, Any]]:
    """Costs relative to the client alone cover the steps that it could send; those between arms
    that could send everything cover all.
    """
    alone = played[0]
    upto = min(alone.provider.failed, default=alone.provider.step)
    costs = {one.arm: _costs(one.provider.arrived, upto) for one in played}
    rows = []
    for one in played:
        arrived = one.provider.arrived
        lists = {
            model: {
                "cost": round(cost),
                "cached_share": round(share, 4),
                "over_alone": round(cost / costs["alone"][model][0], 4),
                "over_compacts": round(whole / costs["compacts"][model][2], 4),
                "over_compacts_small": round(whole / costs["compacts small"][model][2], 4),
                "whole_cost": round(whole),
            }
            for model, (cost, share, whole) in costs[one.arm].items()
        }
        rows.append(
            {
                "client": one.client,
                "arm": one.arm,
                "requests": len(arrived),
                "tokens": sum(a.tokens for a in arrived if a.step < upto),
                "whole_tokens": sum(a.tokens for a in arrived),
                "tokens_max": max(a.tokens for a in arrived),
                "compared_steps": upto,
                "steps": one.provider.step,
                "failed": len(one.provider.failed),
                "facts": one.facts,
                "kept": one.kept,
                "compactions": one.compactions,
                "epochs": one.epochs,
                "asked": one.provider.asked,
                "lists": lists,
                "bill": _bill(one, alone),
            }
        )
    return rows


def _costs(arrived: Sequence[Arrived], upto: int) -> dict[str, tuple[float, float, float]]:
    """Per model's list: cost and cached share of the steps before `upto`, and the cost of all."""
    told = {}
    for model in MODELS:
        cache = cache_of(model)
        cost = whole = 0.0
        read = sent = 0
        for one in arrived:
            spent, cached = cache.cost(one)
            whole += spent
            if one.step < upto:
                cost, read, sent = cost + spent, read + cached, sent + one.tokens
        told[model] = cost, read / sent if sent else 0.0, whole
    return told


def _bill(one: Played, alone: Played) -> dict[str, Any] | None:
    """Pagefault's own bill, beside the actual cost of the client alone at the same prices."""
    if one.bill is None:
        return None
    cache = CachedPrefixes(one.provider.cache.prices, looks_back=alone.provider.cache._looks_back)
    spent = sum(cache.cost(a)[0] for a in alone.provider.arrived)
    return {
        "cost": round(one.bill.cost),
        "compared_cost": round(one.bill.compared.cost),
        "without_cost": round(one.bill.without_cost),
        "alone_cost": round(spent),
        "impossible": one.bill.impossible.requests,
        "failed_alone": len(alone.provider.failed),
    }
