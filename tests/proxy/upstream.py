"""A provider on loopback that answers from a script, in the four wire formats.

It stands in for the real ones in tests, and in front of real clients when recordings are made.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self

Body = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Call:
    """A tool call of the scripted model."""

    call_id: str
    name: str
    arguments: Mapping[str, Any]
    namespace: str = ""  # of tools that Responses offers by one


@dataclass(frozen=True, slots=True, kw_only=True)
class Say:
    """What the scripted model answers. A `status` other than 200 is an error of the provider."""

    text: str = ""
    calls: tuple[Call, ...] = ()
    blocks: tuple[Body, ...] = ()  # of its provider's own tools, before the text; in Chat citations
    thinking: str = ""
    signature: str = ""  # of the thinking, where one is made for it
    input_tokens: int = 0
    cached_tokens: int = 0  # of these
    written_tokens: int = 0  # of these, to the cache; Messages alone tells of it
    status: int = 200
    raw: bytes = b""  # sent as it is, in place of an answer
    pause_s: float = 0.0  # between two events of a stream
    cut_after: int = -1  # events of a stream after which the connection breaks; -1 never
    pieces: tuple[bytes | threading.Event, ...] = ()  # sent as they are, or waited for: the first
    # before anything is sent
    headers: Mapping[str, str] = field(default_factory=dict)  # with these
    is_cut: bool = False  # the connection breaks after them


@dataclass(frozen=True, slots=True)
class Seen:
    """A request as it arrived."""

    method: str
    path: str
    headers: Mapping[str, str]
    raw: bytes

    @property
    def body(self) -> Body:
        body: Body = json.loads(self.raw)
        return body


Script = Callable[[Seen], Say]


def always(text: str = "Understood.") -> Script:
    return lambda _: Say(text=text)


def in_turn(*replies: Say) -> Script:
    """The replies one after another; the last again and again."""
    left = list(replies)
    return lambda _: left.pop(0) if len(left) > 1 else left[0]


@dataclass(slots=True)
class Upstream:
    """Use in `with`. Ends with it, whatever is still being answered."""

    script: Script
    seen: list[Seen] = field(default_factory=list)
    broken: list[str] = field(default_factory=list)  # paths of answers that nobody waited for
    _server: ThreadingHTTPServer | None = None
    _thread: threading.Thread | None = None

    def __enter__(self) -> Self:
        handler = type("Handler", (_Handler,), {"upstream": self})
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True
        )
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        assert self._server is not None
        assert self._thread is not None
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(timeout=300)

    @property
    def url(self) -> str:
        assert self._server is not None
        return f"http://127.0.0.1:{self._server.server_address[1]}"


class _Handler(BaseHTTPRequestHandler):
    upstream: Upstream
    protocol_version = "HTTP/1.1"
    timeout = 30

    def log_message(self, format: str, *args: object) -> None:
        """Quiet."""

    def do_HEAD(self) -> None:
        self._send(200, b"", "text/plain")

    def do_GET(self) -> None:
        self._note(b"")
        if self.path.split("?")[0].endswith("/models"):
            listed = {"object": "list", "data": [{"id": "scripted", "object": "model"}]}
            self._send(200, json.dumps(listed).encode())
        else:
            self._send(404, b'{"error":{"message":"there is nothing here"}}')

    def do_POST(self) -> None:
        raw = self.rfile.read(int(self.headers.get("content-length") or 0))
        encoding = self.headers.get("content-encoding", "")
        seen = self._note(raw)
        path = self.path.split("?")[0]
        if path.endswith("/count_tokens"):
            self._send(200, b'{"input_tokens":1234}')
            return
        if encoding:
            self._send(415, b'{"error":{"message":"only plain bodies here"}}')
            return
        wire = next((w for suffix, w in _WIRES.items() if path.endswith(suffix)), None)
        streams = path.endswith(":streamGenerateContent")
        if wire is None:
            self._send(200, b"echo:" + raw, "application/octet-stream")
            return
        say = self.upstream.script(seen)
        if say.pieces:
            self._send_pieces(say)
        elif say.raw:
            self._send(say.status, say.raw)
        elif say.status != 200:
            self._send(say.status, wire.refusal(say.status))
        elif streams and "alt=sse" not in self.path:
            whole = [json.loads(one[6:]) for one in wire.events(say, len(self.upstream.seen))]
            self._send(200, json.dumps(whole, indent=2).encode())
        elif streams or seen.body.get("stream"):
            self._stream(wire.events(say, len(self.upstream.seen)), say)
        else:
            self._send(200, json.dumps(wire.whole(say, len(self.upstream.seen))).encode())

    do_PUT = do_PATCH = do_DELETE = do_POST

    def _note(self, raw: bytes) -> Seen:
        headers = {name.lower(): value for name, value in self.headers.items()}
        seen = Seen(self.command, self.path, headers, raw)
        self.upstream.seen.append(seen)
        return seen

    def _send(self, status: int, body: bytes, kind: str = "application/json") -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("X-Request-Id", "req_scripted")
        if status in (429, 500, 529):
            self.send_header("Retry-After", "0")
        self.end_headers()
        self.wfile.write(body)

    def _send_pieces(self, say: Say) -> None:
        if isinstance(say.pieces[0], threading.Event):
            say.pieces[0].wait(300)
        self.send_response(say.status)
        for header, value in say.headers.items():
            self.send_header(header, value)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        try:
            for piece in say.pieces:
                if isinstance(piece, bytes):
                    self.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece))
                    self.wfile.flush()
                else:
                    piece.wait(300)
            if say.is_cut:
                self.close_connection = True
                self.connection.close()
            else:
                self.wfile.write(b"0\r\n\r\n")
        except OSError:
            self.upstream.broken.append(self.path)
            self.close_connection = True

    def _stream(self, events: Iterator[bytes], say: Say) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("X-Request-Id", "req_scripted")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        try:
            for number, event in enumerate(events):
                if number == say.cut_after:
                    self.close_connection = True
                    self.connection.close()
                    return
                self.wfile.write(b"%x\r\n%s\r\n" % (len(event), event))
                self.wfile.flush()
                if say.pause_s:
                    time.sleep(say.pause_s)
            self.wfile.write(b"0\r\n\r\n")
        except OSError:
            self.upstream.broken.append(self.path)
            self.close_connection = True


def _event(document: Body | str, name: str = "") -> bytes:
    data = document if isinstance(document, str) else json.dumps(document)
    return (f"event: {name}\n" if name else "").encode() + f"data: {data}\n\n".encode()


class _Chat:
    def refusal(self, status: int) -> bytes:
        return json.dumps({"error": {"message": "overloaded", "type": "server_error"}}).encode()

    def whole(self, say: Say, number: int) -> Body:
        message: Body = {"role": "assistant", "content": say.text or None}
        if say.calls:
            message["tool_calls"] = [
                {
                    "id": call.call_id,
                    "type": "function",
                    "function": {"name": call.name, "arguments": json.dumps(call.arguments)},
                }
                for call in say.calls
            ]
        if say.blocks:
            message["annotations"] = list(say.blocks)
        finish = "tool_calls" if say.calls else "stop"
        return {
            "id": f"chatcmpl-{number}",
            "object": "chat.completion",
            "created": 1,
            "model": "scripted",
            "choices": [{"index": 0, "message": message, "finish_reason": finish}],
            "usage": self._usage(say),
        }

    def _usage(self, say: Say) -> Body:
        return {
            "prompt_tokens": say.input_tokens,
            "prompt_tokens_details": {"cached_tokens": say.cached_tokens},
            "completion_tokens": 10,
            "total_tokens": say.input_tokens + 10,
        }

    def events(self, say: Say, number: int) -> Iterator[bytes]:
        whole = self.whole(say, number)
        choice = whole.pop("choices")[0]
        usage = whole.pop("usage")
        whole["object"] = "chat.completion.chunk"

        def chunk(delta: Body, finish: str | None = None) -> bytes:
            one = {"index": 0, "delta": delta, "finish_reason": finish}
            return _event({**whole, "choices": [one]})

        yield chunk({"role": "assistant", "content": ""})
        for piece in say.text.split(" ") if say.text else ():
            yield chunk({"content": piece if piece == say.text.split(" ")[0] else f" {piece}"})
        if say.blocks:
            yield chunk({"annotations": list(say.blocks)})
        for index, call in enumerate(choice["message"].get("tool_calls", ())):
            yield chunk({"tool_calls": [{"index": index, **call}]})
        yield chunk({}, choice["finish_reason"])
        yield _event({**whole, "choices": [], "usage": usage})
        yield _event("[DONE]")


class _Responses:
    def refusal(self, status: int) -> bytes:
        return json.dumps({"error": {"message": "overloaded", "type": "server_error"}}).encode()

    def whole(self, say: Say, number: int) -> Body:
        output: list[Body] = []
        if say.thinking:
            output.append(
                {
                    "type": "reasoning",
                    "id": f"rs_{number}",
                    "summary": [],
                    "encrypted_content": f"sealed:{say.thinking}",
                }
            )
        output += say.blocks
        if say.text:
            output.append(
                {
                    "type": "message",
                    "id": f"msg_{number}",
                    "role": "assistant",
                    "status": "completed",
                    "content": [{"type": "output_text", "text": say.text, "annotations": []}],
                }
            )
        output += [
            {
                "type": "function_call",
                "id": f"fc_{number}_{place}",
                "call_id": call.call_id,
                "name": call.name,
                "arguments": json.dumps(call.arguments),
                "status": "completed",
                **({"namespace": call.namespace} if call.namespace else {}),
            }
            for place, call in enumerate(say.calls)
        ]
        return {
            "id": f"resp_{number}",
            "object": "response",
            "created_at": 1,
            "status": "completed",
            "model": "scripted",
            "output": output,
            "tools": [],
            "tool_choice": "auto",
            "parallel_tool_calls": True,
            "usage": {
                "input_tokens": say.input_tokens,
                "input_tokens_details": {"cached_tokens": say.cached_tokens},
                "output_tokens": 10,
                "output_tokens_details": {"reasoning_tokens": 0},
                "total_tokens": say.input_tokens + 10,
            },
        }

    def events(self, say: Say, number: int) -> Iterator[bytes]:
        for place, (name, fields) in enumerate(self._told(self.whole(say, number), say)):
            yield _event({"type": name, "sequence_number": place, **fields}, name)

    def _told(self, whole: Body, say: Say) -> Iterator[tuple[str, Body]]:
        begun = {**whole, "status": "in_progress", "output": [], "usage": None}
        yield "response.created", {"response": begun}
        for index, item in enumerate(whole["output"]):
            empty: dict[str, Body] = {
                "message": {"content": []},
                "function_call": {"arguments": ""},
            }
            added = {**item, **empty.get(item["type"], {})}
            at = {"output_index": index, "item_id": item["id"]}
            yield "response.output_item.added", {"output_index": index, "item": added}
            if item["type"] == "message":
                part = {**at, "content_index": 0}
                none = {"type": "output_text", "text": "", "annotations": []}
                yield "response.content_part.added", {**part, "part": none}
                for place, word in enumerate(say.text.split(" ")):
                    told = {**part, "delta": f" {word}" if place else word, "logprobs": []}
                    yield "response.output_text.delta", told
                yield "response.output_text.done", {**part, "text": say.text, "logprobs": []}
                yield "response.content_part.done", {**part, "part": item["content"][0]}
            elif item["type"] == "function_call":
                said = item["arguments"]
                yield "response.function_call_arguments.delta", {**at, "delta": said}
                name = item["name"]
                yield (
                    "response.function_call_arguments.done",
                    {**at, "arguments": said, "name": name},
                )
            yield "response.output_item.done", {"output_index": index, "item": item}
        yield "response.completed", {"response": whole}


class _Messages:
    def refusal(self, status: int) -> bytes:
        kind = "overloaded_error" if status == 529 else "api_error"
        told = {"type": "error", "error": {"type": kind, "message": "overloaded"}}
        return json.dumps(told).encode()

    def whole(self, say: Say, number: int) -> Body:
        content: list[Body] = []
        if say.thinking:
            content.append(
                {
                    "type": "thinking",
                    "thinking": say.thinking,
                    "signature": say.signature or f"sig{number}==",
                }
            )
        content += say.blocks
        if say.text:
            content.append({"type": "text", "text": say.text})
        content += [
            {"type": "tool_use", "id": call.call_id, "name": call.name, "input": call.arguments}
            for call in say.calls
        ]
        return {
            "id": f"msg_{number:04}",
            "type": "message",
            "role": "assistant",
            "model": "claude-scripted",
            "content": content,
            "stop_reason": "tool_use" if say.calls else "end_turn",
            "stop_sequence": None,
            "usage": {
                "input_tokens": say.input_tokens - say.cached_tokens - say.written_tokens,
                "cache_creation_input_tokens": say.written_tokens,
                "cache_read_input_tokens": say.cached_tokens,
                "output_tokens": 10,
            },
        }

    def events(self, say: Say, number: int) -> Iterator[bytes]:
        whole = self.whole(say, number)
        content, stop = whole["content"], whole["stop_reason"]
        yield self._named("message_start", message={**whole, "content": [], "stop_reason": None})
        for index, block in enumerate(content):
            kind = block["type"]
            empty = {
                "thinking": {"type": "thinking", "thinking": "", "signature": ""},
                "text": {"type": "text", "text": ""},
            }.get(kind, {**block, "input": {}} if "input" in block else block)
            yield self._named("content_block_start", index=index, content_block=empty)
            for delta in self._deltas(block):
                yield self._named("content_block_delta", index=index, delta=delta)
            yield self._named("content_block_stop", index=index)
        yield self._named(
            "message_delta",
            delta={"stop_reason": stop, "stop_sequence": None},
            usage={"output_tokens": 10},
        )
        yield self._named("message_stop")

    def _deltas(self, block: Body) -> Iterator[Body]:
        if block["type"] == "thinking":
            yield {"type": "thinking_delta", "thinking": block["thinking"]}
            yield {"type": "signature_delta", "signature": block["signature"]}
        elif block["type"] == "text":
            words = block["text"].split(" ")
            for place, word in enumerate(words):
                yield {"type": "text_delta", "text": f" {word}" if place else word}
        elif "input" in block:
            yield {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}

    def _named(self, name: str, **fields: Any) -> bytes:
        return _event({"type": name, **fields}, name)


class _Gemini:
    def refusal(self, status: int) -> bytes:
        told = {"code": status, "message": "overloaded", "status": "UNAVAILABLE"}
        return json.dumps({"error": told}).encode()

    def whole(self, say: Say, number: int) -> Body:
        parts: list[Body] = []
        if say.thinking:
            parts.append({"text": say.thinking, "thought": True})
        if say.text:
            parts.append({"text": say.text})
        for call in say.calls:
            called: Body = {"name": call.name, "args": call.arguments}
            part: Body = {"functionCall": called | ({"id": call.call_id} if call.call_id else {})}
            parts.append(part | ({"thoughtSignature": say.signature} if say.signature else {}))
        return {
            "candidates": [
                {"content": {"parts": parts, "role": "model"}, "finishReason": "STOP", "index": 0}
            ],
            "usageMetadata": {
                "promptTokenCount": say.input_tokens,
                "cachedContentTokenCount": say.cached_tokens,
                "candidatesTokenCount": 10,
                "totalTokenCount": say.input_tokens + 10,
            },
            "modelVersion": "scripted",
            "responseId": f"resp_{number}",
        }

    def events(self, say: Say, number: int) -> Iterator[bytes]:
        whole = self.whole(say, number)
        parts = whole["candidates"][0]["content"]["parts"]
        pieces: list[Body] = []
        for part in parts:
            words = str(part.get("text", "")).split(" ")
            split = [f" {word}" if place else word for place, word in enumerate(words)]
            pieces += [{**part, "text": one} for one in split] if "text" in part else [part]
        for place, piece in enumerate(pieces):
            one: Body = {"content": {"parts": [piece], "role": "model"}, "index": 0}
            if place == len(pieces) - 1:
                one["finishReason"] = "STOP"
            yield _event({**whole, "candidates": [one]})


_WIRES: dict[str, _Chat | _Responses | _Messages | _Gemini] = {
    "/chat/completions": _Chat(),
    "/responses": _Responses(),
    "/messages": _Messages(),
    ":generateContent": _Gemini(),
    ":streamGenerateContent": _Gemini(),
}
