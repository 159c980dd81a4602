"""English: how people decide, agree, prefer, tell and take back. Data for `extract.py`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from pagefault.model.kinds import ClaimType
from pagefault.truth.language import Language, Needs, Rule, Words

_DECISION, _PREFERENCE = ClaimType.DECISION, ClaimType.PREFERENCE
_FACT, _RETRACTION = ClaimType.FACT, ClaimType.RETRACTION
_STANDING = ClaimType.RULE


def _any(*words: str) -> str:
    return "(?:" + "|".join(words) + ")"


def _re(pattern: str) -> Words:
    return Words(pattern)


def _rule(
    name: str,
    kind: ClaimType,
    pattern: str,
    confidence: float,
    needs: Needs = Needs.NOTHING,
    subject: str = "",
    negative: bool = False,
    changes: bool = False,
    returns: bool = False,
) -> Rule:
    cues = tuple(frozenset(some.split()) for some in _CUES.get(name, "").split("/") if some.strip())
    return Rule(
        name, kind, _re(pattern), confidence, needs, subject, negative, changes, returns, cues
    )


# --- cues: a rule is tried only on a sentence that has a word of each of its sets ----------------

_TAKE_CUES: Final = (
    "use go pick choose select adopt stick settle run roll opt standardise standardize commit lock "
    "proceed move rely bet employ utilise utilize finalise finalize build vote back keep nail sign "
    "bring land plump stay continue end decide approve agree start take"
)
_CUES: Final = {
    "moved-to": "moved changed shifted pushed postponed extended raised lowered increased reduced rescheduled brought / to",
    "back-to": "back / to",
    "instead-of": "instead",
    "mine-is": "my our 's",
    "replace": "replace replacing swap swapping ditch ditching drop dropping trade trading",
    "from-to": (
        "switch move migrate change go shift swap transition port switching moving migrating "
        "changing shifting swapping switched moved changed migrated / from / to"
    ),
    "move-to": (
        "switch migrate change move switching moving migrating changing shifting swapping switched "
        "moved migrated / to"
    ),
    "change-of-plan": "change plan plans update correction decision",
    "changed-to": (
        "no mind minds thought thoughts heart plan plans changed that it this back forget ignore "
        "nevermind reconsidered correction reflection consideration scratch scrap cancel drop strike "
        "disregard undo nix what never wait"
    ),
    "after-all": "all instead",
    "make-that": "all instead",
    "make-it": "make",
    "no-more": "all",
    "written-in": (
        "let's let lets lemme we we'll we're i i'll i'm i'd plan decision verdict consensus call "
        "conclusion resolution agreement outcome we've i've everyone everybody team group all outcome / write build implement code develop "
        "program author draft compose"
    ),
    "hosted-on": (
        "let's let lets lemme we we'll we're i i'll i'm i'd plan decision verdict consensus call "
        "conclusion resolution agreement outcome we've i've everyone everybody team group all outcome / host deploy run ship serve release "
        "publish put"
    ),
    "kept-in": (
        "let's let lets lemme we we'll we're i i'll i'm i'd plan decision verdict consensus call "
        "conclusion resolution agreement outcome we've i've everyone everybody team group all outcome / store keep save persist cache track "
        "manage handle monitor document test lint format log style"
    ),
    "set-to": "set cap limit fix raise lower increase bump reduce pin freeze / to at on",
    "named": "name call",
    "scheduled": (
        "let's let lets lemme we we'll we're i i'll i'm i'd plan decision verdict consensus call "
        "conclusion resolution agreement outcome we've i've everyone everybody team group all outcome / schedule hold plan meet launch release "
        "start run do"
    ),
    "make-it-our": "make have keep / our my",
    "will-be-our": "be becomes is as / our my",
    "it-is": "it / is it'll be",
    "wins": (
        "wins won takes gets got has chosen picked selected winner way pick choice decision "
        "selection answer what decided settled locked approved agreed confirmed final official one"
    ),
    "decided-label": (
        "decision decided settled resolved verdict official final adr record conclusion resolution "
        "ruling agreed"
    ),
    "choice-is": "winner winning decision choice pick selection verdict vote call answer option",
    "shall-be": "will shall going becomes has is gets / be become becomes",
    "corrected": "correction update change decision edit scratch actually / is",
    "for-settled": "for as / settled decided final agreed done official fixed locked decision instead",
    "announced": (
        "done write record note log noted remember put decided agreed settled changed made scratch "
        "thought thoughts plan then it's / for as"
    ),
    "for-it-is": "it's it it'll / for on as",
    "is-our-now": "is / our my / now then going",
    "subject-settled": "settled decided closed done sorted resolved fixed made / is are / the our my",
    "then-is": "good great ok okay alright right fine perfect so agreed done settled decided / is / our the my",
    "vote-goes": "vote say opt plump",
    "put-down": "enter file list save put mark note write jot pencil log record lock count register",
    "take": (
        "let's let lets lemme we we'll we're i i'll i'm i'd plan decision verdict consensus call "
        "conclusion resolution agreement outcome we've i've everyone everybody team group all outcome / use go pick choose select adopt stick "
        "settle run roll opt standardise standardize commit lock proceed move rely bet employ "
        "utilise utilize finalise finalize build vote back keep nail sign bring land plump stay "
        "continue end decide approve agree start take"
    ),
    "taking": (
        "we're we i'm i we'll i'll / committed using going picking choosing selecting adopting sticking settling running rolling opting "
        "standardising standardizing committing locking proceeding moving betting set sold settled "
        "decided agreed backing voting happy all in staying fine good"
    ),
    "took": (
        "decided settled agreed chose chosen picked selected opted landed went gone adopted "
        "finalised finalized committed locked voted ended converged approved signed standardised "
        "standardized zeroed nailed"
    ),
    "passively": "decided agreed settled official",
    "take-now": "pick choose take go select opt settle stick vote",
    "going": "going sticking settling proceeding moving rolling running",
    "do": (
        "let's let lets we'll i'll going decided agreed want need have like plan decision / do have "
        "keep make take say get call try set"
    ),
    "commanded": "go stick pick choose settle adopt make lock opt standardise standardize proceed select",
    "fits": "fits suits matches fit suit",
    "imperative": "go stick pick choose settle adopt make lock opt standardise standardize proceed take use",
    "prefer": "prefer favor favour",
    "rather": "rather sooner",
    "partial": "partial comfortable home fan fond",
    "is-favourite": "favorite favourite preferred go",
    "recommend": (
        "recommend suggest propose advise go pick choose opt vote use take reach favor favour "
        "settle stick say lean"
    ),
    "recommendation": "recommendation suggestion pick choice advice vote proposal option bet answer",
    "could": f"we you / {_TAKE_CUES}",
    "shall": "let's lets shall should how what why do would want ready ok okay are",
    "best": (
        "is are would seems looks sounds feels makes will works work should fits suits remains stands / "
        "sense strongest simplest easiest cleanest best good great right solid natural strong sensible safest safe better nicely well perfect "
        "ideal excellent obvious reasonable sane fine pragmatic clear"
    ),
    "so-it-is": "so ok okay right then confirm confirming short summing noted proposal recommendation suggestion dr",
    "bare": "for as",
    "favourite": "preferred favorite favourite go usual default all",
    "preference-is": "preference",
    "better": "like love / better more best most",
    "works-best": "works work suits suit fits fit / best better",
    "call-me": "call",
    "dislike": "hate dislike despise detest loathe stand like avoid",
    "habit": "always usually normally generally typically only mostly",
    "like-my": "my your all / like want need take have keep prefer",
    "standing": "always never on forward future default rule all",
    "answer-so": "answer reply respond speak talk write",
    "name": "name name's",
    "home": "live living moved",
    "employer": "work working employed",
    "location": "based located headquartered",
    "uses": "use run rely on deploy host",
    "called": "called named known nicknamed by",
    "the-is": "the / is are was will stands amounts comes equals has",
    "happens": (
        "start starts end ends launches begin begins happens takes run runs expire expires close "
        "closes open opens ship ships goes due scheduled lives listens cost costs weigh weighs hold "
        "holds take last lasts"
    ),
    "count": "we i we've i've",
    "allergic": "allergic vegetarian vegan color colour left lactose",
    "against": "decided voted opted / against not to",
    "do-not": "not longer never won't aren't stopped stop don't do can't",
    "undo-decision": (
        "undo cancel revoke withdraw take reverse drop scrap scratch reopen revisit forget throw nix "
        "void"
    ),
    "decision-off": (
        "decision choice plan / off void canceled cancelled withdrawn reversed reopened open longer "
        "undone revoked dead scrapped dropped"
    ),
    "off-table": "off out longer ruled dead",
    "changed-mind": "mind minds",
    "drop": (
        "drop dropping ditch ditching scrap scrapping cancel cancelling canceling abandon abandoning forget get getting rule "
        "ruling move moving retire retiring back skip"
    ),
    "scratch": "scratch forget undo cancel drop revert ignore strike disregard nix scrap reverse retract",
    "never-mind": "mind nevermind take changed thought thoughts soon",
}

# --- words ----------------------------------------------------------------------------------------

_ADVERB = _any(
    "all", "just", "simply", "definitely", "then", "now", "officially", "finally", "both",
    "indeed", "actually", "formally", "firmly", "therefore", "all just", "instead", "together",
    "please", "already", "certainly", "surely", "also", "still", "unanimously", "collectively",
)  # fmt: skip
_ADVERBS = rf"(?:{_ADVERB},?\s+){{0,2}}"
_WE = _any(
    "we", "i", "(?:the|our) (?:whole )?(?:team|group|crew|board|committee)", "everyone", "all of us"
)
_AHEAD = _any(
    r"let'?s", "let us", r"lemme", r"we(?:'ll| will| shall)", r"i(?:'ll| will| shall)",
    r"(?:we(?:'re| are)|i(?:'m| am)) (?:all )?(?:going to|gonna|happy to|glad to|fine to|ready to"
    r"|set to|okay to|ok to|planning to|about to|determined to)",
    r"(?:we|i|everyone|everybody|(?:the|our) (?:whole )?(?:team|group)|all of us)(?:'ve| have| has)? (?:all )?(?:now |just |finally |already |both |jointly )?(?:decided|agreed|chosen|chose"
    r"|resolved|voted|elected|opted|concluded) (?:that we(?:'ll| will| should| are going to)|to)",
    r"(?:we|i) want (?:us |you )?to", r"i(?:'d| would) like (?:us |you )?to",
    r"(?:the |our )?(?:plan|decision|verdict|consensus|call|conclusion|resolution|agreement|outcome)"
    r"(?: here| now| then)? is (?:to|that we(?:'ll| will)?)",
)  # fmt: skip
_TAKE = _any(
    "use", "go ahead (?:with|and use)", "go with", "go for", "pick", "choose", "select", "adopt",
    "stick (?:with|to)", "settle (?:on|for|upon|with)", "run with", "roll with", "opt for",
    r"standardi[sz]e on", "commit to", "lock in", "lock", "proceed with", "move forward with",
    "rely on", "bet on", "employ", r"utili[sz]e", r"finali[sz]e", "build on", "vote for", "back",
    "go forward with", "move ahead with", "keep using", "keep to", "nail down", "sign off on",
    "bring in", "land on", "plump for", "stay with", "continue with", "end up with", "decide on",
    "approve", "agree on", "start with", "take",
)  # fmt: skip
_TAKE_LOOSELY = _any("do", "have", "keep", "make", "say", "get", "call", "try", "set up")
_TAKING = _any(
    "using", "going (?:ahead |forward )?with", "going for", "picking", "choosing", "selecting",
    "adopting", "sticking (?:with|to)", "settling (?:on|for)", "running with", "rolling with",
    "opting for", r"standardi[sz]ing on", "committing to", "locking in", "proceeding with",
    "moving (?:forward|ahead) with", "betting on", "set on", "sold on", "settled on", "decided on",
    "agreed on", "backing", "voting for", "happy with", "all in on", "in favou?r of", "staying with",
    "fine with", "good with", "in agreement on", "committed to",
)  # fmt: skip
_TOOK = _any(
    r"decided (?:on|for|upon|in favou?r of|to go with)", r"settled (?:on|for|upon|with)",
    "agreed (?:on|upon)", "chose", "chosen", "picked", "selected", "opted for", "landed on",
    "went with", "gone with", "adopted", r"finali[sz]ed", "committed to", "locked in", "voted for",
    "ended up (?:choosing|picking|with|on|going with)", "converged on", "approved", "signed off on",
    r"standardi[sz]ed on", "zeroed in on", "nailed down",
)  # fmt: skip
_TAKE_NOW = _any("pick", "choose", "take", "go with", "select", "opt for", "settle on", "go for",
                 "stick with", "vote for")  # fmt: skip
_OUR = r"(?:our|my|the|this project's|the project's|the team's)"
_SUBJECT = r"(?P<subject>[^,;:.!?()\n]{2,60}?)"
_VALUE = r"(?P<value>\S[^;\n]{0,90}?)"
_TAIL = r"(?P<tail>\S.*)"
_END = r"(?=[,;!?]|\.(?!\w)|\s+[-–—]\s|\s*$)"
_MOVE = _any("switch", "move", "migrate", "change", "go", "shift", "swap", "transition", "port")
_MOVING = _any("switching", "moving", "migrating", "changing", "shifting", "swapping")
_NOT = r"(?:not|no longer|never)"

# --- changing: how a sentence begins that says so, and does not say of what -----------------------

_OH = r"(?:(?:hmm+|oh|ok(?:ay)?|well|wait|sorry|so|and|but|actually|right|ah|you know what|hang on|no wait)[,.!]?\s+)*?"
_SAID = (
    r"(?:that|it|this|all that|what (?:i|we) (?:just |first )?(?:said|decided|agreed)"
    r"(?: before| earlier| just now)?)"
)
_TURN = _any(
    r"(?:i|we)(?:'ve| have)?(?: just| since| now)? changed (?:my|our) minds?(?: (?:about|on) (?:that|it|this))?",
    r"(?:i|we)(?:'ve| have)? (?:had a change of heart|had (?:some )?second thoughts|reconsidered"
    r"|thought (?:it|this|that) over|rethought (?:it|this|that))(?: about (?:it|this|that))?",
    r"(?:my|our) minds? (?:(?:has|have) )?changed", "(?:on )?second thoughts?",
    "on (?:further |closer |some )?(?:reflection|consideration)", "correction", "come to think of it",
    r"having (?:slept on|thought (?:more )?about|thought over) (?:it|this|that)",
    rf"(?P<points>(?:scratch|scrap|forget|never ?mind|ignore|cancel|drop|strike|disregard|undo|nix)(?: about)? {_SAID})",
    "never ?mind", r"change of (?:plans?|heart|mind)", r"(?:the )?plans? (?:have |has )?changed",
    "new plan", "(?P<points_back>i take (?:that|it) back)",
    r"after (?:thinking|talking|having thought) (?:about|over|through) (?:it|that|this)(?: [\w ]{1,20})?",
)  # fmt: skip
_PAUSE = r"(?:\s*[,:;–—-]+\s*(?:(?:and|so|then),?\s+)?|\s+(?:and )?(?=(?:let's|we|i|it's|make|use|go|want)\b))"

_PROPER = r"(?-i:[$€£]?[A-Z0-9])[\w.+#/%‚-]*"
_BARE = rf"(?P<value>(?!(?:let|we|i|it|my|our|the|that|this|use|make|do|keep|no|not)\b){_PROPER}(?: {_PROPER}| (?:with|and|on|of) [\w.+#/-]+){{0,4}})"
"""A value that stands alone, and must look like a name."""

# --- deciding -------------------------------------------------------------------------------------

_CHANGES: Final = (
    _rule(
        "instead-of",
        _DECISION,
        rf"\binstead of (?P<old>\S[^,;:?]{{0,50}}?), (?:(?:we|i)(?:'re| are|'m| am)? {_ADVERBS}(?:use|using|{_TAKE}|{_TAKING})|{_AHEAD} {_ADVERBS}{_TAKE}|(?:please )?(?:use|go with|take|pick)) {_TAIL}",
        0.9,
    ),
    _rule(
        "replace",
        _DECISION,
        rf"\b(?:{_AHEAD} {_ADVERBS}|(?:we(?:'re| are)|i(?:'m| am)) {_ADVERBS}|^(?:ok(?:ay)?,? |please |actually,? )?)"
        rf"(?:replac(?:e|ing)|swap(?:ping)?(?: out)?|ditch(?:ing)?|drop(?:ping)?|trad(?:e|ing)) "
        rf"(?P<old>\S[^,;:?]{{0,50}}?),? (?:with|by|for|in favou?r of|and (?:use|go with|take)) {_TAIL}",
        0.9,
        changes=True,
    ),
    _rule(
        "from-to",
        _DECISION,
        rf"\b(?:{_AHEAD} {_ADVERBS}{_MOVE}|(?:we|i)(?:'re|'m| are| am)? {_ADVERBS}(?:{_MOVING}|switched|moved|changed|migrated)"
        rf"|(?:we|i)(?:'ve| have) {_ADVERBS}(?:switched|moved|changed|migrated)|^(?:please |ok(?:ay)?,? |actually,? )?(?:switch|change|move))"
        rf"(?: (?P<subject>[^,;:?]{{2,40}}?))?(?: over)? from (?P<old>\S[^,;:?]{{0,50}}?) (?:over )?to {_TAIL}",
        0.95,
    ),
    _rule(
        "move-to",
        _DECISION,
        rf"\b(?:{_AHEAD} {_ADVERBS}(?:switch|migrate|change|move)|(?:we|i)(?:'re|'m| are| am) {_ADVERBS}(?:{_MOVING})"
        rf"|(?:we|i)(?:'ve| have)? {_ADVERBS}(?:switched|moved|migrated)|^(?:please |ok(?:ay)?,? |actually,? )?(?:switch|change))(?: (?:it|that|this)(?= (?:over )?to\b))?"
        rf"(?: (?!over to\b)(?P<subject>(?:{_OUR} )?[^,;:?]{{2,40}}?))?(?: over)? to (?!the \w+ (?:of|in)\b){_TAIL}",
        0.85,
        changes=True,
    ),
    _rule(
        "changed-to",
        _DECISION,
        rf"^{_OH}(?:{_TURN}{_PAUSE}(?:it(?:'s| is|'ll be) (?:now )?|(?:(?:we|i)(?:'ll| will|'d better| had better)? (?:now )?"
        rf"|(?:(?:we|i) )?(?:now )?want to )(?:use|take|go with|run|do) )?|(?:no|no wait|wait,? no), )"
        rf"{_BARE}(?: (?:instead of|rather than|in place of|over) (?P<old>[^,;:?]{{1,50}}?))?"
        rf"(?:,? (?:after all|instead|please|it is|then|now))*{_END}",
        0.85,
        Needs.NAME,
        changes=True,
    ),
    _rule(
        "after-all",
        _DECISION,
        rf"^{_OH}(?:(?:i|we)(?:'d| would) (?:rather (?:we )?|prefer (?:to |(?:that |if )?we ))(?:use|take|pick|have|go with) )?{_BARE},? (?:after all|instead)"
        rf"(?:,? (?:please|then|it is))*{_END}",
        0.85,
        Needs.NAME,
        changes=True,
    ),
    _rule(
        "make-that",
        _DECISION,
        rf"(?:^{_OH}|\b{_AHEAD} {_ADVERBS})(?:please )?(?:make|do|have|take|try|use)(?: (?:that|it))? "
        rf"{_BARE} (?:instead|after all)(?:,? please)?{_END}",
        0.85,
        Needs.NAME,
        changes=True,
    ),
    _rule(
        "make-it",
        _DECISION,
        rf"^{_OH}(?:actually|no|wait|sorry|rather)[,.]? (?:please )?make (?:that|it) {_BARE}(?:,? please)?{_END}",
        0.85,
        Needs.NAME,
        changes=True,
    ),
    _rule(
        "change-of-plan",
        _DECISION,
        rf"\b(?:change of plans?|new plan|plans? (?:have )?changed|update|correction|revised decision|new decision)"
        rf"(?: (?:for|on) {_SUBJECT})?\s*(?:[:,–—-]|is)\s*(?:we(?:'ll| will| are|'re)? )?(?:let's )?"
        rf"(?:it(?:'s| is)(?: now)? )?(?:now )?(?:(?:{_TAKE}|{_TAKING}) )?{_TAIL}",
        0.85,
        Needs.SUBJECT,
    ),
    _rule("moved-to", _FACT, rf"\b(?P<subject>{_OUR} [^,;:.!?()\n]{{2,50}}?) (?:(?:has|have) (?:now |just )?(?:been )?|(?:was|were|is|are|got) (?:now |just )?)(?:moved|changed|shifted|pushed|postponed|extended|raised|lowered|increased|reduced|rescheduled|brought forward)(?: back| out| forward| up| down)? to {_VALUE}{_END}", 0.8, Needs.NAME, changes=True),
)  # fmt: skip
_RETURNS: Final = (
    _rule("back-to", _DECISION, rf"(?:\b(?:{_AHEAD}|(?:we|i)(?:'re|'m| are| am)) {_ADVERBS}|^(?:ok(?:ay)?,? |please |actually,? )*)(?:go|going|switch|switching|move|moving|revert|reverting|change|return|returning) (?:back )?to (?:using )?(?<=back to ){_TAIL}", 0.85, Needs.NAME, changes=True, returns=True),
)  # fmt: skip
_DECISIONS: Final = (
    _rule(
        "written-in",
        _DECISION,
        rf"\b{_AHEAD} {_ADVERBS}(?:write|build|implement|code|develop|program|author|draft|compose) "
        rf"{_SUBJECT} (?:in|with|using|on top of|on) {_TAIL}",
        0.85,
    ),
    _rule(
        "hosted-on",
        _DECISION,
        rf"\b{_AHEAD} {_ADVERBS}(?P<said>host|deploy|run|ship|serve|release|publish|put)(?: {_SUBJECT})? "
        rf"(?:on|to|via|through|behind|in)(?:to)? {_TAIL}",
        0.85,
        Needs.NAME,
    ),
    _rule(
        "kept-in",
        _DECISION,
        rf"\b{_AHEAD} {_ADVERBS}(?:store|keep|save|persist|cache|track|manage|handle|monitor|document|test|lint|format|log|style) "
        rf"{_SUBJECT} (?:in|with|via|using|through|on) {_TAIL}",
        0.85,
        Needs.NAME,
    ),
    _rule(
        "set-to",
        _DECISION,
        rf"\b(?:{_AHEAD} {_ADVERBS}|^(?:ok(?:ay)?,? |please |and )?)(?:set|cap|limit|fix|raise|lower|increase|bump|reduce|pin|freeze) "
        rf"(?P<subject>(?:{_OUR} )[^,;:?]{{2,40}}?) (?:to|at|on) {_TAIL}",
        0.85,
        Needs.NAME,
    ),
    _rule(
        "named",
        _DECISION,
        rf"\b{_AHEAD} {_ADVERBS}(?:name|call) (?P<subject>(?:{_OUR} )[^,;:?\"“']{{2,40}}?) (?P<value>[\"“'`]?[A-Z0-9][^,;:?]{{0,40}}?){_END}",
        0.85,
        Needs.NAME,
    ),
    _rule(
        "scheduled",
        _DECISION,
        rf"\b{_AHEAD} {_ADVERBS}(?:schedule|hold|plan|meet|launch|release|start|run|do) (?:(?P<subject>(?:{_OUR} )[^,;:?]{{2,40}}?) )"
        rf"(?P<value>(?:on|at|every|in) [^,;?]{{2,40}}?){_END}",
        0.8,
        Needs.PLAIN,
    ),
    _rule(
        "make-it-our",
        _DECISION,
        rf"\b(?:{_AHEAD} {_ADVERBS}|^(?:ok(?:ay)?,? |please )?)(?:make|have|keep) (?P<value>[^,;:?]{{1,60}}?) (?:be )?(?:our|my) {_SUBJECT}{_END}",
        0.9,
        Needs.WORD,
    ),
    _rule(
        "will-be-our",
        _DECISION,
        rf"(?:^|[,:–—-]\s*|\b(?:so|ok|okay|then|yes|agreed),? )(?P<value>(?!it\b|this\b|that\b|there\b|the\b|what\b|here\b)[^,;:?]{{1,60}}?)"
        rf" (?:will be|is going to be|shall be|becomes|is now|gets to be|will serve as) (?:our|my)"
        rf" (?:final )?(?:(?:pick|choice|option|decision|tool|selection|go-to|answer|winner)(?: for)? )?{_SUBJECT}"
        rf"(?: (?:of choice|from now on|going forward|then|now|tool))?{_END}",
        0.75,
        Needs.WORD,
    ),
    _rule(
        "it-is",
        _DECISION,
        rf"(?:^|[,:.–—-]\s*|\b(?:so|ok|okay|then|yes|agreed|yep|yeah|alright|right|good|fine|great|perfect|sold|deal|done),?\s+)"
        rf"(?P<value>(?!so\b|ok\b|okay\b|then\b|yes\b|agreed\b|that\b|this\b|there\b|what\b|how\b)[^,;:?!]{{1,60}}?) "
        rf"(?:it is|it'll be|it shall be|it will be|it has to be|is it)(?:,? then)?(?: (?:for|as) {_SUBJECT})?(?:,? then)?{_END}",
        0.9,
    ),
    _rule(
        "wins",
        _DECISION,
        rf"(?:^|[,:–—-]\s*|\b(?:so|ok|okay|then|yes|agreed|and),? )(?P<value>(?!so\b|the\b|our\b|it\b|this\b|that\b|there\b|what\b|who\b|which\b)[^,;:?]{{1,60}}?) "
        rf"(?:wins(?: out)?|won(?: out)?|takes it|gets (?:my|our) vote|has (?:my|our) vote|gets the nod|got the nod|gets the job|gets picked|got picked"
        rf"|was chosen|was picked|was selected|has been chosen|has been selected|has been picked|gets the green light|is the one"
        rf"|is the (?:clear )?(?:winner|way to go|pick|choice|decision|one we want)|is (?:my|our) (?:final )?(?:pick|choice|decision|selection|answer)"
        rf"|is what we(?:'ll| will|'re going to| are going to)? (?:use|go with|be using|take|pick)|is what we(?:'re| are) (?:using|going with)"
        rf"|is what we(?:'ve| have)? (?:decided on|chose|picked|chosen|settled on|agreed on|agreed)"
        rf"|is (?:decided|settled|locked in|approved|agreed|confirmed|final|official))"
        rf"(?: (?:for|as|on) {_SUBJECT})?{_END}",
        0.85,
    ),
    _rule(
        "decided-label",
        _DECISION,
        rf"(?:^|[,.–—-]\s*)(?:(?:it's|that's|so that's|ok(?:ay)?,? (?:it's|that's)|and it's) )?(?:(?:final|our|team|official|the|quick|my|formal) )*"
        rf"(?:decision|(?:(?:we|i)(?:'ve| have)? )?(?:all )?(?:decided|settled|agreed)|decision made|decision taken|resolved|verdict|official|final call|final answer|final choice|adr|"
        rf"for the record|conclusion|resolution|ruling|agreed)"
        rf"(?: (?:for|on|about|regarding|re) {_SUBJECT})?\s*[:–—-]\s*(?:(?:we(?:'ll| will| are|'re)?|let's) )?(?:(?:{_TAKE}|{_TAKING}|to use|to go with) )?{_TAIL}",
        0.9,
        Needs.SUBJECT,
    ),
    _rule(
        "shall-be",
        _DECISION,
        rf"(?:^|[,:–—-]\s*|\b(?:so|ok|okay|then|and|agreed|good|alright),? )(?P<subject>{_OUR} [^,;:.!?()\n]{{2,50}}?) (?:will be|shall be|is going to be|will become|becomes|has to be|is to be|gets to be|it's going to be) {_VALUE}{_END}",
        0.85,
        Needs.NAME,
    ),
    _rule(
        "corrected",
        _DECISION,
        rf"^(?:correction|update|change of plans?|new decision|edit|scratch that|actually)[:,–—-]+\s*(?P<subject>{_OUR} [^,;:.!?()\n]{{2,50}}?) is(?: now)? {_TAIL}",
        0.85,
        Needs.NAME,
    ),
    _rule(
        "for-settled",
        _DECISION,
        rf"(?:^|[,:–—-]\s*)(?P<value>(?!it\b|this\b|that\b|there\b|what\b|we\b|i\b|let's\b|let us\b|use\b|go\b|going\b|switch\b|pick\b|take\b|make\b)[^,;:?!]{{1,60}}?) (?:for|as) {_SUBJECT}(?:[,–—-]+ ?(?:and )?(?:(?:that's|that is|it's|it is|we're|consider (?:it|that)) )?(?:now )?(?:settled|decided|final|agreed|done|official|fixed|locked in|a done deal|our decision|the decision|my decision|my final answer|final answer|decided then)\b| instead{_END})",
        0.85,
        Needs.WORD,
    ),
    _rule(
        "announced",
        _DECISION,
        rf"(?:^|[,.]\s*)(?:(?:ok(?:ay)?|so|and|well|right|please|yes),? )?(?:done|write (?:it|this|that) down|write down|record(?: this| it)?|note(?: this| it| that)?(?: down)?|for the record|log (?:it|this)|noted|remember(?: this)?|put (?:it|this) on record"
        rf"|(?:we|i)(?:'ve| have)? (?:finally |now |just |all |both |jointly )?(?:decided|agreed|settled|changed (?:my|our) minds?|made (?:a|our|my|up my|up our) (?:decision|choice|minds?|mind))|scratch that|on second thoughts?|new plan|then|so it's|it's)\s*[:,–—-]\s*(?P<value>(?!it\b|this\b|that\b|there\b|what\b|we\b|i\b|let's\b|the\b)[^,;:?!]{{1,60}}?) (?:for|as) {_SUBJECT}(?: instead| then)?{_END}",
        0.8,
        Needs.WORD,
    ),
    _rule(
        "for-it-is",
        _DECISION,
        rf"\b(?:so |then |and |ok(?:ay)?,? |well,? )?(?:for|on|as) (?P<subject>(?:{_OUR} )[^,;:.!?()\n]{{2,50}}?),? (?:it's|it is|it'll be|it will be) (?!a\b|an\b|the\b|not\b|important\b|hard\b){_VALUE}{_END}",
        0.85,
        Needs.WORD,
    ),
    _rule(
        "is-our-now",
        _DECISION,
        rf"(?:^|[,:–—-]\s*|\b(?:so|ok|okay|then|and|good),? )(?P<value>(?!it\b|this\b|that\b)[^,;:?!]{{1,50}}?) is (?:our|my) {_SUBJECT} (?:now|then|from now on|from here on|going forward){_END}",
        0.8,
        Needs.NAME,
    ),
    _rule(
        "subject-settled",
        _DECISION,
        rf"(?:^|[,:–—-]\s*|\b(?:so|ok|okay|then|and|well),? )(?P<subject>{_OUR} [^,;:.!?()\n]{{2,50}}?)(?: question| decision| topic| matter)? (?:is|are) (?:now |finally |also )?(?:settled|decided|closed|done|sorted|resolved|fixed|made)[,:;–—. -]+"
        rf"(?:it's|it is|it'll be|it will be|we(?:'ll| will) be (?:using|going with)|we(?:'re| are) (?:using|going with|taking)|we(?:'ll| will)? (?:use|take|go with)|let's (?:use|go with)|that's|namely)? ?{_TAIL}",
        0.9,
        Needs.WORD,
    ),
    _rule(
        "then-is",
        _DECISION,
        rf"^(?:good|great|ok|okay|alright|right|fine|perfect|so|agreed|done|settled|decided)[,!.]? (?:so |then ){{0,2}}(?P<value>(?!it\b|this\b|that\b|there\b|what\b|the\b|here\b)[^,;:?!]{{1,50}}?) is (?:our|the|my) {_SUBJECT}{_END}",
        0.75,
        Needs.NAME,
    ),
    _rule(
        "choice-is",
        _DECISION,
        rf"\b{_OUR} (?:final |official |ultimate |team )?(?:decision|choice|pick|selection|verdict|vote|call|final answer|answer|preferred option|winner|winning option)"
        rf"(?: (?:for|on|about|regarding|of|in|as) {_SUBJECT})? (?:is|was|will be|has to be|goes to|stays|remains|fell on|falls on|landed on|came down to)"
        rf" (?!that\b|to\b|not\b|based\b)(?:to use )?{_TAIL}",
        0.9,
    ),
    _rule(
        "vote-goes",
        _DECISION,
        rf"\bi(?:'d| would)? (?:vote|say|opt|plump) (?:for|we (?:use|go with|take|pick)|let's (?:use|go with)) {_TAIL}",
        0.75,
    ),
    _rule(
        "put-down",
        _DECISION,
        rf"(?:^|\b(?:please|ok|okay|then|and|let's|so),? )(?:put|mark|note|write|jot|pencil|log|record|lock|count|register|enter|file|list|save)(?: (?:me|us))? (?:down |in )?"
        rf"(?!that\b|this\b|it\b)(?P<value>[^,;:?]{{1,60}}?)(?: (?:down|in))? (?:as|for) (?:our |the |my )?(?:final |official )?(?:(?:choice|decision|pick) (?:for|of|on) )?{_SUBJECT}{_END}",
        0.85,
        Needs.WORD,
    ),
    _rule("take", _DECISION, rf"\b{_AHEAD} {_ADVERBS}{_TAKE} {_TAIL}", 0.95),
    _rule(
        "taking",
        _DECISION,
        rf"\b(?:we(?:'re| are)|i(?:'m| am)|we will be|we'll be|i'll be) {_ADVERBS}{_TAKING} {_TAIL}",
        0.9,
    ),
    _rule(
        "took",
        _DECISION,
        rf"\b{_WE}(?:'ve| have| has)? (?:[a-z]+ed (?:it |this |that )?(?:\w+ ){{0,3}}(?:and|then) (?:then |finally )?(?:have )?)?{_ADVERBS}{_TOOK} {_TAIL}",
        0.9,
    ),
    _rule(
        "passively",
        _DECISION,
        rf"\b(?:it (?:was|is|has been)|it's(?: been)?) {_ADVERBS}(?:decided|agreed|settled|official)[,:]?(?: (?:that we(?:'ll| will)?|to|on|we(?:'ll| will)))? (?:(?:{_TAKE}) )?{_TAIL}",
        0.85,
    ),
    _rule(
        "take-now",
        _DECISION,
        rf"\b(?:we|i) (?:now |hereby |therefore |all )?{_TAKE_NOW} {_TAIL}",
        0.85,
    ),
    _rule(
        "going",
        _DECISION,
        rf"^(?:(?:ok(?:ay)?|alright|yes|yep|yeah|agreed|right|so|then|good|great|fine|perfect|cool|sure|done),?\s+)*"
        rf"(?:going|sticking|settling|proceeding|moving forward|rolling|running) (?:with|on|for) {_TAIL}",
        0.85,
    ),
    _rule(
        "do",
        _DECISION,
        rf"\b{_AHEAD} {_ADVERBS}{_TAKE_LOOSELY} {_TAIL}",
        0.8,
        Needs.BOTH,
    ),
    _rule(
        "imperative",
        _DECISION,
        r"(?:^|[,:–—]\s*)(?:(?:ok(?:ay)?|alright|yes|yep|yeah|agreed|right|so|then|please|and|good|great|fine|perfect|cool|sure|actually|no)[,!.]?\s+)*"
        rf"(?:please )?(?:just )?(?:take|use) {_TAIL}",
        0.8,
        Needs.NAME,
    ),
    _rule(
        "commanded",
        _DECISION,
        r"(?:^|[,:–—]\s*)(?:(?:ok(?:ay)?|alright|yes|yep|yeah|agreed|right|so|then|please|and|good|great|fine|perfect|cool|sure|actually|no)[,!.]?\s+)*"
        rf"(?:please )?(?:just )?(?:go (?:ahead )?with|go for|stick with|pick|choose|settle on|adopt|make it|lock in|opt for|standardi[sz]e on|proceed with|select) {_TAIL}",
        0.8,
        Needs.WORD,
    ),
)

# --- preferring -----------------------------------------------------------------------------------

_PREFERENCES: Final = (
    _rule("prefer", _PREFERENCE,
          rf"\b(?:i|we)(?:'d| would| do| really| strongly| much| generally| usually| personally| definitely| clearly| still| tend to| far| both| all| always| as a rule)*"
          rf" (?:much )?(?:prefer|favou?r)(?: (?:to use|to have|using|having|working with|to work with|if (?:you|we) (?:use|used)))? {_TAIL}", 0.9),
    _rule("rather", _PREFERENCE,
          rf"\b(?:i|we)(?:'d| would)(?: much| really| still)? (?:rather|sooner)(?: (?:use|have|go with|work with|write|stick with|take|see|keep|get))? (?!not\b){_TAIL}", 0.85),
    _rule("partial", _PREFERENCE,
          rf"\b(?:i|we)(?:'m| am|'re| are)(?: \w+ly| much| far| way| more)* (?:partial to|more comfortable with|most comfortable with|more at home (?:with|in)|a (?:big |huge )?fan of|fond of) {_TAIL}", 0.8),
    _rule("favourite", _PREFERENCE,
          rf"\bmy (?:preferred|favou?rite|go-to|usual|default|all-time favou?rite) {_SUBJECT} (?:is|are|has always been|would be|will always be) (?!that\b|to\b|not\b|when\b|how\b){_TAIL}", 0.9),
    _rule("is-favourite", _PREFERENCE, rf"(?:^|[,:]\s*|\b(?:and|but),? )(?P<value>[^,;:?]{{1,40}}?) (?:is|are|has always been) my (?:all-time |absolute )?(?:favou?rite|preferred|go-to) {_SUBJECT}{_END}", 0.85, Needs.NAME),
    _rule("preference-is", _PREFERENCE,
          rf"\bmy (?:strong |personal |clear )?preference(?: (?:for|on|in|when it comes to) {_SUBJECT})? (?:is|would be|goes to)(?: for)? (?!that\b|to\b|not\b){_TAIL}", 0.9),
    _rule("better", _PREFERENCE,
          rf"\b(?:i|we)(?: really| do)? (?:like|love) (?P<value>(?!it\b|that\b|this\b)[^,;:?]{{1,50}}?) (?:better|more|best|most)(?: (?:than (?P<old>[^,;:?]{{1,50}}?)))?(?: for {_SUBJECT})?{_END}", 0.85),
    _rule("works-best", _PREFERENCE,
          rf"(?:^|[,:]\s*)(?P<value>(?!it\b|that\b|this\b|what\b|which\b)[^,;:?]{{1,50}}?) (?:works|work|suits?|fits?) (?:me )?(?:best|better)(?: for me)?(?: (?:for|when it comes to) {_SUBJECT})?{_END}", 0.75),
    _rule("call-me", _PREFERENCE, rf"\b(?:please )?call me (?!back\b|when\b|if\b|at\b|later\b|crazy\b){_VALUE}{_END}", 0.9, Needs.NAME, "name"),
    _rule("dislike", _PREFERENCE,
          rf"\b(?:i|we)(?: really| absolutely| strongly| do)? (?:hate|dislike|despise|detest|loathe|can't stand|cannot stand|don't (?:really )?like|do not like|avoid)"
          rf" (?:using |to use |having |working with )?(?!it\b|that\b|this\b|how\b|when\b|to\b|the way\b|the idea\b){_TAIL}", 0.8, negative=True),
    _rule("habit", _PREFERENCE,
          rf"\bi (?:always|usually|normally|generally|typically|only|mostly|almost always) (?:use|go with|write in|work in|work with|pick|choose|reach for|stick to|drink|eat|buy|order|take|wear) {_TAIL}", 0.8),
    _rule("like-my", _PREFERENCE,
          r"\bi (?:like|want|need|take|have|keep|prefer) (?P<subject>(?:my|your|all) [^,;:?]{2,40}?) (?:to be |to have )?(?P<value>(?:short|brief|in |with |without |as |terse|formal|informal|black|plain|simple|detailed|concise|dark|light|small|direct)[^,;:?]{0,40}?)" + _END, 0.85, Needs.PLAIN),
    _rule("standing", _STANDING,
          r"^(?:please,? |and |also,? |ok(?:ay)?,? )*(?:always|never|from now on|going forward|in (?:the )?future|by default|as a (?:general )?rule|for all (?:future )?\w+)(?:,| please| you)*,? (?:please )?"
          r"(?P<value>(?:answer|reply|respond|write|use|format|keep|give|be|speak|show|send|avoid|put|sign|add|include|address|call|explain|cite|ask|name|run|prefer|start|end|do|don't|never|always|make|translate|stick|order|book|choose|buy) [^;?]{3,90}?)(?=[;.!?]|\s*$)", 0.9, Needs.PLAIN),
    _rule("answer-so", _STANDING,
          r"^(?:please,? |and |also,? |ok(?:ay)?,? )*(?P<value>(?:answer|reply|respond|speak|talk|write)(?: to)?(?: me| us)?(?: always| only| please)? (?:in|with|without|using|as) [^,;?]{2,60}?(?:,? (?:please|from now on|going forward|always|in future))?)" + _END, 0.75, Needs.PLAIN),
)  # fmt: skip

# --- telling --------------------------------------------------------------------------------------

_SOMEBODYS = r"(?:(?:my|our|(?-i:[A-Z])\w+'s) [\w'-]+(?: [\w'&/-]+){0,4}?)"
_FACTS: Final = (
    _rule("name", _FACT, r"\b(?:my (?:full )?name is|my name's) (?P<value>[A-Z][\w'.-]*(?: [A-Z][\w'.-]*){0,3})", 0.95, Needs.NAME, "name"),
    _rule("home", _FACT, rf"\b(?:i|we)(?:'ve| have)?(?: now| currently| recently| just| all)*(?: moved to|'m living in|'re living in| live in| am living in| are living in) (?P<value>[^,;:?]{{2,40}}?){_END}", 0.85, Needs.NAME, "home"),
    _rule("employer", _FACT, rf"\bi(?: now| currently)?(?:'m working| work| am working| am employed|'m employed) (?:at|for|by) (?P<value>[^,;:?]{{2,40}}?){_END}", 0.85, Needs.NAME, "employer"),
    _rule("location", _FACT, rf"\b(?:we|i|the team|our team)(?:'re| are|'m| am| is) (?:based|located|headquartered) (?:in|at|out of) (?P<value>[^,;:?]{{2,40}}?){_END}", 0.9, Needs.NAME, "location"),
    _rule("uses", _FACT, rf"\bwe (?:currently |already |mostly |still |now )?(?:use|run on|rely on|are on|deploy to|deploy on|host on) {_TAIL}", 0.8, Needs.SUBJECT),
    _rule("called", _FACT, rf"\b(?P<subject>(?:{_OUR}) [\w'-]+(?: [\w'&/-]+){{0,4}}?)(?:'s| is| are| was| goes by)? (?:called|named|known as|nicknamed) (?P<value>[^,;:?]{{1,40}}?){_END}", 0.9, Needs.NAME),
    _rule("mine-is", _FACT, rf"\b(?P<subject>{_SOMEBODYS})(?: is| are| was set to| is set to| will be| =| has been set (?:to|at)| stands at| amounts to| comes to| equals)(?: now| currently| still| exactly| about| around| roughly| capped at| set to| set at| fixed at| limited to)* (?P<value>(?!not\b)[^,;:?]{{1,60}}?){_END}", 0.85, Needs.NAME),
    _rule("the-is", _FACT, rf"(?:^|[,:–—]\s+|\b(?:and|btw|fyi|also|remember|note|so|by the way),? (?:that )?)(?P<subject>the [\w'-]+(?: [\w'&/-]+){{0,5}}?)(?: is| are| was set to| is set to| will be| =| has been set (?:to|at)| stands at| amounts to| comes to| equals)(?: now| currently| still| exactly| about| around| roughly| capped at| set to| set at| set for| fixed at| limited to)* (?P<value>(?!not\b)[^,;:?]{{1,60}}?){_END}", 0.8, Needs.NAME),
    _rule("happens", _FACT, rf"\b(?P<subject>(?:{_OUR}) [\w'-]+(?: [\w'&/-]+){{0,4}}?) (?P<value>(?:starts?|ends?|launches|begins?|happens|takes place|runs?|expires?|closes?|opens?|ships?|goes live|is due|are due|is scheduled|lives|listens|costs?|weighs?|holds?|takes|lasts) (?:on|at|in|by|every|until|for|from|up to|about|around)? ?[^,;:?]{{1,40}}?){_END}", 0.8, Needs.NAMES),
    _rule("count", _FACT, rf"\b(?:we|i)(?:'ve| have| employ|'ve got| have got)(?: got| about| around| exactly| only| roughly)? (?P<value>\d[\d,.\u201a]*k? (?P<subject>[a-z][\w-]*(?: [\w-]+){{0,3}}?)){_END}", 0.8, Needs.NAME),
    _rule("allergic", _FACT, rf"\b(?P<subject>i|my [\w'-]+)(?:'m| am|'s| is) (?P<value>(?:allergic to|vegetarian|vegan|colou?r[- ]blind|left-handed|lactose[- ]intolerant)[^,;:?]{{0,40}}?){_END}", 0.9, Needs.PLAIN),
)  # fmt: skip

# --- taking back ----------------------------------------------------------------------------------

_DONT = rf"(?:let's {_NOT}|let us {_NOT}|(?:we|i)(?:'re| are|'m| am) {_NOT}(?: going to)?|(?:we|i)(?: will not|'ll not| won't| shall not)|we aren't(?: going to)?|(?:we|i) no longer(?: want to)?|we(?:'ve| have)? stopped|let's stop|we should stop|(?:we|i) (?:do not|don't) want to|please don't|don't|do not|^not)"
_BACK: Final = (
    _rule("no-more", _RETRACTION, rf"(?:^{_OH}no (?:more )?|\b(?:let's |let us |please |we'll |we will )(?:not|do without|don't) (?:(?:do|have|using|{_TAKE}) )?)(?P<value>(?!it\b|that\b|this\b)[^,;:?!]{{1,50}}?),? after all(?:,? please)?{_END}", 0.85, Needs.PLAIN),
    _rule("against", _RETRACTION, rf"\b(?:we|i)(?:'ve| have)? {_ADVERBS}(?:decided|voted|opted) (?:against|not to (?:use|go with|pick|adopt|take)|to (?:drop|ditch|abandon|scrap)) {_TAIL}", 0.9),
    _rule("do-not", _RETRACTION, rf"{_DONT} (?:now |just |even )?(?:{_TAKE}|{_TAKING}|using) {_TAIL}", 0.85),
    _rule("undo-decision", _RETRACTION, rf"\b(?:undo|cancel|revoke|withdraw|take back|reverse|drop|scrap|scratch|reopen|revisit|forget|throw out|nix|void) (?:the|our|that|my) (?:earlier |previous |last )?(?:(?:decision|choice|agreement|call|pick|question) (?:on|about|for|of|regarding|to use) {_SUBJECT}|(?P<value>[^,;:?]{{2,50}}?) (?:decision|choice|agreement|pick)){_END}", 0.9, Needs.PLAIN),
    _rule("decision-off", _RETRACTION, rf"\b(?:the|our|that) (?:(?:decision|choice) (?:on|about|for|of|regarding) {_SUBJECT}|(?P<value>[^,;:?]{{2,50}}?) (?:decision|choice|plan)) (?:is|has been|was) (?:off|void|cancell?ed|withdrawn|reversed|reopened|open again|no longer (?:valid|true|standing)|undone|revoked|dead|scrapped|dropped){_END}", 0.9, Needs.PLAIN),
    _rule("off-table", _RETRACTION, rf"(?:^|[,:–—]\s*|\b(?:so|ok|okay|then|and),? )(?P<value>(?!it\b|this\b|that\b|there\b|what\b|which\b|who\b)[^,;:?]{{1,50}}?) is (?:off the table|out of the (?:picture|running|question)|no longer (?:an option|on the table|our choice|the plan|our \w+)|ruled out|dead|off)(?: now)?{_END}", 0.85, Needs.PLAIN),
    _rule("changed-mind", _RETRACTION, rf"\b(?:i|we)(?:'ve| have)? (?:just |since )?changed (?:my|our) minds? (?:about|on|regarding) (?:using |going with )?(?P<value>(?!it\b|that\b|this\b)[^,;:?]{{2,50}}?){_END}", 0.9, Needs.PLAIN),
    _rule("drop", _RETRACTION, rf"(?:\b{_AHEAD} {_ADVERBS}|(?:^|[,:–—]\s*)(?:ok(?:ay)?,? |please |actually,? |so |and |no,? )*|\bwe(?:'re| are) {_ADVERBS})(?:drop|dropping|ditch|ditching|scrap|scrapping|cancel|cancelling|canceling|abandon|abandoning|forget about|forget|get rid of|getting rid of|rule out|ruling out|move away from|moving away from|retire|retiring|back out of|skip) (?!that\b|it\b|this\b|what\b|to\b|the idea\b|about (?:that|it|this)\b){_TAIL}", 0.8),
    _rule("scratch", _RETRACTION, r"(?:^|[,:.–—]\s*|\b(?:actually|ok|okay|no|wait|hmm|oh|sorry|well|please|let's|hm),? )(?:scratch|forget|undo|cancel|drop|revert|ignore|strike|disregard|nix|scrap|reverse|retract) (?:about )?(?:that|it|this|what i (?:just )?said|what we (?:just )?(?:said|decided|agreed)|my last \w+|that last \w+|the last \w+|the previous \w+|my previous \w+)(?=[,;.!?]|\s+[-–—]|\s*$|,? (?:instead|please|and|let's|we)\b)", 0.9, Needs.PLAIN),
    _rule("never-mind", _RETRACTION, r"(?:^|[,.–—]\s*|\b(?:actually|ok|oh|no|wait),? )(?:never ?mind(?: that| what i said| it)?|i take (?:that|it) back|(?:i|we)(?:'ve| have)? changed (?:my|our) minds?|on second thoughts?,? no|i spoke too soon)(?=[,;.!?]|\s+[-–—]|\s*$)", 0.85, Needs.PLAIN),
)  # fmt: skip

# --- proposing ------------------------------------------------------------------------------------

_PROPOSALS: Final = (
    _rule("recommend", _DECISION, rf"\b(?:i(?:'d| would| will|'ll)?(?: strongly| highly| still| personally| definitely)?|we)(?: would)? (?:recommend|suggest|propose|advise|go with|go for|pick|choose|opt for|vote for|use|take|reach for|favou?r|settle on|stick with|say|lean (?:on|towards?))(?: (?:using|going with|that (?:we|you) (?:use|go with|pick|adopt)|(?:we|you) (?:use|go with|pick|adopt)|you to use|to use|to go with|adopting|choosing|picking))? (?!that\b|you\b|we\b|not\b){_TAIL}", 0.9),
    _rule("recommendation", _DECISION, rf"\b(?:my|the|our|one) (?:strong |top |personal |clear |best |main )?(?:recommendation|suggestion|pick|choice|advice|vote|proposal|option|bet|answer)(?: (?:for|on|here|regarding) {_SUBJECT})?(?: here)? (?:is|would be|goes to|will be)(?: to (?:use|go with|pick|adopt))? (?!that\b|to\b|not\b){_TAIL}", 0.9),
    _rule("could", _DECISION, rf"\b(?:we|you)(?: could| should| can| might want to|'d better|'ll want to| may want to|'d do well to| ought to) (?:just |simply |then |probably |definitely )?{_TAKE} {_TAIL}", 0.85),
    _rule("shall", _DECISION, rf"\b(?:let's|shall we|should we|how about(?: we)?|what about|why not|why don't we|do you want to|would you like to|want me to|shall i|should i|want to|ready to|ok to|okay to|are we)(?: \w+ly)? (?:(?:{_TAKE}|{_TAKING}|lock in|note|record|confirm|put down) )?(?!i\b|we\b|more\b|me\b|know\b|see\b|a (?:comparison|summary)){_TAIL}", 0.85),
    _rule("best", _DECISION, rf"(?:^|[,:–—]\s*|\b(?:and|so|but),? )(?:(?:i think|i believe|i feel|i'd say|i would say|in my (?:view|opinion|experience)|honestly|so|then|here|overall|personally|it seems(?: to me)?|it looks like|to me|for you|clearly),? (?:that )?)*(?P<value>(?!it\b|this\b|that\b|there\b|these\b|those\b|which\b|what\b|both\b|either\b)[^,;:?]{{1,60}}?) (?:is|are|would be|seems|looks|seems like|looks like|sounds like|feels like|makes|would make|would work|will work|should work|fits|suits|is probably|is likely|is clearly|would fit|remains|stands out as)(?: (?:to be|like))?(?: (?:the|a|an|your|our|my))?(?: \w+)? ?(?:best|good|great|right|solid|natural|strongest|strong|sensible|most sense|sense|simplest|easiest|cleanest|safest|safe|better|nicely|well|perfect|ideal|excellent|obvious|reasonable|sane|fine|pragmatic|clear)(?: (?:(?:default|overall|long-term|first|possible|all-round) )?(?:choice|fit|option|pick|bet|match|candidate|way to go|call|default|solution|answer|tool|winner|one|here))?(?: (?:for|as|in) {_SUBJECT})?(?=[,;.!?]|\s+(?:because|since|given|here|thanks|due|as|with|and|if|when)\b|\s+[-–—(]|\s*$)", 0.85, Needs.NAME),
    _rule("fits", _DECISION, rf"(?:^|[,:–—]\s*|\b(?:and|so|but|think|believe) )(?P<value>(?!it\b|this\b|that\b)[^,;:?]{{1,50}}?) (?:would |will |should )?(?:fits?|suits?|matches) {_SUBJECT} (?:well|nicely|best|perfectly|better|very well|here){_END}", 0.85, Needs.NAME),
    _rule("so-it-is", _DECISION, rf"(?:^|[,:–—]\s*)(?:so|ok(?:ay)?|right|then|to confirm|confirming|just to confirm|in short|summing up|noted|proposal|recommendation|suggestion|tl;dr)[,:]? (?:it's |that's |we have |we use |we go with |we(?:'re| are) (?:using|going with) |it is |we'd use |that would be )?{_TAIL}", 0.7, Needs.SUBJECT),
    _rule("imperative", _DECISION, rf"(?:^|[,:–—]\s*)(?:then |so |just )?(?:use|go with|pick|choose|take|adopt) {_TAIL}", 0.8),
    _rule("bare", _DECISION, rf"^(?P<value>[A-Z][^,;:?]{{1,40}}?) (?:for|as) (?P<subject>(?:the|your|our|my) [^,;:?]{{2,50}}?){_END}", 0.7, Needs.NAME),
)  # fmt: skip

# --- what it is about -----------------------------------------------------------------------------

_NEEDED = r"(?:use|choose|pick|take|go with|adopt|decide on|settle on|have|do|want|need|prefer|recommend|suggest|be using|go for|deploy|run)"
_TOPICS: Final = tuple(
    _re(pattern)
    for pattern in (
        rf"^(?:(?:so|ok|okay|and|now|next|then|also|alright|right|good|great|hi|hey|hello|well|cool|thanks|thank you|first|finally|lastly)[,!.]?\s+)*(?:for|on|as for|regarding|about|concerning|when it comes to|in terms of|with regard to|with respect to|as far as|speaking of|back to|re)\s*:?\s+{_SUBJECT}(?: goes| is concerned)?\s*[,:–—-]",
        r"\b(?:which|what)(?: kind of| sort of| type of)? (?P<subject>(?!(?:should|do|would|shall|is|are|can|could|about|if|will|did|was|were|has|have|else|to|we|you|i)\b)[\w/ '&+-]{2,50}?) (?:should|shall|do|would|will|could|can|might|are|is|were)\s+(?:we|you|i|be)\b",
        rf"\bwhat(?: exactly| then)? (?:should|shall|do|would|will|could|can|are|might) (?:we|you|i)(?: all| want to| need to| going to| think we should| think we could| recommend we| suggest we| recommend| suggest)? ?(?:{_NEEDED}|using|going with|going to use)?(?: as| for| on| about| with) {_SUBJECT}{_END}",
        rf"\b(?:what|how) about (?P<subject>(?:the|our|a|an) [^,;:.?!]{{2,50}}?){_END}",
        rf"\b(?:any|your|some)? ?(?:thoughts|ideas?|opinions?|recommendations?|suggestions?|advice|preferences?|take|view|input|feelings?) (?:on|about|for|regarding|when it comes to|as to) {_SUBJECT}{_END}",
        rf"\b(?:we|i)(?: still| also| really| just| now)* (?:need|have|want|ought|should|must|got)(?: to)? (?:decide|pick|choose|settle|agree|sort out|figure out|select|find|finali[sz]e|determine|get)?(?: on| about)? ?(?P<subject>(?:a|an|the|our|some) [^,;:.?!]{{2,50}}?)(?: to use)?(?: for (?:this|it|that|us))?{_END}",
        rf"\bwhat(?:'s| is| would be| are| will be)(?: your)? (?:the |our |a )?(?:best|right|good|ideal|better|preferred|preference|recommendation|recommended|suggestion|pick|choice|call|advice|plan|take|most sensible|go-to)(?: (?:choice|option|way|pick|tool|solution|approach))?(?: of| for| on| as| in| to (?:do|handle|use)) {_SUBJECT}{_END}",
        rf"\bwhat(?:'s| is| would be| are| will be) (?:the |our |a |your )(?:best|right|good|ideal|better|preferred|recommended|most sensible) {_SUBJECT}(?: here| for (?:us|this|me|our case|this project))?{_END}",
        rf"\b(?:recommend|suggest|propose|pick|choose|help (?:me|us) (?:pick|choose|decide on|with)|need|looking for|decide|decide on|discuss|talk about|settle|sort out|figure out|move on to|turn to|look at|choose between|options for|candidates for|alternatives for)(?: me| us)? (?P<subject>(?:a|an|the|our|some|my) [^,;:.?!]{{2,50}}?){_END}",
        rf"\b(?:next(?: up| topic| question| item| decision| on the list)?|topic|subject|agenda|question|open question|moving on|now)\s*(?::|is|to|–|—|-)\s*{_SUBJECT}{_END}",
        rf"^(?:(?:now|next|then|and|so|ok|okay|finally|lastly|on to|also)[,:]?\s+)+(?P<subject>(?:the|our|my) [^,;:.?!]{{2,50}}?){_END}",
        rf"\bhow (?:should|shall|do|would|will|could|can) (?:we|you|i)(?: best| want to)? (?P<subject>(?:handle|do|manage|approach|organi[sz]e|store|host|deploy|test|run|structure|build|track|cache|monitor|style|document|ship|set up)\b[^,;:.?!]{{0,50}}?){_END}",
        rf"\bwhere (?:should|shall|do|would|will|could|can) (?:we|you|i)(?: best| want to)? (?P<subject>(?:host|deploy|store|keep|run|put|save|document|track)\b[^,;:.?!]{{0,50}}?){_END}",
    )
)  # fmt: skip

# --- agreeing -------------------------------------------------------------------------------------

_FIRM = _any(
    "agreed", r"i agree(?: with (?:that|you|this|your \w+))?", "(?:we(?:'re| are) )?in agreement",
    r"let'?s (?:do|go with|use|take|run with|go for|pick|choose|adopt|roll with|stick with|proceed with|move forward with|lock in) (?:it|that|this|that one|this one|your (?:\w+ )?(?:suggestion|recommendation|proposal|idea|pick|choice|plan|advice)|the (?:first|recommended) (?:one|option)|what you (?:suggest(?:ed)?|recommend(?:ed)?|propose[d]?|said))",
    r"(?:we|i)(?:'ll| will) (?:do|go with|use|take|run with|go for) (?:it|that|this|that one|your (?:suggestion|recommendation|proposal|idea|pick|choice|plan|advice))",
    "go (?:with|for) (?:that|it|your (?:suggestion|recommendation|proposal|idea|pick|choice))", "go for it", "do (?:it|that)", "make it so", "lock it in", "lock that in",
    "ship it", "sold", "approved", "i approve", "you have my approval", "deal", "it's a deal", "you've convinced me", "i'm (?:sold|convinced|in|on board|all in|with you)(?: on that)?",
    "we're (?:sold|convinced|in|on board|all in)", "that's (?:decided|settled|agreed)(?: then)?", "decided", "settled", "consider it (?:decided|settled|done|agreed)", "that's what we'll do",
    "that's what we(?:'ll| will) (?:use|go with)", "that's the (?:one|plan|way to go|decision)", "count me in", "you have a deal", "i(?:'ll| will) take your (?:advice|suggestion|recommendation)",
    "that (?:gets|has) my vote", "seconded", "i second that", "no objections?(?: here| from (?:me|us))?", "green light", "signed off", "let's lock (?:it|that) in", "we have a winner",
    "that settles it", "that one,? (?:please|it is)?", "let's make it (?:official|so|happen)", "as you (?:suggest|suggested|say|recommend|recommended|propose|proposed)",
    "hereby approved", r"i'm good with (?:that|your \w+)", "then that's what we'll (?:use|do|go with)", "that it is", "that'll be it", "thumbs up", r"\+1", "👍(?:[🏻-🏿])?", "lgtm",
)  # fmt: skip
_MILD = _any(
    "yes", "yeah", "yep", "yup", "ye[ps]", "sure(?: thing)?", "absolutely", "definitely", "exactly", "of course", "certainly", "indeed", "affirmative", "by all means", "totally",
    "sounds (?:good|great|fine|right|perfect|reasonable|sensible|like a plan|about right|excellent|solid|lovely|ideal)(?: to (?:me|us))?", "sounds good", "that works(?: for (?:me|us))?", "works for (?:me|us)",
    "(?:that's |it's )?(?:fine|good|ok|okay|great) (?:by|with|for) (?:me|us)", r"i'm (?:fine|happy|ok|okay|good|comfortable|cool) with (?:that|it|this|your \w+)", "we're (?:fine|happy|ok|okay|good|cool) with (?:that|it|this)",
    r"i like (?:it|that|that one|your \w+|the sound of that)", "love it", "i love it", "please do", "go ahead", "good (?:call|choice|idea|pick|plan|thinking)", "great (?:call|choice|idea|pick|plan)", "excellent (?:choice|idea|pick)",
    "perfect(?: choice)?", "correct", "confirmed", "that's right", "you're right", "amen", "happy with that", "(?:that )?makes (?:perfect |total )?sense(?:[,.]? (?:let's do (?:it|that)|agreed))?", "fair enough", "all right then", "no complaints",
    "can't argue with that", "right,? (?:let's do (?:it|that))", "i'm for it", "i'd go with that(?: too)?", "that's a yes(?: from (?:me|us))?", "why not", "done",
)  # fmt: skip
_WEAK = _any(
    "ok", "okay", "alright", "all right", "great", "good", "nice", "cool", "fine", "thanks(?: a lot| so much)?", "thank you", "awesome", "wonderful", "right", "well", "then", "please", "so", "hmm", "oh", "ah",
    "i see", "noted", r"for (?:the )?[\w ]{2,40}", r"on (?:the )?[\w ]{2,40}", "everyone", "all", "team", "too", "me too", "as well", "that's great", "go on", "and", "folks", "now", "we", "from (?:me|us)", "here",
    "appreciate it", "excellent", "brilliant", "super", "lovely", "cheers", "with (?:that|you)(?: on that)?", "wholeheartedly", "fully", "completely", "100%", "on this(?: one)?", "on that(?: one)?",
)  # fmt: skip
_AGREE = rf"(?:{_FIRM}|{_MILD}|{_WEAK})"


def _misspellings(words: Iterable[str], real: Iterable[str]) -> dict[str, str]:
    """One slip of the fingers in a word of ours: two letters swapped, one lost or struck twice."""
    found: dict[str, str] = {}
    for word in words:
        for at in range(1, len(word)):
            twice = word[: at + 1] + word[at:]
            lost = word[:at] + word[at + 1 :] if at < len(word) - 1 else ""
            swapped = word[:at] + word[at + 1 : at + 2] + word[at] + word[at + 2 :]
            for wrong in (twice, lost, swapped):
                if wrong:
                    found.setdefault(wrong, word)
    for word in (*words, *real):
        found.pop(word, None)
    return found


_OWN_WORDS = (
    "agreed", "decided", "recommend", "suggest", "prefer", "settled", "choose", "chosen", "picked",
    "going", "sounds", "with", "let's", "decision", "definitely", "favorite", "favourite", "instead",
    "switch", "replace", "scratch", "always", "never", "please", "should", "stick", "adopt",
    "committed", "approved", "switching", "using", "sticking",
)  # fmt: skip
_REAL_WORDS = (
    "agree", "chose", "greed", "decide", "gong", "goin", "wit", "wth", "wih", "lets", "let", "stck",
    "sound", "prefers", "sick", "pleas", "replaced", "alway", "shold", "nver", "pease", "witch",
    "swich", "adapt", "apt", "never", "neve", "lest", "let'ss", "ever", "seats", "seat", "stic",
    "place", "setled", "pick", "dopt", "wiht", "whit", "going", "soul", "sounds", "ponds",
)  # fmt: skip

_MONTH = r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sep(?:t(?:ember)?)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)"
_STARTS = r"(?:we|i|it|the|that|this|these|let|our|my|you|so|and|but|they|he|she|there|what|how|please|then|also|for|on|ok|okay|no|yes|in|if|an?)"
"""How a sentence begins: the dot before it did end one."""
_LIMIT = _any(
    "if",
    "when",
    "while",
    "for",
    "in",
    "on",
    "until",
    "after",
    "before",
    "with",
    "at",
    "to",
    "as long",
    "during",
    "where",
)
_ITEM = r"(?!(?:i|we|it|that|this|you|they|he|she|there|let's|please|thanks|thank|then|which|who|not|no|so|but|because|since|for|as|instead|final|period)\b)[^\s,;:.!?]+(?: (?!(?:and|or|plus|is|are|was|were|has|have|will|can|for|as|it|that)\b)[^\s,;:.!?]+){0,3}"
_NAMED = r"(?-i:[A-Z$€£\d])[^\s,;:.!?]*(?: (?-i:[A-Z\d])[^\s,;:.!?]*){0,2}"

ENGLISH: Final = Language(
    inner=_re(
        # Each ends with its comma or dot. To look for one first spares most words the rest.
        r"\b(?:(?<=\d),(?=\d)|(?=\w[^,.]{0,23}[,.])(?:"
        rf"{_MONTH}\.? \d{{1,2}}(?:st|nd|rd|th)?,(?= ?\d{{4}}\b)|\d{{1,2}}(?:st|nd|rd|th)? {_MONTH},(?= ?\d{{4}}\b)|{_MONTH},(?= \d{{4}}\b)"
        rf"|(?:mon|tues|wednes|thurs|fri|satur|sun)day,(?= (?:the )?(?:{_MONTH}\b|\d{{1,2}}(?:st|nd|rd|th)? (?:of )?{_MONTH}\b))"
        r"|(?<!\.)(?-i:Dr|Mr|Mrs|Ms|Prof|St|Ste|Mt|Ft|Gen|Col|Sgt|Capt|Lt|Rev|Hon|Sr|Sra|Fr)\."
        rf"(?=\s+(?!{_STARTS}\b)(?-i:[A-ZÀ-Þ]))"
        rf"|(?<!\.)(?-i:[A-Z]\.(?:[A-Z]\.)*)(?=\s+(?!{_STARTS}\b)(?-i:[A-ZÀ-Þ]))"
        r"|(?<!\.)(?:no|nr|vol|ch|sec|fig|approx|ca|v|ver)\.(?=\s*\d)"
        r"|(?:inc|ltd|corp|co|bros|jr|sr|etc|vs|approx|dept|est|min|max|[ap]\.m)\.(?=,?\s+(?-i:[a-zà-þ0-9]))"
        rf"|{_MONTH}\.(?= \d)"
        r"))"
    ),
    limited=_re(
        rf"\b(?:but|though|and)(?:,)? (?:only|just|merely|solely|not)\b|\bexcept\b|\bexcepting\b|\bexcluding\b|\bunless\b|\b(?:only|solely|exclusively) {_LIMIT}\b"
        r"|\b(?:as|so) long as\b|\bon (?:the )?condition\b|\bprovided\b|\bapart from\b|\bother than\b|\bwith the exception\b|\bsubject to\b"
    ),
    quotable=_re(
        r"\b(?:let'?s|let us|decid|decis|agree|chose|choice|pick|went with|go(?:ing)? (?:with|for|ahead)|gone with|settle|opt(?:ed|ing)? |use|using|adopt|stick|prefer|favou?r|rather|"
        r"it is|wins|won|will be|we'?ll|we will|i'?ll|i will|instead|switch|chang|replac|migrat|mov(?:e|ing)|scratch|never ?mind|forget|undo|cancel|revok|revers|reopen|drop|off the table|no longer|"
        r"my |our |call me|i live|i work|i'm|i am|based in|we have|we're|always|usually|from now on|hate|dislike|can't stand|don't like|like|love|answer|reply|respond|"
        r"yes|yeah|yep|yup|sure|absolutely|sounds|works for|fine|sold|deal|approved|lgtm|confirmed|perfect|good (?:call|idea|choice)|do it|do that|ship it|lock|plan is|plan:|"
        r"seconded|count me in|in favou?r|vote|settles|final|official|make it|put down|note down|mark|commit|proceed|approve|standardi|against|we've|i've|great|correct|by all means|go on|go$|"
        r"no objection|set on|make|first|second|third|latter|former|option)\b|👍|\+1|\bdecided|\bagreed"
        r"|\b(?:decid|decis|agree|settl|pick|chos|choos|opt|adopt|stick|prefer|favou?r|switch|chang|replac|migrat|revok|revers|reopen|standardi|approv|confirm|commit|select|finali|elect)\w*"
    ),
    assents=frozenset(
        "agreed agree agreement let's lets we'll i'll go do make lock ship sold approved approve approval deal "
        "convinced in board decided settled done yes yeah yep yup yes sure absolutely definitely exactly course "
        "certainly indeed affirmative means totally sounds works fine good ok okay great happy comfortable like "
        "love please call choice idea pick plan perfect correct confirmed right amen sense fair complaints argue "
        "yea yess why +1 👍 lgtm second seconded objection objections vote green signed winner settles official "
        "so hereby thumbs suggest suggested say recommend recommended propose proposed count that one for 1".split()
    ),
    rules=(*_RETURNS, *_CHANGES, *_BACK, *_PREFERENCES, *_DECISIONS, *_FACTS),
    proposals=_PROPOSALS,
    topics=_TOPICS,
    asks=_re(
        r"^(?:(?:and|so|but|ok(?:ay)?|well|hmm|also|then|now|wait|hey|hi|oh|right|actually)[,.]?\s+)*(?:should|shall|can|could|do(?!n't| not| it\b| that\b)|does|did|would|will|is|are|am|was|were|has|have (?:we|you|i)|had|may|might|must|"
        r"what|what's|which|who|whom|whose|when|where|why|how|isn't|aren't|don't (?:we|you)|doesn't|didn't|won't|wouldn't|shouldn't|can't we|couldn't)\b(?! (?:be|it be)\b)"
    ),
    supposed=_re(
        r"\b(?:if|what if|suppose|supposing|imagine|assuming|unless|in case|hypothetically|hypothetical|theoretically|in theory|provided (?:that )?|whether|were we to|had we|as though|pretend|let's say|say we|"
        r"depending on|until we|for example|for instance|e\.g|would have|could have|should have|i wish|just kidding|jk|lol no)\b"
    ),
    doubted=_re(
        r"\b(?:not|never|must|shall|neither|nor|hardly|maybe|perhaps|possibly|probably|might|may|could|would|wonder|wondering|unsure|doubt|guess|considering|thinking (?:of|about|we)|leaning|tempted|torn|almost|nearly|"
        r"want to know|tell me|explain|ask|asking|whether|used to|hope|hoping|wish|was going to|were going to|"
        r"at my (?:old|last|previous|former)|back (?:then|in)|last (?:year|time|job|month)|years? ago|in my (?:last|previous|old)|previously|example|sample|joke|joking|kidding|fictional|novel|story|movie|song|headline|"
        r"try to|trying to|refus\w+|reject\w*|regret)\b|n't\b"
        r"|\b(?:before|after|once|when|whenever|while|because|since|although|though|until|till|why|how|what|where|who|that|which)(?: \w+ly)?,?\s*$"
    ),
    reported=_re(
        r"\b(?!(?:i|we|you|it|that|this|second|further|some|careful|much)\b)(?P<who>[\w'-]+)(?: \w+ly| also| once| always| just| has| have| had| will| would| might| may)? (?:said|says|say|told|tells|thinks?|thought|suggest(?:s|ed)?|propos(?:es|ed)|wants?|wanted|recommend(?:s|ed)?|mention(?:s|ed)|claim(?:s|ed)?|argu(?:es|ed)|wrote|writes|"
        r"asked|asks|insist(?:s|ed)|prefer(?:s|red)?|believes?|believed|feels?|felt|announced|declared|reckons?|posted|tweeted|commented|replied|answered|reads|keeps saying|states?|stated|reported|reports)\b"
        r"|\baccording to\b|\b(?:he|she|they|their|his|her)\b|\bquot(?:e|es|ed|ing)\b|^[^,:]{0,40}\b(?:doc|docs|article|blog|post|email|readme|manual|page|paper|book|tutorial|guide|website|site|log|output|message|ticket|error)\b[^,:]{0,20}\b(?:says?|said|reads?|states?|claims?|tells|recommends?|suggests?)\b"
    ),
    told=_re(
        r"[,\"”']\s*(?:said|says|was what|were the words of|wrote|according to|quoth|told me|as)\s+(?!i\b|we\b|you\b|discussed|decided|agreed|planned)\w+|[,–—-]+\s*(?!i |we |you )[\w' ]{1,20} (?:said|says|wrote|suggested|told|thinks|claimed|insists|proposed|recommended)\b(?! i| we)"
        r"|,?\s+(?:right|ok|okay|no|yes|correct|agreed|deal|yeah|huh|eh)\s*\?$|\bwas (?:his|her|their|tom's) (?:idea|suggestion|words)|\bi (?:asked|wondered|thought|almost|nearly)\b|\bjust kidding\b|\bor (?:not|should|do|maybe|perhaps|what)\b"
    ),
    lead=_re(
        r"(?:^|[,.:;–—-]\s*|\b(?:and|so|ok|okay|then|now|also|alright|finally|yes|agreed|great|good|right|well|perfect|fine|sure|next|lastly|first),?\s+)"
        r"(?:for|on|as for|as to|as far as|regarding|re:?|about|concerning|when it comes to|with respect to|with regard to|in terms of|as regards|speaking of|touching|in)\s+(?P<subject>[^,:;–—]{2,60}?)"
        r"(?: goes| is concerned| part| front| side)?(?:\s*[,:–—-]+\s*|\s+)(?:(?:then|yes|agreed|ok|okay|so|i think|i say|i'd say|and|now|well|we all agree|we both agree|i guess|i agree|actually|after some thought|after all|today|all right|alright|sure|definitely),?\s+)*$"
    ),
    lead_old=_re(
        r"\b(?:instead of|rather than|in place of|not|forget|forget about|scrap|no more|scratch|as a replacement for|replacing|to replace)\s+(?:using |going with )?(?P<old>[^,:;–—]{1,50}?)\s*[,:;–—-]+\s*(?:(?:and|but|then|so|actually|now|please|ok|okay)\s*,?\s*)*$"
    ),
    serves=_re(r"\s+(?:for|as(?! (?:discussed|decided|agreed|planned|you|we|well|it|per|soon|long|they|suggested|recommended|proposed|always|before|usual|a (?:team|result|group|start|whole|compromise)|the (?:team|group))\b)|when it comes to|on the topic of|regarding|in terms of|with regard to)\s+(?!now\b|sure\b|good\b|real\b|the (?:time being|moment|win|future|long run|rest of)\b|starters\b|once\b|a (?:while|start|change|bit)\b|simplicity|everyone\b|everybody\b|it\b|that\b|this\b(?! \w)|them\b|us\b|me\b|you\b|both\b|that reason|its\b|their\b|obvious|various|several|many|a (?:few|couple|number)\b|better\b|performance reasons|free\b|all (?:of )?(?:these|those|the) reasons)"),
    replaces=_re(r",?\s+(?:instead of|rather than|over|in place of|in lieu of|replacing|to replace|as a replacement for|not|and not|vs\.?|versus|as opposed to|ahead of|and drop|and ditch|than)\s+(?=\S)"),
    ends=_re(
        r"\s+(?:because|since|so that|so|given|considering|due to|thanks to|which|that (?:is|was|we|will|would|can|gives|has)|who|where|while|whereas|although|though|when|whenever|unless|if|but|"
        r"this (?:morning|afternoon|evening|week|month|time|sprint|quarter|year|round)|yesterday|last night|on (?:monday|tuesday|wednesday|thursday|friday)|in (?:the|our|today's) (?:meeting|call|standup)|then|instead(?! of)|please|going forward|from (?:now|here|today|this point)(?: on(?:wards?)?)?|everyone|folks|team|after all|right away|right now|for (?:now|sure|good|real|the time being|the moment|starters|simplicity|obvious|various|several|once|everyone)\b.*|as (?:discussed|decided|agreed|planned|you|we|well|it|per|suggested|recommended|proposed|before|usual|a team|a group|the team)|"
        r"and (?:use|take|pick|switch|choose|adopt|go|move|try|drop|move on|be done|call it|see|that's|then|get|start|let|leave|finish|not look|never look|i(?:'ll)?|we(?:'ll)?|you|it|stop|continue|proceed|revisit|keep going|go from|don't|can you|could you|please|what|how)|"
        r"today|tomorrow|already|too|okay|ok|alright|as well|in the end|to be (?:safe|clear|honest|precise)|to start with|to begin with|once and for all|moving forward|indeed|overall|thanks|thank you|hands down|all the way|any ?more|any ?longer|after some|after all|after much|it's|it is|it has|it'll|we can|we need|unanimously|no matter|like (?:you|we|i)|per (?:your|our|the)|just like|now(?: on)?(?=[\s,.!]|$)|either way|anyway|any day|from the start|going to|by far|by now|this time|at last|at least|in general|i think|i guess|i suppose|i believe|with (?:no|zero) (?:objections|doubt)|without (?:a )?(?:doubt|question|further)|pretty please|my friend|mate|guys|y'all|all right|don't you|do you|will you|shall we|final answer|end of (?:story|discussion)|period|full stop|done deal|case closed|no question)\b.*"
        r"|\s+to (?=[a-z]+ ?(?:our|the|it|a|all|this|everything|things|us)\b).*|\s+[-–—]+\s.*|[;:!?(\[{\n].*|\.\s.*|\.{2,}.*|,\s+(?!inc\b|llc\b).*|(?<=\w)[\"”'`](?=\s+(?:is|was)\b).*|\s*[😀-🙏🚀👍🎉✅❤].*"
    ),
    lists=_re(
        rf"^[\"'”’`)]*(?:(?:,\s+{_ITEM})+,?\s+(?:and|or|plus|&)\s+{_ITEM}|,\s+(?:and|or|plus|as well as|&)\s+{_NAMED})\s*(?:$|[,.;:!?)]|(?:for|as|in|to|on)\b)"
        r"|^[\"'”’`)]*,?\s+(?:or )?(?:maybe|perhaps|possibly)\b"
        rf"|^[\"'”’`)]*(?P<loose>(?:,\s+{_NAMED})+)\s*(?:$|[.;!?)]|(?:for|as) )"
    ),
    listed=_re(
        rf"^(?!(?:ok|okay|good|great|fine|yes|so|then|agreed|right|alright|perfect|well|sure|done|deal|sold|now|yep|yeah|hmm|actually|finally|thanks|for|as|in|on|regarding|about)\b)(?:{_NAMED},\s+)+$"
    ),
    also=_re(r"^\s*(?:,|;|,?\s+and|,?\s*&|,?\s*\+|,?\s+plus|,?\s+while|,?\s+with)\s+(?:also\s+|then\s+|finally\s+)?"),
    or_else=_re(r"\b(?:i|i'm|i'd|i've|i'll|you|you're|he|she|they|we|we're|they're|is|are|was|were|am|isn't|did|does|didn't|how|what|why|who|cause|should|would|could|can|will|or|versus|vs|either|whichever|whatever|something|anything|some kind|some sort|undecided|tbd|nothing|none)\b|\?"),
    article=_re(r"^(?:the|a|an|our|my|your|some|this|that|these|those)\s+"),
    trim_front=_re(r"^(?:(?:just|simply|the good old|good old|plain old|plain|ol'|again|only|definitely|exactly|maybe|either|something like|using|use|with|on|both|in fact|actually|now|the option of|option \w:|of course|still|always|well|yes|yep|say|that'd be|that is|it's|be|having|being|going with|for)\s+)+"),
    trim_back=_re(r"(?:[\s,.;:!\"'“”`*_~–—-]|(?<!\()\))+$"),
    empty=_re(
        r"^(?:(?:it|this|that|them|these|those|you|him|her|me|us|myself|yourself|ourselves|itself)\b.*|one|ones|him|her|you|me|us|we|i|he|she|they|something|anything|everything|nothing|whatever|all|both|neither|either|any|some|none|many|more|most|much|less|few|better|best|there|here|now|then|so|such|same|the same|"
        r"(?:the |that |this |your |my |our |a |an |his |her |their )?(?:(?:other|first|second|third|last|next|best|better|good|great|right|same|new|whole|recommended|suggested|latter|former|easy|simple|quick|deep|short|long|different|extra|more|few|\w+'s) )?(?:one|ones|option|options|suggestion|suggestions|recommendation|recommendations|proposal|idea|ideas|plan|way|approach|thing|things|stuff|choice|pick|advice|decision|time|moment|chance|opportunity|break|look|step|steps|flow|next|rest|it|question|topic|point|detail|details|caution|care|fun|lunch|dinner|coffee|ahead|on|forward|back|home|bed|sleep|work|walk|sense|sure|done|first|second|third|former|latter|day|call it a day|it a day)(?: (?:above|below|first|later|now|again|today|you (?:\w+))| \d+)?"
        r"|(?:to|not|how|what|why|when|if|is|are|was|be|been|being|do|don't|doing|see|know|go|going|get|make|sure to|up|down|out|off|over|in|at|by|of|from|about|into|onto|with|without|each other|ourselves|myself|yourself)\b.*|(?:the|a|an|our|my|your))$"
    ),
    no_subject=_re(
        r"\b(?:problem|point|thing|issue|question|idea|reason|guess|answer|truth|fact|bug|error|catch|trick|goal|result|difference|hope|fear|feeling|impression|understanding|mistake|bad|fault|pleasure|case|case here|same|way|key|first|second|third|last|next|other|one|rest|best|worst|thought|thoughts|take|opinion|view|view on|word|words|good news|bad news|news|news is|code|output|log|logs|test|function|script|line|following|message|example|sentence|request|reply|response|whole|weather|sky|main reason|only)$"
    ),
    agrees=_re(rf"^(?:{_AGREE}(?:[\s,.!–—:;-]+|$))+$"),
    agrees_firmly=_re(rf"(?:^|[\s,.!–—-]){_FIRM}(?=[\s,.!–—-]|$)"),
    fillers=_re(rf"^(?:{_WEAK}(?:[\s,.!–—:;-]+|$))+$"),
    contrast=_re(r"^(?:(?:hmm|well|oh|ah)[,.]? )?(?:but|however|although|though|except|only if|wait|hold on|on the other hand|not so fast|still,|then again|actually|no\b|not\b|isn't|aren't|doesn't|unless|if\b|what if|scratch|i'm not sure|i am not sure|let me think)"),
    picks=_re(rf"^(?:(?:{_FIRM}|{_MILD}|{_WEAK})[\s,.!:–—-]+)*(?:i(?:'d| would| will|'ll)? (?:say|go with|take|pick|choose|like|want|prefer)|the |let's (?:go with|use|take|pick)|we(?:'ll| will) (?:take|go with|use)|make (?:it|that)|give me)?\s*(?P<value>[^,;:?!]{{1,50}}?)(?:,? (?:please|then|thanks|it is|for sure|definitely|works|of course|thank you|i think|i'd say|by far|hands down|all the way|sounds good))*[.!]*$"),
    ordinals={
        "first": 0, "first one": 0, "first option": 0, "former": 0, "option 1": 0, "option a": 0, "number one": 0, "option one": 0,
        "second": 1, "second one": 1, "second option": 1, "option 2": 1, "option b": 1, "number two": 1, "option two": 1,
        "third": 2, "third one": 2, "third option": 2, "option 3": 2, "option c": 2, "latter": -1, "last": -1, "last one": -1, "last option": -1,
    },
    alternative=_re(r"^(?:alternatively|otherwise|another (?:option|choice|way|candidate)|a (?:second|different) (?:option|choice)|if you|if we|or |some (?:teams|people|prefer)|many|others?|you could also|we could also|also|the alternative|in contrast|as an alternative|compared|unlike|avoid|don't|not )"),
    changed=_re(rf"{_OH}{_TURN}(?:{_PAUSE}|\s*$)"),
    instead=_re(r"\binstead\b(?! of\b)|\bafter all\b(?! (?:the|of|these|those|this|that)\b)"),
    misspelt=_misspellings(_OWN_WORDS, _REAL_WORDS) | {"wiht": "with", "wtih": "with", "defintely": "definitely", "definately": "definitely", "recomend": "recommend", "reccomend": "recommend", "reccommend": "recommend", "perfer": "prefer", "lets'": "let's", "commited": "committed", "comitted": "committed", "commiting": "committing", "comitting": "committing"},
)  # fmt: skip
