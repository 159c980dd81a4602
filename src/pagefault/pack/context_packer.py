"""Selection of items for a context pack. Pure.

A pack is filled greedily: items in order of priority, each if there is room. Three limits hold at
once. The whole has a token budget. Each section has a share of it, so that one noisy source does
not dominate; at the end a section may also use what no other wanted. And each origin other than the
user has a share, so that flooding a memory does not fill packs (a poisoned memory is used because
it crowds out the rest: MemoryGraft, arXiv 2512.16962). An item without room in full may be
shortened. One that does not fit at all is listed with the reason, and smaller ones behind it may
fit.

Items come in tiers: all of a tier before any of the next, and within one the best found, then the
newest. The greedy choice does not maximise value for the tokens. But each line's place can be
explained in a sentence, and one more item never displaces a better one.

The tokens of a whole text are not the sum of its lines'. So lines are counted one by one to fill
the pack, which is then counted whole: while it is over budget, the last item added is dropped.

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

LEFT_OUT_MAX: Final = 50  # items left out are listed; all are counted
ORIGIN_SHARE: Final = 0.5
"""The share of the tokens for one origin other than the user."""

LINE_SHARE: Final = 0.25
"""The share of the tokens for a line that could be shorter: many sources inform more than one."""
UNRANKED: Final = 1_000_000
"""The rank of items that no search found: behind those that one did."""

FULL: Final = "its section is full"

Count = Callable[[str], int]


@dataclass(frozen=True, slots=True, kw_only=True)
class PackItem:
    """A candidate for a line of a section, with its evidence.

    `text`, which is not empty, is the line without its citations, `shorter` a shorter alternative;
    in the evidence section the line is made from the quotation. `rank` is its place among the hits
    of a search. `says` has texts that are redundant beside it. `quote` is the text of an item that
    only quotes, and is left out if another item says it. `origin` is the origin whose share it
    uses, "" for none. Of items of one time, the greater `seq` is the newer. Items of a tier stand
    by their `order` in the text, however they rank.
    """

    section: str
    tier: int
    text: str
    evidence: PackEvidence
    reason: str
    shorter: str = ""
    rank: int = UNRANKED
    at_ms: int = 0
    seq: int = 0
    says: tuple[str, ...] = ()
    quote: str = ""
    origin: str = ""
    order: int = 0

    @property
    def cites(self) -> tuple[str, ...]:
        """Itself, and the first page that it rests on."""
        return (self.evidence.ref, *(span.ref for span in self.evidence.rests_on[:1]))

    @property
    def place(self) -> tuple[int, int, int, int, str, str, str]:
        """The sort key among the items."""
        said = -self.at_ms, -self.seq
        return self.tier, self.rank, *said, self.evidence.ref, self.section, self.text

    @property
    def is_quote_elsewhere(self) -> bool:
        """Whether it quotes a whole page that a search found, in a section other than the evidence.
        If that section is full, it becomes ordinary evidence.
        """
        is_found = self.rank < UNRANKED
        return is_found and self.evidence.is_whole and self.section != EVIDENCE

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
    """The fields of a pack besides its lines."""

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
    """The pack of these items with at most `target` tokens, as `measure` counts them (default: the
    longest text form). `left_out` lists what was never an item, and why.
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
    """The items without duplicates. A quote of what another line says is left out, but raises that
    line: it gets the quote's rank, and its tier if that comes first.
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
    return " ".join(text.casefold().split()).rstrip(".!…。！")


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
        """Choose among these, in their order. Returns those left out."""
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
    for one in sorted(chosen, key=lambda one: (one.item.tier, one.item.order)):
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
        fallback=head.fallback if any(c.item.section == EVIDENCE for c in chosen) else "",
        left_out=tuple(left_out[:LEFT_OUT_MAX]),
        left_out_total=len(left_out),
    )
