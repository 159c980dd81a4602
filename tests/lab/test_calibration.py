"""An engine that is paid in seconds is timed, and its price list is what its seconds say."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

import pagefault
from pagefault import BadInput, Reply, Request, Usage
from pagefault.lab.calibration import LENGTHS, timed_calls

PREFILL_S = 0.001  # of a token
DECODE_S = 0.02  # of a token, in an empty context
SLOPE_S = 0.000_002  # more, of each token in the context


class Local:
    """Prefills and decodes by a line, on a clock of its own."""

    def __init__(self, *, streams: bool = True, counts: bool = True) -> None:
        self.now_s = 0.0
        self.asked: list[str] = []
        self._streams, self._counts = streams, counts

    async def reply(self, request: Request) -> AsyncIterator[str | Reply]:
        text = request.messages[-1].content
        self.asked.append(text)
        tokens = len(text.split())
        self.now_s += tokens * PREFILL_S
        if self._streams:
            yield "one"
        self.now_s += 40 * (DECODE_S + SLOPE_S * tokens)
        yield Reply(
            text="one two",
            usage=Usage(input_tokens=tokens, output_tokens=41) if self._counts else None,
        )


async def test_a_price_list_is_what_the_engine_s_seconds_say() -> None:
    engine = Local()
    calls = await timed_calls(engine, seed=7, now_s=lambda: engine.now_s)
    assert len(calls) == len(LENGTHS) == len(engine.asked) - 1  # the first one warms it up
    prices = pagefault.calibrate(calls, as_of="2026-11")
    assert prices.write == 1.0
    assert prices.read == pytest.approx(40 * SLOPE_S / PREFILL_S)
    assert prices.output == pytest.approx(20 + 2 * 1_887 / 1_000, rel=0.01)


async def test_no_prompt_begins_like_another_so_that_no_cache_can_help() -> None:
    engine = Local()
    await timed_calls(engine, seed=7, now_s=lambda: engine.now_s)
    assert len({text[:20] for text in engine.asked}) == len(engine.asked)
    other = Local()
    await timed_calls(other, seed=8, now_s=lambda: other.now_s)
    assert not {text[:20] for text in engine.asked} & {text[:20] for text in other.asked}


@pytest.mark.parametrize(
    ("engine", "why"), [(Local(streams=False), "one piece"), (Local(counts=False), "how many")]
)
async def test_an_engine_that_cannot_be_timed_is_refused(engine: Local, why: str) -> None:
    with pytest.raises(BadInput, match=why) as refused:
        await timed_calls(engine, seed=7, now_s=lambda: engine.now_s)
    assert refused.value.hint
