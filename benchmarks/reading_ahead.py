"""Whether reading ahead pays: how much of it is wanted, and what a turn takes with it and without.

    python benchmarks/reading_ahead.py FILE [FILE …] [--rounds N] [--lines N]

FILE is a transcript that `pagefault replay` reads, or a set of conversations with `turns` (JSON,
one a line). Each conversation is said to a memory on disk, message by message; after every answer
there is a pause in which nobody waits, as there is where somebody types. A memory is closed and
opened again half-way, so that pages are read from the disk. Printed for each way of loading: the
share of what was read ahead that was wanted within the session, and p50 and p95 of `user` and
`request` together, in ms of wall time: the median of the rounds, which take turns.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import tempfile
import time
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median, quantiles

import pagefault
from pagefault.cli.transcripts import guess
from pagefault.lab.transcripts import read_conversations
from pagefault.policy.prefetch import LOADING

PAUSE_S = 0.02
WINDOW = 4_000

Line = tuple[str, str]  # role and text


@dataclass
class Seen:
    loaded: int = 0
    used: int = 0
    turns_ms: list[float] = field(default_factory=list)


def conversations(path: Path) -> list[list[Line]]:
    first = path.read_text(encoding="utf-8").split("\n", 1)[0]
    if '"turns"' in first:
        sets = map(json.loads, filter(None, path.read_text(encoding="utf-8").split("\n")))
        return [[(one["role"], one["text"]) for one in told["turns"]] for told in sets]
    read = read_conversations(path, guess(path))
    return [[(str(line.role), line.text) for line in one.lines] for one in read]


async def say(session: pagefault.Session, lines: list[Line], seen: Seen) -> None:
    for role, text in lines:
        if not text.strip():
            continue
        if role == "user":
            begun = time.perf_counter()
            await session.user(text)
            await session.request()
            seen.turns_ms.append(1_000 * (time.perf_counter() - begun))
        elif role == "tool":
            await session.tool_result(text, name="tool")
        else:
            await session.assistant(text)
            await asyncio.sleep(PAUSE_S)
    status = (await session.status()).prefetch
    seen.loaded += status.loaded
    seen.used += status.used


async def measure(lines: list[Line], loading: str, seen: Seen) -> None:
    limits = pagefault.Limits(loading=loading)
    with tempfile.TemporaryDirectory() as folder:
        half = len(lines) // 2
        for part in (lines[:half], lines[half:]):
            async with pagefault.open(folder, window=WINDOW, limits=limits) as memory:
                await say(await memory.session("talk"), part, seen)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("files", type=Path, nargs="+")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--lines", type=int, default=300)
    parser.add_argument("--most", type=int, default=2, help="conversations of a file")
    asked = parser.parse_args()
    for path in asked.files:
        found = conversations(path)[: asked.most]
        rounds: dict[str, list[Seen]] = defaultdict(list)
        for _ in range(asked.rounds):
            for loading in LOADING:
                seen = Seen()
                for lines in found:
                    asyncio.run(measure(lines[: asked.lines], loading, seen))
                rounds[loading].append(seen)
        sys.stdout.write(f"{path.name}: {len(found)} conversations\n")
        for loading, several in rounds.items():
            loaded = sum(one.loaded for one in several)
            used = sum(one.used for one in several)
            share = f"{used / loaded:4.0%}" if loaded else "   –"
            p50 = median(median(one.turns_ms) for one in several)
            p95 = median(quantiles(one.turns_ms, n=20)[-1] for one in several)
            told = f"{loaded:6,} read, {share} wanted  p50 {p50:6.2f}  p95 {p95:6.2f}"
            sys.stdout.write(f"  {loading:12} {told}\n")


if __name__ == "__main__":
    main()
