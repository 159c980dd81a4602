"""Parser for the search box: words, and filters as `name:value`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Final

from pagefault.model.errors import BadInput
from pagefault.model.kinds import ORIGINS, Kind, is_tools
from pagefault.model.wanted import TOOL, SearchFilter

HELP: Final = (
    ("words", "pages about them, best first"),
    ("topic:oak", "pages on a topic"),
    ("task:#42", "pages that mention a task"),
    ("on:2026-03-05", "pages of a day; since: and until: work too"),
    ("kind:artifact", f"one of {', '.join(Kind)}"),
    ("source:web", "where it came from: a channel, or an import (chatgpt, claude, …)"),
    ("scope:all", "search every session, not just this one"),
    ("history:yes", "include earlier versions of edited text"),
    ("msg_16", "that page"),
)
_WORD: Final = re.compile(r'(?:(\w+):)?("[^"]*"|\S+)')
_PAGE: Final = re.compile(r"[a-z]{3,4}_\d+")


@dataclass(frozen=True, slots=True, kw_only=True)
class PageQuery:
    """A parsed search. `wanted` is its filter; `everywhere` includes all sessions."""

    words: str = ""
    topic: str = ""
    task: str = ""
    page_id: str = ""
    wanted: SearchFilter
    everywhere: bool = False

    @property
    def is_listing(self) -> bool:
        """Whether there is nothing to search for, so that pages are listed by time."""
        return not (self.words or self.topic or self.task or self.page_id)


def parsed(text: str) -> PageQuery | None:
    """The query; None for empty text. Raises `BadInput`, with a hint at what was meant."""
    words: list[str] = []
    told: dict[str, str] = {}
    for name, value in _WORD.findall(text):
        if name in _NAMES:
            told[name] = value.strip('"')
        elif get_close_matches(name, _NAMES, cutoff=0.7):  # not localhost:8080
            raise BadInput(f"no filter is called {name!r}", hint=f"one of {', '.join(_NAMES)}")
        else:
            words.append(f"{name}:{value}" if name else value.strip('"'))
    if not words and not told:
        return None
    source, day = told.get("source", ""), told.get("on")
    is_channel = source in (*ORIGINS, TOOL) or is_tools(source)
    scope = told.get("scope", "session")
    if scope not in ("session", "all"):
        raise BadInput(f"{scope!r} is not a scope", hint="one of session, all")
    named = words[0] if len(words) == 1 and not told and _PAGE.fullmatch(words[0]) else ""
    return PageQuery(
        words="" if named else " ".join(words),
        topic=told.get("topic", ""),
        task=told.get("task", ""),
        page_id=named,
        wanted=SearchFilter(
            kinds=(told["kind"],) if "kind" in told else (),
            origins=(source,) if is_channel else (),
            imported_from="" if is_channel else source,
            since=day or told.get("since"),
            until=day or told.get("until"),
            history=told.get("history", "no") == "yes",
        ),
        everywhere=scope == "all" or bool(source and not is_channel),
    )


_NAMES: Final = ("topic", "task", "on", "since", "until", "kind", "source", "scope", "history")
