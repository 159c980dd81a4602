"""The north star: a long conversation whose decisions are asked about again, much later.

Requirement 000's acceptance test in our verbs. Five topics are decided, each in one of the ways in
which people decide; over a hundred turns of other talk follow; then "as we decided earlier …". A
run is a seed: it chooses topics, values, sentences and their order. It succeeds if every answer is
right and its citations resolve to the decision, no turn took more than two faults, nothing
thrashed, and no request exceeded the window. The engine sees only the requests.

Memory is responsible for what a request shows: `visible_frac`, the share of questions where the
answered request has the deciding words, or a claim that rests on them. What the scripted reader
makes of them is reported separately (`read_frac`): a model reads better than it, or worse.

There are two main phrasings: `script`, short sentences, and `talk`, natural speech, where half of
the topics are decided otherwise later, and a question may use another name than the decision.
"""

from __future__ import annotations

import random
import tempfile
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from statistics import mean
from typing import Any, Final

from pagefault.engine.embedding import Embedder
from pagefault.engine.scripted import Passage, ScriptedEngine, newer_of, passages_of
from pagefault.lab.phrasings import NAMES, SHIPPED, Phrasing
from pagefault.lab.replay import Watched
from pagefault.model.defaults import THRASH_WINDOW_TURNS
from pagefault.model.errors import NoSuchPage, RecordGone
from pagefault.model.events import Faulted
from pagefault.model.ids import PageId
from pagefault.model.page import Page
from pagefault.model.request import Request
from pagefault.pack.count import O200k, TokenCounter
from pagefault.service.bootstrap import open_memory
from pagefault.service.memory import Memory
from pagefault.service.session import Session
from pagefault.service.turn.drive import Answer

TOPICS: Final = 5
DECIDING_TURNS: Final = 50  # the first turns, with all decisions
OTHER_TURNS: Final = 110  # on other subjects
RECALLS: Final = 10  # each topic is asked about twice
TURNS_MIN: Final = 200
FAULTS_MAX: Final = 2  # per turn
THRASH_MAX: Final = 0.5
RATE_MIN: Final = 0.95  # of runs
VISIBLE_MIN: Final = 0.95  # of questions
CHANGED: Final = 0.5  # share of topics decided otherwise later, in phrasings with changes
WINDOWS: Final = (32_000, 4_000)

Progress = Callable[[str, int, int], None]


@dataclass(slots=True)
class Topic:
    """A topic to decide and, once decided, the pages that say so: the current ones, and those that
    a change of mind outdated, with the value they chose.
    """

    names: Sequence[str]
    value: str
    other: str
    sources: set[PageId] = field(default_factory=set)
    outdated: set[PageId] = field(default_factory=set)
    outdated_value: str = ""


@dataclass(slots=True, kw_only=True)
class Run:
    """The outcome of one run. `wrong` describes each failure."""

    seed: int
    turns: int = 0
    recalls: int = 0
    recalls_right: int = 0
    visible: int = 0  # questions whose source is in the answered request
    visible_at_once: int = 0  # the same for the turn's first request
    changed: int = 0  # questions on topics that were decided otherwise before
    outdated: int = 0  # of these, with only the old choice shown
    both: int = 0  # of these, with both shown
    both_marked: int = 0  # of these, with a mark of the newer one, or a claim that closes another
    both_told: int = 0  # of these, or with both shown as turns in their original order
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
    phrasings: Sequence[str] = NAMES,
    claims: str = "rules",
    embedder: Embedder | None = None,
    progress: Progress = lambda label, done, total: None,
) -> dict[str, Any]:
    """`{"variants": {name: figures}}`, by phrasing and window: what was shown and answered."""
    counter = O200k()
    variants: dict[str, Any] = {}
    for phrasing in phrasings:
        for window in windows:
            name = f"{phrasing}_{window}"
            runs = []
            for seed in range(seeds):
                runs.append(
                    await run_script(
                        seed,
                        window=window,
                        phrasing=phrasing,
                        claims=claims,
                        embedder=embedder,
                        counter=counter,
                    )
                )
                progress(name, seed + 1, seeds)
            variants[name] = figures(runs, window)
    return {"seeds": seeds, "claims": claims, "variants": variants}


def figures(runs: Sequence[Run], window: int) -> dict[str, Any]:
    """One variant's figures: shares are 0..1, `_max` is the worst of all runs."""
    recalls = sum(run.recalls for run in runs)
    rate = sum(run.succeeded for run in runs) / len(runs) if runs else 0.0
    visible = sum(run.visible for run in runs)
    changed = sum(run.changed for run in runs)
    both = sum(run.both for run in runs)
    paged_in = [tokens for run in runs for tokens in run.paged_in_tokens]
    return {
        "visible_frac": share(visible, recalls),
        "visible_reached": share(visible, recalls) >= VISIBLE_MIN,
        "visible_at_once_frac": share(sum(run.visible_at_once for run in runs), recalls),
        "read_frac": share(sum(run.recalls_right for run in runs), visible),
        "changed_recalls": changed,
        "outdated_alone_frac": share(sum(run.outdated for run in runs), changed),
        "both_shown_frac": share(both, changed),
        "both_marked_frac": share(sum(run.both_marked for run in runs), both),
        "both_told_frac": share(sum(run.both_told for run in runs), both),
        "rate": round(rate, 4),
        "reached": rate >= RATE_MIN,
        "window_tokens": window,
        "runs": len(runs),
        "turns_min": min((run.turns for run in runs), default=0),
        "recalls": recalls,
        "recall_rate": share(sum(run.recalls_right for run in runs), recalls),
        "decisions_claimed_frac": round(
            mean(run.decisions_claimed / TOPICS for run in runs) if runs else 0.0, 4
        ),
        "faults": sum(run.faults for run in runs),
        "faults_max": max((run.faults_max for run in runs), default=0),
        "thrash_index_max": max((run.thrash_index for run in runs), default=0.0),
        "requests": sum(run.requests for run in runs),
        "requests_over_window": sum(run.requests_over_window for run in runs),
        "request_tokens_max": max((run.request_tokens_max for run in runs), default=0),
        "paged_in_tokens_per_recall": round(mean(paged_in), 1) if paged_in else 0.0,
        "failures": [f"seed {run.seed}: {what}" for run in runs for what in run.wrong][:20],
    }


def share(part: float, whole: float) -> float:
    return round(part / whole, 4) if whole else 0.0


async def run_script(
    seed: int,
    *,
    window: int,
    phrasing: str = "script",
    claims: str = "rules",
    embedder: Embedder | None = None,
    counter: TokenCounter | None = None,
) -> Run:
    """One conversation in a memory of its own, deterministic by seed. With an `embedder`, questions
    are asked after it has embedded everything said.
    """
    async with a_memory(seed, window, claims, embedder, counter) as memory:
        session = await memory.session(f"north star {seed}", system=SYSTEM)
        said, _ = SHIPPED[phrasing]
        script = Script(seed, memory, session, said, embeds=embedder is not None)
        await script.play()
        return script.run


@asynccontextmanager
async def a_memory(
    seed: int, window: int, claims: str, embedder: Embedder | None, counter: TokenCounter | None
) -> AsyncIterator[Memory]:
    """A memory for one conversation, deleted afterwards."""
    with tempfile.TemporaryDirectory(prefix="pagefault-") as folder:
        async with open_memory(
            folder,
            sync="os",
            seed=seed,
            claims=claims,
            embedder=embedder,
            counter=counter or O200k(),
            window=window,
        ) as memory:
            yield memory


SYSTEM: Final = "You are a project planning assistant."


class Script:
    def __init__(
        self, seed: int, memory: Memory, session: Session, phrasing: Phrasing, *, embeds: bool
    ) -> None:
        self._chance = random.Random(seed)
        self._memory = memory
        self._embeds = embeds
        self._session = session
        self._phrasing = phrasing
        self._numbers = 0
        self.run = Run(seed=seed)

    async def play(self) -> None:
        chance, phrasing = self._chance, self._phrasing
        topics = []
        for subject in chance.sample(sorted(phrasing.topics), TOPICS):
            values, names = phrasing.topics[subject]
            value, other = chance.sample(values, 2)
            topics.append(Topic(names, value, other))
        for number, topic in enumerate(topics, 1):
            await self._decide(topic)
            while self.run.turns < number * DECIDING_TURNS // TOPICS:
                await self._chat()
        changing = [one for one in topics if phrasing.change and chance.random() < CHANGED]
        for place in range(OTHER_TURNS):
            if changing and place % (OTHER_TURNS // (2 * TOPICS)) == 0:
                one = changing.pop()
                await self._change(one, phrasing.change, self._values(one))
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
        """Decide a topic: in one sentence, by agreeing to a proposal, or by choosing one of two."""
        chance = self._chance
        match chance.choice(("decide", "agree", "ask")):
            case "decide":
                await self._user(self._fill(self._phrasing.opening, topic))
                await self._assistant(self._phrasing.offer.format(w=topic.other, v=topic.value))
                said = self._fill(chance.choice(self._phrasing.decide), topic)
                topic.sources.add(await self._user(said))
                await self._assistant(self._phrasing.noted)
            case "agree":
                shown, yes = chance.choice(self._phrasing.agree)
                await self._user(self._fill(self._phrasing.asking, topic))
                topic.sources.add(await self._assistant(self._fill(shown, topic)))
                topic.sources.add(await self._user(self._fill(yes, topic)))
                await self._assistant(self._phrasing.noted)
            case _:
                question, options, decision = chance.choice(self._phrasing.ask)
                await self._user(self._fill(question, topic))
                await self._assistant(self._fill(options, topic))
                topic.sources.add(await self._user(self._fill(decision, topic)))
                await self._assistant(self._phrasing.noted)

    async def _change(self, topic: Topic, sentences: Sequence[str], values: Sequence[str]) -> None:
        """Decide a topic otherwise."""
        values = [v for v in values if v not in (topic.value, topic.other)]
        topic.outdated |= topic.sources
        topic.outdated_value = topic.other = topic.value
        topic.value = self._chance.choice(values)
        said = self._fill(self._chance.choice(sentences), topic)
        topic.sources = {await self._user(said)}
        await self._assistant(self._phrasing.noted)

    def _values(self, topic: Topic) -> Sequence[str]:
        return next(v for v, names in self._phrasing.topics.values() if names == topic.names)

    def _fill(self, template: str, topic: Topic) -> str:
        """A sentence about a topic, under one of its names."""
        names = topic.names
        name = self._chance.choice(names) if len(names) > 1 else names[0]
        return template.format(s=name, v=topic.value, w=topic.other)

    async def _chat(self) -> None:
        self._numbers += 1
        question, answer = self._chance.choice(self._phrasing.chatter)
        await self._user(question.format(n=self._numbers))
        await self._assistant(
            " ".join([answer.format(n=self._numbers)] * self._chance.randint(1, 6))
        )

    async def _recall(self, topic: Topic) -> None:
        question = self._fill(self._chance.choice(self._phrasing.recall), topic)
        answer, shown = await self._asked(question)
        await self._see(shown, topic, question)
        self.run.paged_in_tokens.append(answer.paged_in_tokens)
        wrong = await self._judge(answer, topic)
        if wrong:
            self.run.wrong.append(f"{wrong}: {question!r} got {answer.text!r}")
        else:
            self.run.recalls_right += 1

    async def _asked(self, question: str) -> tuple[Answer, Sequence[Request]]:
        """The answer to a question, and the requests on the way to it."""
        if self._embeds:
            await self._memory.embed()
        await self._session.user(question)
        self.run.turns += 1
        engine = Watched(ScriptedEngine())
        answer = await self._session.run(engine)
        self._look(await self._session.request())
        self.run.recalls += 1
        self.run.faults += answer.faults
        self.run.faults_max = max(self.run.faults_max, answer.faults)
        return answer, engine.requests

    async def _see(self, shown: Sequence[Request], topic: Topic, question: str) -> None:
        """Record what the turn's requests show of a topic, apart from the question."""
        first, last = (
            [p for m in request.messages for p in passages_of(m) if p.text != question]
            for request in (shown[0], shown[-1])
        )
        is_shown = await self._show(last, topic.sources, topic.value)
        self.run.visible += is_shown
        self.run.visible_at_once += await self._show(first, topic.sources, topic.value)
        if not topic.outdated:
            return
        is_old_shown = await self._show(last, topic.outdated, topic.outdated_value)
        self.run.changed += 1
        self.run.outdated += is_old_shown and not is_shown
        self.run.both += is_old_shown and is_shown
        if is_old_shown and is_shown:
            has_mark = is_marked(shown[-1], last, topic)
            self.run.both_marked += has_mark
            self.run.both_told += has_mark or is_in_place(last, topic)

    async def _show(self, shown: Sequence[Passage], sources: set[PageId], value: str) -> bool:
        """Whether one of these is a source with the value, or a claim that rests on one."""
        for passage in shown:
            if value.casefold() in passage.text.casefold():
                page_id = PageId(passage.page_id)
                if page_id in sources or await self._rests_on(page_id, sources, value):
                    return True
        return False

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
        """Whether a topic was decided on this page, or it rests on bytes that say so."""
        return page_id in topic.sources or await self._rests_on(page_id, topic.sources, topic.value)

    async def _rests_on(self, page_id: PageId, sources: set[PageId], value: str) -> bool:
        try:
            page = await self._session.page(page_id)
            spans = page.derived.evidence if page.derived else ()
            quotes = [
                _quote(await self._session.page(span.page_id), span.start, span.end)
                for span in spans
                if span.page_id in sources
            ]
        except (NoSuchPage, RecordGone):
            return False
        return any(value.casefold() in quote.casefold() for quote in quotes)

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


def is_marked(request: Request, shown: Sequence[Passage], topic: Topic) -> bool:
    """Whether something shown marks which of a topic's pages or claims is newer."""
    named = [pair for message in request.messages for pair in newer_of(message).items()]
    named += [(passage.page_id, passage.newer_than) for passage in shown]
    return any(new in topic.sources and topic.outdated & set(old) for new, old in named) or any(
        "(instead of clm_" in passage.text
        or (passage.page_id in topic.outdated and topic.sources & set(passage.older_than))
        for passage in shown
    )


def is_in_place(shown: Sequence[Passage], topic: Topic) -> bool:
    """Whether a topic's pages are shown as turns, in their original order."""
    either = topic.sources | topic.outdated
    return all(not passage.letter for passage in shown if passage.page_id in either)


async def thrash_index(session: Session, turns: int) -> float:
    """The most repeated faults on a page within `THRASH_WINDOW_TURNS` turns, per turn.

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


def _quote(page: Page, start: int, end: int) -> str:
    return page.text.encode()[start:end].decode(errors="replace")


def _pages(evidence: Sequence[Any]) -> set[PageId]:
    return {span.page_id for span in evidence}
