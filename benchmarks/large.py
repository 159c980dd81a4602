"""What one very large text costs: processor time and memory, by the library and by the proxy.

    python benchmarks/large.py [MEGABYTES]

prints, as a line of JSON for each material and each way in, the processor time from handing it in
to the closed memory, and by how much the process grew at most. Each is a process of its own, warmed
with a short text. `document` is the verb of the library; `user` hands the same in as a message,
which is refused where it fits no window; `proxy` is a request to a provider that answers at once.
`loop_s` is what 3,000,000 additions took just then: how slow the machine is.
"""

from __future__ import annotations

import asyncio
import base64
import json
import random
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pagefault
from pagefault.model.errors import MessageTooLarge

PIECE = 1 << 16  # bytes in which a client sends


def prose(chance: random.Random, size: int) -> str:
    """Sentences of words that are as frequent as their rank says (Zipf)."""
    letters = "etaoinshrdlucmfwypvbgkqjxz"
    known = ["".join(chance.choices(letters, k=chance.randint(2, 9))) for _ in range(30_000)]
    said = chance.choices(known, [1 / rank for rank in range(1, len(known) + 1)], k=size // 5)
    return " ".join(
        word.capitalize() if at % 12 == 0 else word + "." * (at % 12 == 11)
        for at, word in enumerate(said)
    )


def code(chance: random.Random, size: int) -> str:
    source = "".join(
        path.read_text() for path in sorted(Path(pagefault.__file__).parent.rglob("*.py"))
    )
    return source * (size // len(source) + 1)


def log(chance: random.Random, size: int) -> str:
    return "\n".join(
        f"2026-03-{at % 28 + 1:02}T{at % 24:02}:{at % 60:02}:07Z INFO worker-{at % 16} "
        f"request_id={chance.getrandbits(64):016x} path=/api/v1/items/{chance.randrange(10**6)} "
        f"status=200 took={chance.random() * 100:.2f}ms"
        for at in range(size // 110)
    )


def base64_in_one(chance: random.Random, size: int) -> str:
    return base64.b64encode(chance.randbytes(size)).decode()


def base64_in_lines(chance: random.Random, size: int) -> str:
    return base64.encodebytes(chance.randbytes(size)).decode()


def digits(chance: random.Random, size: int) -> str:
    return "".join(str(chance.randrange(10**18, 10**19)) for _ in range(size // 19 + 1))


def chinese(chance: random.Random, size: int) -> str:
    return "".join(chr(chance.randrange(0x4E00, 0x9000)) for _ in range(size // 3))


MATERIALS: dict[str, Callable[[random.Random, int], str]] = {
    one.__name__: one for one in (prose, code, log, base64_in_one, base64_in_lines, digits, chinese)
}


class Answers(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        left = int(self.headers["content-length"])
        while left > 0:
            left -= len(self.rfile.read(min(left, PIECE)))
        told = (
            b'{"choices":[{"message":{"role":"assistant","content":"ok"},"finish_reason":"stop"}]}'
        )
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(told)))
        self.end_headers()
        self.wfile.write(told)

    def log_message(self, *told: object) -> None:
        pass


async def by_library(text: str, root: str, verb: str, begin: Callable[[], None]) -> None:
    async with pagefault.open(root) as memory:
        session = await memory.session("s")
        await session.document("A short one, to load what is needed.", title="warm")
        await session.recall("short")
        begin()
        try:
            await getattr(session, verb)(text)
        except MessageTooLarge:
            assert verb == "user"


async def by_proxy(text: str, root: str, url: str, begin: Callable[[], None]) -> None:
    from pagefault.model.clock import SystemClock
    from pagefault.pack.count import O200k
    from pagefault.proxy.http.relay import Patience, Relay
    from pagefault.proxy.server import Proxy

    async with pagefault.open(root) as memory:
        relay = Relay(url, Patience())
        proxy = Proxy(memory=memory, relay=relay, counter=O200k(), clock=SystemClock())
        await asyncio.create_task(ask(proxy, "warm", "A short one, to load what is needed."))
        begin()
        await asyncio.create_task(ask(proxy, "large", text))
        await proxy.settled()
        await relay.aclose()


async def ask(proxy: Any, named: str, text: str) -> None:
    pieces = [b'{"model":"m","messages":[{"role":"user","content":"']
    at = 0

    async def receive() -> dict[str, Any]:
        nonlocal at
        if pieces:
            return {"type": "http.request", "body": pieces.pop(), "more_body": True}
        if at > len(text):
            await asyncio.sleep(3_600)
        piece = json.dumps(text[at : at + PIECE], ensure_ascii=False)[1:-1].encode()
        at += PIECE
        ended = at >= len(text)
        at = len(text) + 1 if ended else at
        return {
            "type": "http.request",
            "body": piece + b'"}]}' if ended else piece,
            "more_body": not ended,
        }

    async def send(message: Any) -> None:
        assert message.get("status", 200) == 200, message

    path = b"/v1/chat/completions"
    headers = [(b"host", b"127.0.0.1"), (b"x-pagefault-session", named.encode())]
    scope = {"type": "http", "method": "POST", "path": path.decode(), "raw_path": path}
    scope |= {"query_string": b"", "headers": headers, "http_version": "1.1"}
    await proxy(scope, receive, send)


def measure(material: str, way: str, size: int) -> dict[str, Any]:
    text = MATERIALS[material](random.Random(material), size)
    text = text.encode()[:size].decode(errors="ignore")
    began: dict[str, float] = {}

    def begin() -> None:
        Path("/proc/self/clear_refs").write_text("5")  # the peak is counted from here
        began.update(mib=mib("VmRSS"), cpu=time.process_time())

    with tempfile.TemporaryDirectory() as root:
        if way == "proxy":
            asyncio.run(by_proxy(text, root, sys.argv[4], begin))
        else:
            asyncio.run(by_library(text, root, way, begin))
    cpu = time.process_time() - began["cpu"]
    grown = mib("VmHWM") - began["mib"]
    before = time.process_time()
    total = 0
    for number in range(3_000_000):
        total += number
    return {
        "material": material,
        "way": way,
        "cpu_s": round(cpu, 2),
        "grown_mib": round(grown),
        "loop_s": round(time.process_time() - before, 2),
    }


def mib(of: str) -> float:
    status = Path("/proc/self/status").read_text()
    return int(status.split(f"{of}:")[1].split()[0]) / 1024


def main() -> None:
    if len(sys.argv) > 2:
        sys.stdout.write(json.dumps(measure(sys.argv[2], sys.argv[3], int(sys.argv[1]))) + "\n")
        return
    size = int(float(sys.argv[1] if len(sys.argv) == 2 else "16") * 1_000_000)
    provider = HTTPServer(("127.0.0.1", 0), Answers)
    threading.Thread(target=provider.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{provider.server_port}"
    for material in MATERIALS:
        for way in ("document", "user", "proxy"):
            told = [sys.executable, __file__, str(size), material, way, url]
            subprocess.run(told, check=True)


if __name__ == "__main__":
    main()
