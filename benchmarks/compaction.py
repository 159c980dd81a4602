"""No memory, raw retrieval or compaction: success, proofs and tokens over replays (an A/B/C).

    python benchmarks/compaction.py [FILE …] [--format turns] [--window 2000] [--questions 12]
        [--run-tokens 2000] [--url http://127.0.0.1:8080/v1 --model NAME]

`pagefault.lab.compaction` says what each arm is. For each recording and arm:

 - `shown`: questions of which an answering sentence (of each turn in evidence the one nearest to
   question and answer, as `bench ladder` has it) stands in the request; and `answered`, of which
   the scripted reader quotes one, or cites the turn that has it.
 - `citations_valid`: of the pages that the reader cites, the share that the request shows.
 - `unsupported`: sentences of summaries that stand in no page of their run, and cite none of it;
   of so many (`told`).
 - `tokens` of the request that asks, on average; `spent`, of all requests of the replay together;
   `cpu_ms` of a request that asks.
 - `lost`: why the others failed. "not brought": nothing stands for the turns in evidence, and
   search did not bring them; "header only": a summary does, as its header, or in an index; "not in
   summary": its text is shown and has other sentences; "in window": a turn in evidence is shown,
   and the sentence nearest to the question stands in another.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
from pathlib import Path

from pagefault import RemoteEngine
from pagefault.lab.compaction import ARMS, ArmTally, play
from pagefault.lab.transcripts import read_conversations

FOLDER = Path(__file__).parent.parent / "tests" / "recall" / "recordings"


async def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("files", type=Path, nargs="*")
    parser.add_argument("--format", default="turns")
    parser.add_argument("--window", type=int, default=2_000)
    parser.add_argument("--questions", type=int, default=12, help="of each conversation, at most")
    parser.add_argument("--conversations", type=int, default=1_000)
    parser.add_argument("--run-tokens", type=int, default=0)
    parser.add_argument("--url", default="")
    parser.add_argument("--model", default="")
    asked = parser.parse_args()
    model = RemoteEngine(asked.url, asked.model) if asked.url else None
    for path in asked.files or sorted(FOLDER.glob("*.jsonl")):
        for arm in ARMS:
            told = ArmTally()
            for conversation in read_conversations(path, asked.format)[: asked.conversations]:
                await play(
                    conversation,
                    arm,
                    told,
                    window=asked.window,
                    most=asked.questions,
                    run_tokens=asked.run_tokens,
                    model=model,
                )
            row = {"recording": path.stem, "window": asked.window, "arm": arm.name, **told.row()}
            sys.stdout.write(json.dumps(row) + "\n")
            sys.stdout.flush()


if __name__ == "__main__":
    asyncio.run(main())
