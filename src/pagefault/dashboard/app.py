"""The dashboard as an ASGI application: pages, the same data as JSON, and a stream of changes.

Invariants:
 (1) Nothing is served without the token, and only GET and HEAD are answered: nothing here changes
     anything.
 (2) Host and Origin must name this machine, so a web page cannot read it by DNS rebinding.
 (3) Every page works without a script, and none loads or runs anything but this package's files.
"""

from __future__ import annotations

import asyncio
import hmac
import json
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import aclosing, suppress
from dataclasses import dataclass, replace
from datetime import datetime
from importlib.resources import files
from typing import Any, Final
from urllib.parse import parse_qs, quote, unquote, urlencode

from pagefault.dashboard.pages import PREFIX, Pages
from pagefault.engine.endpoint import is_of_this_machine, origin_is_of_this_machine
from pagefault.model.errors import BadInput, NoSuchPage, PagefaultError, SessionNotFound
from pagefault.views.feed import Feed, StillReading
from pagefault.views.shown import NewRecord, Spell, plain

Scope = Mapping[str, Any]
Receive = Callable[[], Awaitable[Mapping[str, Any]]]
Send = Callable[[Mapping[str, Any]], Awaitable[None]]

TOKEN_HEADER: Final = "x-pagefault-token"
WORDS_MAX: Final = 500  # characters of a search
LIMIT_MAX: Final = 1_000
FOLLOWERS_MAX: Final = 32  # open streams
_STATIC: Final = {"dashboard.css": "text/css", "dashboard.js": "text/javascript"}
_DRAWINGS: Final = ("drawing.css", "claims.css")
_HTML: Final = "text/html; charset=utf-8"
_RETRY: Final = ((b"retry-after", b"1"),)
_HEADERS: Final = (
    (
        b"content-security-policy",
        b"default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; "
        b"form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    ),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"cache-control", b"no-store"),
)


class Refused(Exception):
    """Raised to send an error answer instead."""

    def __init__(self, status: int, why: str, hint: str = "", *, page: str = "") -> None:
        """`page` is HTML that says it already."""
        super().__init__(why)
        self.status, self.why, self.hint, self.page = status, why, hint, page


@dataclass(frozen=True, slots=True)
class HttpAnswer:
    body: bytes
    kind: str = _HTML
    status: int = 200
    headers: tuple[tuple[bytes, bytes], ...] = ()


@dataclass(frozen=True, slots=True)
class HttpRequest:
    """An admitted request: the parts of its path after `PREFIX`, and its query."""

    parts: tuple[str, ...]
    query: Mapping[str, str]

    def number(self, name: str) -> int | None:
        told = self.query.get(name, "")
        if not told:
            return None
        if not (told.isascii() and told.isdecimal() and len(told) < 12):
            raise Refused(400, f"{name} is a number, not {told[:40]!r}")
        return int(told)

    def limit(self, usual: int) -> int:
        return max(1, min(self.number("limit") or usual, LIMIT_MAX))


class Dashboard:
    """For the memory's event loop. `feed` returns the feed, opened on first use; `token` grants
    access.
    """

    def __init__(
        self,
        feed: Callable[[], Awaitable[Feed]],
        *,
        token: str,
        now: Callable[[], datetime] = lambda: datetime.now().astimezone(),
    ) -> None:
        assert token, "nobody is let in without one"
        self._feed = feed
        self._token = token
        self._pages = Pages(now)
        self._stopping = asyncio.Event()
        self._followers = 0

    @staticmethod
    def takes(path: str) -> bool:
        """Whether the dashboard handles this path."""
        return path == PREFIX or path.startswith(f"{PREFIX}/")

    def stop(self) -> None:
        """End the open streams, because the server is about to stop."""
        self._stopping.set()

    async def warm(self) -> None:
        """Do in advance what the first page would wait for, such as loading the tokenizer's
        vocabulary.
        """
        with suppress(PagefaultError, StillReading):
            await self._page(HttpRequest((), {}))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        headers = {
            name.decode("latin-1").lower(): value.decode("latin-1")
            for name, value in scope["headers"]
        }
        is_json = scope["path"].startswith(f"{PREFIX}/api/")
        try:
            answer = await self._answer(scope, headers, receive, send)
        except Refused as refused:
            answer = self._refusal(refused, is_json=is_json)
        except StillReading as reading:
            if is_json:
                told = {"error": str(reading), "read": round(reading.share, 4)}
                answer = HttpAnswer(json.dumps(told).encode(), "application/json", 503, _RETRY)
            else:
                page = await self._pages.reading(await self._feed(), reading.share)
                answer = HttpAnswer(page.encode(), status=503, headers=_RETRY)
        except SessionNotFound as missing:
            answer = self._refusal(Refused(404, missing.message, missing.hint), is_json=is_json)
        except NoSuchPage as missing:
            answer = self._refusal(Refused(404, missing.message), is_json=is_json)
        except BadInput as wrong:
            answer = self._refusal(Refused(400, wrong.message, wrong.hint), is_json=is_json)
        except PagefaultError as failed:
            answer = self._refusal(Refused(503, failed.message, failed.hint), is_json=is_json)
        if answer is not None:
            await _send(send, answer, with_body=scope["method"] != "HEAD")

    async def _answer(
        self, scope: Scope, headers: Mapping[str, str], receive: Receive, send: Send
    ) -> HttpAnswer | None:
        """The answer; None if it was already sent."""
        if not is_of_this_machine(headers.get("host", ""), scope["http_version"]):
            raise Refused(421, "the dashboard answers only to this machine's names")
        if not origin_is_of_this_machine(headers.get("origin")):
            raise Refused(403, "other websites may not read the dashboard")
        if scope["method"] not in ("GET", "HEAD"):
            raise Refused(405, "the dashboard is read-only: use GET")
        query = {
            name: values[-1]
            for name, values in parse_qs(scope["query_string"].decode("latin-1")).items()
        }
        parts = tuple(unquote(one) for one in _raw_path(scope)[len(PREFIX) :].split("/") if one)
        cookie = _cookie(scope)
        if "token" in query:
            return self._let_in(query.pop("token"), cookie, parts, query)
        given = headers.get(TOKEN_HEADER, "") or _cookies(headers.get("cookie", "")).get(cookie, "")
        if not self._is_token(given):
            raise Refused(
                401,
                "This page wants a token.",
                "Open the address that `pagefault dashboard` or `pagefault serve` printed.",
            )
        if headers.get("sec-fetch-site") == "cross-site":
            raise Refused(403, "other websites may not read the dashboard")
        asked = HttpRequest(parts, query)
        match parts:
            case ("static", name) if name in _STATIC:
                return _static(name)
            case ("events",):
                await self._follow(asked, headers, receive, send)
                return None
            case ("api", *rest):
                value = await self._value(replace(asked, parts=tuple(rest)))
                return HttpAnswer(json.dumps(plain(value)).encode(), "application/json")
            case _:
                return HttpAnswer((await self._page(asked)).encode())

    def _is_token(self, given: str) -> bool:
        return hmac.compare_digest(given.encode("utf-8", "replace"), self._token.encode())

    def _let_in(
        self, given: str, cookie: str, parts: tuple[str, ...], query: Mapping[str, str]
    ) -> HttpAnswer:
        """Store the token in a cookie that no script and no other site can read, and drop it from
        the address bar.
        """
        if not self._is_token(given):
            raise Refused(401, "This token is not, or no longer, the right one.")
        place = "/".join((PREFIX, *(quote(one, safe="") for one in parts)))
        place += f"?{urlencode(query)}" if query else ""
        kept = f"{cookie}={self._token}; HttpOnly; SameSite=Strict; Path={PREFIX}"
        headers = ((b"location", place.encode()), (b"set-cookie", kept.encode()))
        return HttpAnswer(b"", status=303, headers=headers)

    def _refusal(self, refused: Refused, *, is_json: bool) -> HttpAnswer:
        if is_json:
            told = {"error": refused.why, "hint": refused.hint}
            return HttpAnswer(json.dumps(told).encode(), "application/json", refused.status)
        page = refused.page or self._pages.refusal(refused.why, refused.hint)
        return HttpAnswer(page.encode(), status=refused.status)

    # --- pages --------------------------------------------------------------------------------

    async def _page(self, asked: HttpRequest) -> str:
        feed, pages = await self._feed(), self._pages
        match asked.parts:
            case ():
                return await pages.first(feed)
            case ("today",):
                return await pages.spend(feed, Spell.TODAY)
            case ("all",):
                return await pages.spend(feed, Spell.ALL)
            case ("health",):
                return await pages.health(feed)
            case ("search",):
                return await pages.search(feed, asked.query.get("q", "")[:WORDS_MAX])
            case ("s", session):
                at, before = asked.number("request"), asked.number("before")
                return await pages.session(feed, session, at, before)
            case ("s", session, "map"):
                return await pages.map(feed, session)
            case ("s", session, "claims"):
                return await pages.claims(feed, session)
            case ("s", session, "pages", page_id):
                page, is_found = await pages.page(feed, session, page_id)
                if not is_found:
                    raise Refused(404, _no_page(page_id), page=page)
                return page
        raise Refused(404, "There is no such page of the dashboard.")

    # --- JSON ---------------------------------------------------------------------------------

    async def _value(self, asked: HttpRequest) -> Any:
        feed = await self._feed()
        match asked.parts:
            case ("sessions",):
                return await feed.sessions(limit=asked.limit(50))
            case ("health",):
                return await feed.health()
            case ("search",):
                words = asked.query.get("q", "")[:WORDS_MAX]
                return await feed.search(words, limit=asked.limit(20)) if words.strip() else []
            case ("bill", "today" | "all" as spell):
                bill = await feed.bill(Spell(spell))
                return bill.to_dict()
            case ("events",):
                return await feed.changes(asked.number("after") or 0, limit=asked.limit(200))
            case ("s", session):
                return await feed.session(session)
            case ("s", session, "requests"):
                before, limit = asked.number("before"), asked.limit(30)
                return await feed.requests(session, before=before, limit=limit)
            case ("s", session, "window"):
                return await feed.window(session, asked.number("request"))
            case ("s", session, "map"):
                return await feed.map(session, rows=max(1, asked.number("rows") or 400))
            case ("s", session, "claims"):
                return await feed.claims(session, limit=asked.limit(120))
            case ("s", session, "pages", page_id):
                found = await feed.page(session, page_id)
                if found is None:
                    raise Refused(404, _no_page(page_id))
                return found
        raise Refused(404, "not found")

    # --- what changes -------------------------------------------------------------------------

    async def _follow(
        self, asked: HttpRequest, headers: Mapping[str, str], receive: Receive, send: Send
    ) -> None:
        """Server-sent events (WHATWG HTML § 9.2): `change`, whose id is the last record covered."""
        if self._followers >= FOLLOWERS_MAX:
            raise Refused(503, "too many dashboard pages are open")
        last = headers.get("last-event-id", "")
        after = int(last) if last.isascii() and last.isdecimal() and len(last) < 12 else None
        after = asked.number("after") if after is None else after
        feed = await self._feed()
        self._followers += 1
        try:
            start = [(b"content-type", b"text/event-stream"), *_HEADERS]
            await send({"type": "http.response.start", "status": 200, "headers": start})
            leaving = asyncio.create_task(self._left(receive))
            try:
                async with aclosing(_events(feed, after)) as events:
                    while True:
                        event = asyncio.ensure_future(anext(events))
                        await asyncio.wait((event, leaving), return_when=asyncio.FIRST_COMPLETED)
                        if leaving.done():
                            event.cancel()
                            await asyncio.gather(event, return_exceptions=True)
                            break
                        try:
                            body = event.result()
                        except PagefaultError:  # a page says it: this answer has begun
                            break
                        await send({"type": "http.response.body", "body": body, "more_body": True})
            finally:
                leaving.cancel()
            await send({"type": "http.response.body", "body": b"", "more_body": False})
        finally:
            self._followers -= 1

    async def _left(self, receive: Receive) -> None:
        """Wait until the client disconnects, or the streams are ended."""
        stopping = asyncio.create_task(self._stopping.wait())
        try:
            while True:
                gone = asyncio.ensure_future(receive())
                await asyncio.wait((gone, stopping), return_when=asyncio.FIRST_COMPLETED)
                if stopping.done() or gone.result()["type"] == "http.disconnect":
                    gone.cancel()
                    return
        finally:
            stopping.cancel()


async def _events(feed: Feed, after: int | None) -> AsyncGenerator[bytes]:
    yield b"retry: 2000\n\n"
    async with aclosing(feed.follow(after)) as changes:
        async for told in changes:
            yield _event(told) if told else b": still here\n\n"


def _event(told: list[NewRecord]) -> bytes:
    data = {
        "seq": told[-1].seq,
        "at_ms": told[-1].at_ms,
        "sessions": sorted({one.session_id for one in told if one.session_id}),
        "records": len(told),
    }
    return f"id: {told[-1].seq}\nevent: change\ndata: {json.dumps(data)}\n\n".encode()


def _no_page(page_id: str) -> str:
    return f"page {page_id} does not exist or cannot be read"


def _static(name: str) -> HttpAnswer:
    """A static file of this package; the drawings' style sheets come before the rest."""
    data = (files("pagefault.dashboard") / "static" / name).read_bytes()
    if name == "dashboard.css":
        drawings = files("pagefault.views") / "templates"
        data = b"".join((drawings / one).read_bytes() for one in _DRAWINGS) + data
    return HttpAnswer(data, f"{_STATIC[name]}; charset=utf-8")


def _raw_path(scope: Scope) -> str:
    raw: bytes = scope.get("raw_path") or quote(scope["path"]).encode()
    return raw.decode("latin-1").partition("?")[0]


def _cookie(scope: Scope) -> str:
    """The cookie's name, with the port: browsers share cookies among a machine's ports."""
    return f"pagefault_dashboard_{(scope.get('server') or ('', 0))[1]}"


def _cookies(header: str) -> dict[str, str]:
    pairs = (one.partition("=") for one in header.split(";"))
    return {name.strip(): value.strip() for name, _, value in pairs}


async def _send(send: Send, answer: HttpAnswer, *, with_body: bool) -> None:
    headers = [
        (b"content-type", answer.kind.encode()),
        (b"content-length", str(len(answer.body)).encode()),
        *answer.headers,
        *_HEADERS,
    ]
    await send({"type": "http.response.start", "status": answer.status, "headers": headers})
    body = answer.body if with_body else b""
    await send({"type": "http.response.body", "body": body, "more_body": False})
