"""`pagefault at`, `diff` and `history`: the mutation log, read back."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

import click

from pagefault.cli.app import (
    App,
    Command,
    called,
    complete_session,
    find_session,
    json_option,
    page_argument,
    page_named,
    session_argument,
)
from pagefault.cli.proxied import window_of
from pagefault.cli.term import iso, local, plural
from pagefault.cli.when import last_ms

if TYPE_CHECKING:
    from pagefault.service.inspection.timetravel import InWindow, Moment, Movement
    from pagefault.service.session import Session

_PAGE_ID: Final = re.compile(r"[a-z]+_[0-9]+")
WHEN = """WHEN is a turn (12: at its end), a record (seq:345), a checkpoint
    (checkpoint:NAME), or a time (2026-03-05T08:45, yesterday, "2 hours ago"): without a zone, by
    this computer's clock; for a day, its end."""


@click.command(
    cls=Command,
    help=f"""Show what the window held at some time.

    Without SESSION, in the last one used (forks and MCP notes excluded). {WHEN} Messages after the
    last request are among the pages, but not in its tokens.

    JSON: {{session, seq, turn, at, epoch, request, request_tokens, window_tokens, pinned, pages:
    [{{page_id, level, tokens, place}}], relayed}}; `place` is turn, recalled, core, summary, kept,
    faulted or stub. `relayed` is null, or the request that a proxy passed on.
    """,
)
@session_argument
@click.argument("when", metavar="WHEN", required=False)
@json_option
def at(app: App, session_name: str | None, when: str | None) -> None:
    named, when = _named("WHEN", session_name, when)

    async def read(session: Session) -> tuple[str, Moment]:
        return session.called, await _moment(session, when)

    name, moment = app.read(named, read)
    if app.as_json:
        app.term.data({"session": name} | _object(moment))
        return
    cells = map(_cells, moment.pages)
    app.term.table(["id", "level", "tokens", "place"], cells, right="tokens")
    app.term.note(f"{called(name)}, {_told(moment)}")


@click.command(
    cls=Command,
    help=f"""Show what changed in the window from A to B.

    Without SESSION, of the last one used (forks and MCP notes excluded). A and B are times as in
    `pagefault at`. {WHEN}

    JSON: {{session, before, after, tokens, epochs, entered: [page], left: [page], levels:
    [{{page_id, before, after}}]}}; `before` and `after` are as in `at --json` without its pages,
    and so is a page.
    """,
)
@session_argument
@click.argument("before", metavar="A", required=False)
@click.argument("after", metavar="B", required=False)
@json_option
def diff(app: App, session_name: str | None, before: str | None, after: str | None) -> None:
    from pagefault.service.inspection.timetravel import difference, page_dict

    named, before, after = _named("A and B", session_name, before, after)

    async def read(session: Session) -> tuple[str, Moment, Moment]:
        name = session.called
        return name, await _moment(session, before), await _moment(session, after)

    name, old, new = app.read(named, read)
    change = difference(old, new)
    if app.as_json:
        told = {"before": _object(old), "after": _object(new)}
        for one in told.values():
            del one["pages"]
        app.term.data(
            {"session": name}
            | told
            | {
                "tokens": change.tokens,
                "epochs": change.epochs,
                "entered": [page_dict(one) for one in change.entered],
                "left": [page_dict(one) for one in change.left],
                "levels": [
                    {"page_id": page_id, "before": int(was), "after": int(now)}
                    for page_id, was, now in change.levels
                ],
            }
        )
        return
    rows = [["+", *_cells(one)] for one in change.entered]
    rows += [["-", *_cells(one)] for one in change.left]
    rows += [["~", page_id, f"{was} → {now}", "", ""] for page_id, was, now in change.levels]
    if rows:
        app.term.table(["", "id", "level", "tokens", "place"], rows, right="tokens")
    app.term.note(f"{name}: from {_told(old)}")
    app.term.note(
        f"to {_told(new)}: {change.tokens:+,} tokens, {plural(max(change.epochs, 0), 'rewrite')}"
    )


@click.command(cls=Command)
@click.argument("session_name", metavar="SESSION", shell_complete=complete_session)
@page_argument(metavar="[PAGE]", required=False, default="")
@click.option(
    "--actor",
    type=click.Choice(["user", "model", "tool", "system"]),
    help="Only what this actor did.",
)
@json_option
def history(app: App, session_name: str, page_id: str, actor: str | None) -> None:
    """Everything that happened to a page, or to all pages, oldest first.

    SESSION may be left out before PAGE: then it is the last one used (forks and MCP notes
    excluded).

    Created, recalled, faulted at a level, evicted by an epoch, pinned, cited: with the record, the
    turn, the time, who did it, and the record that led to it.

    JSON: {session, page_id, movements: [{seq, turn, at, actor, actor_id, what, page_id, level, by,
    cause, tier_before, tier_after}]}; `by` is the page, epoch, request, query or reason that caused
    it, `actor_id` the tool or model that acted, null if unknown. The tier is where the page's
    content was: L0 in the window, L2 the log, L3 the blob store.
    """

    from pagefault.model.errors import NoSuchPage, SessionNotFound
    from pagefault.views.texts import rewrite_words

    async def read() -> tuple[str, str, list[Movement]]:
        async with app.reading() as memory:
            try:
                session, page = await find_session(memory, session_name), page_id
                found = await session.history(page, actor=actor or "")
            except SessionNotFound:
                if page_id:
                    raise
                # One argument may be a page of the session used last, as in `pages show 16`.
                session, page = await find_session(memory, None), page_named(session_name)
                try:
                    found = await session.history(page, actor=actor or "")
                except NoSuchPage:
                    if _PAGE_ID.fullmatch(page):
                        raise
                else:
                    return session.called, page, found
                raise
            return session.called, page, found

    name, page_id, found = app.run(read())
    if app.as_json:
        told = [_movement(one) for one in found]
        app.term.data({"session": name, "page_id": page_id or None, "movements": told})
        return
    if found:
        app.term.table(
            ["seq", "turn", "when", "actor", "what", "id", "level", "tier", "by"],
            [
                [
                    str(one.seq),
                    str(one.turn),
                    local(one.at_ms),
                    one.actor_id or str(one.actor),
                    one.what.replace("_", " "),
                    one.page_id,
                    "" if one.level is None else str(one.level),
                    _tiers(one),
                    rewrite_words(one.by),
                ]
                for one in found
            ],
            right="seq turn",
        )
    app.term.note(f"{plural(len(found), 'movement')} in {called(name)}")


def _named(wanted: str, session_name: str | None, *times: str | None) -> tuple[Any, ...]:
    """The session and the times. If the last time is missing, the session was left out: then it is
    None, and what was parsed as its name is the first time. `wanted` names the times in the error.
    """
    if times[-1] is not None:
        return session_name, *times
    given = (session_name, *times[:-1])
    if None in given:
        raise click.UsageError(f"Name {wanted}.")
    return None, *given


_TURN = re.compile(r"\d{1,15}")
_SEQ = re.compile(r"seq:(\d{1,15})")


async def _moment(session: Session, when: str) -> Moment:
    return await session.at(**time_of(when))


def time_of(when: str) -> dict[str, Any]:
    """The argument of `Session.at` for WHEN. Raises `BadInput`."""
    from pagefault.model.errors import BadInput

    if _TURN.fullmatch(when):
        return {"turn": int(when)}
    if seq := _SEQ.fullmatch(when):
        return {"seq": int(seq[1])}
    kind, colon, name = when.partition(":")
    if colon and kind == "checkpoint":
        return {"checkpoint": name}
    try:
        return {"time": last_ms(when, datetime.now(UTC))}
    except BadInput:
        raise BadInput(
            f"can't read {when!r} as a point in time",
            hint="a turn (12), a record (seq:345), a checkpoint (checkpoint:NAME), or a time "
            '(ISO 8601: 2026-03-05T08:45; or yesterday, "2 hours ago")',
        ) from None


def _told(moment: Moment) -> str:
    if moment.relayed is not None:
        sent = moment.relayed
        return (
            f"turn {moment.turn} (seq {moment.seq}), proxied; request {sent.request}: "
            f"{window_of(sent)}, {sent.messages:,} of {plural(sent.client_messages, 'message')}, "
            f"{plural(sent.hidden, 'page')} left out, {plural(len(sent.recalled), 'page')} quoted"
        )
    request = "before any request"
    if moment.request >= 0:
        request = (
            f"request {moment.request}: {moment.request_tokens:,} of "
            f"{moment.window_tokens:,} tokens"
        )
    shown = plural(len(moment.pages), "page")
    return f"turn {moment.turn} (seq {moment.seq}), epoch {moment.epoch}, {request}, {shown}"


def _object(moment: Moment) -> dict[str, Any]:
    from pagefault.service.inspection.timetravel import to_dict

    told = to_dict(moment)
    told["at"] = iso(told.pop("at_ms"))
    return told


def _movement(one: Movement) -> dict[str, Any]:
    return {
        "seq": one.seq,
        "turn": one.turn,
        "at": iso(one.at_ms),
        "actor": str(one.actor),
        "actor_id": one.actor_id or None,
        "what": one.what,
        "page_id": one.page_id,
        "level": one.level,
        "by": one.by,
        "cause": one.cause or None,
        "tier_before": one.tier_before,
        "tier_after": one.tier_after,
    }


def _tiers(one: Movement) -> str:
    """A page's move between tiers; empty if it stayed."""
    if one.tier_before == one.tier_after:
        return ""
    return f"{one.tier_before or ''} → {one.tier_after or ''}".strip()


def _cells(one: InWindow) -> list[str]:
    return [one.page_id, str(int(one.level)), f"{one.tokens:,}", one.place]
