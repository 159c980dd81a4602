"""Output for a proxied session, whose window its client decides."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pagefault.cli.term import plural

if TYPE_CHECKING:
    from pagefault.model.events import Relayed
    from pagefault.service.inspection.relayed import Proxied
    from pagefault.service.memory import Memory
    from pagefault.service.session import Session

CLIENT_DECIDES = "proxied: the client decides what the window holds"
QUOTED_SOON = (
    "proxied: where the client's request does not show it, it is quoted before the next message"
)
KEPT_SHORT = "proxied: once its page has left, it is put before the conversation"


async def resident_pages(memory: Memory, session: Session) -> set[str] | None:
    """The pages in the window; None if a proxy's client decides them."""
    return set(session.resident()) if await memory.proxied(session) is None else None


def window_of(sent: Relayed) -> str:
    """The size of a request, and its window."""
    if not sent.window_tokens:
        return f"{sent.tokens:,} tokens; passed on unchanged (no --window)"
    share = sent.tokens * sent.factor / sent.window_tokens
    over = ", over the window (what it must hold is larger)" if sent.is_over else ""
    counted = f" (× {sent.factor:.2f} by the provider's count)" if sent.factor != 1.0 else ""
    return f"{sent.tokens:,} of {sent.window_tokens:,} tokens{counted}, {share:.0%}{over}"


def rows_of(told: Proxied) -> list[list[str]]:
    """The rows of `pagefault status` for proxied requests."""
    sent = told.last
    shown = f"{sent.messages:,} of the client's {sent.client_messages:,} messages"
    if told.served:
        shown = f"{sent.messages:,} messages, of the client's {sent.client_messages:,}"
    left = f"{plural(sent.hidden, 'page')} in {sent.left_tokens:,} tokens"
    rows = [
        [
            "proxied",
            f"{sent.wire}, {sent.model or 'no model named'}: the client decides the window",
        ],
        ["last request", window_of(sent)],
        ["messages", shown],
        ["left out", left if sent.hidden else "nothing"],
        ["quoted", plural(told.recalled_pages, "page")],
    ]
    if sent.offers:
        asked = f"offered; {plural(told.served, 'follow-up request')} after their calls"
        rows.append(["memory's tools", asked])
    counted = f"{told.reported_tokens:,} tokens" if told.reports else "nothing yet"
    rows.append(["the provider counted", counted])
    if told.stubs:
        rows.append(["shown as stubs", plural(told.stubs, "result")])
    if told.over_window:
        rows.append(["over the window", plural(told.over_window, "request")])
    return rows


def instead_of_own_window(told: Proxied) -> dict[str, Any]:
    """The fields of `status --json` in place of the session's own window."""
    return {
        "mode": "proxied",
        "layout": "proxied",
        "window_tokens": told.last.window_tokens,
        "request_tokens": told.last.tokens,
        "epoch": told.epochs,
        "requests": told.requests,
        "resident_pages": None,
        "resident_derived": None,
        "faults_left": None,
        "budget": None,
        "auto_pins": None,
        "pressure": None,
        "proxied": told.to_dict(),
    }
