"""What a content record is a page of, and what kind of thing was said."""

from __future__ import annotations

from pagefault.model.events import Content, Event, row_of
from pagefault.model.kinds import DERIVED_TYPES, Kind, Role
from pagefault.model.page import About, Derived, Page, PageRow, Told
from pagefault.represent.about import Found


def page_of(event: Event, body: Content) -> Page:
    """The page that a content record made."""
    derived = None
    if body.event_type in DERIVED_TYPES:
        derived = Derived(
            provenance=body.provenance,
            represents=body.represents,
            level=body.level,
            evidence=body.evidence,
            supersedes=body.supersedes,
            claim_type=body.claim_type,
            subject=body.subject,
            value=body.value,
            source_tokens=body.source_tokens,
            made_by=body.made_by,
        )
    return Page(
        row=row_of(event, body),
        text=body.text,
        speaker=body.speaker,
        title=body.title,
        occurred_at=body.occurred_at,
        call_id=body.call_id,
        part_of=body.part_of,
        blob=body.blob,
        derived=derived,
        about=_about(body),
    )


def _about(body: Content) -> About:
    """As the record tells it; where it tells nothing of what was said, as the text does."""
    told = bool(body.topic_tags or body.entities or body.task_refs)
    if told or body.event_type in DERIVED_TYPES:
        return Told(topic_tags=body.topic_tags, entities=body.entities, task_refs=body.task_refs)
    return Found(body.text)


def is_user_message(said: PageRow | Content) -> bool:
    """Whether a page is (part of) something a user said, and not a document handed in."""
    return said.role is Role.USER and said.kind is Kind.TRANSCRIPT
