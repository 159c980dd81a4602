"""The key sentences of a pack without a query: what was said before the messages it shows whole.

They are chosen once, over the talk of all sessions of the pack: a session that says more gets more
lines, and what two sessions say, as a fork and its parent do, is quoted once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final

from pagefault.model.kinds import PackType
from pagefault.pack.context_forms import one_line
from pagefault.pack.context_pack import EVIDENCE, SECTIONS
from pagefault.pack.context_packer import UNRANKED, PackItem
from pagefault.represent.api import Source
from pagefault.represent.extractive import key_sentences
from pagefault.service.packs.gathered import TIERS, PackAsked, TalkPage
from pagefault.service.packs.quoted_pages import Quoted

LINE_TOKENS: Final = 12  # of a line besides its sentence: the dash, the speaker, the citation


def key_lines(
    talk: Sequence[TalkPage],
    items: Sequence[PackItem],
    asked: PackAsked,
    quoted: Quoted,
    count: Callable[[str], int],
) -> Iterator[PackItem]:
    """The most informative sentences of messages that none of `items` quotes as evidence."""
    shown = {one.evidence.ref for one in items if one.section == EVIDENCE}
    told = {
        (one.page.row.session, one.page.row.page_id): one
        for one in sorted(talk, key=lambda one: one.is_own)  # of two, the one that is its own
        if quoted.ref(one.session_id, one.page.row.page_id) not in shown
    }
    said = sorted(told.values(), key=lambda one: (one.page.row.said_ms, one.page.row.seq))
    share = next(rule.share for rule in SECTIONS[asked.pack_type] if rule.name == "summary")
    if asked.pack_type is PackType.BOOT:
        share = 1.0  # critical facts are what it is for, and may have the room that is left
    chosen = key_sentences(
        [Source.of(one.page) for one in said],
        count=count,
        tokens_max=int(share * asked.tokens),
        line_tokens=LINE_TOKENS,
    )
    for number, (place, sentence) in enumerate(chosen, start=1):
        session_id, page = said[place].session_id, said[place].page
        words, speaker = one_line(sentence), one_line(page.speaker)
        if not words:
            continue
        is_whole = words == one_line(page.text)
        yield PackItem(
            section="summary",
            tier=TIERS[asked.pack_type].summaries,
            text=f"{speaker or page.row.role}: {words}",
            evidence=quoted.evidence(
                page.row, session_id, "summary", words, is_whole=is_whole, speaker=speaker
            ),
            reason="among the most informative sentences of the earlier messages",
            rank=UNRANKED + number,
            order=1 + place,
            at_ms=page.row.said_ms,
            quote=words,
            origin=quoted.bound(page),
        )
