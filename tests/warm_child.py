"""Stands for `python`: asks the warm process (`warm.py`) for a child that does the work.

It hands over its stdin, stdout and stderr, folder, environment and words, and the child has them.
It stops when the child stops, ends as the child ends, and the child is killed when it is. It is
compiled and run at each command, so it is short, and imports only what is built in.
"""

from __future__ import annotations

import os
import sys
from _signal import SIG_DFL, SIGKILL, signal  # type: ignore[import-not-found]
from _socket import AF_UNIX, SCM_RIGHTS, SOCK_STREAM, SOL_SOCKET, socket


def ask(place: str, words: list[str]) -> int:
    """Have a child run these words; returns its status, or dies as it did."""
    environment = (f"{name}={value}" for name, value in os.environ.items())
    fields = [str(os.getpid()), "0", os.getcwd(), str(len(words)), *words, *environment]
    told = "\0".join(fields).encode(errors="surrogateescape")
    server = socket(AF_UNIX, SOCK_STREAM)
    server.connect(place)
    streams = b"".join(number.to_bytes(4, sys.byteorder) for number in range(3))
    server.sendmsg([len(told).to_bytes(8, "big")], [(SOL_SOCKET, SCM_RIGHTS, streams)])
    server.sendall(told)
    os.close(0)  # the child's alone
    status = int(server.recv(8) or b"1")
    if status < 0:
        if -status != SIGKILL:
            signal(-status, SIG_DFL)
        os.kill(os.getpid(), -status)
    return status


if __name__ == "__main__":
    sys.exit(ask(sys.argv[1], sys.argv[2:]))
