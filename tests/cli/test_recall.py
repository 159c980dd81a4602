"""`pagefault recall`: every question as a command."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

import pytest

from pagefault.service.bootstrap import open_memory
from tests.cli.conftest import Cli


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Two sessions, and words in several scripts."""

    async def make() -> None:
        async with open_memory(tmp_path / "memory", window=4_000) as memory:
            plan = await memory.session("plan")
            await plan.user(
                "The ledger migration is LED-7 and issue 42.",
                speaker="Zoë",
                occurred_at="2026-03-01T23:30:00-05:00",
            )
            await plan.assistant("抹茶 is in the cupboard.", occurred_at="2026-03-03T10:00:00Z")
            await plan.artifact(b"bytes", name="ledger.png")
            await plan.tool_result("3 rows of the ledger", name="sql")
            other = await memory.session("other")
            await other.user("Another ledger, LED-7 too.")

    asyncio.run(make())
    return tmp_path / "memory"


@pytest.mark.parametrize(
    ("command", "found"),
    [
        (["recent", "plan"], ["tool_1", "art_1", "msg_2", "msg_1"]),
        (["recent", "plan", "-n", "1"], ["tool_1"]),
        (["recent", "plan", "--modality", "image"], ["art_1"]),
        (
            ["recent", "plan", "--origin", "tool", "--origin", "model_generated"],
            ["tool_1", "msg_2"],
        ),
        (["recent", "plan", "--kind", "summary"], []),
        (["timeline", "plan", "--until", "2026-03-31"], ["msg_1", "msg_2"]),
        (["timeline", "plan", "--since", "2026-03-02T05:00Z", "--until", "2026-03-31"], ["msg_2"]),
        (["timeline", "plan", "--since", "1 hour ago"], ["art_1", "tool_1"]),
        (["task", "plan", "LED-7"], ["msg_1"]),
        (["task", "plan", "#42"], ["msg_1"]),
        (["task", "plan", "42"], ["msg_1"]),  # a shell takes what follows # for a comment
        (["task", "plan", "led-7"], ["msg_1"]),
        (["task", "plan", "4"], []),
        (["topic", "plan", "migration"], ["msg_1"]),
        (["search", "plan", "抹茶", "-n", "1"], ["msg_2"]),
        (["search", "plan", "ledger", "--kind", "artifact"], ["art_1"]),
        (["search", "plan", "granite"], []),
    ],
)
def test_a_session_answers(cli: Cli, root: Path, command: list[str], found: list[str]) -> None:
    told = cli("recall", *command, "--root", root, "--json").data
    assert [hit["page_id"] for hit in told["hits"]] == found
    assert told["session"] == "plan"
    assert told["tokens"] == sum(hit["tokens"] for hit in told["hits"])
    assert told["total"] >= len(found)
    shown = cli("recall", *command, "--root", root)
    assert shown.code == 0
    assert all(page_id in shown.out for page_id in found)


def test_without_a_session_every_one_answers(cli: Cli, root: Path) -> None:
    for command in (["recent"], ["timeline"], ["topic", "ledger"], ["task", "LED-7"]):
        told = cli("recall", *command, "--root", root, "--json").data
        assert told["session"] is None
        assert {hit["session"] for hit in told["hits"]} == {"plan", "other"}, command


def test_every_way_to_search_is_the_same_one(cli: Cli, root: Path) -> None:
    first = cli("recall", "search", "plan", "ledger", "--root", root, "--json").data
    second = cli("pages", "search", "ledger", "--session", "plan", "--root", root, "--json").data
    assert first == second
    everywhere = cli("search", "ledger", "--root", root, "--json").data
    assert everywhere.keys() == first.keys()
    assert everywhere["hits"][0].keys() == first["hits"][0].keys()


def test_a_hit_as_json_says_where_it_is_from(cli: Cli, root: Path) -> None:
    [hit] = cli("recall", "task", "plan", "LED-7", "--root", root, "--json").data["hits"]
    assert hit["session_id"].startswith("ses_")
    assert hit["speaker"] == "Zoë"
    assert (hit["turn"], hit["role"], hit["origin"]) == (0, "user", "user_typed")
    assert (hit["kind"], hit["modality"]) == ("transcript", "text")
    assert hit["said_at"] == "2026-03-02T04:30:00.000Z"
    assert hit["occurred_at"] == "2026-03-01T23:30:00-05:00"
    assert hit["score"] == pytest.approx(sum(hit["parts"].values()), abs=1e-3)


def test_a_result_of_a_tool_is_known_by_its_words_not_by_the_tools_name(
    cli: Cli, root: Path
) -> None:
    for command in (["recall", "recent", "plan", "-n", "1"], ["pages", "ls", "plan", "-n", "1"]):
        shown = cli(*command, "--root", root).out
        assert "3 rows of the ledger" in shown, command


def test_a_search_tells_which_pages_say_the_same_as_a_hit(cli: Cli, tmp_path: Path) -> None:
    async def make() -> None:
        async with open_memory(tmp_path / "m", window=4_000) as memory:
            talk = await memory.session("talk")
            for _ in range(3):
                await talk.user("The stand-up is at nine in room Elbe.")
            await talk.user("We moved the stand-up to room Weser.")

    asyncio.run(make())
    head, *rows = cli("search", "stand-up", "in", "Elbe", "--root", tmp_path / "m").out.splitlines()
    assert "also" in head
    assert "msg_2 +1" in rows[0]
    assert rows[1].strip() == "The stand-up is at nine in room Elbe."
    assert "also" not in cli("search", "Weser", "--root", tmp_path / "m").out.splitlines()[0]


def test_a_page_of_another_session_that_says_the_same_is_told_with_its_session(
    cli: Cli, tmp_path: Path
) -> None:
    async def make() -> None:
        async with open_memory(tmp_path / "m", window=4_000) as memory:
            for name in ("monday", "friday"):
                talk = await memory.session(name)
                await talk.user("The stand-up is at nine in room Elbe.")

    asyncio.run(make())
    asked = ("search", "stand-up", "in", "Elbe", "--root", tmp_path / "m")
    row = cli(*asked).out.splitlines()[1]
    [hit] = cli(*asked, "--json").data["hits"]
    other = "friday" if hit["session"] == "monday" else "monday"
    assert (hit["page_id"], hit["also"]) == ("msg_1", ["msg_1"])
    sessions = cli("sessions", "--json", "--root", tmp_path / "m").data
    assert hit["also_in"] == [one["session_id"] for one in sessions if one["name"] == other]
    assert row.endswith(f"{other}/msg_1")


def test_a_search_shows_where_a_page_matches_and_not_how_it_begins(
    cli: Cli, tmp_path: Path
) -> None:
    told = "It was a long evening with the neighbours. " * 40 + "Ann has two allergies, I think."

    async def make() -> None:
        async with open_memory(tmp_path / "m", window=4_000) as memory:
            talk = await memory.session("talk")
            await talk.user(told)

    asyncio.run(make())
    for command in (["search"], ["recall", "search", "talk"], ["pages", "search"]):
        shown = cli(*command, "allergy", "--root", tmp_path / "m")
        assert "Ann has two allergies, I think." in shown.out, command
        assert "\x1b" not in shown.out
        [hit] = cli(*command, "allergy", "--root", tmp_path / "m", "--json").data["hits"]
        assert [hit["excerpt"][start:end] for start, end in hit["marks"]] == ["allergies"]
        assert hit["why"] == "words"


def test_what_has_no_room_is_told(cli: Cli, root: Path) -> None:
    told = cli("recall", "recent", "plan", "--tokens", "12", "--root", root, "--json").data
    assert told["tokens"] <= 12
    assert told["left_out"] == 4 - len(told["hits"]) > 0
    assert "left out" in cli("recall", "recent", "plan", "--tokens", "12", "--root", root).err
    nothing = cli("recall", "recent", "plan", "--tokens", "1", "--root", root)
    assert (nothing.code, nothing.out) == (0, "")
    assert "none of 4 pages" in nothing.err


def test_a_day_is_one_of_the_users_zone(
    cli: Cli, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def said_on(day: str) -> list[str]:
        told = cli("recall", "timeline", "--since", day, "--until", day, "--root", root, "--json")
        return [hit["page_id"] for hit in told.data["hits"]]

    try:
        for zone, day in (("America/New_York", "2026-03-01"), ("Asia/Tokyo", "2026-03-02")):
            monkeypatch.setenv("TZ", zone)
            time.tzset()
            assert said_on(day) == ["msg_1"]
            assert said_on("2026-03-05") == []
    finally:
        monkeypatch.undo()
        time.tzset()


@pytest.mark.parametrize(
    ("command", "code", "hint"),
    [
        (["recent", "nobody"], 3, "pagefault sessions"),
        (["recent", "--since", "soon"], 2, "yesterday"),
        (["timeline", "--since", "2026-03-05", "--until", "2026-03-04"], 2, "the earlier"),
        (["search", "plan", "ledger", "--since", "now", "--until", "yesterday"], 2, "the earlier"),
        (["timeline", "--until", "2026-13-01"], 2, "2026-03-01"),
        (["recent", "--origin", "elsewhere"], 2, "user_typed"),
        (["recent", "--kind", "claims"], 2, "--help"),
        (["recent", "-n", "0"], 2, "--help"),
        (["recent", "--tokens", "-5"], 2, "--help"),
        (["topic"], 2, "--help"),
        (["task", "plan", "LED-7", "more"], 2, "--help"),
        (["search", "plan"], 2, "--help"),
        (["latest"], 2, ""),
    ],
)
def test_what_cannot_be_asked_is_refused_with_a_hint(
    cli: Cli, root: Path, command: list[str], code: int, hint: str
) -> None:
    refused = cli("recall", *command, "--root", root)
    assert (refused.code, refused.out) == (code, "")
    assert hint in refused.err
