"""How many tokens of a model's own one of ours may be, as learned from what providers report."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable
from typing import Final

_RATIOS: Final = 16  # reports that a lower factor rests on


class TokenFactor:
    """Grows at once, as it gates what is admitted: a model whose tokenizer is less frugal than
    o200k is never sent more than its window. It falls at an epoch, to the most that was reported
    lately. Never below 1, and in steps of a thousandth.
    """

    def __init__(self) -> None:
        self.value = 1.0
        self._ratios: deque[float] = deque(maxlen=_RATIOS)  # reported by counted, lately

    def observe(self, reported_tokens: int, counted: int, *, most: Callable[[], float]) -> None:
        """A provider counted `reported_tokens` for what we had `counted`."""
        ratio = math.ceil(1000 * reported_tokens / counted) / 1000
        self._ratios.append(ratio)
        self._set(max(self.value, ratio), most)

    def relearn(self, *, most: Callable[[], float]) -> None:
        """Let it fall to the most that was reported lately, once there was enough."""
        if len(self._ratios) == self._ratios.maxlen:
            self._set(max(self._ratios), most)

    def _set(self, value: float, most: Callable[[], float]) -> None:
        self.value = 1.0 if value <= 1.0 else max(1.0, min(value, math.floor(1000 * most()) / 1000))
