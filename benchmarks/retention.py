"""How a memory grows in a year under each retention: bytes of log, index and blobs, by week.

    python benchmarks/retention.py [--policies 7d 30d 90d forever] [--weeks 52] [--talks 4]
        [--turns 6] [--json FILE]

Each day has the same number of conversations, of as many turns: a question of some 40 words and an
answer of some 120, drawn from 20,000 made-up words as often as words are used (Zipf's law), a
request, and with every tenth conversation a file of 20 kB. A clock is advanced, and each day what
is past its time is forgotten, as `serve` has it. Conversations are made up, so no figure tells of
search; what is told is where growth ends: the last quarter of the year against the quarter before,
and the largest week against the mean of the last quarter. The index is told without its write-ahead
log, which is emptied when something is forgotten, and has a bound of its own.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import click

from pagefault.service.bootstrap import open_memory

DAY_MS = 86_400_000
WORDS = 20_000
FILE_BYTES = 20_000


class Days:
    """A clock that goes on when a day is over, and a second with each thing that is said."""

    def __init__(self) -> None:
        self.ms = 1_767_225_600_000  # 2026-01-01

    def now_ms(self) -> int:
        return self.ms

    def monotonic_s(self) -> float:
        return self.ms / 1000


@dataclass(frozen=True, slots=True)
class Week:
    week: int
    log: int
    index: int
    blobs: int
    pages: int

    @property
    def all(self) -> int:
        return self.log + self.index + self.blobs


def bytes_of(folder: Path, *patterns: str) -> int:
    files = {path for pattern in patterns for path in folder.glob(pattern) if path.is_file()}
    return sum(path.stat().st_size for path in files)


async def year(policy: str, given: argparse.Namespace) -> tuple[list[Week], float]:
    """The weeks of a year under one policy, and the processor time it took."""
    chance, clock = random.Random(7), Days()
    vocabulary = [f"{chance.choice('bdfgklmnprstvz')}{number:x}" for number in range(WORDS)]
    weights = [1 / (rank + 10) for rank in range(WORDS)]
    began, weeks = time.process_time(), []

    def text(words: int) -> str:
        count = max(3, int(chance.gauss(words, words / 3)))
        return " ".join(chance.choices(vocabulary, weights, k=count)) + "."

    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / "m"
        async with open_memory(root, clock=clock, sync="os", claims="off") as memory:
            await memory.set_retention(policy)
            for day in range(given.weeks * 7):
                for number in range(given.talks):
                    session = await memory.session(f"talk {day}.{number}")
                    for _ in range(given.turns):
                        clock.ms += 1_000
                        await session.user(text(40))
                        await session.request()
                        await session.assistant(text(120))
                    if (day * given.talks + number) % 10 == 0:
                        await session.artifact(chance.randbytes(FILE_BYTES), name="plan.bin")
                clock.ms += DAY_MS - given.talks * given.turns * 1_000
                await memory.expire()
                if day % 7 == 6:
                    pages = sum(row.own_pages for row in await memory.sessions())
                    weeks.append(
                        Week(
                            week=day // 7 + 1,
                            log=bytes_of(root / "log", "*"),
                            index=bytes_of(root, "index.db"),
                            blobs=bytes_of(root / "blobs", "**/*"),
                            pages=pages,
                        )
                    )
    return weeks, time.process_time() - began


def told(policy: str, weeks: list[Week], cpu_s: float) -> dict[str, Any]:
    quarter = max(1, len(weeks) // 4)
    last, before = weeks[-quarter:], weeks[-2 * quarter : -quarter] or weeks[:1]
    means = {
        name: sum(getattr(week, name) for week in last)
        / max(1, sum(getattr(week, name) for week in before))
        for name in ("all", "log", "index", "blobs", "pages")
    }
    return {
        "policy": policy,
        "growth_last_quarter": {name: round(value, 3) for name, value in means.items()},
        "peak_over_mean": round(
            max(w.all for w in weeks) / (sum(w.all for w in last) / quarter), 3
        ),
        "end": asdict(weeks[-1]),
        "cpu_s": round(cpu_s, 1),
        "weeks": [asdict(week) for week in weeks],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--policies", nargs="*", default=["7d", "30d", "90d", "forever"])
    parser.add_argument("--weeks", type=int, default=52)
    parser.add_argument("--talks", type=int, default=4)
    parser.add_argument("--turns", type=int, default=6)
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    results = []
    for policy in given.policies:
        weeks, cpu_s = asyncio.run(year(policy, given))
        results.append(told(policy, weeks, cpu_s))
        end, grown = weeks[-1], results[-1]["growth_last_quarter"]
        click.echo(
            f"{policy}: log {end.log:,} index {end.index:,} blobs {end.blobs:,} pages {end.pages:,}"
            f"; last quarter over the one before {grown}; peak {results[-1]['peak_over_mean']}"
        )
        if given.json:
            given.json.write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
