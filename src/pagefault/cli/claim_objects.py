"""Claims as the commands tell them, and how they find one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from pagefault.model.page import CardFacts
    from pagefault.service.derived.claims import ClaimInfo
    from pagefault.service.session import Session

KINDS = (
    *("decision", "preference", "fact", "rule", "task", "project_fact", "procedure", "gotcha"),
    *("glossary", "entity", "context"),
)
origin_option = click.option(
    "--origin",
    default="user_typed",
    show_default=True,
    help="The channel that it came through; what a model proposes is model_generated.",
)
key_option = click.option("--key", default="", help="A retry with the same key changes nothing.")
dry_run_option = click.option("--dry-run", is_flag=True, help="Only say what would be done.")


async def find_claim(session: Session, claim_id: str) -> ClaimInfo:
    from pagefault.model.errors import NoSuchPage

    for one in await session.claims():
        if one.claim_id == claim_id:
            return one
    missing = NoSuchPage(claim_id, session.name or session.session_id)
    missing.args = (f"session {session.name or session.session_id!r} has no {claim_id!r}",)
    missing.hint = "`pagefault claims` lists its claims"
    raise missing


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
        "why": claim.why,
        "derived_from": list(claim.derived_from),
        "contradicts": list(claim.contradicts),
        "merges": list(claim.merges),
        "restates": claim.restates or None,
        "digest": claim.digest,
        "evidence": [
            {"page_id": span.page_id, "start": span.start, "end": span.end, "quote": quote}
            for span, quote in zip(claim.evidence, claim.quotes, strict=True)
        ],
    }


def facts_of(base: CardFacts, **given: str | int | None) -> CardFacts:
    """What of these options was given, over what there is."""
    from dataclasses import replace

    told = {name: value for name, value in given.items() if value is not None}
    return replace(base, files=(), **told)  # type: ignore[arg-type]
