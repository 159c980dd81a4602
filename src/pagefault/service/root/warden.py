"""Origins of pages: reported, raised by a person, and revoked with everything derived from them.

No agent can call these verbs: neither memory's tools, nor what a proxy's client sends, nor a host's
tool that calls a session. Their caller acts for a person.
"""

from __future__ import annotations

import asyncio
import hmac
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from pagefault.model.errors import BadInput
from pagefault.model.events import OriginRaised, OriginRevoked
from pagefault.model.ids import PageId, Seq, SessionNo
from pagefault.model.kinds import USERS, Origin
from pagefault.model.page import Page, PageRow, Scope, SessionRow, is_derived
from pagefault.model.signatures import checked_verbs
from pagefault.model.wanted import SearchFilter
from pagefault.service.derived.labels import Labels, closure
from pagefault.service.restore import restore
from pagefault.service.root.parts import MemoryParts, check_open, written
from pagefault.service.runtime import Runtime
from pagefault.service.session import Session
from pagefault.store.api import PageFilter
from pagefault.store.references import ranges

_ALL: Final = 2**31


@dataclass(frozen=True, slots=True, kw_only=True)
class Descendants:
    """Pages of one session that rest on others: made from them, or answered while they were shown.

    `pages` has the session's own ids; `done` is whether they are withdrawn.
    """

    session_id: str
    pages: tuple[PageId, ...]
    done: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class PageOrigin:
    """The origin of a page. `origin` is the channel that its text came through; `label` is the
    least trusted of everything that went into it, and decides what may be done with it.

    `digest` identifies exactly this text: `Memory.raise_origin` takes it. `raised` and `withdrawn`
    are a person's rulings. `descendants` rest on the page, in every session that sees it.
    """

    session_id: str
    page_id: PageId
    text: str
    title: str
    origin: Origin
    label: Origin
    digest: str
    raised: bool
    withdrawn: bool
    descendants: tuple[Descendants, ...]


@checked_verbs(usable=check_open)
class Warden(MemoryParts):
    """The verbs about trust."""

    async def origins(self, session: Session | str, page_id: str) -> PageOrigin:
        """The origin of a page, its text, the digest of that, and everything that rests on it.

        `session` is a session, or its name or id. Raises `SessionNotFound`, `NoSuchPage`,
        `RecordGone`.
        """
        target = await self._target(session)
        page = await target.page(page_id)
        await target.owned.written()
        return await asyncio.to_thread(self._told, target, page)

    async def is_withdrawn(self, session: Session | str, page_id: str) -> bool:
        """Whether a person withdrew a page, so that no model is shown it. Raises as
        `origins` does.
        """
        page = await (await self._target(session)).page(page_id)
        return await asyncio.to_thread(self._runtime.quarantine.is_withdrawn, page.row)

    async def _why_unseen(self, session: Session, page_id: str) -> str:
        """Why no model is shown a page; "" for one that may be shown."""
        page = await session.page(page_id)
        return await asyncio.to_thread(self._runtime.quarantine.why_unseen, page.row)

    async def raise_origin(
        self, session: Session | str, page_id: str, digest: str, *, dry_run: bool = False
    ) -> PageOrigin:
        """Approve a page in the user's name: a person has read it, and passes the `digest` that
        `origins` returned with exactly this text. It may then be pinned, and be evidence for what
        the user holds true; a withdrawn page may be recalled again, itself alone.

        The approval is logged, holds as long as the page has exactly this text, and `revoke_origin`
        takes it back. Returns what `origins` would; `dry_run` only checks. Raises `BadInput` for
        another digest, and as `origins` does.
        """
        target = await self._target(session)
        page = await target.page(page_id)
        if not self._is_written(page.row.seq):
            raise BadInput(
                f"{page.page_id} is not kept, so nothing can be ruled on it",
                hint="give the session a mode that keeps what is said (`Memory.set_control`)",
            )
        quarantine = self._runtime.quarantine
        if not hmac.compare_digest(quarantine.digest(page).encode(), digest.encode()):
            raise BadInput(
                f"this is not the current digest of {page.page_id} as it stands",
                hint="`Memory.origins` shows its text and digest",
            )
        is_new = quarantine.label(page) not in USERS or quarantine.is_withdrawn(page.row)
        if is_new and not dry_run:
            await self._write_ruling(OriginRaised(page=page.row.seq, digest=digest))
            await self._show_anew()
        return await self.origins(session, page_id)

    async def revoke_origin(
        self,
        session: Session | str = "",
        page_id: str = "",
        *,
        origin: str = "",
        dry_run: bool = False,
    ) -> tuple[Descendants, ...]:
        """Withdraw a page in all its parts, all pages of an `origin` ("web", "tool", "tool:NAME")
        so far, or a whole session, with everything made from it or answered under it, however
        indirectly: summaries, claims, procedures, shorter forms, answers, and results of their
        calls.

        These pages are kept, and `page` still returns them; from the next request on none is shown,
        recalled, pinned, recited or held true. Returns them, by session; `dry_run` only returns
        them. Of conversations that are not written, it reaches those of this process, in memory.
        Requests already sent, and what a proxy's client resends itself, are out of reach. Raises
        `BadInput` if nothing is named, and as `origins` does.
        """
        if not (session or origin):
            raise BadInput(
                "this would withdraw everything",
                hint="name a session, a page of one, or an origin",
            )
        if page_id and (origin or not session):
            raise BadInput("a page needs its session, and no origin")
        named = session.session_id if isinstance(session, Session) else session
        target = await self._find_session(named) if session else None
        for live in self._live():
            await live.owned.written()
        rows = await asyncio.to_thread(self._seeds, target, PageId(page_id), origin)
        found = await asyncio.to_thread(self._closures, rows)
        if found and not dry_run:
            seqs = sorted({seq for _, pages in found for seq in pages.values()})
            kept = [seq for seq in seqs if self._is_written(seq)]
            self._runtime.quarantine.withdraw(ranges(seqs[len(kept) :]))
            if kept:
                await self._write_ruling(OriginRevoked(targets=tuple(ranges(kept))))
            await self._show_anew()
        return tuple(
            Descendants(
                session_id=row.session_id,
                pages=tuple(page for page, seq in sorted(pages.items(), key=lambda one: one[1])),
                done=not dry_run,
            )
            for row, pages in found
        )

    async def _target(self, session: Session | str) -> Session:
        named = session.session_id if isinstance(session, Session) else session
        found = await self._find_session(named)
        written(found)
        return found

    def _told(self, target: Session, page: Page) -> PageOrigin:
        runtime, row = self._runtime, page.row
        label = Labels(runtime, target.session).label(page)
        resting = [
            Descendants(session_id=one.session_id, pages=rest)
            for one, pages in self._closures([row])
            if (rest := tuple(name for name, seq in pages.items() if seq != row.seq))
        ]
        return PageOrigin(
            session_id=target.session_id,
            page_id=page.page_id,
            text=page.text,
            title=page.title,
            origin=row.origin,
            label=label,
            digest=runtime.quarantine.digest(page),
            raised=runtime.quarantine.label(page) != row.origin,
            withdrawn=runtime.quarantine.is_withdrawn(row),
            descendants=tuple(resting),
        )

    def _seeds(self, target: Session | None, page_id: PageId, origin: str) -> list[PageRow]:
        """The pages that the arguments name."""
        wanted = SearchFilter(origins=(origin,) if origin else ())
        if page_id:
            assert target is not None
            scope = target._runtime.scope(target.session)
            scope = scope.derived if is_derived(page_id) else scope
            row = target._runtime.index.find_page(scope, page_id)
            if row is None:
                raise target.no_such_page(page_id)
            return target._runtime.parts_of(scope, row)
        return [
            row
            for runtime, one in self._conversations(target)
            for own in (Scope.whole(one.session),)
            for scope in (own, own.derived)
            for row in runtime.index.pages(scope, PageFilter(), limit=_ALL)
            if not origin or wanted.admits_origin(row.origin)
        ]

    def _conversations(self, only: Session | None = None) -> Iterator[tuple[Runtime, SessionRow]]:
        """Every written session, or one, and then the unwritten ones."""
        for row in self._runtime.index.sessions():
            if only is None or row.session == only.kept_as:
                yield self._runtime, row
        for live in self._above:
            row_above = live._runtime.index.session(live.session)
            if only in (None, live) and row_above is not None:
                yield live._runtime, row_above

    def _closures(self, rows: Iterable[PageRow]) -> list[tuple[SessionRow, dict[PageId, Seq]]]:
        """These pages and everything that rests on them, for each session that sees any. A session
        lists its own pages; those that it inherited are listed by the session that made them.
        """
        homes = {row.seq: row.session for row in rows}
        regions = self._runtime.regions
        while True:  # a copy in a region is a page of its own that rests on its source
            found = self._resting_on(homes)
            closed = {*homes, *(seq for _, pages in found for seq in pages.values())}
            copies = {
                seq: region
                for region in regions.policies()
                for seq, body in regions.shared(region)
                if body.copy_of in closed and seq not in homes
            }
            if not copies:
                return found
            homes |= copies

    def _resting_on(
        self, homes: Mapping[Seq, SessionNo]
    ) -> list[tuple[SessionRow, dict[PageId, Seq]]]:
        """The same, for what was made in a session or under what it saw there."""
        seeds, sessions = frozenset(homes), set(homes.values())
        found: dict[str, tuple[SessionRow, dict[PageId, Seq]]] = {}
        for runtime, row in self._conversations():
            seen = runtime.could_see(row.session)
            if sessions.isdisjoint(part for part, _ in seen.parts):
                continue
            pages = closure(runtime, row.session, seeds)
            own = {
                one: seq
                for one, seq in pages.items()
                if (page := runtime.index.page_at(seq)) is not None and page.session == row.session
            }
            if own:
                found.setdefault(row.session_id, (row, {}))[1].update(own)
        return list(found.values())

    def _is_written(self, seq: Seq) -> bool:
        """Whether a record is in the log; the numbers of an overlay's records are all higher."""
        return seq <= self._store.log.head()

    async def _show_anew(self) -> None:
        """Refresh live sessions after a ruling."""
        self._forgot += 1
        self._flush()
        for live in self._live():
            async with live.owned.quiet():
                row = await asyncio.to_thread(live._runtime.index.session, live.session)
                if row is not None:
                    state, folded = await asyncio.to_thread(restore, live._runtime, row)
                    live.owned.replace(state, folded)
