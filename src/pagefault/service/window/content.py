"""The page of a record, and the classes of its content."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from pagefault.model.events import (
    Called,
    Claimed,
    DerivedBody,
    Event,
    Learned,
    OriginalBody,
    PageBody,
    Represented,
    Returned,
    Said,
    Stored,
    Summarised,
    row_of,
)
from pagefault.model.ids import PageId
from pagefault.model.kinds import Kind, Role
from pagefault.model.page import About, Derived, Page, PageRow, Told
from pagefault.represent.about import Found

PLAIN: Final = "text/plain"


def page_of(event: Event, body: PageBody) -> Page:
    """The page that a record made."""
    original = body if isinstance(body, OriginalBody) else None
    return Page(
        row=row_of(event, body),
        text=body.text,
        speaker=body.speaker,
        title=body.title,
        occurred_at=body.occurred_at,
        call_id=body.call_id if isinstance(body, Said | Called | Returned) else "",
        part_of=original.part_of if original else PageId(""),
        blob=body.blob if isinstance(body, Stored) else "",
        mime_type=(body.mime_type or None) if isinstance(body, Stored) else PLAIN,
        size_bytes=_size_bytes(body),
        derived=_derived(event, body) if isinstance(body, DerivedBody) else None,
        about=_about(body),
    )


def _size_bytes(body: PageBody) -> int | None:
    """The size of the bytes behind a page; old records have neither type nor size."""
    if isinstance(body, Stored):
        return body.size_bytes if body.mime_type else None
    return len(body.text.encode())


def _derived(event: Event, body: DerivedBody) -> Derived:
    made = Derived(
        provenance=body.provenance,
        evidence=body.evidence,
        supersedes=body.supersedes,
        made_by=event.model,
    )
    match body:
        case Represented(represents=represents, level=level, source_tokens=tokens):
            return replace(made, represents=represents, level=level, source_tokens=tokens)
        case Claimed(claim_type=claim_type, subject=subject, value=value):
            return replace(
                made,
                claim_type=claim_type,
                subject=subject,
                value=value,
                restates=body.restates,
                merges=body.merges,
                repeats=body.repeats,
                elsewhere=body.elsewhere,
                card=body.card,
                digest=body.digest,
            )
        case Learned(subject=subject):
            return replace(made, subject=subject)
        case Summarised(source_tokens=tokens):
            return replace(made, source_tokens=tokens)
        case _:
            return made


def _about(body: PageBody) -> About:
    """From the record, or else from the text."""
    told = bool(body.topic_tags or body.entities or body.task_refs)
    if told or isinstance(body, DerivedBody):
        return Told(topic_tags=body.topic_tags, entities=body.entities, task_refs=body.task_refs)
    return Found(body.text)


def is_user_message(said: PageRow | PageBody) -> bool:
    """Whether a page is (part of) a user's message, and not a document handed in."""
    return said.role is Role.USER and said.kind is Kind.TRANSCRIPT
