"""VM:MANIFEST_JSON: the mapped pages and the available ones.

`manifest.schema.json` beside this file is its JSON Schema. It is strict JSON on one line, without
angle brackets, so nothing in it can close its tag.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Any, Final

from pagefault.guard.neutralise import neutralise
from pagefault.model.defaults import IMPORTANCE
from pagefault.model.kinds import Kind, Level
from pagefault.model.page import Page, PageRow
from pagefault.model.residency import tier_of
from pagefault.pack.envelope import dump, own_level, told_levels

ENTRIES_MAX: Final = 64
"""The most unmapped pages that are listed. Search finds the others."""

PREFER_LEVELS: Final = (2, 1, 0)


@dataclass(frozen=True, slots=True)
class Policies:
    """What the model may fault: exactly the enforced limits."""

    faults_allowed: bool
    max_faults_per_turn: int
    upgrade_budget_tokens: int


@dataclass(frozen=True, slots=True)
class Listed:
    """An unmapped page, and the hint for choosing it."""

    row: PageRow
    hint: str


def schema() -> dict[str, Any]:
    """The manifest's JSON Schema, which ships with the package."""
    text = files("pagefault.pack").joinpath("manifest.schema.json").read_text("utf-8")
    found: dict[str, Any] = json.loads(text)
    return found


def manifest(
    session_id: str, mapped: Iterable[Page], listed: Sequence[Listed], policies: Policies
) -> str:
    """The manifest of a request that shows `mapped` and offers `listed`."""
    document = {
        "session_id": session_id,
        "working_set": [mapped_entry(page) for page in mapped],
        "available_pages": [listed_entry(item) for item in listed],
        "policies": {
            "faults_allowed": policies.faults_allowed,
            "max_faults_per_turn": policies.max_faults_per_turn,
            "upgrade_budget_tokens": policies.upgrade_budget_tokens,
            "prefer_levels": list(PREFER_LEVELS),
        },
    }
    return harmless(dump(document))


def harmless(json_text: str) -> str:
    """The same JSON with its angle brackets, which only strings can have, escaped."""
    return json_text.replace("<", "\\u003c").replace(">", "\\u003e")


def mapped_entry(page: Page) -> dict[str, Any]:
    row = page.row
    entry: dict[str, Any] = {
        "page_id": row.page_id,
        "modality": str(row.modality),
        "level": int(level_of(page)),
        "tokens_est": row.tokens,
    }
    if row.importance != IMPORTANCE:
        entry["importance"] = round(row.importance, 2)
    return entry


def listed_entry(item: Listed) -> dict[str, Any]:
    row = item.row
    return {
        "page_id": row.page_id,
        "modality": str(row.modality),
        "tier": str(tier_of(row)),
        "levels": told_levels(row),
        "hint": neutralise(item.hint)[:400],
    }


def level_of(page: Page) -> Level:
    """The level of a page's text: a summary or a representation shows less than its sources."""
    if page.derived is not None and page.derived.level:
        return Level(page.derived.level)
    return Level.ABSTRACT if page.row.kind is Kind.SUMMARY else own_level(page.row)
