"""Exit codes and error messages: every error is one or two lines on stderr, never a traceback."""

from __future__ import annotations

import ast
import errno
import os
import re
import shlex
import sys
import traceback
from collections.abc import Sequence
from contextlib import suppress
from typing import Final

import click

from pagefault.cli import INTERRUPTED
from pagefault.cli.term import joined_lines, json_text, prepare, redacted
from pagefault.model import errors

OK: Final = 0
PROBLEMS: Final = 1
USAGE: Final = 2
NOT_FOUND: Final = 3
REFUSED: Final = 4
ENGINE: Final = 5
OURS: Final = 70  # EX_SOFTWARE: a bug of this program
PIPE_CLOSED: Final = 141

_CODES: Final[tuple[tuple[type[Exception], int], ...]] = (
    (errors.SessionNotFound, NOT_FOUND),
    (errors.NoSuchPage, NOT_FOUND),
    (errors.RegionNotFound, NOT_FOUND),
    (errors.AccessRefused, REFUSED),
    (errors.StoreMissing, NOT_FOUND),
    (errors.RecordDamaged, REFUSED),
    (errors.RecordGone, NOT_FOUND),
    (errors.PinsFull, REFUSED),
    (errors.CoreFull, REFUSED),
    (errors.HotFull, REFUSED),
    (errors.CannotUndo, REFUSED),
    (errors.QuotaExceeded, REFUSED),
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
        _say(_interrupted(argv), as_json=as_json)
        return INTERRUPTED
    except click.exceptions.NoArgsIsHelpError as helped:
        _say(helped.format_message(), as_json=False, bare=True)
        return USAGE
    except SystemExit as left:  # 1 is click's own answer to a closed pipe, and its only one
        return PIPE_CLOSED if left.code == 1 else INTERRUPTED
    except Exception as error:  # the outermost frame: an uncaught error prints a traceback
        if _pipe_is_closed(error):
            _let_go_of_stdout()
            return PIPE_CLOSED
        return report(error, as_json=as_json)
    return code if isinstance(code, int) else OK


_IF_INTERRUPTED: Final = {
    "chat": "what was acknowledged is stored",
    "replay": "what was acknowledged is stored",
    "archive": "run it again",
    "import": "run it again",
    "rebuild": "run it again",
}


def _interrupted(argv: Sequence[str]) -> str:
    words = (
        word
        for before, word in zip(["", *argv], argv, strict=False)
        if not word.startswith("-") and before != "--root"
    )
    what = _IF_INTERRUPTED.get(next(words, ""))
    return f"interrupted: {what}" if what else "interrupted"


def report(error: Exception, *, as_json: bool) -> int:
    """Print what went wrong on stderr, and return its exit code."""
    if os.environ.get("PAGEFAULT_DEBUG"):
        _say(
            redacted("".join(traceback.format_exception(error))).rstrip(), as_json=False, bare=True
        )
    code = exit_code(error)
    message, hint = map(redacted, describe(error))
    if as_json:
        told = {"code": name_of(error), "message": message, "hint": hint, "exit_code": code}
        _say(json_text({"error": told}), as_json=False, bare=True)
    else:
        _say(f"error: {message}", as_json=False, bare=True)
        if hint:
            _say(f"hint: {hint}", as_json=False, bare=True)
    return code


def exit_code(error: Exception) -> int:
    if isinstance(told := getattr(error, "exit_code", None), int) and isinstance(
        error, errors.CallerError
    ):
        return told  # of another run of this program, started for this one
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
            return joined_lines(error.message), worded(joined_lines(error.hint))
        case click.UsageError(ctx=ctx) if ctx is not None:
            hint = f"`{ctx.command_path} --help` explains the usage"
            takes_it = any("--session" in one.opts for one in ctx.command.params)
            if takes_it and "extra argument" in error.message:
                hint = f"a session is named with --session NAME; {hint}"
            # What click calls a bounded number, and one that may be fractional.
            message = re.sub(r"(?<=not a valid )(\w+) range\.", r"\1.", error.format_message())
            return joined_lines(message.replace("not a valid float.", "not a number.")), hint
        case click.ClickException():
            return joined_lines(error.format_message()), ""
        case UnicodeError():
            return "a name or text is not valid UTF-8", "convert it first"
        case OSError(errno=errno.ENOSPC):
            return "the disk is full", "make room and try again"
        case OSError(filename=name, strerror=why) if why:
            return joined_lines(f"{name}: {why}" if name else why), ""
        case _:
            return (
                f"this is a bug in pagefault ({type(error).__name__}: {joined_lines(str(error))})",
                "PAGEFAULT_DEBUG=1 shows where; please report it",
            )


COMMANDS: Final = {
    "Memory.sessions": "`pagefault sessions`",
    "Memory.pages": "`pagefault pages ls`",
    "Memory.verify": "`pagefault verify`",
    "Memory.backup": "`pagefault backup`",
    "Memory.forget": "`pagefault forget`",
    "Memory.set_retention": "`pagefault retention`",
    "Memory.embed": "`pagefault embed`",
    "Memory.export": "`pagefault export DEST`",
    "Memory.import_history": "`pagefault import PATH`",
    "Memory.approve_import": "`pagefault import approve`",
    "Memory.origins": "`pagefault origins show PAGE`",
    "Memory.raise_origin": "`pagefault origins raise PAGE DIGEST`",
    "Memory.revoke_origin": "`pagefault origins revoke`",
    "Memory.bill": "`pagefault bill`",
    "Memory.forget_matching": "`pagefault forget --query WORDS`",
    "Memory.set_control": "`pagefault mode assist`",
    "Memory.regions": "`pagefault scopes`",
    "Memory.set_policy": "`pagefault scopes policy REGION`",
    "Memory.consent": "`pagefault scopes consent REGION rw`",
    "Memory.assign": "`pagefault scopes assign`",
    "Session.mount": "`pagefault scopes mount REGION --rw`",
    "Session.recall": "`pagefault pages search`",
    "Session.at": "`pagefault at SESSION`",
    "Session.items": "`pagefault items SESSION`",
    "Session.checkpoint": "`pagefault checkpoint SESSION NAME`",
    "Session.ledger": "`pagefault ledger SESSION`",
    "Session.history": "`pagefault history SESSION PAGE`",
    "Session.cards": "`pagefault cards review`",
    "Session.claims": "`pagefault claims SESSION`",
    "Session.archival_insert": "`pagefault core insert`",
    "Session.core": "`pagefault core show --proposed`",
    "Session.core_replace": "`pagefault core replace`",
    "Session.heat_status": "`pagefault heat`",
    "Session.heat_spill": "`pagefault heat spill`",
    "Session.remember": "`pagefault remember WORDS`",
    "Session.retract": "`pagefault claims retract CLAIM`",
    "Session.validate_claims": "`pagefault claims validate`",
    "Session.goal": "`pagefault goal SESSION TEXT`",
    "Session.undo": "`pagefault undo SESSION`",
    "Session.page": "`pagefault pages show PAGE`",
    "Session.user": "`pagefault chat`",
    "core_memory_append": "`pagefault core append`",
    "core_memory_replace": "`pagefault core replace`",
    "archival_memory_insert": "`pagefault core insert`",
    "open": "`pagefault chat`, `pagefault replay FILE` or `pagefault import PATH`",
    "root": "--root",
    "window": "--window",
}
"""API names in hints, and what a person types instead."""


def worded(hint: str) -> str:
    """A hint of the library's, in the words of the command line."""
    hint = re.sub(r"`([\w.]+)`", lambda found: COMMANDS.get(found[1], found[0]), hint)
    return re.sub(r"`pagefault\.adopt\(([^`]*)\)`", _adopting, hint)


def _adopting(found: re.Match[str]) -> str:
    return f"`pagefault adopt {shlex.quote(ast.literal_eval(found[1]))}`"


def _say(text: str, *, as_json: bool, bare: bool = False) -> None:
    with suppress(OSError):  # there may be no reader left
        if as_json and not bare:
            told = {"code": "interrupted", "message": text, "hint": "", "exit_code": INTERRUPTED}
            text = json_text({"error": told})
        print(text, file=sys.stderr, flush=True)


def _pipe_is_closed(error: Exception) -> bool:
    return isinstance(error, BrokenPipeError) or (
        isinstance(error, OSError) and error.errno == errno.EPIPE
    )


def _let_go_of_stdout() -> None:
    """Discard buffered output, so that the interpreter's last flush is quiet."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
