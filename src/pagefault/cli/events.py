"""`pagefault events`: what was done in conversations."""

from __future__ import annotations

from dataclasses import asdict
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import click

from pagefault.cli.app import (
    App,
    Command,
    either,
    find_row,
    json_option,
    number_option,
    session_either,
)
from pagefault.cli.asking import period_options
from pagefault.cli.term import iso, local, plural
from pagefault.cli.when import after_ms, first_ms
from pagefault.cli.wording import LIMIT, ONLY_SESSION
from pagefault.model.errors import BadInput

if TYPE_CHECKING:
    from pagefault.service.inspection.work_events import WorkEvent

_TYPES = ("command_run", "file_change", "test_result", "command_intent", "voice_transcript")


@click.command(cls=Command)
@session_either
@click.option("--session", "session_name", metavar="NAME", help=ONLY_SESSION)
@click.option("--type", "event_type", type=click.Choice(_TYPES), help="Only events of this type.")
@click.option(
    "--file", "path", metavar="PATH", help="Only changes to files whose path ends in PATH."
)
@click.option(
    "--command",
    metavar="WORDS",
    help="Only commands that contain WORDS, in this order and side by side.",
)
@click.option(
    "--test", metavar="NAME", help="Only runs that report a test whose name ends in NAME."
)
@click.option("--failed", is_flag=True, help="Only test runs that failed.")
@click.option("--last-passed", is_flag=True, help="Only the last test run that passed.")
@period_options("events")
@number_option("--limit", 50, LIMIT, metavar="N")
@json_option
def events(
    app: App,
    session_named: str | None,
    session_name: str | None,
    event_type: str | None,
    path: str | None,
    command: str | None,
    test: str | None,
    failed: bool,
    last_passed: bool,
    since: str | None,
    until: str | None,
    limit: int,
) -> None:
    """List what was done: commands, file changes, tests; newest first.

    Read from the calls of coding clients and their results, imported or proxied. --test NAME
    --last-passed shows when a test last passed: by its name in the runner's output or, if that
    lists only failures, by the command, which named the test or ran all (`how`).

    JSON: {total, events: [{event_type, session_id, session, page_id, result_id, seq, at, origin,
    is_over, withdrawn, failed, argv, script, exit_code, duration_ms, path, change, hash, runner,
    tests_passed, tests_failed, tests_skipped, failing, passing, text, outcome, how}]};
    docs/events.md explains the fields.
    """
    if failed and last_passed:
        raise BadInput("--failed and --last-passed cannot be combined", hint="use one of them")
    session_name = either(session_named, session_name)
    now = datetime.now().astimezone()
    outcome = "failed" if failed else "passed" if last_passed else ""

    async def read() -> list[WorkEvent]:
        async with app.reading() as memory:
            only = (await find_row(memory, session_name)).session_id if session_name else ""
            return await memory.events(
                session=only,
                event_type=event_type or "",
                path=path or "",
                command=command or "",
                test=test or "",
                outcome=outcome,
                since=_moment(first_ms(since, now)) if since else "",
                until=_moment(after_ms(until, now)) if until else "",
                limit=1 if last_passed else limit,
            )

    found = app.run(read())
    if app.as_json:
        app.term.data({"total": len(found), "events": [_told(one) for one in found]})
        return
    if found:
        app.term.table(
            ["when", "session", "what", "how it went", "page"],
            [
                [
                    local(one.at_ms),
                    one.session or one.session_id,
                    _what(one),
                    _went(one),
                    one.page_id,
                ]
                for one in found
            ],
        )
    app.term.note(plural(len(found), "event"))


def _moment(at_ms: int) -> datetime:
    return datetime.fromtimestamp(at_ms / 1000, UTC)


def _told(one: WorkEvent) -> dict[str, Any]:
    told = asdict(one)
    told["at"] = iso(told.pop("at_ms"))
    return told


def _what(one: WorkEvent) -> str:
    match one.event_type:
        case "command_run":
            return _line(one.script)
        case "file_change":
            return f"{one.change} {one.path}"
        case "test_result":
            return (
                f"{one.runner or 'tests'}: {one.tests_passed:,} passed, {one.tests_failed:,} failed"
            )
        case _:
            return f"{one.event_type}: {_line(one.text)}"


def _went(one: WorkEvent) -> str:
    if one.withdrawn:
        return "withdrawn"
    if one.outcome:
        return one.outcome if one.how == "named" else f"{one.outcome} ({one.how})"
    if not one.is_over:
        return "no result"
    if one.exit_code is not None:
        return f"exit {one.exit_code}"
    if one.event_type == "test_result":
        return "failed" if one.failed else "passed"
    return "failed" if one.failed else ""


def _line(text: str) -> str:
    first = " ".join(text.split())
    return first if len(first) <= 100 else f"{first[:99]}…"
