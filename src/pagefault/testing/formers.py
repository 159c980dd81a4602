"""A former that is no model: what it proposes was written beforehand, by whoever tests with it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from pagefault.engine.former import FormationRequest, Proposal, Proposals
from pagefault.model.kinds import FormerKind


@dataclass(frozen=True, slots=True)
class ScriptedFormer:
    """Proposes what `script` says of a range. It stands for a model in tests and benches, and is
    named as what it is in every record that comes of it.
    """

    script: Callable[[FormationRequest], Sequence[Proposal]]
    reads_window: bool = False
    kind: FormerKind = FormerKind.SCRIPTED

    def tokens(self, given: FormationRequest) -> int:
        return 0

    async def form(self, given: FormationRequest) -> Proposals:
        return Proposals(proposals=tuple(self.script(given)))
