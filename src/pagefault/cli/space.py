"""`pagefault archive` and `gc`: less room for the same memory."""

from __future__ import annotations

from pathlib import Path

import click

from pagefault.cli.app import App, Command, json_option, pass_app
from pagefault.cli.term import plural
from pagefault.cli.upkeep import store_tools


@click.command(cls=Command)
@click.option(
    "--to",
    metavar="DIR",
    type=click.Path(path_type=Path),
    help="Where the archive is to be, the first time. Without it, in the memory's own folder.",
)
@click.option(
    "--keep",
    type=click.IntRange(min=0),
    default=1,
    show_default=True,
    metavar="N",
    help="How many of the newest full segments stay as they are.",
)
@click.option("--dry-run", is_flag=True, help="Only say what would be moved, and what it saves.")
@json_option
@pass_app
def archive(app: App, to: Path | None, keep: int, dry_run: bool, as_json: bool) -> None:
    """Compress old segments, and read them as before.

    Full segments of the log (10 MB each) are moved to an archive: gzip files, which `gunzip` turns
    into the segments again. Everything works as before: a page there takes a little longer to
    read, and `forget` reaches it. Where the archive is on a disk that is not mounted, the rest is
    served. JSON: {done, root, archive, segments, bytes_before, bytes_after, archived}.
    """
    from pagefault.store.archiving import archive as move

    path = app.existing_directory()
    with app.term.progress() as progress:
        moved = move(
            path,
            clock=store_tools()["clock"],
            to=to,
            keep=keep,
            dry_run=dry_run,
            progress=lambda done, total: progress("archiving", done, total),
        )
    if as_json:
        app.term.data(
            {
                "done": moved.done,
                "root": str(path),
                "archive": str(moved.directory),
                "segments": list(moved.segments),
                "bytes_before": moved.bytes_before,
                "bytes_after": moved.bytes_after,
                "archived": moved.archived,
            }
        )
        return
    if not moved.segments:
        app.term.line("there is nothing to archive: no full segment but those that are kept")
        return
    what = "archived" if moved.done else "would be archived"
    share = 100 * moved.bytes_after / moved.bytes_before
    app.term.line(
        f"{what}: {plural(len(moved.segments), 'segment')}, {moved.bytes_before:,} bytes in "
        f"{moved.bytes_after:,} ({share:.0f} %), at {moved.directory}"
    )
