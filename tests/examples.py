"""How many examples are tried: few in an ordinary run, many more with the profile `drawn`."""

from __future__ import annotations

from typing import Any, Final

from hypothesis import settings

MORE: Final = 10


def few(count: int, *, torture: int = 0, **more: Any) -> settings:
    """So many in an ordinary run, where they are the same each time; in torture, where they are
    others each time, ten times as many, or as many as `torture` says.
    """
    return settings(
        max_examples=count if settings().derandomize else torture or MORE * count,
        deadline=None,
        **more,
    )
