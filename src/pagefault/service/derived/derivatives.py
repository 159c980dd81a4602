"""What was made of given pages, directly or through what was made of them."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from pagefault.model.errors import StoreCorrupt
from pagefault.model.events import Content
from pagefault.model.ids import PageId, SessionNo
from pagefault.model.kinds import DERIVED_TYPES
from pagefault.model.page import PageRow
from pagefault.service.runtime import Runtime


def derivatives(
    runtime: Runtime, sessions: Iterable[SessionNo], page_ids: Collection[PageId]
) -> list[PageRow]:
    """Derived pages of these sessions that rest on one of these pages, however indirectly.

    Reads every derived record of the sessions: for what is seldom done. A damaged one is left out.
    """
    derived = [found for session in sessions for found in _derived(runtime, session)]
    rest_on, found = set(page_ids), dict[PageId, PageRow]()
    grew = True
    while grew:
        grew = False
        for row, sources in derived:
            if row.page_id not in found and not rest_on.isdisjoint(sources):
                found[row.page_id] = row
                rest_on.add(row.page_id)
                grew = True
    return list(found.values())


def _derived(runtime: Runtime, session: SessionNo) -> Iterable[tuple[PageRow, set[PageId]]]:
    for seq in runtime.index.events(session, types=sorted(map(str, DERIVED_TYPES))):
        try:
            body = runtime.log.get(seq).body
        except StoreCorrupt:
            continue
        row = runtime.index.page_at(seq)
        if row is not None and isinstance(body, Content):
            sources = {*body.provenance, body.represents}
            yield row, sources | {span.page_id for span in body.evidence}
