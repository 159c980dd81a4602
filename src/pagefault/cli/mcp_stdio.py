"""`pagefault mcp`: a memory for clients of the Model Context Protocol that start it themselves."""

from __future__ import annotations

import os

import click

from pagefault.cli.app import App, Command


@click.command(cls=Command)
@click.option(
    "--session",
    "sessions",
    metavar="NAME",
    multiple=True,
    help="Only this session: name or id. May be repeated.",
)
@click.option("--user", metavar="NAME", default="", help="Only sessions of this user.")
@click.option("--project", metavar="NAME", default="", help="Only sessions of this project.")
@click.option(
    "--write",
    is_flag=True,
    help="Also offer `remember`: what the client's model notes is stored as its proposal.",
)
def mcp(app: App, sessions: tuple[str, ...], user: str, project: str, write: bool) -> None:
    """Serve a memory over the Model Context Protocol, on stdin and stdout.

    A client starts it: docs/mcp.md has the line to type. Without options it serves every session of
    the memory, read-only; with several options, the sessions that meet all of them. It ends when
    stdin does. Stdout carries only the protocol.
    """
    app.existing_directory()
    app.run(_serve(app, sessions, user, project, write=write))


async def _serve(
    app: App, sessions: tuple[str, ...], user: str, project: str, *, write: bool
) -> None:
    from pagefault.mcp_server import check_installed
    from pagefault.proxy.http.client import principal_in

    check_installed()
    from pagefault.cli.git_range import commits_of
    from pagefault.mcp_server.reach import Reach, VisibleSessions
    from pagefault.mcp_server.server import serve_stdio
    from pagefault.service.idle_leases import giving_up_idle

    reach = Reach(sessions=sessions, user=user, project=project)
    async with app.writing() if write else app.reading() as memory, giving_up_idle(memory):
        seen = VisibleSessions(memory, reach, principal_in)
        for name in sessions:
            await seen.row(name)  # a missing session is a typo, and is reported at once
        await serve_stdio(memory, seen, writes=write, commits=commits_of, root=os.getcwd())
