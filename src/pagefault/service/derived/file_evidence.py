"""Evidence in files: found when a claim is stated, and again when it is checked.

Only the position of the words and a hash are stored. The hash is keyed with the memory's secret:
citing a file does not copy it into memory, and the hash confirms no guess. A span that has moved is
found again as long as it begins a line, or is at the same column as before.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Final

from pagefault.model.errors import BadInput
from pagefault.model.page import FileEvidence, FileQuote
from pagefault.model.signatures import check_fields

FILE_BYTES_MAX: Final = 10_000_000
"""A larger file is not evidence: each check would read it whole."""


def find_in_file(keyed: Callable[[str], str], quote: FileQuote) -> FileEvidence:
    """The position of the words in a file. Blocks on the disk. Raises `BadInput` for a file that
    does not exist, is outside its root, or does not contain them.
    """
    check_fields(quote)
    words = quote.words.split()
    if not words:
        raise BadInput("an empty quotation is not evidence", hint="quote words from the file")
    content = read_inside(Path(quote.root or "."), quote.path)
    if content is None:
        raise BadInput(
            f"there is no readable file {quote.path!r:.120} there",
            hint="give its path within the project's folder",
        )
    pattern = rb"\s+".join(re.escape(word.encode()) for word in words)
    found = re.search(pattern, content)
    if found is None:
        raise BadInput(
            f"{quote.path!r:.120} does not say “{' '.join(words)[:60]}”",
            hint="quote the file's current text word for word",
        )
    return FileEvidence(
        path=Path(quote.path).as_posix(),
        start=found.start(),
        end=found.end(),
        hash=_hash(keyed, found[0]),
        line=content.count(b"\n", 0, found.start()) + 1,
    )


def still_says(keyed: Callable[[str], str], evidence: FileEvidence, root: Path) -> bool | None:
    """Whether a file still contains the words; None if it cannot be read. Blocks on the disk."""
    content = read_inside(root, evidence.path)
    if content is None:
        return None
    length = evidence.end - evidence.start
    if _hash(keyed, content[evidence.start : evidence.end]) == evidence.hash:
        return True
    begins = content.rfind(b"\n", 0, evidence.start) + 1
    columns = {0, evidence.start - begins}
    starts = [0, *(at.end() for at in re.finditer(rb"\n", content))]
    return any(
        _hash(keyed, content[start + column : start + column + length]) == evidence.hash
        for start in starts
        for column in columns
        if start + column + length <= len(content)
    )


def read_inside(root: Path, path: str) -> bytes | None:
    """A file's bytes, if it is a plain file inside `root`, and not too large."""
    try:
        base = root.resolve(strict=True)
        file = (base / path).resolve(strict=True)
        if not file.is_relative_to(base) or not file.is_file():
            return None
        return None if file.stat().st_size > FILE_BYTES_MAX else file.read_bytes()
    except (OSError, ValueError, RuntimeError):
        return None


def _hash(keyed: Callable[[str], str], words: bytes) -> str:
    return keyed(f"file {words.decode(errors='surrogateescape')!r}")
