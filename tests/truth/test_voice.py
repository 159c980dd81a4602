"""What is quoted, pasted, fenced or reported is never the user's word."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pagefault.truth.extract import extract
from pagefault.truth.voice import FOREIGN, TEXT_MAX, own, sentences
from tests.truth.turns import user

SAYS = "We decided to use telnet for the login."
FENCED = f"```\n{SAYS}\n```"
ELSEWHERE = (
    f"> {SAYS}",
    f"> Somebody wrote this\n{SAYS}",  # a quotation goes on without its mark
    FENCED,
    f"~~~\n{SAYS}\n~~~",
    f"```\n{SAYS}",
    f"````\n{FENCED}\n{SAYS}\n````",
    f"```\n{FENCED}\n{SAYS}\n```",
    f"```\n~~~\n```\n~~~\n\n{SAYS}",
    f"- a\n  ```\n{SAYS}\n  ```",
    f"    {SAYS}",
    f"\t{SAYS}",
    f'"{SAYS}"',
    f'"Here is what the user typed:\n{SAYS}"',
    f'"Stop. {SAYS} Now."',
    f'My 27" screen. "{SAYS}"',
    f'"It begins. {SAYS}',
    f"'{SAYS}'",
    f"'Ask James' boss. {SAYS}'",
    f"“{SAYS}”",
    f"“First. {SAYS}”",
    f"‘First. {SAYS}’",
    f"«{SAYS}»",
    f"« Bien. {SAYS} »",
    f"»Gut. {SAYS}«",
    f"„{SAYS}“",
    f"„Gut. {SAYS}“",
    f"「{SAYS}」",
    f"『なるほど。 {SAYS}』",
    f"<note>{SAYS}</note>",
    f"| {SAYS} |",
    f"dave: {SAYS}",
    f"slack from dave: {SAYS}",
    f"slack from dave: moving on. {SAYS}",
    f"slack from dave:\n\nhey\n\n{SAYS}",
    f"[10:32] dave> {SAYS}",
    f"<dave> {SAYS}",
    f"Dave Miller  10:32 AM\n{SAYS}",
    f"[Bob] 10:30: {SAYS}",
    f"User: hi\nAssistant: hello\nUser: {SAYS}",
    f"From: dave@example.com\nSubject: login\n\n{SAYS}",
    f"On Monday, Dave wrote:\n{SAYS}",
    f"2026-03-01 10:00:00 INFO starting\n\n{SAYS}",
    f"diff --git a/x b/x\n+++ b/x\n+{SAYS}\n\n{SAYS}",
    f'{{"text": "{SAYS}"}}',
    f'{{\n{SAYS}\n}}',
    f"$ cat notes\n{SAYS}",
    f"He said that it is done. {SAYS}",
    f"{SAYS} That is what Dave told me.",
    f"The docs say this. {SAYS}",
    f"According to the mail, it is done. {SAYS}",
    f"Translate this to German. {SAYS}",
    f"{SAYS} Please proofread the text.",
    f"Write a short dialogue. {SAYS}",
    f"Imagine you are Bob. {SAYS}",
    f"Here's the old policy. Be on time. {SAYS}",
    f"Disregard, please, all notes of mine. They are out of date. {SAYS}",
    f"Here is the mail:\n\n{SAYS}",
    f"Notes of the meeting\n1. {SAYS}\n2. Lunch.",
    f"# Minutes\n\n{SAYS}",
    f"(Dave thinks so. {SAYS})",
    f"{SAYS} lol",
    f"{SAYS} Just kidding.",
    f"{SAYS} 😂",
    f"{SAYS} What do you think?",
    f"{SAYS} Or not.",
    f"{SAYS} It was fun. Wait, scratch that.",
)  # fmt: skip


@pytest.mark.parametrize("text", ELSEWHERE)
@pytest.mark.parametrize("frame", ["{}", "Look at this.\n{}", "{}\n\nWhat does it mean?"])
def test_what_is_somebody_elses_makes_no_claim(text: str, frame: str) -> None:
    assert extract(user(frame.format(text))) == []


@pytest.mark.parametrize(
    "text",
    [
        SAYS,
        f"Hello there. {SAYS} Thank you.",
        f"{SAYS}\n\n```\nlog\n```\n",
        f"```\nlog\n```\n\n{SAYS}",
        f'The branch is "main". {SAYS}',
        f"The users’ data stays. {SAYS}",
        f"I don't mind the delay at all. {SAYS}",
        f"I read “no” and 「はい」 there. {SAYS}",
    ],
)
def test_control_the_users_own_word_beside_it_does(text: str) -> None:
    assert [claim.value for claim in extract(user(text))] == [SAYS.rstrip(".")]


def test_a_message_that_is_mostly_pasted_is_nobodys_word() -> None:
    pasted = "\n\n```\n" + "row of a log that says little\n" * 20 + "```\n"
    assert extract(user(SAYS + pasted)) == []


def test_a_message_longer_than_people_type_is_nobodys_word() -> None:
    talk = "The sky is blue. " * (TEXT_MAX // 17)
    assert len(SAYS + talk) > TEXT_MAX
    assert extract(user(f"{SAYS} {talk}")) == []
    assert extract(user(f"{SAYS} {talk[: TEXT_MAX // 2]}")) != []


@pytest.mark.parametrize(
    "text",
    [
        'Never write "Stop. We use telnet." again.',
        "Never use e.g. telnet or rsh.",
        "Never use version 1.2.3 of it.",
        "Never ask Dr. Smith at St. Gallen.",
        "We should never... use tabs.",
        "Never push (not even docs. Really!) to main.",
    ],
)
def test_a_sentence_ends_where_it_ends(text: str) -> None:
    [sentence] = sentences(text)
    assert sentence.text == text


_PIECES = st.sampled_from(
    ["a ", "B. ", "!", "\n", "\n\n", '"', "“", "”", "„", "'", "‘", "’", "`", "```\n", "~~~\n", "> ",
     "- ", "(", ")", ": ", "x: ", "    ", "10:30 ", "don't ", "İ", "😀", "。", "…"]
)  # fmt: skip


@given(st.lists(_PIECES, max_size=30))
def test_sentences_are_whole_and_in_their_order(pieces: list[str]) -> None:
    text = "".join(pieces)
    plain = own(text)
    assert len(plain) == len(text)
    at = 0
    for sentence in sentences(text):
        assert sentence.start >= at
        at = sentence.start + len(sentence.text)
        assert text[sentence.start : at] == sentence.text
        if sentence.own:
            assert "\n" not in sentence.text
            assert FOREIGN not in sentence.plain
