"""Fit the weights of search to talk of several kinds together, and tell what each part brings.

    python benchmarks/refit.py people=locomo5.json assistant.jsonl agent=agent.jsonl …

Each argument is a file of conversations (`kinds.py`). The questions are asked of search as it is,
and its best 150 hits are ranked anew: with factors fitted to all kinds, each counting the same, to
all conversations but the one that is asked, and to all kinds but that one. A factor is told
relative to that of `own`: what the constant beside the part, in `recall/rank.py` and
`recall/parts.py`, should be multiplied with. Then once without each part, each fifth of a kind's
conversations with factors fitted to the rest: the table has what the part brings, in points.

Last it tells the weights of `recall/likelihood.py` and, by kind, how many hits of each `relevance`
are evidence, beside those of each coverage.
"""

from __future__ import annotations

import asyncio
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from statistics import mean

from kinds import conversations_of

from pagefault.lab.crossfit import fitted, reranked
from pagefault.lab.reliability import fitted_weights, likely_by, reliability
from pagefault.lab.retrieval import Asked, ask_all

DEPTHS = (5, 10)


def shares_of(
    asked: Sequence[Asked], refs: Callable[[Asked], Sequence[str]] = lambda one: one.refs
) -> dict[str, list[float]]:
    """The share of the evidence among the first hits, by kind, in percent."""
    shares: dict[str, list[list[float]]] = defaultdict(list)
    for one in asked:
        evidence = set(one.question.evidence)
        shares[one.kind].append(
            [len(evidence.intersection(refs(one)[:depth])) / len(evidence) for depth in DEPTHS]
        )
    return {
        kind: [100 * mean(one) for one in zip(*rows, strict=True)]
        for kind, rows in sorted(shares.items())
    }


def told(shares: dict[str, list[float]]) -> str:
    return "  ".join(
        f"{kind} " + "/".join(f"{one:.1f}" for one in of_kind) for kind, of_kind in shares.items()
    )


def brought(asked: Sequence[Asked], parts: Sequence[str]) -> Iterator[str]:
    """A table of what each part brings on each kind."""
    fifth: dict[str, str] = {}
    for kind in {one.kind for one in asked}:
        of_kind = dict.fromkeys(conversation_of(one) for one in asked if one.kind == kind)
        fifth |= {name: str(number % 5) for number, name in enumerate(of_kind)}

    def shares(without: Sequence[str]) -> dict[str, list[float]]:
        return shares_of(apart(asked, lambda one: fifth[conversation_of(one)], without))

    whole = shares([])
    yield "| | " + " | ".join(whole) + " |"
    yield "| --- |" + " --- |" * len(whole)
    for part in parts:
        less = shares([part])
        gains = (
            " / ".join(f"{a - b:+.1f}" for a, b in zip(whole[kind], less[kind], strict=True))
            for kind in whole
        )
        yield f"| `{part}` | " + " | ".join(gains) + " |"


def apart(
    asked: Sequence[Asked], group: Callable[[Asked], str], without: Sequence[str] = ()
) -> list[Asked]:
    """The same, each group ranked with factors fitted to the others."""
    ranked: list[Asked] = []
    for name in dict.fromkeys(map(group, asked)):
        factors = fitted([one for one in asked if group(one) != name], without=without)
        ranked += [reranked(one, factors) for one in asked if group(one) == name]
    return ranked


def conversation_of(one: Asked) -> str:
    return f"{one.kind} {one.conversation}"


def curves(asked: Sequence[Asked]) -> Iterator[str]:
    """For each kind how well a measure of hits tells which are evidence: the share of the question
    that their words cover, `relevance` as it stands, and as it is fitted to the other conversations
    and to the other kinds.
    """
    kinds = sorted({one.kind for one in asked})
    coverages = [[hit.coverage for hit in one.hits] for one in asked]
    for name, likely in (
        ("coverage", coverages),
        ("relevance", likely_by(asked)),
        ("other convs", likely_apart(asked, conversation_of)),
        ("other kinds", likely_apart(asked, lambda one: one.kind)),
    ):
        for kind in kinds:
            these = [at for at, one in enumerate(asked) if one.kind == kind]
            seen = reliability([asked[at] for at in these], [likely[at] for at in these])
            told = " ".join(
                f"{one.least:.1f}: {100 * one.were:.0f} % of {one.hits}" for one in seen.bins
            )
            yield f"{name:12}{kind:10} brier {seen.brier:.3f} ece {seen.ece:.3f}  {told}"


def likely_apart(asked: Sequence[Asked], group: Callable[[Asked], str]) -> list[list[float]]:
    """How likely each hit bears on its question, each group by weights fitted to the others."""
    of_group = {
        name: fitted_weights([one for one in asked if group(one) != name])
        for name in dict.fromkeys(map(group, asked))
    }
    return [likely_by([one], of_group[group(one)])[0] for one in asked]


def say(*words: object) -> None:
    sys.stdout.write(" ".join(map(str, words)) + "\n")
    sys.stdout.flush()


def main() -> None:
    found = asyncio.run(ask_all(conversations_of(sys.argv[1:])))
    asked = [one for one in found if one.question.answerable]
    factors = fitted(asked)
    say("bm25       ", told(shares_of(asked, lambda one: one.by_words)))
    say("as it is   ", told(shares_of(asked)))
    say("fitted     ", told(shares_of([reranked(one, factors) for one in asked])))
    say("other convs", told(shares_of(apart(asked, conversation_of))))
    say("other kinds", told(shares_of(apart(asked, lambda one: one.kind))))
    say("factors", {name: round(one / factors["own"], 2) for name, one in factors.items()})
    for row in brought(asked, sorted(factors.keys() - {"own"})):
        say(row)
    weights = fitted_weights(asked)._asdict()
    say("likelihood", {name: round(one, 2) for name, one in weights.items()})
    say("\n".join(curves(asked)))


if __name__ == "__main__":
    main()
