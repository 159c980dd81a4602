"""Cache of a session: its fold so far, and results computed from it."""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from pagefault.pack.bill import Bill, BillItem
from pagefault.service.inspection.session_fold import HeldWindow, SessionFold
from pagefault.service.session import Session
from pagefault.views.texts import SessionTexts

SHARE: Final = 20
"""A sum over many requests is recomputed at most once per this many times its own duration, so that
a viewer costs at most a twentieth of a core.
"""
_WINDOWS: Final = 256


@dataclass(frozen=True, slots=True)
class Summed:
    """A bill as of record `upto`, and when its computation began and ended."""

    bill: Bill
    upto: int
    began: float
    ended: float

    def is_good(self, upto: int) -> bool:
        """Whether the bill is current, or too expensive to recompute yet."""
        pause = SHARE * (self.ended - self.began)
        return self.upto == upto or time.monotonic() < self.ended + pause


@dataclass(slots=True, eq=False)
class KeptSession:
    """A session with its latest fold; `items` are the requests in it."""

    session: Session
    fold: SessionFold
    texts: SessionTexts
    items: list[BillItem] = field(default_factory=list)
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    windows: OrderedDict[int, Callable[[], HeldWindow]] = field(default_factory=OrderedDict)
    bill: Summed | None = None
    reading: asyncio.Task[None] | None = None

    def held(self, number: int) -> HeldWindow:
        """The window of a request. Blocks on the store."""
        if number not in self.windows:
            self.windows |= self.fold.held(number)  # with its neighbours
            self.windows.move_to_end(number)
            while len(self.windows) > _WINDOWS:
                self.windows.popitem(last=False)
        return self.windows[number]()

    def summed(self) -> Bill:
        if self.bill is None or not self.bill.is_good(self.fold.upto):
            began = time.monotonic()
            bill = self.fold.bill(self.items)
            self.bill = Summed(bill, self.fold.upto, began, time.monotonic())
        return self.bill.bill
