"""The sentences of a message that its sender says in their own voice.

A sentence is the unit: it begins where nothing of it was left out before, it ends where it ends,
and nobody cuts it. What is quoted inside a sentence is part of it. Where it cannot be told whether
a stretch is the sender's, it is not, and neither is what follows it: a message may go on with what
was pasted, and nothing says where that ends.

Invariants of every `Sentence`:
 (1) It is whole: before it stand the message's beginning, a blank line or a mark that ends a
     sentence, and so after it.
 (2) One that is `own` holds no line break, and stands outside every quotation, bracket, block of
     code, list, table, pasted record and block of markup.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

TEXT_MAX: Final = 2_000
"""Characters of a message; people type less at a time, and paste more."""
SENTENCE_MAX: Final = 300
"""Characters; a longer one is a paragraph without full stops."""

OPAQUE: Final = "\ufffc"
"""Stands for each character of a quotation, so that none of its words or stops is read."""
FOREIGN: Final = "\ufffd"
"""Stands for each character that is not the sender's, or may not be: a sentence with any is not."""


@dataclass(frozen=True, slots=True)
class Sentence:
    """`text` is as it stands in the message; `plain` is of the same length, with straight
    apostrophes and with quotations made opaque. Only one that is `own` may be held true: the others
    are there because of what they say of their neighbours. `asks`: it ends with a question mark;
    `ended`: with any mark that ends a sentence.
    """

    text: str
    plain: str
    start: int
    own: bool
    asks: bool
    ended: bool


def sentences(text: str, labels: re.Pattern[str] | None = None) -> list[Sentence]:
    """All of a message, in order; none are `own` if less than half of the message is.

    `labels` match what may stand before a colon and still be the sender's own.
    """
    if len(text) > TEXT_MAX:
        return []
    found: list[Sentence] = []
    is_brought_in = False
    for sentence in _cut(text, own(text, labels)):
        found.append(replace(sentence, own=False) if is_brought_in else sentence)
        is_brought_in = is_brought_in or _brings_in(sentence.plain, labels)
    said = sum(len(sentence.text) for sentence in found if FOREIGN not in sentence.plain)
    is_theirs = 2 * said >= len("".join(text.split()))
    return found if is_theirs else [replace(sentence, own=False) for sentence in found]


# --- what is not the sender's ---------------------------------------------------------------------

_PASTED: Final = re.compile(
    r"^[ \t]*(?:"
    r"[@<\[(]?[^\W\d_][^\n:>]{0,40}?(?:\d\d?:\d\d[^\n:>]{0,12})?[>\])]?\s*[:：>](?=\s|$)"  # dave: …
    r"|[\[(<]?(?:\d{4}-\d\d-\d\d|\d\d?[/.]\d\d?[/.]\d{2,4}|\d\d?:\d\d)"  # 10:32 …
    r"|[^\n]{1,60}\d\d?:\d\d(?:[ ]?[AaPp][Mm])?[)\]]?[ \t]*\n[ \t]*\S"  # Dave 10:32 AM, and a line
    r"|diff |index [0-9a-f]|@@ |[-+]{3} |[+-](?=[^\s\d])"  # diffs
    r"|[{}\[\]<|#$%❯]|>>> |Traceback|\S+:\d+:\d|at \S+\("  # JSON, markup, tables, shells, traces
    r"|[^\n]*[{};][ \t]*$"  # code
    r")",
    re.MULTILINE,
)
_FENCE: Final = re.compile(r"^[ \t>]*(?P<mark>`{3,}|~{3,})(?P<info>[^\n]*)$", re.MULTILINE)
_INDENTED: Final = re.compile(r"^(?: {4}|\t)[^\n]*$", re.MULTILINE)
_QUOTED_LINE: Final = re.compile(r"^[ \t]*>[^\n]*(?:\n[ \t]*\S[^\n]*)*", re.MULTILINE)
_ONE_WORD: Final = re.compile(
    r"(?<!\w)(?:'[\w.+#/:@-]+'|\"[\w.+#/:@-]+\"|`[^`\s]+`|“[\w.+#/:@-]+”|‘[\w.+#/:@-]+’)(?!\w)"
)
_CODE: Final = re.compile(r"(?<!`)`[^`\n]+`(?!`)")
_COLON: Final = re.compile(r"[:：](?=\s|$)|：")
_PAIRS: Final = ("“”", "‘’", "«»", "‹›", "「」", "『』", "《》", "＂＂", '""', "''", "„“”", "‚‘’")
_CLOSERS: Final = {pair[0]: pair[1:] for pair in _PAIRS}
"""What opens a quotation, and what may close it."""
_MARKS: Final = re.compile("[" + re.escape("".join(_PAIRS)) + "`]")


def own(text: str, labels: re.Pattern[str] | None = None) -> str:
    """The message in plain form, what is not the sender's made foreign and quotations opaque."""
    plain = _without_fences(text) if "```" in text or "~~~" in text else text
    if ">" in plain:
        plain = _QUOTED_LINE.sub(_foreign, plain)
    if "    " in plain or "\t" in plain:
        plain = _INDENTED.sub(_foreign, plain)
    plain = _CODE.sub(_hide, _ONE_WORD.sub(_hide, plain))
    plain = straightened(_without_quotations(plain))
    for pasted in _PASTED.finditer(plain):
        if not _label_end(plain, pasted.start(), labels):
            return _upto(plain, pasted.start())
    return plain


def straightened(text: str) -> str:
    """Of the same length, with straight apostrophes."""
    if not text.isascii():
        for mark in "’ʼ´＇":
            text = text.replace(mark, "'")
    return text


def _label_end(plain: str, at: int, labels: re.Pattern[str] | None) -> int:
    found = _LABEL.match(plain, at) or (labels.match(plain, at) if labels else None)
    return found.end() if found else 0


_LABEL: Final = re.compile(
    r"\s*(?:note|remember|reminder|decision|decided|final (?:decision|answer)|rule|important|fyi"
    r"|btw|ps|p\.s\.|update|one more thing|for the record)\s*:\s",
    re.IGNORECASE,
)


def _without_fences(text: str) -> str:
    """Foreign from the first fence to the last; to the end, if one is left open.

    Which of several fences of one length are nested nobody can tell, so what stands between them
    is nobody's.
    """
    first = last = -1
    opened = ""
    for found in _FENCE.finditer(text):
        mark, info = found["mark"], found["info"]
        first = found.start() if first < 0 else first
        last = found.end()
        if not opened:
            opened = "" if mark[0] == "`" and "`" in info else mark
        elif mark.startswith(opened) and not info.strip():
            opened = ""
    if first < 0:
        return text
    end = len(text) if opened else last
    return _upto(text[:end], first) + text[end:]


def _without_quotations(plain: str) -> str:
    """Each quotation opaque. Where marks do not pair, all is foreign from the first of them on.

    A straight mark opens before a word and after a space, and closes the other way round; what is
    neither (the inches of 27") pairs with nothing.
    """
    pieces: list[str] = []
    done, opened, closers = 0, -1, ""
    first = -1
    for found in _MARKS.finditer(plain):
        mark, at = found[0], found.start()
        before, after = plain[at - 1 : at], plain[at + 1 : at + 2]
        within = before.isalnum() and after.isalnum()
        if within and mark in "'’‘`":
            continue  # don't
        if opened >= 0:
            if mark in closers and (mark not in "'’\"" or not after.isalnum()):
                pieces += [plain[done:opened], _opaque(plain[opened : at + 1])]
                done, opened = at + 1, -1
            continue
        if mark in "'’" and before.isalnum():
            continue  # the users' data
        opens = mark in _CLOSERS and not before.isalnum()
        opens = opens and (mark not in "'\"" or (bool(after) and not after.isspace()))
        first = at if first < 0 else first
        if not opens:
            return _upto(plain, first)
        opened, closers = at, _CLOSERS[mark]
    if opened >= 0:
        return _upto(plain, first)
    return "".join((*pieces, plain[done:]))


def _foreign(found: re.Match[str]) -> str:
    return _upto(found[0], 0)


def _hide(found: re.Match[str]) -> str:
    return _opaque(found[0])


def _opaque(text: str) -> str:
    return re.sub(r"[^\n]", OPAQUE, text)


def _upto(plain: str, end: int) -> str:
    return plain[:end] + re.sub(r"[^\n]", FOREIGN, plain[end:])


# --- sentences ------------------------------------------------------------------------------------

_PARAGRAPH: Final = re.compile(r"[^\n]+(?:\n(?![ \t]*\n)[^\n]+)*")
_END: Final = re.compile(r"[.!?]+[)\]]*(?=\s|$)|[。！？]")
_SHORTENED: Final = re.compile(
    r"[(\[]?(?:[^\W\d_]|\w+(?:\.\w+)+|vs|etc|approx|dr|mr|mrs|ms|st|no|nr|inc|ltd|dept|est"
    r"|fig|jan|feb|mar|apr|jun|jul|aug|sept?|oct|nov|dec|min|max)",
    re.IGNORECASE,
)
_ITEM: Final = re.compile(r"^[ \t]*(?:[-*•–+]|\(?(?:\d{1,3}|[A-Za-z])[.)])[ \t]")


def _cut(text: str, plain: str) -> Iterator[Sentence]:
    for paragraph in _PARAGRAPH.finditer(plain):
        is_list = any(_ITEM.match(line) for line in paragraph[0].split("\n"))
        at = paragraph.start()
        for found in _END.finditer(plain, paragraph.start(), paragraph.end()):
            if _ends(plain[at : found.start()], found[0]):
                yield from _sentence(text, plain, at, found.end(), found[0], is_list)
                at = found.end()
        yield from _sentence(text, plain, at, paragraph.end(), "", is_list)


def _ends(piece: str, mark: str) -> bool:
    """Whether a mark ends the sentence: where it may not, the sentence goes on."""
    if _is_open(piece, "(", ")") or _is_open(piece, "[", "]"):
        return piece.lstrip()[:1] in "([" and mark.endswith((")", "]"))
    if mark == ".":
        return _SHORTENED.fullmatch(piece[max(piece.rfind(" "), piece.rfind("\n")) + 1 :]) is None
    return mark.strip(".") != ""  # "we should never... use tabs" is one sentence


def _is_open(piece: str, opening: str, closing: str) -> bool:
    return piece.rfind(opening) > piece.rfind(closing)


def _sentence(
    text: str, plain: str, start: int, end: int, mark: str, is_list: bool
) -> Iterator[Sentence]:
    piece = plain[start:end]
    start += len(piece) - len(piece.lstrip())
    piece = piece.strip()
    if piece:
        is_own = not is_list and len(piece) <= SENTENCE_MAX and not _BROKEN.search(piece)
        end = start + len(piece)
        yield Sentence(
            text[start:end], piece, start, is_own, "?" in mark or "？" in mark, bool(mark)
        )


_BROKEN: Final = re.compile(rf"[\n{FOREIGN}]")


_HERE: Final = re.compile(
    r"\W*(?:so,?\s+)?(?:here(?:'s|\s+is|\s+are|\s+comes?)|below\b|see\s+below|this\s+is\s+what)\b",
    re.IGNORECASE,
)


def _brings_in(plain: str, labels: re.Pattern[str] | None) -> bool:
    """Whether a sentence says that what follows is shown: by a colon, or by "here is"."""
    return (
        _HERE.match(plain) is not None
        or _COLON.search(plain, _label_end(plain, 0, labels)) is not None
    )
