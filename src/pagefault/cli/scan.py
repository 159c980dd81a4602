"""`pagefault scan`: what would be redacted from a text, and why."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import click

from pagefault.cli.app import App, Command, json_option
from pagefault.cli.term import plural

BYTES_MAX = 64 * 1024 * 1024


@click.command(cls=Command)
@click.argument("paths", nargs=-1, type=click.Path(path_type=Path))
@click.option("--text", "show", is_flag=True, help="Print the text as it would be stored.")
@json_option
def scan(app: App, paths: tuple[Path, ...], show: bool) -> None:
    """Show what would be redacted from a file before it is written, and by which rule.

    PATHS are files; without any, standard input is read. Nothing is written, and no secret is
    shown. Exits 0 if nothing was found, 1 if something was. The setting `redact.allow` lets through
    what a rule finds wrongly.

    JSON: {layers, files: [{path, chars, found: [{rule, line, column, chars}], text}]}, `text` only
    with --text.
    """
    from pagefault.guard.layers import layers_of
    from pagefault.guard.screen import Screen, known_secrets
    from pagefault.service.bootstrap import scanner_cache, wiring_of

    config = app.config()
    redact = config.redact
    layers = layers_of(redact.level, paths=redact.paths, cache=scanner_cache())
    secrets = known_secrets(os.environ, wiring_of(config, {}).get("secrets") or {})
    screen = Screen(secrets, None, layers, redact.allow.split())
    files: list[dict[str, Any]] = []
    for path in paths or (None,):
        text = _read(path)
        found = [
            {
                "rule": one.rule,
                "line": text.count("\n", 0, one.start) + 1,
                "column": one.start - text.rfind("\n", 0, one.start),
                "chars": one.end - one.start,
            }
            for one in screen.found(text)
        ]
        told = {"path": "-" if path is None else str(path), "chars": len(text), "found": found}
        files.append(told | ({"text": screen.clean(text)} if show else {}))
    names = ["known values", *(layer.name for layer in layers)]
    if app.as_json:
        app.term.data({"layers": names, "files": files})
    elif show:
        for one in files:
            app.term.exact(one["text"])
    else:
        for one in files:
            for hit in one["found"]:
                where = f"{one['path']}:{hit['line']}:{hit['column']}"
                app.term.line(f"{where}: {hit['rule']}, {plural(hit['chars'], 'character')}")
    count = sum(len(one["found"]) for one in files)
    app.term.note(f"{plural(count, 'redaction')}; looked for by {', '.join(names)}")
    raise click.exceptions.Exit(1 if count else 0)


def _read(path: Path | None) -> str:
    """Raises `BadInput` for anything but text."""
    from pagefault.model.errors import BadInput

    try:
        if path is None:
            raw = sys.stdin.buffer.read(BYTES_MAX + 1)
        else:
            with path.open("rb") as file:
                raw = file.read(BYTES_MAX + 1)
        text = raw.decode("utf-8")
    except OSError as error:
        raise BadInput(f"cannot read {path}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise BadInput(f"{path or 'standard input'} is not UTF-8 text") from None
    if len(raw) > BYTES_MAX:
        raise BadInput(f"{path or 'standard input'} is larger than {BYTES_MAX >> 20} MiB")
    return text
