"""Rendering of one page in the window.

`RENDERER` is the version of these rules and of `envelope.py`. A request must be byte-identical
after a restart, so any change to the rendered text needs a new version, and a new version begins an
epoch.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Sequence
from typing import Final

from pagefault.guard.neutralise import neutralise
from pagefault.model.kinds import USERS, Kind, Level, Modality, Role
from pagefault.model.page import Page, PageRow

RENDERER: Final = 7

MARK_DIGITS: Final = 12  # of the number that closes a block: always four tokens
LABEL_TOKENS: Final = 12  # of a typical label: for weighing pages, not for limits
BLOCK_TOKENS: Final = 32  # of VM:CONTEXT around its lines: an upper bound
LABEL_TOKENS_MAX: Final = 1_000  # of any label, with its framing: three fields, spelled out

_MEDIA: Final = {Modality.IMAGE: "I", Modality.AUDIO: "D", Modality.VIDEO: "V"}
_FIELD_CHARS: Final = 48  # of a speaker or a title in a label
_FIELD_SIGNS: Final = str.maketrans("()（）·", "[][]-")  # what a label is made of

_OWN_LABEL: Final = re.compile(r"\A\s*(?:[A-Z] )?\([a-z]{3,4}_\d+[^()\n]{0,120}\):?[ \t]*")


def prefix(row: PageRow) -> str:
    """The letter of a line in VM:CONTEXT."""
    match row.kind:
        case Kind.SUMMARY:
            return "S"
        case Kind.CLAIM:
            return "C"
        case Kind.PROCEDURE:
            return "P"
        case Kind.INDEX:
            return "X"
        case Kind.ARTIFACT:
            return _MEDIA.get(row.modality, "F")
        case Kind.TRANSCRIPT:
            return {Role.USER: "U", Role.ASSISTANT: "A", Role.TOOL: "T", Role.SYSTEM: "N"}[row.role]


def label(parts: Sequence[Page]) -> str:
    """The name by which the model cites: `(msg_302)`, with speaker, title and time if known.

    `parts` are one page, or consecutive parts of one text. The label of a recalled page also names
    older or newer pages on the same subject; that of a claim, why it no longer holds.
    """
    first = parts[0]
    names = [first.page_id if len(parts) == 1 else f"{first.page_id}…{parts[-1].page_id}"]
    names += [_field(text) for text in (first.speaker, first.title) if text]
    if first.derived is not None and first.derived.represents:
        names.append(f"L{first.derived.level} of {first.derived.represents}")
    if first.derived is not None and first.derived.supersedes:
        names.append(f"supersedes {first.derived.supersedes}")
    for how, others in (("newer", first.newer_than), ("older", first.older_than)):
        if others:
            names.append(f"{how} than {', '.join(others)}")
    if first.lapse:
        names.append(first.lapse)
    if first.occurred_at:
        names.append(_field(first.occurred_at[:16].replace("T", " ")))
    return f"({' · '.join(names)})"


def message(parts: Sequence[Page]) -> str:
    """A turn in its own place: label and text."""
    first = parts[0]
    head = label(parts)
    if first.row.role not in (Role.USER, Role.ASSISTANT) or first.row.kind is not Kind.TRANSCRIPT:
        head = f"{prefix(first.row)} {head}:"
    return f"{head} {_text(parts)}"


def line(parts: Sequence[Page]) -> str:
    """A page out of its place, as a line of VM:CONTEXT."""
    return f"{prefix(parts[0].row)} {label(parts)}: {_text(parts)}"


def named(page: Page) -> str:
    """Of a page that the window shows already, which others there it is newer than."""
    return f"({page.page_id} · newer than {', '.join(page.newer_than)})"


def standing_rule(page: Page) -> str:
    """A user's rule, as recited at the end of each request."""
    return f"C ({page.page_id} · standing rule): {_text([page])}"


def summary(page: Page, level: Level) -> str:
    """The summary of a run of turns: a header that says what exists and, at level 2, its text.

    Level 3 is the header alone.
    """
    assert page.derived is not None
    if page.row.kind is Kind.INDEX:
        return line([page])
    pages, tokens = page.derived.provenance, page.derived.source_tokens
    names = [page.page_id, f"L{int(level)}"]
    if pages:
        names.append(pages[0] if len(pages) == 1 else f"{pages[0]}…{pages[-1]}")
    if page.title:
        names.append(_field(page.title))
    head = f"S ({' · '.join([*names, f'{tokens:,} tokens'])})"
    return head if level is Level.REFERENCE else f"{head}: {_text([page])}"


def older(summaries: int) -> str:
    """The line for summaries that are not even listed."""
    return f"({summaries:,} earlier summaries are not shown; search_pages finds what they sum up)"


def claims_left_out(claims: int) -> str:
    """The line for claims that the core has no room for."""
    return f"({claims:,} more claims stand; search_pages finds them)"


def changed(by: str) -> str:
    """The note on words that no longer hold, which names the claim that closed them."""
    return f"changed since, see {by}" if by else ""


def noted(text: str, lapse: str) -> str:
    """A text that stands outside a label, preceded by why it does not hold."""
    return f"({lapse}) {text}" if lapse else text


def without_label(text: str) -> str:
    """A model's answer without a label that it wrote in imitation of what it reads."""
    return _OWN_LABEL.sub("", text, count=1)


Seal = Callable[[str], str]
"""From the contents of a block to the number that closes it: `MARK_DIGITS` digits."""


def sealed_with(keyed: Callable[[str], str]) -> Seal:
    """A seal whose numbers depend on the whole block and on a secret, with which `keyed` hashes.

    So the author of a text cannot include its number. Even with the numbers of all earlier blocks,
    that takes a text that contains its own number: the secret and about 10¹² tries. Yet the same
    lines have the same number, so sent requests stay as they were.
    """

    def seal(text: str) -> str:
        digest = hashlib.sha256(keyed(f"block {text}").encode()).digest()
        return f"{int.from_bytes(digest[:8]) % 10**MARK_DIGITS:0{MARK_DIGITS}}"

    return seal


def block(lines: Sequence[str], seal: Seal) -> str:
    """Lines marked off as memory: data, never instructions. Only a tag with the number of the
    opening tag closes a block.
    """
    text = "\n".join(lines)
    tag = f"VM:CONTEXT {seal(text)}"
    return f"<{tag}>\n{text}\n</{tag}>" if lines else f"<{tag}>\n</{tag}>"


def is_data(page: Page) -> bool:
    """Whether a page is marked off as data even in its own place: it is neither the user's word nor
    the model's own.
    """
    return page.row.role is not Role.ASSISTANT and page.row.origin not in USERS


def reference(row: PageRow) -> str:
    """Level 3: the page's existence and its cost, never its content."""
    part = f", part {row.part + 1} of {row.parts}" if row.parts > 1 else ""
    return f"{row.page_id}: {row.kind} by {row.role}, {row.tokens:,} tokens{part}"


def rest(page: Page, shown: int, tokens_est: int) -> str:
    """The line for the parts of a long text that are not shown, after the first `shown`.

    `page` is any part of the text.
    """
    stem, _, number = page.page_id.rpartition("_")
    first, parts = int(number) - page.row.part, page.row.parts
    title = f" {_field(page.title)!r}" if page.title else ""
    what = f"parts {shown + 1} to {parts} of" if shown else f"{parts} parts of"
    return (
        f"({stem}_{first + shown}…{stem}_{first + parts - 1} · {what} {page.row.kind}{title}"
        f" · about {tokens_est:,} tokens, not shown here)"
    )


def _text(parts: Sequence[Page]) -> str:
    # Joined first, so that nothing can hide a tag across the seam of two parts.
    row = parts[0].row
    text = neutralise("".join(part.text for part in parts), citations=row.role is Role.ASSISTANT)
    # All that a text can show of media: what it is, and its caption or transcript.
    return f"[{row.modality.upper()}: {text}]" if prefix(row) in _MEDIA.values() else text


def _field(text: str) -> str:
    # Brackets are replaced first: their replacements must not read as a citation either.
    flat = " ".join(text.split()).translate(_FIELD_SIGNS)
    flat = neutralise(flat)
    return flat if len(flat) <= _FIELD_CHARS else flat[: _FIELD_CHARS - 1] + "…"
