"""No match of a pattern is lost by first looking for the strings that it needs."""

import re

from hypothesis import given
from hypothesis import strategies as st

from pagefault.language.literals import may_match, needed

PATTERNS = [
    r"\b(?:one|three)\s+weeks?\s+ago\b",
    r"(?:\d{1,2}\.\s*)?(?:märz|mai)(?!n)",
    r"jan(?:uary)?|may|june?",
    r"(?:las[ty] )+week|[ab]x|[^c]y",
    r"(?>ab|cd)e*+f?+g{0,2}(?=h)",
    r"a?|b",
    r"(?i)may",
    r"may (?i:jan|f)",
    r"(?i:may) 5|(?i:k)",
]


@given(data=st.data(), pattern=st.sampled_from(PATTERNS))
def test_a_text_that_matches_has_what_is_needed(data: st.DataObject, pattern: str) -> None:
    text = data.draw(st.from_regex(pattern))
    assert may_match(text, needed(pattern))


@given(text=st.text("abcdefghlstwuoernjymàiz .12kx"), pattern=st.sampled_from(PATTERNS))
def test_a_text_without_what_is_needed_does_not_match(text: str, pattern: str) -> None:
    assert may_match(text, needed(pattern)) or not re.search(pattern, text)


def test_what_is_needed_is_the_strings_of_each_branch() -> None:
    assert [sorted(some) for some in needed(PATTERNS[0])] == [["week"], ["ago"], ["one", "three"]]
    assert [sorted(some) for some in needed(PATTERNS[2])] == [["jan", "jun", "may"]]
    assert needed(r"a?|b") == ()
    assert [*map(sorted, needed(r"(?i:may) 5"))] == [[" 5"]]
    assert not may_match("three weeks before", needed(PATTERNS[0]))
    assert needed(r"(?i)may") == ()  # and "MAY" has none of these
    assert needed(r"may (?i:jan|f)") == needed(r"may ")
