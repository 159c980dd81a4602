"""The north star: a long conversation whose decisions are asked for again, much later.

Requirement 000's acceptance test in our verbs. Five topics are decided, each in one of the ways in
which people decide; a hundred turns and more of other talk follow; then "as we decided earlier …".
A run is a seed: it chooses topics, values, sentences and their order. It succeeds if every answer
is right and cites what resolves to where the decision was made, no turn took more than two faults,
nothing thrashed, and no request exceeded the window. The engine sees the requests and nothing else.
"""

from __future__ import annotations

import random
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from statistics import mean
from typing import Any, Final

from pagefault.engine.scripted import ScriptedEngine
from pagefault.lab import northstar_templates as templates
from pagefault.model.defaults import THRASH_WINDOW_TURNS
from pagefault.model.errors import NoSuchPage, RecordGone
from pagefault.model.events import Faulted
from pagefault.model.ids import PageId
from pagefault.model.page import Page
from pagefault.model.request import Request
from pagefault.pack.count import O200k, TokenCounter
from pagefault.service.bootstrap import open_memory
from pagefault.service.session import Session
from pagefault.service.turn.drive import Answer

TOPICS: Final = 5
DECIDING_TURNS: Final = 50  # the first turns, in which all is decided
OTHER_TURNS: Final = 110  # of talk about something else
RECALLS: Final = 10  # each topic is asked for twice
TURNS_MIN: Final = 200
FAULTS_MAX: Final = 2  # a turn
THRASH_MAX: Final = 0.5
RATE_MIN: Final = 0.95  # of runs
WINDOWS: Final = (32_000, 4_000)

Progress = Callable[[str, int, int], None]


@dataclass(slots=True)
class Topic:
    """What is to be decided, and, once it was, the pages where that was said."""

    subject: str
    value: str
    other: str
    sources: set[PageId] = field(default_factory=set)


@dataclass(slots=True, kw_only=True)
class Run:
    """What one run saw. `wrong` says of each failure what it was."""

    seed: int
    turns: int = 0
    recalls: int = 0
    recalls_right: int = 0
    decisions_claimed: int = 0
    faults_max: int = 0
    faults: int = 0
    thrash_index: float = 0.0
    requests: int = 0
    requests_over_window: int = 0
    request_tokens_max: int = 0
    paged_in_tokens: list[int] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)

    @property
    def succeeded(self) -> bool:
        return (
            self.turns >= TURNS_MIN
            and self.recalls_right == self.recalls > 0
            and self.faults_max <= FAULTS_MAX
            and self.thrash_index < THRASH_MAX
            and self.requests_over_window == 0
        )


async def bench_northstar(
    *,
    seeds: int,
    windows: Sequence[int] = WINDOWS,
    claims: str = "rules",
    progress: Progress = lambda label, done, total: None,
) -> dict[str, Any]:
    """`{"variants": {name: figures}}`: for each window the share of runs that succeeded."""
    counter = O200k()
    variants: dict[str, Any] = {}
    for window in windows:
        name = f"first_form_{window}"
        runs = []
        for seed in range(seeds):
            runs.append(await run_script(seed, window=window, claims=claims, counter=counter))
            progress(name, seed + 1, seeds)
        variants[name] = figures(runs, window)
    return {"seeds": seeds, "claims": claims, "variants": variants}


def figures(runs: Sequence[Run], window: int) -> dict[str, Any]:
    """One variant's line: shares are 0..1, `_max` is the worst of all runs."""
    recalls = sum(run.recalls for run in runs)
    rate = sum(run.succeeded for run in runs) / len(runs) if runs else 0.0
    return {
        "rate": round(rate, 4),
        "reached": rate >= RATE_MIN,
        "window_tokens": window,
        "runs": len(runs),
        "turns_min": min((run.turns for run in runs), default=0),
        "recalls": recalls,
        "recall_rate": round(sum(run.recalls_right for run in runs) / recalls, 4) if recalls else 0,
        "decisions_claimed_frac": round(
            mean(run.decisions_claimed / TOPICS for run in runs) if runs else 0.0, 4
        ),
        "faults": sum(run.faults for run in runs),
        "faults_max": max((run.faults_max for run in runs), default=0),
        "thrash_index_max": max((run.thrash_index for run in runs), default=0.0),
        "requests": sum(run.requests for run in runs),
        "requests_over_window": sum(run.requests_over_window for run in runs),
        "request_tokens_max": max((run.request_tokens_max for run in runs), default=0),
        "paged_in_tokens_per_recall": round(
            mean(tokens for run in runs for tokens in run.paged_in_tokens) if recalls else 0.0, 1
        ),
        "failures": [f"seed {run.seed}: {what}" for run in runs for what in run.wrong][:20],
    }


async def run_script(
    seed: int, *, window: int, claims: str = "rules", counter: TokenCounter | None = None
) -> Run:
    """One conversation in a memory of its own; the same seed gives the same conversation."""
    with tempfile.TemporaryDirectory(prefix="pagefault-") as folder:
        async with open_memory(
            folder, sync="os", seed=seed, claims=claims, counter=counter or O200k(), window=window
        ) as memory:
            session = await memory.session(f"north star {seed}", system=SYSTEM)
            script = _Script(seed, session)
            await script.play()
            return script.run


SYSTEM: Final = "You are a project planning assistant."


class _Script:
    def __init__(self, seed: int, session: Session) -> None:
        self._chance = random.Random(seed)
        self._session = session
        self._engine = ScriptedEngine()
        self._numbers = 0
        self.run = Run(seed=seed)

    async def play(self) -> None:
        chance = self._chance
        topics = []
        for subject in chance.sample(sorted(templates.TOPICS), TOPICS):
            value, other = chance.sample(templates.TOPICS[subject], 2)
            topics.append(Topic(subject, value, other))
        for number, topic in enumerate(topics, 1):
            await self._decide(topic)
            while self.run.turns < number * DECIDING_TURNS // TOPICS:
                await self._chat()
        for _ in range(OTHER_TURNS):
            await self._chat()
        asked = [*chance.sample(topics, TOPICS), *chance.sample(topics, TOPICS)]
        for topic in asked[:RECALLS]:
            await self._recall(topic)
            for _ in range(chance.randint(2, 4)):
                await self._chat()
        while self.run.turns < TURNS_MIN:
            await self._chat()
        claimed = {
            source for one in await self._session.claims() for source in _pages(one.evidence)
        }
        self.run.decisions_claimed = sum(bool(topic.sources & claimed) for topic in topics)
        self.run.thrash_index = await thrash_index(self._session, self.run.turns)

    async def _decide(self, topic: Topic) -> None:
        """Decide a topic: in one sentence, by agreeing to a proposal, or out of two."""
        chance = self._chance
        match chance.choice(("decide", "agree", "ask")):
            case "decide":
                await self._user(f"Let's talk about the {topic.subject}.")
                await self._assistant(f"There is {topic.other}, and there is {topic.value}.")
                said = _fill(chance.choice(templates.DECIDE), topic)
                topic.sources.add(await self._user(said))
                await self._assistant("Noted.")
            case "agree":
                shown, yes = chance.choice(templates.AGREE)
                await self._user(f"For the {topic.subject}, what should we use?")
                topic.sources.add(await self._assistant(_fill(shown, topic)))
                topic.sources.add(await self._user(_fill(yes, topic)))
                await self._assistant("Noted.")
            case _:
                question, options, decision = chance.choice(templates.ASK)
                await self._user(_fill(question, topic))
                await self._assistant(_fill(options, topic))
                topic.sources.add(await self._user(_fill(decision, topic)))
                await self._assistant("Noted.")

    async def _chat(self) -> None:
        self._numbers += 1
        question, answer = self._chance.choice(templates.CHATTER)
        await self._user(question.format(n=self._numbers))
        await self._assistant(
            " ".join([answer.format(n=self._numbers)] * self._chance.randint(1, 6))
        )

    async def _recall(self, topic: Topic) -> None:
        question = _fill(self._chance.choice(templates.RECALL), topic)
        await self._session.user(question)
        self.run.turns += 1
        answer = await self._session.run(self._engine)
        self._look(await self._session.request())
        self.run.recalls += 1
        self.run.faults += answer.faults
        self.run.faults_max = max(self.run.faults_max, answer.faults)
        self.run.paged_in_tokens.append(answer.paged_in_tokens)
        wrong = await self._judge(answer, topic)
        if wrong:
            self.run.wrong.append(f"{wrong}: {question!r} got {answer.text!r}")
        else:
            self.run.recalls_right += 1

    async def _judge(self, answer: Answer, topic: Topic) -> str:
        """Why an answer does not count; empty if it does."""
        told = answer.text.casefold()
        if topic.value.casefold() not in told:
            return "not the decision"
        if answer.citations_invalid:
            return "cites what it was not shown"
        for page_id in answer.citations:
            if await self._resolves(page_id, topic):
                return ""
        return "no citation resolves to where it was decided"

    async def _resolves(self, page_id: PageId, topic: Topic) -> bool:
        """Whether a page is where a topic was decided, or rests on bytes there that say so."""
        if page_id in topic.sources:
            return True
        try:
            page = await self._session.page(page_id)
            spans = page.derived.evidence if page.derived else ()
            quotes = [
                _quote(await self._session.page(span.page_id), span.start, span.end)
                for span in spans
                if span.page_id in topic.sources
            ]
        except (NoSuchPage, RecordGone):
            return False
        return any(topic.value.casefold() in quote.casefold() for quote in quotes)

    async def _user(self, text: str) -> PageId:
        page_id = await self._session.user(text)
        self.run.turns += 1
        self._look(await self._session.request())
        return page_id

    async def _assistant(self, text: str) -> PageId:
        return await self._session.assistant(text)

    def _look(self, request: Request) -> None:
        self.run.requests += 1
        self.run.request_tokens_max = max(self.run.request_tokens_max, request.tokens)
        if request.tokens * request.factor > request.window_tokens:
            self.run.requests_over_window += 1


async def thrash_index(session: Session, turns: int) -> float:
    """Faults on a page again within so many turns, for each of those turns: the worst stretch.

    Requirement 000, "Success Metrics"; a page stands for its topic.
    """
    served = [
        (event.turn, event.body.page_id)
        for event in await session.faults()
        if isinstance(event.body, Faulted) and not event.body.refusal
    ]
    worst = 0
    for first in range(turns):
        stretch = [page for turn, page in served if first <= turn < first + THRASH_WINDOW_TURNS]
        worst = max(worst, len(stretch) - len(set(stretch)))
    return worst / THRASH_WINDOW_TURNS


def _fill(template: str, topic: Topic) -> str:
    return template.format(s=topic.subject, v=topic.value, w=topic.other)


def _quote(page: Page, start: int, end: int) -> str:
    return page.text.encode()[start:end].decode(errors="replace")


def _pages(evidence: Sequence[Any]) -> set[PageId]:
    return {span.page_id for span in evidence}
