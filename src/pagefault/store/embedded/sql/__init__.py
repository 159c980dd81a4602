"""SQL by name: each `.sql` file holds queries, each with a name and a sentence."""

from __future__ import annotations

import re
from importlib.resources import files
from typing import Any

import apsw

_QUERY = re.compile(r"^-- (\w+): [^\n]*\n(.*?)(?=^-- \w+: |\Z)", re.MULTILINE | re.DOTALL)


class Queries:
    """The queries of a file, by name. A query begins with `-- name: What it is for.`"""

    def __init__(self, file: str) -> None:
        text = files(__package__).joinpath(file).read_text(encoding="utf-8")
        self._texts: dict[str, str] = {n: body.strip() for n, body in _QUERY.findall(text)}

    def __getitem__(self, name: str) -> str:
        return self._texts[name]

    def first(self, db: apsw.Connection, name: str, *values: Any) -> tuple[Any, ...] | None:
        """The first row of a query."""
        return db.execute(self._texts[name], values).fetchone()

    def rows(self, db: apsw.Connection, name: str, *values: Any) -> list[tuple[Any, ...]]:
        """All rows of a query."""
        return db.execute(self._texts[name], values).fetchall()
