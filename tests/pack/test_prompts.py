"""What the model is told: the tools, the limits and how to cite are what the code holds it to."""

from __future__ import annotations

import json
import re
from typing import Any

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pagefault.model.errors import FaultRefused
from pagefault.model.ids import PageId
from pagefault.model.kinds import FaultReason, Level, Modality, Mode, Role
from pagefault.model.request import Message, ToolCall
from pagefault.pack.citations import check, cite, cited_pages
from pagefault.pack.count import O200k, message_tokens, tools_tokens
from pagefault.pack.prompts import head
from pagefault.pack.tools import vm_tools
from pagefault.paging.fault import FaultBudget, FaultLimits
from pagefault.service.turn.turn import ServeFault, ServeSearch, read_call

LIMITS = st.builds(
    FaultLimits,
    faults_max=st.integers(0, 9),
    tokens_max=st.integers(0, 99_999),
    threshold=st.sampled_from(["explicit", "referenced", "speculative"]),
)


@settings(deadline=None)
@given(LIMITS, st.sampled_from([Mode.ACTIVE, Mode.STRICT]))
def test_the_prompt_states_the_very_limits_that_are_enforced(
    limits: FaultLimits, mode: Mode
) -> None:
    said = head("", mode, limits)
    pages, tokens, reasons = re.findall(
        r"at most (\d+) pages of together at most (\d+) tokens, for these reasons: ([a-z_, ]+)\.",
        said,
    )[0]
    budget = FaultBudget(limits)
    granted = 0
    reason = FaultReason(reasons.split(", ")[0])
    for _ in range(20):
        try:
            budget.grant(PageId("msg_1"), Level.FULL, reason, {Level.FULL: 0}, 10)
        except FaultRefused:
            break
        budget.spend(0)
        granted += 1
    assert granted == int(pages)
    assert int(tokens) == limits.tokens_max
    assert set(reasons.split(", ")) == set(limits.reasons)


def test_the_rules_stand_once_after_the_prompt_of_the_caller() -> None:
    limits = FaultLimits(faults_max=2, tokens_max=100, threshold="referenced")
    for mode in Mode:
        said = head("You plan projects.", mode, limits)
        assert said.startswith("You plan projects.\n\n<VM:RULES>\n")
        assert said.endswith("\n</VM:RULES>")
        assert said.count("<VM:RULES>") == said.count("</VM:RULES>") == 1
        assert head("", mode, limits).startswith("<VM:RULES>\n")


def test_a_mode_without_tools_speaks_of_none_and_only_the_strict_one_forbids_gaps() -> None:
    limits = FaultLimits(faults_max=2, tokens_max=100, threshold="referenced")
    said = {mode: head("", mode, limits) for mode in Mode}
    assert [mode for mode in Mode if "page_fault" in said[mode]] == [Mode.ACTIVE, Mode.STRICT]
    assert [mode for mode in Mode if "Answer only from evidence" in said[mode]] == [Mode.STRICT]


def test_the_strict_prompt_says_what_is_evidence_and_what_a_hint() -> None:
    limits = FaultLimits(faults_max=2, tokens_max=100, threshold="referenced")
    said = head("", Mode.STRICT, limits)
    assert "the turns, recalled pages, claims and tool results in this request" in said
    assert "The header line of a summary, S (sum_3 · …), is a hint" in said


@settings(deadline=None)
@given(LIMITS)
def test_the_tools_are_sorted_valid_and_the_same_each_time(limits: FaultLimits) -> None:
    tools = vm_tools(limits)
    assert [tool.name for tool in tools] == sorted(tool.name for tool in tools)
    assert [tool.name for tool in tools] == ["page_fault", "search_pages"]
    assert json.dumps([dict(tool.parameters) for tool in tools]) == json.dumps(
        [dict(tool.parameters) for tool in vm_tools(limits)]
    )
    for tool in tools:
        assert tool.description
        jsonschema.Draft202012Validator.check_schema(tool.parameters)
        for value in tool.parameters["properties"].values():
            assert value["description"]
            if "default" in value:
                jsonschema.validate(value["default"], value)


FAULTS = st.fixed_dictionaries(
    {"page_id": st.sampled_from(["msg_1", "", 7])},
    optional={
        "target_level": st.sampled_from([-1, 0, 2, 3, 4, "2", True]),
        "reason": st.sampled_from([*map(str, FaultReason), "because", 1]),
    },
)
SEARCHES = st.fixed_dictionaries(
    {"query": st.sampled_from(["x", 7])},
    optional={
        "limit": st.sampled_from([0, 1, 50, 51, "5", True]),
        "modality": st.sampled_from([*map(str, Modality), "smell", 1]),
    },
)


@settings(deadline=None)
@given(LIMITS, FAULTS)
def test_a_fault_that_the_schema_admits_is_read_and_its_reason_granted(
    limits: FaultLimits, arguments: dict[str, Any]
) -> None:
    """Advertised is enforced: what the schema admits is served, what it does not is refused."""
    fault, _ = vm_tools(limits)
    admitted = jsonschema.Draft202012Validator(fault.parameters).is_valid(arguments)
    read = read_call(ToolCall("c", "page_fault", json.dumps(arguments)))
    granted = isinstance(read, ServeFault) and read.reason in limits.reasons
    assert granted == (admitted and arguments["page_id"] != "")


@settings(deadline=None)
@given(LIMITS, SEARCHES)
def test_a_search_that_the_schema_admits_is_read(
    limits: FaultLimits, arguments: dict[str, Any]
) -> None:
    _, search = vm_tools(limits)
    admitted = jsonschema.Draft202012Validator(search.parameters).is_valid(arguments)
    read = read_call(ToolCall("c", "search_pages", json.dumps(arguments)))
    assert isinstance(read, ServeSearch) == admitted


@pytest.mark.parametrize(
    ("text", "pages"),
    [
        ("So it is [ref: msg_12].", ["msg_12"]),
        ("[ref:msg_12]", ["msg_12"]),
        ("[ref: msg_1, sum_2] and [ref: msg_1]", ["msg_1", "sum_2"]),
        ("[ref: msg_2] before [ref: msg_1]", ["msg_2", "msg_1"]),
        ("[ref: tool:page_fault(img_4)]", ["img_4"]),
        ("[ref: msg_3…msg_5]", ["msg_3", "msg_5"]),
        ("[ref: (msg_3)]", ["msg_3"]),
        ("no citation: msg_12, (msg_12), ref: msg_12", []),
        ("[ref: nothing of the kind]", []),
        ("[ref: msg_12abc]", []),
        ("[ref: somemsg_12]", []),
        ("[ref: tool_result_045]", []),
        ("[ref: msg_١]", []),
        ("[ref: msg_1\n]", []),
        ("[ref: " + "x" * 300 + " msg_1]", []),
        ("[ref: msg_1", []),
        ("[ref: MSG_1]", []),
    ],
)
def test_a_citation_names_the_pages_between_its_brackets(text: str, pages: list[str]) -> None:
    assert cited_pages(text) == pages


@pytest.mark.parametrize(
    ("text", "invalid"),
    [
        ("[ref: msg_1] and [ref: tool:page_fault(msg_1)]", []),
        ("[ref: msg_1, msg_9]", ["msg_9"]),
        ("[ref: tool:search_pages(msg_1)]", ["msg_1"]),
        ("[ref: tool:page_fault( 'msg_1' )]", []),
        ("[ref: msg_1, tool:page_fault(msg_9)]", ["msg_9"]),
        ("[ref: tool:page_fault(img_045)]", ["img_045"]),
    ],
)
def test_a_citation_holds_if_the_page_was_there_and_a_call_returns_pages(
    text: str, invalid: list[str]
) -> None:
    assert list(check(text, {PageId("msg_1")}).invalid) == invalid


@given(st.lists(st.sampled_from(["msg_1", "art_22", "clm_7", "tool_3"])))
def test_what_is_cited_is_read_back_once_each_in_order(names: list[str]) -> None:
    text = " and ".join(cite(PageId(name)) for name in names)
    assert cited_pages(text) == list(dict.fromkeys(names))


def test_every_part_of_a_message_counts() -> None:
    counter = O200k()
    bare = Message(role=Role.ASSISTANT, content="hello")
    call = ToolCall("call_1", "page_fault", '{"page_id": "msg_1"}')
    calling = Message(role=Role.ASSISTANT, content="hello", tool_calls=(call,))
    answer = Message(role=Role.TOOL, content="hello", call_id="call_1")
    plain = message_tokens(counter, bare)
    assert plain > counter.count("hello")
    assert message_tokens(counter, calling) >= plain + counter.count(call.arguments) + 2
    assert message_tokens(counter, answer) > plain
    assert tools_tokens(counter, ()) == 0


def test_text_that_looks_like_a_special_token_is_counted_as_text() -> None:
    assert O200k().count("<|endoftext|>") > 1
    assert O200k().count_all(["", "hello"]) == [0, 1]
    assert O200k().count_all([]) == []
