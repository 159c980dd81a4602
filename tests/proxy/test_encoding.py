"""Compressed bodies are opened as a provider opens them, whole, up to a bound."""

from __future__ import annotations

import gzip
import sys
from collections.abc import Callable

import pytest

from pagefault.proxy.http.encoding import MEMBERS_MAX, NotOpened, TooLarge, opened

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

BODY = b'{"messages": [{"role": "user", "content": "the vault"}]}'
PACKED = pytest.mark.parametrize(
    ("encoding", "packed"), [("gzip", gzip.compress), ("zstd", zstd.compress)]
)


@PACKED
def test_what_stands_behind_the_first_member_is_read_as_well(
    encoding: str, packed: Callable[[bytes], bytes]
) -> None:
    members = [packed(BODY[:20]), packed(b""), packed(BODY[20:])]
    assert opened(b"".join(members), encoding, 1_000) == BODY
    with pytest.raises(NotOpened):
        opened(b"".join(members)[:-3], encoding, 1_000)
    with pytest.raises(NotOpened):
        opened(members[0] + b"no member", encoding, 1_000)
    with pytest.raises(TooLarge):
        opened(b"".join(members), encoding, len(BODY) - 1)


@PACKED
def test_a_body_of_very_many_members_is_not_opened(
    encoding: str, packed: Callable[[bytes], bytes]
) -> None:
    assert opened(packed(BODY) + packed(b"") * (MEMBERS_MAX - 1), encoding, 1_000) == BODY
    with pytest.raises(NotOpened):
        opened(packed(BODY) + packed(b"") * MEMBERS_MAX, encoding, 1_000)
