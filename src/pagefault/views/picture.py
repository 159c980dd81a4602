"""A session as people look at it: values gathered from a memory's own verbs, nothing drawn yet.

Whatever shows a session to people shows this: the map, what each request sent, the answers that
rest on what had left, what is held true with the words that say so, the bill, what needs a look.
SessionTexts are short and cleaned: a picture is handed on, and nobody can forget what stands in it.
"""

from __future__ import annotations

import asyncio
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Final

from pagefault.model.errors import BadInput, PagefaultError, SessionNotFound
from pagefault.model.ids import PageId, TurnNo
from pagefault.model.kinds import Kind, Role
from pagefault.model.page import Evidence, Page, PageRow, Scope, SessionRow
from pagefault.model.times import iso_ms
from pagefault.pack.bill import BillItem, BillRow
from pagefault.service.derived.claims import ClaimInfo
from pagefault.service.inspection.memory_map import COLUMNS, ROWS, MemoryMap
from pagefault.service.inspection.recollections import Recollection, recollections
from pagefault.service.inspection.report import report
from pagefault.service.inspection.session_fold import SessionFold
from pagefault.service.memory import Memory
from pagefault.service.runtime import Runtime
from pagefault.service.session import Session
from pagefault.service.window.state import SessionState
from pagefault.views.concerns import Concern, concerns

ANSWERS: Final = 60
CLAIMS: Final = 120
EXCERPT: Final = 220  # characters of a message
_AROUND: Final = 160  # characters shown on either side of evidence
_GONE: Final = "(forgotten, or not to be read here)"

Clean = Callable[[str], str]
"""Takes out of a text what must not be shown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Excerpt:
    """The beginning of a page, on one line."""

    page_id: PageId
    who: str
    at_ms: int
    tokens: int
    text: str
    turn: TurnNo = TurnNo(-1)  # -1 of what cannot be read


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerView:
    """A turn for which pages were brought back. `fork` names the fork that it is of."""

    question: Excerpt
    answer: Excerpt | None
    brought: tuple[Excerpt, ...]
    asked: frozenset[PageId]
    cited: tuple[tuple[PageId, str], ...]
    fork: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SpanView:
    """Words of a page that are evidence, and what stands around them."""

    page_id: PageId
    before: str
    words: str
    after: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimView:
    claim_id: PageId
    type: str
    subject: str
    text: str
    status: str
    closed_by: PageId
    authority: str
    why: str  # of what is stale or expired
    derived_from: tuple[PageId, ...]
    contradicts: tuple[PageId, ...]
    evidence: tuple[SpanView, ...]
    value: str
    turn: int
    origin: str
    supersedes: PageId
    digest: str  # of what is proposed: what confirms just these words

    @property
    def is_standing(self) -> bool:
        return self.status == "standing"


@dataclass(frozen=True, slots=True, kw_only=True)
class Picture:
    """`answers` and `claims` are the newest of `answers_all` and `claims_all`. Tokens are by our
    count; `bill` is in the provider's, where it reported.
    """

    name: str
    session_id: str
    is_proxied: bool
    turns: int
    first_ms: int
    last_ms: int
    window_tokens: int
    map: MemoryMap
    excerpts: dict[PageId, Excerpt]  # of the first message of each row of the map
    answers: tuple[AnswerView, ...]
    answers_all: int
    answers_citing: int  # of all, those that cite a page which was brought back
    claims: tuple[ClaimView, ...]
    claims_all: int
    bill: BillRow | None
    prices: str
    concerns: tuple[Concern, ...]


async def picture_of(
    memory: Memory,
    session: Session,
    *,
    clean: Clean,
    rows: int = ROWS,
    columns: int = COLUMNS,
) -> Picture:
    """The picture of a session, its forks' answers with it. `clean` is asked for every text.
    Raises `BadInput` where there is less than one row or column.
    """
    if min(rows, columns) < 1:
        raise BadInput("a map has at least one row and one column")
    await session.owned.caught_up()
    claims = await session.claims()
    forks = [one for one in await memory.sessions() if one.parent == session.session]
    runtime, state = session.owned.runtime, session.owned.state

    def draw() -> Picture:
        row = runtime.index.session(session.session)
        if row is None:
            raise SessionNotFound(session.session_id)
        fold = SessionFold(runtime, row, columns=columns, judged_max=sys.maxsize)
        fold.advance()
        items = fold.items()
        return _drawn(fold, items, state, claims, forks, clean, rows)

    return await asyncio.to_thread(draw)


def _drawn(
    fold: SessionFold,
    items: Sequence[BillItem],
    state: SessionState,
    claims: Sequence[ClaimInfo],
    forks: Sequence[SessionRow],
    clean: Clean,
    rows: int,
) -> Picture:
    runtime, row = fold.runtime, fold.row
    texts = SessionTexts(runtime, row, clean)
    told, bill, folded = fold.map(items, rows=rows), fold.bill(items), fold.folded()
    assert folded is not None, "it was asked to be judged"
    metrics, proxied = report(folded, runtime, state, per_turn=False), folded.proxied
    excerpts = [texts.excerpt(one.first) for one in told.rows]
    times = [one.at_ms for one in excerpts] or [0]
    found = [(texts, "", one) for one in fold.recollections()]
    for fork in forks:
        name, its = texts.shown(fork.name or fork.session_id), SessionTexts(runtime, fork, clean)
        found += [(its, name, one) for one in recollections(runtime, fork)]
    found.sort(key=lambda one: one[2].at_ms)
    return Picture(
        name=texts.shown(row.name or row.session_id),
        session_id=row.session_id,
        is_proxied=proxied is not None,
        turns=row.turns,
        first_ms=times[0],
        last_ms=max(times[-1], times[0]),
        window_tokens=state.window_tokens if proxied is None else proxied.last.window_tokens,
        map=told,
        excerpts={one.page_id: one for one in excerpts},
        answers=tuple(_answer(*one) for one in found[-ANSWERS:]),
        answers_all=len(found),
        answers_citing=sum(
            any(one in told.brought for one, _ in told.cited) for _, _, told in found
        ),
        claims=tuple(texts.claim(one) for one in claims[-CLAIMS:]),
        claims_all=len(claims),
        bill=bill.total if bill.total.requests else None,
        prices=", ".join(sorted(set(bill.prices.values()))),
        concerns=tuple(texts.concerns(concerns(metrics, proxied, bill.total, claims))),
    )


def _answer(texts: SessionTexts, fork: str, one: Recollection) -> AnswerView:
    return AnswerView(
        question=texts.excerpt(one.question),
        answer=texts.excerpt(one.answer) if one.answer else None,
        brought=tuple(texts.excerpt(page_id) for page_id in one.brought),
        asked=frozenset(one.asked),
        cited=tuple((page_id, str(how)) for page_id, how in one.cited),
        fork=fork,
    )


@dataclass(slots=True)
class SessionTexts:
    """What the pages of a session say, short and cleaned. Blocks on the store."""

    runtime: Runtime
    row: SessionRow
    clean: Clean
    scope: Scope = field(init=False)

    def __post_init__(self) -> None:
        self.scope = self.runtime.seen(self.runtime.scope(self.row.session))

    def page(self, page_id: PageId) -> Page | None:
        """The page, unless it was forgotten, or cannot be read."""
        found = self.runtime.index.find_page(self.scope, page_id) if page_id else None
        return self.read(found)

    def rows(self, page_ids: Iterable[PageId]) -> dict[PageId, PageRow]:
        """Those that there are, in the order in which they are named."""
        wanted = dict.fromkeys(page_ids)
        found = self.runtime.index.find_pages(self.scope, set(wanted))
        return {one: found[one] for one in wanted if one in found}

    def read(self, row: PageRow | None) -> Page | None:
        try:
            return None if row is None else self.runtime.pages.read(row)
        except PagefaultError:
            return None

    def excerpt(self, page_id: PageId) -> Excerpt:
        return self.excerpt_of(page_id, self.page(page_id))

    def excerpt_of(self, page_id: PageId, page: Page | None) -> Excerpt:
        if page is None:
            return Excerpt(page_id=page_id, who="", at_ms=0, tokens=0, text=_GONE)
        who = page.speaker or _ROLES.get(page.row.role, str(page.row.role))
        if page.row.kind not in (Kind.TRANSCRIPT, Kind.ARTIFACT):
            who = str(page.row.kind)  # nobody said it: it was made of others
        said_ms = iso_ms(page.occurred_at) if page.occurred_at else None
        return Excerpt(
            page_id=page_id,
            who=self.shown(who),
            at_ms=page.row.at_ms if said_ms is None else said_ms,
            tokens=page.row.tokens,
            text=head(self.shown(page.text).strip(), EXCERPT),
            turn=page.row.turn,
        )

    def claim(self, one: ClaimInfo) -> ClaimView:
        return ClaimView(
            claim_id=one.claim_id,
            type=one.type,
            subject=self.shown(one.subject),
            text=self.shown(one.text),
            status=one.status,
            closed_by=one.closed_by,
            authority=one.authority,
            why=one.why,
            derived_from=one.derived_from,
            contradicts=one.contradicts,
            evidence=tuple(map(self.span, one.evidence)),
            value=self.shown(one.value),
            turn=one.turn,
            origin=one.origin,
            supersedes=one.supersedes,
            digest=one.digest,
        )

    def span(self, one: Evidence) -> SpanView:
        """Words that are evidence, in what stands around them."""
        page = self.page(one.page_id)
        raw = b"" if page is None else page.text.encode()
        before, words, after = raw[: one.start], raw[one.start : one.end], raw[one.end :]
        return SpanView(
            page_id=one.page_id,
            before=_tail(self.shown(before.decode(errors="ignore")), _AROUND),
            words=self.shown(words.decode(errors="ignore")) or _GONE,
            after=head(self.shown(after.decode(errors="ignore")), _AROUND),
        )

    def concerns(self, told: Iterable[Concern]) -> Iterator[Concern]:
        """What they quote, cleaned."""
        return (replace(one, what=self.shown(one.what)) for one in told)

    def shown(self, text: str) -> str:
        """Cleaned, and on one line."""
        return re.sub(r"\s+", " ", self.clean(text))


_ROLES: Final = {Role.USER: "User", Role.ASSISTANT: "Assistant", Role.TOOL: "Tool"}


def head(text: str, most: int) -> str:
    """The text, cut where it is longer."""
    return text if len(text) <= most else text[: most - 1].rstrip() + "…"


def _tail(text: str, most: int) -> str:
    return text if len(text) <= most else "…" + text[1 - most :].lstrip()


def to_dict(picture: Picture) -> dict[str, Any]:
    """As plain values."""
    told = asdict(replace(picture, bill=None))
    told["bill"] = picture.bill.to_dict() if picture.bill is not None else None
    for shown, one in zip(told["answers"], picture.answers, strict=True):
        shown["asked"] = sorted(one.asked)
    return told
