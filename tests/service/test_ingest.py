"""Many messages at once, without a request."""

from __future__ import annotations

import random
from collections.abc import Iterable
from typing import Any

import pytest

import pagefault
from pagefault.lab.texts import words
from pagefault.model.kinds import USER_TYPED, Role
from pagefault.pack.layout import Entry, Layout
from pagefault.service.turn.drafts import Incoming

WINDOW = 16_000  # an epoch leaves more of it than the least that a provider caches
BATCH = 100


async def test_messages_that_no_request_showed_are_not_composed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """An epoch drops what no request will show. How much it leaves is known without laying out the
    window that it leaves.
    """
    composed: list[Entry] = []
    parts = Layout._parts

    def counted(self: Layout, entries: Iterable[Entry], after: Role) -> Any:
        entries = list(entries)
        composed.extend(entries)
        return parts(self, entries, after)

    monkeypatch.setattr(Layout, "_parts", counted)
    chance = random.Random(1)
    async with pagefault.open(":memory:", window=WINDOW) as memory:
        session = await memory.session("s")
        for _ in range(5):
            batch = [Incoming(text=words(chance), role=Role.USER) for _ in range(BATCH)]
            await session.say(batch, origin=USER_TYPED)
        assert not composed
        assert (await session.status()).epoch > 0, "control: epochs dropped some"
        assert composed, "control: a status counts what the next request would show"
