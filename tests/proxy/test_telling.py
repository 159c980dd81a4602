"""What a memory tells of proxied conversations is what was sent, and what the provider said."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pagefault.pack.ledger import Broke
from pagefault.proxy.conversation.conversation import Conversation
from pagefault.proxy.history.history import Json
from pagefault.service.session import Session
from tests.proxy.histories import FACT, body, long_talk, model, user
from tests.proxy.recorded import asks_for_summary
from tests.proxy.standing import SESSION, Standing, post, standing, talk
from tests.proxy.upstream import Say, Upstream, always

WIRES = ("/v1/chat/completions", "/v1/responses", "/v1/messages")


@pytest.fixture
def upstream() -> Any:
    with Upstream(always("Understood.")) as provider:
        yield provider


async def the_session(to: Standing) -> Session:
    [name] = await to.sessions()
    return await to.memory.session(name, create=False)


# --- what was sent ----------------------------------------------------------------------------


async def test_what_was_sent_is_told_and_not_what_a_session_would_pack(upstream: Upstream) -> None:
    async with standing(upstream, window=600) as to:
        said = await talk(to, 12)
        await post(to, body(*said, user("Who keeps the launch code of project Heron?")))
        told = await to.memory.proxied(await the_session(to))
        assert told is not None
        last = upstream.seen[-1].body["messages"]
        assert told.requests == len(upstream.seen)
        assert told.epochs == sum("epoch" in line for line in await to.lines())
        assert told.last.messages == len(last) < told.last.client_messages == len(said) + 1
        assert told.last.tokens <= told.last.window_tokens == 600
        assert told.last.hidden > 0
        assert told.last.left_tokens > 600
        assert told.last.recalled
        assert FACT in last[-1]["content"][0]["text"]


async def test_what_only_passes_is_told_of_too(upstream: Upstream) -> None:
    async with standing(upstream) as to:
        await talk(to, 3)
        told = await to.memory.proxied(await the_session(to))
        assert told is not None
        assert (told.last.window_tokens, told.epochs, told.recalled_pages) == (0, 0, 0)
        assert told.last.messages == told.last.client_messages == 7
        assert told.last.shared == told.last.before < told.last.tokens


@pytest.mark.parametrize("forgets_it", [False, True])
async def test_a_request_that_nobody_answers_is_told_of_too(
    upstream: Upstream, monkeypatch: pytest.MonkeyPatch, forgets_it: bool
) -> None:
    """What is told of a request waits for its answer, but not for ever; a proxy that `forgets_it`
    is the control.
    """

    async def does_nothing(_: Conversation) -> None: ...

    if forgets_it:
        monkeypatch.setattr(Conversation, "ended", does_nothing)
    async with standing(upstream, url="http://127.0.0.1:9") as to:
        assert (await post(to, body(user("Are you there?")))).status_code == 502
        told = await to.memory.proxied(await the_session(to))
        assert (told is None) == forgets_it


async def test_a_session_that_no_proxy_served_is_not_proxied(upstream: Upstream) -> None:
    async with standing(upstream) as to:
        session = await to.memory.session("own")
        await session.user("hello")
        assert await to.memory.proxied(session) is None


async def test_a_moment_is_the_request_that_was_sent_by_then(upstream: Upstream) -> None:
    async with standing(upstream, window=600) as to:
        said = await talk(to, 12)
        await post(to, body(*said, user("Who keeps the launch code of project Heron?")))
        session = await the_session(to)
        early, late = await session.at(turn=0), await session.at(turn=12)
        assert early.relayed is not None
        assert late.relayed is not None
        assert early.relayed.request == 0
        assert [(one.page_id, one.place) for one in early.pages] == [
            ("msg_1", "turn"),
            ("msg_3", "turn"),  # the answer, in the words that the client sends it back
        ]
        assert late.relayed.request == 12
        assert late.request_tokens == late.relayed.tokens <= late.window_tokens == 600
        now = await session.at(turn=13)
        assert "msg_1" in [one.page_id for one in now.pages]
        moved = [one.what for one in await session.history("msg_1")]
        assert "recalled" in moved


async def test_figures_of_a_proxied_session_are_those_of_what_was_sent(upstream: Upstream) -> None:
    async with standing(upstream, window=600) as to:
        await talk(to, 12)
        session = await the_session(to)
        figures = (await session.metrics()).figures
        told = await to.memory.proxied(session)
        assert told is not None
        assert figures["requests"] == told.requests == 13
        assert figures["epochs"] == told.epochs > 0
        assert figures["proxied"]["last"]["tokens"] == told.last.tokens
        assert figures["prefix_breaks_outside_epochs"] == 0
        assert 0 < figures["context_utilisation"] <= 1
        assert figures["regret"] is None


async def test_the_status_line_counts_as_brought_back_what_the_log_does(upstream: Upstream) -> None:
    async with standing(upstream, window=600) as to:
        await in_requests(to, [*decided(16), user("Who keeps the launch code of project Heron?")])
        session = await the_session(to)
        figures = (await session.metrics()).figures
        assert figures["recalled_pages"] > figures["brought_back"] > 0, "claims are quoted, too"
        [line] = [one.words() for one in to.proxy._desk._standing.values()]
        assert f" · {figures['brought_back']} brought back" in line


async def test_after_a_restart_requests_are_numbered_on(upstream: Upstream, tmp_path: Path) -> None:
    root = tmp_path / "memory"
    async with standing(upstream, root=root) as to:
        await post(to, body(user("a")))
    async with standing(upstream, root=root) as to:
        await post(to, body(user("a"), model("Understood."), user("b")))
        entries = await (await the_session(to)).ledger()
        assert [entry.packed.request for entry in entries] == [0, 1]
        assert [entry.packed.is_cold for entry in entries] == [True, True]


async def test_a_request_to_sum_up_is_counted_and_not_kept(upstream: Upstream) -> None:
    ask = asks_for_summary("claude")
    async with standing(upstream) as to:
        to.http.headers["x-claude-code-session-id"] = "one"
        said = long_talk(1)
        await post(to, body(*said[:1]))
        await post(to, body(*said, user(ask)))
        session = await the_session(to)
        told = await to.memory.proxied(session)
        assert told is not None
        assert told.requests == 2
        assert ask not in await to.logged(session.name)


async def test_what_the_proxy_notes_for_itself_is_nobody_s_page(upstream: Upstream) -> None:
    async with standing(upstream, window=600) as to:
        said = await talk(to, 16)
        await post(to, body(*said, user("Who keeps the launch code of project Heron?")))
        session = await the_session(to)
        told = await to.memory.proxied(session)
        assert told is not None
        assert told.epochs
        assert told.recalled_pages
        texts = await to.logged(session.name)
        found = await to.memory.recall("why is the window full at core?", limit=50)
    assert not [text for text in texts if "window_full" in text or '"pages"' in text]
    assert {row.page.origin for row in found.hits} <= {"user_typed", "model_generated"}


# --- what the provider said -------------------------------------------------------------------


@pytest.mark.parametrize("path", WIRES)
@pytest.mark.parametrize("stream", [True, False], ids=["streamed", "whole"])
async def test_what_a_provider_counts_stands_beside_what_was_predicted(
    upstream: Upstream, path: str, stream: bool
) -> None:
    upstream.script = lambda _: Say(text="Yes.", input_tokens=10_000, cached_tokens=4_000)
    field = "input" if "responses" in path else "messages"
    asked = {"model": "m", field: [{"role": "user", "content": "word " * 3_000}], "stream": stream}
    async with standing(upstream) as to:
        for _ in range(2):
            assert (await to.http.post(path, json=asked, headers=SESSION)).status_code == 200
            await to.proxy.settled()
        session = await the_session(to)
        entries = await session.ledger()
        assert [entry.reported is not None for entry in entries] == [True, True]
        usage = entries[-1].reported
        assert usage is not None
        assert (usage.input_tokens, usage.cached_tokens) == (10_000, 4_000)
        line = entries[-1].line(session.prices)
        assert line.predicted_cost > 0
        assert line.reported_cost is not None
        summary = (await session.metrics()).figures
        assert summary["calls_reported"] == 2
        assert summary["disagreements"]


async def test_a_report_does_not_change_what_the_session_itself_would_pack(
    upstream: Upstream,
) -> None:
    upstream.script = lambda _: Say(text="Yes.", input_tokens=90_000)
    async with standing(upstream) as to:
        await post(to, body(user("word " * 3_000)))
        session = await the_session(to)
        assert (await session.request()).factor == 1.0


async def test_a_provider_that_counts_nothing_leaves_the_line_unreported(
    upstream: Upstream,
) -> None:
    upstream.script = lambda _: Say(status=529)
    async with standing(upstream) as to:
        await post(to, body(user("a")))
        session = await the_session(to)
        [entry] = await session.ledger()
        assert entry.reported is None
        assert entry.line(session.prices).disagreement == "unreported"


# --- why a prefix broke -----------------------------------------------------------------------

LONG = "word " * 600


@pytest.mark.parametrize(
    ("second", "change"),
    [
        (body(user(LONG), model("Understood."), user("more")), "extended"),
        (body(user(LONG)), "same"),
        (body(user("Something else. " + LONG)), "begun"),
        ({**body(user(LONG), model("Understood."), user("more")), "model": "x"}, "remodelled"),
        (body(user(LONG), model("Understood."), tools=[{"name": "Read"}]), "reinstructed"),
    ],
    ids=lambda one: one if isinstance(one, str) else "",
)
@pytest.mark.parametrize("window", [0, 50_000])
async def test_a_ledger_says_when_it_was_the_client_that_broke_the_prefix(
    upstream: Upstream, second: Json, change: str, window: int
) -> None:
    async with standing(upstream, window=window) as to:
        await post(to, body(user(LONG)))
        await post(to, second)
        session = await the_session(to)
        one = (await session.ledger())[-1]
        assert one.relayed is not None
        assert one.relayed.change == change
        line = one.line(session.prices)
        is_unbroken = change in ("extended", "same")
        assert line.survival == (1.0 if is_unbroken else None)
        assert (line.broke == Broke.CLIENT_CHANGED) == (not is_unbroken)
        assert (await session.metrics()).figures["prefix_breaks_outside_epochs"] == 0


# --- what stands ------------------------------------------------------------------------------

DECISION = "We decided to use PostgreSQL for the archive."


def decided(turns: int, *more: str) -> list[Json]:
    said = [user(DECISION), model("Noted.")]
    for text in more:
        said += [user(text), model("Noted.")]
    return said + long_talk(turns)[2:]


async def in_requests(to: Standing, said: list[Json]) -> None:
    for upto in range(1, len(said) + 1, 2):
        assert (await post(to, body(*said[:upto]))).status_code == 200


async def test_a_claim_whose_words_left_is_quoted_in_front_until_the_next_epoch(
    upstream: Upstream,
) -> None:
    async with standing(upstream, window=900) as to:
        await in_requests(to, decided(25))
        log = [line for line in await to.lines() if "POST" in line]
    fronts = [str(seen.body["messages"][0]) for seen in upstream.seen]
    first = next(at for at, line in enumerate(log) if "epoch" in line)
    assert all("PostgreSQL" in front and "clm_1" in front for front in fronts[first:])
    changed = [at for at in range(first + 1, len(fronts)) if fronts[at] != fronts[at - 1]]
    assert changed
    assert all("epoch" in log[at] for at in changed)


async def test_a_claim_that_no_longer_stands_is_not_quoted(upstream: Upstream) -> None:
    change = "We'll use SQLite for the archive."
    async with standing(upstream, window=900) as to:
        await in_requests(to, decided(25, change))
        session = await the_session(to)
        statuses = {one.value: one.status for one in await session.claims()}
    assert statuses[DECISION[:-1]] == "superseded"
    front = str(upstream.seen[-1].body["messages"][0])
    assert "SQLite" in front
    lines = [line for line in front.split("\\n") if line.startswith("C (")]
    assert any(line.startswith("C (clm_2") for line in lines)
    assert not any(line.startswith("C (clm_1") for line in lines)


async def test_claims_in_front_are_the_same_after_a_restart(
    upstream: Upstream, tmp_path: Path
) -> None:
    root = tmp_path / "memory"
    said = decided(12)
    async with standing(upstream, root=root, window=900) as to:
        await in_requests(to, said)
    async with standing(upstream, root=root, window=900) as to:
        await post(to, body(*said))
    assert "PostgreSQL" in str(upstream.seen[-1].body["messages"][0])
    assert upstream.seen[-1].body["messages"][0] == upstream.seen[-2].body["messages"][0]


async def test_what_is_forgotten_is_quoted_no_more(upstream: Upstream) -> None:
    said = decided(16)
    async with standing(upstream, window=900) as to:
        await in_requests(to, said[:-2])
        assert "PostgreSQL" in str(upstream.seen[-1].body["messages"])
        await to.memory.forget((await the_session(to)).name, "msg_1")
        await post(to, body(*said))
        await post(to, body(*said, model("Noted."), user("What is the archive in?")))
    assert all("PostgreSQL" not in str(seen.body["messages"]) for seen in upstream.seen[-2:])


async def test_claims_of_what_a_client_compacted_are_quoted_once(upstream: Upstream) -> None:
    summary = user(
        "This session is being continued from a previous conversation that ran out of context."
    )
    async with standing(upstream, window=4_000) as to:
        to.http.headers["x-claude-code-session-id"] = "one"
        await in_requests(to, decided(2))
        asked = user("What of the roses?")
        await post(to, body(summary, asked))
        first = upstream.seen[-1].body["messages"]
        await post(to, body(summary, asked, model("They grow."), user("And the lilies?")))
        then = upstream.seen[-1].body["messages"]
    assert "clm_1" in str(first[-1])
    assert str(then).count("clm_1") == str(first).count("clm_1")
    assert then[: len(first)] == first


async def test_a_claim_of_a_branch_that_was_left_is_not_quoted(upstream: Upstream) -> None:
    async with standing(upstream, window=900) as to:
        await post(to, body(user("Plan it."), model("How?"), user(DECISION)))
        said = [user("Plan it."), model("How?"), user("Differently."), *long_talk(20)[1:]]
        for upto in range(3, len(said) + 1, 2):
            await post(to, body(*said[:upto]))
        session = await the_session(to)
        assert next(one.status for one in await session.claims()) == "standing"
    assert "PostgreSQL" not in str(upstream.seen[-1].body)


async def test_an_answer_tells_which_model_gave_it(upstream: Upstream) -> None:
    async with standing(upstream) as to:
        await post(to, body(user("Hello"), model("Hi, said before."), user("And now?")))
        session = await the_session(to)
        made = [one for one in await session.history() if one.what == "created"]
    assert [(one.actor, one.actor_id) for one in made] == [
        *(("user", ""), ("model", ""), ("user", ""), ("model", "m")),
    ], "who gave an answer that came with the client's history, nobody knows"
