"""The command line: thin, and quick to start.

Data goes to stdout, talk and progress to stderr. Exit codes:

    0  done             3  not found          5    the engine failed
    1  problems found   4  refused            130  interrupted
    2  wrong usage         (busy, read-only, damaged)
"""

from __future__ import annotations

import sys


def main() -> None:
    """The entry point of `pagefault`."""
    from pagefault.cli.outcome import run

    sys.exit(run(sys.argv[1:]))
