"""The price list of a self-hosted engine, from timed calls to it.

Each call sends words that no earlier call sent, so that no cache can help. The time to the first
piece of the answer is the prefill, the rest is decoding. Other load on the engine is measured too.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Final

from pagefault.engine.api import Engine
from pagefault.model.errors import BadInput
from pagefault.model.kinds import Role
from pagefault.model.prices import Measured
from pagefault.model.request import Message, Reply, Request

LENGTHS: Final = (500, 1_000, 2_000, 4_000)
"""Words per prompt, about a token each: short and long contexts, for a line through both."""

_ASK: Final = "Write the numbers from one to forty in words, and nothing else."
_SYLLABLES: Final = "ba de fi go hu ka le mi no pu ra se ti vo wu".split()


async def timed_calls(
    engine: Engine,
    *,
    seed: int,
    now_s: Callable[[], float],
    told: Callable[[int, int], None] = lambda done, total: None,
) -> list[Measured]:
    """Call an engine once to warm it up, then once for each length, timed with a steady clock.

    Raises `EngineError`, and `BadInput` for an engine that does not stream or counts no tokens.
    """
    chance = random.Random(seed)
    measured = []
    for number, words in enumerate((LENGTHS[0], *LENGTHS)):
        one = await _timed(engine, _prompt(words, chance), now_s)
        if number:
            measured.append(one)
        told(number + 1, len(LENGTHS) + 1)
    return measured


async def _timed(engine: Engine, request: Request, now_s: Callable[[], float]) -> Measured:
    began = now_s()
    first: float | None = None
    usage = None
    async for piece in engine.reply(request):
        if isinstance(piece, Reply):
            usage = piece.usage
        elif first is None:
            first = now_s()
    ended = now_s()
    if first is None:
        raise BadInput(
            "the engine's answer came in one piece, so nobody knows when its prefill ended",
            hint="let it stream: engine.stream = true",
        )
    if usage is None or not usage.input_tokens or usage.output_tokens < 2:
        raise BadInput(
            "the engine does not say how many tokens it read and wrote",
            hint="a server that reports `usage` for streamed answers is needed",
        )
    return Measured(
        prefilled_tokens=usage.input_tokens - (usage.cached_tokens or 0),  # the text is new
        prefill_s=first - began,
        prompt_tokens=usage.input_tokens,
        decoded_tokens=usage.output_tokens - 1,  # the first one belongs to the prefill
        decode_s=ended - first,
    )


def _prompt(words: int, chance: random.Random) -> Request:
    text = " ".join("".join(chance.choices(_SYLLABLES, k=2)) for _ in range(words))
    message = Message(role=Role.USER, content=f"{text}\n\n{_ASK}")
    return Request(messages=(message,), tools=(), tokens=words, factor=1.0, window_tokens=2 * words)
