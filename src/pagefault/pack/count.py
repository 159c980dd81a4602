"""Token counts of texts, and of the framing that a request adds.

The framing figures are those of OpenAI's published recipe for chat models, rounded up. If a model
counts more, a session learns the factor from its provider's reports.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from typing import Final, Protocol

from pagefault.model.request import Message, ToolSpec
from pagefault.pack.envelope import dump

REQUEST_TOKENS: Final = 3  # that prime the reply
MESSAGE_TOKENS: Final = 4  # around each message
CALL_TOKENS: Final = 8  # around each tool call, and around each tool
RESULT_TOKENS: Final = 4  # that link a result to its call
BLOCK_CHARS: Final = 1 << 16
"""Long texts are counted in blocks of this size: cost grows faster than a word's length."""

_ENDLESS: Final = 1 << 60


class TokenCounter(Protocol):
    def count(self, text: str) -> int: ...
    def count_all(self, texts: Sequence[str]) -> list[int]: ...


class O200k:
    """The o200k vocabulary: exact for OpenAI's models since 4o, and the unit of stored counts."""

    def count(self, text: str) -> int:
        """The tokens of a text. Special tokens count as ordinary text, and half a surrogate pair,
        which some clients send, as a question mark.
        """
        from toktok import truncate

        try:
            # Truncating beyond any length returns the count. `batch_count` does, too, but each call
            # queries the number of processors of this process.
            counted: int = truncate(text, _ENDLESS, "o200k_base")[1]
        except UnicodeEncodeError:
            counted = self.count(text.encode(errors="replace").decode())
        return counted

    def count_all(self, texts: Sequence[str]) -> list[int]:
        """One count per text."""
        return [self.count(text) for text in texts]


def message_tokens(counter: TokenCounter, message: Message) -> int:
    """The tokens that a message adds to a request, framing included."""
    return messages_tokens(counter, [message])[0]


def messages_tokens(counter: TokenCounter, messages: Sequence[Message]) -> list[int]:
    """The tokens that each message adds, framing included."""
    texts: list[str] = []
    shares: list[tuple[int, int]] = []  # for each: framing tokens, and number of texts
    for message in messages:
        own = [message.content]
        for call in message.tool_calls:
            own += (call.call_id, call.name, call.arguments)
        framing = MESSAGE_TOKENS + CALL_TOKENS * len(message.tool_calls)
        if message.call_id:
            own.append(message.call_id)
            framing += RESULT_TOKENS
        texts += own
        shares.append((framing, len(own)))
    counts = iter(counter.count_all(texts))
    return [framing + sum(islice(counts, number)) for framing, number in shares]


def tail_tokens(counter: TokenCounter, tail: str) -> int:
    """The tokens that the volatile tail adds to a request, as a block of its own."""
    return MESSAGE_TOKENS + counter.count(tail) if tail else 0


def tools_tokens(counter: TokenCounter, tools: Sequence[ToolSpec]) -> int:
    """The tokens that tools add to a request: their JSON, never less than a provider renders."""
    return sum(
        CALL_TOKENS + counter.count(dump([tool.name, tool.description, dict(tool.parameters)]))
        for tool in tools
    )
