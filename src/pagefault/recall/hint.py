"""Hints: the subject of a page in a few of its own words, enough to choose it by."""

from __future__ import annotations

import re
from typing import Final

from pagefault.language.known import LANGUAGES
from pagefault.model.kinds import Role
from pagefault.model.page import Page

WORDS_MAX: Final = 12

_FENCE: Final = re.compile(r"```.*?(?:```|\Z)", re.DOTALL)
_LINK: Final = re.compile(r"!?\[([^\]]*)\]\([^)]*\)")
_TAG: Final = re.compile(r"</?[A-Za-z!][^<>]*>")
_MARK: Final = re.compile(
    r"[<>*`|~\[\]{}\\]+|(?<![^\W_])_+|_+(?![^\W\d_])|#+(?!\d)|^\s*(?:[-+]|\d+[.)])\s+",
    re.MULTILINE,
)
"""Markup, and what could pass for a page's id. `#42` and `test_cap` are names and stay whole."""
_SENTENCE: Final = re.compile(
    r"[^.!?…。！？\n]*[^\W_][^.!?…。！？\n]*(?:[.](?=\w)[^.!?…。！？\n]*)*"
)
_READ: Final = 2_000  # characters from the beginning that are read
_CHARS_MAX: Final = 96
_EMPTY_TALK: Final = frozenset[str]().union(*(one.greetings for one in LANGUAGES))


def hint(text: str, *, title: str = "") -> str:
    """At most twelve words on one line, without markup, so that it cannot forge structure.

    The title if there is one, else the first sentence with content. Empty for a text without a
    word.
    """
    plain = _plain(title) or _plain(_first_telling(_FENCE.sub(" ", text[:_READ])))
    plain = plain or _plain(text[:_READ])
    words = plain.split()
    short = " ".join(words[:WORDS_MAX])
    cut = len(words) > WORDS_MAX or len(short) > _CHARS_MAX
    return short[:_CHARS_MAX].rstrip(" ,;:-") + ("…" if cut else "")


def begins(page: Page) -> str:
    """How a page is named in a list for people: a document by its title, anything else by its first
    words. A tool's title is its name, which all its results share.
    """
    is_titled = page.row.role is not Role.TOOL and not page.row.part
    return hint(page.text, title=page.title if is_titled else "")


def _first_telling(text: str) -> str:
    """The first sentence that is more than a greeting, else the first one."""
    found = (match[0].strip() for match in _SENTENCE.finditer(_plain_lines(text)))
    sentences = [sentence for sentence in found if re.search(r"\w", sentence)]
    for sentence in sentences:
        words = [word for word in re.findall(r"\w+", sentence) if word.lower() not in _EMPTY_TALK]
        if len(words) >= 4 or any(not word.isascii() for word in words):
            return sentence
    return sentences[0] if sentences else ""


def _plain_lines(text: str) -> str:
    return _MARK.sub(" ", _TAG.sub(" ", _LINK.sub(r"\1", text)))


def _plain(text: str) -> str:
    """The text as one line of printable characters."""
    kept = "".join(char if char.isprintable() else " " for char in _plain_lines(text))
    return " ".join(kept.split())
