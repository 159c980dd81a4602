"""Ids: short to read, unique, and in the order in which they were minted."""

from __future__ import annotations

import random
from uuid import RFC_4122, UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pagefault.model.ids import IdMinter, crockford
from pagefault.model.kinds import ORIGINS, PAGE_PREFIX, Origin

ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"


class FixedClock:
    def __init__(self, now_ms: int) -> None:
        self.at = now_ms

    def now_ms(self) -> int:
        return self.at

    def monotonic_s(self) -> float:
        return 0.0


def decoded(minted: str) -> UUID:
    number = 0
    for character in minted:
        number = number * 32 + ALPHABET.index(character)
    return UUID(int=number)


def mint(now_ms: int, seed: int = 1) -> str:
    return IdMinter(FixedClock(now_ms), random.Random(seed)).mint()


@given(st.integers(0, 2**48 - 1), st.integers())
def test_an_id_is_a_uuid_of_version_seven_of_its_millisecond(now_ms: int, seed: int) -> None:
    """RFC 9562 §5.7: 48 bits of time, version 7, variant 10."""
    minted = mint(now_ms, seed)
    assert len(minted) == 26
    uuid = decoded(minted)
    assert uuid.int >> 80 == now_ms
    assert uuid.version == 7
    assert uuid.variant == RFC_4122
    assert crockford(uuid) == minted


def test_every_random_bit_is_used() -> None:
    ids = [decoded(mint(0, seed)).int for seed in range(200)]
    ones = zeros = 0
    for number in ids:
        ones |= number
        zeros |= ~number
    fixed = (2**48 - 1) << 80 | 0xF << 76 | 0b11 << 62
    assert (ones & zeros & (2**128 - 1)) == (2**128 - 1) & ~fixed


@given(st.integers(0, 2**48 - 2), st.integers(1, 10**6), st.integers(), st.integers())
def test_what_is_minted_later_sorts_later(now_ms: int, later: int, one: int, two: int) -> None:
    assert mint(now_ms, one) < mint(min(now_ms + later, 2**48 - 1), two)


def test_ids_of_one_millisecond_differ() -> None:
    minter = IdMinter(FixedClock(1_700_000_000_000), random.Random(7))
    assert len({minter.mint() for _ in range(20_000)}) == 20_000


@given(st.uuids(), st.uuids())
def test_written_ids_sort_as_their_numbers(one: UUID, two: UUID) -> None:
    assert (crockford(one) < crockford(two)) == (one.int < two.int)


def test_the_prefixes_of_pages_differ_and_are_short() -> None:
    prefixes = list(PAGE_PREFIX.values())
    assert len(set(prefixes)) == len(prefixes)
    assert all(p.isascii() and p.islower() and p.isalpha() and 3 <= len(p) <= 4 for p in prefixes)


@pytest.mark.parametrize("text", [*ORIGINS, "tool:grep", "tool:a b"])
def test_an_origin_is_one_of_the_channels(text: str) -> None:
    assert Origin(text) == text
    assert isinstance(Origin(text), str)


@pytest.mark.parametrize("text", ["", "tool:", "USER_TYPED", "user", " web", "nonsense"])
def test_anything_else_is_no_origin(text: str) -> None:
    with pytest.raises(ValueError, match="unknown origin"):
        Origin(text)
