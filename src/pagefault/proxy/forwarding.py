"""Forwards a request to its provider, and the answer to its client, while it is read for the log.

Invariants:
 (1) Bytes that need not change do not: an answer always, a request unless something left it.
 (2) An answer that came to its end is logged, even if its client left before it ended.
 (3) A request that was taken in is reported to its conversation once: as answered, or as ended.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager, aclosing
from dataclasses import dataclass, replace
from typing import Any

from pagefault.model.clock import Clock
from pagefault.model.errors import EngineUnreachable
from pagefault.pack.tools import PAGE_FAULT
from pagefault.proxy import access_log
from pagefault.proxy.answer_log import AnswerLog
from pagefault.proxy.answering import Answering, Upstream
from pagefault.proxy.canary import Canary
from pagefault.proxy.conversation.forming import Fork
from pagefault.proxy.desk import Desk
from pagefault.proxy.history.history import Json
from pagefault.proxy.http.admission import Head
from pagefault.proxy.http.bodies import Upload
from pagefault.proxy.http.client import wants_formation
from pagefault.proxy.http.relay import IDEMPOTENT, NoAnswer, Relay, onward, to_provider
from pagefault.proxy.intake import STALLED_S, AcceptedRequest, Intake
from pagefault.proxy.metrics import Outcome
from pagefault.proxy.reply import ClientReply
from pagefault.proxy.wires.pairs import Round
from pagefault.proxy.wires.reader import AnswerReader
from pagefault.proxy.wires.wire import Answered, Wire


@dataclass(frozen=True, slots=True)
class ForwardedRequest:
    """The way of one request: `wire` is its format, if it is read."""

    relay: Relay | Canary
    target: bytes
    wire: Wire | None
    head: Head
    principal: str


class Forwarder:
    """For one proxy. `forms`: whether users agreed that memory is formed, unless a request's own
    header decides; None if the proxy cannot make requests of its own.
    """

    def __init__(
        self,
        intake: Intake,
        answers: AnswerLog,
        desk: Desk,
        clock: Clock,
        *,
        forms: bool | None,
        replies_max: int,
    ) -> None:
        self._intake = intake
        self._answers = answers
        self._desk = desk
        self._clock = clock
        self._forms = forms
        self._replies_max = replies_max

    async def forward(
        self, request: ForwardedRequest, body: bytes | Upload, reply: ClientReply
    ) -> None:
        """Forward one request. Raises `TooLarge`, `Late` and `Gone` for its body, and
        `EngineUnreachable` if an answer breaks off that the client has begun to read.
        """
        taken: AcceptedRequest | None = None
        drop: tuple[bytes, ...] = ()
        wire, head, relay = request.wire, request.head, request.relay
        whole_s = self._clock.monotonic_s()
        if wire is not None:
            assert isinstance(body, bytes)
            drop = (b"accept-encoding",)  # so that an answer can be read as it passes
            taken = await self._intake.take(wire, head, request.principal, body, reply.told)
            if taken is not None and taken.passed.body is not None:
                try:
                    body = taken.conversation.written(taken.passed.body)
                    drop = (*drop, b"content-encoding")
                except ValueError:
                    pass  # a number that JSON does not have: the client's own bytes
        sent = to_provider(head.raw, drop=drop)
        if drop:
            sent.append((b"accept-encoding", b"identity"))
        if isinstance(body, Upload) and "transfer-encoding" not in head.headers:
            sent.append((b"content-length", head.headers["content-length"].encode()))
        is_agreed = self._forms is not None and wants_formation(head.headers, self._forms)
        if taken is not None and not is_agreed:
            taken.conversation.withdraw_consent()
        elif taken is not None and isinstance(relay, Relay):  # and no canary
            taken = replace(taken, fork=Fork(relay, head.method, request.target, sent))
        added_s = self._clock.monotonic_s() - whole_s
        passed = taken.passed if taken is not None else None
        reply.told.metrics.sent_on(added_s, passed, wire.name if wire is not None else "")

        # What was read asks a model for an answer: asking twice changes nothing at the provider.
        repeatable = wire is not None or head.method in IDEMPOTENT

        def ask(body: bytes | Upload) -> AbstractAsyncContextManager[Any]:
            return relay.ask(head.method, request.target, sent, body, repeatable=repeatable)

        try:
            if wire is not None and taken is not None and taken.passed.offer is not None:
                assert isinstance(body, bytes)
                await self._serve_calls(request, ask, wire, taken, body, reply)
            else:
                reader = AnswerReader(wire) if wire is not None and taken is not None else None
                await self._pass_on(relay, ask(body), taken, reader, reply)
        except EngineUnreachable as broke:
            if reply.started:
                raise
            status = 504 if isinstance(broke, NoAnswer) else 502
            await reply.refuse(wire, status, str(broke), outcome=Outcome.UNREACHABLE)
        finally:
            if taken is not None and reply.told.learning is None:
                self._answers.ended(taken, reply.told)

    async def _pass_on(
        self,
        relay: Relay | Canary,
        asking: AbstractAsyncContextManager[Any],
        taken: AcceptedRequest | None,
        reader: AnswerReader | None,
        reply: ClientReply,
    ) -> None:
        """Pass an answer on as it comes, and log it if it has a `reader`."""
        try:
            async with asking as response:
                await reply.start(response.status_code, onward(response.headers.raw))
                if reader is not None:
                    reader.begin(response.status_code, response.headers)
                async with aclosing(relay.pieces(response)) as pieces:  # type: ignore[type-var]
                    async for piece in pieces:
                        await reply.piece(piece)
                        if reader is not None:
                            reader.feed(piece)
                if reader is not None and taken is not None:
                    self._answers.answered(taken, reader.answered(), reply.told)
                await reply.end()
        except asyncio.CancelledError:  # who has read the last event need not read the end
            told = reply.told
            if taken and reader and not told.learning and (last := reader.answered()).complete:
                self._answers.answered(taken, last, told)
            raise

    async def _serve_calls(
        self,
        request: ForwardedRequest,
        asking: Callable[[bytes], AbstractAsyncContextManager[Any]],
        wire: Wire,
        taken: AcceptedRequest,
        body: bytes,
        reply: ClientReply,
    ) -> None:
        """Pass an answer on in which the model may call memory's tools, and log it."""
        conversation, passed, told = taken.conversation, taken.passed, reply.told
        assert passed.offer is not None
        reader = AnswerReader(wire)

        def ask(asked: Json | None) -> AbstractAsyncContextManager[Any]:
            return asking(body if asked is None else conversation.written(asked))

        async def serve(reply: Round, so_far: Sequence[Any], is_last: bool) -> Json | None:
            nonlocal passed
            known = len(passed.pairs)
            async with asyncio.timeout(STALLED_S):
                asked = await conversation.served(passed, reply, so_far, is_last=is_last)
            pairs = passed.pairs[known:]  # served now, whether or not the provider is asked again
            faults = sum(one.call.name == PAGE_FAULT for one in pairs)
            told.metrics.served(len(reply.calls), faults)
            self._desk.loaded(conversation.name, sum(len(one.loaded) for one in pairs))
            if asked is None:
                return None
            passed = asked
            if reply.usage is not None:
                told.metrics.reported(reply.usage)
                self._desk.answered(conversation.name, reply.usage)
            return passed.body

        answering = Answering(
            passed.offer.editor(),
            Upstream(ask, request.relay.pieces),
            reply,
            reader,
            serve,
            replies_max=self._replies_max,
        )

        def log(answered: Answered) -> None:
            answered = replace(answered, usage=answering.usage)
            self._answers.answered(replace(taken, passed=passed), answered, told)

        try:
            await answering.pass_on()
        except asyncio.CancelledError:  # as in `_pass_on`
            if (last := reader.answered()).complete:
                log(last)
            raise
        log(reader.answered())
        words = [*access_log.of_served(passed.pairs), *filter(None, [answering.problem])]
        told.words = " · ".join([told.words, *words])
        if answering.refused or answering.broken:
            told.outcome = Outcome.REFUSED_UPSTREAM if answering.refused else Outcome.CUT_OFF
        await reply.end()
