"""Drafts of derived pages: claims, summaries, representations.

As in `drafts.py`, nothing is appended here. A derived page does not enter the window when it is
written; a request brings it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from pagefault.model.events import (
    Body,
    Claimed,
    DerivedBody,
    Draft,
    Indexed,
    Learned,
    PageBody,
    Represented,
    Summarised,
)
from pagefault.model.ids import NOTHING, PageId, Seq, SessionNo, TurnNo
from pagefault.model.kinds import PAGE_PREFIX, Actor, EventType, Kind, Origin
from pagefault.model.page import Derived

if TYPE_CHECKING:
    from pagefault.service.window.state import SessionState

_KINDS: Final = {
    EventType.SUMMARY: Kind.SUMMARY,
    EventType.REPRESENTATION: Kind.SUMMARY,
    EventType.CLAIM: Kind.CLAIM,
    EventType.PROCEDURE: Kind.PROCEDURE,
    EventType.INDEX: Kind.INDEX,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Made:
    """A derived page that has no id yet.

    `origin` is the least trusted of its sources, `cause` the last of its sources that is already
    written: `with_causes` finds those of the same batch.
    """

    event_type: EventType
    text: str
    origin: Origin
    derived: Derived
    cause: Seq = NOTHING
    title: str = ""
    importance: float = 0.5
    confidence: float = 1.0
    topic_tags: tuple[str, ...] = ()
    entities: tuple[str, ...] = ()
    task_refs: tuple[str, ...] = ()


def write_derived(
    items: Sequence[Made],
    *,
    session: SessionNo,
    state: SessionState,
    clean: Callable[[str], str],
    turn: TurnNo | None = None,
    before: Sequence[Draft] = (),
) -> list[Draft]:
    """Drafts of these pages, given the current `state`; `turn` is the current one by default.

    `before` are drafts of derived pages that will be written before them.
    """
    numbers, order = dict(state.numbers), state.derived_order_next + len(before)
    for earlier in before:
        if isinstance(earlier.body, PageBody):
            stem = PAGE_PREFIX[earlier.body.kind]
            numbers[stem] = numbers.get(stem, 0) + 1
    texts = [clean(item.text) for item in items]
    drafts: list[Draft] = []
    counts = state.counter.count_all(texts)
    for place, (item, text, tokens) in enumerate(zip(items, texts, counts, strict=True)):
        stem = PAGE_PREFIX[_KINDS[item.event_type]]
        numbers[stem] = numbers.get(stem, 0) + 1
        body = _body(item, PageId(f"{stem}_{numbers[stem]}"), order + place, text, tokens, clean)
        drafts.append(
            Draft(
                session=session,
                turn=max(state.turn, TurnNo(0)) if turn is None else turn,
                actor=Actor.SYSTEM,
                origin=item.origin,
                body=body,
                cause=item.cause,
                model=item.derived.made_by,
            )
        )
    return drafts


def with_causes(batch: Sequence[Draft]) -> list[Draft]:
    """The same drafts; a page derived from others of the batch has the last of them as its
    cause.
    """
    places: dict[PageId, int] = {}
    found: list[Draft] = []
    for place, draft in enumerate(batch):
        body = draft.body
        if isinstance(body, DerivedBody):
            at = max((places.get(page_id, -1) for page_id in body.provenance), default=-1)
            draft = replace(draft, cause=Seq(at - place)) if at >= 0 else draft
        if isinstance(body, PageBody):
            places[body.page_id] = place
        found.append(draft)
    return found


def _body(
    item: Made,
    page_id: PageId,
    order: int,
    text: str,
    tokens: int,
    clean: Callable[[str], str],
) -> Body:
    derived = item.derived
    page: dict[str, Any] = {
        "page_id": page_id,
        "order": order,
        "text": text,
        "tokens": tokens,
        "title": clean(item.title),
        "provenance": derived.provenance,
        "importance": item.importance,
        "topic_tags": item.topic_tags,
        "entities": item.entities,
        "task_refs": item.task_refs,
    }
    about: dict[str, Any] = {"subject": clean(derived.subject), "evidence": derived.evidence}
    match item.event_type:
        case EventType.SUMMARY:
            return Summarised(
                **page, source_tokens=derived.source_tokens, evidence=derived.evidence
            )
        case EventType.REPRESENTATION:
            return Represented(
                **page,
                represents=derived.represents,
                level=derived.level,
                evidence=derived.evidence,
                source_tokens=derived.source_tokens,
            )
        case EventType.CLAIM:
            return Claimed(
                **page,
                **about,
                supersedes=derived.supersedes,
                claim_type=derived.claim_type,
                value=clean(derived.value),
                confidence=item.confidence,
                restates=derived.restates,
                merges=derived.merges,
                repeats=derived.repeats,
                elsewhere=derived.elsewhere,
                card=derived.card,
                digest=derived.digest,
            )
        case EventType.PROCEDURE:
            return Learned(**page, **about, supersedes=derived.supersedes)
        case EventType.INDEX:
            return Indexed(**page)
        case other:
            raise AssertionError(f"nothing is derived as a {other}")
