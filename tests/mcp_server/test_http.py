"""`/mcp` of `pagefault serve`, as a process on loopback: who is let in, and what each reads."""

from __future__ import annotations

import json
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from subprocess import DEVNULL, PIPE
from typing import TYPE_CHECKING, Any

import httpx2
import pytest

from pagefault.cli.outcome import run
from tests import warm
from tests.integrations.frameworks import needs
from tests.mcp_server.memories import data, refused
from tests.proxy.upstream import Upstream, always

if TYPE_CHECKING:
    from mcp import Client

pytestmark = needs("mcp", "the package mcp")

WAIT_S = 300
TOKENS = {"ann": "ann-0123456789abcdef", "bob": "bob-0123456789abcdef"}
SAID = {
    "ann": "We decided to heat the greenhouse with wood chips.",
    "bob": "The orchard is heated with straw from Aalen.",
}
LIST = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}
TAKES = {"accept": "application/json, text/event-stream"}


@dataclass
class Serving:
    url: str
    http: httpx2.Client

    def tell(self, user: str) -> None:
        """Have a client of this user say something by way of the proxy."""
        body = {"model": "scripted", "messages": [{"role": "user", "content": SAID[user]}]}
        answer = self.http.post(
            f"{self.url}/v1/chat/completions",
            json=body,
            headers={"x-pagefault-token": TOKENS[user], "x-pagefault-session": "talk"},
        )
        assert answer.status_code == 200

    def post(self, **headers: str) -> httpx2.Response:
        return self.http.post(f"{self.url}/mcp", json=LIST, headers=TAKES | headers)


@pytest.fixture(scope="module")
def serving(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    with served(tmp_path_factory.mktemp("serving")) as one:
        yield one


@contextmanager
def served(folder: Path, *more: str) -> Iterator[Serving]:
    tokens = folder / "tokens"
    tokens.write_text("".join(f"{name} {token}\n" for name, token in TOKENS.items()))
    tokens.chmod(0o600)
    with Upstream(always()) as upstream, httpx2.Client(timeout=WAIT_S) as http:
        words = ["--root", str(folder / "m"), "serve", "--upstream", upstream.url, "--json"]
        process = warm.Forked(
            [
                sys.executable,
                "-m",
                "pagefault.cli",
                *words,
                *more,
                "--port",
                "0",
                "--tokens",
                str(tokens),
            ],
            stdout=PIPE,
            stderr=DEVNULL,
            text=True,
        )
        try:
            assert process.stdout is not None
            one = Serving(json.loads(process.stdout.readline())["url"], http)
            for user in TOKENS:
                one.tell(user)
            yield one
        finally:
            process.terminate()
            process.communicate(timeout=WAIT_S)
            assert process.returncode == 0


@asynccontextmanager
async def client(serving: Serving, user: str, mode: str) -> AsyncIterator[Client]:
    from mcp import Client
    from mcp.client.streamable_http import streamable_http_client

    token = {"x-pagefault-token": TOKENS[user]}
    async with httpx2.AsyncClient(headers=token, timeout=WAIT_S) as http:
        transport = streamable_http_client(f"{serving.url}/mcp", http_client=http)
        async with Client(transport, mode=mode) as one:
            yield one


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["legacy", "auto"])
async def test_each_user_reads_what_is_theirs(serving: Serving, mode: str) -> None:
    seen: dict[str, Any] = {}
    for user in TOKENS:
        async with client(serving, user, mode) as one:
            found = await data(one, "memory_recall", query="How is it heated?", limit=50)
            seen[user] = found["pages"]
            texts = [page["text"] for page in found["pages"]]
            assert SAID[user] in texts
            other = next(name for name in TOKENS if name != user)
            assert SAID[other] not in texts
            status = await data(one, "memory_status")
            assert status["sessions"] == 1
            assert status["latest"][0]["session"].endswith(f"@{user}")
    async with client(serving, "bob", mode) as one:
        theirs = seen["ann"][0]
        said = await refused(one, "page_fault", page_id="msg_1", session=theirs["session"])
        nobodys = await refused(one, "page_fault", page_id="msg_1", session="nobody")
        assert said.replace(theirs["session"], "nobody") == nobodys


@pytest.mark.slow
async def test_no_writer_is_offered_there(serving: Serving) -> None:
    async with client(serving, "ann", "auto") as one:
        assert "remember" not in {tool.name for tool in (await one.list_tools()).tools}


@pytest.mark.slow
async def test_a_writer_is_offered_where_serve_says_so_and_notes_for_its_own_user(
    tmp_path: Path,
) -> None:
    with served(tmp_path, "--mcp-write") as serving:
        assert serving.post().status_code == 401
        for user in TOKENS:
            async with client(serving, user, "auto") as one:
                claim = await data(one, "remember", text=f"The key of {user} is under the mat.")
                assert (claim["origin"], claim["authority"]) == ("tool:mcp", "proposed")
                assert claim["session"] == f"notes@{user}"
                found = await data(one, "memory_recall", query="Where is the key?", limit=50)
                others = [page["text"] for page in found["pages"] if "mat" in page["text"]]
                assert all(f"of {user}" in text for text in others)


@pytest.mark.slow
@pytest.mark.parametrize("who", [[], ["--token", "t" * 20], ["--user", "ann"]])
def test_nobody_notes_at_mcp_who_is_nobody(
    who: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["serve", "--upstream", "https://api.example.com", "--mcp-write", *who]
    assert run(words) == 2
    assert "--tokens" in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 401),
        ({"x-pagefault-token": "somebody-0123456789"}, 401),
        ({"authorization": f"Bearer {TOKENS['ann']}"}, 401),
        ({"x-pagefault-token": TOKENS["ann"]}, 200),
        ({"x-pagefault-token": TOKENS["ann"], "origin": "http://evil.example"}, 403),
        ({"x-pagefault-token": TOKENS["ann"], "origin": "null"}, 403),
        ({"x-pagefault-token": TOKENS["ann"], "host": "evil.example"}, 421),
        ({"x-pagefault-token": TOKENS["ann"], "host": "127.0.0.1.evil.example"}, 421),
        ({"x-pagefault-token": TOKENS["ann"], "content-type": "text/plain"}, 400),
    ],
)
def test_who_is_not_let_in_is_told_so(
    serving: Serving, headers: dict[str, str], status: int
) -> None:
    answer = serving.post(**headers)
    assert answer.status_code == status
    assert ("memory_recall" in answer.text) is (status == 200)


@pytest.mark.slow
def test_nothing_is_kept_open(serving: Serving) -> None:
    for method in ("GET", "DELETE"):
        answer = serving.http.request(
            method, f"{serving.url}/mcp", headers={"x-pagefault-token": TOKENS["ann"]}
        )
        assert (answer.status_code, answer.headers["allow"]) == (405, "POST")
    answer = serving.post(**{"x-pagefault-token": TOKENS["ann"]})
    assert "mcp-session-id" not in answer.headers


@pytest.mark.slow
def test_an_address_that_ends_in_a_slash_is_no_provider_s(serving: Serving) -> None:
    answer = serving.http.post(
        f"{serving.url}/mcp/",
        json={"jsonrpc": "2.0", "id": 1, "method": "tools/list"},
        headers=TAKES | {"x-pagefault-token": TOKENS["ann"]},
    )
    assert "memory_recall" in answer.text


@pytest.mark.slow
def test_a_body_that_is_too_large_is_not_read(serving: Serving) -> None:
    answer = serving.http.post(
        f"{serving.url}/mcp",
        content=b'"' + b"x" * 2_000_000 + b'"',
        headers=TAKES | {"content-type": "application/json", "x-pagefault-token": TOKENS["ann"]},
    )
    assert answer.status_code == 413
