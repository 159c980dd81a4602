"""`pagefault doctor`."""

from __future__ import annotations

import os
import stat
from dataclasses import replace
from pathlib import Path
from typing import Final

import click

from pagefault.cli.app import App, Command, json_option
from pagefault.cli.outcome import worded
from pagefault.cli.term import plural, wrapped
from pagefault.model.errors import BadInput

_MARKS: Final = {"ok": ("✓", "green"), "warn": ("!", "yellow"), "fail": ("✗", "red")}


@click.command(cls=Command)
@click.option("--network", is_flag=True, help="Also send one short request to the endpoint.")
@click.option(
    "--live", is_flag=True, help="Also check that the providers of running proxies answer."
)
@click.option(
    "--canary/--no-canary",
    default=True,
    help="Send a test conversation through a proxy, look for it in the log, and forget it.",
)
@click.option(
    "--fix",
    is_flag=True,
    help="Fix what can be fixed: files that `wrap` left changed, and permissions of the memory.",
)
@json_option
def doctor(app: App, network: bool, live: bool, canary: bool, fix: bool) -> None:
    """Check this installation, its configuration, its memory, and the path through a proxy.

    A canary, a short test conversation, is sent through each proxy that runs on this memory,
    without its provider: it must be kept, leave a small window, and come back; then it is
    forgotten. If no proxy runs, one is started on a memory of its own. Nothing else is changed
    without --fix. Exits 0 if all is well, 1 for warnings, 2 for failures. JSON: {status, checks:
    [{name, status (ok, warn, fail), found, advice}]}.
    """
    from pagefault.cli.checks import run_checks

    if fix:
        _fix(app)
    checks = []
    for check in run_checks(app, network=network, canary=canary, live=live):
        check = replace(check, advice=worded(check.advice))
        checks.append(check)
        if not app.as_json:
            mark, colour = _MARKS[check.status]
            app.term.line(f"{app.term.style(mark, colour, 'bold')} {check.name:<10} {check.found}")
            if check.advice:
                lines = wrapped(f"→ {check.advice}", app.term.width, " " * 13)
                for line in lines:
                    app.term.line(app.term.style(line, "dim"))
    found = {check.status for check in checks}
    worst = "fail" if "fail" in found else "warn" if "warn" in found else "ok"
    if app.as_json:
        rows = [
            {"name": c.name, "status": c.status, "found": c.found, "advice": c.advice}
            for c in checks
        ]
        app.term.data({"status": worst, "checks": rows})
    else:
        bad = [sum(c.status == status for c in checks) for status in ("warn", "fail")]
        app.term.note(
            "no problems found"
            if worst == "ok"
            else f"{plural(bad[0], 'warning')}, {plural(bad[1], 'failure')}"
        )
    raise click.exceptions.Exit(("ok", "warn", "fail").index(worst))


def _fix(app: App) -> None:
    """Actions are printed; remaining problems show in the checks after it."""
    from pagefault.cli.background import tidy
    from pagefault.service.config import MEMORY

    found = tidy()
    for file in found.files:
        app.term.note(f"{file.path}: {'restored' if file.is_back else 'changed since, left alone'}")
    for path in found.removed:
        app.term.note(f"{path}: removed")
    for one, stopped in found.proxies:
        app.term.note(f"{one.url}: {'ended' if stopped else 'could not be ended'}")
    try:
        root = Path(app.config().root)
    except BadInput:
        return
    if str(root) == MEMORY or not (root / "root.json").is_file() or root.is_symlink():
        return
    mode = stat.S_IMODE(root.stat().st_mode)
    if mode & 0o077 and root.stat().st_uid == os.getuid():
        root.chmod(mode & 0o700)
        app.term.note(f"{root}: now readable only by you")
