"""The command line: thin, and quick to start.

Data goes to stdout, talk and progress to stderr. Exit codes:

    0  done             3  not found          5    the engine failed
    1  problems found   4  refused            130  interrupted
    2  wrong usage         (busy, read-only, damaged)
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final

INTERRUPTED: Final = 130


def main() -> None:
    """The entry point of `pagefault`. Ctrl-C prints at most one line, whenever it comes.

    Only a running command has something to clean up. Before and after it, Ctrl-C ends the process
    by itself: an exception there would print a traceback, of an import or of the interpreter's own
    exit. So would one at a point where Python cannot raise it, as between two modules.
    """
    if (
        sys.argv[1:2] == ["statusline"] and "--help" not in sys.argv
    ):  # Claude Code waits for it: nothing else is imported
        from pagefault.statusline import main as line

        line()
    _open_what_is_closed()
    import signal

    is_ours = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if not is_ours:  # a shell's background job, or a program with its own handler
        from pagefault.cli.outcome import run

        sys.exit(run(sys.argv[1:]))
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    sys.unraisablehook = _unraisable
    from pagefault.cli.outcome import run

    try:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        code = run(sys.argv[1:])
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    except KeyboardInterrupt:  # a second one, while the first was being handled
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        code = INTERRUPTED
    sys.exit(code)


def _open_what_is_closed() -> None:
    """Connect streams that the caller closed to the null device, so that no file of ours takes
    their place. Processes that this one becomes or starts find them closed as before.
    """
    for fd, name in enumerate(("stdin", "stdout", "stderr")):
        try:
            os.fstat(fd)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # the lowest free descriptor, which is this one
            if getattr(sys, name) is None:
                mode = "w" if fd else "r"
                setattr(sys, name, os.fdopen(fd, mode, encoding="utf-8", closefd=False))


def _unraisable(happened: sys.UnraisableHookArgs) -> None:
    if happened.exc_type is KeyboardInterrupt:
        import signal

        signal.signal(signal.SIGINT, signal.SIG_DFL)
        signal.raise_signal(signal.SIGINT)
    sys.__unraisablehook__(happened)
