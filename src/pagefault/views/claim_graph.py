"""The graph of claims: which rest on which, and which replaced which, as edges, a tree and a plan.

Invariants:
 (1) An edge leads from the earlier claim to the later one, so in a plan every edge leads right. In
     a cycle, which editing a claim's source can cause, one edge leads back.
 (2) A tree expands each claim once; where the claim appears again, it has no branches.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, Protocol

from pagefault.model.ids import PageId

DRAWN: Final = 80  # claims of a picture, the newest


class EdgeKind(StrEnum):
    SUPPORTS = "supports"  # the second was derived from the first
    REPLACED = "replaced"  # the second took the place of the first
    CONTRADICTS = "contradicts"


class ClaimNode(Protocol):
    """A `ClaimInfo`, or a view of one."""

    @property
    def claim_id(self) -> PageId: ...
    @property
    def status(self) -> str: ...
    @property
    def closed_by(self) -> PageId: ...
    @property
    def derived_from(self) -> tuple[PageId, ...]: ...
    @property
    def contradicts(self) -> tuple[PageId, ...]: ...


@dataclass(frozen=True, slots=True)
class ClaimEdge:
    source: PageId
    target: PageId
    kind: EdgeKind


@dataclass(frozen=True, slots=True)
class Branch:
    """A claim in a tree. `is_again`: its branches were listed before."""

    claim_id: PageId
    depth: int
    is_again: bool


@dataclass(frozen=True, slots=True)
class ClaimPlace:
    """A claim's column and row in a plan."""

    claim_id: PageId
    column: int
    row: int


@dataclass(frozen=True, slots=True)
class ClaimPlan:
    """The places of claims that have edges, and the edges. `left_out` counts the claims for which
    there was no room.
    """

    places: tuple[ClaimPlace, ...]
    edges: tuple[ClaimEdge, ...]
    left_out: int


def edges_of(claims: Sequence[ClaimNode]) -> list[ClaimEdge]:
    """Every edge between these claims."""
    known = {one.claim_id: number for number, one in enumerate(claims)}
    edges = []
    for number, one in enumerate(claims):
        before = [(source, EdgeKind.SUPPORTS) for source in one.derived_from if source in known]
        before += [  # both name each other
            (other, EdgeKind.CONTRADICTS)
            for other in one.contradicts
            if known.get(other, number) < number
        ]
        edges += [ClaimEdge(other, one.claim_id, kind) for other, kind in before]
        if one.closed_by in known:
            edges.append(ClaimEdge(one.claim_id, one.closed_by, EdgeKind.REPLACED))
    return edges


def descendants(edges: Sequence[ClaimEdge], claim_id: PageId) -> list[PageId]:
    """The claims that rest on a claim, at any depth, nearest first."""
    below = _below(edges, (EdgeKind.SUPPORTS,))
    found: dict[PageId, None] = {}
    queue = list(below.get(claim_id, ()))
    for one in queue:  # grows while it is read
        if one not in found and one != claim_id:
            found[one] = None
            queue += below.get(one, ())
    return list(found)


def tree(claims: Sequence[ClaimNode]) -> Iterator[Branch]:
    """Each claim below those it was derived from, in the given order."""
    below = _below(edges_of(claims), (EdgeKind.SUPPORTS,))
    rooted = {one for each in below.values() for one in each}
    every = [one.claim_id for one in claims]
    shown: set[PageId] = set()
    # Claims without a source first, then the rest, which are in cycles.
    for root in [one for one in every if one not in rooted] + every:
        waiting = [] if root in shown else [(root, 0)]
        while waiting:
            claim_id, depth = waiting.pop()
            yield Branch(claim_id, depth, claim_id in shown)
            if claim_id not in shown:
                shown.add(claim_id)
                waiting += [(one, depth + 1) for one in reversed(below.get(claim_id, ()))]


def plan(claims: Sequence[ClaimNode], *, most: int = DRAWN) -> ClaimPlan:
    """The layout of claims that have edges; of too many, the last `most`."""
    every = edges_of(claims)
    tied = {one for edge in every for one in (edge.source, edge.target)}
    drawn = [one.claim_id for one in claims if one.claim_id in tied][-most:]
    edges = [one for one in every if one.source in set(drawn) and one.target in set(drawn)]
    below = _below(edges, (EdgeKind.SUPPORTS, EdgeKind.REPLACED))
    columns = _columns(drawn, below)
    places: dict[PageId, ClaimPlace] = {}
    rows = 0
    for root in sorted(drawn, key=lambda one: columns[one]):
        waiting = [] if root in places else [(root, -1)]
        while waiting:  # the first child is in its parent's row, each other in a new one
            claim_id, row = waiting.pop()
            if claim_id in places:
                continue
            if row < 0:
                row, rows = rows, rows + 1
            places[claim_id] = ClaimPlace(claim_id, columns[claim_id], row)
            beside = [one for one in below.get(claim_id, ()) if one not in places]
            waiting += [(one, -1) for one in reversed(beside[1:])]
            waiting += [(one, row) for one in beside[:1] if columns[one] > columns[claim_id]]
    return ClaimPlan(tuple(places.values()), tuple(edges), len(tied) - len(drawn))


def _below(edges: Sequence[ClaimEdge], kinds: Collection[EdgeKind]) -> dict[PageId, list[PageId]]:
    found: dict[PageId, list[PageId]] = {}
    for edge in edges:
        if edge.kind in kinds:
            found.setdefault(edge.source, []).append(edge.target)
    return found


def _columns(
    claims: Sequence[PageId], below: Mapping[PageId, Sequence[PageId]]
) -> dict[PageId, int]:
    """For each claim the length of the longest path to it, ignoring edges that lead back (Kahn's
    algorithm; a cycle is entered at its oldest claim).
    """
    waits_for = dict.fromkeys(claims, 0)
    for each in below.values():
        for one in each:
            waits_for[one] += 1
    columns = dict.fromkeys(claims, 0)
    waiting, done = list(claims), set[PageId]()
    while waiting:
        claim_id = next((one for one in waiting if not waits_for[one]), waiting[0])
        waiting.remove(claim_id)
        done.add(claim_id)
        for one in below.get(claim_id, ()):
            if one not in done:
                waits_for[one] -= 1
                columns[one] = max(columns[one], columns[claim_id] + 1)
    return columns
