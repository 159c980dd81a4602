"""What the engine speaks of: items of a conversation, slots of a request, the state of a window.

An *item* is one thing that was said: a message, a call, its result, reasoning, media, or something
that nobody here can read. A *slot* is an item, or something we put in, in the form in which a
request shows it. A *window* is the state: which form everything has, from one epoch to the next.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Final

from pagefault.model.kinds import ItemKind

FRONT: Final = "front"
"""The anchor of what stands before everything else."""


class Form(IntEnum):
    """How much of itself a slot shows: each less than the one before."""

    WHOLE = 0
    REDUCED = 1
    ABSTRACT = 2
    REFERENCE = 3
    STUB = 4  # that there was something, how much, and how it began
    ABSENT = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """One item of a conversation, as far as the engine needs to know it.

    `opens` says that a turn begins with it: every item of a user's message does, the results of the
    turn before that stand in it too. `before` are the ids of what is put in in front of it, and
    `kept` whether the memory has it, so that a request may show less of it.
    """

    id: str
    kind: ItemKind
    is_models: bool = False  # said by the model, which has seen what stands before it
    opens: bool = False
    call: str = ""  # of a call and of its result: what names them both
    before: tuple[str, ...] = ()
    kept: bool = True
    is_text: bool = True  # and the memory has all of it, so that a stub can stand for it
    pinned: bool = False  # whoever pinned it wants to see it whole, wherever it stands
    binds: bool = False  # it holds signed thinking, which is bound to the turn before it


@dataclass(frozen=True, slots=True)
class Slot:
    """`anchor` is "" for an item in its own place, else the item it stands before, or FRONT."""

    id: str
    form: Form = Form.WHOLE
    anchor: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """The state at a node of the tree of histories, from one epoch to the next; a value.

    A request shows what is in `front`, and then every item from `first` on, each whole unless
    `forms` says less. What is new is appended, which changes no window: so all nodes up to the next
    epoch have the same one, a retry and a branch between two epochs as well.
    """

    epoch: str = ""  # the id of the node with which it began; "" before the first
    first: str = ""  # "" from the very beginning
    front: tuple[str, ...] = ()
    forms: Mapping[str, Form] = field(default_factory=dict)


WHOLE_CONVERSATION: Final = Window()
