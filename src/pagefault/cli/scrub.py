"""`pagefault scrub`: redact what a memory holds already."""

from __future__ import annotations

import shlex
import sys
from dataclasses import asdict
from typing import TYPE_CHECKING, Final

import click

from pagefault.cli.app import App, Command, dry_run_with_help, json_option
from pagefault.cli.term import plural

if TYPE_CHECKING:
    from pagefault.service.scrub import Scrubbing

BYTES_MAX: Final = 1024 * 1024


@click.command(cls=Command)
@click.option(
    "--value-from",
    "files",
    metavar="FILE",
    multiple=True,
    help="File of further values to redact, one per line. - is stdin. May be repeated.",
)
@click.option("--paths", is_flag=True, help="Also redact the names of home folders.")
@dry_run_with_help("Only show what would be redacted. This is the default.")
@click.option(
    "--yes", is_flag=True, help="Redact it. Without --yes, only show what would be redacted."
)
@json_option
def scrub(app: App, files: tuple[str, ...], paths: bool, yes: bool) -> None:
    """Redact what is already written, by the current rules.

    These are the rules of `pagefault scan`, the known values (configured keys, secrets of the
    environment) and the values in the files of --value-from, in every spelling. Afterwards no byte
    of them is left in the log, the index, the artifacts or the archive of this memory; the rest of
    each page is found as before, and claims that rest on redacted text are stale. Without --yes it
    is a dry run that changes nothing. A value is never shown, and never given on the command line.

    JSON: {done, records, found (how many, by rule), sessions: [{session, session_id, pages,
    records, stale (claims), left (artifacts that hold a value and are not text)}], unread (records
    that cannot be read), beyond_reach, and, in a dry run, command}.
    """
    if app.dry_run and yes:
        raise click.UsageError("--dry-run and --yes contradict each other.")
    app.existing_directory()
    values = [value for name in files for value in _values(name)]

    async def work() -> Scrubbing:
        async with app.writing(dry_run=not yes) as memory:
            return await memory.scrub(values, home_paths=paths, dry_run=not yes)

    done = app.run(work())
    root = ["--root", app.root] if app.root else []
    given = [word for name in files for word in ("--value-from", name)]
    words = ["pagefault", *root, "scrub", *given, *(["--paths"] if paths else []), "--yes"]
    if app.as_json:
        told = {"command": shlex.join(words)} if not yes else {}
        app.term.data(asdict(done) | told)
        return
    _tell(app, done)
    if not yes and done.records:
        app.term.line()
        unchanged = "" if app.dry_run else "nothing was changed. "
        app.term.line(f"{unchanged}To do it, which cannot be undone:")
        app.term.line(f"  {shlex.join(words)}")


def _tell(app: App, done: Scrubbing) -> None:
    term = app.term
    if not done.records:
        term.line("nothing to redact")
    else:
        head = "redacted" if done.done else "would be redacted"
        count = f"{plural(sum(done.found.values()), 'place')} in {plural(done.records, 'record')}"
        term.line(term.style(f"{head}: {count}", "bold"))
        for rule, times in done.found.items():
            term.line(f"  {rule}: {times:,}")
    for one in done.sessions:
        term.line(
            f"  in {one.session!r}: {plural(one.pages, 'page')}, {plural(one.records, 'record')}"
        )
        if one.stale:
            term.line(f"    claims that rest on it, now stale: {', '.join(one.stale)}")
        if one.left:
            term.line(f"    non-text artifacts that contain it: {', '.join(one.left)}")
            term.line("    these are left as they are: `pagefault forget PAGE_ID` erases one")
    if done.unread:
        term.line(f"  not searched, because they cannot be read: {plural(done.unread, 'record')}")
    if done.records:
        term.line("  beyond reach:")
        for place in done.beyond_reach:
            term.line(f"    - {place}")


def _values(name: str) -> list[str]:
    """The non-empty lines of a file. Raises `BadInput`."""
    from pagefault.model.errors import BadInput

    called = "standard input" if name == "-" else name
    try:
        if name == "-":
            raw = sys.stdin.buffer.read(BYTES_MAX + 1)
        else:
            with open(name, "rb") as file:
                raw = file.read(BYTES_MAX + 1)
        if len(raw) > BYTES_MAX:
            raise BadInput(f"{called} is larger than {BYTES_MAX >> 20} MiB")
        values = [line.strip() for line in raw.decode("utf-8-sig").splitlines()]
    except OSError as error:
        raise BadInput(f"cannot read {called}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise BadInput(f"{called} is not UTF-8 text") from None
    if not any(values):
        raise BadInput(f"there is no value in {called}", hint="put one value on each line")
    return [value for value in values if value]
