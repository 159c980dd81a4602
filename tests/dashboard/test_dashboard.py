"""The dashboard, over HTTP: it lets in who has its token, changes nothing, and runs nothing of what
it shows.
"""

from __future__ import annotations

import asyncio
import json
import shutil
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from html.parser import HTMLParser
from pathlib import Path

import httpx2
import pytest

from pagefault import Session
from pagefault.dashboard import pages
from pagefault.dashboard.app import Dashboard
from pagefault.proxy.listen import bound, run
from pagefault.service.bootstrap import open_memory
from pagefault.service.memory import Memory
from pagefault.views.feed import Feed
from tests.cli.test_serve import serving
from tests.dashboard.browser import CHROMIUM, browser
from tests.hostile import attacks
from tests.proxy.histories import body, user
from tests.proxy.test_faults_limits import until
from tests.proxy.upstream import Upstream, always
from tests.service.memories import fault, words
from tests.views.test_report import HOSTILE, page_of

TOKEN = "a-token-of-a-test-0123456789"
TURNS = 12  # so that the first have left the window
TURNS_ROUND = "\u202e"  # the direction of all that follows it
MARKS = ("</VM:CONTEXT>", "<|im_start|>", "<system-reminder>", "[INST] <<SYS>>")
ATTACKS = (
    *HOSTILE,
    *(one.text for one in attacks() if not one.language and any(m in one.text for m in MARKS)),
)


@dataclass(slots=True)
class Shown:
    url: str
    http: httpx2.AsyncClient
    memory: Memory
    session: Session
    page: Dashboard

    @property
    def address(self) -> str:
        return f"{self.url}/dashboard/?token={TOKEN}"

    async def get(self, path: str) -> httpx2.Response:
        return await self.http.get(
            f"{self.url}/dashboard{path}", headers={"x-pagefault-token": TOKEN}
        )


async def say(session: Session, number: int) -> None:
    text = ATTACKS[number % len(ATTACKS)]
    await session.user(f"We decided on oak number {number}. {text} {words(40, f'w{number}')}")
    await session.request()
    await session.assistant(f"Noted {text} {number}.")


@asynccontextmanager
async def shown(root: Path, *, turns: int = TURNS) -> AsyncIterator[Shown]:
    """A dashboard on a session of hostile texts, one of which was brought back."""
    async with (
        open_memory(root, window=1_600) as memory,
        open_memory(root, read_only=True) as read,
        httpx2.AsyncClient(timeout=300) as http,
    ):
        session = await memory.session(f"oak {TURNS_ROUND}{HOSTILE[1]}")
        for number in range(turns):
            await say(session, number)
        await session.user(f"Which oak was first? {HOSTILE[0]}")
        await session.request()
        await session.call(fault("msg_1"))
        await session.request()
        await session.assistant("Number 0 [ref: msg_1].")
        await session.claim(f"Oak {HOSTILE[2]}", evidence=["Which oak was first?"])
        listens: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        feed, is_wanted = Feed(read), True

        async def ready() -> Feed:
            return feed

        page = Dashboard(ready, token=TOKEN)
        with bound("127.0.0.1", 0) as listening:
            serving = asyncio.create_task(
                run(
                    page,
                    listening,
                    ready=listens.set_result,
                    leaving=page.stop,
                    is_wanted=lambda: is_wanted,
                )
            )
            try:
                yield Shown(await listens, http, memory, session, page)
            finally:
                is_wanted = False
                await serving
        await feed.aclose()


def paths_of(session_id: str) -> list[str]:
    of = f"/s/{session_id}"
    return [
        "/", "/today", "/all", "/health", "/search?q=oak", of, f"{of}?request=2", f"{of}?before=3",
        f"{of}/map", f"{of}/claims", f"{of}/pages/msg_1",
    ]  # fmt: skip


class Markup(HTMLParser):
    """What a page would have a browser do, and what it says."""

    def __init__(self) -> None:
        super().__init__()
        self.runs: list[str] = []
        self.text = self.page = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name.startswith("on") or name in ("style", "srcdoc", "srcset"):
                self.runs.append(f"{tag} {name}={value}")
            is_place = name in ("href", "src", "action", "xlink:href")
            if is_place and not (value or "").startswith(("/dashboard", "#")):
                self.runs.append(f"{tag} {name}={value}")
        if tag in ("img", "iframe", "object", "embed", "style", "base", "foreignobject"):
            self.runs.append(tag)
        if tag == "script" and dict(attrs).get("src") != "/dashboard/static/dashboard.js":
            self.runs.append(tag)

    def handle_data(self, data: str) -> None:
        self.text += data


async def markups(to: Shown) -> AsyncIterator[tuple[str, Markup]]:
    for path in paths_of(to.session.session_id):
        answer = await to.get(path)
        assert answer.status_code == 200, path
        read = Markup()
        read.feed(answer.text)
        read.page = answer.text
        yield path, read


async def test_no_hostile_text_does_anything_on_any_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with shown(tmp_path / "m", turns=len(ATTACKS)) as to:
        said = ""
        async for path, read in markups(to):
            assert read.runs == [], path
            assert TURNS_ROUND not in read.page, path
            said += read.text
        for text in (*HOSTILE[:3], *MARKS, "oak \\u202e"):
            assert text in said, "it is shown as the text that it is"
        # A page that escaped nothing would do what they say.
        pages._environment().autoescape = False
        pages._environment().finalize = None
        pages._environment().cache = None
        try:
            bare = [read async for _, read in markups(to)]
            runs = [one for read in bare for one in read.runs]
        finally:
            pages._environment.cache_clear()
        assert {"script", "img onerror=steal()", "svg onload=steal()"} <= set(runs)
        assert all(TURNS_ROUND in read.page for read in bare)


async def test_it_lets_in_who_has_the_token_from_this_machine_alone(tmp_path: Path) -> None:
    async with shown(tmp_path / "m", turns=1) as to:
        page = f"{to.url}/dashboard/"
        head, token = to.memory.records, {"x-pagefault-token": TOKEN}
        for path in ("", "api/sessions", "static/dashboard.js", "events"):
            for headers in ({}, {"x-pagefault-token": TOKEN[:-1]}, {"cookie": f"a={TOKEN}"}):
                assert (await to.http.get(page + path, headers=headers)).status_code == 401
            for headers, status in (
                ({"host": "evil.example"}, 421),
                ({"origin": "https://evil.example"}, 403),
                ({"origin": "null"}, 403),
                ({"sec-fetch-site": "cross-site"}, 403),
            ):
                answer = await to.http.get(page + path, headers=token | headers)
                assert answer.status_code == status, (path, headers)
        assert (await to.http.post(page, headers=token)).status_code == 405
        assert (await to.http.get(f"{page}?token=wrong")).status_code == 401
        entered = await to.http.get(to.address)
        assert (entered.status_code, entered.headers["location"]) == (303, "/dashboard")
        cookie = entered.headers["set-cookie"]
        assert "HttpOnly; SameSite=Strict; Path=/dashboard" in cookie
        kept = {"cookie": cookie.partition(";")[0]}
        answer = await to.http.get(page, headers=kept)
        assert answer.status_code == 200
        assert TOKEN not in answer.text
        policy = answer.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert to.memory.records == head


async def test_json_says_the_same_and_what_is_not_there_is_said(tmp_path: Path) -> None:
    async with shown(tmp_path / "m") as to:
        of = f"/api/s/{to.session.session_id}"
        [card] = (await to.get("/api/sessions")).json()
        assert (card["session_id"], card["requests"]) == (to.session.session_id, TURNS + 2)
        view = (await to.get(of)).json()
        assert (view["requests"], view["brought_back"]) == (TURNS + 2, 2)
        window = (await to.get(f"{of}/window?request={TURNS}")).json()
        assert window["brought"][0]["page"]["page_id"] == "msg_1"
        assert [one["number"] for one in (await to.get(f"{of}/requests?limit=2")).json()] == [
            TURNS + 1,
            TURNS,
        ]
        assert (await to.get(f"{of}/map?rows=2")).json()["map"]["messages"] == 2 * TURNS + 2
        assert (await to.get(f"{of}/claims")).json()["total"] >= 1
        assert (await to.get(f"{of}/pages/msg_2")).json()["text"].startswith("Noted")
        assert (await to.get("/api/search?q=oak")).json()
        assert (await to.get("/api/bill/all")).json()["total"]["requests"] == TURNS + 2
        assert (await to.get("/api/health")).json()["records"] == to.memory.records
        changes = (await to.get("/api/events?after=2&limit=2")).json()
        assert [one["seq"] for one in changes] == [3, 4]
        for path, status in (
            ("/api/nothing", 404), (f"{of}/pages/msg_99", 404), ("/api/s/nobody", 404),
            (f"{of}/window?request=99", 400), (f"{of}/window?request=x", 400), ("/nothing", 404),
        ):  # fmt: skip
            assert (await to.get(path)).status_code == status, path


async def test_what_is_gone_is_said_to_be_gone_in_each_form(tmp_path: Path) -> None:
    async with shown(tmp_path / "m", turns=1) as to:
        of = f"/s/{to.session.session_id}"
        for path, words in (
            (f"{of}/pages/msg_99", "This page does not exist"),
            ("/s/nobody", "nobody"),
        ):
            page = await to.get(path)
            assert page.status_code == (await to.get(f"/api{path}")).status_code == 404
            assert words in page.text
            assert page.headers["content-type"].startswith("text/html")
        mistyped = (await to.get(f"/api/s/{to.session.session_id[:-1]}")).json()
        assert f"did you mean {to.session.name!r}?" in mistyped["hint"]
        events = f"{to.url}/dashboard/events"
        async with to.http.stream("GET", events, headers={"x-pagefault-token": TOKEN}) as answer:
            shutil.rmtree(tmp_path / "m")
            assert "event: change" not in "".join([one async for one in answer.aiter_text()])
        paths = [*paths_of(to.session.session_id), "/api/health", "/api/sessions", f"/api{of}"]
        for path in paths:
            gone = await to.get(path)
            assert gone.status_code == 503, path
            assert "was deleted while open" in gone.text
            assert "restore the memory if you have a copy" in gone.text


async def test_a_record_is_told_of_as_it_is_written(tmp_path: Path) -> None:
    async with shown(tmp_path / "m", turns=1) as to:
        asked = to.http.stream(
            "GET", f"{to.url}/dashboard/events", headers={"x-pagefault-token": TOKEN}
        )
        async with asked as answer:
            assert answer.headers["content-type"] == "text/event-stream"
            lines = answer.aiter_lines()
            await anext(lines)
            await say(to.session, 1)
            async for line in lines:
                if line.startswith("data: "):
                    told = json.loads(line.removeprefix("data: "))
                    break
        assert told["sessions"] == [to.session.session_id]
        view = (await to.get(f"/api/s/{to.session.session_id}")).json()
        assert view["upto"] == to.memory.records >= told["seq"]


@pytest.mark.slow
@pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium on this machine")
async def test_a_browser_follows_live_by_slider_and_by_keys(tmp_path: Path) -> None:
    report = tmp_path / "report.html"
    report.write_text(await page_of(clean=lambda text: f"{text} {'W' * 3_000}"), encoding="utf-8")
    async with shown(tmp_path / "m") as to:
        loop = asyncio.get_running_loop()

        def wait(work: object) -> None:
            asyncio.run_coroutine_threadsafe(work, loop).result(300)  # type: ignore[arg-type]

        async def followed_by(count: int) -> None:
            await until(lambda: to.page._followers == count)

        def drive() -> None:
            with browser(tmp_path / "profile") as tab:
                tab.open(to.address)
                assert "token" not in tab.tell("location.href")
                window = "document.querySelector('#window').innerText"
                tab.until("document.querySelector('#live').textContent === 'live'")
                tab.until(f"{window}.startsWith('Window of request {TURNS + 1}')")
                wait(say(to.session, 9))
                for number in (TURNS + 2, TURNS + 1, TURNS):
                    tab.until(f"{window}.startsWith('Window of request {number}')")
                    tab.press("ArrowLeft" if number > TURNS else "x")
                assert tab.tell("document.querySelector('#part-window .id').textContent") == "msg_1"
                tab.tell(
                    "(s => { s.value = 2; s.dispatchEvent(new Event('input', {bubbles: true})) })"
                    "(document.querySelector('#request'))"
                )
                tab.until(f"{window}.startsWith('Window of request 2 ')")
                assert tab.tell("location.search") == "?request=2"
                wait(say(to.session, 10))  # who looks at the past stays there
                tab.until(f"document.querySelector('#request').max === '{TURNS + 3}'")
                assert tab.tell(window).startswith("Window of request 2 ")
                tab.press("/")
                assert tab.tell("document.activeElement.id") == "search"
                tab.open(f"{to.url}/dashboard/s/{to.session.session_id}/pages/msg_3")
                says = "document.querySelector('#part-page').innerText"
                assert "number 1." in tab.tell(says)
                tab.tell("document.querySelector('pre').focus()")
                tab.until("document.querySelector('#live').textContent === 'live'")
                wait(to.memory.forget(to.session, "msg_3"))  # no open page goes on showing it
                tab.until(f"{says}.includes('This page does not exist')")
                tab.open(f"{to.url}/dashboard/search?q=number+2")
                found = "document.querySelector('#part-found').innerText.includes('number 2.')"
                tab.until(found)
                wait(to.memory.forget(to.session, "msg_5"))
                tab.until(f"!{found}")
                tab.tell(
                    "window.more = [...Array(7)].map(() => open('/dashboard/', '', 'popup')); 0"
                )
                every = "more.every(one => one.document?.querySelector('#live')?.textContent"
                tab.until(f"{every} === 'live')")
                wait(say(to.session, 11))
                says = (
                    f"more.every(one => one.{window}.startsWith('Window of request {TURNS + 4}'))"
                )
                tab.until(says)
                assert to.page._followers == 1, "one of all windows has the stream"
                tab.tell("leave()")  # the next one has it
                wait(say(to.session, 12))
                tab.until(says.replace(str(TURNS + 4), str(TURNS + 5)))
                tab.tell("more.forEach(one => one.close()); follow()")
                wait(followed_by(1))
                for hidden in ("true", "false"):  # a tab that nobody sees holds no connection
                    tab.tell(
                        "Object.defineProperty(document, 'hidden', {configurable: true, value: "
                        f"{hidden}}}); document.dispatchEvent(new Event('visibilitychange'))"
                    )
                    wait(followed_by(int(hidden == "false")))
                for width in (1280, 400):
                    tab.open(f"{to.url}/dashboard/", width=width)
                    assert tab.tell("document.documentElement.scrollWidth") <= width
                    tables = "[...document.querySelectorAll('.scroll table')]"
                    assert tab.tell(f"{tables}.length") > 1
                    fits = "one => one.scrollWidth <= one.parentElement.clientWidth"
                    assert tab.tell(f"{tables}.every({fits})"), "nothing has to be scrolled to"
                    tab.open(report.as_uri(), width=width)
                    assert tab.tell("document.documentElement.scrollWidth") <= width
                gone = "404 (Not Found)"  # the page that was forgotten while it was open
                assert [one for one in tab.complaints if gone not in one] == []

        await asyncio.to_thread(drive)


@pytest.mark.slow
def test_a_proxy_has_it_beside_what_it_passes_on(tmp_path: Path) -> None:
    token = "a-token-of-a-client-0123"
    with (
        Upstream(always("Good day.")) as upstream,
        serving("--upstream", upstream.url, "--token", token, root=tmp_path / "m") as process,
    ):
        assert process.stderr is not None
        line = next(one for one in process.stderr if one.startswith("dashboard: "))
        address = line.removeprefix("dashboard: ").strip()
        url, _, key = address.partition("/?token=")
        client = {"x-pagefault-token": token}
        answer = httpx2.post(
            f"{url.removesuffix('/dashboard')}/v1/messages",
            json=body(user("hello")),
            headers=client,
            timeout=300,
        )
        assert answer.status_code == 200
        assert httpx2.get(f"{url}/", headers=client, timeout=300).status_code == 401
        cookies = httpx2.get(address, timeout=300).headers["set-cookie"].partition(";")[0]
        seen = {"cookie": cookies}
        with httpx2.stream("GET", f"{url}/events", headers=seen, timeout=300) as events:
            page = httpx2.get(f"{url}/", headers=seen, timeout=300).text
            assert "Window of request 0" in page
            process.send_signal(signal.SIGINT)
            assert list(events.iter_lines()), "it is told so that it ends"
            said = process.communicate(timeout=300)[1]
        assert process.returncode == 0
        assert len(upstream.seen) == 1, "nothing of it goes to a provider"
        assert key not in said
        assert "/dashboard" not in said, "it is no traffic, and not logged as any"
