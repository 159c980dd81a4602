"""A client that is resumed through a new proxy keeps the prefix that the last run sent, whatever it
has done to its own history since.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from pagefault.proxy.conversation.state import ConversationState
from pagefault.proxy.history.history import Json, unmarked
from tests.proxy.histories import body, call, model, reminder, result, text, user
from tests.proxy.standing import SESSION, Standing, standing
from tests.proxy.upstream import Upstream, always

WINDOW = 4_000
MONDAY, TUESDAY = reminder("Today is Monday."), reminder("Today is Tuesday.")
READ = "The swifts nest under the northern eaves. " * 30
THINKING: Json = {"type": "thinking", "thinking": "In the notes, I think.", "signature": "c2ln"}
ASKED = "Where do the swifts nest?"
CLEARED = "[Old tool result content cleared]"
SECRET = "sk-ant-api03-Zq8Lw2Xv5Bn7Mk4Jh1Gf3Ds6Ap9Oi0Uy"

FIRST = [
    user(f"{MONDAY}\nLook into the notes, please."),
    model(THINKING, call("c1", path="notes.txt")),
    user(result("c1", READ)),
    model("I have looked."),
    {"role": "user", "content": [text(ASKED, mark=True)]},
]
ANSWERED = [*FIRST, model("Under the eaves."), user("And what eats them?")]


def resumed(reminded: str) -> list[Json]:
    """The same conversation, as Claude Code sends it once it is resumed."""
    return [
        {"role": "user", "content": f"{reminded}\nLook into the notes, please."},
        model(call("c1", path="notes.txt", limit=None)),
        user(result("c1", CLEARED)),
        model("I have looked."),
        {"role": "user", "content": ASKED},
        *ANSWERED[5:],
    ]


RESUMED = resumed(MONDAY)


async def ask(to: Standing, said: Sequence[Json], **more: object) -> list[Json]:
    """What the provider was sent, without marks."""
    told = {**body(*said, max_tokens=9, tools=[]), **more}
    assert (await to.http.post("/v1/messages", json=told, headers=SESSION)).status_code == 200
    await to.proxy.settled()
    marks = str(said).count("cache_control")
    assert str(to.upstream.seen[-1].body["messages"]).count("cache_control") <= marks
    return [unmarked(message) for message in to.upstream.seen[-1].body["messages"]]


async def ask_each(root: Path, *runs: Sequence[Json], **more: object) -> list[list[Json]]:
    """What the provider was sent for each run, each through a new proxy; `more` is for the last."""
    found = []
    with Upstream(always("Under the eaves.")) as upstream:
        for number, said in enumerate(runs):
            async with standing(upstream, root=root / "memory", window=WINDOW) as to:
                found.append(await ask(to, said, **(more if number == len(runs) - 1 else {})))
    return found


async def test_what_was_sent_is_sent_again_as_it_was(tmp_path: Path) -> None:
    before, after = await ask_each(tmp_path, FIRST, RESUMED)
    assert before == unmarked(FIRST)
    assert after == [*before, *ANSWERED[len(before) :]]


@pytest.mark.parametrize(
    "aside",
    [[user("Give this talk a title.")], [RESUMED[0]], RESUMED[:5]],
    ids=["a title", "the topic", "a part"],
)
async def test_a_request_beside_the_conversation_takes_nothing_from_it(
    tmp_path: Path, aside: list[Json]
) -> None:
    with Upstream(always("Under the eaves.")) as upstream:
        async with standing(upstream, root=tmp_path / "memory", window=WINDOW) as to:
            before = await ask(to, FIRST)
        async with standing(upstream, root=tmp_path / "memory", window=WINDOW) as to:
            await ask(to, aside)
            after = await ask(to, RESUMED)
            assert after == [*before, *ANSWERED[len(before) :]]
            more = [*RESUMED, model("Hobbies."), user("Where do those nest?")]
            changed = [
                {**more[0], "content": more[0]["content"].replace(MONDAY, TUESDAY)},
                *more[1:],
            ]
            last = await ask(to, changed)
    assert last[: len(after)] == after
    assert [TUESDAY in one["text"] for one in last[-1]["content"]] == [True, False]


async def test_a_reminder_that_changed_comes_with_the_newest_message(tmp_path: Path) -> None:
    before, after = await ask_each(tmp_path, FIRST, resumed(TUESDAY))
    assert after[:-1] == [*before, *ANSWERED[len(before) : -1]]
    assert [TUESDAY in one["text"] for one in after[-1]["content"]] == [True, False]


async def test_and_it_goes_on_like_that(tmp_path: Path) -> None:
    more = [model("Hobbies."), {"role": "user", "content": "Where do those nest?"}]
    before, after, last = await ask_each(tmp_path, FIRST, RESUMED, [*RESUMED, *more])
    assert last == unmarked([*ANSWERED, *more])
    with Upstream(always()) as upstream:
        async with standing(upstream, root=tmp_path / "one", window=WINDOW) as to:
            requests = (FIRST, RESUMED, [*RESUMED, *more])
            stayed = [await ask(to, said) for said in requests]
    assert stayed == [before, after, last], "as through one proxy"


@pytest.mark.parametrize("said", [f"{ASKED} The key is {SECRET}.", "Where do the owls nest?"])
async def test_other_words_are_the_clients_own(tmp_path: Path, said: str) -> None:
    """A secret, which the log does not have, and an edit."""
    first = [*FIRST[:-1], user(f"{ASKED} The key is {SECRET}.")]
    before, after = await ask_each(tmp_path, first, [*RESUMED[:4], user(said), *RESUMED[5:]])
    assert after[:4] == before[:4]
    assert after[4] == user(said)


KEY_FILE = "The first line of many. " * 20 + f"The key is {SECRET}. " + "And the last. " * 20


@pytest.mark.parametrize(
    ("first", "again"),
    [
        (FIRST, FIRST),
        (
            [user(f"{reminder(SECRET)}\nLook, please."), model("I have looked."), user(ASKED)],
            [user(f"{reminder(SECRET)}\nLook, please."), model("I have looked."), user(ASKED)],
        ),
        (
            [user("Look."), model({**THINKING, "thinking": SECRET}, text("Done.")), user(ASKED)],
            [user("Look."), model({**THINKING, "thinking": SECRET}, text("Done.")), user(ASKED)],
        ),
        (
            [user("Look."), model({**THINKING, "thinking": SECRET}, text("Done.")), user(ASKED)],
            [user("Look."), model(text("Done.")), user(ASKED)],
        ),
        (
            [
                user("Look."),
                model(call("c1")),
                user(result("c1", KEY_FILE)),
                model("So."),
                user(ASKED),
            ],
            [
                user("Look."),
                model(call("c1")),
                user(result("c1", CLEARED)),
                model("So."),
                user(ASKED),
            ],
        ),
        (
            [
                user("Look."),
                model({**call("c1"), "input": {SECRET: 1}}),
                user(result("c1", READ)),
                user(ASKED),
            ],
            [
                user("Look."),
                model({**call("c1"), "input": {SECRET: 1}}),
                user(result("c1", READ)),
                user(ASKED),
            ],
        ),
        (
            [user("Look."), model(call("c1", key=SECRET)), user(result("c1", READ)), user(ASKED)],
            [user("Look."), model(call("c1")), user(result("c1", READ)), user(ASKED)],
        ),
    ],
    ids=["none", "reminder", "thinking", "left out", "blanked", "name", "default"],
)
async def test_what_stands_for_a_secret_in_the_log_is_never_sent(
    tmp_path: Path, first: list[Json], again: list[Json]
) -> None:
    again = [*again, model("Under the eaves."), user("And what eats them?")]
    _, after = await ask_each(tmp_path, first, again)
    assert "REDACTED" not in str(after)
    assert after == unmarked(again)


@pytest.mark.parametrize("keeps_ids", [False, True])
async def test_an_item_gets_no_id_of_a_reasoning_that_the_client_left_out(
    tmp_path: Path, keeps_ids: bool
) -> None:
    """OpenAI refuses an item by whose id it knows that it came after a reasoning, without that."""
    said = {"type": "function_call", "call_id": "c1", "name": "Read", "arguments": '{"a": 1}'}
    asked = [
        {"role": "user", "content": "Look into the notes, please."},
        {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "c2VhbGVk"},
        {"id": "fc_1", **said},
        {"type": "function_call_output", "call_id": "c1", "output": READ},
        {"role": "user", "content": ASKED},
    ]
    told = {**said, "arguments": '{"a":1}'}
    again = [*asked[:2], {"id": "fc_1", **told}] if keeps_ids else [asked[0], told]
    runs = [asked, [*again, *asked[3:], {"role": "user", "content": "And what eats them?"}]]
    with Upstream(always("Under the eaves.")) as upstream:
        for run in runs:
            async with standing(upstream, root=tmp_path / "memory", window=WINDOW) as to:
                body = {"model": "m", "input": run}
                await to.http.post("/v1/responses", json=body, headers=SESSION)
    sent = [one.body["input"] for one in upstream.seen]
    assert sent == ([asked, [*asked, runs[1][-1]]] if keeps_ids else runs)


async def test_another_model_is_sent_what_the_client_says(tmp_path: Path) -> None:
    _, after = await ask_each(tmp_path, FIRST, RESUMED, model="other")
    assert after == RESUMED


async def test_what_was_forgotten_is_not_sent_again(tmp_path: Path) -> None:
    with Upstream(always("Under the eaves.")) as upstream:
        async with standing(upstream, root=tmp_path / "memory", window=WINDOW) as to:
            await ask(to, FIRST)
            session = await to.memory.session((await to.sessions())[0], create=False)
            await to.memory.forget(session, page_id="tool_1", dry_run=False)
        async with standing(upstream, root=tmp_path / "memory", window=WINDOW) as to:
            after = await ask(to, RESUMED)
    assert after[1:3] == RESUMED[1:3]
    assert READ not in str(after)


async def test_control_without_what_the_log_has_the_prefix_breaks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def nothing(*_: object) -> None: ...

    monkeypatch.setattr(ConversationState, "_send_again", nothing)
    before, after = await ask_each(tmp_path, FIRST, RESUMED)
    assert after[0] != before[0]
    assert after[1] != before[1]
