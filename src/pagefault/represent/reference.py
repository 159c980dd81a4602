"""Level 3: the id, kind, size and topics of a page or range, and none of its sentences."""

from __future__ import annotations

from collections.abc import Sequence

from pagefault.represent.api import CountTokens, Source, size_of
from pagefault.represent.topics import topic_tags


def reference(
    sources: Sequence[Source],
    tokens: int,
    *,
    count: CountTokens,
    tokens_max: int,
    bytes_max: int,
) -> str:
    """The longest of these that fits: id, kind, size and topics; id and topics; id; nothing.

    As `msg_12 transcript 412 tokens: redis, cache`; of a range, `msg_12..msg_40 transcript …`.
    """
    first, last = sources[0], sources[-1]
    name = first.page_id if len(sources) == 1 else f"{first.page_id}..{last.page_id}"
    kinds = dict.fromkeys(source.kind.value for source in sources)
    size = f"{name} {'/'.join(kinds)} {tokens} tokens"
    tags = topic_tags("\n".join(source.text for source in sources))
    forms = [
        *(f"{size}: {', '.join(tags[:some])}" for some in range(len(tags), 0, -1)),
        size,
        *(f"{name}: {', '.join(tags[:some])}" for some in range(len(tags), 0, -1)),
        name,
    ]
    for form in forms:
        if size_of(form) <= bytes_max and count(form) <= tokens_max:
            return form
    return ""
