"""Requirement 000's own acceptance script, without a model: what is agreed to becomes a claim, and
a hundred turns later it is answered with a citation.
"""

from __future__ import annotations

import pytest

import pagefault

DECIDED = {
    "database_choice": "PostgreSQL",
    "api_framework": "FastAPI",
    "frontend_stack": "React with TypeScript",
    "deployment_strategy": "Kubernetes on GCP",
    "testing_approach": "Pytest with 80% coverage",
}
DETAILS = 100


@pytest.mark.parametrize("window", [32_000, 4_000])
async def test_what_is_agreed_to_is_claimed_and_recalled_with_a_citation(window: int) -> None:
    async with pagefault.open(":memory:", window=window) as memory:
        session = await memory.session("planning", system="You are a project planning assistant.")
        decided = {}
        for topic, choice in DECIDED.items():
            await session.user(f"For {topic}, what should we use?")
            await session.request()
            await session.assistant(f"I recommend {choice} for {topic}...")
            decided[topic] = await session.user(f"Agreed, let's go with {choice} for {topic}")
            await session.request()
            await session.assistant("Noted.")
        claims = {claim.subject: claim for claim in await session.claims()}
        assert set(claims) == set(DECIDED)
        for topic, claim in claims.items():
            assert DECIDED[topic] in claim.value
            assert (claim.type, claim.status, claim.authority) == ("decision", "standing", "user")
            assert claim.evidence[0].page_id == decided[topic]
            assert claim.quotes[1] == f"{DECIDED[topic]} for {topic}"
        for number in range(DETAILS):
            await session.user(f"Tell me about implementation detail {number}")
            request = await session.request()
            assert request.tokens <= window
            await session.assistant(f"Here's detail {number}. " * 20)
        for topic, choice in DECIDED.items():
            await session.user(f"As we decided earlier, what's our {topic}?")
            answer = await session.run(pagefault.ScriptedEngine())
            assert choice in answer.text
            assert claims[topic].claim_id in answer.citations
            assert answer.faults <= 2
        figures = (await session.metrics()).figures
        assert figures["thrash_index"] < 0.5
        assert figures["recall_success"] in (None, 1.0)
        session.check()
