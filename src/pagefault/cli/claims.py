"""`pagefault claims`: what is held true and why, stated and taken back."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from pagefault.cli.app import (
    App,
    Command,
    WithDefault,
    complete_page,
    dry_run_option,
    json_option,
    numbered,
    session_argument,
    session_option,
)
from pagefault.cli.claim_changes import CHANGES, card_options, changed
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
    told_elsewhere,
)
from pagefault.cli.term import plural

if TYPE_CHECKING:
    from collections.abc import Awaitable

    from pagefault.service.derived.claims import ClaimInfo
    from pagefault.service.session import Session


@click.group(cls=WithDefault, default="ls")
def claims() -> None:
    """List, show, state and change claims: decisions, preferences, facts and rules.

    `pagefault claims [SESSION]` lists those of a session. The goal is not one of them: `pagefault
    goal SESSION` shows it.
    """


@claims.command("ls")
@session_argument
@json_option
def ls(app: App, session_name: str | None) -> None:
    """List the claims of a session, oldest first, with their status.

    The goal is not one of them: `pagefault goal SESSION` shows it.

    JSON is a list of objects: claim_id, type, subject, value, text, status (standing, superseded,
    merged, retracted, stale, expired, untrusted, withdrawn or closing), closed_by, supersedes,
    authority (user or proposed), origin, turn, why (it is stale or expired), derived_from,
    contradicts, merges, restates, digest (of a proposed claim: `confirm` takes it), evidence:
    [{page_id, start, end, quote}], in bytes of the page's text, elsewhere (claims of the same
    user's other sessions that say it, too): [{session_id, claim_id, status, evidence, closed_at}].
    """
    told = app.read(session_name, lambda s: s.claims())
    if app.as_json:
        app.term.data([claim_object(one) for one in told])
        return
    if told:
        app.term.table(
            ["id", "turn", "status", "said in"],
            [
                [
                    claim.claim_id,
                    str(claim.turn),
                    claim.became,
                    ", ".join(dict.fromkeys(span.page_id for span in claim.evidence)),
                ]
                for claim in told
            ],
            right="turn",
            below=[app.term.row_below(claim.text) for claim in told],
        )
    standing = sum(claim.status == "standing" for claim in told)
    app.term.note(f"{plural(len(told), 'claim')}, {standing:,} standing")


@claims.command("show")
@claim_argument()
@session_option
@json_option
def show(app: App, claim_id: str, session_name: str | None) -> None:
    """Show a claim, and quote the turns that it rests on.

    JSON: one object of `claims ls`.
    """

    claim = app.read(session_name, lambda session: find_claim(session, claim_id))
    told = claim_object(claim)
    if app.as_json:
        app.term.data(told)
        return
    term = app.term
    facts = [told["type"], claim.became, f"authority: {told['authority']}"]
    facts += [f"from {told['origin']}", f"turn {told['turn']}"]
    facts += [f"supersedes {told['supersedes']}"] if told["supersedes"] else []
    term.line(f"{term.style(told['claim_id'], 'bold')}  {term.style(' · '.join(facts), 'dim')}")
    term.line()
    term.text(told["text"])
    for span in told["evidence"]:
        place = f"{span['page_id']}, bytes {span['start']:,} to {span['end']:,}"
        quote = f"“{span['quote']}”" if span["quote"] else "(cannot be read any more)"
        term.line()
        term.line(term.style(place, "dim"))
        term.text(quote)
    for other in claim.elsewhere:
        term.line(told_elsewhere(other))


@claims.command("add")
@click.argument("value")
@session_option
@click.option(
    "--quote",
    "quotes",
    metavar="WORDS",
    multiple=True,
    help="Evidence, word for word as it was said. May be repeated.",
)
@click.option(
    "--page",
    "page_id",
    metavar="ID",
    default="",
    callback=numbered,
    shell_complete=complete_page,
    help="Page that the quotations are from.",
)
@click.option(
    "--kind",
    type=click.Choice(KINDS),
    default="decision",
    show_default=True,
    help="Kind of claim. A rule is repeated in every request.",
)
@click.option(
    "--subject",
    default="",
    help="Subject of the claim; it supersedes the claim that stands on the same subject.",
)
@click.option(
    "--replaces",
    metavar="ID",
    default="",
    callback=claim_numbered,
    shell_complete=complete_claim,
    help="Claim that this one replaces.",
)
@card_options
@origin_option
@key_option
@dry_run_option
@json_option
def add(
    app: App,
    /,
    value: str,
    session_name: str | None,
    quotes: tuple[str, ...],
    page_id: str,
    kind: str,
    subject: str,
    replaces: str,
    derived_from: tuple[str, ...],
    file: str,
    origin: str,
    key: str,
    **card: str | int | None,
) -> None:
    """State VALUE as a claim, on the evidence of what was said, of a file, or of other claims.

    Without --quote and --from, VALUE itself must have been said, word for word; with --file, the
    quotations must be in that file of the current folder. The claim has the user's authority if it
    comes from the user (--origin) and the user typed every quotation; else it is proposed:
    recalled, but never in the core. A claim that it replaces is kept, closed and linked.

    JSON: one object of `claims ls`.
    """
    from pagefault.model.page import NO_FACTS, FileQuote, Quote

    words = quotes or (() if derived_from else (value,))

    def state(session: Session) -> Awaitable[str]:
        return session.claim(
            value,
            evidence=[FileQuote(one, file) if file else Quote(one, page_id) for one in words],
            derived_from=derived_from,
            kind=kind,
            subject=subject,
            replaces=replaces,
            facts=facts_of(NO_FACTS, **card),
            origin=origin,
            key=key,
            dry_run=app.dry_run,
        )

    changed(app, session_name, state, told=_stated)


@click.command("remember", cls=Command)
@click.argument("words")
@session_option
@click.option(
    "--kind",
    type=click.Choice(KINDS),
    default="fact",
    show_default=True,
    help="Kind of claim. A rule is repeated in every request.",
)
@dry_run_option
@json_option
def remember(app: App, words: str, session_name: str | None, kind: str) -> None:
    """Remember WORDS that were said as a claim, on your word.

    They must have been said, by you or the model, word for word; `claims add` states anything else
    on evidence, and has more options. The claim has your authority if you typed the words.

    JSON: one object of `claims ls`; with --dry-run {claim_id, done}.
    """
    changed(
        app, session_name, lambda s: s.remember(words, kind=kind, dry_run=app.dry_run), told=_stated
    )


@claims.command("retract")
@claim_argument()
@session_option
@origin_option
@key_option
@dry_run_option
@json_option
def retract(app: App, claim_id: str, session_name: str | None, origin: str, key: str) -> None:
    """Retract a claim. It is kept but no longer holds, and claims derived from it become stale.

    JSON: one object of `claims ls`: the retracted claim.
    """

    async def retracted(session: Session) -> str:
        made = await session.retract(claim_id, origin=origin, key=key, dry_run=app.dry_run)
        return made if app.dry_run else claim_id  # shown is the claim, not its retraction

    changed(
        app,
        session_name,
        retracted,
        told=lambda one: (f"{one.claim_id} is {one.status} by {one.closed_by}", ""),
    )


def _stated(one: ClaimInfo) -> tuple[str, str]:
    return f"{one.claim_id}  {one.text}", f"{one.status}, authority: {one.authority}"


for _change in CHANGES:
    claims.add_command(_change)
