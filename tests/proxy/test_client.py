"""Whose conversation it is, told from what clients send anyway."""

from __future__ import annotations

import json

import pytest

from pagefault.proxy.http.client import named_in_path, recognise
from pagefault.service.arguments import check_name
from tests.proxy.histories import body, user
from tests.proxy.recorded import NAMES, keyed, recorded


def named_by(key: str, principal: str = "ann") -> str:
    client = recognise({"x-pagefault-session": key}, {})
    assert client is not None
    return client.session_name("abcdef", principal, keyed)


@pytest.mark.parametrize(
    ("headers", "fields", "kind", "key"),
    [
        ({"x-pagefault-session": "mine", "session-id": "s"}, {}, "named", "mine"),
        ({"x-claude-code-session-id": "c"}, {}, "claude", "c"),
        ({}, {"metadata": {"user_id": json.dumps({"session_id": "c"})}}, "claude", "c"),
        ({"session-id": "s"}, {"prompt_cache_key": "p"}, "codex", "s"),
        ({"x-session-affinity": "o"}, {}, "opencode", "o"),
        ({"session-id": "o", "x-session-id": "o"}, {}, "opencode", "o"),  # as it asks OpenAI
        ({}, {"metadata": {"pagefault_session": "m"}}, "named", "m"),
        ({"x-pagefault-session": " "}, {"metadata": {"pagefault_session": "m"}}, "named", "m"),
    ],
)
def test_the_first_id_that_is_there_counts(
    headers: dict[str, str], fields: dict[str, object], kind: str, key: str
) -> None:
    client = recognise(headers, body(user("hello"), **fields))
    assert client is not None
    assert (client.kind, client.key) == (kind, key)


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"prompt_cache_key": "p"},
        {"metadata": {"user_id": "ann"}},
        {"metadata": {"user_id": json.dumps({"device": "d"})}},
        {"metadata": {"user_id": "{["}, "user": "ann"},
        {"metadata": {"pagefault_session": ""}},
        {"metadata": {"pagefault_session": ["a"]}},
    ],
    ids=str,
)
def test_what_is_a_hint_or_a_person_is_no_conversation_s_id(fields: dict[str, object]) -> None:
    assert recognise({"x-pagefault-session": ""}, body(user("hello"), **fields)) is None


@pytest.mark.parametrize("key", ["a/b", "x" * 300, "a\nb", "…", "a b"])
def test_any_key_makes_a_session_s_name_and_different_keys_different_names(key: str) -> None:
    check_name(named_by(key))
    assert named_by(key) != named_by(key + "'")
    assert named_by(key) != named_by(key, "bob")


@pytest.mark.parametrize("name", ["holiday", "计划", "a plan", "2026-11", "विद्या"])
def test_a_name_that_somebody_gave_stands_for_itself(name: str) -> None:
    [by_header] = {
        recognise({"x-pagefault-session": sent}, {})
        for sent in (name, name.encode().decode("latin-1"))
        if sent.isascii() or sent != name
    }
    by_path = recognise({}, {}, named=name)
    assert by_header == by_path
    assert named_by(name) == f"{name}:abcdef@ann"


@pytest.mark.parametrize(
    "name", ["claude:1", "unnamed:0123456789ab:chat", "x@bob", "x:abcdef@bob", "a\u202eb", "\u200b"]
)
def test_a_name_cannot_pass_for_what_it_is_not(name: str) -> None:
    session = named_by(name)
    assert (session.count(":"), session.count("@")) == (1, 1)
    assert session.endswith(":abcdef@ann")
    assert session.isprintable()


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
        assert recognise({}, one.body) == recognise(one.headers, one.body)
