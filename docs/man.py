"""Writes a manual page for each command, of its help: `script/man`.

    script/man [FOLDER]    writes them into FOLDER, else build/man

`man -l build/man/pagefault-pages-show.1` shows one. Pages that lie in `~/.local/share/man/man1` are
found by name.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from inspect import cleandoc
from pathlib import Path
from typing import Final

import click

from pagefault import __version__
from pagefault.cli.app import WithDefault
from pagefault.cli.root import root

ROOT: Final = Path(__file__).parent.parent


def pages(
    command: click.Command = root, parent: click.Context | None = None
) -> Iterator[tuple[str, str]]:
    """The name and the text of the manual page of a command, and of all below it."""
    name = command.name if parent else "pagefault"
    ctx = click.Context(command, info_name=name, parent=parent, **command.context_settings)
    yield ctx.command_path.replace(" ", "-"), "\n".join(_page(ctx)) + "\n"
    if isinstance(command, click.Group):
        for name in command.list_commands(ctx):
            below = command.get_command(ctx, name)
            assert below is not None
            if not below.hidden:
                yield from pages(below, ctx)


def _page(ctx: click.Context) -> Iterator[str]:
    command, name = ctx.command, ctx.command_path.replace(" ", "-")
    text = cleandoc(command.help or "").split("\f")[0].strip()
    first = " ".join(text.split("\n\n")[0].split())
    yield f'.TH "{name.upper()}" 1 "" "pagefault {__version__}"'
    yield from (".SH NAME", f"{_safe(name)} \\- {_safe(first)}")
    yield from (".SH SYNOPSIS", f".B {_safe(ctx.command_path)}")
    yield _line(" ".join(command.collect_usage_pieces(ctx)))
    yield ".SH DESCRIPTION"
    yield from _paragraphs(text)
    options = (one for one in command.get_params(ctx) if isinstance(one, click.Option))
    records = [one.get_help_record(ctx) for one in options]
    yield from _list("OPTIONS", [one for one in records if one is not None])
    if isinstance(command, WithDefault):
        told = command.default_options(ctx)
        yield from _list(f"OPTIONS OF {command.default}, WHERE NO COMMAND IS NAMED", told)
    if isinstance(command, click.Group):
        below = [(n, command.get_command(ctx, n)) for n in command.list_commands(ctx)]
        told = [(n, one.get_short_help_str(400)) for n, one in below if one and not one.hidden]
        yield from _list("COMMANDS", told)
    if command.epilog:
        yield ".SH NOTES"
        yield from _paragraphs(cleandoc(command.epilog))


def _paragraphs(text: str) -> Iterator[str]:
    """As click lays help out: a paragraph behind \\b stands as it is."""
    for number, paragraph in enumerate(text.split("\n\n")):
        lines = paragraph.splitlines()
        is_kept = lines[:1] == ["\b"]
        yield from [".PP"] if number else []
        yield from [".nf"] if is_kept else []
        yield from map(_line, lines[is_kept:])
        yield from [".fi"] if is_kept else []


def _list(title: str, rows: list[tuple[str, str]]) -> Iterator[str]:
    yield from [f".SH {title}"] if rows else []
    for name, told in rows:
        yield from (".TP", f"\\fB{_safe(name)}\\fR", _line(" ".join(told.split())))


def _line(text: str) -> str:
    """A line of text, which no request of roff's begins."""
    text = _safe(text.rstrip())
    return f"\\&{text}" if text.startswith((".", "'")) or not text else text


def _safe(text: str) -> str:
    return text.replace("\\", "\\e").replace("-", "\\-")


def main(folder: Path) -> int:
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in pages():
        (folder / f"{name}.1").write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(Path(sys.argv[1]) if sys.argv[1:] else ROOT / "build" / "man"))
