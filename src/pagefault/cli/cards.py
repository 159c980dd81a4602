"""`pagefault cards`: claims as memory cards, and those that need a review."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import click

from pagefault.cli.app import App, WithDefault, json_option, session_argument
from pagefault.cli.claim_objects import told_elsewhere
from pagefault.cli.term import plural

if TYPE_CHECKING:
    from pagefault.service.derived.cards import Card

_TO_DO: Final = {
    "proposed": "if it is right, `claims confirm {id} {digest}`; otherwise `claims retract {id}`",
    "fail": "`claims edit {id}` or `claims retract {id}`",
    "stale": "check what it rests on (`claims graph`), then edit or retract it",
    "expired": "if it still holds, `claims validate {id}`; otherwise `claims retract {id}`",
}
_DENIED: Final = (
    "if it still holds here, `claims validate {id} --verdict pass`; otherwise `claims retract {id}`"
)
_JSON = """JSON is a list of objects: card_id, card_type, claim, scope: {project_id, branch, path},
    evidence: [{kind (event, command, test, file or card), ref, page_id, start, end, quote}],
    validation: {status, last_checked_at, validator, why}, ttl_policy: {decay_days, max_age_days},
    owner, edit_history: [{at, what, card_id}], subject, authority, contradicts, digest, elsewhere
    (cards of the same user's other sessions that say it, too): [{session_id, claim_id, status,
    evidence, closed_at}]."""


@click.group(cls=WithDefault, default="ls")
def cards() -> None:
    """List and review memory cards: claims with their proof, checks and age.

    `pagefault cards [SESSION]` lists those of a session; `pagefault claims` changes them.
    """


@cards.command(
    "ls",
    help=f"""List the cards of a session, oldest first, with their status.

    {_JSON}
    """,
)
@session_argument
@json_option
def ls(app: App, session_name: str | None) -> None:
    told = app.read(session_name, lambda s: s.cards())
    if app.as_json:
        app.term.data([one.to_dict() for one in told])
        return
    if told:
        app.term.table(
            ["card", "type", "validation", "owner"],
            [[c.card_id, c.card_type, c.validation.status, c.owner] for c in told],
            below=[app.term.row_below(c.claim) for c in told],
        )
    app.term.note(plural(len(told), "card"))


@cards.command(
    "review",
    help=f"""List cards that wait for a person: proposed, stale, expired, failed or contradicted.

    Each comes with its evidence and what can be done; nothing is changed here.

    {_JSON}
    """,
)
@session_argument
@json_option
def review(app: App, session_name: str | None) -> None:
    told = [one for one in app.read(session_name, lambda s: s.cards()) if _waits(one)]
    if app.as_json:
        app.term.data([one.to_dict() for one in told])
        return
    for one in told:
        status, why = one.validation.status, one.validation.why
        app.term.line(f"{one.card_id}  {one.card_type}, {status}{f': {why}' if why else ''}")
        app.term.text(one.claim)
        for proof in one.evidence:
            words = f"  “{proof.quote}”" if proof.quote else ""  # none of a file or a card
            app.term.line(f"  {proof.kind} {proof.page_id or proof.ref}{words}")
        if one.contradicts:
            app.term.line(f"  contradicts {', '.join(one.contradicts)}")
        for other in one.elsewhere:
            app.term.line(f"  {told_elsewhere(other)}")
        to_do = _TO_DO.get(status, _DENIED if _is_denied(one) else "")
        if to_do:
            app.term.line("  " + to_do.format(id=one.card_id, digest=one.digest))
    app.term.note(f"{plural(len(told), 'card')} to review")


def _waits(card: Card) -> bool:
    is_open = card.validation.status in ("pass", "unchecked")
    waits = bool(card.contradicts) or _is_denied(card)
    return card.validation.status in _TO_DO or (is_open and waits)


def _is_denied(card: Card) -> bool:
    """Whether another session closed what this card says, and no person upheld it here since."""
    checked = card.validation
    upheld_at = checked.last_checked_at if checked.validator == "person" else ""
    closed = (one for one in card.elsewhere if one.status in ("retracted", "superseded"))
    return any(one.closed_at > upheld_at for one in closed)
