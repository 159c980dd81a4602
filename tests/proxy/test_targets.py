"""What a client asks for is what the provider is asked for, byte for byte, or it is refused."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pagefault.proxy.wires.wire import dumped
from tests.proxy.histories import body, long_talk, user
from tests.proxy.standing import Standing, standing
from tests.proxy.upstream import Upstream, always

BODY = json.dumps(body(user("hello"))).encode()


@pytest.fixture
def upstream() -> Iterator[Upstream]:
    with Upstream(always()) as up:
        yield up


async def raw(to: Standing, line: str, *headers: str, content: bytes = b"") -> bytes:
    """The answer to a request that is written by hand."""
    port = int(to.url.rpartition(":")[2])
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    lines = [line, *headers, f"Content-Length: {len(content)}", "Connection: close", "", ""]
    writer.write("\r\n".join(lines).encode("latin-1") + content)
    answer = await asyncio.wait_for(reader.read(), 300)
    writer.close()
    return answer


@pytest.mark.parametrize("host", ["127.0.0.1:1", "localhost", "LOCALHOST:80"])
async def test_a_request_line_in_absolute_form_is_served(upstream: Upstream, host: str) -> None:
    async with standing(upstream) as to:
        line = f"POST http://{host}/v1/messages?beta=true HTTP/1.1"
        answer = await raw(to, line, f"Host: {host}", content=BODY)
        assert answer.startswith(b"HTTP/1.1 200")
        assert upstream.seen[-1].path == "/v1/messages?beta=true"
        assert len(await to.sessions()) == 1


async def test_the_name_in_the_request_line_counts_before_that_in_the_header(
    upstream: Upstream,
) -> None:
    async with standing(upstream) as to:
        line = "GET http://evil.example/v1/models HTTP/1.1"
        answer = await raw(to, line, "Host: 127.0.0.1")
    assert answer.startswith(b"HTTP/1.1 421")
    assert upstream.seen == []


async def test_an_old_client_without_a_host_is_served(upstream: Upstream) -> None:
    async with standing(upstream) as to:
        assert b" 200 " in (await raw(to, "GET /healthz HTTP/1.0")).split(b"\r\n")[0]
        answer = await raw(to, "POST /v1/messages HTTP/1.0", content=BODY)
        assert b" 200 " in answer.split(b"\r\n")[0]
        assert b"Understood." in answer
        refused = await raw(to, "GET /v1/models HTTP/1.0", "Host: evil.example")
        assert b" 421 " in refused.split(b"\r\n")[0]


@pytest.mark.parametrize(
    "path",
    [
        "/v1/../../etc", "/v1/./models", "/../v1/models", "/v1/%2e%2e/etc", "/v1/%2E./etc",
        "/v1/..%2fetc", "/v1/..\\etc", "/v1/..", "/s/one/../v1/models", "v1/models", "*",
    ],
)  # fmt: skip
async def test_a_path_that_somebody_may_take_for_another_is_refused(
    upstream: Upstream, path: str
) -> None:
    async with standing(upstream) as to:
        for method in ("GET", "POST"):
            answer = await raw(to, f"{method} {path} HTTP/1.1", "Host: localhost", content=BODY)
            assert answer.startswith(b"HTTP/1.1 400")
    assert upstream.seen == []


@pytest.mark.parametrize(
    "path",
    [
        "/v1//models", "/v1/a%20b", "/v1/%41", "/v1/%zz", '/v1/a"b|c', "/v1/files/a%2Fb",
        "/v1/...", "/v1/a..b", "/v1/models?x=/../y&z=%2e%2e", "//v1/models", "/v1/%C3%A9?q=a",
        "/v1/{id}^`", "/v1/%252e%252e/x",
    ],
)  # fmt: skip
async def test_any_other_path_goes_on_byte_for_byte(upstream: Upstream, path: str) -> None:
    async with standing(upstream, url=f"{upstream.url}/base") as to:
        await raw(to, f"GET {path} HTTP/1.1", "Host: localhost")
    assert upstream.seen[-1].path == f"/base{path}"


async def test_a_body_is_refused_for_the_length_it_announces(upstream: Upstream) -> None:
    async with standing(upstream, body_bytes_max=1_000) as to:
        port = int(to.url.rpartition(":")[2])
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(
            b"POST /v1/messages HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100000000\r\n\r\n"
        )
        answer = await asyncio.wait_for(reader.readuntil(b"\r\n"), 300)  # nothing of it was sent
        writer.close()
    assert answer.startswith(b"HTTP/1.1 413")


async def test_a_paged_request_is_sent_in_utf_8(upstream: Upstream) -> None:
    async with standing(upstream, window=600) as to:
        said = [*long_talk(6), user("Где хранится код запуска? 🗝 \ud83d")]
        raw_body = json.dumps(body(*said)).encode()
        await to.http.post("/v1/messages", content=raw_body)
    sent = upstream.seen[-1]
    assert len(sent.body["messages"]) < len(said)
    assert "Где хранится код запуска? 🗝".encode() in sent.raw
    assert sent.body["messages"][-1]["content"][-1]["text"] == said[-1]["content"][0]["text"]


@given(st.text(st.characters(), max_size=40))
def test_whatever_is_written_is_read_as_the_same(text: str) -> None:
    paired = text.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")
    assert json.loads(dumped({"text": text}).decode()) == {"text": text} or paired != text


def test_half_a_surrogate_pair_is_written_as_an_escape() -> None:
    assert dumped({"a": "é\ud800"}) == '{"a":"é\\ud800"}'.encode()
