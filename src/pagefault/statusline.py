"""The status line of Claude Code, asked of the proxy that it goes through.

Claude Code runs this after each answer, with JSON on stdin, and shows the line that it prints. It
is to cost hardly more than to start Python, so it imports as little as can be (not even `socket`),
reads no JSON itself, and waits for a moment at most. Whatever fails, it exits with 0 and prints
nothing that could be taken for an answer.

Only a proxy on this machine is asked. It is told the token that the client itself sends, and then
tells of that user's sessions alone; without one, the key from a file that is this user's alone.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Final

STDIN_BYTES_MAX: Final = 60_000
ANSWER_BYTES_MAX: Final = 4_000
LINE_CHARS_MAX: Final = 200
WAIT_S: Final = 0.5
_TOKEN: Final = "x-pagefault-token"


def main() -> None:
    """Print the line for what stands on stdin."""
    try:
        line = "" if os.isatty(0) else told(_stdin(), os.environ)
        if line:
            os.write(1, f"{line}\n".encode())
    except Exception:  # a status line is no place for a traceback
        pass
    sys.exit(0)


def told(body: bytes, env: Mapping[str, str]) -> str:
    """What the proxy says, on one line with nothing in it that acts on a terminal."""
    url = env.get("ANTHROPIC_BASE_URL", "")
    scheme, _, rest = url.partition("://")
    authority = rest.partition("/")[0]
    host, colon, port = authority.rpartition(":")
    host = host.strip("[]")
    if scheme != "http" or not colon or not port.isdecimal():
        return ""
    if host not in ("127.0.0.1", "localhost", "::1"):
        return ""
    host = "127.0.0.1" if host == "localhost" else host
    try:
        answer = _asked(host, int(port), body, _allowed(host, port, env))
    except (OSError, OverflowError):
        return f"pagefault: no proxy at {authority[:60]}"
    head, _, text = answer.partition(b"\r\n\r\n")
    if not head.startswith((b"HTTP/1.1 200", b"HTTP/1.0 200")) or b"text/plain" not in head:
        return ""
    line = text.decode(errors="replace").partition("\n")[0]
    return "".join(char for char in line if char.isprintable())[:LINE_CHARS_MAX]


def _allowed(host: str, port: str, env: Mapping[str, str]) -> str:
    """A header that says who asks, if one does."""
    for one in env.get("ANTHROPIC_CUSTOM_HEADERS", "").splitlines():
        name, _, value = one.partition(":")
        if name.strip().lower() == _TOKEN:
            return f"{_TOKEN}: {value.strip()}\r\n"
    path = os.path.join(_state(env), "proxies", f"{host.replace(':', '_')}_{port}.json")
    try:
        fd = os.open(path, os.O_RDONLY)
    except OSError:
        return ""
    try:
        key = os.read(fd, STDIN_BYTES_MAX).partition(b'"key": "')[2].partition(b'"')[0]
    finally:
        os.close(fd)
    return f"x-pagefault-operator: {key.decode()}\r\n" if key else ""


def _state(env: Mapping[str, str]) -> str:
    """As `platformdirs.user_state_path` has it, which would take longer than all the rest."""
    home = env.get("HOME", "")
    if sys.platform == "darwin":
        return os.path.join(home, "Library", "Application Support", "pagefault")
    named = env.get("XDG_STATE_HOME", "").strip() or os.path.join(home, ".local", "state")
    return os.path.join(named, "pagefault")


def _asked(host: str, port: int, body: bytes, who: str) -> bytes:
    """The whole answer. `OSError` where nobody listens, or nothing comes in time."""
    import _socket

    family = _socket.AF_INET6 if ":" in host else _socket.AF_INET
    link = _socket.socket(family, _socket.SOCK_STREAM)
    try:
        link.settimeout(WAIT_S)
        link.connect((host, port))
        name = f"[{host}]" if ":" in host else host
        link.sendall(
            f"POST /statusline HTTP/1.1\r\nHost: {name}:{port}\r\nConnection: close\r\n{who}"
            f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n".encode()
            + body
        )
        answer = b""
        while len(answer) < ANSWER_BYTES_MAX and (piece := link.recv(ANSWER_BYTES_MAX)):
            answer += piece
        return answer
    finally:
        link.close()


def _stdin() -> bytes:
    body = b""
    while len(body) < STDIN_BYTES_MAX and (piece := os.read(0, STDIN_BYTES_MAX)):
        body += piece
    return body


if __name__ == "__main__":
    main()
