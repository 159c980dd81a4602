"""Readers for published reference strings: the pages or blocks requested, in order.

    NAME.lis, .lis.zst     the ARC paper: `start count ignored request`, a run of `count` pages
    NAME.trace, .trace.gz  the LIRS paper: one number a line; `*` and blank lines are skipped
    NAME.jsonl             Mooncake (FAST 2025): a request a line, its blocks in `hash_ids`

A file is read whole before it is used. Pages of these traces weigh one each.
"""

from __future__ import annotations

import gzip
import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from pagefault.model.errors import BadInput
from pagefault.model.ids import PageId

KNOWN_LRU: Final[dict[str, dict[int, float]]] = {
    "OLTP": {1_000: 32.83, 2_000: 42.47, 5_000: 53.65, 10_000: 60.70, 15_000: 64.63},
    "loop": {500: 0.0},
    "multi1": {1_000: 48.2},
    "2_pools": {1_000: 54.4},
    "sprite": {500: 78.3},
    "gli": {1_000: 11.2},
    "cpp": {50: 9.3},
    "cs": {500: 1.8},
    "ps": {500: 48.6},
    "mooncake_conversation": {1_000: 4.4, 10_000: 21.1, 30_000: 32.6},
}
"""LRU's hits in percent, by the number of pages that fit: OLTP from the ARC paper, the others from
the repositories that publish these traces, to a tenth.
"""

SIZES: Final = {name: tuple(known) for name, known in KNOWN_LRU.items()}


@dataclass(frozen=True, slots=True, kw_only=True)
class Trace:
    name: str
    references: list[PageId]

    @property
    def sizes(self) -> tuple[int, ...]:
        """Cache sizes to try: those with known results, else shares of the number of pages."""
        if self.name in SIZES:
            return SIZES[self.name]
        pages = len(set(self.references))
        return tuple(max(2, pages * percent // 100) for percent in (5, 20))


def find_traces(folder: Path) -> list[Path]:
    """Every trace file under a folder, by name. Raises `BadInput` if there is none."""
    found = [path for path in folder.rglob("*") if path.is_file() and _form(path)]
    if not found:
        raise BadInput(
            f"no traces under {folder}",
            hint="files are named *.lis, *.lis.zst, *.trace, *.trace.gz or *.jsonl",
        )
    return sorted(found, key=lambda path: (path.name, path))


def name_of(path: Path) -> str:
    """The trace's name: the file's, without its extensions."""
    return path.name[: -len(_form(path))]


def read_trace(path: Path) -> Trace:
    """Raises `BadInput`, naming file and line, if it is malformed."""
    lines = _lines(path)
    form = _form(path).split(".")[1]
    read = {"lis": _runs, "trace": _numbers, "jsonl": _blocks}[form]
    seen: dict[int, PageId] = {}  # one object per page, however often it is requested
    references: list[PageId] = []
    for number, line in enumerate(lines, 1):
        try:
            pages = list(read(line))
        except (ValueError, KeyError, TypeError) as bad:
            raise BadInput(
                f"{path}, line {number}: {bad!r}",
                hint="the forms of traces are told by `pagefault bench policies --help`",
            ) from None
        for page in pages:
            known = seen.get(page)
            if known is None:
                known = seen[page] = PageId(f"blk_{page}")
            references.append(known)
    if not references:
        raise BadInput(f"{path} refers to no page", hint="give a trace with references")
    return Trace(name=name_of(path), references=references)


_FORMS: Final = (".lis", ".lis.zst", ".trace", ".trace.gz", ".jsonl")


def _form(path: Path) -> str:
    return next((form for form in _FORMS if path.name.endswith(form)), "")


def _runs(line: str) -> Iterator[int]:
    start, count, *_ = map(int, line.split())
    return iter(range(start, start + count))


def _numbers(line: str) -> Iterator[int]:
    text = line.strip()
    return iter(() if text in ("", "*") else (int(text),))


def _blocks(line: str) -> Iterator[int]:
    return iter([int(block) for block in json.loads(line)["hash_ids"]] if line.strip() else ())


def _lines(path: Path) -> list[str]:
    try:
        if path.name.endswith(".zst"):
            data = _zstd().decompress(path.read_bytes())
        elif path.name.endswith(".gz"):
            data = gzip.decompress(path.read_bytes())
        else:
            data = path.read_bytes()
        return str(data, "ascii").splitlines()
    except (OSError, EOFError, UnicodeDecodeError) as problem:
        raise BadInput(f"{path}: {problem}", hint="check the file") from None


def _zstd() -> Any:
    try:
        if sys.version_info >= (3, 14):
            from compression import zstd
        else:
            from backports import zstd
    except ImportError:
        raise BadInput(
            "a trace is compressed with zstd, which this Python cannot read",
            hint='`pip install "pagefault[bench]"` brings a reader; or open it with `zstd -d`',
        ) from None
    return zstd
