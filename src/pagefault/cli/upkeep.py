"""`pagefault verify`, `rebuild`, `repair` and `upgrade`: the care of a root."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pagefault.cli.app import App, Command, json_option
from pagefault.cli.outcome import PROBLEMS, worded
from pagefault.cli.term import plural

if TYPE_CHECKING:
    from pagefault.store.embedded.root import Rebuilt
    from pagefault.store.store import Verification


def store_tools() -> dict[str, Any]:
    """The clock, the minter and the user's adoptions, for opening a store."""
    import random

    from pagefault.model.clock import SystemClock
    from pagefault.model.ids import IdMinter
    from pagefault.service.bootstrap import user_adoptions

    clock = SystemClock()
    minter = IdMinter(clock, random.SystemRandom())
    return {"clock": clock, "minter": minter, "adoptions": user_adoptions()}


def tell_strays(app: App, root: Path) -> None:
    """List files in a log's folder that are not part of it; for commands that open no memory."""
    from pagefault.store.embedded.inventory import take_inventory

    for stray in take_inventory(root / "log").strays:
        app.term.note(f"note: {stray}")


@click.command(cls=Command)
@json_option
def verify(app: App) -> None:
    """Read everything in a memory and check that it is consistent.

    Checksums, numbering, commitments, the chain of links, the index, and whether every session
    opens. Changes nothing, and works while another process writes. Exits 1 if there are problems. A
    record that cannot be understood is set aside; it is listed, but is no problem. JSON: {ok, root,
    records, segments, problems, set_aside, notices}.
    """
    path = app.existing_directory()
    found, notices = app.run(_verify(app, path))
    if app.as_json:
        app.term.data(
            {
                "ok": not found.problems,
                "root": str(path),
                "records": found.records,
                "segments": found.segments,
                "problems": list(found.problems),
                "set_aside": list(found.set_aside),
                "notices": notices,
            }
        )
    else:
        what = f"{plural(found.records, 'record')} in {plural(found.segments, 'file')}"
        for problem in found.problems:
            app.term.line(f"{app.term.style('✗', 'red', 'bold')} {problem}")
        for record in found.set_aside:
            app.term.line(f"{app.term.style('!', 'yellow', 'bold')} set aside: {record}")
        if found.problems:
            app.term.line(f"{plural(len(found.problems), 'problem')} in {what} at {path}")
            for advice in found.advice:
                app.term.note(worded(advice))
        else:
            app.term.line(f"{app.term.style('✓', 'green', 'bold')} {what}: sound")
        for notice in notices:
            app.term.note(f"note: {worded(notice)}")
    if found.problems:
        raise click.exceptions.Exit(PROBLEMS)


async def _verify(app: App, path: Path) -> tuple[Verification, list[str]]:
    from pagefault.service.bootstrap import open_memory

    async with open_memory(path, read_only=True) as memory:
        with app.term.progress() as progress:
            found = await memory.verify(
                lambda done, total: progress("reading the log", done, total)
            )
        return found, memory.notices


@click.command(cls=Command)
@json_option
def rebuild(app: App) -> None:
    """Rebuild the index from the log.

    The index is derived, so nothing can be lost. Sessions, pages and search are as before. If the
    log is damaged, no index is built: the number of unreadable records is shown, and it exits 1.
    JSON: {root, records, unread, set_aside}.
    """
    path = app.existing_directory()
    tell_strays(app, path)
    rebuilt = _rebuild(app, path)
    if app.as_json:
        told = {
            "root": str(path),
            "records": rebuilt.records,
            "unread": rebuilt.unread,
            "set_aside": rebuilt.aside,
        }
        app.term.data(told)
    elif rebuilt.unread:
        of = f"{rebuilt.unread:,} of {plural(rebuilt.records, 'record')}"
        app.term.line(f"the log is damaged: {of} could not be read; the index is as it was")
        app.term.note("`pagefault repair` sets the damage aside and builds the index")
    else:
        app.term.line(f"the index was built anew from {plural(rebuilt.records, 'record')}")
        if rebuilt.aside:
            app.term.note(f"{plural(rebuilt.aside, 'record')} set aside: `pagefault verify`")
    if rebuilt.unread:
        raise click.exceptions.Exit(PROBLEMS)


def _rebuild(app: App, path: Path) -> Rebuilt:
    from pagefault.store.embedded.root import rebuild as rebuild_index

    with app.term.progress() as progress:
        return rebuild_index(
            path,
            progress=lambda done, total: progress("building the index", done, total),
            **store_tools(),
        )


@click.command(cls=Command)
@json_option
def repair(app: App) -> None:
    """Set damaged records aside and go on with the rest.

    Damaged bytes are moved to `quarantine/`, never deleted; their records are marked as lost, and
    everything else stays as it is. Then the index is rebuilt. JSON: {root, changed, lost (inclusive
    ranges of record numbers), quarantined, rewritten, unrepaired}.
    """
    from pagefault.store.embedded.root import repair as repair_root

    path = app.existing_directory()
    tell_strays(app, path)
    report = repair_root(path, **store_tools())
    if app.as_json:
        app.term.data(
            {
                "root": str(path),
                "changed": bool(report.rewritten),
                "lost": [[first, last] for first, last in report.lost],
                "quarantined": [str(file) for file in report.quarantined],
                "rewritten": [str(file) for file in report.rewritten],
                "unrepaired": [str(problem) for problem in report.unrepaired],
            }
        )
        return
    term = app.term
    if not (report.rewritten or report.unrepaired):
        term.line("nothing is damaged; nothing was changed")
        return
    lost = sum(last - first + 1 for first, last in report.lost)
    if report.rewritten:
        ranges = ", ".join(f"{a}" if a == b else f"{a} to {b}" for a, b in report.lost)
        term.line(f"{plural(lost, 'record')} could not be read" + (f": {ranges}" if ranges else ""))
        term.line("their numbers stay taken; everything else is as it was, and can be written to")
    for file in report.quarantined:
        term.line(f"set aside, as found: {file}")
    for file in report.rewritten:
        term.line(f"written anew: {file}")
    for problem in report.unrepaired:
        term.line(f"cannot be mended, as its bytes are those that were written: {problem}")
    term.note("`pagefault verify` checks the result")


@click.command(cls=Command)
@json_option
def upgrade(app: App) -> None:
    """Upgrade a memory of an earlier format.

    A new log is written beside the old one, read back, and compared with it. Then it replaces the
    old one, the index is rebuilt, and the old log is deleted, because what is forgotten later would
    remain in it: copy the folder first if you want to keep it. If it is killed at any moment, run
    it again and it continues. A memory of this format is left as it is. JSON: {root, upgraded,
    format_before, format, records, segments, bytes_before, bytes_after}.
    """
    from pagefault.store.embedded.root_file import FORMAT
    from pagefault.store.embedded.upgrade import upgrade as upgrade_root

    path = app.existing_directory()
    with app.term.progress() as progress:
        made = upgrade_root(
            path,
            progress=lambda done, total: progress("writing the new log", done, total),
            **store_tools(),
        )
    if made.is_done:
        _rebuild(app, path)
    if app.as_json:
        told = {"root": str(path), "upgraded": made.is_done, "format_before": made.before}
        told |= {"format": FORMAT, "records": made.records, "segments": made.segments}
        told |= {"bytes_before": made.bytes_before, "bytes_after": made.bytes_after}
        app.term.data(told)
    elif not made.is_done:
        app.term.line(f"{path} is of format {FORMAT} already")
    elif made.before == FORMAT:
        app.term.line(f"{path} is of format {FORMAT} now: an upgrade that was begun has ended")
    else:
        app.term.line(
            f"{path} is of format {FORMAT} now (it was {made.before}): "
            f"{plural(made.records, 'record')} in {plural(made.segments, 'file')}, "
            f"{made.bytes_before:,} bytes, now {made.bytes_after:,}"
        )
