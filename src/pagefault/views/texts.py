"""Texts as people see them: shortened and cleaned, claims with their evidence in context.

This is the only place that shortens texts for people and removes secrets from them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Final

from pagefault.model.errors import PagefaultError
from pagefault.model.ids import PageId, TurnNo
from pagefault.model.kinds import Kind, Role
from pagefault.model.page import Evidence, Page, PageRow, Scope, SessionRow
from pagefault.model.times import iso_ms
from pagefault.service.derived.claims import ClaimInfo
from pagefault.service.runtime import Runtime
from pagefault.views.concerns import Concern

EXCERPT: Final = 220  # characters of a message
_AROUND: Final = 160  # characters of context on either side of evidence
_GONE: Final = "(forgotten, or not to be read here)"

Clean = Callable[[str], str]
"""Removes from a text what must not be shown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Excerpt:
    """The beginning of a page, on one line."""

    page_id: PageId
    who: str
    at_ms: int
    tokens: int
    text: str
    turn: TurnNo = TurnNo(-1)  # -1 if it cannot be read


@dataclass(frozen=True, slots=True, kw_only=True)
class SpanView:
    """Evidence in a page, with its context."""

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
    why: str  # why it is stale or expired
    derived_from: tuple[PageId, ...]
    contradicts: tuple[PageId, ...]
    evidence: tuple[SpanView, ...]
    value: str
    turn: int
    origin: str
    supersedes: PageId
    digest: str  # of a proposed claim, to confirm exactly this text

    @property
    def is_standing(self) -> bool:
        return self.status == "standing"


@dataclass(slots=True)
class SessionTexts:
    """The texts of a session's pages, short and cleaned. Blocks on the store."""

    runtime: Runtime
    row: SessionRow
    clean: Clean
    scope: Scope = field(init=False)

    def __post_init__(self) -> None:
        self.scope = self.runtime.seen(self.runtime.scope(self.row.session))

    def page(self, page_id: PageId) -> Page | None:
        """The page; None if it was forgotten or cannot be read."""
        found = self.runtime.index.find_page(self.scope, page_id) if page_id else None
        return self.read(found)

    def rows(self, page_ids: Iterable[PageId]) -> dict[PageId, PageRow]:
        """The rows that exist, in the order of the ids."""
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
        said_ms = iso_ms(page.occurred_at) if page.occurred_at else None
        return Excerpt(
            page_id=page_id,
            who=self.shown(who_said(page.row, page.speaker)),
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
        """A piece of evidence with its context."""
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
        """The concerns, with what they quote cleaned."""
        return (replace(one, what=self.shown(one.what)) for one in told)

    def shown(self, text: str) -> str:
        """The text, cleaned and on one line."""
        return re.sub(r"\s+", " ", self.clean(text))


def who_said(row: PageRow, speaker: str) -> str:
    if row.kind not in (Kind.TRANSCRIPT, Kind.ARTIFACT):
        return str(row.kind)  # derived pages have no speaker
    return speaker or _ROLES.get(row.role, str(row.role))


WHY_FOUND: Final = {
    "link": "shares a name with a match",
    "meaning": "near in meaning",
    "neighbours": "next to a match",
}
"""Why a page without the words of a query was found, by `SearchHit.why`."""
_ROLES: Final = {Role.USER: "User", Role.ASSISTANT: "Assistant", Role.TOOL: "Tool"}


REWRITES: Final = {
    "window_full": "the window was full",
    "break_even": "keeping old messages had cost as much as a rewrite",
    "cache_cold": "the provider's cache had expired",
    "dead_share": "too much of it was no longer needed",
    "every_n": "it is done every so many requests",
    "configured": "a setting changed",
    "renderer": "pagefault lays requests out in another way",
    "tools": "the tools changed",
    "forgotten": "something was forgotten",
    "scrubbed": "something was redacted",
    "revoked": "a source was revoked",
    "lapsed": "a claim held no more",
    "lost": "records were lost",
}
"""Why the beginning of a request was written anew, for who does not know the names."""


def why_rewritten(reason: str) -> str:
    return REWRITES.get(reason, reason.replace("_", " "))


def rewrite_words(by: str) -> str:
    """What caused a movement of a page (`Movement.by`); an epoch is called what people call it."""
    epoch = _EPOCH.fullmatch(by)
    if epoch is None:
        return re.sub(r"_(?!\d)", " ", by)  # of a reason, not of an id
    return f"rewrite {epoch[1]}" + (f": {why_rewritten(epoch[2])}" if epoch[2] else "")


_EPOCH: Final = re.compile(r"epoch (\d+)(?:: (\w+))?")


def head(text: str, most: int) -> str:
    """The text, cut to at most `most` characters."""
    return text if len(text) <= most else text[: most - 1].rstrip() + "…"


def _tail(text: str, most: int) -> str:
    return text if len(text) <= most else "…" + text[1 - most :].lstrip()
