"""memory-core-eval, another project's harness, run against pagefault and against its own BM25.

    pip install memory-core-eval    # Apache-2.0; imported here, needed by nothing else
    python -m benchmarks.memory_core_eval FILE [--sample N] [--seed N] [--embedder NAME] [--json]

FILE is a file of LoCoMo conversations; nothing is fetched. Questions are flattened, sampled (in
proportion to their categories, as its published figures are: 100 questions, seed 0) and scored by
the harness; without `--sample` all are asked. Baseline and pagefault get the same questions.

What it measures is easy: of a question's evidence, any one *session* of the conversation among
those of the first k turns. It hands over what was said, by whom and on which day, but no captions
of images, and it counts the questions that have no answer: to find the session that those are about
is counted as right. `pagefault bench retrieval` measures turns.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from mceval.adapters.base import Memory as Found
from mceval.adapters.base import MemoryAdapter, Turn
from mceval.adapters.bm25_baseline import BM25BaselineAdapter
from mceval.datasets.locomo import LOCOMO_CACHE_FILENAME, load_locomo
from mceval.eval.metrics import compute_metrics
from mceval.eval.runner import DEFAULT_TOP_K_VALUES, run_eval

import pagefault
from pagefault import SearchFilter

ROLES: Final = ("user", "assistant", "system")
"""What a turn's role is if it is not the name of who spoke."""

SAID: Final = SearchFilter(kinds=("transcript",))  # a claim is of no turn


class PagefaultAdapter:
    """A session for each conversation. The harness hands the whole conversation over again for each
    question: a session that has heard the same turns is asked again.
    """

    name = "pagefault"

    def __init__(self, memory: pagefault.sync.Memory) -> None:
        self._memory = memory
        self._turns: dict[str, list[Turn]] = {}
        self._heard: dict[str, tuple[pagefault.sync.Session, dict[str, Turn]]] = {}

    def reset(self, namespace: str) -> None:
        self._turns.pop(namespace, None)

    def store(self, namespace: str, turn: Turn) -> str:
        turns = self._turns.setdefault(namespace, [])
        turns.append(turn)
        return f"{namespace}/{len(turns)}"

    def search(
        self, namespace: str, query: str, top_k: int, as_of_date: datetime | None = None
    ) -> list[Found]:
        """The best pages. A search counts `yesterday` from now, so `as_of_date` says nothing."""
        session, said = self._hear(self._turns.get(namespace, []))
        hits = session.recall(query, limit=top_k, wanted=SAID).hits
        found = []
        for hit in hits:
            page_id = hit.page.page_id
            turn = said.get(page_id) or said[session.page(page_id).part_of]
            found.append(
                Found(
                    id=page_id,
                    content=turn.content,
                    score=hit.score,
                    session_id=turn.session_id,
                    turn_idx=turn.turn_idx,
                    session_idx=turn.session_idx,
                )
            )
        return found

    def _hear(self, turns: Sequence[Turn]) -> tuple[pagefault.sync.Session, dict[str, Turn]]:
        """A session that was told these turns, and each turn by its first page."""
        told = repr(turns)
        if told not in self._heard:
            session = self._memory.session(f"conversation-{len(self._heard)}")
            said = {_say(session, turn): turn for turn in turns}
            if self._memory.embedding() is not None:
                self._memory.embed()
            self._heard[told] = session, said
        return self._heard[told]


def _say(session: pagefault.sync.Session, turn: Turn) -> str:
    """Say what the turn says, and tell its first page."""
    say = session.assistant if turn.role == "assistant" else session.user
    return say(
        turn.content,
        speaker="" if turn.role in ROLES else turn.role,
        occurred_at=turn.timestamp.isoformat() if turn.timestamp else "",
    )


# --- running it -----------------------------------------------------------------------------------


@contextmanager
def _adapter(embedder: str | None) -> Iterator[PagefaultAdapter]:
    with pagefault.sync.open(":memory:", embedder=embedder) as memory:
        yield PagefaultAdapter(memory)


def questions(file: Path, sample: int | None, seed: int) -> list[dict[str, Any]]:
    """The harness's questions of these conversations; its loader finds the file where it keeps what
    it has fetched, and so fetches nothing.
    """
    with tempfile.TemporaryDirectory() as folder:
        shutil.copyfile(file, Path(folder) / LOCOMO_CACHE_FILENAME)
        asked: list[dict[str, Any]] = load_locomo(
            sample=sample, cache_dir=Path(folder), seed=seed, stratified=True
        )
        return asked


def measure(adapter: MemoryAdapter, asked: list[dict[str, Any]]) -> dict[str, Any]:
    """The harness's figures, and the same of the questions that something said answers: those of
    LoCoMo's categories 1 to 4.
    """
    results = run_eval(adapter, asked, workers=1, dataset_name="locomo").results
    answerable = [one for one in results if one.question_type != "category_5"]
    return {
        "all": compute_metrics(results, DEFAULT_TOP_K_VALUES),
        "answerable": compute_metrics(answerable, DEFAULT_TOP_K_VALUES),
    }


def main(given: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(description="pagefault and BM25 in memory-core-eval")
    parser.add_argument("file", type=Path, help="LoCoMo conversations")
    parser.add_argument("--sample", type=int, help="so many questions, in proportion; else all")
    parser.add_argument("--seed", type=int, default=0, help="of the sample")
    parser.add_argument("--embedder", help="as of `pagefault config`; else words alone")
    parser.add_argument("--json", action="store_true", help="all figures of the harness")
    args = parser.parse_args(given)
    asked = questions(args.file, args.sample, args.seed)
    with _adapter(args.embedder) as ours:
        adapters: tuple[MemoryAdapter, ...] = (BM25BaselineAdapter(), ours)
        told = {adapter.name: measure(adapter, asked) for adapter in adapters}
    if args.json:
        sys.stdout.write(json.dumps(told) + "\n")
        return
    heads = "".join(f"{f'R@{k}':>8}" for k in DEFAULT_TOP_K_VALUES)
    for which in ("all", "answerable"):
        count = told[ours.name][which]["n_total"]
        sys.stdout.write(f"{which}: {count} questions\n{'':12}{heads}\n")
        for name, figures in told.items():
            overall = figures[which]["overall"]
            row = "".join(f"{overall[f'recall@{k}']:8.1f}" for k in DEFAULT_TOP_K_VALUES)
            sys.stdout.write(f"{name:12}{row}\n")


if __name__ == "__main__":
    main(sys.argv[1:])
