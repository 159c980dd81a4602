"""The contract suite for embedders: subclass it and provide the fixture."""

from __future__ import annotations

from typing import Final

import numpy as np
import pytest

from pagefault.engine.embedding import Embedder, TextKind

TEXTS: Final = (
    "We picked Postgres for the ledger.",
    "The harbour in Lisbon was full of boats.",
    "我们决定使用PostgreSQL，不用MySQL。",
    "Κάθε Παρασκευή πηγαίνουμε για κολύμπι.",
    "🙂👨‍👩‍👧‍👦🇵🇹",
    "ok",
    "line\r\nline\u2028line\x85 a\u0301 \x00",
    "word " * 3_000,
)
KINDS: Final[tuple[TextKind, ...]] = ("query", "page")
ROUNDING: Final = 1e-4


class EmbedderContract:
    @pytest.fixture
    def embedder(self) -> Embedder:
        raise NotImplementedError

    def test_it_has_a_name(self, embedder: Embedder) -> None:
        assert embedder.name
        assert embedder.name == embedder.name.strip()

    @pytest.mark.parametrize("kind", KINDS)
    def test_a_row_for_each_text_of_length_one(self, embedder: Embedder, kind: TextKind) -> None:
        rows = embedder.embed(TEXTS, kind=kind)
        assert rows.shape[0] == len(TEXTS)
        assert rows.shape[1] > 0
        assert rows.dtype == np.float32
        lengths = np.linalg.norm(rows, axis=1)
        telling = lengths > 0
        assert telling[:2].all(), "of plain English something can be told"
        assert np.allclose(lengths[telling], 1, atol=ROUNDING)

    @pytest.mark.parametrize("kind", KINDS)
    def test_the_same_text_has_the_same_row(self, embedder: Embedder, kind: TextKind) -> None:
        first, again = embedder.embed(TEXTS, kind=kind), embedder.embed(TEXTS, kind=kind)
        assert np.array_equal(first, again)

    @pytest.mark.parametrize("kind", KINDS)
    def test_a_batch_is_as_one_by_one_and_in_order(
        self, embedder: Embedder, kind: TextKind
    ) -> None:
        together = embedder.embed(TEXTS, kind=kind)
        for row, text in zip(together, TEXTS, strict=True):
            [alone] = embedder.embed([text], kind=kind)
            assert np.allclose(row, alone, atol=ROUNDING)
        backwards = embedder.embed(TEXTS[::-1], kind=kind)
        assert np.allclose(together, backwards[::-1], atol=ROUNDING)

    def test_a_text_that_stands_twice_has_two_rows(self, embedder: Embedder) -> None:
        rows = embedder.embed([TEXTS[0], TEXTS[1], TEXTS[0]], kind="page")
        assert np.allclose(rows[0], rows[2], atol=ROUNDING)
        assert not np.allclose(rows[0], rows[1], atol=ROUNDING)

    def test_nothing_can_be_told_of_an_empty_text(self, embedder: Embedder) -> None:
        rows = embedder.embed(["", TEXTS[0], " \n\t"], kind="page")
        assert not rows[[0, 2]].any()
        assert np.allclose(rows[1], embedder.embed([TEXTS[0]], kind="page")[0], atol=ROUNDING)

    def test_no_text_is_no_row(self, embedder: Embedder) -> None:
        assert len(embedder.embed([], kind="page")) == 0

    def test_what_is_alike_is_nearer(self, embedder: Embedder) -> None:
        asked, like, other = embedder.embed(
            [
                "Which database did we pick?",
                "the database we did pick",
                "Swimming on Friday, perhaps.",
            ],
            kind="page",
        )
        assert asked @ like > asked @ other
