"""The engine's values: items of a conversation, slots of a request, the state of a window.

An *item* is one part of a conversation: a message, a call, its result, reasoning, media, or a block
of unknown format. A *slot* is an item, or something pagefault inserts, in the form that a request
shows. A *window* is the state: the form of each item, from one epoch to the next.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Final

from pagefault.model.construction import fast_init
from pagefault.model.kinds import ItemKind

FRONT: Final = "front"
"""The anchor of slots before all items."""


class Form(IntEnum):
    """How much a slot shows of its item: each form less than the one before."""

    WHOLE = 0
    REDUCED = 1
    ABSTRACT = 2
    REFERENCE = 3
    STUB = 4  # its size and its beginning
    ABSENT = 5


@fast_init
@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """One item of a conversation, as far as the engine needs to know it.

    `opens` marks items that open a turn: every item of a user's message does, including results of
    the turn before in the same message. `before` has the ids of insertions in front of it. `kept`
    says that the memory has the item, so that a request may show less of it.
    """

    id: str
    kind: ItemKind
    is_models: bool = False  # said by the model, which has seen everything before it
    opens: bool = False
    call: str = ""  # the id that a call and its result share
    answers: bool = False  # an opaque result of that call
    before: tuple[str, ...] = ()
    kept: bool = True
    is_text: bool = True  # and the memory has all of it, so that a stub can replace it
    pinned: bool = False  # shown whole, wherever it is
    binds: bool = False  # has signed thinking, which is bound to the turn before it


@dataclass(frozen=True, slots=True)
class Slot:
    """`anchor` is "" for an item in its own place, else the item that it precedes, or FRONT."""

    id: str
    form: Form = Form.WHOLE
    anchor: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """The state at a node of the tree of histories, from one epoch to the next; a value.

    A request shows `front`, and then every item from `first` on, each whole unless `forms` says
    less. Appending changes no window, so all nodes up to the next epoch share one, including
    retries and branches between two epochs.
    """

    epoch: str = ""  # the id of the node with which it began; "" before the first epoch
    first: str = ""  # "" means the beginning
    front: tuple[str, ...] = ()
    forms: Mapping[str, Form] = field(default_factory=dict)


WHOLE_CONVERSATION: Final = Window()
