"""Whether requests can be logged; the access log says when that stops, and when it resumes.

A disk that was full is tried again with the next request, and when `/healthz` is asked. There is no
timer: without requests there is nothing to log.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from pagefault.model.clock import Clock
from pagefault.model.errors import PagefaultError
from pagefault.proxy.http.client import UNNAMED
from pagefault.service.memory import Memory
from pagefault.service.recovery import check_writable, refusal_of

if TYPE_CHECKING:
    from pagefault.proxy.conversation.conversation import Conversation

RETRY_S: Final = 1.0  # between two tries of a disk that was full
LOOK_S: Final = 1.0  # that `/healthz` waits for other processes, in total


class Keeping:
    """For one proxy. `problem` is why the conversation of the newest request could not be found, or
    "".
    """

    def __init__(
        self,
        memory: Memory,
        clock: Clock,
        log: Callable[[str], None],
        recovered: Callable[[], None],
    ) -> None:
        """`recovered` is called each time that requests are logged again."""
        self._memory = memory
        self._recovered = recovered
        self._clock = clock
        self._log = log
        self._stopped_s: float | None = None  # since when nothing can be written
        self._tried_s = float("-inf")
        self._missed = 0  # requests since
        self.problem = ""

    @property
    def is_well(self) -> bool:
        """Whether the memory can be written, as far as is known."""
        return refusal_of(self._memory) is None

    def why(self, conversations: Iterable[Conversation]) -> str:
        """The problem in words, or ""."""
        refusal = refusal_of(self._memory)
        if refusal is not None:
            return refusal.message
        return self.problem or next((one.problem for one in conversations if one.problem), "")

    async def try_again(self) -> None:
        """Let a memory that refuses every write recover, if it can."""
        now_s = self._clock.monotonic_s()
        if self.is_well or now_s - self._tried_s < RETRY_S:
            return
        self._tried_s = now_s
        with suppress(PagefaultError):  # another time
            await check_writable(self._memory, wait_s=LOOK_S)

    def note(self, not_logged: str) -> None:
        """Note why a request could not be logged, "" if it was."""
        refusal = refusal_of(self._memory)
        if refusal is not None:
            self._missed += 1
            if self._stopped_s is None:
                self._stopped_s = self._clock.monotonic_s()
                self._log(f"nothing is kept from now on: {refusal.message}")
        elif self._stopped_s is not None and not not_logged:
            for_s = self._clock.monotonic_s() - self._stopped_s
            self._log(
                f"what is said is kept again, after {for_s:.0f} s and {self._missed} requests that "
                "were not: what of these their clients send again is kept then"
            )
            self._stopped_s, self._missed = None, 0
            self._recovered()

    async def ailing(self, conversations: Iterable[Conversation]) -> list[Conversation]:
        """The conversations whose newest request still cannot be logged."""
        await self.try_again()
        ailing = [one for one in conversations if one.problem]
        if not self.is_well or not (ailing or self.problem):
            return ailing
        with suppress(TimeoutError):
            async with asyncio.timeout(LOOK_S):
                try:
                    await check_writable(self._memory)
                    if self.problem:  # the conversation of a request was not found
                        await self._memory.session_names(UNNAMED)
                except PagefaultError:
                    return ailing
                self.problem = ""
                for one in ailing:
                    await one.look_again()
        return [one for one in ailing if one.problem]
