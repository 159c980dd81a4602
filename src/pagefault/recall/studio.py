"""The profile `studio-v1`: a ranking formula of fixed weights over what search found.

    score = 0.40 semantic + 0.25 lexical + 0.20 recency + 0.15 importance

Each term is 0..1: `semantic` is similarity relative to the nearest page; `lexical` the score of a
page's own words and its neighbourhood, relative to the best; `recency` decays to 1/e over as many
pages as in the measured profile; `importance` is the page's own. Without an embedder there is no
`semantic`, and the other weights are scaled up to sum to one. The formula only reorders hits: what
bears on nothing still finds nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

WEIGHTS: Final = {"semantic": 0.40, "lexical": 0.25, "recency": 0.20, "importance": 0.15}


def rescored(
    found: Sequence[Mapping[str, float]], recencies: Sequence[float], importances: Sequence[float]
) -> list[dict[str, float]]:
    """This score's parts for each page, which add up to it, from its measured parts."""
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
    """Each value as a share of the largest; 0 if none is above 0."""
    most = max(values, default=0.0)
    return [max(value, 0.0) / most if most > 0 else 0.0 for value in values]
