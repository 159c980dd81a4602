"""What things are called, and how names are minted."""

from __future__ import annotations

import random
from typing import Final, NewType
from uuid import UUID

from pagefault.model.clock import Clock

PageId = NewType("PageId", str)
"""Shown to the model and cited by it (`msg_302`): short, and unique within one session."""

SessionNo = NewType("SessionNo", int)
"""The seq of the record that opened the session: how the store names a session inside."""

TurnNo = NewType("TurnNo", int)
"""Counts from 0 within one session; a user message opens the next turn."""

Seq = NewType("Seq", int)
"""Position in the log, from 1: the only total order there is."""

NOTHING: Final = Seq(0)
"""The seq before the first record."""

_CROCKFORD: Final = "0123456789abcdefghjkmnpqrstvwxyz"
_PAIRS: Final = tuple(high + low for high in _CROCKFORD for low in _CROCKFORD)
_SHIFTS: Final = tuple(range(120, -10, -10))


def crockford(value: UUID) -> str:
    """A UUID as 26 characters that sort as it does (Crockford's base 32, as in ULIDs)."""
    return _crockford(value.int)


def _crockford(number: int) -> str:
    return "".join([_PAIRS[(number >> shift) & 1023] for shift in _SHIFTS])


class IdMinter:
    """Mints UUIDv7 (RFC 9562 §5.7) from the clock and the chance it is given."""

    def __init__(self, clock: Clock, chance: random.Random) -> None:
        self._clock = clock
        self._chance = chance

    def mint(self) -> str:
        """A fresh id of 26 characters; ids minted later sort later, to the millisecond."""
        bits = self._chance.getrandbits(74)
        number = (self._clock.now_ms() & (2**48 - 1)) << 80
        number |= 0x7 << 76 | (bits >> 62) << 64 | 0b10 << 62 | bits & (2**62 - 1)
        return _crockford(number)  # no UUID in between: every record pays this
