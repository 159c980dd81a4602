"""What a message calls for, by its form."""

from __future__ import annotations

import pytest

import pagefault
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
        ("結婚式で撮った写真の枚数", ASKING),
        ("大家さんが窓を替える理由", ASKING),
        ("遅れた荷物の番号", ASKING),
        ("鍵が開かなかったわけ", ASKING),
        ("火災保険の担当者は", ASKING),
        ("火災保険の担当者は来週来ます", TELLING),
        ("今日はいい天気", TELLING),
        ("写真を撮った", TELLING),
        ("窓を替えるのは大家さん", TELLING),
        ("荷物、届きました", TELLING),
        ("こんにちは", TELLING),
        ("今日は", TELLING),
        ("了解", TELLING),
        ("क्या तुम्हें पता है मीटिंग कब है", ASKING),
        ("मुझे पता है वह कब आएगा", TELLING),
        ("How lovely the wedding was!", TELLING),
        ("Thanks for the cake. What a day we had!", TELLING),
        ("Guess who!", TELLING),
        ("guess who", ASKING),
        ("the shop closes before the 17th of May", TELLING),
        ("we had the same problem before", ASKING),
        ("use the same settings as before for the new service", ASKING),
        ("pack it like before but without the lid", ASKING),
        ("the same list as before the move", ASKING),
        ("El vecino no quiere ruido antes de las diez.", TELLING),
        ("es lo mismo de antes", ASKING),
        ("連休前に終わらせたい", TELLING),
        ("前に話した件です", ASKING),
        ("¡Qué bonita fue la boda!", TELLING),
        ("Wie schön die Hochzeit war!", TELLING),
        ("ما أجمل العرس!", TELLING),
        ("Tell me who signed the lease!", ASKING),
        ("Where are my keys?!", ASKING),
        ("Sag mir, wo der Schlüssel liegt!", ASKING),
        ("can't recall the plumber's name", ASKING),
        ("no me acuerdo del nombre de la dentista", ASKING),
        ("mir fällt der Name des Klempners nicht ein", ASKING),
        ("ich kann mich nicht an den Namen des Klempners erinnern", ASKING),
        ("Ich kann mich nicht an die Zeit erinnern, als es so schön war", TELLING),
        ("je ne me souviens plus du nom du plombier", ASKING),
        ("لا أتذكر اسم السباك", ASKING),
        ("wa\u00adnn kommt der Klempner", ASKING),
        ("und die zweite Farbe war nochmal welche", ASKING),
        ("I spent the whole day in the garden and planted roses. How are you?", MIXED),
        ("I spent the day in the garden. Thanks for the roses, they are lovely.", TELLING),
        ("dove abbiamo messo la chiave del garage", MIXED),
        ("quem ficou com a chave da garagem", MIXED),
        ("Waar hebben we de sleutel gelegd?", ASKING),
        ("waar hebben we de sleutel van de garage gelegd", ASKING),
        ("heb je de sleutel van de garage nog gevonden", ASKING),
        ("ik weet niet meer wie de sleutel heeft", ASKING),
        ("wat een mooie tuin hebben ze daar", TELLING),
        ("We hebben de sleutel in de la van de keuken gelegd", TELLING),
        ("차고 열쇠를 서랍에 넣었어", MIXED),
        ("ok", TELLING),
        ("👍", TELLING),
        ("", TELLING),
    ],
)
def test_the_form_of_a_message_decides_what_it_calls_for(message: str, expected: Gate) -> None:
    assert gate(message) is expected


def test_control_a_statement_is_recognised_where_a_question_would_be() -> None:
    assert gate("Den Schlüssel der Garage habe ich in die Schublade gelegt") is TELLING
    assert gate("La chiave del garage è nel cassetto della cucina") is MIXED


def test_who_tells_gets_less_than_who_asks() -> None:
    assert TELLING.room_share < MIXED.room_share < ASKING.room_share
    assert TELLING.coverage_min > ASKING.coverage_min


async def shown(session: pagefault.Session, message: str) -> str:
    await session.user(message)
    request = await session.request()
    await session.assistant("Noted.")
    return "\n".join(one.content for one in request.messages) + request.tail


async def test_a_request_brings_back_what_was_forgotten_and_nothing_for_an_exclamation() -> None:
    async with pagefault.open(":memory:", window=2_000) as memory:
        session = await memory.session("talk")
        await shown(session, "The plumber is called Zebulon. He mended the sink.")
        await shown(session, "At the wedding the cake fell, and Horatio caught it.")
        for number in range(24):
            await shown(session, f"Filler number {number} about nothing in particular. " * 12)
        forgot, asked, told = [await session.fork(name) for name in ("forgot", "asked", "told")]

        assert "Zebulon" in await shown(forgot, "can't recall the plumber's name")
        assert "Horatio" in await shown(asked, "How was the wedding?"), "the control"
        assert "Horatio" not in await shown(told, "How very lovely and moving that wedding was!")
