"""Level 1 of a text: what is left when only what says nothing is taken out.

Taken out are sentences that are courtesy and nothing else, intensifiers and interjections, all
but the last of sentences said again word for word, and all but one of identical lines in a row.
Everything else stays as it was written, so what is kept are stretches of the text.

What could turn a sentence into another one is left alone: a sentence that denies something keeps
every word (*not really*, *not just*), so does code, and so do hedges (*I think*, *maybe*). The
last of what is repeated is kept, as something may have been taken back in between.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final, NamedTuple

from pagefault.represent.protected import denies, guarded
from pagefault.represent.sentences import Manner, Unit

REPEAT_WORDS_MIN: Final = 5
"""A shorter sentence that is said again may be an answer to something else."""
COURTESY_WORDS_MAX: Final = 14

_COURTESY: Final = frozenset(
    """
    amazing aw awesome aww beautiful bet bye cheers congrats congratulations cool evening
    excited exciting fantastic fun glad good goodbye great greetings haha happy hello hey hi
    hope impressive incredible inspiring lol lovely luck morning neat nice proud rooting sounds
    super sweet thank thanks welcome whoa woah wonderful wow yay
    """.split()
)
_AROUND: Final = frozenset(
    """
    a about again all also always am an and any are as at be been being by catch chat couldn day
    did do does doing even ever every everyone everything feel feeling feels for forward from
    get getting gonna got guess guys had happen happened has have hear heard hearing her here
    him his how i i'd i'll i'm i've if imagine in is it it'll it's its just keep kind know later
    like look looking looks lot lots loved made make makes man me means mind more much must my
    new of oh on once or our out part person pretty really right said say see seeing seem seems
    share sharing she so some something soon sound special stuff such take talk talking tell
    thanks that that's the their them there they thing things think this those thought time to
    today together too totally touch truly up us very was way we we're well went were what
    what's when who will wish with word work world worth would ya yeah you you'd you'll you're
    you've your yourself
    """.split()
)
_ASSENT: Final = frozenset(
    """
    agree agreed approved can confirmed correct could deal done exactly fine go let let's lets
    must need ok okay perfect please ready right should stop sure try wait want will works yep
    yes yup
    """.split()
)
"""With one of these a sentence may be an answer or an order, whatever else it says."""
_WORD: Final = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")
_SMALL_TALK: Final = re.compile(
    r"(?:(?:hey|hi|so|and|oh|well) )?(?:how are (?:you|things)|how(?:'s| is) (?:it|everything"
    r"|life) going"
    r"|how have you been|how about you|what about you|what's up|what's new|how you doing"
    r"|anything new)(?: doing)?(?: (?:lately|today|these days|with you))?"
)
_FILLER: Final = re.compile(
    r"(?i:\A(?:well|so|oh|wow|hey|hmm+|ah|aw+|gosh|okay so|anyway|anyways)(?:,\s+|!\s+)(?=\w))"
    r"|(?i:\b(?:really|very|actually|basically|literally|honestly|truly|totally|absolutely"
    r"|definitely"
    r"|certainly|obviously|quite|you know,|I mean,|to be honest,|as you know,|needless to say,))"
    r"(?<=[\w,])\s+(?=[^\W\d])"
)
_DEGREE: Final = re.compile(r"(?i)\b(?:how|as|so|too|isn|hardly|barely|only|less)\s*\Z")


class Kept(NamedTuple):
    """A unit and the stretches of it that stay: characters from and to (without), in order."""

    unit: Unit
    stretches: tuple[tuple[int, int], ...]

    def text(self, whole: str) -> str:
        return "".join(whole[start:end] for start, end in self.stretches)


def reduce(texts: Sequence[str], units: Sequence[Sequence[Unit]]) -> list[list[Kept]]:
    """What stays of each text of a range, given its units."""
    last = _last_said(texts, units)
    return [
        [
            Kept(unit, _stretches(text, unit))
            for place, unit in enumerate(found)
            if not _says_nothing(text, found, place, last, (number, place))
        ]
        for number, (text, found) in enumerate(zip(texts, units, strict=True))
    ]


def is_courtesy(sentence: str) -> bool:
    """Whether it is thanks, praise, a greeting or a wish, and nothing else."""
    words = _WORD.findall(sentence)
    if not words or len(words) > COURTESY_WORDS_MAX:
        return False
    folded = [word.casefold().replace("’", "'") for word in words]
    if _SMALL_TALK.fullmatch(" ".join(folded)) is not None:
        return True
    if not any(word in _COURTESY for word in folded) or _ASSENT.intersection(folded):
        return False
    strangers = [
        word
        for place, (word, lower) in enumerate(zip(words, folded, strict=True))
        if lower not in _COURTESY and lower not in _AROUND and not (place and word.istitle())
    ]
    return not strangers and not denies(sentence) and not guarded(sentence)


def _says_nothing(
    text: str,
    units: Sequence[Unit],
    place: int,
    last: dict[str, tuple[int, int]],
    here: tuple[int, int],
) -> bool:
    unit = units[place]
    said = text[unit.start : unit.end]
    if unit.manner is Manner.CODE:
        before = units[place - 1] if place else None
        return before is not None and text[before.start : before.end] == said
    return last.get(_folded(said), here) != here or is_courtesy(said)


def _last_said(texts: Sequence[str], units: Sequence[Sequence[Unit]]) -> dict[str, tuple[int, int]]:
    """Where each sentence that is long enough was said for the last time."""
    last: dict[str, tuple[int, int]] = {}
    for number, (text, found) in enumerate(zip(texts, units, strict=True)):
        for place, unit in enumerate(found):
            if unit.manner is Manner.PROSE:
                folded = _folded(text[unit.start : unit.end])
                if folded.count(" ") + 1 >= REPEAT_WORDS_MIN or len(folded) >= 60:
                    last[folded] = number, place
    return last


def _folded(sentence: str) -> str:
    """Case may tell names apart, and so it stays."""
    return " ".join(sentence.split())


def _stretches(text: str, unit: Unit) -> tuple[tuple[int, int], ...]:
    said = text[unit.start : unit.end]
    if unit.manner is Manner.CODE or denies(said):
        return ((unit.start, unit.end),)
    stretches: list[tuple[int, int]] = []
    start = 0
    for filler in _FILLER.finditer(said):
        if filler.start() < start or _DEGREE.search(said, 0, filler.start()):
            continue
        if filler.start() > start:
            stretches.append((unit.start + start, unit.start + filler.start()))
        start = filler.end()
    if start < len(said):
        stretches.append((unit.start + start, unit.end))
    return tuple(stretches)
