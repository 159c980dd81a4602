"""The running proxies of this user: one file for each address, locked as long as its process lives.

A recorded pid proves little: its process may be gone, and another may have the number. So the file
is locked (`flock`), which the kernel releases with the process, and `ask` has the proxy itself
return its instance, which is random. The files are readable by the user alone, who can read the
memory too. They hold the key by which a proxy knows its operator (`desk.py`), but no client's token
and no provider's key.
"""

from __future__ import annotations

import fcntl
import hmac
import http.client
import json
import os
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from pagefault.engine.endpoint import is_loopback

KEY_HEADER: Final = "x-pagefault-operator"  # of the operator; never sent on
_FILE_BYTES_MAX: Final = 65_536
_ANSWER_BYTES_MAX: Final = 1_000_000
_TRIES: Final = 50


def dashboard_token(key: str) -> str:
    """The dashboard's token, derived from the operator's key. It opens nothing else."""
    return hmac.new(key.encode(), b"dashboard", "sha256").hexdigest()


@dataclass(frozen=True, slots=True, kw_only=True)
class Running:
    """A proxy, as it recorded itself. `memory` is the id of its root; both `root` and `memory` are
    "" for a memory without files.
    """

    instance: str
    key: str  # its sender is the operator
    pid: int
    url: str
    upstream: str
    upstreams: dict[str, str]  # others, by format or path, as `read_upstreams` has them
    root: str
    memory: str
    window: int
    version: str
    user: str  # the user of all requests, if set
    wants_token: bool
    started_ms: int
    faults: bool | None = None  # models may load pages; None if their clients have tools
    marks: bool = False  # set cache marks for clients that set none
    forms: bool = False  # form memory, as the user agreed
    mcp_writes: bool = False  # `remember` is offered at /mcp
    log: str = ""  # its log file, if it was started in the background
    parent: int = 0  # of a private one, which ends with this process

    @property
    def all_upstreams(self) -> dict[str, str]:
        return {"": self.upstream} | self.upstreams

    @property
    def dashboard_url(self) -> str:
        """The address of its dashboard, with the token; "" if it has none."""
        if not is_loopback(urlsplit(self.url).hostname or ""):
            return ""
        return f"{self.url}/dashboard/?token={dashboard_token(self.key)}"

    def is_at(self, url: str) -> bool:
        """Whether this address, whatever its path, is the proxy's."""
        return _authority(url) == _authority(self.url)

    def ask(
        self,
        path: str = "/healthz",
        *,
        headers: Mapping[str, str] | None = None,
        timeout_s: float = 2.0,
    ) -> dict[str, Any] | None:
        """The proxy's answer to its operator, or to the sender of these headers. None if nobody
        answers, another proxy does, or the request is refused.
        """
        parts = urlsplit(self.url)
        try:
            link = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=timeout_s)
            try:
                link.request("GET", path, headers=headers or {KEY_HEADER: self.key})
                answer = link.getresponse()
                told = json.loads(answer.read(_ANSWER_BYTES_MAX)) if answer.status == 200 else None
            finally:
                link.close()
        except (OSError, ValueError, http.client.HTTPException):
            return None
        is_it = isinstance(told, dict) and told.get("instance") == self.instance
        return told if is_it else None


@contextmanager
def listed(folder: Path, running: Running) -> Iterator[None]:
    """List a proxy for the length of this block. Raises `OSError` if the file cannot be written."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    path = folder / file_name(running.url)
    fd = _locked(path)
    try:
        os.ftruncate(fd, 0)
        os.pwrite(fd, json.dumps(asdict(running)).encode(), 0)
        yield
    finally:
        with suppress(OSError):
            path.unlink()
        os.close(fd)


def all_running(folder: Path) -> list[Running]:
    """The running proxies, newest first. Files of dead ones are removed."""
    try:
        names = os.listdir(folder)
    except (FileNotFoundError, NotADirectoryError):
        return []
    read = (_read(folder / name) for name in names if name.endswith(".json"))
    return sorted((one for one in read if one is not None), key=lambda one: -one.started_ms)


def file_name(url: str) -> str:
    """The name of a proxy's file; `pagefault.statusline` knows it too."""
    host, port = _authority(url)
    return f"{host.replace(':', '_')}_{port}.json"


def _authority(url: str) -> tuple[str, int]:
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port or 0
    except ValueError:
        return "", 0
    return "127.0.0.1" if host == "localhost" else host, port


def is_listed(folder: Path, running: Running) -> bool:
    """Whether the process of this proxy is alive."""
    found = _read(folder / file_name(running.url))
    return found is not None and found.instance == running.instance


def _locked(path: Path) -> int:
    """The file of this name, locked. A process that lists proxies may hold it for a moment."""
    for _ in range(_TRIES):
        fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if os.path.samestat(os.fstat(fd), os.stat(path)):
                os.fchmod(fd, 0o600)
                return fd
        except (BlockingIOError, FileNotFoundError):
            pass
        os.close(fd)
        time.sleep(0.02)
    raise OSError(f"{path} is held by another process")


def _read(path: Path) -> Running | None:
    """What a living proxy wrote; None if the process is dead (then its file is removed) or the file
    cannot be read.
    """
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        try:
            return Running(**json.loads(os.pread(fd, _FILE_BYTES_MAX, 0)))
        except (ValueError, TypeError):
            return None  # it is being written, or has another version
    else:
        with suppress(OSError):
            if os.path.samestat(os.fstat(fd), os.stat(path)):
                path.unlink()
        return None
    finally:
        os.close(fd)
