"""Redacts what a memory holds already: what the guard would not let in today goes, and so do values
that somebody hands in. Blocks on the store.

Level 0 is changed by forgetting and by this alone. A record that says something that goes is given
another text in its own place, with its number, its page id, its time and its order; so whatever
names it goes on naming it. What follows from a text follows:

  tokens    are counted anew: a mark is not as long as what it stands for
  parts     a text that was split is read as one, as a split may have cut a secret in two
  evidence  a span that nothing was taken from moves with its words. One that lost some proves
            nothing any more: it becomes empty, and the claim that rests on it is stale. Of what
            quotes a page (a shorter form of it, a quote in a request) the span takes the mark in
  JSON      that a client of a proxy sent is cut anew, from what it says once it is redacted, by the
            code that cut it first; what cannot be cut again is erased
  bytes     of artifacts are redacted where they are a text; others that hold a value are named
  keys      of idempotency go with the text that they may be made of: whoever has the root's secret
            could try values until one fits. Those of imports that are made of ids stay, so that an
            import that is repeated brings nothing twice
  digests   by which a person raised a page go with what it said: the page is raised no more

Summaries, claims, titles, names, queries and whatever else a record tells is read string by string,
as before each append. Where a layer of the guard fails nothing is changed at all.
"""

from __future__ import annotations

import codecs
import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any, Final, cast

from pagefault.guard.detect import Finding, Layer
from pagefault.guard.screen import CHARS_MIN, Screen, applied, composed, rule_of
from pagefault.model.errors import BadInput, RecordGone, ScreenFailed, StoreCorrupt
from pagefault.model.events import (
    Body,
    Claimed,
    DerivedBody,
    Erased,
    Event,
    Imported,
    Learned,
    Lost,
    OfferedTool,
    OriginalBody,
    OriginRaised,
    PageBody,
    Received,
    Redacted,
    Relayed,
    Represented,
    SessionConfigured,
    SessionOpened,
    SetAside,
    Stored,
    erased,
)
from pagefault.model.ids import NOTHING, PageId, Seq, SessionNo
from pagefault.model.kinds import Origin
from pagefault.model.page import Evidence, Scope, is_derived
from pagefault.service.inspection.holes import cut, fill
from pagefault.service.runtime import Runtime
from pagefault.store.soundness import flaw

KEYED_BY_ID: Final = frozenset(
    {"chatgpt", "claude", "claude-code", "codex", "opencode", "pagefault"}
)
"""Sources of imports whose entries have ids of their own, which alone their keys are made of."""

REMNANT_CHARS: Final = 12
"""Of a secret that is shown in part: fewer stand in ordinary text by chance."""

_UNKEPT: Final = "0" * 64  # names a blob that a dry run does not put
_BINARY: Final = "binary"  # stands for the name of one that cannot be redacted
_BOMS: Final = (
    *((codecs.BOM_UTF32_LE, "utf-32-le"), (codecs.BOM_UTF32_BE, "utf-32-be")),
    *((codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be")),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ScrubbedSession:
    """What a scrub changed, or would change, in one session."""

    session: str  # its name, or its id where it has none
    session_id: str
    pages: int
    records: int  # those of the pages included
    stale: tuple[PageId, ...] = ()  # claims whose evidence went
    left: tuple[PageId, ...] = ()  # artifacts of which the bytes hold it and are no text


@dataclass(frozen=True, slots=True, kw_only=True)
class Scrubbing:
    """What a scrub would redact (not `done`), or did redact, and what is out of its reach."""

    done: bool
    sessions: tuple[ScrubbedSession, ...]
    found: Mapping[str, int]  # how many, by what says so: a rule, the name of a known value, "path"
    records: int  # that change
    unread: int  # that cannot be read, so that nobody looked into them
    beyond_reach: tuple[str, ...] = (
        "backups, exports and copies of this directory made earlier",
        "requests already sent: providers' logs and prompt caches",
        "what is not written: incognito conversations, and clients that send it again",
    )


class CountingScreen(Screen):
    """A screen that counts what it takes out, and withholds nothing: see `Screen.changes`."""

    counts: Counter[str]

    def clean(self, text: str) -> str:
        found = self.changes(text)
        if not found:
            return text
        self.counts.update(one.rule for one in found)
        return _redacted(text, found)


def screen_of(
    values: Sequence[str],
    secrets: Mapping[str, str],
    key: bytes,
    layers: Sequence[Layer],
    allow: Sequence[str],
) -> CountingScreen:
    """What redacts these values, and what a memory redacts anyway. Raises `BadInput` for a value
    that cannot be redacted.
    """
    given = {f"given.{number}": one for number, one in enumerate(values, start=1) if one.strip()}
    screen = CountingScreen(dict(secrets) | given, key, layers, allow)
    if refused := given.keys() & {*screen.too_short, *screen.unscreenable}:
        number = min(refused).removeprefix("given.")
        raise BadInput(
            f"value {number} is shorter than {CHARS_MIN} characters, or stands in every mark: "
            "it would be found in ordinary text",
            hint="forget the pages that hold it: `Memory.forget_matching`",
        )
    return screen


@dataclass(frozen=True, slots=True)
class _Rewording:
    """A text, and how it reads now."""

    old: str
    new: str
    found: Sequence[Finding]

    def moved(self, span: Evidence) -> tuple[Evidence, bool]:
        """Where a span of it stands now, with the marks that it takes in; whether it lost words."""
        raw = self.old.encode()
        start = len(raw[: span.start].decode(errors="ignore"))
        end = len(raw[: span.end].decode(errors="ignore"))
        lost = any(one.start < end and start < one.end for one in self.found)
        first, last = self._at(start, after=False), self._at(end, after=True)
        return replace(
            span, start=len(self.new[:first].encode()), end=len(self.new[:last].encode())
        ), lost

    @property
    def gone(self) -> list[tuple[str, str]]:
        """The words that go, and the mark that takes their place."""
        return [(self.old[one.start : one.end], one.mark) for one in self.found]

    def _at(self, place: int, *, after: bool) -> int:
        shift = 0
        for one in self.found:
            if place <= one.start:
                break
            if place < one.end:
                return one.start + shift + (len(one.mark) if after else 0)
            shift += len(one.mark) - (one.end - one.start)
        return place + shift


@dataclass(slots=True)
class ScrubPlan:
    """How records read once this is carried out, as of the record `upto`."""

    events: dict[Seq, Event] = field(default_factory=dict)
    stale: set[Seq] = field(default_factory=set)  # claims
    left: set[Seq] = field(default_factory=set)  # artifacts
    unread: int = 0
    upto: Seq = NOTHING

    @property
    def owners(self) -> set[SessionNo]:
        return {event.session for event in self.events.values() if event.session}

    @property
    def in_order(self) -> list[Event]:
        return [self.events[seq] for seq in sorted(self.events)]


class Scrub:
    """A scrub of one memory. `put` keeps a blob; without it nothing is written."""

    def __init__(
        self,
        runtime: Runtime,
        screen: CountingScreen,
        put: Callable[[bytes], str] | None = None,
    ) -> None:
        self._runtime = runtime
        self._screen = screen
        self._put = put or (lambda data: _UNKEPT)
        self._texts: dict[Seq, _Rewording] = {}
        self._blobs: dict[str, tuple[str, int]] = {}  # what is put in the place of each, its size
        self._scopes: dict[SessionNo, Scope] = {}
        self._by_id: dict[SessionNo, bool] = {}
        screen.counts = Counter()
        self.plan = ScrubPlan()

    def read_on(self) -> None:
        """Plan what the log has beyond what was read. Raises `ScreenFailed`, `ArchiveMissing` where
        some of it cannot be reached, and `StoreCorrupt`.
        """
        log, plan = self._runtime.log, self.plan
        head = log.head()
        log.check_reach(list(map(Seq, range(1, head + 1))))
        parts: list[Event] = []
        later: list[Seq] = []
        for event in log.read_rest(plan.upto):
            if event.seq > head:
                break
            body = event.body
            if parts and not _goes_on(parts[-1], event):
                self._revise_text(parts)
                parts = []
            if isinstance(body, OriginalBody):
                parts.append(event)
            elif isinstance(body, DerivedBody | Received | Relayed | OriginRaised):
                later.append(event.seq)  # once it is known how pages read that it names
            elif isinstance(body, Lost) and not event.event_id:
                plan.unread += 1
            elif isinstance(body, SetAside):
                self._look_into(event)
            elif not isinstance(body, Erased | Lost):
                self._revise(event, self._screen.clean_body(body))
        if parts:
            self._revise_text(parts)
        for seq in later:
            with suppress(StoreCorrupt):  # counted above
                self._revise_derived(log.get(seq))
        plan.upto = head

    def told(self, *, done: bool) -> Scrubbing:
        """What is planned, or was carried out."""
        plan, found = self.plan, dict(sorted(self._screen.counts.items()))
        records = Counter(event.session for event in plan.events.values())
        pages = Counter(e.session for e in plan.events.values() if isinstance(e.body, PageBody))
        stale, left = self._page_ids(plan.stale), self._page_ids(plan.left)
        sessions = [
            ScrubbedSession(
                session=self._screen.clean(row.name or row.session_id),
                session_id=row.session_id,
                pages=pages[row.session],
                records=records[row.session],
                stale=stale.get(row.session, ()),
                left=left.get(row.session, ()),
            )
            for row in self._runtime.index.sessions()
            if row.session in records or row.session in left
        ]
        return Scrubbing(
            done=done,
            sessions=tuple(sessions),
            found=found,
            records=len(plan.events),
            unread=plan.unread,
        )

    def _page_ids(self, seqs: Iterable[Seq]) -> dict[SessionNo, tuple[PageId, ...]]:
        """The pages of these records, by session."""
        found: dict[SessionNo, tuple[PageId, ...]] = {}
        for event in map(self._runtime.log.get, sorted(seqs)):
            if isinstance(event.body, PageBody):
                found[event.session] = *found.get(event.session, ()), event.body.page_id
        return found

    @property
    def marks(self) -> list[Redacted]:
        return [Redacted(rule=rule, count=n) for rule, n in sorted(self._screen.counts.items())]

    # --- one record after the other -----------------------------------------------------------

    def _revise_text(self, events: Sequence[Event]) -> None:
        """A text in its parts, all of them or those that are left."""
        bodies = [cast(OriginalBody, event.body) for event in events]
        whole = self._screen.changes("".join(body.text for body in bodies))
        at, is_changed = 0, False
        for event, body in zip(events, bodies, strict=True):
            found = _within(whole, at, at + len(body.text))
            at += len(body.text)
            is_changed = is_changed or bool(found)
            cleaned = self._reworded(event.seq, body, found)
            if isinstance(cleaned, Stored):
                cleaned = self._with_clean_bytes(event, cleaned)
            self._revise(event, cleaned)
        self._screen.counts.update(one.rule for one in whole)
        if is_changed:  # its key is that of the whole
            self._revise(events[0], self._as_planned(events[0]).body, changed=True)

    def _reworded(self, seq: Seq, body: PageBody, found: Sequence[Finding] = ()) -> Any:
        """A page's body, less these stretches of its text and what is found in it besides."""
        text = _redacted(body.text, found) if found else body.text
        if more := self._screen.changes(text):
            self._screen.counts.update(one.rule for one in more)
            text = _redacted(text, more)
            found = [
                Finding(a, b, "", mark) for a, b, mark in composed(_spans(found), _spans(more))
            ]
        if not found:
            return self._screen.clean_body(cast(Body, body))
        self._texts[seq] = _Rewording(body.text, text, found)
        tokens = self._runtime.counter.count(text)
        return self._screen.clean_body(cast(Body, replace(body, text=text, tokens=tokens)))

    def _revise_derived(self, event: Event) -> None:
        """What names pages, once it is known how these read."""
        match event.body:
            case Received() as received:
                self._revise_received(event, received)
            case Relayed(passages=passages) as relayed if passages:
                moved = tuple(self._moved(event.session, span)[0] for span in passages)
                told = relayed if moved == passages else replace(relayed, passages=moved)
                self._revise(event, self._screen.clean_body(told))
            case OriginRaised(page=page) as raised if page in self.plan.events:
                self._revise(event, replace(raised, digest=""))  # it would confirm a guess
            case DerivedBody(evidence=spans) as body:
                spans = tuple(spans)
                moved_all = [self._moved(event.session, span) for span in spans]
                is_claim = isinstance(body, Claimed | Learned)
                if is_claim and any(lost for _, lost in moved_all):
                    self.plan.stale.add(event.seq)
                moved = tuple(
                    replace(span, end=span.start) if lost and is_claim else span
                    for span, lost in moved_all
                )
                if moved != spans and isinstance(body, Claimed | Learned | Represented):
                    body = replace(body, evidence=moved)
                gone = self._gone_from(event.session, body)
                shown = remnants(body.text, gone)
                self._screen.counts.update(one.rule for one in shown)
                self._revise(event, self._reworded(event.seq, body, shown))
            case body:
                self._revise(event, self._screen.clean_body(body))

    def _gone_from(self, session: SessionNo, body: DerivedBody) -> list[tuple[str, str]]:
        """What goes from the pages that this was made of: it may show a part of that."""
        named = {*body.provenance, *(span.page_id for span in body.evidence)}
        if isinstance(body, Represented):
            named.add(body.represents)
        gone: list[tuple[str, str]] = []
        for page_id in sorted(named):
            scope = self._scope(session)
            row = self._runtime.index.find_page(
                scope.derived if is_derived(page_id) else scope, page_id
            )
            now = None if row is None else self._texts.get(row.seq)
            gone += [] if now is None else now.gone
        return gone

    def _moved(self, session: SessionNo, span: Evidence) -> tuple[Evidence, bool]:
        row = self._runtime.index.find_page(self._scope(session), span.page_id)
        now = None if row is None else self._texts.get(row.seq)
        return (span, False) if now is None else now.moved(span)

    def _revise_received(self, event: Event, body: Received) -> None:
        """A client's JSON is cut anew where a page that it is cut from reads otherwise by now, or
        where something that is found stands in it.
        """
        names = [self._texts_of(event.session, item.page_id) for item in body.items]
        blobs = self._runtime.blobs
        try:
            if any(texts is None for texts in names):
                raise RecordGone("a page of it is gone")
            old, new = zip(*filter(None, names), strict=True) if names else ((), ())
            value = json.loads(fill(body.json, body.holes, old.__getitem__, blobs.get))
            screen = self._screen
            counts = screen.counts.copy()
            is_found = old != new or self._is_unclean(value)
            if is_found:
                told, holes = cut(value, new, screen.clean, self._put, screen.clean_value)
                if screen.changes(told):
                    raise ValueError("a secret reads on from one string into another")
            screen.counts = counts  # what stands in its pages was counted there
            if not is_found:
                return
            counts.update(one.rule for one in screen.changes(body.json))
            cleaned = replace(body, json=told, holes=holes)
        except (ValueError, RecursionError, KeyError, RecordGone, StoreCorrupt):
            if self._screen.clean_body(body) is not body or self._holds(body):
                self.plan.events[event.seq] = erased(event)
            return
        self._revise(event, cleaned, changed=True)

    def _holds(self, body: Received) -> bool:
        """Whether a blob of what cannot be filled holds something, or cannot be looked into."""
        named = [hole.blob for hole in body.holes if hole.blob]
        return any(self._cleaned_blob(name)[0] != name for name in named)

    def _is_unclean(self, value: Any) -> bool:
        """Whether something is found in a value of JSON."""
        match value:
            case str():
                return _is_text(value) and self._screen.clean(value) != value
            case dict():
                return any(
                    self._is_unclean(name)
                    or (
                        self._screen.clean_value(name, one) != one
                        if isinstance(one, str) and _is_text(name + one)
                        else self._is_unclean(one)
                    )
                    for name, one in value.items()
                )
            case list():
                return any(map(self._is_unclean, value))
            case _:
                return False

    def _texts_of(self, session: SessionNo, page_id: PageId) -> tuple[str, str] | None:
        """How the text that begins with a page read, and reads now; nothing if it is gone."""
        if not page_id:
            return "", ""
        scope, index = self._scope(session), self._runtime.index
        first = index.find_page(scope, page_id)
        if first is None:
            return None
        stem, _, number = page_id.rpartition("_")
        ids = [PageId(f"{stem}_{int(number) + part}") for part in range(first.parts)]
        rows = [index.find_page(scope, one) for one in ids]
        old, new = "", ""
        for row in rows:
            body = None if row is None else self._runtime.log.get(row.seq).body
            if row is None or not isinstance(body, PageBody):
                return None
            old += body.text
            new += self._texts[row.seq].new if row.seq in self._texts else body.text
        return old, new

    def _with_clean_bytes(self, event: Event, body: Stored) -> Stored:
        """An artifact with its bytes redacted, if they are a text."""
        name, size = self._cleaned_blob(body.blob) if body.blob else (body.blob, 0)
        if name == _BINARY:
            self.plan.left.add(event.seq)
            return body
        return body if name == body.blob else replace(body, blob=name, size_bytes=size)

    def _cleaned_blob(self, name: str) -> tuple[str, int]:
        """The name of a blob once it is redacted, and its bytes; `_BINARY` where it cannot be."""
        if name not in self._blobs:
            try:
                data = self._runtime.blobs.get(name)
            except (KeyError, StoreCorrupt):
                self.plan.unread += 1
                self._blobs[name] = name, 0
                return name, 0
            cleaned = self._cleaned_bytes(data)
            if cleaned is None:
                self._blobs[name] = _BINARY, 0
            else:
                same = cleaned == data
                self._blobs[name] = name if same else self._put(cleaned), len(cleaned)
        return self._blobs[name]

    def _cleaned_bytes(self, data: bytes) -> bytes | None:
        for mark, coding in _BOMS:
            if data.startswith(mark):
                with suppress(UnicodeDecodeError):
                    return mark + self._screen.clean(data[len(mark) :].decode(coding)).encode(
                        coding
                    )
        with suppress(UnicodeDecodeError):
            return self._screen.clean(data.decode()).encode()
        is_held = any(
            self._screen.holds_known(view)
            for view in (
                data.decode(errors="replace"),
                *(data[at:].decode("utf-16-le", "replace") for at in (0, 1)),
            )
        )
        return None if is_held else data

    def _look_into(self, event: Event) -> None:
        """A record that is none of its type is erased where something is found in what it says."""
        payload = self._runtime.log.payload(event.seq).decode(errors="replace")
        is_found = bool(self._screen.changes(payload))
        with suppress(ValueError, RecursionError):
            is_found = is_found or self._is_unclean(json.loads(payload))
        if is_found:
            self.plan.events[event.seq] = erased(event)

    # --- revising -----------------------------------------------------------------------------

    def _as_planned(self, event: Event) -> Event:
        return self.plan.events.get(event.seq, event)

    def _revise(self, event: Event, body: Body, *, changed: bool = False) -> None:
        """Note that a record is to read so, if that is otherwise than it reads."""
        origin, model = self._screen.clean(event.origin), self._screen.clean(event.model)
        is_same = body is event.body and origin == event.origin and model == event.model
        if is_same and not changed:
            return
        new = replace(
            event,
            body=body,
            origin=Origin(origin),
            model=model,
            key=event.key if self._is_keyed_by_id(event.session) else "",
        )
        if flaw(new) and isinstance(body, SessionOpened | SessionConfigured):
            new = replace(new, body=replace(body, tools=tuple(map(_without_schema, body.tools))))
        if why := flaw(new):
            raise ScreenFailed(f"record {event.seq} could not be read any more, as {why}")
        self.plan.events[event.seq] = new

    def _is_keyed_by_id(self, session: SessionNo) -> bool:
        """Whether the keys of a session are made of nothing that was said there."""
        if session not in self._by_id:
            told = self._runtime.index.events(session, types=("imported",))
            bodies = [self._runtime.log.get(seq).body for seq in told]
            self._by_id[session] = bool(bodies) and all(
                isinstance(body, Imported) and body.source_system in KEYED_BY_ID for body in bodies
            )
        return self._by_id[session]

    def _scope(self, session: SessionNo) -> Scope:
        if session not in self._scopes:
            self._scopes[session] = self._runtime.scope(session)
        return self._scopes[session]


def _goes_on(before: Event, event: Event) -> bool:
    """Whether a record has the next part of the text that the one before has a part of."""
    one, next_ = before.body, event.body
    return (
        isinstance(one, OriginalBody)
        and isinstance(next_, OriginalBody)
        and before.session == event.session
        and next_.part == one.part + 1
        and next_.part_of == (one.part_of or one.page_id)
    )


def _within(found: Iterable[Finding], start: int, end: int) -> list[Finding]:
    """What of these changes is of one part of the text, which has the mark where it begins."""
    return [
        Finding(
            max(one.start, start) - start,
            min(one.end, end) - start,
            one.rule,
            one.mark if one.start >= start else "",
        )
        for one in found
        if one.start < end and start < one.end
    ]


def remnants(text: str, gone: Iterable[tuple[str, str]]) -> list[Finding]:
    """Where a text shows a part of what goes from the pages that it was made of: a shorter form may
    end within a secret, and a part of one is found by nobody who looks for the whole.
    """
    met: list[tuple[int, int, str]] = []
    for words, mark in set(gone):
        size = min(REMNANT_CHARS, len(words))
        parts = {words[at : at + size] for at in range(len(words) - size + 1)}
        starts = range(len(text) - size + 1)
        met += [(at, at + size, mark) for at in starts if text[at : at + size] in parts]
    found: list[Finding] = []
    for start, end, mark in sorted(met):
        if found and start <= found[-1].end:
            found[-1] = replace(found[-1], end=max(end, found[-1].end))
        else:
            found.append(Finding(start, end, rule_of(mark), mark))
    return found


def _spans(found: Iterable[Finding]) -> list[tuple[int, int, str]]:
    return [(one.start, one.end, one.mark) for one in found]


def _redacted(text: str, found: Iterable[Finding]) -> str:
    return applied(text, _spans(found))


def _is_text(text: str) -> bool:
    """Whether UTF-8 has it: clients' JSON may hold half a surrogate pair."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _without_schema(tool: OfferedTool) -> OfferedTool:
    """A tool with whatever parameters, where redacting left no schema of them."""
    try:
        is_schema = isinstance(json.loads(tool.parameters), dict)
    except (ValueError, RecursionError):
        is_schema = False
    return tool if is_schema else replace(tool, parameters="{}")
