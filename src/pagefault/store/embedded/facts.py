"""Reading the small JSON files: `root.json`, `archive.json`, `backup.json`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final, NoReturn

from pagefault.store.embedded.files import read

FACTS_BYTES_MAX: Final = 65_536


def read_facts(path: Path) -> dict[str, Any]:
    """The object in a small JSON file. `ValueError` for anything that such a file never holds, be
    it deep nesting or an endless number. `OSError` if it cannot be read.
    """
    return parse_facts(read(path, FACTS_BYTES_MAX))


def parse_facts(data: bytes) -> dict[str, Any]:
    """The same, from its bytes."""
    try:
        facts = json.loads(data, parse_float=_refuse, parse_constant=_refuse)
    except RecursionError:
        raise ValueError("it is nested too deep") from None
    if not isinstance(facts, dict):
        raise ValueError("it holds no object")
    return facts


def _refuse(number: str) -> NoReturn:
    raise ValueError(f"{number[:20]} stands in it, where only whole numbers do")
