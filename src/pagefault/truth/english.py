"""English forms of sentences that decide, rule, prefer, state and retract, each matched as a whole.

A form matches a whole message, and every word has its place in the form: a name, a number, or one
word for a thing. So nothing before, within or after the sentence can invert its meaning, in any
words or language: there is no room for it. If a word alone could be anything ("my name is
important"), a capital or a number is required, as evidence of a name. Form does not distinguish a
verb that orders from one that reports ("always fails"), so a rule must be requested ("please
always", "I want you to never"). Except for such capitals, which an all-caps sentence does not have,
case and the form of apostrophes are irrelevant.

Not to be extended: `docs/truth.md` has what the forms score on other people's sentences. They get
these wrong: a joke that is one plain sentence ("let's use Excel"), a play whose roles were given in
another message, an ambiguous word.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from pagefault.model.kinds import ClaimType

_POINTS: Final = (
    "it|its|this|that|these|those|them|him|her|me|you|us|both|one|ones|either|neither|none|all|some|any|each|more|less|most"
    "|something|anything|everything|nothing|someone|anyone|everyone|nobody|whatever|whichever|what|which|who|how|so|too|not|no"
    "|other|others|another|same|such|former|latter|fewer|many|much|enough"
    "|never|ever|again|here|there|now|then|today|tonight|tomorrow|yet|soon|later|instead|once"
)
"""Words that name nothing by themselves, or only a time."""
_LETTER: Final = "A-Za-zÀ-ÖØ-öø-ɏ"
_NAMES: Final = rf"(?!(?i:{_POINTS})\b)"
_WORD: Final = rf"{_NAMES}[{_LETTER}][{_LETTER}\d]*(?:_[{_LETTER}\d]+)*[+#]*"
_CAPITAL: Final = "[A-ZÀ-ÖØ-Þ]"
_NAME: Final = rf"(?P<name>{_NAMES}(?-i:{_CAPITAL}[{_LETTER}]*(?:[-']{_CAPITAL}[{_LETTER}]*)*))"
_CHOICE: Final = rf"{_WORD}(?: \d[\d.]*)?"
_VALUE: Final = rf"(?P<value>{_CHOICE})"
_OLD: Final = rf"(?P<old>{_CHOICE})"
_FOR: Final = rf" (?:for|as) (?:the|our|my) (?P<subject>{_WORD})"
_NOT: Final = r" (?:instead of|rather than) "
_END: Final = r"(?:,? (?:instead|after all|please))?"

_TAKE: Final = (
    r"(?:(?:let's|we'll|we will|we) use|(?:let's|we'll|we will) (?:go|stick) with|(?:we're|we are|I'm|I am) (?:going|sticking) with"
    r"|(?:we|I)(?:'ve| have)? (?:decided (?:on|to use|to go with)|agreed on|settled on|chosen|chose|picked))"
)
_SETTLE: Final = r"(?:(?:let's|we'll|we will) (?:use|(?:go|stick) with)|we(?:'ve| have)? decided to (?:use|go with))"
"""Decides by naming only the choice. Past choices ("we picked apples"), company ("I'm going with
Ann") and days ("we decided on Tuesday") are no decisions unless they say what they are for."""
_ALLERGEN: Final = (
    "(?:almonds?|aspirin|beef|bees?|bee stings|celery|cats?|codeine|crab|dairy|dogs?|dust(?: mites)?|eggs?|fish|gluten|grass(?: pollen)?|hazelnuts?|horses?"
    "|ibuprofen|kiwis?|lactose|latex|lupin|milk|mou?ld|mustard|nickel|nuts?|oysters?|peaches|peanuts?|penicillin|pollen|prawns?|sesame|shellfish|shrimps?|soya?|strawberries"
    "|sulph?ites?|sulfites?|tree nuts|walnuts?|wasps?|wheat|wool)"
)
"""What people are allergic to when they are not joking."""
_DAYS: Final = {
    "January": 31, "February": 29, "March": 31, "April": 30, "May": 31, "June": 30, "July": 31,
    "August": 31, "September": 30, "October": 31, "November": 30, "December": 31,
}  # fmt: skip
"""The maximum number of days of each month."""
_MONTH: Final = "|".join(_DAYS)
_DATE: Final = (
    rf"(?:(?P<day>\d\d?) (?P<month>{_MONTH})|(?P<month2>{_MONTH}) (?P<day2>\d\d?)(?:st|nd|rd|th)?)"
    r"(?:,? \d{4})?"
)
_AMOUNT: Final = rf"(?:[$€£¥]\d[\d.,]*[kKmM]?|{_DATE})"

FORMS: Final = tuple(
    (kind, fixed, re.compile(pattern, re.IGNORECASE))
    for kind, fixed, pattern in (
        (ClaimType.DECISION, "", rf"{_TAKE} {_VALUE}{_FOR}(?:{_NOT}{_OLD}|{_END})"),
        (ClaimType.DECISION, "", rf"{_TAKE} {_VALUE}{_NOT}{_OLD}(?:{_FOR})?"),
        (ClaimType.DECISION, "", rf"{_SETTLE} {_VALUE}{_END}"),
        (
            ClaimType.DECISION,
            "",
            rf"(?:let's switch|we're switching|we are switching) from {_OLD} to {_VALUE}(?:{_FOR})?",
        ),
        (
            ClaimType.DECISION,
            "",
            rf"(?:let's replace|we're replacing|we are replacing) {_OLD} with {_VALUE}(?:{_FOR})?",
        ),
        (
            ClaimType.DECISION,
            "",
            rf"(?:let's not use|(?:we're|we are) no longer using|we decided (?:against|not to use)) {_OLD}(?:{_FOR})?{_END}",
        ),
        (
            ClaimType.RULE,
            "",
            r"(?:please|I want you to|I need you to|I'd like you to|I would like you to) (?:always|never) (?!mind )"
            rf"(?P<subject>{_WORD} (?:(?:in|on|to|with|from|at|by) )?(?:(?:the|our|my) )?{_WORD})",
        ),
        (ClaimType.PREFERENCE, "", rf"I prefer {_WORD}(?: (?:over|to) {_WORD})?"),
        (ClaimType.PREFERENCE, "", rf"my favou?rite (?P<subject>{_WORD}) is {_NAME}"),
        (ClaimType.FACT, "name", rf"my name is {_NAME}"),
        (ClaimType.FACT, "home", rf"I live in {_NAME}"),
        (ClaimType.FACT, "employer", rf"I work (?:at|for) {_NAME}"),
        (ClaimType.FACT, "", rf"(?:I'm|I am) allergic to {_ALLERGEN}(?: and {_ALLERGEN})?"),
        (ClaimType.FACT, "", rf"(?P<subject>(?:my|our) {_WORD}) is (?:now )?{_AMOUNT}"),
        (ClaimType.FACT, "", rf"(?P<subject>(?:my|our) {_WORD}) is (?:called|named) {_NAME}"),
        (
            ClaimType.RETRACTION,
            "",
            rf"(?:please )?(?:forget|scrap|drop|ignore|disregard)(?: about)? {_OLD}(?:{_FOR})?",
        ),
        (
            ClaimType.RETRACTION,
            "",
            r"(?:please )?(?:forget|ignore|disregard) (?:what (?:I|we) (?:said|decided)|(?:the|my|our) (?:decision|rule|preference))"
            rf" (?:about|on) (?:(?:the|our|my) )?(?P<about>{_WORD})",
        ),
    )
)
"""For each form: its kind, the subject if one person has only one, and the whole sentence. Groups:
the subject, the choice, what the choice replaces, what a retraction names."""
PROPOSAL: Final = re.compile(
    rf"(?:I(?:'d| would)? (?:recommend|suggest|propose)(?: using)?|let's use) {_VALUE}{_FOR}",
    re.IGNORECASE,
)
"""A turn that makes one proposal, and nothing else."""
_YES: Final = (
    r"(?:yes|ok|okay|agreed|approved|confirmed|sounds good|go ahead|do it|let's do (?:that|it))"
)
_POLITE: Final = r"(?:please|thanks)"
ASSENT: Final = re.compile(rf"(?:{_POLITE},? )*{_YES}(?:,? (?:{_YES}|{_POLITE}))*")
"""A turn that says yes, and nothing else; in lower case. Thanks alone are no assent."""
REPEAT: Final = re.compile(
    rf"(?:{_YES}, )?{_SETTLE} (?P<value>(?!(?:a|an|the|my|our|your|their) ){_NAMES}[\w+#%./-]+(?: [\w+#%./-]+){{0,4}})"
    rf" for (?:(?:the|our|my) )?(?P<subject>{_WORD}(?: {_WORD}){{0,2}})",
    re.IGNORECASE,
)
"""A turn that repeats, as its decision, what the turn right before said of the same thing: the
repetition is evidence that several words are one name."""
_FIRST: Final = {"lets": "let's", "im": "I'm", "ive": "I've", "id": "I'd", "weve": "we've"}
"""First words without their apostrophe; "were" and "well" are words of their own."""
NO_SUBJECT: Final = frozenset(
    "moment time day week month year sake future start beginning end weekend record rest thing stuff purpose reason win"
    " question point guess problem idea answer example demo joke fun".split()
)
"""Nouns that no decision is about: "for the record", "for the example"."""

_SENTENCE: Final = re.compile(r"(\S(?:[^\n]*[^\s.!])?)[.!]?\s*")
SENTENCE_MAX: Final = 200
"""In characters; no form is longer, except with names that are none."""


@dataclass(frozen=True, slots=True)
class Parse:
    """The parts of a sentence that matched as a whole. Parts that it lacks are empty."""

    kind: ClaimType
    subject: str = ""
    value: str = ""
    old: str = ""
    about: str = ""


def only_sentence(text: str) -> str:
    """A message's only line, without its final mark; empty if it has anything else."""
    found = _SENTENCE.fullmatch(text) if len(text) <= SENTENCE_MAX else None
    return found[1] if found else ""


def read(sentence: str) -> Parse | None:
    plain = _plain(sentence)
    for kind, fixed, form in FORMS:
        found = form.fullmatch(plain)
        if found and not ("name" in form.groupindex and sentence.isupper()):
            return _reading(kind, fixed, found)
    return None


def read_repeat(sentence: str, shown: str) -> tuple[Parse, tuple[int, int]] | None:
    """A decision in the exact words of the turn that was `shown` right before it, and their span in
    that turn.
    """
    found = REPEAT.fullmatch(_plain(sentence))
    if found is None:
        return None
    said = rf"\b{re.escape(found['value'])} for (?:(?:the|our|my) )?{re.escape(found['subject'])}\b"
    repeated = re.search(said, _straight(shown), re.IGNORECASE)
    reading = _reading(ClaimType.DECISION, "", found)
    return None if repeated is None or reading is None else (reading, repeated.span())


def read_proposal(sentence: str) -> Parse | None:
    found = PROPOSAL.fullmatch(_plain(sentence))
    return _reading(ClaimType.DECISION, "", found) if found else None


def choice_of(value: str) -> str:
    """The choice in a claim's value: a value that is not a sentence is itself the choice."""
    reading = read(value) or read_proposal(value)
    return value if reading is None else reading.value


def _reading(kind: ClaimType, fixed: str, found: re.Match[str]) -> Parse | None:
    parts = {name: part or "" for name, part in found.groupdict().items() if name != "name"}
    thing = parts.get("subject", "").lower().removeprefix("my ").removeprefix("our ")
    day, month, *others = (parts.pop(name, "") for name in ("day", "month", "day2", "month2"))
    day, month = (day, month) if day else others
    if thing in NO_SUBJECT or (day and not 1 <= int(day) <= _DAYS[month.capitalize()]):
        return None
    return Parse(kind, **{"subject": fixed, **parts})


def _straight(text: str) -> str:
    return re.sub("[’‘ʼ´`]", "'", text)


def _plain(sentence: str) -> str:
    """With a lower-case initial, straight apostrophes, the first word's missing one restored, and
    single blanks.
    """
    first, blank, rest = " ".join(_straight(sentence).split()).partition(" ")
    return _FIRST.get(first.lower(), first[:1].lower() + first[1:]) + blank + rest
