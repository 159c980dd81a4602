"""Nobody meets anybody else: whose a request is, and what is one conversation of theirs."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pagefault.model.errors import BadInput
from pagefault.proxy.history.history import Json
from pagefault.proxy.http.principal import NOBODY, checked_user, principal_of
from pagefault.proxy.http.token import read_tokens
from tests.proxy.histories import model, user
from tests.proxy.recorded import keyed
from tests.proxy.standing import Standing, standing
from tests.proxy.upstream import Say, Upstream, always

ANN, BOB = {"x-api-key": "key-of-ann"}, {"x-api-key": "key-of-bob"}
CARD, OTHER_CARD = "4111-2222-3333-4444", "9999-BOB-9999"
PATHS = ("/v1/messages", "/v1/chat/completions")


@pytest.fixture
def upstream() -> Iterator[Upstream]:
    with Upstream(always("Hello.")) as up:
        yield up


def request(path: str, messages: list[Json], **more: Any) -> Json:
    if path.endswith("/chat/completions"):
        messages = [{"role": one["role"], "content": one["content"][0]["text"]} for one in messages]
        return {"model": "m", "messages": messages, **more}
    return {"model": "m", "system": "You help.", "messages": messages, **more}


async def ask(
    to: Standing, messages: list[Json], who: dict[str, str], path: str = PATHS[0], **more: Any
) -> str:
    """Send it, and return what the provider was sent."""
    answer = await to.http.post(path, json=request(path, messages, **more), headers=who)
    assert answer.status_code == 200
    await to.proxy.settled()
    return to.upstream.seen[-1].raw.decode()


def introduced(text: str, turns: int = 0) -> list[Json]:
    """The same opening, then somebody's own words, then as many turns that fill a window."""
    said = [user("Hi"), model("Hello."), user(text)]
    for n in range(turns):
        said += [model("Hello."), user(f"Tell me of garden {n}. " + f"leaf{n} " * 60)]
    return said


def requests_of(said: list[Json]) -> list[list[Json]]:
    return [said[:upto] for upto in range(1, len(said) + 1, 2)]


@pytest.mark.parametrize(
    ("path", "more", "bob"),
    [  # each beside each of the others; in torture all three at once as well
        pytest.param(
            path, more, bob, marks=() if (one + two + three) % 2 == 0 else pytest.mark.torture
        )
        for one, path in enumerate(PATHS)
        for two, more in enumerate(({}, {"prompt_cache_key": "app"}))
        for three, bob in enumerate((BOB, ANN))
    ],
)
async def test_two_who_begin_alike_never_see_each_other(
    upstream: Upstream, path: str, more: Json, bob: dict[str, str]
) -> None:
    ann_said = introduced(f"I am Ann, my card number is {CARD}.", 12)
    bob_said = introduced(f"I am Bob, my card number is {OTHER_CARD}.", 12)
    async with standing(upstream, window=600) as to:
        for anns, bobs in zip(requests_of(ann_said), requests_of(bob_said), strict=True):
            assert OTHER_CARD not in await ask(to, anns, ANN, path, **more)
            assert CARD not in await ask(to, bobs, bob, path, **more)
        asked = [model("Hello."), user("What is my card number?")]
        assert CARD not in await ask(to, [*bob_said, *asked], bob, path, **more)
        assert OTHER_CARD in upstream.seen[-1].raw.decode()  # it is quoted to who said it
        sessions = await to.sessions()
        logged = [" ".join(await to.logged(name)) for name in sessions]
    assert len([texts for texts in logged if CARD in texts]) == 1
    assert len([texts for texts in logged if OTHER_CARD in texts]) == 1
    assert not [texts for texts in logged if CARD in texts and OTHER_CARD in texts]


@pytest.mark.parametrize(
    ("ann", "bob"),
    [
        ({"authorization": "Bearer a"}, {"authorization": "Bearer b"}),
        ({"x-api-key": "a"}, {"x-api-key": "a", "openai-project": "p"}),
        ({"authorization": "Bearer a", "chatgpt-account-id": "1"}, {"chatgpt-account-id": "1"}),
        ({"cookie": "session=a"}, {"cookie": "session=b"}),
        ({"api-key": "a"}, {}),
        ({"x-some-gateway-auth": "a"}, {"x-some-gateway-auth": "b"}),
        ({"x-jwt": "a"}, {"x-jwt": "b"}),
        ({"cookie": "cf_session=a"}, {"cookie": "cf_session=b"}),
        ({"cookie": "_cf_login=a"}, {"cookie": "_cf_login=b"}),
        ({"x-pat": "a"}, {"x-pat": "b"}),
        ({"x-bearer": "a"}, {"x-bearer": "b"}),
        ({"x-api-pass": "a"}, {"x-api-pass": "b"}),
        ({"x-access-code": "a"}, {"x-access-code": "b"}),
        ({"x-login": "a"}, {"x-login": "b"}),
        ({"x-user_id": "a"}, {"x-user_id": "b"}),
        ({"x-forwarded-user": "a"}, {"x-forwarded-user": "b"}),
        ({"x-remote-email": "a"}, {"x-remote-email": "b"}),
        ({"x-pagefault-key": "a"}, {"x-pagefault-key": "b"}),
    ],
    ids=str,
)
async def test_one_id_under_two_credentials_is_two_sessions(
    upstream: Upstream, ann: dict[str, str], bob: dict[str, str]
) -> None:
    async with standing(upstream, window=600) as to:
        for who, text in ((ann, "first"), (bob, "second")):
            sent = {**who, "x-pagefault-session": "holiday"}
            await ask(to, [user(text)], sent)
        one, other = await to.sessions()
        assert one.split("@")[0] == other.split("@")[0]
        assert one != other
        assert sorted([await to.logged(one), await to.logged(other)]) == [
            ["first", "Hello."], ["second", "Hello."],
        ]  # fmt: skip


def test_cookies_of_the_way_and_keys_of_a_request_are_no_credentials() -> None:
    def told(*headers: tuple[bytes, bytes], query: bytes = b"") -> str:
        return principal_of(headers, query, keyed)

    assert told() == told((b"cookie", b"__cf_bm=1; _cfuvid=2")) == NOBODY
    assert told(
        (b"idempotency-key", b"1"), (b"user-agent", b"a"), (b"x-pagefault-token", b"t")
    ) == (NOBODY)
    assert told((b"cookie", b"__cf_bm=1; sid=3")) == told((b"Cookie", b"sid=3; __cf_bm=7"))
    assert told(query=b"key=1") != told(query=b"key=2") != NOBODY
    assert told(query=b"key=%FEabc") != told(query=b"key=%FFabc")
    assert told((b"sec-fetch-user", b"?1"), (b"x-claude-code-session-id", b"1")) == NOBODY
    assert told((b"a-key", b"1"), (b"b-key", b"2")) == told((b"b-key", b"2"), (b"a-key", b"1"))
    assert told((b"a-key", b"1")) != told((b"a-key", b"1"), (b"a-key", b"2"))


async def test_for_a_declared_user_another_key_keeps_the_session(upstream: Upstream) -> None:
    async with standing(upstream, user="ann") as to:
        for key in ("old", "refreshed"):
            sent = {"authorization": f"Bearer {key}", "x-pagefault-session": "holiday"}
            await ask(to, [user("Hi")], sent)
        await ask(to, [user("By itself")], {"authorization": "Bearer old"})
        await ask(to, [user("By itself"), model("Hello."), user("on")], {"x-api-key": "new"})
        named, unnamed = sorted(await to.sessions())
        assert named.startswith("holiday:")
        assert named.endswith("@ann")
        assert await to.logged(named) == ["Hi", "Hello."]
        assert await to.logged(unnamed) == ["By itself", "Hello.", "on", "Hello."]


TOKENS = {"ann": "token-of-ann-0123456789", "bob": "token-of-bob-0123456789"}


async def test_a_token_of_several_says_whose_a_request_is(upstream: Upstream) -> None:
    async with standing(upstream, tokens=TOKENS, window=600) as to:
        for name, key in (("ann", "old"), ("ann", "refreshed"), ("bob", "old")):
            sent = {
                "x-pagefault-token": TOKENS[name],
                "x-pagefault-session": "holiday",
                "authorization": f"Bearer {key}",
            }
            await ask(to, [user(f"I am {name}")], sent)
        sessions = {name.rpartition("@")[2]: await to.logged(name) for name in await to.sessions()}
        assert sessions == {"ann": ["I am ann", "Hello."], "bob": ["I am bob", "Hello."]}
        for token in ({}, {"x-pagefault-token": "of-nobody-0123456789"}):
            refused = await to.http.post(PATHS[0], json={}, headers=token)
            assert refused.status_code == 401
        both = [("x-pagefault-token", token) for token in TOKENS.values()]
        assert (await to.http.get("/healthz", headers=both)).status_code == 401


def test_a_file_of_tokens_is_read_or_refused_without_a_token_in_the_message(
    tmp_path: Path,
) -> None:
    file = tmp_path / "tokens"
    file.touch(mode=0o600)
    file.write_text("# who\nann token-of-ann-0123456789\n\nbob\ttoken-of-bob-0123456789\n")
    assert read_tokens(file) == TOKENS
    for bad in (
        "",
        "ann\n",
        "ann short",
        "a@b token-of-ann-0123456789",
        "~ token-of-ann-0123456789",
        "ann token-of-ann-0123456789\nann token-of-bob-0123456789",
        "ann token-of-ann-0123456789\nbob token-of-ann-0123456789",
    ):
        file.write_text(bad)
        with pytest.raises(BadInput) as refused:
            read_tokens(file)
        assert "token-of" not in f"{refused.value} {refused.value.hint}"
    file.write_text("ann token-of-ann-0123456789")
    file.chmod(0o644)
    with pytest.raises(BadInput, match="other users can read"):
        read_tokens(file)


def test_a_user_s_name_is_plain_and_no_digest() -> None:
    assert checked_user("ann.b-2") == "ann.b-2"
    for bad in ("", "~", "~1f", "a@b", "a:b", "a b", "x" * 33, "é"):
        with pytest.raises(BadInput) as refused:
            checked_user(bad)
        assert "such as ann" in refused.value.hint


async def test_an_id_that_looks_like_a_secret_is_a_session_and_not_written(
    upstream: Upstream, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    secret = "hunter2-hunter2-hunter2"
    monkeypatch.setenv("SOME_API_KEY", secret)
    root = tmp_path / "memory"
    async with standing(upstream, root=root) as to:
        for who in (ANN, BOB):
            sent = {**who, "x-pagefault-session": secret}
            await ask(to, [user(f"I am {who['x-api-key']}")], sent)
        sessions = await to.sessions()
        lines = await to.lines()
        assert len(sessions) == 2
    assert not [told for told in (*sessions, *lines) if "hunter2" in told]


# --- without an id ----------------------------------------------------------------------------


async def test_without_an_id_a_retry_and_what_follows_are_one_session(upstream: Upstream) -> None:
    said = [user("Hi"), model("Hello."), user("I am Ann")]
    async with standing(upstream) as to:
        for messages in (said[:1], said[:1], said, said, [*said, model("Hello."), user("on")]):
            await ask(to, messages, ANN)
        [session] = await to.sessions()
        assert await to.logged(session) == [
            "Hi", "Hello.", "I am Ann", "Hello.", "on", "Hello.",
        ]  # fmt: skip


@pytest.mark.parametrize(
    "other",
    [
        [user("Hi "), model("Hello, Bob."), user("I am Ann"), model("Hello."), user("on")],
        [user("Good day"), model("Hello."), user("I am Ann"), model("Hello."), user("on")],
        [user("I am Ann"), model("Hello."), user("on")],
        [user("Hi"), model("Hello."), user("I am Bob")],
        [user("Hi"), model("Hello.")],
    ],
    ids=["an answer edited", "a message edited", "the front cut off", "rewound", "looked back"],
)
async def test_without_an_id_what_differs_is_another_session_with_all_of_it(
    upstream: Upstream, other: list[Json]
) -> None:
    said = [user("Hi"), model("Hello."), user("I am Ann"), model("Hello."), user("on")]
    async with standing(upstream) as to:
        for messages in requests_of(said):
            await ask(to, messages, ANN)
        [first] = await to.sessions()
        before = await to.logged(first)
        await ask(to, other, ANN)
        second, again = await to.sessions()
        assert again == first
        assert await to.logged(first) == before
        texts = [one["content"][0]["text"].strip() for one in other]
        assert (await to.logged(second))[: len(texts)] == texts


async def test_without_an_id_the_client_s_own_bytes_are_sent(upstream: Upstream) -> None:
    def dressed(thought: str) -> list[Json]:
        thinking = {"type": "thinking", "thinking": thought, "signature": "c2ln"}
        hello = {**model("Hello."), "content": [thinking, *model("Hello.")["content"]]}
        return [user("Hi"), hello, user("on")]

    async with standing(upstream, window=600) as to:
        await ask(to, [user("Hi")], ANN)
        await ask(to, dressed("of Ann"), ANN)
        assert "of Ann" not in await ask(to, dressed("of Bob"), ANN)
        assert "of Bob" in upstream.seen[-1].raw.decode()


async def test_after_a_restart_a_conversation_without_an_id_is_found_in_the_log(
    upstream: Upstream, tmp_path: Path
) -> None:
    root = tmp_path / "memory"
    anns = introduced(f"I am Ann, my card number is {CARD}.", 6)
    bobs = introduced(f"I am Bob, my card number is {OTHER_CARD}.", 6)
    for upto in (9, 13):
        async with standing(upstream, root=root, window=600) as to:
            for said, other in ((anns, OTHER_CARD), (bobs, CARD)):
                for messages in requests_of(said)[(upto - 9) and 5 : upto // 2 + 1]:
                    assert other not in await ask(to, messages, ANN)
            logged = [await to.logged(name) for name in await to.sessions()]
            assert len(logged) == 2
            newest = requests_of(anns)[upto // 2][-1]["content"][0]["text"].strip()
            assert all(newest in one for one in logged), "both go on, in their own sessions"


async def test_two_at_once_that_begin_alike_part_where_they_differ(upstream: Upstream) -> None:
    upstream.script = lambda seen: Say(text="Hello.", pause_s=0.0)
    async with standing(upstream, window=600) as to:
        await ask(to, [user("Hi")], ANN)
        texts = [f"I am number {n}" for n in range(8)]
        said = [[user("Hi"), model("Hello."), user(text)] for text in texts]
        await asyncio.gather(
            *(to.http.post(PATHS[0], json=request(PATHS[0], one), headers=ANN) for one in said)
        )
        logged = [await to.logged(name) for name in await to.sessions()]
    assert sorted(one[2] for one in logged) == texts
    assert all(one[:2] == ["Hi", "Hello."] and len(one) == 4 for one in logged)


async def test_health_tells_of_nobody(upstream: Upstream) -> None:
    from pagefault.model.errors import StoreLatched

    async with standing(upstream, window=600) as to:
        to.memory._store._latch.refuse_from_now(StoreLatched("the disk of Ann is gone"))
        await ask(to, [user("a")], {**ANN, "x-pagefault-session": "holiday"})
        health = await to.http.get("/healthz")
    assert health.json()["not_logged"] == 1
    assert "Ann" not in health.text
    assert "holiday" not in health.text
