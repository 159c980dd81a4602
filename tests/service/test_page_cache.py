"""The cache of pages holds nothing that was forgotten, whenever that happened."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

import pagefault
from pagefault.model.errors import RecordGone
from pagefault.model.events import HISTORY_START, Event, OriginalBody
from pagefault.model.kinds import USER_TYPED, Role
from pagefault.model.page import PageRow
from pagefault.service import runtime
from pagefault.service.ownership import Owned
from pagefault.service.runtime import PageReader
from pagefault.service.turn.drafts import Incoming
from pagefault.service.window.content import page_of


@pytest.mark.parametrize("build", ["as built", "the control"])
async def test_a_page_that_is_forgotten_while_it_is_written_is_not_read_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, build: str
) -> None:
    """Another process forgets it, and this one notices, between the write and what follows it."""
    rows: list[PageRow] = []
    commit = Owned.commit

    async def commits(self: Owned, *args: Any, **more: Any) -> list[Event]:
        events = await commit(self, *args, **more)
        told = [page_of(one, one.body).row for one in events if isinstance(one.body, OriginalBody)]
        rows.extend(told)
        if told:
            seqs = [row.seq for row in told]
            await memory._committer.run(lambda: memory._store.forget(seqs, (), ()))
            memory._others_forgot()
        return events

    if build == "the control":  # it goes into whichever cache is there by then
        late = lambda self: lambda page: runtime._keep(self._cache, page)  # noqa: E731
        monkeypatch.setattr(PageReader, "keeper", late)
    async with pagefault.open(tmp_path / "m", sync="os") as memory:
        session = await memory.session("talk", mode="passive")
        with monkeypatch.context() as patch:
            patch.setattr(Owned, "commit", commits)
            said = Incoming(text="The code is 4711.", role=Role.USER, follows=HISTORY_START)
            await session._say_each([said], USER_TYPED)
        gone = pytest.raises(RecordGone) if build == "as built" else nullcontext()
        with gone:
            assert (await memory.read(rows[0])).text == "The code is 4711."
