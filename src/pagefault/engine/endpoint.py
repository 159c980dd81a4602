"""A provider's HTTP endpoint: one key, careful retries, and refusals in plain words.

Invariants:
 (1) The key goes into the Authorization header of requests to `base_url` and nowhere else: not into
     an error, a log, a `repr`, a redirect, or a proxy that could read it.
 (2) A request is repeated only if no byte of an answer to it arrived.
 (3) The connection of a reply always ends with its iteration.
"""

from __future__ import annotations

import asyncio
import json
import random
import re
import ssl
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from datetime import UTC
from email.utils import parsedate_to_datetime
from ipaddress import ip_address
from typing import TYPE_CHECKING, Any, Final, TypeVar
from urllib.parse import urlsplit

from pagefault.engine import chat_completions as wire
from pagefault.model.clock import Clock, SystemClock
from pagefault.model.errors import (
    BadInput,
    EngineError,
    EngineGarbled,
    EngineRefused,
    EngineUnreachable,
    not_installed,
)

if TYPE_CHECKING:
    import httpx2

ANSWER_BYTES_MAX: Final = 64 * 1024 * 1024
COMPLAINT_BYTES_MAX: Final = 64 * 1024
COMPLAINT_CHARS_MAX: Final = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class Timeouts:
    """Timeouts in seconds. The first byte is slow while a local model is loading."""

    connect_s: float = 10.0
    first_byte_s: float = 300.0
    between_s: float = 60.0
    total_s: float = 1800.0  # from call to reply, including all attempts and waits


@dataclass(frozen=True, slots=True, kw_only=True)
class Retries:
    """Exponential back-off with full jitter (Brooker, AWS Architecture Blog, 2015).

    If a server asks for a longer wait than `wait_s_max`, there is no retry.
    """

    attempts_max: int = 4
    base_s: float = 0.5
    wait_s_max: float = 30.0

    def wait_s(self, failures: int, asked_s: float, chance: random.Random) -> float:
        """The wait after so many failures: at least what the server asked for."""
        ceiling = min(self.wait_s_max, self.base_s * 2.0 ** (failures - 1))
        return max(asked_s, chance.uniform(0.0, ceiling))


@dataclass(frozen=True, slots=True)
class _Failure:
    """An attempt without an answer. `asked_s` is the wait in Retry-After, 0 if none."""

    error: EngineError
    again: bool
    asked_s: float = 0.0


class TooLong(EngineRefused):
    """The input is too long for the model."""


T = TypeVar("T")
TEXT_CHARS_MIN: Final = 256  # any model accepts this much of a text


async def cut_to_fit(texts: Sequence[str], ask: Callable[[Sequence[str]], Awaitable[T]]) -> T:
    """The answer to these texts. Servers do not state their limit in advance: while a text is too
    long, the longest ones are halved. Raises `TooLong` if even `TEXT_CHARS_MIN` characters are.
    """
    longest = max(map(len, texts))
    while True:
        try:
            return await ask([text[:longest] for text in texts])
        except TooLong:
            if longest <= TEXT_CHARS_MIN:
                raise
            longest = max(longest // 2, TEXT_CHARS_MIN)


class Broke(EngineUnreachable):
    """The connection failed after the first byte of an answer."""


@dataclass(frozen=True, slots=True)
class Answer:
    """A successful response, whose first byte has arrived, and its body."""

    response: httpx2.Response
    first: bytes
    rest: AsyncIterator[bytes]


@dataclass(frozen=True, slots=True, kw_only=True)
class Post:
    """A call, and what its error messages need."""

    path: str  # below `base_url`
    model: str
    body: bytes
    too_long: str  # advice if the input is too long for the model


class Endpoint:
    """Sends calls to paths below `base_url`; its arguments are those of `RemoteEngine`.

    Belongs to the event loop that first used it.
    """

    def __init__(
        self,
        base_url: str,
        api_key: str,
        *,
        key_from: str,
        timeouts: Timeouts | None = None,
        retries: Retries | None = None,
        allow_http: bool = False,
        clock: Clock | None = None,
        chance: random.Random | None = None,
        sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
    ) -> None:
        """Raises `BadInput` for an invalid URL or key."""
        self.base_url = checked_url(base_url, allow_http=allow_http)
        self._key = _checked_key(api_key, key_from)
        self._key_from = key_from
        self._timeouts = timeouts or Timeouts()
        self._retries = retries or Retries()
        self._clock = clock or SystemClock()
        self._chance = chance or random.Random()
        self._sleep = sleep
        self._http = _client(self.base_url, self._key, self._timeouts)

    def __repr__(self) -> str:
        return f"Endpoint({self.base_url!r})"

    async def aclose(self) -> None:
        await self._http.aclose()

    @property
    def host(self) -> str:
        return urlsplit(self.base_url).netloc

    def deadline(self) -> float:
        """The deadline for the answer to a call made now, by the loop's clock."""
        return asyncio.get_running_loop().time() + self._timeouts.total_s

    # --- sending ------------------------------------------------------------------------------

    async def ask(self, call: Post, total: float) -> Answer:
        """The first successful answer, in at most `attempts_max` attempts."""
        now = asyncio.get_running_loop().time
        failures = 0
        while True:
            outcome = await self._attempt(call, total)
            if isinstance(outcome, Answer):
                return outcome
            failures += 1
            wait_s = self._retries.wait_s(failures, outcome.asked_s, self._chance)
            if (
                not outcome.again
                or failures >= self._retries.attempts_max
                or wait_s > self._retries.wait_s_max
                or now() + wait_s >= total
            ):
                raise outcome.error
            await self._sleep(wait_s)

    async def _attempt(self, call: Post, total: float) -> Answer | _Failure:
        """One exchange up to the first byte of an answer.

        Transport errors are returned as values: raised from inside an `except` they would carry the
        request, and its Authorization header, in their context.
        """
        import httpx2

        started = asyncio.get_running_loop().time()
        patience_s = min(self._timeouts.first_byte_s, total - started)
        response: httpx2.Response | None = None
        try:
            try:
                async with asyncio.timeout_at(started + patience_s):
                    response = await self._http.send(
                        self._http.build_request("POST", self._url(call), content=call.body),
                        stream=True,
                    )
                    chunks = response.aiter_bytes()
                    if response.is_success:
                        answer = Answer(response, await anext(chunks, b""), chunks)
                        response = None  # now the caller's
                        return answer
                    said = await _beginning(chunks)
            finally:
                if response is not None:
                    await response.aclose()
        except httpx2.ConnectTimeout:
            return _Failure(
                EngineUnreachable(
                    f"no connection to {self.host} within {self._timeouts.connect_s:g} s",
                    hint="check the address, the network and a firewall between",
                ),
                again=True,
            )
        except TimeoutError:
            return _Failure(
                EngineUnreachable(
                    f"{self.host} sent no first byte within {patience_s:.3g} s",
                    hint="is the model still loading? Raise engine.first_byte_s, or lower `window`",
                ),
                again=False,
            )
        except httpx2.TransportError as error:
            return self._unreachable(error)
        except httpx2.HTTPError as error:  # a body that cannot be decoded
            return _Failure(
                EngineGarbled(f"{self.host} answered badly: {self._safe(str(error))}"), again=False
            )
        return self._no(response, said, call)

    def _url(self, call: Post) -> str:
        return f"{self.base_url}{call.path}"

    def _unreachable(self, error: httpx2.TransportError) -> _Failure:
        causes = _causes(error)
        if "WRONG_VERSION_NUMBER" in str(error) or "record layer" in str(error):
            return _Failure(
                EngineUnreachable(
                    f"{self.host} does not speak TLS",
                    hint="if it is a server of your own, its base_url begins with http://",
                ),
                again=False,
            )
        if any(isinstance(c, ssl.SSLError) for c in causes) or "SSL" in str(error):
            return _Failure(
                EngineUnreachable(
                    f"no trusted connection to {self.host}: {self._safe(str(error))}",
                    hint="certificates are checked against the system's trust store; "
                    "for a private authority set SSL_CERT_FILE to its certificate",
                ),
                again=False,
            )
        if any(isinstance(c, ConnectionRefusedError) for c in causes):
            why, hint = "nothing answers there", "is the server running, and is this its address?"
        elif "ConnectError" in type(error).__name__:
            why, hint = (
                self._safe(str(error)),
                "check the host's name, the network, and HTTPS_PROXY",
            )
        else:
            why, hint = "the connection broke before an answer", "the server may have restarted"
        return _Failure(
            EngineUnreachable(f"cannot reach {self.base_url}: {why}", hint=hint), again=True
        )

    # --- refusals -----------------------------------------------------------------------------

    def _no(self, response: httpx2.Response, said: bytes, call: Post) -> _Failure:
        status = response.status_code
        problem = _complaint(said)
        error = self.refused(status, problem, call)
        again = status in (408, 409, 429) or (status >= 500 and status != 501)
        if problem is not None and (_is_context(problem) or "insufficient_quota" in problem.code):
            again = False
        return _Failure(error, again, self._asked_s(response.headers.get("retry-after", "")))

    def _asked_s(self, retry_after: str) -> float:
        """Retry-After (RFC 9110 §10.2.3: seconds or a date) in seconds; 0 if absent."""
        if re.fullmatch(r"\d{1,9}(\.\d{1,9})?", retry_after.strip()):
            return float(retry_after)
        try:
            date = parsedate_to_datetime(retry_after)
        except ValueError:
            return 0.0
        if date.tzinfo is None:
            date = date.replace(tzinfo=UTC)
        return max(0.0, date.timestamp() - self._clock.now_ms() / 1000)

    def refused(self, status: int, problem: wire.Problem | None, call: Post) -> EngineError:
        """The error for a refusal, with advice."""
        said = f": {self._safe(problem.message)}" if problem and problem.message.strip() else ""
        if problem is not None and _is_context(problem):
            return TooLong(f"the request is too long for {call.model}{said}", hint=call.too_long)
        match status:
            case 401 | 403:
                where = (
                    f"check the key from {self._key_from}"
                    if self._key
                    else (f"no key was sent: set {self._key_from}")
                )
                return EngineRefused(f"{self.host} refused the key ({status}){said}", hint=where)
            case 404 | 405:
                return EngineRefused(
                    f"{self._url(call)} does not exist, or has no model {call.model!r}"
                    f" ({status}){said}",
                    hint="check the model's name; base_url usually ends with /v1",
                )
            case 429 if problem is not None and "insufficient_quota" in problem.code:
                return EngineRefused(
                    f"the account at {self.host} has no quota left{said}",
                    hint="add credit with the provider, or use another key or model",
                )
            case 429:
                return EngineRefused(
                    f"{self.host} is rate-limiting requests (429){said}",
                    hint="wait and try again, or use a plan or a model with a higher limit",
                )
            case _ if 200 <= status < 300:
                return EngineRefused(
                    f"{self.host} broke off the answer{said}",
                    hint="the server's words say why; its log may say more",
                )
            case _ if 300 <= status < 400:
                return EngineRefused(
                    f"{self._url(call)} redirects elsewhere ({status}), which is not followed",
                    hint="set base_url to the address it redirects to, if you trust it",
                )
            case _ if status >= 500:
                return EngineUnreachable(
                    f"{self.host} failed ({status}){said}",
                    hint="the fault is the server's: try again later, or look at its log",
                )
            case _:
                return EngineRefused(
                    f"{self.host} refused the request ({status}){said}",
                    hint="the server's words say why; `options` of the engine may be at fault",
                )

    def _safe(self, text: str) -> str:
        """A stranger's text, shortened, without our key, on one line."""
        return _brief(text.replace(self._key, "[key]") if self._key else text)

    # --- answers ------------------------------------------------------------------------------

    async def documents(
        self, answer: Answer, call: Post, total: float
    ) -> AsyncGenerator[dict[str, Any] | None, None]:
        """The JSON objects of the answer, streamed or not; then None, if it is complete."""
        media = self._media(answer, call)
        async with aclosing(self._chunks(answer, total)) as chunks:
            if media == "application/json":
                body = b"".join([chunk async for chunk in chunks])
                yield wire.parse(body.decode("utf-8", "replace"))
                yield None
                return
            events = wire.EventStream()
            async for chunk in chunks:
                for data in events.feed(chunk):
                    if data.strip() == wire.DONE:
                        yield None
                        return
                    yield wire.parse(data)
            for data in events.close():
                yield None if data.strip() == wire.DONE else wire.parse(data)

    async def told(self, path: str, model: str, fields: Mapping[str, Any], due: str) -> object:
        """The JSON answer to a call about texts. An object without the key `due` is searched for an
        error.
        """
        text = json.dumps(fields, ensure_ascii=False, separators=(",", ":"))
        call = Post(
            path=path,
            model=model,
            body=text.encode("utf-8", "replace"),
            too_long="use a model that takes longer texts",
        )
        total = self.deadline()
        answer = await self.ask(call, total)
        try:
            document = await self._document(answer, call, total)
        finally:
            await answer.response.aclose()
        if isinstance(document, dict) and due not in document:
            problem = wire.problem_in(document)
            if problem is not None:
                raise self.refused(problem.status or 200, problem, call)
        return document

    async def _document(self, answer: Answer, call: Post, total: float) -> object:
        """The whole answer as JSON: an object, a list or anything else."""
        self._media(answer, call)
        async with aclosing(self._chunks(answer, total)) as chunks:
            body = b"".join([chunk async for chunk in chunks])
        try:
            document: object = json.loads(body)
        except (ValueError, RecursionError):
            shown = self._safe(body[:COMPLAINT_BYTES_MAX].decode("utf-8", "replace"))
            raise EngineGarbled(f"{self.host} sent {shown!r} where JSON was due") from None
        return document

    def _media(self, answer: Answer, call: Post) -> str:
        """The media type of an answer. Raises `EngineGarbled` for a web page."""
        media = answer.response.headers.get("content-type", "").partition(";")[0].strip().lower()
        if media == "text/html":
            raise EngineGarbled(
                f"{self._url(call)} answered with a web page",
                hint="base_url usually ends with /v1; or a login page is in the way",
            )
        return str(media)

    async def _chunks(self, answer: Answer, total: float) -> AsyncGenerator[bytes, None]:
        """The body in pieces, each within `between_s`, and no more than we can hold."""
        import httpx2

        now = asyncio.get_running_loop().time
        chunk = answer.first
        size = 0
        while chunk:
            size += len(chunk)
            if size > ANSWER_BYTES_MAX:
                raise EngineGarbled(
                    f"{self.host} answered more than {ANSWER_BYTES_MAX // 1024 // 1024} MiB"
                )
            yield chunk
            failure = None
            try:
                async with asyncio.timeout_at(min(now() + self._timeouts.between_s, total)):
                    chunk = await anext(answer.rest, b"")
            except TimeoutError:
                if now() >= total:
                    failure = (
                        f"{self.host} took more than {self._timeouts.total_s:g} s for an answer",
                        "raise engine.total_s if the model is only slow",
                    )
                else:
                    failure = (
                        f"{self.host} fell silent in the middle of an answer",
                        "raise engine.between_s if the model is only slow",
                    )
            except httpx2.HTTPError:
                failure = (
                    f"the connection to {self.host} broke in the middle of an answer",
                    "nothing of it was stored; send the message again",
                )
            if failure is not None:
                raise Broke(failure[0], hint=failure[1])


# --- validation -----------------------------------------------------------------------------------


def checked_url(base_url: str, *, allow_http: bool = False) -> str:
    """`base_url` without a trailing slash or a call's path. Raises `BadInput`."""
    url = base_url.strip().rstrip("/")
    for path in ("/chat/completions", "/embeddings", "/rerank"):
        url = url.removesuffix(path)
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port
    except ValueError:
        host, port, parts = "", None, urlsplit("")
    if parts.scheme not in ("http", "https") or not host or port == 0 or not url.isprintable():
        named = "" if "@" in url else f"{_brief(url)!r} "  # or it may hold a password
        raise BadInput(
            f"the engine or upstream {named}is not an http or https address",
            hint="like https://api.openai.com/v1 or http://localhost:11434/v1",
        )
    if "@" in parts.netloc or parts.query or parts.fragment:
        raise BadInput(
            "base_url must be a bare address, without user, password, query or fragment",
            hint="the key goes into engine.api_key or OPENAI_API_KEY",
        )
    if parts.scheme == "http" and not (allow_http or is_loopback(host)):
        raise BadInput(
            f"plain http to {host} would expose the key and every message",
            hint="use https, or set engine.allow_http if the network is yours",
        )
    return url


def is_loopback(host: str) -> bool:
    """Whether the host is this machine, by its name alone."""
    if host == "localhost" or host.endswith(".localhost"):  # RFC 6761 §6.3
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


def is_of_this_machine(host: str, http_version: str = "1.1") -> bool:
    """Whether a Host header names this machine: under DNS rebinding it names the web page's host.
    HTTP/1.0 needs no Host, and no browser speaks it any more.
    """
    if not host and http_version == "1.0":
        return True
    try:
        name = urlsplit(f"//{host}").hostname or ""
    except ValueError:
        return False
    return is_loopback(name)


def origin_is_of_this_machine(origin: str | None) -> bool:
    """Whether an Origin header, if present, is of a page served by this machine."""
    try:
        return origin is None or is_of_this_machine(urlsplit(origin).netloc)
    except ValueError:
        return False


def _checked_key(api_key: str, key_from: str) -> str:
    key = api_key.strip()  # keys read from files end with a newline
    if not (key.isascii() and key.isprintable()) or " " in key:
        raise BadInput(
            f"the key from {key_from} has characters that are not allowed in a header",
            hint="copy it again, without quotes or line breaks",
        )
    return key


def _client(base_url: str, key: str, timeouts: Timeouts) -> httpx2.AsyncClient:
    """Raises `CallerError` if httpx2 is not installed: it is an extra, imported only here."""
    try:
        import httpx2
    except ImportError:
        raise not_installed("a remote model needs the package httpx2", "remote") from None
    parts = urlsplit(base_url)
    secure = parts.scheme == "https"
    return httpx2.AsyncClient(
        headers={"User-Agent": "pagefault", "Content-Type": "application/json"}
        | ({"Authorization": f"Bearer {key}"} if key else {}),
        timeout=httpx2.Timeout(None, connect=timeouts.connect_s),
        follow_redirects=False,
        verify=httpx2.create_ssl_context(),
        trust_env=secure and not is_loopback(parts.hostname or ""),  # a proxy would read plain http
    )


# --- untrusted text -------------------------------------------------------------------------------


async def _beginning(chunks: AsyncIterator[bytes]) -> bytes:
    said = b""
    async for chunk in chunks:
        said += chunk
        if len(said) >= COMPLAINT_BYTES_MAX:
            break
    return said[:COMPLAINT_BYTES_MAX]


def _complaint(said: bytes) -> wire.Problem | None:
    text = said.decode("utf-8", "replace").strip()
    if text.startswith("<"):
        return wire.Problem("the answer is a web page", "")
    try:
        document = wire.parse(text)
    except EngineGarbled:
        return wire.Problem(text, "")
    return wire.problem_in(document)


_CONTEXT: Final = re.compile(
    r"context[ _-]?(?:length|size|window)|exceed_context|context the overflows|prompt is too long"
    r"|too many (?:input |prompt )?tokens|maximum number of (?:input )?tokens",
    re.IGNORECASE,
)
"""How OpenAI, vLLM, llama.cpp, LM Studio and others report that a request is too long."""


def _is_context(problem: wire.Problem) -> bool:
    return bool(_CONTEXT.search(problem.code) or _CONTEXT.search(problem.message))


def _brief(text: str) -> str:
    """On one line, harmless to a terminal, at most `COMPLAINT_CHARS_MAX` characters."""
    line = "".join(c if c.isprintable() else " " for c in text[: 4 * COMPLAINT_CHARS_MAX])
    line = " ".join(line.split())
    return line if len(line) <= COMPLAINT_CHARS_MAX else line[:COMPLAINT_CHARS_MAX] + "…"


def _causes(error: BaseException) -> list[BaseException]:
    seen: list[BaseException] = []
    queue = [error]
    while queue and len(seen) < 32:
        one = queue.pop()
        seen.append(one)
        queue += [e for e in (one.__cause__, one.__context__) if e is not None]
        if isinstance(one, BaseExceptionGroup):
            queue += one.exceptions
    return seen
