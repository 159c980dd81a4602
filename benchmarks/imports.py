"""How fast one's own history comes in, and is searched then: the figures of docs/import.md.

    python benchmarks/imports.py [MESSAGES]

Sessions of Claude Code are written to a temporary folder, a hundred messages each, of words drawn
by Zipf's law from 60,000, and imported. Seconds are the processor's, of all threads together:
another program on the machine does not count. Memory is the most that the process ever had.
"""

from __future__ import annotations

import asyncio
import json
import random
import resource
import sys
import tempfile
import time
from bisect import bisect
from itertools import accumulate
from pathlib import Path
from typing import Any, Final

import pagefault
from pagefault import SearchFilter

PER_SESSION: Final = 100
WORDS: Final = 60_000
QUERIES: Final = 36
FILTERS: Final[dict[str, dict[str, str]]] = {
    "search": {},
    "search --in claude": {"imported_from": "claude"},
    "search --in claude --since --until": {
        "imported_from": "claude",
        "since": "2025-03-01",
        "until": "2025-06-01",
    },
}


def tell(line: str) -> None:
    sys.stdout.write(line + "\n")


class Talk:
    """Words that nobody says, as often as people say theirs."""

    def __init__(self, chance: random.Random) -> None:
        self._chance = chance
        self._words = sorted({self._word() for _ in range(WORDS)}, key=lambda _: chance.random())
        self._until = list(accumulate(1 / (rank + 2.7) ** 1.05 for rank in range(len(self._words))))

    def _word(self) -> str:
        syllables = self._chance.choice((2, 3, 3, 4))
        pairs = (self._chance.choice("bcdfghklmnprstvz") + self._chance.choice("aeiou")
                 for _ in range(syllables))  # fmt: skip
        return "".join(pairs) + self._chance.choice(("", "n", "r", "s", "t"))

    def text(self, *lengths: int) -> str:
        drawn = (
            self._chance.random() * self._until[-1] for _ in range(self._chance.choice(lengths))
        )
        return " ".join(self._words[bisect(self._until, one)] for one in drawn)

    def query(self) -> str:
        return " ".join(self._chance.choice(self._words[50:2_000]) for _ in range(3))

    def content(self, number: int) -> tuple[str, Any]:
        match number % 4:
            case 0:
                return "user", self.text(8, 20, 60)
            case 1:
                return "assistant", [{"type": "text", "text": self.text(20, 60, 120)}]
            case 2:
                call = {"type": "tool_use", "id": f"t{number}", "name": "Bash"}
                return "assistant", [call | {"input": {"command": self.text(6)}}]
            case _:
                told = {"type": "tool_result", "tool_use_id": f"t{number - 1}"}
                return "user", [told | {"content": self.text(10, 50, 150)}]


def write(folder: Path, talk: Talk, messages: int) -> None:
    for session in range(messages // PER_SESSION):
        with (folder / f"{session}.jsonl").open("w") as file:
            for number in range(PER_SESSION):
                role, content = talk.content(number)
                line = {
                    "parentUuid": f"{session}-{number - 1}" if number else None,
                    "isSidechain": False,
                    "cwd": f"/work/project-{session % 7}",
                    "sessionId": f"{session:08x}-0000-4000-8000-000000000000",
                    "type": role,
                    "message": {"role": role, "content": content},
                    "uuid": f"{session}-{number}",
                    "timestamp": f"2025-{1 + session % 12:02}-{1 + session % 28:02}"
                    f"T10:{number // 60:02}:{number % 60:02}.000Z",
                }
                file.write(json.dumps(line) + "\n")


async def measure(root: Path, folder: Path, queries: list[str]) -> None:
    async with pagefault.open(root) as memory:
        for what, dry_run in (("a dry run", True), ("importing", False), ("again", False)):
            began = time.process_time()
            report = await memory.import_history([folder], dry_run=dry_run)
            seconds = time.process_time() - began
            tell(f"{what}: {(report.messages + report.known) / seconds:,.0f} messages/s")
            tell(f"  {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10} MiB")
        for what, wanted in FILTERS.items():
            taken = []
            for query in queries:
                began = time.process_time()
                await memory.recall(query, limit=10, wanted=SearchFilter(**wanted))  # type: ignore[arg-type]
                taken.append(1_000 * (time.process_time() - began))
            taken.sort()
            half, most = taken[len(taken) // 2], taken[int(len(taken) * 0.95)]
            tell(f"{what}: p50 {half:.1f} ms, p95 {most:.1f} ms")


def main() -> None:
    messages = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    talk = Talk(random.Random(5))
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "sessions"
        folder.mkdir()
        write(folder, talk, messages)
        queries = [talk.query() for _ in range(QUERIES)]
        asyncio.run(measure(Path(place) / "memory", folder, queries))


if __name__ == "__main__":
    main()
