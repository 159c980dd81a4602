"""What somebody should look at is told in plain words, and nothing else is."""

from __future__ import annotations

from pagefault.model.ids import PageId
from pagefault.model.kinds import Origin
from pagefault.pack.bill import BillPart, BillRow
from pagefault.service.derived.claims import ClaimInfo
from pagefault.service.inspection.metrics import Tally
from pagefault.service.inspection.report import Metrics
from pagefault.service.inspection.targets import REASONS, TARGETS, Judged
from pagefault.views.concerns import WORDS, concerns


def measured(*judged: Judged) -> Metrics:
    return Metrics(figures={}, turns=[], tally=Tally(), judged=list(judged))


def test_every_target_that_can_be_a_red_flag_has_words() -> None:
    flagged = {one.name for one in [*TARGETS, *REASONS.values()] if one.is_aim}
    assert flagged == WORDS.keys()


def test_a_missed_target_is_told_and_one_that_is_met_or_too_early_is_not() -> None:
    thrash = next(one for one in TARGETS if one.name == "thrash_index")
    regret = next(one for one in TARGETS if one.name == "regret")
    [told] = concerns(
        measured(
            Judged(thrash, 0.9, False, is_red_flag=True),
            Judged(regret, 1.0, True, is_red_flag=False),
            Judged(regret, 9.0, None, is_red_flag=False, waits_for="20 requests"),
        ),
        None,
        BillRow("talk"),
        [],
    )
    assert (
        told.what
        == "The same pages leave the window and come back: 90%; the target is less than 50%."
    )
    assert told.figure == "thrash_index"
    assert "pin" in told.do


def test_a_client_that_marks_nothing_is_told_what_that_costs() -> None:
    bill = BillRow("talk", requests=3, unmarked=BillPart(3, 9_000, 9_000), marking_saves=7_000)
    [told] = concerns(measured(), None, bill, [])
    assert told.what == "3 requests without a cache mark."
    assert "7,000 input tokens less" in told.why


def test_marks_that_would_save_nothing_are_not_advised() -> None:
    bill = BillRow("talk", requests=3, unmarked=BillPart(3, 900, 900), marking_saves=0)
    assert list(concerns(measured(), None, bill, [])) == []


def held(
    claim_id: str, value: str, *, subject: str = "Port", status: str = "standing"
) -> ClaimInfo:
    return ClaimInfo(
        claim_id=PageId(claim_id), type="decision", subject=subject, value=value, text=value,
        status=status, closed_by=PageId(""), supersedes=PageId(""), authority="user",
        origin=Origin("user_typed"), turn=0, evidence=(), quotes=(),
    )  # fmt: skip


def test_claims_that_stand_and_contradict_one_another_are_told_once() -> None:
    claims = [
        held("clm_1", "5432"), held("clm_2", "5433", subject="port"), held("clm_3", "5433"),
        held("clm_4", "8080", status="superseded"), held("clm_5", "blue", subject="Colour"),
    ]  # fmt: skip
    [told] = concerns(measured(), None, BillRow("talk"), claims)
    assert (told.what, told.figure) == ("2 claims disagree about “Port”.", "claims")


def test_a_client_that_edits_old_messages_is_told_what_that_lost() -> None:
    bill = BillRow("talk", requests=9, misses={"edited": BillPart(2, 4_000, 3_600.0)})
    [told] = concerns(measured(), None, bill, [])
    assert told.what == "The client edited old messages in 2 requests."
    assert "4,000 tokens" in told.why
