"""Conversations without an id: a request belongs to the session that has exactly its history.

Two people's conversations may begin alike, even under one key. So a session belongs to one history,
word for word: a request that continues it to the letter belongs to it, and one that differs
anywhere begins another, with all that its client sent. If somebody is taken for somebody else, he
has sent the very same up to there, and nothing can be quoted to him but what he sent himself. An
edit, a cut or a rewind begins a new session: that costs bytes, and only without an id.

Invariants:
 (1) A session is claimed for one continuation before anything is awaited: a second one that differs
     does not find it.
 (2) An answer joins a session only if nothing but its request was said there since.
 (3) Histories are kept as digests under a secret of this process.
"""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Final

from pagefault.proxy.history.history import Item

CHAINS_MAX: Final = 10_000  # known at once; the history of another is logged anew
LOOKED_THROUGH_MAX: Final = 200
"""Sessions of others, or of an earlier run, that one request is compared with, the newest. The
index is asked, at 0.3 to 0.5 ms for each (2 busy cores), and nothing else waits for that.
"""


@dataclass(slots=True, eq=False)
class Chain:
    """A session and its history, as it was last asked and with the answer."""

    name: str
    asked: bytes
    end: bytes


class Chains:
    """Finds the session of a history. Pure but for `look`, which asks the memory."""

    def __init__(self, secret: bytes, *, chains_max: int = CHAINS_MAX) -> None:
        self._secret = secret
        self._chains_max = chains_max
        self._chains: OrderedDict[bytes, Chain] = OrderedDict()  # by `asked` and by `end`
        self._ours: set[str] = set()  # sessions begun or taken here, found by their chains alone
        self._others: dict[str, list[str]] | None = None

    async def take(
        self,
        whose: str,
        items: Sequence[Item],
        *,
        begin: Callable[[], str],
        others: Callable[[], Awaitable[dict[str, list[str]]]],
        look: Callable[[Sequence[str]], Awaitable[str]],
    ) -> Chain:
        """The chain of a request, which from now on ends with it. `whose` separates requests that
        can never share a session. `begin` names a new session. `others` lists all sessions, by
        `whose`, newest first: also those that an earlier run left, or that another process wrote.
        `look` returns the one of these that says nothing but the beginning of the request.
        """
        steps = self._steps(whose, items)
        found = self._claimed(steps)
        if found is not None:
            return found
        listed = (await self._listed(others, again=len(items) > 1)).get(whose, [])
        while True:  # others look too; the first to return claims what it found
            names = [name for name in listed if name not in self._ours]
            name = await look(names[:LOOKED_THROUGH_MAX]) if names else ""
            found = self._claimed(steps)
            if found is not None:
                return found
            if name not in self._ours:
                break
        chain = Chain(name or begin(), steps[-1], steps[-1])
        self._ours.add(chain.name)
        self._put(chain)
        return chain

    async def _listed(
        self, others: Callable[[], Awaitable[dict[str, list[str]]]], *, again: bool
    ) -> dict[str, list[str]]:
        """The sessions by whose they are, listed `again` if the request continues something, which
        another process may have begun since. A first message can begin a session of its own.
        """
        if self._others is None or again:
            self._others = await others()
        return self._others

    def asked(self, whose: str, items: Sequence[Item]) -> bytes:
        """The mark of a request, for `answered`."""
        return self._steps(whose, items)[-1]

    def find(self, whose: str, items: Sequence[Item]) -> Chain | None:
        """The chain that ends with these items, or did before its answer. Claims nothing."""
        steps = self._steps(whose, items)
        return self._chains.get(steps[-1]) if steps else None

    def answered(self, chain: Chain, asked: bytes, items: Sequence[Item]) -> bool:
        """Whether an answer joins its chain, whose end it then is."""
        if chain.end != asked or chain.asked != asked:
            return False
        for item in items:
            chain.end = self._step(chain.end, item)
        self._put(chain)
        return True

    def _claimed(self, steps: Sequence[bytes]) -> Chain | None:
        chain = self._chains.get(steps[-1])
        if chain is not None:  # sent again
            if chain.end == steps[-1]:
                self._chains.pop(chain.asked, None)
                chain.asked = chain.end
            self._put(chain)
            return chain
        for step in reversed(steps[:-1]):
            chain = self._chains.get(step)
            if chain is not None and chain.end == step:
                self._chains.pop(chain.asked, None)
                self._chains.pop(chain.end, None)
                chain.asked = chain.end = steps[-1]
                self._put(chain)
                return chain
        return None

    def _put(self, chain: Chain) -> None:
        for step in (chain.asked, chain.end):
            self._chains[step] = chain
            self._chains.move_to_end(step)
        while len(self._chains) > 2 * self._chains_max:
            self._chains.popitem(last=False)

    def _steps(self, whose: str, items: Sequence[Item]) -> list[bytes]:
        step = hashlib.blake2b(whose.encode("utf-8", "surrogatepass"), key=self._secret).digest()
        steps = []
        for item in items:
            step = self._step(step, item)
            steps.append(step)
        return steps

    def _step(self, before: bytes, item: Item) -> bytes:
        return hashlib.blake2b(before + item.exact, key=self._secret, digest_size=32).digest()
