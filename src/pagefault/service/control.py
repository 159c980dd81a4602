"""Control modes: whether a memory keeps a conversation, and whether it recalls what it kept.

A session has the control mode that was set last, for it or for the whole memory. In a mode that
keeps nothing, the conversation continues in an overlay (`store/overlay/`), as a fork of what is
written: its window, its searches and its page ids continue from there, and what is said in it is
lost when the process ends, or when the session is kept again. The change of mode is logged, and
nothing after it.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from pagefault.model.events import SessionOpened
from pagefault.model.ids import Seq, SessionNo
from pagefault.model.kinds import REGION_PREFIX, ControlMode
from pagefault.service.configure import configure
from pagefault.service.ownership import Owned
from pagefault.service.restore import restore
from pagefault.service.runtime import Runtime
from pagefault.store import controls as store_controls
from pagefault.store.commit import Committer
from pagefault.store.store import Store, about_store


@dataclass(frozen=True, slots=True)
class Overlay:
    """Where a conversation continues while it is not kept."""

    store: Store
    committer: Committer
    runtime: Runtime

    def close(self) -> None:
        """Drop everything that was said there."""
        self.committer.close()
        self.store.close()


def given_control(runtime: Runtime, session_id: str = "") -> tuple[ControlMode | None, Seq]:
    """The mode set last, and when: for the whole memory, or for this session, if one is named.
    Blocks on the store.
    """
    return store_controls.given_control(runtime.log, runtime.index, session_id)


def controls(runtime: Runtime, only: SessionNo | None = None) -> dict[str, str]:
    """The mode of each session by its id: the one set for it or for the memory, if that is later
    than its own records. Blocks on the store.
    """
    rows = runtime.index.sessions() if only is None else [runtime.index.session(only)]
    return {
        row.session_id: str(store_controls.control_of(runtime.log, runtime.index, row))
        for row in filter(None, rows)
        if not row.name.startswith(REGION_PREFIX)  # a region is not a conversation
    }


def continued(owned: Owned, control: ControlMode, *, name: str) -> SessionOpened:
    """How a session continues in an overlay: as a fork of what is written of it, with its name."""
    state = owned.state
    return SessionOpened(
        session_id=state.session_id,
        name=name,
        window_tokens=state.window_tokens,
        mode=state.asked_mode,
        system=state.system,
        layout=state.layout_name,
        control=control,
        tools=state.tools,
        parent=owned.session,
        parent_seq=owned.folded,
        epoch=state.epoch,
    )


async def open_above(overlay: Overlay, opened: SessionOpened) -> Owned:
    """Open a session in an overlay."""
    runtime = overlay.runtime
    [event] = await runtime.journal.append([about_store(opened)])
    row = runtime.index.session(event.session)
    assert row is not None
    state, folded = await asyncio.to_thread(restore, runtime, row)
    owned = Owned(
        session=event.session,
        called=opened.name or opened.session_id,
        state=state,
        folded=folded,
        runtime=runtime,
        is_leased=True,
    )
    # A fork begins like its parent; differences are records after it.
    await owned.whole(lambda: configure(owned, runtime, name=opened.name, control=opened.control))
    return owned
