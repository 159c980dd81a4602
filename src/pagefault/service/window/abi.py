"""The window for programs: what it holds, and how much more fits."""

from __future__ import annotations

from pagefault.model.kinds import Mode
from pagefault.pack.abi import MemoryABI, entry_of, toolset_hash
from pagefault.pack.count import tools_tokens
from pagefault.pack.layout import pages_of
from pagefault.service.window.state import SessionState


def abi_of(state: SessionState) -> MemoryABI:
    layout = state.layout
    schemas = tools_tokens(state.counter, layout.tools)
    reserved = layout.head_tokens - schemas
    stay = {page.page_id for page in state.must_show()}
    shown = [page for entry in layout.entries() for page in pages_of(entry)]
    return MemoryABI(
        pages=tuple(entry_of(page, can_evict=page.page_id not in stay) for page in shown),
        faults_allowed=state.mode is not Mode.PASSIVE,
        upgrade_budget_tokens=0
        if state.mode is Mode.PASSIVE
        else state.calls.budget.limits.tokens_max,
        max_context_tokens=state.window_room,
        reserved_tokens=reserved,
        available_tokens=max(0, state.window_room - reserved - schemas),
        tool_schema_tokens_reserved=schemas,
        active_toolset_hash=toolset_hash(layout.tools),
    )
