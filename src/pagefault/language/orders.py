"""Phrases with which a stored text poses as an order to the model that later reads it.

They are few on purpose: requirement 003's four, made narrower, because on developers' notes these
flagged 5 of 12 clean ones, and caught 3 of 118 attacks (a corpus of stored injections). No list of
phrases finds a poisoned memory that only states something false; the defence against those is the
label of origin (`model/trust.py`). So only untrusted text is judged by this, and a hit only ever
lowers what may be done with it.
"""

from __future__ import annotations

import re
from typing import Final

_ORDERS: Final = re.compile(
    r"""
      \b(?:ignore|disregard|forget|override)\b\W+(?:\w+\W+){0,3}
          (?:previous|prior|above|earlier|preceding|system)\W+(?:\w+\W+){0,2}
          (?:instruction|direction|rule|prompt|guideline)s?\b
    | ^\W*(?:new|updated|revised)\W+(?:system\W+)?instructions?\s*:
    | \b(?:system|assistant|developer)\s*:\s*you\W+(?:are|must|will)\b
    | \boverride\W+(?:\w+\W+){0,2}(?:rule|polic(?:y|ie)|safety)s?\b
    | \bignoriere\W+(?:\w+\W+){0,3}(?:anweisung|regel)(?:en)?\b
    | \bignorez?\W+(?:\w+\W+){0,3}(?:instruction|consigne)s?\b
    | \bignora\W+(?:\w+\W+){0,3}instrucci[oó]n(?:es)?\b
    | игнорируй\W+(?:\w+\W+){0,3}инструкци
    | 忽略.{0,8}(?:指令|指示|规则)
    """,
    re.IGNORECASE | re.MULTILINE | re.VERBOSE,
)


def reads_like_an_order(text: str) -> bool:
    """Whether a text instructs its reader to replace its instructions."""
    return _ORDERS.search(text) is not None
