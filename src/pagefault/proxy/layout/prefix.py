"""How much of a request is that of the one before it: what a provider's cache can find again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile
from operator import eq
from typing import Any, Final

from pagefault.proxy.history.history import History, Json, in_common, unmarked
from pagefault.proxy.layout.weights import Weights
from pagefault.proxy.wires.wire import Wire

BESIDE: Final = 2  # that are weighed before the messages: tools, instructions


@dataclass(frozen=True, slots=True)
class Again:
    """What a request has at its beginning of the one before it: so many whole messages, and of the
    next one so many blocks.
    """

    messages: int = 0
    blocks: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Weighed:
    """A request beside the one before it; tokens by our count."""

    tokens: int
    before: int  # tokens of the request before; -1 for the first
    shared: int  # tokens at its beginning that are those of the request before
    has_another_model: bool = False
    has_another_head: bool = False  # tools, or instructions before the conversation


class Prefix:
    """Of the requests of one conversation, the one that was sent last."""

    def __init__(self, wire: Wire, weights: Weights) -> None:
        self._wire = wire
        self._weights = weights
        self._before: _Sent | None = None
        self.again = Again()  # of the newest

    def weigh(self, body: Json, history: History, messages: Sequence[Any]) -> Weighed:
        """What is sent, beside what was sent before it, which from now on is this."""
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
            model=self._wire.model(body),
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
    """A request that was sent: digests of its tools, its head and each message, without marks, and
    how many tokens it has up to there.
    """

    model: Any
    messages: Sequence[Any]
    keys: Sequence[str]
    sums: Sequence[int]
    head: int  # of the keys, how many stand before the conversation

    def shared_with(self, now: _Sent, content: str) -> tuple[int, int]:
        """How many of these stand at the beginning of `now`, and how many blocks that the last of
        these had as its `content`, where the next one is that with more behind.
        """
        same = sum(takewhile(bool, map(eq, self.keys, now.keys)))
        if same == len(self.keys) - 1 and BESIDE <= same < len(now.keys):
            last, other = unmarked(self.messages[-1]), unmarked(now.messages[same - BESIDE])
            if _goes_on(last, other, content):
                return same, len(last[content])
        return same, 0


def _goes_on(before: Any, now: Any, content: str) -> bool:
    """Whether a message is another with more blocks behind."""
    if not isinstance(before, Mapping) or not isinstance(now, Mapping):
        return False
    ours, theirs = before.get(content), now.get(content)
    if not isinstance(ours, list) or not isinstance(theirs, list):
        return False
    return before.get("role") == now.get("role") and theirs[: len(ours)] == ours
