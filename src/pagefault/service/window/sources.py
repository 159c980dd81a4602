"""Look-ups of what a session's records only name."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from pagefault.model.ids import PageId
from pagefault.model.kinds import Compaction
from pagefault.model.page import Evidence, Page, PageRow
from pagefault.pack.cache import PackCache
from pagefault.pack.count import TokenCounter
from pagefault.pack.layout import UNSEALED
from pagefault.pack.render import Seal
from pagefault.paging.questions import EvictionPolicy
from pagefault.policy.epochs import EpochRule
from pagefault.service.window.derived_drafts import Made

Summarise = Callable[[Sequence[Page], bool, Sequence[Evidence]], Made | None]
"""The summary of a run of turns: whether it quotes, and words that it must not quote."""


@dataclass(frozen=True, slots=True)
class Sources:
    """Look-ups of what a state's records only name."""

    find_row: Callable[[PageId], PageRow | None]
    read_page: Callable[[PageRow], Page]  # raises RecordGone
    counter: TokenCounter
    policy: Callable[[], EvictionPolicy]
    epochs: EpochRule
    summarise: Summarise
    packs: PackCache = field(default_factory=PackCache)
    is_adopted: bool = True  # the memory, by its user: else no claim has authority
    seal: Seal = UNSEALED  # the numbers that close blocks of data
    is_withdrawn: Callable[[PageRow], bool] = lambda row: False  # by a person: no request shows it
    compaction: Compaction = Compaction.EXTRACTIVE
