"""What a client puts in to compact a conversation is told from what its user says about it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from pagefault.proxy.history.history import Json
from tests.proxy.histories import body, long_talk, model, user
from tests.proxy.recorded import asks_for_summary, recorded
from tests.proxy.standing import Standing, post, standing
from tests.proxy.upstream import Upstream, always

CLAUDE = {"x-claude-code-session-id": "one"}
CODEX = {"session-id": "one"}
SENTENCE = "Your task is to create a detailed summary of the conversation so far"
PROMPT = asks_for_summary("claude")
CONTINUED = "This session is being continued from a previous conversation that ran out of context"


@pytest.fixture
def upstream() -> Iterator[Upstream]:
    with Upstream(always()) as up:
        yield up


async def sent(to: Standing, *said: Json, **more: object) -> list[Json]:
    """What goes on of a conversation that no window of 600 holds."""
    await post(to, body(*said, **more))
    messages: list[Json] = to.upstream.seen[-1].body["messages"]
    return messages


@pytest.mark.parametrize("client", ["claude", "codex"])
def test_a_client_s_own_request_for_a_summary_is_known(client: str) -> None:
    found = [
        item.asks_for_summary
        for one in recorded(f"{client}-compaction")
        for item in one.history.items
    ]
    assert found.count(True) == 1


@pytest.mark.parametrize("client", ["claude", "codex", "opencode"])
def test_what_a_client_compacted_is_known(client: str) -> None:
    recordings = recorded(f"{client}-compaction")
    after = [any(item.continues for item in one.history.items) for one in recordings]
    assert after.index(True) > 0
    assert all(after[after.index(True) :]) or client == "opencode"  # whose titles are made apart


@pytest.mark.parametrize("headers", [CLAUDE, CODEX, {}], ids=["claude", "codex", "none"])
@pytest.mark.parametrize(
    "said",
    [
        SENTENCE + ", in full.",
        f"What does this mean? {PROMPT}",
        f"{PROMPT}\n\nAnd the gate code is 5512.",
        f"My notes:\n{SENTENCE}, paying close attention to the gate code 5512.",
        asks_for_summary("codex") + " The gate code is 5512.",
    ],
    ids=["sentence", "before", "after", "quoted", "codex"],
)
async def test_a_user_who_quotes_the_request_is_paged_and_logged(
    upstream: Upstream, headers: dict[str, str], said: str
) -> None:
    async with standing(upstream, window=600) as to:
        to.http.headers.update(headers)
        talk = long_talk(12)
        messages = await sent(to, *talk, user(said))
        assert len(messages) < len(talk) + 1
        [session] = await to.sessions()
        assert said.strip() in "".join(await to.logged(session))


async def test_the_whole_request_from_another_program_is_a_message_like_any(
    upstream: Upstream,
) -> None:
    async with standing(upstream, window=600) as to:
        talk = long_talk(12)
        assert len(await sent(to, *talk, user(PROMPT))) < len(talk) + 1
        [session] = await to.sessions()
        assert PROMPT.strip() in "".join(await to.logged(session))


async def test_a_request_for_a_summary_that_was_answered_is_no_request_any_more(
    upstream: Upstream,
) -> None:
    async with standing(upstream, window=600) as to:
        to.http.headers.update(CLAUDE)
        talk = long_talk(12)
        later = await sent(to, *talk, user(PROMPT), model("It was about gardens."), user("Go on."))
        assert len(later) < len(talk) + 3


@pytest.mark.parametrize("tools", [[], [{"name": "read", "input_schema": {}}]], ids=["none", "one"])
async def test_codex_offers_no_tools_with_its_request(
    upstream: Upstream, tools: list[Json]
) -> None:
    prompt = asks_for_summary("codex")
    async with standing(upstream, window=600) as to:
        to.http.headers.update(CODEX)
        talk = long_talk(12)
        messages = await sent(to, *talk, user(prompt), tools=tools)
    assert (len(messages) == len(talk) + 1) == (not tools)


async def test_speaking_about_a_continued_session_does_not_make_one(upstream: Upstream) -> None:
    async with standing(upstream) as to:
        to.http.headers.update(CLAUDE)
        await post(to, body(user("The old plan."), model("Noted."), user("Go on.")))
        await post(to, body(user(f"Why does it say: {CONTINUED}?"), model("Hm."), user("Go on.")))
        await post(to, body(user(f"{CONTINUED}. We made plans."), user("Go on.")))
        lines = await to.lines()
    assert "compacted" not in lines[1]
    assert "compacted" in lines[2]


SUMMED_UP = (
    "Another language model started to solve this problem and produced a summary of its work."
)


async def test_a_summary_behind_all_that_the_user_said_is_a_compaction_of_what_was_between(
    upstream: Upstream, tmp_path: Path
) -> None:
    """Codex keeps the user's messages, and puts its summary behind them."""
    said = ["Paint the gate.", "Mind the cat.", "Ask Ana.", "Begin."]
    talk = [one for word in said for one in (user(word), model(f"On it. {word}"))]
    kept = [*map(user, said), user(SUMMED_UP)]
    for again in (False, True):
        async with standing(upstream, root=tmp_path / "m", window=4_000) as to:
            to.http.headers.update(CODEX)
            if not again:
                await post(to, body(*talk[:-1]))
            await post(to, body(*kept))
            await post(to, body(*kept, model("The gate is green."), user("On it with the cat?")))
            lines = await to.lines()
            [session] = await to.sessions()
            texts = await to.logged(session)
        if not again:
            assert "compacted" in lines[1]
        assert "branched" not in "".join(lines)
        assert [texts.count(word) for word in said] == [1] * 4, "each is logged once"
    assert "On it. Mind the cat." in upstream.seen[-1].raw.decode(), "it is quoted"


async def test_what_asks_the_provider_to_compact_is_sent_unpaged_and_nobody_said_it(
    upstream: Upstream,
) -> None:
    """Codex ends its history with an item that asks, a program of Anthropic's sets a field. The
    control is the same history without either.
    """
    talk = long_talk(12)
    plain = [{"role": one["role"], "content": one["content"][0]["text"]} for one in talk]
    trigger = {"type": "compaction_trigger"}
    asked = {
        "input": [
            {
                "model": "m",
                "stream": True,
                "input": [*plain, {"role": "user", "content": "Go on."}],
            },
            {"model": "m", "stream": True, "input": [*plain, trigger]},
        ],
        "messages": [
            body(*talk, user("Go on.")),
            body(*talk, user("Go on."), compaction={"type": "summarize"}),
        ],
    }
    async with standing(upstream, window=600) as to:
        for field, requests in asked.items():
            path = "/v1/responses" if field == "input" else "/v1/messages"
            for n, request in enumerate(requests):
                await to.http.post(path, json=request, headers={"session-id": str(n)})
            was_all = [len(seen.body[field]) == len(talk) + 1 for seen in upstream.seen[-2:]]
            assert was_all == [False, True], field
        texts = [text for name in await to.sessions() for text in await to.logged(name)]
    assert not any("compaction" in text for text in texts)


@pytest.mark.parametrize(
    "thread", [{"type": "create"}, {"type": "continue", "previous_message_id": "msg_1"}]
)
async def test_a_thread_that_the_provider_keeps_passes_as_it_came(
    upstream: Upstream, thread: Json
) -> None:
    """With its tools, too: the provider would offer ours again, to a client that has none such."""
    tools = [{"name": "Read", "input_schema": {"type": "object"}}]
    asked = body(*long_talk(12), user("Go on."), thread=thread, tools=tools)
    async with standing(upstream, window=600) as to:
        answer = await post(to, asked)
        assert answer.headers["x-pagefault-not-logged"] == "unread"
    assert upstream.seen[-1].body == asked
