"""`pagefault bill`: what requests cost, and what they would have cost without a memory."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

import click

from pagefault.cli.app import App, Command, find_row, json_option, session_argument
from pagefault.cli.asking import period_options
from pagefault.cli.term import cut, plural
from pagefault.cli.when import after_ms, first_ms
from pagefault.model.errors import BadInput

if TYPE_CHECKING:
    from pagefault.pack.bill import Bill, BillPart, BillRow


@click.command(cls=Command)
@session_argument
@click.option(
    "--by",
    type=click.Choice(["session", "day", "model"]),
    default="session",
    show_default=True,
    help="Group rows by session, day (UTC) or model.",
)
@period_options("requests")
@click.option(
    "--price",
    "worth",
    metavar="[MODEL=]AMOUNT",
    multiple=True,
    help="Price of a million uncached input tokens, in your currency, for all models or "
    "for MODEL. May be repeated.",
)
@json_option
def bill(
    app: App,
    session_name: str | None,
    by: str,
    since: str | None,
    until: str | None,
    worth: tuple[str, ...],
) -> None:
    """Show what requests cost, and what they would have cost without pagefault.

    Of SESSION, or of all sessions. `without us` is the client's own whole history, sent each time
    to the same provider under the same caching rules: an estimate, explained in docs/bill.md. Costs
    are in effective input tokens (the cost of as many uncached ones); with --price also in money.
    Cached tokens are the provider's figures where it reported them, and estimates elsewhere.

    JSON: {by, prices: {MODEL: list}, rows: [{of, requests, unpriced, counted, estimated, tokens,
    cached_tokens, cached_share, cost, compared: {requests, tokens, cost}, without_tokens,
    without_cached_tokens, without_cached_share, without_cost, net, net_share, left_tokens,
    output_tokens, reported: {requests, tokens, cost, estimate}, rewritten, added, memory_calls,
    formation, impossible, misses: {WHY: …}, unmarked: {…, marking_saves}, marked_here: {…, saved},
    money, compared_money, without_money, net_money}], total}.
    """
    per_million = dict(map(_priced, worth))
    now = datetime.now().astimezone()

    async def read() -> Bill:
        async with app.reading() as memory:
            only = (await find_row(memory, session_name)).session_id if session_name else ""
            return await memory.bill(
                only,
                by=by,
                since=_moment(first_ms(since, now)) if since else "",
                until=_moment(after_ms(until, now)) if until else "",
                per_million=per_million,
            )

    told = app.run(read())
    if app.as_json:
        app.term.data(told.to_dict())
        return
    if not told.total.requests:
        app.term.note("no requests were sent yet, so there is nothing to bill")
        return
    _print(app, told, by)


_NUMBERS: Final = "requests tokens cost"
_SPARE: Final = ("requests", "tokens")


def _print(app: App, told: Bill, by: str) -> None:
    """The rows, the parts of their cost, and why caches were missed."""
    from pagefault.pack.bill import MISSES, PARTS
    from pagefault.service.lookup.names import brief

    total = told.total
    room = app.term.width // 3
    rows = [*told.rows, total] if len(told.rows) > 1 else told.rows
    names = ["total" if row is total else cut(brief(row.of), room) for row in rows]
    heads = [by, "requests", "sent", "cached", "cost", "compared", "without us", "cached", "saved"]
    columns = len(heads) if total.is_priced else 3  # the rest depends on prices
    app.term.table(
        heads[:columns],
        [_cells(row, name)[:columns] for row, name in zip(rows, names, strict=True)],
        right="requests sent cached cost compared without us saved",
        spare=("compared", "requests", "sent", "cached", "cached"),
    )
    app.term.line("")
    columns = 4 if total.is_priced else 3
    app.term.table(
        ["of the cost" if total.is_priced else "of that", "requests", "tokens", "cost"][:columns],
        [_part(words, getattr(total, name))[:columns] for name, words in PARTS.items()],
        right=_NUMBERS,
        spare=_SPARE,
    )
    if total.misses and total.is_priced:
        app.term.line("")
        missed = sorted(total.misses.items(), key=lambda one: -one[1].cost)
        app.term.table(
            ["sent before, but not read from the cache", "requests", "tokens", "cost"],
            [_part(MISSES.get(why, why.replace("_", " ")), of) for why, of in missed],
            right=_NUMBERS,
            spare=_SPARE,
        )
    for line in _notes(told):
        app.term.note(line)


def _priced(text: str) -> tuple[str, float]:
    model, _, amount = text.rpartition("=")
    try:
        return model.strip(), float(amount)
    except ValueError:
        raise BadInput(
            f"{text!r} is not a price", hint="--price 5, or --price gpt-5=1.25"
        ) from None


def _moment(at_ms: int) -> datetime:
    return datetime.fromtimestamp(at_ms / 1000, UTC)


def _cells(row: BillRow, name: str) -> list[str]:
    cost, compared, without = row.cost, row.compared.cost, row.without_cost
    money = (row.money, row.compared_money, row.without_money) if row.is_valued else None
    saved = "?"
    if row.is_priced:
        saved = f"{row.net:,.0f}" + (f" ({row.net / without:.0%})" if without else "")
        if money is not None:
            saved += f" = {money[2] - money[1]:,.2f}"
    told = [f"{one:,.0f}" if row.is_priced else "?" for one in (cost, compared, without)]
    if money is not None:
        told = [f"{one} = {worth:,.2f}" for one, worth in zip(told, money, strict=True)]
    return [
        name,
        f"{row.requests:,}",
        f"{row.tokens:,}",
        _share(row.cached_share),
        *told,
        _share(row.without_cached_share),
        saved,
    ]


def _share(share: float | None) -> str:
    return "?" if share is None else f"{share:.0%}"


def _part(name: str, part: BillPart) -> list[str]:
    return [name, f"{part.requests:,}", f"{part.tokens:,}", f"{part.cost:,.0f}"]


def _notes(told: Bill) -> list[str]:
    total = told.total
    priced = total.requests - total.unpriced
    notes = []
    if total.left_tokens:
        left = f"{total.left_tokens:,} tokens that clients sent were left out"
        notes.append(f"{left}, over all requests")
    if total.reported.requests:
        notes.append(
            f"the provider reported {plural(total.reported.requests, 'request')}: "
            f"{total.reported.cost:,.0f}, where {total.reported_estimate:,.0f} was predicted"
        )
    if total.estimated:
        notes.append(
            f"{total.estimated:,} of {plural(priced, 'request')} estimated: the provider reported "
            "no cache use"
        )
    if total.impossible.requests:
        notes.append(
            f"{plural(total.impossible.requests, 'request')} not compared, because the whole "
            f"history would not fit the model: {total.impossible.cost:,.0f}"
        )
    if total.unmarked.requests and total.marking_saves >= 1:
        notes.append(
            f"{plural(total.unmarked.requests, 'request')} without cache marks were not cached; "
            f"with marks they would have cost {total.marking_saves:,.0f} less (`serve --mark`)"
        )
    if total.marked_here.requests:
        notes.append(
            f"{plural(total.marked_here.requests, 'request')} got cache marks here: they cost "
            f"{total.marks_saved:,.0f} less, which is included in the savings"
        )
    if total.unpriced:
        notes.append(
            f"{plural(total.unpriced, 'request')} to models without known prices: only tokens are "
            "counted"
        )
        notes.append(
            "PAGEFAULT_PRICES gives all requests one price list: that of a model of `pagefault "
            "models`, or READ/WRITE, such as 0.1/1.25"
        )
    if total.is_priced:
        lists = sorted({f"{model or 'all'}: {name}" for model, name in told.prices.items()})
        notes.append(f"“without us” is always an estimate; prices: {', '.join(lists)}")
    return notes
