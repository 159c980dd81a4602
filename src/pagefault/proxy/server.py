"""The proxy as an ASGI application: four formats are read, everything else is passed on.

Invariants:
 (1) What cannot be read, logged or paged is still passed on, as the client sent it.
 (2) Bytes that need not change do not: an answer always, a request unless something left it.
 (3) A client that goes away ends the provider's work for it.
 (4) Whoever a request is from (`principal.py`), it meets nothing of what anybody else said: a
     conversation belongs to one principal, and nothing that is answered here tells of others'.
"""

from __future__ import annotations

import asyncio
import json
import re
import secrets
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, aclosing
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final, Protocol
from urllib.parse import unquote

from pagefault.engine.endpoint import is_of_this_machine, origin_is_of_this_machine
from pagefault.model.clock import Clock
from pagefault.model.errors import EngineUnreachable, PagefaultError
from pagefault.model.kinds import ControlMode
from pagefault.pack.count import TokenCounter
from pagefault.proxy.answering import Answering, Upstream
from pagefault.proxy.bodies import Gone, Late, Receive, Upload, whole_body
from pagefault.proxy.canary import OPERATOR, WINDOW, Canary, is_operators
from pagefault.proxy.chat import Chat
from pagefault.proxy.client import (
    CONTROL_HEADER,
    FORM_HEADER,
    MARK_HEADER,
    UNNAMED,
    named_in_path,
    program,
    recognise,
    wants_formation,
    wants_marks,
)
from pagefault.proxy.conversation import Conversation
from pagefault.proxy.desk import CANARIES, STATUSLINE, Desk
from pagefault.proxy.encoding import NotOpened, TooLarge, opened
from pagefault.proxy.forming import Fork
from pagefault.proxy.gemini import Gemini
from pagefault.proxy.history import History, Json
from pagefault.proxy.item_keys import keys_of
from pagefault.proxy.keeping import Keeping
from pagefault.proxy.messages import Messages
from pagefault.proxy.metrics import CONTENT_TYPE, OPERATORS, HeatGauges, Metrics, NoMetrics, Outcome
from pagefault.proxy.pairs import Pair, Round
from pagefault.proxy.parsing import parse
from pagefault.proxy.passed import Passed, Window
from pagefault.proxy.principal import principal_of
from pagefault.proxy.reader import AnswerReader
from pagefault.proxy.readings import ReadBody, Readings
from pagefault.proxy.relay import Headers, NoAnswer, Relay, onward, to_provider
from pagefault.proxy.reply import ClientReply, Send, Told
from pagefault.proxy.responses import Responses
from pagefault.proxy.telemetry import Telemetry, told_to_telemetry
from pagefault.proxy.token import TOKEN_HEADER, WANTED, is_token, user_of
from pagefault.proxy.unnamed import Chain, Chains
from pagefault.proxy.upstreams import Upstreams
from pagefault.proxy.wire import Answered, Unreadable, Wire
from pagefault.service.memory import Memory
from pagefault.service.recovery import refusal_of
from pagefault.service.turn.formation import Formed
from pagefault.service.turn.turn import encodable

Scope = Mapping[str, Any]
MemoryPath = Callable[[Scope, Receive, Send, str], Awaitable[None]]
"""Serves the memory itself to a user who was let in, at `MCP_PATH`."""


class Viewer(Protocol):
    """Shows the memory to people, who have its own token: an application beside the proxy, which
    looks at who asks by itself.
    """

    def takes(self, path: str) -> bool:
        """Whether a path is its own."""
        ...

    def stop(self) -> None:
        """End what it keeps open."""
        ...

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None: ...


MCP_PATH: Final = "/mcp"  # no provider's: it is never passed on
BODY_BYTES_MAX: Final = 64 * 1024 * 1024
BODY_S_MAX: Final = 120.0  # for all of a body that is read, between the pieces of one that passes
LATE: Final = "the request did not arrive in time"
THE_MEMORY: Final = "memory"
UNREAD: Final = "unread"  # what cannot be read cannot be kept, nor paged
CONVERSATIONS_MAX: Final = 48
"""Conversations that are kept in memory, each of about 3.5 MB for 300 KB of history. Others are
taken up again from the log.
"""

WIRES: Final[tuple[Wire, ...]] = (Chat(), Responses(), Messages(), Gemini())


class Proxy:
    """`log` is given a line for every request: what was asked, never what was said."""

    def __init__(
        self,
        *,
        memory: Memory,
        relay: Relay | Upstreams,
        counter: TokenCounter,
        clock: Clock,
        window_tokens: int = 0,
        token: str = "",
        tokens: Mapping[str, str] | None = None,
        user: str = "",
        any_host: bool = False,
        log: Callable[[str], None] = lambda line: None,
        body_bytes_max: int = BODY_BYTES_MAX,
        mint: Callable[[], str] = lambda: secrets.token_hex(6),
        secret: bytes = b"",
        faults: bool | None = None,
        marks: bool = False,
        forms: bool | None = False,
        desk: Desk | None = None,
        mcp: MemoryPath | None = None,
        dashboard: Viewer | None = None,
        measures: bool = True,
    ) -> None:
        """Without a `token`, and `tokens` by the names of users, whoever asks is served. `user` is
        who it is where all requests are one user's. `any_host`: it may be called by other names
        than this machine's own, as one that other machines reach is. `mint` names conversations
        that have no id; `secret` keys what is remembered of them, a random one without it.
        `faults`: whether models are offered memory's tools, where there is a window; None offers
        them beside a client's own. `marks`: whether a client that does not say where to cache has
        it said for it, unless its own header decides. `forms`: whether the users of all requests
        agree that memory is formed of them, at their providers and on their accounts, unless a
        request's own header decides; None where no request can be made but a client's. `desk` says
        who this proxy is. Where nobody can ask for its metrics, it `measures` nothing.
        """
        assert token or tokens or not any_host, "other machines are served by a token alone"
        assert not (tokens and (token or user)), "a token of several says who it is"
        self._memory = memory
        self._upstreams = relay if isinstance(relay, Upstreams) else Upstreams({"": relay})
        self._counter = counter
        self._clock = clock
        self._window_tokens = window_tokens
        self._token = token
        self._tokens = tokens or {}
        self._user = user
        self._any_host = any_host
        self._faults = faults
        self._marks = marks
        self._forms = forms
        self._mint = mint
        self._chains = Chains(secret or secrets.token_bytes(32))
        self._readings = Readings()
        self._desk = desk or Desk()
        self._log = log
        self._mcp = mcp
        self._dashboard = dashboard
        self._body_bytes_max = body_bytes_max
        self._conversations: OrderedDict[str, Conversation] = OrderedDict()
        self._serving: set[asyncio.Task[object]] = set()
        self._learning: set[asyncio.Task[None]] = set()
        self._metrics: Metrics | NoMetrics | Telemetry = NoMetrics()
        if measures:
            counts = Metrics(
                clock,
                windows=self._windows,
                kept=lambda: memory._runtime.pages.kept,
                heat=self._heat(memory),
                is_writable=lambda: refusal_of(memory) is None,
            )
            self._metrics = told_to_telemetry(counts, clock)
        self._keeping = Keeping(memory, clock, log, self._metrics.recovered)
        self.requests = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        if self._dashboard is not None and self._dashboard.takes(scope["path"]):
            await self._dashboard(scope, receive, send)  # no traffic: nobody counts it
            return
        began = self._clock.monotonic_s()
        self.requests += 1
        told = Told(scope["method"], scope["path"], self._metrics)
        task = asyncio.current_task()
        assert task is not None
        self._serving.add(task)
        task.add_done_callback(self._serving.discard)
        self._metrics.arrived(scope["headers"])
        try:
            await self._serve(scope, receive, send, told)
        except EngineUnreachable as broke:
            told.words, told.outcome = str(broke), Outcome.CUT_OFF
            raise BrokenOff from None  # the server then ends the connection unfinished
        finally:
            took_ms = (self._clock.monotonic_s() - began) * 1_000
            if told.learning is not None:  # the client has its answer; who called waits for both
                await asyncio.wait([told.learning])
            status = told.status or "---"
            self._metrics.ended(told.format, told.outcome, told.not_logged)
            self._log(f"{told.method} {told.path} {status} {told.words} {took_ms:.0f} ms")

    async def settled(self) -> None:
        """Wait until every request is served and its line written, and every answer logged."""
        while under_way := self._serving | self._learning:
            await asyncio.wait(under_way)

    # --- one request --------------------------------------------------------------------------

    async def _serve(self, scope: Scope, receive: Receive, send: Send, told: Told) -> None:
        headers: Headers = scope["headers"]
        known = _joined(headers)
        began_s = self._clock.monotonic_s()
        reply = ClientReply(
            send, told, lambda: told.metrics.began(self._clock.monotonic_s() - began_s)
        )
        authority, raw_path = _target(scope["raw_path"].decode("latin-1"))
        if authority:  # RFC 9112 §3.2.2: it counts, whatever Host says
            known["host"] = authority
        named, path = named_in_path(raw_path)
        told.path = self._shown(path)
        wire = next((w for w in WIRES if scope["method"] == "POST" and w.takes(path)), None)
        told.format = wire.name if wire is not None else ""
        host, version = known.get("host", ""), scope["http_version"]
        if not (self._any_host or is_of_this_machine(host, version)):
            return await reply.refuse(wire, 421, "this proxy answers to this machine's names only")
        if not origin_is_of_this_machine(known.get("origin")):
            return await reply.refuse(wire, 403, "requests from web pages are not passed on")
        user = self._user_of(known.get(TOKEN_HEADER, ""))
        is_operator = self._desk.knows(known)
        if is_operator:  # he tries the proxy: nothing of that is traffic
            told.format, told.metrics = OPERATORS, NoMetrics()
        if user is None and not is_operator:
            return await reply.refuse(wire, 401, WANTED, words="refused: no token, or another one")
        if "websocket" in known.get("upgrade", "").lower():
            return await reply.refuse(wire, 426, "no websockets here: send an ordinary POST")
        if not path.startswith("/") or _steps_up(path):
            return await reply.refuse(wire, 400, "a path begins with / and has no . or .. in it")
        if known.get(CONTROL_HEADER, ControlMode.ASSIST) not in tuple(ControlMode):
            modes = ", ".join(ControlMode)
            return await reply.refuse(wire, 400, f"{CONTROL_HEADER} is one of {modes}")
        if known.get(MARK_HEADER, "off") not in ("on", "off"):
            return await reply.refuse(wire, 400, f"{MARK_HEADER} is on or off")
        if known.get(FORM_HEADER, "off") not in ("on", "off"):
            return await reply.refuse(wire, 400, f"{FORM_HEADER} is on or off")
        if path == "/healthz":
            health = await self._health() | self._desk.who()
            if is_operator:
                health |= {"problem": self._keeping.why(self._conversations.values())}
            return await reply.own(200, json.dumps(health).encode())
        if path == "/metrics":
            return await reply.own(200, self._metrics.text(), CONTENT_TYPE)
        if is_operator and path == CANARIES and scope["method"] == "DELETE":
            for key in [one for one in self._conversations if is_operators(one)]:
                del self._conversations[key]
            forgotten = await self._desk.forget_canaries(self._memory)
            return await reply.own(200, json.dumps({"forgotten": forgotten}).encode())
        if is_operator and wire is None and path != STATUSLINE:
            return await reply.refuse(wire, 404, "the operator's key opens no way to the provider")
        if path == MCP_PATH and self._mcp is not None:
            whose = user or principal_of(headers, scope["query_string"], self._memory.keyed)
            return await self._mcp(scope, receive, reply.noting, whose)
        if path == "/" and scope["method"] == "HEAD":
            return await reply.own(200, b"{}")
        is_read = wire is not None or path == STATUSLINE
        body: bytes | Upload = (
            Upload(receive, BODY_S_MAX) if not is_read and _has_body(known) else b""
        )
        try:
            if is_read:
                if _number(known.get("content-length", "")) > self._body_bytes_max:
                    raise TooLarge  # before a byte of it is read
                body = await whole_body(receive, self._body_bytes_max, BODY_S_MAX)
        except TooLarge:
            return await reply.refuse(wire, 413, f"a body over {self._body_bytes_max:,} bytes")
        except Late:
            return await reply.refuse(wire, 408, LATE)
        except Gone:
            told.outcome = Outcome.CLIENT_GONE
            return None
        query = scope["query_string"]
        whose = user or principal_of(headers, query, self._memory.keyed)
        whose = OPERATOR if is_operator else whose
        if path == STATUSLINE and scope["method"] == "POST":
            assert isinstance(body, bytes)
            line = self._desk.statusline(body, whose)
            return await reply.own(200, line.encode(), b"text/plain; charset=utf-8")
        asked = _Asked(known, path, named, whose)
        relay, path = (Canary(), path) if is_operator else self._upstreams.of(path, known)
        target = path.encode("latin-1") + (b"?" + query if query else b"")
        relayed = self._relayed(relay, scope["method"], target, headers, asked, wire, body, reply)
        try:
            await _unless_gone(
                relayed, receive, told, body.over if isinstance(body, Upload) else None
            )
        except Late:
            await reply.refuse(wire, 408, LATE)
        except Gone:
            told.outcome = Outcome.CLIENT_GONE
        except asyncio.CancelledError:  # the server stops, and has waited for long enough
            told.outcome = Outcome.STOPPED
            if reply.started:
                raise
            why = "the proxy was stopped before an answer came"
            await reply.refuse(wire, 503, why, outcome=Outcome.STOPPED)

    async def _relayed(
        self,
        relay: Relay | Canary,
        method: str,
        target: bytes,
        headers: Headers,
        asked: _Asked,
        wire: Wire | None,
        body: bytes | Upload,
        reply: ClientReply,
    ) -> None:
        taken: _Taken | None = None
        drop: tuple[bytes, ...] = ()
        whole_s = self._clock.monotonic_s()
        if wire is not None:
            assert isinstance(body, bytes)
            drop = (b"accept-encoding",)  # so that an answer can be read as it passes
            try:
                taken = await self._read(wire, asked, body, reply.told)
            except TooLarge:
                return await reply.refuse(wire, 413, f"a body over {self._body_bytes_max:,} bytes")
            if taken is not None or reply.told.not_logged:
                self._keeping.note(reply.told.not_logged)
            if taken is not None and taken.passed.body is not None:
                try:
                    body = taken.conversation.written(taken.passed.body)
                    drop = (*drop, b"content-encoding")
                except ValueError:
                    pass  # a number that JSON does not have: the client's own bytes
        sent = to_provider(headers, drop=drop)
        if drop:
            sent.append((b"accept-encoding", b"identity"))
        if isinstance(body, Upload) and "transfer-encoding" not in asked.headers:
            sent.append((b"content-length", asked.headers["content-length"].encode()))
        is_agreed = self._forms is not None and wants_formation(asked.headers, self._forms)
        if taken is not None and is_agreed and isinstance(relay, Relay):  # and no canary
            taken = replace(taken, fork=Fork(relay, method, target, sent))
        added_s = self._clock.monotonic_s() - whole_s
        read = taken.passed if taken is not None else None
        reply.told.metrics.sent_on(added_s, read, wire.name if wire is not None else "")
        reader = AnswerReader(wire) if wire and taken is not None else None
        try:
            if wire is not None and taken is not None and taken.passed.offer is not None:
                assert isinstance(body, bytes)
                ask = partial(relay.ask, method, target, sent)
                return await self._answered(relay, ask, wire, taken, body, reply)
            async with relay.ask(method, target, sent, body) as response:
                await reply.start(response.status_code, onward(response.headers.raw))
                if reader is not None:
                    reader.begin(response.status_code, response.headers)
                async with aclosing(relay.pieces(response)) as pieces:  # type: ignore[type-var]
                    async for piece in pieces:
                        await reply.piece(piece)
                        if reader is not None:
                            reader.feed(piece)
                if reader is not None and taken is not None:
                    learns, reader = reader, None
                    self._learn(taken, learns.answered(), reply.told)
                await reply.end()
        except asyncio.CancelledError:  # who has read the last event need not read the end
            if reader is not None and taken is not None and (last := reader.answered()).complete:
                self._learn(taken, last, reply.told)
            raise
        except EngineUnreachable as broke:
            if reply.started:
                raise
            status = 504 if isinstance(broke, NoAnswer) else 502
            await reply.refuse(wire, status, str(broke), outcome=Outcome.UNREACHABLE)
        finally:
            if taken is not None and reply.told.learning is None:
                self._settle(taken.conversation, taken.conversation.ended(), reply.told)

    async def _answered(
        self,
        relay: Relay | Canary,
        asking: Callable[[bytes], AbstractAsyncContextManager[Any]],
        wire: Wire,
        taken: _Taken,
        body: bytes,
        reply: ClientReply,
    ) -> None:
        """Ask where the model may call memory's tools, and pass the answer on."""
        conversation, passed, told = taken.conversation, taken.passed, reply.told
        assert passed.offer is not None
        reader = AnswerReader(wire)

        def ask(asked: Json | None) -> AbstractAsyncContextManager[Any]:
            return asking(body if asked is None else conversation.written(asked))

        async def serve(reply: Round, so_far: Sequence[Any], is_last: bool) -> Json | None:
            nonlocal passed
            asked = await conversation.served(passed, reply, so_far, is_last=is_last)
            told.metrics.served(len(reply.calls))
            if asked is None:
                return None
            passed = asked
            if reply.usage is not None:
                told.metrics.reported(reply.usage)
                self._desk.answered(conversation.name, reply.usage)
            return passed.body

        answering = Answering(
            passed.offer.editor(),
            Upstream(ask, relay.pieces),
            reply,
            reader,
            serve,
            replies_max=self._memory.limits.steps_per_turn_max,
        )
        try:
            await answering.pass_on()
        except asyncio.CancelledError:  # as in `_relayed`
            if (last := reader.answered()).complete:
                last = replace(last, usage=answering.usage)
                self._learn(replace(taken, passed=passed), last, reply.told)
            raise
        answered = replace(reader.answered(), usage=answering.usage)
        self._learn(replace(taken, passed=passed), answered, reply.told)
        words = [*_served(passed.pairs), *filter(None, [answering.problem])]
        reply.told.words = " · ".join([reply.told.words, *words])
        if answering.refused or answering.broken:
            failed = Outcome.REFUSED_UPSTREAM if answering.refused else Outcome.CUT_OFF
            reply.told.outcome = failed
        await reply.end()

    async def _read(self, wire: Wire, asked: _Asked, body: bytes, told: Told) -> _Taken | None:
        """Take the request into its conversation; None where it cannot be read, and goes on as it
        is.
        """
        try:
            encoding = asked.headers.get("content-encoding", "")
            plain = opened(body, encoding, self._body_bytes_max)
        except NotOpened:
            told.words, told.not_logged = "not read: its encoding", UNREAD
            return None
        client = recognise(asked.headers, {}, asked.named)
        lane = asked.principal, wire.name, client.key if client is not None else ""
        before = self._readings.find(lane, plain)
        try:
            parsed = parse(plain, before.parsed if before is not None else None)
        except (ValueError, RecursionError):
            told.words, told.not_logged = "not read: no JSON object", UNREAD
            return None
        await self._keeping.try_again()
        try:
            try:
                document = wire.addressed(parsed.document, asked.path)
                by = program(asked.headers, document)
                is_alike = before is not None and before.program == by
                history = wire.read(document, before.history if before and is_alike else None)
            except _NOT_ITS_FORMAT:
                raise Unreadable("a value is of another kind than its format has") from None
            if not history.has_all:
                raise Unreadable("the provider holds the rest of the conversation")
            history = history.of_program(by)
            self._readings.keep(lane, ReadBody(parsed, history, by), before)
            mode = ControlMode(asked.headers.get(CONTROL_HEADER, ControlMode.ASSIST))
            if mode.captures:
                conversation, chain, mark = await self._find(wire, asked, document, history)
                mode = mode.within(ControlMode(await self._memory.control_of(conversation.name)))
            if not mode.captures:
                told.words = f"{mode}: passed on, not kept"
                return None
            self._keeping.problem = ""
            marks = wants_marks(asked.headers, self._marks)
            passed = await conversation.receive(
                document, history, pages=mode.recalls, marks=marks, will_end=True
            )
        except Unreadable as why:
            told.words, told.not_logged = f"not read: {why}", UNREAD
            return None
        except PagefaultError as error:  # the memory was asked which conversation it is
            self._keeping.problem = error.message
            told.words = f"not logged: {error.message}"
            told.not_logged = THE_MEMORY
            return None
        except Exception as bug:  # a shape that nobody foresaw: no reason to keep it back (1)
            told.words = f"not read: {type(bug).__name__}"
            told.not_logged = THE_MEMORY
            return None
        self._desk.passed(conversation.name, passed, self._window_tokens)
        told.words = _words(conversation, passed, len(history.messages))
        told.not_logged = conversation.full or (THE_MEMORY if conversation.problem else "")
        if mode is not ControlMode.ASSIST:
            told.words += f", {mode}"
        return _Taken(conversation, passed, chain, mark)

    async def _find(
        self, wire: Wire, asked: _Asked, document: Json, history: History
    ) -> tuple[Conversation, Chain | None, bytes]:
        """The conversation of a request; where it has no id, its chain, and what stands in that for
        the request. Raises `Unreadable` where nothing can be one.
        """
        keyed, whose = self._memory.keyed, asked.principal
        lane = keyed(f"lane {encodable(history.lane)}")[:6]
        client = recognise(asked.headers, document, asked.named)
        if client is not None:
            name = client.session_name(lane, whose, keyed)
            told = client.key, name  # a name is made of parts of a key, and cut where it says whose
            if any(self._memory.written(one) != one for one in told):
                name = client.sealed_name(lane, whose, keyed)
            return self._conversation(name, wire), None, b""
        placed = history.placed
        of = f"{wire.name}:{lane}@{whose}"
        if placed and placed[-1].asks_for_summary:  # of a conversation, and no part of it
            chain = self._chains.find(of, placed[:-1])
            if chain is None:
                raise Unreadable("it sums up what is not known")
            return self._conversation(chain.name, wire, is_named=False), chain, b""
        if not placed:
            raise Unreadable("nothing is said")

        async def look(names: Sequence[str]) -> str:
            return await self._memory.find_said(names, keys_of(placed))

        async def earlier() -> dict[str, list[str]]:
            found: dict[str, list[str]] = {}
            for row in await self._memory.sessions():
                kind, _, rest = row.name.partition(":")
                if kind == UNNAMED and rest.count(":") == 2:
                    found.setdefault(rest.partition(":")[2], []).append(row.name)
            return found

        chain = await self._chains.take(
            of, placed, begin=lambda: f"{UNNAMED}:{self._mint()}:{of}", earlier=earlier, look=look
        )
        mark = self._chains.asked(of, placed)
        return self._conversation(chain.name, wire, is_named=False), chain, mark

    def _conversation(self, name: str, wire: Wire, *, is_named: bool = True) -> Conversation:
        key = f"{wire.name} {name}"
        found = self._conversations.get(key)
        if found is None:
            found = Conversation(
                memory=self._memory,
                name=name,
                wire=wire,
                counter=self._counter,
                clock=self._clock,
                window_tokens=WINDOW if is_operators(name) else self._window_tokens,
                is_named=is_named,
                faults=self._faults,
            )
            self._conversations[key] = found
            while len(self._conversations) > CONVERSATIONS_MAX:
                self._conversations.popitem(last=False)
        self._conversations.move_to_end(key)
        return found

    def _learn(self, taken: _Taken, answered: Answered, told: Told) -> None:
        """Log the answer without keeping the client waiting for it."""
        self._desk.answered(taken.conversation.name, answered.usage)
        if answered.usage is not None:
            told.metrics.reported(answered.usage)
        is_next = True
        if taken.chain is not None and answered.complete and not taken.passed.aside:
            said = [item for item in answered.items if item.place]
            is_next = self._chains.answered(taken.chain, taken.mark, said)
        work = taken.conversation.answered(taken.passed, answered, is_next=is_next)
        self._settle(taken.conversation, work, told, partial(self._form, taken, answered))

    def _form(self, taken: _Taken, answered: Answered) -> None:
        """Have memory formed of a conversation whose user agreed. Who called goes on at once."""
        if taken.fork is None:
            return

        def told(one: Formed | PagefaultError) -> None:
            self._metrics.formed(one)
            self._log(f"{taken.conversation.name} · {_words_of(one)}")

        try:
            taken.conversation.form(taken.passed, answered, taken.fork, told)
        except Exception as bug:  # what the client reads never depends on it
            self._log(f"{taken.conversation.name} · nothing formed: {type(bug).__name__}")

    def _settle(
        self,
        conversation: Conversation,
        work: Coroutine[Any, Any, None],
        told: Told,
        then: Callable[[], None] = lambda: None,
    ) -> None:
        """Write down what is left of a request, and tell whether that failed. `then` is called."""

        async def settle() -> None:
            before = conversation.problem
            await work
            if conversation.problem != before and not told.not_logged:
                told.not_logged = conversation.full or THE_MEMORY
                told.words += f" · not logged: {conversation.problem}"
            then()

        task = asyncio.create_task(settle())
        self._learning.add(task)
        task.add_done_callback(self._learning.discard)
        told.learning = task

    def _heat(self, memory: Memory) -> HeatGauges:
        """Of the conversations at hand; how long recalls take, of all of this opening."""
        runtime = memory._runtime

        def hot_percent() -> float:
            shares = [one.hot_percent for one in self._conversations.values()]
            known = [share for share in shares if share is not None]
            return sum(known) / len(known) if known else 0.0

        def recall_ms() -> float:
            told = runtime.watch.quantile_ms("heat_recall", 0.5)
            return float("nan") if told is None else told

        return HeatGauges(runtime.heat, hot_percent, recall_ms)

    def _windows(self) -> list[Window]:
        """Of the conversations at hand, canaries left out."""
        named = self._conversations.items()
        return [w for name, one in named if (w := one.window) and not is_operators(name)]

    async def _health(self) -> Json:
        ailing = await self._keeping.ailing(list(self._conversations.values()))
        problems = len(ailing) + bool(self._keeping.problem)
        return {
            "ok": not problems and self._keeping.is_well,
            "upstream": self._upstreams.relays[""].upstream,
            "upstreams": {
                name: one.upstream for name, one in self._upstreams.relays.items() if name
            },
            "window": self._window_tokens,
            "requests": self.requests,
            "conversations": len(self._conversations),
            "not_logged": problems,
            "forms": bool(self._forms),
            "over_quota": sum(bool(one.full) for one in self._conversations.values()),
        }

    def _user_of(self, given: str) -> str | None:
        """Who sends that token, "" where it tells nobody; None for who is not served."""
        if self._tokens:
            return user_of(given, self._tokens)
        return self._user if not self._token or is_token(given, self._token) else None

    def _shown(self, path: str) -> str:
        """A path, less secrets. The session that it named is told beside it."""
        try:
            return self._memory.written(path)
        except PagefaultError:
            return "(a path that cannot be shown)"


@dataclass(frozen=True, slots=True)
class _Asked:
    """What a request tells beside its body."""

    headers: Mapping[str, str]
    path: str  # as the provider knows it
    named: str  # by its path
    principal: str


@dataclass(frozen=True, slots=True)
class _Taken:
    """A request that its conversation has taken in."""

    conversation: Conversation
    passed: Passed
    chain: Chain | None  # where it has no id
    mark: bytes  # of the request in that
    fork: Fork | None = None  # the way it went, where its user agreed that it is taken again


_NOT_ITS_FORMAT: Final = (TypeError, ValueError, AttributeError, KeyError, IndexError)


class BrokenOff(Exception):
    """The provider ended an answer that the client has begun to read."""


async def _unless_gone(
    work: Awaitable[None], receive: Receive, told: Told, sent: asyncio.Event | None
) -> None:
    """Do the work, or end it when the client goes away. What it still sends is the work's to read,
    until it is `sent`.
    """

    async def gone() -> None:
        if sent is not None:
            await sent.wait()
        while (await receive())["type"] != "http.disconnect":
            pass

    doing, leaving = asyncio.ensure_future(work), asyncio.ensure_future(gone())
    try:
        await asyncio.wait((doing, leaving), return_when=asyncio.FIRST_COMPLETED)
        if doing.done():
            doing.result()
        else:
            told.words, told.outcome = "the client went away", Outcome.CLIENT_GONE
    finally:
        for task in (doing, leaving):
            task.cancel()
        await asyncio.gather(doing, leaving, return_exceptions=True)


def _joined(headers: Headers) -> dict[str, str]:
    """Headers by their lower-case names; what is sent more than once is one value (RFC 9110 §5.3),
    and so no id or token that is sent beside another passes for it.
    """
    known: dict[str, str] = {}
    for header, value in headers:
        name, told = header.decode("latin-1").lower(), value.decode("latin-1")
        known[name] = f"{known[name]}, {told}" if name in known else told
    return known


def _target(raw: str) -> tuple[str, str]:
    """What a request line names: the authority, if it is in absolute form (RFC 9112 §3.2.2), and
    the path, byte for byte.
    """
    scheme, separator, rest = raw.partition("://")
    if not separator or scheme.lower() not in ("http", "https"):
        return "", raw
    authority, slash, path = rest.partition("/")
    return authority, slash + path if slash else "/"


def _steps_up(path: str) -> bool:
    """Whether somebody on the way might take this path for another one (RFC 3986 §5.2.4)."""
    return any(step in (".", "..") for step in re.split(r"[/\\]", unquote(path)))


def _has_body(known: Mapping[str, str]) -> bool:
    return known.get("content-length", "0") != "0" or "transfer-encoding" in known


def _number(header: str) -> int:
    return int(header) if header.isascii() and header.isdecimal() and len(header) < 20 else 0


def _served(pairs: Sequence[Pair]) -> list[str]:
    """What the access log says of memory's calls."""
    calls = len(pairs)
    return [f"{calls} call{'s' * (calls > 1)} of memory's served"] if calls else []


def _words_of(one: Formed | PagefaultError) -> str:
    """What the log says of a range that was formed, or was not."""
    if isinstance(one, PagefaultError):
        return f"nothing formed: {one.message}"
    cached = "" if one.cached_tokens is None else f", {one.cached_tokens:,} of them cached"
    asked = f"{one.input_tokens or one.tokens:,} tokens{cached}"
    return f"memory of {one.first}…{one.last}: {one.outcome}, {len(one.made)} made, {asked}"


def _words(conversation: Conversation, passed: Passed, messages: int) -> str:
    words = [conversation.name, str(passed.match.change)]
    if passed.composed is not None:
        composed = passed.composed
        words.append(f"{messages}→{len(composed.messages)} messages, {composed.tokens:,} tokens")
        words += [f"epoch: {composed.epoch}"] if composed.epoch else []
        words += [f"{passed.recalled} recalled"] if passed.recalled else []
        words += ["over the window"] if composed.over else []
    if conversation.problem:
        words.append(f"not logged: {conversation.problem}")
    return " · ".join(words)
