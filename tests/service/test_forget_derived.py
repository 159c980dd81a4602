"""Forgetting what was made of other pages, and what was never said in a turn: goals."""

from __future__ import annotations

from pathlib import Path

import pytest

import pagefault


def _found(root: Path, word: str) -> list[str]:
    files = (path for path in root.rglob("*") if path.is_file())
    return [path.name for path in files if word.encode() in path.read_bytes()]


async def test_a_goal_is_forgotten_with_every_byte_of_it(tmp_path: Path) -> None:
    root = tmp_path / "m"
    async with pagefault.open(root) as memory:
        session = await memory.session("talk")
        await session.user("Hello there")
        goal = await session.goal("Ship zqsecretxy by June")
        assert goal is not None
        await session.request()
        assert _found(root, "zqsecretxy"), "the control: it was written"
        forgotten = await memory.forget("talk", goal)
        assert forgotten.pages == (goal,)
        with pytest.raises((pagefault.NoSuchPage, pagefault.RecordGone)):
            await session.page(goal)
        assert "zqsecretxy" not in str(await session.request())
    assert _found(root, "zqsecretxy") == []


async def test_a_claim_alone_can_be_forgotten_and_no_longer_stands(tmp_path: Path) -> None:
    async with pagefault.open(tmp_path / "m") as memory:
        session = await memory.session("talk")
        said = await session.user("Let's use PostgreSQL for the database.")
        [claim] = await session.claims()
        forgotten = await memory.forget("talk", claim.claim_id)
        assert forgotten.pages == (claim.claim_id,)
        assert await session.claims() == []
        assert "PostgreSQL" in (await session.page(said)).text, "the turn was not asked for"
