"""Claims out of what was said, by rules, without a model: precision before recall.

A claim is made of a user's turn. Where the user agrees ("sounds good"), or decides without saying
what about ("let's go with that one"), the turns right before complete it. What a tool, a document
or a page of the web says makes no claim, and what a model says makes none unless a user agrees.
Authority comes from the channel a turn came through, never from its words.

ENSURES of every claim: each span lies within the stored text of its page, between characters; the
value, and where it is known the subject, stand in the turns that the evidence names.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest
from typing import Final

from pagefault.model.ids import PageId
from pagefault.model.kinds import MODEL_GENERATED, USER_APPROVED, USERS, ClaimType, Origin, Role
from pagefault.model.page import Evidence
from pagefault.truth.claim import Authority, Claim, Turn, wording
from pagefault.truth.english import ENGLISH
from pagefault.truth.language import Language, Needs, Rule
from pagefault.truth.passages import Passage, Sentence, words_of
from pagefault.truth.phrase import Choice, Piece, choices, is_name, subject_of, value_of
from pagefault.truth.subjects import subject_key, value_key

_CLAIMS_MAX: Final = 8  # of one turn; a turn that says more lists, and does not decide
_ANSWER_WORDS: Final = 6  # of a turn that answers a question with a value and nothing else


@dataclass(frozen=True, slots=True)
class _Found:
    """A claim in the making, of one sentence of one turn."""

    rule: Rule
    value: str
    subject: str
    old: str
    spans: tuple[Evidence, ...]
    ends: int = 0  # where its words end in their sentence
    changes: bool = False
    points: bool = False  # at what was said right before: "scrap that, …"


def extract(
    turn: Turn, before: Sequence[Turn] = (), *, language: Language = ENGLISH
) -> list[Claim]:
    """The claims that `turn` makes. `before` are the turns right before it, the newest last.

    Pure, and quick: a turn that holds no claim costs a few microseconds for each hundred words.
    """
    if turn.role is not Role.USER:
        return []
    passage = Passage(turn.text, language.misspelt, language.quotable, language.inner)
    rules = language.cues.rules(passage.words)
    found = list(_said(turn, passage, language)) if rules else []
    may_agree = not language.assents.isdisjoint(passage.words) or _may_answer(turn, before)
    if may_agree and not any(one.rule.type is ClaimType.DECISION for one in found):
        agreed = _agreed(turn, passage, before, language)
        if agreed:
            return agreed[:_CLAIMS_MAX]
    context = _Context(before, language)
    told = [one for one in found if _is_told(one, context)]
    claims = [_claim(turn, one, context) for one in told[:_CLAIMS_MAX]]
    return _once(claims)


def _is_told(found: _Found, context: _Context) -> bool:
    """Whether a value that nothing marks as one was at least shown right before: "let's use tabs"
    decides where tabs were proposed, "let's use caution" never does.
    """
    if found.rule.type is not ClaimType.DECISION or found.subject or is_name(found.value):
        return True
    if found.changes and " " not in found.value:
        return True  # the book writes it only where it takes the place of something
    return context.shown is not None and _stands_in(found.value, context.shown.text)


# --- what a turn says by itself -------------------------------------------------------------------


def _said(turn: Turn, passage: Passage, language: Language) -> Iterator[_Found]:
    earlier: list[Sentence] = []  # since the last that made a claim
    turned = False  # whether the sentence before says that something changes, and no more
    pointed = False  # and points at what was said
    sentences = passage.sentences()
    for sentence, after in zip_longest(sentences, sentences[1:]):
        if after is not None and language.limited.match(after.text):
            continue  # "But only for tests." says of the sentence before that it holds in part
        tried = language.cues.rules(words_of(sentence.text))
        if not _NAMES.search(sentence.text, 1):
            tried = [rule for rule in tried if not _asks_a_name(rule)]
        lead = language.changed.match(sentence.text)
        found = list(_of_rest(turn, passage, sentence, lead, tried, language)) if lead else []
        if not found:
            found = list(_of_sentence(turn, passage, sentence, tried, language)) if tried else []
        if lead or turned or language.instead.search(sentence.text):
            found = [replace(one, changes=True) for one in found]
        points = lead is not None and bool(lead["points"] or lead["points_back"])
        if points or (turned and pointed):
            found = [replace(one, points=True) for one in found]
        pointed = points
        turned = lead is not None and lead.end() == len(sentence.text)
        for one in found:
            if one.subject or one.rule.type is not ClaimType.DECISION:
                yield one
                continue
            topics = (_topic(turn, passage, before, language) for before in reversed(earlier[-2:]))
            subject, span = next((topic for topic in topics if topic), ("", None))
            yield replace(one, subject=subject, spans=(*one.spans, span) if span else one.spans)
        earlier = [] if found else [*earlier, sentence]


def _of_rest(
    turn: Turn,
    passage: Passage,
    sentence: Sentence,
    lead: re.Match[str],
    rules: Sequence[Rule],
    language: Language,
) -> Iterator[_Found]:
    """What a sentence holds true that begins by saying that something changes: "scrap that, …"."""
    rest = Sentence(sentence.text[lead.end() :], sentence.at + lead.end(), sentence.asks)
    if language.supposed.search(sentence.text):
        return
    for one in _of_sentence(turn, passage, rest, rules, language):
        if one.rule.type is not ClaimType.RETRACTION:
            yield one


_NAMES: Final = re.compile(r"[\d$€£¥]|(?<![\w'])(?!I\b)[A-Z]|[a-z][A-Z]")


def _asks_a_name(rule: Rule) -> bool:
    return rule.type is ClaimType.FACT and rule.needs is Needs.NAME


def _of_sentence(
    turn: Turn, passage: Passage, sentence: Sentence, rules: Sequence[Rule], language: Language
) -> Iterator[_Found]:
    """The claims of a sentence; its suppositions are looked for only where a rule matches."""
    rules = [rule for rule in rules if rule.pattern.search(sentence.text)]
    if not rules:
        return
    for clause in _clauses(sentence, language):
        yield from _of_clause(turn, passage, sentence, clause, rules, language)


def _clauses(sentence: Sentence, language: Language) -> list[Piece]:
    """A sentence less its questions and suppositions, cut where its mood may change."""
    if language.supposed.search(sentence.text):
        return []
    pieces: list[Piece] = []
    at = 0
    for found in _TURNS.finditer(sentence.text):
        pieces.append(Piece(sentence.text[at : found.start()], at))
        at = found.end()
    pieces.append(Piece(sentence.text[at:], at))
    if sentence.asks:
        pieces.pop()
    return [piece for piece in pieces if piece.text and not language.asks.match(piece.text)]


_TURNS: Final = re.compile(
    r",?\s+(?:but|however|though|although)\b,?\s*|;\s*|,\s+(?=(?:what|how|should|shall|can|"
    r"could|do|does|is|are|which|who|why|when)\s)|,?\s+and\s+(?=(?:let's|we'll|we will|i'll|"
    r"for)\s)",
    re.IGNORECASE,
)


def _of_clause(
    turn: Turn,
    passage: Passage,
    sentence: Sentence,
    clause: Piece,
    rules: Sequence[Rule],
    language: Language,
) -> Iterator[_Found]:
    taken: list[tuple[int, int]] = []
    for rule in rules:
        for match in rule.pattern.finditer(clause.text):
            if any(start < match.end() and match.start() < end for start, end in taken):
                continue
            if not _is_own_voice(clause, match, rule, language):
                continue
            made = list(_matched(turn, passage, sentence, clause, match, rule, language))
            if made:
                ends = max((one.ends for one in made), default=clause.at) - clause.at
                taken.append((match.start(), min(match.end(), max(ends, match.start() + 1))))
                yield from made


def _is_own_voice(clause: Piece, match: re.Match[str], rule: Rule, language: Language) -> bool:
    """Whether what a rule found is said by the author, and meant."""
    ahead = clause.text[: match.start()]
    if language.doubted.search(_UNNAY.sub("", ahead)) or language.reported.search(ahead):
        old = language.lead_old.search(ahead)
        if (
            not old
            or language.reported.search(ahead)
            or language.doubted.search(ahead[: old.start()])
        ):
            return False
    if language.told.search(clause.text, match.start()):
        return False
    speaker = _SPEAKER.match(clause.text)
    return not (
        speaker and rule.type is not ClaimType.FACT and _SPEAKS.match(clause.text[speaker.end() :])
    )


_UNNAY: Final = re.compile(
    r"^(?:no|nope|nah)[,.!]\s+|\bwhy not\b[,!.]?|\bno (?:doubt|question|objections?)\b",
    re.IGNORECASE,
)
_SPEAKER: Final = re.compile(
    r"^\s*[@\[(<]?(?!The|Our|My|Update|Decision|Correction|Note|Edit|Final|Done|Actually|Ok|OK|"
    r"Okay|Yes|Agreed|Right|So|Regarding|"
    r"Re)[A-Z][\w.-]*(?: [A-Z][\w.-]*)?[\])>]?\s*(?:\(?\d\d?:\d\d(?: ?[AP]M)?\)?)?:\s+"
)
_SPEAKS: Final = re.compile(
    r"(?:let's|let us|i|i'm|i'll|we|we're|we'll|we've|ok|okay|yes|no|sure|agreed|please)\b",
    re.IGNORECASE,
)


def _matched(
    turn: Turn,
    passage: Passage,
    sentence: Sentence,
    clause: Piece,
    match: re.Match[str],
    rule: Rule,
    language: Language,
) -> Iterator[_Found]:
    groups = match.re.groupindex
    lead = _lead(clause, _past_separator(clause.text, match.start()), language)
    own = _group(clause, match, "subject")
    named = subject_of(own, language) if own else None
    if own is not None and (named is None or language.ends.search(own.text)):
        return
    old_piece = _group(clause, match, "old")
    old = value_of(old_piece, language) if old_piece else None
    if old is None:
        before = language.lead_old.search(clause.text[: match.start()])
        old = value_of(_group_of(clause, before, "old"), language) if before else None
    if "tail" in groups:
        start = match.start("tail")
        tail = Piece(clause.text[start:], clause.at + start)
        picked = list(choices(tail, language))
    else:
        value = _group(clause, match, "value")
        whole = (
            value
            if rule.needs in (Needs.PLAIN, Needs.NAMES)
            else value_of(value, language)
            if value
            else None
        )
        if whole is not None:
            picked = [Choice(whole)]
        elif rule.type is ClaimType.RETRACTION and rule.needs is Needs.PLAIN:
            picked = [Choice(Piece(match[0], clause.at + match.start()))]
        else:
            return
    if named is None and lead is None and rule.type is ClaimType.DECISION:
        named = _trail(clause, match.end(), language)
    for place, choice in enumerate(picked):
        subject = choice.subject or named or (lead if place == 0 else None)
        if not _is_enough(rule, choice, subject, language):
            continue
        if named and choice.subject and rule.type is ClaimType.DECISION:
            subject = named
        if _is_partial(rule, match, choice, sentence, language):
            continue
        yield _found(turn, passage, sentence, match, rule, choice, subject, old, place, clause)


def _is_partial(
    rule: Rule, match: re.Match[str], choice: Choice, sentence: Sentence, language: Language
) -> bool:
    """Whether a value is less than what was said: the first of a list, or said with a condition
    that does not stand in it. A claim says all of it, or is not made.
    """
    value = choice.value
    limits = language.limited.finditer(sentence.text)
    if any(not value.at <= one.start() <= one.end() <= value.end for one in limits):
        return True
    if rule.type is ClaimType.RETRACTION or value.text == match[0]:
        return False
    if _AND.search(value.text) and language.listed.match(sentence.text[: value.at]):
        return True
    more = language.lists.match(sentence.text[value.end :])
    return more is not None and (not more["loose"] or rule.type is not ClaimType.FACT)


_AND: Final = re.compile(r"\s(?:and|or|&)\s", re.IGNORECASE)


def _past_separator(text: str, at: int) -> int:
    found = _SEPARATOR.match(text, at)
    return found.end() if found else at


_SEPARATOR: Final = re.compile(r"\s*[,.:–—-]*\s*")


def _is_enough(rule: Rule, choice: Choice, subject: Piece | None, language: Language) -> bool:
    value = choice.value.text
    if rule.type is ClaimType.FACT and subject:
        text = subject.text
        if language.no_subject.search(text) or language.doubted.search(text):
            return False
    if rule.needs is Needs.SUBJECT:
        return subject is not None
    if rule.needs is Needs.WORD:
        is_about = subject is not None or rule.type is ClaimType.RETRACTION
        return is_name(value) or (" " not in value and (is_about or rule.name == "commanded"))
    if rule.needs is Needs.BOTH:
        return subject is not None and is_name(value)
    if rule.needs is Needs.NAMES:
        return _NAMES.search(value) is not None
    if rule.needs is Needs.NAME:
        return is_name(value)
    if rule.needs is Needs.PLAIN or rule.type is ClaimType.RETRACTION:
        return True
    return True


def _found(
    turn: Turn,
    passage: Passage,
    sentence: Sentence,
    match: re.Match[str],
    rule: Rule,
    choice: Choice,
    subject: Piece | None,
    old: Piece | None,
    place: int,
    clause: Piece,
) -> _Found:
    """The claim's own words as they were written, with the bytes where they stand."""
    old = choice.old or old
    pieces = [piece for piece in (choice.value, subject, old) if piece is not None]
    begins = min(piece.at for piece in pieces)
    ends = max(piece.end for piece in pieces)
    if place == 0:
        begins = min(begins, clause.at + match.start())
    span = _span(turn, passage, sentence, begins, ends)
    anaphoric = rule.type is ClaimType.RETRACTION and choice.value.text == match[0]
    if old and rule.type is ClaimType.FACT:
        rule = replace(rule, type=ClaimType.DECISION)  # "we now use X instead of Y"
    return _Found(
        rule=rule,
        value="" if anaphoric else _written(passage, sentence, choice.value),
        subject=rule.subject or (_written(passage, sentence, subject) if subject else ""),
        old=_written(passage, sentence, old) if old else "",
        spans=(span,),
        ends=ends,
    )


def _lead(clause: Piece, upto: int, language: Language) -> Piece | None:
    found = language.lead.search(clause.text[:upto])
    if found:
        return subject_of(_group_of(clause, found, "subject"), language)
    label = _LABEL.match(clause.text[:upto])
    return subject_of(_group_of(clause, label, "subject"), language) if label else None


def _trail(clause: Piece, since: int, language: Language) -> Piece | None:
    """A subject that follows after a comma: "Redis it is, for the cache"."""
    found = _TRAILS.match(clause.text, since)
    return subject_of(_group_of(clause, found, "subject"), language) if found else None


_TRAILS: Final = re.compile(
    r"\s*,\s*(?:then,?\s+)?(?:for|as|on)\s+(?P<subject>(?:the|our|my) [^,;:.!?]{2,50})",
    re.IGNORECASE,
)
_LABEL: Final = re.compile(
    r"^\s*(?P<subject>[a-z][\w /-]{1,40}|[A-Z][\w-]*(?: [\w/-]+){0,4})\s*[:–—-]\s*(?:(?:yes|ok|"
    r"okay|so|then|agreed|yeah|and|well),?\s+)*$"
)


def _group(clause: Piece, match: re.Match[str], name: str) -> Piece | None:
    if name not in match.re.groupindex or match[name] is None:
        return None
    return _group_of(clause, match, name)


def _group_of(clause: Piece, match: re.Match[str], name: str) -> Piece:
    return Piece(match[name], clause.at + match.start(name))


def _span(turn: Turn, passage: Passage, sentence: Sentence, start: int, end: int) -> Evidence:
    return _evidence(turn, passage, sentence.at + start, sentence.at + end)


def _evidence(turn: Turn, passage: Passage, start: int, end: int) -> Evidence:
    first, last = passage.place(start, end)
    return Evidence(page_id=turn.page_id, start=first, end=last)


def _written(passage: Passage, sentence: Sentence, piece: Piece) -> str:
    words = passage.written(sentence.at + piece.at, sentence.at + piece.end)
    return " ".join(words.split())


def _topic(
    turn: Turn, passage: Passage, sentence: Sentence, language: Language
) -> tuple[str, Evidence] | None:
    """What a sentence is about: a question's subject, or a heading's."""
    for pattern in language.topics:
        for found in pattern.finditer(sentence.text):
            subject = subject_of(Piece(found["subject"], found.start("subject")), language)
            if subject is not None and subject_key(subject.text):
                span = _span(turn, passage, sentence, subject.at, subject.end)
                return _written(passage, sentence, subject), span
    return None


# --- what was said before -------------------------------------------------------------------------


class _Context:
    """What the turns before a user's turn were about. Read only when asked."""

    def __init__(self, before: Sequence[Turn], language: Language) -> None:
        self._before = before
        self._language = language
        self._proposed: list[_Found] | None = None

    @property
    def shown(self) -> Turn | None:
        """The assistant's turn right before, if that is what came right before."""
        last = self._before[-1] if self._before else None
        return last if last is not None and last.role is Role.ASSISTANT else None

    @property
    def proposed(self) -> list[_Found]:
        """What the assistant proposed there, one value for each subject; nothing if it wavered."""
        if self._proposed is None:
            self._proposed = _proposals(self.shown, self._language) if self.shown else []
        return self._proposed

    def subject(self, value: str) -> tuple[str, tuple[Evidence, ...]]:
        """What a value without a subject was said about, and where that stands."""
        for one in self.proposed:
            if one.subject and value_key(one.value) == value_key(value):
                return one.subject, one.spans
        subjects = {subject_key(one.subject): one for one in self.proposed if one.subject}
        if len(subjects) == 1:
            only = next(iter(subjects.values()))
            return only.subject, only.spans
        return self.topic()

    def topic(self) -> tuple[str, tuple[Evidence, ...]]:
        """The subject of the last question among the last two turns."""
        told = self._language
        for turn in reversed(self._before[-2:]):
            if turn.role not in (Role.USER, Role.ASSISTANT):
                break
            passage = Passage(turn.text, told.misspelt, told.quotable, told.inner)
            for sentence in reversed(list(passage.sentences())):
                topic = _topic(turn, passage, sentence, self._language)
                if topic:
                    return topic[0], (topic[1],)
        return "", ()


def _proposals(turn: Turn, language: Language) -> list[_Found]:
    found: list[_Found] = []
    passage = Passage(turn.text, {}, language.quotable, language.inner)
    for sentence in passage.sentences():
        if language.alternative.match(sentence.text):
            continue
        clause = Piece(sentence.text, 0)
        for rule in language.proposal_cues.rules(words_of(sentence.text)):
            made = [
                one
                for match in rule.pattern.finditer(sentence.text)
                if not language.reported.search(sentence.text[: match.start()])
                and not _NEGATED.search(sentence.text[: match.start()])
                for one in _matched(turn, passage, sentence, clause, match, rule, language)
            ]
            if made:
                found += made
                break
    by_subject: dict[str, _Found] = {}
    for one in found:
        key = subject_key(one.subject)
        other = by_subject.get(key) or by_subject.get("")
        if other is None:
            by_subject[key] = one
        elif value_key(other.value) != value_key(one.value):
            if key not in by_subject or not key:
                continue
            return []  # two values for one thing: there is nothing to agree to
        elif not subject_key(other.subject) and key:
            by_subject.pop("")
            by_subject[key] = one
    return list(by_subject.values())


_NEGATED: Final = re.compile(r"\b(?:not|never|wouldn't|don't|avoid)\b", re.IGNORECASE)


# --- agreeing -------------------------------------------------------------------------------------


def _agreed(
    turn: Turn, passage: Passage, before: Sequence[Turn], language: Language
) -> list[Claim]:
    """The claims of a turn that agrees to what the assistant showed right before it."""
    context = _Context(before, language)
    if context.shown is None:
        return []
    sentences = list(passage.sentences())
    if not sentences:
        return []
    yes, firmly, used = _yes(sentences, language)
    if yes is None:
        return _picked(turn, passage, sentences, context, language)
    if any(language.contrast.match(sentence.text) for sentence in sentences[used:]):
        return []
    if not firmly and _asks_otherwise(context, language):
        return []
    assent = _span(turn, passage, yes, 0, len(yes.text))
    return [
        replace(claim, evidence=(assent, *claim.evidence))
        for one in context.proposed
        if (claim := _approved(turn, one, context))
    ]


def _yes(sentences: list[Sentence], language: Language) -> tuple[Sentence | None, bool, int]:
    """The sentence that agrees, whether firmly, and how many sentences were read."""
    for number, sentence in enumerate(sentences[:3], 1):
        if sentence.asks or not language.agrees.match(sentence.text):
            return None, False, number
        if not language.fillers.match(sentence.text):
            return sentence, bool(language.agrees_firmly.search(sentence.text)), number
    return None, False, len(sentences)


def _asks_otherwise(context: _Context, language: Language) -> bool:
    """Whether what the assistant asked last was not whether to do what it proposed."""
    assert context.shown is not None
    passage = Passage(context.shown.text, {}, language.quotable, language.inner)
    sentences = list(passage.sentences())
    if not sentences or not sentences[-1].asks:
        return False
    last = passage.written(sentences[-1].at, sentences[-1].at + len(sentences[-1].text))
    if _OFFERS.search(last):
        return False
    return not any(value_key(one.value) in value_key(last) for one in context.proposed)


_OFFERS: Final = re.compile(
    r"\b(?:shall we|sound (?:good|right|ok|okay|fair)|agree|agreed|ok|okay|works? for you|"
    r"what do you (?:think|say)|good for you|deal|go (?:ahead )?with (?:that|it)|lock (?:it|"
    r"that) in|happy with|fine with|right|correct|confirm|settle on (?:that|it)|are you (?:ok|"
    r"okay|on board)|proceed|approve|objections?|thoughts)\b",
    re.IGNORECASE,
)


def _picked(
    turn: Turn, passage: Passage, sentences: list[Sentence], context: _Context, language: Language
) -> list[Claim]:
    """A turn that is a value and little else, which the assistant's turn had shown or asked for."""
    first = sentences[0]
    if first.asks or len(sentences) > 2 or len(first.text.split()) > _ANSWER_WORDS + 4:
        return []
    if any(language.contrast.match(sentence.text) for sentence in sentences):
        return []
    assert context.shown is not None
    match = language.picks.match(first.text)
    if match is None or language.doubted.search(first.text):
        return []
    rule = Rule("picked", ClaimType.DECISION, language.picks, 0.8)
    piece = Piece(match["value"], match.start("value"))
    named = language.ordinals.get(_ARTICLE.sub("", piece.text.casefold()))
    shown = context.shown
    if named is not None:
        options = _options(shown, language)
        if not options or not -len(options) <= named < len(options):
            return []
        value, span = options[named]
        own = _span(turn, passage, first, piece.at, piece.end)
        subject, where = context.topic()
        found = _Found(rule, value, subject, "", (own, span, *where))
        return [_claim(turn, found, context, approved=True)]
    pair = next(iter(choices(piece, language)), None)
    if pair is None or not _stands_in(_written(passage, first, pair.value), shown.text):
        return []
    if len(pair.value.text.split()) > _ANSWER_WORDS - 1:
        return []
    if not ("?" in shown.text or context.proposed):
        return []
    made = _found(
        turn, passage, first, match, rule, pair, pair.subject, None, 0, Piece(first.text, 0)
    )
    claim = _claim(turn, made, context)
    return [claim] if claim.subject else []


_ARTICLE: Final = re.compile(r"^the\s+")


def _stands_in(value: str, text: str) -> bool:
    return re.search(rf"(?<!\w){re.escape(value)}(?!\w)", text, re.IGNORECASE) is not None


def _options(shown: Turn, language: Language) -> list[tuple[str, Evidence]]:
    """What the assistant set side by side: "X or Y", or the items of a list."""
    passage = Passage(shown.text, {}, language.quotable, language.inner)
    plain = passage.plain
    items = list(_ITEM.finditer(plain))
    pieces = [Piece(item["item"], item.start("item")) for item in items]
    if len(pieces) < 2:
        sides = _SIDES.search(plain)
        if not sides:
            return []
        pieces = [Piece(sides[n], sides.start(n)) for n in ("first", "second")]
    found = []
    for piece in pieces:
        value = value_of(piece, language)
        if value is None:
            return []
        where = _evidence(shown, passage, value.at, value.end)
        found.append((passage.written(value.at, value.end), where))
    return found


_ITEM: Final = re.compile(
    r"^\s*(?:[-*•]|\(?[1-9a-d][.)]|option [1-9a-d]:)\s+(?P<item>[^\n:–—,(]{1,60})",
    re.MULTILINE | re.IGNORECASE,
)
_SIDES: Final = re.compile(
    r"\b(?:either |between |choose |use |are |with |: )?(?P<first>[A-Z][\w.+#-]*(?: \d[\w.]*|"
    r" [A-Z][\w.+#-]*)*)(?:,)? (?:or|and) (?:with )?(?P<second>[A-Z][\w.+#-]*(?: \d[\w.]*|"
    r" [A-Z][\w.+#-]*)*)"
)


# --- claims ---------------------------------------------------------------------------------------


def _may_answer(turn: Turn, before: Sequence[Turn]) -> bool:
    """Whether a turn without any telling word may yet be the answer to a question: it is short."""
    if not before or before[-1].role is not Role.ASSISTANT or len(turn.text) > 80:
        return False
    return "?" in before[-1].text


def _approved(turn: Turn, proposed: _Found, context: _Context) -> Claim | None:
    claim = _claim(turn, proposed, context, approved=True)
    return claim if claim.subject or is_name(claim.value) else None


def _claim(turn: Turn, found: _Found, context: _Context, *, approved: bool = False) -> Claim:
    rule, subject, spans = found.rule, found.subject, found.spans
    kind = rule.type
    confidence = rule.confidence
    topic = ""
    if not subject and kind is ClaimType.DECISION and not found.old:
        subject, where = context.subject(found.value)
        spans = (*spans, *where)
        confidence -= 0.0 if subject else 0.2
        if found.changes or rule.changes:
            subject, topic = "", subject
    about: tuple[PageId, ...] = ()
    if found.points or (kind is ClaimType.RETRACTION and not found.value and not subject):
        about = tuple(one.page_id for one in context._before if one.role is Role.USER)[-1:]
    authority, origin = _authority(turn, context, approved=approved)
    value = f"not {found.value}" if rule.negative else found.value
    return Claim(
        type=kind,
        subject=subject,
        value=value,
        text=wording(kind, subject, value, found.old),
        evidence=tuple(dict.fromkeys(spans)),
        authority=authority,
        origin=origin,
        confidence=round(confidence, 2),
        instead_of=found.old,
        changes=found.changes or rule.changes,
        returns=rule.returns,
        topic=topic,
        about=about,
    )


def _authority(turn: Turn, context: _Context, *, approved: bool) -> tuple[Authority, Origin]:
    """The lowest of all it came from; only a user who typed it raises a model's words."""
    if turn.origin not in USERS:
        return Authority.PROPOSED, turn.origin
    if not approved:
        return Authority.USER, turn.origin
    shown = context.shown
    if shown is not None and shown.origin == MODEL_GENERATED:
        return Authority.USER, USER_APPROVED
    return Authority.PROPOSED, shown.origin if shown is not None else turn.origin


def _once(claims: list[Claim]) -> list[Claim]:
    """Less what says the same twice."""
    seen: set[tuple[str, ...]] = set()
    kept: list[Claim] = []
    for claim in claims:
        key = (claim.type, subject_key(claim.subject), value_key(claim.value))
        if key not in seen:
            seen.add(key)
            kept.append(claim)
    return kept
