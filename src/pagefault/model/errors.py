"""Four families of errors, by whose fault it is. Catch a family; never catch `Exception`.

Every message says what happened and, in `hint`, what to do next. A hint names the call to make
("`Memory.verify`"); a front end with other terms substitutes them. Commands are named only if there
is no such call.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar


class PagefaultError(Exception):
    """The root of all errors raised on purpose. `str` gives message and hint, so that tracebacks
    and logs have both; inside another message use `message` alone.
    """

    hint: str = ""

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        if hint:
            self.hint = hint

    @property
    def message(self) -> str:
        return str(self.args[0])

    def __str__(self) -> str:
        return f"{self.message} ({self.hint})" if self.hint else self.message

    def __format__(self, spec: str) -> str:
        return format(self.message, spec)


# --- the caller's -----------------------------------------------------------------------------


class CallerError(PagefaultError):
    """The program or the person asked for something impossible. Nothing was changed."""


def not_installed(needs: str, extra: str) -> CallerError:
    """The error for what `needs` a package that is not there, and which extra brings it."""
    return CallerError(f"{needs}, which is not installed", hint=f"pip install 'pagefault[{extra}]'")


class BadInput(CallerError):
    """A value is malformed: a transcript line, an option, a level, a name."""


class SessionNotFound(CallerError):
    """The session does not exist; or, with `imported`, nothing was imported from there."""

    def __init__(self, session: str, *, imported: Sequence[str] | None = None) -> None:
        if imported is not None:
            there = f"there is {', '.join(imported)}" if imported else "nothing was imported yet"
            super().__init__(f"nothing was imported as {session!r:.80}", hint=there)
            return
        super().__init__(
            f"there is no session {session!r} here",
            hint="`Memory.sessions` lists what there is",
        )


class RegionNotFound(CallerError):
    def __init__(self, region: str) -> None:
        super().__init__(
            f"there is no region {region!r} here",
            hint="`Memory.regions` lists what there is",
        )


class AccessRefused(CallerError):
    """A region's policy, or its owner, does not let a session do this. The hint says who may."""


class NoSuchPage(CallerError):
    """A person or program named a page that the session does not have. `near` suggests what was
    meant, in words.
    """

    def __init__(self, page_id: str, session: str, near: str = "", what: str = "page") -> None:
        told = f"{near} " if near.endswith("?") else f"{near}; "
        super().__init__(
            f"session {session!r} has no {what} {page_id!r:.80}",
            hint=f"{told if near else ''}{self._LISTED[what]}",
        )

    _LISTED: ClassVar = {
        "page": "`Memory.pages` lists its pages, `Session.recall` finds them",
        "claim": "`Session.claims` lists its claims",
        "proposal": "`Session.core` lists what is proposed",
        "item": "`Session.heat_status` tells its items",
    }


class WindowTooSmall(CallerError):
    """The mandatory part of a request does not fit the window."""


class MessageTooLarge(CallerError):
    """A typed message cannot fit the window even alone; it was not logged."""


class PinsFull(CallerError):
    """Another pin would leave the window no room to work in."""


class CoreFull(CallerError):
    """A section of core memory, or all of it, has no room for this; nothing was written. The
    message names the limit.
    """


class HotFull(CallerError):
    """Hot memory has no room for this item, even after evictions; nothing was written."""


class QuotaExceeded(CallerError):
    """This write would exceed a quota. Nothing of it was written, and nothing else was lost.

    `quota` is its name in `pagefault.Quotas`, `used` its current count, and `asked` what this would
    add. For a rate, `retry_s` is the seconds until the same write is accepted; else it is 0.
    """

    def __init__(
        self,
        owner: str,
        *,
        quota: str,
        used: int,
        limit: int,
        asked: int,
        retry_s: int = 0,
        hint: str = "",
    ) -> None:
        super().__init__(
            f"{owner}: {_so_far(quota, used, limit)} ({quota}), and this needs {asked:,}; "
            "nothing of it was written",
            hint=hint,
        )
        self.quota = quota
        self.used = used
        self.limit = limit
        self.asked = asked
        self.retry_s = retry_s


def _so_far(quota: str, used: int, limit: int) -> str:
    if quota.endswith("_per_minute"):
        return f"{limit:,} a minute are allowed, {used:,} were written in the last"
    return f"{used:,} of {limit:,} are used"


class CannotUndo(CallerError):
    """There is nothing to undo or redo, or what it would restore is gone."""


class IllegalTransition(AssertionError):
    """A page was asked for a state change that the residency table does not have: our bug."""

    def __init__(self, state: str, cause: str) -> None:
        super().__init__(f"a page that is {state} cannot be {cause}")


# --- the model's ------------------------------------------------------------------------------


class ModelError(PagefaultError):
    """The model asked for something it may not have. Becomes a tool result, never a crash."""


class FaultRefused(ModelError):
    """A fault was refused before anything was loaded; no budget was spent.

    `code` is stable and machine-readable; `levels` lists the levels that would be granted, and
    `tokens` the size of each.
    """

    def __init__(
        self,
        code: str,
        why: str,
        *,
        page_id: str = "",
        faults_left: int,
        levels: tuple[int, ...] = (),
        tokens: tuple[int, ...] = (),
    ) -> None:
        super().__init__(why)
        self.code = code
        self.why = why
        self.page_id = page_id
        self.faults_left = faults_left
        self.levels = levels
        self.tokens = tokens


# --- the store's ------------------------------------------------------------------------------


class StoreError(PagefaultError):
    """The medium failed, or somebody else holds it."""


class StoreBusy(StoreError):
    """Nothing was written; safe to retry. Names the holder."""

    hint = "try again; if that does not help, close whatever else has this memory open"


class SessionBusy(StoreError):
    """Another process writes to this session. Nothing was written; names the process."""


class PlanOutdated(StoreError):
    """The plan rests on something that another process has changed. Nothing was written: the
    session plans again, so no caller sees this.
    """


class StoreClosed(StoreError):
    """The memory was closed before this could be done. Nothing of it was written."""

    hint = "open it again"

    def __init__(self) -> None:
        super().__init__("this memory is closed")


class StoreLatched(StoreError):
    """An earlier write failed, so the content of the disk is unknown. Reopen to recover."""

    hint = "close this memory and open it again: opening re-reads what the disk really holds"


class StoreMissing(StoreError):
    """There is no memory at this place."""


class StoreReadOnly(StoreError):
    """The memory was opened for reading, or only reading is safe."""

    hint = "reading works; to write, open it for writing, where its files may be written"


class NotAdopted(StoreReadOnly):
    """The memory was not made here by this user, who has not adopted it: it is read-only."""


class ScreenFailed(StoreError):
    """The scan for secrets failed before the log was reached. Nothing was written."""

    hint = "the text cannot be kept safely; leave it out, and report this without it"

    def __init__(self, why: str) -> None:
        super().__init__(f"nothing was logged, because the search for secrets failed: {why}")


class StoreCorrupt(StoreError):
    """A record that was acknowledged can no longer be read. Nothing was cut or changed."""

    hint = "`Memory.verify` lists the damage, `pagefault repair` sets it aside and reopens the rest"


class ArchiveMissing(StoreError):
    """The content is in an archive that cannot be reached. Nothing is lost or damaged."""

    hint = "mount it, or put it back, and try again; what is not archived can be read and written"

    def __init__(self, directory: str) -> None:
        super().__init__(f"this is in the archive at {directory}, which is not there")


class StoreIncompatible(StoreError):
    """The files were written by a newer major version."""

    hint = "upgrade pagefault, or open this memory with the version that wrote it"


class RecordGone(StoreError):
    """The record exists, but its content is gone: forgotten, or lost to damage."""


class RecordDamaged(RecordGone):
    """It was not forgotten: its bytes cannot be read. `repair` declares it lost."""


# --- the engine's -----------------------------------------------------------------------------


class EngineError(PagefaultError):
    """The model's provider failed, or its answer cannot be read."""


class EngineUnreachable(EngineError):
    """No connection, or no answer in time."""


class EngineRefused(EngineError):
    """The provider refused the key, the model's name, the quota or the request."""


class EngineGarbled(EngineError):
    """The provider's answer does not follow the protocol."""
