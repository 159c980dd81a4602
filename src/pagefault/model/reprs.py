"""How values print at a prompt and in a notebook: lines of text, and small pieces of HTML.

The content of a value is untrusted. In lines, everything that acts on a terminal is made visible;
in HTML everything is escaped. Colours are readable on light and dark backgrounds.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from html import escape
from typing import Final

_JOINERS: Final = "\u200c\u200d"  # invisible, and part of how words and emoji are written
_BAR: Final = "▏▎▍▌▋▊▉█"


def inert(text: str, most: int = 100) -> str:
    """On one line, harmless to a terminal, of at most `most` characters."""
    line = " ".join(text.split())
    line = line if len(line) <= most else line[: most - 1].rstrip() + "…"
    return "".join(char if char.isprintable() or char in _JOINERS else "\ufffd" for char in line)


def outline(*parts: str, lines: Iterable[object] = (), most: int = 5) -> str:
    """A value on one line, each part inert and empty ones left out, and below it the first of its
    items.
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
    """A bar of `cells` cells, filled to this share."""
    eighths = round(max(0.0, min(1.0, share)) * cells * 8)
    full, rest = divmod(eighths, 8)
    return "▕" + ("█" * full + (_BAR[rest - 1] if rest else "")).ljust(cells, "░") + "▏"


def marked_html(text: str, marks: Sequence[tuple[int, int]]) -> str:
    """The text escaped, with the marked parts in bold. Marks are ordered and disjoint."""
    told, at = "", 0
    for start, end in marks:
        told += escape(text[at:start]) + f"<b>{escape(text[start:end])}</b>"
        at = end
    return told + escape(text[at:])


def html_table(head: Sequence[str], rows: Iterable[Sequence[str]], note: str = "") -> str:
    """A table. Its cells are HTML already; head and note are escaped here."""
    told = "".join(f"<th>{escape(one)}</th>" for one in head)
    body = "".join(
        "<tr>" + "".join(f'<td style="text-align:left">{cell}</td>' for cell in row) + "</tr>"
        for row in rows
    )
    under = f"<p>{escape(note)}</p>" if note else ""
    return f"<table><thead><tr>{told}</tr></thead><tbody>{body}</tbody></table>{under}"
