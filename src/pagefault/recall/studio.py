"""The profile `studio-v1`: a ranking formula of fixed weights, over what search has found.

    score = 0.40 semantic + 0.25 lexical + 0.20 recency + 0.15 importance

Each is 0..1: `semantic` is how near in meaning, of the nearest; `lexical` what its own words and
those around it are worth, of the best; `recency` falls to 1/e over so many pages as in the measured
profile; `importance` is the page's own. Where no embedder is set there is no `semantic`, and the
other weights are raised so that they come to one. What is found at all is the same as ever: the
formula orders it, so what bears on nothing still finds nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

WEIGHTS: Final = {"semantic": 0.40, "lexical": 0.25, "recency": 0.20, "importance": 0.15}


def rescored(
    found: Sequence[Mapping[str, float]], recencies: Sequence[float], importances: Sequence[float]
) -> list[dict[str, float]]:
    """For each of the pages that were found, given by the parts of its measured score, the parts of
    this one; they add up to it.
    """
    lexical = _shares([parts["own"] + parts["neighbourhood"] for parts in found])
    values = {"lexical": lexical, "recency": recencies, "importance": importances}
    if found and "meaning" in found[0]:
        values = {"semantic": _shares([parts["meaning"] for parts in found]), **values}
    whole = sum(WEIGHTS[name] for name in values)
    weights = {name: WEIGHTS[name] / whole for name in values}
    return [
        {name: weights[name] * value for name, value in zip(values, row, strict=True)}
        for row in zip(*values.values(), strict=True)
    ]


def _shares(values: Sequence[float]) -> list[float]:
    """Each as a share of the largest; 0 where none is above 0."""
    most = max(values, default=0.0)
    return [max(value, 0.0) / most if most > 0 else 0.0 for value in values]
