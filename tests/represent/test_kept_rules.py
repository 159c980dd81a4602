"""The gate of compaction, first half: what an abstract keeps of rules, constraints, facts, goals
and preferences after five rounds. In a tenth of a conversation more than 40 %, in a fifth more than
85 %, in three tenths all; and never a value that was told anew.

The conversations are those of the independent compaction-conformance-kit, as
`benchmarks/kept_rules.py` puts them to it, and our own, written apart from the rules of the ladder:
there no statement has a label before it.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from runpy import run_path

import pytest

from pagefault.model.ids import PageId
from pagefault.model.kinds import Level, Role
from pagefault.represent import extractive
from pagefault.represent.api import Source, full_text
from pagefault.represent.extractive import compress_range
from pagefault.represent.salience import Candidate

BARS = {0.1: 0.40, 0.2: 0.85, 0.3: 0.9999}
ROUNDS = 5
SEEDS = range(4)
ASIDES = (
    "Went through how the importer is laid out and which parts talk to each other.",
    "Somebody moved the chairs around in the meeting room again and it echoes now.",
    "There was a talk about colour palettes for the charts and what people like in them.",
    "Looked at how other teams name their folders and found nothing that we would copy.",
    "The graphs were flat all morning and then there was a bump that went away by itself.",
    "Read a long thread about tabs and spaces and came away no wiser than before it.",
    "Tried the new keyboard, and typing on it sounds like rain on a tin roof somehow.",
    "Sketched how the queue might look one day and threw the sketch away afterwards.",
)


@dataclass(frozen=True)
class Planted:
    said: str
    must: tuple[str, ...]
    before: str = ""  # the same with another value, said earlier
    stale: str = ""


def planted(chance: random.Random) -> list[Planted]:
    def code() -> str:
        letters = (chance.choice(some) for some in ("KLMNPQ", "aeiou", "rstv"))
        return f"{''.join(letters)}-{chance.randrange(10, 99)}"

    old, new = f"{chance.randrange(20, 50)}00", f"{chance.randrange(50, 90)}00"
    before, day = f"2031-08-{chance.randrange(10, 28)}", f"2031-09-{chance.randrange(10, 28)}"
    key, person, branch, port = code(), code(), code(), str(chance.randrange(2_000, 9_000))
    due, limit = "The hand-over is due on {}.", "The spending limit is {} francs."
    return [
        Planted(f"Never hand out the key {key} to callers.", ("never", key)),
        Planted("Do not write to the archive while a restore runs.", ("do not write", "restore")),
        Planted(f"No deploys on weekends without a word from {person}.", ("no deploys", person)),
        Planted("Never delete customer folders by hand.", ("never delete", "customer folders")),
        Planted(limit.format(new), (new,), limit.format(old), old),
        Planted(due.format(day), (day,), due.format(before), before),
        Planted(f"The mail gateway listens on port {port}.", ("mail gateway", port)),
        Planted(f"Our branch is called feature/{branch}.", (f"feature/{branch}",)),
        Planted("The user prefers short answers with SI units.", ("short answers", "si units")),
        Planted(f"Next, we must port the {code()} parser to Rust.", ("parser", "rust")),
    ]


def conversation(seed: int) -> tuple[list[Source], list[Planted]]:
    chance = random.Random(seed)
    items = planted(chance)
    chance.shuffle(items)
    said: list[tuple[Role, str]] = []
    for item in items:
        for _ in range(2):
            said += [(Role.USER, chance.choice(ASIDES)), (Role.ASSISTANT, "Okay, going on.")]
        for text in filter(None, (item.before, item.said)):
            said += [(Role.USER, text), (Role.ASSISTANT, "Noted.")]
    sources = [
        Source(page_id=PageId(f"msg_{n}"), text=text, role=role)
        for n, (role, text) in enumerate(said, 1)
    ]
    return sources, items


def measured(budget: float, *, rounds: int = ROUNDS, cited: bool = False) -> tuple[float, int]:
    """The share of what was planted that survives, and how many old values do."""
    kept = stale = of = 0
    for seed in SEEDS:
        sources, items = conversation(seed)
        room = int(len(full_text(sources)) * budget)
        for _ in range(rounds):
            text = compress_range(
                sources, Level.ABSTRACT, count=len, tokens_max=room, cited=cited
            ).text
            assert len(text) <= room
            sources = [Source(page_id=PageId("sum_1"), text=text, role=Role.SYSTEM)]
        low = text.lower()
        kept += sum(all(part.lower() in low for part in one.must) for one in items)
        stale += sum(one.stale in low for one in items if one.stale)
        of += len(items)
    return kept / of, stale


@pytest.mark.parametrize("budget", BARS)
def test_rules_survive_five_rounds_and_nothing_stale_does(budget: float) -> None:
    kept, stale = measured(budget)
    assert kept > BARS[budget]
    assert stale == 0


@pytest.mark.parametrize("budget", BARS)
def test_rules_survive_beside_the_citations_of_what_is_formed(budget: float) -> None:
    kept, stale = measured(budget, rounds=1, cited=True)
    assert kept > BARS[budget]
    assert stale == 0


@pytest.mark.parametrize("budget", BARS)
def test_what_others_planted_survives_and_nothing_stale_does(budget: float) -> None:
    kit = run_path(str(Path(__file__).parents[2] / "benchmarks" / "kept_rules.py"))
    row = kit["measure"]("random", kit["Ladder"], SEEDS, budget, ROUNDS)
    assert row["within_budget"]
    assert row["survival"] > 100 * BARS[budget]
    assert (row["stale"], row["of"]) == (0, 8)


def _the_first(candidates: list[Candidate], room: int) -> list[int]:
    chosen = []
    for place, one in enumerate(candidates):
        room -= one.tokens
        if room < 0:
            break
        chosen.append(place)
    return chosen


@pytest.mark.parametrize(
    ("part", "weak", "fails"),
    [
        ("choose", _the_first, lambda kept, stale: kept <= BARS[0.2]),
        ("restated", lambda sentences: frozenset(), lambda kept, stale: stale > 0),
    ],
)
def test_a_weaker_ladder_does_not_pass(
    part: str,
    weak: Callable[..., object],
    fails: Callable[[float, int], bool],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(extractive, part, weak)
    assert fails(*measured(0.2))
