"""Whose conversation it is, told from what clients send anyway."""

from __future__ import annotations

import json

import pytest

from pagefault.proxy.client import named_in_path, recognise
from pagefault.service.arguments import check_name
from tests.proxy.histories import body, history, user
from tests.proxy.recorded import NAMES, recorded

HELLO = history(user("hello"))


@pytest.mark.parametrize(
    ("headers", "fields", "kind", "key"),
    [
        ({"x-pagefault-session": "mine", "session-id": "s"}, {}, "named", "mine"),
        ({"x-claude-code-session-id": "c"}, {}, "claude", "c"),
        ({}, {"metadata": {"user_id": json.dumps({"session_id": "c"})}}, "claude", "c"),
        ({"session-id": "s"}, {"prompt_cache_key": "p"}, "codex", "s"),
        ({"x-session-affinity": "o"}, {}, "opencode", "o"),
        ({}, {"metadata": {"pagefault_session": "m"}}, "named", "m"),
        ({}, {"prompt_cache_key": "p"}, "cache", "p"),
        ({}, {"prompt_cache_key": 7, "metadata": {"user_id": "{["}}, "begins", ""),
    ],
)
def test_the_first_name_that_is_there_counts(
    headers: dict[str, str], fields: dict[str, object], kind: str, key: str
) -> None:
    client = recognise(headers, body(user("hello"), **fields), HELLO)
    assert client.kind == kind
    assert client.key == key or (kind == "begins" and client.key)


def test_without_a_name_a_conversation_is_known_by_how_it_begins() -> None:
    same = recognise({}, body(user("hello")), history(user("hello"), user("more")))
    other = recognise({}, body(user("hello")), history(user("good day")))
    assert recognise({}, body(user("hello")), HELLO) == same != other


@pytest.mark.parametrize("key", ["a/b", "x" * 300, "a\nb", "…", "a b"])
def test_any_key_makes_a_session_s_name_and_different_keys_different_names(key: str) -> None:
    named = recognise({"x-pagefault-session": key}, {}, HELLO)
    check_name(named.session_name("abcdef"))
    other = recognise({"x-pagefault-session": key + "'"}, {}, HELLO)
    assert named.session_name("abcdef") != other.session_name("abcdef")


@pytest.mark.parametrize("name", ["holiday", "计划", "a plan", "2026-11"])
def test_a_name_that_somebody_gave_stands_for_itself(name: str) -> None:
    [by_header] = {
        recognise({"x-pagefault-session": sent}, {}, HELLO)
        for sent in (name, name.encode().decode("latin-1"))
        if sent.isascii() or sent != name
    }
    by_path = recognise({}, {}, HELLO, named=name)
    assert by_header == by_path
    assert by_path.session_name("abcdef") == f"{name}:abcdef"


def test_a_name_cannot_pass_for_a_client_s_id() -> None:
    named = recognise({"x-pagefault-session": "claude:1"}, {}, HELLO).session_name("abcdef")
    client = recognise({"x-claude-code-session-id": "1"}, {}, HELLO).session_name("abcdef")
    assert named != client
    assert named.count(":") == 1


@pytest.mark.parametrize("name", NAMES)
def test_recorded_requests_are_told_apart_by_client_and_task(name: str) -> None:
    sessions = [one.session for one in recorded(name)]
    assert all(one.startswith(name.split("-", maxsplit=1)[0]) for one in sessions)
    titles = [one.session for one in recorded(name) if "title generator" in str(one.body)]
    others = [one.session for one in recorded(name) if "title generator" not in str(one.body)]
    assert not set(titles) & set(others)


def test_a_path_may_name_a_session() -> None:
    assert named_in_path("/s/holiday/v1/messages") == ("holiday", "/v1/messages")
    assert named_in_path("/s/../v1") == ("..", "/v1")
    assert named_in_path("/v1/messages") == ("", "/v1/messages")
    assert named_in_path("/s/%E8%AE%A1%E5%88%92/v1/messages") == ("计划", "/v1/messages")
    assert named_in_path("/s/a%2Fb/v1/messages") == ("a/b", "/v1/messages")


def test_without_its_header_claude_code_is_known_by_its_metadata() -> None:
    for one in recorded("claude-task"):
        bare = recognise({}, one.body, one.history)
        assert bare == recognise(one.headers, one.body, one.history)
