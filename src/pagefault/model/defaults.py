"""The defaults. `docs/paging.md` has each with its unit, and the reason for the figure."""

from __future__ import annotations

from typing import Final

WINDOW_TOKENS: Final = 128_000
TLB_ENTRIES: Final = 512
FAULTS_PER_TURN: Final = 2
FAULT_TOKENS_PER_TURN: Final = 4_096
FAULT_WINDOW_SHARE: Final = 0.25
FAULT_THRESHOLD: Final = "referenced"
FAULT_LEVEL: Final = 2
SEARCH_LIMIT: Final = 5
SEARCHES_PER_TURN: Final = 4
STEPS_PER_TURN: Final = 8
RECALL_TOKENS: Final = 1_000
RECALL_WINDOW_SHARE: Final = 0.125
UNTRUSTED_RECALL_SHARE: Final = 0.5
PASSAGE_TOKENS: Final = 256
"""A longer page is quoted in part, so that several relevant pages fit."""
PASSAGE_TOKENS_MIN: Final = 16
"""A shorter excerpt says nothing."""
PAGED_IN_TOKENS: Final = 0
FAULT_TOKENS_ABOUT: Final = 220
FAULT_PAGED_IN_SHARE: Final = 0.125
IMPORTANCE: Final = 0.5
EVICTION_POLICY: Final = "importance_weighted_lru"
EPOCH_TARGET_SHARE: Final = 0.3
STUB_TARGET_SHARE: Final = 0.6
DEAD_SHARE_MAX: Final = 0.7
LAST_TURNS_KEPT: Final = 3
CORE_WINDOW_SHARE: Final = 0.10
PAGE_TOKENS: Final = 1_024
SEGMENT_BYTES: Final = 10_000_000
LOCK_WAIT_S: Final = 5.0
LEASE_S: Final = 30.0
LEASE_IDLE_S: Final = 60.0
ROOM_TOKENS_MIN: Final = 256
MANIFEST_WINDOW_SHARE: Final = 0.05
REPACK_WINDOW_SHARE: Final = 0.04
PACK_CACHE_ENTRIES: Final = 32
TAIL_TOKENS: Final = 50
SUMMARY_WINDOW_SHARE: Final = 0.15
SUMMARISED_TOKENS: Final = 2_000
FORMED_AFTER_TURNS: Final = 3
FORMED_SHARE: Final = 0.125
FORMATION_TRIES: Final = 3
FORMATION_TIMEOUT_S: Final = 120.0
FORMATION_REST_S: Final = 240.0
FORMATION_TOKENS_PER_SESSION: Final = 1_000_000
FORMATION_TOKENS_PER_DAY: Final = 2_000_000
DEAD_WINDOW_SHARE: Final = 0.05
L1_PAGES: Final = 100
HOT_TOKENS: Final = 4_000
HOT_WINDOW_SHARE: Final = 0.25
WARM_ACCESSES: Final = 3
PROMOTE_RELEVANCE: Final = 0.85
COLD_ITEMS: Final = 1_000
SPILL_ITEMS: Final = 4
PROMOTE_SPILL_ITEMS: Final = 2
HEAT_RECALL_LIMIT: Final = 3
CORE_SECTION_CHARS: Final = 2_000
CORE_CHARS: Final = 8_000
NOTE_CHARS: Final = 20_000
AUTO_SPILL: Final = True
AUTO_PROMOTE: Final = True
CORE_OVERFLOW: Final = "refuse"
HOSTILE_NOTES: Final = "quarantine"
CORE_TOOLS: Final = False
PLACEHOLDER_TIMEOUT_MS: Final = 100
LOADING: Final = "on_demand"
PREFETCH_PAGES: Final = 8
COMPRESS_AFTER_TOKENS: Final = 16_000
COMPRESS_AFTER_S: Final = 0.0
COMPRESSION_LEVEL: Final = 1
EVICTION_COOLDOWN_TURNS: Final = 3
EVICTION_MEMORY_TURNS: Final = 24  # a page that returns later counts as new
FAULT_PROTECTION_TURNS: Final = 2
THRASH_WINDOW_TURNS: Final = 5  # within which another fault on a topic counts as thrash
ARTIFACT_BYTES: Final = 50_000_000
TEXT_BYTES: Final = 32_000_000
TOOL_BYTES: Final = 50_000_000
TOOL_BYTES_PER_MINUTE: Final = 250_000_000
NAME_CHARS: Final = 1_000
CARD_DECAY_DAYS: Final = 28
