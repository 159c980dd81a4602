"""Whether the newest request of a conversation could be logged, and what is in the way."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from pagefault.model.clock import Clock
from pagefault.model.errors import PagefaultError, QuotaExceeded


class WriteHealth:
    """For one conversation. `problem` is why its newest request could not be logged, or ""; `full`
    is the quota that had no room, if that is the problem.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self.reset()

    def reset(self) -> None:
        """A new request: nothing is known to be in the way of it."""
        self.problem = self.full = ""
        self._full_until_s = 0.0

    def fails(self, why: str) -> None:
        self.problem = why

    def exceeds(self, quota: QuotaExceeded) -> None:
        """The quota has no room until its time is over, or something is said here again."""
        self.problem, self.full = quota.message, quota.quota
        self._full_until_s = self._clock.monotonic_s() + (quota.retry_s or float("inf"))

    @property
    def is_full(self) -> bool:
        return self._clock.monotonic_s() < self._full_until_s

    async def look_again(self, check: Callable[[], Awaitable[None]]) -> None:
        """Have `check` find out whether the problem is still there: it raises, or `fails`."""
        before, self.problem, self.full = (self.problem, self.full), "", ""
        try:
            await check()
        except PagefaultError as error:
            self.problem = error.message
        except asyncio.CancelledError:  # it took too long: nothing was found out
            self.problem, self.full = before
            raise
