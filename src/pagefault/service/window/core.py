"""The core of a session: the claims that stand on the user's word, and what is recited of them."""

from __future__ import annotations

from collections.abc import Sequence

from pagefault.model.defaults import TAIL_TOKENS
from pagefault.model.ids import PageId
from pagefault.model.kinds import USERS, ClaimType
from pagefault.model.page import Derived, Page
from pagefault.pack import render
from pagefault.pack.count import TokenCounter, tail_tokens


class Core:
    def __init__(self, counter: TokenCounter, *, is_adopted: bool) -> None:
        """Without `is_adopted` nobody vouches for what the log says users said: no claim stands."""
        self._counter = counter
        self._is_adopted = is_adopted
        self.is_silent = False  # nothing is brought into requests: no rule is recited
        self.claims: dict[PageId, Page] = {}  # that stand, oldest first
        self.closed_by: dict[PageId, PageId] = {}  # claims that hold no more, and what ended each
        self._told: tuple[str, int] | None = None  # the tail and its tokens, until a claim comes

    def fold(self, page: Page, derived: Derived) -> None:
        """Take one more claim into account: it may close an older one."""
        self._told = None
        self.claims.pop(derived.supersedes, None)
        if derived.supersedes:
            self.closed_by[derived.supersedes] = page.page_id
        is_users = self._is_adopted and page.row.origin in USERS
        if is_users and derived.claim_type != ClaimType.RETRACTION:
            self.claims[page.page_id] = page

    def tail(self) -> str:
        """The standing rules of the user, recited where a model attends most: at the very end."""
        return "" if self.is_silent else self._tail()[0]

    def tail_tokens(self) -> int:
        """What the tail adds to a request that ends with it."""
        return 0 if self.is_silent else self._tail()[1]

    def _tail(self) -> tuple[str, int]:
        if self._told is None:
            tail = self._rules()
            self._told = tail, tail_tokens(self._counter, tail)
        return self._told

    def rules(self) -> list[Page]:
        """The standing rules of the user, oldest first, whether there is room to recite them."""
        return [
            page
            for page in self.claims.values()
            if page.derived is not None and page.derived.claim_type == ClaimType.RULE
        ]

    def recites(self, rules: Sequence[Page]) -> bool:
        """Whether the tail has room for all of these."""
        return self._counter.count("\n".join(map(render.standing_rule, rules))) <= TAIL_TOKENS

    def _rules(self) -> str:
        recited: list[Page] = []
        for page in reversed(self.rules()):
            if not self.recites([page, *recited]):
                break
            recited = [page, *recited]
        return "\n".join(map(render.standing_rule, recited))
