"""The recall gate: how much the runtime pages in by itself for a message at the start of a turn.

A page that is brought in stays until the next epoch and costs tokens in every request. Most
messages ask for nothing said before, yet find pages, because words repeat. So a message that asks
gets all likely hits, one that mostly makes statements gets three quarters of that room, and one
that only makes statements gets only pages on the very same subject.

For a question, a hit's share of the best score decides. There is no floor on coverage, because that
measures words alone and much of a score is something else. The thresholds were chosen on two of
five LoCoMo conversations, with the curve of `benchmarks/recall_gate.py`. The room for messages that
mostly make statements was not: at a quarter, an assistant's user who reports and then asks for the
next step saw only three quarters of what search found. In a language without cues of questions, a
message without a question mark may ask as well as tell, and gets that room, too.

How likely the best hit is cannot replace the form of a message: at the same evidence a statement
costs several times the tokens (docs/decisions/136). docs/recall.md has the figures.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from pagefault.language.known import told
from pagefault.language.language import Cue, Script
from pagefault.language.patterns import Where, shows
from pagefault.recall.analyzed import has_question_mark
from pagefault.recall.search import SearchHit


@dataclass(frozen=True, slots=True)
class Gate:
    """Which hits a message is given."""

    coverage_min: float  # of a hit
    share_min: float  # of the best hit's score
    room_share: float  # of the room for paging in

    def admitted(self, hits: Sequence[SearchHit]) -> list[SearchHit]:
        """The hits that pass; `hits` are best first."""
        if not hits:
            return []
        least = self.share_min * hits[0].score
        return [h for h in hits if h.coverage >= self.coverage_min and h.score >= least]


ASKING: Final = Gate(coverage_min=0.0, share_min=0.45, room_share=1.0)
MIXED: Final = Gate(coverage_min=0.0, share_min=0.45, room_share=0.75)
TELLING: Final = Gate(coverage_min=0.6, share_min=0.5, room_share=0.25)

_WORD: Final = re.compile(r"\w+")
_SENTENCE: Final = re.compile(r"[^.!?…。！？؟\n]*[^\W_][^.!?…。！？؟\n]*[.!?…。！？؟]*")


def gate(message: str) -> Gate:
    """The gate for a message, from its form alone. Cheap."""
    share = asking_share(message)
    if not share:
        return TELLING if _has_known_form(message) else MIXED
    return ASKING if share >= 0.5 else MIXED


def _has_known_form(message: str) -> bool:
    """Whether a question without its mark would be recognised: not in a language without cues of
    questions. In Latin letters, a message counts as one of these only if a quarter of its words are
    the language's function words, because Hindi in Latin letters shares some with Italian.
    """
    languages = told(message)
    if not languages or any(Cue.ASKS in one.cues for one in languages):
        return True
    words = _WORD.findall(message.casefold())
    grammar = [word for word in words if any(word in one.stop_words for one in languages)]
    is_latin = all(one.script is Script.LATIN for one in languages)
    return is_latin and 4 * len(grammar) < len(words)


def asking_share(message: str) -> float:
    """The share of a message, in characters, whose sentences ask for something or refer back to
    something said before. 1 if only the message as a whole does so.
    """
    sentences = _SENTENCE.findall(message)
    asking = sum(len(one) for one in sentences if asks(one))
    if asking:
        return asking / sum(map(len, sentences))
    return 1.0 if asks(message) else 0.0


def asks(message: str) -> bool:
    """Whether a message asks for something, refers back to something said before, says that
    somebody forgot or wants to know what a clause asks, or only names it. *How lovely the wedding
    was!* and *Guess who!* do not.
    """
    return (
        has_question_mark(message)
        or (shows(Cue.ASKS, message, where=Where.START) and not _exclaims(message, Where.START))
        or (
            shows(Cue.INTERROGATIVE, message, where=Where.END) and not _exclaims(message, Where.END)
        )
        or shows(Cue.POINTS_BACK, message)
        or shows(Cue.WONDERS, message)
    )


def _exclaims(message: str, where: Where) -> bool:
    """Whether a message has an interrogative at its beginning or end, and its first sentence ends
    with an exclamation mark. *Tell me!* has none.
    """
    first = _SENTENCE.match(message)
    is_loud = first is not None and first[0].endswith(("!", "！"))
    return is_loud and shows(Cue.INTERROGATIVE, message, where=where)
