"""The core of a session: the claims with the user's authority, and the rules that are recited."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set

from pagefault.model.defaults import TAIL_TOKENS
from pagefault.model.ids import NOTHING, PageId, Seq
from pagefault.model.kinds import GOAL_SUBJECT, USERS, ClaimType
from pagefault.model.page import Derived, Evidence, Page, PageRow
from pagefault.model.trust import rank
from pagefault.pack import render
from pagefault.pack.count import TokenCounter, tail_tokens
from pagefault.service.window.claim_pages import held_as_written
from pagefault.service.window.closed_words import ClosedWords, overlap
from pagefault.truth.claim import Authority
from pagefault.truth.claims import ClaimBook
from pagefault.truth.held import Lapse, Status
from pagefault.truth.lapses import Ruled
from pagefault.truth.subjects import value_key


class Core:
    def __init__(self, counter: TokenCounter, *, is_adopted: bool) -> None:
        """Without `is_adopted` nobody vouches for the user's messages in the log: no claim
        holds.
        """
        self._counter = counter
        self._is_adopted = is_adopted
        self.is_silent = False  # in a mode without recall: no rule is recited
        self.closed_by: dict[PageId, PageId] = {}  # claims that no longer hold, and what ended each
        self.now_ms = 0  # the time at which expiry is judged
        self._standing: dict[PageId, Page] = {}  # the user's claims, oldest first
        self._rules: dict[PageId, Page] = {}  # those of them that are recited
        self._merged: dict[PageId, list[PageId]] = {}  # proposals, by the claim that they repeat
        self._holding: dict[PageId, Page] | None = None  # those of them that have not lapsed
        self._lapsed: Mapping[PageId, Lapse] = {}
        self._book = ClaimBook()  # of every claim but the goal, which never lapses
        self._written: dict[PageId, PageRow] = {}  # the rows of these
        self._resting: dict[PageId, list[tuple[PageId, Evidence]]] = {}  # claims, by their pages
        self._told: tuple[tuple[PageId, ...], str, int] | None = None  # the tail of these rules

    def fold(self, page: Page, derived: Derived) -> None:
        """Fold one more claim: it may close older ones."""
        self._holding = None
        for closed in filter(None, (derived.supersedes, *derived.merges)):
            self._standing.pop(closed, None)
            self._rules.pop(closed, None)
            for one in (closed, *self._merged.get(closed, ())):
                self.closed_by[one] = page.page_id
        if derived.repeats:
            self._merged.setdefault(derived.repeats, []).append(page.page_id)
        is_users = self._is_adopted and page.row.origin in USERS
        if is_users and derived.claim_type != ClaimType.RETRACTION:
            self._standing[page.page_id] = page
            if derived.claim_type == ClaimType.RULE:
                self._rules[page.page_id] = page
        if derived.subject != GOAL_SUBJECT:
            self._book.fold(held_as_written(page, is_adopted=self._is_adopted))
            self._written[page.page_id] = page.row
            if derived.claim_type != ClaimType.RETRACTION:
                for span in derived.evidence:
                    self._resting.setdefault(span.page_id, []).append((page.page_id, span))

    def closed_words(self, row: PageRow, upto: Seq) -> list[ClosedWords]:
        """The closed words of a page (`closed_words.py`), as of the record before `upto`."""
        resting = self._resting.get(row.page_id)
        if not resting or not self.closed_by or not self._is_adopted:
            return []
        standing: list[Evidence] = []
        closed: list[ClosedWords] = []
        for claim_id, span in resting:
            by = self.instead_of(claim_id, upto)
            if self.holds_as(claim_id, by):
                standing += [span] if self._written[claim_id].seq < upto else []
            elif self._decides(by, row):
                closed.append(ClosedWords(span, by))
        return [one for one in closed if not any(overlap(one.span, other) for other in standing)]

    def holds_as(self, claim_id: PageId, by: PageId) -> bool:
        """Whether a claim holds: as itself, or, merged, as the last version of what it repeats."""
        held, now = self._book.find(claim_id), self._book.find(by)
        if by == claim_id or held is None or now is None:
            return True
        is_merged = held.status is Status.MERGED and now.status is not Status.CLOSING
        return is_merged and value_key(held.value) == value_key(now.value)

    def instead_of(self, claim_id: PageId, upto: Seq) -> PageId:
        """The last claim before the record `upto` in the chain that closed this one, or itself."""
        seen = {claim_id}
        while (held := self._book.find(claim_id)) is not None:
            by = self._written.get(held.closed_by)
            if by is None or by.seq >= upto or by.page_id in seen:
                break
            seen.add(claim_id := by.page_id)
        return claim_id

    def _decides(self, claim_id: PageId, row: PageRow) -> bool:
        """Whether a claim may close words of this page."""
        held, written = self._book.find(claim_id), self._written[claim_id]
        is_users = held is not None and held.authority is Authority.USER
        return is_users or rank(written.origin) <= rank(row.origin)

    @property
    def has_claims(self) -> bool:
        return bool(self._written)

    @property
    def upto(self) -> Seq:
        """The record of the latest claim."""
        return max((row.seq for row in self._written.values()), default=NOTHING)

    def is_rested_on(self, page_id: PageId) -> bool:
        return page_id in self._resting

    def rests_on_any(self, claim_id: PageId, pages: Set[PageId]) -> bool:
        """Whether words of one of these pages are evidence of a claim."""
        held = self._book.find(claim_id)
        return held is not None and not pages.isdisjoint(held.pages)

    def rule(self, ruled: Ruled) -> None:
        """Fold one more ruling on a claim."""
        self._book.rule(ruled)

    @property
    def lapses(self) -> Mapping[PageId, Lapse]:
        """The claims that have lapsed though nothing closed them, and why."""
        return self._book.lapses(self.now_ms)

    @property
    def holding(self) -> dict[PageId, Page]:
        """The claims that hold, oldest first."""
        lapsed = self.lapses
        if self._holding is None or lapsed is not self._lapsed:  # called at every turn
            self._lapsed = lapsed
            self._holding = {one: page for one, page in self._standing.items() if one not in lapsed}
        return self._holding

    def tail(self) -> str:
        """The user's rules, recited where a model attends most: at the very end."""
        return "" if self.is_silent else self._tail()[0]

    def tail_tokens(self) -> int:
        """The tokens that the tail adds to a request."""
        return 0 if self.is_silent else self._tail()[1]

    def _tail(self) -> tuple[str, int]:
        rules = self.rules()
        known = tuple(page.page_id for page in rules)
        if self._told is None or self._told[0] != known:
            tail = self._recited(rules)
            self._told = known, tail, tail_tokens(self._counter, tail)
        return self._told[1:]

    def rules(self) -> list[Page]:
        """The user's rules, oldest first, whether or not there is room to recite them."""
        lapsed = self.lapses
        return [page for one, page in self._rules.items() if one not in lapsed]

    def recites(self, rules: Sequence[Page]) -> bool:
        """Whether the tail has room for all of these."""
        return self._counter.count("\n".join(map(render.standing_rule, rules))) <= TAIL_TOKENS

    def _recited(self, rules: Sequence[Page]) -> str:
        recited: list[Page] = []
        for page in reversed(rules):
            if not self.recites([page, *recited]):
                break
            recited = [page, *recited]
        return "\n".join(map(render.standing_rule, recited))
