"""Words of which one more or less turns what a text says: negations, and words with an opposite.

English for the most part; negations also of other languages in Latin letters. Words of number and
time are among them, as nine o'clock is the opposite of ten.
"""

from __future__ import annotations

from typing import Final

OPPOSITES: Final = frozenset(
    """
    no not nor neither never none nobody nothing nowhere cannot cant dont doesnt didnt wont wouldnt
    isnt arent wasnt werent shouldnt couldnt havent hasnt hadnt mustnt without hardly barely except
    unless instead
    nicht nichts kein keine keinen keinem keiner nie niemals niemand ohne ne pas jamais rien sans
    aucun aucune ningun ninguno ninguna nunca jamas sin nada nadie nao sem nenhum nenhuma non mai
    senza nessuno nessuna niente niet niets geen nooit niemand zonder inte ingen aldrig utan ikke
    ingenting nic nikt nigdy bez ei
    yes yeah true false on off in out up down left right before after above below over under more
    less most least first last only all any some every each both either always sometimes often
    rarely seldom usually until since if
    can could may might must should shall will would need
    i me my mine you your yours he him his she her hers we us our ours they them their theirs
    zero one two three four five six seven eight nine ten eleven twelve twenty thirty forty fifty
    sixty seventy eighty ninety hundred thousand million billion dozen half quarter once twice
    second third
    yesterday today tonight tomorrow ago next now then later soon already still week weekend day
    month year hour minute morning noon afternoon evening night midnight monday tuesday wednesday
    thursday friday saturday sunday january february march april june july august september october
    november december spring summer autumn winter north south east west
    add remove insert delete create destroy enable disable allow deny forbid accept reject refuse
    approve decline grant revoke confirm cancel open close start stop begin end finish pass fail
    succeed success failure error warning ok okay win lose buy sell lend borrow give take send
    receive push pull increase decrease rise fall raise lower gain loss grow shrink high low hot
    cold warm cool big small large little long short tall wide narrow old new young early late
    fast slow good bad best worst better worse right wrong correct incorrect valid invalid same
    different equal like dislike love hate want agree disagree keep drop include exclude active
    inactive available unavailable online offline running stopped connected disconnected public
    private internal external production staging development prod dev test live local remote
    man woman boy girl husband wife brother sister father mother son daughter
    black white
    """.split()
)

TELLING_NOTHING: Final = frozenset(
    """
    a an the this that these those there here it its is are was were be been being am has have had
    do does did and or but so as at by for from of to with about into than too very just also
    however what when where which who whom whose why how let please thanks thank hello hi hey dear
    again sorry well
    """.split()
)
"""Words that are no name though a capital begins them: they stand where a sentence begins."""
