"""Drafts of records: a message's text becomes pages, and pages become drafts.

Nothing is appended here, and a text that may not be written raises before anything is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from pagefault.model.construction import fast_init
from pagefault.model.errors import BadInput
from pagefault.model.events import (
    Body,
    Called,
    Draft,
    HandedIn,
    PageBody,
    Returned,
    Said,
    Splice,
    Stored,
    expected,
)
from pagefault.model.ids import PageId, SessionNo, TurnNo
from pagefault.model.kinds import (
    DERIVED_TYPES,
    HANDED_IN,
    NOT_SAID,
    PAGE_PREFIX,
    Actor,
    EventType,
    Modality,
    Origin,
    Role,
    Source,
)
from pagefault.model.signatures import check_fields
from pagefault.pack.count import BLOCK_CHARS, TokenCounter
from pagefault.service.arguments import a_moment, a_share, a_short_text, one_of
from pagefault.service.turn.split import split
from pagefault.service.window.content import page_of
from pagefault.service.window.room import check_length, check_message, surely_fits
from pagefault.service.window.state import SessionState

_ACTORS: Final = {
    Role.USER: Actor.USER,
    Role.ASSISTANT: Actor.MODEL,
    Role.TOOL: Actor.TOOL,
    Role.SYSTEM: Actor.SYSTEM,
}


_SHORT: Final = (
    *("speaker", "title", "occurred_at", "call_id", "model"),
    *("blob", "mime_type", "follows", "supersedes"),
)
_SAYABLE: Final = tuple(one for one in EventType if one not in DERIVED_TYPES | NOT_SAID)
_NAMED: Final = {"role": Role, "event_type": EventType, "modality": Modality, "source": Source}


PREVIOUS: Final = "<previous>"
"""A value of `follows` for the page of the previous item in the same call, and its placeholder in
the key: that page has no id before it is written.
"""


@fast_init
@dataclass(frozen=True, slots=True, kw_only=True)
class Incoming:
    """One message or text to be written: the input of a verb, or a line of a transcript.

    Role, event type, modality and source may be given by their names. Raises `BadInput` for an
    invalid value or time, for a record type that is derived (summaries, claims …) and for an empty
    message of the user: no record could be read back.
    """

    text: str
    role: Role
    event_type: EventType = EventType.CHAT_TURN
    speaker: str = ""
    title: str = ""
    occurred_at: str = ""
    call_id: str = ""
    given_id: str = ""  # of a call that is stored under another
    importance: float = 0.5
    key: str = ""
    modality: Modality = Modality.TEXT
    source: Source = Source.CHAT
    model: str = ""  # the author, or the caller
    blob: str = ""  # of an artifact, which its text only describes
    mime_type: str = ""
    size_bytes: int = 0
    follows: str = ""  # the previous page in a proxied client's history, or `PREVIOUS`
    supersedes: str = ""  # the page that it replaces: an earlier version of the same message
    spliced: tuple[Splice, ...] = ()  # calls that the proxy served in it
    is_error: bool = False  # of a tool's result: the call failed
    is_whole: bool = True  # off for a block of a message that has others: no claims from it
    goes_on: bool = False  # on for a block of a message that another began: it opens no turn
    origin: Origin | None = None  # if another's than that of the whole batch

    def __post_init__(self) -> None:
        for name, of in _NAMED.items():
            if type(given := getattr(self, name)) is not of:
                object.__setattr__(self, name, one_of(of, given, name))
        check_fields(self)
        for name in _SHORT:
            a_short_text(getattr(self, name), called=name)
        a_share(self.importance, called="importance")
        a_moment(self.occurred_at)
        if self.event_type in DERIVED_TYPES:
            raise BadInput(
                f"a {self.event_type} is derived from what was said and cannot be logged directly",
                hint=f"event_type is one of {', '.join(_SAYABLE)}",
            )
        if self.event_type in NOT_SAID:
            raise BadInput(
                f"a {self.event_type} cannot be said",
                hint=f"event_type is one of {', '.join(_SAYABLE)}",
            )
        has_bytes = bool(self.blob or self.mime_type or self.size_bytes)
        if has_bytes and self.event_type is not EventType.ARTIFACT:
            raise BadInput("a blob is of an artifact", hint="`session.artifact` makes one")
        if self.is_error and self.event_type is not EventType.TOOL_RESULT:
            raise BadInput("what fails is a call", hint='event_type="tool_result" says of one')
        if self.size_bytes < 0:
            raise BadInput(f"no artifact has {self.size_bytes} bytes")
        if self.event_type is EventType.TOOL_CALL and self.role is not Role.ASSISTANT:
            raise BadInput("only a model calls tools", hint='use role="assistant"')
        if self.role is Role.USER and not self.text:
            raise BadInput("the text is empty", hint="omit it")

    @property
    def opens_turn(self) -> bool:
        """Whether it opens a turn: a message does, but not a document, an edit of an existing
        message, or a continuation of one.
        """
        begins = not self.supersedes and not self.goes_on
        return self.role is Role.USER and not self._is_handed_in and begins

    @property
    def _is_handed_in(self) -> bool:
        return self.event_type in HANDED_IN

    @property
    def stem(self) -> str:
        """The prefix of its pages' ids."""
        if self._is_handed_in:
            return PAGE_PREFIX["artifact"]
        return PAGE_PREFIX["tool" if self.role is Role.TOOL else "message"]


def placed(item: Incoming, previous: PageId) -> Incoming:
    """The same, with this page in place of `PREVIOUS`."""
    if item.follows != PREVIOUS:
        return item
    return replace(item, follows=previous, key=item.key.replace(PREVIOUS, previous))


def write_down(
    items: Sequence[Incoming],
    origin: Origin,
    *,
    session: SessionNo,
    state: SessionState,
    counter: TokenCounter,
    clean: Callable[[str], str],
) -> list[Draft]:
    """Drafts of the pages that these items become, in order, given the current `state`.

    `clean` redacts secrets, before anything is counted or split. Raises `MessageTooLarge` for a
    user's message that no request could show whole.
    """
    numbers, order, turn = dict(state.numbers), state.order_next, state.turn
    tokens_max = state.limits.page_room(state.window_tokens)
    texts = [clean(item.text) for item in items]
    written: list[Draft] = []
    before = PageId("")
    counts = iter(counter.count_all([text for text in texts if len(text) <= BLOCK_CHARS]))
    for item, text in zip(items, texts, strict=True):
        opens_turn, stem = item.opens_turn, item.stem
        turn = TurnNo(turn + 1) if opens_turn or turn < 0 else turn
        tokens = next(counts) if len(text) <= BLOCK_CHARS else None
        if tokens is not None and tokens <= tokens_max:
            parts = [(text, tokens)]
        else:
            if opens_turn and tokens is None:
                check_length(state, text, counter)
            parts = split(text, tokens_max, counter)
        first = numbers.get(stem, 0) + 1
        numbers[stem] = first + len(parts) - 1
        drafts = pages_of(
            *(item, parts, item.origin or origin),
            session=session,
            turn=turn,
            number=first,
            order=order,
            previous=before,
            clean=clean,
        )
        if opens_turn and not surely_fits(state, len(text)):
            pages = [
                page_of(e, e.body) for e in map(expected, drafts) if isinstance(e.body, PageBody)
            ]
            check_message(state, pages)
        order += len(parts)
        before = PageId(f"{stem}_{first}")
        written += drafts
    return written


def pages_of(
    item: Incoming,
    parts: Sequence[tuple[str, int]],
    origin: Origin,
    *,
    session: SessionNo,
    turn: TurnNo,
    number: int,
    order: int,
    previous: PageId = PageId(""),
    clean: Callable[[str], str],
) -> list[Draft]:
    """Drafts of one item, whose text has these parts, each with its tokens. Its first page has this
    number under its prefix, and this order; `previous` stands in place of `PREVIOUS`.
    """
    stem = item.stem
    follows, key = item.follows, item.key
    if follows == PREVIOUS:  # without `placed`, which would check every field again
        follows, key = previous, key.replace(PREVIOUS, previous)
    return [
        Draft(
            session=session,
            turn=turn,
            actor=_ACTORS[item.role],
            origin=origin,
            body=_body(
                item,
                clean,
                page_id=PageId(f"{stem}_{number + part}"),
                order=order + part,
                role=item.role,
                text=part_text,
                tokens=part_tokens,
                speaker=item.speaker and clean(item.speaker),
                title=item.title and clean(item.title),
                occurred_at=item.occurred_at,
                part=part,
                parts=len(parts),
                part_of=PageId(f"{stem}_{number}" if part else ""),
                importance=item.importance,
                modality=item.modality,
                source=item.source,
                follows=PageId("" if part else follows),
                supersedes=PageId(item.supersedes),
                spliced=() if part else item.spliced,
            ),
            key="" if part else key,
            model=item.model and clean(item.model),
        )
        for part, (part_text, part_tokens) in enumerate(parts)
    ]


def _body(item: Incoming, clean: Callable[[str], str], **page: Any) -> Body:
    match item.event_type:
        case EventType.TOOL_CALL:
            return Called(**page, call_id=item.call_id, given_id=item.given_id)
        case EventType.TOOL_RESULT:
            return Returned(**page, call_id=item.call_id, is_error=item.is_error)
        case EventType.DOCUMENT:
            return HandedIn(**page)
        case EventType.ARTIFACT:
            return Stored(
                **page, blob=item.blob, mime_type=clean(item.mime_type), size_bytes=item.size_bytes
            )
        case event_type:
            return Said(**page, event_type=event_type, call_id=item.call_id)
