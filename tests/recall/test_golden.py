"""A conversation of our own and what should be found in it, asked of a session as a user would.

What was said is asked for: claims would stand before the lines they were made of.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import pagefault
from pagefault import SearchFilter
from pagefault.recall import decompose, lexical, links, parts, question
from pagefault.recall.evidence import Evidence

GOLDEN: dict[str, Any] = json.loads(
    Path(__file__).with_name("golden.json").read_text(encoding="utf-8")
)
QUERIES: list[dict[str, Any]] = GOLDEN["queries"]
DEPTH = 3
SAID = SearchFilter(kinds=("transcript",))  # claims stand before it, and are another matter


async def missed() -> list[str]:
    """The queries that do not find what they should, each with what they found."""
    wrong = []
    async with pagefault.open(":memory:") as memory:
        session = await memory.session("golden")
        lines: dict[str, str] = {}
        for sitting in GOLDEN["sessions"]:
            for ref, speaker, text in sitting["lines"]:
                say = session.user if speaker == "Nadia" else session.assistant
                page_id = await say(text, speaker=speaker, occurred_at=sitting["on"])
                lines[page_id] = ref
        for query in QUERIES:
            limit = query.get("among", DEPTH)
            result = await session.recall(query["ask"], limit=limit, wanted=SAID)
            found = [lines[hit.page.page_id] for hit in result.hits]
            right = not found if query.get("nothing") else set(query["expect"]) <= set(found)
            if not right:
                wrong.append(f"{query['kind']}: {query['ask']} {query.get('expect')} {found}")
    return wrong


async def test_every_golden_query_finds_what_it_should() -> None:
    assert await missed() == []


@pytest.mark.parametrize(
    ("part", "kind"),
    [("reply", "answer beside the question"), ("speaker", "speaker"), ("date", "time")],
)
async def test_control_without_a_part_queries_of_its_kind_are_missed(
    monkeypatch: pytest.MonkeyPatch, part: str, kind: str
) -> None:
    whole: Callable[..., Any] = getattr(parts, part)

    def turned(seen: Evidence, *rest: Any) -> Any:
        return -2 * whole(seen, *rest)

    monkeypatch.setattr(parts, part, turned)
    assert any(line.startswith(kind) for line in await missed())


@pytest.mark.parametrize(
    ("module", "name", "without", "kind"),
    [
        (decompose, "decompose", lambda message: (), "two questions"),
        (links, "TASK", 0.0, "link"),
        (question, "OTHERS", 1.0, "subject"),
    ],
)
async def test_control_without_a_step_queries_of_its_kind_are_missed(
    monkeypatch: pytest.MonkeyPatch, module: Any, name: str, without: Any, kind: str
) -> None:
    monkeypatch.setattr(module, name, without)
    assert any(line.startswith(kind) for line in await missed())


async def test_control_a_ranking_by_own_words_alone_is_caught(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ("BEFORE", "AFTER"):
        monkeypatch.setattr(lexical, name, 0.0)
    for name in ("SPEAKER", "SITTING", "REPLY"):
        monkeypatch.setattr(parts, name, 0.0)
    assert len(await missed()) > 3


def test_the_set_has_queries_of_many_kinds() -> None:
    assert len(QUERIES) >= 45
    assert len({query["kind"] for query in QUERIES}) >= 12
