"""How many examples are tried: few in an ordinary run, many more with the profile `drawn`."""

from __future__ import annotations

from typing import Any, Final

from hypothesis import settings

MORE: Final = 10


def few(count: int, **more: Any) -> settings:
    """So many in an ordinary run, where they are the same each time; ten times as many in torture,
    where they are others each time.
    """
    return settings(
        max_examples=count if settings().derandomize else MORE * count, deadline=None, **more
    )
