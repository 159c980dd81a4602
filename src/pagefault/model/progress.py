"""Progress callbacks of long-running work."""

from __future__ import annotations

from collections.abc import Callable

Progress = Callable[[int, int], None]
"""Called with the amount done and the total, in the same unit."""

StageProgress = Callable[[str, int, int], None]
"""The same for work in stages: the stage's name, the amount done, and its total."""
