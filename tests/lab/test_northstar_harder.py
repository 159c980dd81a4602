"""The north star's harder variants are shown, and fail where what shows them is taken away."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pagefault import BadInput
from pagefault.lab import northstar_harder
from pagefault.lab.northstar_harder import (
    HarderRun,
    Variant,
    harder_figures,
    read_templates,
    run_harder,
)
from pagefault.lab.phrasings import SHIPPED
from pagefault.recall.search import Searcher
from pagefault.service.facades import reader
from pagefault.service.lookup.knowledge import known_of
from pagefault.service.window.closures import Closures

SEED, WINDOW = 3, 1_800


@pytest.fixture(autouse=True)
def _short(monkeypatch: pytest.MonkeyPatch) -> None:
    """Conversations of fewer turns, which still do not fit their window."""
    for name, turns in {"DECIDING_TURNS": 12, "OTHER_TURNS": 16, "TURNS_MIN": 0}.items():
        monkeypatch.setattr(northstar_harder, name, turns)


async def wrong() -> dict[Variant, str]:
    run = await run_harder(SEED, SHIPPED["spanish"], window=WINDOW)
    assert len(run.asked) == run.recalls == len(Variant)
    assert run.requests_over_window == 0
    return {one.variant: one.wrong for one in run.asked if one.wrong}


async def test_each_question_is_shown_what_it_takes() -> None:
    assert await wrong() == {}


async def test_control_without_sequels_lapses_and_kinds_it_is_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(
        Searcher, "with_sequels", lambda self, scope, query, hits: ([h.page for h in hits], {})
    )
    monkeypatch.setattr(Closures, "lapse_of", lambda self, page_id: "")
    monkeypatch.setattr(
        reader, "known_of", lambda claims, found, said, *_: known_of(claims, found, said)
    )
    assert (await wrong()).items() >= {
        Variant.UNDONE: "only the outdated is shown",
        Variant.CASCADE: "it is shown as if it held",
        Variant.UNDECIDED: "it is told as known",
    }.items()


def test_a_variant_below_the_bar_is_not_reached() -> None:
    assert harder_figures([], 4_000)["changed_frac"] == 0
    told = harder_figures([HarderRun(seed=0, faults=11)], 4_000)
    assert (told["reached"], told["faults_together_max"]) == (False, 11)


def test_templates_of_others_are_read_and_what_is_none_is_refused(tmp_path: Path) -> None:
    phrasing, harder = SHIPPED["club"]
    fields = {name: getattr(phrasing, name) for name in phrasing.__slots__}
    fields["harder"] = {name: getattr(harder, name) for name in harder.__slots__}
    written: dict[str, Any] = json.loads(json.dumps(fields))
    file = tmp_path / "mine.json"
    file.write_text(json.dumps(written))
    read, _ = read_templates(file)
    assert read.topics.keys() == phrasing.topics.keys()
    assert [*read.recall] == [*phrasing.recall]
    del written["harder"]["undo"]
    for text in (json.dumps(written), "[]", "{"):
        file.write_text(text)
        with pytest.raises(BadInput, match="not the sentences of a north star"):
            read_templates(file)


def test_every_phrasing_has_a_topic_for_each_variant_and_what_the_harder_scripts_say() -> None:
    for name, (phrasing, harder) in SHIPPED.items():
        assert len(phrasing.topics) >= len(Variant), name
        assert all(len(set(values)) >= 4 for values, _ in phrasing.topics.values()), name
        assert all("{x}" in said and "{v}" in said for said, _, _ in harder.rests), name
        assert not {said for said, _ in harder.decoys} & {said for said, _ in harder.open_ends}
