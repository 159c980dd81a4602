"""The form of a page: what is known of it without reading it, such as its time and its marks.

The index keeps this beside a page's terms, and ranking weighs it against what a question asks for.
All of it is found by form. In a language that expresses these things differently, either no page
has a mark or every page has it, and it decides nothing.
"""

from __future__ import annotations

import re
from datetime import date
from typing import Final, NamedTuple

from pagefault.language.days import days_told
from pagefault.model.events import PageBody
from pagefault.model.kinds import Kind, Role
from pagefault.store.likeness import likeness, likeness_of_data
from pagefault.store.said import ASKS, TELLS_NAME, TELLS_TIME, Said

_NAME: Final = re.compile(" (?<=[a-zß-ÿ,;] )[A-ZÀ-Þ][a-zß-ÿ]")  # starts at a blank: fastest
_ENDS_ASKING: Final = re.compile(r"""[?？؟][\s"'”’)*_]*(?:\[[^\]]*\]\s*)?\Z""")
"""A note in brackets after it, such as a shared photo's description, is not another sentence."""
_TAIL: Final = 400  # characters in which a question's end is sought
_DAYS_WITHIN: Final = 1_000  # leading characters that are searched for days

_EPOCH_DAY: Final = date(1970, 1, 1).toordinal()
_DAY_MS: Final = 86_400_000


class Form(NamedTuple):
    """`day` counts from the first of January of year 1, as `date.toordinal` does. `likeness`
    identifies pages that say the same (`store/likeness.py`). `told_first` and `told_last` are the
    days that it mentions, if others than its own: *last weekend*, *in early March*.
    """

    day: int
    marks: int
    likeness: int
    told_first: int | None = None
    told_last: int | None = None


def form_of(body: PageBody, said: Said, at_ms: int) -> Form:
    """The form of a page with this text; its day is when it happened, or else when it was logged
    (UTC).
    """
    marks, tail = said.marks, body.text[-_TAIL:]
    if ("?" in tail or "？" in tail or "؟" in tail) and _ENDS_ASKING.search(tail):
        marks |= ASKS
    if _NAME.search(body.text):
        marks |= TELLS_NAME
    day = _day(body.occurred_at, at_ms)
    # A question differs from its answer, and `yesterday` means another day on each day.
    by = [body.role, body.speaker, body.title, "?" if marks & ASKS else ""]
    if marks & TELLS_TIME:
        by.append(str(day))
    who = "\0".join(by)
    if body.role is Role.TOOL or body.kind is Kind.ARTIFACT or body.parts > 1:
        return Form(day, marks, likeness_of_data(body.text, by=who))
    told = (
        days_told(body.text[:_DAYS_WITHIN], date.fromordinal(day)) if marks & TELLS_TIME else None
    )
    number = likeness(said.told, said.order, by=who)
    return Form(day, marks, number, *(map(date.toordinal, told) if told else ()))


def _day(occurred_at: str, at_ms: int) -> int:
    if occurred_at:
        try:
            return date.fromisoformat(occurred_at[:10]).toordinal()
        except ValueError:
            pass
    return _EPOCH_DAY + at_ms // _DAY_MS
