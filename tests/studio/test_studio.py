"""Every task of the studio, as somebody does it: by keys, by the mouse, on a real memory."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from functools import partial
from pathlib import Path
from unittest.mock import AsyncMock

import pytest

pytest.importorskip("textual", reason="the extra `studio` is not installed")

from pagefault import Memory
from pagefault.service.bootstrap import open_memory
from pagefault.studio.lines import Lines
from pagefault.studio.rows import Listed, Row
from pagefault.views.shown import SegmentKind
from tests.studio.seat import studio

pytestmark = pytest.mark.slow


async def test_travelling_shows_what_each_request_held(root: Path) -> None:
    async with studio(root) as seat:
        app = seat.app
        assert app.strip.shows is not None
        assert app.timeline.shows is not None
        assert app.strip.shows.is_next
        columns = app.timeline.shows.map.columns
        await seat.sees("Window now", "And goodbye.")
        for _ in range(3):
            await seat.press("left")
        there = columns[-4]
        await seat.until(lambda: bool(app.strip.shows and app.strip.shows.segments))
        async with open_memory(root, read_only=True) as memory:
            moment = await (await memory.session("workshop", create=False)).at(seq=there.seq)
        assert app.strip.shows.request.tokens == moment.request_tokens == there.tokens
        shown = {page for one in app.strip.shows.segments for page in one.pages}
        assert shown == {one.page_id for one in moment.pages}
        await seat.sees(f"Window at request {there.last}", f"{len(moment.pages)} pages at request")
        # One of the requests asked for a page that had left: it is told apart, and marked.
        back = max(at for at, count in enumerate(app.timeline.shows.brought) if count)
        app._go(back)
        await seat.until(lambda: bool(app.strip.shows and app.strip.shows.segments))
        assert app.strip.shows.tokens_of(SegmentKind.BROUGHT_BACK) > 0
        await seat.sees("brought back")
        await seat.pilot.click(app.timeline, offset=(3, 2))
        await seat.sees("Window at request 0")
        await seat.press("n")
        await seat.sees("Window now")


FILTERS = {
    "w03": {"msg_1"},
    "topic:oak": {"msg_26"},
    "task:42": {"msg_1"},
    "on:2026-03-03": {"msg_5", "msg_6"},
    "since:2026-03-11 until:2026-03-11": {"msg_21", "msg_22"},
    "kettle scope:all": {"art_1"},
    "source:notes": {"art_1"},
    "source:model_generated on:2026-03-02": {"msg_4"},
    "msg_7": {"msg_7"},
}
MISTYPED = {"topik:oak": "topic, task, on", "scope:world": "session, all"}


def _shows_more(lines: Lines, than: int) -> bool:
    return lines._shows > than and isinstance(lines._source, Listed)  # not a window that came late


async def test_a_filter_finds_what_it_says_and_one_mistyped_says_what_there_is(root: Path) -> None:
    async with studio(root) as seat:
        await seat.sees("pages now")
        shown = seat.app.pages.lines
        for typed, found in FILTERS.items():
            before = shown._shows
            await seat.press("slash")
            await seat.types(typed)
            await seat.until(partial(_shows_more, shown, before))
            assert {row.cells[0] for row in await shown._source.rows(0, len(found)) if row} == found
        await seat.press("escape")
        await seat.sees("pages now")
        for typed, said in MISTYPED.items():
            await seat.press("slash")
            await seat.types(typed)
            await seat.hears(said)


async def test_a_filter_that_finds_nothing_says_what_searches_more(root: Path) -> None:
    async with studio(root) as seat:
        await seat.sees("pages now")
        await seat.press("slash")
        await seat.types("topic:nowhere")
        await seat.sees("0 found in this session · scope:all searches every session · Escape")
        await seat.press("escape", "slash")
        await seat.types("topic:nowhere scope:all")
        await seat.sees("0 found in every session · Escape")


async def test_a_page_is_read_in_full_pinned_and_leads_to_others(root: Path) -> None:
    async with studio(root) as seat:
        await seat.press("4", "slash")  # a filter is of the pages, whatever tab is open
        await seat.types("msg_1")
        await seat.sees("Mira · 2026-03-01 09:00 · turn 0", "tasks  #42")
        await seat.press("enter")
        await seat.sees("history", "faulted")
        await seat.press("escape")
        for said in ("pinned msg_1: it stays", "unpinned msg_1: it may leave"):
            await seat.press("p")
            await seat.hears(said)
        await seat.sees("tasks  #42")
        await seat.press("t")
        await seat.sees("Related to msg_1", "task   #42")
        await seat.press("enter")
        await seat.sees("1 found in this session")
        assert seat.app.pages.filter.value == "task:#42"
        await seat.press("escape", "w")
        await seat.sees("pages, newest first", "And goodbye.")


async def test_claims_are_validated_edited_retracted_and_brought_back(root: Path) -> None:
    async with studio(root) as seat:
        await seat.press("2")
        await seat.sees("2 standing, 1 of them proposed", "v: confirm it on your own word")
        await seat.press("v")
        await seat.sees("Validate clm_2? a brass lamp", "Yes, confirm it")
        await seat.press("enter")
        await seat.sees("2 standing, 0 of them proposed")
        await seat.press("v")
        await seat.hears("Validate does not apply to")
        await seat.press("down")
        await seat.sees("clm_1 · standing", "msg_1  We decided on oak for the shelves")
        await seat.press("e")
        await seat.types("oak, oiled")
        await seat.hears("clm_4 replaces clm_1")
        await seat.press("home")
        await seat.sees("clm_4 · standing", "oak, oiled")
        await seat.press("x")
        await seat.sees("Retract clm_4", "Yes, withdraw it")
        await seat.press("enter")
        await seat.sees("1 standing")
        await seat.press("u")
        await seat.sees("2 standing")
    async with open_memory(root, read_only=True) as memory:
        claims = await (await memory.session("workshop", create=False)).claims()
    standing = {(one.value, one.authority) for one in claims if one.status == "standing"}
    assert standing == {("oak, oiled", "user"), ("a brass lamp", "user")}


async def test_claims_are_told_below_what_they_rest_on(root: Path) -> None:
    async with open_memory(root) as memory:
        session = await memory.session("workshop")
        made = await session.claim(
            "oak is oiled", evidence=["We decided on oak"], subject="care", derived_from=["clm_1"]
        )
    async with studio(root) as seat:
        await seat.press("2", "t")
        await seat.sees("claims, each below the claims it rests on", "└ Decision: care", "supports")
        await seat.press("x", "enter")
        await seat.sees("clm_1 · retracted")
        await seat.press("down")
        await seat.sees(f"{made} · stale", "why        it rests on clm_1", "rests on   clm_1")
        await seat.press("t")
        await seat.sees("1 standing")


async def test_what_another_process_owns_is_not_written_and_that_is_said(root: Path) -> None:
    async with open_memory(root) as theirs:
        held = await theirs.session("workshop")
        await held.user("This one is mine now.")
        async with studio(root) as seat:
            await seat.press("2")
            await seat.sees("standing")
            before = theirs.records
            await seat.press("x", "enter")
            await seat.hears("Nothing was changed")
            assert "process" in seat.told[-1]
            assert theirs.records == before


async def test_what_others_write_is_seen_without_being_asked_for(root: Path) -> None:
    async with open_memory(root) as theirs, studio(root) as seat:
        await seat.press("w")
        await seat.sees("pages, newest first")
        await (await theirs.session("workshop")).user("Written elsewhere.")
        await seat.press("question_mark")  # a dialog is no reason not to look
        await seat.app._look()
        await seat.press("escape")
        await seat.sees("Written elsewhere.")


async def test_a_review_says_what_changed_shipped_and_failed(root: Path) -> None:
    async with studio(root) as seat:
        await seat.press("3")
        await seat.sees("1 file changed · 1 shipped · 1 failed", "edited src/shelf.py")
        await seat.sees("git commit -m Shelves", "pytest: 3 passed, 1 failed")
        await seat.press("f")
        await seat.sees("only failed", "failing    test_oak")
        assert "git commit" not in seat.screen()
        await seat.press("enter")
        await seat.sees("history")
        await seat.press("escape", "y")
        await seat.sees("What was said", "Without tool results", "Mira · 2026-03-01 09:00 · msg_1")
        await seat.press("escape", "h")
        await seat.types(str(root.parent))
        await seat.hears("HANDOFF_workshop_")
        [handed] = root.parent.glob("HANDOFF_workshop_*.md")
        assert handed.read_text().startswith("# Handoff")
        assert "test_oak" in handed.read_text()
        await seat.press("f", "c", "o")
        await seat.until(lambda: seat.app.pages.filter.value == '"src/shelf.py"')
        await seat.sees("found in this session")


async def test_imports_rules_and_modes_are_kept_from_here(root: Path) -> None:
    async with studio(root) as seat:
        await seat.press("4")
        await seat.sees(
            "1 imported session, 1 not approved", "waiting", "all sessions, including new"
        )
        await seat.press("end", "enter")
        await seat.sees("Let the model see it")
        await seat.press("enter")
        await seat.sees("0 not approved")
        await seat.press("home", "down", "down", "enter")
        await seat.sees("How long to keep pages:")
        await seat.types("90d")
        await seat.sees("90 days")
        await seat.press("home", "enter")
        await seat.sees("Memory mode:", "incognito: likewise", "off: neither")
        await seat.press("down", "down", "enter")
        await seat.sees("memory paused")
    async with open_memory(root, read_only=True) as memory:
        assert [one.is_approved for one in await memory.imports()] == [True]
        assert [rule.days for rule in await memory.retention()] == [90]
        row = next(row for row in await memory.sessions() if row.name == "workshop")
        assert await memory.control_of(row.session_id) == "paused"


async def test_what_needs_a_look_leads_to_where_it_is_dealt_with(root: Path) -> None:
    async with studio(root) as seat:
        await seat.press("a")
        await seat.sees("1 imported session not approved yet.", "What to do")
        rows = seat.app.panes["concerns"].lines
        assert rows.row is not None
        await seat.press("end", "enter")
        await seat.sees("Enter changes the selected line")


async def test_every_command_is_in_the_palette_and_every_key_in_the_help(root: Path) -> None:
    async with studio(root) as seat:
        await seat.press("question_mark")
        await seat.sees("previous or next request", "Claims", "validate, edit, retract")
        await seat.press("escape", "ctrl+p")
        await seat.pilot.press(*"keeping")
        await seat.sees("Modes, retention, imports")
        await seat.pilot.pause(0.2)
        await seat.press("enter")
        await seat.sees("Enter changes the selected line")


async def test_another_session_is_looked_at(root: Path) -> None:
    async with studio(root) as seat:
        await seat.press("S")
        await seat.sees("Which session?", "another")
        row = next(r for r in await seat.app.desk.feed.sessions() if r.name == "another")
        options = seat.app.screen.query_one("OptionList")
        options.highlighted = options.get_option_index(row.session_id)  # type: ignore[attr-defined]
        await seat.press("enter")
        await seat.sees("pagefault studio · another · 0 turns", "No requests yet.")


async def test_hostile_text_is_neither_markup_nor_a_command_of_the_terminal(root: Path) -> None:
    async with studio(root) as seat:
        await seat.press("slash")
        await seat.types("msg_3")
        await seat.sees("[bold red]not markup[/] \\x1b[31m")
        assert all(char.isprintable() or char == "\n" for char in seat.screen())


class Everything:
    """A hundred thousand lines, and which of them were asked for."""

    count = 100_000

    def __init__(self) -> None:
        self.asked: set[int] = set()

    async def rows(self, first: int, number: int) -> list[Row | None]:
        self.asked.update(range(first, min(first + number, self.count)))
        return [Row(None, (f"line {n}",)) for n in range(first, first + number)]


async def test_a_list_reads_what_is_seen_and_no_more(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    every = Everything()
    async with studio(root) as seat:
        await seat.sees("pages now")
        # A memory that is still being read would show its own pages in their place.
        monkeypatch.setattr(seat.app.pages, "refill", AsyncMock())
        reading = [one for one in seat.app.workers if one.group == "pages-pane-refill"]
        await seat.until(lambda: all(one.is_finished for one in reading))
        lines = seat.app.pages.lines
        lines.show(every)
        await seat.until(lambda: 0 in every.asked)
        await seat.press("end")
        await seat.until(lambda: 99_999 in every.asked)
        assert lines.row is not None
        await seat.press("pageup")
        await seat.pilot.pause(0.05)
        assert len(every.asked) <= 5 * 32, "chunks of what was seen at the two ends"


def _away() -> AbstractAsyncContextManager[Memory]:
    raise AssertionError("nothing is opened for writing by looking")


async def test_looking_at_everything_writes_nothing(root: Path) -> None:
    before = {p: p.read_bytes() for p in (root / "log").rglob("*") if p.is_file()}
    async with studio(root, writing=_away) as seat:
        for tab, text in (
            ("1", "pages now"),
            ("2", "standing"),
            ("3", "shipped"),
            ("4", "not approved"),
            ("5", "to look at"),
        ):
            await seat.press(tab)
            await seat.sees(text)
    assert {p: p.read_bytes() for p in (root / "log").rglob("*") if p.is_file()} == before
