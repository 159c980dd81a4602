"""Traces that a word can leave in files: encoded, compressed, as a term, or as a digest."""

from __future__ import annotations

import base64
import gzip
import hashlib
import hmac
import json
import zlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path
from random import Random
from urllib.parse import quote

WINDOW = 12
"""Bytes by which something is known: no digest begins with others by chance."""

_LETTERS = "bdfghjklmnprtvwxz"  # no stem of theirs is shorter than the word


def canary(name: str) -> str:
    """A word for a field that stands nowhere else, the same in every run."""
    return "".join(Random(name).choices(_LETTERS, k=15)).capitalize()


def encodings(text: str) -> Iterator[bytes]:
    """The ways in which a text could stand in a file."""
    for one in {text, text.lower(), text.upper()}:
        raw = one.encode()
        yield raw
        yield one.encode("utf-16-le")
        yield one.encode("utf-16-be")
        yield raw.hex().encode()
        yield raw.hex().upper().encode()
        escaped = "".join(f"\\u{ord(char):04x}" for char in one)
        yield escaped.encode()
        yield escaped.replace("\\u", "%u").encode()
        yield json.dumps(one).encode()[1:-1]
        yield quote(one).encode()
        yield "".join(f"%{byte:02X}" for byte in raw).encode()
        yield "".join(f"%{byte:02x}" for byte in raw).encode()
        for shift in range(3):  # where it may stand in longer data
            whole = base64.b64encode(bytes(shift) + raw)
            yield whole[4 : 4 + (len(raw) - 2) // 3 * 4]


_HASHES = ("md5", "sha1", "sha256", "sha512", "sha3_256", "blake2b", "blake2s")


def digests(texts: Iterable[str], secret: bytes) -> Iterator[bytes]:
    """Whatever can be made of some texts without knowing them otherwise: plain and keyed with what
    lies in the root, whole and cut, as bytes and in the usual alphabets.
    """
    raws = [text.encode() for text in texts]
    for raw in raws:
        for name in _HASHES:
            yield from _shapes(hashlib.new(name, raw).digest())
            for key in (secret, secret.hex().encode()):
                yield from _shapes(hmac.digest(key, raw, name))
        yield from _shapes(hashlib.blake2b(raw, digest_size=16).digest())
        yield from _shapes(hashlib.blake2b(raw, key=secret, digest_size=32).digest())


def _shapes(digest: bytes) -> Iterator[bytes]:
    """How it begins as bytes, in hexadecimal and in both alphabets of base64: a cut one begins so,
    too.
    """
    yield digest[:WINDOW]
    yield digest.hex().encode()[:WINDOW]
    for alphabet in (base64.b64encode, base64.urlsafe_b64encode):
        yield alphabet(digest)[:WINDOW]


def guesses(text: str) -> Iterator[str]:
    """What a digest might be made of, by somebody who guesses a text: the text, and the keys that
    are made of it.
    """
    yield text
    yield text.casefold()
    for number in range(8):
        yield f"key\0{number}\0{text}"


@cache
def _needles(text: str, secret: bytes) -> Mapping[bytes, frozenset[bytes]]:
    """All that a text can have left, by how each begins: a thousand digests, looked for again and
    again.
    """
    found: dict[bytes, set[bytes]] = {}
    for needle in {*encodings(text), *digests(guesses(text), secret)}:
        assert len(needle) >= WINDOW, "it would be found by chance"
        found.setdefault(needle[:WINDOW], set()).add(needle)
    return {begins: frozenset(needles) for begins, needles in found.items()}


class Files:
    """Everything that lies under a root: bytes, names, and what stands compressed there."""

    def __init__(self, root: Path) -> None:
        self.secret = bytes.fromhex((root / "secret").read_text())
        self._data: dict[str, bytes] = {}
        for path in sorted(root.rglob("*")):
            name = str(path.relative_to(root))
            self._data[f"the name of {name}"] = path.name.encode()
            if path.is_file():
                self._data[name] = data = path.read_bytes()
                with suppress(OSError, EOFError, zlib.error):
                    self._data[f"{name}, opened"] = gzip.decompress(data)
        # Looked up first: tens of thousands of digests are searched for.
        self._windows = {
            data[at : at + WINDOW] for data in self._data.values() for at in range(len(data))
        }

    def holding(self, needles: Iterable[bytes]) -> str:
        """A file that holds one of these; "" if none does."""
        for needle in needles:
            assert len(needle) >= WINDOW, "it would be found by chance"
            if needle[:WINDOW] in self._windows:
                for name, data in self._data.items():
                    if needle in data:
                        return f"{name} ({needle!r})"
        return ""

    def traces(self, texts: Mapping[str, str]) -> dict[str, str]:
        """Which of these texts, by their names, left a trace, and where."""
        found = {}
        for name, text in texts.items():
            needles = _needles(text, self.secret)
            there = self._windows.intersection(needles)
            where = self.holding(needle for begins in there for needle in needles[begins])
            if where:
                found[name] = where
        return found
