"""What a proxied client said, once forgotten, cannot be told by trying: not from the files, and not
by sending it again to a copy.
"""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

import pagefault
from pagefault.proxy.history.history import Json
from tests.proxy.standing import KEY, standing
from tests.proxy.upstream import Upstream, always
from tests.service.traces import Files, digests, guesses

RIGHT = "7391"
OTHERS = ("0000", "1234", "7390", "9371")
NAMED = {"x-pagefault-session": "bank", "x-api-key": KEY}
NAMELESS = {"x-api-key": KEY}


@pytest.fixture
def upstream() -> Iterator[Upstream]:
    with Upstream(always("I shall not tell.")) as up:
        yield up


def conversation(pin: str, *, goes_on: bool) -> Json:
    messages = [{"role": "user", "content": f"My PIN is {pin}"}]
    if goes_on:
        messages.append({"role": "assistant", "content": "I shall not tell."})
        messages.append({"role": "user", "content": "Good."})
    return {"model": "m", "max_tokens": 100, "messages": messages}


async def talk(root: Path, upstream: Upstream, pin: str, headers: dict[str, str]) -> None:
    async with standing(upstream, root=root) as to:
        for goes_on in (False, True):
            answer = await to.http.post(
                "/v1/messages", json=conversation(pin, goes_on=goes_on), headers=headers
            )
            assert answer.status_code == 200
        await to.proxy.settled()


def _texts(pin: str) -> Iterator[str]:
    """The text, and plain digests of it, of which again others may be made."""
    text = f"My PIN is {pin}"
    for one in (text, f"user {text}", f"main user {text}"):
        digest = hashlib.sha256(one.encode()).hexdigest()
        yield from (one, digest, digest[:24], f"user {digest[:24]}", f"node {digest[:24]}")


async def forget(root: Path, *, whole: bool) -> None:
    async with pagefault.open(root, sync="os") as memory:
        [row] = await memory.sessions()
        session = await memory.session(row.session_id)
        first = (await memory.pages(session))[0].page_id
        await memory.forget(session, "" if whole else first)


@pytest.mark.parametrize("whole", [False, True])
@pytest.mark.parametrize("headers", [NAMED, NAMELESS], ids=["named", "nameless"])
async def test_no_function_of_a_guess_stands_in_the_root(
    tmp_path: Path, upstream: Upstream, headers: dict[str, str], *, whole: bool
) -> None:
    root = tmp_path / "m"
    await talk(root, upstream, RIGHT, headers)
    await forget(root, whole=whole)
    files = Files(root)
    for pin in (RIGHT, *OTHERS):
        for text in _texts(pin):
            assert not files.holding(digests(guesses(text), files.secret))


@pytest.mark.parametrize("whole", [False, True])
@pytest.mark.parametrize("headers", [NAMED, NAMELESS], ids=["named", "nameless"])
async def test_sending_a_guess_again_to_a_copy_tells_nothing(
    tmp_path: Path, upstream: Upstream, headers: dict[str, str], *, whole: bool
) -> None:
    root = tmp_path / "m"
    await talk(root, upstream, RIGHT, headers)
    await forget(root, whole=whole)
    answers = set()
    for pin in (RIGHT, *OTHERS):
        copy = tmp_path / pin
        shutil.copytree(root, copy)
        await talk(copy, upstream, pin, headers)
        async with pagefault.open(copy, read_only=True) as memory:
            rows = await memory.sessions()
            pages = tuple(sorted(row.pages for row in rows))
            answers.add((len(rows), pages, (await memory.verify()).records))
    assert len(answers) == 1, "the right one is told from the others"
