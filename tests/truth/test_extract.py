"""A claim is a whole message of a known form; whatever says anything else makes none."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pagefault.lab.phrasings import SHIPPED
from pagefault.truth.claim import Authority, Claim, Utterance
from pagefault.truth.extract import extract
from tests.truth.turns import assistant, tool, user

SCRIPT, HARDER = SHIPPED["script"]
TOPICS = {subject: values for subject, (values, _) in SCRIPT.topics.items()}

NOTHING = (  # sentences that yield no claim
    "Should we use {v} for the {s}?",
    "What do you think about {v} for the {s}?",
    "If we used {v} for the {s}, what would break?",
    "Tom said he would pick {v} for the {s}.",
    "My colleague thinks we'll go with {v} for the {s}.",
    "I'm not sure we should use {v} for the {s}.",
    "Maybe we'll use {v} for the {s}, maybe not.",
    "We haven't decided on {v} for the {s} yet.",
    "How does {v} compare with {w} as a {s}?",
    "The blog post says: let's use {v} for the {s}.",
    'The memo read "we decided to use {v} for the {s}", which is wrong.',
    "Suppose we go with {v} for the {s}.",
    "Could we use {v} for the {s}, or is {w} better?",
    "I might choose {v} for the {s}.",
    "At my last company they used {v} for the {s}.",
    "> Let's go with {v} for the {s}.",
    "```\n# let's use {v} for the {s}\n```",
    "Would you go with {v} or {w} for the {s}?",
    "Tell me about the history of {v}.",
    "Unless we use {v} for the {s}, this gets slow.",
    "I wonder whether we'll go with {v} for the {s}.",
    "According to the vendor we'll use {v} for the {s}.",
    "Let's talk about the {s}.",
    "Explain how {v} handles load.",
    "My sister wants us to use {v} for the {s}.",
    "Let's use either {v} or {w} for the {s}.",
    "We could go with {v} for the {s}.",
    "When would you choose {v} over {w}?",
    "I was going to say let's use {v}, but I need to think.",
    "Have we decided on {v} for the {s}?",
)

NO_AGREEMENT = (  # what the assistant proposes, and an answer that is no agreement
    ("I recommend {v} for the {s}.", "Yes, but what about {w}?"),
    ("I recommend {v} for the {s}.", "Interesting. Why?"),
    ("I'd suggest {v} for the {s}.", "No, I don't like that."),
    ("I'd suggest {v} for the {s}.", "OK, tell me more about it."),
    ("You could use {v} for the {s}. Do you want a comparison with {w}?", "Yes."),
    ("Either {v} or {w} would do for the {s}.", "Sounds good."),
    ("{v} would be good for the {s}.", "Thanks, I'll think about it."),
    ("I recommend {v} for the {s}.", "Is that agreed by everyone?"),
    ("The page says: use {v} for the {s}.", "Good to know."),
    ("I can't recommend {v} for the {s}.", "Agreed."),
)

MADE = (
    ("Let's use PostgreSQL 16 for the database.", "decision", "database"),
    ("We'll stick with Redis for our cache!", "decision", "cache"),
    ("We decided to use telnet for the login", "decision", "login"),
    ("I've picked Kafka as our queue.", "decision", "queue"),
    ("Let's switch from Redis to Valkey.", "decision", ""),
    ("Let's not use Redis for the cache after all.", "decision", "cache"),
    ("Please always answer in German.", "rule", "answer in German"),
    ("I want you to never touch the database.", "rule", "touch the database"),
    ("I prefer tabs over spaces.", "preference", ""),
    ("My favourite editor is Neovim.", "preference", "editor"),
    ("Our budget is $50K.", "fact", "our budget"),
    ("My cat is called Tom.", "fact", "my cat"),
    ("Our deadline is 15 March.", "fact", "our deadline"),
    ("My name is Maria.", "fact", "name"),
    ("I live in Lisbon.", "fact", "home"),
    ("I work for Siemens.", "fact", "employer"),
    ("I'm allergic to shellfish.", "fact", ""),
)
NONE = (
    "Let's run the tests on Monday and see.",
    "Let's keep the door open for MySQL.",
    "Let's use it.",
    "Let's go with the second one.",
    "Let's use Postgres or MySQL.",
    "Maybe we'll use Postgres.",
    "We'll use Postgres, I guess.",
    "Should we use Postgres?",
    "Let's use Postgres, shall we?",
    "If we used Postgres, what would break?",
    "We almost decided to use Postgres.",
    "We decided on Postgres years ago, at the old place.",
    "Tom said we'll use Postgres.",
    "My boss wants us to use Postgres.",
    "The docs say: always use Postgres.",
    "The error says we use the wrong port.",
    "Never been to Paris.",
    "Always a pleasure.",
    "Don't push the button today.",
    "Always use the big font this time.",
    "My laptop is at home.",
    "My question is 42.",
    "My name is not important.",
    "My name is important.",
    "Call me Maybe.",
    "Always fails with error 500.",
    "Never returns a value.",
    "Never gonna give you up.",
    "From now on the server crashes.",
    "Please never mind Dave.",
    "Always use tabs.",
    "Let's use Redis for now.",
    "Let's use Redis for the example.",
    "Let's use that for the login.",
    "We used Redis for the cache.",
    "I live in fear.",
    "I prefer not to.",
    "My favourite show is over.",
    "My favourite colour is None.",
    "My favourite tool is Emacs-not.",
    "Let's use NEITHER for the archive.",
    "We decided to use non-SQL instead of Redis.",
    "Our launch is 31 April.",
    "Our launch is 29 Monkeys.",
)


def resolves(claim: Claim, *turns: Utterance) -> None:
    """Each span lies in its page's text, between characters, and one of them is the value."""
    texts = {turn.page_id: turn.text.encode() for turn in turns}
    quotes = [
        texts[span.page_id][span.start : span.end].decode()
        for span in claim.evidence
        if 0 <= span.start < span.end <= len(texts[span.page_id])
    ]
    assert len(quotes) == len(claim.evidence)
    assert claim.value in quotes


@pytest.mark.parametrize(("text", "kind", "subject"), MADE)
def test_a_claim_is_a_whole_message(text: str, kind: str, subject: str) -> None:
    for said in (text, text.rstrip(".!"), f"{text}\n", text.replace("'", "’")):
        turn = user(said)
        [claim] = extract(turn)
        assert (claim.type.value, claim.subject) == (kind, subject)
        assert claim.value == said.strip().rstrip(".!")
        assert claim.text == f"{kind.capitalize()}: {claim.value}"
        resolves(claim, turn)


@pytest.mark.parametrize("text", [*NONE, *(text.lower() for text in NONE)])
def test_what_decides_nothing_for_certain_makes_no_claim(text: str) -> None:
    assert extract(user(text)) == []


@pytest.mark.parametrize("template", NOTHING)
def test_what_only_speaks_of_a_choice_makes_no_claim(template: str) -> None:
    for subject, (value, other, *_) in TOPICS.items():
        assert extract(user(template.format(s=subject, v=value, w=other))) == []


# --- authority ------------------------------------------------------------------------------------


def test_what_a_user_typed_has_the_users_authority() -> None:
    [claim] = extract(user("Let's use MIT for the license."))
    assert (claim.authority, claim.origin) == (Authority.USER, "user_typed")


@pytest.mark.parametrize("origin", ["import", "web", "local_file", "tool:chat", "command_output"])
def test_words_from_elsewhere_gain_no_authority(origin: str) -> None:
    [claim] = extract(user("Let's use MIT for the license.", origin=origin))
    assert claim.authority is Authority.PROPOSED
    shown = assistant("I recommend MIT for the license.", origin=origin)
    [claim] = extract(user("Agreed."), [shown])
    assert claim.authority is Authority.PROPOSED


@pytest.mark.parametrize("make", [assistant, tool])
def test_only_a_users_turn_makes_claims(make: type) -> None:
    assert extract(make("Let's use MIT for the license.")) == []


# --- agreeing -------------------------------------------------------------------------------------


@pytest.mark.parametrize("yes", ["Agreed.", "yes please", "Sounds good, let's do that!", "OK"])
def test_an_agreement_holds_the_one_sentence_that_was_proposed(yes: str) -> None:
    shown, turn = assistant("I recommend MIT for the license."), user(yes)
    [claim] = extract(turn, [shown])
    assert claim.value == "I recommend MIT for the license"
    assert claim.text == "Decision (agreed): I recommend MIT for the license"
    assert (claim.authority, claim.origin) == (Authority.USER, "user_approved")
    assert claim.evidence[0].page_id == turn.page_id
    resolves(claim, turn, shown)


@pytest.mark.parametrize(
    "thanks", ["Thanks", "thanks.", "Thanks, thanks!", "please", "Please.", "Thanks, please"]
)
def test_thanks_alone_agree_to_nothing(thanks: str) -> None:
    shown = assistant("I recommend MIT for the license.")
    assert extract(user(thanks), [shown]) == []
    assert len(extract(user(f"Yes, {thanks}"), [shown])) == 1


@pytest.mark.parametrize(
    "shown",
    [
        "I recommend MIT for the license. Apache would do as well.",
        "I recommend MIT. Shall I look for others?",
        "I recommend MIT or Apache for the license.",
        "I can't recommend MIT for the license.",
        "MIT is popular.",
        "Perhaps I suggest MIT for the license, perhaps not.",
        "I suggest:\n- MIT\n- Apache",
        "The page says: use MIT.",
    ],
)
def test_where_it_cannot_be_told_what_was_agreed_to_there_is_no_claim(shown: str) -> None:
    assert extract(user("Sounds good."), [assistant(shown)]) == []


@pytest.mark.parametrize(("shown", "answer"), NO_AGREEMENT)
def test_what_does_not_agree_decides_nothing(shown: str, answer: str) -> None:
    for s, (v, w, *_) in TOPICS.items():
        turn = user(answer.format(s=s, v=v, w=w))
        assert extract(turn, [assistant(shown.format(s=s, v=v, w=w))]) == []


def test_an_agreement_reaches_no_further_than_the_turn_right_before() -> None:
    shown = assistant("I recommend MIT for the license.", 6)
    assert extract(user("Agreed."), [shown, tool("found")]) == []
    assert extract(user("Agreed."), [shown, user("And the weather?", 7)]) == []


@pytest.mark.parametrize("first", [assistant("Never do as follows.", 6), tool("found", 6)])
def test_an_agreement_is_to_all_that_was_said_since_the_users_message(first: Utterance) -> None:
    assert extract(user("Agreed."), [first, assistant("I recommend MIT for the license.")]) == []


# --- whose it is ----------------------------------------------------------------------------------


@pytest.mark.parametrize(("text", "kind", "subject"), MADE)
def test_a_named_speaker_tells_nothing_of_a_person(text: str, kind: str, subject: str) -> None:
    made = [claim.type for claim in extract(replace(user(text), speaker="Ana"))]
    is_ours = subject.startswith("our ")
    assert made == ([] if kind in ("fact", "preference") and not is_ours else [kind])


def test_a_named_speaker_takes_back_what_is_named_and_not_what_somebody_said() -> None:
    for text, made in (("Forget about Redis.", 1), ("Ignore what I said about Redis.", 0)):
        assert len(extract(user(text))) == 1
        assert len(extract(replace(user(text), speaker="Ana"))) == made


# --- whatever is written --------------------------------------------------------------------------

_PIECES = st.one_of(
    st.text(max_size=20),
    st.sampled_from(
        [
            "Let's use ", "we'll go with ", " for the ", "PostgreSQL 16", "C++", "instead of ",
            "forget about ", "I prefer ", "my name is ", "’", "é", "😀", "İ", "\n", "\n\n", "- ",
            "Agreed. ", "`", '"', "“", "„", "「", "> ", "```\n", "~~~\n", "?", ". ", ", ", ": ",
            "our budget is $5 ", "never ", "(", ")", "\u2028", "\x00",
        ]
    ),
)  # fmt: skip


@given(said=st.lists(_PIECES, max_size=12), shown=st.lists(_PIECES, max_size=12))
def test_whatever_is_written_a_claim_is_all_of_it(said: list[str], shown: list[str]) -> None:
    turn, before = user("".join(said)), assistant("".join(shown))
    for claim in extract(turn, [before]):
        resolves(claim, turn, before)
        assert claim.value in (turn.text.strip().rstrip(".!"), before.text.strip().rstrip(".!"))


def test_the_rules_hold_no_sentence_of_those_that_judge_them() -> None:
    from pathlib import Path

    import pagefault.truth

    folder = Path(pagefault.truth.__file__).parent
    rules = "".join(path.read_text() for path in sorted(folder.glob("*.py"))).casefold()
    for sentence in (*SCRIPT.decide, *HARDER.change, *NOTHING):
        assert sentence.casefold() not in rules
