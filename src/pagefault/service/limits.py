"""Limits: the figures of `model/defaults.py`, as one value."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Final

from pagefault.model import defaults
from pagefault.model.errors import BadInput
from pagefault.model.events import CoreWritten, HandedIn, Noted, OriginalBody, PageBody, Stored
from pagefault.model.kinds import CoreOverflow, HostileNotes, Role
from pagefault.model.signatures import check_fields
from pagefault.paging.fault import THRESHOLDS, FaultLimits
from pagefault.policy.prefetch import LOADING
from pagefault.service.arguments import a_count, a_share, a_span_s

FAULT_FRAMING_TOKENS: Final = 160
"""About what a call of `page_fault` and its result take beside the text of the page."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Quantities have their units in `model/defaults.py`; shares are of the session's window.

    `fault_threshold` is the loosest reason for a fault that is granted: explicit, referenced or
    speculative. Raises `BadInput` for invalid values.
    """

    faults_per_turn_max: int = defaults.FAULTS_PER_TURN
    fault_tokens_per_turn_max: int = defaults.FAULT_TOKENS_PER_TURN
    fault_window_share: float = defaults.FAULT_WINDOW_SHARE
    fault_threshold: str = defaults.FAULT_THRESHOLD
    searches_per_turn_max: int = defaults.SEARCHES_PER_TURN
    steps_per_turn_max: int = defaults.STEPS_PER_TURN
    recall_tokens_max: int = defaults.RECALL_TOKENS
    recall_window_share: float = defaults.RECALL_WINDOW_SHARE
    untrusted_recall_share: float = defaults.UNTRUSTED_RECALL_SHARE
    paged_in_tokens_max: int = defaults.PAGED_IN_TOKENS
    fault_paged_in_share: float = defaults.FAULT_PAGED_IN_SHARE
    fault_tokens_about: int = defaults.FAULT_TOKENS_ABOUT
    last_turns_kept: int = defaults.LAST_TURNS_KEPT
    epoch_target_share: float = defaults.EPOCH_TARGET_SHARE
    manifest_window_share: float = defaults.MANIFEST_WINDOW_SHARE
    repack_window_share: float = defaults.REPACK_WINDOW_SHARE
    core_window_share: float = defaults.CORE_WINDOW_SHARE
    page_tokens_max: int = defaults.PAGE_TOKENS
    room_tokens_min: int = defaults.ROOM_TOKENS_MIN
    summary_window_share: float = defaults.SUMMARY_WINDOW_SHARE
    summarised_tokens_max: int = defaults.SUMMARISED_TOKENS
    formed_share: float = defaults.FORMED_SHARE
    formed_after_turns: int = defaults.FORMED_AFTER_TURNS
    formation_tries_max: int = defaults.FORMATION_TRIES
    formation_timeout_s: float = defaults.FORMATION_TIMEOUT_S
    formation_rest_s: float = defaults.FORMATION_REST_S
    formation_tokens_per_session: int = defaults.FORMATION_TOKENS_PER_SESSION
    formation_tokens_per_day: int = defaults.FORMATION_TOKENS_PER_DAY
    dead_window_share: float = defaults.DEAD_WINDOW_SHARE
    artifact_bytes_max: int = defaults.ARTIFACT_BYTES
    loading: str = defaults.LOADING
    prefetch_pages_max: int = defaults.PREFETCH_PAGES
    l1_pages_max: int = defaults.L1_PAGES
    compress_after_tokens: int = defaults.COMPRESS_AFTER_TOKENS
    compress_after_s: float = defaults.COMPRESS_AFTER_S
    hot_tokens_max: int = defaults.HOT_TOKENS
    hot_window_share: float = defaults.HOT_WINDOW_SHARE
    warm_accesses: int = defaults.WARM_ACCESSES
    promote_relevance: float = defaults.PROMOTE_RELEVANCE
    cold_items_max: int = defaults.COLD_ITEMS
    spill_items: int = defaults.SPILL_ITEMS
    promote_spill_items: int = defaults.PROMOTE_SPILL_ITEMS
    auto_spill: bool = defaults.AUTO_SPILL
    auto_promote: bool = defaults.AUTO_PROMOTE
    core_section_chars: int = defaults.CORE_SECTION_CHARS
    core_chars_max: int = defaults.CORE_CHARS
    core_overflow: str = defaults.CORE_OVERFLOW
    hostile_notes: str = defaults.HOSTILE_NOTES
    core_tools: bool = defaults.CORE_TOOLS

    def __post_init__(self) -> None:
        check_fields(self)
        for what, named, known in (
            ("loading strategy", self.loading, LOADING),
            ("fault threshold", self.fault_threshold, THRESHOLDS),
            ("way of overflow", self.core_overflow, tuple(CoreOverflow)),
            ("way with hostile notes", self.hostile_notes, tuple(HostileNotes)),
        ):
            if named not in known:
                raise BadInput(f"unknown {what} {named!r}", hint=f"one of {', '.join(known)}")
        for field in fields(self):
            value = getattr(self, field.name)
            if field.name.endswith("_share"):
                a_share(value, called=field.name)
            elif field.name.endswith("_s"):
                a_span_s(value, called=field.name)
            elif field.name == "promote_relevance":
                a_share(value, called=field.name)
            elif field.type == "int":
                a_count(value, called=field.name)

    def fault_limits(self, window_tokens: int) -> FaultLimits:
        """The limits that are advertised to the model, and enforced."""
        share = int(window_tokens * self.fault_window_share)
        faults = self.faults_per_turn_max
        tokens = min(self.fault_tokens_per_turn_max, share)
        if self.paged_in_tokens_max:
            faults, each = self._faults_bounded()
            tokens = min(tokens, faults * (each - FAULT_FRAMING_TOKENS))
        return FaultLimits(
            faults_max=faults,
            tokens_max=tokens,
            threshold=self.fault_threshold,
            paged_in_max=self.paged_in_tokens_max,
        )

    def recall_room(self, window_tokens: int, *, faults: bool = True) -> int:
        """What recall may bring at the start of a turn, framing included.

        `faults` means that the model may fault, too. If both have one limit, recall gets what
        faults leave of it, and no limit of its own; but never more than half of a window.
        """
        if self.paged_in_tokens_max:
            served, each = self._faults_bounded() if faults else (0, 0)
            return min(self.paged_in_tokens_max - served * each, window_tokens // 2)
        return min(self.recall_tokens_max, int(window_tokens * self.recall_window_share))

    def _faults_bounded(self) -> tuple[int, int]:
        """How many faults fit into half of the limit on everything paged in, at most, and the
        tokens of each, framing included.
        """
        share = int(self.paged_in_tokens_max * self.fault_paged_in_share)
        each = max(self.fault_tokens_about, share)
        return min(self.faults_per_turn_max, self.paged_in_tokens_max // 2 // each), each

    def page_room(self, window_tokens: int) -> int:
        """Where a long text is split: small enough that an eighth of the window takes a page."""
        return max(32, min(self.page_tokens_max, window_tokens // 8))

    def parts_shown(self, window_tokens: int) -> int:
        """How many parts of a long text enter the window by themselves: a quarter of it."""
        return max(1, window_tokens // (4 * self.page_room(window_tokens)))

    def parts_entering(self, body: PageBody, window_tokens: int) -> int:
        """How many parts of a text enter the window by themselves.

        A user's message is shown whole; a document not at all; anything else up to a quarter of the
        window; beside a call of the host's tools, as much as fitted when it was written. The rest
        is found and faulted like any other page.
        """
        if isinstance(body, OriginalBody) and body.shown >= 0:
            return min(body.parts, body.shown)
        if isinstance(body, HandedIn | Noted | CoreWritten):
            return 0
        if body.role is Role.USER and not isinstance(body, Stored):
            return body.parts
        return min(body.parts, self.parts_shown(window_tokens))

    def hot_limit(self, window_tokens: int) -> int:
        """The limit of hot memory, in tokens of its texts: in a small window a share of it."""
        return min(self.hot_tokens_max, int(window_tokens * self.hot_window_share))

    def core_tokens_max(self, window_tokens: int) -> int:
        """The limit of all pins together."""
        return int(window_tokens * self.core_window_share)
