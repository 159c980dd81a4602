"""Citations: how an answer names the pages it rests on, and how a formed line does."""

from __future__ import annotations

import re
from collections.abc import Container, Iterable
from dataclasses import dataclass
from typing import Final

from pagefault.guard.neutralise import uncited
from pagefault.model.ids import PageId
from pagefault.pack.tools import PAGE_FAULT

CITATION: Final = re.compile(r"\[ref:\s*([^\]\n]{1,200})\]")
_ID: Final = re.compile(
    r"(?:(?<!\w)tool:(?P<tool>[A-Za-z_][\w.-]{0,63})\(\s*)?"
    r"(?P<quote>[\"']?)(?<!\w)(?P<id>[a-z]{3,4}_[0-9]+)(?!\w)"
)


@dataclass(frozen=True, slots=True)
class Citation:
    """A page that an answer cites; `tool` is the call that brought it, if the citation has one."""

    page_id: PageId
    tool: str = ""


@dataclass(frozen=True, slots=True)
class Checked:
    """The citations of an answer, each page once, in order; and the invalid ones among them."""

    cited: tuple[PageId, ...]
    invalid: tuple[PageId, ...]


def citations(text: str) -> list[Citation]:
    """`[ref: msg_12]`, `[ref: msg_1, sum_2]`, `[ref: tool:page_fault(img_4)]`, each once, in order.

    Anything that is not a page's id is ignored.
    """
    if "[ref:" not in text:  # true of most texts, and far cheaper than the pattern
        return []
    found = (
        Citation(PageId(match["id"]), match["tool"] or "")
        for cited in CITATION.findall(text)
        for match in _ID.finditer(cited)
    )
    return list(dict.fromkeys(found))


def cited_pages(text: str) -> list[PageId]:
    """The pages that an answer cites, in order, each once."""
    return list(dict.fromkeys(citation.page_id for citation in citations(text)))


def check(text: str, visible: Container[PageId]) -> Checked:
    """The citations of an answer, and which are invalid: `visible` are the pages the model could
    read.

    A citation of a call is valid only for `page_fault`: no other tool returns a page.
    """
    found = citations(text)
    invalid = [
        citation.page_id
        for citation in found
        if citation.page_id not in visible or citation.tool not in ("", PAGE_FAULT)
    ]
    return Checked(
        tuple(dict.fromkeys(citation.page_id for citation in found)),
        tuple(dict.fromkeys(invalid)),
    )


def cite(page_id: PageId) -> str:
    return f"[ref: {page_id}]"


def sourced(text: str, pages: Iterable[str]) -> str:
    """A line of formed memory: a text and the pages it rests on, as in `Tea at four. [msg_3]`.
    Brackets of the text that read like sources are opened by `⁅`, so the last ones are ours.
    """
    return f"{uncited(text)} [{', '.join(pages)}]"


def sources(line: str) -> tuple[str, list[PageId]]:
    """The text of a formed line and the pages it rests on; any other line whole, without pages."""
    text, opened, named = line.rpartition(" [")
    listed, closed, _ = named.partition("]")
    return (text, [*map(PageId, listed.split(", "))]) if opened and closed else (line, [])
