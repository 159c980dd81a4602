"""Words that tell little: what nearly every conversation has, whatever it is about.

They stand in for the background frequencies that one session cannot give. English only: where
another language is spoken nothing is lost, and how often words stand in the text decides alone.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from pagefault.language.analyzer import analyze, query_terms

FUNCTION: Final = frozenset(
    """
    a about above across after again against ago ain all almost along already also although
    always am among an and another any anyone anything anyway are aren around as at away back be
    because been before behind being below besides between both but by can cannot could couldn d
    did didn do does doesn doing don done down during each either else enough even ever every
    everyone everything few for from further had hadn has hasn have haven having he her here
    hers herself him himself his how however i if im in indeed instead into is isn it its itself
    ive just least less let like ll m many may maybe me might mightn mine more most much must
    mustn my myself near neither never no nobody none nor not nothing now of off often on once
    one only onto or other others otherwise our ours ourselves out over own per perhaps quite
    rather re s same several shall she should shouldn since so some somebody someone something
    sometimes somewhere soon still such t than that the their theirs them themselves then there
    therefore these they this those though through throughout thus to together too toward
    towards under unless until up upon us ve very via was wasn we well were weren what whatever
    when whenever where whereas wherever whether which while who whoever whole whom whose why
    will with within without won would wouldn yes yet you your yours yourself yourselves
    """.split()
)
CHATTER: Final = frozenset(
    """
    absolutely actually agree agreed ah aha alright amazing anyway appreciate aw awesome aww
    basically beautiful bet bit brilliant bye care catch certainly chat cheer cheers congrats
    congratulations cool course curious dear decide decided definitely ditto doubt enjoy
    especially exactly excellent excited exciting fabulous fantastic feel feeling fine forward
    fun funny glad glorious go goes going gonna good goodbye gosh got gotcha gotta great guess
    guy guys haha happy hear heard hello hey hi hmm honest honestly hooray hope hopefully how
    huge hugs idea impressive incredible indeed inspiring interesting keep kind kinda know later
    let literally lol look looking looks lot lots lovely luck made make makes making man matter
    mean mind morning neat need new nice nope obviously oh ok okay omg ooh oops opinion ouch
    people perfect please pleased pleasure pretty probably proud put question really remember
    right said say saying see seem seems share sharing simply sir sorry sort sound sounds
    special stay stuff super support sure surely sweet take talk tell terrific thank thanks
    thing things think thinking thought time totally tough truly try trying tune ugh understand
    update use used uses using usually wait wanna want watch way welcome well whoa wish wishes
    wonder wonderful word world worries worry worth wow ya yay yeah yep yo yup
    """.split()
)


@lru_cache(maxsize=1)
def common_terms() -> frozenset[str]:
    return frozenset(term for word in FUNCTION | CHATTER for term in analyze(word))


def telling_terms(text: str) -> list[str]:
    """The terms of a text that say what it is about, each once, in its order."""
    common = common_terms()
    return [term for term in query_terms(text) if term not in common]
