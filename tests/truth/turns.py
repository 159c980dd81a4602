"""Turns to test with."""

from __future__ import annotations

from pagefault.model.ids import PageId
from pagefault.model.kinds import MODEL_GENERATED, USER_TYPED, Origin, Role
from pagefault.truth.claim import Utterance


def user(text: str, number: int = 9, origin: str = USER_TYPED) -> Utterance:
    return Utterance(PageId(f"msg_{number}"), Role.USER, Origin(origin), text)


def assistant(text: str, number: int = 8, origin: str = MODEL_GENERATED) -> Utterance:
    return Utterance(PageId(f"msg_{number}"), Role.ASSISTANT, Origin(origin), text)


def tool(text: str, number: int = 8) -> Utterance:
    return Utterance(PageId(f"tool_{number}"), Role.TOOL, Origin("tool:search"), text)
