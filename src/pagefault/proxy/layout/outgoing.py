"""One request as it is sent: the client's messages, without what left the window, with quotes and
notices.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import islice
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final

from pagefault.model.defaults import EPOCH_TARGET_SHARE, STUB_TARGET_SHARE
from pagefault.model.kinds import Role
from pagefault.proxy.history.history import History, Item, Json, Part, digest, reminders
from pagefault.proxy.history.trie import Match, Node
from pagefault.proxy.layout.beginning import Beginning
from pagefault.proxy.layout.places import (
    MessagePlace,
    SentMessage,
    find_places,
    says_the_same,
)
from pagefault.proxy.layout.wording import (
    GONE,
    GONE_OFFERED,
    NEWS,
    STUB,
    STUB_CHARS,
    STUB_LINES,
    STUB_OFFERED,
)
from pagefault.proxy.wires.marks import with_marks
from pagefault.proxy.wires.wire import Unreadable, instructs
from pagefault.window.engine import WhenFull, lay_out, step
from pagefault.window.slots import FRONT, Form, Slot, Window
from pagefault.window.slots import Item as WindowItem
from pagefault.window.turns import WholeTurns

if TYPE_CHECKING:
    from pagefault.proxy.layout.verbatim import Verbatim


@dataclass(frozen=True, slots=True, kw_only=True)
class Composed:
    """The messages to send. `tokens` is our count of the request, times the provider's factor."""

    messages: list[Any]
    tokens: int
    factor: float
    left_tokens: int = 0  # of turns that it does not show
    added_tokens: int = 0  # of what was put in, by our count
    hidden: tuple[Node, ...]  # what the conversation has and the request does not show
    epoch: str = ""  # why one began, or ""
    over: bool = False  # its mandatory content is larger than the window
    changed: bool = False  # whether the messages differ from the client's


class Outgoing:
    """The plan of a request, and the messages made from it. Also the renderer and scales of the
    plan.
    """

    def __init__(
        self,
        kept: Verbatim,
        body: Json,
        history: History,
        match: Match,
        *,
        is_kept: Callable[[Node], bool],
        is_said: Callable[[Node], bool],
        is_pinned: Callable[[Node], bool],
        pages_of: Callable[[Node], Sequence[str]] | None,
        state: object,
    ) -> None:
        self._kept = kept
        self._wire = kept.wire
        self._bare = kept.weights.known.bare
        self._history = history
        self._match = match
        self._is_kept = is_kept
        self._is_said = is_said
        self._is_pinned = is_pinned
        self._pages_of = pages_of
        self._state = state
        self._known = Beginning()
        if kept.keeps and kept.beginning.begins(history, match.path, state):
            self._known = kept.beginning
        begun = self._known
        self._places = find_places(self._wire, history, match.path, begun.places, len(begun.path))
        upto = self._places[0].number if self._places else len(history.messages)
        self._head = [*self._wire.head(body), *history.messages[:upto]]
        self._head_tokens = kept.weights.of_parts([history.tools, *self._head])
        self.path = match.path
        self._path = [node.key for node in reversed(match.path)]
        self.window: Window = kept.windows.at(self._path)
        self._epoch = ""  # why one began with this request
        self._laid: tuple[Beginning, Window | None, dict[str, Form]] = self._known, None, {}
        if kept.earlier:
            self._resume()

    def _resume(self) -> None:
        """Take messages of an earlier run as sent, in the form in which it sent them. Those
        that are not in this request, which may be one for a title, wait for one that has them.
        """
        kept, again, told = self._kept, set[int](), set[str]()
        here = [(one, kept.earlier.pop(one.node.key, None)) for one in self._places]
        if all(earlier is None for _, earlier in here):
            return
        known = {place.number for place, _ in here if place.node.key in kept.sent}
        edited = {self._match.path[at] for at in self._match.edited}
        for at, (place, earlier) in enumerate(here):
            if earlier is None or place.number in known or earlier == self._bare(place.message):
                continue
            # A provider wants the reasoning that came before an item of this id, which is the
            # client's to send, or to leave out with the id.
            if earlier.get("id") != place.message.get("id"):
                continue
            before = self._read_behind(self._calls_before(at), earlier)
            if before is None:
                continue
            number = len(before.messages) - 1
            items = [one for one in before.items if one.message == number]
            if not says_the_same([one for one in items if one.place], place.items):
                continue
            if not edited.isdisjoint(place.nodes) or any(map(_is_memorys, self._items_in(place))):
                continue
            again.add(place.number)
            told.update(digest(span) for one in items for span in reminders(one.text))
            kept.sent[place.node.key] = self._sent_first(place, before.messages[number])
        told.update(
            digest(span)
            for number, span in self._told(-1, len(self._history.messages))
            if number not in again and number not in known
        )
        kept.told |= told
        kept.changes += bool(again)

    def _calls_before(self, at: int) -> Sequence[Any]:
        """The message with the calls that this place answers: its results may name only these."""
        if not any(item.part is Part.RESULT for item in self._places[at].items):
            return ()
        calls = (one for one in reversed(self._places[:at]) if one.items[-1].part is Part.CALL)
        return [one.message for one in islice(calls, 1)]

    def _read_behind(self, calls: Sequence[Any], message: Any) -> History | None:
        try:
            return self._wire.read({self._wire.messages: [*calls, message]})
        except Unreadable:  # of another format
            return None

    def offer(self, tools: Sequence[Any], pages_of: Callable[[Node], Sequence[str]]) -> None:
        """Offer these tools from this request on, with which an epoch begins."""
        self._pages_of = pages_of
        self._head_tokens = self._kept.weights.of_parts([tools, *self._head])

    # --- what the engine decides ----------------------------------------------------------------

    def plan(self, spare_tokens: int = 0) -> str:
        """Begin an epoch if the request and `spare_tokens` do not fit. Returns why, or "".

        Only what memory has may leave: anything else would be lost.
        """
        kept = self._kept
        if not kept.window_tokens or not self._match.path:
            return ""
        window = kept.window_tokens / kept.factor
        if self.fits(spare_tokens):
            return ""  # `step` would decide the same
        choice = WholeTurns(
            law=kept.law,
            scales=self,
            target_tokens=window * EPOCH_TARGET_SHARE - spare_tokens,
            stub_target_tokens=window * STUB_TARGET_SHARE - spare_tokens,
            at=self._path[0],
            front=(self._path[0],),
        )
        self.window, plan = step(
            self.window,
            self._items,
            law=kept.law,
            renderer=self,
            schedule=WhenFull(room_tokens=window - spare_tokens),
            choice=choice,
        )
        if plan.epoch:
            kept.windows.begin(self.window)
        self._epoch = plan.epoch
        return plan.epoch

    def fits(self, spare_tokens: int = 0) -> bool:
        """Whether the request and `spare_tokens` fit the window as it is."""
        return self._tokens() <= self._kept.window_tokens / self._kept.factor - spare_tokens

    def free_tokens(self) -> int:
        """The tokens of the window that the planned request leaves free."""
        return int(self._kept.window_tokens / self._kept.factor) - self._tokens()

    @property
    def front(self) -> str:
        """The slot of the notice in front, which names its epoch; "" if there is none."""
        return next(iter(self.window.front), "")

    @property
    def has_new_front(self) -> bool:
        """Whether turns leave with this very request, with a notice."""
        return bool(self._epoch) and self.front == self._path[0]

    @property
    def _begun(self) -> Beginning:
        """The known beginning of the request; empty if it may differ."""
        names_pages = self._pages_of is not None
        if not self._known.is_of(self.window, self._kept.changes, names_pages=names_pages):
            self._known = Beginning(
                window=self.window, names_pages=names_pages, changes=self._kept.changes
            )
        return self._known

    @property
    def _rest(self) -> list[MessagePlace]:
        """The places after it."""
        return self._places[len(self._begun.places) :]

    def _forms(self) -> dict[str, Form]:
        """The forms of what the planned request does not show whole."""
        begun = self._begun
        known, window, less = self._laid
        if known is not begun or window is not self.window:
            slots = lay_out(self.window, self._items, self._kept.law, after=len(begun.items))
            less = begun.less | _less(slots)
            self._laid = begun, self.window, less
        return less

    @cached_property
    def _items(self) -> list[WindowItem]:
        return [*self._known.items, *self._items_of(self._places[len(self._known.places) :])]

    def _items_of(self, places: Sequence[MessagePlace]) -> Iterator[WindowItem]:
        for place in places:
            sent = self._kept.sent.get(place.node.key) if self._kept.keeps else None
            here = place.message if sent is None else sent.message  # what was sent stays as it was
            lead = place.lead if sent is None else sent.lead
            binds = any(map(self._wire.binds, (*lead, here)))
            for node, item in zip(place.nodes, place.items, strict=True):
                yield WindowItem(
                    id=node.key,
                    kind=item.kind,
                    is_models=item.role is Role.ASSISTANT,
                    opens=place.opens,
                    call=item.link,
                    answers=item.answers and bool(item.link),
                    kept=self._is_kept(node),
                    is_text=not item.sealed and self._is_said(node),
                    pinned=self._is_pinned(node),
                    binds=binds,
                )

    # --- what the request says ------------------------------------------------------------------

    def opening(self) -> Node | None:
        """The node of the message that opens the newest turn, if it comes last and was not sent
        before: the moment to recall.
        """
        node = self.turn()
        if node is None or node.key in self._kept.sent or node.key in self._kept.inserts:
            return None
        return node

    def turn(self) -> Node | None:
        """The same, whether it was sent before or not."""
        last = self._places[-1] if self._places else None
        return last.node if last is not None and last.opens else None

    def quoting(self) -> list[str]:
        """The keys of `inserts` that the planned request shows, in its order."""
        return [*self._begun.quoting, *self._quoting(self._rest, self._forms())]

    def _quoting(self, places: Sequence[MessagePlace], less: Mapping[str, Form]) -> Iterator[str]:
        for place in places:
            key = place.node.key
            if key in self._kept.inserts and less.get(key) is not Form.ABSENT:
                yield key

    def hidden(self) -> tuple[Node, ...]:
        """What the planned request does not show whole: turns that left, results whose calls left,
        stubs, and what the client compacted.
        """
        begun, forms, path = self._begun, self._forms(), self._match.path
        less = [node for node in path[len(begun.path) :] if node.key in forms]
        return (*begun.hidden, *less, *_compacted(path))

    def shown(self) -> list[Node]:
        """What the planned request shows whole."""
        less = self._forms()
        return [node for node in self._match.path if node.key not in less]

    @property
    def stubs(self) -> list[Node]:
        """The nodes that the window shows as stubs."""
        return [n for n in self._match.path if self.window.forms.get(n.key) is Form.STUB]

    # --- the renderer ---------------------------------------------------------------------------

    def weigh(self, slot: Slot) -> int:
        """The tokens of a notice in front; for an item, those of its message with everything else
        in it whole.
        """
        if slot.anchor == FRONT:
            return self._kept.weights.of(self._notice(slot.id))
        place, _ = self._found[slot.id]
        return self._weigh_place(place, _less([slot]))

    def measure(self, slots: Sequence[Slot]) -> int:
        less = _less(slots)
        front = [self._notice(slot.id) for slot in slots if slot.anchor == FRONT]
        return self._measured(front, (self._weigh_place(place, less) for place in self._places))

    def _tokens(self) -> int:
        """The tokens of the planned request."""
        begun, less = self._begun, self._forms()
        weights = (self._weigh_place(place, less) for place in self._rest)
        return begun.tokens + self._measured(map(self._notice, self.window.front), weights)

    def _measured(self, front: Iterable[str], weights: Iterable[int]) -> int:
        return self._head_tokens + self._kept.weights.of_all(front) + sum(weights)

    def compose(self) -> Composed:
        """The messages to send. From now on they count as sent."""
        kept, begun, rest, less = self._kept, self._begun, self._rest, self._forms()
        front = list(map(self._notice, self.window.front))
        edited = {self._match.path[at] for at in self._match.edited}
        news = self._news()
        sent = list(begun.sent) if begun.places else self._leading()
        made = _Made(sent, list(begun.stayed), begun.shows_any)
        lasting = self._lasting(rest)
        upto = made.copy()
        for number, place in enumerate(rest):
            if number == lasting:
                upto = made.copy()
            self._add(made, place, self._keep(place, edited, news), front, less)
        weights = [self._weigh_place(place, less) for place in rest]
        left = [self._weigh_left(place, less) for place in rest] if less else [0] * len(rest)
        quoting, hidden = self.quoting(), self.hidden()
        tokens = int((begun.tokens + self._measured(front, weights)) * kept.factor)
        marked = with_marks(made.sent, self._history.messages, kept.weights.known)
        composed = Composed(
            messages=marked,
            tokens=tokens,
            factor=kept.factor,
            left_tokens=begun.left_tokens + sum(left),
            added_tokens=kept.weights.of_all(front)
            + kept.weights.of_all(kept.inserts[key] for key in quoting),
            hidden=hidden,
            epoch=self._epoch,
            over=bool(kept.window_tokens) and tokens > kept.window_tokens,
            changed=marked != list(self._history.messages),
        )
        self._begin_so(rest[:lasting], upto, sum(weights[:lasting]), sum(left[:lasting]))
        kept.let_go(self._match.path)
        return composed

    def _add(
        self,
        made: _Made,
        place: MessagePlace,
        kept: SentMessage,
        front: Sequence[str],
        less: Mapping[str, Form],
    ) -> None:
        """Add a place to the request, in these forms."""
        if self._is_absent(place, less):
            made.stayed += self._instructions(place)
            return
        message = self._formed(kept.message, place, less)
        if not made.shows_any and front and place.opens:
            message = self._wire.with_text(message, "\n".join(front))
        lead = [one for one in kept.lead if one not in made.sent[-1:]]
        made.sent += [*lead, message, *made.stayed, *kept.gap]
        made.stayed, made.shows_any = [], True

    def _lasting(self, rest: Sequence[MessagePlace]) -> int:
        """How many of these places the next request will begin with unchanged: what follows the
        last is not known yet, nor what becomes of what memory does not have.
        """
        for number, place in enumerate(rest[:-1]):
            if not all(map(self._is_kept, place.nodes)):
                return number
        return max(0, len(rest) - 1)

    def _begin_so(
        self, places: Sequence[MessagePlace], made: _Made, tokens: int, left: int
    ) -> None:
        """Let the next request begin with these places, after those that this one began with."""
        kept, begun, less = self._kept, self._begun, self._forms()
        if not kept.keeps or self._state is None:
            return
        path = [node for place in places for node in place.nodes]
        items = self._items[len(begun.items) : len(begun.items) + len(path)]
        number = begun.places[-1].number if begun.places else -1
        told = self._told(number, places[-1].number if places else number)
        kept.beginning = Beginning(
            window=self.window,
            names_pages=self._pages_of is not None,
            changes=kept.changes,
            state=self._state,
            messages=self._history.messages,
            places=[*begun.places, *places],
            path=[*begun.path, *path],
            items=[*begun.items, *items],
            less=begun.less | {node.key: less[node.key] for node in path if node.key in less},
            hidden=[*begun.hidden, *(node for node in path if node.key in less)],
            quoting=[*begun.quoting, *self._quoting(places, less)],
            reminders=[*begun.reminders, *(span for _, span in told)],
            tokens=begun.tokens + tokens,
            left_tokens=begun.left_tokens + left,
            sent=made.sent,
            stayed=made.stayed,
            shows_any=made.shows_any,
        )

    def _notice(self, slot: str) -> str:
        """The text before the first message shown, if others left."""
        core = self._kept.cores.get(slot)
        gone = self._gone(slot)
        return gone if core is None else f"{gone}\n{core}"

    def _gone(self, slot: str) -> str:
        """The notice that something is not shown; with page ids, if a tool takes them."""
        if self._pages_of is None:
            return GONE
        known = self._kept.notices.get(slot)
        if known is not None:
            return known
        keys = [node.key for node in self._match.path]
        upto = keys.index(self.window.first) if self.window.first in keys else 0
        pages = [page for node in self._match.path[:upto] for page in self._pages_of(node)]
        told = GONE_OFFERED.format(pages=_named(pages)) if pages else GONE
        if slot in self.window.front:  # not of an epoch that is only being weighed
            self._kept.notices[slot] = told
        return told

    @staticmethod
    def _is_absent(place: MessagePlace, less: Mapping[str, Form]) -> bool:
        *others, last = place.nodes
        if less.get(last.key) is not Form.ABSENT:
            return False
        return not others or all(less.get(node.key) is Form.ABSENT for node in others)

    @cached_property
    def _found(self) -> dict[str, tuple[MessagePlace, Item]]:
        return {
            node.key: (place, item)
            for place in self._places
            for node, item in zip(place.nodes, place.items, strict=True)
        }

    def _formed(self, message: Any, place: MessagePlace, less: Mapping[str, Form]) -> Any:
        """A message with its results in these forms. Its other items are whole."""
        absent = set()
        for node, item in zip(place.nodes, place.items, strict=True):
            form = less.get(node.key)
            if form is Form.ABSENT:
                absent.add(item.call_id)
            elif form is Form.STUB:
                stub = partial(self._stub, node)
                message = self._wire.with_result(message, item.call_id, stub)
        if absent:  # memory's calls made beside these left with them
            items = self._items_in(place)
            absent |= {item.call_id for item in items if _is_memorys(item)}
        return self._wire.without_results(message, absent) if absent else message

    def _items_in(self, place: MessagePlace) -> Sequence[Item]:
        """All items of its message, with those that have no place."""
        items = self._history.items
        begin = bisect_left(items, place.number, key=_number)
        return items[begin : bisect_left(items, place.number + 1, lo=begin, key=_number)]

    def _stub(self, node: Node, text: str) -> str:
        """The stub of a result: its size, its beginning and, if a tool takes it, its page id."""
        begins = "\n".join(text[:STUB_CHARS].splitlines()[:STUB_LINES])
        rest = "…" if len(begins) < len(text.rstrip()) else ""
        tokens = self._kept.weights.of_part(text)
        pages = self._pages_of(node) if self._pages_of is not None else ()
        if pages:
            return STUB_OFFERED.format(tokens=tokens, pages=_named(pages)) + begins + rest
        return STUB.format(tokens=tokens) + begins + rest

    def _now(self, place: MessagePlace) -> Any:
        """A message as it would be sent whole."""
        sent = self._kept.sent.get(place.node.key) if self._kept.keeps else None
        return self._bare(place.message) if sent is None else sent.message

    # --- what was sent before -------------------------------------------------------------------

    def _leading(self) -> list[Any]:
        """The messages before the first place: instructions as they are now, the rest as first
        sent.
        """
        upto = self._places[0].number if self._places else len(self._history.messages)
        now = [self._bare(message) for message in self._history.messages[:upto]]
        if not self._kept.keeps:
            return now
        key = self._places[0].nodes[0].key if self._places else ""
        first = self._kept.lead.setdefault(key, now)
        if [m.get("role") for m in first] != [m.get("role") for m in now]:
            return now
        return [
            n if instructs(n) and _without_id(n) != _without_id(f) else f
            for f, n in zip(first, now, strict=True)
        ]

    def _keep(self, place: MessagePlace, edited: Set[Node], news: list[str]) -> SentMessage:
        """The message of a place as it is sent now, or was sent before."""
        kept, is_last = self._kept, place is self._places[-1]
        sent = kept.sent.get(place.node.key)
        is_edited = bool(edited) and not edited.isdisjoint(place.nodes)
        if sent is not None and kept.keeps and not is_edited:
            if not sent.closed:
                known = [_spelt_alike(message) for message in sent.gap]
                more = map(self._bare, place.gap)
                sent.gap += [one for one in more if _spelt_alike(one) not in known]
                sent.closed, sent.tokens = not is_last, -1
            return sent
        now = self._bare(place.message)
        sent = self._sent_first(place, self._continued(place, now) if kept.keeps else now)
        if news and is_last and place.opens:
            sent.message = self._wire.with_text(sent.message, "\n".join([NEWS, *news]))
            kept.told.update(map(digest, news))
        kept.sent[place.node.key] = sent
        return sent

    def _sent_first(self, place: MessagePlace, message: Any) -> SentMessage:
        """A message that is sent for the first time, with its quote and what is around it."""
        put_in = self._kept.inserts.get(place.node.key)
        if put_in and place.opens:
            message = self._wire.with_text(message, put_in)
        return SentMessage(
            message,
            lead=list(map(self._bare, place.lead)),
            gap=list(map(self._bare, place.gap)),
            closed=place is not self._places[-1],
        )

    def _continued(self, place: MessagePlace, now: Any) -> Any:
        """A message that the client added to: what was sent of it stays, the rest follows."""
        name = self._wire.content
        content = now.get(name)
        for at in range(len(place.nodes) - 1, 0, -1):
            sent = self._kept.sent.get(place.nodes[at - 1].key)
            if sent is None:
                continue
            before = sent.message.get(name)
            if not isinstance(before, list) or not isinstance(content, list):
                break
            items = self._items_in(place)
            if len(items) == len(content):
                known = [n for n, item in enumerate(items) if item.place][at - 1] + 1
                return {**now, name: [*before, *content[known:]]}
            break
        return now

    def _instructions(self, place: MessagePlace) -> list[Any]:
        """The instructions after a message, which stay when it leaves."""
        sent = self._kept.sent.get(place.node.key) if self._kept.keeps else None
        if sent is not None:
            return [message for message in (*sent.lead, *sent.gap) if instructs(message)]
        if not place.lead and not place.gap:  # as nearly always
            return []
        return [self._bare(message) for message in (*place.lead, *place.gap) if instructs(message)]

    def _news(self) -> list[str]:
        """Reminders that the client rewrote in messages already sent, and that were never sent."""
        kept = self._kept
        if not kept.keeps:
            return []
        begun = self._begun
        number = begun.places[-1].number if begun.places else -1
        sent = (place.number for place in self._rest if place.node.key in kept.sent)
        upto = max(sent, default=number)
        news = [span for span in begun.reminders if digest(span) not in kept.told]
        for message, span in self._told(number, len(self._history.messages)):
            if message > upto:
                kept.told.add(digest(span))
            elif digest(span) not in kept.told:
                news.append(span)
        return news if upto >= 0 else []

    def _told(self, after: int, upto: int) -> Iterator[tuple[int, str]]:
        """The reminders in the messages after one, up to another, each with its message."""
        items = self._history.items
        for item in items[bisect_left(items, after + 1, key=_number) :]:
            if item.message > upto:
                return
            for span in reminders(item.text):
                yield item.message, span

    # --- weights --------------------------------------------------------------------------------

    def _weigh_place(self, place: MessagePlace, less: Mapping[str, Form]) -> int:
        weights = self._kept.weights
        if less and self._is_absent(place, less):
            stay = self._instructions(place)
            return weights.of_all(stay) if stay else 0
        whole = self._weigh_whole(place)
        if not less or less.keys().isdisjoint([node.key for node in place.nodes]):
            return whole
        now = self._now(place)
        return whole - weights.of(now) + weights.of(self._formed(now, place, less))

    def _weigh_whole(self, place: MessagePlace) -> int:
        weights = self._kept.weights
        sent = self._kept.sent.get(place.node.key)
        if sent is None or not self._kept.keeps:
            if place.tokens < 0:
                place.tokens = weights.of_all(
                    [self._bare(one) for one in (*place.lead, place.message, *place.gap)]
                )
            put_in = self._kept.inserts.get(place.node.key, "") if place.opens else ""
            return place.tokens + weights.of(put_in)
        if sent.tokens < 0:
            sent.tokens = weights.of_all([*sent.lead, sent.message, *sent.gap])
        return sent.tokens

    def _weigh_left(self, place: MessagePlace, less: Mapping[str, Form]) -> int:
        """The tokens of a place that the request does not show."""
        shown = 0 if self._is_absent(place, less) else self._weigh_place(place, less)
        return self._weigh_whole(place) - shown


@dataclass(slots=True)
class _Made:
    """A request under construction."""

    sent: list[Any]
    stayed: list[Any]
    shows_any: bool

    def copy(self) -> _Made:
        return _Made(list(self.sent), list(self.stayed), self.shows_any)


def _less(slots: Sequence[Slot]) -> dict[str, Form]:
    """The forms that are not whole; nearly all are."""
    return {slot.id: slot.form for slot in slots if slot.form is not Form.WHOLE}


_before: Final = attrgetter("before")


def _number(item: Item) -> int:
    return item.message


def _is_memorys(item: Item) -> bool:
    """Whether it is a call of memory's tools or its result, put beside what the client sends."""
    return item.part is Part.DRESS and bool(item.call_id)


def _compacted(path: Sequence[Node]) -> list[Node]:
    """What a client compacted on the way to a request and did not keep."""
    if not any(map(_before, path)):  # a call for each node would cost more than all the rest
        return []
    here = {node.source for node in path}
    return [node for node in _replaced(path) if node.source not in here]


def _named(pages: Sequence[str]) -> str:
    return pages[0] if len(pages) == 1 else f"{pages[0]} to {pages[-1]}"


def _replaced(path: Sequence[Node]) -> list[Node]:
    """The nodes of the histories that a client compacted on the way to this one."""
    found: list[Node] = []
    queue = list(path)
    seen = set(path)
    while queue:
        for node in queue.pop().before:
            if node not in seen:
                seen.add(node)
                found.append(node)
                queue.append(node)
    return found


def _spelt_alike(message: Any) -> Any:
    """A message with its text as a string, even if it is a block: a client that marks a text for a
    cache makes it a block, and does so only once.
    """
    content = message.get("content")
    is_text = isinstance(content, list) and len(content) == 1 and content[0].get("type") == "text"
    return {**message, "content": content[0]["text"]} if is_text else message


def _without_id(message: Any) -> Any:
    return {name: value for name, value in message.items() if name != "id"}
