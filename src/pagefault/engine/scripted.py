"""A deterministic engine for demonstrations, replays and tests: no model, no network, no peeking.

It sees only the request. It looks for sentences in it that are relevant to the newest question; if
they are thin and it has tools, it searches memory and faults the most promising pages in. Then it
quotes the best sentences with citations, or says that it does not know. It obeys the limits that
the request states.
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import AsyncIterator, Iterable
from dataclasses import dataclass, replace
from typing import Any, Final

from pagefault.model.kinds import Role
from pagefault.model.request import Message, Reply, Request, ToolCall
from pagefault.model.signatures import checked

UNKNOWN: Final = "I don't have that in the mapped context."

_MANIFEST: Final = "<VM:MANIFEST_JSON>\n"
_CONTEXT_END: Final = re.compile(r"</?VM:CONTEXT(?: \d+)?>")
_LABELLED: Final = re.compile(
    r"^(?:(?P<letter>[A-Z]) )?\((?P<id>[a-z]{3,4}_[0-9]+)(?P<rest>[^()\n]*)\):? ", re.MULTILINE
)
_REFERENCE: Final = re.compile(r"^S \([a-z]{3,4}_[0-9]+ · L3[^()\n]*\)$", re.MULTILINE)
"""A summary shown as its header only: it exists, but its content is not there."""
_NAMED: Final = re.compile(
    r"^\((?P<id>[a-z]{3,4}_[0-9]+) · newer than (?P<older>[a-z0-9_, ]+)\)$", re.MULTILINE
)
"""A line that says which of the pages shown elsewhere is newer."""
_INDEX: Final = "X"
_WORD: Final = re.compile(r"\w+")
_SENTENCE: Final = re.compile(r"(?<=[.!?。！？])\s+|\n+")
_CERTAIN: Final = 0.9  # of the question's weight in one passage: no further search is needed
# A choice, not fitted; it is the reader's alone, which the north star reports apart.
_PROMISING: Final = 0.15  # likelihood of a hit, as stated by search, below which it is not faulted
_LIMIT: Final = re.compile(
    r"at most (\d+) pages of together at most (\d+) tokens"
    r'|"max_faults_per_turn":(\d+),"upgrade_budget_tokens":(\d+)'
)
_CITATION: Final = re.compile(r"\s*\[ref:[^\]]*\]")
_CONTRACTED: Final = re.compile(r"(?<=\w)['’](?:s|re|ll|ve|d|m|t)\b", re.IGNORECASE)
_RECALLING: Final = re.compile(
    r"\b(?:as )?(?:we|i|you)(?:['’]ve| have| had)? (?:all )?(?:decided|agreed|settled|discussed|"
    r"said|chose|picked|"
    r"established|concluded|talked)(?: (?:on|about|upon|the|it|this|that))?(?= (?:earlier|"
    r"before|already|previously|then|"
    r"back)\b)|\b(?:earlier|again|previously|already|exactly|remind me|remember|as before|"
    r"please|which one)\b",
    re.IGNORECASE,
)
"""Phrases that ask for something said earlier: they announce a recollection, not its subject."""
_CLAIM: Final = "C"
_SUMMARY: Final = "S"
_BY_NOBODY: Final = frozenset({_CLAIM, _SUMMARY})
_CLAIM_ID: Final = re.compile(r"\bclm_[0-9]+\b")
_PAGE_ID: Final = re.compile(r"\b[a-z]{3,4}_[0-9]+\b")
_OF_CLAIMS: Final = (
    "decide decided decision choose chose chosen choice pick picked agree agreed settle settled "
    "select selected use using used take go going went gone land landed prefer preferred"
)
"""Words of a question for what a line with the letter C holds."""
_COMMON: Final = frozenset(
    "a about after all am an and any are as at be been before but by can could did do does for "
    "from had has have he her hers him his how i if in into is it its just me my no not of on or "
    "our out over she so some than that the their them then there these they this those to too up "
    "us was we were what when where which while who whom whose why will with would you your".split()
)


@dataclass(frozen=True, slots=True)
class Passage:
    """A labelled text that the request shows."""

    page_id: str
    who: str
    text: str
    letter: str = ""  # of its line, if it has one (docs/protocol.md)
    newer_than: tuple[str, ...] = ()  # according to its label
    older_than: tuple[str, ...] = ()
    lapse: str = ""  # why a claim no longer holds

    @property
    def words(self) -> str:
        """The words that a question may share with it."""
        also = _OF_CLAIMS if self.letter == _CLAIM else ""
        return f"{self.who} {self.text} {also}"


class ScriptedEngine:
    """`sure` is the share of the question's weight that a passage must have to be an answer."""

    @checked
    def __init__(self, *, sure: float = 0.5, quotes: int = 2) -> None:
        self._sure = sure
        self._quotes = quotes

    @checked
    async def reply(self, request: Request) -> AsyncIterator[str | Reply]:
        """Decide, then stream the text word by word, as a provider would."""
        reply = self.decide(request)
        if not reply.tool_calls:
            for piece in re.findall(r"\S+\s*", reply.text):
                yield piece
        yield reply

    @checked
    def decide(self, request: Request) -> Reply:
        """The whole reply to a request: deterministic."""
        question, since = _question(request.messages)
        passages = [p for m in request.messages for p in passages_of(m) if p.text != question.text]
        weights = _weights(question, passages)
        ranked = _ranked(passages, weights)
        calls = _next_calls(request, question, since, ranked[0][0] if ranked else 0.0)
        if calls:
            return Reply(text="", tool_calls=calls)
        sure = [passage for score, passage in ranked if score >= self._sure]
        best = _still_true([passage for passage in sure if not _only_asks(passage.text)])
        best = best[: self._quotes]
        if not best:
            return Reply(text=UNKNOWN)
        said = [
            f"{p.who + ': ' if p.who else ''}“{_sentence(p.text, weights)}” [ref: {p.page_id}]"
            for p in best
        ]
        return Reply(text="\n".join(said))


def passages_of(message: Message) -> list[Passage]:
    """The pages that a message shows, from their labels, or from the envelope of a tool result."""
    if message.role is Role.TOOL:
        match _json(message.content):
            case {"page": {"level": 3}}:
                return []  # a reference shows that a page exists, not what it says
            case {"page": {"page_id": str(page_id), "content": {"text": str(text)}, **page}}:
                meta = page.get("meta")
                told = meta if isinstance(meta, dict) else {}
                who, lapse = (str(told.get(name, "")) for name in ("speaker", "lapse"))
                return [Passage(page_id, who, _uncited(text), lapse=_lapse(lapse))] if text else []
        return []
    content = message.content
    if message.role is Role.SYSTEM:
        content = content.rpartition("<VM:CONTEXT>\n")[2] if _has_context(content) else ""
    elif content.startswith(_MANIFEST):
        content = content.partition("</VM:MANIFEST_JSON>\n")[2]
    content = _NAMED.sub("", _REFERENCE.sub("", content))
    found = list(_LABELLED.finditer(content))
    if not found:
        return []
    ends = [match.start() for match in found[1:]] + [len(content)]
    return [
        Passage(
            match["id"],
            "" if match["letter"] in _BY_NOBODY else _speaker(match["rest"]),
            _uncited(_CONTEXT_END.sub("", content[match.end() : end])).strip(),
            match["letter"] or "",
            newer_than=_told("newer", match["rest"]),
            older_than=_told("older", match["rest"]),
            lapse=_lapse(match["rest"]),
        )
        for match, end in zip(found, ends, strict=True)
        if match["letter"] != _INDEX  # an index, which lists content without quoting it
    ]


def newer_of(message: Message) -> dict[str, tuple[str, ...]]:
    """The pages that separate lines of a message name as newer, and what they are newer than."""
    found = _NAMED.finditer(message.content)
    return {match["id"]: tuple(_PAGE_ID.findall(match["older"])) for match in found}


def _told(how: str, rest: str) -> tuple[str, ...]:
    """The pages that a label calls its page newer, or older, than."""
    _, found, after = rest.partition(f" · {how} than ")
    return tuple(_PAGE_ID.findall(after.partition(" · ")[0])) if found else ()


def _lapse(rest: str) -> str:
    """Why a claim does not hold, from the rest of its label."""
    parts = rest.split(" · ")
    return next((part for part in parts if part.startswith(("stale: ", "expired: "))), "")


def _speaker(rest: str) -> str:
    """The speaker, from the rest of a label."""
    first = rest.strip(" ·").split(" · ")[0]
    return "" if first.startswith(("newer than ", "older than ")) else first


def _has_context(system: str) -> bool:
    """Whether a system message is a developer message, which ends with the mapped pages."""
    return _MANIFEST in system and system.endswith("</VM:CONTEXT>")


def _question(messages: tuple[Message, ...]) -> tuple[Passage, int]:
    """The newest user message, and where the messages after it begin."""
    for place in range(len(messages) - 1, -1, -1):
        if messages[place].role is Role.USER:
            passages = passages_of(messages[place])
            if passages:
                return passages[-1], place + 1
            return Passage("", "", messages[place].content), place + 1
    return Passage("", "", ""), len(messages)


def _next_calls(
    request: Request, question: Passage, since: int, confidence: float
) -> tuple[ToolCall, ...]:
    """The calls before answering, if any: a search, then faults within the stated limit."""
    if not request.tools:
        return ()
    later = request.messages[since:]
    made = [call for message in later for call in message.tool_calls]
    number = len(made)
    if not made:
        if confidence >= _CERTAIN:
            return ()
        # Verbatim: search also reads from it who and when, which single words do not show.
        query = _asked(question.text).strip() or question.text
        arguments = json.dumps({"query": query, "limit": 5}, ensure_ascii=False)
        return (ToolCall(f"call_{question.page_id}_{number}", "search_pages", arguments),)
    if any(call.name == "page_fault" for call in made):
        return ()
    results = [
        hit
        for message in later
        if message.role is Role.TOOL
        for hit in _json(message.content).get("results", [])
    ]
    stated = _LIMIT.search(request.messages[0].content)
    faults, tokens_left = map(int, filter(None, stated.groups())) if stated else (1, 0)
    wanted: list[str] = []
    for hit in results:
        cost = hit.get("tokens_est", 0)
        if hit.get("relevance", 1.0) < _PROMISING:
            continue
        if len(wanted) < faults and (cost <= tokens_left or not stated):
            wanted.append(hit["page_id"])
            tokens_left -= cost
    return tuple(
        ToolCall(
            f"call_{question.page_id}_{number + place}",
            "page_fault",
            json.dumps({"page_id": page_id, "target_level": 0, "reason": "user_requested_recall"}),
        )
        for place, page_id in enumerate(wanted)
    )


def _only_asks(text: str) -> bool:
    """Whether a text only asks: no answer, however many words it shares."""
    sentences = [s.strip(" \"”“’'") for s in _SENTENCE.split(text) if s.strip()]
    return all(sentence.endswith(("?", "？")) for sentence in sentences)


def _still_true(passages: list[Passage]) -> list[Passage]:
    """Without claims that a later one closes, or whose label says that they lapsed; if the best is
    a claim, only claims.
    """
    closed = {
        name
        for passage in passages
        if passage.letter == _CLAIM
        for name in _CLAIM_ID.findall(passage.text)
    }
    left = [one for one in passages if one.page_id not in closed and not one.lapse]
    if left and left[0].letter == _CLAIM:
        return [passage for passage in left if passage.letter == _CLAIM]
    return left


def _weights(question: Passage, passages: Iterable[Passage]) -> dict[str, float]:
    """The weight of each word of the question: rare words in what is shown weigh most."""
    terms = _terms(_asked(question.text)) or _terms(question.text)
    seen: Counter[str] = Counter()
    total = 1
    for passage in passages:
        total += 1
        seen.update(set(_stems(passage.words)))
    return {term: math.log(1 + total / (1 + seen[term])) for term in terms}


def _asked(question: str) -> str:
    """A question without its recall phrase."""
    if not _RECALLING.search(question):
        return question
    return " ".join(_CONTRACTED.sub("", _RECALLING.sub(" ", question)).split())


def _ranked(passages: list[Passage], weights: dict[str, float]) -> list[tuple[float, Passage]]:
    """Passages with their share of the question's weight, best first; on ties a claim, then the
    latest.

    An answer need not name what it answers ("What for the cache?" – "Redis, please."): a turn
    inherits half of the weight that a question among the two turns before it has and it lacks. Half
    is enough to be quoted, and never as much as naming it.
    """
    found: list[tuple[tuple[float, bool, int], float, Passage]] = []
    before: list[Passage] = []
    for place, passage in enumerate(passages):
        own = _score(passage, weights)
        before = [] if passage.letter else before
        around = " ".join(one.words for one in before if one.text.rstrip().endswith(("?", "？")))
        both = _score(replace(passage, text=f"{passage.text} {around}"), weights)
        score = own + (both - own) / 2
        found.append(((-round(score, 6), passage.letter != _CLAIM, -place), score, passage))
        before = [*before[-1:], passage]
    return [(score, passage) for _, score, passage in sorted(found, key=lambda one: one[0])]


def _score(passage: Passage, weights: dict[str, float]) -> float:
    """The share of the question's weight whose words are in the passage."""
    whole = sum(weights.values())
    stems = set(_stems(passage.words))
    return (
        sum(weight for term, weight in weights.items() if term in stems) / whole if whole else 0.0
    )


def _uncited(text: str) -> str:
    """Without the citations of an earlier answer: quoted, they would look like our own."""
    return _CITATION.sub("", text)


def _sentence(text: str, weights: dict[str, float]) -> str:
    sentences = [s.strip() for s in _SENTENCE.split(text) if s.strip()]
    if not sentences:
        return text
    return max(sentences, key=lambda s: sum(weights.get(stem, 0.0) for stem in set(_stems(s))))


def _telling_words(text: str) -> list[str]:
    return [word for word in _WORD.findall(text) if word.casefold() not in _COMMON]


def _terms(text: str) -> list[str]:
    return list(dict.fromkeys(_stems(text)))


def _stems(text: str) -> list[str]:
    """Words with rough endings removed: enough to match plurals and tenses, in any language."""
    return [_fold(word.casefold()) for word in _telling_words(text)]


def _fold(word: str) -> str:
    for ending in ("ing", "ies", "ed", "es", "s"):
        if len(word) > len(ending) + 2 and word.endswith(ending):
            return word[: -len(ending)]
    return word


def _json(text: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}
