"""A session's picture: values from a memory's own verbs, ready to be drawn.

It has the map, what each request sent, the answers that rest on recalled pages, the claims with
their evidence, the bill, and concerns. Texts are short and cleaned, because a picture is passed on,
and a forget does not reach it.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Final

from pagefault.model.errors import SessionNotFound
from pagefault.model.ids import PageId
from pagefault.model.page import SessionRow
from pagefault.pack.bill import BillItem, BillRow
from pagefault.service.derived.claims import ClaimInfo
from pagefault.service.inspection.memory_map import COLUMNS, ROWS, MemoryMap
from pagefault.service.inspection.recollections import Recollection, recollections
from pagefault.service.inspection.report import report
from pagefault.service.inspection.session_fold import SessionFold
from pagefault.service.memory import Memory
from pagefault.service.session import Session
from pagefault.service.window.state import SessionState
from pagefault.views.concerns import Concern, concerns
from pagefault.views.texts import ClaimView, Clean, Excerpt, SessionTexts
from pagefault.views.titles import client_of, title_of

ANSWERS: Final = 60
CLAIMS: Final = 120


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerView:
    """A turn for which pages were brought back. `fork` names its fork, if any."""

    question: Excerpt
    answer: Excerpt | None
    brought: tuple[Excerpt, ...]
    asked: frozenset[PageId]
    cited: tuple[tuple[PageId, str], ...]
    fork: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Picture:
    """`answers` and `claims` are the newest of `answers_all` and `claims_all`. Tokens are our own
    counts, but `bill` uses the provider's where reported.
    """

    name: str
    title: str  # for people
    client: str  # the program that the conversation is from; "" if unknown
    session_id: str
    is_proxied: bool
    turns: int
    first_ms: int
    last_ms: int
    window_tokens: int
    map: MemoryMap
    excerpts: dict[PageId, Excerpt]  # of the first message of each map row
    answers: tuple[AnswerView, ...]
    answers_all: int
    answers_citing: int  # of all answers, those citing a page that was brought back
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
) -> Picture:
    """The picture of a session, including its forks' answers. `clean` is applied to every text."""
    await session.owned.caught_up()
    claims = await session.claims()
    forks = [one for one in await memory.sessions() if one.parent == session.session]
    runtime, state = session.owned.runtime, session.owned.state

    def draw() -> Picture:
        row = runtime.index.session(session.session)
        if row is None:
            raise SessionNotFound(session.session_id)
        fold = SessionFold(runtime, row, columns=COLUMNS, judged_max=sys.maxsize)
        fold.advance()
        items = fold.items()
        return _drawn(fold, items, state, claims, forks, clean)

    return await asyncio.to_thread(draw)


def _drawn(
    fold: SessionFold,
    items: Sequence[BillItem],
    state: SessionState,
    claims: Sequence[ClaimInfo],
    forks: Sequence[SessionRow],
    clean: Clean,
) -> Picture:
    runtime, row = fold.runtime, fold.row
    texts = SessionTexts(runtime, row, clean)
    told, bill, folded = fold.map(items, rows=ROWS), fold.bill(items), fold.folded()
    assert folded is not None, "it was asked to be judged"
    metrics, proxied = report(folded, runtime, state, per_turn=False), folded.proxied
    excerpts = [texts.excerpt(one.first) for one in told.rows]
    times = [one.at_ms for one in excerpts] or [0]
    found = [(texts, "", one) for one in fold.recollections()]
    for fork in forks:
        name, its = texts.shown(fork.called), SessionTexts(runtime, fork, clean)
        found += [(its, name, one) for one in recollections(runtime, fork)]
    found.sort(key=lambda one: one[2].at_ms)
    return Picture(
        name=texts.shown(row.called),
        title=title_of(texts) or row.session_id,
        client=client_of(row.name),
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


def to_dict(picture: Picture) -> dict[str, Any]:
    """As plain values."""
    told = asdict(replace(picture, bill=None))
    told["bill"] = picture.bill.to_dict() if picture.bill is not None else None
    for shown, one in zip(told["answers"], picture.answers, strict=True):
        shown["asked"] = sorted(one.asked)
    return told
