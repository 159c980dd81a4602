"""A context pack: what a memory holds that bears on something, in so many tokens, with its sources.

What a model, a client or a person is handed who was not there: sections of short lines, each citing
the evidence it rests on, what was left out, and why what is in it is in. `context_packer.py` makes
one, `context_forms.py` writes and reads it.

Invariants of every pack, which `check` asserts:
 (1) Its text comes to `token_budget.target` tokens at most, in any form.
 (2) Every line cites something, and all that a line cites is among the evidence, or is what a piece
     of the evidence rests on.
 (3) No two pieces of evidence have one ref, and each is told why it is there.
 (4) Every piece of evidence is cited by a line, first of all that it cites.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from pagefault.model.kinds import PackType, Role, Source
from pagefault.model.reprs import counted, outline
from pagefault.model.signatures import checked

if TYPE_CHECKING:
    from pagefault.pack.context_forms import PackDiff

EVIDENCE: Final = "evidence"
COMMON: Final = (
    "summary",
    "active_tasks",
    "recent_decisions",
    "changed_files",
    "open_questions",
)
"""The sections that a pack of any type has; their names are those of the JSON."""


@dataclass(frozen=True, slots=True)
class SectionRule:
    """A section of a type of pack: its title, and the share of the tokens that its lines may take
    before the others have had what they want.
    """

    name: str
    title: str
    share: float


def _rules(*rules: tuple[str, str, float]) -> tuple[SectionRule, ...]:
    return tuple(SectionRule(*rule) for rule in rules)


SECTIONS: Final[Mapping[PackType, tuple[SectionRule, ...]]] = {
    PackType.BOOT: _rules(
        ("summary", "Critical facts", 0.5),
        ("active_tasks", "Active tasks", 0.15),
        ("recent_decisions", "Recent decisions", 0.3),
        ("changed_files", "Changed files", 0.15),
        ("open_questions", "Open questions", 0.15),
        (EVIDENCE, "Said last", 0.35),
    ),
    PackType.TASK: _rules(
        ("summary", "Critical facts", 0.25),
        ("active_tasks", "Active tasks", 0.1),
        ("recent_decisions", "Recent decisions", 0.25),
        ("changed_files", "Changed files", 0.1),
        ("open_questions", "Open questions", 0.1),
        (EVIDENCE, "Evidence", 0.65),
    ),
    PackType.HANDOFF: _rules(
        ("summary", "Where it stands", 0.25),
        ("changed_files", "What changed", 0.2),
        ("failures", "What failed", 0.15),
        ("active_tasks", "What is next", 0.15),
        ("open_questions", "Open questions", 0.15),
        ("recent_decisions", "What was decided", 0.25),
        (EVIDENCE, "Said last", 0.3),
    ),
    PackType.SYNOPSIS: _rules(
        ("summary", "What it is", 0.35),
        ("procedures", "How it is run", 0.25),
        ("recent_decisions", "What was decided", 0.3),
        ("active_tasks", "Active tasks", 0.15),
        ("changed_files", "Changed files", 0.15),
        ("open_questions", "Open questions", 0.1),
    ),
    PackType.DIGEST: _rules(
        ("summary", "What holds since", 0.2),
        ("commits", "Commits", 0.3),
        ("failures", "What fails now", 0.2),
        ("outcomes", "What passes again", 0.15),
        ("recent_decisions", "What was decided, or taken back", 0.25),
        ("changed_files", "Changed files", 0.25),
        ("active_tasks", "Tasks", 0.1),
        ("open_questions", "Open questions", 0.1),
    ),
}
"""Critical facts stand first in every type, and evidence last: what is in the middle of a long
context is used least (Liu et al., "Lost in the Middle", TACL 2024).
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class PackLine:
    """A line of a section, and the refs of what it rests on: of evidence, or of its sources."""

    text: str
    cites: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class PackSpan:
    """Words of a page that a claim rests on: where they stand, in bytes of its UTF-8, and how they
    read there.
    """

    ref: str
    start: int
    end: int
    quote: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PackEvidence:
    """What a line cites. `ref` names it: the id of a page or a claim, of a pack over several
    sessions behind its session (`planning/msg_3`), or a commit (`git:1a2b3c4`).

    `section` is where it is shown: "evidence" where it is quoted, else that of the line that cites
    it. `text` is what is quoted of it, `is_whole` that this is all that it says. `rests_on` are the
    words that a claim rests on, `also` what says the same. `parts` add up to `score`, which is 0
    where nothing was searched for; `relevance` is how likely it bears on the query, from 0 to 1.
    `changed_by` is the claim that closed one which rests on words quoted here, "" if none did.
    """

    ref: str
    kind: str
    source: Source
    section: str
    text: str
    is_whole: bool = True
    session: str = ""
    session_id: str = ""
    page_id: str = ""
    role: str = ""
    speaker: str = ""
    origin: str = ""
    said_at: str = ""
    changed_by: str = ""
    rests_on: tuple[PackSpan, ...] = ()
    also: tuple[str, ...] = ()
    score: float = 0.0
    relevance: float = 0.0
    parts: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class PackTokens:
    """`used` is what the longest of the text forms comes to, counted by the o200k vocabulary;
    `trimmed` is how many items had no room.
    """

    target: int
    used: int = 0
    trimmed: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ValidationReport:
    """What became of the claims that were looked at: `failed` were withdrawn, or their words cannot
    be found; `stale` rest on what cannot be read any more, or have not been looked at in time;
    `unproved` nobody confirmed. None of these is in a pack unless it was asked for; then its line
    says what it is.
    """

    checked: int = 0
    failed: int = 0
    stale: int = 0
    unproved: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class InclusionReason:
    ref: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftOut:
    """What is not in a pack and why; `tokens` is what its line would have come to, where it was
    weighed.
    """

    ref: str
    section: str
    why: str
    tokens: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextPack:
    """What a memory holds that bears on a query, in so many tokens; see the module.

    `sections` has every section of its type but the evidence, by name, in the order of the text.
    `evidence` stands in the order in which it came in; a text puts the strongest first and the next
    strongest last. `matched` is how many pages bear on the query by its words or meaning; where
    none does, `fallback` is "recent", and what was said last is shown instead. `left_out` lists the
    first of all that was left out, `left_out_total` is how much that is.
    """

    query: str
    generated_at: str
    pack_type: PackType
    sections: Mapping[str, tuple[PackLine, ...]]
    token_budget: PackTokens
    validation_report: ValidationReport = field(default_factory=ValidationReport)
    source_mix: Mapping[str, int] = field(default_factory=dict)
    evidence: tuple[PackEvidence, ...] = ()
    inclusion_reason: tuple[InclusionReason, ...] = ()
    matched: int = 0
    fallback: str = ""
    left_out: tuple[LeftOut, ...] = ()
    left_out_total: int = 0

    def __repr__(self) -> str:
        tokens, left = self.token_budget, self.left_out_total
        lines = [f"{one.text} [{', '.join(one.cites)}]" for _, one in self.lines]
        head = [f"Pack {self.pack_type}", self.query and repr(self.query)]
        head += [f"{tokens.used:,} of {tokens.target:,} tokens", counted(len(lines), "line")]
        return outline(*head, f"{left:,} left out" if left else "", lines=lines)

    @property
    def summary(self) -> tuple[PackLine, ...]:
        return self.sections["summary"]

    @property
    def active_tasks(self) -> tuple[PackLine, ...]:
        return self.sections["active_tasks"]

    @property
    def recent_decisions(self) -> tuple[PackLine, ...]:
        return self.sections["recent_decisions"]

    @property
    def changed_files(self) -> tuple[PackLine, ...]:
        return self.sections["changed_files"]

    @property
    def open_questions(self) -> tuple[PackLine, ...]:
        return self.sections["open_questions"]

    @property
    def lines(self) -> Iterator[tuple[str, PackLine]]:
        """Every line in the order of the text, with the name of its section."""
        for name, lines in self.sections.items():
            for line in lines:
                yield name, line
        for line in shown_evidence(self):
            yield EVIDENCE, line

    @checked
    def text(self, form: str = "md") -> str:
        """The pack as text: "md" for people, "claude" or "codex" for a model, "json" for programs.
        Of a pack that has nothing the texts are empty. Raises `BadInput`.
        """
        from pagefault.pack.context_forms import written

        return written(self, form)

    @property
    def sha256(self) -> str:
        """Of the bytes of the JSON, in UTF-8: the same memory, question and time have the same."""
        from hashlib import sha256

        return sha256(self.text("json").encode()).hexdigest()

    @staticmethod
    @checked
    def from_json(text: str) -> ContextPack:
        """The pack that was written as JSON. Raises `BadInput` for anything else."""
        from pagefault.pack.context_forms import read

        return read(text)

    @checked
    def since(self, older: ContextPack) -> PackDiff:
        """What is in this pack and not in an older one, and the other way round."""
        from pagefault.pack.context_forms import difference

        return difference(older, self)

    def check(self) -> None:
        """The invariants."""
        assert self.token_budget.used <= self.token_budget.target, "(1)"
        refs = [one.ref for one in self.evidence]
        sources = {span.ref for one in self.evidence for span in one.rests_on}
        for _, line in self.lines:
            assert line.cites, f"(2) {line}"
            assert {*refs, *sources}.issuperset(line.cites), f"(2) {line}"
        assert len(set(refs)) == len(refs), "(3)"
        assert {one.ref for one in self.inclusion_reason} == set(refs), "(3)"
        assert {line.cites[0] for _, line in self.lines} == set(refs), "(4)"


def shown_evidence(pack: ContextPack) -> list[PackLine]:
    """The lines of the evidence, as a text has them: the strongest first, the next strongest last,
    and the weakest in the middle. What was only said last stands as it was said, the newest last.
    """
    ranked = [one for one in pack.evidence if one.section == EVIDENCE]
    is_found = any(one.score for one in ranked)
    placed = [*ranked[::2], *ranked[1::2][::-1]] if is_found else ranked[::-1]
    return [PackLine(text=as_line(one), cites=(one.ref,)) for one in placed]


def as_line(one: PackEvidence) -> str:
    """A piece of evidence as a line: who said it, when, what, and by which claim that changed."""
    who = one.speaker or one.role or one.kind
    if who == Role.SYSTEM:  # nobody said it: it was noted down, or made
        who = f"noted, {one.origin}" if one.origin else "noted"
    head = ", ".join(filter(None, (who, one.said_at[:10], changed(one.changed_by))))
    return f"{head}: {one.text}"


def changed(by: str) -> str:
    """What is told of words that hold no more, by the claim that holds instead."""
    return f"changed since, see {by}" if by else ""
