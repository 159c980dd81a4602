"""Writing down what was made of other pages: claims, summaries, representations.

As in `writing.py`, nothing is appended here. A derived page does not enter the window by being
written; a request brings it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from pagefault.model.events import Content, Draft
from pagefault.model.ids import NOTHING, PageId, Seq, SessionNo, TurnNo
from pagefault.model.kinds import PAGE_PREFIX, Actor, EventType, Kind, Origin, Role
from pagefault.model.page import Derived
from pagefault.pack.count import TokenCounter

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
    """One derived page, before it has an id. `origin` is the least trusted of its sources."""

    event_type: EventType
    text: str
    origin: Origin
    derived: Derived
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
    counter: TokenCounter,
    clean: Callable[[str], str],
    turn: TurnNo | None = None,
    cause: Seq = NOTHING,
    before: Sequence[Draft] = (),
) -> list[Draft]:
    """Drafts of these pages, as `state` stands; `turn` is the present one unless it is given.

    `before` are drafts of derived pages that will be written before them.
    """
    numbers, order = dict(state.numbers), state.derived_order_next + len(before)
    for earlier in before:
        if isinstance(earlier.body, Content):
            stem = PAGE_PREFIX[earlier.body.kind]
            numbers[stem] = numbers.get(stem, 0) + 1
    texts = [clean(item.text) for item in items]
    drafts: list[Draft] = []
    counts = counter.count_all(texts)
    for place, (item, text, tokens) in enumerate(zip(items, texts, counts, strict=True)):
        kind = _KINDS[item.event_type]
        stem = PAGE_PREFIX[kind]
        numbers[stem] = numbers.get(stem, 0) + 1
        derived = item.derived
        body = Content(
            event_type=item.event_type,
            page_id=PageId(f"{stem}_{numbers[stem]}"),
            order=order + place,
            role=Role.SYSTEM,
            kind=kind,
            text=text,
            tokens=tokens,
            title=item.title and clean(item.title),
            provenance=derived.provenance,
            represents=derived.represents,
            level=derived.level,
            evidence=derived.evidence,
            supersedes=derived.supersedes,
            claim_type=derived.claim_type,
            subject=derived.subject and clean(derived.subject),
            value=derived.value and clean(derived.value),
            source_tokens=derived.source_tokens,
            made_by=derived.made_by,
            importance=item.importance,
            confidence=item.confidence,
            topic_tags=item.topic_tags,
            entities=item.entities,
            task_refs=item.task_refs,
        )
        drafts.append(
            Draft(
                session=session,
                turn=max(state.turn, TurnNo(0)) if turn is None else turn,
                actor=Actor.SYSTEM,
                origin=item.origin,
                body=body,
                cause=cause,
            )
        )
    return drafts
