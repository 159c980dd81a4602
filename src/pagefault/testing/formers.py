"""A scripted former: its proposals are written in advance by the test."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from pagefault.engine.former import FormationRequest, Proposal, Proposals
from pagefault.model.kinds import FormerKind


@dataclass(frozen=True, slots=True)
class ScriptedFormer:
    """Returns the proposals of `script` for a range. It stands in for a model in tests and benches,
    and every record that results names it as what it is.
    """

    script: Callable[[FormationRequest], Sequence[Proposal]]
    reads_window: bool = False
    kind: FormerKind = FormerKind.SCRIPTED

    def tokens(self, given: FormationRequest) -> int:
        return 0

    async def form(self, given: FormationRequest) -> Proposals:
        return Proposals(proposals=tuple(self.script(given)))
