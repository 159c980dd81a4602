"""The wire formats that are read."""

from __future__ import annotations

from typing import Final

from pagefault.proxy.wires.chat import Chat
from pagefault.proxy.wires.gemini import Gemini
from pagefault.proxy.wires.messages import Messages
from pagefault.proxy.wires.responses import Responses
from pagefault.proxy.wires.wire import Wire

WIRES: Final[tuple[Wire, ...]] = (Chat(), Responses(), Messages(), Gemini())
