"""`pagefault doctor`."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import click

from pagefault.cli.app import App, Command, json_option, pass_app
from pagefault.cli.outcome import worded
from pagefault.cli.term import plural, wrapped

_MARKS: Final = {"ok": ("✓", "green"), "warn": ("!", "yellow"), "fail": ("✗", "red")}


@click.command(cls=Command)
@click.option("--network", is_flag=True, help="Also send one short request to the endpoint.")
@json_option
@pass_app
def doctor(app: App, network: bool, as_json: bool) -> None:
    """Check this installation, its configuration and its memory.

    Changes nothing. Exits 0 if all is well, 1 if there are warnings, 2 if something fails. JSON:
    {status, checks: [{name, status (ok, warn, fail), found, advice}]}.
    """
    from pagefault.cli.checks import run_checks

    checks = []
    for check in run_checks(app, network=network):
        check = replace(check, advice=worded(check.advice))
        checks.append(check)
        if not as_json:
            mark, colour = _MARKS[check.status]
            app.term.line(f"{app.term.style(mark, colour, 'bold')} {check.name:<10} {check.found}")
            if check.advice:
                lines = wrapped(f"→ {check.advice}", app.term.width, " " * 13)
                for line in lines:
                    app.term.line(app.term.style(line, "dim"))
    found = {check.status for check in checks}
    worst = "fail" if "fail" in found else "warn" if "warn" in found else "ok"
    if as_json:
        rows = [
            {"name": c.name, "status": c.status, "found": c.found, "advice": c.advice}
            for c in checks
        ]
        app.term.data({"status": worst, "checks": rows})
    else:
        bad = [sum(c.status == status for c in checks) for status in ("warn", "fail")]
        app.term.note(
            "all is well"
            if worst == "ok"
            else f"{plural(bad[0], 'warning')}, {plural(bad[1], 'failure')}"
        )
    raise click.exceptions.Exit(("ok", "warn", "fail").index(worst))
