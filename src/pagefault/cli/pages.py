"""`pagefault pages`: list, show, search, pin, unpin, compress."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pagefault.cli.app import (
    App,
    Group,
    called,
    either,
    find_row,
    find_session,
    json_option,
    page_argument,
    session_either,
    session_option,
)
from pagefault.cli.asking import (
    JSON,
    RELEVANCE,
    asking_options,
    instead_of,
    profile_option,
    search_words,
)
from pagefault.cli.compress import compress
from pagefault.cli.moments import time_of
from pagefault.cli.proxied import CLIENT_DECIDES, QUOTED_SOON, resident_pages
from pagefault.cli.term import iso, local_said, plural
from pagefault.cli.wording import LIMIT
from pagefault.model.ids import PageId

if TYPE_CHECKING:
    from collections.abc import Collection

    from pagefault.model.kinds import Tier
    from pagefault.model.page import Page, PageRow
    from pagefault.service.session import Session

_ALL = 2**31

topic_option = click.option("--topic", default="", help="Only pages on this topic.")
task_option = click.option(
    "--task", default="", help="Only pages that mention this task: #42 or 42, ABC-7."
)


@click.group(cls=Group)
def pages() -> None:
    """List, show, search and pin pages.

    A page is one message or document. Its id (msg_302) is what the model cites.
    """


@pages.command("ls")
@session_either
@session_option
@click.option(
    "-n", "--limit", type=click.IntRange(min=1), default=50, show_default=True, help=LIMIT
)
@click.option("--all", "everything", is_flag=True, help="List all pages, ignoring --limit.")
@topic_option
@task_option
@json_option
def ls(
    app: App,
    session_named: str | None,
    session_name: str | None,
    limit: int,
    everything: bool,
    topic: str,
    task: str,
) -> None:
    """List the latest pages of a session, in order.

    Without SESSION, the last one used (forks and MCP notes excluded).

    JSON: {session, proxied, total, pages: [{page_id, turn, role, kind, speaker, occurred_at,
    tokens, importance, origin, tier, at, part, parts, resident, pinned, history (its text was
    replaced by another), hint}]}.
    """

    async def read() -> dict[str, Any]:
        async with app.reading() as memory:
            found = await find_row(memory, either(session_named, session_name))
            session = await find_session(memory, found.session_id)
            proxied = await memory.proxied(session)
            count = _ALL if everything else limit
            rows = await memory.pages(
                session, limit=count, newest_first=True, topic=topic, task=task
            )
            resident = await resident_pages(memory, session)
            pinned = set(session.pinned())
            tiers = await session.tiers([row.page_id for row in rows])
            return {
                "session": session.called,
                "proxied": proxied is not None,
                "total": found.pages if len(rows) == count else len(rows),  # less the forgotten
                "pages": [
                    await _listed(session, row, tiers[row.page_id], resident, pinned)
                    for row in rows[::-1]
                ],
            }

    found = app.run(read())
    if app.as_json:
        app.term.data(found)
        return
    app.term.table(
        ["id", "turn", "who", "tokens", "state", "begins"],
        [
            [
                page["page_id"],
                str(page["turn"]),
                page["speaker"] or page["role"],
                f"{page['tokens']:,}",
                _state(page),
                page["hint"],
            ]
            for page in found["pages"]
        ],
        right="turn tokens",
    )
    shown = len(found["pages"])
    more = f" of {found['total']:,}; --all shows them all" if shown < found["total"] else ""
    app.term.note(f"{plural(shown, 'page')}{more} in {called(found['session'])}")
    if found["proxied"]:
        app.term.note(f"{CLIENT_DECIDES}; `pagefault status` shows what was left out")


@pages.command("show")
@page_argument()
@session_option
@click.option(
    "--level",
    type=click.IntRange(0, 3),
    default=0,
    show_default=True,
    help="0 full, 1 reduced, 2 abstract, 3 reference. If that form does not exist, the "
    "next fuller one.",
)
@click.option(
    "--at",
    "when",
    metavar="WHEN",
    default="",
    help="Show it as of WHEN: a turn, seq:345, checkpoint:NAME or a time, as for `pagefault at`.",
)
@click.option("--text", "text_only", is_flag=True, help="Print only the text, byte for byte.")
@click.option(
    "--out",
    metavar="FILE",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Write an artifact's bytes to FILE, which must not exist.",
)
@json_option
def show(
    app: App,
    page_id: str,
    session_name: str | None,
    level: int,
    when: str,
    text_only: bool,
    out: Path | None,
) -> None:
    """Show a page: its text and what is known about it.

    With --at, for a message that was edited since, shows the text of that time, which has a page of
    its own.

    JSON: as `pages ls`, with session, page_asked, level_asked, level, text, title, part_of,
    artifact (whether it has bytes beside its text), mime_type and size_bytes (of those, else of the
    text), label, access_count, last_accessed, dimensions, duration_seconds, made_of (the pages it
    was made of), made_by (the model that wrote it, "" if none did); null if unknown.
    """
    if out is not None:
        _write_bytes(app, page_id, session_name, out)

    async def read() -> tuple[dict[str, Any], Page, int, str]:
        async with app.reading() as memory:
            session = await find_session(memory, session_name)
            shown = PageId(page_id)
            if when:
                shown = (await session.page_at(page_id, **time_of(when))).page_id
            page = await session.page(shown, details=True)
            pinned = session.pinned()
            resident = await resident_pages(memory, session)
            tier = (await session.tiers([shown]))[shown]
            listed = await _listed(session, page.row, tier, resident, pinned, page)
            told = {"session": session.called, **listed}
            served, text, _ = await session.at_level(shown, level)
            return told, page, int(served), text

    told, page, served, text = app.run(read())
    if app.as_json:
        del told["hint"]
        told |= {"page_asked": page_id, "level_asked": level, "level": served, "text": text}
        told |= {"title": page.title, "part_of": page.part_of or None}
        told |= {"artifact": bool(page.blob), **_details(page)}
        app.term.data(told)
    elif text_only:
        app.term.exact(text)
    else:
        _print_page(app, told, page, text)
        if served > level:
            app.term.note(f"its text only describes the bytes: that is level {served} at most")
        elif served < level:
            app.term.note(f"level {level} would say the same; this is level {served}")


def _details(page: Page) -> dict[str, Any]:
    accessed = page.last_accessed
    return {
        "mime_type": page.mime_type,
        "size_bytes": page.size_bytes,
        "label": None if page.label is None else str(page.label),
        "access_count": page.access_count,
        "last_accessed": iso(round(accessed.timestamp() * 1000)) if accessed else None,
        "dimensions": list(page.dimensions) if page.dimensions else None,
        "duration_seconds": page.duration_seconds,
        "made_of": list(page.derived.provenance) if page.derived is not None else None,
        "made_by": page.derived.made_by if page.derived is not None else None,
    }


def _write_bytes(app: App, page_id: str, session_name: str | None, out: Path) -> None:
    data = app.read(session_name, lambda s: s.artifact_bytes(page_id))
    try:
        with out.open("xb") as file:
            file.write(data)
    except FileExistsError:
        raise click.UsageError(f"{out} is there already.") from None
    app.term.note(f"{len(data):,} bytes of {page_id} in {out}")


def _print_page(app: App, told: dict[str, Any], page: Page, text: str) -> None:
    term = app.term
    facts = [
        f"{page.speaker or page.row.role}"
        + (f", {local_said(page.occurred_at)}" if page.occurred_at else ""),
        f"turn {page.row.turn}",
        plural(page.row.tokens, "token"),
        f"from {page.row.origin}"
        + (f", label {page.label}" if page.label not in (None, page.row.origin) else ""),
        _state(told) or ("proxied" if told["resident"] is None else "not in the window"),
    ]
    if page.blob and page.mime_type:
        facts.append(f"{page.mime_type}, {page.size_bytes:,} bytes")
    if page.dimensions:
        facts.append("{} × {} pixels".format(*page.dimensions))
    if page.duration_seconds is not None:
        facts.append(f"{page.duration_seconds:,.1f} s")
    if page.derived is not None and (of := page.derived.provenance):
        facts.append(f"made of {of[0]}" + (f"…{of[-1]}" if len(of) > 1 else ""))
        facts += [f"by {page.derived.made_by}"] if page.derived.made_by else []
    if page.title:
        facts.insert(1, repr(page.title))
    if page.row.parts > 1:
        facts.append(f"part {page.row.part + 1} of {page.row.parts}")
    head = term.style(" · ".join(facts), "dim")
    term.line(f"{term.style(page.page_id, 'bold')}  {head}")
    term.line()
    term.text(text)


@pages.command(
    "search",
    help=f"""Find pages that bear on some WORDS, best first.

    Like `pagefault recall search`, but optionally limited to a topic or task. To list all of these
    without words: `pagefault recall topic`, `pagefault recall task`.

    {RELEVANCE}

    {JSON}
    """,
)
@click.argument("words", nargs=-1, required=True)
@session_option
@topic_option
@task_option
@profile_option
@asking_options
def search(app: App, /, words: tuple[str, ...], **options: Any) -> None:
    search_words(app, words, **options)


@pages.command("pin")
@page_argument()
@session_option
@json_option
def pin(app: App, page_id: str, session_name: str | None) -> None:
    """Keep a page in the window, whatever policy says.

    JSON: {session, page_id, pinned, pins, proxied (then it is quoted with the next message, unless
    the client's request shows it)}.
    """
    _set_pin(app, page_id, session_name, pinned=True)


@pages.command("unpin")
@page_argument()
@session_option
@json_option
def unpin(app: App, page_id: str, session_name: str | None) -> None:
    """Unpin a page: it may leave the window again.

    JSON: {session, page_id, pinned, pins, proxied}.
    """
    _set_pin(app, page_id, session_name, pinned=False)


pages.add_command(compress)


def _set_pin(app: App, page_id: str, session_name: str | None, *, pinned: bool) -> None:
    app.existing_directory()  # a pin creates no memory

    async def write() -> dict[str, Any]:
        async with app.writing() as memory:
            session = await find_session(memory, session_name)
            await (session.pin(page_id) if pinned else session.unpin(page_id))
            return {
                "session": session.called,
                "page_id": page_id,
                "pinned": pinned,
                "pins": session.pinned(),
                "proxied": await memory.proxied(session) is not None,
            }

    told = app.run(write())
    if app.as_json:
        app.term.data(told)
        return
    stays = "is pinned" if told["proxied"] else "stays in the window from the next request on"
    what = stays if pinned else "is no longer pinned"
    app.term.line(f"{page_id} {what} ({told['session']})")
    app.term.note(f"pinned: {', '.join(told['pins']) or 'nothing'}")
    if told["proxied"] and pinned:
        app.term.note(QUOTED_SOON)


# --- pages as objects ---------------------------------------------------------------------------


async def _listed(
    session: Session,
    row: PageRow,
    tier: Tier,
    resident: Collection[str] | None,
    pinned: Collection[str],
    page: Page | None = None,
) -> dict[str, Any]:
    page, first_words = (page, "") if page else await _find(session, row)
    return {
        "page_id": row.page_id,
        "turn": row.turn,
        "role": str(row.role),
        "kind": str(row.kind),
        "speaker": page.speaker if page else "",
        "occurred_at": page.occurred_at if page else "",
        "tokens": row.tokens,
        "importance": row.importance,
        "origin": str(row.origin),
        "tier": str(tier),
        "at": iso(row.at_ms),
        "part": row.part + 1,
        "parts": row.parts,
        "resident": None if resident is None else row.page_id in resident,
        "pinned": row.page_id in pinned,
        "history": bool(row.superseded),
        "hint": first_words,
    }


async def _find(session: Session, row: PageRow) -> tuple[Page | None, str]:
    """A page and its beginning, or a replacement."""
    from pagefault.model.errors import ArchiveMissing, RecordGone
    from pagefault.recall.hint import begins

    try:
        page = await session.page(row.page_id)
    except (ArchiveMissing, RecordGone) as gone:
        return None, instead_of(gone)
    return page, begins(page)


def _state(page: dict[str, Any]) -> str:
    words = ["in window"] if page["resident"] else []
    words += ["pinned"] if page.get("pinned") else []
    words += ["edited since"] if page.get("history") else []
    return ", ".join(words)
