"""`pagefault claims`: what was decided, preferred and told, and where."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from pagefault.cli.app import (
    App,
    Command,
    WithDefault,
    find_session,
    json_option,
    pass_app,
    session_option,
)
from pagefault.cli.term import plural

if TYPE_CHECKING:
    from pagefault.service.derived.claims import ClaimInfo


@click.group(cls=WithDefault, default="ls")
def claims() -> None:
    """List and show claims: decisions, preferences and facts.

    `pagefault claims [SESSION]` lists those of a session. The goal is none of them: `pagefault goal
    SESSION` shows it.
    """


@claims.command("ls", cls=Command)
@click.argument("session_name", metavar="[SESSION]", required=False)
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
    from pagefault.model.errors import NoSuchPage

    async def read() -> ClaimInfo:
        async with app.reading() as memory:
            session = await find_session(memory, session_name)
            for one in await session.claims():
                if one.claim_id == claim_id:
                    return one
            missing = NoSuchPage(claim_id, session.name or session.session_id)
            missing.args = (f"session {session.name or session.session_id!r} has no {claim_id!r}",)
            missing.hint = "`pagefault claims` lists its claims"
            raise missing

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
