"""The clients of providers, wrapped: they stay what they are, and their talk is kept."""

from __future__ import annotations

import asyncio
import gc
import json
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx2
import pytest

import pagefault
from pagefault import BadInput
from tests.proxy.upstream import Call, Say, Seen, Upstream, always, in_turn

KEY = "sk-none-of-your-business-0123456789"
NOT_OF_A_REQUEST = {"x-stainless-retry-count", "accept-encoding", "host", "content-length"}
"""Headers that differ: where it goes to, which attempt it is, and how an answer may be packed."""


def _openai(url: str, **options: Any) -> Any:
    import openai

    return openai.OpenAI(base_url=f"{url}/v1", api_key=KEY, **{"max_retries": 0} | options)


def _async_openai(url: str, **options: Any) -> Any:
    import openai

    return openai.AsyncOpenAI(base_url=f"{url}/v1", api_key=KEY, **{"max_retries": 0} | options)


def _anthropic(url: str, **options: Any) -> Any:
    import anthropic

    return anthropic.Anthropic(base_url=url, api_key=KEY, **{"max_retries": 0} | options)


def _async_anthropic(url: str, **options: Any) -> Any:
    import anthropic

    return anthropic.AsyncAnthropic(base_url=url, api_key=KEY, **{"max_retries": 0} | options)


def _said(text: str) -> list[dict[str, Any]]:
    return [{"role": "user", "content": text}]


# --- what is asked, in each of the ways that an SDK has ----------------------------------------


def _chat(client: Any) -> str:
    reply = client.chat.completions.create(model="m", messages=_said("Hello"))
    return str(reply.choices[0].message.content)


def _chat_stream(client: Any) -> str:
    stream = client.chat.completions.create(model="m", messages=_said("Hello"), stream=True)
    return "".join(c.choices[0].delta.content or "" for c in stream if c.choices)


def _chat_helper(client: Any) -> str:
    with client.chat.completions.stream(model="m", messages=_said("Hello")) as stream:
        return str(stream.get_final_completion().choices[0].message.content)


def _chat_parse(client: Any) -> str:
    reply = client.chat.completions.parse(model="m", messages=_said("Hello"))
    return str(reply.choices[0].message.content)


def _responses(client: Any) -> str:
    return str(client.responses.create(model="m", input="Hello").output_text)


def _responses_stream(client: Any) -> str:
    stream = client.responses.create(model="m", input="Hello", stream=True)
    return "".join(e.delta for e in stream if e.type == "response.output_text.delta")


def _responses_helper(client: Any) -> str:
    with client.responses.stream(model="m", input="Hello") as stream:
        return str(stream.get_final_response().output_text)


def _responses_parse(client: Any) -> str:
    return str(client.responses.parse(model="m", input="Hello").output_text)


def _chat_raw(client: Any) -> str:
    raw = client.chat.completions.with_raw_response.create(model="m", messages=_said("Hello"))
    assert raw.headers["x-request-id"] == "req_scripted"
    assert raw.http_response.elapsed.total_seconds() > 0
    return str(raw.parse().choices[0].message.content)


def _chat_streamed(client: Any) -> str:
    asked = client.chat.completions.with_streaming_response
    with asked.create(model="m", messages=_said("Hello")) as response:
        return str(json.loads(response.read())["choices"][0]["message"]["content"])


def _messages(client: Any) -> str:
    reply = client.messages.create(model="m", max_tokens=9, messages=_said("Hello"))
    return str(reply.content[0].text)


def _messages_stream(client: Any) -> str:
    stream = client.messages.create(model="m", max_tokens=9, messages=_said("Hello"), stream=True)
    return "".join(e.delta.text for e in stream if e.type == "content_block_delta")


def _messages_helper(client: Any) -> str:
    with client.messages.stream(model="m", max_tokens=9, messages=_said("Hello")) as stream:
        return "".join(stream.text_stream)


def _messages_beta(client: Any) -> str:
    reply = client.beta.messages.create(model="m", max_tokens=9, messages=_said("Hello"))
    return str(reply.content[0].text)


WAYS: list[tuple[Callable[..., Any], Callable[[Any], str]]] = [
    *((_openai, way) for way in (_chat, _chat_stream, _chat_helper, _chat_parse)),
    *((_openai, way) for way in (_responses, _responses_stream, _responses_helper)),
    *((_openai, way) for way in (_responses_parse, _chat_raw, _chat_streamed)),
    *((_anthropic, way) for way in (_messages, _messages_stream, _messages_helper)),
    (_anthropic, _messages_beta),
]


@pytest.fixture
def upstream() -> Iterator[Upstream]:
    with Upstream(always("Good day to you.")) as upstream:
        yield upstream


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[pagefault.sync.Memory]:
    with pagefault.sync.open(tmp_path / "m", sync="os") as memory:
        yield memory


def texts(memory: pagefault.sync.Memory, session: str) -> list[str]:
    """What was said in the sessions of that name, in order."""
    found = [row for row in memory.sessions() if row.name.startswith(f"{session}:")]
    sessions = [memory.session(row.name) for row in reversed(found)]
    return [memory.read(row).text for one in sessions for row in memory.pages(one, limit=1_000)]


@pytest.mark.parametrize(("connect", "way"), WAYS, ids=lambda one: one.__name__.strip("_"))
def test_every_method_answers_as_before_and_what_is_said_is_kept(
    connect: Any, way: Callable[[Any], str], upstream: Upstream, memory: pagefault.sync.Memory
) -> None:
    with connect(upstream.url) as plain:
        assert way(plain) == "Good day to you."
        with pagefault.wrap(plain, session="ana", memory=memory) as client:
            assert type(client) is type(plain)
            assert way(client) == "Good day to you."
            assert texts(memory, "ana") == ["Hello", "Good day to you."]
    without, with_us = upstream.seen
    assert (with_us.method, with_us.path) == (without.method, without.path)
    assert with_us.raw == without.raw

    def told(seen: Seen) -> dict[str, str]:
        kept = {n: v for n, v in seen.headers.items() if n not in NOT_OF_A_REQUEST}
        return {n: v for n, v in kept.items() if "idempotency" not in n}

    assert told(with_us) == told(without)


@pytest.mark.parametrize("connect", [_async_openai, _async_anthropic])
async def test_an_asynchronous_client_answers_as_before(connect: Any, upstream: Upstream) -> None:
    async with pagefault.open(":memory:") as memory:
        async with pagefault.wrap(connect(upstream.url), session="ana", memory=memory) as client:
            if connect is _async_openai:
                whole = await client.responses.create(model="m", input="Hello")
                assert whole.output_text == "Good day to you."
                async with client.chat.completions.stream(
                    model="m", messages=_said("Hello")
                ) as stream:
                    assert [e async for e in stream if e.type == "content.done"]
            else:
                whole = await client.messages.create(
                    model="m", max_tokens=9, messages=_said("Hello")
                )
                assert whole.content[0].text == "Good day to you."
                async with client.messages.stream(
                    model="m", max_tokens=9, messages=_said("Hello")
                ) as stream:
                    assert "".join([t async for t in stream.text_stream]) == "Good day to you."
        [row] = await memory.sessions()
        session = await memory.session(row.name)
        pages = [(await memory.read(page)).text for page in await memory.pages(session)]
    assert pages == ["Hello", "Good day to you.", "Good day to you."][: len(pages)]
    assert pages[:2] == ["Hello", "Good day to you."]


def test_what_goes_to_no_model_is_not_touched(upstream: Upstream) -> None:
    with pagefault.wrap(_openai(upstream.url), session="ana", memory=":memory:") as client:
        assert [one.id for one in client.models.list().data] == ["scripted"]
        client.post("/files", cast_to=httpx2.Response, body={"a": 1})
    assert [seen.path for seen in upstream.seen] == ["/v1/models", "/v1/files"]
    assert all("x-pagefault-session" not in seen.headers for seen in upstream.seen)


# --- the window ---------------------------------------------------------------------------------


@pytest.mark.parametrize("connect", [_openai, _anthropic])
def test_a_conversation_outgrows_its_window_and_what_left_comes_back(
    connect: Any, memory: pagefault.sync.Memory
) -> None:
    def talk(client: Any) -> list[int]:
        messages = _said("The spare key of the cottage hangs behind the juniper barrel.")
        sizes = []
        for number in range(24):
            if connect is _openai:
                client.chat.completions.create(model="m", messages=messages)
            else:
                client.messages.create(model="m", max_tokens=9, messages=messages)
            sizes.append(len(provider.seen[-1].raw))
            filler = f"Note {number}: " + f"the invoice of supplier {number} was paid. " * 30
            messages += [{"role": "assistant", "content": "Understood."}, *_said(filler)]
        messages[-1:] = _said("Where does the spare key of the cottage hang?")
        if connect is _openai:
            client.chat.completions.create(model="m", messages=messages)
        else:
            client.messages.create(model="m", max_tokens=9, messages=messages)
        return sizes

    with Upstream(always("Understood.")) as provider:
        with pagefault.wrap(
            connect(provider.url), session="ana", memory=memory, window_tokens=2_000
        ) as client:
            paged = talk(client)
        assert "juniper barrel" in provider.seen[-1].raw.decode()
        assert len(provider.seen[-1].raw) < 12_000
        with connect(provider.url) as client:
            whole = talk(client)
    assert max(paged) < 12_000 < max(whole)


def test_a_window_of_none_is_what_is_configured_and_of_0_only_keeps(
    upstream: Upstream, tmp_path: Path
) -> None:
    long = [*_said("word " * 3_000), {"role": "assistant", "content": "Yes."}] * 3 + _said("So?")
    with pagefault.sync.open(tmp_path / "m", window=4_000) as memory:
        for window in (None, 0):
            client = pagefault.wrap(
                _openai(upstream.url), session=f"w{window}", memory=memory, window_tokens=window
            )
            with client:
                client.chat.completions.create(model="m", messages=long)
    configured, kept = (len(seen.raw) for seen in upstream.seen)
    assert configured < 25_000 < 40_000 < kept


# --- which session ------------------------------------------------------------------------------


def test_a_session_is_a_name_a_function_or_a_requests_own(
    upstream: Upstream, memory: pagefault.sync.Memory
) -> None:
    users = iter(["ben", "cleo"])
    with pagefault.wrap(_openai(upstream.url), session=users.__next__, memory=memory) as client:
        _chat(client)
        _chat(client)
        client.chat.completions.create(
            model="m", messages=_said("Hi"), extra_headers={"x-pagefault-session": "dora"}
        )
    names = {row.name.partition(":")[0] for row in memory.sessions()}
    assert names == {"ben", "cleo", "dora"}
    assert all("x-pagefault-session" not in seen.headers for seen in upstream.seen)
    assert {row.name.rpartition("@")[2] for row in memory.sessions()} == {"program"}


def test_a_name_may_be_in_any_script(upstream: Upstream, memory: pagefault.sync.Memory) -> None:
    with pagefault.wrap(_openai(upstream.url), session="Ольга", memory=memory) as client:
        _chat(client)
    assert [row.name.partition(":")[0] for row in memory.sessions()] == ["Ольга"]


def test_usage_is_observed_by_itself(memory: pagefault.sync.Memory) -> None:
    with (
        Upstream(always_counted) as upstream,
        pagefault.wrap(_openai(upstream.url), session="ana", memory=memory) as client,
    ):
        _chat(client)
    [row] = memory.sessions()
    proxied = memory.proxied(memory.session(row.name))
    assert proxied is not None
    assert "707" in str(proxied)


def always_counted(_: Seen) -> Say:
    return Say(text="Yes.", input_tokens=707, cached_tokens=606)


# --- what goes wrong is the SDK's own -----------------------------------------------------------


@pytest.mark.parametrize("wraps", [True, False], ids=["wrapped", "control"])
def test_errors_are_the_sdks_own(wraps: bool) -> None:
    import openai

    says = in_turn(Say(status=429), Say(status=500), Say(status=429), Say(text="Yes."))
    with Upstream(says) as upstream, _openai(upstream.url) as plain:
        client = pagefault.wrap(plain, session="ana", memory=":memory:") if wraps else plain
        with client:
            with pytest.raises(openai.RateLimitError) as limited:
                _chat(client)
            assert limited.value.response.headers["retry-after"] == "0"
            assert limited.value.body == {"message": "overloaded", "type": "server_error"}
            with pytest.raises(openai.InternalServerError):
                _chat_stream(client)
            assert _chat(client.with_options(max_retries=2)) == "Yes."
    assert len(upstream.seen) == 4


@pytest.mark.parametrize("wraps", [True, False], ids=["wrapped", "control"])
def test_a_provider_that_is_not_there_is_a_connection_error(wraps: bool) -> None:
    import openai

    plain = _openai("http://127.0.0.1:9")
    client = pagefault.wrap(plain, session="ana", memory=":memory:") if wraps else plain
    with client, pytest.raises(openai.APIConnectionError) as failed:
        _chat(client)
    assert isinstance(failed.value.__cause__, httpx2.ConnectError)


@pytest.mark.parametrize("wraps", [True, False], ids=["wrapped", "control"])
@pytest.mark.parametrize("way", [_chat, _chat_stream])
def test_a_time_out_is_the_sdks_own(way: Callable[[Any], str], wraps: bool) -> None:
    import openai

    def slow(_: Seen) -> Say:
        time.sleep(1.5)
        return Say(text="Too late.")

    with Upstream(slow) as upstream:
        plain = _openai(upstream.url, timeout=0.3)
        client = pagefault.wrap(plain, session="ana", memory=":memory:") if wraps else plain
        with client, pytest.raises(openai.APITimeoutError):
            way(client)


@pytest.mark.parametrize("wraps", [True, False], ids=["wrapped", "control"])
def test_an_answer_that_breaks_off_raises_what_it_raises_without_us(wraps: bool) -> None:
    import openai

    with Upstream(lambda _: Say(text="one two three four", cut_after=3)) as upstream:
        plain = _openai(upstream.url)
        client = pagefault.wrap(plain, session="ana", memory=":memory:") if wraps else plain
        with client, pytest.raises(openai.APIConnectionError) as failed:
            _chat_stream(client)
    assert isinstance(failed.value.__cause__, httpx2.RemoteProtocolError)


def test_a_memory_that_cannot_be_opened_stops_no_request(
    upstream: Upstream, tmp_path: Path
) -> None:
    (tmp_path / "m").write_text("no folder")
    with pagefault.wrap(_openai(upstream.url), session="ana", memory=tmp_path / "m") as client:
        with pytest.warns(RuntimeWarning, match="goes on as it came, and is not kept"):
            raw = client.chat.completions.with_raw_response.create(
                model="m", messages=_said("Hello")
            )
        assert raw.headers["x-pagefault-not-logged"] == "memory"
        assert raw.parse().choices[0].message.content == "Good day to you."
        (tmp_path / "m").unlink()
        assert _chat(client) == "Good day to you."
        assert texts(pagefault.behind(client), "ana") == ["Hello", "Good day to you."]
    assert upstream.seen[0].raw == upstream.seen[1].raw


async def test_an_asynchronous_client_asks_without_its_memory_too(
    upstream: Upstream, tmp_path: Path
) -> None:
    (tmp_path / "m").write_text("no folder")
    async with pagefault.wrap(
        _async_openai(upstream.url), session="ana", memory=tmp_path / "m"
    ) as client:
        with pytest.warns(RuntimeWarning, match="is not kept"):
            reply = await client.chat.completions.create(model="m", messages=_said("Hello"))
    assert reply.choices[0].message.content == "Good day to you."


# --- the client's own HTTP ----------------------------------------------------------------------


def test_hooks_headers_and_transport_of_ones_own_http_client_stay(upstream: Upstream) -> None:
    import openai

    seen: list[str] = []

    def note(request: httpx2.Request) -> None:
        seen.append(f"{threading.current_thread().name} {request.url.path}")
        request.headers["x-signed"] = "yes"

    own = httpx2.Client(
        event_hooks={"request": [note], "response": [lambda r: seen.append(str(r.status_code))]},
        headers={"x-own": "1"},
        cookies={"c": "2"},
        auth=("u", "p"),
    )
    plain = openai.OpenAI(base_url=f"{upstream.url}/v1", api_key=KEY, http_client=own)
    with pagefault.wrap(plain, session="ana", memory=":memory:") as client:
        _chat(client)
    assert own.is_closed
    assert seen == ["MainThread /v1/chat/completions", "200"]
    [asked] = upstream.seen
    assert asked.headers["x-signed"] == "yes"
    assert asked.headers["x-own"] == "1"
    assert asked.headers["cookie"] == "c=2"
    assert asked.headers["authorization"].startswith("Basic ")


@pytest.mark.parametrize("wraps", [True, False], ids=["wrapped", "control"])
def test_what_a_hook_raises_is_what_is_raised(wraps: bool, upstream: Upstream) -> None:
    import openai

    def refuse(request: httpx2.Request) -> None:
        raise LookupError("no budget left")

    own = httpx2.Client(event_hooks={"request": [refuse]})
    plain = openai.OpenAI(
        base_url=f"{upstream.url}/v1", api_key=KEY, http_client=own, max_retries=0
    )
    client = pagefault.wrap(plain, session="ana", memory=":memory:") if wraps else plain
    with client, pytest.raises(LookupError, match="no budget left"):
        _chat(client)
    assert upstream.seen == []


def test_a_hook_may_read_an_answer_first(upstream: Upstream) -> None:
    import openai

    seen: list[str] = []

    def read(response: httpx2.Response) -> None:
        response.read()
        seen.append(response.text)

    own = httpx2.Client(event_hooks={"response": [read]})
    plain = openai.OpenAI(base_url=f"{upstream.url}/v1", api_key=KEY, http_client=own)
    with pagefault.wrap(plain, session="ana", memory=":memory:") as client:
        assert _chat(client) == _chat_stream(client) == "Good day to you."
    assert len(seen) == 2


def test_one_request_may_be_kept_back(upstream: Upstream, memory: pagefault.sync.Memory) -> None:
    with pagefault.wrap(_openai(upstream.url), session="ana", memory=memory) as client:
        off = {"x-pagefault-mode": "off"}
        client.chat.completions.create(model="m", messages=_said("Hush"), extra_headers=off)
    assert memory.sessions() == []
    assert "x-pagefault-mode" not in upstream.seen[0].headers


def test_one_that_marks_nothing_may_have_it_done(upstream: Upstream) -> None:
    ours = {"x-pagefault-mark": "on", "x-pagefault-form": "on"}  # which the SDK cannot have done
    plain = _anthropic(upstream.url, default_headers=ours)
    with pagefault.wrap(plain, session="ana", memory=":memory:") as client:
        client.messages.create(model="claude-opus-5", max_tokens=9, messages=_said("Hello"))
    [asked] = upstream.seen
    assert "cache_control" in asked.body["messages"][0]["content"][0]
    assert not asked.headers.keys() & ours.keys()


def test_a_client_of_azure_is_a_client_of_openai(upstream: Upstream) -> None:
    import openai

    plain = openai.AzureOpenAI(azure_endpoint=upstream.url, api_key=KEY, api_version="2026-01-01")
    with pagefault.wrap(plain, session="ana", memory=":memory:") as client:
        assert isinstance(client, openai.AzureOpenAI)
        assert _chat(client) == "Good day to you."
    [asked] = upstream.seen
    assert asked.path == "/openai/deployments/m/chat/completions?api-version=2026-01-01"


def test_copies_of_a_wrapped_client_are_wrapped(
    upstream: Upstream, memory: pagefault.sync.Memory
) -> None:
    with pagefault.wrap(_openai(upstream.url), session="ana", memory=memory) as client:
        _chat(client.with_options(timeout=300, default_headers={"x-a": "b"}))
    assert upstream.seen[0].headers["x-a"] == "b"
    assert texts(memory, "ana") == ["Hello", "Good day to you."]


# --- leaving early ------------------------------------------------------------------------------


def _waits_for(condition: Callable[[], object]) -> None:
    end = time.monotonic() + 300
    while not condition():
        assert time.monotonic() < end, "it never came"
        time.sleep(0.01)


def _endless(_: Seen) -> Say:
    return Say(text="word " * 400, pause_s=0.02)


def test_whoever_leaves_a_stream_ends_the_providers_work(memory: pagefault.sync.Memory) -> None:
    with (
        Upstream(_endless) as upstream,
        pagefault.wrap(_openai(upstream.url), session="ana", memory=memory) as client,
    ):
        with client.chat.completions.create(
            model="m", messages=_said("Hello"), stream=True
        ) as stream:
            next(iter(stream))
        _waits_for(lambda: upstream.broken)
        upstream.script = always("Yes.")
        assert _chat(client) == "Yes."
    assert texts(memory, "ana") == ["Hello", "Yes."]


def _begun(client: Any, upstream: Upstream) -> Any:
    """A stream of which one piece is read."""
    request = client._client.build_request(
        "POST",
        f"{upstream.url}/v1/chat/completions",
        json={"model": "m", "messages": _said("Hello"), "stream": True},
    )
    response = client._client.send(request, stream=True)
    next(response.iter_raw())
    return response


def test_a_stream_that_is_dropped_ends_too(memory: pagefault.sync.Memory) -> None:
    with (
        Upstream(_endless) as upstream,
        pagefault.wrap(_openai(upstream.url), session="ana", memory=memory) as client,
    ):
        response = _begun(client, upstream)
        del response
        gc.collect()
        _waits_for(lambda: upstream.broken)


def test_a_stream_that_is_closed_in_another_thread_keeps_that_waiting_for_nothing(
    memory: pagefault.sync.Memory,
) -> None:
    """The collector closes what an SDK left, in whichever thread it runs: the memory's own, say."""
    with (
        Upstream(_endless) as upstream,
        pagefault.wrap(_openai(upstream.url), session="ana", memory=memory) as client,
    ):
        pagefault.sync._LOOP.call(_begun(client, upstream).close)
        _waits_for(lambda: upstream.broken)
        upstream.script = always("Yes.")
        assert _chat(client) == "Yes."


async def test_whoever_is_cancelled_ends_the_providers_work(tmp_path: Path) -> None:
    with Upstream(_endless) as upstream:
        async with pagefault.wrap(
            _async_openai(upstream.url), session="ana", memory=tmp_path / "m"
        ) as client:
            begun = asyncio.Event()

            async def read() -> None:
                stream = await client.chat.completions.create(
                    model="m", messages=_said("Hello"), stream=True
                )
                async with stream:
                    async for _ in stream:
                        begun.set()

            reading = asyncio.create_task(read())
            await begun.wait()
            reading.cancel()
            with pytest.raises(asyncio.CancelledError):
                await reading
            await asyncio.to_thread(_waits_for, lambda: upstream.broken)
            upstream.script = always("Yes.")
            reply = await client.chat.completions.create(model="m", messages=_said("Hello"))
    assert reply.choices[0].message.content == "Yes."


# --- threads, loops, processes ------------------------------------------------------------------


def test_many_threads_share_a_client(upstream: Upstream, memory: pagefault.sync.Memory) -> None:
    with pagefault.wrap(_openai(upstream.url), memory=memory) as client:

        def ask(number: int) -> str:
            reply = client.chat.completions.create(
                model="m",
                messages=_said(f"Number {number}"),
                extra_headers={"x-pagefault-session": f"thread-{number}"},
            )
            return str(reply.choices[0].message.content)

        with ThreadPoolExecutor(8) as pool:
            assert set(pool.map(ask, range(24))) == {"Good day to you."}
    for number in range(24):
        assert texts(memory, f"thread-{number}") == [f"Number {number}", "Good day to you."]


async def test_many_tasks_may_ask_first(upstream: Upstream, tmp_path: Path) -> None:
    async with pagefault.wrap(_async_openai(upstream.url), memory=tmp_path / "m") as client:

        async def ask(number: int) -> str:
            reply = await client.chat.completions.create(
                model="m",
                messages=_said(f"Number {number}"),
                extra_headers={"x-pagefault-session": f"task-{number}"},
            )
            return str(reply.choices[0].message.content)

        assert set(await asyncio.gather(*map(ask, range(12)))) == {"Good day to you."}
    with pagefault.sync.open(tmp_path / "m") as memory:
        for number in range(12):
            assert texts(memory, f"task-{number}") == [f"Number {number}", "Good day to you."]


async def test_a_blocking_client_works_where_a_loop_runs(upstream: Upstream) -> None:
    with pagefault.wrap(_openai(upstream.url), session="ana", memory=":memory:") as client:
        assert _chat(client) == "Good day to you."
        assert texts(pagefault.behind(client), "ana") == ["Hello", "Good day to you."]


def test_each_run_of_a_loop_may_use_its_own_client(upstream: Upstream, tmp_path: Path) -> None:
    async def ask() -> None:
        async with pagefault.wrap(
            _async_openai(upstream.url), session="ana", memory=tmp_path / "m"
        ) as client:
            await client.chat.completions.create(model="m", messages=_said("Hello"))

    asyncio.run(ask())
    asyncio.run(ask())
    with pagefault.sync.open(tmp_path / "m") as memory:
        assert texts(memory, "ana") == ["Hello", "Good day to you."]


def test_clients_of_one_root_share_a_memory_and_the_last_one_closes_it(
    upstream: Upstream, tmp_path: Path
) -> None:
    first = pagefault.wrap(_openai(upstream.url), session="ana", memory=tmp_path / "m")
    second = pagefault.wrap(_openai(upstream.url), session="ben", memory=str(tmp_path / "m"))
    _chat(first)
    _chat(second)
    memory = pagefault.behind(first)
    assert len(memory.sessions()) == 2
    first.close()
    assert _chat(second) == "Good day to you."
    second.close()
    second.close()
    with pytest.raises(pagefault.StoreClosed):
        memory.sessions()


FORKS = """
import os, sys, warnings
import openai, pagefault

warnings.simplefilter("error")
url, root, when = sys.argv[1:]
plain = openai.OpenAI(base_url=url + "/v1", api_key="k")
client = pagefault.wrap(plain, session="ana", memory=root)
hello = [{"role": "user", "content": "Hello"}]

def ask():
    return client.chat.completions.create(model="m", messages=hello).choices[0].message.content

if when == "after":
    ask()
    warnings.simplefilter("default")
pid = os.fork()
if not pid:
    try:
        assert ask() == "Good day to you."
    except BaseException as error:
        print(repr(error.__cause__ or error), file=sys.stderr)
        os._exit(3)
    sys.stderr.flush()
    os._exit(0)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
"""


@pytest.mark.slow
@pytest.mark.parametrize("when", ["before", "after"])
def test_a_process_that_forks_asks_in_its_children(
    when: str, upstream: Upstream, tmp_path: Path
) -> None:
    """What was wrapped before the fork pages in the child. A memory that was open before the fork
    is the parent's: what the child asks goes through as it came, and it is warned.
    """
    done = subprocess.run(
        [sys.executable, "-c", FORKS, upstream.url, str(tmp_path / "m"), when],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert ("is not kept: this process was forked" in done.stderr) == (when == "after")
    with pagefault.sync.open(tmp_path / "m") as memory:
        assert texts(memory, "ana") == ["Hello", "Good day to you."]


LEFT_OPEN = """
import sys
import openai, pagefault

url, root = sys.argv[1:]
client = pagefault.wrap(openai.OpenAI(base_url=url + "/v1", api_key="k"), session="a", memory=root)
hello = [{"role": "user", "content": "Hello"}]
stream = client.chat.completions.create(model="m", messages=hello, stream=True)
print("".join(one.choices[0].delta.content or "" for one in stream if one.choices))
assert not {"uvicorn", "prometheus_client"} & sys.modules.keys()
"""


@pytest.mark.slow
def test_a_program_that_closes_nothing_ends_well_and_its_answers_are_kept(
    upstream: Upstream, tmp_path: Path
) -> None:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", LEFT_OPEN, upstream.url, str(tmp_path / "m")],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "Good day to you.\n", "")
    with pagefault.sync.open(tmp_path / "m") as memory:
        assert texts(memory, "a") == ["Hello", "Good day to you."]


def test_an_answer_that_was_there_already_is_read(upstream: Upstream) -> None:
    import openai

    says = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "Yes"}}
    whole = {"id": "1", "object": "chat.completion", "created": 1, "model": "m", "choices": [says]}
    transport = httpx2.MockTransport(lambda _: httpx2.Response(200, json=whole))
    plain = openai.OpenAI(api_key=KEY, http_client=httpx2.Client(transport=transport))
    with pagefault.wrap(plain, session="ana", memory=":memory:") as client:
        assert _chat(client) == "Yes"


SAYS = {"content": {"role": "model", "parts": [{"text": "Noted."}]}, "finishReason": "STOP"}
GEMINI = {
    "candidates": [SAYS],
    "usageMetadata": {"promptTokenCount": 9},
}


async def test_a_client_of_httpx2_serves_an_sdk_that_takes_one(
    memory: pagefault.sync.Memory,
) -> None:
    genai = pytest.importorskip("google.genai", reason="google-genai is not installed")
    asked: list[Any] = []

    def answer(request: httpx2.Request) -> httpx2.Response:
        asked.append((request.url.path, json.loads(request.content)))
        return httpx2.Response(200, json=GEMINI)

    blocking = httpx2.Client(transport=httpx2.MockTransport(answer))
    awaiting = httpx2.AsyncClient(transport=httpx2.MockTransport(answer))
    with pagefault.wrap(blocking, session="ana", memory=memory) as http:
        async with pagefault.wrap(awaiting, session="ben", memory=memory) as http_too:
            options = {"httpx_client": http, "httpx_async_client": http_too}
            client = genai.Client(api_key=KEY, http_options=options)
            said = client.models.generate_content(model="m", contents="Hello")
            assert said.text == "Noted."
            said = await client.aio.models.generate_content(model="m", contents="Hello you")
            assert said.text == "Noted."
    assert [path.rpartition("/")[2] for path, _ in asked] == ["m:generateContent"] * 2
    assert texts(memory, "ana") == ["Hello", "Noted."]
    assert texts(memory, "ben") == ["Hello you", "Noted."]


# --- google-genai -------------------------------------------------------------------------------


def _genai(url: str, **options: Any) -> Any:
    genai = pytest.importorskip("google.genai", reason="google-genai is not installed")
    return genai.Client(api_key=KEY, http_options={"base_url": url} | options)


def _contents(client: Any) -> str:
    return str(client.models.generate_content(model="m", contents="Hello").text)


def _contents_stream(client: Any) -> str:
    told = client.models.generate_content_stream(model="m", contents="Hello")
    return "".join(one.text for one in told)


def _genai_chat(client: Any) -> str:
    return str(client.chats.create(model="m").send_message("Hello").text)


@pytest.mark.parametrize("way", [_contents, _contents_stream, _genai_chat])
def test_a_client_of_google_genai_answers_as_before_and_what_is_said_is_kept(
    way: Callable[[Any], str], upstream: Upstream, memory: pagefault.sync.Memory
) -> None:
    plain = _genai(upstream.url)
    assert way(plain) == "Good day to you."
    with pagefault.wrap(plain, session="ana", memory=memory) as client:
        assert isinstance(client, type(plain))
        assert way(client) == "Good day to you."
        assert [model.name for model in client.models.list()] == []
        assert texts(memory, "ana") == ["Hello", "Good day to you."]
        assert [row.name for row in pagefault.behind(client).sessions()]
        with pytest.raises(BadInput, match="already wrapped"):
            pagefault.wrap(client)
    without, with_us, listed = upstream.seen
    assert (with_us.method, with_us.path) == (without.method, without.path)
    assert with_us.raw == without.raw
    left = NOT_OF_A_REQUEST
    assert {n: v for n, v in with_us.headers.items() if n not in left} == {
        n: v for n, v in without.headers.items() if n not in left
    }
    assert listed.method == "GET"
    with pytest.raises(RuntimeError, match="closed"):
        way(client)


async def test_the_asynchronous_half_of_google_genai_is_wrapped_with_it(
    upstream: Upstream, tmp_path: Path
) -> None:
    aio = pagefault.wrap(_genai(upstream.url), session="ana", memory=tmp_path / "m").aio
    gc.collect()  # the client that was wrapped, and the blocking half, have no other holder
    async with aio:
        chat = aio.chats.create(model="m")
        assert (await chat.send_message("Hello")).text == "Good day to you."
        told = await chat.send_message_stream("How are you?")
        assert "".join([one.text async for one in told]) == "Good day to you."
    async with pagefault.open(tmp_path / "m") as memory:  # it was closed with the half
        [row] = await memory.sessions()
        session = await memory.session(row.name)
        pages = [(await memory.read(page)).text for page in await memory.pages(session)]
    assert pages == ["Hello", "Good day to you.", "How are you?", "Good day to you."]


def test_a_conversation_of_google_genai_outgrows_its_window_and_what_left_comes_back(
    memory: pagefault.sync.Memory,
) -> None:
    with Upstream(always("Understood.")) as provider:
        plain = _genai(provider.url)
        with pagefault.wrap(plain, session="ana", memory=memory, window_tokens=2_000) as client:
            chat = client.chats.create(model="m")
            chat.send_message("The spare key of the cottage hangs behind the juniper barrel.")
            for number in range(24):
                told = f"the invoice of supplier {number} was paid. "
                chat.send_message(f"Note {number}: " + told * 30)
                assert len(provider.seen[-1].raw) < 12_000
            assert "juniper barrel" not in provider.seen[-1].raw.decode()
            chat.send_message("Where does the spare key of the cottage hang?")
            assert "juniper barrel" in provider.seen[-1].raw.decode()
            assert len(chat.get_history()) == 52, "the client keeps all of it"


def test_a_client_of_google_genai_that_is_not_known_is_refused_with_a_way_out(
    upstream: Upstream, monkeypatch: pytest.MonkeyPatch
) -> None:
    import httpx

    hint = r"'httpx_client': pagefault\.wrap"
    with httpx.Client() as older, pytest.raises(BadInput, match=hint):
        pagefault.wrap(_genai(upstream.url, httpx_client=older), memory=":memory:")
    client = _genai(upstream.url)
    with pytest.raises(BadInput, match=r"pagefault\.wrap\(genai\.Client\(\)\)\.aio"):
        pagefault.wrap(client.aio, memory=":memory:")
    sender = client._api_client
    for owner, name in ((client, "_debug_config"), (sender, "_async_httpx_client")):
        with monkeypatch.context() as patch:
            patch.delattr(owner, name)  # as in a version to come
            with pytest.raises(BadInput, match=hint):
                pagefault.wrap(client, memory=":memory:")
    client.close()


# --- what is refused ----------------------------------------------------------------------------


def test_only_a_known_client_is_wrapped() -> None:
    import anthropic

    with pytest.raises(BadInput, match=r"not builtins\.dict"):
        pagefault.wrap({})
    bedrock = anthropic.AnthropicBedrock(aws_region="r", aws_access_key="a", aws_secret_key="s")
    with bedrock, pytest.raises(BadInput, match=r"not anthropic.*AnthropicBedrock"):
        pagefault.wrap(bedrock)


def test_what_cannot_be_is_told_when_it_is_wrapped(
    empty_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PAGEFAULT_WINDOW_TOKENS", "many")
    with _openai("http://127.0.0.1:9") as client:
        with pytest.raises(BadInput, match="many"):
            pagefault.wrap(client)
        with pytest.raises(BadInput, match="a window of -1"):
            pagefault.wrap(client, memory=":memory:", window_tokens=-1)
        with pytest.raises(BadInput, match="a user of the proxy"):
            pagefault.wrap(client, memory=":memory:", user="a b")
        with pytest.raises(BadInput, match="session is a str or a function"):
            pagefault.wrap(client, session=3)  # type: ignore[arg-type]
        with pytest.raises(BadInput, match="is not wrapped"):
            pagefault.behind(client)


def test_a_client_is_wrapped_once(upstream: Upstream) -> None:
    with pagefault.wrap(_openai(upstream.url), memory=":memory:") as client:
        with pytest.raises(BadInput, match="already wrapped"):
            pagefault.wrap(client)
        with pytest.raises(BadInput, match="already wrapped"):
            pagefault.wrap(client._client)
        assert pagefault.behind(client._client).sessions() == []


async def test_a_blocking_client_takes_no_memory_of_a_loop(upstream: Upstream) -> None:
    async with pagefault.open(":memory:") as memory:
        with _openai(upstream.url) as client, pytest.raises(BadInput, match="is blocking"):
            pagefault.wrap(client, memory=memory)
        async with pagefault.wrap(_async_openai(upstream.url), memory=memory) as paged:
            with pytest.raises(BadInput, match="the one that it was given"):
                pagefault.behind(paged)


def test_a_call_of_the_model_is_kept_as_its_own(memory: pagefault.sync.Memory) -> None:
    says = in_turn(
        Say(text="Let me look.", calls=(Call("call_1", "clock", {"zone": "Oslo"}),)),
        Say(text="It is noon."),
    )
    with (
        Upstream(says) as upstream,
        pagefault.wrap(_openai(upstream.url), session="ana", memory=memory) as client,
    ):
        messages: list[Any] = _said("What time is it?")
        reply = client.chat.completions.create(model="m", messages=messages).choices[0].message
        messages.append(reply.model_dump(exclude_none=True))
        messages.append({"role": "tool", "tool_call_id": "call_1", "content": "12:00"})
        client.chat.completions.create(model="m", messages=messages)
    [row] = memory.sessions()
    pages = memory.pages(memory.session(row.name))
    assert [str(page.origin) for page in pages] == [
        "user_typed",
        "model_generated",
        "model_generated",
        "tool:clock",
        "model_generated",
    ]
