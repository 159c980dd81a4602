"""What people say becomes claims, and what nobody decided becomes none."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pagefault.lab import northstar_templates as templates
from pagefault.model.kinds import ClaimType
from pagefault.truth.claim import Authority, Claim, Turn
from pagefault.truth.extract import extract
from pagefault.truth.subjects import subject_key, value_key
from tests.truth import phrasings
from tests.truth.turns import assistant, tool, user


def _filled() -> Iterator[tuple[str, str, str]]:
    for subject, values in phrasings.TOPICS.items():
        yield subject, values[0], values[1]
        yield subject, values[1], values[2]


def _decides(claims: Sequence[Claim], subject: str, value: str) -> bool:
    return any(
        claim.type is ClaimType.DECISION
        and subject_key(claim.subject) == subject_key(subject)
        and value_key(claim.value) == value_key(value)
        for claim in claims
    )


def _share(found: Sequence[bool]) -> float:
    return sum(found) / len(found)


def _resolves(claim: Claim, turns: Sequence[Turn]) -> None:
    """Each span lies in its page's text, between characters, and the value stands in one."""
    texts = {turn.page_id: turn.text.encode() for turn in turns}
    quotes = []
    assert claim.evidence
    for span in claim.evidence:
        assert 0 <= span.start < span.end <= len(texts[span.page_id])
        quotes.append(texts[span.page_id][span.start : span.end].decode())
    value = claim.value.removeprefix("not ")
    assert not value or any(value in " ".join(quote.split()) for quote in quotes)


@pytest.mark.parametrize("template", phrasings.NOTHING)
def test_what_decides_nothing_makes_no_claim(template: str) -> None:
    for subject, value, other in _filled():
        assert extract(user(template.format(s=subject, v=value, w=other))) == []


def test_most_ways_to_decide_are_understood() -> None:
    found = [
        _decides(extract(user(template.format(s=s, v=v))), s, v)
        for template in phrasings.DECIDE
        for s, v, _ in _filled()
    ]
    assert _share(found) >= 0.85


def test_most_agreements_decide_what_was_shown() -> None:
    found = []
    for shown, yes in phrasings.AGREE:
        for s, v, _ in _filled():
            turn, before = user(yes.format(s=s, v=v)), [assistant(shown.format(s=s, v=v))]
            claims = extract(turn, before)
            for claim in claims:
                _resolves(claim, [turn, *before])
            found.append(_decides(claims, s, v))
    assert _share(found) >= 0.9


def test_a_decision_that_names_no_subject_takes_that_of_the_question() -> None:
    found = []
    for question, options, decision in phrasings.ASK:
        for s, v, w in _filled():
            before = [user(question.format(s=s), 7), assistant(options.format(v=v, w=w))]
            found.append(_decides(extract(user(decision.format(v=v)), before), s, v))
    assert _share(found) >= 0.9


def test_a_change_names_what_it_replaces() -> None:
    [claim] = extract(user("Let's switch from Redis 7 to Valkey for the cache."))
    assert (claim.value, claim.instead_of, claim.subject) == ("Valkey", "Redis 7", "cache")


def test_most_ways_to_take_back_are_understood() -> None:
    found = [
        any(
            claim.type is ClaimType.RETRACTION and value_key(claim.value) == value_key(v)
            for claim in extract(user(template.format(v=v)))
        )
        for template in phrasings.UNDO
        for _, v, _ in _filled()
    ]
    assert _share(found) >= 0.9


def test_a_retraction_without_a_name_is_about_the_turn_before() -> None:
    [claim] = extract(user("Scratch that."), [user("Let's use MIT.", 7), assistant("Noted.")])
    assert claim.type is ClaimType.RETRACTION
    assert claim.about == ("msg_7",)


@pytest.mark.parametrize(
    ("text", "kind", "subject", "value"),
    [
        ("Let's use PostgreSQL for the database", "decision", "database", "PostgreSQL"),
        ("We'll go with C++ for the engine.", "decision", "engine", "C++"),
        ("Let's use Next.js 14 for the front-end!", "decision", "front-end", "Next.js 14"),
        ("lets go wiht React and TypeScript for the UI", "decision", "UI", "React and TypeScript"),
        ("I prefer tabs over spaces.", "preference", "", "tabs"),
        ("My favourite editor is Neovim.", "preference", "editor", "Neovim"),
        ("Please always answer in German.", "rule", "", "answer in German"),
        ("Our budget is $50K.", "fact", "budget", "$50K"),
        ("My name is Maria Lopez.", "fact", "name", "Maria Lopez"),
        ("I live in Lisbon now.", "fact", "home", "Lisbon"),
    ],
)
def test_a_claim_says_what_was_said(text: str, kind: str, subject: str, value: str) -> None:
    turn = user(text)
    [claim] = extract(turn)
    assert claim.type == kind
    assert subject_key(claim.subject) == subject_key(subject)
    assert claim.value == value
    _resolves(claim, [turn])


def test_a_claim_is_one_line() -> None:
    [claim] = extract(user("Let's use PostgreSQL for the database"))
    assert claim.text == "Decision: use PostgreSQL for the database"


def test_two_decisions_of_one_sentence_are_two_claims() -> None:
    claims = extract(user("We'll use Go for the backend, and Vue for the frontend."))
    assert [(claim.subject, claim.value) for claim in claims] == [
        ("backend", "Go"),
        ("frontend", "Vue"),
    ]


# --- authority ------------------------------------------------------------------------------------


def test_what_a_user_typed_has_the_users_authority() -> None:
    [claim] = extract(user("Let's use MIT for the license."))
    assert (claim.authority, claim.origin) == (Authority.USER, "user_typed")


def test_what_a_user_agreed_to_is_approved_by_the_user() -> None:
    [claim] = extract(user("Agreed."), [assistant("I recommend MIT for the license.")])
    assert (claim.authority, claim.origin) == (Authority.USER, "user_approved")


@pytest.mark.parametrize("origin", ["import", "web", "local_file", "tool:chat", "command_output"])
def test_words_from_elsewhere_gain_no_authority(origin: str) -> None:
    for claim in extract(user("Let's use MIT for the license.", origin=origin)):
        assert claim.authority is Authority.PROPOSED
    shown = assistant("I recommend MIT for the license.", origin=origin)
    for claim in extract(user("Agreed."), [shown]):
        assert claim.authority is Authority.PROPOSED


@pytest.mark.parametrize("make", [assistant, tool])
def test_only_a_users_turn_makes_claims(make: type) -> None:
    assert extract(make("Let's use MIT for the license.")) == []


def test_an_agreement_reaches_no_further_than_the_turn_right_before() -> None:
    shown = assistant("I recommend MIT for the license.", 6)
    assert extract(user("Agreed."), [shown, tool("found")]) == []
    assert extract(user("Agreed."), [shown, user("And the weather?", 7), assistant("Sunny.")]) == []


@pytest.mark.parametrize(
    "quoted",
    [
        "> Let's use MIT for the license.",
        "```\nlet's use MIT for the license\n```",
        "~~~\nlet's use MIT for the license",
        "    let's use MIT for the license",
        "~~Let's use MIT for the license.~~",
        '"Let\'s use MIT for the license."',
        "“Let's use MIT for the license.”",
        "<note>Let's use MIT for the license.</note>",
        "Bob: let's use MIT for the license.",
        "[Bob] 10:30: let's use MIT for the license.",
        "| Let's use MIT for the license. |",
    ],
)
def test_a_quotation_decides_nothing(quoted: str) -> None:
    assert extract(user(f"Look at this:\n{quoted}")) == []


# --- whatever is written --------------------------------------------------------------------------

_PIECES = st.one_of(
    st.text(max_size=20),
    st.sampled_from(
        [
            "Let's use ", "we'll go with ", " for the ", "PostgreSQL 16", "C++", "it is",
            "instead of ", "scratch that", "I prefer ", " over ", "my name is ", "’", "é", "😀",
            "\n", "wiht", "Agreed. ", "`", '"', "> ", "```", "?", ". ", ", ", "our budget $5 ",
        ]
    ),
)  # fmt: skip


@given(said=st.lists(_PIECES, max_size=12), shown=st.lists(_PIECES, max_size=12))
def test_whatever_is_written_every_span_resolves(said: list[str], shown: list[str]) -> None:
    turn = user("".join(said))
    before = [user("What about the cache?", 7), assistant("".join(shown))]
    for claim in extract(turn, before):
        _resolves(claim, [turn, *before])


def test_a_very_long_text_is_read_at_its_ends_only() -> None:
    middle = "Let's use MIT for the license. " * 2_000
    assert extract(user("x" * 3_000 + middle + "x" * 3_000)) == []
    assert extract(user("Let's use MIT for the license. " + "x " * 20_000))


def test_the_rules_hold_no_sentence_of_those_that_judge_them() -> None:
    from pathlib import Path

    import pagefault.truth
    from pagefault.lab import northstar_templates

    folder = Path(pagefault.truth.__file__).parent
    rules = "".join(path.read_text() for path in sorted(folder.glob("*.py"))).casefold()
    judges = (
        *northstar_templates.DECIDE,
        *northstar_templates.CHANGE,
        *northstar_templates.NOTHING,
    )
    ours = (*phrasings.DECIDE, *phrasings.CHANGE, *phrasings.NOTHING)
    for sentence in judges:
        assert sentence.casefold() not in rules
        assert sentence not in ours
    assert not set(northstar_templates.TOPICS) & set(phrasings.TOPICS)


# --- judged by sentences that no rule was made with -----------------------------------------------


def test_most_preferences_and_facts_are_understood() -> None:
    found = [
        any(
            value_key(claim.value.removeprefix("not ")).find(value_key(value)) >= 0
            for claim in told
        )
        for value, sentence in (*templates.PREFER, *templates.TELL)
        for told in [extract(user(sentence))]
    ]
    assert sum(found) >= 24
    assert len(found) == 26


@pytest.mark.parametrize(("shown", "answer"), templates.NO_AGREEMENT)
def test_what_does_not_agree_decides_nothing(shown: str, answer: str) -> None:
    for s, v, w in _filled():
        turn = user(answer.format(s=s, v=v, w=w))
        assert extract(turn, [assistant(shown.format(s=s, v=v, w=w))]) == []
