"""What the studio looks like: whole screens as text, at 60, 100 and 200 columns, with and without
colours, in words.

The screens stand in `screens/`; `UPDATE_SCREENS=write` writes them anew, to be looked at.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

pytest.importorskip("textual", reason="the extra `studio` is not installed")

from textual.color import Color

from pagefault import PageId
from tests.studio.seat import Seat, studio

SCREENS = Path(__file__).parent / "screens"


def _is_as_before(seat: Seat, name: str) -> None:
    path, screen = SCREENS / f"{name}.txt", seat.screen() + "\n"
    if os.environ.get("UPDATE_SCREENS") == "write":
        path.write_text(screen, encoding="utf-8")
    assert screen == path.read_text(encoding="utf-8")


@pytest.mark.parametrize(("columns", "rows"), [(60, 30), (100, 34), (200, 34)])
async def test_a_moment_of_the_past_at_every_width(root: Path, columns: int, rows: int) -> None:
    async with studio(root, size=(columns, rows)) as seat:
        await seat.press("left", "left")
        await seat.sees("Window at request 12", "pages at request 12", "msg_23")
        shown = [one.pages[0] for one in seat.app.pages.window.segments if one.pages]  # type: ignore[union-attr]
        seat.app.pages.lines.cursor = shown.index(PageId("msg_23"))
        await seat.sees("Mira · 2026-03-12 09:00")
        _is_as_before(seat, f"past-{columns}")


async def test_without_colours_every_kind_has_a_letter(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    async with studio(root, size=(100, 34)) as seat:
        await seat.press("left")
        await seat.until(lambda: bool(seat.app.strip.shows and seat.app.strip.shows.segments))
        await seat.sees("B: brought back", "rrrr")
        strips = seat.app.screen._compositor.render_strips()
        colours = {
            colour.get_truecolor()
            for strip in strips
            for segment in strip
            if segment.style is not None
            for colour in (segment.style.color, segment.style.bgcolor)
            if colour is not None
        }
        assert all(len(set(colour)) == 1 for colour in colours), "greys alone"


async def test_in_words_there_are_sentences_in_place_of_bars(root: Path) -> None:
    async with studio(root, size=(100, 34)) as seat:
        await seat.press("d", "left")
        await seat.sees("Window at request 13, turn 12:", "of 1,600 tokens. rules")
        await seat.sees("Request 13 of 15, turn 12:", "same as in the previous request")
        assert not set(seat.screen()) & set("█▁▂▃▄▅▆▇░")


async def test_in_words_nothing_of_a_sentence_is_cut_where_there_is_little_room(root: Path) -> None:
    async with studio(root, size=(60, 20)) as seat:
        await seat.sees("pages now", "sum_1", "sum_2")  # the list has room beside bars and marks
        await seat.press("d")
        await seat.sees("Window now", "free ")


def _luminance(colour: Color) -> float:
    red, green, blue = (
        one / 12.92 if one <= 0.03928 else ((one + 0.055) / 1.055) ** 2.4
        for one in colour.normalized
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


async def test_a_list_can_be_read_whatever_the_theme(root: Path) -> None:
    async with studio(root, size=(100, 34)) as seat:
        await seat.sees("pages now", "sum_1")
        for theme in ("textual-light", "solarized-light", "tokyo-night", "nord"):
            seat.app.theme = theme
            await seat.pilot.pause()
            for y in (0, 1):  # the heads, and the selected line
                for one in seat.app.pages.lines.render_line(y):
                    assert one.style is not None
                    pair = map(Color.from_rich_color, (one.style.color, one.style.bgcolor))
                    dark, light = sorted(map(_luminance, pair))
                    assert (light + 0.05) / (dark + 0.05) >= 3, (theme, one)
