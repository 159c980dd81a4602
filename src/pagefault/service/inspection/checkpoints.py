"""Checkpoints of a session: points named by a person, read from the log. Blocks on the store."""

from __future__ import annotations

from dataclasses import dataclass

from pagefault.model.errors import BadInput
from pagefault.model.events import Checkpointed
from pagefault.model.ids import Seq, TurnNo
from pagefault.model.page import Scope
from pagefault.service.restore import records
from pagefault.service.runtime import Runtime


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkpoint:
    """A named point: `seq` is the record that names it. A fork has those of its ancestors too."""

    name: str
    seq: Seq
    turn: TurnNo
    at_ms: int
    pages: int
    epoch: int


def checkpoints(runtime: Runtime, scope: Scope) -> list[Checkpoint]:
    """Every checkpoint that a session can see, oldest first."""
    return [
        Checkpoint(
            name=event.body.name,
            seq=event.seq,
            turn=event.turn,
            at_ms=event.at_ms,
            pages=event.body.pages,
            epoch=event.body.epoch,
        )
        for event in records(runtime, scope, types=("checkpointed",))
        if isinstance(event.body, Checkpointed)
    ]


def find_checkpoint(runtime: Runtime, scope: Scope, name: str) -> Seq:
    """The record of the checkpoint with that name. Raises `BadInput`."""
    made = checkpoints(runtime, scope)
    for one in reversed(made):
        if one.name == name:
            return one.seq
    raise BadInput(
        f"there is no checkpoint {name!r}",
        hint=f"there are {', '.join(one.name for one in made)}"
        if made
        else "`Session.checkpoint` makes one",
    )


def check_new(runtime: Runtime, scope: Scope, name: str) -> None:
    """Raise `BadInput` if a checkpoint has that name already: it would be ambiguous."""
    for one in checkpoints(runtime, scope):
        if one.name == name:
            raise BadInput(
                f"checkpoint {name!r} already exists, of turn {one.turn} (record {one.seq:,})",
                hint="choose another name; names are never reused",
            )
