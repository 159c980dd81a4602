"""A session as people look at it: values gathered from a memory's own verbs, nothing drawn yet.

Whatever shows a session to people shows this: the map, what each request sent, the answers that
rest on what had left, what is held true with the words that say so, the bill, what needs a look.
Texts are short and cleaned: a picture is handed on, and nobody can forget what stands in it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Final

from pagefault.model.errors import PagefaultError
from pagefault.model.ids import PageId
from pagefault.model.kinds import Role
from pagefault.model.page import Page, SessionRow
from pagefault.model.times import iso_ms
from pagefault.pack.bill import BillRow
from pagefault.service.derived.claims import ClaimInfo
from pagefault.service.inspection.memory_map import COLUMNS, ROWS, MemoryMap
from pagefault.service.inspection.recollections import Recollection
from pagefault.service.memory import Memory
from pagefault.service.session import Session
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
    evidence: tuple[SpanView, ...]

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
    """The picture of a session, its forks' answers with it. `clean` is asked for every text."""
    drawing = _Drawing(memory, session, clean)
    return await drawing.picture(rows, columns)


@dataclass(slots=True)
class _Drawing:
    memory: Memory
    session: Session
    clean: Clean

    async def picture(self, rows: int, columns: int) -> Picture:
        told = await self.session.memory_map(rows=rows, columns=columns)
        status = await self.session.status()
        proxied = await self.memory.proxied(self.session)
        metrics = await self.session.metrics()
        bill = await self.memory.bill(self.session.session_id)
        claims = await self.session.claims()
        answers, answers_all, citing = await self._answers()
        excerpts = [await self._excerpt(self.session, row.first) for row in told.rows]
        times = [one.at_ms for one in excerpts] or [0]
        return Picture(
            name=self._shown(self.session.name or self.session.session_id),
            session_id=self.session.session_id,
            is_proxied=proxied is not None,
            turns=status.turns,
            first_ms=times[0],
            last_ms=max(times[-1], times[0]),
            window_tokens=status.window_tokens if proxied is None else proxied.last.window_tokens,
            map=told,
            excerpts={one.page_id: one for one in excerpts},
            answers=answers,
            answers_all=answers_all,
            answers_citing=citing,
            claims=tuple([await self._claim(one) for one in claims[-CLAIMS:]]),
            claims_all=len(claims),
            bill=bill.total if bill.total.requests else None,
            prices=", ".join(sorted(set(bill.prices.values()))),
            concerns=tuple(concerns(metrics, proxied, bill.total, claims)),
        )

    async def _answers(self) -> tuple[tuple[AnswerView, ...], int, int]:
        """The newest, how many there are in all, and how many cite what was brought back."""
        found: list[tuple[Session, str, Recollection]] = [
            (self.session, "", one) for one in await self.session.recollections()
        ]
        for row in await self._forks():
            fork = await self.memory.session(row.session_id, create=False)
            name = self._shown(row.name or row.session_id)
            found += [(fork, name, one) for one in await fork.recollections()]
        found.sort(key=lambda one: one[2].at_ms)
        citing = sum(any(page_id in one.brought for page_id, _ in one.cited) for _, _, one in found)
        shown = [await self._answer(*one) for one in found[-ANSWERS:]]
        return tuple(shown), len(found), citing

    async def _forks(self) -> Sequence[SessionRow]:
        rows = await self.memory.sessions()
        mine = next(row.session for row in rows if row.session_id == self.session.session_id)
        return [row for row in rows if row.parent == mine]

    async def _answer(self, session: Session, fork: str, one: Recollection) -> AnswerView:
        return AnswerView(
            question=await self._excerpt(session, one.question),
            answer=await self._excerpt(session, one.answer) if one.answer else None,
            brought=tuple([await self._excerpt(session, page_id) for page_id in one.brought]),
            asked=frozenset(one.asked),
            cited=tuple((page_id, str(how)) for page_id, how in one.cited),
            fork=fork,
        )

    async def _claim(self, one: ClaimInfo) -> ClaimView:
        spans = []
        for span, quote in zip(one.evidence, one.quotes, strict=True):
            before = after = ""
            page = await self._page(self.session, span.page_id)
            if quote and page is not None:
                raw = page.text.encode()
                before = raw[: span.start].decode(errors="ignore")
                after = raw[span.end :].decode(errors="ignore")
            spans.append(
                SpanView(
                    page_id=span.page_id,
                    before=_tail(self._shown(before), _AROUND),
                    words=self._shown(quote) or _GONE,
                    after=_head(self._shown(after), _AROUND),
                )
            )
        return ClaimView(
            claim_id=one.claim_id,
            type=one.type,
            subject=self._shown(one.subject),
            text=self._shown(one.text),
            status=one.status,
            closed_by=one.closed_by,
            authority=one.authority,
            evidence=tuple(spans),
        )

    async def _excerpt(self, session: Session, page_id: PageId) -> Excerpt:
        page = await self._page(session, page_id) if page_id else None
        if page is None:
            return Excerpt(page_id=page_id, who="", at_ms=0, tokens=0, text=_GONE)
        who = page.speaker or _ROLES.get(page.row.role, str(page.row.role))
        said_ms = iso_ms(page.occurred_at) if page.occurred_at else None
        return Excerpt(
            page_id=page_id,
            who=self._shown(who),
            at_ms=page.row.at_ms if said_ms is None else said_ms,
            tokens=page.row.tokens,
            text=_head(self._shown(page.text).strip(), EXCERPT),
        )

    def _shown(self, text: str) -> str:
        """Cleaned, and on one line."""
        return re.sub(r"\s+", " ", self.clean(text))

    async def _page(self, session: Session, page_id: PageId) -> Page | None:
        try:
            return await session.page(page_id)
        except PagefaultError:
            return None


_ROLES: Final = {Role.USER: "User", Role.ASSISTANT: "Assistant", Role.TOOL: "Tool"}


def _head(text: str, most: int) -> str:
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
