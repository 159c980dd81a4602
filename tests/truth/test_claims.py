"""Which claims stand, once others were made."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from pagefault.truth.claim import Authority
from pagefault.truth.claims import ClaimBook, Status, held_of
from pagefault.truth.extract import extract
from tests.truth.turns import user


def _book(*texts: str) -> ClaimBook:
    """What stands after a user said these, one after another."""
    book = ClaimBook()
    for number, text in enumerate(texts, 1):
        before = [user(texts[number - 2], number - 1)] if number > 1 else []
        _say(book, text, number, before=before)
    return book


def _say(book: ClaimBook, text: str, number: int, origin: str = "user_typed", before=()) -> None:  # type: ignore[no-untyped-def]
    claims = extract(user(text, number, origin), before)
    for entry in book.entries(claims, "clm", len(book)):
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
