"""How a long piece of work tells how far it has come."""

from __future__ import annotations

from collections.abc import Callable

Progress = Callable[[int, int], None]
"""Told what is done and what there is in all, in the same unit."""

StageProgress = Callable[[str, int, int], None]
"""The same for work in stages: the stage by its name, what is done of it, and in all."""
