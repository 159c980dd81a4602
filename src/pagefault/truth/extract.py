"""Claims out of what was said, without a model: few, and right.

A claim's value is a sentence of the user's, whole and word for word. It is made of a sentence that
begins as decisions, rules, preferences and facts begin (`english.py`), stands in the user's own
voice (`voice.py`), and is not taken back, doubted or denied by what stands beside it. Whatever
forbids, limits or conditions inside the sentence is therefore in the value; whatever does so
outside leaves no claim. What is missed is still found by search; what is made wrong misleads.

What this gets wrong: irony, a message of somebody else's pasted without any mark of it, and what
holds only for the moment and does not say so.

ENSURES of every claim: the first span of its evidence is the sentence that `value` is, in bytes of
the stored text, or the words that agree to it; the value has the sentence's every word.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from pagefault.model.kinds import MODEL_GENERATED, USER_APPROVED, USERS, ClaimType, Origin, Role
from pagefault.model.page import Evidence
from pagefault.truth import english
from pagefault.truth.claim import Authority, Claim, Turn, wording
from pagefault.truth.parts import Parts, folded, kind_of, parts_of
from pagefault.truth.voice import FOREIGN, Sentence, sentences

CLAIMS_MAX: Final = 8
"""Of one turn; a turn with more is a document."""
_WORDS_MIN: Final = 3
_TAG_WORDS: Final = 3  # of a question: "Right?", "Is that ok?"
_CONFIDENCE: Final = 0.9


def extract(turn: Turn, before: Sequence[Turn] = ()) -> list[Claim]:
    """The claims that `turn` makes. `before` are the turns right before it, the newest last.

    Pure. A turn in which nothing begins as claims do costs some microseconds.
    """
    if turn.role is not Role.USER:
        return []
    plain = folded(turn.text)
    if english.ASSENT.fullmatch(plain.strip()):
        return _agreed(turn, before)
    if not english.STARTS.search(plain):
        return []
    said = sentences(turn.text)
    made = [_of_sentence(turn, said, at) for at in range(len(said))]
    claims = list(dict.fromkeys(claim for claim in made if claim is not None))
    if len(claims) > CLAIMS_MAX or (claims and english.OTHER_VOICES.search(plain)):
        return []
    return claims


def _of_sentence(turn: Turn, said: Sequence[Sentence], at: int) -> Claim | None:
    sentence = said[at]
    if not sentence.own or sentence.asks:
        return None
    plain = _bare(sentence.plain)
    kind, rest = kind_of(plain)
    if kind is None or not _is_meant(kind, plain, rest) or is_turned(said, at):
        return None
    parts = parts_of(plain)
    authority = Authority.USER if turn.origin in USERS else Authority.PROPOSED
    return _claim(turn, sentence, kind, parts, authority=authority, origin=turn.origin)


def _claim(
    turn: Turn,
    sentence: Sentence,
    kind: ClaimType,
    parts: Parts,
    *,
    authority: Authority,
    origin: Origin,
    assent: tuple[Evidence, ...] = (),
) -> Claim:
    value = sentence.text if sentence.asks else sentence.text.rstrip(" .!。！")

    def written(place: tuple[int, int]) -> str:
        return sentence.text[slice(*place)]

    return Claim(
        type=kind,
        subject=parts.fixed or written(parts.subject),
        value=value,
        text=wording(kind, value, agreed=bool(assent)),
        evidence=(*assent, _span(turn, sentence.start, value)),
        authority=authority,
        origin=origin,
        confidence=_CONFIDENCE,
        instead_of=written(parts.old),
        about=written(parts.about),
    )


def _bare(plain: str) -> str:
    return folded(plain).rstrip(" .!?。！？")


def _span(turn: Turn, start: int, text: str) -> Evidence:
    first = len(turn.text[:start].encode())
    return Evidence(page_id=turn.page_id, start=first, end=first + len(text.encode()))


# --- whether a sentence is meant ------------------------------------------------------------------


def _is_meant(kind: ClaimType, plain: str, rest: str) -> bool:
    """Whether a sentence says by itself, for certain, something that holds from now on."""
    if english.UNSURE.search(plain):
        return False
    if kind is ClaimType.RETRACTION:
        return True
    if len(plain.split()) < _WORDS_MIN:
        return False
    if english.POINTS.match(rest):
        return False
    if kind is ClaimType.RULE:
        return not english.MOMENTARY.search(plain)
    return kind is not ClaimType.DECISION or not english.UNSETTLED.search(plain)


def is_turned(said: Sequence[Sentence], at: int) -> bool:
    """Whether what stands beside a sentence takes it back, denies it, or asks about it; or may,
    since one of the two has no end.
    """
    sentence, before, after = said[at], said[:at], said[at + 1 :]
    if before and (_denies(folded(before[-1].plain)) or not _is_ended(before[-1])):
        return True
    for one in (folded(one.plain) for one in before):
        if english.AHEAD.search(one) and english.DENIES.search(one):
            return True
    if not after:
        return False
    following = folded(after[0].plain)
    if not sentence.ended and not (after[0].own and _is_courtesy(following)):
        return True
    if after[0].asks and (
        len(following.split()) <= _TAG_WORDS or english.ASKS_BACK.search(following)
    ):
        return True
    if english.REVERSES.match(following) or _denies(following):
        return True
    return any(english.WITHDRAWN.search(folded(one.plain)) for one in after)


def _is_ended(sentence: Sentence) -> bool:
    """Whether what follows a sentence does not go on with it."""
    return sentence.ended or FOREIGN in sentence.plain or _is_courtesy(folded(sentence.plain))


def _is_courtesy(plain: str) -> bool:
    return english.COURTESY.fullmatch(f"{plain} ") is not None


def _denies(plain: str) -> bool:
    """Whether a sentence denies the one beside it: "Don't do any of these." "It's not true." """
    if not english.DENIES.search(plain):
        return False
    if english.ASIDE.search(plain):
        return True
    return len(plain.split()) <= english.SHORT_WORDS and kind_of(_bare(plain))[0] is None


# --- agreeing -------------------------------------------------------------------------------------


def _agreed(turn: Turn, before: Sequence[Turn]) -> list[Claim]:
    """What a mere "yes" agrees to: a turn right before it that proposes one thing in one sentence.

    With a second sentence in that turn nobody can tell which of them was agreed to.
    """
    shown = before[-1] if before else None
    if shown is None or shown.role is not Role.ASSISTANT:
        return []
    said = sentences(shown.text)
    if len(said) != 1 or not said[0].own:
        return []
    plain = _bare(said[0].plain)
    opening = english.PROPOSAL.match(plain)
    if opening is None or english.OTHER_VOICES.search(plain) or english.UNSURE.search(plain):
        return []
    if english.POINTS.match(plain, opening.end()) or english.UNSETTLED.search(plain):
        return []
    authority, origin = Authority.PROPOSED, shown.origin
    if turn.origin not in USERS:
        origin = turn.origin
    elif shown.origin == MODEL_GENERATED:
        authority, origin = Authority.USER, USER_APPROVED
    assent = _span(turn, 0, turn.text.rstrip())
    claim = _claim(
        shown,
        said[0],
        ClaimType.DECISION,
        parts_of(plain),
        authority=authority,
        origin=origin,
        assent=(assent,),
    )
    return [claim]
