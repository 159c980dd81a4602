"""Compares the cost of layouts, on the same conversation and under several price lists."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import mean
from typing import Any, Final

from pagefault.lab.layouts import (
    Developer,
    FlushWhenFull,
    FullHistory,
    RequestLayout,
    Shot,
    SlidingWindow,
    Stable,
)
from pagefault.lab.rules import RULES, Run, play
from pagefault.lab.transcripts import Conversation
from pagefault.lab.turns import Call, calls_of
from pagefault.model.prices import PriceList
from pagefault.pack import render
from pagefault.pack.cost import Account
from pagefault.pack.count import MESSAGE_TOKENS, O200k, TokenCounter
from pagefault.pack.prefix import Prefix
from pagefault.policy import hindsight
from pagefault.service.limits import Limits


def _prices(read: float, write: float, *, ttl_s: float = 300.0) -> PriceList:
    return PriceList(
        name=f"{read:.2f}/{write:.2f}",
        as_of="2026-11",
        read=read,
        write=write,
        output=8.0,
        ttl_s=ttl_s,
    )


PRICES: Final = (
    _prices(0.10, 1.25),
    _prices(0.10, 1.0),
    _prices(0.05, 1.25),
    _prices(0.02, 1.0, ttl_s=4 * 3_600.0),
    _prices(0.50, 1.0),
)
"""Read and write prices of current models; no least size or steps, which would favour a layout."""

REBUILD: Final = "developer"
FLUSH: Final = "flush_when_full"


@dataclass(frozen=True, slots=True)
class Seen:
    """One request, measured. `shared` tokens are its common prefix with the previous one."""

    tokens: int
    shared: int
    before: int | None  # tokens of the previous request
    idle_s: float
    head: int  # tokens of the tools and the first message

    @property
    def breaks(self) -> bool:
        """Whether it changed anything that had been sent."""
        return self.before is not None and self.shared < self.before


class Remembering:
    """A counter that counts each text once."""

    def __init__(self, counter: TokenCounter) -> None:
        self._counter = counter
        self._counts: dict[str, int] = {}

    def count(self, text: str) -> int:
        tokens = self._counts.get(text)
        if tokens is None:
            tokens = self._counts[text] = self._counter.count(text)
        return tokens

    def count_all(self, texts: Sequence[str]) -> list[int]:
        return [self.count(text) for text in texts]


def measure(layout: RequestLayout, calls: Sequence[Call], counter: TokenCounter) -> list[Seen]:
    """Every request of a layout compared with its predecessor; shared to the last character."""
    seen: list[Seen] = []
    before: tuple[Shot, Prefix] | None = None
    for call in calls:
        shot = layout.next(call)
        prefix = Prefix.of(
            shot.tools, shot.messages, counter, after=None if before is None else before[1]
        )
        if before is None:
            seen.append(Seen(prefix.tokens, 0, None, call.idle_s, prefix.end(2)))
        else:
            shared = _shared(before[0], before[1], shot, prefix, counter)
            seen.append(Seen(prefix.tokens, shared, before[1].tokens, call.idle_s, prefix.end(2)))
        before = shot, prefix
    return seen


def _shared(old: Shot, old_prefix: Prefix, new: Shot, prefix: Prefix, counter: TokenCounter) -> int:
    """Tokens of shared whole blocks, and of the common beginning of the next block."""
    blocks = prefix.shared_blocks(old_prefix)
    tokens = prefix.end(blocks)
    if 0 < blocks < min(prefix.blocks, old_prefix.blocks):
        mine, theirs = new.messages[blocks - 1], old.messages[blocks - 1]
        if mine.role is theirs.role:
            same = mine.content[: _same_chars(mine.content, theirs.content)]
            tokens += min(counter.count(same), prefix.end(blocks + 1) - tokens)
    return min(tokens, old_prefix.tokens)


def _same_chars(one: str, other: str) -> int:
    """The length of the common prefix, in characters."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((at for at, (a, b) in pairs if a != b), min(len(one), len(other)))


def priced(prices: PriceList, seen: Sequence[Seen]) -> Account:
    """The cost of measured requests."""
    account = Account(prices)
    for one in seen:
        if one.before is None:
            account.add(one.tokens, 0)
        else:
            cached = 0 if prices.is_cold(one.idle_s) else prices.cacheable(one.shared)
            account.add(one.tokens, cached, survival=one.shared / one.before)
    return account


async def compare(
    conversations: Sequence[Conversation],
    *,
    window: int,
    limits: Limits | None = None,
    progress: Callable[[str, int, int], None] = lambda label, done, total: None,
) -> dict[str, Any]:
    """Every layout on every conversation, under every price list, as plain values."""
    counting = Remembering(O200k())
    limits = limits or Limits()
    measured: dict[str, list[list[Seen]]] = {}
    runs: dict[str, dict[str, list[Run]]] = {one.name: {} for one in PRICES}
    every_call: list[Call] = []
    played: list[list[Call]] = []
    for conversation in conversations:
        calls = await calls_of(conversation, window=window, limits=limits, progress=progress)
        every_call += calls
        played.append(calls)
        system = conversation.system
        layouts: Mapping[str, RequestLayout] = {
            "stable": Stable(),
            "full_history": FullHistory(counting, system),
            "sliding_window": SlidingWindow(counting, system, window=window),
            FLUSH: FlushWhenFull(counting, system, window=window, limits=limits),
            REBUILD: Developer(counting, system, window=window, limits=limits),
        }
        for number, (name, layout) in enumerate(layouts.items(), 1):
            progress(f"laying out {conversation.name}", number, len(layouts))
            measured.setdefault(name, []).append(measure(layout, calls, counting))
        for number, one in enumerate(PRICES, 1):
            progress(f"weighing {conversation.name}", number, len(PRICES))
            for name, rule in RULES.items():
                run = play(
                    calls, rule(one), system=system, window=window, limits=limits, counter=counting
                )
                runs[one.name].setdefault(name, []).append(run)
    return {
        "window_tokens": window,
        "recall_tokens_max": limits.recall_room(window),
        "recalled_tokens_per_call": round(mean(call.recalled_tokens for call in every_call), 1),
        "new_tokens_per_call": round(
            mean(sum(page.row.tokens for page in call.new) for call in every_call), 1
        ),
        "conversations": len(conversations),
        "calls": len(every_call),
        "prices": {
            one.name: {
                "read": one.read,
                "write": one.write,
                "ttl_s": one.ttl_s,
                "layouts": _layouts(one, measured),
                "stable_timing": _stable_regret(
                    one, list(zip(played, measured["stable"], strict=True)), window
                ),
                "rules": _rules(runs[one.name], measured, one),
            }
            for one in PRICES
        },
    }


def _stable_regret(
    prices: PriceList, runs: Sequence[tuple[Sequence[Call], Sequence[Seen]]], window: int
) -> dict[str, Any]:
    """The regret of the session's own epochs against the best, as far as its requests show.

    Epochs are assumed to leave what the session's left on average. `modelled_share` is the part of
    the measured cost that this explains; unless it is near 1, the regret means little.
    """
    cost = best = measured = 0.0
    for calls, seen in runs:
        head = seen[0].head
        epochs = [number for number, one in enumerate(seen) if one.breaks]
        appended = [
            _new_tokens(call) if one.breaks else one.tokens - max(one.shared, head)
            for call, one in zip(calls, seen, strict=True)
        ]
        left = [seen[number].tokens - appended[number] for number in epochs]
        sent = [
            hindsight.Sent(appended=new, is_cold=prices.is_cold(one.idle_s))
            for new, one in zip(appended, seen, strict=True)
        ]
        aim = round(mean(left)) if left else window
        room = hindsight.room_kept(sent, epochs, head=head, aim=aim, window=window)
        log = hindsight.aimed(sent, head=head, aim=aim, room=room)
        cost += hindsight.cost_of(prices, log, epochs)
        best += hindsight.optimum(prices, log).cost
        measured += priced(prices, seen).cost
    return {"regret": round(cost / best, 4), "modelled_share": round(cost / measured, 4)}


def _new_tokens(call: Call) -> int:
    """Roughly the tokens that a call adds to the prompt, with labels and framing."""
    framing = render.LABEL_TOKENS + MESSAGE_TOKENS
    said = sum(page.row.tokens + framing for page in call.new)
    return said + call.recalled_tokens


def _layouts(prices: PriceList, measured: Mapping[str, list[list[Seen]]]) -> dict[str, Any]:
    accounts = {
        name: [priced(prices, seen) for seen in all_seen] for name, all_seen in measured.items()
    }
    costs = {name: sum(one.cost for one in all_of) for name, all_of in accounts.items()}
    rows = {}
    for name, all_of in accounts.items():
        seen = [one for conversation in measured[name] for one in conversation]
        breaks = sum(one.breaks for one in seen)
        survivals = [survival for one in all_of for survival in one.survivals]
        rows[name] = {
            "effective_input_cost": round(costs[name]),
            "cost_vs_rebuild": round(costs[name] / costs[REBUILD], 4),
            "cost_vs_flush": round(costs[name] / costs[FLUSH], 4),
            "prefix_survival": round(mean(survivals) if survivals else 1.0, 4),
            "prefix_reuse": round(
                sum(one.cached_tokens for one in all_of) / sum(one.prompt_tokens for one in all_of),
                4,
            ),
            "epochs": breaks,
            "epochs_share": round(breaks / len(seen), 4),
            "prefill_tokens": sum(one.prefill_tokens for one in all_of),
            "prompt_tokens_mean": round(mean(one.tokens for one in seen)),
            "prompt_tokens_max": max(one.tokens for one in seen),
        }
    return rows


def _rules(
    runs: Mapping[str, list[Run]], measured: Mapping[str, list[list[Seen]]], prices: PriceList
) -> dict[str, Any]:
    flush = sum(priced(prices, seen).cost for seen in measured[FLUSH])
    rebuild = sum(priced(prices, seen).cost for seen in measured[REBUILD])
    rows = {}
    for name, all_of in runs.items():
        cost = sum(run.cost for run in all_of)
        best = sum(run.optimum for run in all_of)
        calls = sum(len(run.calls) for run in all_of)
        epochs = sum(len(run.epochs) for run in all_of)
        rows[name] = {
            "effective_input_cost": round(cost),
            "regret": round(cost / best, 4),
            "regret_max": round(max(run.cost / run.optimum for run in all_of), 4),
            "cost_vs_rebuild": round(cost / rebuild, 4),
            "cost_vs_flush": round(cost / flush, 4),
            "prefix_survival": round(mean(run.survival for run in all_of), 4),
            "epochs": epochs,
            "epochs_share": round(epochs / calls, 4),
            "recalled_tokens": sum(run.recalled_tokens for run in all_of),
            "prompt_tokens_mean": round(sum(run.prompt_tokens for run in all_of) / calls),
        }
    return rows
