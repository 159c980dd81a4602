"""Artifacts: bytes in the blob store, and a page whose text describes them."""

from __future__ import annotations

import mimetypes
from typing import Final

from pagefault.model.errors import BadInput, RecordGone, StoreCorrupt
from pagefault.model.kinds import EventType, Modality, Role, Source
from pagefault.model.page import Page
from pagefault.service.runtime import Runtime
from pagefault.service.turn.drafts import Incoming
from pagefault.service.window.state import SessionState

NAME_CHARS_MAX: Final = 200
UNKNOWN: Final = "application/octet-stream"


def describe(
    data: bytes, *, name: str, media_type: str, text: str, key: str, bytes_max: int
) -> Incoming:
    """The page of an artifact, before its bytes are stored. Raises `BadInput`."""
    if len(data) > bytes_max:
        raise BadInput(
            f"{name!r} has {len(data):,} bytes; an artifact has at most {bytes_max:,}",
            hint="store it elsewhere and log its location, or raise limits.artifact_bytes_max",
        )
    if not name or len(name) > NAME_CHARS_MAX or not name.isprintable():
        raise BadInput(
            f"{name!r} cannot be an artifact's name",
            hint=f"1 to {NAME_CHARS_MAX} characters, without control characters",
        )
    kind = media_type or mimetypes.guess_type(name)[0] or UNKNOWN
    told = f"{name} ({kind}, {len(data):,} bytes)"
    return Incoming(
        text=f"{told}: {text}" if text else told,
        role=Role.USER,
        event_type=EventType.ARTIFACT,
        title=name,
        modality=modality_of(kind),
        source=Source.FILES,
        mime_type=kind,
        size_bytes=len(data),
        key=key,
    )


def bytes_of(page: Page, state: SessionState, runtime: Runtime) -> bytes:
    """The bytes of a page. Reads the store. `BadInput` for a page that has none."""
    if not page.blob:
        raise BadInput(f"{page.page_id} is text and has no bytes", hint="use `page` for its text")
    try:
        return runtime.blobs.get(page.blob)
    except KeyError:
        row = state.find_row(page.page_id)
        if row is None or runtime.journal.is_going(row.seq):
            raise RecordGone(f"page {page.page_id} is being forgotten just now") from None
        raise StoreCorrupt(
            f"the bytes of {page.page_id} are missing: blob {page.blob}",
            hint="put the blob back from a backup; the page's text is as it was",
        ) from None


def modality_of(media_type: str) -> Modality:
    """The modality of a media type; anything but text, image, audio or video is structured."""
    top = media_type.partition("/")[0].strip().lower()
    return Modality(top) if top in ("image", "audio", "video", "text") else Modality.STRUCTURED
