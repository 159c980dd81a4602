"""A rule is tried only where its cues stand: that saves time, and never a claim."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pagefault.truth.claim import Turn
from pagefault.truth.english import ENGLISH
from pagefault.truth.extract import extract
from pagefault.truth.language import Language
from tests.truth import phrasings
from tests.truth.turns import assistant, user

TRIED_ALWAYS: Final = replace(
    ENGLISH, rules=tuple(replace(rule, cues=()) for rule in ENGLISH.rules)
)
"""The same language, every rule of which is tried on every sentence."""

_TOLD: Final = (
    "My deploy cadence is 14 days.",
    "Mira’s favourite city is Lisbon!",
    "our limit is 300 requests and it's fine",
    "The retention period is set to 30 days.",
    "We have 12 servers.",
    "My sister's birthday is 4 May.",
    "I live in Oslo now; I work at Initech.",
    "For the cache: Redis instead of Memcached.",
    "scratch that",
)
_TEMPLATES: Final = (*phrasings.DECIDE, *phrasings.CHANGE, *phrasings.UNDO, *phrasings.NOTHING)


def _phrases() -> st.SearchStrategy[str]:
    subject = st.sampled_from(list(phrasings.TOPICS))

    def filled(template: str, subject: str) -> str:
        value, other = phrasings.TOPICS[subject][:2]
        return template.format(s=subject, v=value, w=other)

    said = st.builds(filled, st.sampled_from(_TEMPLATES), subject)
    loose = st.lists(
        st.sampled_from(
            "my our Mira's is are the 3 GB = we use not set to Lisbon , : - don't".split()
        ),
        max_size=9,
    ).map(" ".join)
    return st.one_of(said, loose, st.sampled_from(_TOLD), st.text(max_size=12))


def _check(turn: Turn, before: Sequence[Turn], language: Language) -> None:
    assert extract(turn, before, language=language) == extract(
        turn, before, language=TRIED_ALWAYS
    ), turn.text


@given(st.lists(_phrases(), min_size=1, max_size=3), _phrases())
def test_what_no_cue_stands_in_makes_no_claim(said: list[str], shown: str) -> None:
    _check(user(" ".join(said)), [assistant(shown)], ENGLISH)


def test_a_cue_that_its_rule_does_not_need_is_noticed() -> None:
    for told in _TOLD:
        _check(user(told), [], ENGLISH)
    wrong = (frozenset({"my"}),)
    rules = [
        replace(rule, cues=wrong) if rule.name == "mine-is" else rule for rule in ENGLISH.rules
    ]
    weakened = replace(ENGLISH, rules=tuple(rules))
    with pytest.raises(AssertionError, match="Lisbon"):
        _check(user("Mira’s favourite city is Lisbon!"), [], weakened)


def test_every_rule_has_a_cue() -> None:
    """One without would be tried on every turn of every conversation."""
    assert [rule.name for rule in (*ENGLISH.rules, *ENGLISH.proposals) if not rule.cues] == []
