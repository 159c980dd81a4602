"""`pagefault archive` and `gc`: less room for the same memory."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pagefault.cli.app import App, Command, dry_run_with_help, json_option, number_option
from pagefault.cli.term import plural
from pagefault.cli.upkeep import store_tools, tell_strays

if TYPE_CHECKING:
    from pagefault.model.ids import Seq
    from pagefault.store.embedded.archiver import Archived
    from pagefault.store.embedded.gc import Garbage


@click.command(cls=Command)
@click.option(
    "--to",
    metavar="DIR",
    type=click.Path(path_type=Path),
    help="Folder for the archive, the first time. Default: in the memory's own folder.",
)
@number_option("--keep", 1, "Leave the newest N full segments as they are.", metavar="N")
@dry_run_with_help("Only show what would be moved, and what that saves.")
@json_option
def archive(app: App, to: Path | None, keep: int) -> None:
    """Compress old segments; they can be read as before.

    Full segments of the log (10 MB each) are moved to an archive: gzip files, which `gunzip` turns
    back into the segments. Everything works as before: archived pages take a little longer to read,
    and `forget` reaches them. The records that sessions are opened with stay here, too: if the
    archive is on a disk that is not mounted, the rest is served, and every session goes on.

    JSON: {done, root, archive, segments, bytes_before, bytes_after, archived}.
    """
    from pagefault.store.embedded.archiver import archive as move
    from pagefault.store.embedded.root import check_adopted

    path = app.existing_directory()
    tell_strays(app, path)
    check_adopted(path, store_tools()["adoptions"])
    with app.term.progress() as progress:
        moved = move(
            path,
            clock=store_tools()["clock"],
            to=to,
            keep=keep,
            needed=lambda: app.run(_to_open(app)),
            dry_run=app.dry_run,
            progress=lambda done, total: progress("archiving", done, total),
        )
    if app.as_json:
        app.term.data(_told(moved, path, directory="archive"))
        return
    if not moved.segments:
        app.term.line(
            "nothing to archive: segments are moved once they are full (10 MB), and "
            f"--keep leaves the newest {keep:,} of those where they are"
        )
        return
    what = "archived" if moved.done else "would be archived"
    share = 100 * moved.bytes_after / moved.bytes_before
    app.term.line(
        f"{what}: {plural(len(moved.segments), 'segment')}, {moved.bytes_before:,} bytes in "
        f"{moved.bytes_after:,} ({share:.0f}%), at {moved.directory}"
    )


async def _to_open(app: App) -> set[Seq]:
    async with app.reading() as memory:
        return await memory.records_to_open()


@click.command(cls=Command)
@click.option(
    "--yes", is_flag=True, help="Delete it. Without --yes, only show what would be deleted."
)
@json_option
def gc(app: App, yes: bool) -> None:
    """Find unreferenced files, and with --yes delete them.

    A process that is killed may leave bytes of an artifact that no record references, or a partly
    written file. Files younger than an hour are left alone: another process may be about to name
    them. Without --yes it is a dry run, which needs no lock. JSON: {done, root, blobs, blob_bytes,
    leftovers, leftover_bytes, young, beside (partial copies beside the memory, which are never
    deleted)}.
    """
    from pagefault.store.embedded.gc import collect
    from pagefault.store.embedded.root import check_adopted

    path = app.existing_directory()
    tell_strays(app, path)
    adoptions = store_tools()["adoptions"]
    check_adopted(path, adoptions)
    with app.term.progress() as progress:
        found = collect(
            path,
            clock=store_tools()["clock"],
            adoptions=adoptions,
            delete=yes,
            progress=lambda done, total: progress("reading the log", done, total),
        )
    if app.as_json:
        app.term.data(_told(found, path))
        return
    term = app.term
    if not (found.blobs or found.leftovers):
        term.line("nothing to delete: every blob is referenced, and every file is complete")
    else:
        term.line("deleted:" if found.done else "would be deleted:")
        if found.blobs:
            blobs = plural(len(found.blobs), "blob")
            term.line(f"  {blobs} that no record references, {found.blob_bytes:,} bytes")
        if found.leftovers:
            files = plural(len(found.leftovers), "file")
            term.line(f"  {files} left unfinished, {found.leftover_bytes:,} bytes")
        for leftover in [*found.blobs, *found.leftovers]:
            term.detail(f"  {leftover}")
        if not found.done:
            term.line("nothing was changed. To do it, pass --yes")
    if found.young:
        term.note(f"{plural(found.young, 'file')} too recent to judge: try again in an hour")
    for partial in found.beside:
        term.note(f"an interrupted copy, which you may delete: {partial}")


def _told(report: Archived | Garbage, root: Path, **names: str) -> dict[str, Any]:
    """A report as JSON, field by field; `names` renames some."""
    fields = {names.get(name, name): value for name, value in asdict(report).items()}
    done = fields.pop("done")
    return {"done": done, "root": str(root)} | {k: _plain(v) for k, v in fields.items()}


def _plain(value: Any) -> Any:
    if isinstance(value, Path):
        return str(value)
    return [_plain(one) for one in value] if isinstance(value, tuple) else value
