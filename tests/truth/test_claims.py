"""Which claims stand, once others were made."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pagefault.truth.claim import Authority
from pagefault.truth.claims import ClaimBook, held_of
from pagefault.truth.extract import extract
from pagefault.truth.held import Status
from pagefault.truth.subjects import subject_key, value_key
from tests.truth import changes, phrasings
from tests.truth.turns import assistant, user


def _book(*texts: str) -> ClaimBook:
    """What stands after a user said these, one after another."""
    book = ClaimBook()
    for number, text in enumerate(texts, 1):
        before = [user(texts[number - 2], number - 1)] if number > 1 else []
        _say(book, text, number, before=before)
    return book


def _say(book: ClaimBook, text: str, number: int, origin: str = "user_typed", before=()) -> None:  # type: ignore[no-untyped-def]
    claims = extract(user(text, number, origin), before)
    for entry in book.entries(claims, "clm", len(book), (user(text, number), *reversed(before))):
        from pagefault.model.ids import PageId

        book.fold(held_of(PageId(f"clm_{len(book) + 1}"), entry))
    book.check()


def _standing(book: ClaimBook) -> list[tuple[str, str]]:
    return [(held.subject, held.value) for held in book.standing()]


def test_a_later_decision_on_a_subject_supersedes_the_earlier() -> None:
    book = _book("Let's use Redis for the cache.", "Actually, let's use Valkey for the cache.")
    assert _standing(book) == [("cache", "Valkey")]
    old = book.find("clm_1")  # type: ignore[arg-type]
    assert old is not None
    assert (old.status, old.closed_by) == (Status.SUPERSEDED, "clm_2")
    assert book.latest(old.claim_id) == "clm_2"


def test_a_subject_has_one_name_however_it_is_spelled() -> None:
    book = _book("Let's use Redis for the DB.", "Let's use Valkey for our database.")
    assert [value for _, value in _standing(book)] == ["Valkey"]


def test_a_change_finds_its_subject_by_the_value_it_replaces() -> None:
    book = _book("Let's use Redis for the cache.", "Let's use Valkey instead of Redis.")
    assert _standing(book) == [("cache", "Valkey")]


def test_what_is_said_again_is_not_written_again() -> None:
    assert (
        len(_book("Let's use Redis for the cache.", "We decided to use Redis for the cache.")) == 1
    )


def test_a_decision_taken_back_stands_no_more_and_is_kept() -> None:
    book = _book("Let's use Redis for the cache.", "Let's not use Redis after all.")
    assert _standing(book) == []
    assert [held.status for held in book] == [Status.RETRACTED, Status.CLOSING]


def test_scratch_that_takes_back_what_was_said_right_before() -> None:
    book = _book(
        "Let's use MIT for the license.", "Let's use Redis for the cache.", "Scratch that."
    )
    assert _standing(book) == [("license", "MIT")]


def test_taking_back_what_nobody_decided_writes_nothing() -> None:
    assert len(_book("Let's not use Redis after all.")) == 0


def test_preferences_and_decisions_leave_each_other_alone() -> None:
    book = _book("Let's use Vim for the editor.", "My favourite editor is Emacs.")
    assert len(book.standing()) == 2


def test_what_was_only_proposed_never_supersedes_what_a_user_said() -> None:
    book = _book("Let's use Redis for the cache.")
    _say(book, "Let's use EvilCache for the cache.", 2, origin="import")
    _say(book, "Let's not use Redis after all.", 3, origin="web")
    standing = {held.authority: held.value for held in book.standing()}
    assert standing[Authority.USER] == "Redis"
    _say(book, "Let's use Valkey for the cache.", 4)
    assert {held.value for held in book.standing() if held.authority is Authority.USER} == {
        "Valkey"
    }


@given(
    st.lists(
        st.tuples(
            st.sampled_from(
                [
                    "Let's use {v} for the {s}.",
                    "Let's not use {v} after all.",
                    "Scratch that.",
                    "Let's switch from {w} to {v}.",
                    "Let's use {v} instead of {w} for the {s}.",
                    "I prefer {v} for the {s}.",
                    "Our {s} is {v}.",
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
    said: list[tuple[str, str, str, str, str]],
) -> None:
    book = ClaimBook()
    for number, (template, v, w, s, origin) in enumerate(said, 1):
        _say(book, template.format(v=v, w=w, s=s), number, origin)


# --- changing one's mind --------------------------------------------------------------------------

TALK = (
    assistant("Row 1 is read in batches.", 4),
    user("How does the importer read its rows?", 5),
    assistant("In batches of some hundred.", 6),
)


def _filled() -> Iterator[tuple[str, str, str]]:
    for subject, values in phrasings.TOPICS.items():
        yield subject, values[0], values[1]
        yield subject, values[1], values[2]


def _after(text: str, *, long_after: bool, others: Sequence[str] = ()) -> Iterator[ClaimBook]:
    """What stands once `text` was said, right after a decision or long after, of each topic."""
    for s, v, w in _filled():
        book = ClaimBook()
        decided = f"Let's use {v} for the {s}."
        for number, said in enumerate((*others, decided), 1):
            _say(book, said, number)
        right_before = (user(decided, len(book)), assistant("Noted.", 3))
        before = TALK if long_after else right_before
        _say(book, text.format(s=s, v=v, w=w), 9, before=before)
        yield book


def _share_changed(templates: Sequence[str]) -> float:
    found = []
    for template in templates:
        for long_after in (False, True):
            books = _after(template, long_after=long_after)
            for book, (s, _, w) in zip(books, _filled(), strict=True):
                standing = [(subject_key(one), value_key(other)) for one, other in _standing(book)]
                found.append(standing == [(subject_key(s), value_key(w))])
    return sum(found) / len(found)


def _share_undone(templates: Sequence[str]) -> float:
    found = [
        not book.standing()
        for template in templates
        for long_after in (False, True)
        for book in _after(template, long_after=long_after)
    ]
    return sum(found) / len(found)


@pytest.mark.parametrize(
    ("templates", "share"),
    [
        (changes.CHANGES, 0.88),
        (changes.CHANGES_HELD_OUT, 0.88),
        (changes.CHANGES_UNSEEN, 0.8),
    ],
)
def test_most_changes_close_what_stood_though_they_do_not_name_it(
    templates: Sequence[str], share: float
) -> None:
    assert _share_changed(templates) >= share


@pytest.mark.parametrize(
    ("templates", "share"),
    [(changes.UNDOES, 0.99), (changes.UNDOES_HELD_OUT, 0.99), (changes.UNDOES_UNSEEN, 0.85)],
)
def test_most_ways_to_take_back_close_what_stood(templates: Sequence[str], share: float) -> None:
    assert _share_undone(templates) >= share


@pytest.mark.parametrize(
    "template", [*changes.DECOYS, *changes.DECOYS_HELD_OUT, *changes.DECOYS_UNSEEN]
)
def test_who_only_speaks_of_a_change_changes_nothing(template: str) -> None:
    for long_after in (False, True):
        for book in _after(template, long_after=long_after):
            assert [held.status for held in book] == [Status.STANDING]


def test_control_a_change_that_is_no_change_closes_nothing() -> None:
    """The same words without what says that something changes."""
    for book in _after("Let's use {w}.", long_after=True):
        assert all(held.status is Status.STANDING for held in book)


def test_where_two_could_be_meant_both_stand() -> None:
    others = ["Let's use Terraform for the infrastructure."]
    for book in _after("I changed my mind, let's use Zed instead.", long_after=True, others=others):
        assert [held.status for held in book] == [Status.STANDING] * 3


def test_what_was_spoken_of_last_is_meant_where_several_stand() -> None:
    others = ["Let's use Terraform for the infrastructure."]
    for book in _after("Scrap that, we go with {w}.", long_after=False, others=others):
        assert "Terraform" in [value for _, value in _standing(book)]
        assert sum(held.status is Status.SUPERSEDED for held in book) == (len(book) > 2)


def test_what_the_turn_itself_names_is_meant_where_several_stand() -> None:
    book = _book(
        "Let's use Redis for the cache.",
        "Let's use Terraform for the infrastructure.",
        "I know we said Redis. I changed my mind, let's use Valkey instead.",
    )
    assert _standing(book) == [("infrastructure", "Terraform"), ("cache", "Valkey")]


def test_a_value_takes_the_place_of_one_of_its_own_form() -> None:
    book = _book(
        "Our budget is $50K.",
        "Let's use Redis for the cache.",
        "What about the money?",
        "On second thought, $60K.",
    )
    assert _standing(book) == [("cache", "Redis"), ("budget", "$60K")]


def test_another_version_of_the_same_thing_takes_its_place() -> None:
    book = _book(
        "Let's use PostgreSQL 16 for the database.", "Hello.", "We'll go with PostgreSQL 17."
    )
    assert _standing(book) == [("database", "PostgreSQL 17")]


def test_a_part_of_a_subject_is_another_subject() -> None:
    book = _book(
        "Let's use PostgreSQL for the database.", "Let's use SQLite for the test database instead."
    )
    assert len(_standing(book)) == 2


def test_what_was_only_proposed_changes_nothing_that_a_user_said() -> None:
    book = _book("Let's use Redis for the cache.")
    _say(book, "I changed my mind, let's use Valkey instead.", 3, "web")
    assert ("cache", "Redis") in _standing(book)


def test_a_standing_rule_is_changed_by_one_about_the_same_thing() -> None:
    book = _book("Please always answer in German.", "Always keep it short.", "Hello.")
    _say(book, "From now on answer in English instead.", 4)
    assert sorted(value for _, value in _standing(book)) == [
        "answer in English instead",
        "keep it short",
    ]


DB, HOST = "Let's use Postgres for the database.", "Let's use Hetzner for the hosting."
NAMED_CHANGES: tuple[tuple[Sequence[str], list[tuple[str, str]]], ...] = (
    ((DB, "Hi.", "On second thought, MySQL instead of Postgres."), [("database", "MySQL")]),
    (
        (DB, HOST, "On second thought, MySQL instead of Postgres."),
        [("hosting", "Hetzner"), ("database", "MySQL")],
    ),
    (
        (DB, "Let's use MySQL for the database.", HOST, "Let's go back to Postgres."),
        [("hosting", "Hetzner"), ("database", "Postgres")],
    ),
    (
        (DB, "Let's not use Postgres after all.", "We're going back to Postgres."),
        [("database", "Postgres")],
    ),
    (("Let's go back to Postgres.",), []),
    (
        ("Our deadline is 15 March.", "The deadline has moved to 2 April."),
        [("deadline", "2 April")],
    ),
    (
        ("Our deadline is 15 March.", DB, "The deadline has been moved to 2 April."),
        [("database", "Postgres"), ("deadline", "2 April")],
    ),
    (
        ("Our budget is 40,000 euros.", "Our budget was raised to 45,500 euros."),
        [("budget", "45,500 euros")],
    ),
)  # fmt: skip
UNSURE = (
    (DB, HOST, "On second thought, MySQL instead."),
    (HOST, DB, "I changed my mind, let's use MySQL instead."),
    (DB, HOST, "What about the hosting?", "On second thought, MySQL instead."),
    (DB, HOST, "Hetzner is fine, how does it bill?", "On second thought, MySQL instead."),
    (DB, "What about the hosting?", "On second thought, Netcup instead."),
    (DB, "Let's use Postgres for the archive.", "On second thought, MySQL instead of Postgres."),
)


@pytest.mark.parametrize(("said", "standing"), NAMED_CHANGES)
def test_a_change_that_names_what_it_is_about_closes_it(
    said: Sequence[str], standing: list[tuple[str, str]]
) -> None:
    assert _standing(_book(*said)) == standing


@pytest.mark.parametrize("said", UNSURE)
def test_a_change_that_could_mean_another_closes_nothing(said: Sequence[str]) -> None:
    book = _book(*said)
    assert all(held.status is Status.STANDING for held in book)
    assert _standing(book)[-1][0] == ""


def test_going_back_to_what_stood_for_two_subjects_makes_no_claim() -> None:
    archive = "Let's use Postgres for the archive."
    moved = ("Let's use MySQL for the database.", "Let's use Parquet for the archive.")
    book = _book(DB, archive, *moved, "Let's go back to Postgres.")
    assert _standing(book) == [("database", "MySQL"), ("archive", "Parquet")]
