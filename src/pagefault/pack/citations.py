"""Citations: how an answer names the pages it rests on (requirement 000, strict prompt)."""

from __future__ import annotations

import re
from typing import Final

from pagefault.model.ids import PageId

_CITATION: Final = re.compile(r"\[ref:\s*([^\]\n]{1,200})\]")
_ID: Final = re.compile(r"(?<!\w)[a-z]{3,4}_[0-9]+(?!\w)")


def cited_pages(text: str) -> list[PageId]:
    """The ids in `[ref: msg_12]`, `[ref: msg_1, sum_2]` or `[ref: tool:page_fault(img_4)]`.

    In order, each once. What is no id of ours is passed over.
    """
    if "[ref:" not in text:  # most texts: looking for it so is far cheaper
        return []
    found = (PageId(name) for cited in _CITATION.findall(text) for name in _ID.findall(cited))
    return list(dict.fromkeys(found))


def cite(page_id: PageId) -> str:
    return f"[ref: {page_id}]"
