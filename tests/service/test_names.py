"""The short names of sessions name one session each, and every session has one."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import pytest

import pagefault
from pagefault.model.page import SessionRow
from pagefault.service.lookup.names import begun_by, brief, brief_names, not_found, short_names

NAMES = {
    "plan:6ec3dd@ann": "plan@ann",
    "plan:6ec3dd@~0b673292d3ecbceb": "plan:6ec3dd@~0b67",
    "plan:8a01ff@~0b673292d3ecbceb": "plan:8a01ff",
    "claude:0197a3c2-1111-7222-8333-a8f1837797e9:6ec3dd@~0b673292d3ecbceb": "0197a3c2-1111",
    "claude:0197a3c2-2222-7222-8333-a8f1837797e9:6ec3dd@~0b673292d3ecbceb": "0197a3c2-2222",
    "codex:77aa3c2e-1111-7222-8333-a8f1837797e9:6ec3dd@~": "77aa3c2e",
    "import:chatgpt:6790a1b2-31c4-8004-9f7e-2a5b6c7d8e9f": "import:chatgpt:6790a1b2-31c4",
    "import:chatgpt:6790a1b2-77aa-8004-9f7e-2a5b6c7d8e9f": "import:chatgpt:6790a1b2-77aa",
    "import:codex:67a1c3d4-2222-7004-9f7e-2a5b6c7d8e9f": "import:codex:67a1c3d4",
    "import:notes:diary.md": "import:notes:diary.md",
    "notes": "notes",
    "planning": "planning",
}


IMPORTED = "import:claude-code:0a1b2c3d-0000-4000-8000-00000000cafe"
BRANCHES = {
    IMPORTED: "import:claude-code:0a1b2c3d",
    f"{IMPORTED}~4b640a40": "import:claude-code:0a1b2c3d~4b640a40",
    f"{IMPORTED}:side-s1": "import:claude-code:0a1b2c3d:side-s1",
    "import:claude-code:0a1b9999-0000-4000-8000-00000000cafe": "import:claude-code:0a1b9999",
}


def rows_of(names: Iterable[str]) -> list[SessionRow]:
    with pagefault.sync.open(":memory:") as memory:
        memory.session("one")
        [row] = memory.sessions()
    return [
        replace(row, session_id=f"ses_{at}", name=name, session=row.session)
        for at, name in enumerate(names)
    ]


@pytest.fixture
def rows() -> list[SessionRow]:
    return rows_of(NAMES)


def test_an_import_and_its_branches_have_short_names_apart() -> None:
    rows = rows_of(BRANCHES)
    told = brief_names(rows)
    assert [told[row.session_id] for row in rows] == list(BRANCHES.values())
    for row in rows:
        assert begun_by(told[row.session_id], rows) == [row]
    assert begun_by("import:claude-code:0a1b2c3", rows) == rows[:3], "no guess"
    like = rows_of([*BRANCHES, "import:claude-code:0a1b2c3d-ffff-4000-8000-00000000cafe"])
    assert brief_names(like)["ses_0"] == "import:claude-code:0a1b2c3d-0000"
    assert brief_names(like)["ses_4"] == "import:claude-code:0a1b2c3d-ffff"


def test_a_short_name_names_one_session(rows: list[SessionRow]) -> None:
    told = brief_names(rows)
    assert [told[row.session_id] for row in rows] == list(NAMES.values())
    for row in rows:
        name = told[row.session_id]
        exact = [one for one in rows if name == one.name or name in short_names(one.name)]
        assert (exact or begun_by(name, rows)) == [row], name


def test_a_log_line_has_all_of_a_name_that_tells_it_apart(rows: list[SessionRow]) -> None:
    assert len({brief(row.name) for row in rows}) == len(rows)
    assert max(len(brief(row.name)) for row in rows) <= 30


def test_a_name_that_is_nearly_right_is_guessed_in_its_short_form(rows: list[SessionRow]) -> None:
    assert "did you mean 'notes'?" in not_found("ntoes", rows).hint
    assert "did you mean" not in not_found("zebra", rows).hint
