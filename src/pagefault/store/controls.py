"""The control mode of a session according to the log: the mode last set for it or for the whole
memory, or the one in its own records if that is later.
"""

from __future__ import annotations

from contextlib import suppress

from pagefault.model.errors import ArchiveMissing, StoreCorrupt, StoreReadOnly
from pagefault.model.events import ControlSet, SessionConfigured, SessionOpened
from pagefault.model.ids import NOTHING, Seq, SessionNo
from pagefault.model.kinds import ControlMode
from pagefault.model.page import SessionRow
from pagefault.store.api import EventLog, PageIndex

_STORE = SessionNo(0)
GIVEN = ("control_set",)
_SETTINGS = ("session_configured",)


def given_control(
    log: EventLog, index: PageIndex, session_id: str = ""
) -> tuple[ControlMode | None, Seq]:
    """The mode last set, and when, for the whole memory, or for one session if it is named."""
    for seq in reversed(index.events(_STORE, types=GIVEN)):
        with suppress(StoreCorrupt, ArchiveMissing):
            body = log.get(seq).body
            if isinstance(body, ControlSet) and body.session_id in ("", session_id):
                return body.control, seq
    return None, NOTHING


def control_of(log: EventLog, index: PageIndex, row: SessionRow) -> ControlMode:
    """The mode of a session."""
    given, at = given_control(log, index, row.session_id)
    last = max(index.events(row.session, types=_SETTINGS), default=Seq(row.session))
    if given is not None and at > last:
        return given
    with suppress(StoreCorrupt, ArchiveMissing):
        body = log.get(last).body
        if isinstance(body, SessionOpened | SessionConfigured):
            return body.control
    return ControlMode.ASSIST


def nothing_kept(control: ControlMode, *, whose: str = "memory", so: str = "") -> StoreReadOnly:
    """The error for a write that the control mode of `whose` forbids."""
    return StoreReadOnly(
        f"this {whose} is {control}: nothing is written to it{so and f', and {so}'}",
        hint="`Memory.set_control` sets another mode; what began unkept stays unkept",
    )
