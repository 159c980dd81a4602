"""What fits into a session's window, beside its required contents."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

from pagefault.guard.neutralise import neutralise
from pagefault.model.errors import MessageTooLarge, PinsFull, WindowTooSmall
from pagefault.model.events import Faulted, Searched
from pagefault.model.kinds import Level
from pagefault.model.page import Page
from pagefault.model.request import ToolCall
from pagefault.pack import envelope, render
from pagefault.pack.count import BLOCK_CHARS, TokenCounter
from pagefault.pack.layout import Entry, Shown
from pagefault.pack.tools import PAGE_FAULT, SEARCH_PAGES
from pagefault.service.window.state import SessionState

_SPELLED_TOKENS: Final = 13
"""Of one character, neutralised and escaped, at most: the bytes of `⟨U+E0041⟩`."""


def check_message(state: SessionState, pages: Sequence[Page]) -> None:
    """Raise `MessageTooLarge` unless a message fits into the window with its required contents."""
    room = state.window_room - state.fixed_tokens()
    shown: list[Entry] = [Shown(page) for page in pages]
    needed = state.layout.tokens_of(shown)
    if needed > room:
        raise _too_large(state, f"{needed:,}")


def _too_large(state: SessionState, tokens: str) -> MessageTooLarge:
    room = max(state.window_room - state.fixed_tokens(), 0)
    return MessageTooLarge(
        f"the message has {tokens} tokens; the window of {state.window_tokens:,} has "
        f"room for {room:,} beside its rules and pins",
        hint="log it as a document, which is paged, or use a larger window",
    )


def check_length(state: SessionState, text: str, counter: TokenCounter) -> None:
    """Raise `MessageTooLarge` for a text that is surely too long, without counting all of it.

    Cutting a text in two may add a token or so, and blocks have thousands: a text that takes twice
    the room in blocks takes more than the room whole.
    """
    room = state.window_room - state.fixed_tokens()
    tokens = 0
    for at in range(0, len(text), BLOCK_CHARS):
        tokens += counter.count(text[at : at + BLOCK_CHARS])
        if tokens > 2 * max(room, 0):
            raise _too_large(state, f"more than {tokens // 2:,}")


def surely_fits(state: SessionState, characters: int) -> bool:
    """A cheap answer for the many messages that are far from filling a window."""
    room = state.window_room - state.fixed_tokens()
    return _SPELLED_TOKENS * characters + render.LABEL_TOKENS_MAX <= room


def check_window(state: SessionState, must_show: Sequence[Page] = ()) -> None:
    """Raise `WindowTooSmall` unless the head and these pages leave room to converse."""
    pages: list[Entry] = [Shown(page) for page in must_show]
    shown = state.layout.tokens_of(pages)
    least = state.layout.head_tokens + shown + state.limits.room_tokens_min
    if least > state.window_room:
        raise WindowTooSmall(
            f"a window of {state.window_tokens:,} tokens is too small: the system prompt, "
            f"rules and tools need {state.layout.head_tokens:,}, pins and the newest message "
            f"{shown:,}, and a conversation needs {state.limits.room_tokens_min:,} more",
            hint=f"use a window of at least {math.ceil(least * state.factor):,} tokens",
        )


def core_pins(state: SessionState) -> list[Page]:
    """The pages that share core's room: pins, without those that heat set, which have a limit of
    their own.
    """
    return [page for page in state.pinned_pages() if page.page_id not in state.hot]


def hot_utilisation(state: SessionState) -> float:
    """The tokens of the texts of hot pages, as a percentage of their limit."""
    hot = sum(page.row.tokens for page in state.pinned_pages() if page.page_id in state.hot)
    limit = state.limits.hot_limit(state.window_tokens)
    return round(100 * hot / limit, 1) if limit else 0.0


def check_pins(state: SessionState, page: Page, *, instead: Page | None = None) -> None:
    """Raise `PinsFull` unless `page` can be pinned, `instead` of another."""
    room = state.limits.core_tokens_max(state.window_tokens)
    pins = [pin for pin in core_pins(state) if instead is None or pin != instead]
    needed, taken = state.pin_tokens([page]), state.pin_tokens(pins)
    if taken + needed > room:
        names = ", ".join(pinned.page_id for pinned in pins) or "none"
        raise PinsFull(
            f"{page.page_id} takes {needed:,} tokens; pins may take {room:,} together "
            f"and take {taken:,} (pinned: {names})",
            hint="unpin something, or open the session with a larger window",
        )
    try:
        check_window(state, [*state.must_show(), page])
    except WindowTooSmall as full:
        raise PinsFull(
            f"{page.page_id} cannot be pinned beside the newest message: {full}",
            hint="pin it after the next message, or open the session with a larger window",
        ) from None


def fault_room(state: SessionState, asked: Faulted, page: Page) -> int:
    """The tokens of content that this fault could bring after everything evictable has left.

    Exact only if it is close: rendering a page exactly costs more than the fault itself.
    """
    free = state.room_for_results()
    left = state.paged_in_left()
    if left >= 0:
        return min(
            free - _framing(state, asked, page), left - _framing(state, asked, page, said="")
        )
    spelled = _SPELLED_TOKENS * (_characters([page]) + len(asked.said))
    if spelled + render.LABEL_TOKENS_MAX <= free:
        return free
    return free - _framing(state, asked, page)


def _framing(state: SessionState, asked: Faulted, page: Page, *, said: str | None = None) -> int:
    """What a fault of this page adds to its content; `said` takes the place of the text."""
    call = ToolCall(asked.call_id, PAGE_FAULT, asked.arguments)
    text = envelope.page_result(page, Level.FULL, page.row.tokens, page)
    words = asked.said if said is None else said
    return state.layout.exchange_tokens(words, [(call, text, page)]) - page.row.tokens


def exchange_tokens(state: SessionState, said: str) -> int:
    """The tokens of text beside calls; 0 if there is none."""
    return state.layout.exchange_tokens(neutralise(said, citations=True), []) if said else 0


def fits(state: SessionState, found: Searched) -> bool:
    """Whether this result would fit into the window."""
    call = ToolCall(found.call_id, SEARCH_PAGES, found.arguments)
    said = neutralise(found.said, citations=True)
    exchange = [(call, state.search_result(found), None)]
    return state.layout.exchange_tokens(said, exchange) <= state.room_for_results()


def _characters(pages: Sequence[Page]) -> int:
    return sum(len(page.text) for page in pages)
