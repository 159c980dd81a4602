"""Page traces: the reference string of a window, recorded from a conversation.

A conversation is played through a real session under the stable layout, and its questions are asked
at the end, one after the other. A page is referenced when it is said, when a turn's message calls
for it (whether or not the window has it), when the model faults it, and when an answer cites it.
Merely showing a page is no reference. So nothing here depends on which pages were resident, except
that a model does not fault a page it sees.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from pagefault.engine.scripted import ScriptedEngine
from pagefault.lab.layouts import recallable
from pagefault.lab.transcripts import Conversation, Line
from pagefault.lab.turns import Call, ConversationClock, Recorder
from pagefault.model.ids import PageId, TurnNo
from pagefault.model.kinds import DERIVED_TYPES, Actor, Role
from pagefault.model.page import Page
from pagefault.model.residency import tier_of
from pagefault.pack.render import LABEL_TOKENS
from pagefault.paging.questions import Resident
from pagefault.policy.locality_lru import REFETCH
from pagefault.service.bootstrap import open_memory
from pagefault.service.config import MEMORY
from pagefault.service.inspection.timetravel import Movement

_FAULTED: Final = ("faulted", "mapped_already")


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """A turn's references: before its request, by the request, and after it."""

    said: tuple[PageId, ...]
    called_for: tuple[PageId, ...]
    after: tuple[PageId, ...]  # faulted, cited, and the answer itself
    faulted: frozenset[PageId] = frozenset()
    idle_s: float = 0.0  # since the previous request
    epoch: bool = False  # the session began one with this request

    @property
    def references(self) -> tuple[PageId, ...]:
        return self.said + self.called_for + self.after


@dataclass(frozen=True, slots=True, kw_only=True)
class PageTrace:
    """Rules and tools take `head_tokens` of the window, pages the rest; an epoch leaves pages of
    `target_tokens`.
    """

    name: str
    window_tokens: int
    head_tokens: int
    target_tokens: int
    last_turns: int
    steps: tuple[Step, ...]
    pages: dict[PageId, Resident]

    @property
    def room_tokens(self) -> int:
        return self.window_tokens - self.head_tokens

    @property
    def references(self) -> list[PageId]:
        return [page_id for step in self.steps for page_id in step.references]


async def record(
    conversation: Conversation,
    *,
    window: int,
    questions_max: int | None = None,
    progress: Callable[[str, int, int], None] = lambda label, done, total: None,
) -> PageTrace:
    """Play a conversation, ask its questions, and record which pages were wanted when."""
    clock = ConversationClock()
    clock.begin(conversation)
    asked = conversation.questions[:questions_max]
    total = len(conversation.lines) + len(asked)
    async with open_memory(
        MEMORY, clock=clock, cache_s=clock.monotonic_s, window=window, seed=0
    ) as memory:
        session = await memory.session("recorded", window=window, system=conversation.system)
        recorder = Recorder(session, memory.limits, clock)
        for number, line in enumerate(conversation.lines, 1):
            await recorder.say(line)
            progress(f"recording {conversation.name} at {window}", number, total)
        for number, question in enumerate(asked, len(conversation.lines) + 1):
            await recorder.say(Line(role=Role.USER, text=question.text))
            await session.run(ScriptedEngine())
            progress(f"recording {conversation.name} at {window}", number, total)
        steps = _steps(await session.history(), recorder)
        head = (await session.status()).budget.reserved
        wanted = dict.fromkeys(page_id for step in steps for page_id in step.references)
        return PageTrace(
            name=conversation.name,
            window_tokens=window,
            head_tokens=head,
            target_tokens=int((window - head) * memory.limits.epoch_target_share),
            last_turns=memory.limits.last_turns_kept,
            steps=steps,
            pages={page_id: _resident(await session.page(page_id)) for page_id in wanted},
        )


def _steps(movements: Sequence[Movement], recorder: Recorder) -> tuple[Step, ...]:
    by_turn: defaultdict[int, list[Movement]] = defaultdict(list)
    for movement in movements:
        by_turn[movement.turn].append(movement)
    calls = {call.new[-1].row.turn: call for call in recorder.calls}
    steps = []
    for turn, moved in sorted(by_turn.items()):
        call = calls.get(TurnNo(turn))
        made = [m for m in moved if m.what == "created" and m.by not in DERIVED_TYPES]
        faulted = [m.page_id for m in moved if m.what in _FAULTED]
        cited = [m.page_id for m in moved if m.what == "cited"]
        answers = [m.page_id for m in made if m.actor is Actor.MODEL]
        steps.append(
            Step(
                said=tuple(m.page_id for m in made if m.actor is not Actor.MODEL),
                called_for=_called_for(call) if call else (),
                after=(*faulted, *answers, *cited),
                faulted=frozenset(faulted),
                idle_s=call.idle_s if call else 0.0,
                epoch=any(m.by.startswith("epoch ") for m in moved),
            )
        )
    return tuple(steps)


def _called_for(call: Call) -> tuple[PageId, ...]:
    """The pages that the message calls for and that fit, whether or not they are shown already."""
    return tuple(page.page_id for page in recallable(call, ()))


def _resident(page: Page) -> Resident:
    """The page as a session's policy sees it."""
    row = page.row
    return Resident(
        page_id=row.page_id,
        tokens=row.tokens + LABEL_TOKENS,
        kind=row.kind,
        modality=row.modality,
        importance=row.importance,
        about=page.about,
        refetch=REFETCH[tier_of(row)],
    )
