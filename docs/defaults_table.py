"""Every default with its unit and, where the requirement texts name a figure, theirs beside ours.

`source` cites by number the texts that this design started from (`docs/design.md` names them). It
is one table because they name some figures twice, and differently. `docs/paging.md` prints it, and
`tests/model/test_defaults.py` checks it against the code that uses it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from pagefault.model import defaults


@dataclass(frozen=True, slots=True)
class Default:
    """One figure. `theirs` is what `source` says, None if no text names one."""

    name: str
    unit: str
    theirs: object = None
    source: str = ""
    why: str = ""  # given where we differ, or where the figure is not used yet

    @property
    def ours(self) -> object:
        """What the code does; None if nothing uses the figure yet."""
        return getattr(defaults, self.name.upper(), None)


TABLE: Final = (
    Default("window_tokens", "tokens", theirs=128_000, source="000 Configuration, l0_max_tokens"),
    Default("tlb_entries", "entries", theirs=512, source="000 §1.5, PageTLB.max_entries"),
    Default(
        "faults_per_turn",
        "faults",
        theirs=(2, 3),
        source="000 protocol example; 000 §3.3 FaultPolicy",
        why="both figures are in use; 2 keeps a turn short",
    ),
    Default(
        "fault_tokens_per_turn",
        "tokens",
        theirs=(8_192, 4_096, 2_048),
        source="000 §3.3; 000 manifest example; 000 §5.4 upgrade_budget_tokens",
        why=(
            "the manifest's figure, because what is advertised is what is enforced; and never "
            "more than fault_window_share of the window"
        ),
    ),
    Default(
        "fault_window_share",
        "share of the window",
        why="a fault must not push the conversation it serves out of a small window",
    ),
    Default("fault_threshold", "name", theirs="referenced", source="000 §3.3"),
    Default("fault_level", "level", theirs=2, source="000 protocol, page_fault.target_level"),
    Default("search_limit", "hits", theirs=5, source="000 protocol, search_pages.limit"),
    Default("searches_per_turn", "searches", why="a search costs no fault, but a model may loop"),
    Default("steps_per_turn", "requests", why="the bound on a model that loops"),
    Default(
        "recall_tokens",
        "tokens",
        why=(
            "what the runtime pages in by itself at the start of a turn; spends no fault of the "
            "model"
        ),
    ),
    Default("recall_window_share", "share of the window", why="the same, for small windows"),
    Default(
        "untrusted_recall_share",
        "share of recall's room",
        why=(
            "of what the runtime brings in by itself: what one tool, or the web, may take of it "
            "beyond its best page"
        ),
    ),
    Default(
        "passage_tokens",
        "tokens",
        why="the proxy quotes only part of a longer page, so that several fit",
    ),
    Default(
        "passage_tokens_min", "tokens", why="less of a longer page says nothing, and is not quoted"
    ),
    Default(
        "paged_in_tokens",
        "tokens",
        why=(
            "what recall and faults bring into the window in one turn, together and with what "
            "frames it; 0: only the two bounds of their own"
        ),
    ),
    Default(
        "fault_paged_in_share",
        "share of paged_in_tokens",
        why=(
            "what recall leaves to each fault: a page costs recall a quarter of what it costs a "
            "fault"
        ),
    ),
    Default(
        "fault_tokens_about",
        "tokens",
        why="a fault of a short page, call and result: with less, none is offered",
    ),
    Default("importance", "0 to 1", theirs=0.5, source="000 §1.2, MemoryPage.importance"),
    Default(
        "eviction_policy", "name", theirs="importance_weighted_lru", source="000 Configuration"
    ),
    Default(
        "epoch_target_share",
        "share of the window",
        theirs=0.8,
        source="000 Configuration, eviction_threshold",
        why=(
            "instead of evicting at 80 % each turn, rewrite to 30 % when that pays, or the "
            "window is full, so that the prefix stays byte-stable for many turns"
        ),
    ),
    Default(
        "stub_target_share",
        "share of the window",
        why=(
            "in a turn that fills the window the oldest results of tools become stubs, down to "
            "this: the model is at work with the others"
        ),
    ),
    Default(
        "dead_share_max",
        "share of the request",
        why="dead tokens cost attention too: beyond this share an epoch removes them at any price",
    ),
    Default(
        "dead_window_share",
        "share of the window",
        why="less is not worth an epoch, even a free one",
    ),
    Default(
        "summary_window_share",
        "share of the window",
        why="what summaries may take together; older ones are shown as headers",
    ),
    Default("summarised_tokens", "tokens", why="of turns that one summary is made of, about"),
    Default(
        "formed_share",
        "share of the range",
        why="what a formed summary may take of its range, citations included",
    ),
    Default(
        "formed_after_turns",
        "turns",
        theirs="several turns",
        source="001 Compression Strategy, delayed usage",
        why="after which an epoch shows what was formed of a range, in the place of its turns",
    ),
    Default(
        "formation_tries",
        "tries",
        why="of one range: then it is given up, and quoted when it leaves, as without a model",
    ),
    Default(
        "formation_timeout_s",
        "seconds",
        why="how long forming one range may take; nothing else waits for it",
    ),
    Default(
        "formation_rest_s",
        "seconds",
        why=(
            "without another turn, after which what is left of a conversation is formed, and "
            "sections of core memory are proposed: a cache that keeps five minutes has the "
            "request still; 0 is never"
        ),
    ),
    Default(
        "formation_tokens_per_session",
        "tokens",
        why=(
            "of the requests by which a session's memory is formed, and of their answers: a "
            "range of 2,000 tokens takes as many as the window holds, nearly all of them read "
            "from a cache"
        ),
    ),
    Default(
        "formation_tokens_per_day",
        "tokens",
        why=(
            "the same of all sessions of one user of a proxy, or of all that no proxy made, in "
            "a day in UTC"
        ),
    ),
    Default("tail_tokens", "tokens", why="the standing rules, recited"),
    Default("last_turns_kept", "turns", theirs=3, source="000 §2.3, last 3 turns pinned"),
    Default("core_window_share", "share of the window", why="what pins may take together"),
    Default("page_tokens", "tokens", why="a longer text is split into linked pages"),
    Default(
        "room_tokens_min",
        "tokens",
        why="what a window must leave beside rules and tools, or it is refused",
    ),
    Default("segment_bytes", "bytes", theirs=10_000_000, source="004 store: rotation at 10 MB"),
    Default("artifact_bytes", "bytes", why="it is held in memory while it is written and read"),
    Default(
        "tool_bytes",
        "bytes",
        why="what a tool writes at once (`pagefault.Quotas`): as much as one file that is kept",
    ),
    Default(
        "tool_bytes_per_minute",
        "bytes a minute",
        why="what one tool of one tenant writes: enough for any, and an end to one that runs away",
    ),
    Default(
        "text_bytes",
        "bytes in UTF-8",
        why=(
            "one message, document or result: it is held in memory whole; a longer one is "
            "handed in in parts, or kept as an artifact"
        ),
    ),
    Default(
        "name_chars",
        "characters",
        why=(
            "a speaker, a title, a tool's name, an id of a call: they stand in the window "
            "beside their page, and are no texts of their own; longer ones are refused"
        ),
    ),
    Default("pack_cache_entries", "packs", theirs=32, source="000 §1.7"),
    Default(
        "manifest_window_share",
        "share of the window",
        why="what the pages that are listed, and not shown, may take in a developer message",
    ),
    Default(
        "repack_window_share",
        "share of the window",
        why="what leaves a developer message beyond need, so that it is summed up as one",
    ),
    Default(
        "lock_wait_s",
        "seconds",
        why=(
            "a writer holds the root for milliseconds; one that holds it for seconds has been "
            "stopped, or is forgetting"
        ),
    ),
    Default(
        "lease_s",
        "seconds",
        why=("longer than any pause of a healthy process; a killed one loses its leases at once"),
    ),
    Default(
        "lease_idle_s",
        "seconds",
        why=(
            "a proxy and an MCP server then let others write to a session; each time costs two "
            "records"
        ),
    ),
    Default("eviction_cooldown_turns", "turns", theirs=3, source="000 §2.4"),
    Default(
        "eviction_memory_turns",
        "turns",
        why=(
            "a page that comes back later does not thrash; a restart has to read no more turns back"
        ),
    ),
    Default("fault_protection_turns", "turns", theirs=2, source="000 §2.4"),
    Default("placeholder_timeout_ms", "milliseconds", theirs=100, source="000 §3.2"),
    Default(
        "l1_pages",
        "pages",
        theirs=100,
        source="000 Configuration, l1_max_pages",
        why="representations a session keeps at hand; dirty ones are beyond this",
    ),
    Default(
        "l2_bytes",
        "bytes",
        theirs=100_000_000,
        source="000 Configuration, l2_max_bytes",
        why="the log is not bounded: it is the truth; limits per tenant come with tenants",
    ),
    Default(
        "compress_after_tokens",
        "tokens",
        theirs="300 seconds",
        source="000 Configuration, auto_compress_after",
        why=(
            "a conversation may rest for a night and nothing in it is older; `compress_after_s` "
            "counts seconds for who wants that"
        ),
    ),
    Default("compress_after_s", "seconds", why="0: age counts tokens alone"),
    Default("compression_level", "level", theirs=1, source="000 Configuration"),
    Default(
        "prefetch_pages",
        "pages",
        theirs="2 segments",
        source="000 Configuration, prefetch_depth",
        why="what a turn may read ahead, into memory alone",
    ),
    Default(
        "loading", "name", why="what is read ahead: on_demand, predictive, contextual, speculative"
    ),
    Default("thrash_window_turns", "turns", theirs=5, source="000 Success Metrics"),
    Default("hot_tokens", "tokens", theirs=4_000, source="002 hotTokenLimit"),
    Default(
        "hot_window_share",
        "share of the window",
        why="the same, for windows of less than 16,000 tokens",
    ),
    Default("warm_accesses", "accesses", theirs=3, source="002 warmAccessThreshold"),
    Default("promote_relevance", "0 to 1", theirs=0.85, source="002 promoteThreshold"),
    Default("cold_items", "items", theirs=1_000, source="002 maxColdItems"),
    Default("auto_spill", "switch", theirs=True, source="002 autoSpillEnabled"),
    Default("auto_promote", "switch", theirs=True, source="002 autoPromoteEnabled"),
    Default("spill_items", "items", theirs=4, source="002 SpillOptions.count"),
    Default("promote_spill_items", "items", theirs=2, source="002 promoteToHot"),
    Default("heat_recall_limit", "items", theirs=3, source="002 RecallOptions.limit, 003 top_k"),
    Default("core_section_chars", "characters", theirs=2_000, source="003 MainContext.max_chars"),
    Default(
        "core_chars",
        "characters",
        why="all sections of core memory together, and never more than core_window_share",
    ),
    Default(
        "core_overflow",
        "name",
        theirs="trim",
        source="003 MainContext.append",
        why=(
            "a trimmed section silently loses what was just noted; with archive its oldest lines "
            "become notes"
        ),
    ),
    Default(
        "hostile_notes",
        "name",
        theirs="reject",
        source="003 safe_archival_insert",
        why="a text that only looks like an attack is not lost; reject refuses it",
    ),
    Default(
        "core_tools",
        "switch",
        why=(
            "whether the proxy offers models the tools of core and archival memory, beside its "
            "own: they take about 500 tokens of every request"
        ),
    ),
    Default(
        "note_chars",
        "characters",
        why="a note is one page; a longer text is handed in as a document, and split",
    ),
    Default(
        "image_inline_bytes",
        "bytes",
        theirs=1_000_000,
        source="000 Configuration",
        why="with media",
    ),
    Default("card_decay_days", "days", theirs=28, source="004 card example"),
)
