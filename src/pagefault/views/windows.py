"""Views of one request: its segments, the pages brought back, its line in the log."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from typing import Final

from pagefault.model.ids import TurnNo
from pagefault.model.kinds import FaultReason, Kind, Level, Role
from pagefault.model.page import PageRow
from pagefault.service.inspection.session_fold import HeldWindow, held_of
from pagefault.service.inspection.status import Status
from pagefault.service.inspection.timetravel import InWindow
from pagefault.service.session import Session
from pagefault.views.kept import KeptSession
from pagefault.views.shown import (
    BroughtBack,
    RequestLine,
    SegmentKind,
    WindowSegment,
    WindowView,
)
from pagefault.views.texts import SessionTexts

SEGMENTS: Final = 240  # of a window, before neighbours of one kind are merged

_DID: Final = {
    "begun": "new conversation",
    "same": "sent again",
    "extended": "new message",
    "edited": "edited an old message",
    "branched": "went back and on from there",
    "compacted": "compacted its history",
    "remodelled": "another model",
    "reinstructed": "other instructions or tools",
    "served": "the model used memory",
}
_WHY: Final = {
    None: "recalled for this message",
    FaultReason.USER_REQUESTED_RECALL: "loaded by the model: the user asked",
    FaultReason.RESOLVE_REFERENCE: "loaded by the model: to resolve a reference",
    FaultReason.TOOL_PREREQ: "loaded by the model: a tool needs it",
    FaultReason.SPECULATIVE: "loaded by the model: just in case",
}
_KINDS: Final = {
    "core": SegmentKind.CLAIMS,
    "summary": SegmentKind.SUMMARIES,
    "recalled": SegmentKind.BROUGHT_BACK,
    "faulted": SegmentKind.BROUGHT_BACK,
    "stub": SegmentKind.STUBS,
}
_MADE: Final = {
    str(Kind.CLAIM): "core",
    str(Kind.SUMMARY): "summary",
    str(Kind.INDEX): "summary",
    str(Kind.PROCEDURE): "summary",
}
"""Places of derived pages, by type."""


def window_of(kept: KeptSession, number: int, *, whole: bool) -> WindowView:
    """A request's window; if `whole`, a segment per page, without text. Blocks on the store."""
    held, line = kept.held(number), line_of(kept, number)
    relayed = kept.fold.requests.entries[number].relayed
    limit = kept.fold.window_tokens if relayed is None else relayed.window_tokens
    free = max(0, limit - line.tokens)
    if whole:
        return WindowView(
            session_id=kept.fold.row.session_id,
            request=line,
            window_tokens=limit,
            segments=tuple(_segments(kept.texts, held, free=free, whole=True)),
        )
    rows = kept.texts.rows(one.page_id for one in held.pages if one.place == "turn")
    asked = [one for one, row in rows.items() if row.role is Role.USER]
    return WindowView(
        session_id=kept.fold.row.session_id,
        request=line,
        window_tokens=limit,
        segments=tuple(_segments(kept.texts, held, free=free)),
        brought=tuple(_brought(kept, held, number)),
        question=kept.texts.excerpt(asked[-1]) if asked else None,
    )


def next_window(session: Session, texts: SessionTexts, status: Status) -> WindowView:
    """The expected window of the next request, by the session's state; one segment per page."""
    pages = tuple(
        InWindow(one.page_id, Level.FULL, one.tokens, _MADE.get(one.page_type, "turn"))
        for one in session.abi().pages
    )
    tokens, limit = status.request_tokens, status.window_tokens
    fixed = status.auto_pins
    held = held_of(pages, tokens, rules=fixed.head_tokens, tools=fixed.tools_tokens)
    return WindowView(
        session_id=session.session_id,
        request=RequestLine(
            number=status.requests, turn=TurnNo(max(status.turns - 1, 0)), tokens=tokens
        ),
        window_tokens=limit,
        segments=tuple(_segments(texts, held, free=max(0, limit - tokens), whole=True)),
    )


def _segments(
    texts: SessionTexts, held: HeldWindow, *, free: int, whole: bool = False
) -> Iterator[WindowSegment]:
    for kind, tokens in (
        (SegmentKind.RULES, held.rules_tokens),
        (SegmentKind.TOOLS, held.tools_tokens),
        (SegmentKind.UNDIVIDED, held.undivided_tokens),
        (SegmentKind.FRAMING, held.framing_tokens),
    ):
        if tokens:
            yield WindowSegment(kind=kind, tokens=tokens)
    rows = texts.rows(one.page_id for one in held.pages)
    told = [(_kind(one, rows.get(one.page_id)), one) for one in held.pages]
    together = len(told) > SEGMENTS and not whole
    for _, group in groupby(enumerate(told), lambda one: one[1][0] if together else one[0]):
        run = [one for _, one in group]
        kind, first = run[0]
        text = None if whole else texts.excerpt(first.page_id)
        yield WindowSegment(
            kind=kind,
            tokens=sum(one.tokens for _, one in run),
            pages=tuple(one.page_id for _, one in run),
            who="" if text is None else text.who,
            text="" if text is None else text.text,
        )
    if free:
        yield WindowSegment(kind=SegmentKind.FREE, tokens=free)


def line_of(kept: KeptSession, number: int) -> RequestLine:
    entry, item = kept.fold.requests.entries[number], kept.items[number]
    relayed, report = entry.relayed, item.report
    did = "the model used memory" if item.is_ours else "new message"
    if relayed is not None:
        did = _DID.get(relayed.change, relayed.change)
    return RequestLine(
        number=number,
        seq=entry.seq,
        turn=entry.turn,
        at_ms=entry.at_ms,
        did=did,
        client_messages=relayed.client_messages if relayed is not None else 0,
        messages=relayed.messages if relayed is not None else 0,
        without_tokens=item.without,
        tokens=item.tokens,
        shared_tokens=min(item.shared, item.tokens),
        reported_tokens=None if report is None else report.input_tokens,
        reported_cached_tokens=None if report is None else report.cached_tokens,
        brought_back=len(kept.fold.brought[number]),
        rewrite=item.epoch,
    )


def _brought(kept: KeptSession, held: HeldWindow, number: int) -> Iterator[BroughtBack]:
    """The pages in a request that this or an earlier one brought back."""
    shown = {one.page_id for one in held.pages if one.place in ("recalled", "faulted")}
    for request in range(number, -1, -1):
        for one in kept.fold.brought[request]:
            if request < number and one.page_id not in shown:
                continue
            shown.discard(one.page_id)
            page = kept.texts.page(one.page_id)
            yield BroughtBack(
                request=request,
                page=kept.texts.excerpt_of(one.page_id, page),
                turn=page.row.turn if page is not None else TurnNo(-1),
                asked=one.reason is not None,
                why=_WHY[one.reason],
            )
        if not shown:
            return


def _kind(one: InWindow, row: PageRow | None) -> SegmentKind:
    if row is not None and row.kind is Kind.CLAIM:
        return SegmentKind.CLAIMS
    if one.level is Level.REFERENCE:
        return SegmentKind.STUBS
    if one.place in _KINDS:
        return _KINDS[one.place]
    is_tools = row is not None and row.role is Role.TOOL
    return SegmentKind.TOOL_RESULTS if is_tools else SegmentKind.CONVERSATION
