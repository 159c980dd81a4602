"""A context pack: the parts of a memory relevant to a query, within a token budget, with sources.

It briefs a model, a client or a person who was not there: sections of short lines that cite their
evidence, what was left out, and the reason for each inclusion. `context_packer.py` makes one,
`context_forms.py` writes and reads it.

Invariants of every pack, which `check` asserts:
 (1) Its text has at most `token_budget.target` tokens, in any form.
 (2) Every line cites something, and everything a line cites is among the evidence, or among the
     sources of a piece of evidence.
 (3) No two pieces of evidence have the same ref, and each has an inclusion reason.
 (4) Every piece of evidence is the first citation of some line.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from pagefault.model.kinds import Kind, PackType, Role, Source
from pagefault.model.reprs import counted, outline
from pagefault.model.signatures import checked
from pagefault.pack.render import changed

if TYPE_CHECKING:
    from pagefault.pack.context_forms import PackDiff

EVIDENCE: Final = "evidence"


@dataclass(frozen=True, slots=True)
class SectionRule:
    """A section of a type of pack: its title, and the share of the tokens that its lines may take
    before all other sections are filled.
    """

    name: str
    title: str
    share: float


def _rules(*rules: tuple[str, str, float]) -> tuple[SectionRule, ...]:
    return tuple(SectionRule(*rule) for rule in rules)


SECTIONS: Final[Mapping[PackType, tuple[SectionRule, ...]]] = {
    PackType.BOOT: _rules(
        ("summary", "Critical facts", 0.7),
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
"""Critical facts come first in every type, and evidence last: models use the middle of a long
context least (Liu et al., "Lost in the Middle", TACL 2024).
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class PackLine:
    """A line of a section, and the refs that it cites: evidence, or sources of evidence."""

    text: str
    cites: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class PackSpan:
    """A quotation that a claim rests on: its page, its position in UTF-8 bytes, and its text."""

    ref: str
    start: int
    end: int
    quote: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PackEvidence:
    """A piece of evidence. `ref` is the id of a page or a claim, prefixed by its session in a pack
    over several (`planning/msg_3`), or a commit (`git:1a2b3c4`).

    `section` is where it is shown: "evidence" if it is quoted, else the section of the line that
    cites it. `text` is the quoted text, and `is_whole` says that it is the whole text. `rests_on`
    has the quotations that a claim rests on, `also` the refs with the same content. `parts` add up
    to `score`, which is 0 without a search; `relevance`, 0 to 1, is the probability that it bears
    on the query. `changed_by` is the claim that closed a claim resting on the quoted words, or "".
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
    """`used` is the tokens of the longest text form, by the o200k vocabulary; `trimmed` is the
    number of items without room.
    """

    target: int
    used: int = 0
    trimmed: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ValidationReport:
    """The outcome of checking claims. `failed` claims were withdrawn, or their evidence cannot be
    found. `stale` ones rest on evidence that is no longer readable, or are overdue for a check.
    `unproved` ones were confirmed by nobody. A pack includes these only on request, and their lines
    say so.
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
    """An item that is not in a pack, and why; `tokens` is the cost of its line, if counted."""

    ref: str
    section: str
    why: str
    tokens: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextPack:
    """The parts of a memory relevant to a query, within a token budget; see the module.

    `sections` has every section of its type except the evidence, by name, in the order of the text.
    `evidence` is in the order of selection; a text puts the strongest first and the next strongest
    last. `matched` is the number of pages that match the query by words or meaning. If none does,
    `fallback` is "recent", and the pack has the latest messages instead. `left_out` lists the first
    items left out, and `left_out_total` is their full number.
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
        An empty pack has empty texts. Raises `BadInput`.
        """
        from pagefault.pack.context_forms import written

        return written(self, form)

    @property
    def sha256(self) -> str:
        """The digest of the JSON in UTF-8: equal for the same memory, question and time."""
        from hashlib import sha256

        return sha256(self.text("json").encode()).hexdigest()

    @staticmethod
    @checked
    def from_json(text: str) -> ContextPack:
        """Read a pack from its JSON. Raises `BadInput` for anything else."""
        from pagefault.pack.context_forms import read

        return read(text)

    @checked
    def since(self, older: ContextPack) -> PackDiff:
        """The lines added and removed since an older pack."""
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
    """The lines of the evidence in the order of a text: the strongest first, the next strongest
    last, and the weakest in the middle. The latest messages, without a search, are in order of
    time.
    """
    ranked = [one for one in pack.evidence if one.section == EVIDENCE]
    is_found = any(one.score for one in ranked)
    placed = [*ranked[::2], *ranked[1::2][::-1]] if is_found else ranked[::-1]
    return [PackLine(text=as_line(one), cites=(one.ref,)) for one in placed]


def as_line(one: PackEvidence) -> str:
    """A piece of evidence as a line: speaker, date, text, and the claim that changed it, if any."""
    who = one.speaker or one.role or one.kind
    if who == Role.SYSTEM:  # nobody said it: it was noted down, or made
        who = f"noted, {one.origin}" if one.origin else "noted"
    elif who == Role.USER and one.kind == Kind.ARTIFACT:  # handed in, but not the user's words
        who = f"document, {one.origin}" if one.origin else "document"
    head = ", ".join(filter(None, (who, one.said_at[:10], changed(one.changed_by))))
    return f"{head}: {one.text}"
