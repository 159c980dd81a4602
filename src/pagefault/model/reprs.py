"""How values look at a prompt and in a notebook: lines of text, and small pieces of HTML.

What stands in a value was written by anybody. In lines, everything that acts on a terminal is made
visible; in HTML everything is escaped. Colours are chosen to be read on light and on dark alike.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from html import escape
from typing import Final

_JOINERS: Final = "\u200c\u200d"  # invisible, and part of how words and emoji are written
_BAR: Final = "▏▎▍▌▋▊▉█"


def inert(text: str, most: int = 100) -> str:
    """On one line that does nothing to a terminal, of so many characters at most."""
    line = " ".join(text.split())
    line = line if len(line) <= most else line[: most - 1].rstrip() + "…"
    return "".join(char if char.isprintable() or char in _JOINERS else "\ufffd" for char in line)


def outline(*parts: str, lines: Iterable[object] = (), most: int = 5) -> str:
    """What a value is on one line, each part inert, what is empty left out; and the first of what
    it holds below.
    """
    held = list(lines)
    more = [f"  … {len(held) - most:,} more"] if len(held) > most else []
    shown = [f"  {one!r}" if not isinstance(one, str) else f"  {inert(one)}" for one in held[:most]]
    return "\n".join([" · ".join(inert(part) for part in parts if part), *shown, *more])


def counted(number: int, one: str) -> str:
    return f"{number:,} {one}" + ("" if number == 1 else "s")


def minute(at_ms: int) -> str:
    """A moment, in UTC."""
    return f"{datetime.fromtimestamp(at_ms / 1000, UTC):%Y-%m-%d %H:%M}"


def bar(share: float, cells: int = 12) -> str:
    """A bar of so many cells, of which a share is full."""
    eighths = round(max(0.0, min(1.0, share)) * cells * 8)
    full, rest = divmod(eighths, 8)
    return "▕" + ("█" * full + (_BAR[rest - 1] if rest else "")).ljust(cells, "░") + "▏"


def marked_html(text: str, marks: Sequence[tuple[int, int]]) -> str:
    """The text escaped, the marked parts in bold. Marks are in order and apart."""
    told, at = "", 0
    for start, end in marks:
        told += escape(text[at:start]) + f"<b>{escape(text[start:end])}</b>"
        at = end
    return told + escape(text[at:])


def html_table(head: Sequence[str], rows: Iterable[Sequence[str]], note: str = "") -> str:
    """A table whose cells are HTML already; head and note are escaped here."""
    told = "".join(f"<th>{escape(one)}</th>" for one in head)
    body = "".join(
        "<tr>" + "".join(f'<td style="text-align:left">{cell}</td>' for cell in row) + "</tr>"
        for row in rows
    )
    under = f"<p>{escape(note)}</p>" if note else ""
    return f"<table><thead><tr>{told}</tr></thead><tbody>{body}</tbody></table>{under}"
