"""`pagefault claims`: changes of existing claims."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Final

import click

from pagefault.cli.app import (
    App,
    Command,
    dry_run_option,
    json_option,
    options,
    session_argument,
    session_option,
)
from pagefault.cli.claim_objects import (
    KINDS,
    claim_argument,
    claim_numbered,
    claim_object,
    complete_claim,
    facts_of,
    find_claim,
    key_option,
    origin_option,
)
from pagefault.cli.term import plural

if TYPE_CHECKING:
    from pagefault.model.ids import PageId
    from pagefault.service.derived.claims import ClaimInfo
    from pagefault.service.session import Session
    from pagefault.service.turn.claim_validators import ClaimCheck

card_options = options(
    click.option(
        "--from",
        "derived_from",
        metavar="ID",
        multiple=True,
        callback=claim_numbered,
        shell_complete=complete_claim,
        help="Claim that this one rests on; when that one no longer holds, this one is "
        "stale. May be repeated.",
    ),
    click.option("--file", metavar="PATH", default="", help="File that the quotations are from."),
    click.option("--branch", metavar="NAME", default=None, help="Branch on which it is true."),
    click.option(
        "--path", metavar="PATH", default=None, help="Path in the project that it is about."
    ),
    click.option("--owner", metavar="NAME", default=None, help="Owner of the claim."),
    click.option(
        "--project", "project_id", metavar="NAME", default=None, help="Project of the claim."
    ),
    click.option(
        "--decay-days",
        type=int,
        default=None,
        help="Days it is trusted without being checked; 0 is forever. Default: that of its kind.",
    ),
    click.option(
        "--max-age-days", type=int, default=None, help="Days it is trusted in all, even if checked."
    ),
)
"""The options for a claim's facts."""


@click.command(cls=Command)
@claim_argument()
@session_option
@click.option(
    "--value", metavar="TEXT", default=None, help="New text, which makes it another claim."
)
@click.option("--subject", default=None, help="Subject of the claim.")
@click.option("--kind", type=click.Choice(KINDS), default=None, help="Kind of claim.")
@click.option(
    "--quote",
    "quotes",
    metavar="WORDS",
    multiple=True,
    help="New evidence, word for word, in place of all the old. May be repeated.",
)
@card_options
@origin_option
@key_option
@dry_run_option
@json_option
def edit(
    app: App,
    /,
    claim_id: str,
    session_name: str | None,
    value: str | None,
    subject: str | None,
    kind: str | None,
    quotes: tuple[str, ...],
    derived_from: tuple[str, ...],
    file: str,
    origin: str,
    key: str,
    **card: str | int | None,
) -> None:
    """Change a claim. The old one is kept, closed and linked.

    With --value it becomes another claim, and claims derived from the old one become stale;
    without, it remains the same claim. What you do not give stays as it is; `--from ''` removes the
    claims that it rests on.

    JSON: one object of `claims ls`; with --dry-run {claim_id, done}.
    """
    from pagefault.model.page import FileQuote, Quote

    async def change(session: Session) -> str:
        is_told = any(one is not None for one in card.values())
        old = (await find_claim(session, claim_id)).facts if is_told else None
        return await session.edit_claim(
            claim_id,
            value=value,
            subject=subject,
            kind=kind,
            evidence=[FileQuote(one, file) if file else Quote(one) for one in quotes] or None,
            derived_from=tuple(filter(None, derived_from)) if derived_from else None,
            facts=None if old is None else facts_of(old, **card),
            origin=origin,
            key=key,
            dry_run=app.dry_run,
        )

    changed(app, session_name, change)


@click.command(cls=Command)
@claim_argument("claim_ids", metavar="ID ID…", nargs=-1, required=True)
@session_option
@click.option(
    "--value", metavar="TEXT", default="", help="Text of the merged claim, if the others differ."
)
@click.option("--subject", default="", help="Subject of the claim.")
@origin_option
@key_option
@dry_run_option
@json_option
def merge(
    app: App,
    claim_ids: tuple[str, ...],
    session_name: str | None,
    value: str,
    subject: str,
    origin: str,
    key: str,
) -> None:
    """Replace several claims of one kind by one, on the evidence of all of them.

    JSON: one object of `claims ls`; with --dry-run {claim_id, done}.
    """
    changed(
        app,
        session_name,
        lambda s: s.merge_claims(
            claim_ids, value=value, subject=subject, origin=origin, key=key, dry_run=app.dry_run
        ),
    )


@click.command(cls=Command)
@claim_argument()
@click.argument("digest")
@session_option
@key_option
@dry_run_option
@json_option
def confirm(app: App, claim_id: str, digest: str, session_name: str | None, key: str) -> None:
    """Confirm a proposed claim: you have read it, and DIGEST stands for exactly its words.

    `claims show` and `cards review` print the digest. The claim gets your authority, and replaces
    what stands on its subject; `undo` reverts that.

    JSON: one object of `claims ls`; with --dry-run {claim_id, done}.
    """
    changed(
        app, session_name, lambda s: s.confirm_claim(claim_id, digest, key=key, dry_run=app.dry_run)
    )


@click.command(cls=Command)
@claim_argument()
@session_option
@origin_option
@dry_run_option
@json_option
def expire(app: App, claim_id: str, session_name: str | None, origin: str) -> None:
    """Mark a claim as expired. It is kept, but no request shows it as if it held.

    JSON: one object of `claims ls`; with --dry-run {claim_id, done}.
    """

    async def change(session: Session) -> str:
        await session.expire_claim(claim_id, origin=origin, dry_run=app.dry_run)
        return claim_id

    changed(app, session_name, change)


@click.command(cls=Command)
@claim_argument()
@claim_argument("other")
@session_option
@origin_option
@dry_run_option
@json_option
def contradict(app: App, claim_id: str, other: str, session_name: str | None, origin: str) -> None:
    """Record that two claims cannot both be true. Both stand, and each refers to the other.

    JSON: one object of `claims ls`; with --dry-run {claim_id, done}.
    """

    async def change(session: Session) -> str:
        await session.contradict_claim(claim_id, other, origin=origin, dry_run=app.dry_run)
        return claim_id

    changed(app, session_name, change)


@click.command(cls=Command)
@claim_argument("claim_ids", metavar="[ID…]", nargs=-1)
@session_option
@click.option(
    "--verdict",
    type=click.Choice(["pass", "fail"]),
    help="Your verdict on the one claim named, whatever the checks find.",
)
@dry_run_option
@json_option
def validate(
    app: App, claim_ids: tuple[str, ...], session_name: str | None, verdict: str | None
) -> None:
    """Check claims, by default all that stand: whether their evidence exists and still says so.

    It checks quotations in pages; files and the branch in the current folder; and the latest run of
    a command or test. A claim that fails is stale until it passes. Exits 1 if any failed.

    JSON is a list of objects: claim_id, outcome (pass, fail or unknown), done, validators, looks:
    [{validator, ref, outcome, why}].
    """

    async def work(session: Session) -> tuple[ClaimCheck, ...]:
        return await session.validate_claims(
            claim_ids, root=os.getcwd(), verdict=verdict or "", dry_run=app.dry_run
        )

    found = app.write(session_name, work)
    if app.as_json:
        app.term.data([_check_object(one) for one in found])
    else:
        for one in found:
            said = "; ".join(f"{look.ref}: {look.why}" for look in one.looks if look.why)
            app.term.line(f"{one.claim_id}  {one.outcome}{f'  {said}' if said else ''}")
        failed = sum(one.outcome == "fail" for one in found)
        app.term.note(f"{plural(len(found), 'claim')}, {failed:,} failed")
    if any(one.outcome == "fail" for one in found):
        raise click.exceptions.Exit(1)


@click.command(cls=Command)
@session_argument
@json_option
def graph(app: App, session_name: str | None) -> None:
    """Show which claims rest on which: each below those it was derived from.

    JSON is a list of objects: claim_id, status, why, value, derived_from, supports.
    """

    from pagefault.views.claim_graph import EdgeKind, edges_of, tree

    found = app.read(session_name, lambda s: s.claims())
    told = {one.claim_id: one for one in found if one.status != "closing"}
    supports: dict[PageId, list[PageId]] = {}
    for edge in edges_of(list(told.values())):
        if edge.kind is EdgeKind.SUPPORTS:
            supports.setdefault(edge.source, []).append(edge.target)
    if app.as_json:
        app.term.data(
            [
                {
                    "claim_id": one.claim_id,
                    "status": one.status,
                    "why": one.why,
                    "value": one.value,
                    "derived_from": list(one.derived_from),
                    "supports": supports.get(one.claim_id, []),
                }
                for one in told.values()
            ]
        )
        return
    for branch in tree(list(told.values())):
        one = told[branch.claim_id]
        again = " (see above)" if branch.is_again else ""
        why = f": {one.why}" if one.why else ""
        lead = "  " * branch.depth
        app.term.line(f"{lead}{one.claim_id}  {one.status}{why}  {one.value}{again}")
    app.term.note(
        f"{plural(len(told), 'claim')}, {plural(sum(map(len, supports.values())), 'edge')}"
    )


@click.command(cls=Command)
@click.argument("query")
@click.option(
    "--kind",
    "kinds",
    type=click.Choice(KINDS),
    multiple=True,
    help="Accept only claims of this kind as an answer. May be repeated.",
)
@session_option
@json_option
def known(app: App, query: str, kinds: tuple[str, ...], session_name: str | None) -> None:
    """Check whether QUERY is in memory and, if not, why: never said, retracted, stale or expired
    or, with --kind, discussed without anything of that kind being recorded.

    Exits 1 if it is not.

    JSON: {known, reason, told, claims, pages}.
    """

    told = app.read(session_name, lambda s: s.known(query, kinds=kinds))
    if app.as_json:
        app.term.data(
            {
                "known": told.is_known,
                "reason": told.reason,
                "told": told.told,
                "claims": list(told.claims),
                "pages": list(told.pages),
            }
        )
    else:
        named = ", ".join((*told.claims, *told.pages))
        app.term.line(told.told or f"in memory: {named}")
    if not told.is_known:
        raise click.exceptions.Exit(1)


@click.command(cls=Command)
@session_option
@dry_run_option
@json_option
def reflect(app: App, session_name: str | None) -> None:
    """Propose lessons from finished work: what failed in a session, and succeeded later.

    Each is a proposed claim on the evidence of both results, with the files changed in between. A
    task that `claims expire` ended makes a lesson, too, if it rests on results that succeeded.
    `form --rest` also proposes up to three new ones.

    JSON is a list of objects: claim_id (null for a new one with --dry-run), kind (gotcha or
    procedure), value, pages.
    """

    told = app.write(session_name, lambda s: s.reflect(dry_run=app.dry_run))
    if app.as_json:
        app.term.data(
            [
                {
                    "claim_id": one.claim_id or None,
                    "kind": one.kind,
                    "value": one.value,
                    "pages": [span.page_id for span in one.evidence],
                }
                for one in told
            ]
        )
        return
    for one in told:
        app.term.line("  ".join(filter(None, (one.claim_id, one.value))))
    app.term.note(plural(len(told), "lesson"))


CHANGES: Final = (edit, merge, confirm, validate, expire, contradict, graph, known, reflect)


def _changed(one: ClaimInfo) -> tuple[str, str]:
    return f"{one.claim_id}  {one.text}", f"{one.status}{f': {one.why}' if one.why else ''}"


def changed(
    app: App,
    session_name: str | None,
    change: Callable[[Session], Awaitable[str]],
    *,
    told: Callable[[ClaimInfo], tuple[str, str]] = _changed,
) -> None:
    """Make or change a claim, and print it as it is then: a line, and a note if there is one."""

    async def work(session: Session) -> ClaimInfo | str:
        claim_id = await change(session)
        return claim_id if app.dry_run else await find_claim(session, claim_id)

    done = app.write(session_name, work)
    if isinstance(done, str):
        if app.as_json:
            app.term.data({"claim_id": done, "done": False})
        else:
            app.term.note(f"would be {done}")
    elif app.as_json:
        app.term.data(claim_object(done))
    else:
        line, note = told(done)
        app.term.line(line)
        if note:
            app.term.note(note)


def _check_object(check: ClaimCheck) -> dict[str, Any]:
    return asdict(check) | {"validators": check.validators}
