"""The contract of a former: a range of a conversation in, proposals of what to remember out.

A former only proposes. Admission decides by the bytes of the cited pages
(`service/derived/admission.py`): a proposal that cites no page of the range, or quotes words that
are not there, is dropped, whatever its source.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from pagefault.model.ids import PageId
from pagefault.model.kinds import FormerKind
from pagefault.model.page import Page
from pagefault.model.request import Request, ToolCall, Usage
from pagefault.model.segments import RenderedSegment


class ProposalKind(StrEnum):
    """What a proposal becomes: a sentence of the range's summary, a claim of that type, or a line
    of a section of core memory.
    """

    SUMMARY = "summary"
    DECISION = "decision"
    PREFERENCE = "preference"
    FACT = "fact"
    RULE = "rule"  # how to work or answer from now on
    TASK = "task"  # the state of some piece of work
    PROJECT_FACT = "project_fact"  # of a repository
    PROCEDURE = "procedure"
    GOTCHA = "gotcha"  # what goes wrong, and when
    GLOSSARY = "glossary"  # what a word means here
    CORE = "core"


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """One thing to remember, in one line. It cites `pages`, and quotes words from them.

    `speaker` may be set if all its words are that speaker's: a summary names the speaker where it
    changes.
    """

    kind: ProposalKind
    text: str
    pages: tuple[PageId, ...]
    quotes: tuple[str, ...] = ()
    subject: str = ""  # of a claim: what it is about; of core memory: the section
    speaker: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposals:
    """A former's output for a range. `unread` counts lines that could not be interpreted."""

    proposals: tuple[Proposal, ...] = ()
    unread: int = 0
    usage: Usage | None = None  # of the model, if one was asked


@dataclass(frozen=True, slots=True, kw_only=True)
class FormationRequest:
    """A range to be formed, and the model's state at its time.

    `request` begins as the last one that was sent, byte for byte, and ends with what was answered
    since: the prefix of the next one. `segments` give the content of each of its messages.
    `response` is the model's last answer, `operations` are the calls that it made in that turn. The
    range is `pages`, in order: it is identified by the ids of the first and the last, which are in
    the labels that the request shows. `tokens_max` limits the summary, with its citations, by the
    tokens of stored counts. If the conversation `rests`, sections of core memory may be proposed,
    too.

    Behind a proxy the model is asked with the bytes of the client's own body. `request` then has
    only the texts that are in no range yet, as in their pages, without labels, and `operations` are
    empty.
    """

    request: Request
    segments: tuple[RenderedSegment, ...]
    response: str
    operations: tuple[ToolCall, ...]
    pages: tuple[Page, ...]
    tokens_max: int
    rests: bool = False

    @property
    def first(self) -> PageId:
        return self.pages[0].page_id

    @property
    def last(self) -> PageId:
        return self.pages[-1].page_id


class Former(Protocol):
    """Forms memory from ranges. Called for one range at a time, and again after a failure."""

    @property
    def kind(self) -> FormerKind: ...

    @property
    def reads_window(self) -> bool:
        """Whether it reads more of the request than the range: then its output is no more trusted
        than the least trusted page that the request shows.
        """
        ...

    def tokens(self, given: FormationRequest) -> int:
        """The size of its request to a model, by the request's own count; 0 without a model."""
        ...

    async def form(self, given: FormationRequest) -> Proposals:
        """What to remember of the range, most important first within each kind.

        Raises `EngineError` if the model failed, was cut off before it said anything, or called a
        tool: the range is retried. Cancelling this cancels the request.
        """
        ...
