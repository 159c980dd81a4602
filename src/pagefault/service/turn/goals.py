"""The active goal: one page, in the user's words, pinned until the next one replaces it."""

from __future__ import annotations

from dataclasses import replace

from pagefault.model.errors import BadInput
from pagefault.model.events import Draft, PageBody, Pinned, Unpinned, expected
from pagefault.model.ids import PageId
from pagefault.model.kinds import (
    GOAL_SUBJECT,
    RUNTIME,
    USER_TYPED,
    Actor,
    ClaimType,
    EventType,
)
from pagefault.model.page import Derived, Page
from pagefault.service.ownership import Owned
from pagefault.service.window.content import page_of
from pagefault.service.window.derived_drafts import Made
from pagefault.service.window.room import check_pins
from pagefault.service.window.state import SessionState


def active_goal(state: SessionState) -> Page | None:
    """The active goal, if there is one."""
    goals = [
        page
        for page in state.core.values()
        if page.derived is not None and page.derived.claim_type == ClaimType.GOAL
    ]
    return goals[-1] if goals else None


def plan_goal(owned: Owned, text: str) -> tuple[list[Draft], PageId | None]:
    """The records that make `text` the goal, and its page's id; if empty, only the end of the
    previous goal. `PinsFull` if the pins leave no room for it, `BadInput` for blanks.
    """
    if text and not text.strip():
        raise BadInput("a goal must not be blank", hint='give its text; "" ends the goal')
    state = owned.state
    before = active_goal(state)
    if not text and before is None:
        return [], None
    made = Made(
        event_type=EventType.CLAIM,
        text=text or "The goal no longer stands.",
        origin=USER_TYPED if text else RUNTIME,
        importance=1.0,
        derived=Derived(
            claim_type=ClaimType.GOAL if text else ClaimType.RETRACTION,
            subject=GOAL_SUBJECT,
            supersedes=before.page_id if before else PageId(""),
        ),
    )
    [draft] = owned.derive([made])
    assert isinstance(draft.body, PageBody)
    drafts = [replace(draft, actor=Actor.USER)]
    if before is not None and state.table.is_pinned(before.page_id):
        drafts.append(owned.draft(Unpinned(page_id=before.page_id), Actor.USER))
    if not text:
        return drafts, None
    check_pins(state, page_of(expected(draft), draft.body), instead=before)
    drafts.append(owned.draft(Pinned(page_id=draft.body.page_id), Actor.USER))
    return drafts, draft.body.page_id
