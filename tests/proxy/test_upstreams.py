"""Several providers behind one proxy: each request goes to its own, and to no other."""

from __future__ import annotations

import pytest

from pagefault.model.errors import BadInput
from pagefault.proxy.http.relay import Patience, Relay
from pagefault.proxy.http.upstreams import Upstreams, opened, read_upstreams
from tests.proxy.histories import body, user
from tests.proxy.standing import KEY, standing
from tests.proxy.upstream import Upstream, always


@pytest.mark.parametrize(
    ("path", "headers", "name", "left"),
    [
        ("/v1/chat/completions", {}, "chat", "/v1/chat/completions"),
        ("/v1/responses", {}, "responses", "/v1/responses"),
        ("/v1/responses/resp_1/cancel", {}, "responses", "/v1/responses/resp_1/cancel"),
        ("/v1/messages", {}, "messages", "/v1/messages"),
        ("/v1/messages/count_tokens", {}, "messages", "/v1/messages/count_tokens"),
        ("/v1beta/models/g:generateContent", {}, "gemini", "/v1beta/models/g:generateContent"),
        ("/v1/models/g:countTokens", {}, "gemini", "/v1/models/g:countTokens"),
        ("/v1/models", {}, "", "/v1/models"),
        ("/v1/models", {"anthropic-version": "2023-06-01"}, "messages", "/v1/models"),
        ("/v1beta/models", {}, "gemini", "/v1beta/models"),
        ("/groq/openai/v1/chat/completions", {}, "/groq/openai", "/v1/chat/completions"),
        ("/groq/v1/messages", {}, "/groq", "/v1/messages"),
        ("/groq", {}, "/groq", "/"),
        ("/groqs/v1/models", {}, "", "/groqs/v1/models"),
    ],
)
async def test_a_request_goes_to_its_own(
    path: str, headers: dict[str, str], name: str, left: str
) -> None:
    names = ["", "chat", "responses", "messages", "gemini", "/groq", "/groq/openai"]
    urls = {one: f"http://127.0.0.1:{8000 + at}" for at, one in enumerate(names)}
    upstreams = opened(urls, lambda url: Relay(url, Patience()))
    relay, rest = upstreams.of(path, headers)
    assert (relay.upstream, rest) == (urls[name], left)
    await upstreams.aclose()


async def test_through_the_proxy_each_format_reaches_its_provider_alone() -> None:
    with Upstream(always("one")) as one, Upstream(always("other")) as other:
        relays = {"": Relay(one.url, Patience()), "messages": Relay(other.url, Patience())}
        relays["/more"] = relays["messages"]
        upstreams = Upstreams(relays)
        async with standing(one, relay=upstreams) as to:
            headers = {"x-api-key": KEY}
            await to.http.post("/v1/messages", json=body(user("a")), headers=headers)
            chat = {"messages": [{"role": "user", "content": "b"}]}
            await to.http.post("/v1/chat/completions", json=chat, headers=headers)
            await to.http.post("/more/v1/chat/completions", json=chat, headers=headers)
            health = (await to.http.get("/healthz")).json()
            assert len(await to.sessions()) == 2
        await upstreams.aclose()
    assert [seen.path for seen in one.seen] == ["/v1/chat/completions"]
    assert [seen.path for seen in other.seen] == ["/v1/messages", "/v1/chat/completions"]
    assert health["upstream"] == one.url
    assert health["upstreams"] == {"messages": other.url, "/more": other.url}


def test_the_first_is_for_all_else_unless_another_is() -> None:
    two = ["messages=https://a.test", "/groq=https://b.test/openai"]
    assert read_upstreams(two) == {
        "messages": "https://a.test",
        "/groq": "https://b.test/openai",
        "": "https://a.test",
    }
    assert read_upstreams([*two, "https://c.test/v1?x=1"])[""] == "https://c.test/v1?x=1"


@pytest.mark.parametrize(
    ("told", "says"),
    [
        (["grok=https://a.test"], "'grok' is neither a request format"),
        (["/a/../b=https://a.test"], "is neither a request format nor a path"),
        (["https://a.test", "https://b.test"], "two upstreams for all else"),
        (["chat=https://a.test", "chat=https://b.test"], "two upstreams for chat"),
    ],
)
def test_what_cannot_be_meant_is_refused(told: list[str], says: str) -> None:
    with pytest.raises(BadInput, match=says):
        read_upstreams(told)
