"""Upkeep of a memory: verification, embedding, backups."""

from __future__ import annotations

import asyncio
import threading
from dataclasses import replace
from pathlib import Path

from pagefault.model.errors import BadInput, SessionNotFound
from pagefault.model.ids import Seq
from pagefault.model.progress import Progress
from pagefault.model.quotas import Quotas
from pagefault.model.signatures import checked_verbs
from pagefault.service.arguments import a_path
from pagefault.service.derived.embedders import EmbedderSpec
from pagefault.service.derived.embedding import EmbeddingStatus
from pagefault.service.derived.reranking import RerankingStatus
from pagefault.service.journal import Redaction
from pagefault.service.needs import records_to_open
from pagefault.service.restore import unopenable
from pagefault.service.root.parts import MemoryParts, check_open
from pagefault.store.allowance import Allowance, QuotaUse
from pagefault.store.api import Copied
from pagefault.store.store import Verification


@checked_verbs(usable=check_open)
class Caretaker(MemoryParts):
    """The verbs of upkeep, and their figures."""

    async def verify(self, progress: Progress | None = None) -> Verification:
        """Read everything and check it for consistency, while others write, here and elsewhere.

        Every session is folded as for opening: anything that would prevent that is a problem. A
        record that no fold can read prevents nothing, and is listed in `set_aside`.

        `progress` is called with bytes read and total bytes, in another thread. Closing this memory
        waits for the end.
        """
        self._committer.check_open()
        task = asyncio.ensure_future(asyncio.to_thread(self._verify, progress))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return await asyncio.shield(task)

    def _verify(self, progress: Progress | None) -> Verification:
        found = self._store.verify(progress)
        problems, aside = unopenable(self._runtime)
        return replace(found, problems=found.problems + problems, set_aside=found.set_aside + aside)

    async def embed(self, progress: Progress | None = None, *, prune: bool = False) -> int:
        """Embed every page that has no vector yet. Returns how many there were.

        This happens by itself after each append: call it to catch up at once, e.g. after a change
        of embedder. `prune` then deletes the vectors of all other embedders. `progress` is called
        with pages done and total pages, in another thread. Raises `BadInput` without an embedder,
        and `EngineError` if it fails: vectors made until then are kept.
        """
        embedding = self._embedding
        if embedding is None:
            raise BadInput(
                "no embedder is configured",
                hint=f"set `embedder` to one of {EmbedderSpec.forms()}",
            )
        self._committer.check_open()
        stop = threading.Event()
        tell = progress or (lambda done, total: None)
        return await self._stoppable(lambda: embedding.embed_all(tell, stop, prune=prune), stop)

    async def embedding(self) -> EmbeddingStatus | None:
        """The progress of embedding, and whether the embedder failed; None without one.

        Loads the embedder's model if necessary.
        """
        if self._embedding is None:
            return None
        return await asyncio.to_thread(self._embedding.status)

    async def reranking(self) -> RerankingStatus | None:
        """How often the reranker was called, and whether it failed; None without one."""
        if self._reranking is None:
            return None
        return await asyncio.to_thread(self._reranking.status)

    async def redaction(self) -> Redaction:
        """The layers that look for secrets in what is written, and whether one failed."""
        return self._runtime.journal.redaction()

    async def usage(self, session: str = "") -> list[QuotaUse]:
        """The usage of each quota that is set (`pagefault.Quotas`): the project's quotas and those
        of a session (its name or id) and its tenant, or all. Raises `SessionNotFound`.
        """
        await self._look()
        runtime, bounds = self._runtime, self._store.allowance

        def uses() -> list[QuotaUse]:
            row = runtime.index.find_session(session) if session else None
            if session and row is None:
                raise SessionNotFound(session)
            quotas = Quotas() if bounds is None else bounds.quotas
            number = None if row is None else row.session
            return Allowance(quotas, runtime.clock.now_ms).uses(runtime.index, number)

        return await asyncio.to_thread(uses)

    async def backup(self, target: str | Path, progress: Progress | None = None) -> Copied:
        """Copy this memory to a directory that does not exist yet, while it is in use.

        The copy is read back and verified before it gets that name. It holds everything
        acknowledged before this call; later forgets do not reach it. `restore` (or `pagefault
        restore`) makes a memory of it again. Raises `BadInput`, `StoreError`.
        """
        place = a_path(target, called="target")
        if self._copy is None:
            raise BadInput("a memory in :memory: has no files", hint="use one in a directory")
        return await asyncio.to_thread(self._copy, place, progress)

    async def records_to_open(self) -> set[Seq]:
        """The records needed to open its sessions: those that stay here when their segments are
        archived.
        """
        self._committer.check_open()
        return await asyncio.to_thread(records_to_open, self._runtime)
