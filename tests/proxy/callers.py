"""Clients of the four wires that offer a tool of their own, as small as they can be: what they
read of an answer, streamed or whole, they send back.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from pagefault.proxy.history.history import Json
from tests.proxy.standing import KEY, SESSION, Standing

SCHEMA: Json = {"type": "object", "properties": {"path": {"type": "string"}}}


@dataclass
class Read:
    """What a client reads of one answer."""

    text: str = ""
    calls: list[tuple[str, str, Any]] = field(default_factory=list)  # id, name, arguments
    ids: set[str] = field(default_factory=set)  # of the answer
    ends: list[str] = field(default_factory=list)  # why it ended: once
    usage: Json = field(default_factory=dict)
    message: list[Json] = field(default_factory=list)  # as it is sent back
    error: str = ""


class Caller:
    """`stream` is how it asks, and `named` whether its requests have an id. One that `respells`
    sends back what it read in other forms, as clients do that keep it in forms of their own, and
    the thinking of the present turn alone.
    """

    path = ""

    def __init__(self, *, stream: bool = False, named: bool = True, respells: bool = False) -> None:
        self.messages: list[Json] = []
        self.stream = stream
        self.respells = respells
        self.headers = SESSION if named else {"x-api-key": KEY}

    async def ask(self, to: Standing, **more: Any) -> Read:
        request = self.body() | {"stream": self.stream} | more
        reply = await to.http.post(self.path, json=request, headers=self.headers)
        if reply.status_code != 200:
            return Read(error=f"{reply.status_code} {reply.text}")
        if self.stream:
            read = self.streamed(list(events(reply.content)))
        else:
            read = self.whole(reply.json())
        self.messages += read.message
        return read

    def says(self, text: str) -> None:
        if self.respells:
            self.messages = [one for message in self.messages for one in self.respelt(message)]
        self.messages.append({"role": "user", "content": text})

    def respelt(self, message: Json) -> list[Json]:
        """A message of a turn that is over."""
        raise NotImplementedError

    def body(self) -> Json:
        raise NotImplementedError

    def tools(self) -> list[Json]:
        raise NotImplementedError

    def whole(self, document: Json) -> Read:
        raise NotImplementedError

    def streamed(self, told: list[tuple[str, Json | str]]) -> Read:
        raise NotImplementedError

    def returns(self, results: Mapping[str, str]) -> None:
        """Its tools' results, by calls."""
        raise NotImplementedError


def events(body: bytes) -> Iterator[tuple[str, Json | str]]:
    for block in body.decode().split("\n\n"):
        name, data = "", ""
        for line in block.splitlines():
            if line.startswith("event: "):
                name = line[7:]
            elif line.startswith("data: "):
                data += line[6:]
        if data:
            yield name, data if data == "[DONE]" else json.loads(data)


class MessagesCaller(Caller):
    path = "/v1/messages"

    def tools(self) -> list[Json]:
        return [{"name": "Read", "description": "Reads.", "input_schema": SCHEMA}]

    def body(self) -> Json:
        told = {"model": "m", "max_tokens": 100, "system": "You help.", "tools": self.tools()}
        return {**told, "messages": self.messages}

    def whole(self, document: Json) -> Read:
        content = document["content"]
        return Read(
            text="".join(one["text"] for one in content if one["type"] == "text"),
            calls=[(b["id"], b["name"], b["input"]) for b in content if b["type"] == "tool_use"],
            ids={document["id"]},
            ends=[document["stop_reason"]],
            usage=document["usage"],
            message=[{"role": "assistant", "content": content}] if content else [],
        )

    def streamed(self, told: list[tuple[str, Json | str]]) -> Read:
        read, blocks, open_blocks = Read(), list[Json](), set[int]()
        written: dict[int, str] = {}
        for _, data in told:
            assert isinstance(data, dict)
            index = data.get("index", 0)
            match data["type"]:
                case "message_start":
                    read.ids.add(data["message"]["id"])
                    read.usage |= data["message"]["usage"]
                case "content_block_start":
                    assert index == len(blocks), "blocks are numbered one after another"
                    blocks.append(dict(data["content_block"]))
                    open_blocks.add(index)
                case "content_block_delta":
                    assert index in open_blocks
                    delta = data["delta"]
                    for name in ("text", "thinking", "signature"):
                        if name in delta:
                            blocks[index][name] += delta[name]
                    if "partial_json" in delta:
                        written[index] = written.get(index, "") + delta["partial_json"]
                case "content_block_stop":
                    open_blocks.remove(index)
                case "message_delta":
                    assert not open_blocks
                    read.ends.append(data["delta"]["stop_reason"])
                    read.usage |= data["usage"]
                case "message_stop":
                    read.ends.append("stop")
                case "error":
                    return Read(error=data["error"]["message"])
        for index, said in written.items():
            blocks[index]["input"] = json.loads(said)
        assert read.ends[1:] == ["stop"], "it ends once"
        whole = self.whole({"content": blocks, "id": "", "stop_reason": "", "usage": {}})
        whole.ids, whole.ends, whole.usage = read.ids, read.ends[:1], read.usage
        return whole

    def respelt(self, message: Json) -> list[Json]:
        content = message["content"]
        if isinstance(content, str):
            return [message]
        left = [
            {**one, "citations": None} if one["type"] == "text" else one
            for one in content
            if one["type"] != "thinking"
        ]
        return [{**message, "content": left}]

    def returns(self, results: Mapping[str, str]) -> None:
        told = [
            {"type": "tool_result", "tool_use_id": call, "content": text}
            for call, text in results.items()
        ]
        self.messages.append({"role": "user", "content": told})


class ChatCaller(Caller):
    path = "/v1/chat/completions"

    def tools(self) -> list[Json]:
        told = {"name": "Read", "description": "Reads.", "parameters": SCHEMA}
        return [{"type": "function", "function": told}]

    def body(self) -> Json:
        system = {"role": "system", "content": "You help."}
        return {"model": "m", "tools": self.tools(), "messages": [system, *self.messages]}

    def whole(self, document: Json) -> Read:
        [choice] = document["choices"]
        message = choice["message"]
        told = [(one["id"], one["function"]) for one in message.get("tool_calls") or ()]
        return Read(
            text=message["content"] or "",
            calls=[(i, one["name"], json.loads(one["arguments"])) for i, one in told],
            ids={document["id"]},
            ends=[choice["finish_reason"]],
            usage=document["usage"],
            message=[message] if message["content"] or told else [],
        )

    def streamed(self, told: list[tuple[str, Json | str]]) -> Read:
        read, text = Read(), ""
        calls: list[Json] = []
        assert told[-1][1] == "[DONE]" or "error" in told[-1][1]
        for _, data in told[:-1] if told[-1][1] == "[DONE]" else told:
            assert isinstance(data, dict), "it ends once"
            if "error" in data:
                return Read(error=data["error"]["message"])
            read.ids.add(data["id"])
            read.usage |= data.get("usage") or {}
            for choice in data["choices"]:
                assert not read.ends, "nothing is said after the end"
                text += choice["delta"].get("content") or ""
                for one in choice["delta"].get("tool_calls", ()):
                    assert one["index"] <= len(calls), "calls are numbered one after another"
                    if one["index"] == len(calls):
                        calls.append({"id": one["id"], "type": "function", "function": {}})
                    function = calls[one["index"]]["function"]
                    for name, piece in one["function"].items():
                        function[name] = function.get(name, "") + piece
                if choice["finish_reason"]:
                    read.ends.append(choice["finish_reason"])
        assert len(read.ends) == 1
        message: Json = {"role": "assistant", "content": text or None}
        if calls:
            message["tool_calls"] = calls
        choice = {"message": message, "finish_reason": ""}
        whole = self.whole({"choices": [choice], "id": "", "usage": {}})
        whole.ids, whole.ends, whole.usage = read.ids, read.ends, read.usage
        return whole

    def respelt(self, message: Json) -> list[Json]:
        if message["role"] != "assistant" or not isinstance(message["content"], str):
            return [message]
        said = [{"type": "text", "text": message["content"].rstrip()}]
        return [{**message, "content": said, "refusal": None}]

    def returns(self, results: Mapping[str, str]) -> None:
        for call, text in results.items():
            self.messages.append({"role": "tool", "tool_call_id": call, "content": text})


class ResponsesCaller(Caller):
    path = "/v1/responses"

    def tools(self) -> list[Json]:
        told = {"name": "Read", "description": "Reads.", "parameters": SCHEMA, "strict": False}
        return [{"type": "function", **told}]

    def body(self) -> Json:
        told = {"model": "m", "instructions": "You help.", "store": False}
        return {**told, "tools": self.tools(), "input": self.messages}

    def whole(self, document: Json) -> Read:
        output = document["output"]
        calls = [one for one in output if one["type"] == "function_call"]
        texts = [
            part["text"] for one in output if one["type"] == "message" for part in one["content"]
        ]
        return Read(
            text="".join(texts),
            calls=[(one["call_id"], one["name"], json.loads(one["arguments"])) for one in calls],
            ids={document["id"]},
            ends=[document["status"]],
            usage=document["usage"],
            message=output,
        )

    def streamed(self, told: list[tuple[str, Json | str]]) -> Read:
        read, done, texts = Read(), list[Json](), dict[int, str]()
        begun = 0
        for number, (_, data) in enumerate(told):
            assert isinstance(data, dict)
            assert not read.ends, "it ends once"
            assert data.get("sequence_number", number) == number
            match data["type"]:
                case "response.output_item.added":
                    assert data["output_index"] == begun, "items are numbered one after another"
                    begun += 1
                case "response.output_text.delta":
                    at = data["output_index"]
                    texts[at] = texts.get(at, "") + data["delta"]
                case "response.output_item.done":
                    assert data["output_index"] == len(done)
                    done.append(data["item"])
                case "response.created":
                    read.ids.add(data["response"]["id"])
                case "response.failed":
                    return Read(error=data["response"]["error"]["message"])
                case "response.completed":
                    read = self.whole(data["response"])
        assert read.message == done, "the end tells the same as all before it"
        assert "".join(text for _, text in sorted(texts.items())) == read.text
        return read

    def respelt(self, message: Json) -> list[Json]:
        if message.get("type") == "reasoning":
            return []
        return [{name: told for name, told in message.items() if name not in ("id", "status")}]

    def returns(self, results: Mapping[str, str]) -> None:
        for call, text in results.items():
            told = {"type": "function_call_output", "call_id": call, "output": text}
            self.messages.append(told)


class GeminiCaller(Caller):
    """As Google's own, it keeps each piece of a stream as a content."""

    path = "/v1beta/models/m:generateContent"

    async def ask(self, to: Standing, **more: Any) -> Read:
        path = self.path
        if self.stream:
            path = path.replace(":generate", ":streamGenerate") + "?alt=sse"
        reply = await to.http.post(path, json=self.body() | more, headers=self.headers)
        if reply.status_code != 200:
            return Read(error=f"{reply.status_code} {reply.text}")
        told = list(events(reply.content.replace(b"\r\n", b"\n"))) if self.stream else []
        read = self.streamed(told) if self.stream else self.whole(reply.json())
        self.messages += read.message
        return read

    def says(self, text: str) -> None:
        super().says(text)
        self.messages[-1] = {"role": "user", "parts": [{"text": text}]}

    def tools(self) -> list[Json]:
        told = {"name": "Read", "description": "Reads.", "parametersJsonSchema": SCHEMA}
        return [{"functionDeclarations": [told]}]

    def body(self) -> Json:
        system = {"parts": [{"text": "You help."}]}
        return {"systemInstruction": system, "tools": self.tools(), "contents": self.messages}

    def whole(self, document: Json) -> Read:
        [candidate] = document["candidates"]
        content = candidate["content"]
        told = [one["functionCall"] for one in content["parts"] if "functionCall" in one]
        usage = document["usageMetadata"]
        assert usage["totalTokenCount"] == (
            usage["promptTokenCount"] + usage["candidatesTokenCount"]
        )
        said = [one["text"] for one in content["parts"] if "text" in one and "thought" not in one]
        return Read(
            text="".join(said),
            calls=[(one.get("id", one["name"]), one["name"], one["args"]) for one in told],
            ids={document["responseId"]},
            ends=["completed"] if candidate.get("finishReason") == "STOP" else [],
            usage={
                "prompt_tokens": usage["promptTokenCount"],
                "completion_tokens": usage["candidatesTokenCount"],
            },
            message=[content] if content["parts"] else [],
        )

    def streamed(self, told: list[tuple[str, Json | str]]) -> Read:
        read = Read()
        for _, data in told:
            assert isinstance(data, dict)
            if "error" in data:
                return Read(error=data["error"]["message"])
            assert not read.ends, "nothing is said after the end"
            one = self.whole(data)
            read.text += one.text
            read.calls += one.calls
            read.message += one.message
            read.ids |= one.ids
            read.ends, read.usage = one.ends, one.usage
        return read

    def respelt(self, message: Json) -> list[Json]:
        left = [one for one in message["parts"] if "thought" not in one]
        return [{**message, "parts": left}] if left else []

    def returns(self, results: Mapping[str, str]) -> None:
        told = [
            {"functionResponse": {"id": call, "name": "Read", "response": {"output": text}}}
            for call, text in results.items()
        ]
        self.messages.append({"role": "user", "parts": told})


CALLERS = {one.path: one for one in (ChatCaller, MessagesCaller, ResponsesCaller, GeminiCaller)}
