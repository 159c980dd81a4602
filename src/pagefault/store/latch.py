"""The write latch: whether writing is allowed, and if not, why. A broken store stays broken."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from pagefault.model.errors import StoreCorrupt, StoreError, StoreLatched, StoreReadOnly

_FULL: Final = {errno.ENOSPC, errno.EDQUOT}
_NO_ROOM: Final = _FULL | {errno.EFBIG}  # the last is a limit of this process (`ulimit -f`)
_UNWRITABLE: Final = _FULL | {errno.EROFS, errno.EACCES, errno.EPERM}
"""Errors after which a medium can still be read but not written."""


class Latch:
    """Holds the first reason not to write.

    Invariant: once there is a reason, it stays, and every attempt to write raises it. After a
    failed write or sync the kernel may have dropped its buffers, so a retry would prove nothing.

    `is_for_room`: only space was missing, and nothing that failed is taken as written. Once the
    medium is read again, writing may go on, under another latch.
    """

    def __init__(self) -> None:
        self.refusal: StoreError | None = None
        self.is_for_room = False
        self._cause: BaseException | None = None

    def refuse_from_now(
        self,
        refusal: StoreError,
        cause: BaseException | None = None,
        *,
        is_for_room: bool = False,
    ) -> None:
        """Refuse all writes from now on; an earlier reason is kept."""
        if self.refusal is None:
            self.refusal, self._cause, self.is_for_room = refusal, cause, is_for_room

    def check(self, *, but_damage: bool = False) -> None:
        """Raise if writing is not allowed; `but_damage` lets a damaged log pass, for its repair."""
        refusal = self.refusal
        if refusal is None or (but_damage and isinstance(refusal, StoreCorrupt)):
            return
        raise type(refusal)(refusal.message, hint=refusal.hint) from self._cause

    @contextmanager
    def latching(self, what: str, *, may_want_room: bool = False) -> Iterator[None]:
        """Within this block any failure but a `StoreError` latches, as `StoreLatched`.

        `may_want_room`: if space runs out, opening cuts off everything that was left behind.
        """
        try:
            yield
        except OSError as failure:
            why, hint = failure.strerror or str(failure), StoreLatched.hint
            if failure.errno in _FULL:
                why, hint = "the disk is full", f"free some space, then {hint}"
            message = f"{what} failed ({why}), so what is on the disk is unknown"
            refusal = StoreLatched(message, hint=hint)
            is_for_room = may_want_room and failure.errno in _NO_ROOM
            self.refuse_from_now(refusal, failure, is_for_room=is_for_room)
            raise refusal from failure
        except StoreError:
            raise
        except Exception as failure:  # lack of memory, say: it may still be partly done
            name = type(failure).__name__
            refusal = StoreLatched(f"{what} failed ({name}), so what is on the disk is unknown")
            self.refuse_from_now(refusal, failure)
            raise refusal from failure

    @contextmanager
    def read_only_if_unwritable(self, path: object) -> Iterator[None]:
        """Within this block an unwritable medium makes this latch read-only."""
        try:
            yield
        except OSError as failure:
            if failure.errno not in _UNWRITABLE:
                raise StoreError(f"{path} cannot be opened: {failure}") from failure
            refusal = StoreReadOnly(
                f"{path} cannot be written: {failure.strerror}",
                hint="it can be read; make room or make it writable, then reopen it",
            )
            is_for_room = failure.errno in _NO_ROOM
            self.refuse_from_now(refusal, failure, is_for_room=is_for_room)


def told(failure: Exception) -> str:
    """A failure in words: an `OSError` without its number and path."""
    if isinstance(failure, OSError) and failure.strerror:
        return failure.strerror
    return f"{failure}" or type(failure).__name__
