"""A provider on the loopback that answers each call as a test says."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass
class Provider:
    """`answer` makes status and document of a request's body; `usual` the document alone."""

    usual: Callable[[dict[str, Any]], Any]
    url: str = ""
    seen: list[dict[str, Any]] = field(default_factory=list)
    keys: list[str] = field(default_factory=list)
    paths: list[str] = field(default_factory=list)
    answer: Callable[[dict[str, Any]], tuple[int, Any]] = field(init=False)

    def __post_init__(self) -> None:
        self.answer = lambda body: (200, self.usual(body))


@contextmanager
def serving(usual: Callable[[dict[str, Any]], Any]) -> Iterator[Provider]:
    told = Provider(usual)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            told.seen.append(body)
            told.keys.append(self.headers.get("Authorization", ""))
            told.paths.append(self.path)
            status, document = told.answer(body)
            payload = json.dumps(document).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(payload)))
            self.end_headers()
            self.wfile.write(payload)

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    told.url = f"http://127.0.0.1:{server.server_address[1]}/v1"
    try:
        yield told
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


async def no_wait(seconds: float) -> None:
    pass
