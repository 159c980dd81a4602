"""ARC: a list of pages used once, a list of pages used again, and an adaptive border between them.

Both lists are in order of last use, and each has a ghost list of pages that left it. If a page
returns from the ghosts of one list, that list is too short, and the border moves in its favour.

Source: N. Megiddo and D. S. Modha, "ARC: a self-tuning, low overhead replacement cache", FAST 2003.
There are two differences. Lengths are in tokens, not pages, so the border moves by the tokens of
the page that came back. And since a policy does not know the window's size, the cache size is the
most that was ever in the window.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Set

from pagefault.model.ids import PageId
from pagefault.paging.questions import Resident
from pagefault.policy.enough import enough
from pagefault.policy.indifferent import Indifferent


class ARC(Indifferent):
    def __init__(self) -> None:
        self._once, self._again = _List(), _List()  # residents: T1 and T2 of the paper
        self._once_left, self._again_left = _List(), _List()  # ghosts: B1 and B2
        self._border = 0.0  # target tokens of pages used once: p
        self._room = 0  # c
        self._newest: PageId | None = None
        self._tips = False  # whether the newest came back from `_again_left`

    def admitted(self, page: Resident) -> None:
        page_id, tokens = page.page_id, page.tokens
        self._room = max(self._room, self._once.tokens + self._again.tokens)
        self._newest, self._tips = page_id, page_id in self._again_left.pages
        if page_id in self._once_left.pages:
            other = self._again_left.tokens / max(1, self._once_left.tokens)
            self._border = min(self._room, self._border + tokens * max(1.0, other))
            self._once_left.remove(page_id)
            self._again.add(page_id, tokens)
        elif page_id in self._again_left.pages:
            other = self._once_left.tokens / max(1, self._again_left.tokens)
            self._border = max(0.0, self._border - tokens * max(1.0, other))
            self._again_left.remove(page_id)
            self._again.add(page_id, tokens)
        else:
            self._once.add(page_id, tokens)

    def touched(self, page_id: PageId) -> None:
        if page_id in self._again.pages:
            self._again.pages.move_to_end(page_id)
        else:
            self._again.add(page_id, self._once.remove(page_id))

    def departed(self, page_id: PageId) -> None:
        if page_id in self._once.pages:
            self._once.remove(page_id)
        elif page_id in self._again.pages:
            self._again.remove(page_id)
        # else it was just evicted, and is a ghost

    def evicted(self, page_id: PageId) -> None:
        if page_id in self._once.pages:
            self._once_left.add(page_id, self._once.remove(page_id))
        elif page_id in self._again.pages:
            self._again_left.add(page_id, self._again.remove(page_id))
        while self._once_left.pages and self._once.tokens + self._once_left.tokens > self._room:
            self._once_left.drop_oldest()
        lists = (self._once, self._again, self._once_left, self._again_left)
        while self._again_left.pages and sum(one.tokens for one in lists) > 2 * self._room:
            self._again_left.drop_oldest()

    def victims(self, evictable: Set[PageId], tokens_needed: int) -> list[PageId]:
        return enough(self._order(evictable), tokens_needed)

    def _order(self, evictable: Set[PageId]) -> Iterator[tuple[PageId, int]]:
        once_tokens = self._once.tokens
        if self._newest is not None and self._newest not in evictable:
            once_tokens -= self._once.pages.get(self._newest, 0)  # room is being made for it
        once = ((p, n) for p, n in self._once.pages.items() if p in evictable)
        again = ((p, n) for p, n in self._again.pages.items() if p in evictable)
        while True:
            over = once_tokens - self._border
            is_once = over > 0 or (over == 0 and self._tips)
            found = next(once, None) if is_once else next(again, None)
            if found is None:
                is_once = not is_once
                found = next(once, None) if is_once else next(again, None)
            if found is None:
                return
            yield found
            if is_once:
                once_tokens -= found[1]


class _List:
    """Pages in order of last use, and their tokens."""

    def __init__(self) -> None:
        self.pages: OrderedDict[PageId, int] = OrderedDict()
        self.tokens = 0

    def add(self, page_id: PageId, tokens: int) -> None:
        self.pages[page_id] = tokens
        self.tokens += tokens

    def remove(self, page_id: PageId) -> int:
        tokens = self.pages.pop(page_id)
        self.tokens -= tokens
        return tokens

    def drop_oldest(self) -> None:
        _, tokens = self.pages.popitem(last=False)
        self.tokens -= tokens
