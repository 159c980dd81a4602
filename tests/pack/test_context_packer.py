"""Context packs as values: what gets in, in which order, within which tokens."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pagefault.model.errors import BadInput
from pagefault.model.kinds import PackType, Source
from pagefault.pack import context_packer
from pagefault.pack.context_forms import TEXT_FORMS, text_tokens
from pagefault.pack.context_pack import (
    EVIDENCE,
    SECTIONS,
    ContextPack,
    LeftOut,
    PackEvidence,
    PackSpan,
)
from pagefault.pack.context_packer import PackHead, PackItem, pack_items
from pagefault.pack.count import O200k

COUNT = O200k().count
WORDS = "we chose postgres in march as the outage was slow 数据库 `rm -rf` ##".split()
NAMES = sorted({rule.name for rules in SECTIONS.values() for rule in rules})


def item(number: int, section: str = EVIDENCE, text: str = "", **more: object) -> PackItem:
    """An item like those that are gathered: a page, or a claim that rests on one."""
    said = text or f"said {number}"
    is_quote = section == EVIDENCE
    page = f"msg_{number}"
    evidence = PackEvidence(
        ref=page if is_quote else f"clm_{number}",
        kind="transcript" if is_quote else "claim",
        source=Source.CHAT,
        section=section,
        text=said,
        role="user",
        said_at="2026-03-05T08:00:00.000Z",
        rests_on=() if is_quote else (PackSpan(ref=page, start=0, end=1, quote=said),),
    )
    made = PackItem(
        section=section,
        tier=1,
        text=said,
        evidence=evidence,
        reason="a test",
        quote=said if is_quote else "",
        at_ms=number,
    )
    return replace(made, **more)  # type: ignore[arg-type]


HEAD = PackHead(query="postgres", generated_at="2026-03-05T08:00:00.000Z", pack_type=PackType.TASK)

ITEMS = st.lists(
    st.builds(
        lambda number, section, words, tier, rank, origin, shorter: item(
            number, section, " ".join(words), tier=tier, rank=rank, origin=origin,
            shorter=words[0] if shorter else "",
        ),
        st.integers(0, 30),
        st.sampled_from(NAMES),
        st.lists(st.sampled_from(WORDS), min_size=1, max_size=60),
        st.integers(0, 3),
        st.integers(0, 9),
        st.sampled_from(["", "web", "tool:x"]),
        st.booleans(),
    ),
    max_size=25,
)  # fmt: skip


@given(
    ITEMS,
    st.sampled_from(list(PackType)),
    st.sampled_from([0, 4, 10, 47, 60, 120, 300, 2_000]),
    st.randoms(use_true_random=False),
)
@settings(max_examples=60, deadline=None)
def test_a_pack_holds_what_it_promises_whatever_is_offered(
    items: list[PackItem], pack_type: PackType, target: int, chance: object
) -> None:
    head = replace(HEAD, pack_type=pack_type)
    pack = pack_items(items, head, target=target, count=COUNT)

    pack.check()
    assert all(COUNT(pack.text(form)) <= target for form in TEXT_FORMS)
    assert pack.token_budget.used == max(COUNT(pack.text(form)) for form in TEXT_FORMS)
    shuffled = [*items]
    chance.shuffle(shuffled)  # type: ignore[attr-defined]
    again = pack_items(shuffled, head, target=target, count=COUNT)
    assert again.text("json") == pack.text("json")
    assert ContextPack.from_json(pack.text("json")) == pack


def test_control_lines_that_fit_one_by_one_are_too_many_together(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Without the count of the whole the weights of single lines are all there is."""
    items = [item(number, NAMES[number % len(NAMES)]) for number in range(200)]
    monkeypatch.setattr(context_packer, "framed", lambda *_: "")
    weighed = pack_items(items, HEAD, target=300, count=COUNT, measure=lambda _: 0)
    counted = pack_items(items, HEAD, target=300, count=COUNT)

    assert text_tokens(weighed, COUNT) > 300
    assert text_tokens(counted, COUNT) == counted.token_budget.used <= 300


def test_the_strongest_stands_first_the_next_last_and_the_weakest_in_the_middle() -> None:
    items = [
        item(
            number,
            rank=number,
            evidence=replace(item(number).evidence, score=1.0 / (number + 1)),
        )
        for number in range(5)
    ]
    pack = pack_items(items, HEAD, target=1_000, count=COUNT)

    assert [one.ref for one in pack.evidence] == ["msg_0", "msg_1", "msg_2", "msg_3", "msg_4"]
    shown = [line.cites[0] for section, line in pack.lines if section == EVIDENCE]
    assert shown == ["msg_0", "msg_2", "msg_4", "msg_3", "msg_1"]


def test_the_latest_messages_of_one_instant_stand_in_the_order_of_the_log() -> None:
    said = [item(number, at_ms=1, seq=number) for number in (9, 10, 11)]
    pack = pack_items([said[1], said[2], said[0]], HEAD, target=1_000, count=COUNT)
    shown = [line.cites[0] for section, line in pack.lines if section == EVIDENCE]
    assert shown == ["msg_9", "msg_10", "msg_11"]


def test_critical_facts_stand_before_all_evidence() -> None:
    items = [item(1), item(2, "summary", "the build is frozen", tier=3)]
    told = pack_items(items, HEAD, target=1_000, count=COUNT).text()

    assert told.index("the build is frozen [clm_2, msg_2]") < told.index("said 1 [msg_1]")


def test_one_origin_fills_no_more_than_its_share_and_the_users_words_may() -> None:
    flood = [item(n, text=f"buy now {n} " + "very cheap " * 6, origin="web") for n in range(40)]
    users = [item(n, text=f"we chose {n} " + "and wrote it " * 5, tier=2) for n in range(50, 90)]
    pack = pack_items([*flood, *users], HEAD, target=1_000, count=COUNT, origin_share=0.25)
    shown = [line for _, line in pack.lines]
    strange = [line for line in shown if "buy now" in line.text]

    assert strange
    assert sum(COUNT(line.text) for line in strange) <= 250
    assert any("we chose" in line.text for line in shown)
    assert any(one.why == "web has its share of the pack" for one in pack.left_out)
    alone = pack_items(users, HEAD, target=1_000, count=COUNT, origin_share=0.25)
    assert sum(COUNT(line.text) for _, line in alone.lines) > 250, "the control"


def test_a_noisy_section_takes_only_what_the_others_do_not_want() -> None:
    noise = [item(n, text=f"noise {n} " + "again " * 8, tier=0) for n in range(60)]
    files = [item(n, "changed_files", f"edited src/{n}.py", tier=3) for n in range(100, 130)]
    alone = pack_items(noise, HEAD, target=1_000, count=COUNT)
    both = pack_items([*noise, *files], HEAD, target=1_000, count=COUNT)
    [rule] = [rule for rule in SECTIONS[PackType.TASK] if rule.name == EVIDENCE]

    def taken(pack: ContextPack, name: str) -> int:
        return sum(COUNT(line.text) for section, line in pack.lines if section == name)

    assert taken(alone, EVIDENCE) > rule.share * 1_000 - 50
    assert taken(both, EVIDENCE) < taken(alone, EVIDENCE)
    assert len(both.changed_files) >= 5


def test_a_page_that_has_no_room_among_the_facts_is_evidence_like_any_other() -> None:
    said = "said " * 30
    quote = item(1, text=said, tier=0, rank=0)
    fact = replace(
        quote, section="summary", text=f"user: {said}",
        evidence=replace(quote.evidence, section="summary"),
    )  # fmt: skip
    weaker = item(2, text="weaker " * 30, tier=1)
    pack = pack_items([fact, weaker], HEAD, target=110, count=COUNT)

    assert [one.ref for one in pack.evidence] == ["msg_1"]
    assert [section for section, _ in pack.lines] == [EVIDENCE]
    roomy = pack_items([fact, weaker], HEAD, target=900, count=COUNT)
    assert [section for section, _ in roomy.lines] == ["summary", EVIDENCE], "the control"


def test_what_a_claim_says_is_not_quoted_beside_it_but_raises_it() -> None:
    claim = item(1, "recent_decisions", "Decision: use bun", tier=3, says=("use bun",))
    other = item(2, "recent_decisions", "Decision: use deno", tier=3, says=("use deno",))
    quote = item(1, text="Use  bun", tier=0, rank=0)
    pack = pack_items([claim, other, quote], HEAD, target=1_000, count=COUNT)

    assert [line.text for _, line in pack.lines] == ["Decision: use bun", "Decision: use deno"]
    [first, *_] = pack.evidence
    assert (first.ref, first.also) == ("clm_1", ("msg_1",))


def test_what_has_no_room_in_full_comes_shorter_and_what_has_none_is_told_of() -> None:
    long = item(1, text="long " * 400, shorter="long …")
    huge = item(2, text="huge " * 400)
    small = item(3, text="small", tier=2)
    never = LeftOut(ref="clm_9", section="summary", why="stale claim")
    pack = pack_items([long, huge, small], HEAD, target=300, count=COUNT, left_out=[never])

    assert [one.ref for one in pack.evidence] == ["msg_1", "msg_3"]
    assert [one.is_whole for one in pack.evidence] == [False, True]
    assert [(one.ref, one.why) for one in pack.left_out] == [
        ("clm_9", "stale claim"),
        ("msg_2", "no room"),
    ]
    assert (pack.token_budget.trimmed, pack.left_out_total) == (1, 2)


def test_the_difference_of_two_packs_is_their_lines_and_not_their_times() -> None:
    before = pack_items([item(1), item(2)], HEAD, target=500, count=COUNT)
    later = replace(HEAD, generated_at="2026-03-06T08:00:00.000Z")
    same = pack_items([item(2), item(1)], later, target=600, count=COUNT)
    after = pack_items([item(2), item(3)], later, target=500, count=COUNT)

    assert same.since(before).is_empty
    told = after.since(before).text().splitlines()
    assert told == [
        "evidence:",
        "- user, 2026-03-05: said 1 [msg_1]",
        "+ user, 2026-03-05: said 3 [msg_3]",
    ]


@pytest.mark.parametrize(
    "text",
    ["", "[]", "{}", "null", '{"pack_type": "task"}', '{"pack_type": "sonnet"}', "[" * 100_000],
)
def test_what_is_no_pack_is_not_read_as_one(text: str) -> None:
    with pytest.raises(BadInput, match="no context pack"):
        ContextPack.from_json(text)


@pytest.mark.parametrize(
    ("field", "value"),
    [("query", 7), ("left_out_total", None), ("evidence", [{"ref": "msg_1"}]), ("summary", "x")],
)
def test_a_pack_with_a_field_of_another_kind_is_not_read(field: str, value: object) -> None:
    told = json.loads(pack_items([item(1)], HEAD, target=500, count=COUNT).text("json"))
    with pytest.raises(BadInput, match="no context pack"):
        ContextPack.from_json(json.dumps(told | {field: value}))
