"""Texts as conversations have them, drawn by Hypothesis."""

from __future__ import annotations

from typing import Final

from hypothesis import strategies as st

from pagefault.model.ids import PageId
from pagefault.model.kinds import Role
from pagefault.represent.api import Source

SENTENCES: Final = st.sampled_from(
    [
        "We decided to use PostgreSQL 15 instead of MySQL.",
        "I don't really like the way eviction works.",
        "It is not just slow, it never finishes!",
        "Thanks so much!",
        "Wow, that's awesome, Caroline!",
        "How are you?",
        "Well, I went to Lisbon in May 2023 with two friends.",
        "See src/pagefault/store/embedded/index.py:42 and ABC-123 (#7).",
        "Really, the port is 5432.",
        "Run it with --no-cache, or not at all.",
        "我们决定不用Redis，端口是6379。",
        "`make_client()` returns None… why?",
        "Yes.",
        "👩‍💻 🇵🇹 done",
        "Actually, scratch that: we will not use PostgreSQL 15.",
    ]
)
CODE: Final = st.sampled_from(
    [
        "```python\nx = 1\nx = 1\nif not x:\n    raise KeyError(x)\n```",
        "| a | b |\n|---|---|\n| 1 | 2 |",
        "$ ls -la /tmp\ntotal 0",
    ]
)
SEAMS: Final = st.sampled_from([" ", "  ", "\n", "\n\n", "\r\n", "", "\u2028", "\t"])


@st.composite
def texts(draw: st.DrawFn) -> str:
    """Sentences, code and anything else that is text, put together in any way."""
    parts = draw(
        st.lists(
            st.one_of(SENTENCES, SENTENCES, SENTENCES, CODE, st.text(max_size=30)), max_size=12
        )
    )
    return "".join(part + draw(SEAMS) for part in parts)


@st.composite
def ranges(draw: st.DrawFn) -> list[Source]:
    """One page or several, of one speaker or several."""
    said = draw(st.lists(texts(), min_size=1, max_size=6))
    return [
        Source(
            page_id=PageId(f"msg_{number}"),
            text=text,
            role=draw(st.sampled_from([Role.USER, Role.ASSISTANT])),
            speaker=draw(st.sampled_from(["", "Ada", "Ben\nZhou"])),
        )
        for number, text in enumerate(said, 1)
    ]
