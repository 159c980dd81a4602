"""`pagefault studio` as a command: what it opens, and what it says where it cannot."""

from __future__ import annotations

from pathlib import Path

import pytest

import pagefault.studio
from tests.cli.conftest import Cli


def test_without_the_package_it_says_what_to_type(
    cli: Cli, memory_root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pagefault.studio, "find_spec", lambda name: None)
    refused = cli("--root", memory_root, "studio")
    assert refused.code == 2
    assert "pip install 'pagefault[studio]'" in refused.err


def test_it_opens_the_session_that_is_named_to_be_read(
    cli: Cli, memory_root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("textual", reason="the extra `studio` is not installed")
    from pagefault.cli import studio
    from pagefault.studio.app import StudioApp

    refused = cli("--root", memory_root, "studio")
    assert (refused.code, refused.out) == (2, "")
    assert "needs a terminal" in refused.err
    monkeypatch.setattr(studio, "_has_terminal", lambda: True)
    opened: list[tuple[str, str, bool]] = []

    async def run_async(app: StudioApp) -> None:
        card = await app.desk.feed.card(app.desk.session_id)
        opened.append((card.name, app.theme, app.in_words))
        async with app._writing() as memory:
            assert memory.is_adopted

    monkeypatch.setattr(StudioApp, "run_async", run_async)
    assert cli("--root", memory_root, "studio", "talk", "--theme", "nord", "--words").code == 0
    assert opened == [("talk", "nord", True)]
    assert cli("--root", memory_root, "studio", "nobody").code == 3
    unknown = cli("--root", memory_root, "studio", "--theme", "mud")
    assert unknown.code == 2
    assert "textual-dark" in unknown.err
