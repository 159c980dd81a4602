"""What a request costs with which an epoch begins, beside the other first requests of turns.

    python benchmarks/epochs.py WINDOW PAGES [TURNS]

fills a session with so many pages under a temporary folder, then takes turns of a message of 12
words that asks, its request and an answer of 60. It prints as JSON how many of these requests began
an epoch, and the processor time of these and of the others (p50 and p95, in milliseconds).
"""

from __future__ import annotations

import asyncio
import json
import random
import sys
import tempfile
import time
from pathlib import Path
from statistics import median, quantiles

import pagefault
from pagefault.lab.kernel import BATCH, question, words
from pagefault.model.kinds import USER_TYPED, Role
from pagefault.service.turn.drafts import Incoming

TURNS = 300


async def main(window: int, pages: int, turns: int, home: Path) -> None:
    chance = random.Random(pages)
    took: dict[bool, list[float]] = {True: [], False: []}
    async with pagefault.open(home, window=window, sync="os") as memory:
        session = await memory.session("s")
        for first in range(0, pages, BATCH):
            numbers = range(first, min(first + BATCH, pages))
            roles = (Role.ASSISTANT if number % 2 else Role.USER for number in numbers)
            await session.say(
                [Incoming(text=words(chance), role=role) for role in roles], origin=USER_TYPED
            )
        await session.user("What now?")
        await session.request()
        await session.assistant("Nothing.")
        for _ in range(turns):
            await session.user(question(chance, 12))
            epoch, began = (await session.status()).epoch, time.process_time()
            await session.request()
            spent = time.process_time() - began
            took[(await session.status()).epoch > epoch].append(1000 * spent)
            await session.assistant(words(chance))
    line: dict[str, float] = {"window": window, "pages": pages, "epochs": len(took[True])}
    for name, spent in (("epoch_turn", took[True]), ("turn", took[False])):
        line[f"{name}_cpu_ms"] = round(median(spent), 2)
        line[f"{name}_cpu_ms_p95"] = round(quantiles(spent, n=20)[-1], 2)
    sys.stdout.write(json.dumps(line) + "\n")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(prefix="pagefault-epochs-") as folder:
        window, pages, *turns = map(int, sys.argv[1:])
        asyncio.run(main(window, pages, turns[0] if turns else TURNS, Path(folder) / "memory"))
