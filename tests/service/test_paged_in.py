"""What one turn may page in: recall and faults together, counted as it stands in the window."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

import pagefault
from pagefault import Limits, Request, Session
from pagefault.model.kinds import Role
from pagefault.pack.count import O200k, message_tokens
from pagefault.service.window.state import SessionState
from tests.adopted import copied
from tests.service.memories import check_request, fault, faulted, shown, text_of

COUNTER = O200k()
SPEAKER = "Professor Emerentia Katharina von Hohenstaufen"  # labels cost more than any guess
ASKED = "What did we say about the harbour, the ferry and the captain?"
BOUNDS = (120, 300, 500, 1_000)


async def _talked(session: Session, turns: int = 60) -> None:
    """A conversation much longer than the window, in which much bears on the question."""
    for number in range(turns):
        about = ("harbour", "ferry", "captain", "weather")[number % 4]
        await session.user(
            f"Point {number}: the {about} of pier {number} needs {number} more ropes by then.",
            speaker=SPEAKER,
            occurred_at="2026-03-01T09:00:00",
        )
        await session.assistant(f"Noted for pier {number}, ropes are ordered.")
    await session.request()


@pytest.fixture(scope="module")
def talked(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """By mode, a memory in which that conversation was held."""

    async def talk(root: Path, mode: str) -> Path:
        async with pagefault.open(root, sync="os", window=4_000, mode=mode) as memory:
            await _talked(await memory.session("s"))
        return root

    folder = tmp_path_factory.mktemp("talked")
    return {mode: asyncio.run(talk(folder / mode, mode)) for mode in ("active", "passive")}


def _context_tokens(request: Request) -> int:
    """What the block of recalled lines takes that comes with the newest message, by its bytes."""
    newest = request.messages[-1].content
    block = newest[: newest.rfind("</VM:CONTEXT ")] if "</VM:CONTEXT " in newest else ""
    return COUNTER.count(block)


def _calls_tokens(request: Request) -> int:
    """What the calls of this turn and their results take, by their bytes."""
    last = max(n for n, message in enumerate(request.messages) if message.role is Role.USER)
    return sum(message_tokens(COUNTER, message) for message in request.messages[last + 1 :])


async def _a_turn_stays_within(root: Path, mode: str, bound: int) -> int:
    """The tokens that it paged in, after every fault that a model could ask for."""
    limits = Limits(paged_in_tokens_max=bound)
    async with pagefault.open(root, sync="os", limits=limits) as memory:
        session = await memory.session("s")
        assert (await session.status()).mode == mode
        await session.user(ASKED)
        request = await session.request()
        recalled = _context_tokens(request)
        if mode != "passive":
            for number in range(1, 5):
                call = fault(f"msg_{4 * number - 3}", call_id=f"c{number}")
                told = json.loads(await session.call(call))
                if "error" in told:
                    break
            request = await session.request()
        check_request(request, ASKED)
        assert recalled + _calls_tokens(request) - _refusals(request) <= bound
        assert session.paged_in_tokens <= bound
        return session.paged_in_tokens


def _refusals(request: Request) -> int:
    """What refused calls take: they bring no page."""
    refused = [m for m in request.messages if m.role is Role.TOOL and '"error"' in m.content]
    ids = {m.call_id for m in refused}
    made = [m for m in request.messages if any(c.call_id in ids for c in m.tool_calls)]
    return sum(message_tokens(COUNTER, message) for message in (*refused, *made))


@pytest.mark.parametrize("mode", ["passive", "active"])
async def test_a_turn_pages_in_no_more_than_its_bound(
    tmp_path: Path, talked: dict[str, Path], mode: str
) -> None:
    roots = [copied(talked[mode], tmp_path / f"{bound}") for bound in BOUNDS]
    took = [await _a_turn_stays_within(*one) for one in zip(roots, [mode] * 4, BOUNDS, strict=True)]
    assert took == sorted(took)
    assert took[-1] > 300, "the bound is used, not avoided"


async def test_control_lines_weighed_by_a_guess_exceed_the_bound(
    tmp_path: Path, talked: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pagefault.service.turn.auto_recall.render.line", lambda pages: "")
    monkeypatch.setattr(
        "pagefault.service.turn.auto_recall.TurnRecall._tokens_with", lambda self, pages: 0
    )
    with pytest.raises(AssertionError):
        await test_a_turn_pages_in_no_more_than_its_bound(tmp_path, talked, "passive")


async def test_what_the_rules_say_of_faults_is_what_is_granted(
    tmp_path: Path, talked: dict[str, Path]
) -> None:
    limits = Limits(paged_in_tokens_max=1_000)
    root = copied(talked["active"], tmp_path / "m")
    async with pagefault.open(root, sync="os", limits=limits) as memory:
        session = await memory.session("s")
        await session.user(ASKED)
        request = await session.request()
        assert "at most 2 pages of together at most 120 tokens" in text_of(request)
        assert "take at most 1000 tokens together" in text_of(request)
        here = session.visible()
        away = [f"msg_{n}" for n in range(1, 40, 2) if f"msg_{n}" not in here]
        for number, page_id in enumerate(away[:2]):
            served = await faulted(session, fault(page_id, call_id=f"c{number}"))
            assert served["page"]["page_id"] == page_id
        refused = await faulted(session, fault(away[2], call_id="c9"))
        assert refused["error"]["code"] == "fault_limit"


async def test_where_a_bound_has_no_room_for_a_fault_none_is_offered(
    tmp_path: Path, talked: dict[str, Path]
) -> None:
    limits = Limits(paged_in_tokens_max=200)
    root = copied(talked["active"], tmp_path / "m")
    async with pagefault.open(root, sync="os", limits=limits) as memory:
        session = await memory.session("s")
        await session.user(ASKED)
        assert "at most 0 pages of together at most 0 tokens" in text_of(await session.request())
        here = session.visible()
        away = next(f"msg_{n}" for n in range(1, 40) if f"msg_{n}" not in here)
        refused = await faulted(session, fault(away))
        assert refused["error"]["code"] == "fault_limit"


async def test_without_a_bound_of_its_own_recall_keeps_to_its_tokens(
    tmp_path: Path, talked: dict[str, Path]
) -> None:
    limits = Limits(recall_tokens_max=300)
    root = copied(talked["active"], tmp_path / "m")
    async with pagefault.open(root, sync="os", limits=limits) as memory:
        session = await memory.session("s")
        await session.user(ASKED)
        assert 150 < _context_tokens(await session.request()) <= 300


async def _asked_after_a_pause(folder: Path) -> bool:
    """Whether the window that showed an old fact shows it, still or again, when it is asked for,
    though an epoch began with the question, as nobody knows what the provider still has.
    """
    async with pagefault.open(folder, sync="os", window=4_000, mode="passive") as memory:
        session = await memory.session("s")
        fact = await session.user("The captain of the ferry is called Heronimus.")
        await _talked(session, 30)
        before = set(session.resident())
        assert fact in before
    async with pagefault.open(folder, sync="os") as memory:
        session = await memory.session("s")
        await session.user("How is the captain of the ferry called?")
        request = await session.request()
        assert (await session.ledger())[-1].epoch
        assert len(before - set(shown(request))) > 10, "the epoch took others"
        return fact in shown(request)


async def test_an_epoch_leaves_what_bears_on_the_question_that_it_comes_with(
    tmp_path: Path,
) -> None:
    assert await _asked_after_a_pause(tmp_path)


async def test_control_an_epoch_that_does_not_know_the_question_takes_the_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    unknown = property(lambda self: frozenset(), lambda self, value: None)
    monkeypatch.setattr(SessionState, "called_for", unknown, raising=False)
    assert not await _asked_after_a_pause(tmp_path)


async def test_a_search_finds_by_a_common_word_what_a_turn_does_not_bring_in(
    tmp_path: Path,
) -> None:
    """Beside a word that nobody ever said, a word of most pages tells a turn too little."""
    async with pagefault.open(tmp_path, sync="os", window=2_000, mode="passive") as memory:
        session = await memory.session("s")
        for number in range(30):
            await session.user(f"The mast was painted in week {number}, and it stands.")
            await session.assistant(f"Week {number} is written down.")
        await session.request()
        asked = "What did we say about the mast and the zorblax?"
        assert len((await session.recall(asked)).hits) == 5
        await session.user(asked)
        assert _context_tokens(await session.request()) == 0


async def test_control_a_word_that_was_said_brings_in_what_has_it(tmp_path: Path) -> None:
    async with pagefault.open(tmp_path, sync="os", window=2_000, mode="passive") as memory:
        session = await memory.session("s")
        await session.user("The zorblax is in the attic.")
        for number in range(30):
            await session.user(f"The mast was painted in week {number}, and it stands.")
            await session.assistant(f"Week {number} is written down.")
        await session.request()
        await session.user("What did we say about the mast and the zorblax?")
        assert "in the attic" in text_of(await session.request())
