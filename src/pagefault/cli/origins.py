"""`pagefault origins`: the origins of pages, raised and revoked by a person."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from pagefault.cli.app import (
    App,
    Command,
    dry_run_option,
    find_row,
    json_option,
    names_of,
    page_argument,
    session_option,
)
from pagefault.cli.term import plural

if TYPE_CHECKING:
    from pagefault.service.root.warden import Descendants, PageOrigin

_JSON = """JSON: {page_id, session, session_id, origin, label, raised, withdrawn, digest, title,
    text, descendants: [{session, session_id, pages}]}."""


@click.group()
def origins() -> None:
    """Where pages come from, and what may rest on them.

    Every page has the origin of the channel that it came through, and a label: the least trusted of
    all that went into it. What tools, the web and imports say is found and shown as data; it is not
    pinned or held true until you have read it and raised it.
    """


@origins.command(cls=Command, help=f"""Show a page, its origin and digest, and all that rests on it.

    {_JSON}
    """)  # fmt: skip
@page_argument()
@session_option
@json_option
def show(app: App, page_id: str, session_name: str | None) -> None:
    app.existing_directory()

    async def work() -> tuple[PageOrigin, dict[str, str]]:
        async with app.reading() as memory:
            row = await find_row(memory, session_name)
            return await memory.origins(row.session_id, page_id), await names_of(memory)

    _print(app, *app.run(work()))


@origins.command("raise", cls=Command, help=f"""Approve what a page says, by its digest.

    `show` prints the digest with the text it belongs to. The page may then be pinned, and be
    evidence for claims of yours, as long as its text stays the same; `revoke` reverts that.

    {_JSON}
    """)  # fmt: skip
@page_argument()
@click.argument("digest")
@session_option
@dry_run_option
@json_option
def raise_(app: App, page_id: str, digest: str, session_name: str | None) -> None:
    app.existing_directory()

    async def work() -> tuple[PageOrigin, dict[str, str]]:
        async with app.writing(dry_run=app.dry_run) as memory:
            row = await find_row(memory, session_name)
            told = await memory.raise_origin(row.session_id, page_id, digest, dry_run=app.dry_run)
            return told, await names_of(memory)

    told, names = app.run(work())
    _print(app, told, names)
    if not app.as_json:
        done = "it would count" if app.dry_run else "it counts"
        app.term.note(f"the digest is that of {told.page_id}: {done} as approved by you")


@origins.command(cls=Command)
@page_argument(required=False)
@session_option
@click.option("--origin", metavar="ORIGIN", help="All pages of this origin: web, tool, tool:NAME …")
@click.option("--all", "--session-whole", "whole", is_flag=True, help="All pages of --session.")
@dry_run_option
@json_option
def revoke(
    app: App, page_id: str | None, session_name: str | None, origin: str | None, whole: bool
) -> None:
    """Withdraw a page, an origin or a session, with everything that rests on it.

    Summaries, claims, procedures, shorter forms, answers written under its influence and the
    results of their calls: from the next request on, none of these is recalled, pinned, recited or
    held true. Nothing is erased: `show` still lists every page, and `raise` readmits one.

    JSON: {done, withdrawn: [{session, session_id, pages}]}.
    """
    if [bool(page_id), bool(origin), whole].count(True) != 1:
        raise click.UsageError("Name one: a PAGE_ID, --origin, or --all with --session.")
    if whole and not session_name:
        raise click.UsageError("--all needs --session NAME: it is never guessed.")
    app.existing_directory()

    async def work() -> tuple[tuple[Descendants, ...], dict[str, str]]:
        async with app.writing(dry_run=app.dry_run) as memory:
            of_all = origin and not session_name
            session = (
                "" if of_all else (await find_row(memory, session_name, in_full=whole)).session_id
            )
            found = await memory.revoke_origin(
                session, page_id or "", origin=origin or "", dry_run=app.dry_run
            )
            return found, await names_of(memory)

    found, names = app.run(work())
    if app.as_json:
        app.term.data(
            {"done": not app.dry_run, "withdrawn": [_descendants(one, names) for one in found]}
        )
        return
    for one in found:
        app.term.line(f"{names[one.session_id]}: {', '.join(one.pages)}")
    pages = plural(sum(len(one.pages) for one in found), "page")
    app.term.note(f"{pages} would be withdrawn" if app.dry_run else f"{pages} withdrawn")


def _descendants(one: Descendants, names: dict[str, str]) -> dict[str, Any]:
    name = names[one.session_id]
    return {"session": name, "session_id": one.session_id, "pages": list(one.pages)}


def _print(app: App, told: PageOrigin, names: dict[str, str]) -> None:
    if app.as_json:
        app.term.data(
            {
                "page_id": told.page_id,
                "session": names[told.session_id],
                "session_id": told.session_id,
                "origin": str(told.origin),
                "label": str(told.label),
                "raised": told.raised,
                "withdrawn": told.withdrawn,
                "digest": told.digest,
                "title": told.title,
                "text": told.text,
                "descendants": [_descendants(one, names) for one in told.descendants],
            }
        )
        return
    term = app.term
    facts = [f"from {told.origin}", f"label {told.label}"]
    facts += ["raised"] * told.raised + ["withdrawn"] * told.withdrawn
    term.line(term.style(f"{told.page_id}  {' · '.join(facts)}", "bold"))
    if told.title:
        term.line(f"title   {told.title}")
    term.line()
    term.text(told.text, indent="  ")
    term.line()
    term.line(f"digest  {told.digest}")
    for one in told.descendants:
        term.line(f"based on it, in {names[one.session_id]}: {', '.join(one.pages)}")
