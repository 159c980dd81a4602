"""Lists read from the leaves of the full-text index, against what `MATCH` says."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from pathlib import Path

import apsw
import pytest

from pagefault.model.ids import SessionNo
from pagefault.store.embedded import doclists
from pagefault.store.embedded.doclists import Doclists
from pagefault.store.embedded.sql import Queries
from pagefault.store.place import place_of

SQL = Queries("index.sql")
WORDS = ["tea", "tea#2", "cake", "seven", *(f"w{n}" for n in range(400))]


@pytest.fixture
def db(tmp_path: Path) -> Iterator[apsw.Connection]:
    """A full-text index whose leaves are small, so that few pages have long lists."""
    db = apsw.Connection(str(tmp_path / "index.db"))
    db.execute(SQL["schema"])
    db.execute("INSERT INTO event_fts (event_fts, rank) VALUES ('pgsz', 64)")
    yield db
    db.close()


@pytest.fixture(autouse=True)
def _every_list_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doclists, "LEAVES_MIN", -1)


def say(db: apsw.Connection, chance: random.Random, sessions: range, orders: range) -> None:
    """One batch of pages: a segment of its own, as `drain` makes them."""
    with db:
        for session in sessions:
            for order in orders:
                common = [word for word in WORDS[:4] if chance.random() < 0.6]
                text = " ".join([*common, *chance.choices(WORDS[4:], k=3)])
                db.execute(SQL["add_terms"], (place_of(SessionNo(session), order), text))


def matched(db: apsw.Connection, word: str) -> list[int]:
    rows = db.execute("SELECT rowid FROM event_fts WHERE event_fts MATCH ?", (f'"{word}"',))
    return sorted(rowid for (rowid,) in rows)


def read(db: apsw.Connection, word: str) -> list[int] | None:
    found = Doclists(db).find(word)
    return None if found is None else found.tolist()


def check_every_word(db: apsw.Connection) -> None:
    for word in [*WORDS, "nowhere", "a", "zzz", "te", "teas"]:
        assert (read(db, word) or []) == matched(db, word), word


@pytest.mark.parametrize(
    "seed", [0, *(pytest.param(n, marks=pytest.mark.torture) for n in range(1, 9))]
)
def test_a_list_is_what_match_says_at_every_step_of_a_merge(db: apsw.Connection, seed: int) -> None:
    chance = random.Random(seed)
    for batch in range(9):
        sessions = range(1, 3) if batch % 2 else range(batch * 10**6 + 1, batch * 10**6 + 3)
        say(db, chance, sessions, range(batch * 100, batch * 100 + chance.randrange(1, 60)))
        for _ in range(chance.randrange(4)):
            db.execute(SQL["merge_terms"], (chance.randrange(1, 20),))
            check_every_word(db)
    assert len(json.dumps(matched(db, "tea"))) > 500  # so there was something to read


def test_places_of_the_last_sessions_there_can_be_are_asked_of_match(db: apsw.Connection) -> None:
    say(db, random.Random(1), range(1 << 34, (1 << 34) + 2), range(200))
    assert read(db, "tea") is None


def deleted(db: apsw.Connection) -> None:
    say(db, random.Random(1), range(1, 3), range(200))
    db.execute("DELETE FROM event_fts WHERE rowid = ?", (matched(db, "tea")[7],))


def test_where_rows_are_deleted_but_not_yet_merged_away_match_is_asked(db: apsw.Connection) -> None:
    deleted(db)
    assert read(db, "tea") is None
    db.execute("INSERT INTO event_fts (event_fts) VALUES ('optimize')")
    check_every_word(db)


def test_control_who_did_not_look_for_deleted_rows_would_find_them(
    db: apsw.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    deleted(db)
    known = doclists._varints
    # 8 numbers tell of a segment, the sixth how many leaves of deleted rows it has.
    monkeypatch.setattr(
        doclists,
        "_varints",
        lambda data: [0 if n == 10 else number for n, number in enumerate(known(data))],
    )
    assert read(db, "tea") != matched(db, "tea")
    assert read(db, "tea") is not None


def test_an_index_of_another_format_is_asked_with_match(db: apsw.Connection) -> None:
    say(db, random.Random(1), range(1, 3), range(200))
    assert read(db, "tea") is not None
    db.execute("UPDATE event_fts_config SET v = 5 WHERE k = 'version'")
    assert read(db, "tea") is None


def test_an_empty_index_has_no_list(db: apsw.Connection) -> None:
    assert read(db, "tea") is None
