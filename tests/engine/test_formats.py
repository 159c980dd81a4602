"""One request in four formats: what each provider demands of it, and what is read of its answer."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pagefault.engine import anthropic
from pagefault.engine.breakpoints import LOOKBACK_BLOCKS, MARKS_MAX, marks
from pagefault.engine.formats import FORMATS, reply_from, to_wire
from pagefault.model.errors import EngineGarbled
from pagefault.model.kinds import Role
from pagefault.model.request import Message, Reply, Request, ToolCall, ToolSpec, Usage
from tests.engine.wire_schemas import ANTHROPIC, GEMINI

OPENAPI = Path(__file__).parents[3] / "shared" / "data" / "openai" / "openapi.json"
TOOL = ToolSpec("search_pages", "Find pages.", {"type": "object", "properties": {}})
SYSTEM = Message(role=Role.SYSTEM, content="Plan.")
ASKED = Message(role=Role.USER, content="Which?")
CALL = ToolCall("call_9", "search_pages", '{"query": "db"}')
CALLING = Message(role=Role.ASSISTANT, content="Let me look.", tool_calls=(CALL,))
FOUND = Message(role=Role.TOOL, content='{"results": []}', call_id="call_9")
ANSWERED = Message(role=Role.ASSISTANT, content="None yet.")


def request(*messages: Message, tail: str = "", tools: tuple[ToolSpec, ...] = (TOOL,)) -> Request:
    return Request(
        messages=messages, tools=tools, tokens=10, factor=1.0, window_tokens=1000, tail=tail
    )


WHOLE = request(SYSTEM, ASKED, CALLING, FOUND, ANSWERED, ASKED)

TEXTS = st.one_of(
    st.text(st.characters(codec="utf-8"), max_size=20),
    st.sampled_from(["", " ", "</VM:CONTEXT>", "<|im_start|>system", "数据库", "{", '{"a": 1}']),
)
ARGUMENTS = st.one_of(TEXTS, st.sampled_from(['{"query": "x"}', "[1]", '{"a": NaN}', "{}"]))


@st.composite
def exchanges(draw: st.DrawFn) -> list[Message]:
    """Calls of one reply, and a result for each, as they always come."""
    ids = draw(st.lists(TEXTS, min_size=1, max_size=3, unique=True))
    calls = tuple(ToolCall(call_id, "page_fault", draw(ARGUMENTS)) for call_id in ids)
    said = Message(role=Role.ASSISTANT, content=draw(TEXTS), tool_calls=calls)
    answers = [Message(role=Role.TOOL, content=draw(TEXTS), call_id=call.call_id) for call in calls]
    return [said, *answers]


SAID = st.builds(
    lambda role, text: [Message(role=role, content=text)],
    st.sampled_from([Role.USER, Role.ASSISTANT]),
    TEXTS,
)


@st.composite
def conversations(draw: st.DrawFn) -> list[Message]:
    parts = draw(st.lists(st.one_of(SAID, exchanges()), max_size=6))
    messages = [SYSTEM, *(message for part in parts for message in part)]
    used: dict[str, int] = {}
    for place, message in enumerate(messages):  # ids are of one exchange only, as in a session
        calls = []
        for call in message.tool_calls:
            used[call.call_id] = place
            calls.append(replace(call, call_id=f"{call.call_id}#{place}"))
        if calls:
            messages[place] = replace(message, tool_calls=tuple(calls))
        elif message.role is Role.TOOL:
            called = f"{message.call_id}#{used[message.call_id]}"
            messages[place] = replace(message, call_id=called)
    return messages


def _openai(name: str) -> jsonschema.Draft202012Validator:
    if not OPENAPI.exists():
        pytest.skip(f"{OPENAPI} is not here")
    # Its alternatives overlap: a message in parts is an item in two ways, and `oneOf` refuses that.
    document = json.loads(OPENAPI.read_text().replace('"oneOf"', '"anyOf"'))
    whole = {"components": document["components"], "$ref": f"#/components/schemas/{name}"}
    return jsonschema.Draft202012Validator(whole)


def _wrong(validator: jsonschema.Draft202012Validator, body: dict[str, Any]) -> list[str]:
    return [error.message for error in validator.iter_errors(body)]


# --- what we send ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("format", "schema"),
    [("openai", "CreateChatCompletionRequest"), ("openai-responses", "CreateResponse")],
)
def test_the_openai_forms_are_valid_for_the_openai_api(format: str, schema: str) -> None:
    validator = _openai(schema)
    for tail in ("", "C (clm_1 · standing rule): answer in French"):
        sent = replace(WHOLE, tail=tail, cache_key="ses_1", breakpoints=(5, 3, 0))
        body = to_wire(sent, format) | {"model": "gpt-5"}
        assert not _wrong(validator, body)
        assert body["prompt_cache_key"] == "ses_1"
    body["tools"][0]["type"] = "hammer"
    assert _wrong(validator, body), "the control"


@settings(deadline=None)
@given(conversations(), st.sampled_from(["", "the tail"]))
def test_whatever_was_said_anthropic_would_take_it(messages: list[Message], tail: str) -> None:
    hinted = replace(request(*messages, tail=tail), breakpoints=tuple(range(len(messages))))
    body = to_wire(hinted, "anthropic")
    assert not _wrong(jsonschema.Draft202012Validator(ANTHROPIC), body)
    roles = [message["role"] for message in body["messages"]]
    assert roles[0] == "user"
    assert all(a != b for a, b in pairwise(roles))
    for before, after in pairwise(body["messages"]):
        uses = [block["id"] for block in before["content"] if block["type"] == "tool_use"]
        results = [b["tool_use_id"] for b in after["content"][: len(uses)] if "tool_use_id" in b]
        assert uses == results, "a call is answered at the beginning of the next message"
    ids = [b["id"] for m in body["messages"] for b in m["content"] if b["type"] == "tool_use"]
    assert len(ids) == len(set(ids))
    json.dumps(body).encode()


@settings(deadline=None)
@given(conversations(), st.sampled_from(["", "the tail"]))
def test_whatever_was_said_gemini_would_take_it(messages: list[Message], tail: str) -> None:
    body = to_wire(request(*messages, tail=tail), "gemini")
    assert not _wrong(jsonschema.Draft202012Validator(GEMINI), body)
    roles = [content["role"] for content in body["contents"]]
    assert roles[0] == "user"
    assert all(a != b for a, b in pairwise(roles))
    json.dumps(body).encode()


def test_control_the_schemas_refuse_what_the_providers_refuse() -> None:
    validator = jsonschema.Draft202012Validator(ANTHROPIC)
    good = to_wire(WHOLE, "anthropic")
    assert not _wrong(validator, good)
    assert _wrong(validator, {"messages": good["messages"][1:]}), "begins with the assistant"
    empty = [{"role": "user", "content": [{"type": "text", "text": ""}]}]
    assert _wrong(validator, {"messages": empty})
    gemini = jsonschema.Draft202012Validator(GEMINI)
    assert _wrong(gemini, {"contents": [{"role": "assistant", "parts": [{"text": "x"}]}]})


@settings(deadline=None)
@given(conversations())
def test_every_text_is_sent_once_and_in_order_in_every_format(messages: list[Message]) -> None:
    numbered = [
        replace(message, content=f"{message.content} <{place}>")
        for place, message in enumerate(messages)
    ]
    for format in FORMATS:
        told = json.dumps(to_wire(request(*numbered, tools=()), format), ensure_ascii=False)
        if format in ("anthropic", "gemini"):  # their system text is a field of its own
            told = told.replace("Plan. <0>", "")
        places = [told.find(f"<{place}>") for place in range(1, len(numbered))]
        assert places == sorted(places)
        assert -1 not in places


@pytest.mark.parametrize("format", FORMATS)
def test_what_is_appended_leaves_what_was_sent_as_it_is(format: str) -> None:
    """A stable prefix stays stable on every wire."""
    field = {"openai-responses": "input", "gemini": "contents"}.get(format, "messages")
    sent = to_wire(request(SYSTEM, ASKED, CALLING, FOUND, ANSWERED), format)
    later = to_wire(WHOLE, format)
    assert later[field][: len(sent[field])] == sent[field]
    assert later["tools"] == sent["tools"]
    assert later.get("system") == sent.get("system")


@pytest.mark.parametrize("format", FORMATS)
def test_the_tail_is_a_block_of_its_own_at_the_end_of_the_newest_user_message(format: str) -> None:
    field = {"openai-responses": "input", "gemini": "contents"}.get(format, "messages")
    plain, tailed = to_wire(WHOLE, format), to_wire(replace(WHOLE, tail="be brief"), format)
    assert plain[field][:-1] == tailed[field][:-1]
    newest = tailed[field][-1]
    blocks = newest.get("content") or newest.get("parts")
    assert [block["text"] for block in blocks] == ["Which?", "be brief"]


@pytest.mark.parametrize("format", FORMATS)
def test_a_tail_without_any_message_is_still_sent(format: str) -> None:
    assert "be brief" in json.dumps(to_wire(request(SYSTEM, tail="be brief"), format))


@pytest.mark.parametrize("format", FORMATS)
def test_arguments_that_are_no_object_reach_the_model_as_it_wrote_them(format: str) -> None:
    bad = replace(CALLING, tool_calls=(replace(CALL, arguments="query=db"),))
    told = json.dumps(to_wire(request(SYSTEM, ASKED, bad, FOUND), format))
    assert "malformed_arguments" in told
    assert "query=db" in told


def test_a_format_that_nobody_speaks_is_refused() -> None:
    with pytest.raises(KeyError):
        to_wire(WHOLE, "smoke")
    with pytest.raises(KeyError):
        reply_from({}, "smoke")


# --- marks ----------------------------------------------------------------------------------------


@given(st.lists(st.integers(-3, 130), max_size=12), st.integers(0, 120))
def test_marks_are_few_and_the_dearest_wishes_are_granted(wishes: list[int], blocks: int) -> None:
    chosen = marks(wishes, blocks)
    able = list(dict.fromkeys(wish for wish in wishes if 0 <= wish < blocks))
    assert chosen == sorted(set(chosen))
    assert len(chosen) <= MARKS_MAX
    assert all(0 <= mark < blocks for mark in chosen)
    assert bool(chosen) == bool(able)
    assert set(able[:MARKS_MAX]) <= set(chosen)
    assert marks(wishes, blocks, lookback=0) == sorted(able[:MARKS_MAX])


def test_a_mark_that_is_left_over_bridges_what_a_look_back_cannot() -> None:
    assert marks([99], 100) == [39, 59, 79, 99]
    assert marks([30, 0], 100) == [0, 10, 30]
    assert marks([15, 0], 100) == [0, 15]
    assert LOOKBACK_BLOCKS == 20


def test_anthropic_marks_the_ends_of_the_messages_that_were_hinted_at() -> None:
    body = anthropic.to_wire(replace(WHOLE, tail="be brief", breakpoints=(0, 3, 5, 77)))
    assert "cache_control" in body["system"][-1]
    marked = [
        (place, block.get("text", block["type"]))
        for place, message in enumerate(body["messages"])
        for block in message["content"]
        if "cache_control" in block
    ]
    assert marked == [(2, "tool_result"), (4, "Which?")], "and never the tail"
    assert "cache_control" not in json.dumps(to_wire(WHOLE, "anthropic"))
    assert to_wire(replace(WHOLE, breakpoints=(0, 1)), "gemini") == to_wire(WHOLE, "gemini")


@pytest.mark.parametrize(
    ("format", "list_name", "model_said"),
    [("openai", "messages", [CALLING.content]), ("openai-responses", "input", [])],
)
def test_openai_marks_parts_and_writes_nothing_else(
    format: str, list_name: str, model_said: list[str]
) -> None:
    said = replace(WHOLE, tail="be brief", breakpoints=(5, 3, 0, 2, 77))
    body = to_wire(said, format)
    assert body["prompt_cache_options"] == {"mode": "explicit"}
    ends = [
        parts[-1 if len(parts) == 1 else -2]["text"]
        for item in body[list_name]
        if isinstance(parts := item.get("output", item.get("content")), list)
    ]
    assert ends == [SYSTEM.content, *model_said, FOUND.content, ASKED.content]
    assert "prompt_cache_breakpoint" not in body[list_name][-1]["content"][-1], "never the tail"
    plain = to_wire(replace(said, breakpoints=()), format)
    assert "prompt_cache" not in json.dumps(plain)
    body.pop("prompt_cache_options")
    unmarked = json.loads(
        json.dumps(body).replace(', "prompt_cache_breakpoint": {"mode": "explicit"}', "")
    )
    for item, other in zip(unmarked[list_name], plain[list_name], strict=True):
        assert texts(item) == texts(other)


def texts(item: dict[str, object]) -> list[str]:
    """What a message or item says, part by part, whichever way it is written."""
    said = item.get("output", item.get("content")) or []
    return [said] if isinstance(said, str) else [part["text"] for part in said]  # type: ignore[attr-defined]


def test_ids_that_anthropic_would_refuse_are_made_plain_and_stay_apart() -> None:
    calls = (replace(CALL, call_id="a.b"), replace(CALL, call_id="a:b"), replace(CALL, call_id=""))
    results = [replace(FOUND, call_id=call.call_id) for call in calls]
    sent = request(SYSTEM, ASKED, replace(CALLING, tool_calls=calls), *results)
    body = to_wire(sent, "anthropic")
    uses = [b["id"] for b in body["messages"][1]["content"] if b["type"] == "tool_use"]
    assert uses == ["a_b", "a_b_2", "call"]
    assert [b["tool_use_id"] for b in body["messages"][2]["content"]] == uses


# --- what we read ---------------------------------------------------------------------------------

SAID_AND_CALLED: dict[str, dict[str, Any]] = {
    "openai": {
        "choices": [
            {
                "message": {
                    "content": "Let me look.",
                    "tool_calls": [
                        {
                            "id": "c1",
                            "function": {"name": "search_pages", "arguments": '{"query": "db"}'},
                        }
                    ],
                },
                "finish_reason": "tool_calls",
            }
        ],
        "usage": {
            "prompt_tokens": 100,
            "completion_tokens": 7,
            "prompt_tokens_details": {"cached_tokens": 60, "cache_write_tokens": 30},
        },
    },
    "openai-responses": {
        "status": "completed",
        "output": [
            {"type": "reasoning", "summary": []},
            {
                "type": "message",
                "role": "assistant",
                "content": [{"type": "output_text", "text": "Let me look.", "annotations": []}],
            },
            {
                "type": "function_call",
                "call_id": "c1",
                "name": "search_pages",
                "arguments": '{"query": "db"}',
            },
        ],
        "usage": {
            "input_tokens": 100,
            "input_tokens_details": {"cached_tokens": 60, "cache_write_tokens": 30},
            "output_tokens": 7,
        },
    },
    "anthropic": {
        "content": [
            {"type": "thinking", "thinking": "hm", "signature": "x"},
            {"type": "text", "text": "Let me look."},
            {"type": "tool_use", "id": "c1", "name": "search_pages", "input": {"query": "db"}},
        ],
        "stop_reason": "tool_use",
        "usage": {
            "input_tokens": 10,
            "cache_read_input_tokens": 60,
            "cache_creation_input_tokens": 30,
            "output_tokens": 7,
        },
    },
    "gemini": {
        "candidates": [
            {
                "content": {
                    "role": "model",
                    "parts": [
                        {"text": "hm", "thought": True},
                        {"text": "Let me look."},
                        {
                            "functionCall": {
                                "id": "c1",
                                "name": "search_pages",
                                "args": {"query": "db"},
                            }
                        },
                    ],
                },
                "finishReason": "STOP",
            }
        ],
        "usageMetadata": {
            "promptTokenCount": 100,
            "cachedContentTokenCount": 60,
            "candidatesTokenCount": 5,
            "thoughtsTokenCount": 2,
        },
    },
}


@pytest.mark.parametrize("format", FORMATS)
def test_text_calls_and_usage_are_read_of_every_format(format: str) -> None:
    reply = reply_from(SAID_AND_CALLED[format], format)
    assert reply.text == "Let me look."
    [call] = reply.tool_calls
    assert (call.call_id, call.name, json.loads(call.arguments)) == (
        "c1",
        "search_pages",
        {"query": "db"},
    )
    written = 0 if format == "gemini" else 30  # it bills no writes
    assert reply.usage == Usage(
        input_tokens=100, output_tokens=7, cached_tokens=60, cache_write_tokens=written
    )
    [renamed] = reply_from(SAID_AND_CALLED[format], format, taken={"c1"}).tool_calls
    assert renamed.call_id == "call_0"


@pytest.mark.parametrize(
    ("format", "document"),
    [
        ("openai", {"choices": [{"message": {"content": "x"}, "finish_reason": "length"}]}),
        (
            "openai-responses",
            {
                "status": "incomplete",
                "incomplete_details": {"reason": "max_output_tokens"},
                "output": [{"type": "message", "content": [{"text": "x"}]}],
            },
        ),
        ("anthropic", {"content": [{"type": "text", "text": "x"}], "stop_reason": "max_tokens"}),
        (
            "gemini",
            {"candidates": [{"content": {"parts": [{"text": "x"}]}, "finishReason": "MAX_TOKENS"}]},
        ),
    ],
)
def test_a_text_that_was_cut_off_says_so(format: str, document: dict[str, Any]) -> None:
    assert reply_from(document, format) == Reply(text="x", finish="length")


@pytest.mark.parametrize("format", FORMATS)
def test_what_is_no_answer_of_the_format_is_refused(format: str) -> None:
    with pytest.raises(EngineGarbled):
        reply_from({"hello": "world"}, format)


def test_a_blocked_prompt_is_an_empty_answer_that_says_why() -> None:
    document = {"promptFeedback": {"blockReason": "SAFETY"}}
    assert reply_from(document, "gemini") == Reply(text="", finish="SAFETY")


JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.text(max_size=5)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(
            st.sampled_from(
                "output content candidates choices usage usageMetadata parts type text message "
                "functionCall args name id input call_id arguments tool_use function_call".split()
            ),
            inner,
            max_size=4,
        ),
    ),
    max_leaves=12,
)


@settings(deadline=None)
@given(
    st.sampled_from(FORMATS),
    st.dictionaries(
        st.sampled_from(
            [
                "output",
                "content",
                "candidates",
                "choices",
                "usage",
                "usageMetadata",
                "promptFeedback",
            ]
        ),
        JSON,
        max_size=4,
    ),
)
def test_no_answer_however_odd_is_more_than_garbled(format: str, document: dict[str, Any]) -> None:
    try:
        reply = reply_from(document, format)
    except EngineGarbled:
        return
    reply.text.encode()
    for call in reply.tool_calls:
        call.arguments.encode()
