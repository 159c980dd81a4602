"""Regions of a memory: creation, forks, and their owners' policies."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace

from pagefault.model.errors import (
    AccessRefused,
    BadInput,
    RegionNotFound,
    SessionNotFound,
)
from pagefault.model.events import ConsentSet, Draft, RegionSet, SessionAssigned, SessionOpened
from pagefault.model.ids import NOTHING, Seq, SessionNo
from pagefault.model.kinds import REGION_PREFIX, Consent, MountMode, RegionScope
from pagefault.model.page import SessionRow
from pagefault.model.signatures import checked_verbs
from pagefault.service.arguments import a_short_text, check_name, one_of
from pagefault.service.control import given_control
from pagefault.service.regions import Mount, Region, Who, bare
from pagefault.service.root.parts import MemoryParts, check_open
from pagefault.service.session import Session
from pagefault.store.controls import nothing_kept
from pagefault.store.store import about_store


@checked_verbs(usable=check_open)
class Curator(MemoryParts):
    """The verbs about regions, for the person who has this memory. `by` is the user who asks: only
    a region's owner is allowed.
    """

    async def regions(self) -> list[Region]:
        """Every region, by name, with the sessions that mount it."""
        await self._look()
        return await asyncio.to_thread(self._regions)

    async def create_region(
        self,
        name: str,
        *,
        scope: str = "global",
        owner: str = "",
        project: str = "",
        read: Sequence[str] | None = None,
        write: Sequence[str] | None = None,
        promote: Sequence[str] | None = None,
        consent: str = "write",
        dry_run: bool = False,
    ) -> Region:
        """Create a region: memory shared by the sessions that mount it (`Session.mount`).

        `scope` is its audience: "project" the sessions of `project`, "user" those of `owner`,
        "global" all of this memory. They may read it, and the owner's sessions may write and
        promote, unless `read`, `write` and `promote` grant that to others: "owner", "anyone",
        "project:NAME", "user:NAME", "session:NAME". `consent` says which mounts also need the
        owner's consent: "write" (the default) those that write, "always" all, "never" none; the
        owner's own sessions need none. Raises `BadInput`, also if the name is taken.
        """
        name = self._runtime.journal.clean(name)
        _check_region_name(name)
        asked = one_of(RegionScope, scope, "scope of a region")
        if (asked is RegionScope.PROJECT) != bool(project):
            raise BadInput(
                f"a region of scope {scope!r} has {'no' if project else 'a'} project",
                hint='name it where the scope is "project", and only there: `project`, --project',
            )
        if asked is RegionScope.USER and not owner:
            raise BadInput(
                "a region with scope user needs an owner", hint="set `owner`, or --owner"
            )
        members = {
            RegionScope.PROJECT: f"project:{project}",
            RegionScope.USER: "owner",
            RegionScope.GLOBAL: "anyone",
        }[asked]
        policy = RegionSet(
            region=SessionNo(0),
            scope=asked,
            owner=a_short_text(owner, called="owner"),
            project=a_short_text(project, called="project"),
            read=_grants(read, (members,), called="read"),
            write=_grants(write, ("owner",), called="write"),
            promote=_grants(promote, ("owner",), called="promote"),
            consent=one_of(Consent, consent, "rule of consent"),
        )
        return await self._open_region(name, lambda: policy, dry_run=dry_run)

    async def fork_region(
        self, region: str, name: str, *, by: str = "", dry_run: bool = False
    ) -> Region:
        """Create a region with the contents of this one, under the same policy. Pages are shared,
        not copied: later additions to either are not in the other; what is forgotten is gone from
        both. Raises `AccessRefused` unless `by` owns it, `RegionNotFound`, `BadInput`.
        """
        name = self._runtime.journal.clean(name)
        _check_region_name(name)
        row, _ = await asyncio.to_thread(self._owned_region, region, by)

        def policy() -> RegionSet:
            return self._owned_region(region, by)[1]

        return await self._open_region(name, policy, parent=row.session, dry_run=dry_run)

    async def set_policy(
        self,
        region: str,
        *,
        read: Sequence[str] | None = None,
        write: Sequence[str] | None = None,
        promote: Sequence[str] | None = None,
        consent: str | None = None,
        owner: str | None = None,
        by: str = "",
        dry_run: bool = False,
    ) -> Region:
        """Change the permissions of a region (see `create_region`); omitted ones stay. It applies
        at once: a session that loses access shows nothing of the region from its next request on.
        Raises `AccessRefused` unless `by` owns it, `RegionNotFound`, `BadInput`.
        """
        row, policy = await asyncio.to_thread(self._owned_region, region, by)
        changed = replace(
            policy,
            read=_grants(read, policy.read, called="read"),
            write=_grants(write, policy.write, called="write"),
            promote=_grants(promote, policy.promote, called="promote"),
            consent=policy.consent
            if consent is None
            else one_of(Consent, consent, "rule of consent"),
            owner=policy.owner if owner is None else a_short_text(owner, called="owner"),
        )
        if dry_run or changed == policy:
            return await asyncio.to_thread(self._ruled, row, changed, supposed=changed)

        def plan() -> RegionSet:
            if self._owned_region(region, by)[1] != policy:
                raise BadInput(f"the policy of region {region!r} was changed in the meantime")
            return changed

        await self._runtime.journal.rule(plan)
        await self._renew(lambda one: row.session in one._runtime.regions.ever(one.owned.scope))
        return await asyncio.to_thread(self._ruled, row, changed)

    async def consent(
        self, region: str, session: str, mode: str = "ro", *, by: str = "", dry_run: bool = False
    ) -> Mount | None:
        """Give a session (its name or id) the owner's consent to mount the region, "ro" or "rw", or
        take it back: "none". It also covers forks of the session, until they are given their own.
        Returns the session's mount as it is then, or None if it has none.

        Once consent is taken back, nothing of the region is found, faulted or recalled in that
        session, and its next request shows nothing of it. Raises `AccessRefused` unless `by` owns
        it, `RegionNotFound`, `SessionNotFound`.
        """
        wanted = None if mode == "none" else one_of(MountMode, mode, "consent")
        place, _ = await asyncio.to_thread(self._owned_region, region, by)
        row = await self._session_row(session)

        given = ConsentSet(region=place.session, session=row.session, mode=wanted)

        def plan() -> ConsentSet:
            self._owned_region(region, by)
            return given

        if not dry_run:
            await self._runtime.journal.rule(plan)
            await self._renew(lambda one: _descends(one, row.session))
        told = await asyncio.to_thread(self._mounts, place, given if dry_run else None)
        return next((one for one in told if one.session_id == row.session_id), None)

    async def assign(
        self,
        session: str,
        *,
        project: str | None = None,
        user: str | None = None,
        dry_run: bool = False,
    ) -> None:
        """Set the user and the project of a session (its name or id), by which policies of regions
        identify it. Omitted ones stay. Raises `SessionNotFound`, `BadInput`.
        """
        row = await self._session_row(session)
        who = await asyncio.to_thread(self._who, row)
        assigned = SessionAssigned(
            session=row.session,
            project=who.project if project is None else a_short_text(project, called="project"),
            user=who.user if user is None else a_short_text(user, called="user"),
        )
        if dry_run or (assigned.project, assigned.user) == (who.project, who.user):
            return
        await self._runtime.journal.rule(lambda: assigned)
        await self._renew(lambda one: _descends(one, row.session))

    async def assignment(self, session: str) -> tuple[str, str]:
        """The project and the user of a session (its name or id), each "" if not set."""
        row = await self._session_row(session)
        who = await asyncio.to_thread(self._who, row)
        return who.project, who.user

    async def assignments(self) -> dict[str, tuple[str, str]]:
        """The project and the user of every session, by its id, each "" if not set."""
        await self._look()

        def told() -> dict[str, tuple[str, str]]:
            rows = self._runtime.index.sessions()
            who = {row.session_id: self._who(row) for row in rows}
            return {session_id: (one.project, one.user) for session_id, one in who.items()}

        return await asyncio.to_thread(told)

    # ------------------------------------------------------------------------------------------

    def _who(self, row: SessionRow) -> Who:
        return self._runtime.regions.who(self._runtime.scope(row.session))

    async def _session_row(self, session: str) -> SessionRow:
        await self._runtime.journal.look()
        row = await asyncio.to_thread(self._runtime.index.find_session, session)
        if row is None or row.name.startswith(REGION_PREFIX):
            raise SessionNotFound(session)
        return row

    def _owned_region(self, name: str, by: str) -> tuple[SessionRow, RegionSet]:
        """A region and its policy. Raises unless this user owns it."""
        row = self._runtime.regions.get(name)
        policy = self._runtime.regions.policies()[row.session]
        if policy.owner != by:
            raise AccessRefused(
                f"region {bare(row.name)!r} has another owner than {by!r}"
                if by
                else f"region {bare(row.name)!r} has an owner, and the caller was not named",
                hint="only its owner may do this: name yourself with `by`, or --by",
            )
        return row, policy

    async def _open_region(
        self,
        name: str,
        policy: Callable[[], RegionSet],
        *,
        parent: SessionNo = SessionNo(0),
        dry_run: bool,
    ) -> Region:
        """Whatever decides, `policy` included, is read while nobody else writes."""
        if not dry_run:
            self._store.check_writable()
        opened = SessionOpened(
            session_id=self._runtime.mint_session_id(),
            name=REGION_PREFIX + name,
            window_tokens=self._window_tokens,
            mode=self._mode,
            system="",
            parent=parent,
        )

        def plan(first: Seq) -> list[Draft]:
            given = given_control(self._runtime)[0] or self._control
            if not given.captures:
                raise nothing_kept(given)
            if self._runtime.index.find_session(opened.name) is not None:
                raise BadInput(f"region {name!r} already exists", hint="give it another name")
            begun = self._runtime.index.session(parent) if parent else None
            if parent and begun is None:
                raise RegionNotFound(name)
            body = replace(opened, parent_seq=begun.last_seq if begun else NOTHING)
            ruled = replace(policy(), region=SessionNo(first))
            return [about_store(body), about_store(ruled)]

        if dry_run:
            await asyncio.to_thread(plan, Seq(1))
            kept = await asyncio.to_thread(self._runtime.index.session, parent) if parent else None
            ruled = await asyncio.to_thread(policy)
            told = _region(REGION_PREFIX + name, "", ruled, pages=kept.pages if kept else 0)
            return replace(told, fork_of=bare(kept.name) if kept else "")
        events = await self._runtime.journal.share(plan)
        row = await asyncio.to_thread(self._runtime.index.session, events[0].session)
        if row is None:
            raise RegionNotFound(name)  # another process forgot it meanwhile
        return await asyncio.to_thread(
            lambda: self._ruled(row, self._runtime.regions.policies()[row.session])
        )

    def _regions(self) -> list[Region]:
        index = self._runtime.index
        policies = self._runtime.regions.policies()
        rows = [index.session(region) for region in policies]
        found = [self._ruled(row, policies[row.session]) for row in rows if row is not None]
        return sorted(found, key=lambda one: one.name)

    def _ruled(
        self, row: SessionRow, policy: RegionSet, *, supposed: RegionSet | None = None
    ) -> Region:
        told = _region(row.name, row.session_id, policy, pages=row.pages)
        above = self._runtime.index.session(row.parent) if row.parent else None
        return replace(
            told,
            fork_of=bare(above.name) if above else "",
            mounts=tuple(self._mounts(row, supposed)),
        )

    def _mounts(
        self, region: SessionRow, supposed: RegionSet | ConsentSet | None = None
    ) -> list[Mount]:
        """Every session's mount of a region, if this were ruled as well."""
        runtime, found = self._runtime, list[Mount]()
        mounting = runtime.regions.mounting(region.session)
        for row in runtime.index.sessions() if mounting else ():
            if row.session not in mounting and not row.parent:
                continue
            for one in runtime.regions.mounts(runtime.scope(row.session), supposed=supposed):
                if one.region == region.session:
                    found.append(
                        Mount(
                            region=bare(region.name),
                            session=row.called,
                            session_id=row.session_id,
                            mode=str(one.mode),
                            is_open=one.is_open,
                            why=one.why,
                        )
                    )
        return found

    async def _renew(self, concerns: Callable[[Session], bool]) -> None:
        """Refresh live sessions, so that none shows what it may no longer see."""
        for session in self._live():
            if await asyncio.to_thread(concerns, session):
                with suppress(SessionNotFound):
                    await session.owned.whole(session.owned.renew)


def _check_region_name(name: str) -> None:
    check_name(name, of="region")
    check_name(f"{'-' * len(REGION_PREFIX)}{name}", of="region")  # as long as the stored name


def _descends(session: Session, ancestor: SessionNo) -> bool:
    return any(part == ancestor for part, _ in session.owned.scope.parts)


def _region(name: str, region_id: str, policy: RegionSet, *, pages: int) -> Region:
    return Region(
        name=bare(name),
        region_id=region_id,
        scope=str(policy.scope),
        owner=policy.owner,
        project=policy.project,
        read=policy.read,
        write=policy.write,
        promote=policy.promote,
        consent=str(policy.consent),
        pages=pages,
    )


def _grants(
    given: Sequence[str] | None, otherwise: tuple[str, ...], *, called: str
) -> tuple[str, ...]:
    """The grantees, each once. Raises `BadInput`."""
    if given is None:
        return otherwise
    for grant in given:
        kind, colon, name = grant.partition(":")
        is_kind = kind in ("project", "user", "session") and bool(name)
        if not (is_kind or (not colon and kind in ("owner", "anyone"))):
            raise BadInput(
                f"{called} is granted to {grant!r:.80}, which is unknown",
                hint="owner, anyone, project:NAME, user:NAME or session:NAME",
            )
        a_short_text(grant, called=called)
    return tuple(dict.fromkeys(given))
