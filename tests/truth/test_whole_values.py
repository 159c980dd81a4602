"""A claim says the whole of a value, or is not made; of a change, what it closes is certain."""

from __future__ import annotations

import pytest

from pagefault.truth.english import ENGLISH
from pagefault.truth.extract import extract
from pagefault.truth.passages import Passage
from tests.truth.turns import user

WHOLE = (
    ("Our budget is 40,000 euros.", "budget", "40,000 euros"),
    ("The budget is 12,500.75 dollars.", "budget", "12,500.75 dollars"),
    ("Our budget is 1.200,50 EUR.", "budget", "1.200,50 EUR"),
    ("The limit is 1,000,000.", "limit", "1,000,000"),
    ("Our rent is 1,250.", "rent", "1,250"),
    ("Our port is 8,080.", "port", "8,080"),
    ("The budget is 3,5 Millionen.", "budget", "3,5 Millionen"),
    ("Our cap is 5,000, which is fine.", "cap", "5,000"),
    ("We have 40,000 users.", "users", "40,000 users"),
    ("The deadline is May 3, 2027.", "deadline", "May 3, 2027"),
    ("Our deadline is Monday, 3 May.", "deadline", "Monday, 3 May"),
    ("My flight is on Jan. 5, 2027.", "flight", "Jan. 5, 2027"),
    ("Let's use St. Gallen as the venue.", "venue", "St. Gallen"),
    ("For the venue, we go with St. Gallen.", "venue", "St. Gallen"),
    ("My landlord is Dr. Müller-Lüdenscheid.", "landlord", "Dr. Müller-Lüdenscheid"),
    ("My boss is J. Smith.", "boss", "J. Smith"),
    ("Let's use Postgres and Redis for storage.", "storage", "Postgres and Redis"),
    ("Our address is 5 Main St. We moved there.", "address", "5 Main St"),
    ("We'll use R for the plots. It is great.", "plots", "R"),
    ("Always ask first, except in /tmp.", "", "ask first, except in /tmp"),
)
PARTIAL = (
    "Let's use Postgres, but only for staging.",
    "Let's use Postgres (only for staging).",
    "Let's go with Postgres only for staging.",
    "Let's use Postgres. But only for staging.",
    "We'll use Redis for the cache, except in tests.",
    "Our cache is Redis, but not in production.",
    "Let's use Postgres unless it is slow.",
    "Use Postgres, only if MySQL fails.",
    "Let's use Postgres, as long as it is free.",
    "Let's use PostgreSQL, MySQL and Redis for storage.",
    "Let's use Next.js, Tailwind CSS, and Prisma.",
    "We settled on Redis 7, Postgres 16.",
    "Postgres, MySQL and Redis it is.",
    "Our ports are 80, 443 and 8080.",
    "My budget is 3, maybe 4 thousand.",
    "Our budget is 40,000 or 45,000 euros.",
)
NOT_A_LIST = (
    ("Let's use Postgres, please.", ["Postgres"]),
    ("Let's use Postgres, it is simple and fast.", ["Postgres"]),
    ("Okay, React and Vite it is.", ["React and Vite"]),
    ("Our repo is acme/web, and the CI is GitHub Actions.", ["acme/web", "GitHub Actions"]),
    ("Let's use Go for the api, Rust for the core and Vue for the web.", ["Go", "Rust", "Vue"]),
)


@pytest.mark.parametrize(("text", "subject", "value"), WHOLE)
def test_a_comma_or_a_dot_inside_a_value_does_not_end_it(
    text: str, subject: str, value: str
) -> None:
    turn = user(text)
    [claim] = extract(turn)
    assert (claim.subject, claim.value) == (subject, value)
    [span] = claim.evidence
    assert value in turn.text.encode()[span.start : span.end].decode()


@pytest.mark.parametrize("text", PARTIAL)
def test_of_a_list_or_of_what_holds_in_part_no_claim_is_made(text: str) -> None:
    assert extract(user(text)) == []


@pytest.mark.parametrize(("text", "values"), NOT_A_LIST)
def test_what_follows_a_comma_is_not_always_more_of_the_value(text: str, values: list[str]) -> None:
    assert [claim.value for claim in extract(user(text))] == values


def test_control_without_its_marks_a_value_is_cut() -> None:
    told = "Our budget is 40,000 euros. Let's meet in St. Gallen."
    whole = Passage(told, {}, ENGLISH.quotable, ENGLISH.inner)
    cut = Passage(told, {}, ENGLISH.quotable)
    assert [len(one.sentences()) for one in (whole, cut)] == [2, 3]
    assert "40,000" in cut.plain
    assert "40,000" not in whole.plain
    assert whole.written(0, len(whole.plain)) == told
