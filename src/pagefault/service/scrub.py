"""Redaction of what a memory already holds: text that the guard would reject today, and values that
a person names. Blocks on the store.

Only forgetting and this module change level 0. A record that holds a secret gets another text in
its own place, with its number, its page id, its time and its order; so references to it stay valid.
Everything that depends on a text follows:

- tokens are counted again: a mark is not as long as the text that it replaces
- parts of a split text are read as one, because a split may have cut a secret in two
- evidence: a span that lost nothing moves with its words. One that lost some proves nothing any
  more: it becomes empty, and the claim that rests on it is stale. In pages that quote another (a
  shorter form, a quote in a request) the span includes the mark
- JSON that a client of a proxy sent is cut again from the redacted text, by the code that cut it
  first; if that fails, it is erased
- bytes of artifacts are redacted if they are text; others that hold a value are listed
- keys of idempotency are erased with the text that they may be made from: with the root's secret,
  one could guess values until one fits. Keys of imports that are made from ids stay, so that a
  repeated import adds nothing twice
- digests by which a person raised a page are erased with its text: it is no longer raised

Summaries, claims, titles, names, queries and all other strings of a record are read one by one, as
before each append. If a layer of the guard fails, nothing is changed at all.
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
from pagefault.service.inspection.holes import cut, fill, is_unicode
from pagefault.service.runtime import Runtime
from pagefault.store.soundness import flaw

KEYED_BY_ID: Final = frozenset(
    {"chatgpt", "claude", "claude-code", "codex", "opencode", "pagefault"}
)
"""Import sources whose entries have ids of their own, and whose keys are made from those alone."""

REMNANT_CHARS: Final = 12
"""Characters of a partly shown secret: fewer occur in ordinary text by chance."""

_UNKEPT: Final = "0" * 64  # names a blob that a dry run does not put
_BINARY: Final = "binary"  # in place of the name of one that cannot be redacted
_BOMS: Final = (
    *((codecs.BOM_UTF32_LE, "utf-32-le"), (codecs.BOM_UTF32_BE, "utf-32-be")),
    *((codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be")),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ScrubbedSession:
    """What a scrub changed, or would change, in one session."""

    session: str  # its name, or its id if it has none
    session_id: str
    pages: int
    records: int  # including those of the pages
    stale: tuple[PageId, ...] = ()  # claims that lost their evidence
    left: tuple[PageId, ...] = ()  # binary artifacts that hold it


@dataclass(frozen=True, slots=True, kw_only=True)
class Scrubbing:
    """What a scrub would redact (not `done`), or did redact, and what is out of its reach."""

    done: bool
    sessions: tuple[ScrubbedSession, ...]
    found: Mapping[str, int]  # counts, by rule, name of a known value, or "path"
    records: int  # that change
    unread: int  # that cannot be read, so were not checked
    beyond_reach: tuple[str, ...] = (
        "backups, exports and copies of this directory made earlier",
        "requests already sent: providers' logs and prompt caches",
        "what is not written: incognito conversations, and clients that send it again",
    )


class CountingScreen(Screen):
    """A screen that counts what it redacts, and withholds nothing: see `Screen.changes`."""

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
    """A screen for these values and everything that a memory redacts anyway. Raises `BadInput` for
    a value that cannot be redacted.
    """
    given = {f"given.{number}": one for number, one in enumerate(values, start=1) if one.strip()}
    screen = CountingScreen(dict(secrets) | given, key, layers, allow)
    if refused := given.keys() & {*screen.too_short, *screen.unscreenable}:
        number = min(refused).removeprefix("given.")
        raise BadInput(
            f"value {number} is shorter than {CHARS_MIN} characters, or is in every mark: "
            "it would be found in ordinary text",
            hint="forget the pages that hold it: `Memory.forget_matching`",
        )
    return screen


@dataclass(frozen=True, slots=True)
class _Rewording:
    """A text before and after redaction."""

    old: str
    new: str
    found: Sequence[Finding]

    def moved(self, span: Evidence) -> tuple[Evidence, bool]:
        """The new position of a span, including marks in it; and whether it lost words."""
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
        """The redacted words, and the mark in their place."""
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
    """The records' new contents, as of the record `upto`."""

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
    """A scrub of one memory. `put` stores a blob; without it nothing is written."""

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
        self._blobs: dict[str, tuple[str, int]] = {}  # the replacement of each, and its size
        self._scopes: dict[SessionNo, Scope] = {}
        self._by_id: dict[SessionNo, bool] = {}
        screen.counts = Counter()
        self.plan = ScrubPlan()

    def read_on(self) -> None:
        """Plan for log records that were not read yet. Raises `ScreenFailed`, `ArchiveMissing` if
        some are out of reach, and `StoreCorrupt`.
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
                later.append(event.seq)  # once the pages that it names are redacted
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
        """The plan, or what was carried out, as a report."""
        plan, found = self.plan, dict(sorted(self._screen.counts.items()))
        records = Counter(event.session for event in plan.events.values())
        pages = Counter(e.session for e in plan.events.values() if isinstance(e.body, PageBody))
        stale, left = self._page_ids(plan.stale), self._page_ids(plan.left)
        sessions = [
            ScrubbedSession(
                session=self._screen.clean(row.called),
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

    # --- record by record ---------------------------------------------------------------------

    def _revise_text(self, events: Sequence[Event]) -> None:
        """Redact a text in its parts: all of them, or those that are left."""
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
        """A page's body, without these stretches of its text and anything else found in it."""
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
        """Redact a record that names pages, once these are redacted."""
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
        """The redacted words of the pages that this was made from: it may show a part of them."""
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
        """Cut a client's JSON again if a page that it is cut from has changed, or something was
        found in it.
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
            screen.counts = counts  # what is in its pages was counted there
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
        """Whether a blob of unfillable JSON holds something, or cannot be checked."""
        named = [hole.blob for hole in body.holes if hole.blob]
        return any(self._cleaned_blob(name)[0] != name for name in named)

    def _is_unclean(self, value: Any) -> bool:
        """Whether something is found in a value of JSON."""
        match value:
            case str():
                return is_unicode(value) and self._screen.clean(value) != value
            case dict():
                return any(
                    self._is_unclean(name)
                    or (
                        self._screen.clean_value(name, one) != one
                        if isinstance(one, str) and is_unicode(name + one)
                        else self._is_unclean(one)
                    )
                    for name, one in value.items()
                )
            case list():
                return any(map(self._is_unclean, value))
            case _:
                return False

    def _texts_of(self, session: SessionNo, page_id: PageId) -> tuple[str, str] | None:
        """The text that begins with a page, before and after; None if it is gone."""
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
        """The name of a redacted blob, and its bytes; `_BINARY` if it cannot be redacted."""
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
        """Erase a record of unknown type if something is found in it."""
        payload = self._runtime.log.payload(event.seq).decode(errors="replace")
        is_found = bool(self._screen.changes(payload))
        with suppress(ValueError, RecursionError):
            is_found = is_found or self._is_unclean(json.loads(payload))
        if is_found:
            self.plan.events[event.seq] = erased(event)

    # --- revisions ----------------------------------------------------------------------------

    def _as_planned(self, event: Event) -> Event:
        return self.plan.events.get(event.seq, event)

    def _revise(self, event: Event, body: Body, *, changed: bool = False) -> None:
        """Plan a record's new contents, if they differ from the old."""
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
        """Whether the keys of a session are made from nothing that was said there."""
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
    """Whether a record has the part of a text that follows the previous record's part."""
    one, next_ = before.body, event.body
    return (
        isinstance(one, OriginalBody)
        and isinstance(next_, OriginalBody)
        and before.session == event.session
        and next_.part == one.part + 1
        and next_.part_of == (one.part_of or one.page_id)
    )


def _within(found: Iterable[Finding], start: int, end: int) -> list[Finding]:
    """The changes within one part of the text; a mark belongs to the part in which it begins."""
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
    """Where a text shows a part of a secret from the pages that it was made from: a shorter form
    may end within a secret, and a search for the whole does not find a part.
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


def _without_schema(tool: OfferedTool) -> OfferedTool:
    """A tool with any parameters, for one whose schema redaction destroyed."""
    try:
        is_schema = isinstance(json.loads(tool.parameters), dict)
    except (ValueError, RecursionError):
        is_schema = False
    return tool if is_schema else replace(tool, parameters="{}")
