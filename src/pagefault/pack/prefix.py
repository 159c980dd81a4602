"""Rolling hashes over a rendered request, to find the common prefix of two requests.

Block 0 is the tools, every further block one message; the hash of a block covers all blocks up to
it. So equal hashes at a place mean equal bytes before it, and a binary search over blocks finds the
longest common prefix without reading the text again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b
from itertools import accumulate
from typing import Final

from pagefault.model.request import Message, ToolSpec
from pagefault.pack.count import TokenCounter, message_tokens, tools_tokens
from pagefault.pack.envelope import dump

_DIGEST_BYTES: Final = 16


@dataclass(frozen=True, slots=True)
class Prefix:
    """The cacheable part of a request: everything but its volatile tail.

    `hashes[n]` and `ends[n]` are the rolling hash, and the tokens, of the first n + 1 blocks.
    """

    hashes: tuple[bytes, ...]
    ends: tuple[int, ...]
    messages: tuple[Message, ...]

    @classmethod
    def of(
        cls,
        tools: Sequence[ToolSpec],
        messages: Sequence[Message],
        counter: TokenCounter,
        *,
        after: Prefix | None = None,
    ) -> Prefix:
        """The prefix of a request, without its tail. Objects shared with the previous request,
        `after`, are not hashed and counted again.
        """
        hashes = [_digest(b"", _tools_bytes(tools))]
        tokens = [tools_tokens(counter, tools)]
        same = 0
        if after is not None and after.hashes[0] == hashes[0]:
            for mine, theirs in zip(messages, after.messages, strict=False):
                if mine is not theirs:
                    break
                same += 1
            hashes = list(after.hashes[: same + 1])
            tokens = [end - begin for begin, end in _spans(after.ends[: same + 1])]
        for message in messages[same:]:
            hashes.append(_digest(hashes[-1], _message_bytes(message)))
            tokens.append(message_tokens(counter, message))
        return cls(tuple(hashes), tuple(accumulate(tokens)), tuple(messages))

    @property
    def tokens(self) -> int:
        return self.ends[-1]

    @property
    def blocks(self) -> int:
        return len(self.hashes)

    def end(self, blocks: int) -> int:
        """The tokens of the first `blocks` blocks."""
        return self.ends[blocks - 1] if blocks else 0

    def shared_blocks(self, other: Prefix) -> int:
        """The number of equal blocks at the beginning of both, byte for byte."""
        low, high = 0, min(self.blocks, other.blocks)
        while low < high:
            middle = (low + high + 1) // 2
            if self.hashes[middle - 1] == other.hashes[middle - 1]:
                low = middle
            else:
                high = middle - 1
        return low

    def shared_tokens(self, other: Prefix) -> int:
        """The tokens of the common prefix, in whole blocks."""
        return self.end(self.shared_blocks(other))


def _spans(ends: Sequence[int]) -> list[tuple[int, int]]:
    return list(zip((0, *ends), ends, strict=False))


def _digest(before: bytes, data: bytes) -> bytes:
    return blake2b(before + data, digest_size=_DIGEST_BYTES).digest()


def _tools_bytes(tools: Sequence[ToolSpec]) -> bytes:
    told = [[tool.name, tool.description, dict(tool.parameters)] for tool in tools]
    return dump(told).encode()


def _message_bytes(message: Message) -> bytes:
    calls = [[call.call_id, call.name, call.arguments] for call in message.tool_calls]
    # A call's arguments are the model's own words, and may hold half of a surrogate pair.
    return dump([message.role, message.content, calls, message.call_id]).encode("utf-8", "replace")
