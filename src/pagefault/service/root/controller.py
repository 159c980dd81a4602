"""Control modes of a memory and its sessions, and the switch between them."""

from __future__ import annotations

import asyncio
from contextlib import suppress

from pagefault.model.errors import (
    BadInput,
    PagefaultError,
    SessionBusy,
    SessionNotFound,
    StoreBusy,
)
from pagefault.model.events import ControlSet, SessionOpened
from pagefault.model.kinds import ControlMode
from pagefault.model.signatures import checked_verbs
from pagefault.service.arguments import a_control
from pagefault.service.configure import configure
from pagefault.service.control import Overlay, continued, controls, open_above
from pagefault.service.ownership import Owned
from pagefault.service.root.parts import MemoryParts, check_open
from pagefault.service.session import Session


def _switched() -> PagefaultError:
    return StoreBusy(
        "the session was given another control mode in the meantime", hint="repeat the call"
    )


@checked_verbs(usable=check_open)
class Controller(MemoryParts):
    """The verbs about control modes."""

    async def control(self) -> str:
        """The control mode last set for the whole memory, or else the default for new sessions."""
        await self._look()
        return str(await self._given_control())

    async def set_control(self, mode: str, *, session: str = "") -> None:
        """Set the control mode of a session (its name or id; `Session.set_control`), or of every
        session, including those opened later, until each is given another. In other processes it
        applies from the session's next verb, and in `serve` from its next request, whichever
        process writes to it; a verb that is running there writes nothing more once the mode keeps
        nothing (`StoreBusy`). Raises `BadInput`, `SessionNotFound`.
        """
        control = a_control(mode)
        async with self._alone():  # around both: sessions must follow modes in the order of the log
            await self._note_control(control, await self._id_of(session))
            for one in self._live():
                await self._follow(one)

    async def control_of(self, session: str) -> str:
        """The control mode of a session, by name or id; for one that is not written, the
        default.
        """
        await self._look()

        def told() -> str | None:
            row = self._runtime.index.find_session(session)
            return (
                None if row is None else next(iter(controls(self._runtime, row.session).values()))
            )

        return await asyncio.to_thread(told) or await self.control()

    async def controls(self) -> dict[str, str]:
        """The control mode of each session that is written, by its id."""
        await self._look()
        return await asyncio.to_thread(controls, self._runtime)

    async def _note_control(self, control: ControlMode, session_id: str) -> None:
        body = ControlSet(control=control, session_id=session_id)
        await self._committer.run(lambda: self._store.note(body))

    async def _heed(self) -> None:
        journal = self._runtime.journal
        async with self._alone():
            seen = journal.controlled
            if seen == journal.heeded:
                return
            for one in self._live():
                with suppress(SessionBusy, SessionNotFound):  # the writing process obeys it, too
                    await self._follow(one)
            journal.followed(seen)

    async def _follow(self, session: Session) -> None:
        """Switch a session to the mode that was set last, for it or for the memory. A reader has
        the mode that is in the log.
        """
        if session.kept_as is None or self._store.reads_only:
            return
        told = await asyncio.to_thread(controls, self._runtime, session.kept_as)
        for mode in map(ControlMode, told.values()):
            await self._have(session, mode)

    async def _switch(self, session: Session, mode: ControlMode) -> None:
        async with self._alone():
            await self._give(session, mode)

    async def _give(self, session: Session, mode: ControlMode) -> None:
        """Set a session's mode and log it, unless it is in that mode already."""
        if session.kept_as is not None:
            await self._note_control(mode, session.session_id)
        await self._have(session, mode)

    async def _have(self, session: Session, mode: ControlMode) -> None:
        if mode.captures and session.kept_as is None:
            raise BadInput(
                f"the conversation began {session.control}, so nothing of it is written",
                hint="start a new conversation to keep it",
            )
        if mode.captures and session.overlay is not None:
            await self._come_down(session)
        if not mode.captures and session.overlay is None:
            await self._go_above(session, mode)
        elif session.owned.state.control is not mode:
            await self._tell(session.owned, mode, session.name)

    async def _tell(self, owned: Owned, mode: ControlMode, name: str) -> None:
        await owned.whole(lambda: configure(owned, owned.runtime, name=name, control=mode))

    async def _go_above(self, session: Session, mode: ControlMode) -> None:
        overlay = self._new_overlay()
        async with session.owned.quiet():
            below = session.owned
            owned = await open_above(overlay, continued(below, mode, name=session.name))
            session._stand_on(owned, overlay.runtime)
            session.overlay = overlay
            self._above.append(session)
            below.end(_switched())

    async def _come_down(self, session: Session) -> None:
        assert session.kept_as is not None
        overlay = session.overlay
        assert overlay is not None
        async with session.owned.quiet():
            above, owned = session.owned, await self._owned(session.kept_as)
            session._stand_on(owned, self._runtime)
            session.overlay = None
            self._above.remove(session)
            above.end(_switched())
        await asyncio.to_thread(overlay.close)

    async def _begin_above(self, opened: SessionOpened) -> Session:
        """An unwritten session on top of this one."""
        self._runtime.check_opened(opened)
        overlay = self._new_overlay()
        owned = await open_above(overlay, opened)
        session = self._session(owned, opened.session_id, opened.name, overlay.runtime, overlay)
        self._sessions[owned.session] = session
        self._above.append(session)
        return session

    async def _abandon(self, session: Session) -> None:
        """End a session that began unkept, and free its name before anybody finds it by that."""
        overlay = session.overlay
        assert overlay is not None
        self._above.remove(session)
        del self._sessions[session.owned.session]
        session.owned.end(SessionNotFound(session.name))
        await asyncio.to_thread(overlay.close)

    def _new_overlay(self) -> Overlay:
        self._overlays += 1
        return self._overlay(self._overlays)
