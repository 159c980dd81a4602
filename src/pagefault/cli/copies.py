"""`pagefault backup` and `restore`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from pagefault.cli.app import App, Command, json_option
from pagefault.cli.outcome import PROBLEMS, worded
from pagefault.cli.term import plural
from pagefault.cli.upkeep import store_tools, tell_strays

if TYPE_CHECKING:
    from pagefault.store.api import Copied


@click.command(cls=Command)
@click.argument("target", metavar="DEST", type=click.Path(path_type=Path))
@json_option
def backup(app: App, target: Path) -> None:
    """Copy a memory, and verify the copy.

    DEST must not exist. Works while another process writes. DEST appears only after the whole copy
    was read back; an interrupted backup leaves at most DEST.partial, which the next one replaces.
    The index is left out, because it is derived. A later `forget` does not reach into a backup.
    Exits 1 if the memory lacks bytes of an artifact, because then the backup lacks them too.

    JSON: {root, backup, records, segments, blobs, bytes, link, blobs_missing}.
    """
    from pagefault.store.embedded.backup import backup as make

    path = app.existing_directory()
    tell_strays(app, path)
    tools = store_tools()
    with app.term.progress() as progress:
        made = make(
            path,
            target,
            clock=tools["clock"],
            adoptions=tools["adoptions"],
            progress=lambda done, total: progress("copying", done, total),
        )
    _report(app, made, {"root": str(path), "backup": str(made.path)})


@click.command(cls=Command)
@click.argument("source", metavar="BACKUP", type=click.Path(path_type=Path))
@json_option
def restore(app: App, source: Path) -> None:
    """Make a backup a memory again.

    BACKUP becomes the root given by --root or PAGEFAULT_HOME, which must be empty or not exist. The
    backup is verified, copied and read back; every request is then packed to the same bytes as
    before. Nobody can tell who changed a backup in the meantime, so the memory is read-only until
    you adopt it. JSON: as `backup`.
    """
    from pagefault.store.embedded.adoption import not_adopted
    from pagefault.store.embedded.backup import restore as make
    from pagefault.store.embedded.root_file import read_root

    path = app.directory()
    tools = store_tools()
    with app.term.progress() as progress:
        made = make(
            source,
            path,
            clock=tools["clock"],
            progress=lambda done, total: progress("copying", done, total),
        )
    tools["adoptions"].remove(
        made.path, read_root(made.path, or_doubt=True).id
    )  # perhaps of an earlier root
    app.term.note(worded(not_adopted(made.path).hint))
    _report(app, made, {"root": str(path), "backup": str(source)})


def _report(app: App, made: Copied, places: dict[str, str]) -> None:
    if app.as_json:
        told = {"records": made.head, "segments": made.segments, "blobs": made.blobs}
        told |= {"bytes": made.bytes}
        missing = {"link": made.link, "blobs_missing": list(made.blobs_missing)}
        app.term.data(places | told | missing)
    else:
        what = f"{plural(made.head, 'record')} in {plural(made.segments, 'file')}"
        blobs = f", {plural(made.blobs, 'blob')}" if made.blobs else ""
        app.term.line(
            f"{app.term.style('✓', 'green', 'bold')} {made.path}: "
            f"{what}{blobs}, {made.bytes:,} bytes, verified"
        )
        app.term.note(f"it ends with record {made.head:,}, link {made.link}")
        for name in made.blobs_missing:
            app.term.warn(f"missing in the source too: blob {name}")
    if made.blobs_missing:
        raise click.exceptions.Exit(PROBLEMS)
