"""What a user says of an answer that recalled something: whether it was asked for, and was wrong.

By form alone, and cautiously: a message is a correction only if it begins by contradicting, or
repeats what its writer had said. A correction that is missed makes recall look better than it is,
so the figure that rests on this is an upper bound.
"""

from __future__ import annotations

import re
from typing import Final

RECALLS: Final = (
    r"\b(?:what|which|who|when|where|why|how)\b[^.!?\n]{0,80}\b(?:did|do|had|have|was|were)\b"
    r"[^.!?\n]{0,40}\b(?:we|you|i)\b[^.!?\n]{0,40}"
    r"\b(?:say|said|tell|told|decide|decided|agree|agreed|discuss|discussed|mention|mentioned"
    r"|pick|picked|choose|chose|chosen|settle|settled|call|called)\b",
    r"\b(?:do you )?remember\b[^.!\n]{0,120}\?",
    r"\bremind me\b",
    r"\bwhat (?:was|were) (?:it|that|the|our|my)\b[^.!\n]{0,80}\bagain\b",
    r"\bas (?:we|you|i) (?:said|decided|agreed|discussed|mentioned|told)\b",
    r"\b(?:earlier|last time|previously)\b[^.!\n]{0,120}\?",
)
"""A message that asks for something said before."""

CORRECTS: Final = (
    r"^\W*no\b\W+(?:that|this|it|i|we|you|not|wrong|actually|the)\b",
    r"^\W*(?:that|this|it)(?:['’]s| is| was)(?: \w+)? (?:wrong|incorrect|not (?:right|correct|true"
    r"|what (?:i|we)))\b",
    r"^\W*(?:wrong|incorrect|not quite|nope)\b",
    r"\byou(?:['’]re| are) (?:wrong|mistaken|misremembering|mixing)\b",
    r"\b(?:i|we) (?:never|didn['’]t|did not) (?:say|said|decide|agree|pick|choose)\b",
    r"^\W*(?:but )?(?:i|we) (?:said|told you|decided|agreed|picked|chose)\b",
    r"^\W*actually\b\W+(?:it|that|we|i)\b",
)
"""A message that says that the answer before it was wrong."""

_RECALLS: Final = re.compile("|".join(RECALLS), re.IGNORECASE)
_CORRECTS: Final = re.compile("|".join(CORRECTS), re.IGNORECASE)


def asks_to_recall(message: str) -> bool:
    return bool(_RECALLS.search(message))


def corrects(message: str) -> bool:
    return bool(_CORRECTS.search(message))
