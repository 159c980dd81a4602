"""A session: one conversation, its window, and the verbs on them.

The verbs are in façades over one state: `facades/writer.py` writes messages and actions,
`facades/claimant.py` claims, `facades/notebook.py` and `facades/heater.py` core, archival and hot
memory, `facades/formations.py` what a model remembers of the session; `facades/reader.py` reads it,
`facades/packer.py` makes packs of it, `facades/sharer.py` shares its pages, `facades/inspector.py`
inspects it. This module joins them, and has the verbs that need more than one of them.

`ownership.py` handles what other processes do to the session.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

from pagefault.engine.api import Engine
from pagefault.model.events import Event, SessionOpened
from pagefault.model.ids import SessionNo
from pagefault.model.kinds import ControlMode
from pagefault.model.reprs import counted, inert
from pagefault.model.signatures import checked_verbs
from pagefault.service.arguments import a_control, a_count, a_span_s, check_name
from pagefault.service.control import Overlay
from pagefault.service.facades.claimant import Claimant
from pagefault.service.facades.formations import Formations
from pagefault.service.facades.heater import Heater
from pagefault.service.facades.inspector import Inspector
from pagefault.service.facades.notebook import Notebook
from pagefault.service.facades.packer import Packer
from pagefault.service.facades.parts import check_open
from pagefault.service.facades.reader import Reader
from pagefault.service.facades.sharer import Sharer
from pagefault.service.facades.writer import Writer
from pagefault.service.ownership import Owned
from pagefault.service.restore import restore_at
from pagefault.service.runtime import Runtime
from pagefault.service.turn.drive import Answer, Bounds, drive
from pagefault.service.turn.functions import CALLS_MAX, TIMEOUT_S, RunnableTool, Toolbox
from pagefault.service.window.state import SessionState
from pagefault.store.controls import nothing_kept


@checked_verbs(usable=check_open)
class Session(Writer, Claimant, Notebook, Heater, Formations, Reader, Packer, Sharer, Inspector):
    """Made by `Memory.session`. All verbs may be awaited from one event loop, in any order."""

    def __init__(
        self,
        *,
        owned: Owned,
        session_id: str,
        name: str,
        runtime: Runtime,
        open_new: Callable[[SessionOpened], Awaitable[Session]],
        switch: Callable[[Session, ControlMode], Awaitable[None]],
        overlay: Overlay | None = None,
    ) -> None:
        super().__init__(owned=owned, session_id=session_id, name=name, runtime=runtime)
        self._open_new = open_new
        self._switch = switch
        self.overlay = overlay  # where it continues while it is not kept
        self.kept_as: SessionNo | None = None if overlay else owned.session  # its written part

    def __repr__(self) -> str:
        state = self._state
        told = [
            f"Session {inert(self.called)!r}",
            counted(state.turn + 1, "turn"),
            counted(state.order_next, "page"),
        ]
        if not state.is_relayed:  # else its window is its client's own
            told.append(f"window {state.layout.tokens():,}/{state.window_tokens:,}")
        return " · ".join(told)

    async def run(
        self,
        engine: Engine,
        *,
        tools: Sequence[RunnableTool] | None = None,
        calls_max: int = CALLS_MAX,
        timeout_s: float = TIMEOUT_S,
        on_text: Callable[[str], None] | None = None,
    ) -> Answer:
        """Let `engine` answer the turn: requests, tool calls, faults, until the final answer.

        The answer is logged and its citations checked against what the model could see. `on_text`
        is called with pieces of text as they arrive.

        `tools` are yours. A function is called when the model calls it: its name, docstring and
        type hints are the model's description of it. Functions called in one reply run side by side
        if they are `async`, else one after the other, each on a thread. One that raises, or takes
        longer than `timeout_s`, is a failed call, which the model reads; after `calls_max` calls
        the model is asked to answer. Calls of a tool that is given as a schema (as `request` takes
        it) are left to you: `Answer.calls` lists them, and once each has its `tool_result`, `run`
        continues. All of it is logged.
        """
        bounds = Bounds(
            steps_max=self._state.limits.steps_per_turn_max,
            calls_max=a_count(calls_max, called="calls_max"),
            timeout_s=a_span_s(timeout_s, called="timeout_s"),
        )
        answer = await drive(
            self, engine, bounds, on_text, Toolbox(tools) if tools is not None else None
        )
        if not answer.calls:
            self._formation.after_turn(engine)
        return answer

    async def fork(
        self,
        name: str = "",
        *,
        turn: int | None = None,
        seq: int | None = None,
        time: str | int | None = None,
        checkpoint: str | None = None,
    ) -> Session:
        """A new session that sees everything said here so far, or, with one of the times that `at`
        takes, by then. Pages are shared, not copied.
        """
        if name:
            check_name(name)
        times = turn, seq, time, checkpoint
        if all(one is None for one in times):
            return await self.owned.whole(lambda: self._fork(name))
        then, last = await self._then(
            lambda upto: (
                restore_at(self._runtime, self._row(), upto),
                self._runtime.log.get(upto),
            ),
            turn=turn,
            seq=seq,
            time=time,
            checkpoint=checkpoint,
        )
        return await self.owned.whole(lambda: self._fork(name, then, last))

    async def restore(self, checkpoint: str) -> Session:
        """Go back to a checkpoint: a new session of the same name that continues from there. The
        name opens the session that was used last; what was said since stays in this session, which
        opens by its id. Raises `BadInput` if there is no such checkpoint.
        """
        return await self.fork(self.name, checkpoint=checkpoint)

    @property
    def control(self) -> str:
        """The control mode of the conversation: see `set_control`."""
        return str(self._state.control)

    async def set_control(self, mode: str) -> None:
        """Set the control mode of the conversation from now on:

        "assist": keep what is said, and recall what was kept (the default); "capture_only": keep
        it, and recall nothing, neither pages nor claims nor summaries; "paused": recall what was
        kept, and write nothing more; "incognito": likewise, for a conversation that leaves nothing
        behind; "off": neither.

        The change is logged, unless nothing of the session ever was. While nothing is kept, what is
        said is in this process alone, and is lost when it ends or when the session is kept again;
        the conversation then continues from what was written. Raises `BadInput` for a session that
        began unkept and is to be kept: begin a new one.
        """
        await self._switch(self, a_control(mode))

    def _check_kept(self) -> None:
        if self.overlay is not None:
            raise nothing_kept(self._state.control, whose="session", so="nothing shared")

    async def _fork(
        self, name: str, then: SessionState | None = None, last: Event | None = None
    ) -> Session:
        """A fork of the session as it was `then`, `last` being its last record; or as it is."""
        if self.overlay is not None:
            so = "nothing kept that a fork could see"
            raise nothing_kept(self._state.control, whose="session", so=so)
        await self.owned.drain()  # calls under way are part of what was said so far
        state = then or self._state
        return await self._open_new(
            SessionOpened(
                session_id=self._runtime.mint_session_id(),
                name=self._runtime.journal.clean(name),
                window_tokens=state.window_tokens,
                mode=state.asked_mode,
                system=state.system,
                layout=state.layout_name,
                control=state.control,
                tools=state.tools,
                parent=self.session if last is None else last.session,
                parent_seq=self.owned.folded if last is None else last.seq,
                epoch=state.epoch,
            )
        )
