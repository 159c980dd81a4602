"""The north star's harder variants: each conversation has one topic of every kind.

- *decoys*: other choices for the topic are mentioned before it is decided;
- *changed*: it is decided otherwise later;
- *other_words*: the question uses another of its names than the decision;
- *undone*: it is taken back, without a replacement;
- *cascade*: something else was made to rest on it, as a claim, before it is decided otherwise;
- *undecided*: it was discussed and put off.

A question counts if the answered request shows what is needed: the decision, or what changed or
undid it; and an outdated choice beside it only if labels, claims or positions show which is newer.
For a cascade, that is the claim resting on what changed, marked as no longer holding, and never
unmarked. For a topic never decided, there must be no claim that decides it with a value that was
mentioned, and `Session.known` must explain why. Claims are stated by the host (`Session.claim`), in
half of the conversations as a model's proposal: those of a cascade and, for a topic never decided,
that somebody else chose so, which is a fact and not a decision.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any, Final

from pagefault.engine.embedding import Embedder
from pagefault.engine.scripted import Passage, passages_of
from pagefault.lab.northstar import (
    DECIDING_TURNS,
    OTHER_TURNS,
    SYSTEM,
    THRASH_MAX,
    TURNS_MIN,
    WINDOWS,
    Progress,
    Run,
    Script,
    Topic,
    a_memory,
    is_in_place,
    is_marked,
    share,
    thrash_index,
)
from pagefault.lab.phrasings import Harder, Phrasing, parsed
from pagefault.model.errors import BadInput
from pagefault.model.ids import PageId
from pagefault.model.page import Quote
from pagefault.model.request import Request
from pagefault.pack.count import O200k, TokenCounter
from pagefault.service.memory import Memory
from pagefault.service.session import Session

SHOWN_MIN: Final = 0.95  # of the questions of each variant
FAULTS_TOGETHER_MAX: Final = 10  # for all questions of a conversation


class Variant(StrEnum):
    DECOYS = "decoys"
    CHANGED = "changed"
    OTHER_WORDS = "other_words"
    UNDONE = "undone"
    CASCADE = "cascade"
    UNDECIDED = "undecided"


@dataclass(slots=True)
class Trial:
    """A topic of one kind, and the outcome of its question. `wrong` is empty if it counts."""

    variant: Variant
    topic: Topic  # under the name it has before the question
    values: Sequence[str]
    name: str  # the name in the question
    base: PageId = PageId("")  # the claim that something rests on
    resting: PageId = PageId("")
    question: str = ""  # about what rests on it
    wrong: str = ""


@dataclass(slots=True, kw_only=True)
class HarderRun(Run):
    asked: list[Trial] = field(default_factory=list)


async def bench_harder(
    *,
    seeds: int,
    windows: Sequence[int] = WINDOWS,
    phrasings: Mapping[str, tuple[Phrasing, Harder]],
    claims: str = "rules",
    embedder: Embedder | None = None,
    progress: Progress = lambda label, done, total: None,
) -> dict[str, Any]:
    """`{"variants": {name: figures}}`, by phrasing and window: what was shown of each kind."""
    counter = O200k()
    told: dict[str, Any] = {}
    for phrasing, said in phrasings.items():
        for window in windows:
            name = f"{phrasing}_{window}"
            runs = []
            for seed in range(seeds):
                runs.append(
                    await run_harder(
                        seed,
                        said,
                        window=window,
                        claims=claims,
                        embedder=embedder,
                        counter=counter,
                    )
                )
                progress(name, seed + 1, seeds)
            told[name] = harder_figures(runs, window)
    return {"seeds": seeds, "claims": claims, "variants": told}


def read_templates(path: Path) -> tuple[Phrasing, Harder]:
    """An external phrasing (`lab/phrasings`). Raises `BadInput` if the file has another form."""
    try:
        phrasing, harder = parsed(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, LookupError, TypeError, AttributeError) as error:
        raise BadInput(
            f"{path}: not the sentences of a north star: {error}",
            hint="docs/benchmarks.md lists what belongs in it",
        ) from error
    if len(phrasing.topics) < len(Variant):
        raise BadInput(f"{path}: {len(Variant)} topics at least", hint="one for each variant")
    return phrasing, harder


def harder_figures(runs: Sequence[HarderRun], window: int) -> dict[str, Any]:
    """Figures of one phrasing and window: shares are 0..1, `_max` is the worst of all runs."""
    asked = [one for run in runs for one in run.asked]
    shown = {
        f"{variant}_frac": share(
            sum(not one.wrong for one in asked if one.variant is variant),
            sum(one.variant is variant for one in asked),
        )
        for variant in Variant
    }
    thrash = max((run.thrash_index for run in runs), default=0.0)
    together = max((run.faults for run in runs), default=0)
    over = sum(run.requests_over_window for run in runs)
    return {
        **shown,
        "reached": all(one >= SHOWN_MIN for one in shown.values())
        and thrash < THRASH_MAX
        and together <= FAULTS_TOGETHER_MAX
        and not over,
        "window_tokens": window,
        "runs": len(runs),
        "turns_min": min((run.turns for run in runs), default=0),
        "faults_together_max": together,
        "faults_max": max((run.faults_max for run in runs), default=0),
        "thrash_index_max": thrash,
        "requests_over_window": over,
        "request_tokens_max": max((run.request_tokens_max for run in runs), default=0),
        "why_not": dict(Counter(f"{one.variant}: {one.wrong}" for one in asked if one.wrong)),
        "failures": [what for run in runs for what in run.wrong][:40],
    }


async def run_harder(
    seed: int,
    said: tuple[Phrasing, Harder],
    *,
    window: int,
    claims: str = "rules",
    embedder: Embedder | None = None,
    counter: TokenCounter | None = None,
) -> HarderRun:
    """One conversation in a memory of its own, deterministic by seed."""
    async with a_memory(seed, window, claims, embedder, counter) as memory:
        session = await memory.session(f"north star {seed}", system=SYSTEM)
        script = HarderScript(seed, memory, session, *said, embeds=embedder is not None)
        await script.play()
        return script.run


class HarderScript(Script):
    run: HarderRun

    def __init__(
        self,
        seed: int,
        memory: Memory,
        session: Session,
        phrasing: Phrasing,
        harder: Harder,
        *,
        embeds: bool,
    ) -> None:
        super().__init__(seed, memory, session, phrasing, embeds=embeds)
        self.run = HarderRun(seed=seed)
        self._harder = harder
        self._origin = self._chance.choice(("user_typed", "model_generated"))

    async def play(self) -> None:
        chance = self._chance
        subjects = chance.sample(sorted(self._phrasing.topics), len(Variant))
        for variant, subject in zip(Variant, subjects, strict=True):
            values, names = self._phrasing.topics[subject]
            value, other = chance.sample(values, 2)
            name = chance.choice(names)
            others = [one for one in names if one != name and variant is Variant.OTHER_WORDS]
            topic = Topic((name,), value, other)
            self.run.asked.append(Trial(variant, topic, values, chance.choice(others or [name])))
        for number, one in enumerate(chance.sample(self.run.asked, len(Variant)), 1):
            await self._open(one)
            while self.run.turns < number * DECIDING_TURNS // len(Variant):
                await self._chat()
        later = [
            one
            for one in chance.sample(self.run.asked, len(Variant))
            if one.variant in (Variant.CHANGED, Variant.UNDONE, Variant.CASCADE)
        ]
        for place in range(OTHER_TURNS):
            if later and place % (OTHER_TURNS // 4) == OTHER_TURNS // 8:
                await self._turn(later.pop())
            await self._chat()
        for one in chance.sample(self.run.asked, len(Variant)):
            await self._ask(one)
            for _ in range(chance.randint(2, 4)):
                await self._chat()
        while self.run.turns < TURNS_MIN:
            await self._chat()
        self.run.thrash_index = await thrash_index(self._session, self.run.turns)

    async def _open(self, one: Trial) -> None:
        """Introduce a topic, and decide it if it is to be decided."""
        topic, variant = one.topic, one.variant
        if variant in (Variant.DECOYS, Variant.UNDECIDED):
            await self._mislead(one)
        if variant is Variant.UNDECIDED:
            said, reply = self._chance.choice(self._harder.open_ends)
            await self._user(self._fill(said, topic))
            await self._assistant(reply)
            return
        await self._decide(topic)
        if variant is Variant.CASCADE:
            await self._rest(one)

    async def _mislead(self, one: Trial) -> None:
        """Mention others' choices, never the value that will be decided."""
        topic, chance = one.topic, self._chance
        values = [value for value in one.values if value != topic.value]
        meant = topic.other
        for said, reply in chance.sample(self._harder.decoys, 2):
            topic.other = chance.choice(values)
            text = self._fill(said, topic)
            page_id = await self._user(text)
            await self._assistant(reply)
            if one.variant is Variant.UNDECIDED:
                evidence = [Quote(text, page_id)]
                await self._session.claim(text, evidence=evidence, kind="fact", origin=self._origin)
            for _ in range(chance.randint(0, 2)):
                await self._chat()
        topic.other = meant

    async def _rest(self, one: Trial) -> None:
        """Claim what was decided; then say, and claim, a consequence of it."""
        topic, chance = one.topic, self._chance
        decided = max(topic.sources, key=lambda page_id: int(page_id.rpartition("_")[2]))
        one.base = await self._claim(topic, decided)
        said, subject, question = chance.choice(self._harder.rests)
        x = str(chance.randint(11, 99))
        said, subject, question = (
            text.format(s=one.name, v=topic.value, x=x) for text in (said, subject, question)
        )
        page_id = await self._user(said)
        await self._assistant(self._phrasing.noted)
        one.question = question
        one.resting = await self._session.claim(
            said,
            evidence=[Quote(said, page_id)],
            derived_from=[one.base],
            kind="fact",
            subject=subject,
            origin=self._origin,
        )

    async def _claim(self, topic: Topic, page_id: PageId, replaces: PageId = PageId("")) -> PageId:
        text = (await self._session.page(page_id)).text
        quote = topic.value if topic.value in text else text
        return await self._session.claim(
            topic.value,
            evidence=[Quote(quote, page_id)],
            subject=topic.names[0],
            replaces=replaces,
            origin=self._origin,
        )

    async def _turn(self, one: Trial) -> None:
        """Decide a topic otherwise, or take it back."""
        topic, chance = one.topic, self._chance
        if one.variant is Variant.UNDONE:
            topic.outdated |= topic.sources
            topic.outdated_value = topic.value
            topic.sources = {await self._user(self._fill(chance.choice(self._harder.undo), topic))}
            await self._assistant(self._phrasing.noted)
            return
        await self._change(topic, self._harder.change, one.values)
        if one.variant is Variant.CASCADE:
            await self._claim(topic, next(iter(topic.sources)), one.base)

    async def _ask(self, one: Trial) -> None:
        topic, chance = one.topic, self._chance
        if not one.question:
            topic.names = (one.name,)
            one.question = self._fill(chance.choice(self._phrasing.recall), topic)
        _, shown = await self._asked(one.question)
        one.wrong = await self._judge_shown(one, shown[-1])
        if one.wrong:
            self.run.wrong.append(
                f"seed {self.run.seed}: {one.variant}: {one.wrong}: {one.question!r} for "
                f"{topic.value!r} ({sorted(topic.sources)}), before {topic.outdated_value!r} "
                f"({sorted(topic.outdated)})"
            )

    async def _judge_shown(self, one: Trial, request: Request) -> str:
        """Why the answered request does not count; empty if it does."""
        topic = one.topic
        shown = [
            passage
            for message in request.messages
            for passage in passages_of(message)
            if passage.text != one.question
        ]
        match one.variant:
            case Variant.CASCADE:
                told = [p for p in shown if p.page_id == one.resting]
                if not told:
                    return "what rests on it is not shown"
                return "" if all(p.lapse for p in told) else "it is shown as if it held"
            case Variant.UNDECIDED:
                return await self._judge_undecided(one, shown)
            case Variant.UNDONE:
                is_shown = any(p.page_id in topic.sources for p in shown)
            case _:
                is_shown = await self._show(shown, topic.sources, topic.value)
        is_old_shown = bool(topic.outdated) and await self._show(
            shown, topic.outdated, topic.outdated_value
        )
        if not is_shown:
            return "only the outdated is shown" if is_old_shown else "it is not shown"
        if is_old_shown and not (is_marked(request, shown, topic) or is_in_place(shown, topic)):
            return "nothing tells which is newer"
        return ""

    async def _judge_undecided(self, one: Trial, shown: Sequence[Passage]) -> str:
        decisions = {
            claim.claim_id for claim in await self._session.claims() if claim.type == "decision"
        }
        values = [value.casefold() for value in one.values]
        for passage in shown:
            text = passage.text.casefold()
            if passage.page_id in decisions and any(value in text for value in values):
                return "a claim decides it"
        known = await self._session.known(one.question, kinds=("decision",))
        if known.is_known:
            return "it is told as known"
        return "" if known.reason else "no reason is told"
