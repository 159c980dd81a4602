"""From a command to an exit code: every error is one or two lines on stderr, never a traceback."""

from __future__ import annotations

import errno
import os
import re
import sys
import traceback
from collections.abc import Sequence
from contextlib import suppress
from typing import Final

import click

from pagefault.cli.term import json_text, prepare, printable
from pagefault.model import errors

OK: Final = 0
PROBLEMS: Final = 1
USAGE: Final = 2
NOT_FOUND: Final = 3
REFUSED: Final = 4
ENGINE: Final = 5
OURS: Final = 70  # EX_SOFTWARE: a bug of this program
INTERRUPTED: Final = 130
PIPE_CLOSED: Final = 141

_CODES: Final[tuple[tuple[type[Exception], int], ...]] = (
    (errors.SessionNotFound, NOT_FOUND),
    (errors.NoSuchPage, NOT_FOUND),
    (errors.StoreMissing, NOT_FOUND),
    (errors.RecordDamaged, REFUSED),
    (errors.RecordGone, NOT_FOUND),
    (errors.PinsFull, REFUSED),
    (errors.CallerError, USAGE),
    (errors.ModelError, REFUSED),
    (errors.StoreError, REFUSED),
    (errors.EngineError, ENGINE),
    (errors.PagefaultError, REFUSED),
    (click.ClickException, USAGE),
    (UnicodeError, USAGE),
    (OSError, REFUSED),
)


def run(argv: Sequence[str]) -> int:
    """Run the command line and return its exit code."""
    from pagefault.cli.root import root

    prepare(sys.stdout, sys.stderr)
    as_json = "--json" in argv
    try:
        code = root.main(args=list(argv), prog_name="pagefault", standalone_mode=False)
        sys.stdout.flush()
    except (click.Abort, KeyboardInterrupt):
        _say("interrupted: what was acknowledged is stored", as_json=as_json)
        return INTERRUPTED
    except click.exceptions.NoArgsIsHelpError as helped:
        _say(helped.format_message(), as_json=False, bare=True)
        return USAGE
    except SystemExit as left:  # 1 is click's own answer to a closed pipe, the only one it gives
        return PIPE_CLOSED if left.code == 1 else INTERRUPTED
    except Exception as error:  # the outermost frame: what is not caught here is a traceback
        if _pipe_is_closed(error):
            _let_go_of_stdout()
            return PIPE_CLOSED
        return report(error, as_json=as_json)
    return code if isinstance(code, int) else OK


def report(error: Exception, *, as_json: bool) -> int:
    """Say on stderr what went wrong, and return the exit code for it."""
    if os.environ.get("PAGEFAULT_DEBUG"):
        traceback.print_exception(error)
    code = exit_code(error)
    message, hint = describe(error)
    if as_json:
        told = {"code": name_of(error), "message": message, "hint": hint, "exit_code": code}
        _say(json_text({"error": told}), as_json=False, bare=True)
    else:
        _say(f"error: {message}", as_json=False, bare=True)
        if hint:
            _say(f"hint: {hint}", as_json=False, bare=True)
    return code


def exit_code(error: Exception) -> int:
    return next((code for kind, code in _CODES if isinstance(error, kind)), OURS)


def name_of(error: Exception) -> str:
    """A stable name for programs: `session_not_found`."""
    if exit_code(error) == OURS:
        return "internal"
    return re.sub(r"(?<!^)(?=[A-Z])", "_", type(error).__name__).lower()


def describe(error: Exception) -> tuple[str, str]:
    """What happened, and what to do next."""
    match error:
        case errors.PagefaultError():
            return _flat(str(error)), _flat(error.hint)
        case click.UsageError(ctx=ctx) if ctx is not None:
            return _flat(error.format_message()), f"`{ctx.command_path} --help` explains the usage"
        case click.ClickException():
            return _flat(error.format_message()), ""
        case UnicodeError():
            return "a name or text is not valid UTF-8", "convert it first"
        case OSError(errno=errno.ENOSPC):
            return "the disk is full", "make room and try again"
        case OSError(filename=name, strerror=why) if why:
            return _flat(f"{name}: {why}" if name else why), ""
        case _:
            return (
                f"this is a bug in pagefault ({type(error).__name__}: {_flat(str(error))})",
                "PAGEFAULT_DEBUG=1 shows where; please report it",
            )


def _flat(text: str) -> str:
    return " ".join(printable(text).split())


def _say(text: str, *, as_json: bool, bare: bool = False) -> None:
    with suppress(OSError):  # there may be nobody left to read it
        if as_json and not bare:
            told = {"code": "interrupted", "message": text, "hint": "", "exit_code": INTERRUPTED}
            text = json_text({"error": told})
        print(text, file=sys.stderr, flush=True)


def _pipe_is_closed(error: Exception) -> bool:
    return isinstance(error, BrokenPipeError) or (
        isinstance(error, OSError) and error.errno == errno.EPIPE
    )


def _let_go_of_stdout() -> None:
    """What is still buffered goes nowhere, so that the interpreter's last flush is quiet."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
