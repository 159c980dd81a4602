"""The machine of a turn: every reply is answered, none is believed, and it ends."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pagefault.model.ids import PageId
from pagefault.model.kinds import FaultReason, Level, Modality
from pagefault.model.request import Reply, ToolCall
from pagefault.service.turn.turn import (
    Finish,
    Refuse,
    ServeFault,
    ServeSearch,
    Turn,
    read_call,
    unique_call_ids,
)

CODES = {"bad_arguments", "unknown_tool"}


def call(name: str, arguments: object = None, *, call_id: str = "c") -> ToolCall:
    written = arguments if isinstance(arguments, str) else json.dumps(arguments)
    return ToolCall(call_id, name, written)


def test_a_reply_without_calls_ends_the_turn() -> None:
    assert Turn(8).receive(Reply(text="Done.")) == [Finish("Done.")]


def test_calls_are_served_in_the_order_in_which_they_were_made() -> None:
    calls = (
        call("search_pages", {"query": "budget", "limit": 3, "modality": "image"}),
        call("page_fault", {"page_id": "msg_1", "target_level": 0, "reason": "tool_prereq"}),
        call("rm", {}),
    )
    assert Turn(8).receive(Reply(text="", tool_calls=calls)) == [
        ServeSearch(calls[0], "budget", Modality.IMAGE, 3),
        ServeFault(calls[1], PageId("msg_1"), Level.FULL, FaultReason.TOOL_PREREQ),
        Refuse(calls[2], "unknown_tool", "memory has two tools: page_fault and search_pages"),
    ]


def test_what_a_call_leaves_out_is_the_default() -> None:
    fault = call("page_fault", {"page_id": "msg_1"})
    assert read_call(fault) == ServeFault(
        fault, PageId("msg_1"), Level.ABSTRACT, FaultReason.RESOLVE_REFERENCE
    )
    search = call("search_pages", {"query": ""})
    assert read_call(search) == ServeSearch(search, "", None, 5)


MALFORMED = [
    "",
    "{",
    "null",
    "[]",
    '"msg_1"',
    "7",
    "NaN",
    "[" * 100_000,
    '{"page_id":' * 50_000,
    "{}",
    '{"page_id": null, "query": null}',
    '{"page_id": ["msg_1"], "query": {}}',
    '{"page_id": "", "query": 7}',
    '{"page_id": "\\ud800", "query": "\\udfff"}',
    '{"page_id": "msg_1", "target_level": 4, "query": "x", "limit": 0}',
    '{"page_id": "msg_1", "target_level": -1, "query": "x", "limit": 51}',
    '{"page_id": "msg_1", "target_level": true, "query": "x", "limit": true}',
    '{"page_id": "msg_1", "target_level": 1.5, "query": "x", "limit": 1.5}',
    '{"page_id": "msg_1", "target_level": 1e999, "query": "x", "limit": 1e999}',
    '{"page_id": "msg_1", "target_level": "2", "query": "x", "limit": "5"}',
    '{"page_id": "msg_1", "target_level": null, "query": "x", "limit": null}',
    '{"page_id": "msg_1", "target_level": ' + "9" * 5_000 + ', "query": "x", "limit": 1e5}',
    '{"page_id": "msg_1", "reason": "because", "query": "x", "modality": "smell"}',
    '{"page_id": "msg_1", "reason": null, "query": "x", "modality": 0}',
    '{"page_id": "msg_1", "reason": [], "query": "x", "modality": []}',
    '{"page_id": "msg_1", "reason": {}, "query": "x", "modality": ""}',
]


@pytest.mark.parametrize("arguments", MALFORMED, ids=lambda text: ascii(text[:40]))
@pytest.mark.parametrize("name", ["page_fault", "search_pages"])
def test_a_malformed_call_is_refused_and_told_why(name: str, arguments: str) -> None:
    refused = read_call(call(name, arguments))
    assert isinstance(refused, Refuse)
    assert refused.code == "bad_arguments"
    assert refused.why


@given(st.text(max_size=12) | st.sampled_from(["page_fault", "search_pages"]), st.text(max_size=40))
def test_whatever_a_model_writes_is_served_or_refused_with_a_known_code(
    name: str, arguments: str
) -> None:
    action = read_call(ToolCall("c", name, arguments))
    if isinstance(action, Refuse):
        assert action.code in CODES
        assert action.why


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner, max_size=2)
    ),
    max_leaves=4,
)
NAMES = st.sampled_from(["page_id", "target_level", "reason", "query", "limit", "modality", "x"])


@given(st.sampled_from(["page_fault", "search_pages", "x"]), st.dictionaries(NAMES, JSON))
def test_any_json_is_served_or_refused_with_a_known_code(
    name: str, arguments: dict[str, object]
) -> None:
    match read_call(call(name, arguments)):
        case Refuse(code=code):
            assert code in CODES
        case ServeFault(page_id=page_id, level=level):
            assert page_id == arguments["page_id"] != ""
            assert level in list(Level)
            page_id.encode()
        case ServeSearch(query=query, limit=limit):
            assert query == arguments["query"]
            assert 1 <= limit <= 50
            query.encode()


@given(st.integers(1, 10), st.lists(st.integers(0, 3), max_size=15))
def test_a_turn_takes_no_more_steps_than_it_was_given(steps: int, replies: list[int]) -> None:
    turn = Turn(steps)
    for number, calls in enumerate(replies, start=1):
        made = tuple(call("page_fault", {"page_id": "msg_1"}) for _ in range(calls))
        actions = turn.receive(Reply(text="so far", tool_calls=made))
        if calls and number < steps:
            assert len(actions) == calls
            assert not any(isinstance(action, Finish) for action in actions)
        else:
            assert actions == [Finish("so far", complete=not calls)], "a finish comes alone"
            break


def test_a_turn_without_steps_is_refused() -> None:
    with pytest.raises(ValueError, match="at least one step"):
        Turn(0)


IDS = st.sampled_from(["", "a", "b", "call_7_0", "call_7_1", "call_7_2"])


@given(st.lists(IDS, max_size=8))
def test_ids_of_calls_are_made_to_differ_and_kept_where_they_do(ids: list[str]) -> None:
    calls = [ToolCall(call_id, f"tool_{n}", "{}") for n, call_id in enumerate(ids)]
    fixed = unique_call_ids(calls, "7")
    assert [(c.name, c.arguments) for c in fixed] == [(c.name, c.arguments) for c in calls]
    assert len({c.call_id for c in fixed}) == len(calls)
    assert all(c.call_id for c in fixed)
    for name in set(ids) - {""}:
        assert fixed[ids.index(name)].call_id == name, "the first of each keeps its id"


def test_a_text_that_the_provider_cut_off_is_not_a_complete_answer() -> None:
    assert Turn(3).receive(Reply(text="The answer is", finish="length")) == [
        Finish("The answer is", complete=False)
    ]
