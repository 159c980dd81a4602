"""The contract of a former: a range of a conversation in, proposals of what to remember out.

A former proposes, and nothing more. What is kept is decided by the bytes of the pages that it cites
(`service/derived/admission.py`): a proposal that cites none of the range, or quotes what stands
nowhere, is dropped, whoever made it.
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
    """What a proposal would become: a sentence of the range's summary, a claim of that type, or a
    line of a section of core memory.
    """

    SUMMARY = "summary"
    DECISION = "decision"
    PREFERENCE = "preference"
    FACT = "fact"
    RULE = "rule"  # how to work or answer from now on
    TASK = "task"  # where some piece of work stands
    PROJECT_FACT = "project_fact"  # of a repository
    PROCEDURE = "procedure"
    GOTCHA = "gotcha"  # what goes wrong, and when
    GLOSSARY = "glossary"  # what a word means here
    CORE = "core"


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """One thing to remember, in one line. It cites `pages`, and quotes words of them."""

    kind: ProposalKind
    text: str
    pages: tuple[PageId, ...]
    quotes: tuple[str, ...] = ()
    subject: str = ""  # of a claim: what it is about; of core memory: which section


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposals:
    """What a former made of a range. `unread` are lines that said nothing it could have meant."""

    proposals: tuple[Proposal, ...] = ()
    unread: int = 0
    usage: Usage | None = None  # of the model that was asked, if one was


@dataclass(frozen=True, slots=True, kw_only=True)
class FormationRequest:
    """A range that is to be formed, and the state that its model was in.

    `request` begins as the last one that was sent, byte for byte, and ends with what was answered
    since: what the next one will begin with. `segments` tell what each of its messages shows.
    `response` is the model's last answer, `operations` are the calls that it made in that turn.
    The range is `pages`, in their order: it is told by the ids of the first and the last, which
    stand in the labels that the request shows. `words_max` bounds what may be written. Where the
    conversation `rests`, sections of core memory may be proposed, too.

    Behind a proxy the bytes of the client's own body are what is asked with. `request` then has its
    texts that are in no range yet, as pages hold them, without labels, and `operations` are empty.
    """

    request: Request
    segments: tuple[RenderedSegment, ...]
    response: str
    operations: tuple[ToolCall, ...]
    pages: tuple[Page, ...]
    words_max: int
    rests: bool = False

    @property
    def first(self) -> PageId:
        return self.pages[0].page_id

    @property
    def last(self) -> PageId:
        return self.pages[-1].page_id


class Former(Protocol):
    """Makes memory of ranges. Called for one range at a time, and again for one that failed."""

    @property
    def kind(self) -> FormerKind: ...

    @property
    def reads_window(self) -> bool:
        """Whether it reads of the request more than the range: then what it makes is no more
        trusted than the least trusted page that the request shows.
        """
        ...

    def tokens(self, given: FormationRequest) -> int:
        """What it would ask a model with, by the request's own count; 0 if it asks none."""
        ...

    async def form(self, given: FormationRequest) -> Proposals:
        """What to remember of the range, most important first of each kind.

        Raises `EngineError` where the model failed, was cut off before it said anything, or called
        a tool: the range will be tried again. Being cancelled cancels the request.
        """
        ...
