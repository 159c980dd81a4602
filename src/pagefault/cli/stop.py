"""`pagefault stop`."""

from __future__ import annotations

import os

import click

from pagefault.cli.app import App, Command, dry_run_with_help, json_option


@click.command(cls=Command)
@dry_run_with_help("Only show which would be stopped.")
@json_option
def stop(app: App) -> None:
    """Stop the proxy that runs on a memory, and wait until it has released it.

    Answers in progress get a few seconds. Proxies that `wrap` started for one client end with that
    client, not by this command. JSON: [{url, pid, instance, root, stopped}].
    """
    from pagefault.cli.background import running_on
    from pagefault.cli.background import stop as stop_it
    from pagefault.model.errors import StoreBusy, StoreMissing

    root = os.path.realpath(app.directory())
    found = running_on(root)
    if not found:
        raise StoreMissing(
            f"no proxy is running on {root}",
            hint="choose the memory with --root, or start a proxy with `pagefault serve`",
        )
    rows = []
    for one in found:
        stopped = not app.dry_run and stop_it(one)
        rows.append(
            {
                "url": one.url,
                "pid": one.pid,
                "instance": one.instance,
                "root": one.root,
                "stopped": stopped,
            }
        )
        if not app.as_json:
            verb = "would end" if app.dry_run else "ended" if stopped else "could not end"
            app.term.line(f"{verb} {one.url} (pid {one.pid})")
    if app.as_json:
        app.term.data(rows)
    if not app.dry_run and not all(row["stopped"] for row in rows):
        raise StoreBusy(
            "a proxy did not say that it is the one that was written down, or did not end in time",
            hint="look at its log, and at its pid",
        )
