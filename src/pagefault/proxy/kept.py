"""Which conversations stay in memory: the latest, in bounds. The others are restored from the log.

A conversation takes memory for all that was said in it since its beginning: what its client
compacted is still there, as clients go back behind that. So a count bounds nothing by itself.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Final

from pagefault.proxy.conversation.conversation import Conversation

CONVERSATIONS_MAX: Final = 48
"""Each takes about 2.5 MB for 300 kB of history, half of it for the body that was read last."""
CHARS_MAX: Final = 16_000_000
"""Of all kept conversations, as `Trie.chars` counts: about 32 with histories of 300 kB, which with
what was read of their bodies take 80 MB of the 400 that a proxy may have.
"""
ALWAYS_KEPT: Final = 4
"""The latest, whatever they weigh: two or three agents that run for weeks would else be restored
from the log with each request.
"""


def let_go(kept: OrderedDict[str, Conversation]) -> None:
    """Let go of the conversations that were used least recently, until the rest is in bounds."""
    chars = sum(one.chars for one in kept.values())
    while len(kept) > CONVERSATIONS_MAX or (chars > CHARS_MAX and len(kept) > ALWAYS_KEPT):
        _, gone = kept.popitem(last=False)
        chars -= gone.chars
