"""The screen before the log: every secret that the process knows is replaced wherever it occurs,
and so is what detection layers take for one (`guard/detect.py`).

A secret is searched in the forms in which tools print it: raw; escaped for JSON, JavaScript or
HTML, or percent-encoded (also twice, also letter by letter); in hexadecimal without separators; and
in base64 at each of its three possible offsets in longer data. A form defines how the characters of
a secret may be spelled. A text is searched as it is, then with encoded letters and digits decoded,
then without its line ends, since data is wrapped; findings are replaced at their positions in the
text. The mark, `[REDACTED:name:hmac8]`, reveals that two secrets were equal and nothing else about
them.

Layers see the text as it is. If a known value and a detected one overlap, both become one span, and
the longer one names it. If a layer fails, the text is lost, not the turn: it is replaced by a
notice with its size and none of its content.

Clean a text before it is counted in tokens, split into parts, hashed or shown: a secret that a
split has cut in two is not found.

Invariants:
 (1) No form of a screened secret is in what `clean` returns; a text for which that is impossible is
     refused.
 (2) A text without a secret is returned as the same object.
 (3) `clean` is idempotent: marks and notices are not secrets.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from enum import Enum
from functools import cache
from html.entities import html5
from typing import Any, Final, TypeVar
from urllib.parse import unquote

from pagefault.guard.detect import Finding, Layer, is_allowed
from pagefault.guard.names import words_of
from pagefault.model.errors import ScreenFailed
from pagefault.model.events import Body

CHARS_MIN: Final = 8
"""Shorter values are too frequent in ordinary text to be replaced."""

ROUNDS_MAX: Final = 8
"""A mark and the text around it may form another secret; after so many rounds we give up."""

_ANCHOR_CHARS_MIN: Final = 3
_BACKSLASHES_MAX: Final = 15
"""Before one escaped character: four levels of nested JSON."""

B = TypeVar("B", bound=Body)
T = TypeVar("T")

_MARK: Final = re.compile(
    r"\[REDACTED:([\w.-]+)(?::[0-9a-f]{8})?\]|\[WITHHELD:\d+ characters(?::[0-9a-f]{8})?\]",
    re.ASCII,
)
_NOTICE: Final = re.compile(r"\[WITHHELD:\d+ characters(?::[0-9a-f]{8})?\]", re.ASCII)

_NOTED_MAX: Final = 4_096  # enough for a long history that arrives at once; some 100 bytes each
_BLANK: Final = "\x7f"

_Hit = tuple[int, int, tuple[int, bool], str]
"""Start, end, the secret's length and whether it is known, and its mark."""


class _LayerFailed(Exception):
    """A layer raised. Says which one and how, and nothing of the text."""


@dataclass(frozen=True, slots=True)
class _Form:
    """One spelling of a secret. If `anchor` is not in a text, `pattern` does not match it.

    With `any_case`, if it is not in the lower-case text.
    """

    anchor: str
    any_case: bool
    pattern: re.Pattern[str]  # a look-ahead with one group, so that matches may overlap
    chars: int  # of the secret: of two that overlap, the longer one names the mark
    mark: str


class Screen:
    """Replaces the values of `secrets`, by name, and the findings of `layers`. `key` is the
    memory's. Without a key, as for printed output, a mark has only the name.

    `too_short` names secrets that are not screened, because their values would be found everywhere;
    `unscreenable` those whose values are part of every mark, such as `REDACTED`. `withheld` counts
    the texts on which a layer failed, and `failure` describes the last time.
    """

    def __init__(
        self,
        secrets: Mapping[str, str],
        key: bytes | None,
        layers: Sequence[Layer] = (),
        allow: Sequence[str] = (),
    ) -> None:
        """`allow` lists values that the user declares not secret, with `*` and `?`."""
        self.layers: Final = tuple(layers)
        self._allow: Final = tuple(allow)
        self._key: Final = key
        self._clean: Final[set[tuple[int, int]]] = set()
        self.withheld = 0
        self.failure = ""
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
        everything = [pattern for patterns in found.values() for *_, pattern in patterns]
        forms: list[_Form] = []
        unscreenable: list[str] = []
        for number, (value, name) in enumerate(named.items()):
            tag = self._tag(value)
            for called in (re.sub(r"[^\w.-]", "_", name, flags=re.ASCII), f"s{number}"):
                mark = f"[REDACTED:{called}{tag}]"
                if not any(p.search(mark) for p in everything):
                    forms += [_Form(*form, len(value), mark) for form in found[value]]
                    break
            else:
                unscreenable.append(name)
        self.unscreenable: Final = tuple(unscreenable)
        self._forms: Final = tuple(forms)
        self._anchors: Final = tuple({form.anchor for form in forms if not form.any_case})
        self._anchors_any_case: Final = tuple({form.anchor for form in forms if form.any_case})
        self._chars_max: Final = 6 * max((len(_bytes(value)) for value in named), default=0)

    def __repr__(self) -> str:
        return f"Screen({len({f.mark for f in self._forms})} secrets)"

    def clean(self, text: str) -> str:
        """`text` with a mark in place of every secret, or replaced by a notice if a layer failed.
        Raises `ScreenFailed`: then log nothing.
        """
        try:
            seen = (hash(text), len(text))
            if seen in self._clean:
                return text
            if not self._is_suspect(text):
                return self._known_clean(text)
            cleaned = self._replaced(text)
        except _LayerFailed as failed:
            return self._notice(text, str(failed))
        except Exception as error:  # fail closed, whatever it is
            failure = type(error).__name__
        else:
            if cleaned is not None:
                return self._known_clean(cleaned)
            failure = "a secret reads on through its mark"
        raise ScreenFailed(failure)  # outside the handler: the context would carry the text

    def clean_value(self, name: str, value: str) -> str:
        """`value`, clean also as the value of `name` in a JSON object: a name may reveal what the
        value alone does not. Raises `ScreenFailed`.
        """
        value = self.clean(value)
        if not self.layers or not value or _NOTICE.fullmatch(value):
            return value
        pair = json.dumps({name: value})
        cleaned = self.clean(pair)
        if cleaned == pair:
            return value
        try:
            (read,) = json.loads(cleaned).values()
        except ValueError:  # withheld as a whole, or a mark covers more
            return self._notice(value, self.failure or "what was found is no value of JSON")
        return str(read)

    def clean_front(self, text: str) -> tuple[str, str]:
        """The cleaned beginning of an unfinished text, and the unchanged rest, which may have an
        unfinished secret. Raises `ScreenFailed`.

        A secret is assumed to be no longer than with each byte escaped by six characters.
        """
        try:
            cut = self._settled(text, max(0, len(text) - self._chars_max))
            for start, end, _ in reversed(self._spans(text) if cut else []):
                if start < cut < end:
                    cut = self._settled(text, start)
        except _LayerFailed:
            return "", text  # `clean` reports on the whole
        except Exception as error:  # fail closed, whatever it is
            failure = type(error).__name__
        else:
            return self.clean(text[:cut]), text[cut:]
        raise ScreenFailed(failure)

    def clean_body(self, body: B) -> B:
        """`body` with every string in it cleaned, including those in tuples and nested values.

        The same object if nothing was replaced. Raises `ScreenFailed`.
        """
        try:
            cleaned: B = self._cleaned(body)
        except ScreenFailed:
            raise
        except Exception as error:  # fail closed, whatever it is
            failure = type(error).__name__
        else:
            return cleaned
        raise ScreenFailed(failure)

    def found(self, text: str) -> list[Finding]:
        """The findings of `clean` in its first round, in order: to explain it.

        Raises `ScreenFailed`.
        """
        try:
            return [
                Finding(start, end, rule_of(mark), mark) for start, end, mark in self._spans(text)
            ]
        except Exception as error:  # fail closed, whatever it is
            failure = str(error) if isinstance(error, _LayerFailed) else type(error).__name__
        raise ScreenFailed(failure)

    def changes(self, text: str) -> list[Finding]:
        """The changes that `clean` makes, in order: each replaced span, with its final mark. A mark
        that becomes part of another secret is replaced as a whole.

        Nothing is withheld: if a layer fails, as for any other failure, this raises `ScreenFailed`.
        """
        try:
            made: list[tuple[int, int, str]] = []
            if not self._is_suspect(text):
                return []
            for _ in range(ROUNDS_MAX):
                spans = self._spans(applied(text, made))
                if not spans:
                    return [Finding(a, b, rule_of(mark), mark) for a, b, mark in made]
                made = composed(made, spans)
            failure = "a secret reads on through its mark"
        except Exception as error:  # fail closed, whatever it is
            failure = str(error) if isinstance(error, _LayerFailed) else type(error).__name__
        raise ScreenFailed(failure)

    def holds_known(self, text: str) -> bool:
        """Whether a known value occurs in what may not be text. Raises `ScreenFailed`."""
        try:
            return bool(self._spans(text, detect=False))
        except Exception as error:  # fail closed, whatever it is
            failure = type(error).__name__
        raise ScreenFailed(failure)

    def _known_clean(self, text: str) -> str:
        """`text`, noted as clean: a text is cleaned before it is counted, and again before it is
        written. Only Python's own hash of it is kept, which is keyed per process.
        """
        if len(self._clean) >= _NOTED_MAX:
            self._clean.clear()
        self._clean.add((hash(text), len(text)))
        return text

    def _without_known(self, text: str) -> str:
        """A name of our own, without a known value in it."""
        if not self._forms or not (self._anchored(text) or self._may_hold(text)):
            return text
        cleaned = self._replaced(text, detect=False)
        if cleaned is None:
            raise ValueError("a secret reads on through its mark")
        return cleaned

    def _is_suspect(self, text: str) -> bool:
        """Whether something may be found in `text`: quick, without false negatives."""
        if self._forms and (self._anchored(text) or self._may_hold(text)):
            return True
        return any(self._asked(layer, layer.may_hold, text) for layer in self.layers)

    def _asked(self, layer: Layer, question: Callable[[str], T], text: str) -> T:
        try:
            return question(text)
        except Exception as error:
            failure = f"{layer.name}: {type(error).__name__}"
        raise _LayerFailed(failure)  # outside the handler: the context would carry the text

    def _settled(self, text: str, cut: int) -> int:
        """The last point up to `cut` before which no finding depends on later text."""
        while cut:
            least = min(
                (self._asked(one, one.open_from, text[:cut]) for one in self.layers), default=cut
            )
            if least >= cut:
                break
            cut = least
        return cut

    def _detected(self, text: str) -> list[_Hit]:
        """The findings of the layers, except allowed ones. Marks are hidden from them."""
        read = _MARK.sub(lambda mark: _BLANK * len(mark[0]), text) if "[" in text else text
        hits: list[_Hit] = []
        for layer in self.layers:
            if not self._asked(layer, layer.may_hold, read):
                continue
            for one in self._asked(layer, layer.find, read):
                value = text[one.start : one.end]
                is_secret = any(map(str.isalnum, read[one.start : one.end]))
                if is_secret and not is_allowed(value, self._allow):
                    mark = one.mark or f"[REDACTED:{one.rule}{self._tag(value)}]"
                    hits.append((one.start, one.end, (len(value), False), mark))
        return hits

    def _tag(self, value: str) -> str:
        if self._key is None:
            return ""
        return ":" + hmac.new(self._key, _bytes(value), hashlib.sha256).hexdigest()[:8]

    def _notice(self, text: str, failure: str) -> str:
        """The notice that replaces a text on which a layer failed."""
        if _NOTICE.fullmatch(text):
            return text
        self.withheld += 1
        self.failure = failure
        return f"[WITHHELD:{len(text)} characters{self._tag(text)}]"

    def _replaced(self, text: str, *, detect: bool = True) -> str | None:
        for _ in range(ROUNDS_MAX):
            spans = self._spans(text, detect=detect)
            if not spans:
                return text
            text = applied(text, spans)
        return None

    def _spans(self, text: str, *, detect: bool = True) -> list[tuple[int, int, str]]:
        """The spans of secrets, in order; overlapping ones are merged, named by the longest."""
        hits = self._detected(text) if detect and self.layers else []
        if not self._forms or not (self._anchored(text) or self._may_hold(text)):
            return _merged(hits)
        hits += self._hits(text)
        for number, view in enumerate(_views(text)):
            if found := self._hits(view):
                starts, ends = _places(text, _VIEWS[number])
                hits += [(starts[a], ends[b - 1], chars, mark) for a, b, chars, mark in found]
        return _merged(hits)

    def _may_hold(self, text: str) -> bool:
        """Whether a view of `text` has an anchor that `text` lacks: quick, no false negatives."""
        if "\\" in text or "%" in text or "&" in text:
            text = _LETTER.sub(_letter, text)
            if self._anchored(text):
                return True
            for written in _WRITTEN_BREAKS:
                text = text.replace(written, "\n")
        if "\n" not in text and "\r" not in text:
            return False
        lines = text.replace("\r", "\n").split("\n")
        joined = "".join([line.strip(_AROUND_BREAK) for line in lines])
        return self._anchored(joined)

    def _anchored(self, text: str) -> bool:
        """Whether an anchor is in the unchanged `text`."""
        for anchor in self._anchors:
            if anchor in text:
                return True
        text = text.lower()
        return any(anchor in text for anchor in self._anchors_any_case)

    def _hits(self, text: str) -> list[_Hit]:
        lowered = text.lower()
        return [
            (match.start(1), match.end(1), (form.chars, True), form.mark)
            for form in self._forms
            if form.anchor in (lowered if form.any_case else text)
            for match in form.pattern.finditer(text)
        ]

    def _cleaned(self, value: Any, is_ours: bool = False) -> Any:
        """`is_ours`: each string is a name of our own (`_names`)."""
        kind = type(value)
        if kind is str:
            return self._without_known(value) if is_ours else self.clean(value)
        if kind is tuple or kind is list:
            items = [self._cleaned(item, is_ours) for item in value]
            return value if all(map(_same, items, value)) else kind(items)
        if kind is dict:
            pairs = {self._cleaned(k): self._cleaned(v) for k, v in value.items()}
            kept = all(map(_same, pairs, value)) and all(map(_same, pairs.values(), value.values()))
            return value if kept else pairs
        if is_dataclass(kind):
            changed = {}
            for name, has_ours in _names(kind):
                old = getattr(value, name)
                if not old or _is_plain(old.__class__):
                    continue  # most fields, most of the time
                new = self._cleaned(old, has_ours)
                if new is not old:
                    changed[name] = new
            return replace(value, **changed) if changed else value
        return value  # numbers, and enums


def _merged(hits: list[_Hit]) -> list[tuple[int, int, str]]:
    """Hits in order; overlapping ones are merged, named by the longest."""
    merged: list[_Hit] = []
    for start, end, chars, mark in sorted(hits):
        if merged and start < merged[-1][1]:
            first, last, most, name = merged[-1]
            if chars > most:
                most, name = chars, mark
            merged[-1] = (first, max(last, end), most, name)
        else:
            merged.append((start, end, chars, mark))
    return [(start, end, mark) for start, end, _, mark in merged]


def is_redacted(text: str) -> bool:
    """Whether a mark or a notice is in a text: what was there before is not known."""
    return "[" in text and _MARK.search(text) is not None


def rule_of(mark: str) -> str:
    """The rule that a mark names."""
    return match[1] if (match := _MARK.match(mark)) else "path"


def applied(text: str, spans: Sequence[tuple[int, int, str]]) -> str:
    """A text with these spans, in order, replaced by marks."""
    pieces: list[str] = []
    at = 0
    for start, end, mark in spans:
        pieces += (text[at:start], mark)
        at = end
    return "".join(pieces) + text[at:]


def composed(
    made: Sequence[tuple[int, int, str]], later: Sequence[tuple[int, int, str]]
) -> list[tuple[int, int, str]]:
    """Composes changes of a text with later changes of the result, as changes of the text."""
    placed: list[tuple[int, int, int, int, str]] = []  # each with the position of its mark
    shift = 0
    for start, end, mark in made:
        placed.append((start + shift, start + shift + len(mark), start, end, mark))
        shift += len(mark) - (end - start)
    joined = [one[2:] for one in placed if not any(a < one[1] and one[0] < b for a, b, _ in later)]
    for now, upto, mark in later:
        met = [one for one in placed if one[0] < upto and now < one[1]]
        before = [one for one in placed if one[1] <= now]
        back = before[-1][3] - before[-1][1] if before else 0
        start, end = now + back, upto + back
        if met:
            start = met[0][2] if met[0][0] <= now else start
            end = met[-1][3] + max(0, upto - met[-1][1])
        joined.append((start, end, mark))
    told: list[tuple[int, int, str]] = []
    for start, end, mark in sorted(joined):
        if told and start < told[-1][1]:  # both touched one mark
            start, _, mark = told.pop()
        told.append((start, end, mark))
    return told


def _same(one: object, other: object) -> bool:
    return one is other


@cache
def _names(kind: type) -> tuple[tuple[str, bool], ...]:
    """The fields of a value, and which of them hold names of our own: ids, digests and fixed words,
    which are hidden from layers because random letters are what they are made of.
    """
    return tuple((f.name, f.name in _OURS or "str" not in str(f.type)) for f in fields(kind))


_OURS: Final = frozenset({"session_id", "holder", "blob", "mime_type", "wire", "claim_type"})


@cache
def _is_plain(kind: type) -> bool:
    """Whether values of this type hold no free text: numbers and enums."""
    return issubclass(kind, int | float | Enum)


# --- views ----------------------------------------------------------------------------------------

_HEX: Final = r"3[0-9]|[46][1-9A-Fa-f]|[57][0-9Aa]"  # of a letter or digit of ASCII
_DECIMAL: Final = r"4[89]|5[0-7]|6[5-9]|[78]\d|9[0789]|1[01]\d|12[0-2]"
_OCTAL: Final = r"0?6[0-7]|0?7[01]|1(?:0[1-7]|1[0-7]|2[0-7]|3[0-2]|4[1-7]|5[0-7]|6[0-7]|7[0-2])"
_LETTER: Final = re.compile(
    rf"\\{{1,15}}(?:(?:u00|x)(?P<escaped>{_HEX})|u\{{0{{0,4}}(?P<braced>{_HEX})\}}|(?P<octal>{_OCTAL}))"
    rf"|%(?:25){{0,3}}(?P<percent>{_HEX})"
    rf"|&(?:amp;){{0,3}}#(?:[xX]0{{0,4}}(?P<entity>{_HEX})|0{{0,4}}(?P<decimal>{_DECIMAL}));"
)
# Each branch begins with a different character, so the search skips all others.
_LINE_END: Final = r"\n|\r\n?|\\\\{0,14}(?:r\\{1,15})?n|%(?:25)?0(?:[Dd]%(?:25)?0)?[Aa]"
_LINE_ENDS: Final = re.compile(_LINE_END)
_BREAK: Final = re.compile(
    r"(?=[ \t\r\n\\%])(?<=\S)[ \t]{0,8}"  # with more, a line is not wrapped but padded
    rf"(?:(?:\\{{1,15}}(?:\r?\n|\r)|{_LINE_END})[ \t]*(?:[>|#*]{{1,4}}[ \t]*)?)+(?=\S)"
)
"""Where data is wrapped: a line end, plain or escaped, and the next line's indentation."""


_WRITTEN_BREAKS: Final = (
    *("\\n", "\\r"),
    *(f"%{again}0{digit}" for again in ("", "25") for digit in "aAdD"),
)
_AROUND_BREAK: Final = " \t\\>|#*"


def _letter(match: re.Match[str]) -> str:
    group = match.lastgroup
    assert group is not None
    return chr(int(match[group], {"decimal": 10, "octal": 8}.get(group, 16)))


def _nothing(match: re.Match[str]) -> str:
    return ""


_Step = tuple[re.Pattern[str], Callable[[re.Match[str]], str]]
_LETTERS: Final[_Step] = (_LETTER, _letter)
_VIEWS: Final[tuple[tuple[_Step, ...], ...]] = (
    (_LETTERS,),
    (_LETTERS, (_BREAK, _nothing)),
    (_LETTERS, (_LINE_ENDS, _nothing)),  # an adjacent `#` or space may belong to the secret
)


def _views(text: str) -> Iterator[str]:
    """`text` in each of `_VIEWS`, except those with nothing to decode."""
    if "\\" in text or "%" in text or "&" in text:
        text = _LETTER.sub(_letter, text)
    yield text
    if "\n" in text or "\r" in text or "\\" in text or "%" in text:
        yield _BREAK.sub("", text)
        yield _LINE_ENDS.sub("", text)


def _places(text: str, steps: Iterable[_Step]) -> tuple[Sequence[int], Sequence[int]]:
    """The bounds in `text` of each character of a view."""
    starts: Sequence[int] = range(len(text))
    ends: Sequence[int] = range(1, len(text) + 1)
    for pattern, reads in steps:
        first: list[int] = []
        last: list[int] = []
        pieces: list[str] = []
        at = 0
        for match in pattern.finditer(text):
            a, b = match.span()
            first += starts[at:a]
            last += ends[at:a]
            pieces += (text[at:a], read := reads(match))
            if read:
                first.append(starts[a])
                last.append(ends[b - 1])
            at = b
        first += starts[at:]
        last += ends[at:]
        text, starts, ends = "".join(pieces) + text[at:], first, last
    return starts, ends


# --- forms ----------------------------------------------------------------------------------------


def _patterns(value: str) -> Iterable[tuple[str, bool, re.Pattern[str]]]:
    """Every form of `value`, as the first fields of `_Form`: a text that is in all of its
    spellings, whether in any case, and the pattern.
    """
    for written in {value, value.replace("\\n", "\n")}:  # a PEM key in a variable of one line
        yield _compiled(written, _escaped(written))
        raw = _bytes(written)
        for before in range(3):
            yield _compiled(*_base64(raw, before))
        yield raw.hex(), True, re.compile(f"(?=({raw.hex()}))", re.IGNORECASE)


def _compiled(text: str, spelling: str) -> tuple[str, bool, re.Pattern[str]]:
    # No escape that we decode affects ASCII letters and digits, so a run of them is always there.
    anchor = max(re.findall(r"[A-Za-z0-9]+", text), key=len, default="")
    if len(anchor) < _ANCHOR_CHARS_MIN:
        anchor = ""
    return anchor, False, re.compile(f"(?=({spelling}))")


def _bytes(value: str) -> bytes:
    return value.encode("utf-8", "surrogateescape" if _from_environment(value) else "surrogatepass")


def _from_environment(value: str) -> bool:
    """Whether its lone surrogates represent bytes, as PEP 383 decodes the environment."""
    return all("\udc80" <= c <= "\udcff" for c in value if "\ud800" <= c <= "\udfff")


def _escaped(value: str) -> str:
    """A pattern for the spellings of `value` as text: raw, JSON and percent-encoded, also mixed."""
    parts = [
        _backslashes(len(run)) if run[0] == "\\" else _spellings(run)
        for run in re.findall(r"\\+|\r\n|[^\\]", value, re.DOTALL)
    ]
    return "".join(parts)


def _backslashes(count: int) -> str:
    most = (_BACKSLASHES_MAX + 1) * (count + 1)  # and those that escape what follows
    escaped = r"u005[cC]|x5[cC]|0{0,2}134|u\{0{0,4}5[cC]\}"
    spelled = rf"%(?:25){{0,3}}5[Cc]|\\{{1,{_BACKSLASHES_MAX}}}(?:{escaped})|{_entity(chr(92))}"
    return rf"(?:\\{{{count},{most}}}|(?:{spelled}){{{count}}})"


def _entity(char: str) -> str:
    """A pattern for the HTML entities of a character, also escaped twice."""
    code = ord(char)
    names = "".join(f"|{name}" for name in _entity_names().get(char, ()))
    return rf"&(?:amp;){{0,3}}(?:#0{{0,4}}{code}|#[xX]0{{0,4}}{_any_case(f'{code:x}')}{names});"


@cache
def _entity_names() -> Mapping[str, Sequence[str]]:
    names: dict[str, list[str]] = {}
    for name, read in html5.items():
        if name.endswith(";"):
            names.setdefault(read, []).append(name[:-1])
    return names


_JSON_SHORT: Final = {"\n": "n", "\r": "r", "\t": "t", "\b": "b", "\f": "f"}


def _spellings(char: str) -> str:
    """A pattern for one character, or for a line end, which has two spellings."""
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
    braced = rf"\\{{1,{_BACKSLASHES_MAX}}}u\{{0{{0,4}}{_any_case(f'{ord(char):x}')}\}}"
    raw = _bytes(char)
    percent = "".join(f"%(?:25){{0,3}}{_any_case(f'{byte:02x}')}" for byte in raw)
    either = [slashes + re.escape(char), json_long, braced, percent, _entity(char)]
    either.append("".join(map(_byte, raw)))
    if 128 <= ord(char) < 256:
        either.append(_byte(ord(char)))  # of Latin-1, which is the code point
    if char in _JSON_SHORT:
        either.append(rf"\\{{1,{_BACKSLASHES_MAX}}}{_JSON_SHORT[char]}")
    if char == " ":
        either.append(r"\+")  # quote_plus
    return f"(?:{'|'.join(either)})"


def _byte(byte: int) -> str:
    return rf"\\{{1,{_BACKSLASHES_MAX}}}(?:x{_any_case(f'{byte:02x}')}|0{{0,2}}{byte:o})"


def _any_case(digits: str) -> str:
    return "".join(d if d.isdigit() else f"[{d}{d.upper()}]" for d in digits)


_BASE64_SPELLINGS: Final = {"+": f"(?:-|{_spellings_of('+')})", "/": f"(?:_|{_spellings_of('/')})"}
"""URL-safe and standard (RFC 4648 §5, §4), the latter also inside JSON, HTML or a URL."""


_BASE64_ANY: Final = "[A-Za-z0-9+/_-]?"


def _base64(raw: bytes, before: int) -> tuple[str, str]:
    """The base64 of `raw` after `before` bytes of a group of three, and its pattern.

    The text has the characters that depend on `raw` alone. The pattern also covers the character on
    either side that is shared with a neighbour.
    """
    encoded = base64.b64encode(bytes(before) + raw).decode()
    bits = 8 * (before + len(raw))
    middle = encoded[-(-before * 8 // 6) : bits // 6]
    spelling = "".join(_BASE64_SPELLINGS.get(char, char) for char in middle)
    head = _BASE64_ANY if before else ""
    tail = _BASE64_ANY if bits % 6 else ""
    return middle, f"{head}{spelling}{tail}"


# --- known secrets --------------------------------------------------------------------------------

_SECRET: Final = re.compile(
    r"(?:TOKENS?|SECRETS?|PASSWORDS?|PASSWD|PASSPHRASE|PASSCODE|CREDENTIALS?|(?<!MON)KEYS?)\Z"
    r"|(?:TOKEN|SECRET|PASSWORD|PASSWD|PASSPHRASE|CREDENTIAL)"
)
"""A word that marks a secret anywhere, even at the end of another: `PGPASSWORD`, `APIKEY`."""

_ACCESS: Final = re.compile(r"(?:PASS|PWD|AUTH|PAT|COOKIES?|JWT|BEARER|DSN|CREDS?)\Z")
"""An ending of the last word that marks a secret: `MYSQL_PWD`, `ROOTPWD` and `GH_PAT`, but not
`AUTHOR`, `SSH_AUTH_SOCK` or `AUTH_MODE`.
"""

_NO_ACCESS: Final = frozenset(
    "COMPASS ENCOMPASS BYPASS TRESPASS SURPASS OVERPASS UNDERPASS LOWPASS HIGHPASS BANDPASS"
    " COMPAT EXPAT SPAT FPAT SACRED OLDPWD".split()
)
"""Harmless words with such endings: of English, of signals, of awk and of a shell."""

_SECRET_ADDRESS: Final = re.compile(
    r"(?:SECRET|PASSWORD|CREDENTIAL|WEBHOOK)\w*_(?:URL|URI|ENDPOINT)$", re.I
)
_USER_PART: Final = re.compile(
    r"[A-Za-z][\w+.-]*://[^\s/?#@:]*:(?P<url>[^\s/?#@]+(?:@[^\s/?#@]+)*)@"  # scheme://user:password@
    r"|^[^\s/@:]+:(?P<driver>[^\s/]+)@[\w.-]*[(:/]"  # user:password@tcp(host), host:port or host/db
    r"|(?:^|[\s;?&])(?:password|passwd|pwd|sslpassword)\s*=\s*'?(?P<pair>[^\s;&']+)",
    re.IGNORECASE,
)
"""The positions of a password in an address: RFC 3986 §3.2.1, a driver's form, or pairs."""

_PLAIN_WORD: Final = re.compile(r"[A-Z]?[a-z]{,11}|[A-Z]{,12}|(?:true|false)\b.*", re.IGNORECASE)
"""`disabled`, `postgres`: frequent in ordinary sentences, and not worth hiding."""

_PUBLIC_WORDS: Final = frozenset({"PUBLIC", "PUBLICKEY"})
_PLACE_NAME: Final = re.compile(r"_(?:URL|URI|ENDPOINT|HOST|REGION)$", re.IGNORECASE)
_COUNT_NAME: Final = re.compile(
    r"(?:^|_)(?:MAX|MIN|LIMIT|COUNT|SIZE|TTL|TIMEOUT|BUDGET|EXPIRES|EXPIRY|EXPIRATION)"
    r"(?:_[A-Z]+(?<!S)S|_AT|_IN)?(?:_PER_[A-Z]+)?$"
)
"""A word that counts what precedes it, or follows it in the plural: `TOKEN_LIMIT`, `MAX_TOKENS`,
`TOKEN_EXPIRES_AT`, but not `TIMEOUT_SECRET`, `ADMIN_PASSWORD` or `ACCOUNT_TOKEN`.
"""
_PUBLIC_VALUE: Final = re.compile(
    r"(?:ssh-|ecdsa-|sk-ssh-)[a-z0-9@.-]+ |-----BEGIN (?:PUBLIC KEY|CERTIFICATE)"
)
_PATH: Final = re.compile(
    r"(?:~|\.{1,2}|[A-Za-z]:|file://)[/\\]"
    r"|/(?:home|root|Users|etc|usr|var|opt|tmp|run|mnt|media|srv|proc|dev|private|Library|app"
    r"|data|work|workspace|secrets|nix|snap)/"
)
"""Known prefixes only: a base64 key may begin with a slash."""


def known_secrets(environ: Mapping[str, str], extra: Mapping[str, str]) -> dict[str, str]:
    """What must not be logged, by name: `extra` (configured keys), then secrets of the environment.

    A variable counts if its name marks a secret and its value is not clearly something else: short,
    a path, a number that is a limit, an address without a password, a public key, one plain word.
    An address with a password counts under any name, and so does the password alone.
    """
    found = {name: value for name, value in extra.items() if value.strip()}
    for name, value in [*extra.items(), *environ.items()]:
        password = password_in(value)
        if len(password) >= CHARS_MIN and not _PLAIN_WORD.fullmatch(password):
            found.setdefault(f"{name}.password", password)
            if unquote(password) != password:
                found.setdefault(f"{name}.password.plain", unquote(password))
    for name, value in environ.items():
        is_address = f"{name}.password" in found
        if is_address or (_is_secret_name(name) and not _is_public(name, value.strip())):
            found.setdefault(name, value)
    return found


def password_in(value: str) -> str:
    """The password in an address, as spelled there; "" if there is none."""
    match = _USER_PART.search(value)
    return next(filter(None, match.groups()), "") if match else ""


def without_password(value: str) -> str:
    """An address without its password, for display."""
    match = _USER_PART.search(value)
    if match is None or match.lastgroup is None:
        return value
    start, end = match.span(match.lastgroup)
    return f"{value[:start]}***{value[end:]}"


def _is_secret_name(name: str) -> bool:
    words = words_of(name)
    if any(map(_SECRET.search, words)) or _SECRET_ADDRESS.search(name):
        return True
    if not words or words == ["PWD"] or words[-1] in _NO_ACCESS:  # PWD alone is a folder
        return False
    return _ACCESS.search(words[-1]) is not None


def _is_public(name: str, value: str) -> bool:
    if len(value) < CHARS_MIN or _PUBLIC_VALUE.match(value) or _PLAIN_WORD.fullmatch(value):
        return True
    if _PATH.match(value) and "\n" not in value:
        return True
    if _SECRET_ADDRESS.search(name):
        return False
    words = words_of(name)
    if not _PUBLIC_WORDS.isdisjoint(words) or _PLACE_NAME.search(name):
        return "@" not in value
    return bool(_COUNT_NAME.search("_".join(words))) and value.isdigit()
