"""A request that is read and put back is the request; an answer is the same streamed or whole."""

from __future__ import annotations

import json
from typing import Any

import pytest

from pagefault.proxy.history.history import Part
from pagefault.proxy.wires.messages import Messages
from pagefault.proxy.wires.responses import Responses
from pagefault.proxy.wires.wire import Events, Unreadable, dumped
from tests.proxy.recorded import NAMES, WIRES, Recorded, recorded
from tests.proxy.upstream import _WIRES, Call, Say

EVERY = [(name, at, one) for name in NAMES for at, one in enumerate(recorded(name))]
each_request = pytest.mark.parametrize(
    "request_", [pytest.param(one, id=f"{name}-{at}") for name, at, one in EVERY]
)


def test_there_are_recordings_of_three_clients_in_three_formats() -> None:
    assert {one.wire.name for _, _, one in EVERY} == {"chat", "responses", "messages"}
    assert {name.split("-")[0] for name in NAMES} == {"claude", "codex", "opencode"}


@each_request
def test_put_back_it_is_the_same_bytes(request_: Recorded) -> None:
    wire = request_.wire
    again = wire.put(request_.body, list(wire.read(request_.body).messages))
    assert dumped(again) == dumped(request_.body)


@each_request
def test_every_result_answers_a_call_before_it(request_: Recorded) -> None:
    seen: set[str] = set()
    for item in request_.history.items:
        if item.part is Part.CALL:
            seen.add(item.call_id)
        elif item.part is Part.RESULT:
            assert item.call_id in seen


@each_request
def test_what_the_user_typed_is_read(request_: Recorded) -> None:
    said = [i.text for i in request_.history.placed if i.part is Part.TEXT and i.role == "user"]
    assert any("notes.txt" in text or "did we do" in text for text in said)


OPAQUE = [
    {"type": "thinking", "thinking": "…", "signature": "c2lnbmVk=="},
    {"type": "redacted_thinking", "data": "AAEC"},
    {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBOR"}},
    {"type": "compaction", "content": None, "encrypted_content": "sealed", "signature": "x"},
    {"type": "of_tomorrow", "content": [1, 2.5, None, {"deep": []}]},
]


@pytest.mark.parametrize("block", OPAQUE, ids=lambda block: block["type"])
def test_what_is_opaque_is_put_back_byte_for_byte(block: dict[str, Any]) -> None:
    wire = Messages()
    sent = {"messages": [{"role": "assistant", "content": [block, {"type": "text", "text": "a"}]}]}
    history = wire.read(sent)
    assert dumped(wire.put(sent, list(history.messages))) == dumped(sent)
    [item] = (item for item in history.items if item.part is not Part.TEXT)
    assert item.text.startswith(f"[{block['type']}, ") == (item.part is Part.SEALED)


def test_sealed_reasoning_and_compacted_histories_keep_their_place_or_need_none() -> None:
    sent: list[dict[str, Any]] = [
        {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "s"},
        {"type": "compaction", "id": "cmp_1", "encrypted_content": "t"},
    ]
    thought, compacted = Responses().read({"input": sent}).items
    assert (thought.place, bool(compacted.place)) == ("", True)
    other = Responses().read({"input": [{**sent[1], "id": "cmp_2"}]}).items[0]
    assert other.place == compacted.place  # an id is the client's, not the history's


def test_a_responses_request_that_rests_on_the_provider_says_so() -> None:
    assert not Responses().read({"input": "hi", "previous_response_id": "resp_1"}).has_all
    assert Responses().read({"input": "hi"}).has_all


@pytest.mark.parametrize("wire", WIRES, ids=lambda wire: wire.name)
@pytest.mark.parametrize(
    "bad", [{}, {"messages": 1, "input": {}}, {"messages": ["a"], "input": [1]}]
)
def test_a_body_of_another_shape_is_unreadable_and_nothing_worse(wire: Any, bad: Any) -> None:
    with pytest.raises(Unreadable):
        wire.read(bad)


SAYS = {
    "words": Say(text="I look at it.", input_tokens=77),
    "a call": Say(calls=(Call("c1", "Read", {"path": "a b"}),)),
    "both, and thinking": Say(
        text="So.", thinking="hm", calls=(Call("c1", "A", {}), Call("c2", "B", {"x": [1]}))
    ),
}


def _scripted(wire: Any) -> Any:
    return next(one for end, one in _WIRES.items() if wire.takes(f"/v1beta/models/m{end}"))


@pytest.mark.parametrize("wire", WIRES, ids=lambda wire: wire.name)
@pytest.mark.parametrize("say", SAYS.values(), ids=SAYS.keys())
@pytest.mark.parametrize("cut", [1, 7, 4096])
def test_a_streamed_answer_says_what_the_whole_one_says(wire: Any, say: Say, cut: int) -> None:
    scripted = _scripted(wire)
    stream = b"".join(scripted.events(say, 1))
    events, gatherer = Events(), wire.gatherer()
    for at in range(0, len(stream), cut):
        for name, data in events.feed(stream[at : at + cut]):
            gatherer.feed(name, data)
    streamed = gatherer.answered()
    whole = wire.answer(json.loads(json.dumps(scripted.whole(say, 1))))
    placed = [(i.place, i.digest) for i in streamed.items if i.place]
    assert placed == [(i.place, i.digest) for i in whole.items if i.place]
    assert (streamed.complete, streamed.input_tokens) == (True, say.input_tokens)
    assert len(placed) == bool(say.text) + len(say.calls)


def test_a_line_of_many_pieces_is_gathered_and_not_copied_with_each() -> None:
    """As of an image: megabytes in one event."""
    events = Events()
    events.feed(b'data: {"image": "')
    gathered = events._rest
    assert not any(events.feed(b"A" * 100) for _ in range(10))
    assert events._rest is gathered
    assert events.feed(b'"}\r\n\r\n') == [("", {"image": "A" * 1_000})]


@pytest.mark.parametrize("wire", WIRES, ids=lambda wire: wire.name)
def test_an_answer_that_was_cut_off_is_not_complete(wire: Any) -> None:
    stream = list(_scripted(wire).events(Say(text="one two three"), 1))[:-1][:3]
    events, gatherer = Events(), wire.gatherer()
    for name, data in events.feed(b"".join(stream)):
        gatherer.feed(name, data)
    assert not gatherer.answered().complete
