"""`pagefault scopes`: memory that sessions share, and who may see what of it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from pagefault.cli.app import (
    App,
    WithDefault,
    dry_run_option,
    find_kept,
    find_row,
    json_option,
    page_argument,
    session_option,
)
from pagefault.cli.term import iso, plural
from pagefault.cli.wording import LIMIT
from pagefault.model.defaults import TEXT_BYTES
from pagefault.model.errors import BadInput
from pagefault.model.kinds import Consent, MountMode, RegionScope

if TYPE_CHECKING:
    from pagefault.service.regions import Mount, Promotion, Region

_REGION = """JSON: {name, region_id, scope, owner, project, read, write, promote, consent, pages,
    fork_of, mounts: [{session, session_id, mode, open, why}]}."""
_MOUNT = """JSON: {region, session, session_id, mode, open, why}."""
_BROUGHT = """JSON: {region, pages, sources, origin, done}."""
_WHY = {
    "policy": "closed: not allowed by the policy",
    "consent": "waiting for the owner's consent",
    "gone": "closed: the region no longer exists",
}

_by_option = click.option(
    "--by", metavar="USER", default="", help="User who asks, who must be the region's owner."
)


def _grant_options(command: Callable[..., Any]) -> Callable[..., Any]:
    for name, what in (
        ("promote", "copy pages of their own into it"),
        ("write", "write text of their own into it"),
        ("read", "read it"),
    ):
        command = click.option(
            f"--{name}",
            multiple=True,
            metavar="WHO",
            help=f"Who may {what}: owner, anyone, nobody, project:NAME, user:NAME, "
            "session:NAME. May be repeated.",
        )(command)
    return command


def _granted(given: Sequence[str]) -> list[str] | None:
    """As given; `nobody` is an empty list, and None leaves it as it is."""
    return [one for one in given if one != "nobody"] if given else None


@click.group(cls=WithDefault, default="list")
def scopes() -> None:
    """Memory that sessions share: regions, and who may see what of them.

    A session sees itself, and the regions that it mounts as far as their policies allow; nothing
    else of this memory.
    """


@scopes.command("list", help=f"""List every region.

    JSON: a list of what `scopes show` prints: {_REGION.removeprefix("JSON: ")}
    """)  # fmt: skip
@json_option
def list_(app: App) -> None:
    app.existing_directory()

    async def work() -> list[Region]:
        async with app.reading() as memory:
            return await memory.regions()

    found = app.run(work())
    if app.as_json:
        app.term.data([_object(one) for one in found])
    elif found:
        rows = [
            [one.name, _for(one), str(one.pages), str(len(one.mounts)), one.consent]
            for one in found
        ]
        app.term.table(["region", "for", "pages", "mounts", "consent"], rows)
    else:
        app.term.line("no regions: each session sees only itself")


@scopes.command("show", help=f"""Show a region: its policy, and who mounts it.

    {_REGION}
    """)  # fmt: skip
@click.argument("region")
@json_option
def show(app: App, region: str) -> None:
    app.existing_directory()

    async def work() -> Region:
        async with app.reading() as memory:
            found = {one.name: one for one in await memory.regions()}
            name = region.removeprefix("region:")
            if name not in found:
                from pagefault.model.errors import RegionNotFound

                raise RegionNotFound(name)
            return found[name]

    _print_region(app, app.run(work()))


@scopes.command("pages", help="""Show the pages of a region in full, newest first.

    JSON: {region, total, pages: [{page_id, role, speaker, origin, said_at, tokens, text}]}.
    """)  # fmt: skip
@click.argument("region")
@click.option("--limit", type=click.IntRange(min=1), default=50, show_default=True, help=LIMIT)
@json_option
def pages(app: App, region: str, limit: int) -> None:
    app.existing_directory()

    async def work() -> dict[str, Any]:
        from pagefault.model.wanted import SearchFilter

        async with app.reading() as memory:
            kept = await find_kept(memory, f"region:{region.removeprefix('region:')}")
            found = await memory.recent(limit, SearchFilter(session=kept))
            return {
                "region": region.removeprefix("region:"),
                "total": found.total,
                "pages": [
                    {
                        "page_id": hit.page.page_id,
                        "role": str(hit.page.role),
                        "speaker": hit.speaker,
                        "origin": str(hit.page.origin),
                        "said_at": iso(hit.page.said_ms),
                        "tokens": hit.page.tokens,
                        "text": (await memory.read(hit.page)).text,
                    }
                    for hit in found.hits
                ],
            }

    told = app.run(work())
    if app.as_json:
        app.term.data(told)
        return
    for one in told["pages"]:
        who = ", ".join(filter(None, (one["speaker"] or one["role"], one["origin"])))
        app.term.line(f"{one['page_id']}  {one['said_at']}  {who}")
        app.term.text(one["text"], indent="  ")
    if not told["pages"]:
        app.term.line("no pages in this region")


@scopes.command("create", help=f"""Create a region.

    Its scope determines whom it is for: the sessions of a project, those of its owner, or all. They
    may read it; the owner's may write and promote, unless these rights are granted to others.

    {_REGION}
    """)  # fmt: skip
@click.argument("region")
@click.option(
    "--scope",
    type=click.Choice([str(scope) for scope in RegionScope]),
    default="global",
    show_default=True,
    help="Who the region is for.",
)
@click.option("--owner", metavar="USER", default="", help="Owner of the region.")
@click.option(
    "--project", metavar="NAME", default="", help="Project of the region, for --scope project."
)
@_grant_options
@click.option(
    "--consent",
    type=click.Choice([str(one) for one in Consent]),
    default="write",
    show_default=True,
    help="Mounts that also need the owner's consent: none, writable ones, or all.",
)
@dry_run_option
@json_option
def create(
    app: App,
    region: str,
    scope: str,
    owner: str,
    project: str,
    read: Sequence[str],
    write: Sequence[str],
    promote: Sequence[str],
    consent: str,
) -> None:
    async def work() -> Region:
        async with app.writing(dry_run=app.dry_run) as memory:
            return await memory.create_region(
                region,
                scope=scope,
                owner=owner,
                project=project,
                read=_granted(read),
                write=_granted(write),
                promote=_granted(promote),
                consent=consent,
                dry_run=app.dry_run,
            )

    _print_region(app, app.run(work()))


@scopes.command("fork", help=f"""Fork a region: a new one with its current pages.

    Pages are shared, not copied. Pages added to either later are not in the other.

    {_REGION}
    """)  # fmt: skip
@click.argument("region")
@click.argument("name")
@_by_option
@dry_run_option
@json_option
def fork(app: App, region: str, name: str, by: str) -> None:
    app.existing_directory()

    async def work() -> Region:
        async with app.writing(dry_run=app.dry_run) as memory:
            return await memory.fork_region(region, name, by=by, dry_run=app.dry_run)

    _print_region(app, app.run(work()))


@scopes.command("policy", help=f"""Change who may do what in a region.

    It takes effect at once: a session that loses access shows nothing of it from its next request
    on. What is not given stays.

    {_REGION}
    """)  # fmt: skip
@click.argument("region")
@_grant_options
@click.option(
    "--consent",
    type=click.Choice([str(one) for one in Consent]),
    help="Mounts that also need the owner's consent: none, writable ones, or all.",
)
@click.option("--owner", metavar="USER", help="New owner of the region.")
@_by_option
@dry_run_option
@json_option
def policy(
    app: App,
    region: str,
    read: Sequence[str],
    write: Sequence[str],
    promote: Sequence[str],
    consent: str | None,
    owner: str | None,
    by: str,
) -> None:
    app.existing_directory()

    async def work() -> Region:
        async with app.writing(dry_run=app.dry_run) as memory:
            return await memory.set_policy(
                region,
                read=_granted(read),
                write=_granted(write),
                promote=_granted(promote),
                consent=consent,
                owner=owner,
                by=by,
                dry_run=app.dry_run,
            )

    _print_region(app, app.run(work()))


@scopes.command("mount", help=f"""Mount a region in a session.

    The session then finds and recalls the region's pages like its own.

    {_MOUNT}
    """)  # fmt: skip
@click.argument("region")
@session_option
@click.option("--rw", is_flag=True, help="Mount it for writing as well. Default: for reading only.")
@dry_run_option
@json_option
def mount(app: App, region: str, session_name: str | None, rw: bool) -> None:
    made = app.write(
        session_name, lambda s: s.mount(region, "rw" if rw else "ro", dry_run=app.dry_run)
    )
    _print_mount(app, made)


@scopes.command("unmount", help=f"""Unmount a region from a session.

    {_MOUNT} It describes the mount that was; without a `mode`, there was none.
    """)  # fmt: skip
@click.argument("region")
@session_option
@dry_run_option
@json_option
def unmount(app: App, region: str, session_name: str | None) -> None:
    was = app.write(session_name, lambda s: s.unmount(region, dry_run=app.dry_run))
    if app.as_json:
        app.term.data(_mount_object(was, region=True))
    elif was.mode:
        app.term.line(f"{was.session} no longer mounts {was.region}")
    else:
        app.term.line(f"{was.session} did not mount {was.region}")


@scopes.command("consent", help=f"""Grant or withdraw a session's access, as the
    owner of a region.

    {_MOUNT} null if the session does not mount it.
    """)  # fmt: skip
@click.argument("region")
@click.argument("mode", type=click.Choice([*map(str, MountMode), "none"]))
@session_option
@_by_option
@dry_run_option
@json_option
def consent(app: App, region: str, mode: str, session_name: str | None, by: str) -> None:
    app.existing_directory()

    async def work() -> Mount | None:
        async with app.writing(dry_run=app.dry_run) as memory:
            row = await find_row(memory, session_name)
            return await memory.consent(region, row.session_id, mode, by=by, dry_run=app.dry_run)

    stands = app.run(work())
    if stands is not None:
        _print_mount(app, stands)
    elif app.as_json:
        app.term.data(None)
    else:
        app.term.line("the session does not mount it; `pagefault scopes mount` does")


@scopes.command("promote", help=f"""Copy a page of a session into a region.

    All parts of its text are copied, with origin, speaker and time. A page is copied once.

    {_BROUGHT}
    """)  # fmt: skip
@page_argument(metavar="PAGE")
@click.argument("region")
@session_option
@dry_run_option
@json_option
def promote(app: App, page_id: str, region: str, session_name: str | None) -> None:
    made = app.write(session_name, lambda s: s.promote(page_id, region, dry_run=app.dry_run))
    _print_brought(app, made)


@scopes.command("share", help=f"""Write a text into a region, as typed by the user.

    If TEXT is "-", it is read from stdin.

    {_BROUGHT}
    """)  # fmt: skip
@click.argument("region")
@click.argument("text")
@session_option
@click.option("--title", default="", help="Title of the text.")
@dry_run_option
@json_option
def share(app: App, region: str, text: str, session_name: str | None, title: str) -> None:
    text = _read_in() if text == "-" else text

    made = app.write(
        session_name, lambda s: s.share(text, region, title=title, dry_run=app.dry_run)
    )
    _print_brought(app, made)


def _read_in() -> str:
    """The text on stdin. Raises `BadInput`."""
    raw = sys.stdin.buffer.read(TEXT_BYTES + 1)
    if len(raw) > TEXT_BYTES:
        raise BadInput(f"standard input is larger than {TEXT_BYTES >> 20} MiB")
    try:
        return raw.decode("utf-8-sig").rstrip("\n")
    except UnicodeDecodeError:
        raise BadInput("standard input is not UTF-8 text") from None


@scopes.command("assign")
@session_option
@click.option("--project", metavar="NAME", help="Project of the session.")
@click.option("--user", metavar="NAME", help="User of the session.")
@dry_run_option
@json_option
def assign(app: App, session_name: str | None, project: str | None, user: str | None) -> None:
    """Assign a session to a user and a project, by which policies know it. Without either, show
    them.

    JSON: {session, session_id, project, user}.
    """
    is_set = project is not None or user is not None

    async def work() -> dict[str, str]:
        async with app.writing(dry_run=app.dry_run) if is_set else app.reading() as memory:
            row = await find_row(memory, session_name)
            if is_set:
                await memory.assign(row.session_id, project=project, user=user, dry_run=app.dry_run)
            was = await memory.assignment(row.session_id)
            told = [was[0] if project is None else project, was[1] if user is None else user]
            return {
                "session": row.called,
                "session_id": row.session_id,
                "project": told[0],
                "user": told[1],
            }

    told = app.run(work())
    if app.as_json:
        app.term.data(told)
    else:
        for name in ("session", "project", "user"):
            app.term.line(f"{name}: {told[name] or 'none'}")


# --- what is printed ----------------------------------------------------------------------------


def _for(one: Region) -> str:
    """The audience of a region, in a word or two."""
    match one.scope:
        case "project":
            return f"project {one.project}"
        case "user":
            return f"user {one.owner}"
        case _:
            return "all"


def _object(one: Region) -> dict[str, Any]:
    return asdict(one) | {"mounts": [_mount_object(mount, region=False) for mount in one.mounts]}


def _mount_object(one: Mount, *, region: bool) -> dict[str, Any]:
    told = {
        "session": one.session,
        "session_id": one.session_id,
        "mode": one.mode,
        "open": one.is_open,
        "why": one.why,
    }
    return {"region": one.region, **told} if region else told


def _print_region(app: App, one: Region) -> None:
    if app.as_json:
        app.term.data(_object(one))
        return
    told = {
        "region": one.name + (f", a fork of {one.fork_of}" if one.fork_of else ""),
        "for": _for(one),
        "owner": one.owner or "owner of this memory",
        "may read": ", ".join(one.read) or "nobody",
        "may write": ", ".join(one.write) or "nobody",
        "may promote": ", ".join(one.promote) or "nobody",
        "consent": one.consent,
        "pages": str(one.pages),
    }
    for name, value in told.items():
        app.term.line(f"{name}: {value}")
    for mount in one.mounts:
        app.term.line(f"{mount.session}: {mount.mode}, {_WHY.get(mount.why, 'open')}")


def _print_mount(app: App, one: Mount) -> None:
    if app.as_json:
        app.term.data(_mount_object(one, region=True))
    else:
        stands = _WHY.get(one.why, "open")
        app.term.line(f"{one.session} mounts {one.region}, {one.mode}: {stands}")


def _print_brought(app: App, one: Promotion) -> None:
    if app.as_json:
        app.term.data(asdict(one))
        return
    what = plural(len(one.sources) or len(one.pages) or 1, "page")
    ids = f" as {', '.join(one.pages)}" if one.pages else ""
    app.term.line(f"{what} to {one.region}{ids}, origin {one.origin}")
