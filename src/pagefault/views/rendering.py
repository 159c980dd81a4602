"""HTML rendering: templates that escape every text, whatever its source.

Escaping does not stop characters that change the direction of the text after them, or are
invisible: with one in a name, a line can read as another. `visible` spells these out in every value
that a template inserts.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Final

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from pagefault.pack.bill import PARTS
from pagefault.views.texts import why_rewritten

_ACTS: Final = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\xad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e"
    "\u2060-\u206f\ufeff\ufff9-\ufffb\U000e0000-\U000e007f]"
)
"""Control characters, and Unicode's direction marks, invisible marks and tags; not the joiners,
which words and emoji need.
"""


def visible(value: Any) -> Any:
    """A text with such characters spelled out, as "\\u202e"; other values unchanged."""
    if isinstance(value, str) and not isinstance(value, Markup):
        return _ACTS.sub(lambda found: found[0].encode("unicode_escape").decode(), value)
    return value


def environment(*packages: str, **filters: Callable[..., Any]) -> Environment:
    """A template environment for these packages, with these filters added."""
    made = Environment(
        loader=ChoiceLoader([PackageLoader(one) for one in packages]),
        autoescape=True,
        finalize=visible,
        keep_trailing_newline=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.globals["PARTS"] = PARTS
    made.filters |= {
        "number": lambda value: f"{value:,.0f}",
        "share": lambda value: f"{value:.0%}",
        "plural": lambda count, one: f"{count:,} {one}" + ("" if count == 1 else "s"),
        "why_rewritten": why_rewritten,
        **filters,
    }
    return made
