"""The bench of the proxy: its own processes come and go, and what it says adds up."""

from __future__ import annotations

import json
import random
import subprocess

import pytest

from pagefault.lab.serving import Talk
from tests import warm
from tests.cli.conftest import Cli


def test_each_request_is_answered_either_way_and_nothing_is_left_out(
    cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(subprocess, "Popen", warm.Forked)
    asked = ("--sessions", "2", "--requests", "6", "--rate", "20", "--body-kb", "40")
    told = cli("bench", "serve", *asked, "--window", "6000", "--json").data
    assert (told["sessions"], told["requests"], told["errors"]) == (2, 6, 0)
    assert told["not_logged"] == 0
    assert told["epochs"] >= 2, "a body is larger than the window"
    assert 30 < told["body_kb"] < 60
    assert told["added_first_byte_p50_ms"] > 0, "paging takes time"


def test_a_session_resends_what_it_was_answered() -> None:
    talk = Talk("one", 20_000, random.Random(1))
    before, now = (json.loads(talk.next())["messages"] for _ in range(2))
    assert now[: len(before)] == before
    assert [one["role"] for one in now[len(before) :]] == ["assistant", "user"]
    used = now[-2]["content"][1]["id"]
    assert now[-1]["content"][0]["tool_use_id"] == used
