"""English forms that no rule leads back to their word, so that `bought` finds `buy`.

The usual irregular verbs and plurals, and what everybody calls the nearest relatives. Left out are
forms that are as often another word (`rose`, `led`, `lay`, `ground`, `bore`, `wound`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

_FORMS: Final = """
    become: became
    begin: began begun
    bite: bit bitten
    blow: blew blown
    break: broke broken
    bring: brought
    build: built
    buy: bought
    catch: caught
    choose: chose chosen
    come: came
    deal: dealt
    dig: dug
    draw: drew drawn
    drink: drank drunk
    drive: drove driven
    eat: ate eaten
    fall: fell fallen
    feed: fed
    feel: felt
    fight: fought
    find: found
    fly: flew flown
    forget: forgot forgotten
    forgive: forgave forgiven
    freeze: froze frozen
    get: got gotten
    give: gave given
    go: went gone
    grow: grew grown
    hang: hung
    hear: heard
    hide: hid hidden
    hold: held
    keep: kept
    know: knew known
    leave: left
    lend: lent
    lose: lost
    make: made
    mean: meant
    meet: met
    pay: paid
    ride: rode ridden
    ring: rang rung
    rise: risen
    run: ran
    say: said
    see: saw seen
    seek: sought
    sell: sold
    send: sent
    shake: shook shaken
    shine: shone
    shoot: shot
    show: shown
    sing: sang sung
    sink: sank sunk
    sit: sat
    sleep: slept
    speak: spoke spoken
    spend: spent
    stand: stood
    steal: stole stolen
    stick: stuck
    strike: struck
    swear: swore sworn
    sweep: swept
    swim: swam swum
    take: took taken
    teach: taught
    tear: tore torn
    tell: told
    think: thought
    throw: threw thrown
    understand: understood
    wake: woke woken
    wear: wore worn
    win: won
    write: wrote written
    child: children kid kids
    father: dad daddy papa
    foot: feet
    goose: geese
    grandfather: grandpa
    grandmother: grandma granny
    knife: knives
    man: men
    mother: mom mommy mum mama
    mouse: mice
    person: people
    photograph: photo photos
    picture: pic pics
    tooth: teeth
    wife: wives
    wolf: wolves
    woman: women
"""


def led_back(stem: Callable[[str], str]) -> dict[str, str]:
    """The stem of each form to the stem of its word."""
    back: dict[str, str] = {}
    for line in _FORMS.split("\n"):
        word, _, forms = line.partition(":")
        for form in forms.split():
            back[stem(form)] = stem(word.strip())
    return back
