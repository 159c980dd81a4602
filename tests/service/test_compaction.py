"""What stands in a request for the turns that left it, by each way of compaction."""

from __future__ import annotations

import json
import re

import pytest

import pagefault
from pagefault import BadInput, ToolCall
from pagefault.model.kinds import Compaction
from tests.service.memories import text_of
from tests.service.test_formation import Model, formed_so_far

HEADER = re.compile(r"^S \((sum_\d+) · L(\d)", re.MULTILINE)
LIMITS = pagefault.Limits(summarised_tokens_max=300, formed_after_turns=1, summary_window_share=0.4)
FORMED = "summary: They went on with the survey. [ref: {first}]"
IN_A_MODELS_WORDS = "They went on with the survey."


async def played(session: pagefault.Session, model: Model) -> str:
    """What the last of fourteen turns showed; in each a port is decided on."""
    for turn in range(14):
        aside = "They stood at the window and talked about the long way home for some time. " * 5
        await session.user(f"We decided to keep port {8_000 + turn} for room {turn}. {aside}")
        await session.run(model)
        await formed_so_far(session)
    return text_of(model.talk[-1])


@pytest.mark.parametrize("way", Compaction)
async def test_what_left_is_quoted_told_by_the_model_both_or_named(way: Compaction) -> None:
    model = Model(FORMED)
    async with pagefault.open(
        ":memory:", window=2_200, limits=LIMITS, compaction=way, epochs="window_full"
    ) as memory:
        session = await memory.session("s", mode="active")
        text = await played(session, model)
        assert session.owned.state.epoch >= 2
        levels = {level for _, level in HEADER.findall(text)}
        assert levels == {"3"} if way is Compaction.HIERARCHICAL else "2" in levels
        assert bool(model.forming) == (IN_A_MODELS_WORDS in text) == way.forms
        shown = [page for page, _ in session.owned.state.summaries if page.derived and page.text]
        formed = {name for one in await session.formations() for name in one.made}
        of = {
            name: page.derived.provenance
            for page in shown
            if page.derived and (name := page.page_id)
        }
        told = {page_id for name, pages in of.items() if name in formed for page_id in pages}
        quoted = {page_id for name, pages in of.items() if name not in formed for page_id in pages}
        assert bool(told & quoted) == (way is Compaction.HYBRID), "of the same turns both"
        assert bool(told) == way.forms
        assert bool(quoted) or way.forms or way is Compaction.HIERARCHICAL


async def test_a_header_is_what_can_be_loaded() -> None:
    async with pagefault.open(
        ":memory:", window=2_200, limits=LIMITS, compaction="hierarchical", epochs="window_full"
    ) as memory:
        session = await memory.session("s", mode="active")
        text = await played(session, Model())
        (summary, _), *_ = HEADER.findall(text)
        assert "keep port 8000" not in text
        await session.user("Which port did room 0 get?")
        await session.request()
        asked = {"page_id": summary, "target_level": 2, "reason": "user_requested_recall"}
        told = await session.call(ToolCall("call_1", "page_fault", json.dumps(asked)))
        assert "keep port 8000" in told


async def test_no_other_way_is_known() -> None:
    with pytest.raises(BadInput, match="extractive, abstractive_with_citations, hierarchical"):
        async with pagefault.open(":memory:", compaction="lossy"):
            pass
