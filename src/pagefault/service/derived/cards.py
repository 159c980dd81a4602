"""Memory cards: claims in the terms of requirement 004."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from pagefault.model.errors import ArchiveMissing, StoreCorrupt
from pagefault.model.ids import PageId
from pagefault.model.kinds import USERS, ClaimType, EventType
from pagefault.model.page import Evidence, Scope
from pagefault.model.reprs import outline
from pagefault.model.times import iso_utc
from pagefault.service.derived.claims import ClaimInfo
from pagefault.service.derived.elsewhere import ClaimElsewhere
from pagefault.service.runtime import Runtime
from pagefault.truth.lifetimes import decay_days, max_age_days

CARD_TYPES = {ClaimType.TASK: "task_state"}
"""Kinds of claims with another name in the requirement."""
_KINDS = {
    EventType.COMMAND_RUN: "command",
    EventType.TOOL_RESULT: "command",
    EventType.TOOL_CALL: "command",
    EventType.TEST_RESULT: "test",
    EventType.FILE_CHANGE: "file",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class CardScope:
    """Where a card is true. Its project defaults to its session's."""

    project_id: str = ""
    branch: str = ""
    path: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class CardEvidence:
    """A source of a card. `kind` is event, command, test, file or card; `ref` the record's id,
    "path:line", or the card's id. For a page, `quote` has its bytes `start` to `end`, as they read
    now; empty if they are gone.
    """

    kind: str
    ref: str
    page_id: PageId = PageId("")
    start: int = 0
    end: int = 0
    quote: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class CardValidation:
    """`status` is pass or fail by the last check, or why that does not count: unchecked, proposed,
    stale, expired, superseded, merged, retracted, withdrawn, untrusted.
    """

    status: str
    last_checked_at: str = ""  # ISO 8601, UTC; empty if never checked
    validator: str = ""
    why: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class CardTtl:
    """Days: since the last check, and in all; 0 is for ever."""

    decay_days: int
    max_age_days: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class CardEdit:
    at: str
    what: str
    card_id: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Card:
    """A memory card: a claim with its proof. It has the fields of requirement 004, and the claim's
    other fields.
    """

    card_id: PageId
    card_type: str
    claim: str
    scope: CardScope
    evidence: tuple[CardEvidence, ...]
    validation: CardValidation
    ttl_policy: CardTtl
    owner: str
    edit_history: tuple[CardEdit, ...]
    subject: str = ""
    authority: str = ""
    contradicts: tuple[PageId, ...] = ()
    digest: str = ""  # what `confirm_claim` takes, for a proposed card
    elsewhere: tuple[ClaimElsewhere, ...] = ()  # cards of the user's other sessions that say it

    def __repr__(self) -> str:
        status, why = self.validation.status, self.validation.why
        return outline(self.card_id, self.card_type, status, why, self.owner, self.claim)

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


def cards_of(runtime: Runtime, scope: Scope, claims: Sequence[ClaimInfo]) -> list[Card]:
    """Every claim as a card, except retractions. Blocks on the store."""
    who = runtime.regions.who(scope)
    return [
        Card(
            card_id=one.claim_id,
            card_type=CARD_TYPES.get(ClaimType(one.type), one.type),
            claim=one.value,
            scope=CardScope(
                project_id=one.facts.project_id or who.project,
                branch=one.facts.branch,
                path=one.facts.path,
            ),
            evidence=(
                *(
                    _of_page(runtime, scope, span, quote)
                    for span, quote in zip(one.evidence, one.quotes, strict=True)
                ),
                *(CardEvidence(kind="file", ref=f"{f.path}:{f.line}") for f in one.facts.files),
                *(CardEvidence(kind="card", ref=source) for source in one.derived_from),
            ),
            validation=_validation(one),
            ttl_policy=CardTtl(
                decay_days=decay_days(ClaimType(one.type), one.facts),
                max_age_days=max_age_days(one.facts),
            ),
            owner=one.facts.owner or _owner(one, who.user),
            edit_history=tuple(
                CardEdit(at=iso_utc(edit.at_ms), what=edit.what, card_id=edit.claim_id)
                for edit in one.history
            ),
            subject=one.subject,
            authority=one.authority,
            contradicts=one.contradicts,
            digest=one.digest,
            elsewhere=one.elsewhere,
        )
        for one in claims
        if ClaimType(one.type) is not ClaimType.RETRACTION
    ]


def _of_page(runtime: Runtime, scope: Scope, span: Evidence, quote: str) -> CardEvidence:
    row = runtime.index.find_page(scope, span.page_id)
    kind, ref = "event", ""
    if row is not None:
        try:
            event = runtime.log.get(row.seq)
        except (StoreCorrupt, ArchiveMissing):
            pass
        else:
            kind, ref = _KINDS.get(event.type, "event"), event.event_id  # type: ignore[call-overload]
    return CardEvidence(
        kind=kind,
        ref=ref or span.page_id,
        page_id=span.page_id,
        start=span.start,
        end=span.end,
        quote=quote,
    )


def _validation(claim: ClaimInfo) -> CardValidation:
    status, checked = claim.status, claim.checked
    if status == "standing":
        status = "unchecked" if checked is None else str(checked.outcome)
        status = status if claim.authority == "user" else "proposed"
    return CardValidation(
        status="fail" if claim.why and checked and checked.outcome == "fail" else status,
        last_checked_at=iso_utc(checked.at_ms) if checked else "",
        validator=",".join(checked.validators) if checked else "",
        why=claim.why,
    )


def _owner(claim: ClaimInfo, user: str) -> str:
    if claim.origin in USERS:
        return user or "user"
    return str(claim.origin)
