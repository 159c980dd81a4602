"""`pagefault statusline`, for its help; `pagefault.cli.main` runs it without all of this."""

from __future__ import annotations

from contextlib import suppress

import click

from pagefault.cli.app import App, Command


@click.command(cls=Command)
def statusline(_app: App) -> None:
    """Print a line for Claude Code: its window, what left it, what came back, cache and cost.

    Reads on stdin the JSON that Claude Code gives its status line, and asks the proxy at
    ANTHROPIC_BASE_URL, if that is on this machine. Always exits with 0. `wrap claude` sets it for
    its run; in settings.json it is "statusLine": {"type": "command", "command": "pagefault
    statusline"}.
    """
    from pagefault.statusline import main

    with suppress(SystemExit):  # it leaves with 0, which `run` would take for an interruption
        main()
