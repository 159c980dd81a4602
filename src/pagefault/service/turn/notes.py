"""Drafts of notes: records of archival memory, and items of hot memory.

A note's origin is the least trusted of its channel and, if a model wrote it, of everything in that
model's window: so nothing gains authority by being noted down.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from pagefault.engine.values import is_object
from pagefault.language.analyzer import query_terms
from pagefault.language.orders import reads_like_an_order
from pagefault.model.defaults import NOTE_CHARS
from pagefault.model.errors import BadInput
from pagefault.model.events import Draft, Noted
from pagefault.model.ids import PageId, SessionNo
from pagefault.model.kinds import (
    PAGE_PREFIX,
    USERS,
    HostileNotes,
    NoteArea,
    NoteType,
    Origin,
    Role,
    actor_of,
)
from pagefault.model.trust import is_untrusted
from pagefault.recall.analyzed import AnalyzedText
from pagefault.service.arguments import one_of
from pagefault.service.window.state import SessionState, turn_now
from pagefault.store.likeness import told_by

_STEM: Final = PAGE_PREFIX["note"]
_METADATA_CHARS: Final = 4_000
_ALIKE: Final = 0.5  # of the shorter note's terms: then both have one subject
_NAME: Final = "'"  # the prefix of a name in `told_by`


@dataclass(frozen=True, slots=True, kw_only=True)
class NewNote:
    """A note to be inserted. Raises `BadInput` for an invalid one."""

    text: str
    type: str = NoteType.CONTEXT
    area: str = ""
    metadata: Mapping[str, Any] = field(default_factory=dict)
    origin: Origin
    replaces: PageId = PageId("")
    key: str = ""

    def __post_init__(self) -> None:
        one_of(NoteType, self.type, "type of note")
        if self.area:
            one_of(NoteArea, self.area, "area")
        if len(self.text) > NOTE_CHARS:
            raise BadInput(
                f"a note of {len(self.text):,} characters: it takes at most {NOTE_CHARS:,}",
                hint="log it as a document, which is split into pages",
            )
        try:
            told = json.dumps(dict(self.metadata), ensure_ascii=False, allow_nan=False)
        except (TypeError, ValueError, RecursionError):
            raise BadInput("metadata is not JSON", hint="give a dict of plain values") from None
        if len(told) > _METADATA_CHARS:
            raise BadInput(f"metadata of {len(told):,} characters: at most {_METADATA_CHARS:,}")


def is_hostile(text: str, origin: Origin) -> bool:
    """Whether an untrusted text reads like an order; a person's own text never is hostile."""
    return is_untrusted(origin) and reads_like_an_order(text)


def note_drafts(
    notes: Iterable[NewNote],
    *,
    session: SessionNo,
    state: SessionState,
    clean: Callable[[str], str],
) -> list[Draft]:
    """Drafts of these notes, in order, given the current `state`. Raises `BadInput` for a hostile
    one, if such are rejected.
    """
    drafts: list[Draft] = []
    number, order = state.numbers.get(_STEM, 0), state.order_next
    for place, note in enumerate(notes):
        text = clean(note.text)
        hostile = is_hostile(text, note.origin)
        if hostile and state.limits.hostile_notes == HostileNotes.REJECT:
            raise BadInput(
                "insert rejected: the text reads like an instruction to the model that will "
                "read it",
                hint='limits.hostile_notes="quarantine" keeps such texts as data',
            )
        metadata = clean(json.dumps(dict(note.metadata), ensure_ascii=False))
        if not is_object(metadata):
            raise BadInput("metadata is no JSON without its secrets", hint="leave those out")
        drafts.append(
            Draft(
                session=session,
                turn=turn_now(state),
                actor=actor_of(note.origin),
                origin=note.origin,
                body=Noted(
                    page_id=PageId(f"{_STEM}_{number + place + 1}"),
                    order=order + place,
                    text=text,
                    tokens=state.counter.count(text),
                    role=Role.USER if note.origin in USERS else Role.SYSTEM,
                    note_type=NoteType(note.type),
                    area=note.area,
                    metadata=metadata if note.metadata else "",
                    is_quarantined=hostile,
                    supersedes=note.replaces,
                ),
                key=note.key,
            )
        )
    return drafts


def may_contradict(one: str, other: str) -> bool:
    """Whether two notes have one subject and differ in a number, a sign, a negation, or in a name
    beside a common one. A hint for a reader, by form alone: it does not know which is right, and
    misses contradictions in other words.
    """
    terms, others = AnalyzedText(one).telling, AnalyzedText(other).telling
    told, others_told = _details(one), _details(other)
    named = set(query_terms(" ".join((told | others_told) - (told & others_told))))
    about, others_about = terms - named, others - named
    shared = about & others_about
    if not shared or len(shared) < _ALIKE * min(len(about), len(others_about)):
        return False
    counts, others_counts = _numbers(told), _numbers(others_told)
    if counts - others_counts and others_counts - counts:
        return True
    names, others_names = _names(told), _names(others_told)
    if names & others_names and names - others_names and others_names - names:
        return True
    denied = (told - counts - names) ^ (others_told - others_counts - others_names)
    return bool(denied) and len(shared) >= _ALIKE * max(len(about), len(others_about))


def _numbers(told: set[str]) -> set[str]:
    return {piece for piece in told if any(map(str.isdigit, piece))}


def _names(told: set[str]) -> set[str]:
    return {piece for piece in told if piece.startswith(_NAME)}


def _details(text: str) -> set[str]:
    return set(filter(None, map(told_by, text.split())))
