"""The model asks memory for pages through the proxy, and the client knows nothing of it."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from pagefault.model.events import Faulted
from pagefault.proxy.history.history import Json, unmarked
from pagefault.proxy.layout.faults import FORMS, OURS
from pagefault.proxy.wires.known import WIRES as WIRES_READ
from pagefault.proxy.wires.pairs import CallForm
from pagefault.proxy.wires.wire import RawEvents
from tests.examples import few
from tests.proxy.callers import CALLERS, Caller, events
from tests.proxy.histories import COUNTER, FACT
from tests.proxy.standing import Standing, standing
from tests.proxy.strict import declared, strict
from tests.proxy.upstream import _WIRES, Call, Say, Seen, Upstream

OPENAPI = Path(__file__).parents[3] / "shared" / "data" / "openai" / "openapi.json"
WINDOW = 4_000
STREAMED = pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
WIRES = pytest.mark.parametrize("path", CALLERS)


class Model:
    """A model that answers from a script, reply after reply, and counts what it is asked."""

    def __init__(self, *replies: Say) -> None:
        self.replies = list(replies)
        self.calls = 0

    def __call__(self, seen: Seen) -> Say:
        return self.replies.pop(0) if self.replies else Say(text="It is green.", input_tokens=7)

    def then(self, *replies: Say) -> None:
        self.replies += replies


def watched(model: Callable[[Seen], Say]) -> Upstream:
    return Upstream(strict(model, COUNTER, 10 * WINDOW))


def search(query: str, call_id: str = "call_s") -> Call:
    return Call(call_id, "search_pages", {"query": query})


def load(page_id: str, call_id: str = "call_f") -> Call:
    return Call(call_id, "page_fault", {"page_id": page_id})


def read_file(call_id: str = "call_r") -> Call:
    return Call(call_id, "Read", {"path": "a.txt"})


def sent(seen: Seen) -> list[Any]:
    """What a provider reads of a request, in its order."""
    body = seen.body
    return [unmarked(one) for one in (body.get("tools"), *messages(body))]


def messages(body: Json) -> list[Json]:
    return list(body.get("messages") or body.get("contents") or body["input"])


def form_of(path: str) -> CallForm:
    """Memory's tools in the format of this path."""
    return FORMS[next(wire.name for wire in WIRES_READ if wire.takes(path))]


def blocks(seen: Seen) -> list[str]:
    """The same by blocks, as a message of results grows."""
    found: list[str] = []
    for one in sent(seen):
        content = (one.get("content") or one.get("parts")) if isinstance(one, dict) else None
        if isinstance(content, list):
            found.append(str(one.get("role")))
            found += [json.dumps(block) for block in content]
        else:
            found.append(json.dumps(one))
    return found


def results(seen: Seen) -> dict[str, Json]:
    """The results of memory's calls in a request, by the calls."""
    found: dict[str, Any] = {}
    for one in messages(seen.body):
        told = one.get("content")
        for part in one.get("parts", ()):
            if "functionResponse" in part:
                said = part["functionResponse"]
                found[said.get("id", said["name"])] = said["response"]["output"]
        if one.get("type") == "function_call_output":
            found[one["call_id"]] = one["output"]
        elif one.get("role") == "tool":
            found[one["tool_call_id"]] = told
        elif isinstance(told, list):
            found |= {b["tool_use_id"]: b["content"] for b in told if b["type"] == "tool_result"}
    made = {call: str(text) for call, text in found.items()}
    return {call: json.loads(text) for call, text in made.items() if text.startswith("{")}


def names(seen: Seen) -> list[str]:
    tools = declared(seen.body.get("tools") or ())
    return [str(one.get("function", one).get("name")) for one in tools]


def leaf(n: int) -> str:
    return f"Tell me of garden {n}. " + f"leaf{n} " * 300


async def until_it_left(to: Standing, caller: Caller) -> None:
    """Tell a fact, and speak of other things until it has left the request."""
    caller.says(FACT)
    assert (await caller.ask(to)).text == "It is green."
    for n in range(14):
        caller.says(leaf(n))
        assert (await caller.ask(to)).text == "It is green."
        if FACT not in to.upstream.seen[-1].raw.decode():
            return
    raise AssertionError("it did not leave")


# --- one answer -------------------------------------------------------------------------------


@WIRES
@STREAMED
async def test_the_model_searches_and_loads_and_the_client_reads_one_answer(
    path: str, stream: bool
) -> None:
    model = Model()
    with watched(model) as upstream:
        async with standing(upstream, window=WINDOW) as to:
            caller = CALLERS[path](stream=stream)
            await until_it_left(to, caller)
            caller.says("Say the number.")
            model.then(
                Say(text="Let me look. ", calls=(search("launch code Heron"),), input_tokens=1_000),
                Say(calls=(load("msg_1"),), thinking="there", input_tokens=2_000),
                Say(text="It is 7741.", input_tokens=3_000, cached_tokens=1_900),
            )
            before = len(upstream.seen)
            read = await caller.ask(to)
            asked = upstream.seen[before:]
            await to.proxy.settled()
            [name] = await to.sessions()
            session = await to.memory.session(name, create=False)
            faults = await session.faults()
            told = await to.memory.proxied(session)
    assert read.text == "Let me look. It is 7741."
    assert (read.calls, len(read.ids), len(read.ends)) == ([], 1, 1)
    assert read.ends[0] in ("stop", "end_turn", "completed")
    assert len(asked) == 3
    assert results(asked[1])["call_s"]["results"][0]["page_id"] == "msg_1"
    assert FACT in results(asked[2])["call_f"]["page"]["content"]["text"]
    assert [one.body.page_id for one in faults if isinstance(one.body, Faulted)] == ["msg_1"]
    assert told is not None
    assert told.requests == len(upstream.seen), "each request is told of"
    assert told.reports == len(upstream.seen), "and what it cost"
    assert told.reported_tokens == 3_000
    put_in = read.usage.get("input_tokens", read.usage.get("prompt_tokens"))
    beside = read.usage.get("cache_read_input_tokens", 0)
    assert put_in + beside == 3_000, "what the context holds"
    put_out = read.usage.get("output_tokens", read.usage.get("completion_tokens"))
    assert put_out == 30, "what all replies cost"
    for earlier, later in pairwise(asked):
        assert blocks(later)[: len(blocks(earlier))] == blocks(earlier)


@WIRES
@STREAMED
async def test_the_clients_calls_pass_and_memorys_are_answered_beside_its_results(
    path: str, stream: bool
) -> None:
    model = Model()
    with watched(model) as upstream:
        async with standing(upstream, window=WINDOW) as to:
            caller = CALLERS[path](stream=stream)
            await until_it_left(to, caller)
            caller.says("Say the number.")
            ours = search("launch code"), load("msg_1")
            both = (read_file("call_1"), *ours, read_file("call_2"))
            model.then(Say(text="I look.", calls=both, thinking="hm"))
            read = await caller.ask(to)
            assert [one[0] for one in read.calls] == ["call_1", "call_2"]
            assert read.ends[0] in ("tool_calls", "tool_use", "completed")
            [name] = await to.sessions()
            figures = (await (await to.memory.session(name, create=False)).metrics()).figures
            [line] = [one.words() for one in to.proxy._desk._standing.values()]
            assert f" · {figures['brought_back']} brought back" in line
            assert "pagefault_fault_rate 0.0\n" not in (await to.http.get("/metrics")).text
            asked = len(upstream.seen)
            caller.returns({"call_1": "nothing", "call_2": "nothing either"})
            model.then(Say(text="It is 7741."))
            assert (await caller.ask(to)).text == "It is 7741."
            assert len(upstream.seen) == asked + 1
            assert results(upstream.seen[-1])["call_s"]["results"]
            made = upstream.seen[-1].raw.decode()
            assert made.index('"call_1"') < made.index('"call_s"') < made.index('"call_2"')
            caller.says("Thanks.")
            await caller.ask(to)
            first, second = upstream.seen[-2:]
            assert blocks(second)[: len(blocks(first))] == blocks(first)


RAN = {"type": "shell_call", "call_id": "c1", "status": "completed", "action": {"commands": ["ls"]}}
PRINTED = {"type": "shell_call_output", "call_id": "c1", "output": [{"stdout": "a", "stderr": ""}]}
HOSTED: dict[str, list[Json]] = {
    "shell": [
        {**RAN, "id": "sh_1", "environment": {"type": "container_reference", "container_id": "x"}},
        {**PRINTED, "id": "so_1"},
    ],
    "tool search": [
        {"type": "tool_search_call", "id": "ts_1", "call_id": None, "execution": "server"},
        {"type": "tool_search_output", "id": "to_1", "call_id": None, "tools": []},
    ],
    "program": [
        {"type": "program", "id": "p_1", "call_id": "c1", "code": "1", "fingerprint": "f"},
        {"type": "program_output", "id": "po_1", "call_id": "c1", "result": "1"},
    ],
    "mcp": [
        {"type": "mcp_list_tools", "id": "mcpl_1", "server_label": "s", "tools": []},
        {"type": "mcp_call", "id": "m_1", "server_label": "s", "name": "f", "output": "x",
         "approval_request_id": "mcpr_9"},
    ],
}  # fmt: skip
"""What the provider's own tools put into an answer of Responses."""

WAITING: dict[str, Json] = {
    "shell": {**RAN, "id": "sh_1", "environment": {"type": "local"}},
    "function": {"type": "function_call", "id": "f_1", "call_id": "", "name": "Read",
                 "arguments": "{}"},
    "older shell": {"type": "local_shell_call", "id": "ls_1", "call_id": "c1", "action": {}},
    "patch": {"type": "apply_patch_call", "id": "ap_1", "call_id": "c1", "operation": {}},
    "computer": {"type": "computer_call", "id": "cc_1", "call_id": "c1", "action": {}},
    "approval": {"type": "mcp_approval_request", "id": "mcpr_1", "name": "f", "arguments": "{}"},
}  # fmt: skip
"""What waits for the client."""


@STREAMED
@pytest.mark.parametrize("kind", HOSTED)
async def test_calls_beside_the_providers_own_tools_keep_their_place(
    kind: str, stream: bool
) -> None:
    model = Model()
    with watched(model) as upstream:
        async with standing(upstream, window=WINDOW) as to:
            caller = CALLERS["/v1/responses"](stream=stream)
            await until_it_left(to, caller)
            caller.says("Say the number.")
            ours = Say(text="I look.", blocks=tuple(HOSTED[kind]), calls=(search("launch code"),))
            model.then(ours, Say(text="It is 7741."))
            asked = len(upstream.seen)
            assert (await caller.ask(to)).text == "I look.It is 7741."
            for _ in range(2):
                caller.says("Thanks.")
                await caller.ask(to)
    for earlier, later in pairwise(upstream.seen[asked + 1 :]):
        assert blocks(later)[: len(blocks(earlier))] == blocks(earlier)
    assert "call_s" in upstream.seen[-1].raw.decode()


@STREAMED
@pytest.mark.parametrize("kind", WAITING)
async def test_a_reply_that_waits_for_the_client_goes_to_the_client(
    kind: str, stream: bool
) -> None:
    model = Model()
    with watched(model) as upstream:
        async with standing(upstream, window=WINDOW) as to:
            caller = CALLERS["/v1/responses"](stream=stream)
            await until_it_left(to, caller)
            caller.says("Say the number.")
            model.then(Say(blocks=(WAITING[kind],), calls=(search("launch code"),)))
            asked = len(upstream.seen)
            read = await caller.ask(to)
    assert len(upstream.seen) == asked + 1
    assert read.message == [WAITING[kind]]


@WIRES
async def test_a_reply_without_calls_of_memorys_passes_byte_for_byte(path: str) -> None:
    wire = next(w for suffix, w in _WIRES.items() if path.endswith(suffix))
    say = Say(text="a b c", calls=(read_file(),), thinking="hm")
    raw = b"".join(wire.events(say, 1))
    editor = form_of(path).editor(OURS)
    events = RawEvents()
    told = [editor.feed(*one) for at in range(len(raw)) for one in events.feed(raw[at : at + 1])]
    told += [editor.feed(*one) for one in events.rest()]
    assert b"".join(told) + editor.finish() == raw


@WIRES
@pytest.mark.parametrize("every", [7, pytest.param(1, marks=pytest.mark.torture)])
def test_a_stream_reads_the_same_wherever_it_is_cut(path: str, every: int) -> None:
    wire = next(w for suffix, w in _WIRES.items() if path.endswith(suffix))
    form = form_of(path)
    say = Say(text="a b", calls=(search("x"), read_file()), thinking="hm")
    raw = b"".join(wire.events(say, 1))

    def edited(pieces: Sequence[bytes]) -> bytes:
        editor, events = form.editor(OURS), RawEvents()
        told = [editor.feed(*one) for piece in pieces for one in events.feed(piece)]
        told += [editor.feed(*one) for one in events.rest()]
        return b"".join(told) + editor.finish()

    whole = edited([raw])
    assert b"search_pages" not in whole
    assert b"Read" in whole
    assert edited([raw[at : at + 1] for at in range(len(raw))]) == whole
    for at in range(1, len(raw), every):
        assert edited([raw[:at], raw[at:]]) == whole


# --- scripts of replies -----------------------------------------------------------------------


WORDS = st.sampled_from(["", "One. ", " two", "three\n\n", "vier"])
OURS_CALLED = st.sampled_from(["search", "load", "wrong"])


@st.composite
def scripts(draw: Any) -> list[Say]:
    """What a model says on one message: replies with calls, and at last one without."""
    replies: list[Say] = []
    number = 0
    for _ in range(draw(st.integers(0, 3))):
        calls: list[Call] = []
        for _ in range(draw(st.integers(1, 3))):
            number += 1
            kind = draw(st.sampled_from(["Read", "search", "load", "wrong"]))
            calls.append(_made(kind, f"call_{number}"))
        replies.append(
            Say(
                text=draw(WORDS),
                calls=tuple(calls),
                thinking=draw(st.sampled_from(["", f"hm{number}"])),
                input_tokens=100 + number,
            )
        )
    return [*replies, Say(text=draw(st.sampled_from(["The end.", " It ends."])), input_tokens=9)]


def _made(kind: str, call_id: str) -> Call:
    match kind:
        case "Read":
            return read_file(call_id)
        case "search":
            return search("launch code", call_id)
        case "load":
            return load("msg_1", call_id)
    return Call(call_id, "page_fault", {"page": 3})


def answers_of(script: Sequence[Say]) -> Iterator[tuple[str, list[str]]]:
    """What a client reads: the text and the calls of each answer. The model of the test."""
    text = ""
    for say in script:
        text += say.text
        theirs = [call.call_id for call in say.calls if call.name == "Read"]
        if theirs or not say.calls:
            yield text, theirs
            text = ""


@given(
    path=st.sampled_from(sorted(CALLERS)),
    stream=st.booleans(),
    named=st.booleans(),
    respells=st.booleans(),
    turns=st.lists(scripts(), min_size=1, max_size=4),
    restarts=st.sets(st.integers(1, 12), max_size=2),
)
@few(10, suppress_health_check=[HealthCheck.function_scoped_fixture])
async def test_whatever_a_model_says_the_client_reads_one_answer_and_the_prefix_stays(
    tmp_path_factory: pytest.TempPathFactory,
    path: str,
    stream: bool,
    named: bool,
    respells: bool,
    turns: list[list[Say]],
    restarts: set[int],
) -> None:
    root = tmp_path_factory.mktemp("memory") / "m"
    model = Model()
    with watched(model) as upstream:
        respells = respells and named  # else other forms are other conversations
        caller = CALLERS[path](stream=stream, named=named, respells=respells)
        steps = list(_steps(caller, model, turns))
        restarts = set() if respells else {one for one in restarts if one < len(steps)}
        bounds = [0, *sorted(restarts), len(steps)]
        for begin, end in pairwise(bounds):
            async with standing(upstream, root=root, window=60_000) as to:
                for step in steps[begin:end]:
                    await step(to)
                    await to.proxy.settled()
                [name] = await to.sessions()
                told = await to.memory.proxied(await to.memory.session(name, create=False))
                assert told is not None
                assert told.requests == told.reports == len(upstream.seen)
    assert not model.replies
    for earlier, later in pairwise(upstream.seen):
        assert blocks(later)[: len(blocks(earlier))] == blocks(earlier)


def _steps(
    caller: Caller, model: Model, turns: Sequence[Sequence[Say]]
) -> Iterator[Callable[[Standing], Any]]:
    """The requests of a client, one after another, each with what is to come of it."""
    for number, script in enumerate(turns):
        begins = True
        for text, theirs in answers_of(script):

            async def step(
                to: Standing,
                *,
                text: str = text,
                theirs: list[str] = theirs,
                said: str = f"Message {number}." if begins else "",
                script: Sequence[Say] = script if begins else (),
            ) -> None:
                if said:
                    caller.says(said)
                    model.then(*script)
                read = await caller.ask(to)
                assert not read.error
                assert (read.text, [call for call, _, _ in read.calls]) == (text, theirs)
                assert (len(read.ids), len(read.ends)) == (1, 1)
                if theirs:
                    caller.returns({call: f"result of {call}" for call in theirs})

            begins = False
            yield step


# --- under a window ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "named"),
    [
        pytest.param(path, named, marks=() if (number + named) % 2 else pytest.mark.torture)
        for number, path in enumerate(CALLERS)
        for named in (True, False)
    ],
)
async def test_a_long_turn_with_calls_of_both_fits_the_window_and_is_never_refused(
    path: str, named: bool, tmp_path: Path
) -> None:
    """An agent that reads for long and asks memory between: nothing over the window, pairs whole,
    thinking where it was, and no prefix broken but by an epoch; over a restart as well.
    """
    caller = CALLERS[path](named=named)
    model = Model()
    epochs = broken = 0
    with Upstream(strict(model, COUNTER, WINDOW)) as upstream:
        caller.says("Read all chapters. " + FACT)
        for begin in (0, 12):
            async with standing(upstream, root=tmp_path / "m", window=WINDOW) as to:
                for n in range(begin, begin + 12):
                    more = (load(f"tool_{max(1, n - 9)}", f"m{n}"),) if n % 3 == 0 else ()
                    if n % 4 == 1:
                        model.then(Say(text="Hm. ", calls=(search("word3", f"s{n}"),)))
                    model.then(Say(text=f"I read {n}.", calls=(*more, read_file(f"r{n}"))))
                    read = await caller.ask(to)
                    assert not read.error
                    assert [call for call, _, _ in read.calls] == [f"r{n}"]
                    caller.returns({f"r{n}": f"chapter {n} begins. " + f"word{n} " * 300})
                epochs += sum("epoch" in line for line in await to.lines())
    told = [results(seen) for seen in upstream.seen]
    loaded = [one for result in told for one in result.values() if "page" in one]
    assert any("begins." in str(one["page"]["content"]) for one in loaded)
    for earlier, later in pairwise(upstream.seen):
        broken += blocks(later)[: len(blocks(earlier))] != blocks(earlier)
    assert 0 < broken <= epochs


# --- by its provider's own description ------------------------------------------------------------


def _described(name: str) -> jsonschema.Draft202012Validator:
    """OpenAI's description of a value: beside the checkout, or where OPENAI_OPENAPI says."""
    file = os.environ.get("OPENAI_OPENAPI") or OPENAPI
    if not Path(file).exists():
        pytest.skip(f"{file} is not here: OPENAI_OPENAPI names OpenAI's description elsewhere")
    # Its alternatives overlap, which `oneOf` refuses.
    document = json.loads(Path(file).read_text().replace('"oneOf"', '"anyOf"'))
    schemas = document["components"]["schemas"]
    if name == "ResponseStreamEvent":  # of one type, or all that is told is that none fits
        types = {}
        for one in schemas[name]["anyOf"]:
            event = one["$ref"].rpartition("/")[2]
            for type_ in schemas[event]["properties"]["type"]["enum"]:
                types[type_] = {"if": {"properties": {"type": {"const": type_}}}, "then": one}
        return jsonschema.Draft202012Validator(document | {"allOf": list(types.values())})
    return jsonschema.Draft202012Validator(document | {"$ref": f"#/components/schemas/{name}"})


def _wrong(validator: jsonschema.Draft202012Validator, told: list[Json]) -> set[str]:
    """What does not fit, by type and place."""
    return {
        f"{one.get('type', '')}: {[p for p in error.path if isinstance(p, str)]} {error.validator} "
        f"{error.message if error.validator == 'required' else ''}"
        for one in told
        for error in validator.iter_errors(one)
    }


@pytest.mark.parametrize(
    ("path", "stream", "name"),
    [
        ("/v1/chat/completions", False, "CreateChatCompletionResponse"),
        ("/v1/chat/completions", True, "CreateChatCompletionStreamResponse"),
        ("/v1/responses", False, "Response"),
        ("/v1/responses", True, "ResponseStreamEvent"),
    ],
)
async def test_an_answer_that_the_proxy_puts_together_fits_as_well_as_its_provider_s(
    path: str, stream: bool, name: str
) -> None:
    validator, model = _described(name), Model()
    plain = Say(text="It is 7741.", calls=(read_file("call_1"),), input_tokens=9)
    with watched(model) as upstream:
        async with standing(upstream, window=WINDOW, faults=True) as to:
            caller, read = CALLERS[path](stream=stream), list[list[Json]]()
            caller.says(FACT)
            for says in ([plain], [Say(text="I look.", calls=(search("code"),)), plain]):
                model.then(*says)
                request = caller.body() | {"stream": stream}
                reply = await to.http.post(path, json=request, headers=caller.headers)
                told = [one for _, one in events(reply.content)] if stream else [reply.json()]
                read.append([one for one in told if isinstance(one, dict)])
    assert len(upstream.seen) == 3, "the second was put together of two"
    assert _wrong(validator, read[1]) <= _wrong(validator, read[0])
    number = "sequence_number" if name == "ResponseStreamEvent" else "id"
    spoilt = _wrong(validator, [{**one, number: []} for one in read[1]])
    assert not spoilt <= _wrong(validator, read[0]), "the control"
