"""Claims as the commands print them, and look them up."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, TypeVar

import click

from pagefault.cli.app import completer
from pagefault.cli.wording import KEY

if TYPE_CHECKING:
    from pagefault.model.page import CardFacts
    from pagefault.service.derived.claims import ClaimInfo
    from pagefault.service.derived.elsewhere import ClaimElsewhere
    from pagefault.service.session import Session

F = TypeVar("F", bound=Callable[..., Any])
KINDS = (
    *("decision", "preference", "fact", "rule", "task", "project_fact", "procedure", "gotcha"),
    *("glossary", "entity", "context"),
)
origin_option = click.option(
    "--origin",
    default="user_typed",
    show_default=True,
    help="Channel it came through. Use model_generated for what a model proposes.",
)
key_option = click.option("--key", default="", help=KEY)


def claim_argument(*names: str, **more: Any) -> Callable[[F], F]:
    """CLAIM_ID. A bare number is a claim's: 7 is clm_7."""
    return click.argument(
        *(names or ("claim_id",)), callback=claim_numbered, shell_complete=complete_claim, **more
    )


def claim_numbered(_ctx: click.Context, _param: click.Parameter, value: Any) -> Any:
    if isinstance(value, tuple):
        return tuple(map(_numbered, value))
    return _numbered(value) if isinstance(value, str) else value


def _numbered(value: str) -> str:
    return f"clm_{int(value)}" if value.isascii() and value.isdecimal() else value


complete_claim = completer("claims")


async def find_claim(session: Session, claim_id: str) -> ClaimInfo:
    told = {str(one.claim_id): one for one in await session.claims()}
    if claim_id not in told:
        from pagefault.model.errors import NoSuchPage
        from pagefault.model.ids import told_near

        numbers = {"clm": int(max((one[4:] for one in told), key=int, default="0"))}
        near = told_near(claim_id, numbers)
        raise NoSuchPage(claim_id, session.called, near, "claim")
    return told[claim_id]


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
        "elsewhere": [asdict(one) for one in claim.elsewhere],
    }


def told_elsewhere(one: ClaimElsewhere) -> str:
    """A claim of another session that says the same, in a line."""
    pages = ", ".join(dict.fromkeys(span.page_id for span in one.evidence))
    on = f", on {pages}" if pages else ""
    return f"also {one.claim_id} of session {one.session_id} ({one.status}){on}"


def facts_of(base: CardFacts, **given: str | int | None) -> CardFacts:
    """The given options, over the existing facts."""
    from dataclasses import replace

    told = {name: value for name, value in given.items() if value is not None}
    return replace(base, files=(), **told)  # type: ignore[arg-type]
