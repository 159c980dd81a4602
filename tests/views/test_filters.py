"""What is typed to find pages is words, and filters among them."""

from __future__ import annotations

import pytest

from pagefault.model.errors import BadInput
from pagefault.views.filters import parsed


@pytest.mark.parametrize(
    "typed", ["localhost:8080 is down", "std::vector", "http://a.b/c", "node:16"]
)
def test_a_word_with_a_colon_is_a_word(typed: str) -> None:
    query = parsed(typed)
    assert query is not None
    assert (query.words, query.is_listing) == (typed, False)


def test_what_is_nearly_a_filter_is_asked_about() -> None:
    with pytest.raises(BadInput, match="no filter is called 'topik'"):
        parsed("topik:oak")
    found = parsed('task:#42 topic:"oak shelf" planks')
    assert found is not None
    assert (found.words, found.task, found.topic) == ("planks", "#42", "oak shelf")
