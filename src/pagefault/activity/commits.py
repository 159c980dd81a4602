"""Commits of a git repository, read from what `git log` prints. Pure: who runs git hands it in."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from pagefault.model.errors import BadInput
from pagefault.model.signatures import check_fields

_BEGINS: Final = "\x1e"
_FIELD: Final = "\x1f"

LOG_ARGUMENTS: Final = (
    *("--no-pager", "-c", "core.fsmonitor=false", "-c", "log.showSignature=false", "log"),
    *("--no-merges", "--no-color", "--no-ext-diff", "--no-textconv", "--no-renames"),
    *("--name-status", "-z", f"--format={_BEGINS}%H{_FIELD}%ct{_FIELD}%s{_FIELD}"),
)
"""What git is asked with, before the range: nothing that a repository's own settings could make a
command of.
"""

_CHANGES: Final = {"A": "written", "D": "deleted"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Commit:
    """A commit: its full name, when it was made, in milliseconds since 1970, the first line of its
    message, and the files that it changed, each with what became of it: written, edited or deleted.
    """

    sha: str
    at_ms: int
    subject: str
    files: Sequence[tuple[str, str]] = ()

    def __post_init__(self) -> None:
        check_fields(self)
        if not self.sha:
            raise BadInput("a commit without a name", hint="`sha` is what `git rev-parse` prints")

    @property
    def ref(self) -> str:
        """What it is cited by: `git show` takes what is behind the colon."""
        return f"git:{self.sha[:10]}"


def commits_in(printed: str) -> list[Commit]:
    """The commits that `git log` printed with `LOG_ARGUMENTS`, the newest first. Whatever is none
    is left out.
    """
    found = []
    for record in printed.split(_BEGINS)[1:]:
        sha, _, rest = record.partition(_FIELD)
        at, _, rest = rest.partition(_FIELD)
        subject, _, rest = rest.partition(_FIELD)
        if not (sha.isalnum() and at.isdecimal()):
            continue
        told = [one for one in rest.strip("\0\n").split("\0") if one]
        pairs = zip(told[::2], told[1::2], strict=False)
        files = [(_CHANGES.get(status[:1].strip(), "edited"), path) for status, path in pairs]
        found.append(
            Commit(sha=sha, at_ms=int(at) * 1000, subject=" ".join(subject.split()), files=files)
        )
    return found
