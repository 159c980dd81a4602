"""The report: a page for people that runs nothing, loads nothing and quotes no secret."""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from hashlib import sha256
from html.parser import HTMLParser

from pagefault import Session
from pagefault.service.bootstrap import open_memory
from pagefault.service.memory import Memory
from pagefault.views.picture import Picture, picture_of
from pagefault.views.report import render_report
from tests.service.memories import fault, words

NOW = datetime(2026, 3, 24, 18, 30, tzinfo=UTC)
HOSTILE = (
    "</style><script>steal()</script>",
    '"><img src=x onerror=steal()>',
    "<svg onload=steal()><a href='javascript:steal()'>",
    "{{ picture }} {% include 'report.css' %}",
    "\u202egnitsaw &lt;b&gt; \x1b[31m",
)


@asynccontextmanager
async def a_session(name: str = "workshop") -> AsyncIterator[tuple[Memory, Session]]:
    """Seven turns of which the first have left the window, one asked about; and a decision."""
    async with open_memory(":memory:", window=1_600) as memory:
        session = await memory.session(name)
        for number in range(7):
            hostile = HOSTILE[number % len(HOSTILE)]
            await session.user(
                f"We decided on oak number {number}. {hostile} {words(60, f'w{number}')}"
            )
            await session.request()
            await session.assistant(f"Noted {hostile} {number}.")
        await session.user(f"Which oak was first? {HOSTILE[0]}")
        await session.request()
        await session.call(fault("msg_1"))
        await session.request()
        await session.assistant(f"Number 0 [ref: msg_1] {HOSTILE[1]} [ref: msg_777].")
        yield memory, session


def rendered(picture: Picture) -> str:
    return render_report(
        picture, made_at=NOW, command="pagefault report", version="1.2.3", zone=UTC
    )


async def page_of(name: str = "workshop", clean: Callable[[str], str] = str) -> str:
    async with a_session(name) as (memory, session):
        return rendered(await picture_of(memory, session, clean=clean))


class Elements(HTMLParser):
    """The elements of a page, with their attributes, and its text."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.text += data


async def test_hostile_texts_are_shown_and_are_no_markup() -> None:
    page = Elements(await page_of("work <img src=x onerror=steal()>"))
    kinds = {tag for tag, _ in page.found}
    assert not kinds & {"script", "img", "a", "iframe", "link", "object", "form", "foreignobject"}
    for _, attributes in page.found:
        assert not [name for name in attributes if name.startswith("on") or name == "style"]
        assert not {"href", "src", "srcdoc", "action"} & attributes.keys()
    assert "steal()</script>" in page.text
    assert "{{ picture }}" in page.text


async def test_its_policy_allows_its_own_style_and_nothing_else() -> None:
    page = await page_of()
    [policy] = re.findall(r'Content-Security-Policy" content="([^"]+)"', page)
    [style] = re.findall(r"<style>(.*?)</style>", page, re.DOTALL)
    digest = b64encode(sha256(style.encode()).digest()).decode()
    assert policy.split("; ")[:2] == ["default-src 'none'", f"style-src 'sha256-{digest}'"]
    assert "http://" not in page
    assert "https://" not in page


async def test_it_tells_what_was_brought_back_and_which_citations_hold() -> None:
    page = Elements(await page_of())
    assert "Which oak was first?" in page.text
    assert "cites msg_777, which does not exist" in page.text
    async with a_session() as (memory, session):
        picture = await picture_of(memory, session, clean=str)
    assert [tag for tag, of in page.found if of.get("class") == "back"]
    assert re.search(r"\nmsg_1 · .*in the window 0–\d+; brought back \d+", page.text)
    [*_, answer] = picture.answers
    assert "msg_1" in {one.page_id for one in answer.brought}
    assert picture.answers_citing >= 1


async def test_claims_stand_with_the_words_that_say_so() -> None:
    async with a_session() as (memory, session):
        await session.user("We decided on the blue door for the hall. It was late.")
        await session.claim("blue", subject="door", evidence=["the blue door"])
        picture = await picture_of(memory, session, clean=str)
    [*_, claim] = picture.claims
    [span] = claim.evidence
    assert (span.words, span.page_id.startswith("msg_")) == ("the blue door", True)
    assert span.before.endswith("We decided on ")
    assert span.after.startswith(" for the hall.")
    assert "We decided on <mark>the blue door</mark> for the hall." in rendered(picture)


async def test_every_text_of_a_picture_goes_through_what_takes_secrets_out() -> None:
    page = await page_of("oak number", clean=lambda text: text.replace("oak", "***"))
    assert "***" in page
    assert "oak" not in page


async def test_the_same_picture_gives_the_same_bytes() -> None:
    async with a_session() as (memory, session):
        picture = await picture_of(memory, session, clean=str)
    assert rendered(picture) == rendered(picture)


async def test_a_session_that_has_said_nothing_has_a_report() -> None:
    async with open_memory(":memory:") as memory:
        session = await memory.session("empty")
        page = rendered(await picture_of(memory, session, clean=str))
    assert "Nothing has been sent yet." in page
    assert "Nothing was brought back." in page
