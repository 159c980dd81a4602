"""Takes requests in: opens and parses a body, reads it as a history, logs it in its conversation.

What cannot be read or logged is still passed on, as the client sent it.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Final

from pagefault.model.errors import PagefaultError
from pagefault.model.kinds import ControlMode
from pagefault.proxy import access_log
from pagefault.proxy.conversation.conversation import Conversation
from pagefault.proxy.conversation.forming import Fork
from pagefault.proxy.conversation.passed import Passed
from pagefault.proxy.conversations import Conversations
from pagefault.proxy.desk import Desk
from pagefault.proxy.history.parsing import parse
from pagefault.proxy.history.readings import ReadBody, Readings
from pagefault.proxy.http.admission import Head
from pagefault.proxy.http.client import CONTROL_HEADER, FORM_HEADER, program, recognise, wants_marks
from pagefault.proxy.http.encoding import NotOpened, opened
from pagefault.proxy.keeping import Keeping
from pagefault.proxy.reply import THE_MEMORY, UNREAD, Told
from pagefault.proxy.unnamed import Chain
from pagefault.proxy.wires.wire import Unreadable, Wire

STALLED_S: Final = 60.0
"""How long a request, or its answer, waits for the memory before it goes on without it: a disk that
hangs raises no error. It may still be logged later.
"""
_TOO_DEEP: Final = "not read: its JSON is nested too deeply"
_NOT_ITS_FORMAT: Final = (TypeError, ValueError, AttributeError, KeyError, IndexError)


@dataclass(frozen=True, slots=True)
class AcceptedRequest:
    """A request that its conversation has taken in."""

    conversation: Conversation
    passed: Passed
    chain: Chain | None  # if it has no id
    mark: bytes  # of the request in that
    fork: Fork | None = None  # the way it went, if its user agreed that it is taken again


class Intake:
    """For one proxy. `marks`: whether requests whose client sets no cache marks get some, unless
    their own header decides.
    """

    def __init__(
        self,
        conversations: Conversations,
        keeping: Keeping,
        desk: Desk,
        *,
        window_tokens: int,
        marks: bool,
        body_bytes_max: int,
    ) -> None:
        self._conversations = conversations
        self._keeping = keeping
        self._desk = desk
        self._window_tokens = window_tokens
        self._marks = marks
        self._body_bytes_max = body_bytes_max
        self._readings = Readings()

    async def take(
        self, wire: Wire, head: Head, principal: str, body: bytes, told: Told
    ) -> AcceptedRequest | None:
        """Take a request into its conversation; None if it goes on as it is, and `told` says why.
        Raises `TooLarge`.
        """
        taken = None
        try:
            async with asyncio.timeout(STALLED_S):
                taken = await self._read(wire, head, principal, body, told)
        except TimeoutError as failure:
            told.words, told.not_logged = _why_not(failure, "not logged")
        if taken is not None and taken.passed.logging is not None:
            told.logging = asyncio.create_task(self._logged(taken.passed, told))
        elif taken is not None or told.not_logged:
            self._keeping.note(told.not_logged)
        return taken

    async def _logged(self, passed: Passed, told: Told) -> None:
        """Wait until a request that was sent is logged, and note whether it could be."""
        assert passed.logging is not None
        try:
            async with asyncio.timeout(STALLED_S):
                await asyncio.shield(passed.logging)
        except Exception as failure:
            told.words, told.not_logged = _why_not(failure, "not logged")
        if problem := passed.logged.problem:
            told.words += f" · not logged: {problem}"
            told.not_logged = passed.logged.full or THE_MEMORY
        self._keeping.note(told.not_logged)

    async def _read(
        self, wire: Wire, head: Head, principal: str, body: bytes, told: Told
    ) -> AcceptedRequest | None:
        try:
            encoding = head.headers.get("content-encoding", "")
            plain = opened(body, encoding, self._body_bytes_max)
        except NotOpened:
            told.words, told.not_logged = "not read: its encoding", UNREAD
            return None
        client = recognise(head.headers, {}, head.named)
        lane = principal, wire.name, client.key if client is not None else ""
        before = self._readings.find(lane, plain)
        try:
            parsed = parse(plain, before.parsed if before is not None else None)
        except ValueError:
            told.words, told.not_logged = "not read: no JSON object", UNREAD
            return None
        except RecursionError:
            told.words, told.not_logged = _TOO_DEEP, UNREAD
            return None
        await self._keeping.try_again()
        try:
            try:
                document = wire.addressed(parsed.document, head.path)
                by = program(head.headers, document)
                is_alike = before is not None and before.program == by
                history = wire.read(document, before.history if before and is_alike else None)
            except _NOT_ITS_FORMAT:
                raise Unreadable("a value is of another kind than its format has") from None
            if not history.has_all:
                raise Unreadable("the provider holds the rest of the conversation")
            history = history.of_program(by)
            self._readings.keep(lane, ReadBody(parsed, history, by), before)
            mode = ControlMode(head.headers.get(CONTROL_HEADER, ControlMode.ASSIST))
            is_withdrawn = client is not None and head.headers.get(FORM_HEADER) == "off"
            if mode.captures or is_withdrawn:  # a request that is not kept takes consent back, too
                conversation, chain, mark = await self._conversations.find(
                    wire, head, principal, document, history
                )
                if is_withdrawn:
                    conversation.withdraw_consent()
                mode = mode.within(await conversation.control())
            if not mode.captures:
                told.words = f"{mode}: passed on, not kept"
                return None
            self._keeping.problem = ""
            marks = wants_marks(head.headers, self._marks)
            passed = await conversation.receive(
                document, history, pages=mode.recalls, marks=marks, will_end=True
            )
        except Exception as failure:
            if isinstance(failure, PagefaultError):  # the memory could not tell whose it is
                self._keeping.problem = failure.message
            told.words, told.not_logged = _why_not(failure, "not read")
            return None
        self._desk.passed(conversation.name, passed, self._window_tokens)
        told.words = access_log.of_request(conversation, passed, len(history.messages))
        told.not_logged = conversation.full or (THE_MEMORY if conversation.problem else "")
        if mode is not ControlMode.ASSIST:
            told.words += f", {mode}"
        self._conversations.under_way[conversation.name] += 1  # until `AnswerLog` has its end
        return AcceptedRequest(conversation, passed, chain, mark)


def _why_not(failure: Exception, what: str) -> tuple[str, str]:
    """What the access log says of a request that failed, and the reason for its answer's header.
    `what` begins the former unless the memory is at fault.
    """
    match failure:
        case Unreadable():
            return f"{what}: {failure}", UNREAD
        case PagefaultError():
            return f"not logged: {failure.message}", THE_MEMORY
        case TimeoutError():
            return "not logged: the memory does not answer", THE_MEMORY
        case RecursionError():  # its words may be logged by then; nothing behind them is
            return _TOO_DEEP, UNREAD
        case _:  # an unforeseen shape: still no reason to hold the request back
            return f"{what}: {type(failure).__name__}", THE_MEMORY
