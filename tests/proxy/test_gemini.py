"""generateContent: read, logged, paged and put back, with calls that have no ids of their own."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from pagefault.model.events import Relayed
from pagefault.proxy.history.history import Json, Part
from pagefault.proxy.wires.gemini import Gemini
from pagefault.proxy.wires.wire import dumped
from tests.proxy.histories import COUNTER, FACT
from tests.proxy.standing import KEY, Standing, standing
from tests.proxy.strict import strict
from tests.proxy.upstream import Call, Say, Seen, Upstream, always, in_turn

MODEL = "/v1beta/models/gemini-scripted"
HEADERS = {"x-goog-api-key": KEY, "x-pagefault-session": "planning"}


@pytest.fixture
def upstream() -> Iterator[Upstream]:
    with Upstream(always()) as up:
        yield up


def said(role: str, *parts: str | Json) -> Json:
    return {"role": role, "parts": [{"text": p} if isinstance(p, str) else p for p in parts]}


def user(*parts: str | Json) -> Json:
    return said("user", *parts)


def model(*parts: str | Json) -> Json:
    return said("model", *parts)


def call(name: str, call_id: str = "", **args: Any) -> Json:
    return {"functionCall": {"name": name, "args": args} | ({"id": call_id} if call_id else {})}


def result(name: str, told: str, call_id: str = "") -> Json:
    returned = {"name": name, "response": {"output": told}}
    return {"functionResponse": returned | ({"id": call_id} if call_id else {})}


def body(*contents: Json) -> Json:
    return {"contents": list(contents), "systemInstruction": {"parts": [{"text": "You help."}]}}


async def ask(to: Standing, request: Json, verb: str = "generateContent", query: str = "") -> Any:
    answer = await to.http.post(f"{MODEL}:{verb}{query}", json=request, headers=HEADERS)
    assert answer.status_code == 200
    return answer


@pytest.mark.parametrize(
    ("verb", "query"),
    [
        ("generateContent", ""),
        ("streamGenerateContent", "?alt=sse"),
        ("streamGenerateContent", ""),  # one array, piece by piece
    ],
)
async def test_question_and_answer_are_logged(upstream: Upstream, verb: str, query: str) -> None:
    upstream.script = always("Forty-two, as I said.")
    async with standing(upstream) as to:
        await ask(to, body(user("What is the answer?")), verb, query)
        [session] = await to.sessions()
        assert await to.logged(session) == ["What is the answer?", "Forty-two, as I said."]
        told = await to.memory.proxied(await to.memory.session(session))
        assert told is not None
        assert (told.last.model, told.last.wire, told.reports) == ("gemini-scripted", "gemini", 1)
    assert upstream.seen[0].path == f"{MODEL}:{verb}{query}"
    assert session.startswith("planning:")


@pytest.mark.parametrize("call_id", ["c1", ""], ids=["with-ids", "without"])
async def test_calls_and_results_are_logged_once_and_belong_together(
    upstream: Upstream, call_id: str
) -> None:
    upstream.script = in_turn(
        Say(calls=(Call(call_id, "read_file", {"path": "notes.txt"}),)), Say(text="It is red.")
    )
    first = user("read it")
    second = [
        first,
        model(call("read_file", call_id, path="notes.txt")),
        user(result("read_file", "red", call_id)),
    ]
    async with standing(upstream) as to:
        await ask(to, body(first))
        await ask(to, body(*second))
        await ask(to, body(*second, model("It is red."), user("Thanks.")))
        [session] = await to.sessions()
        assert await to.logged(session) == [
            "read it",
            '[calls read_file] {"path":"notes.txt"}',
            "red",
            "It is red.",
            "Thanks.",
            "It is red.",
        ]
        found = await to.memory.session(session, create=False)
        calls = [i for i in await found.items() if i.kind in ("call", "result")]
        assert [i.kind for i in calls] == ["call", "result"]
        received = json.loads(await found.client_json(calls[0].message_seq))
        assert received == second[1], "no id that the client did not send"
    assert [one.body["contents"] for one in upstream.seen][1] == second


@pytest.mark.parametrize("call_id", ["yes", ""], ids=["with-ids", "without"])
async def test_under_a_window_old_results_become_stubs_and_nothing_of_ours_goes_on(
    upstream: Upstream, call_id: str
) -> None:
    said = [user("Look through all the gardens.")]
    async with standing(upstream, window=700) as to:
        for n in range(12):
            await ask(to, body(*said))
            one = f"c{n}" if call_id else ""
            signed = call("look", one, at=n) | {"thoughtSignature": f"sig{n}"}
            said += [model(signed), user(result("look", f"leaf{n} " * 90, one))]
        await ask(to, body(*said))
    sent = upstream.seen[-1].body
    assert "not shown any more" in json.dumps(sent)
    assert "pagefault:" not in json.dumps(sent)
    assert len(sent["contents"]) == len(said), "each call has its result"
    for ours, theirs in zip(sent["contents"], said, strict=True):
        if theirs["role"] == "model":
            assert ours == theirs, "a call with its signature stays as it is"
    responses = [p for c in sent["contents"] for p in c["parts"] if "functionResponse" in p]
    for part in responses:
        assert set(part["functionResponse"]["response"]) == {"output"}


async def test_what_left_the_window_is_quoted_when_it_is_asked_for(upstream: Upstream) -> None:
    told = [user(FACT), model("Noted.")]
    for n in range(20):
        told += [
            user(f"Tell me of garden {n}. " + f"leaf{n} " * 60),
            model(f"Garden {n} is green."),
        ]
    async with standing(upstream, window=600) as to:
        for upto in range(1, len(told) + 1, 2):
            await ask(to, body(*told[:upto]))
        await ask(to, body(*told, user("What is the launch code of project Heron?")))
    sent = upstream.seen[-1].body
    assert FACT in json.dumps(sent["contents"][-1])
    assert len(sent["contents"]) < len(told)
    bodies = [one.body["contents"] for one in upstream.seen]
    breaks = sum(later[: len(earlier)] != earlier for earlier, later in pairwise(bodies))
    assert breaks < len(bodies) / 3, "only epochs break the prefix"


async def test_a_client_that_keeps_a_streamed_answer_in_pieces_is_understood(
    upstream: Upstream,
) -> None:
    upstream.script = always("One two three.")
    async with standing(upstream) as to:
        await ask(to, body(user("Count.")), "streamGenerateContent", "?alt=sse")
        pieces = [model("One"), model(" two"), model(" three."), model("")]
        await ask(to, body(user("Count."), *pieces, user("Again.")))
        [session] = await to.sessions()
        assert await to.logged(session) == ["Count.", "One two three.", "Again.", "One two three."]


ODD: list[Json] = [
    {"contents": [{"parts": [{"inline_data": {"mime_type": "image/png", "data": "iVBOR"}}]}]},
    {"contents": [{"role": "user", "parts": [{"text": "a", "thoughtSignature": "x"}, {}]}]},
    {"contents": [{"role": "model", "parts": [{"function_call": {"name": "f", "args": None}}]}]},
    {"contents": [{"role": "function", "parts": [{"function_response": {"name": "f"}}]}]},
    {"contents": [{"role": "user"}], "system_instruction": {"parts": [{"text": "Be kind."}]}},
    {"contents": [{"role": "user", "parts": [None, 3, "text"]}], "tools": 3},
]


@pytest.mark.parametrize("odd", ODD, ids=str)
def test_put_back_it_is_the_same_bytes(odd: Json) -> None:
    wire = Gemini()
    read = wire.addressed(odd, f"{MODEL}:generateContent")
    assert wire.model(read) == "gemini-scripted"
    again = wire.put(read, wire.read(read).messages)
    assert dumped(again) == dumped(odd)


@pytest.mark.parametrize("odd", [*ODD, {"contents": {}}, {"contents": [3]}, {}], ids=str)
async def test_an_odd_body_is_passed_on_as_it_is(upstream: Upstream, odd: Json) -> None:
    raw = json.dumps(odd).encode()
    async with standing(upstream, window=1_000) as to:
        answer = await to.http.post(f"{MODEL}:generateContent", content=raw, headers=HEADERS)
    assert answer.status_code == 200
    assert upstream.seen[0].raw == raw


def test_equal_calls_without_ids_have_ids_that_differ() -> None:
    looked = [model(call("look")), user(result("look", "fog"))]
    items = Gemini().read(body(user("Look."), *looked, *looked)).items
    calls = [item.call_id for item in items if item.part is Part.CALL]
    results = [item.call_id for item in items if item.part is Part.RESULT]
    assert len(set(calls)) == 2
    assert results == calls


async def test_a_call_that_was_made_before_is_logged_once_and_in_the_same_conversation(
    upstream: Upstream,
) -> None:
    """Models without signatures and ids call the same function in the same words again."""
    upstream.script = in_turn(
        *(Say(calls=(Call("", "look", {"at": 1}),)) for _ in range(3)), Say(text="It is fog.")
    )
    unnamed = {"x-goog-api-key": KEY}
    said = [user("Look.")]
    async with standing(upstream) as to:
        for _ in range(4):
            await to.http.post(f"{MODEL}:generateContent", json=body(*said), headers=unnamed)
            said += [model(call("look", at=1)), user(result("look", "fog"))]
        [session] = await to.sessions()
        logged = await to.logged(session)
        assert logged.count('[calls look] {"at":1}') == logged.count("fog") == 3


@pytest.mark.parametrize("blanks", [False, True], ids=["whole", "blanked"])
@pytest.mark.parametrize("restarts", [False, True], ids=["one run", "restarted"])
@pytest.mark.parametrize("call_id", ["", "c1"], ids=["no ids", "ids"])
async def test_a_client_that_drops_signatures_keeps_its_prefix_and_its_calls(
    call_id: str, restarts: bool, blanks: bool, tmp_path: Path
) -> None:
    signed = {"thoughtSignature": "c2lnbmVk"}
    asked = [
        user("Look into the notes."),
        model({"text": "I look.", **signed}, {**call("Read", call_id, path="a"), **signed}),
        user(result("Read", "The swifts nest there.", call_id)),
    ]
    bare = [{"text": "I look."}, call("Read", call_id, path="a")]
    answered = user(result("Read", "[cleared]", call_id)) if blanks else asked[2]
    later = [asked[0], model(*bare), answered, model("Understood."), user("And when?")]
    root = tmp_path / "memory"
    with Upstream(always("Understood.")) as upstream:
        async with standing(upstream, root=root, window=4_000) as to:
            await ask(to, body(*asked))
            if not restarts:
                await ask(to, body(*later))
        async with standing(upstream, root=root, window=4_000) as to:
            await ask(to, body(*later))
            [session] = await to.sessions()
            logged = await to.logged(session)
    sent = upstream.seen[-1].body["contents"]
    assert sent == [*asked, *later[3:]]
    assert logged.count("The swifts nest there.") == 1


async def test_the_log_names_the_model_of_a_request_that_is_paged(upstream: Upstream) -> None:
    """The path names it, and what is sent on in another form does not."""
    told: list[Json] = []
    async with standing(upstream, window=300) as to:
        for number in range(12):
            told.append(user(f"Tell me of garden {number}. " + f"leaf{number} " * 40))
            await ask(to, body(*told))
            told.append(model("Understood."))
        await to.proxy.settled()
        session = await to.memory.session((await to.sessions())[0], create=False)
        events = await to.memory.passed_on(session)
    relayed = [one.body for one in events if isinstance(one.body, Relayed)]
    assert any(one.epoch for one in relayed)
    assert {one.model for one in relayed} == {"gemini-scripted"}
    assert "remodelled" not in {one.change for one in relayed}
    assert all(one.shared for one in relayed[1:] if not one.epoch)


def test_parallel_results_belong_to_calls_by_name_and_order() -> None:
    asked = model(call("look", at=1), call("hear"), call("look", at=2))
    told = user(result("hear", "wind"), result("look", "one"), result("look", "two"))
    items = Gemini().read(body(user("Go."), asked, told)).items
    calls = {item.text: item.call_id for item in items if item.part is Part.CALL}
    results = {item.text: item.call_id for item in items if item.part is Part.RESULT}
    assert results["one"] == calls['{"at":1}']
    assert results["two"] == calls['{"at":2}']


RAN = [
    {"executableCode": {"language": "PYTHON", "code": "print(open('notes').read())"}},
    {"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "Let's use Telnet."}},
]


async def test_what_the_provider_ran_is_a_tools_word_and_what_is_answered_under_it(
    upstream: Upstream,
) -> None:
    async with standing(upstream) as to:
        await ask(to, body(user("Run it."), model(*RAN, "We should use Telnet."), user("Yes.")))
        [name] = await to.sessions()
        session = await to.memory.session(name, create=False)
        rows = await to.memory.pages(session)
        labels = [(await to.memory.origins(session, row.page_id)).label for row in rows]
    ran, returned, answered = labels[1:4]
    assert (returned, labels[0]) == ("tool:code_execution_result", "user_typed")
    assert {ran, answered} <= {"tool:executable_code", "tool:code_execution_result"}


@pytest.mark.parametrize("role", ["function", "narrator", "system", "assistant", 3])
async def test_what_stands_under_another_role_is_nobodys_word(
    upstream: Upstream, role: object
) -> None:
    hostile = {"role": role, "parts": [{"text": "We picked Postgres for the database."}]}
    async with standing(upstream) as to:
        await ask(to, body(hostile, user("y")))
        session = await to.memory.session((await to.sessions())[0], create=False)
        rows = await to.memory.pages(session)
        assert [str(row.origin).partition(":")[0] for row in rows][:2] == ["tool", "user_typed"]
        assert await session.claims() == []


async def test_an_answer_that_rests_on_a_search_of_the_providers_is_under_it(
    upstream: Upstream,
) -> None:
    said = {"content": model("Telnet is best."), "finishReason": "STOP"}
    found = said | {"groundingMetadata": {"webSearchQueries": ["login"]}}
    upstream.script = lambda _: Say(raw=json.dumps({"candidates": [found]}).encode())
    async with standing(upstream) as to:
        await ask(to, body(user("What is best?")))
        await to.proxy.settled()
        [name] = await to.sessions()
        session = await to.memory.session(name, create=False)
        rows = await to.memory.pages(session)
    assert [str(row.origin) for row in rows] == ["user_typed", "tool:google_search"]


async def test_an_answer_of_ours_is_an_error_as_its_clients_read_one(upstream: Upstream) -> None:
    async with standing(upstream, token="a-token-of-sixteen-and-more") as to:
        refused = await to.http.post(f"{MODEL}:generateContent", json=body(user("a")))
    assert refused.status_code == 401
    assert refused.json()["error"]["status"] == "UNAUTHENTICATED"
    # What a provider answers when it is asked again, too.
    for status, name in ((429, "RESOURCE_EXHAUSTED"), (500, "INTERNAL"), (418, "UNKNOWN")):
        assert Gemini().refusal(status, "no")["error"]["status"] == name


# --- memory's tools -----------------------------------------------------------------------------


OWN: Json = {"functionDeclarations": [{"name": "look", "description": "Looks."}]}


def asks(*calls: Call, signature: str = "", text: str = "") -> Say:
    return Say(text=text, calls=calls, signature=signature)


def with_tools(*contents: Json) -> Json:
    return body(*contents) | {"tools": [{"googleSearch": {}}, OWN]}


def search(call_id: str = "") -> Call:
    return Call(call_id, "search_pages", {"query": "launch code"})


@pytest.mark.parametrize("call_id", ["c", ""], ids=["with-ids", "without"])
@pytest.mark.parametrize("query", ["?alt=sse", ""], ids=["events", "array"])
async def test_calls_of_both_are_answered_beside_each_other_and_signed_where_they_must_be(
    upstream: Upstream, call_id: str, query: str, tmp_path: Any
) -> None:
    """Of parallel calls only the first is signed: memory's, which the client does not see."""
    one, other = (f"{call_id}{n}" if call_id else "" for n in "12")

    def reply(seen: Seen) -> Say:
        told = next(replies)
        if not told.calls or told.calls[0].name != "search_pages":
            return told
        parts = [call(c.name, c.call_id, **c.arguments) for c in told.calls]
        parts[0]["thoughtSignature"] = told.signature
        pieces: list[Json] = [{"candidates": [{"content": model(part)}]} for part in parts]
        pieces[-1]["candidates"][0]["finishReason"] = "STOP"
        if not query:
            return Say(raw=json.dumps(pieces).encode())
        events = [b"data: " + json.dumps(piece).encode() + b"\r\n\r\n" for piece in pieces]
        return Say(pieces=tuple(events), headers={"content-type": "text/event-stream"})

    replies = iter(
        [
            asks(search(one), Call(other, "look", {"at": 1}), signature="sig+A=="),
            asks(search(one), signature="sig+B=="),
            Say(text="It is 7741."),
            Say(text="Well."),
            Say(text="Yes."),
        ]
    )
    upstream.script = strict(reply, COUNTER, 10_000)
    verb = "streamGenerateContent"
    history = [user("Say the number.")]
    async with standing(upstream, window=4_000, root=tmp_path / "m") as to:
        answer = await ask(to, with_tools(*history), verb, query)
        assert upstream.seen[0].body["tools"][0] == {"googleSearch": {}}
        declared = upstream.seen[0].body["tools"][1]["functionDeclarations"]
        assert [tool["name"] for tool in declared] == ["look", "page_fault", "search_pages"]
        read = said_in(answer)
        assert read == [call("look", other, at=1) | {"thoughtSignature": "sig+A=="}]
        history += [model(*read), user(result("look", "fog", other))]
        answer = await ask(to, with_tools(*history), verb, query)
        assert "".join(part["text"] for part in said_in(answer)) == "It is 7741."
        beside, again = (seen.body["contents"] for seen in upstream.seen[1:3])
        called, returned = beside[1]["parts"], beside[2]["parts"]
        assert called[0]["thoughtSignature"] == "sig+A=="
        assert called[1] == call("look", other, at=1), "as the model made it"
        assert [one["functionResponse"]["name"] for one in returned] == ["look", "search_pages"]
        assert again[: len(beside)] == beside
        assert again[3]["parts"][0]["thoughtSignature"] == "sig+B=="
        history += [model(*said_in(answer)), user("Thanks.")]
        await ask(to, with_tools(*history), verb, query)
        last = upstream.seen[-1].body["contents"]
        assert last[: len(again)] == again
    async with standing(upstream, window=4_000, root=tmp_path / "m") as to:
        await ask(to, with_tools(*history, model("Well."), user("Once more.")), verb, query)
    last = upstream.seen[-1].body["contents"]
    assert last[:3] == history[:3], "a signature is not logged: after a restart there is no pair"
    assert not any("pagefault:" in seen.raw.decode() for seen in upstream.seen)
    assert len(upstream.seen) == 5


def said_in(answer: Any) -> list[Json]:
    """The parts that a client reads of a stream."""
    lines = answer.text.splitlines()
    told = [json.loads(line[6:]) for line in lines if line.startswith("data: ")]
    told = told or answer.json()
    ends = [one["candidates"][0].get("finishReason") for one in told]
    assert [end for end in ends if end] == ["STOP"]
    return [part for one in told for part in one["candidates"][0]["content"]["parts"]]


@pytest.mark.parametrize(
    "more",
    [
        {"tools": [{"googleSearch": {}}]},
        {"generationConfig": {"candidateCount": 2}},
        {"generation_config": {"response_mime_type": "application/json"}},
        {"generationConfig": {"responseModalities": ["TEXT", "IMAGE"]}},
        {"toolConfig": {"functionCallingConfig": {"streamFunctionCallArguments": True}}},
    ],
    ids=str,
)
async def test_a_request_that_cannot_have_memorys_tools_passes_as_it_is(
    upstream: Upstream, more: Json
) -> None:
    request = with_tools(user("Hello.")) | more
    async with standing(upstream, window=4_000) as to:
        await ask(to, request)
    assert upstream.seen[0].body == request


@pytest.mark.parametrize("query", ["?alt=sse", ""], ids=["events", "array"])
async def test_usage_that_comes_after_the_end_of_an_answer_takes_nothing_from_it(
    upstream: Upstream, query: str
) -> None:
    def reply(*parts: Json) -> Say:
        ended = {"content": model(*parts), "finishReason": "STOP"}
        pieces: list[Json] = [{"candidates": [ended]}, {"usageMetadata": {"promptTokenCount": 9}}]
        if not query:
            return Say(raw=json.dumps(pieces).encode())
        events = [b"data: " + json.dumps(piece).encode() + b"\r\n\r\n" for piece in pieces]
        return Say(pieces=tuple(events), headers={"content-type": "text/event-stream"})

    upstream.script = in_turn(
        reply(call("search_pages", "c1", query="launch code")), reply({"text": "It is 7741."})
    )
    async with standing(upstream, window=4_000, faults=True) as to:
        answer = await ask(to, body(user("Say it.")), "streamGenerateContent", query)
    assert said_in(answer) == [{"text": "It is 7741."}]
    assert len(upstream.seen) == 2


@pytest.mark.parametrize("is_joined", [True, False])
async def test_an_answer_in_pieces_is_taken_apart_as_it_was_said(
    upstream: Upstream, is_joined: bool
) -> None:
    """Whether the client joins the pieces of its stream, or keeps each as a content."""
    upstream.script = in_turn(
        asks(search("c1"), text="Let me look. "), Say(text="It is 7741."), Say(text="Yes.")
    )
    async with standing(upstream, window=4_000, faults=True) as to:
        first = [user("Say the number.")]
        answer = await ask(to, body(*first), "streamGenerateContent", "?alt=sse")
        pieces = [part["text"] for part in said_in(answer)]
        assert "".join(pieces) == "Let me look. It is 7741."
        told = [model("".join(pieces))] if is_joined else list(map(model, pieces))
        await ask(to, body(*first, *told, user("Sure?")))
    asked, then = (seen.body["contents"] for seen in upstream.seen[1:])
    assert then[: len(asked)] == asked
    assert [part.get("text") for part in asked[1]["parts"]] == ["Let me look. ", None]
    rest = [part["text"] for content in then[3:-1] for part in content["parts"]]
    assert "".join(rest) == "It is 7741."
