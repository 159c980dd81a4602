"""The verbs of `pagefault` for programs without an event loop.

    with pagefault.sync.open("./memory") as memory:
        session = memory.session("planning")
        session.user("Which database did we pick?")
        request = session.request(format="openai")

One thread with an event loop serves the whole process; calls may come from any thread. It does not
survive `os.fork`: open memories in the child, not before it. Called from inside a running event
loop, every verb would block it: use the async verbs there.
"""

from __future__ import annotations

import asyncio
import builtins
import os
import threading
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal, TypeVar, overload

from pagefault.engine.api import Engine
from pagefault.model.errors import CallerError
from pagefault.model.events import Event
from pagefault.model.ids import PageId, Seq
from pagefault.model.kinds import Level, Modality, Origin
from pagefault.model.page import Page, PageRow, SessionRow
from pagefault.model.request import Request, ToolCall, Usage
from pagefault.paging.pressure import Callback
from pagefault.recall.search import SearchResult
from pagefault.service import memory as _memory
from pagefault.service import session as _session
from pagefault.service.drive import Answer
from pagefault.service.limits import Limits
from pagefault.service.memory import Forgetting
from pagefault.service.open import open as _open
from pagefault.service.status import Status
from pagefault.service.writing import Said
from pagefault.store.backup import Copied
from pagefault.store.store import Verification

T = TypeVar("T")


class _Loop:
    """The process's one loop thread, started on first use."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._pid = 0

    def run(self, verb: Coroutine[Any, Any, T]) -> T:
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            pass
        else:
            verb.close()
            raise CallerError(
                "pagefault.sync was called inside a running event loop, which it would block",
                hint="use pagefault.open and await its verbs there",
            )
        try:
            future = asyncio.run_coroutine_threadsafe(verb, self._running())
        except BaseException:
            verb.close()
            raise
        return future.result()

    def _running(self) -> asyncio.AbstractEventLoop:
        with self._guard:
            if self._loop is None:
                loop = asyncio.new_event_loop()
                try:
                    threading.Thread(
                        target=loop.run_forever, name="pagefault-sync", daemon=True
                    ).start()
                except BaseException:  # kept without its thread, every verb would wait for ever
                    loop.close()
                    raise
                self._loop, self._pid = loop, os.getpid()
            elif self._pid != os.getpid():
                raise CallerError(
                    "this process was forked after pagefault.sync was first used",
                    hint="open memories in the child process only, or start it with 'spawn'",
                )
            return self._loop


_LOOP = _Loop()


@contextmanager
def open(
    root: str | Path | None = None,
    *,
    window: int | None = None,
    mode: str | None = None,
    sync: str | None = None,
    limits: Limits | None = None,
    secrets: Mapping[str, str] | None = None,
    read_only: bool = False,
) -> Iterator[Memory]:
    """As `pagefault.open`, for a `with` block."""
    opening = _open(
        root,
        window=window,
        mode=mode,
        sync=sync,
        limits=limits,
        secrets=secrets,
        read_only=read_only,
    )
    memory = _LOOP.run(_enter(opening))
    try:
        yield Memory(memory)
    finally:
        _LOOP.run(_leave(opening))


async def _enter(opening: Any) -> _memory.Memory:
    entered: _memory.Memory = await opening.__aenter__()
    return entered


async def _leave(opening: Any) -> None:
    await opening.__aexit__(None, None, None)


class Memory:
    """As `pagefault.Memory`; every verb returns when it is done."""

    def __init__(self, memory: _memory.Memory) -> None:
        self._memory = memory

    @property
    def notices(self) -> builtins.list[str]:
        return self._memory.notices

    @property
    def limits(self) -> Limits:
        return self._memory.limits

    def session(
        self,
        name: str = "",
        *,
        window: int | None = None,
        mode: str | None = None,
        system: str | None = None,
        create: bool = True,
    ) -> Session:
        return Session(
            _LOOP.run(
                self._memory.session(name, window=window, mode=mode, system=system, create=create)
            )
        )

    def sessions(self) -> builtins.list[SessionRow]:
        return _LOOP.run(self._memory.sessions())

    def recall(
        self, query: str, *, limit: int = 5, modality: Modality | None = None
    ) -> SearchResult:
        return _LOOP.run(self._memory.recall(query, limit=limit, modality=modality))

    def read(self, row: PageRow) -> Page:
        return _LOOP.run(self._memory.read(row))

    def pages(
        self, session: Session, *, limit: int = 50, after: int = -1, newest_first: bool = False
    ) -> builtins.list[PageRow]:
        return _LOOP.run(
            self._memory.pages(
                session.asynchronous, limit=limit, after=after, newest_first=newest_first
            )
        )

    def forget(self, session: str, page_id: str = "", *, dry_run: bool = False) -> Forgetting:
        return _LOOP.run(self._memory.forget(session, page_id, dry_run=dry_run))

    def verify(self, progress: Callable[[int, int], None] | None = None) -> Verification:
        return _LOOP.run(self._memory.verify(progress))

    def backup(
        self, target: str | Path, progress: Callable[[int, int], None] | None = None
    ) -> Copied:
        return _LOOP.run(self._memory.backup(target, progress))


class Session:
    """As `pagefault.Session`; every verb returns when it is done."""

    def __init__(self, session: _session.Session) -> None:
        self.asynchronous = session

    @property
    def session_id(self) -> str:
        return self.asynchronous.session_id

    @property
    def name(self) -> str:
        return self.asynchronous.name

    def user(self, text: str, *, speaker: str = "", occurred_at: str = "", key: str = "") -> PageId:
        return _LOOP.run(
            self.asynchronous.user(text, speaker=speaker, occurred_at=occurred_at, key=key)
        )

    def assistant(
        self, text: str, *, speaker: str = "", occurred_at: str = "", key: str = ""
    ) -> PageId:
        return _LOOP.run(
            self.asynchronous.assistant(text, speaker=speaker, occurred_at=occurred_at, key=key)
        )

    def document(
        self, text: str, *, title: str = "", origin: str = "local_file", key: str = ""
    ) -> builtins.list[PageId]:
        return _LOOP.run(self.asynchronous.document(text, title=title, origin=origin, key=key))

    def tool_result(
        self, text: str, *, name: str, call_id: str = "", key: str = ""
    ) -> builtins.list[PageId]:
        return _LOOP.run(self.asynchronous.tool_result(text, name=name, call_id=call_id, key=key))

    def artifact(
        self, data: bytes, *, name: str, media_type: str = "", text: str = "", key: str = ""
    ) -> PageId:
        return _LOOP.run(
            self.asynchronous.artifact(data, name=name, media_type=media_type, text=text, key=key)
        )

    def artifact_bytes(self, page_id: str) -> bytes:
        return _LOOP.run(self.asynchronous.artifact_bytes(page_id))

    def say(self, items: Sequence[Said], *, origin: Origin) -> builtins.list[PageId]:
        return _LOOP.run(self.asynchronous.say(items, origin=origin))

    @overload
    def request(self) -> Request: ...
    @overload
    def request(self, format: Literal["openai"]) -> dict[str, Any]: ...
    def request(self, format: Any = None) -> Any:
        return _LOOP.run(self.asynchronous.request(format))

    def call(self, call: ToolCall, *, said: str = "") -> str:
        return _LOOP.run(self.asynchronous.call(call, said=said))

    def run(self, engine: Engine, *, on_text: Callable[[str], None] | None = None) -> Answer:
        return _LOOP.run(self.asynchronous.run(engine, on_text=on_text))

    def recall(
        self, query: str, *, limit: int = 5, modality: Modality | None = None
    ) -> SearchResult:
        return _LOOP.run(self.asynchronous.recall(query, limit=limit, modality=modality))

    def page(self, page_id: str) -> Page:
        return _LOOP.run(self.asynchronous.page(page_id))

    def pin(self, page_id: str) -> None:
        _LOOP.run(self.asynchronous.pin(page_id))

    def unpin(self, page_id: str) -> None:
        _LOOP.run(self.asynchronous.unpin(page_id))

    def goal(self, text: str) -> PageId | None:
        return _LOOP.run(self.asynchronous.goal(text))

    def compress(self, page_id: str, level: int = 1) -> Page:
        return _LOOP.run(self.asynchronous.compress(page_id, level))

    def at_level(self, page_id: str, level: int) -> tuple[Level, str, int]:
        return _LOOP.run(self.asynchronous.at_level(page_id, level))

    def flush(self) -> None:
        _LOOP.run(self.asynchronous.flush())

    def checkpoint(self, name: str) -> Seq:
        return _LOOP.run(self.asynchronous.checkpoint(name))

    def on_pressure(self, callback: Callback) -> Callable[[], None]:
        """Callbacks run in the thread that serves the verbs."""
        return self.asynchronous.on_pressure(callback)

    def configure(
        self, *, window: int | None = None, mode: str | None = None, system: str | None = None
    ) -> None:
        _LOOP.run(self.asynchronous.configure(window=window, mode=mode, system=system))

    def fork(self, name: str = "") -> Session:
        return Session(_LOOP.run(self.asynchronous.fork(name)))

    def status(self) -> Status:
        return _LOOP.run(self.asynchronous.status())

    def faults(self) -> builtins.list[Event]:
        return _LOOP.run(self.asynchronous.faults())

    def resident(self) -> builtins.list[PageId]:
        return self.asynchronous.resident()

    def observe(self, usage: Usage) -> None:
        _LOOP.run(self.asynchronous.observe(usage))
