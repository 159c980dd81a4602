"""However a request ends, it ends once: in one outcome, with the provider's own bytes, and with
nothing in the log that was not said to its end. The conversation goes on as if it had not been.
"""

from __future__ import annotations

import asyncio
import errno
import gzip
import json
import threading
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import httpx2
import pytest

from pagefault.proxy import keeping
from pagefault.proxy.history.history import Json
from pagefault.proxy.http.relay import Patience, Relay
from pagefault.proxy.http.upstreams import Upstreams
from pagefault.store.embedded.disk import Disk
from tests.proxy.standing import KEY, Standing, standing
from tests.proxy.test_metrics import outcomes, told
from tests.proxy.upstream import _WIRES, Say, Upstream

SAID: Final = "Grüße: the gander 鵞鳥 🪿 is called Ilse, and the lighthouse is hers."
ASKED: Final = "What is the gander called?"
PATHS: Final = {
    "chat": "/v1/chat/completions",
    "responses": "/v1/responses",
    "messages": "/v1/messages",
    "gemini": "/v1beta/models/m:generateContent",
}


@dataclass(frozen=True, slots=True)
class Ending:
    """What the provider answers, and how the client bears itself. `by` is for requests that go to
    another place than that provider.
    """

    outcome: str
    say: Callable[[tuple[bytes, ...], Case], Say]
    by: str = ""
    client: str = "reads"
    status: int = 200
    is_said: bool = False  # to its end, and kept: it is the assistant's word


@dataclass(slots=True)
class Case:
    wire: str
    streams: bool
    faults: bool
    release: threading.Event = field(default_factory=threading.Event)

    @property
    def suffix(self) -> str:
        return next(one for one in _WIRES if PATHS[self.wire].endswith(one))

    @property
    def path(self) -> str:
        path = PATHS[self.wire]
        if self.streams and self.wire == "gemini":
            return path.replace(":generate", ":streamGenerate") + "?alt=sse"
        return path

    @property
    def is_held_back(self) -> bool:
        """Whether a client reads nothing before the provider has said all."""
        return self.faults and not self.streams

    @property
    def kind(self) -> str:
        return "text/event-stream" if self.streams else "application/json"

    def body(self, *more: str, size: int = 0) -> Json:
        texts = [ASKED, *more]
        if self.wire == "gemini":
            parts = [{"parts": [{"text": one}], "role": "user"} for one in texts]
            return {"contents": parts, "generationConfig": {"stopSequences": ["x" * size]}}
        said = [{"role": "user", "content": one} for one in texts]
        told = {"model": "m", "user": "x" * size} | ({"stream": True} if self.streams else {})
        return told | {"input" if self.wire == "responses" else "messages": said}

    @property
    def padding(self) -> bytes:
        """What says nothing, and takes room on the way."""
        return b":" + b"x" * 65_536 + b"\n\n" if self.streams else b" " * 65_536

    def answer(self, text: str) -> tuple[bytes, ...]:
        """An answer of the provider's, in its events if it streams."""
        wire, say = _WIRES[self.suffix], Say(text=text, input_tokens=100)
        if self.streams:
            return tuple(wire.events(say, 1))
        return (json.dumps(wire.whole(say, 1), ensure_ascii=False).encode(),)

    def sends(self, pieces: tuple[bytes | threading.Event, ...], **more: Any) -> Say:
        headers = {"Content-Type": self.kind, "X-Request-Id": "req_1"} | more.pop("headers", {})
        return Say(pieces=pieces, headers=headers, **more)


def refused(status: int, **headers: str) -> Callable[[tuple[bytes, ...], Case], Say]:
    def say(_: tuple[bytes, ...], case: Case) -> Say:
        body = _WIRES[case.suffix].refusal(status)
        return case.sends(
            (body,), status=status, headers={"Content-Type": "application/json"} | headers
        )

    return say


def half(pieces: tuple[bytes, ...]) -> tuple[bytes, ...]:
    if len(pieces) == 1:
        return (pieces[0][: len(pieces[0]) // 2],)
    return pieces[: len(pieces) // 2]


def split(pieces: tuple[bytes, ...]) -> tuple[bytes, ...]:
    """Cut wherever it falls, in the middle of characters too."""
    whole = b"".join(pieces)
    return tuple(whole[at : at + 7] for at in range(0, len(whole), 7))


def malformed(pieces: tuple[bytes, ...]) -> tuple[bytes, ...]:
    if len(pieces) == 1:
        return (pieces[0][:-9],)
    spoilt = b"data: {not json, and no end\n\n:comment\n\nnonsense\n\n"
    return (*pieces[:3], spoilt, *pieces[4:])


def as_it_is(pieces: tuple[bytes, ...], case: Case) -> Say:
    return case.sends(pieces)


def late(pieces: tuple[bytes, ...], case: Case) -> Say:
    return case.sends((case.release, *pieces))


def halting(pieces: tuple[bytes, ...], case: Case) -> Say:
    return case.sends((*half(pieces), case.release, *pieces))


def zipped(pieces: tuple[bytes, ...], case: Case) -> Say:
    return case.sends(
        (gzip.compress(b"".join(pieces))[:-20],), headers={"Content-Encoding": "gzip"}
    )


ENDINGS: Final = {
    "said to its end": Ending("answered", as_it_is, is_said=True),
    "split anywhere": Ending("answered", lambda p, case: case.sends(split(p)), is_said=True),
    "of another type": Ending(  # small servers give none, or text/plain
        "answered",
        lambda p, case: case.sends(split(p), headers={"Content-Type": "text/plain"}),
        is_said=True,
    ),
    "read slowly": Ending(
        "answered",
        lambda p, case: case.sends((*p, *[case.padding] * 40)),
        client="slow",
        is_said=True,
    ),
    "the client leaves before": Ending("client_gone", late, client="leaves"),
    "the client leaves after": Ending("client_gone", halting, client="leaves after"),
    "cut": Ending("cut_off", lambda p, case: case.sends(half(p), is_cut=True)),
    "429": Ending("refused_upstream", refused(429, **{"Retry-After": "17"}), status=429),
    "500": Ending("refused_upstream", refused(500), status=500),
    "529": Ending("refused_upstream", refused(529, **{"Retry-After": "3"}), status=529),
    "nobody there": Ending("unreachable", as_it_is, by="/gone", status=502),
    "silent": Ending("unreachable", late, by="/hasty", status=504),
    "malformed": Ending("answered", lambda p, case: case.sends(malformed(p))),
    "truncated gzip": Ending("answered", zipped),
    "too large": Ending("refused_here", as_it_is, client="sends too much", status=413),
    "a full disk": Ending("answered", as_it_is, client="on a full disk"),
}


@dataclass(slots=True)
class Told:
    """What the client read: `is_whole` if to its end."""

    status: int = 0
    headers: httpx2.Headers = field(default_factory=httpx2.Headers)
    body: bytes = b""
    is_whole: bool = False


async def asked(
    to: Standing, case: Case, ending: Ending, headers: dict[str, str], client: str
) -> Told:
    """One request, by a client that bears itself so."""
    read, size = Told(), 1_100_000 if client == "sends too much" else 0
    path = ending.by + case.path if client != "again" else case.path
    came = len(to.upstream.seen)
    answer = to.http.stream("POST", path, json=case.body(size=size), headers=headers)

    async def reads() -> None:
        async with answer as response:
            read.status, read.headers = response.status_code, response.headers
            async for piece in response.aiter_raw():
                read.body += piece
                if client == "leaves after":
                    return
                if client == "slow":
                    await asyncio.sleep(0.002)
            read.is_whole = True

    reading = asyncio.create_task(reads())
    if client == "leaves" or (client == "leaves after" and case.is_held_back):
        while len(to.upstream.seen) == came:  # noqa: ASYNC110
            await asyncio.sleep(0.005)
        reading.cancel()
    with suppress(asyncio.CancelledError, httpx2.RemoteProtocolError):
        await reading
    return read


# No tools are offered in gemini's format: in its one way every ending is both streamed and whole.
# Of each other wire it is streamed in one way and whole in the other, and with tools it is each in
# some wire; in torture both in each way.
WAYS: Final = [(wire, faults) for wire in PATHS for faults in (False, True)][:-1]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("wire", "faults", "turn"),
    [
        pytest.param(
            *way,
            (number // 2 + number + other) % 2,
            marks=pytest.mark.torture if other and way[0] != "gemini" else (),
        )
        for number, way in enumerate(WAYS)
        for other in (0, 1)
    ],
)
async def test_however_a_request_ends_it_ends_once_and_the_conversation_goes_on(
    wire: str, faults: bool, turn: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(keeping, "RETRY_S", 0.0)
    says: dict[str, Say] = {}
    counted: Counter[tuple[str, str]] = Counter()
    with Upstream(lambda seen: says[seen.headers["x-case"]]) as upstream:
        with Upstream(lambda _: Say()) as up:
            gone = up.url
        relay = Upstreams(
            {
                "": Relay(upstream.url, Patience()),
                "/gone": Relay(gone, Patience()),
                "/hasty": Relay(upstream.url, Patience(first_byte_s=0.1)),
            }
        )
        more: dict[str, Any] = {"relay": relay, "window": 100_000, "faults": faults}
        async with standing(upstream, root=tmp_path / "m", **more) as to:
            for number, name in enumerate(ENDINGS):
                case = Case(wire, (number + turn) % 2 == 0, faults)
                await _ends(to, says, name, case, counted, monkeypatch)
            assert not [line for line in to.log if "not read" in line]


async def _ends(
    to: Standing,
    says: dict[str, Say],
    name: str,
    case: Case,
    counted: Counter[tuple[str, str]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ending, session = ENDINGS[name], f"{'stream' if case.streams else 'whole'}-{name}"
    session = session.replace(" ", "-")
    headers = {"x-api-key": KEY, "x-pagefault-session": session, "x-case": session}
    outcome, status = ending.outcome, ending.status
    if outcome == "cut_off" and case.is_held_back:
        outcome, status = "unreachable", 502  # nothing of it had gone to the client
    sent = says[session] = ending.say(case.answer(SAID), case)
    with monkeypatch.context() as disk:
        if ending.client == "on a full disk":
            disk.setattr(Disk, "write", _full)
        read = await asked(to, case, ending, headers, ending.client)
        await to.proxy.settled()
        case.release.set()
    pieces = b"".join(one for one in sent.pieces if isinstance(one, bytes))
    if outcome in ("answered", "refused_upstream"):
        assert (read.is_whole, read.status, read.body) == (True, status, pieces), name
        assert read.headers["content-type"] == sent.headers["Content-Type"]
        assert read.headers.get("retry-after") == sent.headers.get("Retry-After")
    elif outcome in ("cut_off", "client_gone"):
        assert not read.is_whole
        assert pieces.startswith(read.body), name
    else:
        assert (read.is_whole, read.status) == (True, status), name
        assert "error" in json.loads(read.body)
    is_lost = read.headers.get("x-pagefault-not-logged")
    assert is_lost == ("memory" if ending.client == "on a full disk" else None), name

    again = says[session] = case.sends(case.answer("Noted."))
    read = await asked(to, case, ending, headers, "again")
    assert (read.status, read.body) == (200, b"".join(map(bytes, again.pieces)))  # type: ignore[arg-type]
    assert "x-pagefault-not-logged" not in read.headers, name
    full_name = next(one for one in await to.sessions() if one.startswith(f"{session}:"))
    ended = outcomes(await told(to))
    del ended["other", "own"]  # who asks for the metrics
    counted.update([(case.wire, outcome), (case.wire, "answered")])
    assert ended == counted, name
    said = [ASKED, SAID, "Noted."] if ending.is_said else [ASKED, "Noted."]
    assert await to.logged(full_name) == said, name


def _full(self: Disk, fd: int, data: bytes | memoryview) -> int:
    raise OSError(errno.ENOSPC, "No space left on device")
