"""Validators of claims: whether the evidence of a claim still exists and still says so.

Each validator looks at one kind of evidence, if a claim has any of it. A claim passes if something
was checked and nothing failed. Without the project's folder, files and branches are not checked. No
program is run, not even git: the answers are in plain files, and running git executes what a
repository's settings name.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from pagefault.model.errors import ArchiveMissing, RecordGone
from pagefault.model.ids import PageId
from pagefault.model.kinds import CheckOutcome, EventType, Role, Validator
from pagefault.model.page import CardFacts, Evidence, Page
from pagefault.model.reprs import outline
from pagefault.service.derived.file_evidence import read_inside, still_says
from pagefault.service.inspection.work_events import WorkEvent, WorkFilter, find_events
from pagefault.service.ownership import Owned

_REF: Final = re.compile(r"[0-9a-f]{40,64} refs/heads/(.+)")
_EVENTS: Final = 10_000  # of work in a session that are searched
_RUNS: Final = frozenset({EventType.COMMAND_RUN, EventType.TEST_RESULT})


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """One validator's finding about one piece of a claim's evidence (`ref`)."""

    validator: Validator
    ref: str
    outcome: CheckOutcome
    why: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimCheck:
    """The result of a check of a claim: `outcome` is pass, fail, or unknown if nothing could be
    checked. `done` is whether it was recorded.
    """

    claim_id: PageId
    outcome: CheckOutcome
    looks: tuple[Look, ...] = ()
    done: bool = False

    def __repr__(self) -> str:
        told = [f"{one.validator} {one.outcome} · {one.ref} · {one.why}" for one in self.looks]
        return outline(
            self.claim_id,
            self.outcome,
            "recorded" if self.done else "not recorded",
            lines=[one.removesuffix(" · ") for one in told],
        )

    @property
    def validators(self) -> tuple[Validator, ...]:
        """The validators that found anything."""
        told = [one for one in self.looks if one.outcome is not CheckOutcome.UNKNOWN]
        return tuple(dict.fromkeys(one.validator for one in told))


def outcome_of(looks: Sequence[Look]) -> CheckOutcome:
    found = {one.outcome for one in looks}
    for outcome in (CheckOutcome.FAIL, CheckOutcome.PASS):
        if outcome in found:
            return outcome
    return CheckOutcome.UNKNOWN


class Validators:
    """Checks the claims of one session. Blocks on the store and on the disk."""

    def __init__(self, owned: Owned, root: Path | None) -> None:
        self._owned = owned
        self._runtime = owned.runtime
        self._root = root
        self._work: list[WorkEvent] | None = None

    def look(self, claim: Page) -> list[Look]:
        """The findings about a claim now."""
        derived = claim.derived
        assert derived is not None
        looks = [self._span(span) for span in derived.evidence]
        looks += self._in_files(derived.card)
        looks += self._branch(derived.card)
        looks += self._runs({span.page_id for span in derived.evidence})
        return looks

    def _span(self, span: Evidence) -> Look:
        def told(outcome: CheckOutcome, why: str = "") -> Look:
            ref = f"{span.page_id}:{span.start}-{span.end}"
            return Look(validator=Validator.SPANS, ref=ref, outcome=outcome, why=why)

        row = self._owned.state.find_row(span.page_id)
        if row is None:
            return told(CheckOutcome.FAIL, "the page is not there any more")
        if self._runtime.quarantine.is_withdrawn(row):
            return told(CheckOutcome.FAIL, "the page was withdrawn")
        if self._owned.scope.is_history(row):
            return told(CheckOutcome.FAIL, "other words replaced it")
        try:
            stored = self._runtime.pages.read(row).text.encode()
        except RecordGone:
            return told(CheckOutcome.FAIL, "the page was forgotten")
        except ArchiveMissing:
            return told(CheckOutcome.UNKNOWN, "the archive is not there")
        words = stored[span.start : span.end]
        is_there = len(words) == span.end - span.start and bool(words.strip())
        with suppress(UnicodeDecodeError):
            words.decode()
            if is_there:
                return told(CheckOutcome.PASS)
        return told(CheckOutcome.FAIL, "the words are not there any more")

    def _in_files(self, card: CardFacts) -> Iterator[Look]:
        for file in card.files:
            ref = f"{file.path}:{file.line}"
            says = still_says(self._runtime.keyed, file, self._root) if self._root else None
            if self._root is None:
                outcome, why = CheckOutcome.UNKNOWN, "the project's folder was not named"
            elif says is None:
                outcome, why = CheckOutcome.FAIL, "the file is not there"
            elif says:
                outcome, why = CheckOutcome.PASS, ""
            else:
                outcome, why = CheckOutcome.FAIL, "the file does not say it any more"
            yield Look(validator=Validator.FILES, ref=ref, outcome=outcome, why=why)

    def _branch(self, card: CardFacts) -> Iterator[Look]:
        """Whether the branch that a claim is limited to exists, in a git repository."""
        if not card.branch:
            return
        known = None if self._root is None else branches(self._root)
        if known is None:
            outcome, why = CheckOutcome.UNKNOWN, "no repository of git was looked at"
        elif card.branch in known:
            outcome, why = CheckOutcome.PASS, ""
        else:
            outcome, why = CheckOutcome.FAIL, "the branch is not there"
        yield Look(validator=Validator.BRANCH, ref=card.branch, outcome=outcome, why=why)

    def _runs(self, pages: set[PageId]) -> Iterator[Look]:
        """The latest outcome in this session of the command or tests in the evidence."""
        rows = (self._owned.state.find_row(page_id) for page_id in pages)
        if not any(row is not None and row.role is Role.TOOL for row in rows):
            return
        events = [one for one in self._events() if one.event_type in _RUNS and not one.withdrawn]
        for cited in events:
            if pages.isdisjoint((cited.page_id, cited.result_id)):
                continue
            last = next(one for one in events if _is_same_run(one, cited) and one.is_over)
            is_right = not last.failed and not last.tests_failed and not last.exit_code
            yield Look(
                validator=Validator.RUNS,
                ref=last.page_id,
                outcome=CheckOutcome.PASS if is_right else CheckOutcome.FAIL,
                why="" if is_right else "it failed when it was run last",
            )

    def _events(self) -> list[WorkEvent]:
        """The events of this session, newest first."""
        if self._work is None:
            row = self._runtime.index.session(self._owned.session)
            asked = WorkFilter()
            self._work = find_events(self._runtime, [row] if row else [], asked, _EVENTS)
        return self._work


def _is_same_run(one: WorkEvent, other: WorkEvent) -> bool:
    """Whether two events are of one command, or of one runner's tests."""
    if one.event_type != other.event_type:
        return False
    told, asked = ((e.argv, e.script, e.runner) for e in (one, other))
    return one.page_id == other.page_id or (any(told) and told == asked)


def branches(root: Path) -> frozenset[str] | None:
    """The branches of the repository in this folder; None if they cannot be read."""
    git = root / ".git"
    with suppress(OSError, UnicodeDecodeError):
        if git.is_file():  # a worktree's, which has its repository's path
            git = (root / git.read_text().partition("gitdir:")[2].strip()).resolve()
            common = git / "commondir"
            git = (git / common.read_text().strip()).resolve() if common.is_file() else git
        if not (git / "HEAD").is_file():
            return None
        heads = git / "refs" / "heads"
        found = {one.relative_to(heads).as_posix() for one in heads.rglob("*") if one.is_file()}
        packed = read_inside(git, "packed-refs")
        for line in (packed or b"").decode(errors="replace").splitlines():
            if match := _REF.fullmatch(line.strip()):
                found.add(match[1])
        return frozenset(found)
    return None
