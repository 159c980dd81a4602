"""`pagefault adopt`."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import click

from pagefault.cli.app import MAKE_ONE, App, Command, json_option
from pagefault.cli.term import local, plural


@click.command(cls=Command)
@click.argument("path", required=False, type=click.Path(path_type=Path))
@click.option(
    "--yes", is_flag=True, help="Trust it. Without --yes, only show what would be trusted."
)
@click.option("--revoke", is_flag=True, help="Stop trusting it: from now on, only read it.")
@json_option
def adopt(app: App, path: Path | None, yes: bool, revoke: bool) -> None:
    """Trust a memory that was made elsewhere, or by somebody else.

    A memory that was cloned, copied, restored from a backup or moved to another disk is read-only
    until you adopt it, and the decisions it records carry no authority. Without --yes this shows
    what is in it, and changes nothing. With --yes it is yours, on this machine and for this user:
    it may be written, its claims and standing rules are shown to the model, and its index is
    rebuilt. Without PATH, the memory that every command here uses.

    JSON: {done, root, root_id, adopted, was_adopted, sessions, records, claims (that would have
    your authority), archive (its location, or null), owner (a user's number), mode, made_ms (0 if
    unknown)}.
    """
    from pagefault.model.errors import BadInput
    from pagefault.service.adopt import adopt as adopt_root
    from pagefault.service.config import MEMORY
    from pagefault.store.embedded.root_file import check_there

    if str(path) == MEMORY:
        raise BadInput(f"a memory at {MEMORY} exists only while it is open", hint="name a folder")
    place = path if path is not None else app.directory()
    check_there(place, hint=MAKE_ONE)
    told = _told(app, place)
    if yes:
        made = adopt_root(place, revoke=revoke)
        told |= {"adopted": made.is_adopted, "was_adopted": made.was_adopted}
    told = {"done": yes} | told
    if app.as_json:
        app.term.data(told)
        return
    term = app.term
    state = "adopted" if told["adopted"] else "not adopted: it is only read"
    term.line(f"{told['root']}: {state}")
    if not yes:
        made_at = local(told["made_ms"]) if told["made_ms"] else "nobody knows when"
        owner = _user_called(told["owner"])
        term.line(f"  made {made_at}, owned by {owner}, mode {told['mode']}")
        sessions = plural(told["sessions"], "session")
        term.line(f"  {sessions}, {plural(told['records'], 'record')}")
        if told["archive"]:
            term.line(f"  its archive is at {told['archive']}")
        claims = plural(len(told["claims"]), "claim")
        term.line(f"  {claims} would stand with your authority" + (":" if told["claims"] else ""))
        for claim in told["claims"]:
            term.line(f"    {claim}")
        if revoke or not told["adopted"]:
            words = ["pagefault", "adopt", told["root"], *(["--revoke"] if revoke else []), "--yes"]
            term.line("nothing was changed. To do it:")
            term.line(f"  {shlex.join(words)}")


def _user_called(number: int) -> str:
    import pwd

    try:
        return f"{pwd.getpwuid(number).pw_name} (user {number})"
    except KeyError:
        return f"user {number}, who has no name here"


def _told(app: App, place: Path) -> dict[str, Any]:
    """A memory's contents and owner."""
    import os
    import stat

    from pagefault.model.errors import StoreIncompatible
    from pagefault.model.kinds import USERS
    from pagefault.service.adopt import facts_of, is_adopted
    from pagefault.service.bootstrap import open_memory
    from pagefault.store.embedded.archive import Archive
    from pagefault.store.embedded.facts import read_facts

    place = Path(os.path.realpath(place))
    facts, folder = facts_of(place), place.stat()
    made_ms = read_facts(place / "root.json").get("made_ms")
    archive = Archive(place / "log")

    async def look() -> tuple[int, int, list[str]]:
        async with open_memory(place, read_only=True) as memory:
            rows = await memory.sessions()
            claims: dict[str, None] = {}
            for row in rows:
                session = await memory.session(row.session_id, create=False)
                for one in await session.claims():
                    if one.status in ("standing", "untrusted") and one.origin in USERS:
                        claims[one.text] = None
            return len(rows), memory.records, list(claims)

    try:
        sessions, records, claims = app.run(look())
    except StoreIncompatible as other:  # its contents can be read once it is upgraded
        app.term.note(f"note: {other.message}; adopt it, then `pagefault upgrade`")
        sessions, records, claims = 0, 0, []
    adopted = is_adopted(place)
    return {
        "root": str(place),
        "root_id": facts.id,
        "adopted": adopted,
        "was_adopted": adopted,
        "sessions": sessions,
        "records": records,
        "claims": claims,
        "archive": str(archive.directory) if os.path.lexists(archive.given) else None,
        "owner": folder.st_uid,
        "mode": f"{stat.S_IMODE(folder.st_mode):04o}",
        "made_ms": made_ms if isinstance(made_ms, int) else 0,
    }
