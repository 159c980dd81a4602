"""Identifiers, and how they are minted."""

from __future__ import annotations

import random
import re
import unicodedata
from collections.abc import Mapping
from typing import Final, NewType
from uuid import UUID

from pagefault.model.clock import Clock

PageId = NewType("PageId", str)
"""Shown to the model and cited by it (`msg_302`): short, and unique within one session."""

SessionNo = NewType("SessionNo", int)
"""The seq of the record that opened the session: the store's internal name of a session."""

TurnNo = NewType("TurnNo", int)
"""Counts from 0 within one session; a user message opens the next turn."""

Seq = NewType("Seq", int)
"""Position in the log, from 1: the only total order."""

NOTHING: Final = Seq(0)
"""The seq before the first record."""

FOREVER: Final = Seq(2**63 - 1)
"""Later than any record."""

_DIGITS_MAX: Final = 15  # of a page's number

_LIKE_AN_ID: Final = re.compile(r"([a-z]*)[\W_]*0*([0-9]{1,15})")


def is_page_id(page_id: str, numbers: Mapping[str, int]) -> bool:
    """Whether a page has or had this id, given the largest numbers used by prefix. Ids are never
    reused, and have no gaps.
    """
    stem, _, number = page_id.rpartition("_")
    is_number = number.isascii() and number.isdecimal() and len(number) <= _DIGITS_MAX
    is_plain = is_number and number[0] != "0"  # msg_016 is not another spelling of msg_16
    return is_plain and int(number) <= numbers.get(stem, 0)


def told_near(page_id: str, numbers: Mapping[str, int]) -> str:
    """A suggestion for an id that no page ever had, in words: "msg_16" for "MSG 016" or "mgs_16",
    and the last number for one that is too high; "" if nothing is near.
    """
    found = _LIKE_AN_ID.fullmatch(unicodedata.normalize("NFKC", page_id).strip().lower())
    if found is None:
        return ""
    stem, number = found[1] or "msg", int(found[2])
    if stem not in numbers:
        from difflib import get_close_matches

        stem = next(iter(get_close_matches(stem, sorted(numbers), n=1)), "")
    last = numbers.get(stem, 0)
    if not last:
        return ""
    if number > last:
        return f"the last is {stem}_{last}"
    near = f"{stem}_{number or 1}"
    return "" if near == page_id else f"did you mean {near}?"  # the same: it is of another kind


_CROCKFORD: Final = "0123456789abcdefghjkmnpqrstvwxyz"
_PAIRS: Final = tuple(high + low for high in _CROCKFORD for low in _CROCKFORD)
_SHIFTS: Final = tuple(range(120, -10, -10))


def crockford(value: UUID) -> str:
    """A UUID as 26 characters in the same sort order (Crockford's base 32, as in ULIDs)."""
    return _crockford(value.int)


def _crockford(number: int) -> str:
    return "".join([_PAIRS[(number >> shift) & 1023] for shift in _SHIFTS])


class IdMinter:
    """Mints UUIDv7 (RFC 9562 §5.7) from the given clock and random source."""

    def __init__(self, clock: Clock, chance: random.Random) -> None:
        self._clock = clock
        self._chance = chance

    def mint(self) -> str:
        """A fresh id of 26 characters; later ids sort later, to the millisecond."""
        bits = self._chance.getrandbits(74)
        number = (self._clock.now_ms() & (2**48 - 1)) << 80
        number |= 0x7 << 76 | (bits >> 62) << 64 | 0b10 << 62 | bits & (2**62 - 1)
        return _crockford(number)  # without a UUID in between: every record pays for this
