"""`pagefault export`: what a memory holds, as files."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import click

from pagefault.cli.app import App, Command, dry_run_with_help, find_row, json_option
from pagefault.cli.asking import filter_of, in_option, kinds_option, origins_option, period_options
from pagefault.cli.outcome import PROBLEMS
from pagefault.cli.term import plural
from pagefault.cli.wording import ONLY_SESSION
from pagefault.model.kinds import Kind


@click.command(cls=Command)
@click.argument("target", metavar="DEST", type=click.Path(path_type=Path))
@click.option(
    "--form",
    type=click.Choice(["snapshot", "events", "markdown"]),
    default="snapshot",
    show_default=True,
    help="snapshot: a zip archive. events: JSON lines. markdown: a folder of documents.",
)
@click.option("--session", "session_name", metavar="NAME", help=ONLY_SESSION)
@kinds_option((Kind.TRANSCRIPT, Kind.ARTIFACT))
@origins_option
@in_option()
@period_options("pages")
@dry_run_with_help("Only show what would be exported.")
@json_option
def export(
    app: App,
    target: Path,
    form: str,
    session_name: str | None,
    kinds: tuple[str, ...],
    origins: tuple[str, ...],
    imported_from: str,
    since: str | None,
    until: str | None,
) -> None:
    """Export a memory's contents, for other programs and for people.

    DEST must not exist, nor be inside the memory; it appears once it is complete, readable by its
    owner only. Claims and summaries are included for sessions that are exported whole. `pagefault
    import DEST` reads every form back. Forgotten text is in none, and a later `forget` does not
    reach into an export. To preserve a memory as it is, make a `backup`.

    JSON: {done, path, form, sessions, messages, claims, artifacts, bytes, redacted (texts with what
    counts as a secret now), away (texts that could not be read, which are left out: exits 1)}.
    """
    app.existing_directory()

    with app.term.progress() as progress:

        async def work() -> dict[str, object]:
            async with app.reading() as memory:
                wanted = filter_of(kinds, (), origins, since, until, imported_from=imported_from)
                if session_name:
                    row = await find_row(memory, session_name)
                    wanted = replace(wanted, session=row.session_id)
                made = await memory.export(
                    target,
                    form=form,
                    wanted=wanted,
                    dry_run=app.dry_run,
                    progress=lambda done, total: progress("exporting", done, total),
                )
                return {name: getattr(made, name) for name in made.__slots__}

        made = app.run(work())
    if app.as_json:
        app.term.data(made)
    else:
        what = ", ".join(
            plural(int(str(made[name])), name.removesuffix("s"))
            for name in ("sessions", "messages", "claims", "artifacts")
            if made[name]
        )
        if app.dry_run:
            app.term.line(f"would export {what or 'nothing'}")
        else:
            mark = app.term.style("✓", "green", "bold")
            app.term.line(f"{mark} {made['path']}: {what or 'nothing'}, {made['bytes']:,} bytes")
            if form == "snapshot" and target.suffix not in ("", ".zip"):
                app.term.note("it is a zip archive; --form has the other forms")
            app.term.note("a later `pagefault forget` does not change this file")
        if made["redacted"]:
            app.term.note(
                f"{plural(int(str(made['redacted'])), 'text')} held what counts as a secret now: "
                "it was taken out there"
            )
        if made["away"]:
            app.term.warn(f"{plural(int(str(made['away'])), 'text')} could not be read")
    if made["away"]:
        raise click.exceptions.Exit(PROBLEMS)
