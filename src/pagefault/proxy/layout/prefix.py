"""The common prefix of successive requests: what a provider's cache can find again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile
from operator import eq
from typing import Any, Final

from pagefault.proxy.history.history import History, Json, in_common, unmarked
from pagefault.proxy.layout.weights import Weights
from pagefault.proxy.wires.wire import Wire

BESIDE: Final = 2  # weighed before the messages: tools, instructions


@dataclass(frozen=True, slots=True)
class Again:
    """The prefix shared with the request before: whole messages, and blocks of the next one."""

    messages: int = 0
    blocks: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Weighed:
    """A request compared with the one before it; tokens by our count."""

    tokens: int
    before: int  # tokens of the request before; -1 for the first
    shared: int  # tokens of the common prefix
    has_another_model: bool = False
    has_another_head: bool = False  # tools, or instructions before the conversation


class Prefix:
    """The last request sent in a conversation."""

    def __init__(self, wire: Wire, weights: Weights) -> None:
        self._wire = wire
        self._weights = weights
        self._before: _Sent | None = None
        self.again = Again()  # of the newest

    def weigh(
        self, body: Json, history: History, messages: Sequence[Any], *, model: str
    ) -> Weighed:
        """Compare a request to a model with the one before it. It becomes the last one sent."""
        before, known, weights = self._before, self._weights.known, self._weights
        same = in_common(before.messages, messages) if before is not None else 0
        bare = list(map(known.bare, messages[same:]))
        tools, head = known.bare(history.tools), list(map(known.bare, self._wire.head(body)))
        keys = [known.of(tools).key, " ".join(known.of(one).key for one in head)]
        sums = [weights.of(tools)]
        sums.append(sums[0] + (weights.of_parts(head) if head else 0))
        if before is not None:
            keys += before.keys[BESIDE : BESIDE + same]
            moved = sums[1] - before.sums[1]
            sums += [one + moved for one in before.sums[BESIDE : BESIDE + same]]
        for one in bare:
            keys.append(known.of(one).key)
            sums.append(sums[-1] + weights.of(one))
        placed = history.placed
        now = _Sent(
            model=model,
            messages=messages,
            keys=keys,
            sums=sums,
            head=BESIDE + (placed[0].message if placed else len(messages)),
        )
        self._before = now
        if before is None:
            return Weighed(tokens=now.sums[-1], before=-1, shared=0)
        other = before.model != now.model
        same, blocks = (0, 0) if other else before.shared_with(now, self._wire.content)
        self.again = Again(max(0, same - BESIDE), blocks)
        upto = same + bool(blocks)
        return Weighed(
            tokens=now.sums[-1],
            before=before.sums[-1],
            shared=before.sums[upto - 1] if upto else 0,
            has_another_model=other,
            has_another_head=before.keys[: before.head] != now.keys[: now.head],
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Sent:
    """A request that was sent: digests of its tools, its head and each message, without marks, with
    the tokens up to each.
    """

    model: str
    messages: Sequence[Any]
    keys: Sequence[str]
    sums: Sequence[int]
    head: int  # how many of the keys are before the conversation

    def shared_with(self, now: _Sent, content: str) -> tuple[int, int]:
        """How many of these `now` begins with, and how many blocks of `content` the last of these
        had, if the next message is that one with more blocks.
        """
        same = sum(takewhile(bool, map(eq, self.keys, now.keys)))
        if same == len(self.keys) - 1 and BESIDE <= same < len(now.keys):
            last, other = unmarked(self.messages[-1]), unmarked(now.messages[same - BESIDE])
            if _goes_on(last, other, content):
                return same, len(last[content])
        return same, 0


def _goes_on(before: Any, now: Any, content: str) -> bool:
    """Whether a message is another one with more blocks."""
    if not isinstance(before, Mapping) or not isinstance(now, Mapping):
        return False
    ours, theirs = before.get(content), now.get(content)
    if not isinstance(ours, list) or not isinstance(theirs, list):
        return False
    return before.get("role") == now.get("role") and theirs[: len(ours)] == ours
