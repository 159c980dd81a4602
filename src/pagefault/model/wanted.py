"""The page filter, shared by every query."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from typing import Final

from pagefault.model.errors import BadInput
from pagefault.model.kinds import ORIGINS, Kind, Modality, is_tools
from pagefault.model.page import PageRow
from pagefault.model.signatures import check_fields, checked
from pagefault.model.times import DAY_MS, is_date, iso_ms, iso_text

TOOL: Final = "tool"
"""As an origin: any tool."""

_MS_MAX: Final = 1 << 52  # some 140,000 years

Time = str | int | datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchFilter:
    """A filter on pages. Empty collections match anything; an unknown name is `BadInput`.

    `kinds`, `modalities` and `origins` are names; the origin "tool" is any tool's. A page's time is
    when it was said, if its record says, else when it was logged; `since` is inclusive, `until`
    exclusive. A time is ISO 8601, a `datetime`, or milliseconds since 1970, in UTC unless it has a
    zone. A day as `until` is included.

    `session`, a name or an id, restricts a query of a whole memory to what that session sees.
    `sessions` restricts it to what any of these sees, including the regions that they may read,
    ranked as if there were nothing else; an empty one matches nothing.

    `imported_from`, a source such as "chatgpt" or "claude", restricts a query of a whole memory to
    what `import_history` read from there. "claude" includes "claude-code".

    With `history`, replaced pages and closed claims match, too: `hit.page.superseded` is the record
    that did it.

    Without `kinds`, listings leave out derived pages (claims, summaries).
    """

    kinds: Collection[str] = ()
    modalities: Collection[str] = ()
    origins: Collection[str] = ()
    since: Time | None = None
    until: Time | None = None
    session: str = ""
    sessions: Collection[str] | None = None
    history: bool = False
    imported_from: str = ""

    def __post_init__(self) -> None:
        check_fields(self)
        _check("kind", self.kinds, tuple(Kind))
        _check("modality", self.modalities, tuple(Modality))
        for origin in _told("origin", self.origins):
            if origin not in (*ORIGINS, TOOL) and not is_tools(origin):
                raise BadInput(
                    f"unknown origin {origin!r}",
                    hint=f"one of {', '.join(ORIGINS)}, tool, or tool:NAME",
                )
        if self.session and self.sessions is not None:
            raise BadInput("one session is asked for, and several", hint="give one of them")
        since, until = self.since_ms, self.until_ms
        if since is None or until is None:
            return
        last = until - 1 if _is_day(self.until) else until  # a day ends where the next begins
        if since > last:
            raise BadInput(
                f"since {self.since!r} is later than until {self.until!r}",
                hint="swap `since` and `until`",
            )

    @property
    def since_ms(self) -> int | None:
        return None if self.since is None else a_time_ms(self.since)

    @property
    def until_ms(self) -> int | None:
        """The end of the range in milliseconds, exclusive."""
        return None if self.until is None else an_end_ms(self.until)

    @property
    def is_some(self) -> bool:
        """Whether it excludes anything."""
        return bool(self.kinds or self.modalities or self.origins) or self.has_time

    @property
    def has_time(self) -> bool:
        return self.since is not None or self.until is not None

    @checked
    def between(self, since: Time | None, until: Time | None) -> SearchFilter:
        """The same with other times, where given."""
        since = self.since if since is None else since
        return replace(self, since=since, until=self.until if until is None else until)

    def admits(self, row: PageRow) -> bool:
        since, until = self.since_ms, self.until_ms
        return (
            (not self.kinds or row.kind in self.kinds)
            and (not self.modalities or row.modality in self.modalities)
            and (not self.origins or self.admits_origin(row.origin))
            and (since is None or row.said_ms >= since)
            and (until is None or row.said_ms < until)
        )

    def admits_origin(self, origin: str) -> bool:
        return origin in self.origins or (is_tools(origin) and TOOL in self.origins)


def a_time_ms(time: Time) -> int:
    """A time in milliseconds since 1970. Raises `BadInput`."""
    if isinstance(time, datetime):
        time = iso_text(time)
    found = time if isinstance(time, int) else iso_ms(time)
    if found is None or abs(found) > _MS_MAX:
        raise BadInput(f"{time!r} is not a time", hint="ISO 8601: 2026-03-05, 2026-03-05T08:45:00Z")
    return found


def an_end_ms(time: Time) -> int:
    """As `a_time_ms`; for a day, its end."""
    return a_time_ms(time) + (DAY_MS if _is_day(time) else 0)


def _is_day(time: Time | None) -> bool:
    return isinstance(time, str) and is_date(time)


def _told(what: str, names: Collection[str]) -> Collection[str]:
    if isinstance(names, str):
        raise BadInput(f"{names!r} is one {what}, not several", hint=f"give ({names!r},)")
    return names


def _check(what: str, names: Collection[str], known: Collection[StrEnum]) -> None:
    for name in _told(what, names):
        if name not in known:
            raise BadInput(f"unknown {what} {name!r}", hint=f"one of {', '.join(known)}")


ANY: Final = SearchFilter()
