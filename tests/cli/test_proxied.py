"""Of a proxied session every command tells what was sent, or says that its client decides."""

from __future__ import annotations

import asyncio
import json
import re
from pathlib import Path

import pytest

from tests.adopted import copied
from tests.cli.conftest import Cli
from tests.cli.test_processes import loaded_by
from tests.proxy.histories import body, long_talk, user
from tests.proxy.standing import post, standing, talk
from tests.proxy.upstream import Say, Upstream

ASKED = "Who keeps the launch code of project Heron?"


@pytest.fixture(scope="module")
def proxied_root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A memory with a conversation that was paged, and one that only passed."""
    root = tmp_path_factory.mktemp("proxied") / "memory"

    async def make() -> None:
        with Upstream(lambda _: Say(text="Ilse.", input_tokens=900)) as upstream:
            async with standing(upstream, root=root) as to:
                await to.http.post("/s/passed/v1/messages", json=body(user("hello")))
            async with standing(upstream, root=root, window=600) as to:
                said = await talk(to, 12)
                await post(to, body(*said, user(ASKED)))

    asyncio.run(make())
    return root


def test_status_tells_what_was_sent(cli: Cli, proxied_root: Path) -> None:
    told = cli("--root", proxied_root, "status", "planning", "--json").data
    last = told["proxied"]["last"]
    assert (told["mode"], told["layout"], told["resident_pages"]) == ("proxied", "proxied", None)
    assert (told["window_tokens"], told["requests"]) == (600, 14)
    assert 0 < told["request_tokens"] == last["tokens"] <= 600
    assert last["messages"] < last["client_messages"] == 27
    shown = cli("--root", proxied_root, "status", "planning", "--all").out
    assert "the client decides the window" in shown
    assert f"{last['messages']} of the client's 27 messages" in shown
    assert "900 tokens" in shown


def test_what_only_passed_is_said_to_have_no_window(cli: Cli, proxied_root: Path) -> None:
    shown = cli("--root", proxied_root, "status", "passed").out
    assert "passed on unchanged (no --window)" in shown
    assert cli("--root", proxied_root, "status", "passed", "--json").data["window_tokens"] == 0


def test_a_moment_tells_the_request_and_what_was_quoted_with_it(
    cli: Cli, proxied_root: Path
) -> None:
    told = cli("--root", proxied_root, "at", "planning", "13", "--json").data
    assert told["relayed"]["request"] == 13
    assert {page["place"] for page in told["pages"]} == {"turn", "recalled"}
    quoted = [page["page_id"] for page in told["pages"] if page["place"] == "recalled"]
    assert "msg_1" in quoted
    shown = cli("--root", proxied_root, "at", "planning", "13")
    assert "proxied" in shown.err
    assert "recalled" in shown.out
    changed = cli("--root", proxied_root, "diff", "planning", "0", "13", "--json").data
    assert changed["epochs"] == changed["after"]["epoch"] > 0


def test_pages_are_in_no_window_that_we_know_of(cli: Cli, proxied_root: Path) -> None:
    found = cli("--root", proxied_root, "pages", "ls", "--session", "planning", "--json").data
    assert found["proxied"]
    assert {page["resident"] for page in found["pages"]} == {None}
    shown = cli("--root", proxied_root, "pages", "ls", "--session", "planning")
    assert "in window" not in shown.out
    assert "the client decides" in shown.err
    assert "proxied" in cli("--root", proxied_root, "pages", "show", "msg_1").out


def test_faults_say_where_it_is_told_whether_the_model_may_ask(
    cli: Cli, proxied_root: Path
) -> None:
    assert "`pagefault status` shows whether the model" in cli("--root", proxied_root, "faults").err


def test_the_abi_of_a_proxied_session_is_refused(cli: Cli, proxied_root: Path) -> None:
    refused = cli("--root", proxied_root, "abi", "planning")
    assert refused.code == 2
    assert "its client decides" in refused.err


@pytest.mark.parametrize(
    "steering",
    [
        ("pages", "pin", "msg_1", "--session", "planning"),
        ("goal", "planning", "Launch Heron in May."),
        ("pages", "compress", "msg_1", "--session", "planning"),
    ],
)
def test_what_steers_a_window_says_what_it_does_to_one_of_a_client_s(
    cli: Cli, proxied_root: Path, tmp_path: Path, steering: tuple[str, ...]
) -> None:
    root = copied(proxied_root, tmp_path / "memory")
    told = cli("--root", root, *steering)
    assert told.code == 0
    if "compress" in steering:
        assert "it is put before the conversation" in told.err
    else:
        assert "it is quoted before the next message" in told.err
    assert "stays in the window" not in told.out
    assert cli("--root", root, *steering, "--json").data["proxied"] is True


def test_the_ledger_has_the_provider_s_report_beside_the_prediction(
    cli: Cli, proxied_root: Path
) -> None:
    told = cli("--root", proxied_root, "ledger", "planning", "--json").data
    assert len(told["calls"]) == 14
    assert all(call["reported"]["input_tokens"] == 900 for call in told["calls"])
    assert [call["change"] for call in told["calls"]] == ["begun"] + ["extended"] * 13
    assert told["summary"]["calls_reported"] == 14
    shown = cli("--root", proxied_root, "ledger", "planning")
    assert "900" in shown.out
    assert "as reported by the provider for 14" in shown.err


def test_a_proxied_session_answers_to_the_name_that_somebody_gave_it(
    cli: Cli, proxied_root: Path
) -> None:
    [full] = [
        row["name"]
        for row in cli("--root", proxied_root, "sessions", "--json").data
        if row["name"].startswith("planning")
    ]
    short = cli("--root", proxied_root, "claims", "planning", "--json").data
    assert short == cli("--root", proxied_root, "claims", full, "--json").data
    assert cli("--root", proxied_root, "status", "plan").code == 0, "how a name begins is enough"
    assert cli("--root", proxied_root, "status", "lanning").code == 3


@pytest.mark.parametrize(
    "asked",
    [
        ("pages", "search", "Heron", "--session", "planning"),
        ("recall", "search", "planning", "Heron"),
        ("recall", "recent", "planning"),
    ],
)
def test_what_is_found_is_in_no_window_that_we_know_of(
    cli: Cli, proxied_root: Path, asked: tuple[str, ...]
) -> None:
    found = cli("--root", proxied_root, *asked, "--json").data
    assert {hit["resident"] for hit in found["hits"]} == {None}
    shown = cli("--root", proxied_root, *asked)
    assert "in window" not in shown.out
    assert "the client decides" in shown.err


def test_no_page_of_it_is_said_to_be_in_the_window(cli: Cli, proxied_root: Path) -> None:
    pages = cli("--root", proxied_root, "pages", "ls", "planning", "--all", "--json").data["pages"]
    assert {page["tier"] for page in pages} == {"L2"}
    told = cli("--root", proxied_root, "status", "planning", "--json").data["metrics"]["tiers"]
    assert (told["L0"]["pages"], told["L2"]["pages"]) == (0, len(pages))
    moved = cli("--root", proxied_root, "history", "planning", "--json").data["movements"]
    assert {one["tier_after"] for one in moved} == {"L2"}


def test_the_items_of_a_conversation_name_what_the_client_sent(
    cli: Cli, proxied_root: Path
) -> None:
    told = cli("--root", proxied_root, "items", "planning", "--json").data
    first, last = told["items"][0], told["items"][-1]
    assert (first["kind"], first["role"], first["page_ids"]) == ("message", "user", ["msg_1"])
    assert (last["role"], last["message_seq"]) == ("assistant", 0), "its client has not sent it yet"
    asked = ("--root", proxied_root, "items", "planning", "--message", first["message_seq"])
    message = long_talk(12)[0]
    assert cli(*asked, "--json").data["json"] == message
    assert json.loads(cli(*asked).out) == message
    shown = cli("--root", proxied_root, "items", "planning")
    assert "msg_1" in shown.out
    assert "27 messages of a client" in shown.err


def test_items_of_no_message_and_of_no_session_are_refused(cli: Cli, proxied_root: Path) -> None:
    assert cli("--root", proxied_root, "items", "nobody").code == 3
    none = cli("--root", proxied_root, "items", "planning", "--message", "1")
    assert none.code == 2
    assert "not a message that a client of this session sent" in none.err


def test_a_list_shows_titles_and_names_short_enough_to_type(cli: Cli, proxied_root: Path) -> None:
    here = ("--root", proxied_root)
    full = {row["name"] for row in cli(*here, "sessions", "--json").data}
    head, *rows = cli(*here, "sessions").out.splitlines()
    assert head.split()[:2] == ["title", "name"]
    listed = {re.split(r"\s{2,}", row)[1] for row in rows}
    assert listed == {"planning", "passed"}
    found = {cli(*here, "status", name, "--json").data["name"] for name in listed}
    assert found == full
    assert cli(*here, "status", "planning").out.splitlines()[0] == "planning"


def test_a_status_of_a_proxied_session_counts_no_request_that_nobody_packs(
    cli: Cli, proxied_root: Path
) -> None:
    """The vocabulary is a third of what the command costs."""
    for more in ([], ["--all"]):
        assert "toktok" not in loaded_by(proxied_root, "status", "planning", *more)
    told = cli("--root", proxied_root, "status", "planning", "--json").data
    shown = cli("--root", proxied_root, "status", "planning").out
    assert f"{told['turns']} turns, {told['pages']} pages" in shown
