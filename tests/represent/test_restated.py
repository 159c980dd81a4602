"""Of a value that was told anew an abstract has the later, and nothing else is taken for one."""

from __future__ import annotations

import pytest

from pagefault.model.ids import PageId
from pagefault.model.kinds import Level, Role
from pagefault.represent.api import Source
from pagefault.represent.extractive import compress_range

ASIDES = (
    "Somebody watered the plants in the kitchen and told a long story about the weather there.",
    "Later there was cake, and people stood around and talked about what they had seen outside.",
)


def abstract(*said: str, role: Role = Role.USER) -> str:
    """Of these and as much again that is worth little, in room for these alone."""
    sources = [
        Source(page_id=PageId(f"msg_{n}"), text=text, role=role)
        for n, text in enumerate((*said, *ASIDES), 1)
    ]
    room = len("\n".join(said)) + len("user: ")
    return compress_range(sources, Level.ABSTRACT, count=len, tokens_max=room).text


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("The invoice limit is 4,500 francs.", "The invoice limit is 6,200 francs."),
        ("Our release is planned for 2031-04-02.", "Our release is planned for 2031-05-19."),
        ("The gateway is at 10.0.4.7:8081 at night.", "The gateway is at 10.0.4.9:8081 at night."),
        ("The owner of the pager is Ines Tal.", "The owner of the pager is Bo."),
        ("Das Budget liegt bei 300 Euro.", "Das Budget liegt bei 450 Euro."),
    ],
)  # fmt: skip
def test_the_later_value_stands_alone(old: str, new: str) -> None:
    assert new in abstract(old, new)
    assert old not in abstract(old, new)
    assert old in abstract(new, old), "whichever was said later"


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Ticket 12 is closed for good.", "Ticket 13 is closed for good."),
        ("The primary region is eu-north-1.", "The backup region is us-west-2."),
        ("Ines owns the pager this week.", "Bo owns the pager this week."),
        ("We flew with the whole team to Oslo.", "We flew with the whole team to Rome."),
        ("The limit of the mailer is 300.", "The limit of the indexer is 450."),
        (
            "The invoice limit is 4,500 francs.",
            "Is it true that the invoice limit is 6,200 francs?",
        ),
    ],
)
def test_what_only_looks_alike_stands_beside_it(one: str, other: str) -> None:
    made = abstract(one, other)
    assert one in made
    if not other.endswith("?"):
        assert other in made


def test_lines_that_a_tool_printed_are_no_statements_of_one_thing() -> None:
    lines = ("the job at 10:42 took 4 s", "the job at 11:15 took 9 s")
    made = abstract(*lines, role=Role.TOOL)
    assert all(line in made for line in lines)
