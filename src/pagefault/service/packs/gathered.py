"""A pack's request, its gathered candidates, and the order in which it is filled."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from pagefault.model.kinds import Kind, PackType
from pagefault.model.page import Page
from pagefault.model.wanted import SearchFilter
from pagefault.pack.context_pack import EVIDENCE, LeftOut, ValidationReport, as_line
from pagefault.pack.context_packer import PackItem
from pagefault.pack.render import changed
from pagefault.service.lookup.session_search import SAID
from pagefault.service.packs.proof import Proof

HITS: Final = 60  # pages relevant to the query that are considered
RECENT: Final = 12  # latest pages
_CITED: Final = re.compile(r"[\[\u2045](?:ref:)?([^\[\]\n]{1,200})\]")  # quoted text has a ⁅
_ID: Final = re.compile(r"(?<!\w)[a-z]{3,4}_[0-9]+(?!\w)")
SAID_ONLY: Final = SearchFilter(kinds=tuple(sorted(SAID)))


@dataclass(frozen=True, slots=True)
class Tiers:
    """The order in which a type of pack is filled: `MATCHED` claims and goals come in the first."""

    matched: int = 0
    claims: int = 1
    hits: int = 1
    work: int = 2
    summaries: int = 2
    recent: int = 3


TIERS: Final[Mapping[PackType, Tiers]] = {
    PackType.BOOT: Tiers(claims=0),
    PackType.TASK: Tiers(claims=2, work=3, summaries=4, recent=5),
    PackType.HANDOFF: Tiers(work=0, recent=2),
    PackType.SYNOPSIS: Tiers(summaries=1),
    PackType.DIGEST: Tiers(work=0),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class PackAsked:
    """The request for a pack. `at_ms` is its date, which also resolves "yesterday"; a digest covers
    what was done since `since_ms`. `unproved` lets in claims that do not pass. `tokens` is the
    budget. With a `root`, claims have to pass a check in that folder.
    """

    pack_type: PackType
    at_ms: int
    query: str = ""
    unproved: bool = False
    since_ms: int = 0
    tokens: int = 0
    root: Path | None = None


@dataclass(frozen=True, slots=True)
class Closed:
    """The fate of a claim's words: the claim that holds instead, or explains, the pages with the
    words and the claim itself, and since when.
    """

    by: str
    pages: frozenset[str]
    at_ms: int


@dataclass(frozen=True, slots=True)
class TalkPage:
    """A message that a session can see; `is_own` if it was made there, not in the parent."""

    session_id: str
    page: Page
    is_own: bool


@dataclass(slots=True)
class Gathered:
    """Items, and other results; for several sessions their sum. `talk` are messages whose key
    sentences become items, `closed`, by session, the words of claims that no longer hold.
    """

    items: list[PackItem] = field(default_factory=list)
    talk: list[TalkPage] = field(default_factory=list)
    closed: dict[tuple[str, str], Closed] = field(default_factory=dict)
    left_out: list[LeftOut] = field(default_factory=list)
    proofs: Counter[Proof] = field(default_factory=Counter)
    matched: int = 0

    def add(self, other: Gathered) -> None:
        self.items += other.items
        self.talk += other.talk
        self.closed |= other.closed
        self.left_out += other.left_out
        self.proofs += other.proofs
        self.matched += other.matched

    def add_found(self, items: Sequence[PackItem]) -> None:
        """Add the pages that a search found."""
        self.items += items
        self.matched += len({one.evidence.ref for one in items})

    @property
    def marked(self) -> list[PackItem]:
        """The items, with a mark on those that repeat an outdated claim."""
        return [self._marked(one) for one in self.items] if self.closed else self.items

    def _marked(self, item: PackItem) -> PackItem:
        """The item, marked if it quotes the words of a closed claim from their place, or cites that
        place, in whatever words, and was said before the claim was closed.
        """
        evidence, said = item.evidence, f"{item.text}\n{item.evidence.text}"
        cited = {page for found in _CITED.findall(said) for page in _ID.findall(found)}
        said = said.casefold()
        by = next(
            (
                closed.by
                for (session_id, words), closed in self.closed.items()
                if session_id == evidence.session_id and closed.by != evidence.ref
                if (
                    words in said
                    and (evidence.kind == Kind.SUMMARY or evidence.page_id in closed.pages)
                )
                or (item.at_ms <= closed.at_ms and not cited.isdisjoint(closed.pages))
            ),
            "",
        )
        if not by:
            return item
        now = replace(evidence, changed_by=by)
        if item.text == as_line(evidence):
            return replace(item, evidence=now, text=as_line(now))
        is_quoted = item.section == EVIDENCE  # there the line is made from the evidence
        text = item.text if is_quoted else f"({changed(by)}) {item.text}"
        return replace(item, evidence=now, text=text)

    @property
    def validation(self) -> ValidationReport:
        return ValidationReport(
            checked=sum(self.proofs.values()),
            failed=self.proofs[Proof.FAILED],
            stale=self.proofs[Proof.STALE],
            unproved=self.proofs[Proof.UNPROVED],
        )


@dataclass(frozen=True, slots=True)
class FixedClock:
    """A clock that stands at the date of a pack."""

    at_ms: int

    def now_ms(self) -> int:
        return self.at_ms

    def monotonic_s(self) -> float:
        return 0.0


def says_last(asked: PackAsked, matched: int) -> bool:
    """Whether a pack has the latest messages: to begin, to hand off, and if nothing is relevant."""
    kinds = (PackType.BOOT, PackType.HANDOFF)
    return asked.pack_type in kinds or (asked.pack_type is PackType.TASK and not matched)


def recent_reason(asked: PackAsked) -> str:
    if asked.query:
        return f"said last; nothing bears on {asked.query!r}"
    return "said last"
