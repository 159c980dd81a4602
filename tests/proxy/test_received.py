"""What a client sent is kept as its own JSON, less the text that pages hold, and given back."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import pagefault
from pagefault.model.clock import SystemClock
from pagefault.model.errors import BadInput, RecordGone, StoreError
from pagefault.model.kinds import ItemKind
from pagefault.service.inspection import received, relayed
from pagefault.service.inspection.holes import cut, fill
from pagefault.store.embedded.blobs import DirectoryBlobs
from pagefault.store.embedded.gc import collect
from pagefault.store.embedded.index import SqliteIndex
from tests.proxy.standing import Standing, standing
from tests.proxy.upstream import Upstream, always
from tests.service.traces import Files, canary

IMAGE = "iVBORw0KGgo" * 600
SEALED = "gAAAAABo" * 700
SOURCE = 'def name():\n    return "Müller, a line that is long enough"\n' * 4
LONG = "x = 1  # a line of a file that is written whole\n" * 200  # more than is kept of a call
REMINDER = "<system-reminder>\nToday is Monday, and the task list is empty.\n</system-reminder>"
ASKED = "Which colour has the launch code of the project that is named Heron?"
READ = "The file says that the launch code is green, and has been so since March."
AND = "The file says that the launch code is green in the other folder as well."

MESSAGES: list[dict[str, Any]] = [
    {"role": "user", "content": [
        {"type": "text", "text": f"{REMINDER}\n{ASKED}\n", "cache_control": {"type": "ephemeral"}},
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": IMAGE}},
        {"type": "of_tomorrow", "content": [1, 2.5, None, {"deep": []}, "\ud800"]},
    ]},
    {"role": "assistant", "content": [
        {"type": "thinking", "thinking": "A colour is asked for.", "signature": SEALED},
        {"type": "text", "text": "I shall write a file, and then read what it says."},
        {"type": "tool_use", "id": "toolu_1", "name": "Write",
         "input": {"path": "a.py", "content": SOURCE, "long": LONG, "a": 1.5}},
    ]},
    {"role": "user", "content": [
        {"type": "tool_result", "tool_use_id": "toolu_1", "is_error": False,
         "content": [{"type": "text", "text": READ}, {"type": "text", "text": AND}]},
    ]},
]  # fmt: skip
CHAT: list[dict[str, Any]] = [
    {"role": "user", "name": "eve", "content": [
        {"type": "text", "text": ASKED},
        {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{IMAGE}"}},
    ]},
    {"role": "assistant", "content": None, "refusal": None, "tool_calls": [
        {"id": "call_1", "type": "function", "function": {
            "name": "Write", "arguments": json.dumps({"path": "a.py", "content": SOURCE})}},
    ]},
    {"role": "tool", "tool_call_id": "call_1", "content": READ},
]  # fmt: skip
RESPONSES: list[dict[str, Any]] = [
    {"type": "message", "role": "user", "content": [
        {"type": "input_text", "text": ASKED}, {"type": "input_image", "image_url": IMAGE},
    ]},
    {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": SEALED},
    {"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "Write",
     "arguments": json.dumps({"path": "a.py", "content": SOURCE}, indent=1), "status": "completed"},
    {"type": "function_call_output", "call_id": "call_1", "output": READ},
]  # fmt: skip
WIRES = {
    "/v1/messages": ("messages", MESSAGES),
    "/v1/chat/completions": ("messages", CHAT),
    "/v1/responses": ("input", RESPONSES),
}


async def sent(to: Standing, path: str, said: list[dict[str, Any]]) -> pagefault.Session:
    body = {"model": "m", "max_tokens": 9, WIRES[path][0]: said}
    headers = {"x-pagefault-session": "planning", "content-type": "application/json"}
    got = await to.http.post(path, content=json.dumps(body).encode(), headers=headers)
    assert got.status_code == 200
    await to.proxy.settled()
    [name] = await to.sessions()
    return await to.memory.session(name, create=False)


async def given_back(session: pagefault.Session) -> list[Any]:
    seqs = dict.fromkeys(item.message_seq for item in await session.items() if item.message_seq)
    return [json.loads(await session.client_json(seq)) for seq in seqs]


def log_of(root: Path) -> str:
    return "".join(file.read_text() for file in sorted((root / "log").glob("*.jsonl")))


@pytest.mark.parametrize("path", WIRES)
async def test_it_is_given_back_and_written_once_over_resends_and_restarts(
    tmp_path: Path, path: str
) -> None:
    said = WIRES[path][1]
    with Upstream(always()) as upstream:
        for _ in range(2):
            async with standing(upstream, root=tmp_path / "m") as to:
                for _ in range(2):
                    session = await sent(to, path, said)
                # Key order too: compared as text.
                assert list(map(json.dumps, await given_back(session))) == list(
                    map(json.dumps, said)
                )
    log = log_of(tmp_path / "m")
    assert log.count('"type":"received"') == len(said)
    for text in (ASKED, READ):
        assert log.count(text) == 1, "its text stands once"
    assert log.count("Müller") + log.count("M\\\\u00fcller") == 4, "that of a call as well"
    assert IMAGE[:200] not in log, "what is opaque is a blob"


async def test_items_are_told_by_their_kinds(tmp_path: Path) -> None:
    with Upstream(always()) as upstream:
        async with standing(upstream, root=tmp_path / "m") as to:
            items = await (await sent(to, "/v1/messages", MESSAGES)).items()
    kind = ItemKind
    assert [item.kind for item in items] == [
        kind.MESSAGE, kind.MEDIA, kind.OPAQUE, kind.REASONING, kind.MESSAGE, kind.CALL, kind.RESULT,
        kind.MESSAGE,
    ]  # fmt: skip
    [call] = (item for item in items if item.kind is kind.CALL)
    assert call.page_ids == ("msg_3", "msg_4"), "it is long, and so in parts"
    assert not items[-1].message_seq, "the client has not sent the answer back"


async def test_a_blanked_result_and_a_moved_mark_are_no_news_and_an_edit_is(
    tmp_path: Path,
) -> None:
    later = json.loads(json.dumps(MESSAGES))
    del later[0]["content"][0]["cache_control"]
    del later[1]["content"][0]
    later[2]["content"][0]["content"] = "[Old tool result content cleared]"
    later += [
        {"role": "assistant", "content": "Understood."},
        {"role": "user", "content": "And who keeps it, if I may ask?"},
    ]
    with Upstream(always()) as upstream:
        async with standing(upstream, root=tmp_path / "m") as to:
            await sent(to, "/v1/messages", MESSAGES)
            session = await sent(to, "/v1/messages", later)
            assert await given_back(session) == [*MESSAGES, *later[3:]]
            edited = json.loads(json.dumps(later))
            edited[0]["content"][0]["text"] = "Which colour has the code of the project Egret?"
            session = await sent(to, "/v1/messages", edited)
            assert edited[0] in await given_back(session)


async def test_a_message_of_several_texts_is_of_one_turn_with_its_answer(tmp_path: Path) -> None:
    texts = [ASKED, "And who keeps it, if I may ask?", "Say so in one line."]
    said: list[dict[str, Any]] = [
        {"role": "user", "content": [{"type": "text", "text": text} for text in texts]},
        {"role": "assistant", "content": [
            {"type": "thinking", "thinking": canary("t"), "signature": "s"},
            {"type": "text", "text": "Green, and Ilse does."},
        ]},
        {"role": "user", "content": "Thanks, and where is it kept then?"},
    ]  # fmt: skip
    root = tmp_path / "m"
    with Upstream(always()) as upstream:
        async with standing(upstream, root=root) as to:
            session = await sent(to, "/v1/messages", said)
            items = await session.items()
            assert [item.turn for item in items] == [0, 0, 0, 0, 0, 1, 1]
            assert Files(root).traces({"t": canary("t")}), "the control"
            await to.memory.forget(session, "msg_1")
            assert Files(root).traces({"t": canary("t")}) == {}


@pytest.mark.parametrize("page", ["msg_1", "tool_1", "tool_3", ""])
async def test_it_is_forgotten_with_any_page_of_its_turn(tmp_path: Path, page: str) -> None:
    names = ("inline", "thinking", "blob")
    words = {name: canary(name) for name in names}
    said = json.loads(json.dumps(MESSAGES))
    said[0]["content"][2]["of_id"] = words["inline"]  # no text, so no page has it
    said[1]["content"][0] |= {
        "thinking": words["thinking"],
        "signature": f"{SEALED}{words['blob']}",
    }
    root = tmp_path / "m"
    with Upstream(always()) as upstream:
        async with standing(upstream, root=root) as to:
            session = await sent(to, "/v1/messages", said)
            seq = next(item.message_seq for item in await session.items())
            assert set(Files(root).traces(words)) == set(names), "the control"
            await to.memory.forget(session, page)
            assert Files(root).traces(words) == {}
            if page:
                with pytest.raises(RecordGone):
                    await session.client_json(seq)
                await sent(to, "/v1/messages", said)
                assert Files(root).traces(words) == {}, "nor is it brought back by a resend"
        if page == "tool_3":  # else the conversation has lost its beginning, and begins anew
            async with standing(upstream, root=root) as to:
                await sent(to, "/v1/messages", said)
    assert Files(root).traces(words) == {}, "nor after a restart"
    with pagefault.sync.open(root) as memory:
        assert memory.verify().problems == ()


async def test_a_secret_in_any_string_is_redacted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    secret = "hunter-22-and-more-of-it"
    monkeypatch.setenv("HERON_TOKEN", secret)
    said = json.loads(json.dumps(MESSAGES))
    said[0]["content"][0]["text"] += f" It is {secret}."
    said[0]["content"][2]["content"][3] = {secret: [secret]}
    said[1]["content"][0]["signature"] += secret
    root = tmp_path / "m"
    with Upstream(always()) as upstream:
        async with standing(upstream, root=root) as to:
            session = await sent(to, "/v1/messages", said)
            back = await given_back(session)
    assert Files(root).traces({"secret": secret}) == {}
    assert len(back) == len(said)
    assert secret not in str(back)
    assert "HERON_TOKEN" in str(back[0]["content"][2])


async def test_only_what_a_client_sent_is_given_back(tmp_path: Path) -> None:
    with Upstream(always()) as upstream:
        async with standing(upstream, root=tmp_path / "m") as to:
            session = await sent(to, "/v1/messages", MESSAGES)
            for seq in (-1, 0, 1, 2, 10**9):
                with pytest.raises(BadInput):
                    await session.client_json(seq)


async def test_what_stood_in_the_way_once_does_not_the_next_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Upstream(always()) as upstream:
        async with standing(upstream, root=tmp_path / "m") as to:
            with monkeypatch.context() as patch:
                patch.setattr(DirectoryBlobs, "put", refused)
                session = await sent(to, "/v1/messages", MESSAGES)
                assert await given_back(session) == MESSAGES[2:], "the others name blobs"
                assert "the disk is full" in (await to.lines())[-1]
            session = await sent(to, "/v1/messages", MESSAGES)
            assert await given_back(session) == MESSAGES


def refused(*_: object) -> str:
    raise StoreError("the disk is full")


async def test_a_message_in_which_something_breaks_is_passed_on_and_told_of_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(value: Any, *_: object) -> Any:
        raise ZeroDivisionError(str(value))

    with Upstream(always()) as upstream:
        async with standing(upstream, root=tmp_path / "m", window=100_000) as to:
            monkeypatch.setattr(received, "cut", broken)
            session = await sent(to, "/v1/messages", MESSAGES)
            assert "not kept as JSON: ZeroDivisionError" in (await to.lines())[-1]
            assert upstream.seen[-1].body["messages"] == MESSAGES
            await sent(to, "/v1/messages", MESSAGES)
            assert "not kept" not in (await to.lines())[-1]
            assert [item.message_seq for item in await session.items()] == [0] * 7


async def test_a_request_is_told_of_though_its_messages_cannot_be_looked_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    drafts = relayed.Telling.drafts

    async def drafts_while_no_key_is_found(*given: Any) -> Any:
        with monkeypatch.context() as patch:
            patch.setattr(SqliteIndex, "find_key", refused)
            return await drafts(*given)

    with Upstream(always()) as upstream:
        async with standing(upstream, root=tmp_path / "m", window=100_000) as to:
            with monkeypatch.context() as patch:
                patch.setattr(relayed.Telling, "drafts", drafts_while_no_key_is_found)
                session = await sent(to, "/v1/messages", MESSAGES)
                assert "the disk is full" in (await to.lines())[-1]
            assert await given_back(session) == []
            told = await to.memory.proxied(session)
            assert told is not None
            assert told.requests == 1
            await sent(to, "/v1/messages", MESSAGES)
            assert await given_back(session) == MESSAGES


async def test_a_conversation_that_was_forgotten_whole_is_kept_anew(tmp_path: Path) -> None:
    asked = [{"role": "user", "content": ASKED}]
    more = [*asked, {"role": "assistant", "content": "Yes."}, {"role": "user", "content": AND}]
    with Upstream(always()) as upstream:
        async with standing(upstream, root=tmp_path / "m") as to:
            session = await sent(to, "/v1/messages", asked)
            await to.memory.forget(session)
            assert await to.sessions() == []
            session = await sent(to, "/v1/messages", more)
            assert await given_back(session) == more[1:], "though its first page is msg_1 again"


async def test_forks_and_backups_give_it_back_too(tmp_path: Path) -> None:
    root = tmp_path / "m"
    with Upstream(always()) as upstream:
        async with standing(upstream, root=root) as to:
            session = await sent(to, "/v1/messages", MESSAGES)
            await session.checkpoint("then")
            fork = await session.fork("aside")
            later = await session.restore("then")
            assert await given_back(fork) == await given_back(later) == MESSAGES
            await to.memory.backup(tmp_path / "copy")
            await to.memory.forget(fork, "msg_1")
            assert await given_back(fork) == []
    async with pagefault.open(tmp_path / "copy", read_only=True) as memory:
        assert await given_back(await memory.session("aside", create=False)) == MESSAGES


async def test_a_blob_that_nothing_came_to_name_is_garbage(tmp_path: Path) -> None:
    root = tmp_path / "m"
    with Upstream(always()) as upstream:
        async with standing(upstream, root=root) as to:
            await sent(to, "/v1/messages", MESSAGES)
    async with pagefault.open(root) as memory:
        session = await memory.session((await memory.sessions())[0].name, create=False)
        kept = {path for path in (root / "blobs").rglob("*") if path.is_file()}
        assert len(kept) == 2
        memory._store.blobs.put(b"of a process that was killed before it could name it" * 99)
        back = await given_back(session)
    found = collect(root, clock=SystemClock(), older_than_s=0, delete=True)
    assert len(found.blobs) == 1
    assert {path for path in (root / "blobs").rglob("*") if path.is_file()} == kept
    async with pagefault.open(root) as memory:
        session = await memory.session((await memory.sessions())[0].name, create=False)
        assert await given_back(session) == back


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False)
    | st.text(st.characters(), max_size=80),
    lambda inner: st.lists(inner, max_size=4)
    | st.dictionaries(st.text(st.characters(), max_size=9), inner, max_size=4),
    max_leaves=12,
)  # fmt: skip
SAID = st.text(st.sampled_from('ab \n"\\é😀{}'), min_size=20, max_size=120)


@given(JSON, st.lists(SAID, max_size=3), st.data())
def test_any_json_is_given_back_whatever_pages_hold_of_it(
    value: Any, texts: list[str], data: st.DataObject
) -> None:
    if texts:
        runs = st.sampled_from(texts).map(lambda text: f' "{text[3:]}\n')
        spelt = (st.sampled_from(texts) | runs).map(json.dumps)  # arguments, say
        value = [value, *data.draw(st.lists(st.sampled_from(texts) | runs | spelt, max_size=3))]
        texts += [f"[calls x] {json.dumps(text)}" for text in texts]
    check_cut(value, texts)


def test_a_run_that_a_page_goes_on_from_with_a_backslash_is_no_longer_than_it_is() -> None:
    run = r"C:\\users\\ann and so on, for long enough"
    check_cut(f"{run}, and then words that no page has", [rf'[calls Run] "{run}\n"'])


def check_cut(value: Any, texts: list[str]) -> None:
    blobs: dict[str, bytes] = {}

    def put(blob: bytes) -> str:
        blobs[str(len(blobs))] = blob
        return str(len(blobs) - 1)

    told, holes = cut(value, texts, lambda text: text, put)
    back = json.loads(fill(told, holes, texts.__getitem__, blobs.__getitem__))
    assert json.dumps(back) == json.dumps(value)
    assert [hole.at for hole in holes] == sorted(hole.at for hole in holes)
