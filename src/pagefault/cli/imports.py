"""`pagefault import`: your own conversations, from other programs' files."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from pagefault.cli.app import App, WithDefault, dry_run_with_help, find_row, json_option, names_of
from pagefault.cli.asking import in_option
from pagefault.cli.outcome import PROBLEMS
from pagefault.cli.term import plural

if TYPE_CHECKING:
    from pagefault.service.lookup.imported import ImportedSession, ImportReport

_FLAWS_SHOWN: Final = 20
_NAMES_SHOWN: Final = 5
_POLL_S: Final = 2.0


@click.group("import", cls=WithDefault, default="read")
def import_() -> None:
    """Import your own conversations from other programs.

    `pagefault import PATH…` shows what there is, and asks before it writes anything. Imported pages
    can be found by search; the runtime recalls them only once you approve them.
    """


@import_.command()
@click.argument("paths", nargs=-1, required=True, type=click.Path(exists=True, path_type=Path))
@click.option("--yes", is_flag=True, help="Import without asking first.")
@dry_run_with_help("Only show what would be imported.")
@click.option("--watch", is_flag=True, help="Keep running, and import what is added.")
@click.option(
    "--for",
    "for_s",
    type=click.FloatRange(min=0),
    metavar="SECONDS",
    help="Stop watching after this many seconds.",
)
@json_option
def read(app: App, paths: tuple[Path, ...], yes: bool, watch: bool, for_s: float | None) -> None:
    """Import conversations from files and folders.

    Files are recognised by their content: ChatGPT's and Claude's exports (also as their zip
    archives), sessions of Claude Code, Codex, opencode and aider, our own exports, arrays and lines
    of API messages, Markdown notes. First everything is read and nothing written: what there is,
    from when to when, what looks like a secret (a mark will replace it), and what cannot be read.
    Then it asks; without a terminal, it writes only with --yes. Messages that exist already are not
    written again.

    JSON: {done, import, sources: [{source, files, conversations, sessions, messages, known,
    attachments, first_at, last_at}], messages, sessions, known, first_at, last_at, secrets: {name:
    count}, secret_places, flaws: [{place, why, kept}], flaws_left_out, ignored, ignored_places}.
    `messages` and `sessions` are new, `known` messages exist already; `import` is the name for
    `import approve`, if something was written; flaws with `kept` lost only a part. With --watch
    each is one line.
    """
    if app.dry_run and (yes or watch):
        raise click.UsageError("--dry-run writes nothing: leave out --yes and --watch.")
    if for_s is not None and not watch:
        raise click.UsageError("--for says how long to --watch.")
    planned = app.run(_import(app, paths, dry_run=True))
    if not app.dry_run and (planned.messages or watch):
        if not (app.as_json and yes):
            _tell(app, planned, talk=True)
        if not (yes or _agreed(app)):
            app.term.note("nothing was written")
            raise click.exceptions.Exit(PROBLEMS)
        planned = app.run(_import(app, paths, dry_run=False))
    if app.as_json:
        (app.term.record if watch else app.term.data)(_object(planned))
    else:
        _tell(app, planned)
    if watch:
        app.run(_watch(app, paths, for_s))
    if (
        not planned.messages
        and not planned.known
        and (planned.flaws or not (planned.sources or watch))
    ):
        raise click.exceptions.Exit(PROBLEMS)


def _agreed(app: App) -> bool:
    from pagefault.model.errors import BadInput

    if not app.term.is_interactive:
        raise BadInput(
            "an import needs a yes, and there is no terminal to ask on",
            hint="preview it with --dry-run, then pass --yes",
        )
    return click.confirm("Import this?", err=True)


async def _import(app: App, paths: Sequence[Path], *, dry_run: bool) -> ImportReport:
    label = "reading" if dry_run else "importing"
    with app.term.progress() as progress:

        def told(done: int, total: int) -> None:
            progress(f"{label} (KiB)", done >> 10, total >> 10)

        async with app.writing(dry_run=dry_run) as memory:
            return await memory.import_history(paths, dry_run=dry_run, progress=told)


async def _watch(app: App, paths: Sequence[Path], for_s: float | None) -> None:
    """Import again whenever a file changes, until interrupted or the time is over."""
    import asyncio

    until = None if for_s is None else time.monotonic() + for_s
    app.term.note("watching; press Ctrl-C to stop")
    async with app.writing() as memory:
        seen = _state(paths)
        while until is None or time.monotonic() < until:
            left = _POLL_S if until is None else min(_POLL_S, max(until - time.monotonic(), 0))
            await asyncio.sleep(left)
            state = await asyncio.to_thread(_state, paths)
            changed = [Path(name) for name, at in state.items() if seen.get(name) != at]
            seen = state
            if not changed:
                continue
            report = await memory.import_history(changed)
            if report.messages:
                if app.as_json:
                    app.term.record(_object(report))
                else:
                    new = plural(report.messages, "message")
                    app.term.line(f"{new} from {plural(len(changed), 'file')}")


def _state(paths: Sequence[Path]) -> dict[str, tuple[int, int]]:
    """The size and time of every file there."""
    found: dict[str, tuple[int, int]] = {}
    for path in paths:
        for one in [path] if path.is_file() else path.rglob("*"):
            if not one.is_symlink() and one.is_file():
                told = one.stat()
                found[str(one)] = told.st_size, told.st_mtime_ns
    return found


def _object(report: ImportReport) -> dict[str, Any]:
    return {
        "done": report.done,
        "import": report.run,
        "sources": [asdict(one) for one in report.sources],
        "messages": report.messages,
        "sessions": report.sessions,
        "known": report.known,
        "first_at": report.first_at,
        "last_at": report.last_at,
        "secrets": dict(report.secrets),
        "secret_places": list(report.secret_places),
        "flaws": [asdict(one) for one in report.flaws],
        "flaws_left_out": report.flaws_left_out,
        "ignored": report.ignored,
        "ignored_places": list(report.ignored_places),
    }


def _tell(app: App, report: ImportReport, *, talk: bool = False) -> None:
    """Print what was found, or written; as `talk`, if the command's output is still to come."""
    term = app.term
    if report.sources and not talk:
        term.table(
            [
                "source",
                "files",
                "conversations",
                "new sessions",
                "new messages",
                "known",
                "from",
                "to",
            ],
            [
                [
                    one.source,
                    f"{one.files:,}",
                    f"{one.conversations:,}",
                    f"{one.sessions:,}",
                    f"{one.messages:,}",
                    f"{one.known:,}",
                    one.first_at[:10],
                    one.last_at[:10],
                ]
                for one in report.sources
            ],
            right="files conversations messages known",
        )
    if talk:
        for one in report.sources:
            when = f", {one.first_at[:10]} to {one.last_at[:10]}" if one.first_at else ""
            term.warn(
                f"{one.source}: {plural(one.messages, 'new message')} in "
                f"{plural(one.conversations, 'conversation')}{when}"
                + (f"; {one.known:,} already imported" if one.known else "")
            )
    if not report.done or talk or report.flaws:
        _tell_flaws(app, report)
    if report.done and not talk:
        term.note(
            f"imported {plural(report.messages, 'message')}"
            + (f" as {report.run}: searchable now, recalled once approved" if report.run else "")
        )
        if report.run:
            approve = app.command("import", "approve", "--import", report.run)
            term.note(f"`{approve}` allows recall")
    elif not report.sources:
        from pagefault.history.recognise import SOURCES

        term.warn(f"nothing to import: looked for the formats of {', '.join(SOURCES)}")
        term.note("`pagefault import read --help` explains these formats")


def _tell_flaws(app: App, report: ImportReport) -> None:
    term = app.term
    if report.secrets:
        named = ", ".join(f"{name} ({count:,})" for name, count in report.secrets.items())
        term.warn(f"likely secrets, replaced by marks: {named}")
        for place in report.secret_places:
            term.warn(f"  in {place}")
    lost = [flaw for flaw in report.flaws if not flaw.kept]
    marred = [flaw for flaw in report.flaws if flaw.kept]
    for what, flaws in (("not read", lost), ("partly read", marred)):
        if flaws:
            term.warn(f"{what}: {len(flaws):,}")
            for flaw in flaws[:_FLAWS_SHOWN]:
                term.warn(f"  {flaw.place}: {flaw.why}")
            if len(flaws) > _FLAWS_SHOWN:
                term.warn(f"  and {len(flaws) - _FLAWS_SHOWN:,} more; --json lists them")
    if report.flaws_left_out:
        term.warn(f"and {report.flaws_left_out:,} more problems")
    if report.ignored:
        names = ", ".join(report.ignored_places[:_NAMES_SHOWN])
        more = ", …" if report.ignored > _NAMES_SHOWN else ""
        term.note(f"{plural(report.ignored, 'file')} of unknown format ignored: {names}{more}")


# --- approving ------------------------------------------------------------------------------------


@import_.command("list")
@in_option("Only sessions imported from SOURCE.")
@json_option
def list_(app: App, imported_from: str) -> None:
    """List imported sessions, the latest first.

    JSON: [{session, session_id, source, project, title, conversation, imports, imported_at, pages,
    approved}]; `imports` are the imports that added something, the latest last.
    """
    found, names = app.run(_list(app, imported_from))
    _print(app, found, names)
    if not found and not app.as_json:
        app.term.note("nothing was imported")


async def _list(app: App, source: str) -> tuple[list[ImportedSession], dict[str, str]]:
    async with app.reading() as memory:
        return await memory.imports(source), await names_of(memory, briefly=True)


@import_.command()
@click.option("--import", "run", metavar="IMPORT", default="", help="All sessions of one import.")
@click.option("--session", "session_name", metavar="NAME", default="", help="One imported session.")
@in_option("All sessions imported from SOURCE.")
@json_option
def approve(app: App, run: str, session_name: str, imported_from: str) -> None:
    """Let the runtime recall what has been imported so far.

    Give one of --import, --session and --in. Later imports need an approval of their own. The pages
    keep the origin `import`: no claim is made of them. JSON as in `import list`.
    """
    _rule(app, run, session_name, imported_from, approves=True)


@import_.command()
@click.option("--import", "run", metavar="IMPORT", default="", help="All sessions of one import.")
@click.option("--session", "session_name", metavar="NAME", default="", help="One imported session.")
@in_option("All sessions imported from SOURCE.")
@json_option
def revoke(app: App, run: str, session_name: str, imported_from: str) -> None:
    """Take an approval back.

    From the next request on, the runtime recalls nothing of these sessions. JSON as in `import
    list`.
    """
    _rule(app, run, session_name, imported_from, approves=False)


def _rule(app: App, run: str, session: str, source: str, *, approves: bool) -> None:
    if sum(map(bool, (run, session, source))) != 1:
        raise click.UsageError("Name one of --import, --session and --in.")
    app.existing_directory()

    from pagefault.model.errors import SessionNotFound

    async def work() -> tuple[list[ImportedSession], dict[str, str]]:
        async with app.writing() as memory:
            rule = memory.approve_import if approves else memory.revoke_import
            named = session
            if session:
                with suppress(SessionNotFound):  # `rule` lists what was imported
                    named = (await find_row(memory, session)).session_id
            ruled = await rule(run=run, session=named, source=source)
            return ruled, await names_of(memory, briefly=True)

    found, names = app.run(work())
    _print(app, found, names)
    if not app.as_json:
        what = "may now be recalled" if approves else "are no longer recalled"
        pages = sum(one.pages for one in found)
        app.term.note(f"{plural(pages, 'page')} of {plural(len(found), 'session')} {what}")


def _print(app: App, found: Sequence[ImportedSession], names: Mapping[str, str]) -> None:
    if app.as_json:
        app.term.data(
            [
                {
                    "session": one.name,
                    "session_id": one.session_id,
                    "source": one.source,
                    "project": one.project,
                    "title": one.title,
                    "conversation": one.conversation,
                    "imports": list(one.runs),
                    "imported_at": one.imported_at,
                    "pages": one.pages,
                    "approved": one.is_approved,
                }
                for one in found
            ]
        )
    elif found:
        app.term.table(
            ["session", "project", "pages", "approved", "import", "title"],
            [
                [
                    names[one.session_id],
                    one.project,
                    f"{one.pages:,}",
                    "yes" if one.is_approved else "no",
                    one.runs[-1],
                    one.title,
                ]
                for one in found
            ],
            right="pages",
            spare=("project", "import"),
        )
