"""English: how sentences begin that decide, rule, prefer, tell and take back. Data for `extract.py`.

Frozen: a few openings that rarely mean anything else, matched at the beginning of a sentence only,
so that nothing can stand before them that turns them round. They were written down without looking
at any labelled sentences; `docs/truth.md` has what they score on other people's. Whoever adds one
adds its figures there. Patterns match text without capitals, with straight apostrophes.
"""

from __future__ import annotations

import re
from typing import Final

from pagefault.model.kinds import ClaimType


def _re(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.VERBOSE)


_LEADS: Final = r"""(?:(?:
    ok|okay|so|well|alright|all\ right|right|great|good|cool|perfect|thanks|thank\ you|yes|yeah|yep
    |yup|sure|no|nope|and|also|then|now|finally|please|hey|hi|hello|team|all|folks|everyone|guys
    |actually|note|fyi|btw|by\ the\ way|ps|update|remember|reminder|important|for\ the\ record
    |one\ more\ thing|just\ so\ you\ know|to\ be\ clear|agreed|done|and\ then
    )\b(?:\s*[,:!–—-]+)?\s+)*"""
"""What may stand before an opening: courtesy and connection."""
_TOPIC: Final = (
    r"(?:(?:for|as\ for|regarding|on)\ (?P<topic>(?:the|our|my|all|every)\ [^\s,:;]+(?:\ [^\s,:;]+){0,3}?)"
    r",?\ (?=let's\ |lets\ |let\ us\ |we\ |we'll\ |we're\ |we've\ |i\ |i'll\ |i'm\ |i've\ ))?"
)
_ADVERBS: Final = r"(?:(?:just|finally|already|now|all|both|also|then|officially|definitely|unanimously|jointly)\ ){0,2}"
_VERB: Final = r"(?:use|go\ with|stick\ with|stay\ with|settle\ on|standardi[sz]e\ on|adopt|opt\ for|keep\ using)\b"
_DAY: Final = (
    "(?:mon|tues|wednes|thurs|fri|satur|sun)days?|january|february|march|april|may|june|july|august|september"
    "|october|november|december"
)
_NOT_VERB: Final = r"""(?!(?:
    a|an|the|been|being|had|has|have|was|were|is|are|happy|glad|good|great|nice|fun|mind|heard|seen|knew|known
    |thought|said|again|more|less|better|worse|too|so|this|that|these|those|such|my|your|his|her|our|their
    |in|on|at|as|if|when|really|quite|felt|got|went|came|did|does|took|found|made|met|ready|there|here|sure
    |welcome|interesting|worth|enough|before|since|because|but|and|or|any|some|one|i|you|he|she|it|we|they
    |say\ never|cared|late|early|busy|tired|right|wrong|something|nothing|someone|a\ dull|\w+ed|\w+ing
    )\b)"""
"""After "always" or "never" at the beginning of a sentence: then it tells, and does not ask."""

OPENINGS: Final[tuple[tuple[ClaimType, re.Pattern[str]], ...]] = (
    (
        ClaimType.DECISION,
        _re(
            rf"""{_LEADS}{_TOPIC}(?:
            (?:(?:we|i)(?:'ve|\ have)?|(?:the|our)\ team(?:\ has|'s)?)\ {_ADVERBS}(?:
                (?:decided|agreed|voted|opted|settled|committed|standardi[sz]ed)\ (?:to|on|for|upon|against|that|not\ to)\b
                |(?:chose|chosen|picked|selected|adopted|went\ with|gone\ with)\b(?!\ (?:up|on)\b)
                |decided\b)
            |(?:let's|lets|let\ us)\ {_ADVERBS}(?:not\ {_VERB}|{_VERB}|(?:switch|migrate)\ (?:over\ )?(?:from|to)\b|replace\b|never\b)
            |(?:we're|we\ are|i'm|i\ am)\ {_ADVERBS}(?:
                (?:going|sticking|staying)\ with|(?:switching|migrating)\ (?:over\ )?(?:from|to)|standardi[sz]ing\ on
                |settling\ on|adopting|dropping|replacing|(?:no\ longer|not)\ using)\b
            |(?:we'll|we\ will|i'll|i\ will|we\ won't|we\ will\ not)\ {_ADVERBS}{_VERB}
            |we\ (?:now\ |no\ longer\ |don't\ |do\ not\ )?use\b
            |(?:our|my|the)\ (?:final\ )?(?:decision|choice)\ (?:[^\s,:;]+\ ){{0,5}}?is\ (?:to\ |not\ to\ )?
            |(?:decision|decided|final\ decision|final\ answer)\s*:
            )"""
        ),
    ),
    (
        ClaimType.RULE,
        _re(
            rf"""{_LEADS}(?:
            (?:always|never|never\ ever)\ {_NOT_VERB}(?=\w)
            |(?:do\ not|don't)\ ever\ (?=\w)
            |under\ no\ circumstances\b
            |(?:from\ now\ on|going\ forward|from\ here\ on|henceforth|from\ this\ point\ on)\b,?
            |you\ (?:must|should|shall|are\ to)\ (?:always|never)\ (?=\w)
            |(?:i\ (?:want|need|expect)|i'd\ like|i\ would\ like)\ you\ to\ (?:always|never)\ (?=\w)
            |(?:make\ sure|be\ sure|remember)\ (?:that\ |to\ |you\ )*(?:always|never)\ {_NOT_VERB}(?=\w)
            |(?!he\b|she\b|it\b|they\b|this\b|that\b|there\b|who\b|what\b)
                (?:[^\s,:;]+\ ){{1,6}}must\ (?:always|never)\ (?!have\b)(?=\w)
            |(?:every|each|no|all|any)\ (?:[^\s,:;]+\ ){{1,5}}must\ (?!be\ (?:a|an|the)\b|have\b)(?=\w)
            |(?:do\ not|don't)\ [^,:;]+\ without\ (?:asking|my|telling|checking)\b
            |(?:answer|reply|respond|write|speak|talk|use|keep|format|address|add|include|sign|show|ask)
                \ .*\b(?:from\ now\ on|going\ forward|every\ time|at\ all\ times|in\ future)$
            )"""
        ),
    ),
    (
        ClaimType.PREFERENCE,
        _re(
            rf"""{_LEADS}(?:
            (?:i|we)\ (?:(?:much|really|strongly|generally|usually|also|still|personally)\ )?prefer\b
                \ (?!the\ (?:first|second|third|last|latter|former|other)\b)
            |personally,?\ i\ (?:much\ |really\ )?prefer\b
            |(?:i'd|i\ would)\ (?:much\ )?(?:prefer|rather\ have)\b
            |my\ (?:personal\ )?(?:preference|favou?rite\ (?P<kind>[^\s,:;]+(?:\ [^\s,:;]+){{0,2}}?))\ (?:is|are)
            |i\ (?:can't\ stand|cannot\ stand|dislike)\b
            )"""
        ),
    ),
    (
        ClaimType.FACT,
        _re(
            rf"""{_LEADS}(?:
            my\ name(?:\ is|'s)\b
            |my\ pronouns\ are\b
            |(?:you\ can|please|just)\ call\ me\b
            |i\ (?:live\ (?:in|at|near)|(?:have\ |just\ )?moved\ to|was\ born\ (?:in|on)
                |work\ (?:at|for|as)|study\ at)\b
            |(?:i'm|i\ am)\ (?:allergic\ to\b|based\ in\b|(?:a\ )?(?:vegetarian|vegan|pescatarian|diabetic|coeliac|celiac)\b
                |lactose\ intolerant\b|colou?r[\ -]?blind\b)
            |(?:my|our)\ (?P<what>[^\s,:;]+(?:\ [^\s,:;]+){{0,3}}?)\ (?:is|are)\ (?:now\ |at\ |on\ |by\ |from\ )?(?:the\ )?(?=[$€£¥@#]?\d|(?:{_DAY})\b)
            |(?:my|our)\ (?P<named>[^\s,:;]+(?:\ [^\s,:;]+){{0,2}}?(?:'s\ name\ is|\ (?:is|are)\ (?:called|named)))\b
            |(?:the|my|our)\ (?P<moved>[^\s,:;]+(?:\ [^\s,:;]+){{0,3}}?)\ (?:has|have|was|were|is|are)\ (?:now\ )?
                (?:been\ )?(?:moved|changed|raised|lowered|pushed|postponed|increased|reduced|extended)\ (?:back\ |up\ |forward\ )?to\b
            )"""
        ),
    ),
)

SUBJECTS: Final = (  # of facts, by how they begin
    (_re(rf"{_LEADS}(?:my\ name|(?:you\ can|please|just)\ call\ me)"), "name"),
    (_re(rf"{_LEADS}i\ (?:live|(?:have\ |just\ )?moved\ to)\b"), "home"),
    (_re(rf"{_LEADS}i\ work\ (?:at|for)\b"), "employer"),
)
"""A fact that one person has one of."""

_TAKE_BACK: Final = (
    r"(?:forget|scrap|scratch|cancel|ignore|disregard|withdraw|revoke|drop|never\ mind)"
)
TAKES_BACK: Final = _re(
    rf"""{_LEADS}{_TAKE_BACK}\ (?:about\ )?(?:
    (?P<said>(?:what\ (?:i|we)\ (?:said|decided|agreed)|(?:the|my|our)\ (?:decision|choice|rule|preference|agreement))
        \ (?:about|on|for|to\ use|that))\ )?
    (?:using\ |to\ use\ )?(?P<name>[^\s,:;]+(?:\ [^\s,:;]+){{0,4}}?)
    (?:\ for\ (?:the|our|my)\ (?P<subject>[^\s,:;]+(?:\ [^\s,:;]+){{0,3}}?))?
    (?:,?\ (?:please|after\ all|entirely|altogether|now|then))*"""
)
"""A sentence that takes something back by naming it, whole."""

_NAME: Final = r"[^\s,:;]+(?:\ (?!for\b|as\b|instead\b|rather\b)[^\s,:;]+){0,4}?"
_OF: Final = (
    r"(?:\ (?:for|as)\ (?:the|our|my|all|every)\ (?P<subject>[^\s,:;]+(?:\ [^\s,:;]+){0,3}?))?"
)
_CLOSE: Final = r"(?:,?\ (?:please|then|now|after\ all|instead|from\ now\ on|thanks|any\ ?more|any\ longer|today))*"
_HEAD: Final = (
    rf"{_LEADS}{_TOPIC}(?:(?:let's|lets|let\ us|we'll|we\ will|i'll|i\ will|we|i|we're|we\ are|i'm|i\ am|we've|i've|we\ have|i\ have)\ )"
    rf"{_ADVERBS}"
)
_TAKE: Final = (
    rf"(?:(?:(?:decided|agreed|voted|opted)\ to\ )?{_VERB}|chose|chosen|picked|selected|adopted|went\ with|decided\ on|agreed\ on|settled\ on"
    r"|decided\ to\ use|(?:going|sticking|staying)\ with|standardi[sz]ing\ on|settling\ on|adopting|opted\ for|now\ use)"
)
CHOICES: Final = (
    _re(
        rf"{_HEAD}{_TAKE}\ (?P<value>{_NAME}){_OF}\ (?:now\ )?(?:instead\ of|rather\ than)\ (?P<old>{_NAME}){_CLOSE}"
    ),
    _re(
        rf"{_HEAD}{_TAKE}\ (?P<value>{_NAME})(?:\ (?:instead\ of|rather\ than)\ (?P<old>{_NAME}))?{_OF}{_CLOSE}"
    ),
    _re(
        rf"{_HEAD}(?:switch|switching)\ (?:over\ )?from\ (?P<old>{_NAME})\ to\ (?P<value>{_NAME}){_OF}{_CLOSE}"
    ),
    _re(
        rf"{_HEAD}(?:replace|replacing)\ (?P<old>{_NAME})\ (?:with|by)\ (?P<value>{_NAME}){_OF}{_CLOSE}"
    ),
    _re(
        r"(?:(?:i(?:'d|\ would)?\ (?:recommend|suggest|propose)|how\ about)(?:\ using|\ going\ with)?"
        r"|(?:shall|should)\ (?:we|i)\ (?:use|go\ with))\ "
        rf"(?!not\b)(?P<value>{_NAME}){_OF}"
    ),
    _re(
        rf"{_HEAD}(?:not\ {_VERB}|decided\ (?:against|not\ to\ use)|dropping|no\ longer\ us(?:e|ing)|not\ using|don't\ use|do\ not\ use)\ (?P<old>{_NAME}){_OF}{_CLOSE}"
    ),
)
"""Sentences that are understood whole: what is chosen, what it is for, what it takes the place of.
They say which claims are about the same thing, and nothing about what a claim says."""

ASSENT: Final = _re(
    r"""(?:(?:yes|yeah|yep|yup|ok|okay|sure|agreed|deal|approved|perfect|great|good|sounds\ good|sounds\ great
    |works\ for\ me|that\ works|go\ ahead|do\ it|do\ that|let's\ do\ (?:that|it)|let's\ go\ with\ (?:that|it)|i\ agree
    |please|please\ do|yes\ please|sold|good\ call|good\ idea|fine|fine\ by\ me|lgtm|confirmed|absolutely|definitely)
    [\s,.!]*)+"""
)
"""A turn that says yes, and nothing else."""
PROPOSAL: Final = _re(
    r"""(?:i(?:'d|\ would)?\ (?:recommend|suggest|propose)|my\ (?:recommendation|suggestion|proposal)\ (?:[^\s,:;]+\ ){0,5}?(?:is|would\ be)
    |let's\ (?:use|go\ with)|(?:shall|should)\ (?:we|i)\ (?:use|go\ with)|how\ about)\b"""
)
"""How a turn begins that proposes one thing."""

STARTS: Final = _re(
    r"(?:\A|[\n.!?)\]。！？])\s*(?:"
    + "|".join([*(opening.pattern for _, opening in OPENINGS), rf"{_LEADS}{_TAKE_BACK}\b"])
    + ")"
)
"""A message in which a sentence may begin so; where this finds nothing, none does."""

# --- what tells against a claim -------------------------------------------------------------------

OTHER_VOICES: Final = re.compile(
    r"\b(?:(?<!\bi )(?<!\bwe )said|says|told|tells|wrote|writes|according to|quot(?:e|es|ed|ing)|claim(?:s|ed)|announced|replied|posted"
    r"|tweeted|commented|states|stated|reads|forwarded|pasted|translat\w*|proofread\w*|re-?write|rephrase|paraphrase"
    r"|summari[sz]e|grammar|transcript|excerpt|lyrics|poem|novel|movie|dialogue|essay|screenplay|fiction\w*|imagine"
    r"|pretend|role-?play|hypothetical\w*|suppose|supposing|in theory|the following|(?:text|code|message|log|mail) below"
    r"|(?<!never )(?<!always )(?<!\bi )(?<!\bwe )(?<!\bto )(?<!not )(?<!n't )say|haha\w*|lol|lmao|jk|kidding|jok(?:e|es|ing)|sarcas\w*|yeah right)\b"
    r"|(?<!\S)/s(?!\S)|[😂🤣😜🤪🙃😏😉]"
)
"""Of a message: it has somebody else in it, or something that is not meant."""
UNSURE: Final = re.compile(
    r"\b(?:maybe|perhaps|possibly|probably|might|could|supposedly|allegedly|apparently|hopefully|guess|wonder\w*|unsure"
    r"|not sure|yet|almost|nearly|used to|ago|back then|back in|last (?:year|month|week|time|job|night)|previously|years? old"
    r"|either|which|whether|what if|or something|or so|not (?:really|exactly)|who knows|whatever|hell|damn|once)\b"
)
"""Of a sentence: it does not say that something holds now."""
UNSETTLED: Final = re.compile(r"\bor\b")
"""Of a decision: it leaves a choice."""
MOMENTARY: Final = re.compile(
    r"\b(?:this (?:time|one|once)|just once|today|tonight|right now|for now|for once|here)\b"
)
"""Of a rule: it is not one."""
POINTS: Final = re.compile(
    r"\W*(?:(?:to|not|that)\s+)*(?:\w+\s+(?:with\s+|on\s+|for\s+|to\s+)?)?"
    r"(?:it|that|this|them|these|those|you|him|her|both|one|either|option|your|what|whatever|something|anything"
    r"|(?:the|my|a|our)\s+(?:first|second|third|last|latter|former|other|same|one|next|opposite|friend|sister|brother"
    r"|family|husband|wife|flow|disagree))\b"
)
"""What follows an opening: it stands elsewhere, or is no thing that one decides about."""
NO_SUBJECT: Final = frozenset(
    "moment time day days week weeks month year sake future start beginning end weekend record rest thing things stuff purpose"
    " reason win first next last question point guess problem issue concern worry idea thought take view opinion answer goal"
    " plan meantime while bit one code example demo".split()
)
"""No subject that one could decide about, or tell a number of, where nothing else is said of it."""
JOINS: Final = frozenset(
    "if unless until when because since but not never only except instead rather than before after without and or so".split()
)
"""A subject with one of these goes on beyond itself."""
REVERSES: Final = re.compile(
    r"\W*(?:but|except|unless|only|or|not|no|nah|nope|if|though|although|however|until|provided|wait|just\s+(?:kidding|not|for)"
    r"|scratch|scrap|forget|never\s?mind|actually|hm+|said|that's\s+(?:what|how|not|wrong)|well|psych|on\s+second\s+thought"
    r"|i\s+(?:mean|take|don't|didn't|changed|wish)|undo|cancel|correction|without|hold\s+on|sorry|oops|or\s+not|as\s+if)\b"
)
"""How a sentence begins that takes back the one before, or holds its condition."""
COURTESY: Final = _re(rf"{_LEADS}\W*")
"""A whole sentence, with a space behind it, that only leads to another."""
DENIES: Final = re.compile(
    r"\b(?:not|no|none|nothing|never|nobody|neither|nor|cannot|dont|doesnt|wont|without|avoid|refuse|refrain|reject|stop|ignore|disregard"
    r"|hardly|scarcely|barely|except|unless|instead|rather than|anything but|wrong|false|untrue|incorrect|opposite|contrary|lies?"
    r"|myth|mistake|forbidden|prohibited|banned|nonsense|bad|terrible|outdated|obsolete|deprecated"
    r"|nicht|kein\w*|nie|niemals|pas|jamais|aucun\w*|nunca|jamás|ningun\w*|ningún|não|nao|non|mai|niet|geen|nooit"
    r"|не|нет|никогда|нельзя|değil|asla|hiç|नहीं|मत|لا|ليس)\b|n't\b|不|别|別|勿|没|沒|ない|ません"
)
"""Of what stands beside a sentence, in the commonest languages: English is written among them."""
ASIDE: Final = re.compile(
    r"\b(?:this|that|these|those|it|so|such|next|above|below|what|here|how|which|them|mean|meant|serious|true"
    r"|any of|(?:thing|rule|statement|sentence|claim|practice|habit)s?)\b"
)
"""With `DENIES`: a sentence that denies its neighbour."""
AHEAD: Final = re.compile(
    r"\b(?:ignore|disregard|these|those|following|next|below|such|what comes|nothing (?:i|of)|(?:thing|rule|statement|sentence|claim|practice|habit)s)\b"
)
"""With `DENIES`: a sentence that denies all that comes after it."""
SHORT_WORDS: Final = 4
"""A sentence that denies, is no longer than this and makes no claim, denies its neighbour."""
WITHDRAWN: Final = re.compile(
    r"\b(?:(?:scratch|scrap|forget|undo|ignore|strike|cancel) (?:that|it|this|all that)|just kidding|actually,? no|no,? wait|on second thoughts?"
    r"|changed? (?:my|our) minds?|take (?:that|it) back|never\s?mind|psych)\b"
)
"""Of any later sentence of a message: what was said before it no longer holds."""
ASKS_BACK: Final = re.compile(
    r"\b(?:think|thoughts?|sound|sounds|agree|agreed|ok|okay|right|objections?|idea|sense|opinion|correct|fine|or not)\b"
)
"""Of a question: what was said before it is put to whoever is asked."""
