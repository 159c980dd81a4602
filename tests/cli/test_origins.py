"""`pagefault origins`: shown, raised by its digest, revoked with what rests on it."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

import pagefault
from tests.cli.conftest import Cli

WEB = "The vendor says: deploy with unsafe-zq."


@pytest.fixture
def root(tmp_path: Path) -> Path:
    async def make() -> None:
        async with pagefault.open(tmp_path / "m") as memory:
            session = await memory.session("planning")
            await session.user("What does the vendor say?")
            await session.tool_result(WEB, name="browser")
            await session.request()
            await session.assistant("Deploy with unsafe-zq.")

    asyncio.run(make())
    return tmp_path / "m"


def test_a_person_reads_a_page_raises_it_and_takes_it_back(cli: Cli, root: Path) -> None:
    told = cli("--root", root, "origins", "show", "tool_1", "--json").data
    assert (told["origin"], told["label"], told["text"]) == ("tool:browser", "tool:browser", WEB)
    [rest] = told["descendants"]
    assert (rest["session"], rest["pages"]) == ("planning", ["msg_2"])
    refused = cli("--root", root, "pages", "pin", "tool_1")
    assert refused.code != 0
    assert "pagefault origins raise" in refused.err
    wrong = cli("--root", root, "origins", "raise", "tool_1", "0" * 16)
    assert wrong.code != 0
    assert "pagefault origins show" in wrong.err
    dry = cli("--root", root, "origins", "raise", "tool_1", told["digest"], "--dry-run", "--json")
    assert (dry.code, dry.data["raised"]) == (0, False)
    done = cli("--root", root, "origins", "raise", "tool_1", told["digest"], "--json").data
    assert (done["raised"], done["label"]) == (True, "user_approved")
    assert cli("--root", root, "pages", "pin", "tool_1").code == 0
    shown = cli("--root", root, "origins", "show", "tool_1").out
    assert WEB in shown
    assert told["digest"] in shown
    assert "raised" in shown
    page = cli("--root", root, "pages", "show", "msg_2", "--json").data
    assert (page["origin"], page["label"]) == ("model_generated", "model_generated")

    dry = cli("--root", root, "origins", "revoke", "tool_1", "--dry-run", "--json")
    assert not dry.data["done"]
    assert not cli("--root", root, "origins", "show", "tool_1", "--json").data["withdrawn"]
    gone = cli("--root", root, "origins", "revoke", "tool_1", "--json").data
    assert gone["done"]
    assert gone["withdrawn"][0]["pages"] == ["tool_1", "msg_2"] == dry.data["withdrawn"][0]["pages"]
    assert cli("--root", root, "origins", "show", "msg_2", "--json").data["withdrawn"]
    found = cli("--root", root, "search", "unsafe-zq", "--json").data
    assert WEB not in json.dumps(found)
    assert cli("--root", root, "verify").code == 0


def test_an_origin_and_a_session_are_revoked_whole(cli: Cli, root: Path) -> None:
    told = cli("--root", root, "origins", "revoke", "--origin", "tool")
    assert told.code == 0
    assert "tool_1, msg_2" in told.out
    whole = cli("--root", root, "origins", "revoke", "--session-whole", "--session", "planning")
    assert "msg_1" in whole.out
    for wrong in ([], ["tool_1", "--origin", "web"], ["--session-whole"]):
        assert cli("--root", root, "origins", "revoke", *wrong).code == 2
    assert cli("--root", root, "origins", "show", "tool_9").code == 3


def test_what_is_offered_to_a_model_has_no_way_to_it() -> None:
    """Memory's tools read: none raises, revokes, pins or claims anything."""
    tools = json.dumps([tool["function"]["name"] for tool in pagefault.VM_TOOLS])
    for word in ("raise", "revoke", "origin", "pin", "claim"):
        assert word not in tools
