"""SQL by name: each `.sql` file holds queries, each under its name and a sentence on it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from importlib.resources import files
from types import MappingProxyType

_QUERY = re.compile(r"^-- (\w+): [^\n]*\n(.*?)(?=^-- \w+: |\Z)", re.MULTILINE | re.DOTALL)


def queries(file: str) -> Mapping[str, str]:
    """The queries of `file`, by name. A query begins with `-- name: What it is for.`"""
    text = files(__package__).joinpath(file).read_text(encoding="utf-8")
    return MappingProxyType({name: body.strip() for name, body in _QUERY.findall(text)})
