"""Reads an answer while it passes."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from pagefault.proxy.history.history import Json
from pagefault.proxy.wires.wire import Answered, Events, Wire, values

ANSWER_BYTES_MAX: Final = 32 * 1024 * 1024  # of an answer in one piece; a larger one is not read
_EVENT: Final = re.compile(rb"\s*(?:data|event|id|retry|):")


def is_stream(headers: Mapping[str, str], first: bytes = b"") -> bool:
    """Whether an answer is a stream of events: by its type, or by its `first` bytes if the type
    is another one. Small servers give none, or text/plain.
    """
    kind = headers.get("content-type", "").lower()
    return kind.startswith("text/event-stream") or (
        not is_json(headers) and bool(_EVENT.match(first))
    )


def is_json(headers: Mapping[str, str]) -> bool:
    return "json" in headers.get("content-type", "").lower()


class AnswerReader:
    """Assembles an answer while it passes; gives up if it is too large or no success."""

    def __init__(self, wire: Wire) -> None:
        self._wire = wire
        self._events: Events | None = None
        self._gatherer = wire.gatherer()
        self._whole: bytearray | None = None
        self._headers: Mapping[str, str] = {}

    def begin(self, status: int, headers: Mapping[str, str], first: bytes = b"") -> None:
        """Take the head of an answer, and its `first` bytes if they are known already."""
        if status != 200 or headers.get("content-encoding", "identity") != "identity":
            return
        self._headers = headers
        if is_stream(headers, first):
            self._events = Events()
        else:
            self._whole = bytearray()

    def take(self, event: str, data: Json) -> None:
        """Take an event of a stream that was parsed elsewhere, instead of its bytes."""
        try:
            if self._events is not None and not self._events.overflowed:
                self._gatherer.feed(event, data)
        except (TypeError, ValueError, AttributeError, KeyError):
            self._events = None  # not this protocol, whatever it says

    def feed(self, piece: bytes) -> None:
        is_first = self._whole is not None and not self._whole
        if is_first and is_stream(self._headers, piece):
            self._events, self._whole = Events(), None
        if self._events is not None:
            for event, data in self._events.feed(piece):
                self.take(event, data)
        elif self._whole is not None:
            self._whole += piece
            if len(self._whole) > ANSWER_BYTES_MAX:
                self._whole = None

    def answered(self) -> Answered:
        try:
            if self._events is not None:
                told = self._gatherer.answered()
                return replace(told, complete=told.complete and not self._events.is_spoilt)
            document = values(bytes(self._whole or b""))
            if isinstance(document, dict):
                return self._wire.answer(document)
            for one in document if isinstance(document, list) else ():
                self._gatherer.feed("", one)  # a stream, in one piece
            return self._gatherer.answered()
        except (TypeError, ValueError, AttributeError, KeyError):
            return Answered()
