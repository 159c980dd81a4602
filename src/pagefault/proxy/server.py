"""The proxy as an ASGI application: four formats are read, everything else is passed on.

Invariants:
 (1) What cannot be read, logged or paged is still passed on, as the client sent it.
 (2) A client that goes away ends the provider's work for it.
 (3) A request meets nothing of what another principal said (`principal.py`): a conversation belongs
     to one, and nothing that is answered here shows others'.
"""

from __future__ import annotations

import asyncio
import json
import secrets
from collections.abc import Awaitable, Callable, Container, Mapping
from typing import Any, Final, Protocol

from pagefault.model.clock import Clock
from pagefault.model.errors import EngineUnreachable, PagefaultError
from pagefault.pack.count import TokenCounter
from pagefault.proxy.answer_log import AnswerLog
from pagefault.proxy.canary import OPERATOR, Canary
from pagefault.proxy.conversations import Conversations
from pagefault.proxy.desk import CANARIES, STATUSLINE, Desk
from pagefault.proxy.forwarding import ForwardedRequest, Forwarder
from pagefault.proxy.history.history import Json
from pagefault.proxy.http.admission import AccessRules, Head, head_of, refuse_form
from pagefault.proxy.http.bodies import Gone, Late, Receive, Upload, unless_gone, whole_body
from pagefault.proxy.http.encoding import TooLarge
from pagefault.proxy.http.principal import principal_of
from pagefault.proxy.http.relay import Relay
from pagefault.proxy.http.token import WANTED
from pagefault.proxy.http.upstreams import Upstreams
from pagefault.proxy.intake import Intake
from pagefault.proxy.keeping import Keeping
from pagefault.proxy.metrics import CONTENT_TYPE, OPERATORS, HeatGauges, Metrics, NoMetrics, Outcome
from pagefault.proxy.reply import ClientReply, Send, Told
from pagefault.proxy.telemetry import Telemetry, told_to_telemetry
from pagefault.proxy.wires.known import WIRES
from pagefault.proxy.wires.wire import Wire
from pagefault.service.memory import Memory
from pagefault.service.recovery import refusal_of

Scope = Mapping[str, Any]
MemoryPath = Callable[[Scope, Receive, Send, str], Awaitable[None]]
"""Serves the memory itself to a user who was let in, at `MCP_PATH`."""


class Viewer(Protocol):
    """Shows the memory to people with the memory's own token: an application beside the proxy, with
    access control of its own.
    """

    def takes(self, path: str) -> bool:
        """Whether a path is its own."""
        ...

    def stop(self) -> None:
        """End what it keeps open."""
        ...

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None: ...


MCP_PATH: Final = "/mcp"  # ours, never passed on
BODY_BYTES_MAX: Final = 64 * 1024 * 1024
BODY_S_MAX: Final = 120.0  # for a whole body that is read; between the pieces of one that passes


class Proxy:
    """The ASGI application. `log` takes one line for each request: what was asked, never what was
    said.
    """

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
        """Without a `token`, or `tokens` by the names of users, everybody on this machine is
        served. `user` is the user of all requests, if there is one. `any_host` accepts other names
        than this machine's own, for a proxy that other machines reach. `mint` names conversations
        without an id; `secret` keys what is remembered of them, and is random by default. `faults`:
        whether models are offered memory's tools, if there is a window; None offers them beside a
        client's own. `marks`: whether cache marks are set for clients that set none, unless a
        request's own header decides. `forms`: whether the users of all requests agree that memory
        is formed of them, at their providers and on their accounts, unless a request's own header
        decides; None if the proxy can make no requests of its own. `desk` is the proxy's identity.
        `measures` is off if nobody can ask for metrics.
        """
        self._memory = memory
        self._upstreams = relay if isinstance(relay, Upstreams) else Upstreams({"": relay})
        self._clock = clock
        self._window_tokens = window_tokens
        self._forms = forms
        self._access = AccessRules(token=token, tokens=tokens or {}, user=user, any_host=any_host)
        self._desk = desk or Desk()
        self._log = log
        self._mcp = mcp
        self._dashboard = dashboard
        self._body_bytes_max = body_bytes_max
        self._serving: set[asyncio.Task[object]] = set()
        self._conversations = Conversations(
            memory,
            counter=counter,
            clock=clock,
            window_tokens=window_tokens,
            faults=faults,
            mint=mint,
            secret=secret or secrets.token_bytes(32),
        )
        self._metrics: Metrics | NoMetrics | Telemetry = NoMetrics()
        if measures:
            counts = Metrics(
                clock,
                windows=self._conversations.windows,
                kept=lambda: memory._runtime.pages.kept,
                heat=self._heat(memory),
                is_writable=lambda: refusal_of(memory) is None,
            )
            self._metrics = told_to_telemetry(counts, clock)
        self._keeping = Keeping(memory, clock, log, self._metrics.recovered)
        self._answers = AnswerLog(self._conversations, self._desk, self._metrics, log)
        self._intake = Intake(
            self._conversations,
            self._keeping,
            self._desk,
            window_tokens=window_tokens,
            marks=marks,
            body_bytes_max=body_bytes_max,
        )
        self._forwarder = Forwarder(
            self._intake,
            self._answers,
            self._desk,
            clock,
            forms=forms,
            replies_max=memory.limits.steps_per_turn_max,
        )
        self.requests = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        if self._dashboard is not None and self._dashboard.takes(scope["path"]):
            await self._dashboard(scope, receive, send)  # no traffic: it is not counted
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
            # The client has its answer; only the server waits for the log.
            if tasks := [one for one in (told.logging, told.learning) if one is not None]:
                await asyncio.wait(tasks)
            answer = f"{told.status or '---'} {told.words}".rstrip()
            self._metrics.ended(told.format, told.outcome, told.not_logged)
            self._log(f"{told.method} {told.path} {answer} {took_ms:.0f} ms")

    @property
    def under_way(self) -> Container[str]:
        """The sessions that have a request under way, by name; it follows what happens."""
        return self._conversations.under_way

    async def settled(self) -> None:
        """Wait until every request is served and logged, and every answer too."""
        while under_way := self._serving | self._answers.under_way:
            await asyncio.wait(under_way)

    # --- one request --------------------------------------------------------------------------

    async def _serve(self, scope: Scope, receive: Receive, send: Send, told: Told) -> None:
        began_s = self._clock.monotonic_s()
        reply = ClientReply(
            send, told, lambda: told.metrics.began(self._clock.monotonic_s() - began_s)
        )
        head = head_of(scope)
        told.path = self._shown(head.path)
        wire = next((w for w in WIRES if head.method == "POST" and w.takes(head.path)), None)
        told.format = wire.name if wire is not None else ""
        if refused := self._access.refuse_source(head):
            return await reply.refuse(wire, refused.status, refused.message)
        user = self._access.user_of(head)
        is_operator = self._desk.knows(head.headers)
        if is_operator:  # a test of the proxy is no traffic
            told.format, told.metrics = OPERATORS, NoMetrics()
        if user is None and not is_operator:
            return await reply.refuse(wire, 401, WANTED, words="refused: no token, or another one")
        if refused := refuse_form(head):
            return await reply.refuse(wire, refused.status, refused.message)
        if await self._answer_unread(head, reply, is_operator=is_operator):
            return None
        if is_operator and wire is None and head.path != STATUSLINE:
            return await reply.refuse(wire, 404, "the operator's key opens no way to the provider")
        whose = user or principal_of(head.raw, head.query, self._memory.keyed)
        if head.path.rstrip("/") == MCP_PATH and self._mcp is not None:
            return await self._mcp(scope, receive, reply.noting, whose)
        if head.path == "/" and head.method == "HEAD":
            return await reply.own(200, b"{}")
        whose = OPERATOR if is_operator else whose
        try:
            if wire is not None or head.path == STATUSLINE:
                if head.length > self._body_bytes_max:
                    raise TooLarge  # before a byte of it is read
                read = await whole_body(receive, self._body_bytes_max, BODY_S_MAX)
                if head.path == STATUSLINE and head.method == "POST":
                    line = self._desk.statusline(read, whose)
                    return await reply.own(200, line.encode(), b"text/plain; charset=utf-8")
                await self._forward(wire, head, whose, read, receive, reply)
            else:
                body = Upload(receive, BODY_S_MAX) if head.has_body else b""
                await self._forward(wire, head, whose, body, receive, reply)
        except TooLarge:
            await reply.refuse(wire, 413, f"a body over {self._body_bytes_max:,} bytes")
        except Late:
            await reply.refuse(wire, 408, "the request did not arrive in time")
        except Gone:
            told.outcome = Outcome.CLIENT_GONE

    async def _answer_unread(self, head: Head, reply: ClientReply, *, is_operator: bool) -> bool:
        """Answer `/healthz`, `/metrics` and `/canaries`; returns whether this was one of them."""
        if head.path == "/healthz":
            health = await self._health() | self._desk.who()
            if is_operator:
                health |= {"problem": self._keeping.why(self._conversations)}
            await reply.own(200, json.dumps(health).encode())
        elif head.path == "/metrics":
            await reply.own(200, self._metrics.text(), CONTENT_TYPE)
        elif is_operator and head.path == CANARIES and head.method == "DELETE":
            self._conversations.drop_canaries()
            forgotten = await self._desk.forget_canaries(self._memory)
            await reply.own(200, json.dumps({"forgotten": forgotten}).encode())
        else:
            return False
        return True

    async def _forward(
        self,
        wire: Wire | None,
        head: Head,
        whose: str,
        body: bytes | Upload,
        receive: Receive,
        reply: ClientReply,
    ) -> None:
        """Forward a request until it is answered, or its client goes away, or the server stops."""
        told, path = reply.told, head.path
        relay: Relay | Canary = Canary()
        if whose != OPERATOR:
            relay, path = self._upstreams.of(path, head.headers)
        target = path.encode("latin-1") + (b"?" + head.query if head.query else b"")
        request = ForwardedRequest(relay, target, wire, head, whose)
        sent = body.over if isinstance(body, Upload) else None

        def left() -> None:
            told.words, told.outcome = "the client went away", Outcome.CLIENT_GONE

        try:
            work = self._forwarder.forward(request, body, reply)
            await unless_gone(work, receive, sent=sent, left=left)
        except asyncio.CancelledError:  # the server stops, and has waited for long enough
            told.outcome = Outcome.STOPPED
            if reply.started:
                raise
            why = "the proxy was stopped before an answer came"
            await reply.refuse(wire, 503, why, outcome=Outcome.STOPPED)

    def _heat(self, memory: Memory) -> HeatGauges:
        """Gauges of cached conversations, and of all recalls since the memory was opened."""
        runtime = memory._runtime

        def recall_ms() -> float:
            told = runtime.watch.quantile_ms("heat_recall", 0.5)
            return float("nan") if told is None else told

        return HeatGauges(runtime.heat, self._conversations.hot_percent, recall_ms)

    async def _health(self) -> Json:
        ailing = await self._keeping.ailing(list(self._conversations))
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
            "over_quota": sum(bool(one.full) for one in self._conversations),
        }

    def _shown(self, path: str) -> str:
        """A path without secrets. The log line names its session separately."""
        try:
            return self._memory.written(path)
        except PagefaultError:
            return "(a path that cannot be shown)"


class BrokenOff(Exception):
    """The provider ended an answer that the client has begun to read."""
