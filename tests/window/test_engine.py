"""One window for every conversation: what a step may change, and what no step ever changes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pagefault.model.kinds import ItemKind
from pagefault.window.engine import WINDOW_FULL, Offer, Offers, Plan, WhenFull, lay_out, step
from pagefault.window.law import Law
from pagefault.window.slots import (
    FRONT,
    WHOLE_CONVERSATION,
    Form,
    Item,
    Slot,
    Window,
)
from pagefault.window.tree import Windows
from pagefault.window.turns import WholeTurns

LAW = Law()
STUB_TOKENS = 5
NOTICE_TOKENS = 3


@dataclass
class Scales:
    """A renderer that knows nothing but weights."""

    tokens: dict[str, int] = field(default_factory=dict)

    def weigh(self, slot: Slot) -> int:
        match slot:
            case Slot(form=Form.ABSENT):
                return 0
            case Slot(form=Form.STUB):
                return STUB_TOKENS
            case Slot(anchor=anchor) if anchor == FRONT:
                return NOTICE_TOKENS
        return self.tokens[slot.id]

    def measure(self, slots: Sequence[Slot]) -> int:
        return sum(map(self.weigh, slots))


class Talk:
    """A conversation that grows, and what each of its requests showed."""

    def __init__(self, room: int, law: Law = LAW) -> None:
        self.room = room
        self.law = law
        self.scales = Scales()
        self.windows = Windows()
        self.items: list[Item] = []
        self.count = 0

    def say(self, kind: ItemKind, tokens: int, **more: bool | str) -> Item:
        item = Item(id=f"n{self.count}", kind=kind, **more)  # type: ignore[arg-type]
        self.count += 1
        self.scales.tokens[item.id] = tokens
        self.items.append(item)
        return item

    def user(self, tokens: int) -> Item:
        return self.say(ItemKind.MESSAGE, tokens, opens=True)

    def model(self, tokens: int, *, binds: bool = False) -> Item:
        return self.say(ItemKind.MESSAGE, tokens, is_models=True, binds=binds)

    def call(self, name: str, tokens: int = 2) -> Item:
        return self.say(ItemKind.CALL, tokens, is_models=True, call=name)

    def result(self, name: str, tokens: int, *, opens: bool = False) -> Item:
        return self.say(ItemKind.RESULT, tokens, call=name, opens=opens)

    def request(self, known: int = 0) -> Plan[Offer]:
        path = [item.id for item in reversed(self.items)]
        choice = WholeTurns(
            law=self.law,
            scales=self.scales,
            target_tokens=0.3 * self.room,
            stub_target_tokens=0.6 * self.room,
            at=path[0],
            front=(f"notice {path[0]}",),
        )
        window = self.windows.at(path)
        window, plan = step(
            window,
            self.items,
            law=self.law,
            renderer=self.scales,
            schedule=WhenFull(room_tokens=self.room),
            choice=choice,
            known=known,
        )
        if plan.epoch:
            self.windows.begin(window)
        return plan

    def form(self, plan: Plan[Offer], item: Item) -> Form:
        return next(slot.form for slot in plan.slots if slot.id == item.id)


# --- turns leave, and results give way -----------------------------------------------------------


def test_what_fits_is_shown_whole_and_nothing_is_decided() -> None:
    talk = Talk(room=100)
    talk.user(40)
    talk.model(40)
    plan = talk.request()
    assert [slot.form for slot in plan.slots] == [Form.WHOLE, Form.WHOLE]
    assert (plan.tokens, plan.epoch, plan.fits) == (80, "", True)


def test_a_full_window_lets_the_oldest_turns_go_down_to_its_target() -> None:
    talk = Talk(room=100)
    for _ in range(5):
        talk.user(10)
        talk.model(12)
    newest = talk.user(5)
    plan = talk.request()
    assert plan.epoch == WINDOW_FULL
    assert plan.slots[0].anchor == FRONT
    assert plan.changed == 0
    assert plan.tokens == 5 + 22 + NOTICE_TOKENS
    assert talk.form(plan, newest) is Form.WHOLE


def test_what_is_new_is_appended_and_is_the_first_slot_that_changed() -> None:
    talk = Talk(room=100)
    talk.user(10)
    known = len(talk.items)
    talk.model(10)
    assert talk.request(known).changed == 1


def test_the_results_of_a_long_turn_become_stubs_oldest_first() -> None:
    talk = Talk(room=100)
    prompt = talk.user(5)
    results = []
    for name in "abcd":
        call = talk.call(name)
        results.append(talk.result(name, 30))
    plan = talk.request()
    assert plan.epoch == WINDOW_FULL
    assert [talk.form(plan, one) for one in results] == [*[Form.STUB] * 3, Form.WHOLE]
    assert talk.form(plan, prompt) is talk.form(plan, call) is Form.WHOLE
    assert not any(slot.anchor for slot in plan.slots), "no turn has left, and no notice says so"


def test_a_result_that_is_shorter_than_its_stub_stays() -> None:
    talk = Talk(room=40)
    talk.user(5)
    talk.call("a")
    short = talk.result("a", STUB_TOKENS)
    talk.call("b")
    long = talk.result("b", 30)
    talk.call("c")
    talk.result("c", 5)
    plan = talk.request()
    assert talk.form(plan, short) is Form.WHOLE
    assert talk.form(plan, long) is Form.STUB


def test_a_result_leaves_with_its_call_though_it_stands_in_the_next_turn() -> None:
    talk = Talk(room=50)
    talk.user(30)
    talk.call("a")
    result = talk.result("a", 10, opens=True)
    newest = talk.user(20)
    plan = talk.request()
    assert talk.form(plan, result) is Form.ABSENT
    assert talk.form(plan, newest) is Form.WHOLE


def test_a_result_is_that_of_the_call_before_it_though_ids_come_again() -> None:
    talk = Talk(room=100)
    for _ in range(5):
        talk.user(10)
        talk.call("call_0")
        newest = talk.result("call_0", 5)
        talk.model(5)
    talk.user(5)
    plan = talk.request()
    assert plan.epoch
    assert talk.form(plan, newest) is Form.WHOLE
    check(talk, plan, WHOLE_CONVERSATION)


@pytest.mark.parametrize("is_apart", [True, False], ids=["beside", "within"])
def test_what_was_not_seen_stays_with_its_turn_where_somebody_types_in_the_middle(
    is_apart: bool,
) -> None:
    talk = Talk(room=100)
    prompt = talk.user(5)
    results = []
    for name in "abcd":
        talk.call(name)
        results.append(talk.result(name, 30, opens=name == "d" and not is_apart))
    typed = talk.user(4)
    plan = talk.request()
    forms = [talk.form(plan, one) for one in (prompt, *results, typed)]
    assert forms == [Form.WHOLE, *[Form.STUB] * 3, Form.WHOLE, Form.WHOLE]
    assert plan.fits


def test_what_was_not_seen_leaves_only_where_nothing_else_fits() -> None:
    talk = Talk(room=50)
    talk.user(45)
    talk.call("a")
    result = talk.result("a", 20, opens=True)
    newest = talk.user(20)
    plan = talk.request()
    assert talk.form(plan, result) is Form.ABSENT
    assert talk.form(plan, newest) is Form.WHOLE
    assert plan.fits


def test_no_request_begins_with_a_bound_turn_out_of_which_a_result_would_be_cut() -> None:
    talk = Talk(room=100)
    talk.user(60)
    talk.call("a")
    result = talk.result("a", 10, opens=True)
    talk.user(5)
    talk.model(2, binds=True)
    talk.call("b")
    talk.result("b", 40)
    plan = talk.request()
    assert talk.form(plan, result) is Form.WHOLE
    assert (plan.epoch, plan.fits) == ("", False)


def test_a_result_of_which_the_memory_has_no_text_is_made_no_stub() -> None:
    talk = Talk(room=100)
    talk.user(5)
    for name in "abcd":
        talk.call(name)
        talk.result(name, 30)
    picture = talk.items[2]
    talk.items[2] = replace(picture, is_text=False)
    assert talk.form(talk.request(), picture) is Form.WHOLE


def test_where_calls_outgrow_the_window_epochs_stay_rare() -> None:
    talk = Talk(room=200)
    talk.user(5)
    epochs = 0
    for number in range(60):
        talk.call(f"c{number}", 10)
        talk.result(f"c{number}", 8)
        epochs += bool(talk.request().epoch)
    assert not talk.request().fits
    assert epochs <= 8


def test_what_the_memory_has_not_got_never_leaves() -> None:
    talk = Talk(room=50)
    talk.user(30)
    talk.items[-1] = replace(talk.items[-1], kept=False)
    talk.model(10)
    talk.user(30)
    plan = talk.request()
    assert (plan.epoch, plan.fits) == ("", False)


def test_a_turn_with_bound_thinking_stays_as_it_is_and_those_before_leave_unsaid() -> None:
    talk = Talk(room=100)
    talk.user(40)
    talk.model(20)
    prompt = talk.user(5)
    talk.call("a")
    result = talk.result("a", 30)
    talk.model(3, binds=True)
    talk.call("b")
    talk.result("b", 20)
    plan = talk.request()
    assert plan.epoch == WINDOW_FULL
    assert talk.form(plan, result) is Form.WHOLE
    assert next(slot for slot in plan.slots if slot.form is not Form.ABSENT).id == prompt.id


# --- of any conversation --------------------------------------------------------------------------

STEPS = st.lists(
    st.tuples(
        st.sampled_from(
            ["user", "model", "call", "again", "calls", "bound", "queued", "retry", "rewind"]
        ),
        st.integers(1, 60),
    ),
    max_size=40,
)


@given(room=st.integers(30, 200), steps=STEPS)
def test_of_any_conversation(room: int, steps: list[tuple[str, int]]) -> None:
    talk = Talk(room)
    talk.user(5)
    known, before = 0, tuple[Slot, ...]()
    for number, (what, tokens) in enumerate(steps):
        add(talk, what, tokens, number)
        if what == "rewind":
            known, before = 0, tuple[Slot, ...]()
            continue
        window = talk.windows.at([item.id for item in reversed(talk.items)])
        plan = talk.request(known)
        check(talk, plan, window)
        if not plan.epoch:
            assert plan.slots[: len(before)] == before, "what was sent is sent again"
            assert plan.changed >= len(before)
        assert talk.request(len(talk.items)).slots == plan.slots, "the same node, the same slots"
        known, before = len(talk.items), plan.slots


def add(talk: Talk, what: str, tokens: int, number: int) -> None:
    match what:
        case "user":
            talk.user(tokens)
        case "model":
            talk.model(tokens)
        case "call":
            talk.call(f"c{number}")
            talk.result(f"c{number}", tokens)
        case "again":
            talk.call("call_0")
            talk.result("call_0", tokens)
        case "calls":
            talk.call(f"a{number}")
            talk.call(f"b{number}")
            talk.result(f"b{number}", tokens)
            talk.result(f"a{number}", tokens)
        case "bound":
            talk.model(1, binds=True)
            talk.call(f"t{number}")
            talk.result(f"t{number}", tokens)
        case "queued":
            talk.call(f"q{number}")
            talk.result(f"q{number}", tokens, opens=True)
            talk.user(tokens)
        case "rewind":
            opens = [at for at, item in enumerate(talk.items) if item.opens]
            del talk.items[opens[-1] :]
            talk.user(tokens)


def check(talk: Talk, plan: Plan[Offer], before: Window) -> None:
    items, forms = talk.items, {slot.id: slot.form for slot in plan.slots if not slot.anchor}
    assert list(forms) == [item.id for item in items], "every item has a slot, in its order"
    calls: dict[str, Item] = {}
    for item in items:
        if item.kind is ItemKind.CALL:
            calls[item.call] = item
        elif item.kind is ItemKind.RESULT:
            pair = {forms[one.id] is Form.ABSENT for one in (calls.pop(item.call), item)}
            assert len(pair) == 1, "a call and its result are there or are not"
    shown = [at for at, item in enumerate(items) if forms[item.id] is not Form.ABSENT]
    assert all(
        forms[items[at].id] is not Form.ABSENT or items[at].kind is ItemKind.RESULT
        for at in range(shown[0], len(items))
    ), "turns leave from the front"
    assert items[shown[0]].opens or shown[0] == 0
    opens = max(at for at, item in enumerate(items) if item.opens)
    assert forms[items[opens].id] is Form.WHOLE, "the newest message is whole"
    seen = max((at for at, item in enumerate(items) if item.is_models), default=0)
    for at in range(max(seen, opens), len(items)):
        assert forms[items[at].id] is Form.WHOLE, "what the model has not seen is whole"
    for at, item in enumerate(items):
        if item.binds:
            start = max(n for n in range(at + 1) if items[n].opens)
            turn = [forms[one.id] for one in items[start:at]]
            was = {slot.id: slot.form for slot in lay_out(before, items, LAW)}
            changed = [one for one in items[start:at] if forms[one.id] != was[one.id]]
            assert not changed or set(turn) == {Form.ABSENT} or _left_before(items, changed)
    if not plan.fits:
        again = talk.request(len(items))
        assert not again.epoch, "an epoch that would change nothing does not begin"


def _left_before(items: Sequence[Item], changed: Sequence[Item]) -> bool:
    """A message that opens a turn lost results of the turn before: that one left whole."""
    return all(item.kind is ItemKind.RESULT and item.opens for item in changed)


# --- schedules and choices -----------------------------------------------------------------------


@dataclass
class Listed:
    """A choice of these windows, which remembers what it was told of each."""

    windows: list[Window]
    told: list[int] = field(default_factory=list)

    def offers(self, window: Window, items: Sequence[Item], reason: str) -> Offers[Offer]:
        for one in self.windows:
            self.told.append((yield Offer(window=one)))


def without(*leave: str) -> Window:
    return Window(epoch="n9", forms=dict.fromkeys(leave, Form.ABSENT))


@pytest.mark.parametrize(
    ("room", "tokens", "told"),
    [(60, 55, [75]), (40, 35, [75, 55]), (20, 75, [75, 55, 35])],
    ids=["the second", "the third", "none, and so the first"],
)
def test_of_what_might_leave_the_first_is_taken_that_fits(
    room: int, tokens: int, told: list[int]
) -> None:
    talk = Talk(room)
    items = [talk.user(20) for _ in range(4)] + [talk.user(15)]
    ids = [item.id for item in items]
    choice = Listed([without(*ids[:count]) for count in (1, 2, 3)])
    _, plan = step(
        WHOLE_CONVERSATION,
        items,
        law=LAW,
        renderer=talk.scales,
        schedule=WhenFull(room_tokens=room),
        choice=choice,
    )
    assert plan.epoch == WINDOW_FULL
    assert plan.tokens == tokens
    assert plan.fits == (tokens <= room)
    assert choice.told == told


def test_an_epoch_that_is_due_begins_though_the_request_would_fit() -> None:
    class Due:
        room_tokens = 1_000.0

        def due(self, tokens: int) -> str:
            return "forgotten"

    talk = Talk(1_000)
    items = [talk.user(20), talk.user(10)]
    after, plan = step(
        WHOLE_CONVERSATION,
        items,
        law=LAW,
        renderer=talk.scales,
        schedule=Due(),
        choice=Listed([without(items[0].id)]),
    )
    assert (plan.epoch, plan.tokens) == ("forgotten", 10)
    assert after == without(items[0].id)


# --- the tree of histories ------------------------------------------------------------------------


def test_each_branch_has_the_window_of_its_own_epochs() -> None:
    talk = Talk(room=100)
    for _ in range(4):
        talk.user(10)
        talk.model(10)
    trunk = list(talk.items)
    talk.user(30)
    assert talk.request().epoch
    branch = talk.items
    talk.items = [*trunk]
    talk.user(5)
    plan = talk.request()
    assert not plan.epoch
    assert all(slot.form is Form.WHOLE for slot in plan.slots)
    talk.items = branch
    assert talk.request().slots[0].anchor == FRONT


def test_a_client_that_takes_back_what_stood_first_is_shown_all_that_it_sends() -> None:
    talk = Talk(room=100)
    talk.user(10)
    window = Window(epoch="gone", first="gone", front=("notice",))
    slots = lay_out(window, talk.items, LAW)
    assert slots[-1] == Slot(talk.items[0].id)
    assert lay_out(WHOLE_CONVERSATION, talk.items, LAW) == slots[1:]


# --- controls -------------------------------------------------------------------------------------


class NoPairs(Law):
    def orphans(self, items: Sequence[Item], first: int) -> list[int]:
        return []


class Unseen(Law):
    def may_be(self, form: Form, items: Sequence[Item], first: int) -> list[int]:
        results = range(first, len(items))
        return [at for at in results if items[at].kind is ItemKind.RESULT and form is Form.STUB]


class Unbound(Law):
    def _bound(self, items: Sequence[Item]) -> list[int]:
        return [-1] * len(items)


@pytest.mark.parametrize(
    ("law", "steps"),
    [
        (NoPairs(), [("model", 40), ("queued", 4), ("model", 2), ("user", 7)]),
        (Unseen(), [("call", 60)]),
        (Unbound(), [("call", 40), ("bound", 40)]),
    ],
    ids=["pairs", "what was not seen", "bound thinking"],
)
def test_control_a_law_that_knows_less_is_caught(law: Law, steps: list[tuple[str, int]]) -> None:
    talk = Talk(room=60, law=law)
    talk.user(5)
    with pytest.raises(AssertionError):
        _run(talk, steps)


def _run(talk: Talk, steps: list[tuple[str, int]]) -> None:
    for number, (what, tokens) in enumerate(steps):
        add(talk, what, tokens, number)
        window = talk.windows.at([item.id for item in reversed(talk.items)])
        check(talk, talk.request(), window)
