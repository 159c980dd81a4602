"""A reranker for search: bounded in time, not called for a while after a failure, never an error.

Invariants:
 (1) A search waits for `WAIT_S` at most, and never fails because of a reranker. While one answer is
     late no other is asked for: the order by words is used at once.
 (2) After a failure the reranker is not called for a while, longer each time; `status` says why.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from pagefault.model.clock import Clock
from pagefault.model.errors import EngineError, EngineGarbled, EngineUnreachable, PagefaultError
from pagefault.recall.reranking import Judged
from pagefault.service.derived.bounded_calls import BoundedCalls, CallRejected, CallTimedOut

if TYPE_CHECKING:
    from pagefault.engine.reranking import Reranker

WAIT_S: Final = 5.0
"""How long a search waits for an answer: the model may have to be loaded first."""

WEIGHT: Final = 0.1
"""For a reranker without a `weight` (`recall.reranking.Judged.weight`)."""

CALLS_AT_ONCE: Final = 4
REST_S: Final = 5.0
"""How long a reranker is not called after a failure, doubled each time up to `REST_S_MAX`."""

REST_S_MAX: Final = 300.0
_CONTRACT: Final = (
    "`pagefault.Reranker` documents what a reranker does; "
    "`pagefault.testing.reranker_contract` tests one"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class RerankingStatus:
    """The state of a memory's reranker, since it was opened."""

    reranker: str  # its name; empty while it is unknown
    asked: int  # calls made: searches that words did not decide
    failure: str = ""  # why it failed last, if it has not answered since
    hint: str = ""


class Reranking:
    """Implements `recall.reranking.Rerank`."""

    def __init__(self, reranker: Reranker, clock: Clock, *, owned: bool) -> None:
        """`owned` means that the reranker is closed with this."""
        self._reranker = reranker
        self._clock = clock
        self._owned = owned
        self._calls = BoundedCalls(CALLS_AT_ONCE)
        self._lock = threading.Lock()
        self._asked = 0
        self._failure: PagefaultError | None = None
        self._rest_s = 0.0
        self._again_s = 0.0  # when it may be called again

    def close(self) -> None:
        """End waits for an answer. Harmless when repeated."""
        close = getattr(self._reranker, "close", None)
        if self._owned and close is not None:
            close()

    def __call__(self, query: str, texts: Sequence[str]) -> Judged | None:
        """Scores for the texts; None if they cannot be had soon."""
        if self._clock.monotonic_s() < self._again_s:
            return None
        try:
            judged = self._calls(lambda: self._judged(query, texts), WAIT_S)
        except CallTimedOut:
            self._failed(EngineUnreachable(f"the reranker gave no answer within {WAIT_S:g} s"))
        except CallRejected:
            pass  # the late call has reported it
        except Exception as failure:
            self._failed(failure)
        else:
            with self._lock:
                self._failure = None
                self._rest_s = self._again_s = 0.0
            return judged
        return None

    def status(self) -> RerankingStatus:
        """Never raises: if the reranker cannot return its name, the reason is in `failure`."""
        name = ""
        try:
            name = self._reranker.name
        except Exception as failure:
            self._failed(failure)
        failed = self._failure
        return RerankingStatus(
            reranker=name,
            asked=self._asked,
            failure=failed.message if failed is not None else "",
            hint=failed.hint if failed is not None else "",
        )

    def _judged(self, query: str, texts: Sequence[str]) -> Judged:
        """Raises `EngineError` for any mistake of a caller's reranker."""
        with self._lock:
            self._asked += 1
        try:
            scores = [float(score) for score in self._reranker.rerank(query, texts)]
            weight = float(getattr(self._reranker, "weight", WEIGHT))
        except PagefaultError:
            raise
        except Exception as failure:
            raise _of_the_reranker(failure) from failure
        if len(scores) != len(texts) or not all(map(math.isfinite, [*scores, weight])):
            raise EngineGarbled(
                f"the reranker answered {len(texts)} texts by {len(scores)} scores,"
                " or not by finite ones",
                hint=_CONTRACT,
            )
        return Judged(scores, max(weight, 0.0))

    def _failed(self, failure: Exception) -> None:
        if not isinstance(failure, PagefaultError):
            failure = _of_the_reranker(failure)
        with self._lock:
            self._rest_s = min(max(REST_S, 2 * self._rest_s), REST_S_MAX)
            self._again_s = self._clock.monotonic_s() + self._rest_s
            self._failure = failure


def _of_the_reranker(failure: Exception) -> EngineError:
    return EngineError(f"the reranker failed: {type(failure).__name__}: {failure}", hint=_CONTRACT)
