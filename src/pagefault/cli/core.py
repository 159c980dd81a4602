"""`pagefault core`: sections that stand in every request, and notes that are searched."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pagefault.cli.app import (
    App,
    WithDefault,
    completer,
    dry_run_option,
    json_option,
    session_argument,
    session_option,
)
from pagefault.cli.term import plural
from pagefault.cli.wording import KEY, LIMIT

if TYPE_CHECKING:
    from pagefault.service.session import Session
    from pagefault.service.turn.core_memory import CoreSection

AREAS = ["personal", "task"]
_area_option = click.option(
    "--area",
    type=click.Choice(["", *AREAS]),
    default="",
    help="Personal facts, or notes about work.",
)


_complete_proposal = completer("proposals")


@click.group(cls=WithDefault, default="show")
def core() -> None:
    """Core memory, which every request shows, and archival memory, which is searched."""


@core.command("show")
@session_argument
@click.option("--proposed", is_flag=True, help="Show proposals that wait for `core accept`.")
@json_option
def show(app: App, session_name: str | None, proposed: bool) -> None:
    """Show the sections of core memory, or the changes proposed for them.

    JSON is a list of objects: section, text, page_id, chars, chars_max, origin, session_id,
    proposed, archived.
    """

    told = app.read(session_name, lambda s: s.core(proposed=proposed))
    if app.as_json:
        app.term.data([section_object(one) for one in told])
        return
    for one in told:
        head = f"{one.page_id} · {len(one.text):,} of {one.chars_max:,} characters"
        app.term.line(f"{app.term.style(one.section, 'bold')}  {app.term.style(head, 'dim')}")
        app.term.text(one.text)
        app.term.line()
    begin = "" if told or proposed else ": `pagefault core append SECTION TEXT` writes the first"
    app.term.note(plural(len(told), "proposal" if proposed else "section") + begin)


@core.command("append")
@click.argument("section")
@click.argument("text")
@session_option
@dry_run_option
@json_option
def append(app: App, section: str, text: str, session_name: str | None) -> None:
    """Add a line to a section, which is created if missing.

    JSON: one object of `core show`.
    """
    told = app.write(session_name, lambda s: s.core_append(section, text, dry_run=app.dry_run))
    _print(app, told)


@core.command("replace")
@click.argument("section")
@click.argument("old")
@click.argument("new")
@session_option
@dry_run_option
@json_option
def replace(app: App, section: str, old: str, new: str, session_name: str | None) -> None:
    """Replace the first OLD in a section with NEW.

    JSON: one object of `core show`.
    """
    told = app.write(session_name, lambda s: s.core_replace(section, old, new, dry_run=app.dry_run))
    _print(app, told)


@core.command("accept")
@click.argument("proposal", metavar="ID", shell_complete=_complete_proposal)
@session_option
@dry_run_option
@json_option
def accept(app: App, proposal: str, session_name: str | None) -> None:
    """Accept a proposed section on your word: `core show --proposed` lists proposals.

    ID is the proposal's, or the name of its section if there is a proposal for it.

    JSON: one object of `core show`.
    """

    async def take(session: Session) -> CoreSection:
        if proposal.startswith("core_"):  # no section can have an id's name
            return await session.core_accept(proposal, dry_run=app.dry_run)
        waiting = await session.core(proposed=True)
        named = [one.page_id for one in waiting if one.section == proposal]
        if len(named) > 1:
            from pagefault.model.errors import BadInput

            raise BadInput(
                f"{len(named)} versions of {proposal!r} are proposed",
                hint=f"say which: {', '.join(named)}; `pagefault core show --proposed` shows them",
            )
        if not named:
            from pagefault.model.errors import NoSuchPage

            raise NoSuchPage(proposal, session.called, what="proposal")
        return await session.core_accept(named[0], dry_run=app.dry_run)

    _print(app, app.write(session_name, take))


@core.command("insert")
@click.argument("text")
@session_option
@_area_option
@click.option("--replaces", metavar="ID", default="", help="Note that this one corrects.")
@click.option("--key", default="", help=KEY)
@dry_run_option
@json_option
def insert(
    app: App, text: str, session_name: str | None, area: str, replaces: str, key: str
) -> None:
    """Write a note to archival memory: it is searchable, but no request shows it by itself.

    JSON: {page_id, session_id, session, text, type, area, origin, created_at, quarantined,
    contradicts (notes that say otherwise about the same thing, by their form)}.
    """
    told = app.write(
        session_name,
        lambda s: s.archival_insert(
            text, area=area, replaces=replaces, key=key, dry_run=app.dry_run
        ),
    )
    if app.as_json:
        app.term.data(asdict(told))
        return
    app.term.line(f"would be {told.page_id}" if app.dry_run else told.page_id)
    if told.contradicts:
        app.term.note(f"may contradict {', '.join(told.contradicts)}: --replaces closes one")


@core.command("search")
@click.argument("query")
@session_option
@click.option("--limit", type=click.IntRange(min=0), default=3, show_default=True, help=LIMIT)
@_area_option
@json_option
def search(app: App, query: str, session_name: str | None, limit: int, area: str) -> None:
    """Search archival memory.

    JSON is a list of objects as `core insert` prints, with relevance (0 to 1).
    """
    from pagefault.service.lookup.names import brief

    found = app.read(session_name, lambda s: s.archival_search(query, limit=limit, area=area))
    if app.as_json:
        app.term.data([asdict(one) for one in found])
        return
    if found:
        app.term.table(
            ["id", "session", "relevance", "says"],
            [
                [
                    one.page_id,
                    brief(one.session) or one.session_id,
                    f"{one.relevance:.2f}",
                    one.text,
                ]
                for one in found
            ],
            right="relevance",
        )
    app.term.note(plural(len(found), "note"))


@core.command("import")
@click.argument("file", type=click.Path(path_type=Path))
@session_option
@click.option(
    "--approve", is_flag=True, help="Vouch for the contents: sections take effect at once."
)
@dry_run_option
@json_option
def import_(app: App, file: Path, session_name: str | None, approve: bool) -> None:
    """Import MemGPT or Letta blocks and archival rows from a JSON file.

    Blocks become sections, and rows become notes. Without --approve, sections are only proposed,
    and notes are imported pages: searchable, but not recalled unasked. The session must exist, as
    for the other commands of `core`.

    JSON: {sections, notes, known (rows that exist already), left_out: [{what, why}]}.
    """
    from pagefault.model.errors import BadInput

    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as problem:
        raise BadInput(f"{file} cannot be read: {problem}") from None
    told = app.write(
        session_name, lambda s: s.import_blocks(text, approve=approve, dry_run=app.dry_run)
    )
    if app.as_json:
        app.term.data(asdict(told))
        return
    brought = f"{plural(len(told.sections), 'section')} and {plural(told.notes, 'note')}"
    app.term.line(f"{brought} {'would be' if app.dry_run else 'are'} imported")
    for one in told.left_out:
        app.term.note(f"{one.what}: {one.why}")


def section_object(one: CoreSection) -> dict[str, Any]:
    return {
        "section": one.section,
        "text": one.text,
        "page_id": one.page_id,
        "chars": len(one.text),
        "chars_max": one.chars_max,
        "origin": one.origin,
        "session_id": one.session_id,
        "proposed": one.proposed,
        "archived": list(one.archived),
    }


def _print(app: App, told: CoreSection) -> None:
    if app.as_json:
        app.term.data(section_object(told))
        return
    state = "proposed" if told.proposed else "the section's text"
    app.term.line(f"{told.page_id} {'would be' if app.dry_run else 'is'} {state}")
    if told.archived:
        app.term.note(f"moved to notes to make room: {', '.join(told.archived)}")
