"""The wire of Chat Completions: what we send, and what real servers make of the answer."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pagefault.engine.chat_completions import (
    EVENT_BYTES_MAX,
    EventStream,
    Fold,
    call_ids,
    parse,
    problem_in,
    reply_from,
    to_wire,
)
from pagefault.model.errors import EngineGarbled
from pagefault.model.kinds import Role
from pagefault.model.request import Message, Reply, Request, ToolCall, ToolSpec, Usage

SEARCH = ToolSpec("search_pages", "Find pages.", {"type": "object", "properties": {}})


def request(*messages: Message, tools: tuple[ToolSpec, ...] = ()) -> Request:
    return Request(messages=messages, tools=tools, tokens=10, factor=1.0, window_tokens=1000)


def chunk(**delta: Any) -> dict[str, Any]:
    return {"choices": [{"index": 0, "delta": delta, "finish_reason": None}]}


def piece(arguments: object = None, **fields: Any) -> dict[str, Any]:
    """One entry of `delta.tool_calls`; `name` goes where the wire wants it."""
    function = {"arguments": arguments}
    if "name" in fields:
        function["name"] = fields.pop("name")
    return {**fields, "function": function}


def folded(*deltas: dict[str, Any], taken: tuple[str, ...] = ()) -> Reply:
    fold = Fold(taken)
    for delta in deltas:
        fold.feed(chunk(**delta))
    return fold.reply()


def calls(*pieces: dict[str, Any], taken: tuple[str, ...] = ()) -> tuple[ToolCall, ...]:
    return folded(*({"tool_calls": [p]} for p in pieces), taken=taken).tool_calls


# --- what we send ---------------------------------------------------------------------------------


def test_every_role_is_written_as_the_wire_wants_it() -> None:
    call = ToolCall("call_9", "search_pages", '{"query": "db"}')
    sent = to_wire(
        request(
            Message(role=Role.SYSTEM, content="Plan."),
            Message(role=Role.USER, content="Which?"),
            Message(role=Role.ASSISTANT, content="", tool_calls=(call,)),
            Message(role=Role.TOOL, content="[]", call_id="call_9"),
            Message(role=Role.ASSISTANT, content="None yet."),
            tools=(SEARCH,),
        )
    )
    assert sent["messages"] == [
        {"role": "system", "content": "Plan."},
        {"role": "user", "content": "Which?"},
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [
                {
                    "id": "call_9",
                    "type": "function",
                    "function": {"name": "search_pages", "arguments": '{"query": "db"}'},
                }
            ],
        },
        {"role": "tool", "tool_call_id": "call_9", "content": "[]"},
        {"role": "assistant", "content": "None yet."},
    ]
    assert sent["tools"] == [
        {
            "type": "function",
            "function": {
                "name": "search_pages",
                "description": "Find pages.",
                "parameters": {"type": "object", "properties": {}},
            },
        }
    ]


def test_the_system_text_may_go_as_developer() -> None:
    sent = to_wire(request(Message(role=Role.SYSTEM, content="x")), system_role="developer")
    assert sent["messages"][0]["role"] == "developer"


def test_without_tools_there_is_no_list_of_them() -> None:
    assert "tools" not in to_wire(request(Message(role=Role.USER, content="x")))


def test_an_empty_answer_without_calls_is_empty_text_not_null() -> None:
    sent = to_wire(request(Message(role=Role.ASSISTANT, content="")))
    assert sent["messages"] == [{"role": "assistant", "content": ""}]


@pytest.mark.parametrize("bad", ['{"a": ', "[1]", "query=db", '{"a": NaN}', "[" * 100_000])
def test_arguments_that_are_no_object_are_sent_inside_one(bad: str) -> None:
    call = ToolCall("c", "f", bad)
    sent = to_wire(request(Message(role=Role.ASSISTANT, content="", tool_calls=(call,))))
    arguments = sent["messages"][0]["tool_calls"][0]["function"]["arguments"]
    assert json.loads(arguments) == {"malformed_arguments": bad}


def test_arguments_that_are_an_object_are_sent_to_the_byte() -> None:
    text = '{ "b":1,\n"a" : "\\u00e9" }'
    call = ToolCall("c", "f", text)
    sent = to_wire(request(Message(role=Role.ASSISTANT, content="", tool_calls=(call,))))
    assert sent["messages"][0]["tool_calls"][0]["function"]["arguments"] == text


# --- text and usage -------------------------------------------------------------------------------


def test_text_comes_in_pieces_and_the_whole_is_their_sum() -> None:
    fold = Fold()
    said = [fold.feed(chunk(content=c)) for c in (None, "Post", "", "greSQL")]
    assert said == ["", "Post", "", "greSQL"]
    assert not fold.ended
    fold.feed({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})
    assert fold.ended
    assert fold.reply() == Reply(text="PostgreSQL", finish="stop")


def test_usage_may_come_after_the_end_without_choices() -> None:
    fold = Fold()
    fold.feed(chunk(content="x"))
    fold.feed(
        {
            "choices": [],
            "usage": {
                "prompt_tokens": 7,
                "completion_tokens": 2,
                "prompt_tokens_details": {"cached_tokens": 5},
            },
        }
    )
    assert fold.reply().usage == Usage(input_tokens=7, output_tokens=2, cached_tokens=5)


@pytest.mark.parametrize(
    ("usage", "expected"),
    [
        (None, None),
        ({}, Usage(input_tokens=0, output_tokens=0)),
        (
            {"prompt_tokens": 3, "completion_tokens": None, "prompt_tokens_details": None},
            Usage(input_tokens=3, output_tokens=0),
        ),
        (
            {"prompt_tokens": 3, "completion_tokens": 1, "prompt_cache_hit_tokens": 2},
            Usage(input_tokens=3, output_tokens=1, cached_tokens=2),
        ),
    ],
)
def test_usage_is_read_as_far_as_it_goes(usage: object, expected: Usage | None) -> None:
    assert (
        reply_from({"choices": [{"message": {"content": "x"}}], "usage": usage}).usage == expected
    )


def test_a_later_chunk_without_usage_does_not_unsay_it() -> None:
    fold = Fold()
    fold.feed({**chunk(content="x"), "usage": {"prompt_tokens": 1, "completion_tokens": 1}})
    fold.feed({**chunk(content="y"), "usage": None})
    assert fold.reply().usage == Usage(input_tokens=1, output_tokens=1)


def test_a_response_that_was_not_streamed_is_one_chunk() -> None:
    reply = reply_from(
        {
            "choices": [
                {
                    "index": 0,
                    "message": {
                        "role": "assistant",
                        "content": None,
                        "tool_calls": [piece('{"query":"a"}', id="x1", name="search_pages")],
                    },
                    "finish_reason": "tool_calls",
                }
            ],
            "usage": {"prompt_tokens": 1, "completion_tokens": 2},
        }
    )
    assert reply == Reply(
        finish="tool_calls",
        text="",
        tool_calls=(ToolCall("x1", "search_pages", '{"query":"a"}'),),
        usage=Usage(input_tokens=1, output_tokens=2),
    )


def test_text_in_parts_is_joined_and_a_refusal_is_text() -> None:
    parts = [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]
    assert folded({"content": parts}).text == "ab"
    assert folded({"content": None, "refusal": "No."}).text == "No."


def test_the_whole_message_beside_a_last_delta_is_not_said_twice() -> None:
    fold = Fold()
    fold.feed(chunk(content="ab"))
    fold.feed({"choices": [{"delta": {}, "message": {"content": "ab"}, "finish_reason": "stop"}]})
    assert fold.reply().text == "ab"


def test_a_character_cut_in_two_is_joined_and_half_of_one_is_marked() -> None:
    fold = Fold()
    assert fold.feed(chunk(content="a\ud83d")) == "a"
    assert fold.feed(chunk(content="\ude00b")) == "😀b"
    assert folded({"content": "a\ude00b"}).text == "a\ufffdb"


def test_other_answers_than_the_first_are_ignored() -> None:
    fold = Fold()
    fold.feed({"choices": [{"index": 1, "delta": {"content": "no"}}]})
    assert fold.reply().text == ""


@pytest.mark.parametrize("document", [{}, {"choices": None}, {"object": "list", "data": []}])
def test_what_has_no_choices_is_not_the_protocol(document: dict[str, Any]) -> None:
    with pytest.raises(EngineGarbled) as caught:
        Fold().feed(document)
    assert "/v1" in caught.value.hint


# --- tool calls -----------------------------------------------------------------------------------


def test_arguments_in_pieces_are_joined_by_index() -> None:
    assert calls(
        piece("", index=0, id="a", name="page_fault"),
        piece('{"page', index=0),
        piece("", index=1, id="b", name="search_pages"),
        piece('_id":"msg_1"}', index=0),
        piece('{"query":"x"}', index=1),
    ) == (
        ToolCall("a", "page_fault", '{"page_id":"msg_1"}'),
        ToolCall("b", "search_pages", '{"query":"x"}'),
    )


def test_two_whole_calls_under_one_index_stay_two() -> None:
    """Ollama before 0.12 numbers every call 0; some servers give no ids on top."""
    one, two = '{"page_id":"msg_1"}', '{"page_id":"msg_2"}'
    expected = [one, two]
    with_ids = calls(
        piece(one, index=0, id="a", name="page_fault"),
        piece(two, index=0, id="b", name="page_fault"),
    )
    without = calls(piece(one, index=0, name="page_fault"), piece(two, index=0, name="page_fault"))
    assert [c.arguments for c in with_ids] == [c.arguments for c in without] == expected
    assert len({c.call_id for c in without}) == 2


def test_without_an_index_the_id_or_the_name_tells_the_calls_apart() -> None:
    by_id = calls(
        piece('{"a"', id="x", name="f"), piece('{"b"', id="y", name="f"), piece(":1}", id="x")
    )
    assert [c.arguments for c in by_id] == ['{"a":1}', '{"b"']
    by_name = calls(piece('{"a"', name="f"), piece(":1}"), piece("{}", name="g"))
    assert [(c.name, c.arguments) for c in by_name] == [("f", '{"a":1}'), ("g", "{}")]


def test_a_name_repeated_in_every_piece_is_one_name() -> None:
    assert calls(
        piece('{"a"', index=0, id="x", name="f"), piece(":1}", index=0, id="x", name="f")
    ) == (ToolCall("x", "f", '{"a":1}'),)


def test_a_name_in_pieces_is_joined() -> None:
    assert calls(piece(index=0, name="page_"), piece("{}", index=0, name="fault"))[0].name == (
        "page_fault"
    )


@pytest.mark.parametrize("arguments", ["", None, " "])
def test_no_arguments_are_an_empty_object(arguments: object) -> None:
    assert calls(piece(arguments, index=0, id="x", name="f")) == (ToolCall("x", "f", "{}"),)


def test_arguments_as_an_object_become_its_text() -> None:
    assert calls(piece({"a": "é"}, index=0, name="f"))[0].arguments == '{"a": "é"}'


def test_malformed_arguments_stay_as_the_model_wrote_them() -> None:
    assert calls(piece('{"a": ', index=0, id="x", name="f"))[0].arguments == '{"a":'


def test_missing_and_taken_ids_are_minted_the_same_each_time() -> None:
    pieces = (
        piece("{}", index=0, name="f"),
        piece("{}", index=1, id="call_1", name="f"),
        piece("{}", index=2, id="used", name="f"),
        piece("{}", index=3, id="call_1", name="f"),
    )
    ids = [c.call_id for c in calls(*pieces, taken=("call_0", "used"))]
    assert ids == ["call_2", "call_1", "call_3", "call_4"]
    assert ids == [c.call_id for c in calls(*pieces, taken=("call_0", "used"))]


def test_the_ids_of_a_request_are_those_of_its_calls() -> None:
    call = ToolCall("c7", "f", "{}")
    assert call_ids(request(Message(role=Role.ASSISTANT, content="", tool_calls=(call,)))) == {"c7"}


@given(st.text(min_size=1), st.data())
def test_any_cutting_of_the_arguments_folds_to_the_same_call(
    value: str, data: st.DataObject
) -> None:
    whole = json.dumps({"query": value})
    cuts = sorted(data.draw(st.lists(st.integers(0, len(whole)), max_size=8)))
    parts = [whole[a:b] for a, b in zip([0, *cuts], [*cuts, len(whole)], strict=True)]
    first = piece(parts[0], index=0, id="x", name="f")
    assert calls(first, *(piece(p, index=0) for p in parts[1:])) == (ToolCall("x", "f", whole),)


JSON = st.recursive(
    st.sampled_from([None, True, 0, 1, "", "x", "{}", "\ud83d", "\udc00"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                (
                    "choices delta message content tool_calls function arguments index id name "
                    "usage finish_reason error detail"
                ).split()
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=20,
)


@given(st.dictionaries(st.sampled_from(["choices", "usage", "error", "detail"]), JSON, max_size=3))
def test_whatever_a_server_sends_is_folded_or_refused(document: dict[str, Any]) -> None:
    problem_in(document)
    fold = Fold()
    try:
        said = fold.feed(document)
    except EngineGarbled:
        return
    reply = fold.reply()
    assert reply.text == said
    reply.text.encode()


# --- streams --------------------------------------------------------------------------------------


def events(*chunks: bytes) -> list[str]:
    stream = EventStream()
    return [e for c in chunks for e in stream.feed(c)] + list(stream.close())


@pytest.mark.parametrize(
    ("sent", "expected"),
    [
        (b'data: {"a":1}\n\n', ['{"a":1}']),
        (b'data:{"a":1}\r\n\r\n', ['{"a":1}']),
        (b': keep-alive\n\nevent: x\nid: 3\ndata: {"a":1}\n\n:\n\n', ['{"a":1}']),
        (b'data: {"a":1}\n\ndata: [DONE]\n\n', ['{"a":1}', "[DONE]"]),
        (b'data: {"a":1}\n\ndata: {"b":2}', ['{"a":1}', '{"b":2}']),
        (b'data: {"a":1}\ndata: {"b":2}\n\n', ['{"a":1}', '{"b":2}']),
        (b'data: {"a":\ndata: 1}\n\n', ['{"a":\n1}']),
        (b"data:\n\ndata: \n\n", []),
        (b'\xef\xbb\xbfdata: {"a":1}\n\n', ['{"a":1}']),
        (b'data: "\xff"\n\n', ['"\ufffd"']),
        (b"", []),
    ],
)
def test_events_are_read_as_servers_write_them(sent: bytes, expected: list[str]) -> None:
    assert events(sent) == expected
    assert events(*(sent[i : i + 1] for i in range(len(sent)))) == expected


def test_an_event_without_an_end_is_refused() -> None:
    stream = EventStream()
    endless = b"x" * 65_536
    for _ in range(EVENT_BYTES_MAX // len(endless)):
        assert list(stream.feed(endless)) == []
    with pytest.raises(EngineGarbled, match="MiB"):
        list(stream.feed(endless))


@pytest.mark.parametrize("text", ["<html>", "[1]", "", "nul", "{" * 100_000, "9" * 5000])
def test_what_is_no_object_is_garbled(text: str) -> None:
    with pytest.raises(EngineGarbled) as caught:
        parse(text)
    assert len(str(caught.value)) < 200


# --- complaints -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("document", "message", "code"),
    [
        ({"error": {"message": "m", "type": "t", "code": "c"}}, "m", "t c"),
        ({"error": {"message": "m", "type": None, "code": 503}}, "m", "503"),
        ({"error": "m"}, "m", ""),
        ({"object": "error", "message": "m", "code": 400, "type": "Bad"}, "m", "Bad 400"),
        ({"detail": "m"}, "m", ""),
        ({"detail": [{"loc": ["body"]}]}, '[{"loc": ["body"]}]', ""),
        ({"error": {"message": "m"}, "choices": []}, "m", ""),
    ],
)
def test_a_complaint_is_found_in_any_shape(
    document: dict[str, Any], message: str, code: str
) -> None:
    problem = problem_in(document)
    assert problem is not None
    assert (problem.message, problem.code) == (message, code)


@pytest.mark.parametrize(
    "document", [{"choices": []}, {"choices": [], "error": None}, {"usage": {}}]
)
def test_an_answer_is_no_complaint(document: dict[str, Any]) -> None:
    assert problem_in(document) is None


def test_a_status_is_found_in_a_code() -> None:
    found = [problem_in({"error": {"message": "m", "code": c}}) for c in (429, "rate_limit", 12345)]
    assert [p and p.status for p in found] == [429, 0, 0]
