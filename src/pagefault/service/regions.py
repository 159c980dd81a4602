"""Regions: memory that several sessions share, and who may see what of it.

A region is a stream of records of its own, `region:NAME`, and not a conversation. Sessions with
permission bring pages to it, one by one. Their ids (`shr_SEQ`) are unique in a memory, so that a
page has the same id in every session that sees it. They are shared and never copied: a session that
mounts a region looks its pages up there. So a session can see its own scope (`Runtime.scope`), and
also its *reach*: the regions that it mounts and may read.

Permissions are a fold of the store's own records, `REGION_RULINGS`: policies, assignments, mounts,
consents. Every look-up asks it, so a ruling applies at once. A mount is *open* if

- the session, or its ancestor before the fork, mounted the region last in this mode,
- the region's policy lets the session do so (`read`, or for "rw" `write` or `promote`), and
- its owner consented, if `consent` covers the mode and the session is not the owner's.

Otherwise nothing of the region is found, faulted or shown. A fork begins with the mounts of its
parent, and is judged as itself; assignment and consent are its parent's until it is given its own.

A closed region leaves the window, too: a session that lost a region since its last epoch begins
another before its next request (`restore.py`). What the conversation itself says of it, in an
answer that quotes it, is the session's own.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from pagefault.model.errors import AccessRefused, ArchiveMissing, RegionNotFound, StoreCorrupt
from pagefault.model.events import ConsentSet, Event, MountSet, RegionSet, SessionAssigned, Shared
from pagefault.model.ids import PageId, Seq, SessionNo
from pagefault.model.kinds import REGION_PREFIX, MountMode
from pagefault.model.page import Scope, SessionRow
from pagefault.store.api import EventLog, PageIndex
from pagefault.store.fold import REGION_RULINGS
from pagefault.store.store import STORE

Lineage: TypeAlias = Sequence[tuple[SessionNo, Seq]]
"""A session and its ancestors, nearest first, as the parts of its scope."""


@dataclass(frozen=True, slots=True)
class Who:
    """A session, as policies identify it."""

    names: tuple[str, ...] = ()  # its name and its id
    project: str = ""
    user: str = ""

    def owns(self, region: RegionSet) -> bool:
        """Whether it is a session of the region's owner."""
        return self.user == region.owner

    def is_granted(self, grants: Sequence[str], region: RegionSet) -> bool:
        """Whether one of these grants of a region names it."""
        return any(self._is(grant, region) for grant in grants)

    def _is(self, grant: str, region: RegionSet) -> bool:
        kind, _, name = grant.partition(":")
        match kind:
            case "anyone":
                return True
            case "owner":
                return self.owns(region)
            case "project":
                return bool(name) and name == self.project
            case "user":
                return bool(name) and name == self.user
            case "session":
                return name in self.names
            case _:
                return False


@dataclass(frozen=True, slots=True)
class Standing:
    """The state of a mount: `mode` is the requested one, and `why` is the reason that it is closed:
    "policy", "consent" or "gone".
    """

    region: SessionNo
    mode: MountMode
    why: str = ""

    @property
    def is_open(self) -> bool:
        return not self.why


@dataclass(slots=True)
class _Rulings:
    """The state after some of the rulings."""

    policies: dict[SessionNo, RegionSet] = field(default_factory=dict)
    assigned: dict[SessionNo, SessionAssigned] = field(default_factory=dict)
    mounts: dict[SessionNo, list[tuple[Seq, MountSet]]] = field(default_factory=dict)
    consents: dict[tuple[SessionNo, SessionNo], MountMode | None] = field(default_factory=dict)

    def fold(self, event: Event) -> None:
        match event.body:
            case RegionSet() as body:
                self.policies[body.region] = body
            case SessionAssigned() as body:
                self.assigned[body.session] = body
            case MountSet() as body:
                self.mounts.setdefault(body.session, []).append((event.seq, body))
            case ConsentSet() as body:
                self.consents[body.region, body.session] = body.mode

    def supposing(self, body: RegionSet | ConsentSet) -> _Rulings:
        """The state if this were ruled as well."""
        if isinstance(body, RegionSet):
            return replace(self, policies={**self.policies, body.region: body})
        given = {(body.region, body.session): body.mode}
        return replace(self, consents={**self.consents, **given})

    def assignment(self, lineage: Lineage) -> SessionAssigned:
        """The assignment of a session, or of its nearest ancestor that has one."""
        found = (self.assigned.get(session) for session, _ in lineage)
        return next(filter(None, found), SessionAssigned(session=lineage[0][0]))

    def mounted(self, lineage: Lineage, *, ever: bool = False) -> dict[SessionNo, MountMode]:
        """The mounts of a session, permitted or not; or all it has ever had."""
        found: dict[SessionNo, MountMode] = {}
        for at in reversed(range(len(lineage))):
            forked = lineage[at - 1][0] if at else None
            for seq, body in self.mounts.get(lineage[at][0], ()):
                if forked is not None and seq > forked:
                    break  # after the fork
                if body.mode is not None:
                    found[body.region] = body.mode
                elif not ever:
                    found.pop(body.region, None)
        return found

    def why_not(self, who: Who, lineage: Lineage, region: SessionNo, mode: MountMode) -> str:
        """Why a session may not use a region so; "" if it may."""
        policy = self.policies.get(region)
        if policy is None:
            return "gone"
        grants = policy.read if mode is MountMode.RO else (*policy.write, *policy.promote)
        if not who.is_granted(grants, policy):
            return "policy"
        if who.owns(policy) or not policy.consent.covers(mode):
            return ""
        for session, _ in lineage:
            if (region, session) in self.consents:
                given = self.consents[region, session]
                return "" if given in (mode, MountMode.RW) else "consent"
        return "consent"


class Regions:
    """The fold, as far as asked for. Thread-safe."""

    def __init__(self, log: EventLog, index: PageIndex) -> None:
        self._log = log
        self._index = index
        self._folded: tuple[Sequence[Seq], _Rulings] = ((), _Rulings())

    def _now(self) -> _Rulings:
        # All of them, not only later ones: a forget takes some, and the first of an overlay comes
        # after all records below it.
        seqs = self._index.events(STORE, types=REGION_RULINGS)
        known, rulings = self._folded
        if seqs != known:
            rulings = _Rulings()
            for event in self._read(seqs):
                rulings.fold(event)
            self._folded = seqs, rulings
        return rulings

    def _read(self, seqs: Sequence[Seq]) -> Iterator[Event]:
        for seq in seqs:
            with suppress(StoreCorrupt, ArchiveMissing):  # its ruling is lost
                yield self._log.get(seq)

    # --- regions ------------------------------------------------------------------------------

    def policies(self) -> Mapping[SessionNo, RegionSet]:
        """The policy of each existing region."""
        return self._now().policies

    def is_region(self, row: SessionRow) -> bool:
        """Whether a stream of records is a region."""
        return row.name.startswith(REGION_PREFIX) and row.session in self.policies()

    def get(self, name: str) -> SessionRow:
        """The region with this name, with or without its prefix, or this id. Raises
        `RegionNotFound`.
        """
        prefixed = REGION_PREFIX + bare(name)
        row = self._index.find_session(prefixed) or self._index.find_session(name)
        if row is None or not self.is_region(row):
            raise RegionNotFound(bare(name))
        return row

    def shared(self, region: SessionNo) -> Iterator[tuple[Seq, Shared]]:
        """The pages that were brought to a region itself, oldest first. Reads each."""
        for seq in self._index.events(region, types=("shared",)):
            with suppress(StoreCorrupt):
                body = self._log.get(seq).body
                if isinstance(body, Shared):
                    yield seq, body

    def records_about(self, session: SessionNo) -> list[Seq]:
        """The rulings that describe a session or a region in words: they are erased with it."""
        about = []
        types = ("region_set", "session_assigned")
        for event in self._read(self._index.events(STORE, types=types)):
            match event.body:
                case RegionSet(region=one) | SessionAssigned(session=one) if one == session:
                    about.append(event.seq)
        return about

    def mounting(self, region: SessionNo) -> frozenset[SessionNo]:
        """The sessions that mounted a region themselves, whether or not they still do."""
        return frozenset(
            session
            for session, mounts in self._now().mounts.items()
            if any(body.region == region for _, body in mounts)
        )

    # --- sessions -----------------------------------------------------------------------------

    def who(self, scope: Scope) -> Who:
        """The session of a scope, as policies identify it."""
        return self._who(self._now(), scope)

    def _who(self, rulings: _Rulings, scope: Scope) -> Who:
        row = self._index.session(scope.parts[0][0])
        assigned = rulings.assignment(scope.parts)
        names: tuple[str, ...] = ()
        if row is not None:
            above = (self._index.session(session) for session, _ in scope.parts[1:])
            # A fork with its parent's name is not meant by that name.
            is_others = any(one is not None and one.name == row.name for one in above)
            names = ("" if is_others else row.name, row.session_id)
        return Who(tuple(filter(None, names)), assigned.project, assigned.user)

    def mounts(
        self, scope: Scope, *, supposed: RegionSet | ConsentSet | None = None
    ) -> list[Standing]:
        """The state of each mount of the session with this scope, if this were ruled as well."""
        rulings = self._now() if supposed is None else self._now().supposing(supposed)
        mounted = rulings.mounted(scope.parts) if rulings.mounts else {}
        if not mounted:
            return []
        who = self._who(rulings, scope)
        return [
            Standing(region, mode, rulings.why_not(who, scope.parts, region, mode))
            for region, mode in mounted.items()
        ]

    def why_not(self, scope: Scope, region: SessionNo, mode: MountMode) -> str:
        """Why the session with this scope could not mount a region so: "gone", "policy", "consent",
        or "" if it can.
        """
        rulings = self._now()
        return rulings.why_not(self._who(rulings, scope), scope.parts, region, mode)

    def ever(self, scope: Scope) -> list[SessionNo]:
        """Every region that a session ever mounted, whether or not it could see anything there."""
        rulings = self._now()
        return list(rulings.mounted(scope.parts, ever=True)) if rulings.mounts else []

    def lost(self, scope: Scope, *, since: Seq) -> bool:
        """Whether a session lost access to a region after the record `since`."""
        if not self.ever(scope):
            return False
        rulings, seen = _Rulings(), frozenset[SessionNo]()
        for event in self._read(self._index.events(STORE, types=REGION_RULINGS)):
            rulings.fold(event)
            who = self._who(rulings, scope)
            now = frozenset(
                region
                for region, mode in rulings.mounted(scope.parts).items()
                if not rulings.why_not(who, scope.parts, region, mode)
            )
            if event.seq > since and seen - now:
                return True
            seen = now
        return False


def joined(scope: Scope, others: Sequence[Scope]) -> Scope:
    """The union of these scopes: for looking pages up by id, not for ranking."""
    upto = dict(scope.parts)
    for other in others:
        for session, last in other.parts:
            upto[session] = max(last, upto.get(session, last))
    return Scope(tuple(upto.items()))


@dataclass(frozen=True, slots=True, kw_only=True)
class Mount:
    """A session's mount of a region: `mode` is "ro" or "rw". If it is closed, `why` is "policy"
    (the region's does not let the session), "consent" (its owner has not given it, or took it
    back), "gone" (the region no longer exists), or "" if there is no mount.
    """

    region: str
    session: str  # its name, or its id if it has none
    session_id: str
    mode: str
    is_open: bool
    why: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Region:
    """A region: its audience, its permissions, and the sessions that mount it.

    `scope` is "project", "user" or "global". `read`, `write` and `promote` are grants: "owner",
    "anyone", "project:NAME", "user:NAME", "session:NAME". `consent` says which mounts need the
    owner's consent: "never", "write" or "always".
    """

    name: str
    region_id: str
    scope: str
    owner: str
    project: str
    read: tuple[str, ...]
    write: tuple[str, ...]
    promote: tuple[str, ...]
    consent: str
    pages: int
    fork_of: str = ""
    mounts: tuple[Mount, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Promotion:
    """The result of a promotion: the `pages` now in the region, from these `sources` of the
    session, which are empty for a text of its own; with `dry_run` there are no pages yet.
    """

    region: str
    pages: tuple[PageId, ...]
    sources: tuple[PageId, ...]
    origin: str
    done: bool


def bare(name: str) -> str:
    """The name of a region, without its prefix."""
    return name.removeprefix(REGION_PREFIX)


def refusal(policy: RegionSet, region: str, session: str, why: str, *, to: str) -> AccessRefused:
    """The error for a session without permission: who decides, and what to do."""
    owner = f"its owner, {policy.owner!r}," if policy.owner else "its owner"
    if why == "consent":
        return AccessRefused(
            f"region {region!r}: {owner} has not agreed that session {session!r} may {to}",
            hint="the owner agrees with `Memory.consent`",
        )
    grants = {"read": policy.read, "write": policy.write, "promote": policy.promote}.get(
        to, (*policy.write, *policy.promote)
    )
    return AccessRefused(
        f"region {region!r}: its policy does not let session {session!r} {to}",
        hint=f"it lets {', '.join(dict.fromkeys(grants)) or 'nobody'}; {owner} changes that with "
        "`Memory.set_policy`, and whose a session is says `Memory.assign`",
    )
