"""What was sent once stays as it was: prefixes survive, turns leave whole, markers stay few."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from pagefault.proxy.history.history import Json, unmarked
from pagefault.proxy.history.trie import Change, Trie
from pagefault.proxy.layout.outgoing import Composed, Outgoing
from pagefault.proxy.layout.verbatim import Verbatim
from pagefault.proxy.layout.wording import GONE
from pagefault.proxy.wires.wire import Wire
from tests.proxy.histories import (
    COUNTER,
    MARK,
    WIRE,
    body,
    call,
    interrupted,
    model,
    reminder,
    result,
    survival,
    text,
    user,
)
from tests.proxy.recorded import NAMES, recorded


class Way:
    """A conversation's tree and its renderer together, as the proxy has them."""

    def __init__(
        self, window: int, wire: Wire = WIRE, verbatim: type[Verbatim] = Verbatim, spare: int = 0
    ) -> None:
        self.trie = Trie()
        self.wire = wire
        self.verbatim = verbatim(wire, COUNTER, window)
        self.spare = spare

    def send(self, request: Json, program: str = "") -> Composed:
        history = self.wire.read(request).of_program(program)
        match = self.trie.match(history.placed)
        self.change = match.change
        outgoing = self.verbatim.outgoing(request, history, match)
        outgoing.plan(self.spare)
        return outgoing.compose()

    def messages(self, *messages: Json) -> list[Any]:
        return self.send(body(*messages)).messages


WIDE = 1_000_000
MOVED = (Change.BRANCHED, Change.COMPACTED)  # the client itself said something else


@pytest.mark.parametrize("window", [WIDE, 450])
@pytest.mark.parametrize("name", NAMES)
def test_of_recorded_conversations_every_prefix_survives_outside_epochs(
    name: str, window: int
) -> None:
    ways: dict[str, Way] = {}
    sent: dict[str, list[Any]] = {}
    compared = 0
    for one in recorded(name):
        way = ways.setdefault(one.session, Way(window, one.wire))
        composed = way.send(one.body, one.program)
        before = sent.get(one.session)
        if window != WIDE and one.history.placed[-1].asks_for_summary:
            continue  # put into the message before it, which instructions that stay may follow
        if before is not None and not composed.epoch and way.change not in MOVED:
            assert survival(before, composed.messages) == 1.0
            compared += 1
        sent[one.session] = composed.messages
    assert compared >= (2 if window == WIDE else 1)


@pytest.mark.parametrize("name", NAMES)
def test_in_a_wide_window_a_recorded_request_goes_on_as_it_says(name: str) -> None:
    """Only ids that a client gave anew, and space at the end of a text, may differ."""
    ways: dict[str, Way] = {}
    for one in recorded(name):
        way = ways.setdefault(one.session, Way(WIDE, one.wire))
        ours, theirs = way.send(one.body).messages, one.wire.read(one.body).messages
        assert list(map(_said, ours)) == list(map(_said, theirs))


def _said(message: Json) -> Any:
    content = message.get("content")
    blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
    plain = [{**b, "text": b["text"].strip()} if "text" in b else b for b in blocks or ()]
    return unmarked({**message, "id": "", "content": plain})


def test_a_rewritten_reminder_leaves_the_prefix_and_its_news_follow_at_the_end() -> None:
    way = Way(WIDE)
    old, new = reminder("2 tasks are open"), reminder("1 task is open")
    before = way.messages(user(old, "do them"), model("ok"))
    after = way.messages(user(new, "do them"), model("ok"), user("go on"))
    assert survival(before, after) == 1.0
    assert new in str(after[-1]).replace("\\n", "\n")
    assert new not in str(after[:-1]).replace("\\n", "\n")
    again = way.messages(user(new, "do them"), model("ok"), user("go on"), model("yes"), user("b"))
    assert survival(after, again) == 1.0
    assert str(again).count("1 task is open") == 1  # told once


def test_an_instruction_that_is_a_block_at_first_and_then_a_string_is_sent_once() -> None:
    """As Claude Code has them: the newest is marked for a cache, and only a block can be."""
    way = Way(WIDE)
    marked = {"role": "system", "content": [text("Speak French.", mark=True)]}
    before = way.messages(user("Hello."), marked)
    now = [user("Hello."), {"role": "system", "content": "Speak French."}, model("Salut.")]
    after = way.messages(*now, user("Bye."))
    assert survival(before, after) == 1.0
    assert str(after).count("Speak French.") == 1


def test_a_blanked_result_leaves_the_prefix() -> None:
    way = Way(WIDE)
    asked = (user("read"), model(call("c1")))
    before = way.messages(*asked, user(result("c1", "a long text")), model("I see"))
    after = way.messages(
        *asked, user(result("c1", "[gone]")), model("I see"), user("and what was it?")
    )
    assert survival(before, after) == 1.0


def test_what_the_user_edits_is_sent_as_edited() -> None:
    way = Way(WIDE)
    way.messages(user("a red house"), model("ok"), user("go on"))
    after = way.messages(user("a blue house"), model("ok"), user("go on"))
    assert "blue" in str(after)
    assert "red" not in str(after)


def test_dropped_thinking_stays_in_what_was_sent() -> None:
    way = Way(WIDE)
    thought = {"type": "thinking", "thinking": "hm", "signature": "c2ln"}
    before = way.messages(user("a"), model(thought, "b"), user("c"))
    after = way.messages(user("a"), model("b"), user("c"), model("d"), user("e"))
    assert survival(before, after) == 1.0
    assert thought in after[1]["content"]


def test_another_model_gets_what_the_client_sends_it() -> None:
    way = Way(WIDE)
    thought = {"type": "thinking", "thinking": "hm", "signature": "c2ln"}
    way.messages(user("a"), model(thought, "b"), user("c"))
    other = way.send({**body(user("a"), model("b"), user("c")), "model": "another"})
    assert "signature" not in str(other.messages)


def test_markers_are_where_the_client_has_them_now() -> None:
    way = Way(WIDE)
    way.messages(user(text("a", mark=True)))
    after = way.messages(user("a"), model("b"), user(text("c", mark=True)))
    assert _marked(after) == [2]
    assert after[2]["content"][-1]["cache_control"] == MARK


def _marked(messages: list[Any]) -> list[int]:
    return [at for at, message in enumerate(messages) if "cache_control" in str(message)]


def turns(count: int, words: int = 50) -> list[Json]:
    """Turns with a call in each, `3 * words` tokens and a little more."""
    said: list[Json] = []
    for n in range(count):
        said += [
            user(f"question {n} " + "word " * words),
            model("I look.", call(f"c{n}", path=f"f{n}")),
            user(result(f"c{n}", f"result {n} " + "word " * words)),
            model(f"answer {n} " + "word " * words),
        ]
    return said


def in_growing_requests(count: int) -> list[list[Json]]:
    said = turns(count)
    return [said[:upto] for upto in range(1, len(said), 2)]


def test_a_long_conversation_fits_and_its_prefix_breaks_in_epochs_alone() -> None:
    way, before, epochs = Way(1_000), list[Any](), 0
    requests = in_growing_requests(40)
    for messages in requests:
        composed = way.send(body(*messages))
        assert composed.tokens <= 1_000
        assert composed.messages[-1] == messages[-1]
        if composed.epoch:
            epochs += 1
        else:
            assert survival(before, composed.messages) == 1.0
        before = composed.messages
    assert 5 <= epochs <= len(requests) * 0.2


def test_a_call_is_never_parted_from_its_result_nor_a_turn_cut() -> None:
    way = Way(1_000)
    for messages in in_growing_requests(20):
        sent = way.messages(*messages)
        assert WIRE.opens_turn(sent[0])
        calls = {b["id"] for m in sent for b in m["content"] if b["type"] == "tool_use"}
        results = {b["tool_use_id"] for m in sent for b in m["content"] if "tool_use_id" in b}
        assert results <= calls
        assert calls - results <= {f"c{len(messages) // 4}"}


def ids(messages: Sequence[Json], kind: str, name: str) -> list[str]:
    return [block[name] for m in messages for block in m["content"] if block["type"] == kind]


def test_a_turn_opens_where_a_user_s_text_is_though_results_stand_before_it() -> None:
    way = Way(400)
    said = interrupted(40)
    before: list[Json] = []
    epochs = breaks = 0
    for end in range(3, len(said) + 1, 2):
        composed = way.send(body(*said[:end]))
        messages = composed.messages
        assert composed.tokens <= 400
        assert messages[-1]["content"][-1] == said[end - 1]["content"][-1], "the newest is whole"
        results = ids(messages, "tool_result", "tool_use_id")
        assert results == ids(messages[:-1], "tool_use", "id"), "no result without its call"
        for message in messages:
            kinds = [block["type"] == "tool_result" for block in message["content"]]
            assert kinds == sorted(kinds, reverse=True), "results stand first"
        epochs += bool(composed.epoch)
        breaks += bool(before) and not composed.epoch and survival(before, messages) < 1.0
        before = messages
    assert epochs >= 5
    assert breaks == 0
    assert any(node.place.startswith("result ") for node in composed.hidden), (
        "results that left can be found"
    )


def test_reminders_beside_a_result_open_no_turn() -> None:
    message = user(result("c1", "green"), reminder("It is late."))
    assert not WIRE.opens_turn(message)
    assert WIRE.opens_turn(user(result("c1", "green"), reminder("It is late."), "Stop."))
    assert WIRE.with_text(user(result("c1", "a"), "b"), "quoted") == user(
        result("c1", "a"), "quoted", "b"
    )


def test_instructions_in_the_middle_stay_when_their_turn_leaves() -> None:
    way = Way(1_000)
    told = {"role": "system", "content": "Skills: sewing."}
    said = turns(20)
    sent = way.messages(said[0], told, *said[1:], user("and now?"))
    assert sent[0]["role"] == "user"
    assert sent[1] == told
    assert sent.count(told) == 1
    again = way.messages(said[0], told, *said[1:], user("and now?"), model("b"), user("c"))
    assert survival(sent, again) == 1.0


def test_what_left_is_said_to_have_left_once_and_is_known_as_hidden() -> None:
    way = Way(1_000)
    composed = way.send(body(*turns(20), user("and now?")))
    assert str(composed.messages).count(GONE[:40]) == 1
    assert composed.messages[0]["content"][0]["text"] == GONE
    shown = sum(len(m["content"]) for m in composed.messages) - 1
    assert len(composed.hidden) == 20 * 5 + 1 - shown


def test_a_newest_turn_that_is_too_large_goes_on_whole_and_is_said_to() -> None:
    way = Way(1_000)
    huge = user("word " * 3_000)
    composed = way.send(body(*turns(5), huge))
    assert composed.over
    assert composed.messages[-1]["content"][-1] == huge["content"][0]


def test_a_retry_and_a_look_back_get_the_bytes_they_had() -> None:
    way = Way(1_000)
    sent = {len(m): way.messages(*m) for m in in_growing_requests(12)}
    for messages in in_growing_requests(12):
        assert way.messages(*messages) == sent[len(messages)]


def test_a_branch_keeps_what_it_shares() -> None:
    way = Way(1_000)
    for messages in in_growing_requests(12):
        before = way.messages(*messages)
    assert messages[-1]["content"][0]["type"] == "tool_result"
    rewound = [*messages[:-2], user("something else")]
    after = way.messages(*rewound)
    assert survival(before[:-2], after) == 1.0


def test_the_provider_s_count_is_learned_and_makes_it_more_careful() -> None:
    way = Way(10_000)
    composed = way.send(body(*turns(12)))
    way.verbatim.observe(composed, composed.tokens * 2)
    assert way.send(body(*turns(40))).tokens <= 10_000
    assert way.verbatim.factor == 2.0


class Forgetful(Verbatim):
    """The control: a renderer that keeps nothing of what it sent."""

    def outgoing(self, *args: Any, **more: Any) -> Outgoing:
        self.sent.clear()
        return super().outgoing(*args, **more)


def test_without_what_was_sent_a_rewritten_reminder_breaks_the_prefix() -> None:
    way = Way(WIDE, verbatim=Forgetful)
    before = way.messages(user(reminder("2"), "do"), model("ok"))
    after = way.messages(user(reminder("1"), "do"), model("ok"), user("go on"))
    assert survival(before, after) < 1.0


def test_a_sliding_window_does_not_pass_as_stable() -> None:
    """The control: a window that slides with every request, as most clients' do."""
    way, before, broken = Way(1_000, spare=400), list[Any](), 0
    for messages in in_growing_requests(20):
        after = way.send(body(*messages)).messages
        broken += survival(before, after) < 1.0
        before = after
    assert broken
