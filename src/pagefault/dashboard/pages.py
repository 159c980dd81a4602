"""The dashboard's pages: the feed's values in templates that escape every text."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import datetime
from functools import cache
from typing import TYPE_CHECKING, Final
from urllib.parse import quote

from pagefault import __version__
from pagefault.pack.bill import MISSES
from pagefault.views.charts import draw_map, draw_requests, draw_window
from pagefault.views.claim_drawing import draw_claims
from pagefault.views.claim_graph import descendants
from pagefault.views.feed import REQUESTS, Feed
from pagefault.views.shown import SEGMENT_WORDS, SessionCard, Spell

if TYPE_CHECKING:
    from jinja2 import Environment

PREFIX: Final = "/dashboard"
LISTED: Final = 40  # sessions listed beside each page
_MINUTE, _HOUR = 60, 3_600


class Pages:
    def __init__(self, now: Callable[[], datetime]) -> None:
        self._now = now

    async def first(self, feed: Feed) -> str:
        """The most recently used session that is not a fork."""
        cards = await feed.sessions(limit=LISTED)
        if not cards:
            return await self._page(feed, "empty.html", "No sessions yet")
        card = next((one for one in cards if not one.parent), cards[0])
        return await self.session(feed, card.session_id, None, None)

    async def session(self, feed: Feed, name: str, request: int | None, before: int | None) -> str:
        view = await feed.session(name)
        window = await feed.window(name, request)
        drawn = await feed.map(name, rows=0)
        lines = await feed.requests(name, before=before)
        legend = []
        if window is not None:
            legend = [
                (kind, words, window.tokens_of(kind))
                for kind, words in SEGMENT_WORDS.items()
                if window.tokens_of(kind)
            ]
        return await self._page(
            feed,
            "session.html",
            view.card.title,
            tab="",
            card=view.card,
            view=view,
            bill=view.bill,
            chart=draw_requests(drawn),
            columns=drawn.map.columns,
            window=window,
            strip=None if window is None else draw_window(window),
            legend=legend,
            is_newest=request is None,
            lines=lines,
            is_newest_page=before is None,
            older=lines[-1].number if lines and lines[-1].number else None,
            newer=None if before is None else before + REQUESTS,
        )

    async def map(self, feed: Feed, name: str) -> str:
        view, drawn = await feed.session(name), await feed.map(name)
        return await self._page(
            feed,
            "map.html",
            view.card.title,
            tab="map",
            card=view.card,
            picture=drawn,
            drawn=draw_map(drawn),
        )

    async def claims(self, feed: Feed, name: str) -> str:
        view, told = await feed.session(name), await feed.claims(name)
        return await self._page(
            feed,
            "claims.html",
            view.card.title,
            tab="claims",
            card=view.card,
            told=told,
            drawn=draw_claims(told.claims[::-1]),
            resting={one.claim_id: descendants(told.edges, one.claim_id) for one in told.claims},
        )

    async def page(self, feed: Feed, name: str, page_id: str) -> tuple[str, bool]:
        """Also whether there is a page of this id that can be read."""
        view, found = await feed.session(name), await feed.page(name, page_id)
        page = await self._page(
            feed, "page.html", page_id, tab="page", card=view.card, page_id=page_id, found=found
        )
        return page, found is not None

    async def search(self, feed: Feed, words: str) -> str:
        found = await feed.search(words) if words.strip() else []
        return await self._page(feed, "search.html", "Search", words=words, found=found)

    async def spend(self, feed: Feed, spell: Spell) -> str:
        bill = await feed.bill(spell)
        title = "Today" if spell is Spell.TODAY else "All time"
        titles = {one.name or one.session_id: one for one in await feed.sessions(limit=1_000)}
        return await self._page(
            feed,
            "spend.html",
            title,
            spell=str(spell),
            bill=bill.total,
            rows=sorted(bill.rows, key=lambda row: -row.tokens),
            cards=titles,
            prices=", ".join(sorted(set(bill.prices.values()))),
        )

    async def health(self, feed: Feed) -> str:
        return await self._page(feed, "health.html", "Health", health=await feed.health())

    async def reading(self, feed: Feed, share: float) -> str:
        """Placeholder while a long session is read for the first time."""
        return await self._page(feed, "reading.html", "Reading", read=share)

    def refusal(self, why: str, hint: str) -> str:
        template = _environment().get_template("refusal.html")
        return template.render(base=PREFIX, why=why, hint=hint, title="Not shown", now=self._now())

    async def _page(self, feed: Feed, template: str, title: str, **values: object) -> str:
        seq = await feed.seq()
        usual = {"tab": "", "card": None, "spell": "", "words": ""}
        return (
            _environment()
            .get_template(template)
            .render(
                {
                    **usual,
                    **values,
                    "base": PREFIX,
                    "title": title,
                    "sessions": await feed.sessions(limit=LISTED),
                    "seq": seq,
                    "now": self._now(),
                    "version": __version__,
                }
            )
        )


def _ago(at_ms: int, now: datetime) -> str:
    """A time relative to now, in words."""
    seconds = now.timestamp() - at_ms / 1000
    at = datetime.fromtimestamp(at_ms / 1000, now.tzinfo)
    if seconds < _MINUTE:
        return "just now"
    if seconds < _HOUR:
        return f"{seconds // _MINUTE:.0f} min ago"
    days = (now.date() - at.date()).days
    if days == 0:
        return f"{at:%H:%M}"
    if days == 1:
        return "yesterday"
    return f"{at.day} {at:%b}" if days < 300 else f"{at.day} {at:%b %Y}"


def _clock(at_ms: int, now: datetime) -> str:
    at = datetime.fromtimestamp(at_ms / 1000, now.tzinfo)
    return f"{at:%H:%M:%S}" if at.date() == now.date() else f"{at.day} {at:%b, %H:%M}"


def _code(text: str) -> list[tuple[str, bool]]:
    """The text in pieces, each with whether it was between backticks."""
    return [(one, bool(number % 2)) for number, one in enumerate(re.split("`", text)) if one]


def _place(card: SessionCard) -> str:
    return f"{PREFIX}/s/{quote(card.session_id, safe='')}"


@cache
def _environment() -> Environment:
    from pagefault.views.rendering import environment

    return environment(
        "pagefault.dashboard",
        "pagefault.views",
        ago=_ago,
        clock=_clock,
        code=_code,
        missed=lambda why: MISSES.get(why, why.replace("_", " ")),
        place=_place,
        segment=lambda value: quote(str(value), safe=""),
    )
