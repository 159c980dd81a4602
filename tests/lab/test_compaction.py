"""The gate of compaction, second half: beside raw retrieval it may cost no answer and no proof.

Over one recorded conversation, as `benchmarks/compaction.py` measures whole files.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from pagefault.lab.compaction import COMPACTED, NONE, RAW, ArmTally, CompactionArm, play
from pagefault.lab.transcripts import Conversation, read_conversations
from pagefault.model.kinds import Compaction
from pagefault.model.page import Evidence, Page
from pagefault.pack.count import TokenCounter
from pagefault.service import runtime
from pagefault.service.window.derived_drafts import Made
from pagefault.service.window.run_summary import summariser
from pagefault.service.window.sources import Summarise

RECORDED = Path(__file__).parents[1] / "recall" / "recordings" / "agent.jsonl"
DEFAULT = next(arm for arm in COMPACTED if arm.compaction is Compaction.EXTRACTIVE)
DEARER_MAX = 1.3
"""What summaries may add to the tokens of a request that asks. Fewer were asked for: unmet, as
docs/benchmarks.md tells."""


@pytest.fixture
def conversation() -> Conversation:
    return read_conversations(RECORDED, "turns")[0]


async def played(conversation: Conversation, arm: CompactionArm, *, most: int = 5) -> ArmTally:
    told = ArmTally()
    await play(conversation, arm, told, window=2_000, most=most)
    return told


async def test_summaries_lose_no_answer_and_say_nothing_that_was_not_said(
    conversation: Conversation,
) -> None:
    none, raw, compacted = [await played(conversation, arm) for arm in (NONE, RAW, DEFAULT)]
    assert none.shown < raw.shown, "control: who remembers nothing does worse"
    assert compacted.questions == raw.questions > 0
    assert compacted.shown >= raw.shown > 0
    assert compacted.answered >= raw.answered
    assert compacted.cited_there == compacted.cited > 0
    assert compacted.told > 0
    assert compacted.unsupported == 0
    assert sum(compacted.tokens) <= DEARER_MAX * sum(raw.tokens)
    assert compacted.shown + compacted.lost.total() == compacted.questions, "each has its reason"


async def test_summaries_that_make_things_up_do_not_pass(
    conversation: Conversation, monkeypatch: pytest.MonkeyPatch
) -> None:
    def inventing(counter: TokenCounter) -> Summarise:
        make = summariser(counter)

        def summarise(
            run: Sequence[Page], quotes: bool, without: Sequence[Evidence]
        ) -> Made | None:
            made = make(run, quotes, without)
            return replace(made, text=f"{made.text}\nThey agreed on 900.") if made else None

        return summarise

    monkeypatch.setattr(runtime, "summariser", inventing)
    told = await played(conversation, DEFAULT, most=0)
    assert told.unsupported > 0
