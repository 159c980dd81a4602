"""`pagefault retention`: how long pages are kept."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from pagefault.cli.app import App, WithDefault, dry_run_with_help, find_kept, json_option, names_of
from pagefault.cli.term import plural
from pagefault.model.kinds import Kind

if TYPE_CHECKING:
    from pagefault.model.events import RetentionRule
    from pagefault.service.forget import Forgetting
    from pagefault.service.memory import Memory

_JSON = """JSON: {rules: [{keep, kind, session, session_id}], expired: [{session, session_id, pages,
    records, done}]}. `kind` and `session` are empty if a rule is for all; `expired` is what is past
    its time now."""


@click.group(cls=WithDefault, default="show")
def retention() -> None:
    """How long pages are kept, and which are past their time.

    A page's age counts from when it was written down. Pages past their time are forgotten, with
    everything derived from them, whenever the memory is opened for writing, within the hour while
    `serve` runs, and by `retention apply --yes`. Without a rule everything is kept for ever.
    """


_kind_option = click.option(
    "--kind", type=click.Choice([str(kind) for kind in Kind]), help="Only for pages of this kind."
)
_session_option = click.option(
    "--session",
    "session_name",
    metavar="NAME",
    help="Only for this session: full name or id, or region:NAME.",
)


@retention.command("show", help=f"""Show the rules, and what is past its time.

    {_JSON}
    """)  # fmt: skip
@json_option
def show(app: App) -> None:
    app.existing_directory()

    async def work() -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
        async with app.reading() as memory:
            rules = await memory.retention()
            return await _told(memory, rules, await memory.expire(dry_run=True))

    _print(app, *app.run(work()))


@retention.command("set", help=f"""Set how long pages are kept: 7d, 30d, 90d, any
    number of days, or forever; none removes the rule.

    The most specific rule applies: for a session and a kind, a session, a kind, or all.

    {_JSON}
    """)  # fmt: skip
@click.argument("keep", metavar="TIME")
@_kind_option
@_session_option
@dry_run_with_help("Only show what would then be past its time.")
@json_option
def set_(app: App, keep: str, kind: str | None, session_name: str | None) -> None:
    async def work() -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
        async with app.writing(dry_run=app.dry_run) as memory:
            session = await find_kept(memory, session_name) if session_name else ""
            rules = await memory.set_retention(
                None if keep.lower() == "none" else keep,
                kind=kind or "",
                session=session,
                dry_run=app.dry_run,
            )
            expired = await memory.expire(dry_run=True, rules=rules)
            return await _told(memory, rules, expired)

    _print(app, *app.run(work()))


@retention.command("apply", help=f"""Forget what is past its time, now.

    {_JSON}
    """)  # fmt: skip
@click.option(
    "--yes", is_flag=True, help="Forget it. Without --yes, only show what would be forgotten."
)
@json_option
def apply(app: App, yes: bool) -> None:
    app.existing_directory()

    async def work() -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
        async with app.writing(expire=False, dry_run=not yes) as memory:
            rules = await memory.retention()
            names = await names_of(memory)  # names before any is erased
            return _objects(names, rules, await memory.expire(dry_run=not yes))

    rules, expired = app.run(work())
    _print(app, rules, expired)
    if expired and not yes and not app.as_json:
        app.term.note("nothing was changed. To do it, which cannot be undone, pass --yes")


async def _told(
    memory: Memory, rules: Sequence[RetentionRule], expired: Sequence[Forgetting]
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    return _objects(await names_of(memory), rules, expired)


def _objects(
    names: dict[str, str], rules: Sequence[RetentionRule], expired: Sequence[Forgetting]
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    from pagefault.service.retention import told_days

    return (
        [
            {
                "keep": told_days(rule.days),
                "kind": rule.kind,
                "session": names.get(rule.session_id, rule.session_id),
                "session_id": rule.session_id,
            }
            for rule in rules
        ],
        [
            {
                "session": names.get(one.session_id, one.session_id),
                "session_id": one.session_id,
                "pages": list(one.pages),
                "records": one.records,
                "done": one.done,
            }
            for one in expired
        ],
    )


def _print(app: App, rules: list[dict[str, Any]], expired: list[dict[str, Any]]) -> None:
    term = app.term
    if app.as_json:
        term.data({"rules": rules, "expired": expired})
        return
    if rules:
        rows = [[one["keep"], one["kind"] or "any", one["session"] or "any"] for one in rules]
        term.table(["keep", "kind", "session"], rows)
    else:
        term.line("everything is kept forever")
    for one in expired:
        word = "forgotten" if one["done"] else "past its time"
        pages = plural(len(one["pages"]), "page")
        term.line(f"{word}: {pages} of {one['session']!r}")
