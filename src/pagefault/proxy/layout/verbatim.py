"""The client-verbatim renderer: a request is made of the client's own messages, byte for byte.

What was sent once is kept and sent again as it was, whatever the client does to it meanwhile:
clients rewrite reminders, blank old results, and drop thinking. Everything is kept by position in
the tree of histories, so a retry, a branch or a side request gets the same bytes as before, without
special cases. One request on its way out is an `Outgoing`.

Invariants, true after any `compose`:
 (1) Without an epoch between, and unless the client itself changed what it had said, the messages
     of a longer path begin with those of a shorter one.
 (2) A result is sent with its call or not at all, and the newest message is whole.
 (3) At most as many cache marks as the client set are sent.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final

from pagefault.pack.count import TokenCounter
from pagefault.proxy.history.history import History, Json
from pagefault.proxy.history.trie import Match, Node
from pagefault.proxy.layout.beginning import Beginning
from pagefault.proxy.layout.outgoing import Composed, Outgoing
from pagefault.proxy.layout.places import SentMessage
from pagefault.proxy.layout.weights import Weights
from pagefault.proxy.wires.wire import Wire
from pagefault.window.law import Law
from pagefault.window.tree import Windows

LEARNED_FROM_TOKENS: Final = 500  # a smaller request tells little about how a provider counts
SENT_MAX: Final = 4_096  # messages that were sent; a request has some hundreds
FACTOR_MAX: Final = 2.0  # more means that it counted something else as well


class Verbatim:
    """What was sent of one conversation. `window_tokens` 0 lets everything through.

    With `keeps` off, a request is made only of what the client sends now: whose words they are is
    known from nothing but their being the same.
    """

    law = Law()

    def __init__(
        self, wire: Wire, counter: TokenCounter, window_tokens: int, *, keeps: bool = True
    ) -> None:
        self.wire = wire
        self.keeps = keeps
        self.window_tokens = window_tokens
        self.factor = 1.0  # the provider's count over ours
        self._counter = counter
        self.weights = Weights(counter)
        self.windows = Windows()
        self.inserts: dict[str, str] = {}  # by the key of a turn's opening node
        self.cores: dict[str, str] = {}  # by the epoch: what holds and is said only in what left
        self.sent: dict[str, SentMessage] = {}
        self.lead: dict[str, list[Any]] = {}
        self.told: set[str] = set()  # reminders, by their digests
        self.notices: dict[str, str] = {}  # of epochs, if they name pages
        self.earlier: dict[str, Any] = {}  # messages of an earlier run, until a request has them
        self.beginning = Beginning()  # of the newest request
        self.changes = 0  # times that something sent was made anew, put in or taken back
        self._model: Any = None
        self._earlier_model = ""

    def outgoing(
        self,
        body: Json,
        history: History,
        match: Match,
        *,
        is_kept: Callable[[Node], bool] = lambda node: True,
        is_said: Callable[[Node], bool] = lambda node: True,
        is_pinned: Callable[[Node], bool] = lambda node: False,
        pages_of: Callable[[Node], Sequence[str]] | None = None,
        state: object = None,
    ) -> Outgoing:
        """A request on its way out. `is_kept` says whether a node's present words were logged, or
        need not be; `is_said` whether a page has them; `is_pinned` whether somebody pinned them.
        `pages_of` returns the pages of a node, if the request offers a tool that takes their ids.
        As long as `state` is equal, these return the same for what was kept; None promises nothing.
        """
        model = self.wire.model(body)
        if model != self._model:  # another has no cache, and may refuse thinking
            self.sent, self.lead, self._model = {}, {}, model
            self.changes += 1
            if str(model or "") != self._earlier_model:
                self.earlier = {}
        return Outgoing(
            *(self, body, history, match),
            is_kept=is_kept,
            is_said=is_said,
            is_pinned=is_pinned,
            pages_of=pages_of,
            state=state,
        )

    def resume(self, model: str, earlier: dict[str, Any]) -> None:
        """Let the next requests to this model send the messages of an earlier run, given by the
        keys of their last nodes, as that run sent them. A resumed client spells its history
        differently, and leaves old thinking out.
        """
        self._earlier_model, self.earlier = model, earlier if self.keeps else {}

    def plain(self) -> Verbatim:
        """The renderer for a request that may not name memory's tools: it uses what the client says
        now, with the same epochs and quotes.
        """
        other = Verbatim(self.wire, self._counter, self.window_tokens, keeps=self.keeps)
        other.factor, other.windows, other.weights = self.factor, self.windows, self.weights
        other.inserts, other.cores, other.told = self.inserts, self.cores, self.told
        return other

    def put_in(self, key: str, quoted: str) -> None:
        """Put a quote before the message that opens a turn. It is made anew if it was sent with
        another.
        """
        if self.inserts.get(key) != quoted:
            self.inserts[key] = quoted
            self.unsend([key])

    def take_out(self, key: str) -> None:
        """Put nothing before this message after all."""
        self.inserts.pop(key, None)  # nothing was put in if its pages were forgotten meanwhile
        self.unsend([key])

    def put_in_front(self, epoch: str, quoted: str) -> None:
        """Put a quote after the notice of an epoch."""
        self.cores[epoch] = quoted
        self.changes += 1

    def unsend(self, keys: Iterable[str]) -> None:
        """Make the messages that end with these nodes anew from what the client says."""
        for key in keys:
            self.earlier.pop(key, None)
            if self.sent.pop(key, None) is not None:
                self.changes += 1

    def let_go(self, path: Sequence[Node]) -> None:
        """Let go of what was sent and stands no more in the newest request, once that is most of
        it: a client compacts again and again. If it goes back behind that, its messages are made
        anew of what it says, as after a restart.
        """
        if len(self.sent) > max(SENT_MAX, 2 * len(path)):
            here = {node.key for node in path}
            self.sent = {key: one for key, one in self.sent.items() if key in here}

    def unquote(self) -> None:
        """Drop all quotes, because something was forgotten; what is still there is quoted anew. All
        messages are then made from what the client says, as after a restart.
        """
        self.inserts.clear()
        self.cores.clear()
        self.notices.clear()
        self.sent.clear()
        self.earlier.clear()
        self.changes += 1

    def observe(self, composed: Composed, reported_tokens: int) -> None:
        """Learn how a provider counts, if it counts more than we do. It affects what fits, never
        what was sent.
        """
        ours = composed.tokens / composed.factor
        if reported_tokens and ours >= LEARNED_FROM_TOKENS:
            self.factor = min(FACTOR_MAX, max(1.0, reported_tokens / ours))
