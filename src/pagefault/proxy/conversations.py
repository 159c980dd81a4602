"""The conversations of a proxy, and the one that a request belongs to.

A conversation belongs to one principal. A request says which it is by an id (`client.py`), or it is
recognised by its history, word for word (`unnamed.py`).
"""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Callable, Iterator, Sequence

from pagefault.model.clock import Clock
from pagefault.pack.count import TokenCounter
from pagefault.proxy.canary import WINDOW, is_operators
from pagefault.proxy.conversation.conversation import Conversation
from pagefault.proxy.conversation.passed import Window
from pagefault.proxy.history.history import History, Json
from pagefault.proxy.history.item_keys import keys_of
from pagefault.proxy.http.admission import Head
from pagefault.proxy.http.client import UNNAMED, recognise
from pagefault.proxy.kept import let_go
from pagefault.proxy.unnamed import Chain, Chains
from pagefault.proxy.wires.wire import Answered, Unreadable, Wire
from pagefault.service.memory import Memory
from pagefault.service.turn.turn import encodable


class Conversations:
    """For one proxy. `mint` names conversations without an id; `secret` keys what is remembered of
    these.
    """

    def __init__(
        self,
        memory: Memory,
        *,
        counter: TokenCounter,
        clock: Clock,
        window_tokens: int,
        faults: bool | None,
        mint: Callable[[], str],
        secret: bytes,
    ) -> None:
        self._memory = memory
        self._counter = counter
        self._clock = clock
        self._window_tokens = window_tokens
        self._faults = faults
        self._mint = mint
        self._chains = Chains(secret)
        self._cached: OrderedDict[str, Conversation] = OrderedDict()
        self.under_way: Counter[str] = Counter()  # requests that are not answered yet, by name

    def __len__(self) -> int:
        return len(self._cached)

    def __iter__(self) -> Iterator[Conversation]:
        return iter(self._cached.values())

    async def find(
        self, wire: Wire, head: Head, principal: str, document: Json, history: History
    ) -> tuple[Conversation, Chain | None, bytes]:
        """The conversation of a request; if it has no id, its chain and the request's mark in that.
        Raises `Unreadable` if nothing can be one.
        """
        keyed = self._memory.keyed
        lane = keyed(f"lane {encodable(history.lane)}")[:6]
        client = recognise(head.headers, document, head.named)
        if client is not None:
            name = client.session_name(lane, principal, keyed)
            told = client.key, name  # a name is made of parts of a key, and cut where it says whose
            if any(self._memory.written(one) != one for one in told):
                name = client.sealed_name(lane, principal, keyed)
            return self._conversation(name, wire), None, b""
        placed = history.placed
        of = f"{wire.name}:{lane}@{principal}"
        if placed and placed[-1].asks_for_summary:  # of a conversation, and no part of it
            chain = self._chains.find(of, placed[:-1])
            if chain is None:
                raise Unreadable("it sums up what is not known")
            return self._conversation(chain.name, wire, is_named=False), chain, b""
        if not placed:
            raise Unreadable("nothing is said")

        async def look(names: Sequence[str]) -> str:
            return await self._memory.find_said(names, keys_of(placed))

        chain = await self._chains.take(
            of,
            placed,
            begin=lambda: f"{UNNAMED}:{self._mint()}:{of}",
            others=self._unnamed,
            look=look,
        )
        mark = self._chains.asked(of, placed)
        return self._conversation(chain.name, wire, is_named=False), chain, mark

    def is_next(self, chain: Chain, mark: bytes, answered: Answered) -> bool:
        """Whether nothing was said in a chain since this request, whose answer then joins it."""
        return self._chains.answered(chain, mark, [item for item in answered.items if item.place])

    async def _unnamed(self) -> dict[str, list[str]]:
        """The sessions without an id, by whose they are."""
        found: dict[str, list[str]] = {}
        for name in await self._memory.session_names(f"{UNNAMED}:"):
            _, _, rest = name.partition(":")
            if rest.count(":") == 2:
                found.setdefault(rest.partition(":")[2], []).append(name)
        return found

    def _conversation(self, name: str, wire: Wire, *, is_named: bool = True) -> Conversation:
        key = f"{wire.name} {name}"
        found = self._cached.get(key)
        if found is None:
            found = self._cached[key] = Conversation(
                memory=self._memory,
                name=name,
                wire=wire,
                counter=self._counter,
                clock=self._clock,
                window_tokens=WINDOW if is_operators(name) else self._window_tokens,
                is_named=is_named,
                faults=self._faults,
            )
        self._cached.move_to_end(key)
        let_go(self._cached)
        return found

    def drop_canaries(self) -> None:
        """Drop the conversations by which the operator tried the proxy."""
        for key in [one for one in self._cached if is_operators(one)]:
            del self._cached[key]

    # --- gauges -------------------------------------------------------------------------------

    def windows(self) -> list[Window]:
        """The windows of cached conversations, without canaries."""
        named = self._cached.items()
        return [w for key, one in named if (w := one.window) and not is_operators(key)]

    def hot_percent(self) -> float:
        """The mean use of hot memory in cached conversations."""
        known = [share for one in self if (share := one.hot_percent) is not None]
        return sum(known) / len(known) if known else 0.0
