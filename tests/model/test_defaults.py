"""One table of defaults, held against the code that uses them."""

from __future__ import annotations

import inspect
from dataclasses import fields
from typing import Any

from pagefault.model import defaults
from pagefault.model.events import PageBody
from pagefault.model.kinds import FaultReason, Level
from pagefault.model.request import ToolCall
from pagefault.pack.tools import vm_tools
from pagefault.paging.fault import FaultLimits
from pagefault.paging.tlb import TLB
from pagefault.service import bootstrap
from pagefault.service.limits import Limits
from pagefault.service.options import Options
from pagefault.service.turn.drafts import Incoming
from pagefault.service.turn.turn import read_call
from pagefault.store.embedded import segments
from tests.scripts import defaults_table

TABLE = defaults_table().TABLE
OURS = {row.name: row.ours for row in TABLE}
CONSTANTS = {name: value for name, value in vars(defaults).items() if name.isupper()}


def test_every_constant_is_in_the_table_with_its_value() -> None:
    assert {name.lower(): value for name, value in CONSTANTS.items()} == {
        name: ours for name, ours in OURS.items() if ours is not None
    }


def test_no_figure_is_in_the_table_twice() -> None:
    assert len(OURS) == len(TABLE)


def test_every_row_says_its_unit_and_where_it_comes_from_or_why() -> None:
    for row in TABLE:
        assert row.unit, row.name
        assert row.source or row.why, row.name
        assert (row.theirs is None) <= (row.source == ""), f"{row.name}: a source names a figure"


def test_a_figure_that_differs_from_theirs_says_why() -> None:
    for row in TABLE:
        if row.theirs is not None and row.ours != row.theirs:
            assert row.why, row.name


def default_of(function: Any, parameter: str) -> Any:
    return inspect.signature(function).parameters[parameter].default


def field_default(cls: Any, name: str) -> Any:
    return next(field.default for field in fields(cls) if field.name == name)


def test_a_session_is_given_the_figures_of_the_table() -> None:
    named = {field.name: field.default for field in fields(Limits)}
    for name, value in named.items():
        assert value == OURS[name if name in OURS else name.removesuffix("_max")], name
    assert len(named) == 49, "a new limit is a new row"


def test_a_tlb_has_the_entries_of_the_table() -> None:
    tlb = TLB()
    assert tlb._entries_max == OURS["tlb_entries"]


def test_the_tools_state_the_defaults_that_a_bare_call_gets() -> None:
    limits = FaultLimits(faults_max=1, tokens_max=1, threshold=str(OURS["fault_threshold"]))
    fault, search = (tool.parameters["properties"] for tool in vm_tools(limits))
    assert fault["target_level"]["default"] == OURS["fault_level"]
    assert search["limit"]["default"] == OURS["search_limit"]
    bare: Any = read_call(ToolCall("c", "page_fault", '{"page_id": "msg_1"}'))
    assert (bare.level, bare.reason) == (Level(2), FaultReason.RESOLVE_REFERENCE)
    assert bare.reason == fault["reason"]["default"]
    sought: Any = read_call(ToolCall("c", "search_pages", '{"query": "x"}'))
    assert sought.limit == OURS["search_limit"]


def test_segments_of_the_log_are_as_long_as_the_table_says() -> None:
    assert OURS["segment_bytes"] == segments.SEGMENT_BYTES
    assert default_of(segments.SegmentLog.__init__, "segment_bytes") == OURS["segment_bytes"]


def test_what_is_said_has_the_importance_of_the_table() -> None:
    assert field_default(PageBody, "importance") == OURS["importance"]
    assert field_default(Incoming, "importance") == OURS["importance"]


async def test_a_memory_opens_with_the_window_and_the_policy_of_the_table() -> None:
    async with bootstrap.open_memory(":memory:") as memory:
        status = await (await memory.session()).status()
        assert status.window_tokens == OURS["window_tokens"]
        policy: Any = memory._runtime.policy()
        assert type(policy._inner) is type(bootstrap.POLICIES[str(OURS["eviction_policy"])]())


def test_what_describes_the_options_names_the_figures_of_the_table() -> None:
    told = " ".join((Options.__doc__ or "").split())
    assert f"else {OURS['window_tokens']:,}." in told
    assert f'Default: "{OURS["eviction_policy"]}"' in told
