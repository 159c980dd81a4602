"""Histories that are resent: no false fork, and a branch where there is one."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from pagefault.proxy.history.history import Item, Json
from pagefault.proxy.history.trie import Change, Match, Node, Trie
from tests.examples import few
from tests.proxy.histories import MARK, call, history, model, reminder, result, text, user
from tests.proxy.recorded import recorded

C = Change
EXPECTED = {
    "claude-task": "begun extended same extended extended branched | begun",
    "claude-compaction": "begun extended same extended extended extended compacted",
    "codex-task": "begun extended same extended extended | begun",
    "codex-compaction": "begun extended extended compacted extended",
    "opencode-task": "begun | begun extended same extended extended | begun",
    "opencode-compaction": "begun | begun extended same extended | begun | "
    "compacted extended extended",
}
"""What happened, request by request; `|` where another conversation of the client begins or goes
on: a title, a summary made apart, a fork under a new id.
"""


@pytest.mark.parametrize("name", EXPECTED)
def test_a_recorded_conversation_forks_only_where_the_client_did(name: str) -> None:
    tries: dict[str, Trie] = {}
    changes = []
    for one in recorded(name):
        trie = tries.setdefault(one.session, Trie())
        changes.append(trie.match(one.history.placed).change)
        trie.check()
    assert changes == EXPECTED[name].replace(" |", "").split()


@pytest.mark.parametrize("name", EXPECTED)
def test_sent_again_every_recorded_request_is_known_whole(name: str) -> None:
    tries: dict[str, Trie] = {}
    for one in recorded(name):
        tries.setdefault(one.session, Trie()).match(one.history.placed)
    for one in recorded(name):
        match = tries[one.session].match(one.history.placed)
        assert (match.change, match.new, match.edited) == (C.SAME, (), frozenset())


def test_recorded_answers_are_recognised_when_the_client_sends_them_back() -> None:
    for name in EXPECTED:
        tries: dict[str, Trie] = {}
        for one in recorded(name):
            trie = tries.setdefault(one.session, Trie())
            match = trie.match(one.history.placed)
            if one.status == 200 and one.text:
                said = history(model(one.text)).placed
                [node] = trie.follow(match.path, said)
                assert len(trie.follow(match.path, said)) == 1
                assert trie.follow(match.path, said) == (node,)
        assert all(len(trie) for trie in tries.values())


FIRST = (user("read it"), model("ok", call("c1")), user(result("c1", "a long text")), model("done"))


def matched(trie: Trie, *messages: dict[str, object]) -> Match:
    match = trie.match(history(*messages).placed)
    trie.check()
    return match


def test_a_cache_marker_that_moves_is_no_change() -> None:
    trie = Trie()
    matched(trie, user(text("read it", mark=True)))
    assert matched(trie, user("read it"), model(text("ok", mark=True))).change is C.EXTENDED


def test_a_rewritten_reminder_is_no_change() -> None:
    trie = Trie()
    before = matched(
        trie, user(reminder("it is Monday"), "read it" + reminder("2 tasks")), model("ok")
    )
    after = matched(trie, user(reminder("it is Friday"), "read it" + reminder("none")), model("ok"))
    assert (after.change, after.path) == (C.SAME, before.path)
    alone = matched(trie, user("read it"), user(reminder("by itself")), model("ok"))
    assert alone.path == before.path


def test_a_message_in_one_string_is_the_message_in_one_block() -> None:
    trie = Trie()
    matched(trie, user("read it"), model("ok"))
    assert matched(trie, {"role": "user", "content": "read it\n"}, model("ok")).change is C.SAME


def test_thinking_that_is_dropped_later_is_no_change() -> None:
    trie = Trie()
    thought = {"type": "thinking", "thinking": "hm", "signature": "s"}
    matched(trie, user("read it"), model(thought, "ok"))
    assert matched(trie, user("read it"), model("ok")).change is C.SAME


def test_a_result_that_is_blanked_later_keeps_its_place() -> None:
    trie = Trie()
    before = matched(trie, *FIRST, user("and now?"))
    blanked = (FIRST[0], FIRST[1], user(result("c1", "[cleared]")), FIRST[3])
    after = matched(trie, *blanked, user("and now?"))
    assert (after.change, after.path) == (C.SAME, before.path)
    assert after.edited == frozenset()


@pytest.mark.parametrize("after", [[], [user("A title, please.")]], ids=["last", "something new"])
def test_a_result_that_is_blanked_keeps_its_place_whatever_follows(after: list[Json]) -> None:
    trie = Trie()
    before = matched(trie, *FIRST, user("and now?"))
    blanked = (FIRST[0], FIRST[1], user(result("c1", "[cleared]")))
    partial = matched(trie, *blanked, *after)
    assert partial.path[:3] == before.path[:3]
    whole = matched(trie, *blanked, FIRST[3], user("and now?"))
    assert (whole.change, whole.path, whole.edited) == (C.SAME, before.path, frozenset())


def test_what_follows_a_blanked_result_tells_which_of_two_it_was() -> None:
    trie = Trie()
    first = matched(trie, *FIRST, user("and now?"))
    other = matched(trie, *FIRST[:2], user(result("c1", "denied")), model("no"), user("why?"))
    blanked = user(result("c1", "[Old tool result content cleared]"))
    assert matched(trie, *FIRST[:2], blanked, FIRST[3], user("and now?")).path == first.path
    assert matched(trie, *FIRST[:2], blanked, model("no"), user("why?")).path == other.path


@pytest.mark.parametrize("told", ["denied", "", "[cleared]"])
def test_another_result_of_the_newest_call_is_a_branch_since_the_model_must_see_it(
    told: str,
) -> None:
    trie = Trie()
    matched(trie, *FIRST[:3])
    other = matched(trie, *FIRST[:2], user(result("c1", told)))
    assert other.change is C.EXTENDED or other.change is C.BRANCHED
    assert other.path[-1].digest != trie.match(history(*FIRST[:3]).placed).path[-1].digest


def test_arguments_in_another_order_are_the_same_call() -> None:
    trie = Trie()
    matched(trie, user("do"), model(call("c1", a=1, b=2)))
    again = matched(trie, user("do"), model(call("c1", b=2, a=1, c=False)), user(result("c1", "k")))
    assert again.change is C.EXTENDED


def test_an_old_message_edited_between_others_keeps_its_place() -> None:
    trie = Trie()
    before = matched(trie, user("first"), model("ok"), user("second"))
    after = matched(trie, user("first, in other words"), model("ok"), user("second"))
    assert (after.change, after.path, after.edited) == (C.SAME, before.path, frozenset({0}))


def test_another_question_after_the_same_answer_is_a_branch() -> None:
    trie = Trie()
    matched(trie, user("a"), model("b"), user("c"))
    branch = matched(trie, user("a"), model("b"), user("d"))
    assert (branch.change, branch.known) == (C.BRANCHED, 2)


def test_a_history_cut_at_the_front_is_recognised_by_its_end() -> None:
    trie = Trie()
    before = matched(trie, user("a"), model("b"), user("c"), model("d"), user("e"))
    after = matched(trie, user("what was"), user("c"), model("d"), user("e"), model("f"))
    assert after.change is C.COMPACTED
    assert [node.origin for node in after.path] == [None, *before.path[2:], None]
    assert after.path[0].before == before.path


def test_another_conversation_under_one_id_is_no_compaction() -> None:
    trie = Trie()
    matched(trie, user("a"), model("b"))
    other = matched(trie, user("x"))
    assert (other.change, other.path[0].before) == (C.BEGUN, ())


class Resending(RuleBasedStateMachine):
    """A client that does to its history what clients do, beside a model: a dict of prefixes."""

    tree: type[Trie] = Trie
    SUMMARY = (
        "This session is being continued from a previous conversation that ran out of context: "
    )

    def __init__(self) -> None:
        super().__init__()
        self.trie = self.tree()
        self.nodes: dict[tuple[str, ...], Node] = {}
        self.latest: tuple[str, ...] = ()
        self.said = 0

    def _new(self) -> str:
        self.said += 1
        return f"{'ua'[self.said % 2]} text {self.said}"

    def _send(self, texts: tuple[str, ...], expected: Change, dress: int = 0) -> Match:
        match = self.trie.match(_placed(texts, dress))
        assert match.change is expected
        assert match.known == sum(texts[:n] in self.nodes for n in range(1, len(texts) + 1))
        for depth, node in enumerate(match.path, 1):
            assert self.nodes.setdefault(texts[:depth], node) is node
        self.latest = texts
        return match

    @initialize()
    def begin(self) -> None:
        self._send((self._new(), self._new()), C.BEGUN)

    @rule(dress=st.integers(0, 3))
    def retry(self, dress: int) -> None:
        self._send(self.latest, C.SAME, dress)

    @rule(dress=st.integers(0, 3), again=st.booleans())
    def go_on(self, dress: int, again: bool) -> None:
        texts = (*self.latest, "u go on" if again else self._new(), self._new())
        children = [k for k in self.nodes if len(k) == len(self.latest) + 1]
        forks = any(k[:-1] == self.latest for k in children)
        self._send(texts, C.BRANCHED if forks else C.EXTENDED, dress)

    @rule(data=st.data(), dress=st.integers(0, 3))
    def rewind_and_say_something_else(self, data: st.DataObject, dress: int) -> None:
        upto = data.draw(st.integers(1, len(self.latest) - 1))
        self._send((*self.latest[:upto], self._new()), C.BRANCHED, dress)

    @rule(data=st.data())
    def look_back(self, data: st.DataObject) -> None:
        upto = data.draw(st.integers(2, len(self.latest)))
        self._send(self.latest[:upto], C.SAME)

    @precondition(lambda self: len(self.latest) > 3)
    @rule(data=st.data())
    def edit_one_of_the_middle(self, data: st.DataObject) -> None:
        at = data.draw(st.integers(0, len(self.latest) - 2))
        if self.latest[at].startswith(self.SUMMARY):
            return
        if self.latest[at + 1] == "u go on":
            return
        edited = (*self.latest[:at], f"{self.latest[at][0]} edited", *self.latest[at + 1 :])
        match = self.trie.match(_placed(edited, 0))
        assert match.change is C.SAME
        assert match.edited == {at}
        back = self.trie.match(_placed(self.latest, 0))
        assert (back.change, back.path, set(back.edited)) == (C.SAME, match.path, {at})
        assert [self.nodes[self.latest[:n]] for n in range(1, len(edited) + 1)] == list(match.path)

    @precondition(lambda self: len(self.latest) > 3)
    @rule(data=st.data())
    def compact(self, data: st.DataObject) -> None:
        kept = data.draw(st.integers(0, len(self.latest) - 1))
        tail = self.latest[len(self.latest) - kept :] if kept else ()
        before = tuple(self.nodes[self.latest[:n]] for n in range(1, len(self.latest) + 1))
        match = self._send((self.SUMMARY + self._new(), *tail, self._new()), C.COMPACTED)
        assert match.path[0].before == before
        if kept >= 2:
            assert [node.origin for node in match.path[1:-1]] == list(before[-kept:])

    @invariant()
    def it_holds_every_prefix_once(self) -> None:
        self.trie.check()
        assert len(self.trie) == len(self.nodes)


def _placed(texts: tuple[str, ...], dress: int) -> list[Item]:
    """The texts as a client sends them, dressed up in one of several ways."""
    messages = []
    for at, said in enumerate(texts):
        block = text(said + (reminder(f"{dress} {at}") if dress & 1 else ""))
        if dress & 2 and at == len(texts) - 1:
            block["cache_control"] = MARK
        messages.append(model(block) if said.startswith("a ") else user(block))
        if dress == 3:
            messages.append({"role": "system", "content": f"in between {at}"})
    return history(*messages).placed


TestResending = Resending.TestCase
TestResending.settings = few(20, stateful_step_count=20)


class Rigid(Trie):
    """The control of the machine: an edited message is another one."""

    def _reworded(self, node: Node, items: Sequence[Item], at: int) -> Node | None:
        return None


class RigidResending(Resending):
    tree = Rigid


def test_the_machine_catches_a_tree_without_places() -> None:
    brief = settings(
        max_examples=100, stateful_step_count=20, deadline=None, database=None,
        derandomize=True, phases=[Phase.generate], report_multiple_bugs=False,
    )  # fmt: skip
    with pytest.raises(AssertionError):
        run_state_machine_as_test(RigidResending, settings=brief)


class TextIsIdentity(Trie):
    """The control: a tree whose items are recognised by their text alone, dress and all."""

    def match(self, items: list[Item]) -> Match:  # type: ignore[override]
        return super().match([_Undressed(item) for item in items])  # type: ignore[misc]


class _Undressed:
    def __init__(self, item: Item) -> None:
        self.part, self.role, self.text = item.part, item.role, item.text
        self.place = f"{item.role} {item.text} {item.call_id}"
        self.digest, self.continues = self.place, False


def test_a_tree_that_takes_the_text_for_the_place_forks_on_a_rewritten_reminder() -> None:
    trie = TextIsIdentity()
    trie.match(history(user("read it" + reminder("2 tasks")), model("ok")).placed)
    again = trie.match(history(user("read it" + reminder("none")), model("fine")).placed)
    assert again.change is not C.SAME
    assert len(trie) == 4
