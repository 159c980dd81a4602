"""Quotas on writing, and which tenant a session counts for."""

from __future__ import annotations

import re
from dataclasses import dataclass, fields
from typing import Final

from pagefault.model import defaults
from pagefault.model.errors import BadInput
from pagefault.model.signatures import check_fields


@dataclass(frozen=True, slots=True, kw_only=True)
class Quotas:
    """Limits on what a session, a tenant, the project (the whole memory) and a tool may write. 0
    means no limit. `BadInput` for less.

    Pages and bytes limit what is stored: forgotten or expired content frees them. Bytes are those
    of texts in UTF-8 and of stored files. A tenant is whom a proxy serves (a user of its own, or
    the owner of a credential), with all sessions. Rates count what was written within the last
    minute, in any process, except imports. A tool is one tool of one tenant: `tool_bytes_max`
    limits a single write of it, such as a result.
    """

    session_pages_max: int = 0
    session_bytes_max: int = 0
    session_pages_per_minute: int = 0
    tenant_pages_max: int = 0
    tenant_bytes_max: int = 0
    tenant_pages_per_minute: int = 0
    project_pages_max: int = 0
    project_bytes_max: int = 0
    project_pages_per_minute: int = 0
    tool_bytes_max: int = defaults.TOOL_BYTES
    tool_pages_per_minute: int = 0
    tool_bytes_per_minute: int = defaults.TOOL_BYTES_PER_MINUTE

    def __post_init__(self) -> None:
        check_fields(self)
        for field in fields(self):
            if getattr(self, field.name) < 0:
                raise BadInput(f"{field.name} is negative", hint="0 means no limit")


_PROXIED: Final = re.compile(r":[^:@]+@([^:@]+)\Z")


def tenant_of(session_name: str) -> str:
    """The tenant of a session, from its name: a proxy's sessions end with their owner, in a form
    that no client can choose. "" for any other session.
    """
    found = _PROXIED.search(session_name)
    return found[1] if found else ""
