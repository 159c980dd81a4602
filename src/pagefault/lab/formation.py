"""The quality and cost of memory formed from a recorded talk: by rules, by the model in the state
in which it had the talk, by the same model reading only the range, and by another model.

The talk is played through a session whose engine is a provider in this process. It answers with
what was recorded, and counts and caches like a real one (`caching_provider.py`). Formation requests
go to the given endpoint. Without one, a *scripted proposer* answers: it writes what rules would
quote, in a model's format, plus two lines that no page supports. That measures the cost of asking,
and that false lines are dropped, but not how well a model remembers.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from pagefault.engine.api import Engine
from pagefault.engine.former import FormationRequest, Former
from pagefault.lab.caching_provider import Billed, CachingProvider
from pagefault.lab.transcripts import Conversation
from pagefault.language.analyzer import query_terms
from pagefault.model.catalogue import find_model
from pagefault.model.kinds import Role
from pagefault.model.request import Message, Reply, Request
from pagefault.pack.citations import cite
from pagefault.pack.count import REQUEST_TOKENS, O200k, messages_tokens
from pagefault.pack.engine_former import EngineFormer
from pagefault.represent.cues import is_citable
from pagefault.represent.extractive_former import ExtractiveFormer
from pagefault.represent.protected import retained
from pagefault.represent.sentences import units
from pagefault.service.bootstrap import open_memory
from pagefault.service.config import MEMORY
from pagefault.service.limits import Limits
from pagefault.service.session import Session
from pagefault.service.turn.formation import Formed

LIMITS_OF_IT: Final = (
    "The talk is recorded, so 'same state' is the same request; no engine here made these answers.",
    "Fidelity counts names, numbers and denials of sentences that state something, and voice words "
    "that stand in the range: neither tells whether a sentence means what was said.",
    "Costs are effective input tokens by the price list, output included, with the cache that "
    "`pagefault.lab.billing` gives a provider.",
)
SCRIPTED: Final = "scripted"
LOCAL_MODEL_S: Final = 1_800.0
"""For which a model is waited for: nobody talks meanwhile, and one on a processor reads tens of
tokens a second."""


class RangeAlone(EngineFormer):
    """Asks about the range in a separate request, like a summariser outside the talk."""

    def request(self, given: FormationRequest) -> Request:
        asked = super().request(given).messages[-1]
        said = [
            Message(role=Role.USER, content=f"({page.page_id}) {page.text}") for page in given.pages
        ]
        text = "\n\n".join(message.content for message in said)
        messages = (
            given.request.messages[0],
            Message(role=Role.USER, content=f"{text}\n\n{asked.content}"),
        )
        tokens = REQUEST_TOKENS + sum(messages_tokens(self.counter, messages))
        return replace(given.request, messages=messages, tools=(), tokens=tokens, breakpoints=())


@dataclass(frozen=True, slots=True)
class Arm:
    """One way to form memory. `asks` is the engine; None is the scripted proposer."""

    name: str
    former: Callable[[Engine, O200k], Former] | None
    asks: Engine | None = None


def arms(engine: Engine | None, other: Engine | None) -> list[Arm]:
    told = "model" if engine is not None else SCRIPTED
    found = [
        Arm("rules", None),
        Arm(f"{told}, same state", EngineFormer, engine),
        Arm(f"{told}, range alone", RangeAlone, engine),
    ]
    if other is not None:
        found.append(Arm("other model, range alone", RangeAlone, other))
    return found


async def bench_formation(
    conversation: Conversation,
    *,
    prices_of: str,
    window: int,
    engine: Engine | None = None,
    other: Engine | None = None,
) -> list[dict[str, Any]]:
    """A row per arm. `prices_of` is the model whose price list and cache are applied."""
    return [
        await _played(conversation, arm, prices_of=prices_of, window=window)
        for arm in arms(engine, other)
    ]


async def _played(
    conversation: Conversation, arm: Arm, *, prices_of: str, window: int
) -> dict[str, Any]:
    counter = O200k()
    proposer = _Proposer(counter)
    turns = _turns(conversation)
    answers = iter([answer for _, answer in turns])

    async def answer(request: Request) -> str:
        if not request.messages[-1].content.rstrip().endswith("</VM:FORMATION>"):
            return next(answers)
        if arm.asks is None:
            return proposer.lines
        async for piece in arm.asks.reply(request):
            if isinstance(piece, Reply):
                return piece.text
        return ""

    provider = CachingProvider(prices_of, answer)
    limits = Limits(
        formation_tokens_per_day=2**40,
        formation_tokens_per_session=2**40,
        formation_timeout_s=LOCAL_MODEL_S,
    )
    async with open_memory(MEMORY, window=window, model=prices_of, limits=limits) as memory:
        session = await memory.session("talk", mode="passive")
        asked: list[Billed] = []
        for said, _ in turns:
            await session.user(said)
            await session.run(provider)
            before = len(provider.billed)
            former: Former = (
                ExtractiveFormer(counter.count)
                if arm.former is None
                else arm.former(provider, counter)
            )
            await session.form(former=proposer.watching(former))
            asked += provider.billed[before:]
        return await _row(arm, session, provider, asked, prices_of)


def _turns(conversation: Conversation) -> list[tuple[str, str]]:
    """Pairs of message and answer, joining consecutive lines of one speaker."""
    turns: list[tuple[list[str], list[str]]] = []
    for line in conversation.lines:
        if line.role is Role.USER and (not turns or turns[-1][1]):
            turns.append(([], []))
        if turns:
            turns[-1][line.role is not Role.USER].append(line.text)
    return [("\n".join(said), "\n".join(answer)) for said, answer in turns if answer]


class _Proposer:
    """Writes what rules would quote from the range in question, in a model's format."""

    def __init__(self, counter: O200k) -> None:
        self._rules = ExtractiveFormer(counter.count)
        self.lines = ""

    def watching(self, former: Former) -> Former:
        return _Watched(former, self)

    async def look(self, given: FormationRequest) -> None:
        quoted = (await self._rules.form(given)).proposals
        lines = [
            f'summary: {one.text} {cite(one.pages[0])} "{" ".join(one.quotes[0].split())}"'
            for one in quoted
        ]
        lines += [
            "summary: Nobody is cited here.",
            f'fact (what was never said): 987,654 {cite(given.first)} "nobody ever said 987,654"',
        ]
        self.lines = "\n".join(lines)


class _Watched:
    """A former, with a proposer that sees its requests."""

    def __init__(self, former: Former, proposer: _Proposer) -> None:
        self._former = former
        self._proposer = proposer
        self.kind, self.reads_window = former.kind, former.reads_window

    def tokens(self, given: FormationRequest) -> int:
        return self._former.tokens(given)

    async def form(self, given: FormationRequest) -> Any:
        await self._proposer.look(given)
        return await self._former.form(given)


async def _row(
    arm: Arm, session: Session, provider: CachingProvider, asked: Sequence[Billed], model: str
) -> dict[str, Any]:
    prices = find_model(model).prices
    ranges = [one for one in await session.formations() if one.outcome in ("formed", "nothing")]
    scores = [await _scores(session, one) for one in ranges]
    dropped: dict[str, int] = {}
    for one in ranges:
        for each in one.dropped:
            dropped[each.why] = dropped.get(each.why, 0) + each.count

    def cost(billed: Sequence[Billed]) -> float:
        return sum(one.cost + prices.output * one.output_tokens for one in billed)

    whole, formation = cost(provider.billed), cost(asked)
    return {
        "arm": arm.name,
        "ranges": len(ranges),
        "made": sum(len(one.made) for one in ranges),
        "dropped": dropped,
        "fidelity": _mean([fidelity for fidelity, _ in scores]),
        "voice": _mean([voice for _, voice in scores]),
        "requests": len(asked),
        "tokens": sum(one.tokens for one in asked),
        "cached_share": _mean([one.share for one in asked]),
        "cost": round(formation),
        "talk_cost": round(whole - formation),
        "over_talk": round(formation / (whole - formation), 4) if whole > formation else 0.0,
    }


async def _scores(session: Session, one: Formed) -> tuple[float, float]:
    """The share of the range's protected tokens that its summary keeps, and the share of the
    summary's words that occur in the range.
    """
    if not one.made:
        return 0.0, math.nan
    summary = await session.page(one.made[0])
    assert summary.derived is not None
    texts = [(await session.page(page_id)).text for page_id in summary.derived.provenance]
    stating = [
        text[unit.start : unit.end]
        for text in texts
        for unit in units(text)
        if is_citable(text[unit.start : unit.end])
    ]
    there, said = set(query_terms("\n".join(texts))), query_terms(summary.text)
    in_its_words = sum(term in there for term in said) / len(said) if said else math.nan
    return retained(summary.text, "\n".join(stating)), in_its_words


def _mean(values: Sequence[float]) -> float | None:
    known = [one for one in values if not math.isnan(one)]
    return round(sum(known) / len(known), 4) if known else None
