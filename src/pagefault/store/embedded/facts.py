"""What the small files of a memory say: `root.json`, `archive.json`, `backup.json`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final, NoReturn

from pagefault.store.embedded.files import read

FACTS_BYTES_MAX: Final = 65_536


def read_facts(path: Path) -> dict[str, Any]:
    """The object in a small file of JSON. `ValueError` if it holds none: so is what no such file
    ever held, be it deep or a number without end. `OSError` if it cannot be read.
    """
    return parse_facts(read(path, FACTS_BYTES_MAX))


def parse_facts(data: bytes) -> dict[str, Any]:
    """The same, of its bytes."""
    try:
        facts = json.loads(data, parse_float=_refuse, parse_constant=_refuse)
    except RecursionError:
        raise ValueError("it is nested too deep") from None
    if not isinstance(facts, dict):
        raise ValueError("it holds no object")
    return facts


def _refuse(number: str) -> NoReturn:
    raise ValueError(f"{number[:20]} stands in it, where only whole numbers do")
