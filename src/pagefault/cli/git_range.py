"""The commits of a range in the current repository."""

from __future__ import annotations

import os
import subprocess
from typing import Final

from pagefault.activity.commits import LOG_ARGUMENTS, Commit, commits_in
from pagefault.model.errors import BadInput

COMMITS_MAX: Final = 500
_TIMEOUT_S: Final = 30.0
_QUIET: Final = {"GIT_OPTIONAL_LOCKS": "0", "GIT_NO_LAZY_FETCH": "1", "GIT_TERMINAL_PROMPT": "0"}


def commits_of(git_range: str) -> list[Commit]:
    """The commits of a range, newest first, 500 at most, without merges. Nothing is written or
    fetched, and no program of the repository is run. Raises `BadInput`.
    """
    words = ["git", *LOG_ARGUMENTS, f"--max-count={COMMITS_MAX}", "--end-of-options", git_range]
    try:
        done = subprocess.run(
            [*words, "--"],
            capture_output=True,
            check=False,
            timeout=_TIMEOUT_S,
            env=os.environ | _QUIET,
            stdin=subprocess.DEVNULL,
        )
    except (OSError, ValueError, subprocess.TimeoutExpired) as failure:
        raise BadInput(
            f"git could not be run: {failure!s:.200}", hint="run it in the repository"
        ) from None
    if done.returncode:
        said = done.stderr.decode(errors="replace").strip().splitlines()[:1]
        raise BadInput(
            f"git does not know {git_range!r}: {''.join(said)[:200]}",
            hint="a range as `git log` takes it, in its repository: v1.2..HEAD",
        )
    return commits_in(done.stdout.decode(errors="replace"))
