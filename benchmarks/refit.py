"""Fit the weights of search to talk of several kinds together, and tell what each part brings.

    python benchmarks/refit.py people=locomo5.json:locomo agent=agent.jsonl:turns …

Each argument is KIND=FILE:FORMAT; a file of several kinds names them itself, as `=FILE:FORMAT`. The
questions are asked of search as it is, and its best 150 hits are ranked anew: with factors fitted
to all kinds, each counting the same, to all conversations but the one that is asked, and to all
kinds but that one. Then once without each part. A factor is told relative to that of `own`: what
the constant beside the part, in `recall/rank.py` and `recall/parts.py`, should be multiplied with.

Last it tells, by kind, how many hits of each `relevance` bear on the question: are its evidence.
"""

from __future__ import annotations

import asyncio
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import mean

from pagefault.lab.crossfit import fitted, is_evidence, reranked
from pagefault.lab.retrieval import Asked, ask_all
from pagefault.lab.transcripts import read_conversations

DEPTHS = (5, 10)


def told(
    asked: Sequence[Asked], refs: Callable[[Asked], Sequence[str]] = lambda one: one.refs
) -> str:
    """The share of the evidence among the first hits, by kind, in percent."""
    shares: dict[str, list[list[float]]] = defaultdict(list)
    for one in asked:
        evidence = set(one.question.evidence)
        shares[one.kind].append(
            [len(evidence.intersection(refs(one)[:depth])) / len(evidence) for depth in DEPTHS]
        )
    return "  ".join(
        f"{kind} " + "/".join(f"{100 * mean(one):.1f}" for one in zip(*rows, strict=True))
        for kind, rows in sorted(shares.items())
    )


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


def curve(asked: Sequence[Asked]) -> Iterator[str]:
    """How many of the first ten hits of each relevance are evidence, by kind."""
    for kind in sorted({one.kind for one in asked}):
        bins: dict[int, list[bool]] = defaultdict(list)
        for one in asked:
            if one.kind == kind:
                for hit, lines in list(zip(one.hits, one.lines, strict=True))[:10]:
                    bins[min(int(10 * hit.relevance), 9)].append(is_evidence(lines, one))
        yield f"{kind:10}" + " ".join(
            f"{at / 10:.1f}: {100 * mean(bins[at]):.0f} % of {len(bins[at])}" for at in sorted(bins)
        )


def say(*words: object) -> None:
    sys.stdout.write(" ".join(map(str, words)) + "\n")
    sys.stdout.flush()


def main() -> None:
    asked: list[Asked] = []
    for argument in sys.argv[1:]:
        kind, _, rest = argument.partition("=")
        file, _, format = rest.rpartition(":")
        of_file = asyncio.run(ask_all(read_conversations(Path(file), format)))
        answerable = [one for one in of_file if one.question.answerable]
        asked += [replace(one, kind=kind or one.kind) for one in answerable]
    factors = fitted(asked)
    say("bm25       ", told(asked, lambda one: one.by_words))
    say("as it is   ", told(asked))
    say("fitted     ", told([reranked(one, factors) for one in asked]))
    say("other convs", told(apart(asked, conversation_of)))
    say("other kinds", told(apart(asked, lambda one: one.kind)))
    say("factors", {name: round(one / factors["own"], 2) for name, one in factors.items()})
    for name in sorted(factors.keys() - {"own"}):
        say(f"without {name:14}", told(apart(asked, conversation_of, [name])))
    say("relevance, of the first ten hits")
    say("\n".join(curve(asked)))


if __name__ == "__main__":
    main()
