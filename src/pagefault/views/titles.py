"""Session titles for people: the name that somebody gave, else the first words."""

from __future__ import annotations

import re
from typing import Final

from pagefault.model.kinds import Role
from pagefault.service.lookup.imported import IMPORT_PREFIX
from pagefault.store.api import PageFilter
from pagefault.views.texts import SessionTexts, head

_TITLE: Final = 60  # characters
_CLIENTS: Final = {"claude": "Claude Code", "codex": "Codex", "opencode": "opencode"}
_PROXIED: Final = re.compile(r"(?:([a-z]+):)?(.+?)(?::[a-z]+)?:[0-9a-f]{6}@[^:@]+\Z")
_NOBODY_NAMED_IT: Final = re.compile(r"[0-9a-f]{8}-?[0-9a-f-]{4,}|[0-9a-f]{12,}|ses_\w+|\Z")


def title_of(texts: SessionTexts) -> str:
    """The title, cleaned; "" for a session without a name or messages. Blocks on the store."""
    return texts.clean(_given_name(texts.row.name)) or _first_words(texts)


def _first_words(texts: SessionTexts) -> str:
    pages = texts.runtime.index.pages(texts.scope, PageFilter(), limit=8)
    first = next((one for one in pages if one.role is Role.USER), None)
    page = texts.read(first)
    return "" if page is None else head(texts.shown(page.text).strip(), _TITLE)


def client_of(name: str) -> str:
    """The program that the conversation is from, if the session's name shows it."""
    if name.startswith(IMPORT_PREFIX):
        return f"imported from {name.removeprefix(IMPORT_PREFIX).partition(':')[0]}"
    match = _PROXIED.match(name)
    return _CLIENTS.get(match[1] or "", "") if match else ""


def _given_name(name: str) -> str:
    """The name that a person gave a session; "" if nobody did."""
    match = _PROXIED.match(name)
    kind, key = (match[1] or "", match[2]) if match else ("", name)
    if kind == "unnamed" or name.startswith(IMPORT_PREFIX) or _NOBODY_NAMED_IT.match(key):
        return ""
    return key
