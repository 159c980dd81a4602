"""The developer-message layout: manifest and context are rebuilt for every request.

The developer message has the system prompt and VM:RULES, which stay the same. Anything said is data
and never has that role: VM:MANIFEST_JSON and VM:CONTEXT open the first message of the user's role.
The last turns follow as messages, then the calls of the current turn. This layout takes the same
entries as the stable layout and shows the same pages. It differs in where they are, and keeps
nothing from one request to the next.

Invariants, true between any two public calls:
 (1) `tokens` counts what `messages` renders, whole.
 (2) Every page of an entry is shown exactly once: as a message, in a result, or as a line.
 (3) The manifest maps the pages that are shown and lists none of them.
 (4) No two messages of the user, or of the model, stand in a row.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from pagefault.guard.neutralise import without_tags
from pagefault.model.errors import BadInput
from pagefault.model.ids import PageId, Seq, TurnNo
from pagefault.model.kinds import Kind, Modality, Mode, Role
from pagefault.model.page import Page
from pagefault.model.request import Message, ToolSpec
from pagefault.model.signatures import checked
from pagefault.pack import render
from pagefault.pack.cache import Pack, PackCache, PackKey
from pagefault.pack.count import REQUEST_TOKENS, TokenCounter, message_tokens, tools_tokens
from pagefault.pack.envelope import dump
from pagefault.pack.layout import (
    UNSEALED,
    Entry,
    Exchange,
    Layout,
    Note,
    Segment,
    Shown,
    newest_first,
    pages_of,
    runs,
    with_recalled,
)
from pagefault.pack.manifest import Listed, Policies, harmless, manifest
from pagefault.pack.vm_prompts import VM_PROMPTS
from pagefault.paging.fault import FaultLimits

ROW_TOKENS: Final = 48
"""The most that a page takes in the manifest's working set: about 30, and more for odd ids."""

_FIRST: Final = {Kind.CLAIM: 0, Kind.PROCEDURE: 1, Kind.INDEX: 2, Kind.SUMMARY: 3}


@checked
def build_vm_developer_message(
    *,
    mode: str,
    manifest_json: str,
    context: str,
    system_prompt: str = "",
    max_faults_per_turn: int | None = None,
) -> str:
    """The text of a single developer message: prompt, VM:RULES, VM:MANIFEST_JSON, VM:CONTEXT. The
    requests of a session have the last two in the user's role.

    `mode` is passive, active or strict. `context` has lines such as `U (msg_1): …`; our tags in it
    are neutralised. `max_faults_per_turn` adds a sentence with that limit to the rules, for a
    manifest without policies. Raises `BadInput` for a manifest that is not a strict JSON object.
    """
    from pagefault.engine.values import is_object

    try:
        rules = VM_PROMPTS[Mode(mode)]
    except ValueError:
        raise BadInput(f"unknown mode {mode!r}", hint=f"one of {', '.join(Mode)}") from None
    if not is_object(manifest_json):
        raise BadInput(
            "the manifest is not a JSON object", hint="give strict JSON, as `dumps` does"
        )
    if max_faults_per_turn is not None and mode != Mode.PASSIVE:
        rules += f"\n- In each turn you may load at most {max_faults_per_turn} pages."
    return _developer_message(
        f"{system_prompt}\n\n{_block('RULES', rules)}" if system_prompt else _block("RULES", rules),
        harmless(manifest_json),
        without_tags(context),
    )


def developer_head(system: str, mode: Mode) -> str:
    """The part of the developer message that is the same in every request of a session."""
    rules = _block("RULES", VM_PROMPTS[mode])
    return f"{system}\n\n{rules}" if system else rules


def _developer_message(head: str, manifest_json: str, context: str) -> str:
    parts = (head, _block("MANIFEST_JSON", manifest_json), _block("CONTEXT", context))
    return "\n\n".join(parts)


def _block(name: str, text: str) -> str:
    return f"<VM:{name}>\n{text}\n</VM:{name}>" if text else f"<VM:{name}>\n</VM:{name}>"


def policies_of(mode: Mode, limits: FaultLimits) -> Policies:
    """The fault limits of a manifest, as enforced in that mode."""
    if mode is Mode.PASSIVE:
        return Policies(False, 0, 0)
    return Policies(True, limits.faults_max, limits.tokens_max)


@dataclass(frozen=True, slots=True)
class Frame:
    """The fixed parameters of a developer layout."""

    session_id: str
    policies: Policies
    turns: int  # the last so many stand as messages
    token_budget: int
    model: str = "o200k"


class DeveloperLayout(Layout):
    """Takes the entries of the stable layout, and `listed`, the pages that could be loaded."""

    row_tokens = ROW_TOKENS

    def __init__(
        self,
        counter: TokenCounter,
        head: str,
        tools: tuple[ToolSpec, ...],
        frame: Frame,
        cache: PackCache,
        seal: render.Seal = UNSEALED,
    ) -> None:
        super().__init__(counter, head, tools, seal)
        self.frame = frame
        self.listed: tuple[Listed, ...] = ()
        self.pack_hits = 0
        self.pack_misses = 0
        self._cache = cache
        self._tools_tokens = tools_tokens(counter, tools)
        fixed = "\0".join([head, *(dump([t.name, t.description, t.parameters]) for t in tools)])
        self._fixed = hashlib.sha256(f"{fixed}\0{frame}".encode()).digest()
        self.head_tokens = self._render([], ()).tokens
        self.fixed_tokens = REQUEST_TOKENS + self._tools_tokens + counter.count(head)

    # --- the entries --------------------------------------------------------------------------

    def freeze(self, recalled: Sequence[Page] = ()) -> None:
        """Mark pending entries as sent. A segment here has no messages of its own."""
        self._append([Segment((), tuple(with_recalled(self.pending, recalled)), 0)])
        self.pending = []

    def last_role(self, recalled: Sequence[Page] = ()) -> Role:
        entries = [*self.sent(), *with_recalled(self.pending, recalled)]
        turns = self.compose(_view(entries, self.frame.turns).turns)
        return turns[-1].messages[-1].role if turns else Role.USER

    # --- what they take -----------------------------------------------------------------------

    def tokens(self, recalled: Sequence[Page] = ()) -> int:
        return self.tokens_listing(self.listed, recalled)

    def tokens_listing(self, listed: Sequence[Listed], recalled: Sequence[Page] = ()) -> int:
        """The tokens of the whole request if packed now, with `recalled` and this listing."""
        return self.pack([*self.sent(), *with_recalled(self.pending, recalled)], listed).tokens

    def tokens_unlisted(self, recalled: Sequence[Page] = ()) -> int:
        """The same without a listing, which takes only spare room."""
        return self.tokens_listing((), recalled)

    def tokens_showing(self, entries: Sequence[Entry], recalled: Sequence[Page] = ()) -> int:
        return self.pack(with_recalled(entries, recalled), ()).tokens

    def frozen_tokens(self) -> int:
        return self.pack(self.sent(), self.listed).tokens

    def tokens_of(self, entries: Sequence[Entry]) -> int:
        rows = sum(len(pages_of(entry)) for entry in entries)
        return super().tokens_of(entries) + rows * self.row_tokens

    def messages(self) -> tuple[Message, ...]:
        """The messages as last packed, without pending entries: call `freeze` first."""
        return self.pack(self.sent(), self.listed).messages

    # --- packing ------------------------------------------------------------------------------

    def pack(self, entries: Sequence[Entry], listed: Sequence[Listed]) -> Pack:
        """The request for these entries, from the cache if it was made before."""
        key = PackKey(
            self.frame.session_id,
            self.frame.model,
            self.frame.token_budget,
            self._digest(entries, listed),
        )
        pack = self._cache.find(key)
        if pack is None:
            self.pack_misses += 1
            pack = self._render(entries, listed)
            self._cache.put(key, pack)
        else:
            self.pack_hits += 1
        return pack

    def _digest(self, entries: Sequence[Entry], listed: Sequence[Listed]) -> str:
        digest = hashlib.sha256(self._fixed)
        for entry in entries:
            told: list[object] = [type(entry).__name__, entry.seq]
            match entry:
                case Note(text=text):
                    told.append(text)
                case Exchange(said=said, calls=calls):
                    told.append(said)
                    told += [(call.call_id, call.arguments, text) for call, text, _ in calls]
            told += [
                (page.page_id, page.row.seq, page.newer_than, page.older_than)
                for page in pages_of(entry)
            ]
            digest.update(repr(told).encode("utf-8", "surrogatepass"))
        told = [(item.row.page_id, item.row.seq) for item in listed]
        digest.update(repr(told).encode())
        return digest.hexdigest()

    def _render(self, entries: Sequence[Entry], listed: Sequence[Listed]) -> Pack:
        view = _view(entries, self.frame.turns)
        mapped = [*view.lines, *(page for entry in view.turns for page in pages_of(entry))]
        known = {page.page_id for page in mapped}
        lines = [render.line(parts) for parts in runs(view.lines)]
        told = manifest(
            self.frame.session_id,
            mapped,
            [item for item in listed if item.row.page_id not in known],
            self.frame.policies,
        )
        data = f"{_block('MANIFEST_JSON', told)}\n\n{render.block(lines, self._seal)}"
        turns = [message for part in self.compose(view.turns) for message in part.messages]
        if turns and turns[0].role is Role.USER:
            data = f"{data}\n\n{turns.pop(0).content}"
        messages = (self.head, Message(role=Role.USER, content=data), *turns)
        tokens = REQUEST_TOKENS + self._tools_tokens + sum(self._count(messages))
        return Pack(messages, tokens)

    def check(self) -> None:
        pack = self.pack(self.sent(), self.listed)
        recount = sum(message_tokens(self._counter, message) for message in pack.messages)
        assert pack.tokens == REQUEST_TOKENS + self._tools_tokens + recount, "(1)"
        view = _view(self.sent(), self.frame.turns)
        shown = [page.page_id for page in view.pages()]
        assert len(shown) == len(set(shown)), "(2)"
        entered = [page.page_id for entry in self.entries() for page in pages_of(entry)]
        assert len(entered) == len(set(entered)), "(2)"
        roles = [message.role for message in pack.messages]
        assert all(a != b or a is Role.TOOL for a, b in pairwise(roles)), "(4)"


@dataclass(frozen=True, slots=True)
class _View:
    """The arrangement: lines of VM:CONTEXT, then entries that become messages."""

    lines: tuple[Page, ...]
    turns: tuple[Entry, ...]

    def pages(self) -> Iterator[Page]:
        yield from self.lines
        for entry in self.turns:
            yield from pages_of(entry)


def _view(entries: Sequence[Entry], turns: int) -> _View:
    pages: dict[PageId, Page] = {}
    in_place: set[PageId] = set()
    for entry in entries:
        for page in pages_of(entry):
            pages.setdefault(page.page_id, page)
        if isinstance(entry, Shown):
            in_place.add(entry.page.page_id)
    newest = _newest(pages.values())
    first = TurnNo(newest.row.turn - turns + 1) if newest else TurnNo(0)
    since = newest.row.seq if newest else Seq(0)
    present = [
        entry
        for entry in entries
        if isinstance(entry, Exchange)
        and (entry.seq >= since or any(page.row.turn >= first for page in entry.pages))
    ]
    returned = {page.page_id for entry in present for page in pages_of(entry)}
    told: list[Entry] = [
        Shown(page)
        for page in pages.values()
        if page.page_id not in returned and _is_turn(page, first, page.page_id in in_place)
    ]
    as_messages = returned | {page.page_id for entry in told for page in pages_of(entry)}
    begins = min((entry.seq for entry in told), default=since)
    told += [entry for entry in entries if isinstance(entry, Note) and entry.seq >= begins]
    told += present
    lines = [page for page in pages.values() if page.page_id not in as_messages]
    lines.sort(key=lambda page: (_FIRST.get(page.row.kind, 9), page.row.order))
    return _View(tuple(newest_first(lines)), tuple(sorted(told, key=lambda entry: entry.seq)))


def _newest(pages: Iterable[Page]) -> Page | None:
    """The last part of the newest message of the user."""
    said = [p for p in pages if p.row.role is Role.USER and p.row.kind is Kind.TRANSCRIPT]
    return max(said, key=lambda page: page.row.order, default=None)


def _is_turn(page: Page, first: TurnNo, in_place: bool) -> bool:
    """Whether a page belongs to the last turns, and so is shown as a message.

    Messages return to their places; other pages only if they never left them. Media and derived
    pages are lines.
    """
    row = page.row
    if page.derived is not None or row.turn < first or row.modality is not Modality.TEXT:
        return False
    return in_place or row.kind is Kind.TRANSCRIPT
