"""Phrases by which a sentence says what kind of sentence it is.

English, with the commonest of a few other languages; a sentence without any of them is a plain
one. These choose and order sentences, nothing is held to be true because of them.
"""

from __future__ import annotations

import re
from typing import Final

from pagefault.represent.protected import Guarded, guarded

_DECISION: Final = re.compile(
    r"\b(?:(?:we|I|they|team|he|she)(?:[’']ve| have| had| has)? (?:just |all |both "
    r"|finally )?(?:decided"
    r"|agreed|settled|chose|opted|picked|approved|rejected|concluded|committed to)|decision|decided"
    r"|agreed (?:to|on|that)|ruled out|switch(?:ed|ing)? (?:\S+ )?(?:to|from)|migrat(?:ed?|ing) to"
    r"|(?:going|go|went) with|let[’']s (?:use|go|keep|drop|switch|stick|make)|from now on"
    r"|we(?:[’']ll| will| won[’']t| should| shouldn[’']t| must| need to"
    r"| are going to) (?:not |never )?"
    r"(?:use|keep|drop|switch|store|run|ship|deploy|move|stay|stick|make|set|write|build|call"
    r"|avoid)"
    r"|must (?:not|never|be(?!en))|no longer|instead of|rather than)\b"
    r"|决定|決定|決め|选择|選択|采用|採用|결정",
    re.IGNORECASE,
)
_PREFERENCE: Final = re.compile(
    r"\b(?:prefer(?:s|red|ably)?|preference|favou?rite|I(?:[’']d)? (?:really )?(?:love|like|hate"
    r"|dislike|enjoy|rather)|I (?:always|never|usually|can[’']t stand)|allergic|please (?:always"
    r"|never|use|don[’']t|keep|avoid))\b"
    r"|喜欢|喜歡|好き|嫌い|更喜欢|좋아",
    re.IGNORECASE,
)
_FACT: Final = re.compile(
    r"\b(?:remember that|note that|note:|FYI|deadline|due (?:on|by)|(?:is|are|was) (?:called|named)"
    r"|(?:was|were) born|I live in|I work (?:at|for|as)|I moved (?:to|from))\b"
    r"|记住|覚えて",
    re.IGNORECASE,
)
_STATED: Final = re.compile(
    r"\b(?:my|our|the|its|this) [\w./-]+(?: [\w./-]+){0,3} (?:is|are|was|were|runs?|listens?"
    r"|lives?|uses?"
    r"|defaults? to|has|takes?|needs?)\b",
    re.IGNORECASE,
)
_ASKING: Final = re.compile(r"[?？][\"'”’)\]]*\s*$|か[。]?$")


def is_decision(sentence: str) -> bool:
    return _DECISION.search(sentence) is not None


def is_preference(sentence: str) -> bool:
    return _PREFERENCE.search(sentence) is not None


def is_fact(sentence: str) -> bool:
    """Something to be remembered, or that a thing is so, with a name or a number in it."""
    if _FACT.search(sentence) is not None:
        return True
    return _STATED.search(sentence) is not None and any(
        token.what is not Guarded.NEGATION for token in guarded(sentence)
    )


def is_question(sentence: str) -> bool:
    return _ASKING.search(sentence) is not None


def is_citable(sentence: str) -> bool:
    """Whether a claim may well rest on it: it states a decision, a preference or a fact."""
    return not is_question(sentence) and (
        is_decision(sentence) or is_preference(sentence) or is_fact(sentence)
    )
