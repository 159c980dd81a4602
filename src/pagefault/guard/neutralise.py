"""Makes stored text unable to forge the protocol it is rendered into, and shows that it did.

What is kept is never changed; only its rendering is. A reader still sees every word: an angle
bracket becomes its single-quote look-alike, a bracket its tortoise-shell one, and a character that
would act instead of being seen is spelled out as `⟨U+202E⟩`.
"""

from __future__ import annotations

import re
from typing import Final

_ACTING = (
    "\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f"  # C0 and C1 controls but tab, LF, CR
    "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"  # bidirectional overrides and marks
    "\u200b\u2028\u2029\u2060-\u2064\ufeff"  # breaks and joins that nobody sees
    "\U000e0000-\U000e007f"  # tag characters: invisible ASCII
    "\ufff9-\ufffb"
    "\ud800-\udfff"  # lone surrogates cannot be encoded at all
)
_INVISIBLE: Final = re.compile(f"[{_ACTING}]")

_TAG: Final = re.compile(r"[<\uff1c](?=\s*/?\s*vm\s*[:\uff1a])", re.IGNORECASE)
_CITATION: Final = re.compile(r"\[(?=\s*ref\s*[:\uff1a])", re.IGNORECASE)
_LABEL: Final = re.compile(
    r"^(?P<indent>[ \t>*#-]*)(?P<letter>(?:[A-Z][ \t]*)?)\((?=[a-z]{3,4}_\d)", re.MULTILINE
)
_ROLE: Final = re.compile(
    r"<(?=\|(?:im_start|im_end|start_header_id|end_header_id|eot_id|system|user|assistant|end|begin_of_text)\b)"
)


def _spell(match: re.Match[str]) -> str:
    return f"⟨U+{ord(match[0]):04X}⟩"


def neutralise(text: str, *, citations: bool = False) -> str:
    """`text` as it may be shown to a model.

    `citations` leaves `[ref: …]` as it is: right for what the model itself wrote, wrong for
    anything else, since a citation in a page would pass for evidence.
    """
    text = _INVISIBLE.sub(_spell, text)
    text = _TAG.sub("‹", text)
    text = _ROLE.sub("‹", text)
    text = _LABEL.sub(r"\g<indent>\g<letter>❨", text)
    if not citations:
        text = _CITATION.sub("⁅", text)
    return text
