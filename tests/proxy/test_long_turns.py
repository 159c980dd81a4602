"""An agent that works for long on one prompt: its turn is paged, and no provider refuses it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from pagefault.proxy.conversation import state
from pagefault.proxy.history.history import Json
from pagefault.proxy.layout.verbatim import Verbatim
from pagefault.proxy.layout.wording import STUB
from pagefault.service.inspection.relayed_window import window_of
from pagefault.window.law import Law
from tests.proxy.histories import COUNTER, survival
from tests.proxy.standing import SESSION, Standing, standing
from tests.proxy.strict import strict
from tests.proxy.upstream import Call, Say, Seen, Upstream

WINDOW = 2_600
READS = 24
STUBBED = "tokens, not shown any more"
assert STUBBED in STUB
PROMPT = "Read all chapters, and tell me who took the lantern."


def chapter(number: int, words: int = 200) -> str:
    return f"chapter {number} begins here\nand goes on: " + f"word{number} " * words


class Agent:
    """A client of one wire: a loop that serves every call and resends all that was said."""

    def __init__(self, to: Standing, path: str, result: Callable[[int], Any] = chapter) -> None:
        self.to = to
        self.path = path
        self.result = result
        self.messages: list[Json] = []
        self.calls = 0

    async def prompt(self, text: str) -> str:
        self.messages.append({"role": "user", "content": text})
        while True:
            answer = await self.step()
            if answer is not None:
                return answer

    async def step(self) -> str | None:
        """One request; the answer, where it is the last of the turn."""
        reply = await self.to.http.post(self.path, json=self.body(), headers=SESSION)
        assert reply.status_code == 200, reply.text
        return self.take(reply.json())

    def body(self) -> Json:
        raise NotImplementedError

    def take(self, reply: Json) -> str | None:
        raise NotImplementedError

    def type(self, text: str) -> None:
        """What a user types while the tools run."""
        self.messages.append({"role": "user", "content": text})

    def next_result(self) -> Any:
        self.calls += 1
        return self.result(self.calls)


class MessagesAgent(Agent):
    def body(self) -> Json:
        marked = [*self.messages[:-1], self._marked(self.messages[-1])]
        return {"model": "m", "max_tokens": 100, "system": "You help.", "messages": marked}

    def type(self, text: str) -> None:
        *before, results = self.messages
        told = [*results["content"], {"type": "text", "text": text}]
        self.messages = [*before, {"role": "user", "content": told}]

    def _marked(self, message: Json) -> Json:
        content = message["content"]
        told = [{"type": "text", "text": content}] if isinstance(content, str) else content
        return {**message, "content": [*told[:-1], {**told[-1], "cache_control": {"type": "e"}}]}

    def take(self, reply: Json) -> str | None:
        self.messages.append({"role": "assistant", "content": reply["content"]})
        calls = [block for block in reply["content"] if block["type"] == "tool_use"]
        if not calls:
            return str(reply["content"][-1]["text"])
        results = [
            {"type": "tool_result", "tool_use_id": one["id"], "content": self.next_result()}
            for one in calls
        ]
        self.messages.append({"role": "user", "content": results})
        return None


class ChatAgent(Agent):
    def body(self) -> Json:
        return {"model": "m", "messages": [{"role": "system", "content": "Hi."}, *self.messages]}

    def take(self, reply: Json) -> str | None:
        message = reply["choices"][0]["message"]
        self.messages.append(message)
        for one in message.get("tool_calls", ()):
            told = {"role": "tool", "tool_call_id": one["id"], "content": self.next_result()}
            self.messages.append(told)
        return None if message.get("tool_calls") else str(message["content"])


class ResponsesAgent(Agent):
    def body(self) -> Json:
        return {"model": "m", "instructions": "You help.", "input": self.messages}

    def take(self, reply: Json) -> str | None:
        self.messages += reply["output"]
        calls = [item for item in reply["output"] if item["type"] == "function_call"]
        for one in calls:
            told = {"type": "function_call_output", "call_id": one["call_id"]}
            self.messages.append({**told, "output": self.next_result()})
        return None if calls else str(reply["output"][-1]["content"][0]["text"])


AGENTS = {
    "/v1/messages": MessagesAgent,
    "/v1/chat/completions": ChatAgent,
    "/v1/responses": ResponsesAgent,
}


def reading(reads: int = READS, *, at_once: int = 1, thinking: str = "") -> Callable[[Seen], Say]:
    """A model that reads so many files, and then says who it was."""
    made = 0

    def script(seen: Seen) -> Say:
        nonlocal made
        if made >= reads:
            return Say(text="It was Ilse.")
        names = range(made, made + at_once)
        made += at_once
        calls = tuple(Call(f"call_{n}", "Read", {"path": f"chapter{n}.txt"}) for n in names)
        return Say(text="I read on.", calls=calls, thinking=thinking and f"{thinking} {made}")

    return script


def watched(script: Callable[[Seen], Say], window: int = WINDOW) -> Upstream:
    return Upstream(strict(script, COUNTER, window))


def sent(upstream: Upstream) -> Iterator[list[Any]]:
    for seen in upstream.seen:
        yield seen.body.get("messages") or seen.body["input"]


@pytest.mark.parametrize("path", AGENTS)
@pytest.mark.parametrize("at_once", [1, 3])
async def test_a_turn_longer_than_the_window_goes_on_to_its_end(path: str, at_once: int) -> None:
    with watched(reading(at_once=at_once)) as upstream:
        async with standing(upstream, window=WINDOW) as to:
            agent = AGENTS[path](to, path)
            assert await agent.prompt(PROMPT) == "It was Ilse."
            lines = await to.lines()
            [session] = await to.sessions()
            texts = await to.logged(session)
    assert agent.calls == READS
    assert sum(COUNTER.count(chapter(n)) for n in range(READS)) > 1.5 * WINDOW
    assert not any("over the window" in line for line in lines)
    before: list[Any] = []
    breaks = made = 0
    for messages in sent(upstream):
        assert PROMPT in str(messages), "what the agent is to do never leaves"
        made, made_before = str(messages).count(".txt"), made
        assert made >= made_before, "the calls stay"
        breaks += bool(before) and survival(before, messages) < 1.0
        before = messages
    assert made == READS
    newest = max(n for n in range(1, READS + 1) if f"word{n} " in str(before))
    assert newest == READS, "what the model has not seen yet is whole"
    assert chapter(READS).strip() in str(before).replace("\\n", "\n")
    assert STUBBED in str(before)
    assert "chapter 1 begins here" in str(before), "a stub has the first lines"
    assert "word1 " * 100 not in str(before)
    assert 1 <= breaks <= len(upstream.seen) // 2, "in epochs, and not with every request"
    assert sum(text.startswith("chapter ") for text in texts) == READS, "nothing of it is lost"


async def bodies(root: Path, *, restarts: tuple[int, ...]) -> list[Json]:
    """What a provider is sent of one long turn, with restarts before these requests."""
    with watched(reading()) as upstream:
        agent: Agent | None = None
        for first, last in pairwise([0, *restarts, READS + 1]):
            async with standing(upstream, root=root, window=WINDOW) as to:
                agent = agent or ChatAgent(to, "/v1/chat/completions")
                agent.to = to
                agent.messages = agent.messages or [{"role": "user", "content": PROMPT}]
                for number in range(first, last):
                    assert (await agent.step() is None) == (number < READS)
                await to.proxy.settled()
        return [seen.body for seen in upstream.seen]


async def test_a_restart_in_the_middle_of_a_turn_changes_no_byte(tmp_path: Path) -> None:
    without = await bodies(tmp_path / "one", restarts=())
    assert STUBBED in str(without)
    assert await bodies(tmp_path / "other", restarts=(9, 13, 14, 15, 20)) == without


@pytest.mark.parametrize("path", AGENTS)
async def test_calls_and_results_stay_pairs_though_each_turn_counts_its_calls_anew(
    path: str,
) -> None:
    def script(seen: Seen) -> Say:
        steps.append(len(steps) % 3)
        calls = (Call(f"call_{steps[-1]}", "Read", {"path": "a.txt"}),)
        return Say(text="Done.") if steps[-1] == 2 else Say(text="I read.", calls=calls)

    steps: list[int] = []
    with watched(script) as upstream:
        async with standing(upstream, window=WINDOW) as to:
            agent = AGENTS[path](to, path)
            for turn in range(12):
                assert await agent.prompt(f"Question {turn}: what does it say?") == "Done."
    assert sum(COUNTER.count(chapter(n)) for n in range(24)) > 1.5 * WINDOW
    assert "Question 0" not in str(upstream.seen[-1].body)


async def test_a_bound_turn_keeps_the_result_with_which_it_opens() -> None:
    """Its call is in the turn before, which therefore stays too."""
    read, think = reading(4), reading(9, thinking="I think of")

    def script(seen: Seen) -> Say:
        return think(seen) if "be quick" in str(seen.body) else read(seen)

    with Upstream(strict(script, COUNTER, 2 * WINDOW)) as upstream:
        async with standing(upstream, window=WINDOW) as to:
            agent = MessagesAgent(to, "/v1/messages")
            agent.messages.append({"role": "user", "content": PROMPT})
            for _ in range(4):
                assert await agent.step() is None
            agent.type("Please be quick.")
            for _ in range(9):
                assert await agent.step() is None
            assert await agent.step() == "It was Ilse."


@pytest.mark.parametrize("path", AGENTS)
async def test_typing_in_the_middle_of_a_turn_drives_out_neither_task_nor_unseen_result(
    path: str,
) -> None:
    with watched(reading()) as upstream:
        async with standing(upstream, window=WINDOW) as to:
            agent = AGENTS[path](to, path)
            agent.messages.append({"role": "user", "content": PROMPT})
            for _ in range(READS // 2):
                assert await agent.step() is None
                before, newest = list(agent.messages), agent.calls
                agent.type("Go on, please.")
                await agent.step()
                sent = str(upstream.seen[-1].body)
                assert PROMPT in sent
                assert f"word{newest} " * 200 in sent
                agent.messages = before
    assert STUBBED in sent


def picture(path: str) -> list[Json]:
    data = "iVBORw0KGgo" + "A" * 4_000
    if path.endswith("/messages"):
        source = {"type": "base64", "media_type": "image/png", "data": data}
        return [{"type": "image", "source": source}]
    url = f"data:image/png;base64,{data}"
    if path.endswith("/responses"):
        return [{"type": "input_image", "image_url": url}]
    return [{"type": "image_url", "image_url": {"url": url}}]


@pytest.mark.parametrize("path", AGENTS)
async def test_a_picture_of_which_the_memory_has_nothing_is_made_no_stub(path: str) -> None:
    def result(number: int) -> Any:
        return picture(path) if number in (2, 3) else chapter(number)

    with watched(reading(), 4 * WINDOW) as upstream:
        async with standing(upstream, window=2 * WINDOW) as to:
            agent = AGENTS[path](to, path, result)
            assert await agent.prompt(PROMPT) == "It was Ilse."
    last = str(upstream.seen[-1].body)
    assert last.count("iVBORw0KGgo") == 2
    assert STUBBED in last


async def test_what_became_a_stub_is_quoted_when_a_later_message_asks_for_it() -> None:
    def script(seen: Seen) -> Say:
        return Say(text="Noted.") if "Which" in str(seen.body["messages"][-1]) else read(seen)

    def told(number: int) -> str:
        where = "The lantern lies in the boathouse at Kalmar." if number == 2 else ""
        return f"{chapter(number)}\n{where}\n" + f"word{number} " * 20

    read = reading()
    with watched(script) as upstream:
        async with standing(upstream, window=WINDOW) as to:
            agent = MessagesAgent(to, "/v1/messages", told)
            await agent.prompt(PROMPT)
            assert "Kalmar" not in str(upstream.seen[-1].body)
            await agent.prompt("Which boathouse does the lantern lie in?")
            assert "boathouse at Kalmar" in str(upstream.seen[-1].body["messages"][-1])


async def test_nothing_is_changed_before_bound_thinking_and_earlier_turns_leave_whole() -> None:
    with watched(reading(8, thinking="I think of")) as upstream:
        async with standing(upstream, window=WINDOW) as to:
            agent = MessagesAgent(to, "/v1/messages")
            agent.messages += [
                {"role": "user", "content": "Tell me of the garden. " + "leaf " * 500},
                {"role": "assistant", "content": "It is green. " + "moss " * 400},
            ]
            assert await agent.prompt(PROMPT) == "It was Ilse."
    last = str(upstream.seen[-1].body)
    assert "leaf leaf" not in last, "the turn before left"
    assert STUBBED not in last
    assert all(f"I think of {n}" in last for n in range(1, 9))


async def test_where_nothing_may_leave_the_request_goes_on_unpaged_and_says_so() -> None:
    with Upstream(reading(thinking="I think of")) as upstream:
        async with standing(upstream, window=WINDOW) as to:
            agent = MessagesAgent(to, "/v1/messages")
            await agent.prompt(PROMPT)
            lines = await to.lines()
    assert any("over the window" in line for line in lines)
    assert STUBBED not in str(upstream.seen[-1].body)
    assert survival(upstream.seen[-1].body["messages"], agent.messages) == 1.0


# --- controls: what the strict provider is for ----------------------------------------------------


async def test_control_without_stubs_the_provider_refuses_the_turn(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(Verbatim, "law", Law(stubs=False))
    with watched(reading()) as upstream:
        async with standing(upstream, window=WINDOW) as to:
            with pytest.raises(AssertionError, match="prompt is too long"):
                await MessagesAgent(to, "/v1/messages").prompt(PROMPT)


async def test_control_a_law_that_knows_no_bound_thinking_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(Law, "_bound", lambda self, items: [-1] * len(items))
    with watched(reading(thinking="I think of")) as upstream:
        async with standing(upstream, window=WINDOW) as to:
            with pytest.raises(AssertionError, match="thinking cannot be modified"):
                await MessagesAgent(to, "/v1/messages").prompt(PROMPT)


async def test_control_a_notice_put_into_a_bound_turn_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(Law, "is_bound", lambda self, items, start: False)
    with pytest.raises(AssertionError, match="thinking cannot be modified"):
        await test_nothing_is_changed_before_bound_thinking_and_earlier_turns_leave_whole()


async def test_control_a_restart_that_knows_of_no_stubs_changes_bytes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(state, "window_of", lambda *told: replace(window_of(*told), forms={}))
    with pytest.raises(AssertionError):
        await test_a_restart_in_the_middle_of_a_turn_changes_no_byte(tmp_path)


@pytest.mark.parametrize("path", AGENTS)
async def test_control_a_law_that_knows_no_pairs_is_refused(
    path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Law, "turns", lambda self, items: list(range(2, len(items), 5)))
    monkeypatch.setattr(Law, "orphans", lambda self, items, first: [])
    with watched(reading()) as upstream:
        async with standing(upstream, window=WINDOW) as to:
            with pytest.raises(AssertionError, match=r"must be|is found|answer"):
                await AGENTS[path](to, path).prompt(PROMPT)


async def test_control_five_marks_are_refused() -> None:
    with watched(reading()) as upstream:
        async with standing(upstream, window=0) as to:
            mark = {"type": "text", "text": "a", "cache_control": {"type": "ephemeral"}}
            told = {"role": "user", "content": [mark] * 5}
            request = {"model": "m", "max_tokens": 9, "messages": [told]}
            reply = await to.http.post("/v1/messages", json=request, headers=SESSION)
            assert reply.status_code == 400
            assert "cache_control" in json.loads(reply.text)["error"]["message"]
