"""The step before the log: every secret that the process knows is replaced wherever it stands.

A secret is searched in the forms in which tools print it: as it is, escaped for JSON (also twice),
percent-encoded, and base64 at each of the three offsets at which it can stand in longer data. What
replaces it, `[REDACTED:name:hmac8]`, tells that two secrets were equal and nothing else about them.

Clean a text before it is counted in tokens, split into parts, hashed or shown: a secret that a
split cut in two is not found.

Invariants:
 (1) No form of a screened secret is in what `clean` returns; what cannot be brought there is
     refused.
 (2) A text without a secret comes back as the same object.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, is_dataclass, replace
from enum import Enum
from functools import cache
from typing import Any, Final, TypeVar

from pagefault.model.errors import ScreenFailed
from pagefault.model.events import Body

CHARS_MIN: Final = 8
"""Shorter values stand in ordinary text too often to be replaced."""

ROUNDS_MAX: Final = 8
"""A mark and the text around it may read as a secret again; after so many rounds we give up."""

_ANCHOR_CHARS_MIN: Final = 3
_BACKSLASHES_MAX: Final = 15
"""Before one escaped character: four levels of JSON inside JSON."""

B = TypeVar("B", bound=Body)


@dataclass(frozen=True, slots=True)
class _Form:
    """One way to write a secret. Where `anchor` is not in a text, `pattern` does not match it."""

    anchor: str
    pattern: re.Pattern[str]  # a look-ahead with one group, so that matches may overlap
    chars: int  # of the secret: of two that overlap, the longer names the mark
    mark: str


class Screen:
    """Replaces the values of `secrets`, by name. `key` is the memory's own; it is not kept here.

    `too_short` names those that are not screened, because their values would be found everywhere;
    `unscreenable` those whose values are part of every mark, as `REDACTED` is.
    """

    def __init__(self, secrets: Mapping[str, str], key: bytes) -> None:
        short: list[str] = []
        named: dict[str, str] = {}
        for name, value in secrets.items():
            value = value.strip()
            if len(value) < CHARS_MIN:
                short.append(name)
            else:
                named.setdefault(value, name)  # one name for each value: the first
        self.too_short: Final = tuple(short)
        found = {value: tuple(_patterns(value)) for value in named}
        everything = [pattern for patterns in found.values() for _, pattern in patterns]
        forms: list[_Form] = []
        unscreenable: list[str] = []
        for number, (value, name) in enumerate(named.items()):
            tag = hmac.new(key, _bytes(value), hashlib.sha256).hexdigest()[:8]
            for called in (re.sub(r"[^\w.-]", "_", name, flags=re.ASCII), f"s{number}"):
                mark = f"[REDACTED:{called}:{tag}]"
                if not any(p.search(mark) for p in everything):
                    forms += [_Form(a, p, len(value), mark) for a, p in found[value]]
                    break
            else:
                unscreenable.append(name)
        self.unscreenable: Final = tuple(unscreenable)
        self._forms: Final = tuple(forms)

    def __repr__(self) -> str:
        return f"Screen({len({f.mark for f in self._forms})} secrets)"

    def clean(self, text: str) -> str:
        """`text` with a mark in place of every secret. Raises `ScreenFailed`: then log nothing."""
        try:
            for form in self._forms:
                if form.anchor in text:
                    cleaned = self._replaced(text)
                    break
            else:
                return text
        except Exception as error:  # fail closed, whatever it was
            failure = type(error).__name__
        else:
            if cleaned is not None:
                return cleaned
            failure = "a secret reads on through its mark"
        raise ScreenFailed(failure)  # outside the handler: the context would carry the text

    def clean_body(self, body: B) -> B:
        """`body` with every string in it clean, in tuples and values inside too.

        The same object where nothing was replaced. Raises `ScreenFailed`.
        """
        try:
            cleaned: B = self._cleaned(body)
        except ScreenFailed:
            raise
        except Exception as error:  # fail closed, whatever it was
            failure = type(error).__name__
        else:
            return cleaned
        raise ScreenFailed(failure)

    def _replaced(self, text: str) -> str | None:
        for _ in range(ROUNDS_MAX):
            spans = self._spans(text)
            if not spans:
                return text
            pieces: list[str] = []
            at = 0
            for start, end, mark in spans:
                pieces += (text[at:start], mark)
                at = end
            text = "".join(pieces) + text[at:]
        return None

    def _spans(self, text: str) -> list[tuple[int, int, str]]:
        """Where secrets stand, in order; those that overlap are one span, named by the longest."""
        hits = [
            (match.start(1), match.end(1), form.chars, form.mark)
            for form in self._forms
            if form.anchor in text
            for match in form.pattern.finditer(text)
        ]
        hits.sort()
        merged: list[tuple[int, int, int, str]] = []
        for start, end, chars, mark in hits:
            if merged and start < merged[-1][1]:
                first, last, most, name = merged[-1]
                if chars > most:
                    most, name = chars, mark
                merged[-1] = (first, max(last, end), most, name)
            else:
                merged.append((start, end, chars, mark))
        return [(start, end, mark) for start, end, _, mark in merged]

    def _cleaned(self, value: Any) -> Any:
        kind = type(value)
        if kind is str:
            return self.clean(value)
        if kind is tuple or kind is list:
            items = [self._cleaned(item) for item in value]
            return value if all(map(_same, items, value)) else kind(items)
        if kind is dict:
            pairs = {self._cleaned(k): self._cleaned(v) for k, v in value.items()}
            kept = all(map(_same, pairs, value)) and all(map(_same, pairs.values(), value.values()))
            return value if kept else pairs
        if is_dataclass(kind):
            changed = {}
            for name in _names(kind):
                old = getattr(value, name)
                if not old or _is_plain(old.__class__):
                    continue  # most fields, most of the time
                new = self.clean(old) if type(old) is str else self._cleaned(old)
                if new is not old:
                    changed[name] = new
            return replace(value, **changed) if changed else value
        return value  # numbers, and the words of the field, which are enums


def _same(one: object, other: object) -> bool:
    return one is other


@cache
def _names(kind: type) -> tuple[str, ...]:
    return tuple(f.name for f in fields(kind))


@cache
def _is_plain(kind: type) -> bool:
    """Whether values of this type hold nobody's text: numbers, and the words of the field."""
    return issubclass(kind, int | float | Enum)


# --- forms ----------------------------------------------------------------------------------------


def _patterns(value: str) -> Iterable[tuple[str, re.Pattern[str]]]:
    """Every form of `value`: a piece of text that is in all of its spellings, and the pattern."""
    for written in {value, value.replace("\\n", "\n")}:  # a PEM key in a variable of one line
        yield _compiled(written, _escaped(written))
        raw = _bytes(written)
        for before in range(3):
            yield _compiled(*_base64(raw, before))


def _compiled(text: str, spelling: str) -> tuple[str, re.Pattern[str]]:
    # No escape that we read touches letters and digits of ASCII, so a run of them is always there.
    anchor = max(re.findall(r"[A-Za-z0-9]+", text), key=len, default="")
    if len(anchor) < _ANCHOR_CHARS_MIN:
        anchor = ""
    return anchor, re.compile(f"(?=({spelling}))")


def _bytes(value: str) -> bytes:
    return value.encode("utf-8", "surrogateescape" if _from_environment(value) else "surrogatepass")


def _from_environment(value: str) -> bool:
    """Whether lone surrogates in it stand for bytes, as PEP 383 puts them into the environment."""
    return all("\udc80" <= c <= "\udcff" for c in value if "\ud800" <= c <= "\udfff")


def _escaped(value: str) -> str:
    """A pattern of the spellings of `value` as text: raw, JSON and percent-encoded, also mixed."""
    parts = [
        _backslashes(len(run)) if run[0] == "\\" else _spellings(run)
        for run in re.findall(r"\\+|\r\n|[^\\]", value, re.DOTALL)
    ]
    return "".join(parts)


def _backslashes(count: int) -> str:
    most = (_BACKSLASHES_MAX + 1) * (count + 1)  # and those that escape what comes after
    return rf"(?:\\{{{count},{most}}}|(?:%(?:25){{0,3}}5[Cc]){{{count}}})"


_JSON_SHORT: Final = {"\n": "n", "\r": "r", "\t": "t", "\b": "b", "\f": "f"}


def _spellings(char: str) -> str:
    """A pattern of one character, or of a line end, which may be written in two ways."""
    if char in ("\n", "\r\n"):
        carriage_return, line_feed = _spellings_of("\r"), _spellings_of("\n")
        return f"(?:{carriage_return})?{line_feed}"
    if char.isascii() and char.isalnum():
        return char
    return _spellings_of(char)


def _spellings_of(char: str) -> str:
    slashes = rf"\\{{0,{_BACKSLASHES_MAX}}}"
    units = char.encode("utf-16-be", "surrogatepass").hex()
    json_long = "".join(
        rf"\\{{1,{_BACKSLASHES_MAX}}}u{_any_case(units[i : i + 4])}"
        for i in range(0, len(units), 4)
    )
    percent = "".join(f"%(?:25){{0,3}}{_any_case(f'{byte:02x}')}" for byte in _bytes(char))
    either = [slashes + re.escape(char), json_long, percent]
    if char in _JSON_SHORT:
        either.append(rf"\\{{1,{_BACKSLASHES_MAX}}}{_JSON_SHORT[char]}")
    if char == " ":
        either.append(r"\+")  # quote_plus
    return f"(?:{'|'.join(either)})"


def _any_case(digits: str) -> str:
    return "".join(d if d.isdigit() else f"[{d}{d.upper()}]" for d in digits)


_BASE64_SPELLINGS: Final = {"+": "(?:[+-]|%2[Bb])", "/": r"(?:\\*/|_|%2[Ff])"}
"""Standard and url-safe (RFC 4648 §4, §5), and the standard one inside JSON or a URL."""


_BASE64_ANY: Final = "[A-Za-z0-9+/_-]?"


def _base64(raw: bytes, before: int) -> tuple[str, str]:
    """What base64 makes of `raw` after so many bytes of a group of three, and its pattern.

    The text is the characters that depend on `raw` alone. The pattern takes in the one on either
    side that a neighbour shares, too.
    """
    encoded = base64.b64encode(bytes(before) + raw).decode()
    bits = 8 * (before + len(raw))
    middle = encoded[-(-before * 8 // 6) : bits // 6]
    spelling = "".join(_BASE64_SPELLINGS.get(char, char) for char in middle)
    head = _BASE64_ANY if before else ""
    tail = _BASE64_ANY if bits % 6 else ""
    return middle, f"{head}{spelling}{tail}"


# --- what the process knows -----------------------------------------------------------------------

_SECRET_NAME: Final = re.compile(r"KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIAL", re.IGNORECASE)
_PUBLIC_NAME: Final = re.compile(r"PUBLIC|_(?:URL|URI|ENDPOINT|HOST|REGION)$", re.IGNORECASE)
_COUNT_NAME: Final = re.compile(r"MAX|MIN|LIMIT|COUNT|SIZE|TTL|TIMEOUT|BUDGET|EXPIR", re.IGNORECASE)
_PUBLIC_VALUE: Final = re.compile(
    r"(?:ssh-|ecdsa-|sk-ssh-)[a-z0-9@.-]+ |-----BEGIN (?:PUBLIC KEY|CERTIFICATE)"
)
_PATH: Final = re.compile(
    r"(?:~|\.{1,2}|[A-Za-z]:|file://)[/\\]"
    r"|/(?:home|root|Users|etc|usr|var|opt|tmp|run|mnt|media|srv|proc|dev|private|Library|app"
    r"|data|work|workspace|secrets|nix|snap)/"
)
"""Known beginnings only: a base64 key may begin with a slash."""


def known_secrets(environ: Mapping[str, str], extra: Mapping[str, str]) -> dict[str, str]:
    """What must not be logged, by name: `extra` (configured keys), then secrets of the environment.

    A variable counts if its name says so and its value is not plainly something else: short, a
    path, a number that is a limit, an address without a password, a public key.
    """
    found = {name: value for name, value in extra.items() if value.strip()}
    for name, value in environ.items():
        if _SECRET_NAME.search(name) and not _is_public(name, value.strip()):
            found.setdefault(name, value)
    return found


def _is_public(name: str, value: str) -> bool:
    if len(value) < CHARS_MIN or _PUBLIC_VALUE.match(value):
        return True
    if _PATH.match(value) and "\n" not in value:
        return True
    if _PUBLIC_NAME.search(name):
        return "@" not in value
    return bool(_COUNT_NAME.search(name)) and value.isdigit()
