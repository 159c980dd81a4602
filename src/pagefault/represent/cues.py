"""Cues: phrases that reveal what kind of sentence one is.

They exist for some languages; a sentence without any is a plain one. They only select and order
sentences: nothing is held true because of them.
"""

from __future__ import annotations

import re
from typing import Final

from pagefault.language.language import Cue
from pagefault.language.patterns import anywhere, joined
from pagefault.represent.protected import Guarded, guarded

_DECISION: Final = anywhere(Cue.DECISION)
_PREFERENCE: Final = anywhere(Cue.PREFERENCE)
_FACT: Final = anywhere(Cue.FACT)
_STATED: Final = anywhere(Cue.STATED)
_NEGATION: Final = anywhere(Cue.NEGATION)
_LABEL: Final = re.compile(r"[^\W\d_][\w -]{0,24}: ")  # "Rule: …", "NOTE: …"
_DENIES_WITHIN: Final = 3  # characters before the negation
_ASKING: Final = re.compile(rf"[?？][\"'”’)\]]*\s*$|{joined(Cue.ASKS_AT_END)}")


def is_decision(sentence: str) -> bool:
    return _DECISION.search(sentence) is not None


def is_preference(sentence: str) -> bool:
    return _PREFERENCE.search(sentence) is not None


def is_fact(sentence: str) -> bool:
    """Whether it is something to be remembered, or a statement of fact with a name or a number."""
    if _FACT.search(sentence) is not None:
        return True
    return is_stated(sentence) and any(
        token.what is not Guarded.NEGATION for token in guarded(sentence)
    )


def is_stated(sentence: str) -> bool:
    """Whether it states that something is so: "the owner is …"."""
    return _STATED.search(sentence) is not None


def is_question(sentence: str) -> bool:
    return _ASKING.search(sentence) is not None


def forbids(sentence: str) -> bool:
    """Whether it begins with a negation, as prohibitions do: "Never …", "Rule: do not …"."""
    label = _LABEL.match(sentence)
    said = sentence[label.end() if label else 0 :]
    denial = _NEGATION.search(said)
    return denial is not None and denial.start() <= _DENIES_WITHIN


def is_citable(sentence: str) -> bool:
    """Whether a claim may rest on it: it states a decision, a preference or a fact."""
    return not is_question(sentence) and (
        is_decision(sentence) or is_preference(sentence) or is_fact(sentence)
    )
