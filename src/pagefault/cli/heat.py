"""`pagefault heat`: hot, warm and cold items of a session, and moving them by hand."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import click

from pagefault.cli.app import (
    App,
    WithDefault,
    complete_page,
    completer,
    dry_run_option,
    json_option,
    number_option,
    numbered,
    session_argument,
    session_option,
)
from pagefault.cli.term import plural
from pagefault.cli.wording import KEY, LIMIT

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pagefault.service.derived.heat import HeatItem

TYPES = ["message", "fact", "decision", "entity", "context"]
_type_option = click.option(
    "--type",
    "types",
    type=click.Choice(TYPES),
    multiple=True,
    help="Only items of this type. May be repeated.",
)


_complete_hot = completer("items")


@click.group(cls=WithDefault, default="status")
def heat() -> None:
    """Hot, warm and cold memory of a session: what every request shows, and what has cooled."""


@heat.command("status")
@session_argument
@json_option
def status(app: App, session_name: str | None) -> None:
    """Show how full hot, warm and cold memory are, with suggestions.

    JSON: {sessionId, hot: {items, tokens, limit, utilizationPercent}, warm: {items, tokens}, cold,
    archived, suggestions: [{type (spill, recall or prune), reason, itemIds}]}.
    """

    told = app.read(session_name, lambda s: s.heat_status())
    if app.as_json:
        app.term.data(told.as_dict())
        return
    app.term.table(
        ["heat", "items", "tokens"],
        [[str(h), f"{told.items[h]:,}", f"{told.tokens[h]:,}"] for h in told.items],
        right="items tokens",
    )
    app.term.note(f"hot: {told.utilisation_percent:g}% of {told.limit:,} tokens")
    for one in told.suggestions:
        app.term.note(f"{one['type']}: {one['reason']} ({', '.join(one['itemIds'])})")


@heat.command("hot")
@session_argument
@json_option
def hot(app: App, session_name: str | None) -> None:
    """List hot items, newest first.

    JSON is a list of items: {id, sessionId, content, type, tier, accessCount, lastAccessedAt,
    createdAt, relevanceScore, tokens, origin, area, metadata, quarantined}.
    """

    told = app.read(session_name, lambda s: s.heat_hot())
    if app.as_json:
        app.term.data([item.as_dict() for item in told])
        return
    _print(app, told)
    app.term.note(plural(len(told), "item"))


@heat.command("add")
@click.argument("text")
@session_option
@click.option(
    "--type",
    "type_",
    type=click.Choice(TYPES),
    default="context",
    show_default=True,
    help="Type of the item.",
)
@click.option("--metadata", metavar="JSON", default="", help="JSON object to store with the item.")
@click.option("--key", default="", help=KEY)
@dry_run_option
@json_option
def add(app: App, text: str, session_name: str | None, type_: str, metadata: str, key: str) -> None:
    """Add TEXT as a hot item, which every request shows. The least needed items make room for it.

    JSON: one item of `heat hot`.
    """
    given = _object(metadata) if metadata else {}
    item = app.write(
        session_name,
        lambda s: s.heat_add(text, type=type_, metadata=given, key=key, dry_run=app.dry_run),
    )
    if app.as_json:
        app.term.data(item.as_dict())
    else:
        app.term.line(f"{item.id} {'would be' if app.dry_run else 'is'} {item.tier}")


@heat.command("spill")
@click.argument("item_ids", metavar="[ID]...", nargs=-1, shell_complete=_complete_hot)
@session_option
@number_option("--count", 4, "Move this many items, least needed first, if no ID is given.")
@dry_run_option
@json_option
def spill(app: App, item_ids: tuple[str, ...], session_name: str | None, count: int) -> None:
    """Move items out of hot memory: these, or the --count least needed.

    JSON: {spilledCount, spilledIds, targetTier (warm or cold, where most went), targets}.
    """
    told = app.write(
        session_name, lambda s: s.heat_spill(item_ids, count=count, dry_run=app.dry_run)
    )
    if app.as_json:
        app.term.data(told.as_dict())
        return
    for page_id, to in told.spilled.items():
        app.term.line(f"{page_id} {'would go' if app.dry_run else 'went'} to {to}")
    app.term.note(plural(len(told.spilled), "item"))


@heat.command("recall")
@click.argument("query")
@session_option
@click.option("--limit", type=click.IntRange(min=0), default=3, show_default=True, help=LIMIT)
@_type_option
@click.option(
    "--min-relevance",
    type=click.FloatRange(0, 1),
    default=0.0,
    show_default=True,
    help="Lowest relevance of a result, 0 to 1.",
)
@click.option(
    "--no-promote", is_flag=True, help="Leave items where they are, however often they are used."
)
@dry_run_option
@json_option
def recall(
    app: App,
    query: str,
    session_name: str | None,
    limit: int,
    types: tuple[str, ...],
    min_relevance: float,
    no_promote: bool,
) -> None:
    """Find warm and cold items that bear on QUERY; those used often become hot.

    JSON: {items, promoted, relevanceScores}, with items as in `heat hot`.
    """
    told = app.write(
        session_name,
        lambda s: s.heat_recall(
            query,
            limit=limit,
            types=types,
            auto_promote=False if no_promote else None,
            min_relevance=min_relevance,
            dry_run=app.dry_run,
        ),
    )
    if app.as_json:
        app.term.data(told.as_dict())
        return
    _print(app, told.items)
    if not told.items:
        app.term.note("no warm or cold items match")
    for page_id in told.promoted:
        app.term.note(f"{page_id} {'would be' if app.dry_run else 'is'} hot now")


@heat.command("promote")
@click.argument("item_id", metavar="ID", callback=numbered, shell_complete=complete_page)
@session_option
@dry_run_option
@json_option
def promote(app: App, item_id: str, session_name: str | None) -> None:
    """Make an item, or any page of the session, hot.

    JSON: one item of `heat hot`.
    """
    item = app.write(session_name, lambda s: s.heat_promote(item_id, dry_run=app.dry_run))
    if app.as_json:
        app.term.data(item.as_dict())
    else:
        app.term.line(f"{item.id} {'would be' if app.dry_run else 'is'} {item.tier}")


@heat.command("prune")
@click.argument("item_ids", metavar="[ID]...", nargs=-1)
@session_option
@click.option(
    "--count",
    type=click.IntRange(min=0),
    default=0,
    help="Archive this many cold items, least needed first.",
)
@dry_run_option
@json_option
def prune(app: App, item_ids: tuple[str, ...], session_name: str | None, count: int) -> None:
    """Archive items: they are kept and searchable, but `heat recall` no longer finds them.

    JSON: {archivedCount, archivedIds}.
    """
    gone = app.write(
        session_name, lambda s: s.heat_prune(item_ids, count=count, dry_run=app.dry_run)
    )
    if app.as_json:
        app.term.data({"archivedCount": len(gone), "archivedIds": gone})
    else:
        app.term.line(f"{plural(len(gone), 'item')} {'would be ' if app.dry_run else ''}archived")


def _print(app: App, items: Sequence[HeatItem]) -> None:
    if items:
        app.term.table(
            ["id", "heat", "type", "used", "relevance", "says"],
            [
                [
                    item.id,
                    item.tier,
                    item.type,
                    f"{item.access_count:,}",
                    f"{item.relevance_score:.2f}",
                    item.content,
                ]
                for item in items
            ],
            right="used relevance",
        )


def _object(text: str) -> dict[str, Any]:
    from pagefault.model.errors import BadInput

    try:
        told = json.loads(text)
    except (ValueError, RecursionError):
        told = None
    if not isinstance(told, dict):
        raise BadInput("--metadata is not a JSON object", hint='give one such as {"ticket": 7}')
    return told
