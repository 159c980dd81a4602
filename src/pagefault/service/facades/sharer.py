"""A session's regions: mounting them, and bringing pages to them."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace

from pagefault.model.errors import AccessRefused, BadInput, RecordGone, RegionNotFound
from pagefault.model.events import Draft, MountSet, Shared
from pagefault.model.ids import NOTHING, PageId, Seq, SessionNo, TurnNo
from pagefault.model.kinds import PAGE_PREFIX, USER_TYPED, Actor, MountMode, Origin, Role
from pagefault.model.page import Page, PageRow, Scope, SessionRow
from pagefault.model.signatures import checked_verbs
from pagefault.model.times import iso_utc
from pagefault.model.trust import is_untrusted, least_trusted
from pagefault.service.arguments import a_short_text, one_of
from pagefault.service.derived.labels import Labels
from pagefault.service.facades.parts import SessionParts, check_open
from pagefault.service.regions import Mount, Promotion, bare, refusal
from pagefault.service.turn.split import split

_STEM = PAGE_PREFIX["shared"]


@checked_verbs(usable=check_open)
class Sharer(SessionParts):
    """The verbs about regions. None is a tool: no model mounts or promotes."""

    async def mounts(self) -> list[Mount]:
        """The regions that this session mounts, or inherited from the session it was forked
        from.
        """
        await self._runtime.journal.look()
        return await asyncio.to_thread(self._mounts)

    async def mount(self, region: str, mode: str = "ro", *, dry_run: bool = False) -> Mount:
        """Mount a region: from now on its pages are found, recalled and faulted like the session's
        own, and a hit's `source` names it. With "rw" the session may also bring pages to it
        (`promote`, `share`).

        The region's policy must allow this: `AccessRefused` otherwise. If its owner must consent
        too, none of it is visible until then (`is_open`, `why`). `dry_run` only returns the result.
        Raises `RegionNotFound`.
        """
        wanted = one_of(MountMode, mode, "way to mount")
        self._check_kept()

        async def verb() -> Mount:
            row = await asyncio.to_thread(self._runtime.regions.get, region)

            def plan() -> MountSet:
                if self._why_not(row, wanted) not in ("", "consent"):
                    raise self._refused(row, "policy", to="read" if mode == "ro" else "write there")
                return MountSet(session=self.session, region=row.session, mode=wanted)

            if dry_run or self._mode_of(row) is wanted:
                await asyncio.to_thread(plan)
            else:
                await self._runtime.journal.rule(plan)
                await self.owned.renew()
            return self._mount(row, wanted, await asyncio.to_thread(self._why_not, row, wanted))

        return await self.owned.whole(verb)

    async def unmount(self, region: str, *, dry_run: bool = False) -> Mount:
        """Unmount a region: its pages leave the window before the next request. Returns the mount
        as it was; harmless if the region is not mounted. Raises `RegionNotFound`.
        """
        self._check_kept()

        async def verb() -> Mount:
            row = await asyncio.to_thread(self._runtime.regions.get, region)
            mode = self._mode_of(row)
            if mode is None:
                return self._mount(row, None, "")
            if not dry_run:
                ends = MountSet(session=self.session, region=row.session)
                await self._runtime.journal.rule(lambda: ends)
                await self.owned.renew()
            return self._mount(row, mode, "")

        return await self.owned.whole(verb)

    async def promote(self, page_id: str, region: str, *, dry_run: bool = False) -> Promotion:
        """Copy a page (every part of its text) to a region that is mounted "rw", if the policy lets
        the session promote. It keeps its origin, speaker, title and time; forgetting the page here
        forgets it there. Of an artifact, only the text is copied.

        A page is copied once: a second call returns the copy. Raises `AccessRefused`,
        `RegionNotFound`, `NoSuchPage`, `RecordGone`.
        """
        self._check_kept()

        async def verb() -> Promotion:
            row = await asyncio.to_thread(self._pages.row, PageId(page_id))
            if row.seq == NOTHING:  # derived, and not written yet
                await self.owned.flush()
                row = await asyncio.to_thread(self._pages.row, PageId(page_id))
            pages = await asyncio.to_thread(self._text_of, row)
            place = await asyncio.to_thread(self._runtime.regions.get, region)
            await asyncio.to_thread(self._check_own, pages)
            labels = Labels(self._runtime, self.session)
            label = least_trusted(await asyncio.to_thread(lambda: [*map(labels.label, pages)]))
            return await self._bring(
                place,
                [self._copy(page) for page in pages],
                label if is_untrusted(label) else row.origin,
                to="promote",
                dry_run=dry_run,
                sources=tuple(page.page_id for page in pages),
            )

        return await self.owned.whole(verb)

    async def share(
        self, text: str, region: str, *, title: str = "", dry_run: bool = False
    ) -> Promotion:
        """Write a text of the user into a region that is mounted "rw", if the policy lets the
        session write. It is in no conversation. Raises `AccessRefused`, `RegionNotFound`.
        """
        self._check_kept()
        if not text.strip():
            raise BadInput("the text to share is empty", hint="give a text")
        a_short_text(title, called="title")
        clean = self._runtime.journal.clean
        room = self._state.limits.page_room(self._state.window_tokens)
        at = iso_utc(self._runtime.clock.now_ms())
        counter = self._runtime.counter

        async def verb() -> Promotion:
            place = await asyncio.to_thread(self._runtime.regions.get, region)
            parts = split(clean(text), room, counter)
            bodies = [
                Shared(
                    page_id=PageId(""),
                    order=0,
                    text=part,
                    tokens=tokens,
                    title=clean(title),
                    role=Role.USER,
                    occurred_at=at,
                    part=number,
                    parts=len(parts),
                    by=self.session,
                )
                for number, (part, tokens) in enumerate(parts)
            ]
            return await self._bring(place, bodies, USER_TYPED, to="write", dry_run=dry_run)

        return await self.owned.whole(verb)

    # --- permissions --------------------------------------------------------------------------

    def _check_kept(self) -> None:
        """Raise `BadInput` in a mode in which nothing of this session is written."""
        raise NotImplementedError

    def _mounts(self) -> list[Mount]:
        found = []
        for one in self._runtime.regions.mounts(self.owned.scope):
            row = self._runtime.index.session(one.region)
            if row is not None:
                found.append(self._mount(row, one.mode, one.why))
        return found

    def _mount(self, row: SessionRow, mode: MountMode | None, why: str) -> Mount:
        return Mount(
            region=bare(row.name),
            session=self.called,
            session_id=self.session_id,
            mode=str(mode or ""),
            is_open=mode is not None and not why,
            why=why,
        )

    def _mode_of(self, row: SessionRow) -> MountMode | None:
        """The mode in which this session mounts a region, whether or not it is permitted."""
        mounts = self._runtime.regions.mounts(self.owned.scope)
        return next((one.mode for one in mounts if one.region == row.session), None)

    def _why_not(self, row: SessionRow, mode: MountMode) -> str:
        return self._runtime.regions.why_not(self.owned.scope, row.session, mode)

    def _refused(self, row: SessionRow, why: str, *, to: str) -> AccessRefused | RegionNotFound:
        policy = self._runtime.regions.policies().get(row.session)
        if policy is None or why == "gone":
            return RegionNotFound(bare(row.name))
        return refusal(policy, bare(row.name), self.called, why, to=to)

    def _check_may(self, row: SessionRow, *, to: str) -> None:
        """Raise unless this session may bring pages to a region, by promoting or by writing."""
        if self._mode_of(row) is not MountMode.RW:
            raise AccessRefused(
                f"session {self.called!r} has not mounted region {bare(row.name)!r} for writing",
                hint="mount it rw with `Session.mount`",
            )
        why = self._why_not(row, MountMode.RW)
        regions = self._runtime.regions
        policy = regions.policies().get(row.session)
        if not why and policy is not None:
            grants = policy.promote if to == "promote" else policy.write
            if regions.who(self.owned.scope).is_granted(grants, policy):
                return
            why = "policy"
        raise self._refused(row, why, to=to)

    # --- copies -------------------------------------------------------------------------------

    def _text_of(self, row: PageRow) -> list[Page]:
        """Every part of the text that a page is part of, in order."""
        own = Scope.whole(row.session)
        return [self._runtime.pages.read(one) for one in self._runtime.parts_of(own, row)]

    def _check_own(self, pages: Sequence[Page]) -> None:
        """Raise if these pages are not the session's to pass on: pages of a region belong to its
        owner, and a withdrawn page stays withdrawn.
        """
        regions = self._runtime.regions
        for page in pages:
            if self._runtime.quarantine.is_withdrawn(page.row):
                raise BadInput(
                    f"{page.page_id} was withdrawn and has not been raised again",
                    hint="`Memory.raise_origin` does, given the digest that `Memory.origins` shows",
                )
            policy = regions.policies().get(page.row.session)
            if policy is not None and policy.owner != regions.who(self.owned.scope).user:
                raise AccessRefused(
                    f"{page.page_id} is of a region of {policy.owner!r}: it is not this session's",
                    hint="its owner may bring it elsewhere",
                )

    def _copy(self, page: Page) -> Shared:
        row = page.row
        return Shared(
            page_id=PageId(""),
            order=0,
            text=page.text,
            tokens=row.tokens,
            title=page.title,
            importance=row.importance,
            role=row.role,
            speaker=page.speaker,
            occurred_at=page.occurred_at or iso_utc(row.at_ms),
            part=row.part,
            parts=row.parts,
            by=self.session,
            copy_of=row.seq,
        )

    async def _bring(
        self,
        place: SessionRow,
        bodies: Sequence[Shared],
        origin: Origin,
        *,
        to: str,
        dry_run: bool,
        sources: tuple[PageId, ...] = (),
    ) -> Promotion:
        """Write these pages into a region, under ids of its own, except those already there."""
        index, region = self._runtime.index, place.session

        def told(pages: Sequence[PageId], *, done: bool) -> Promotion:
            return Promotion(
                region=bare(place.name),
                pages=tuple(pages),
                sources=sources,
                origin=str(origin),
                done=done,
            )

        there: list[PageId] = []

        def plan(first: Seq) -> list[Draft]:
            self._check_may(place, to=to)
            there[:] = self._copies(region, bodies)
            if there:
                return []
            for body in bodies:
                if body.copy_of and index.page_at(body.copy_of) is None:
                    raise RecordGone(
                        "the page was forgotten in the meantime", hint="nothing was shared"
                    )
            row = index.session(region)
            assert row is not None
            return [
                self._draft(region, first, row.pages, body, origin, number)
                for number, body in enumerate(bodies)
            ]

        if dry_run:
            await asyncio.to_thread(plan, Seq(1))
            return told(there, done=False)
        events = await self._runtime.journal.share(plan)
        made = [event.body.page_id for event in events if isinstance(event.body, Shared)]
        return told(made or there, done=True)

    def _draft(
        self,
        region: SessionNo,
        first: Seq,
        order: int,
        body: Shared,
        origin: Origin,
        number: int,
    ) -> Draft:
        return Draft(
            session=region,
            turn=TurnNo(0),
            actor=Actor.USER,
            origin=origin,
            body=replace(
                body,
                page_id=PageId(f"{_STEM}_{first + number}"),
                order=order + number,
                part_of=PageId(f"{_STEM}_{first}" if number else ""),
            ),
            key=_key(body) if body.copy_of else "",
        )

    def _copies(self, region: SessionNo, bodies: Sequence[Shared]) -> list[PageId]:
        """The copies of these pages in a region, its own or inherited; none unless it has
        them all.
        """
        found: list[PageId] = []
        for body in bodies:
            for part, upto in self._runtime.scope(region).parts if body.copy_of else ():
                seq = self._runtime.index.find_key(part, self._runtime.hash_key(part, _key(body)))
                row = self._runtime.index.page_at(seq) if seq is not None and seq <= upto else None
                if row is not None:
                    found.append(row.page_id)
                    break
            else:
                return []
        return found


def _key(body: Shared) -> str:
    return f"pagefault/copy/{body.copy_of}"
