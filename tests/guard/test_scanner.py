"""The scanner as a layer: what it is asked, and what its answers become; by a stand-in that speaks
as the package does, and by the package itself where it is installed.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from pagefault.guard.layers import layers_of
from pagefault.guard.scanner import PACKAGE, Kingfisher, is_installed
from pagefault.guard.screen import Screen
from pagefault.model.kinds import RedactLevel

SECRET = "zebra_" + "4kQ9" * 6


@dataclass
class _Match:
    rule_id: str
    location: dict[str, int]


@dataclass
class _StandIn:
    """`kingfisher_sdk`, as far as we ask it: one rule, which finds what begins so."""

    made: list[dict[str, Any]] = field(default_factory=list)
    scanned: list[bytes] = field(default_factory=list)
    rule: str = "rules/kingfisher.zebra.1"
    fails: bool = False

    def module(self) -> ModuleType:
        module = ModuleType(PACKAGE)
        module.Rules = self.rules  # type: ignore[attr-defined]
        module.Scanner = lambda rules: self  # type: ignore[attr-defined]
        module.__spec__ = type(sys.__spec__)(PACKAGE, None)
        return module

    def rules(self, *, cache: bool, cache_dir: str | None) -> str:
        self.made.append({"cache": cache, "cache_dir": cache_dir})
        return "rules"

    def scan(self, raw: bytes) -> Iterator[_Match]:
        self.scanned.append(raw)
        if self.fails:
            raise RuntimeError(raw)
        for match in re.finditer(rb"zebra_\w+", raw):
            yield _Match(self.rule, {"start_offset": match.start(), "end_offset": match.end()})


@pytest.fixture
def standin(monkeypatch: pytest.MonkeyPatch) -> _StandIn:
    standin = _StandIn()
    monkeypatch.setitem(sys.modules, PACKAGE, standin.module())
    return standin


@pytest.mark.parametrize("before", ["", "of Zoë, 数据 \U0001f600: ", "half a pair \ud800, "])
def test_offsets_in_bytes_become_those_of_characters(standin: _StandIn, before: str) -> None:
    text = f"{before}it is {SECRET}, as told"
    [found] = Kingfisher(None).find(text)
    assert text[found.start : found.end] == SECRET
    assert found.rule == "zebra.1"


@pytest.mark.parametrize(
    ("told", "rule"), [("kingfisher.aws.2", "aws.2"), ("odd rule!", "odd-rule-")]
)
def test_a_rule_is_called_by_what_a_mark_can_hold(standin: _StandIn, told: str, rule: str) -> None:
    standin.rule = told
    [found] = Kingfisher(None).find(f"it is {SECRET}")
    assert found.rule == rule
    cleaned = Screen({}, b"key", [Kingfisher(None)]).clean(f"it is {SECRET}")
    assert re.fullmatch(rf"it is \[REDACTED:{re.escape(rule)}:[0-9a-f]{{8}}\]", cleaned)


def test_it_is_loaded_once_with_the_first_text_that_it_may_be_for(
    standin: _StandIn, tmp_path: Path
) -> None:
    layer = Kingfisher(tmp_path)
    screen = Screen({}, b"key", [layer])
    assert screen.clean("We meet at noon, as ever, in the harbour.") == (
        "We meet at noon, as ever, in the harbour."
    )
    assert standin.made == [], "nothing of that text can be a key"
    screen.clean(f"it is {SECRET}")
    screen.clean(f"it is {SECRET} again")
    assert standin.made == [{"cache": True, "cache_dir": str(tmp_path)}]
    assert all(SECRET.encode() in raw for raw in standin.scanned)


def test_where_it_fails_the_text_is_withheld_and_none_of_it_told(standin: _StandIn) -> None:
    standin.fails = True
    screen = Screen({}, b"key", [Kingfisher(None)])
    assert screen.clean(f"it is {SECRET}").startswith("[WITHHELD:")
    assert (screen.withheld, screen.failure) == (1, "kingfisher: RuntimeError")


def test_a_text_that_is_still_coming_is_not_settled_by_it(standin: _StandIn) -> None:
    assert Screen({}, b"key", [Kingfisher(None)]).clean_front(f"it is {SECRET}, and") == (
        "",
        f"it is {SECRET}, and",
    )


def test_it_is_a_layer_where_it_is_installed(standin: _StandIn) -> None:
    assert is_installed()
    assert [one.name for one in layers_of(RedactLevel.DETECT)][-1] == "kingfisher"
    assert layers_of(RedactLevel.KNOWN) == []


@pytest.mark.skipif(not is_installed(), reason="the extra `scanner` is not installed here")
def test_the_package_itself_finds_a_key_where_it_stands() -> None:
    key = "glpat-" + "x7Kq2mR9tV4wZ1bN8cLd"
    text = f"Zoë's token is {key}, as told"
    found = Kingfisher(None).find(text)
    assert any(key in text[one.start : one.end] for one in found)
