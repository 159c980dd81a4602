"""The parts of a session: its state, and the collaborators of its verbs.

The façades beside this module add verbs to it and no field, and none knows another: what two of
them need is a collaborator, made here.
"""

from __future__ import annotations

from collections.abc import Awaitable

from pagefault.paging.pressure import Gauge
from pagefault.policy.prefetch import LOADING
from pagefault.service.derived.claims import Claims
from pagefault.service.derived.heat import HeatReader
from pagefault.service.derived.labels import Labels
from pagefault.service.derived.levels import Levels
from pagefault.service.derived.procedures import Procedures
from pagefault.service.lookup.pages import PageLookup
from pagefault.service.lookup.session_search import Finder
from pagefault.service.ownership import Owned
from pagefault.service.packs.session_items import SessionItems
from pagefault.service.runtime import Runtime
from pagefault.service.turn.append import Saying
from pagefault.service.turn.auto_recall import TurnRecall
from pagefault.service.turn.cache_marks import Marker
from pagefault.service.turn.call_server import CallServer
from pagefault.service.turn.formation import Formation
from pagefault.service.turn.prefetch import Prefetcher
from pagefault.service.turn.requests import Requests
from pagefault.service.window.state import SessionState


class SessionParts:
    """The one state of a session, for all of its façades."""

    def __init__(self, *, owned: Owned, session_id: str, name: str, runtime: Runtime) -> None:
        self.session_id = session_id
        self.name = name
        self.called = name or session_id
        self.pressure = Gauge()
        self._stand_on(owned, runtime)

    def _stand_on(self, owned: Owned, runtime: Runtime) -> None:
        """Continue with this state, in this store. While no verb runs."""
        self.owned = owned  # for the packages around this one: ownership among processes
        self.session = owned.session
        self.prefetcher = Prefetcher(
            runtime,
            strategies=(*LOADING[runtime.limits.loading], *runtime.prefetch),
            depth=runtime.limits.prefetch_pages_max,
            gauge=self.pressure,
        )
        self._runtime = runtime
        self._levels = Levels(owned, runtime)
        self._heat = HeatReader(runtime)
        self._pages = PageLookup(owned, runtime)
        procedures = Procedures(runtime, owned.session)
        self._labels = Labels(runtime, owned.session)
        self._claims = Claims(runtime, owned.session, procedures, self._labels)
        self._formation = Formation(owned, self._claims, self._labels)
        self._saying = Saying(owned, runtime, self._claims)
        self._finder = Finder(owned, runtime, self._claims)
        self._recall = TurnRecall(owned, runtime, self._finder, procedures, self.prefetcher)
        self._calls = CallServer(
            owned, runtime, levels=self._levels, recall=self._recall, prefetcher=self.prefetcher
        )
        self._requests = Requests(
            owned,
            runtime,
            levels=self._levels,
            recall=self._recall,
            prefetcher=self.prefetcher,
            pressure=self.pressure,
        )
        self._items = SessionItems(
            owned, runtime, self._claims, session_id=self.session_id, name=self.name
        )
        self._marker = Marker(runtime.counter, self.session_id)
        self._given: dict[str, str] = {}  # arguments of open calls, as they were given

    @property
    def _state(self) -> SessionState:
        """The current state: it may be replaced during any wait."""
        return self.owned.state


def check_open(session: SessionParts) -> Awaitable[None] | None:
    """An awaitable for a verb to begin with, if any (`Journal.ready`). Raises `StoreClosed` once
    the session's memory is closed.
    """
    return session._runtime.journal.ready()
