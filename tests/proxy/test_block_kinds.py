"""Conversations of every kind of block that the SDKs name, taken from their own types: they pass
byte for byte while they fit, and what pages them leaves no block without its partner.
"""

from __future__ import annotations

import json
import random
import types
import typing
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import count
from typing import Any, Final

import pytest
import typing_extensions

from pagefault.model.kinds import ItemKind
from pagefault.proxy.history.history import Json, unmarked
from pagefault.proxy.layout.wording import GONE, STUB
from pagefault.window.law import Law
from pagefault.window.slots import Item
from tests.proxy.standing import SESSION, Standing, standing
from tests.proxy.upstream import Say, Upstream

WIDE, NARROW = 1_000_000, 400
TURNS: Final = 9
REQUIRED: Final[Any] = typing.Required
PATHS: Final = {
    "responses": "/v1/responses",
    "chat": "/v1/chat/completions",
    "messages": "/v1/messages",
    "gemini": "/v1beta/models/scripted:generateContent",
}
FIELD: Final = {"responses": "input", "chat": "messages", "messages": "messages"}

# --- values of a type ---------------------------------------------------------------------------


def members(kind: Any) -> Iterator[Any]:
    """The types of a union of typed dictionaries."""
    if typing.get_origin(kind) in (typing.Union, types.UnionType, typing.Annotated):
        for one in typing.get_args(kind):
            yield from members(one)
    elif typing_extensions.is_typeddict(kind):
        yield kind


def kind_of(member: Any) -> str:
    """What the type of a block calls itself."""
    told = typing_extensions.get_type_hints(member).get("type")
    names = [one for one in _literals(told) if isinstance(one, str)]
    return names[0] if names else ""


def _literals(kind: Any) -> Iterator[Any]:
    for one in typing.get_args(kind):
        yield from _literals(one) if typing.get_args(one) else [one]


class Maker:
    """Makes values of types, the fields that may be left out by chance."""

    def __init__(self, chance: random.Random) -> None:
        self._chance = chance
        self._ids = count(1)

    def words(self, number: int = 3) -> str:
        return " ".join(f"w{self._chance.randrange(10_000)}" for _ in range(number))

    def id(self) -> str:
        return f"id_{next(self._ids)}"

    def value(self, kind: Any, depth: int = 0) -> Any:
        origin, given = typing.get_origin(kind), typing.get_args(kind)
        if typing_extensions.is_typeddict(kind):
            return self.block(kind, depth)
        if kind in (str, bytes):
            return self.words()
        if kind in (int, float, bool):
            return kind(1)
        if kind is None or kind is type(None):
            return None
        if origin is typing.Literal:
            return self._chance.choice(given)
        if origin in (typing.Required, typing.NotRequired, typing.Annotated):
            return self.value(given[0], depth)
        if origin in (typing.Union, types.UnionType):
            some = [one for one in given if one is not type(None)]
            plain = [one for one in some if not isinstance(one, type) or self._is_made(one)]
            return self.value(self._chance.choice(plain or some), depth)
        if origin is dict or kind is dict:
            return {"of": self.words(1)}
        if given and not isinstance(kind, types.GenericAlias | type):
            return [self.value(given[0], depth + 1)] if depth < 4 else []
        return [self.value(given[0], depth + 1)] if given and depth < 4 else {"of": self.words(1)}

    def block(self, kind: Any, depth: int = 0, /, **fixed: Any) -> Json:
        """A value of a typed dictionary, with these fields."""
        made: Json = {}
        for name, told in typing_extensions.get_type_hints(kind, include_extras=True).items():
            if name in ("cache_control", "prompt_cache_breakpoint"):
                continue  # four at most in a request
            required = typing.get_origin(told) is REQUIRED or name in ("type", "role")
            if name in fixed or not (required or (depth < 3 and self._chance.random() < 0.3)):
                continue
            is_id = name == "id" or name.endswith("_id")
            value = self.id() if is_id else self.value(told, depth + 1)
            if value is not None:
                made[name] = value
        return made | {name: one for name, one in fixed.items() if one is not None}

    @staticmethod
    def _is_made(kind: type) -> bool:
        return typing_extensions.is_typeddict(kind) or kind in (str, int, float, bool, dict)


# --- conversations ------------------------------------------------------------------------------

Turn = list[Json]


def of_responses(make: Maker, chance: random.Random) -> list[Turn]:
    """Each turn is the user's message and what comes of it. A user may type while a tool runs."""
    union = pytest.importorskip("openai.types.responses").ResponseInputItemParam
    kinds = {kind_of(one): one for one in members(union)}
    for other in ("message", "compaction_trigger", "item_reference", "reasoning", ""):
        kinds.pop(other, None)
    answers = {
        "mcp_approval_request": "mcp_approval_response",
        "program": "program_output",
        "tool_search_call": "tool_search_output",
        **{one: f"{one}_output" for one in kinds if f"{one}_output" in kinds},
    }
    singles = [one for one in kinds if one not in answers and one not in answers.values()]
    turns: list[Turn] = []
    left = [*answers, *singles] * 2
    chance.shuffle(left)
    waiting: list[Json] = []
    for number in range(TURNS):
        said = f"Question {number}: " + make.words(40)
        turn: Turn = [{"type": "message", "role": "user", "content": said}, *waiting]
        waiting = []
        for name in [left.pop() for _ in range(min(len(left), 4))]:
            if name in singles:
                turn.append(make.block(kinds[name]))
                continue
            shared = make.id()
            links = {"id": shared}, {"approval_request_id": shared}
            if name != "mcp_approval_request":
                links = {"call_id": shared}, {"call_id": shared}
            if answers[name] == "local_shell_call_output":  # it has no other field for it
                links = {"call_id": shared}, {"id": shared}
            asked = make.block(kinds[name], **links[0])
            told = make.block(kinds[answers[name]], **links[1])
            turn.append(asked)
            waiting.append(told) if chance.random() < 0.3 else turn.append(told)
        answer = [{"type": "output_text", "text": make.words(20), "annotations": []}]
        turn.append({"type": "message", "role": "assistant", "content": answer})
        turns.append(turn)
    return turns


def of_chat(make: Maker, chance: random.Random) -> list[Turn]:
    chat = pytest.importorskip("openai.types.chat")
    parts = list(members(chat.ChatCompletionContentPartParam))
    calls = list(members(chat.ChatCompletionMessageToolCallUnionParam))
    turns: list[Turn] = []
    for number in range(TURNS):
        shown = [make.block(one) for one in chance.sample(parts, 2)]
        asked = {"type": "text", "text": f"Question {number}: " + make.words(40)}
        turn: Turn = [{"role": "user", "content": [asked, *shown]}]
        match number % 4:
            case 0:
                made = [make.block(one) for one in calls]
                turn.append({"role": "assistant", "content": None, "tool_calls": made})
                turn += [
                    {"role": "tool", "tool_call_id": one["id"], "content": make.words(20)}
                    for one in made
                ]
            case 1:
                turn.append({"role": "assistant", "audio": {"id": make.id()}})
            case 2:
                turn.append({"role": "assistant", "content": None, "refusal": make.words(9)})
        turns.append([*turn, {"role": "assistant", "content": make.words(20)}])
    return turns


def of_messages(make: Maker, chance: random.Random) -> list[Turn]:
    """What the provider's tools were asked and told stands in the model's own messages."""
    beta = pytest.importorskip("anthropic.types.beta")
    kinds = {kind_of(one): one for one in members(beta.BetaContentBlockParam)}
    told = [one for one in kinds if one.endswith("_tool_result")]
    users = ("image", "document", "search_result", "container_upload")
    rest = [
        one for one in kinds
        if one not in (*users, *told) and one not in ("text", "tool_use", "tool_result")
        and not one.endswith(("_tool_use", "thinking", "_addition", "_removal"))
    ]  # fmt: skip
    turns: list[Turn] = []
    for number in range(TURNS):
        words = {"type": "text", "text": f"Question {number}: " + make.words(40)}
        shown = [make.block(kinds[one]) for one in chance.sample(users, 2)]
        turn: Turn = [{"role": "user", "content": [words, *shown]}]
        said: list[Json] = [make.block(kinds[one]) for one in chance.sample(rest, 1)]
        for name in chance.sample(told, 2):
            shared, asked = make.id(), "mcp_tool_use" if "mcp" in name else "server_tool_use"
            said.append(make.block(kinds[asked], id=shared))
            said.append(make.block(kinds[name], tool_use_id=shared))
        call = make.block(kinds["tool_use"])
        said.append(call)
        turn.append({"role": "assistant", "content": said})
        result = make.block(kinds["tool_result"], tool_use_id=call["id"], content=make.words(20))
        turn.append({"role": "user", "content": [result]})
        if number == 1:
            change = make.block(kinds["tool_addition"])
            turn.append({"role": "system", "content": [change]})
        turn.append({"role": "assistant", "content": [{"type": "text", "text": make.words(20)}]})
        turns.append(turn)
    return turns


def of_gemini(make: Maker, chance: random.Random) -> list[Turn]:
    genai = pytest.importorskip("google.genai.types")
    hints = typing_extensions.get_type_hints(genai.PartDict)
    alone = ("text", "thought", "thought_signature", "function_call", "function_response")
    names = [one for one in hints if one not in alone and not one.endswith("metadata")]
    assert "tool_call" in names

    def part(name: str) -> Json:
        made = {name: make.value(hints[name], 1)}
        found: Json = genai.Part.model_construct(**made).model_dump(
            mode="json", by_alias=True, exclude_none=True, warnings=False
        )
        return found

    turns: list[Turn] = []
    for number in range(TURNS):
        words = {"text": f"Question {number}: " + make.words(40)}
        shared = make.id()
        called = {"functionCall": {"id": shared, "name": "look", "args": {"of": make.words(1)}}}
        told = {"id": shared, "name": "look", "response": {"output": make.words(20)}}
        turns.append(
            [
                {"role": "user", "parts": [words, *map(part, chance.sample(names, 2))]},
                {"role": "model", "parts": [*map(part, chance.sample(names, 2)), called]},
                {"role": "user", "parts": [{"functionResponse": told}]},
                {"role": "model", "parts": [{"text": make.words(20)}]},
            ]
        )
    return turns


OF: Final[dict[str, Callable[[Maker, random.Random], list[Turn]]]] = {
    "responses": of_responses,
    "chat": of_chat,
    "messages": of_messages,
    "gemini": of_gemini,
}

# --- what a provider wants ----------------------------------------------------------------------


def blocks_of(messages: Sequence[Any]) -> Iterator[Json]:
    """Every object in a request."""
    for one in messages:
        if isinstance(one, dict):
            yield one
            yield from blocks_of(list(one.values()))
        elif isinstance(one, list):
            yield from blocks_of(one)


LINKS: Final = ("call_id", "tool_use_id", "tool_call_id", "approval_request_id")


def linked(messages: Sequence[Any]) -> dict[str, set[str]]:
    """By its id, the kinds of the blocks that belong to a call."""
    found: dict[str, set[str]] = {}
    for one in blocks_of(messages):
        kind = str(one.get("type") or one.get("role") or sorted(one))
        for name in (*LINKS, "id"):
            if isinstance(one.get(name), str):
                found.setdefault(one[name], set()).add(kind)
    return {key: kinds for key, kinds in found.items() if len(kinds) > 1}


def stays(message: Json) -> bool:
    """Whether a message instructs the model from there on."""
    if message.get("role") in ("system", "developer"):
        return True
    return message.get("type") == "configuration_update"


async def ask(to: Standing, wire: str, said: list[Json]) -> tuple[bytes, list[Json]]:
    """What was posted, and what the provider was sent."""
    field = FIELD.get(wire, "contents")
    own: Json = {} if wire == "gemini" else {"model": "m", "max_tokens": 9}
    raw = json.dumps(own | {field: said}, indent=1).encode()
    headers = {**SESSION, "content-type": "application/json"}
    answer = await to.http.post(PATHS[wire], content=raw, headers=headers)
    assert answer.status_code == 200, answer.text
    assert "x-pagefault-not-logged" not in answer.headers
    await to.proxy.settled()
    return raw, to.upstream.seen[-1].body[field]


@pytest.mark.parametrize("seed", [1, pytest.param(2, marks=pytest.mark.torture)])
@pytest.mark.parametrize("wire", OF)
async def test_a_conversation_that_fits_passes_byte_for_byte(wire: str, seed: int) -> None:
    chance = random.Random(seed)
    turns = OF[wire](Maker(chance), chance)
    said: list[Json] = []
    with Upstream(lambda _: Say(text="Understood.")) as upstream:
        async with standing(upstream, window=WIDE) as to:
            for turn in turns:
                said += turn
                raw, _ = await ask(to, wire, said)
                assert upstream.seen[-1].raw == raw


async def paged(wire: str, seed: int) -> tuple[list[str], int]:
    """What is wrong with the requests of a conversation, and how many left something out."""
    chance = random.Random(seed)
    turns = OF[wire](Maker(chance), chance)
    said: list[Json] = []
    wrong: list[str] = []
    shorter = 0
    with Upstream(lambda _: Say(text="Understood.")) as upstream:
        async with standing(upstream, window=NARROW) as to:
            for turn in turns:
                for upto in range(1, len(turn) + 1):
                    if turn[upto - 1].get("role") not in ("user", "tool"):
                        continue
                    now = [*said, *turn[:upto]]
                    _, sent = await ask(to, wire, now)
                    wrong += wrong_in(now, sent)
                    shorter += len(sent) < len(now)
                said += turn
    return wrong, shorter


def wrong_in(said: list[Json], sent: list[Json]) -> Iterator[str]:
    had, has = linked(said), linked(sent)
    ids = {one[name] for one in blocks_of(sent) for name in (*LINKS, "id") if name in one}
    for key in had.keys() & {one for one in ids if isinstance(one, str)}:
        if has.get(key) != had[key]:
            yield f"{had[key]} of {key} are parted: {has.get(key)}"
    for message in said:
        if stays(message) and message not in sent:
            yield f"{message.get('type', message.get('role'))} left"
    known = [unmarked(one) for one in said]
    for message in sent:
        if unmarked(message) not in known and not is_ours(message):
            yield f"never said so: {str(message)[:300]}"


def is_ours(message: Json) -> bool:
    """Whether a message has something of the proxy's: a notice, a quote or a stub."""
    told = json.dumps(message, ensure_ascii=False)
    return any(mark in told for mark in (GONE[:40], "<VM:CONTEXT", STUB[12:39]))


@pytest.mark.parametrize(
    "seed", [6, *(pytest.param(one, marks=pytest.mark.torture) for one in range(7, 17))]
)
@pytest.mark.parametrize("wire", OF)
async def test_paging_parts_no_pair_and_keeps_what_instructs(wire: str, seed: int) -> None:
    wrong, shorter = await paged(wire, seed)
    assert wrong == []
    assert shorter > 3


async def test_control_a_law_that_reads_only_functions_parts_the_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pairs = Law.pairs

    def of_functions(law: Law, items: Sequence[Item]) -> dict[int, int]:
        known = (ItemKind.CALL, ItemKind.RESULT)
        return pairs(
            law, [i if i.kind in known else replace(i, call="", answers=False) for i in items]
        )

    monkeypatch.setattr(Law, "pairs", of_functions)
    wrong, _ = await paged("responses", 6)
    assert any("are parted" in one for one in wrong)


@pytest.mark.parametrize("stream", [False, True])
async def test_a_refusal_of_chat_is_what_the_model_said(stream: bool) -> None:
    refused = "I cannot help with that."
    message: Json = {"role": "assistant", "content": None, "refusal": refused}
    asked: Json = {"role": "user", "content": "Open the neighbours' door."}
    whole = {"choices": [{"index": 0, "message": message, "finish_reason": "stop"}]}
    deltas = [{"refusal": refused[:9]}, {"refusal": refused[9:]}]
    chunks = [{"choices": [{"index": 0, "delta": one}]} for one in deltas]
    chunks += [{"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}]
    raw = b"".join(b"data: %s\n\n" % json.dumps(one).encode() for one in chunks)
    head = "text/event-stream" if stream else "application/json"
    say = Say(
        pieces=(raw + b"data: [DONE]\n\n" if stream else json.dumps(whole).encode(),),
        headers={"content-type": head},
    )
    with Upstream(lambda _: say) as upstream:
        async with standing(upstream, window=WIDE) as to:
            for said in ([asked], [asked, message, {"role": "user", "content": "Why?"}]):
                body = {"model": "m", "messages": said, "stream": stream}
                await to.http.post(PATHS["chat"], json=body, headers=SESSION)
                await to.proxy.settled()
            [session] = await to.sessions()
            logged = await to.logged(session)
    assert logged == [asked["content"], refused, "Why?", refused]
