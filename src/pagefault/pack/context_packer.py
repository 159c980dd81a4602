"""Which of all that could stand in a context pack does. Pure.

A pack is filled as a knapsack is by hand: in the order of what matters, one item after the other,
each if there is room. Three kinds of room hold at once: the tokens of the whole; a share of them
for each section, so that one noisy source does not dominate, of which a section gets more only at
the end, and only what no other wanted; and a share for each origin that is not the user's, so that
whoever floods a memory fills no pack with it (a poisoned memory is used because it crowds out the
rest: MemoryGraft, arXiv 2512.16962). What has no room in full may come shorter. What does not fit
at all is listed with the reason, and smaller things behind it may fit.

Items come in tiers: all of a tier come before any of the next, and within one the best found, then
the newest. That is greedy, and not the largest value for the tokens; but each line's place has a
reason that can be told in a sentence, and one more item never takes away a better one.

Tokens of texts that are put together are not the sum of theirs. So lines are weighed one by one to
fill the pack, and it is then counted whole: as long as it is over, the last that came in goes.

The same items in any order make the same pack: ties are broken by ref and text.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from pagefault.model.kinds import PackType
from pagefault.pack.context_forms import framed, shown_line, text_tokens
from pagefault.pack.context_pack import (
    EVIDENCE,
    SECTIONS,
    ContextPack,
    InclusionReason,
    LeftOut,
    PackEvidence,
    PackLine,
    PackTokens,
    ValidationReport,
    as_line,
)

LEFT_OUT_MAX: Final = 50  # of what was left out is listed; all of it is counted
ORIGIN_SHARE: Final = 0.5
"""Of the tokens, what an origin that is not the user's may fill."""

LINE_SHARE: Final = 0.25
"""Of the tokens, what a line may take that could come shorter: several sources tell more than one
does.
"""
UNRANKED: Final = 1_000_000
"""The rank of what no search found: it comes after what one did."""

FULL: Final = "its section is full"

Count = Callable[[str], int]


@dataclass(frozen=True, slots=True, kw_only=True)
class PackItem:
    """Something that could be a line of a section, and what it rests on.

    `text`, which says something, is the line without its cites, `shorter` what may stand instead;
    in the section of the evidence the line is made of what is quoted. `rank` is its place among
    what a search found. `says` are texts that would tell nothing beside it; `quote` is the text of
    one that only quotes, and so is left out where another says it. `origin` is whose share it
    takes, "" for nobody's.
    """

    section: str
    tier: int
    text: str
    evidence: PackEvidence
    reason: str
    shorter: str = ""
    rank: int = UNRANKED
    at_ms: int = 0
    says: tuple[str, ...] = ()
    quote: str = ""
    origin: str = ""

    @property
    def cites(self) -> tuple[str, ...]:
        """Itself, and the first page that it rests on."""
        return (self.evidence.ref, *(span.ref for span in self.evidence.rests_on[:1]))

    @property
    def place(self) -> tuple[int, int, int, str, str, str]:
        """Where it stands among the items: the least first."""
        return self.tier, self.rank, -self.at_ms, self.evidence.ref, self.section, self.text

    @property
    def is_quote_elsewhere(self) -> bool:
        """Whether it is all that a page says, told in another section than that of the evidence:
        where that is full, it is evidence like any other.
        """
        return bool(self.quote) and self.evidence.is_whole and self.section != EVIDENCE

    def as_evidence(self) -> PackItem:
        evidence = replace(self.evidence, section=EVIDENCE)
        return replace(self, section=EVIDENCE, text=self.quote, evidence=evidence)

    def line(self, text: str) -> PackLine:
        if self.section == EVIDENCE:
            shown = replace(self.evidence, text=text)
            return PackLine(text=as_line(shown), cites=(self.evidence.ref,))
        return PackLine(text=text, cites=self.cites)


@dataclass(frozen=True, slots=True, kw_only=True)
class PackHead:
    """What is told of a pack besides its lines."""

    query: str
    generated_at: str
    pack_type: PackType
    matched: int = 0
    fallback: str = ""
    validation: ValidationReport = field(default_factory=ValidationReport)


@dataclass(frozen=True, slots=True)
class _Chosen:
    item: PackItem
    text: str


def pack_items(
    items: Iterable[PackItem],
    head: PackHead,
    *,
    target: int,
    count: Count,
    left_out: Sequence[LeftOut] = (),
    origin_share: float = ORIGIN_SHARE,
    measure: Callable[[ContextPack], int] | None = None,
) -> ContextPack:
    """The pack of these items that comes to `target` tokens at most, as `measure` counts them: by
    itself the longest of its text forms. `left_out` is what was never an item, and why.
    """
    measured = measure or (lambda pack: text_tokens(pack, count))
    ordered = sorted(_merged(items), key=lambda one: one.place)
    filling = _Filling(head, target=target, count=count, origin_share=origin_share)
    trimmed = filling.fill(ordered)
    chosen = filling.chosen
    while True:
        pack = _pack(chosen, head, [*left_out, *trimmed], target, trimmed=len(trimmed))
        used = measured(pack) if chosen else 0
        if used <= target:
            return replace(pack, token_budget=replace(pack.token_budget, used=used))
        last = chosen.pop()
        trimmed.append(_trimmed(last.item, "no room", count(shown_line(last.item.line(last.text)))))


def _merged(items: Iterable[PackItem]) -> list[PackItem]:
    """Each thing once. A quote of what another line says is left out, but raises that line: it gets
    the quote's rank, and its tier if that comes first.
    """
    kept: list[PackItem] = []
    saying: dict[str, int] = {}
    told = sorted(items, key=lambda one: (bool(one.quote), one.section == EVIDENCE, one.place))
    for item in told:
        said = item.quote or item.text
        at = saying.get(_key(said))
        if at is None:
            for text in (said, *item.says):
                saying.setdefault(_key(text), len(kept))
            kept.append(item)
            continue
        keeper = kept[at]
        also = tuple(dict.fromkeys((*keeper.evidence.also, item.evidence.ref, *item.evidence.also)))
        evidence = replace(
            keeper.evidence,
            also=tuple(one for one in also if one != keeper.evidence.ref),
        )
        if item.rank < keeper.rank:
            of = item.evidence
            evidence = replace(evidence, score=of.score, relevance=of.relevance, parts=of.parts)
        kept[at] = replace(
            keeper,
            evidence=evidence,
            tier=min(keeper.tier, item.tier),
            rank=min(keeper.rank, item.rank),
            reason=keeper.reason if item.tier >= keeper.tier else f"{keeper.reason}; {item.reason}",
        )
    return kept


def _key(text: str) -> str:
    return " ".join(text.casefold().split())


class _Filling:
    """A pack that is being filled."""

    def __init__(self, head: PackHead, *, target: int, count: Count, origin_share: float) -> None:
        self._rules = {rule.name: rule for rule in SECTIONS[head.pack_type]}
        self._count = count
        self._room = target - count(framed(head.query, head.pack_type, head.generated_at))
        self._rooms = {name: int(rule.share * target) for name, rule in self._rules.items()}
        self._share = int(origin_share * target)
        self._line_max = int(LINE_SHARE * target)
        self._shares: Counter[str] = Counter()
        self.chosen: list[_Chosen] = []

    def fill(self, ordered: Sequence[PackItem]) -> list[LeftOut]:
        """Choose of these. What came in stands in their order; the rest is returned."""
        full, trimmed = list[PackItem](), list[LeftOut]()
        for item in ordered:
            if item.section in self._rules:
                left = self._offer(item, is_capped=True)
                is_elsewhere = item.is_quote_elsewhere and EVIDENCE in self._rules
                if left is not None and left.why == FULL and is_elsewhere:
                    item = item.as_evidence()
                    left = self._offer(item, is_capped=True)
                if left is not None and left.why == FULL:
                    full.append(item)
                elif left is not None:
                    trimmed.append(left)
        for item in full:
            left = self._offer(item, is_capped=False)
            if left is not None:
                trimmed.append(left)
        self.chosen.sort(key=lambda one: one.item.place)
        return trimmed

    def _offer(self, item: PackItem, *, is_capped: bool) -> LeftOut | None:
        heading = 0
        if all(one.item.section != item.section for one in self.chosen):
            heading = self._count(f"\n## {self._rules[item.section].title}\n")
        why, tokens = "", 0
        for text in filter(None, (item.text, item.shorter)):
            tokens = self._count(shown_line(item.line(text)) + "\n")
            if text != item.shorter and item.shorter and tokens > self._line_max:
                continue
            if item.origin and self._shares[item.origin] + tokens > self._share:
                why = f"{item.origin} has its share of the pack"
            elif heading + tokens > self._room:
                why = "no room"
            elif is_capped and tokens > self._rooms[item.section]:
                why = FULL
            else:
                self._rooms[item.section] -= tokens
                self._room -= heading + tokens
                self._shares[item.origin] += tokens
                self.chosen.append(_Chosen(item, text))
                return None
        return _trimmed(item, why, tokens)


def _trimmed(item: PackItem, why: str, tokens: int) -> LeftOut:
    return LeftOut(ref=item.evidence.ref, section=item.section, why=why, tokens=tokens)


def _pack(
    chosen: Sequence[_Chosen],
    head: PackHead,
    left_out: Sequence[LeftOut],
    target: int,
    *,
    trimmed: int,
) -> ContextPack:
    names = [rule.name for rule in SECTIONS[head.pack_type] if rule.name != EVIDENCE]
    sections: dict[str, list[PackLine]] = {name: [] for name in names}
    evidence: dict[str, PackEvidence] = {}
    reasons: dict[str, str] = {}
    for one in chosen:
        item = one.item
        if item.section != EVIDENCE:
            sections[item.section].append(item.line(one.text))
            evidence.setdefault(item.evidence.ref, item.evidence)
        else:  # a line of another section may cite it, too
            is_whole = item.evidence.is_whole and one.text == item.text
            quoted_now = replace(item.evidence, text=one.text, is_whole=is_whole)
            evidence[quoted_now.ref] = quoted_now
        reasons.setdefault(item.evidence.ref, item.reason)
    mix = Counter(str(one.source) for one in evidence.values())
    return ContextPack(
        query=head.query,
        generated_at=head.generated_at,
        pack_type=head.pack_type,
        sections={name: tuple(lines) for name, lines in sections.items()},
        token_budget=PackTokens(target=target, trimmed=trimmed),
        validation_report=head.validation,
        source_mix=dict(sorted(mix.items())),
        evidence=tuple(evidence.values()),
        inclusion_reason=tuple(
            InclusionReason(ref=ref, reason=reason) for ref, reason in reasons.items()
        ),
        matched=head.matched,
        fallback=head.fallback,
        left_out=tuple(left_out[:LEFT_OUT_MAX]),
        left_out_total=len(left_out),
    )
