"""The terminal: data on stdout, messages and progress on stderr.

Invariants, for all output except `exact`:
 (1) No text acts on a terminal, hides in it or changes its order, whoever wrote it: such characters
     are spelled out. JSON has them as escapes.
 (2) A line is one line: no name ends it and begins another that looks like ours. Only `text`,
     `piece` and `data` print texts of several lines.
 (3) No secret of the environment is in a line, on either stream.
"""

from __future__ import annotations

import io
import json
import os
import re
import secrets
import sys
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import datetime
from functools import lru_cache
from shutil import get_terminal_size
from typing import TYPE_CHECKING, Any, Final, TextIO

from pagefault.model.progress import StageProgress
from pagefault.model.times import iso_utc

if TYPE_CHECKING:
    from pagefault.guard.screen import Screen

_STYLES: Final = {
    "bold": "1",
    "dim": "2",
    "red": "31",
    "green": "32",
    "yellow": "33",
    "blue": "34",
    "magenta": "35",
    "cyan": "36",
}
_ASCII: Final = {
    "✓": "ok",
    "!": "!",
    "✗": "x",
    "·": "-",
    "→": "->",
    "…": "...",
    "█": "#",
    "░": ".",
    "─": "-",
    "│": "|",
    "“": '"',
    "”": '"',
    "’": "'",
    "–": "-",
}
_JOINERS: Final = "\u200c\u200d"  # invisible, and part of the spelling of words and emoji
_UNSEEN_ROW: Final = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200c\u200d\u2800\u3164\ufe00-\ufe0f\uffa0"
    "\U000e0100-\U000e01ef]{3,}"
)
"""One or two shape their neighbours; a row of them is a hidden message."""

_LINE_END: Final = re.compile(r" *[\t\n][\t\n ]*")

_MARK: Final = f"\ufdd0{secrets.token_hex(8)}:"
_STYLE: Final = re.compile(_MARK + "([0-9;]{1,16})m")
"""`Term.style`'s placeholder for a terminal's own sequence, which is inserted once the text is
safe. No text written before this process began has it.
"""


def prepare(*streams: TextIO) -> None:
    """Make every text printable: what a stream cannot encode is escaped."""
    for stream in streams:
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def printable(text: str) -> str:
    """The text with everything that acts on a terminal made visible; lines and tabs stay."""
    if text.isascii() and text.isprintable():
        return text
    text = _UNSEEN_ROW.sub(lambda row: "".join(map(_spelled, row[0])), text)
    return "".join(
        char if char.isprintable() or char in "\n\t" or char in _JOINERS else _escaped(char)
        for char in text
    )


def one_line(text: str) -> str:
    """The text as `printable` makes it, with line ends and tabs spelled out, too."""
    spelled = (_spelled(char) if char in "\r\n\t" else char for char in text)
    return printable(text if text.isprintable() else "".join(spelled))


def joined_lines(text: str) -> str:
    """The text as `printable` makes it, its lines as one. Blanks stay: a name may have several."""
    return _LINE_END.sub(" ", printable(text))


def named(name: str) -> str:
    """A name as it is printed; in quotes if its blanks could be misread. `find_row` takes either
    spelling back.
    """
    return name if name == " ".join(name.split()) else repr(name)


def spellings(name: str) -> set[str]:
    """A name, and how it is printed: with what acts on a terminal spelled out."""
    return {name, one_line(name), repr(name)[1:-1]}


def _escaped(char: str) -> str:
    return "" if char == "\r" else _spelled(char)


def _spelled(char: str) -> str:
    return char.encode("unicode_escape").decode()


def redacted(text: str) -> str:
    """The text without the secrets of the environment, and what looks like one."""
    return _redacted_front(text, whole=True)[0]


def _redacted_front(text: str, *, whole: bool) -> tuple[str, str]:
    """The part of an unfinished text that may be shown by now, and the part that must wait for the
    rest.
    """
    from pagefault.model.errors import ScreenFailed

    screen = _printing_screen()
    try:
        return (screen.clean(text), "") if whole else screen.clean_front(text)
    except ScreenFailed as failed:
        return f"[not shown: {failed}]", ""


def _redacted_values(value: Any) -> Any:
    """The same for a JSON value. It stays valid: a number with a secret in it becomes a text."""
    match value:
        case str():
            return redacted(value)
        case dict():
            return {redacted(str(key)): _redacted_pair(str(key), one) for key, one in value.items()}
        case list() | tuple():
            return [_redacted_values(one) for one in value]
        case int() | float():
            said = repr(value)
            return value if (cleaned := redacted(said)) == said else cleaned
    return value


def _redacted_pair(name: str, value: Any) -> Any:
    if not isinstance(value, str):
        return _redacted_values(value)
    from pagefault.model.errors import ScreenFailed

    try:
        return _printing_screen().clean_value(name, value)
    except ScreenFailed as failed:
        return f"[not shown: {failed}]"


def _printing_screen() -> Screen:
    environ = tuple(os.environ.items())
    return _screen(environ, os.environ.get("PAGEFAULT_REDACT__LEVEL") != "known")


@lru_cache(maxsize=1)
def _screen(environ: tuple[tuple[str, str], ...], detect: bool) -> Screen:
    from pagefault.guard.screen import Screen, known_secrets
    from pagefault.guard.structure import Structure

    # A scanner takes a second to load: too long for printing. Stored text was written through it.
    return Screen(known_secrets(dict(environ), {}), None, [Structure()] if detect else [])


def json_text(value: Any) -> str:
    """JSON as it is printed everywhere. Readable Unicode if the terminal has it."""
    text = json.dumps(value, indent=2, ensure_ascii=not _is_unicode(sys.stdout))
    if text.isascii() or text.isprintable():  # JSON escapes control characters in ASCII
        return text.replace("\x7f", "\\u007f")
    return "".join(
        char if char.isprintable() or char == "\n" or char in _JOINERS else json.dumps(char)[1:-1]
        for char in _UNSEEN_ROW.sub(lambda row: json.dumps(row[0])[1:-1], text)
    ).replace("\x7f", "\\u007f")


def _is_unicode(stream: TextIO) -> bool:
    return (stream.encoding or "ascii").lower().replace("-", "").startswith("utf")


def _shows_colour(stream: TextIO) -> bool:
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


class Term:
    """`loudness` is -1 for quiet, 1 for verbose."""

    def __init__(self) -> None:
        self.loudness = 0
        self._plain = False

    def plain(self) -> None:
        """No colours and no moving progress from now on."""
        self._plain = True

    # --- stdout -------------------------------------------------------------------------------

    def line(self, text: str = "") -> None:
        print(self._safe(redacted(text), sys.stdout), file=sys.stdout)

    def text(self, text: str, *styles: str, indent: str = "", width: int = 100) -> None:
        """A text of several lines, each wrapped to the terminal or to `width`, and indented."""
        for line in wrapped(text, min(self.width, width), indent):
            self.line(self.style(line, *styles))

    @contextmanager
    def stream(self) -> Iterator[Callable[[str], None]]:
        """A function that prints the parts of a text as they come, but holds back an end that may
        be the beginning of a secret: a sentence at a time, or a line if it mentions one.
        """
        held = ""

        def show(text: str, *, whole: bool = False) -> None:
            nonlocal held
            shown, held = _redacted_front(held + text, whole=whole)
            text = self._fits(printable(shown), sys.stdout)
            print(text, end="", file=sys.stdout, flush=True)

        try:
            yield show
        finally:
            show("", whole=True)

    def data(self, value: Any) -> None:
        text = json_text(value)
        if redacted(text) != text:
            text = json_text(_redacted_values(value))
        print(text, file=sys.stdout)

    def record(self, value: Any) -> None:
        """The same on one line, at once: for a process that started this and waits for it."""
        print(json.dumps(_redacted_values(value)), file=sys.stdout, flush=True)

    def exact(self, text: str) -> None:
        """A text as it is, for files and other programs."""
        sys.stdout.write(text)

    @property
    def is_interactive(self) -> bool:
        return sys.stdin.isatty() and sys.stdout.isatty()

    @property
    def width(self) -> int:
        return get_terminal_size((100, 24)).columns if sys.stdout.isatty() else 100

    def style(self, text: str, *names: str) -> str:
        """For a line on stdout; plain if colours are off."""
        return self._styled(text, names, sys.stdout)

    def row_below(self, text: str) -> str:
        """A text as the line under a row of a table: cut to the terminal's width, if there is a
        terminal.
        """
        line = joined_lines(text)
        return cut(line, max(self.width - 2, 20)) if sys.stdout.isatty() else line

    def table(
        self,
        head: Sequence[str],
        rows: Iterable[Sequence[str]],
        right: str = "",
        below: Sequence[str] = (),
        spare: Sequence[str] = (),
    ) -> None:
        """Columns under their names; those named in `right` are right-aligned. If they are too wide
        for the terminal, those named in `spare` are left out, one by one, in that order; then the
        last column is cut to the width. Under each row comes its line of `below`, printable and
        styled.
        """
        cells = [[joined_lines(cell) for cell in row] for row in rows]
        rights = {name for name in head if f" {name} " in f" {right} "}  # a name may have blanks
        widths = [
            max([cells_wide(name), *(cells_wide(row[column]) for row in cells)])
            for column, name in enumerate(head)
        ]
        for name in spare if sys.stdout.isatty() else ():
            if name in head and sum(widths) + 2 * (len(widths) - 1) > self.width:
                at = head.index(name)
                head, widths = [*head[:at], *head[at + 1 :]], [*widths[:at], *widths[at + 1 :]]
                cells = [[*row[:at], *row[at + 1 :]] for row in cells]
        room = max(self.width - sum(widths[:-1]) - 2 * (len(widths) - 1), 12)
        if sys.stdout.isatty():
            widths[-1] = min(widths[-1], room)
        lines = [self._row(head, widths, rights, head)]
        lines[0] = self.style(lines[0], "bold")
        for place, row in enumerate(cells):
            lines.append(self._row(row, widths, rights, head))
            lines += ["  " + line for line in below[place : place + 1] if line]
        for line in lines:
            self.line(line)

    def _row(
        self, row: Sequence[str], widths: Sequence[int], rights: set[str], head: Sequence[str]
    ) -> str:
        return "  ".join(
            _padded(cut(cell, width), width, right=name in rights)
            for cell, width, name in zip(row, widths, head, strict=True)
        ).rstrip()

    # --- stderr -------------------------------------------------------------------------------

    def note(self, text: str) -> None:
        """A message; omitted if only data is wanted."""
        if self.loudness >= 0:
            self._tell(text)

    def way_in(self, what: str, address: str) -> None:
        """A message with an address of ours and its token: not redacted, because its reader needs
        it.
        """
        if self.loudness >= 0:
            print(f"{what}: {address}", file=sys.stderr, flush=True)

    def detail(self, text: str) -> None:
        if self.loudness > 0:
            self._tell(text)

    def warn(self, text: str) -> None:
        self._tell(text)

    def _tell(self, text: str) -> None:
        sys.stdout.flush()
        told = self._styled(redacted(text), ("dim",), sys.stderr)
        print(self._safe(told, sys.stderr), file=sys.stderr)

    @contextmanager
    def progress(self) -> Iterator[StageProgress]:
        """A function that reports progress. Draws on a terminal, and is silent elsewhere."""
        if self.loudness < 0 or self._plain or not _shows_colour(sys.stderr):
            yield lambda label, done, total: None
            return
        bars = _Bars()
        try:
            yield bars
        finally:
            bars.close()

    # --- inside -------------------------------------------------------------------------------

    def _styled(self, text: str, names: Iterable[str], stream: TextIO) -> str:
        if self._plain or not text or not _shows_colour(stream):
            return text
        codes = ";".join(_STYLES[name] for name in names)
        return f"{_MARK}{codes}m{one_line(text)}{_MARK}0m" if codes else text

    def _safe(self, text: str, stream: TextIO) -> str:
        """Makes a line safe."""
        safe = [
            f"\x1b[{part}m" if number % 2 else self._fits(one_line(part), stream)
            for number, part in enumerate(_STYLE.split(text))
        ]
        return "".join(safe)

    def _fits(self, text: str, stream: TextIO) -> str:
        if _is_unicode(stream):
            return text
        return "".join(_ASCII.get(char, char) for char in text)


class _Bars:
    """Progress bars of rich, one for each label, made when a task is slow enough to show."""

    def __init__(self) -> None:
        self._started: Any = None
        self._tasks: dict[str, Any] = {}

    def __call__(self, label: str, done: int, total: int) -> None:
        if self._started is None:
            self._started = self._start()
        if label not in self._tasks:
            for finished in self._tasks.values():
                self._started.update(finished, visible=False)
            self._tasks[label] = self._started.add_task(label, total=total)
        self._started.update(self._tasks[label], completed=done, total=total)

    def _start(self) -> Any:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
        from rich.progress import Progress as RichProgress

        bars = RichProgress(
            TextColumn("{task.description}", markup=False),
            BarColumn(bar_width=30),
            MofNCompleteColumn(),
            TimeRemainingColumn(),
            console=Console(stderr=True),
            transient=True,
        )
        bars.start()
        return bars

    def close(self) -> None:
        if self._started is not None:
            self._started.stop()


# --- texts --------------------------------------------------------------------------------------


def cells_wide(text: str) -> int:
    """The width of a text in terminal columns."""
    if text.isascii():
        return len(text)
    return sum(
        0
        if unicodedata.combining(char) or char in _JOINERS
        else 2
        if unicodedata.east_asian_width(char) in "WF"
        else 1
        for char in text
    )


def cut(text: str, width: int) -> str:
    """At most `width` columns of a text."""
    if cells_wide(text) <= width:
        return text
    kept = ""
    taken = 0
    for char in text:
        taken += cells_wide(char)
        if taken > width - 1:
            break
        kept += char
    return kept.rstrip() + "…"


def _padded(text: str, width: int, *, right: bool) -> str:
    space = " " * (width - cells_wide(text))
    return space + text if right else text + space


def wrapped(text: str, width: int, indent: str = "") -> list[str]:
    """The lines of a text, each wrapped and indented, safe to print."""
    import textwrap

    lines = []
    for line in printable(text).split("\n"):
        lines += textwrap.wrap(line, max(width - len(indent), 20)) or [""]
    return [indent + line for line in lines]


def iso(at_ms: int) -> str:
    """A moment for programs: ISO 8601, UTC."""
    return iso_utc(at_ms)


def local(at_ms: int) -> str:
    """A moment for people: local time, to the minute."""
    return datetime.fromtimestamp(at_ms / 1000).astimezone().strftime("%Y-%m-%d %H:%M")


def local_said(occurred_at: str) -> str:
    """`local` for the time that a page gives, in ISO 8601; unchanged if it has no time zone."""
    said = occurred_at[:16].replace("T", " ")
    with suppress(ValueError):
        at = datetime.fromisoformat(occurred_at)
        return local(int(at.timestamp() * 1000)) if at.tzinfo is not None else said
    return said


def number(value: Any) -> str:
    """A figure for a person: with thousands separators, without false precision."""
    match value:
        case None:
            return "–"
        case bool():
            return "yes" if value else "no"
        case int():
            return f"{value:,}"
        case float():
            return f"{value:,.3f}".rstrip("0").rstrip(".")
        case _:
            return str(value)


def plural(count: int, one: str, many: str = "") -> str:
    return f"{count:,} {one if count == 1 else many or one + 's'}"
