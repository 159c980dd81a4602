"""`pagefault claims`: what is held true and why, stated and taken back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from pagefault.cli.app import (
    App,
    Command,
    WithDefault,
    complete_session,
    find_session,
    json_option,
    pass_app,
    session_option,
)
from pagefault.cli.term import plural

if TYPE_CHECKING:
    from pagefault.service.derived.claims import ClaimInfo
    from pagefault.service.session import Session

_origin_option = click.option(
    "--origin",
    default="user_typed",
    show_default=True,
    help="The channel that it came through; what a model proposes is model_generated.",
)
_key_option = click.option("--key", default="", help="A retry with the same key changes nothing.")


@click.group(cls=WithDefault, default="ls")
def claims() -> None:
    """List, show, add and retract claims: decisions, preferences, facts and rules.

    `pagefault claims [SESSION]` lists those of a session. The goal is none of them: `pagefault goal
    SESSION` shows it.
    """


@claims.command("ls", cls=Command)
@click.argument(
    "session_name", metavar="[SESSION]", required=False, shell_complete=complete_session
)
@json_option
@pass_app
def ls(app: App, session_name: str | None, as_json: bool) -> None:
    """List the claims of a session, oldest first, with what became of each.

    The goal is none of them: `pagefault goal SESSION` shows it.

    JSON is a list of objects: claim_id, type, subject, value, text, status (standing, superseded,
    retracted, stale, untrusted or closing), closed_by, supersedes, authority (user or
    proposed), origin, turn, evidence: [{page_id, start, end, quote}], in bytes of the page's text.
    """
    told = [claim_object(one) for one in app.run(_read(app, session_name))]
    if as_json:
        app.term.data(told)
        return
    if told:
        app.term.table(
            ["id", "turn", "status", "claim", "said in"],
            [
                [
                    claim["claim_id"],
                    str(claim["turn"]),
                    claim["status"] + (f" by {claim['closed_by']}" if claim["closed_by"] else ""),
                    claim["text"],
                    ", ".join(dict.fromkeys(span["page_id"] for span in claim["evidence"])),
                ]
                for claim in told
            ],
            right="turn",
        )
    standing = sum(claim["status"] == "standing" for claim in told)
    app.term.note(f"{plural(len(told), 'claim')}, {standing:,} standing")


@claims.command("show", cls=Command)
@click.argument("claim_id")
@session_option
@json_option
@pass_app
def show(app: App, claim_id: str, session_name: str | None, as_json: bool) -> None:
    """Show a claim, and quote the turns that it rests on.

    JSON: one object of `claims ls`.
    """

    async def read() -> ClaimInfo:
        async with app.reading() as memory:
            return await _find(await find_session(memory, session_name), claim_id)

    told = claim_object(app.run(read()))
    if as_json:
        app.term.data(told)
        return
    term = app.term
    closed = f" by {told['closed_by']}" if told["closed_by"] else ""
    facts = [told["type"], told["status"] + closed, f"authority: {told['authority']}"]
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


@claims.command("add", cls=Command)
@click.argument("value")
@session_option
@click.option(
    "--quote",
    "quotes",
    metavar="WORDS",
    multiple=True,
    help="What it rests on, word for word as it was said; may be repeated.",
)
@click.option("--page", "page_id", metavar="ID", default="", help="The page that says so.")
@click.option(
    "--kind",
    type=click.Choice(["decision", "preference", "fact", "rule", "task"]),
    default="decision",
    show_default=True,
    help="A rule is recited with every request.",
)
@click.option("--subject", default="", help="What it is about: the claim on it is superseded.")
@click.option("--replaces", metavar="ID", default="", help="The claim whose place it takes.")
@_origin_option
@_key_option
@json_option
@pass_app
def add(
    app: App,
    value: str,
    session_name: str | None,
    quotes: tuple[str, ...],
    page_id: str,
    kind: str,
    subject: str,
    replaces: str,
    origin: str,
    key: str,
    as_json: bool,
) -> None:
    """Hold VALUE true, on the evidence of what was said.

    Without --quote VALUE itself has to have been said, word for word. It has the user's authority
    if it comes from the user (--origin) and the user typed every quotation; else it is proposed:
    recalled, never in the core. What it takes the place of is kept, closed and linked.

    JSON: one object of `claims ls`.
    """
    from pagefault.model.page import Quote

    app.existing_directory()

    async def write() -> ClaimInfo:
        async with app.writing() as memory:
            session = await find_session(memory, session_name)
            evidence = [Quote(words, page_id) for words in quotes or (value,)]
            claim_id = await session.claim(
                value,
                evidence=evidence,
                kind=kind,
                subject=subject,
                replaces=replaces,
                origin=origin,
                key=key,
            )
            return await _find(session, claim_id)

    told = claim_object(app.run(write()))
    if as_json:
        app.term.data(told)
        return
    app.term.line(f"{told['claim_id']}  {told['text']}")
    app.term.note(f"{told['status']}, authority: {told['authority']}")


@claims.command("retract", cls=Command)
@click.argument("claim_id")
@session_option
@_origin_option
@_key_option
@json_option
@pass_app
def retract(
    app: App, claim_id: str, session_name: str | None, origin: str, key: str, as_json: bool
) -> None:
    """Take a claim back. It is kept, and holds no more.

    JSON: one object of `claims ls`: the claim that was taken back.
    """
    app.existing_directory()

    async def write() -> ClaimInfo:
        async with app.writing() as memory:
            session = await find_session(memory, session_name)
            await session.retract(claim_id, origin=origin, key=key)
            return await _find(session, claim_id)

    told = claim_object(app.run(write()))
    if as_json:
        app.term.data(told)
    else:
        app.term.line(f"{told['claim_id']} is {told['status']} by {told['closed_by']}")


async def _find(session: Session, claim_id: str) -> ClaimInfo:
    from pagefault.model.errors import NoSuchPage

    for one in await session.claims():
        if one.claim_id == claim_id:
            return one
    missing = NoSuchPage(claim_id, session.name or session.session_id)
    missing.args = (f"session {session.name or session.session_id!r} has no {claim_id!r}",)
    missing.hint = "`pagefault claims` lists its claims"
    raise missing


async def _read(app: App, session_name: str | None) -> list[ClaimInfo]:
    async with app.reading() as memory:
        return await (await find_session(memory, session_name)).claims()


def claim_object(claim: ClaimInfo) -> dict[str, Any]:
    return {
        "claim_id": claim.claim_id,
        "type": claim.type,
        "subject": claim.subject,
        "value": claim.value,
        "text": claim.text,
        "status": claim.status,
        "closed_by": claim.closed_by or None,
        "supersedes": claim.supersedes or None,
        "authority": claim.authority,
        "origin": str(claim.origin),
        "turn": claim.turn,
        "evidence": [
            {"page_id": span.page_id, "start": span.start, "end": span.end, "quote": quote}
            for span, quote in zip(claim.evidence, claim.quotes, strict=True)
        ],
    }
