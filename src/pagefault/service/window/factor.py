"""The model's tokens for one of ours, learned from providers' reports."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable
from typing import Final

_RATIOS: Final = 16  # reports that a lower factor rests on


class TokenFactor:
    """Rises at once, because admission depends on it: a model with a less frugal tokenizer than
    o200k is never sent more than its window. Falls only at an epoch, to the highest recent report.
    Never below 1, in steps of a thousandth.
    """

    def __init__(self) -> None:
        self.value = 1.0
        self._ratios: deque[float] = deque(maxlen=_RATIOS)  # recent ratios of reported to counted

    def observe(self, reported_tokens: int, counted: int, *, most: Callable[[], float]) -> None:
        """Note that a provider counted `reported_tokens` for our `counted`."""
        ratio = math.ceil(1000 * reported_tokens / counted) / 1000
        self._ratios.append(ratio)
        self._set(max(self.value, ratio), most)

    def relearn(self, *, most: Callable[[], float]) -> None:
        """Let it fall to the highest recent ratio, if there are enough reports."""
        if len(self._ratios) == self._ratios.maxlen:
            self._set(max(self._ratios), most)

    def _set(self, value: float, most: Callable[[], float]) -> None:
        self.value = 1.0 if value <= 1.0 else max(1.0, min(value, math.floor(1000 * most()) / 1000))
