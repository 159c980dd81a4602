"""How values become pages: templates that escape every text, whoever wrote it.

What acts on a page without being a tag is a character that turns the direction of what follows, or
hides in it: with one in a name, a line can read as another. `visible` spells these out, of every
value that any template puts anywhere.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Final

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

_ACTS: Final = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\xad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e"
    "\u2060-\u206f\ufeff\ufff9-\ufffb\U000e0000-\U000e007f]"
)
"""Controls, and what Unicode has for directions, invisible marks and tags; not the joiners, which
are part of how words and emoji are written.
"""


def visible(value: Any) -> Any:
    """A text with what acts unseen spelled out, as "\\u202e"; anything else as it is."""
    if isinstance(value, str) and not isinstance(value, Markup):
        return _ACTS.sub(lambda found: found[0].encode("unicode_escape").decode(), value)
    return value


def environment(*packages: str, **filters: Callable[..., Any]) -> Environment:
    """Of the templates of these packages, with filters besides the usual ones."""
    made = Environment(
        loader=ChoiceLoader([PackageLoader(one) for one in packages]),
        autoescape=True,
        finalize=visible,
        keep_trailing_newline=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters |= {
        "number": lambda value: f"{value:,.0f}",
        "share": lambda value: f"{value:.0%}",
        "plural": lambda count, one: f"{count:,} {one}" + ("" if count == 1 else "s"),
        **filters,
    }
    return made
