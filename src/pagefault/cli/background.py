"""Background proxies: start, find and stop them, and print their service units."""

from __future__ import annotations

import os
import plistlib
import signal
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from subprocess import DEVNULL, Popen, TimeoutExpired
from typing import Any, Final

from pagefault.cli.swaps import SETTINGS, PutBack, meant, put_back
from pagefault.model.errors import BadInput, CallerError
from pagefault.proxy.running import Running, all_running, is_listed

READY_S: Final = 60.0  # to open a memory, and to rebuild its index if necessary
STOPPED_S: Final = 30.0  # to finish running answers, and to close a memory
_GIVEN_UP_S: Final = 5.0  # for one that is stopped before it began
_POLL_S: Final = 0.03
_LOG_BYTES_MAX: Final = 5_000_000
PROGRAM: Final = (sys.executable, "-P", "-m", "pagefault.cli")
"""This program again. `-P`: nothing in the current folder is imported as a module."""


_children: list[Popen[bytes]] = []
"""Proxies that this process started: they outlive it, and are awaited if it stops them."""


class ProxyFailed(CallerError):
    """A proxy that was started ended, or did not answer in time."""

    exit_code = 4  # or the proxy's own


def state() -> Path:
    """The folder for the list of proxies, their logs, and what a `wrap` has to put back."""
    import platformdirs

    return platformdirs.user_state_path("pagefault", appauthor=False)


def proxies() -> Path:
    return state() / "proxies"


def marker_of(instance: str) -> Path:
    """The file that records what a private proxy's run has to put back."""
    return state() / "wraps" / f"{instance}.json"


def running_on(root: str) -> list[Running]:
    """The proxies that run on a memory, except private ones."""
    return [one for one in all_running(proxies()) if one.root == root and not one.parent]


def log_file(name: str) -> Path:
    """The log file with that name, ready for appending; a long old one is moved aside.

    Raises `BadInput` if that is impossible.
    """
    path = state() / "logs" / f"{name}.log"
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        if path.exists() and path.stat().st_size > _LOG_BYTES_MAX:
            path.replace(path.with_suffix(".log.1"))
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW, 0o600))
    except OSError as error:
        raise BadInput(
            f"cannot write {path}: {error.strerror}",
            hint="proxies are registered and log there; set XDG_STATE_HOME to use another place",
        ) from None
    return path


def start(words: Sequence[str], *, log: Path, env: Mapping[str, str] | None = None) -> Running:
    """Run `pagefault` with these arguments in a session of its own, and wait until it answers as a
    proxy. Raises `ProxyFailed`, with the end of its log, if it does not.
    """
    began = log.stat().st_size
    with log.open("ab") as out:
        process = Popen(
            [*PROGRAM, *words],
            stdin=DEVNULL,
            stdout=DEVNULL,
            stderr=out,
            env=dict(env) if env is not None else None,
            start_new_session=True,
        )
    _children.append(process)
    try:
        return _answering(process, log, began)
    except BaseException:
        process.terminate()  # our child, not yet reaped: the pid is its own
        with suppress(TimeoutExpired):
            process.wait(timeout=_GIVEN_UP_S)
        raise


def _answering(process: Popen[bytes], log: Path, began: int) -> Running:
    deadline = time.monotonic() + READY_S
    while time.monotonic() < deadline:
        if process.poll() is not None:
            told = _said(log, began)
            error = next((one[7:] for one in told if one.startswith("error: ")), "")
            hint = next((one[6:] for one in told if one.startswith("hint: ")), f"see {log}")
            failed = ProxyFailed(error or f"the proxy ended with {process.returncode}", hint=hint)
            failed.exit_code = process.returncode if process.returncode > 0 else 4
            raise failed
        for one in all_running(proxies()):
            if one.pid == process.pid and one.ask() is not None:
                return one
        time.sleep(_POLL_S)
    raise ProxyFailed(f"the proxy did not answer in {READY_S:.0f} s", hint=f"see {log}")


def _said(log: Path, began: int) -> list[str]:
    with log.open("rb") as file:
        file.seek(began)
        return file.read(1_000_000).decode(errors="replace").splitlines()


def stop(running: Running) -> bool:
    """Ask a proxy to end, and wait for it; False if it is another process, or does not end.

    The order makes sure of the pid: first a handle of the process, if the system has them
    (`pidfd_open`), then the proxy reports its instance, which it could not if it were gone.
    """
    opened = getattr(os, "pidfd_open", None)
    try:
        handle = opened(running.pid) if opened is not None else -1
    except OSError:
        return not is_listed(proxies(), running)
    try:
        if running.ask() is None:
            return not is_listed(proxies(), running)
        if handle >= 0:
            signal.pidfd_send_signal(handle, signal.SIGTERM)
        else:
            os.kill(running.pid, signal.SIGTERM)
    except ProcessLookupError:
        pass
    finally:
        if handle >= 0:
            os.close(handle)
    deadline = time.monotonic() + STOPPED_S
    while is_listed(proxies(), running):
        if time.monotonic() > deadline:
            return False
        time.sleep(_POLL_S)
    for child in _children:
        if child.pid == running.pid:
            child.wait()
    return True


# --- leftovers ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Tidied:
    """Restored files, private proxies whose client is gone, and live runs."""

    files: Sequence[PutBack]
    removed: Sequence[Path]  # files that a run created
    proxies: Sequence[tuple[Running, bool]]  # and whether it has ended
    running: Sequence[Running]

    @property
    def is_clean(self) -> bool:
        return all(one.is_back or one.is_gone for one in self.files) and all(
            ended for _, ended in self.proxies
        )

    def to_dict(self) -> dict[str, Any]:
        return {
            "files": [
                {"path": one.path, "restored": one.is_back, "gone": one.is_gone}
                for one in self.files
            ],
            "removed": [str(path) for path in self.removed],
            "proxies": [
                {"url": one.url, "pid": one.pid, "stopped": ended} for one, ended in self.proxies
            ],
            "running": [one.url for one in self.running],
        }


def left_behind() -> tuple[list[Path], list[Running], list[Running]]:
    """Markers (and the files beside them) whose proxy is gone; private proxies whose client is; and
    those of live runs.
    """
    private = [one for one in all_running(proxies()) if one.parent]
    alive = {one.instance for one in private}
    try:
        left = {meant(path) for path in (state() / "wraps").iterdir()}
    except OSError:
        left = set()
    orphans = [one for one in private if not _lives(one.parent)]
    return (
        sorted(p for p in left if p.suffix in (".json", SETTINGS) and p.stem not in alive),
        orphans,
        [one for one in private if one not in orphans],
    )


def tidy() -> Tidied:
    """Clean up what is left behind."""
    _, orphans, _ = left_behind()
    ended = [(one, stop(one)) for one in orphans]  # which restores its files
    markers, _, running = left_behind()
    files = [file for marker in markers for file in put_back(marker)]
    removed = [path for path in markers if path.suffix == SETTINGS and not path.exists()]
    return Tidied(files, removed, ended, running)


def _lives(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return True


# --- units ----------------------------------------------------------------------------------------


def unit(kind: str, words: Sequence[str], *, wants_token: bool) -> str:
    """The text of a service unit that keeps such a proxy running."""
    command = [*PROGRAM, *words]
    return _systemd(command, wants_token) if kind == "systemd" else _launchd(command)


_SYSTEMD: Final = """\
# ~/.config/systemd/user/pagefault.service
# systemctl --user daemon-reload && systemctl --user enable --now pagefault
[Unit]
Description=pagefault, a proxy with a memory between coding clients and their provider

[Service]
ExecStart={command}
{token}Restart=on-failure
RestartSec=2
NoNewPrivileges=true

[Install]
WantedBy=default.target
"""
_TOKEN: Final = """\
# a file that only you can read, with one line: PAGEFAULT_PROXY_TOKEN=...
EnvironmentFile=%h/.config/pagefault/token.env
"""


def _systemd(command: Sequence[str], wants_token: bool) -> str:
    quoted = " ".join(map(_quoted, command))
    return _SYSTEMD.format(command=quoted, token=_TOKEN if wants_token else "")


def _quoted(word: str) -> str:
    """A word of ExecStart (systemd.service(5), "Command lines"; systemd.unit(5), specifiers)."""
    word = word.replace("%", "%%").replace("$", "$$")
    if word and not set(word) & set(" \t'\"\\;"):
        return word
    return '"' + word.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _launchd(command: Sequence[str]) -> str:
    """launchd.plist(5). A required token is given with `--tokens FILE`: launchd reads no file of
    variables.
    """
    told = {
        "Label": "dev.pagefault.serve",
        "ProgramArguments": list(command),
        "RunAtLoad": True,
        "KeepAlive": {"SuccessfulExit": False},
        "StandardErrorPath": str(Path.home() / "Library" / "Logs" / "pagefault.log"),
    }
    head = (
        "<!-- ~/Library/LaunchAgents/dev.pagefault.serve.plist\n"
        "     launchctl bootstrap gui/$UID ~/Library/LaunchAgents/dev.pagefault.serve.plist -->\n"
    )
    xml = plistlib.dumps(told).decode()
    first, _, rest = xml.partition("\n")
    return f"{first}\n{head}{rest}"
