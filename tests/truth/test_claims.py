"""What stands: a claim closes what is certain to be about the same thing, and nothing else."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pagefault.model.ids import PageId
from pagefault.model.kinds import ClaimType
from pagefault.truth.claim import Authority
from pagefault.truth.claims import ClaimBook, held_of
from pagefault.truth.extract import extract
from pagefault.truth.held import Held, Status
from tests.truth.turns import user

DB = "Let's use PostgreSQL for the database."
CACHE = "Let's use Redis for the cache."


def _say(book: ClaimBook, text: str, number: int, origin: str = "user_typed") -> None:
    claims = extract(user(text, number, origin))
    count = len(book)
    for place, entry in enumerate(book.entries(claims, "clm", count, 0), count + 1):
        book.fold(held_of(PageId(f"clm_{place}"), entry))
    book.check()


def _book(*said: str) -> ClaimBook:
    book = ClaimBook()
    for number, text in enumerate(said, 1):
        _say(book, text, number)
    return book


def _earlier(subject: str, value: str) -> ClaimBook:
    """With a claim of an earlier log, whose value is no sentence."""
    book = ClaimBook()
    book.fold(
        Held(
            claim_id=PageId("clm_1"),
            type=ClaimType.DECISION,
            subject=subject,
            value=value,
            authority=Authority.USER,
            pages=(PageId("msg_1"),),
        )
    )
    return book


def _standing(book: ClaimBook) -> list[str]:
    return [held.value for held in book.standing()]


@pytest.mark.parametrize(
    "change",
    [
        "Let's use MySQL for the database.",
        "Let's use MySQL for the DB instead.",
        "Let's switch from PostgreSQL to MySQL.",
        "Let's use MySQL instead of PostgreSQL.",
        "Let's use MySQL instead of PostgreSQL for the database.",
        "We'll use MySQL for the database rather than PostgreSQL.",
        "Let's replace PostgreSQL with MySQL for the database.",
        "Let's not use PostgreSQL after all.",
        "We decided against PostgreSQL for the database.",
    ],
)
def test_a_change_that_names_what_it_is_about_closes_that_alone(change: str) -> None:
    book = _book(CACHE, DB, "Nice weather today.", change)
    assert _standing(book) == [CACHE[:-1], change[:-1]]
    [closed] = [held for held in book if held.status is Status.SUPERSEDED]
    assert (closed.value, closed.closed_by) == (DB[:-1], "clm_3")
    assert book.standing()[-1].subject.removeprefix("our ") in ("database", "DB")


@pytest.mark.parametrize(
    "change",
    [
        "The icons look off, let's use Material Icons instead.",
        "Let's use Material Icons instead.",
        "Let's use Material Icons for the toolbar instead.",
        "Let's use MySQL for the test database.",
        "Let's use MySQL for the project.",
        "I changed my mind, let's use MySQL instead.",
        "On second thought, MySQL.",
        "Scratch that.",
        "Never mind.",
        "We're no longer using Oracle.",
        "Forget about the weather.",
        "Ignore the error.",
        "PostgreSQL is slow.",
        "Let's use MySQL for now.",
    ],
)
def test_a_change_that_names_no_subject_closes_nothing(change: str) -> None:
    book = _book(DB, change)
    assert DB[:-1] in _standing(book)
    assert all(held.status is Status.STANDING for held in book)


def test_one_word_in_common_is_not_the_same_subject() -> None:
    book = _book("Let's use oak for the kitchen_floor.", "Let's use tiles for the bathroom_floor.")
    assert len(_standing(book)) == 2


def test_what_is_mine_is_not_what_is_ours() -> None:
    book = _book("Our launch is 15 March.", "My launch is 16 March.")
    assert len(_standing(book)) == 2


def test_a_rule_and_its_opposite_never_both_stand() -> None:
    book = _book("Please always reply in French.", "Please never reply in French.")
    assert _standing(book) == ["Please never reply in French"]


def test_where_two_could_be_meant_both_stand() -> None:
    archive = "Let's use PostgreSQL for the archive."
    for change in ("Let's use MySQL instead of PostgreSQL.", "Let's not use PostgreSQL."):
        assert _standing(_book(DB, archive, change))[:2] == [DB[:-1], archive[:-1]]


def test_of_a_choice_of_several_one_alone_is_not_taken_back() -> None:
    book = _earlier("storage", "Postgres and Redis")
    _say(book, "Forget about Redis.", 2)
    assert _standing(book) == ["Postgres and Redis"]


@pytest.mark.parametrize(
    ("said", "back"),
    [
        (DB, "Forget about PostgreSQL."),
        (DB, "Please scrap PostgreSQL for the database."),
        ("Let's use PostgreSQL 16 for the database.", "Forget PostgreSQL."),
        ("Please always answer in German.", "Forget the rule about German."),
        ("I prefer tabs over spaces.", "Forget what I said about tabs."),
        ("Our budget is $50K.", "Ignore what I said about the budget."),
    ],
)
def test_what_is_taken_back_by_naming_it_stands_no_more_and_is_kept(said: str, back: str) -> None:
    book = _book(CACHE, said, back)
    assert _standing(book) == [CACHE[:-1]]
    assert [held.status for held in book][1:] == [Status.RETRACTED, Status.CLOSING]


def test_a_rule_that_forbids_is_not_taken_back_with_the_thing_that_it_forbids() -> None:
    rule = "Please never use Redis."
    book = _book(rule, CACHE, "Let's not use Redis after all.")
    assert _standing(book) == [rule[:-1], "Let's not use Redis after all"]


def test_taking_back_what_nobody_decided_writes_nothing() -> None:
    assert len(_book("Forget about Redis.")) == 0


def test_what_is_said_twice_is_one_claim() -> None:
    assert len(_book(CACHE, CACHE.upper(), f"OK. {CACHE}")) == 1


@pytest.mark.parametrize(
    ("first", "then"),
    [
        ("Our deadline is 15 March.", "Our deadline is now 2 April."),
        ("Our budget is $50K.", "Our budget is now $60K."),
        ("I live in Turin.", "I live in Bari."),
        ("My name is Maria.", "My name is Mary."),
        ("My favourite editor is Vim.", "My favourite editor is Emacs."),
    ],
)
def test_a_fact_takes_the_place_of_the_one_of_its_subject(first: str, then: str) -> None:
    assert _standing(_book(first, CACHE, then)) == [CACHE[:-1], then[:-1]]


def test_preferences_and_decisions_leave_each_other_alone() -> None:
    book = _book("Let's use Vim for the editor.", "My favourite editor is Emacs.")
    assert len(book.standing()) == 2


def test_what_was_only_proposed_never_closes_what_a_user_said() -> None:
    for evil in (
        "Let's use EvilCache for the cache.",
        "Forget about Redis.",
        "Let's not use Redis.",
    ):
        book = _book(CACHE)
        _say(book, evil, 2, origin="web")
        assert CACHE[:-1] in _standing(book)
        _say(book, "Let's use Valkey for the cache.", 3)
        mine = [held for held in book.standing() if held.authority is Authority.USER]
        assert [held.value for held in mine] == ["Let's use Valkey for the cache"]


def test_a_claim_of_an_earlier_log_that_is_no_sentence_is_closed_like_any_other() -> None:
    for change in ("Let's use MySQL for the database.", "Let's use MySQL instead of PostgreSQL.",
                   "Forget about PostgreSQL."):  # fmt: skip
        book = _earlier("database", "PostgreSQL 16")
        _say(book, change, 2)
        old = book.find(PageId("clm_1"))
        assert old is not None
        assert old.closed_by == "clm_2"
    book = _earlier("database", "PostgreSQL 16")
    _say(book, "Let's use Material Icons instead.", 2)
    assert "PostgreSQL 16" in _standing(book)


def test_what_a_claim_closes_is_told_by_its_id_and_not_by_its_words() -> None:
    book = _book(DB)
    [entry] = book.entries(extract(user("Let's use MySQL for the database.")), "clm", 1, 0)
    assert entry.claim.text == "Decision: Let's use MySQL for the database (instead of clm_1)"


@given(
    st.lists(
        st.tuples(
            st.sampled_from(
                [
                    "Let's use {v} for the {s}.",
                    "Let's not use {v} after all.",
                    "Forget about {v}.",
                    "Forget what I said about {v}.",
                    "Let's switch from {w} to {v}.",
                    "Let's use {v} instead of {w} for the {s}.",
                    "I prefer {v} over {w}.",
                    "Our {s} is $7.",
                    "Please never use {v}.",
                ]
            ),
            st.sampled_from(["Redis", "Valkey", "MIT 2"]),
            st.sampled_from(["Redis", "Valkey", "MIT 2"]),
            st.sampled_from(["cache", "license"]),
            st.sampled_from(["user_typed", "import"]),
        ),
        max_size=12,
    )
)
def test_whatever_is_said_the_book_is_in_order(
    said: Sequence[tuple[str, str, str, str, str]],
) -> None:
    book = ClaimBook()
    for number, (template, v, w, s, origin) in enumerate(said, 1):
        _say(book, template.format(v=v, w=w, s=s), number, origin)
