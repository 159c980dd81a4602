"""Session names for people: short forms of the names that a proxy or an import makes, and guesses
at mistyped ones.

A proxy's names are long: the client's own id or a given name, what distinguishes several
conversations under it (its lane), and whose it is: `8f1c2d3e-…:6ec3dd@~0b673292d3ecbceb`.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Sequence
from difflib import get_close_matches
from itertools import takewhile
from typing import Final

from pagefault.model.errors import SessionNotFound
from pagefault.model.ids import SessionNo
from pagefault.model.page import SessionRow
from pagefault.service.lookup.imported import IMPORT_PREFIX

PROXIED: Final = re.compile(
    r"(?P<full>(?:(?P<kind>[a-z]+):)?(?P<key>[^:@]+)(?::[a-z]+)?)"
    r"(?P<lane>:[0-9a-f]{6})(?P<whose>@[^:@]+)?"
)
_IMPORTED: Final = re.compile(rf"({IMPORT_PREFIX}[^:]*:)([^:~]*)(.*)", re.DOTALL)
NAMES_TOLD: Final = 5
_TYPED: Final = re.compile(r"(?P<head>[^@]+?)(?P<lane>:[0-9a-f]{6})?(?P<whose>@[^:@]*)?")
_NOBODY_NAMED_IT: Final = re.compile(r"[0-9a-f]{8}-?[0-9a-f-]{4,}|[0-9a-f]{12,}|ses_\w+|\Z")
# Of a client's id; those that were made within a minute may begin alike (RFC 9562).
_ID_CHARS: Final = (8, 13)
_WHOSE_CHARS: Final = 6  # of "@~" and a digest


def given_name(name: str) -> str:
    """The name that a person gave a session; "" if nobody did."""
    match = PROXIED.fullmatch(name)
    kind, key = (match["kind"] or "", match["key"]) if match and match["whose"] else ("", name)
    if kind == "unnamed" or name.startswith(IMPORT_PREFIX) or _NOBODY_NAMED_IT.match(key):
        return ""
    return key


def short_names(name: str) -> set[str]:
    """Short names of a proxied session: its client's own id, and the name from a header or a path,
    without the part that distinguishes several conversations under one name, or their owner.
    """
    match = PROXIED.fullmatch(name)
    if match is None:
        return set()
    full, key, lane, whose = match["full"], match["key"], match["lane"], match["whose"] or ""
    return {full, key, full + lane, full + whose, key + whose}


def brief(name: str) -> str:
    """A proxied or imported session's name with its id and its owner's digest cut; another name as
    it is.
    """
    return briefs(name)[-1]


def meant(found: Sequence[SessionRow]) -> SessionRow | None:
    """Of the sessions of one name, the one that it opens: the only one, or the one used last if all
    but the first go on from another of them (`Session.restore`). None if several began by
    themselves, or there is none.
    """
    numbers = {row.session for row in found}
    began = sum(row.parent not in numbers for row in found)
    return max(found, key=lambda row: row.last_seq) if began == 1 else None


def forked(rows: Sequence[SessionRow]) -> set[SessionNo]:
    """Those that were forked from another of these sessions, under a name of their own or none."""
    names = {row.session: row.name for row in rows}
    return {
        row.session
        for row in rows
        if row.parent in names and not (row.name and row.name == names[row.parent])
    }


def brief_names(rows: Sequence[SessionRow]) -> dict[str, str]:
    """The shortest name of each session that `begun_by` finds no other by; its id if it has none or
    shares it.
    """
    plain = sorted(
        one.casefold()
        for row in rows
        for one in (row.session_id, *([] if PROXIED.fullmatch(row.name) else [row.name]))
    )
    names: dict[str, list[SessionRow]] = {}
    for row in rows:
        names.setdefault(row.name, []).append(row)
    all_briefs = {name: briefs(name) for name in names}
    taken = Counter(one for each in all_briefs.values() for one in each)

    def is_free(one: str, own: str) -> bool:
        """Whether no other name begins so, except those of an import's own branches."""
        begun, own = one.casefold(), own.casefold()
        after = (plain[at] for at in range(bisect_left(plain, begun), len(plain)))
        begin_so = takewhile(lambda name: name.startswith(begun), after)
        return taken[one] == 1 and all(name.startswith(own) for name in begin_so)

    told = {}
    for row in rows:
        own = row.name if row.name and meant(names[row.name]) is row else row.session_id
        is_long = all_briefs[row.name] != [row.name]
        free = (one for one in all_briefs[row.name] if is_free(one, row.name)) if is_long else ()
        told[row.session_id] = next(iter(free), own)
    return told


def begun_by(name: str, rows: Sequence[SessionRow]) -> list[SessionRow]:
    """The sessions whose name or id begins so; of a proxied one's, each part may be the beginning,
    as in `8f1c2d@~0b67`. The short name of one import alone means that one. None for an empty name.
    """
    begun = name.casefold()
    typed = _TYPED.fullmatch(begun)
    if begun.startswith(IMPORT_PREFIX):
        exactly = [row for row in rows if begun in map(str.casefold, briefs(row.name))]
        if len(exactly) == 1:
            return exactly
    return [
        row
        for row in rows
        if begun
        and (
            row.name.casefold().startswith(begun)
            or row.session_id.startswith(begun)
            or (typed is not None and _is_short_for(typed, row.name.casefold()))
        )
    ]


def not_found(
    name: str, rows: Sequence[SessionRow], listed: str = "`Memory.sessions` lists them all"
) -> SessionNotFound:
    """With the likely name, if one is near, or those that begin so, and where they are `listed`."""
    missing = SessionNotFound(name)
    found = begun_by(name, rows)
    near = told_apart(found, rows)
    if len(near) > 1:
        missing.args = (f"{name!r} is how {len(near)} sessions begin",)
    if not near and name:
        heads = {row.name[: len(name)].casefold(): row for row in reversed(rows) if row.name}
        close = [heads[one] for one in get_close_matches(name.casefold(), heads)]
        near = told_apart(close, rows)
    told = ", ".join(map(repr, near[:NAMES_TOLD]))
    missing.hint = " ".join(filter(None, [f"did you mean {told}?" if near else "", listed]))
    return missing


def told_apart(found: Sequence[SessionRow], rows: Sequence[SessionRow]) -> list[str]:
    """A name for each of those found that no other has."""
    names = brief_names(rows) if found else {}
    return [names[row.session_id] for row in found]


def briefs(name: str) -> list[str]:
    """Short forms of a proxied or imported session's name, shortest first; the name itself for
    others.
    """
    match = PROXIED.fullmatch(name)
    if imported := _IMPORTED.fullmatch(name):
        source, key, branch = imported.groups()
        is_id = _NOBODY_NAMED_IT.match(key) and len(key) > _ID_CHARS[-1]
        return [source + key[:many] + branch for many in _ID_CHARS] if is_id else [name]
    if match is None:
        return [name]
    key, lane, whose = match["key"], match["lane"], match["whose"] or ""
    heads = [key[:many] for many in _ID_CHARS] if _NOBODY_NAMED_IT.match(key) else [key]
    whose = whose[:_WHOSE_CHARS] if whose.startswith("@~") else whose
    last = heads[-1]
    return list(dict.fromkeys([*heads, last + whose, last + lane, last + lane + whose]))


def _is_short_for(typed: re.Match[str], name: str) -> bool:
    match = PROXIED.fullmatch(name)
    return (
        match is not None
        and (match["key"].startswith(typed["head"]) or match["full"].startswith(typed["head"]))
        and match["lane"].startswith(typed["lane"] or "")
        and (match["whose"] or "").startswith(typed["whose"] or "")
    )
