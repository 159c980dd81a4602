"""What a message calls for, by its form."""

from __future__ import annotations

import pytest

from pagefault.recall.gate import ASKING, MIXED, TELLING, Gate, gate


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ("When did Maria buy the bicycle?", ASKING),
        ("Thanks! Where was that?", ASKING),
        ("tell me about the ferry", ASKING),
        ("As we decided, the blue one.", ASKING),
        ("何时出发？", ASKING),
        ("how did that meeting with the bank go", ASKING),
        ("how nice that you came to the meeting", TELLING),
        ("а витамины какие мы брали", ASKING),
        ("qui quitte l'équipe en juin", ASKING),
        ("où que tu ailles, on viendra", TELLING),
        ("кто бы мог заменить Машу", ASKING),
        ("где бы мы ни были, он звонит", TELLING),
        ("彼はなんて言ってた", ASKING),
        ("雨の日なんて誰も来ない", TELLING),
        ("क्या तुम्हें पता है मीटिंग कब है", ASKING),
        ("मुझे पता है वह कब आएगा", TELLING),
        ("I spent the whole day in the garden and planted roses. How are you?", MIXED),
        ("I spent the day in the garden. Thanks for the roses, they are lovely.", TELLING),
        ("ok", TELLING),
        ("👍", TELLING),
        ("", TELLING),
    ],
)
def test_the_form_of_a_message_decides_what_it_calls_for(message: str, expected: Gate) -> None:
    assert gate(message) is expected


def test_who_tells_gets_less_than_who_asks() -> None:
    assert TELLING.room_share < MIXED.room_share < ASKING.room_share
    assert TELLING.coverage_min > ASKING.coverage_min
