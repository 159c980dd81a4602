"""Cache marks in OpenAI's two APIs: on a part of a message's content.

From GPT-5.6 on a request may state where a prefix worth keeping ends (`prompt_cache_breakpoint`,
`prompt_cache_options` in the published description of the API). Without marks the provider writes
one entry at the very end of a request, after the tail, where the next request already differs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pagefault.engine.breakpoints import marks


def mark(
    wire: dict[str, Any],
    units: Mapping[int, dict[str, Any]],
    breakpoints: Sequence[int],
    *,
    part_type: str,
) -> None:
    """Mark the ends of those messages, and request that nothing else is written.

    `units` maps a message's position to the object in `wire` that ends it. One whose content (or
    output) is not a text, or is empty, cannot be marked.
    """
    texts = {place: "output" if "output" in unit else "content" for place, unit in units.items()}
    wished = [place for place in breakpoints if place in texts and units[place].get(texts[place])]
    chosen = marks(wished, max(units, default=-1) + 1, lookback=0)
    for place in chosen:
        unit, field = units[place], texts[place]
        marked = {"type": part_type, "text": unit[field]}
        unit[field] = [marked | {"prompt_cache_breakpoint": {"mode": "explicit"}}]
    if chosen:
        wire["prompt_cache_options"] = {"mode": "explicit"}
