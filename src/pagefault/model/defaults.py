"""Every default with its unit, and, where the requirement texts name a figure, theirs beside ours.

`source` cites by number the texts that this design started from (`docs/design.md` names them). It
is one table because they name some figures twice, and differently. `docs/paging.md` prints it, and
`tests/model/test_defaults.py` checks it against the code that uses it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Default:
    """One figure. `theirs` is what `source` says, `ours` what this code does."""

    name: str
    unit: str
    ours: object
    theirs: object
    source: str
    why: str = ""  # given where we differ, or where the figure is not used yet


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

TABLE: Final[tuple[Default, ...]] = (
    Default("window_tokens", "tokens", WINDOW_TOKENS, 128_000, "000 Configuration, l0_max_tokens"),
    Default("tlb_entries", "entries", TLB_ENTRIES, 512, "000 §1.5, PageTLB.max_entries"),
    Default(
        "faults_per_turn",
        "faults",
        FAULTS_PER_TURN,
        (2, 3),
        "000 protocol example; 000 §3.3 FaultPolicy",
        "both figures are in use; 2 keeps a turn short",
    ),
    Default(
        "fault_tokens_per_turn",
        "tokens",
        FAULT_TOKENS_PER_TURN,
        (8_192, 4_096, 2_048),
        "000 §3.3; 000 manifest example; 000 §5.4 upgrade_budget_tokens",
        "the manifest's figure, because what is advertised is what is enforced; and never more "
        "than fault_window_share of the window",
    ),
    Default(
        "fault_window_share",
        "share of the window",
        FAULT_WINDOW_SHARE,
        None,
        "",
        "a fault must not push the conversation it serves out of a small window",
    ),
    Default("fault_threshold", "name", FAULT_THRESHOLD, "referenced", "000 §3.3"),
    Default("fault_level", "level", FAULT_LEVEL, 2, "000 protocol, page_fault.target_level"),
    Default("search_limit", "hits", SEARCH_LIMIT, 5, "000 protocol, search_pages.limit"),
    Default(
        "searches_per_turn",
        "searches",
        SEARCHES_PER_TURN,
        None,
        "",
        "a search costs no fault, but a model may loop",
    ),
    Default(
        "steps_per_turn", "requests", STEPS_PER_TURN, None, "", "the bound on a model that loops"
    ),
    Default(
        "recall_tokens",
        "tokens",
        RECALL_TOKENS,
        None,
        "",
        "what the runtime pages in by itself at the start of a turn; spends no fault of the model",
    ),
    Default(
        "recall_window_share",
        "share of the window",
        RECALL_WINDOW_SHARE,
        None,
        "",
        "the same, for small windows",
    ),
    Default(
        "untrusted_recall_share",
        "share of recall's room",
        UNTRUSTED_RECALL_SHARE,
        None,
        "",
        "of what the runtime brings in by itself: what one tool, or the web, may take of it beyond "
        "its best page",
    ),
    Default(
        "passage_tokens",
        "tokens",
        PASSAGE_TOKENS,
        None,
        "",
        "the proxy quotes a longer page in part, so that of several each is told",
    ),
    Default(
        "passage_tokens_min",
        "tokens",
        PASSAGE_TOKENS_MIN,
        None,
        "",
        "less of a longer page says nothing, and is not quoted",
    ),
    Default(
        "paged_in_tokens",
        "tokens",
        PAGED_IN_TOKENS,
        None,
        "",
        "what recall and faults bring into the window in one turn, together and with what frames "
        "it; 0: only the two bounds of their own",
    ),
    Default(
        "fault_paged_in_share",
        "share of paged_in_tokens",
        FAULT_PAGED_IN_SHARE,
        None,
        "",
        "what recall leaves to each fault: a page costs recall a quarter of what it costs a fault",
    ),
    Default(
        "fault_tokens_about",
        "tokens",
        FAULT_TOKENS_ABOUT,
        None,
        "",
        "a fault of a short page, call and result: with less, none is offered",
    ),
    Default("importance", "0 to 1", IMPORTANCE, 0.5, "000 §1.2, MemoryPage.importance"),
    Default(
        "eviction_policy", "name", EVICTION_POLICY, "importance_weighted_lru", "000 Configuration"
    ),
    Default(
        "epoch_target_share",
        "share of the window",
        EPOCH_TARGET_SHARE,
        0.8,
        "000 Configuration, eviction_threshold",
        "instead of evicting at 80 % each turn, rewrite to 30 % when that pays, or the window is "
        "full, so that the prefix stays byte-stable for many turns",
    ),
    Default(
        "stub_target_share",
        "share of the window",
        STUB_TARGET_SHARE,
        None,
        "",
        "in a turn that fills the window the oldest results of tools become stubs, down to this: "
        "the model is at work with the others",
    ),
    Default(
        "dead_share_max",
        "share of the request",
        DEAD_SHARE_MAX,
        None,
        "",
        "dead tokens cost attention too: beyond this share an epoch removes them at any price",
    ),
    Default(
        "dead_window_share",
        "share of the window",
        DEAD_WINDOW_SHARE,
        None,
        "",
        "less is not worth an epoch, even a free one",
    ),
    Default(
        "summary_window_share",
        "share of the window",
        SUMMARY_WINDOW_SHARE,
        None,
        "",
        "what summaries may take together; older ones are shown as headers",
    ),
    Default(
        "summarised_tokens",
        "tokens",
        SUMMARISED_TOKENS,
        None,
        "",
        "of turns that one summary is made of, about",
    ),
    Default(
        "formed_share",
        "share of the range",
        FORMED_SHARE,
        None,
        "",
        "what a formed summary may take of its range, citations included",
    ),
    Default(
        "formed_after_turns",
        "turns",
        FORMED_AFTER_TURNS,
        "several turns",
        "001 Compression Strategy, delayed usage",
        "after which an epoch shows what was formed of a range, in the place of its turns",
    ),
    Default(
        "formation_tries",
        "tries",
        FORMATION_TRIES,
        None,
        "",
        "of one range: then it is given up, and quoted when it leaves, as without a model",
    ),
    Default(
        "formation_timeout_s",
        "seconds",
        FORMATION_TIMEOUT_S,
        None,
        "",
        "for which whoever forms a range is waited for; nobody else waits meanwhile",
    ),
    Default(
        "formation_rest_s",
        "seconds",
        FORMATION_REST_S,
        None,
        "",
        "without another turn, after which what is left of a conversation is formed, and sections "
        "of core memory are proposed: a cache that keeps five minutes has the request still; 0 is "
        "never",
    ),
    Default(
        "formation_tokens_per_session",
        "tokens",
        FORMATION_TOKENS_PER_SESSION,
        None,
        "",
        "of the requests by which a session's memory is formed, and of their answers: a range of "
        "2,000 tokens takes as many as the window holds, nearly all of them read from a cache",
    ),
    Default(
        "formation_tokens_per_day",
        "tokens",
        FORMATION_TOKENS_PER_DAY,
        None,
        "",
        "the same of all sessions of one user of a proxy, or of all that no proxy made, in a day "
        "in UTC",
    ),
    Default("tail_tokens", "tokens", TAIL_TOKENS, None, "", "the standing rules, recited"),
    Default("last_turns_kept", "turns", LAST_TURNS_KEPT, 3, "000 §2.3, last 3 turns pinned"),
    Default(
        "core_window_share",
        "share of the window",
        CORE_WINDOW_SHARE,
        None,
        "",
        "what pins may take together",
    ),
    Default(
        "page_tokens", "tokens", PAGE_TOKENS, None, "", "a longer text is split into linked pages"
    ),
    Default(
        "room_tokens_min",
        "tokens",
        ROOM_TOKENS_MIN,
        None,
        "",
        "what a window must leave beside rules and tools, or it is refused",
    ),
    Default(
        "segment_bytes",
        "bytes",
        SEGMENT_BYTES,
        10_000_000,
        "004 store: rotation at 10 MB",
    ),
    Default(
        "artifact_bytes",
        "bytes",
        ARTIFACT_BYTES,
        None,
        "",
        "it is held in memory while it is written and read",
    ),
    Default(
        "tool_bytes",
        "bytes",
        TOOL_BYTES,
        None,
        "",
        "what a tool writes at once (`pagefault.Quotas`): as much as one file that is kept",
    ),
    Default(
        "tool_bytes_per_minute",
        "bytes a minute",
        TOOL_BYTES_PER_MINUTE,
        None,
        "",
        "what one tool of one tenant writes: enough for any, and an end to one that runs away",
    ),
    Default(
        "text_bytes",
        "bytes in UTF-8",
        TEXT_BYTES,
        None,
        "",
        "one message, document or result: it is held in memory whole; a longer one is handed in in "
        "parts, or kept as an artifact",
    ),
    Default(
        "name_chars",
        "characters",
        NAME_CHARS,
        None,
        "",
        "a speaker, a title, a tool's name, an id of a call: they stand in the window beside their "
        "page, and are no texts of their own; longer ones are refused",
    ),
    Default("pack_cache_entries", "packs", PACK_CACHE_ENTRIES, 32, "000 §1.7"),
    Default(
        "manifest_window_share",
        "share of the window",
        MANIFEST_WINDOW_SHARE,
        None,
        "",
        "what the pages that are listed, and not shown, may take in a developer message",
    ),
    Default(
        "repack_window_share",
        "share of the window",
        REPACK_WINDOW_SHARE,
        None,
        "",
        "what leaves a developer message beyond need, so that it is summed up as one",
    ),
    # Named by the texts, and waiting for the feature they belong to.
    Default(
        "lock_wait_s",
        "seconds",
        LOCK_WAIT_S,
        None,
        "",
        "a writer holds the root for milliseconds; who holds it for seconds is stopped, or forgets",
    ),
    Default(
        "lease_s",
        "seconds",
        LEASE_S,
        None,
        "",
        "longer than any pause of a process that is well; a killed one loses its leases at once",
    ),
    Default(
        "lease_idle_s",
        "seconds",
        LEASE_IDLE_S,
        None,
        "",
        "a proxy and an MCP server then let others write to a session; each time costs two records",
    ),
    Default("eviction_cooldown_turns", "turns", EVICTION_COOLDOWN_TURNS, 3, "000 §2.4"),
    Default(
        "eviction_memory_turns",
        "turns",
        EVICTION_MEMORY_TURNS,
        None,
        "",
        "a page that comes back later does not thrash; a restart has to read no more turns back",
    ),
    Default("fault_protection_turns", "turns", FAULT_PROTECTION_TURNS, 2, "000 §2.4"),
    Default("placeholder_timeout_ms", "milliseconds", PLACEHOLDER_TIMEOUT_MS, 100, "000 §3.2"),
    Default(
        "l1_pages",
        "pages",
        L1_PAGES,
        100,
        "000 Configuration, l1_max_pages",
        "representations a session keeps at hand; dirty ones are beyond this",
    ),
    Default(
        "l2_bytes",
        "bytes",
        None,
        100_000_000,
        "000 Configuration, l2_max_bytes",
        "the log is not bounded: it is the truth; limits per tenant come with tenants",
    ),
    Default(
        "compress_after_tokens",
        "tokens",
        COMPRESS_AFTER_TOKENS,
        "300 seconds",
        "000 Configuration, auto_compress_after",
        "a conversation may rest for a night and nothing in it is older; `compress_after_s` counts "
        "seconds for who wants that",
    ),
    Default(
        "compress_after_s", "seconds", COMPRESS_AFTER_S, None, "", "0: age counts tokens alone"
    ),
    Default("compression_level", "level", COMPRESSION_LEVEL, 1, "000 Configuration"),
    Default(
        "prefetch_pages",
        "pages",
        PREFETCH_PAGES,
        "2 segments",
        "000 Configuration, prefetch_depth",
        "what a turn may read ahead, into memory alone",
    ),
    Default(
        "loading",
        "name",
        LOADING,
        None,
        "",
        "what is read ahead: on_demand, predictive, contextual, speculative",
    ),
    Default("thrash_window_turns", "turns", THRASH_WINDOW_TURNS, 5, "000 Success Metrics"),
    Default("hot_tokens", "tokens", HOT_TOKENS, 4_000, "002 hotTokenLimit"),
    Default(
        "hot_window_share",
        "share of the window",
        HOT_WINDOW_SHARE,
        None,
        "",
        "the same, for windows of less than 16,000 tokens",
    ),
    Default("warm_accesses", "accesses", WARM_ACCESSES, 3, "002 warmAccessThreshold"),
    Default("promote_relevance", "0 to 1", PROMOTE_RELEVANCE, 0.85, "002 promoteThreshold"),
    Default("cold_items", "items", COLD_ITEMS, 1_000, "002 maxColdItems"),
    Default("auto_spill", "switch", AUTO_SPILL, True, "002 autoSpillEnabled"),
    Default("auto_promote", "switch", AUTO_PROMOTE, True, "002 autoPromoteEnabled"),
    Default("spill_items", "items", SPILL_ITEMS, 4, "002 SpillOptions.count"),
    Default("promote_spill_items", "items", PROMOTE_SPILL_ITEMS, 2, "002 promoteToHot"),
    Default(
        "heat_recall_limit", "items", HEAT_RECALL_LIMIT, 3, "002 RecallOptions.limit, 003 top_k"
    ),
    Default(
        "core_section_chars", "characters", CORE_SECTION_CHARS, 2_000, "003 MainContext.max_chars"
    ),
    Default(
        "core_chars",
        "characters",
        CORE_CHARS,
        None,
        "",
        "all sections of core memory together, and never more than core_window_share",
    ),
    Default(
        "core_overflow",
        "name",
        CORE_OVERFLOW,
        "trim",
        "003 MainContext.append",
        "a trimmed section loses what was just noted, and nobody is told; with archive its oldest "
        "lines become notes",
    ),
    Default(
        "hostile_notes",
        "name",
        HOSTILE_NOTES,
        "reject",
        "003 safe_archival_insert",
        "a text that only looks like an attack is not lost; reject refuses it",
    ),
    Default(
        "core_tools",
        "switch",
        CORE_TOOLS,
        None,
        "",
        "whether the proxy offers models the tools of core and archival memory, beside its own: "
        "they take about 500 tokens of every request",
    ),
    Default(
        "note_chars",
        "characters",
        NOTE_CHARS,
        None,
        "",
        "a note is one page; a longer text is handed in as a document, and split",
    ),
    Default("image_inline_bytes", "bytes", None, 1_000_000, "000 Configuration", "with media"),
    Default("card_decay_days", "days", CARD_DECAY_DAYS, 28, "004 card example"),
)
"""`ours` is None if nothing uses the figure yet; `theirs` is None if no text names one."""
