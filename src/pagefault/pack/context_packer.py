"""Which of all that could stand in a context pack does. Pure.

A pack is filled as a knapsack is by hand: in the order of what matters, one item after the other,
each if there is room. Three kinds of room hold at once: the tokens of the whole; a share of them
for each section, so that one noisy source does not dominate; and a share for each origin that is
not the user's, so that whoever floods a memory fills no pack with it (a poisoned memory is used
because it crowds out the rest: MemoryGraft, arXiv 2512.16962). What has no room in full may come
shorter. What does not fit at all is listed with the reason, and smaller things behind it may fit.

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

UNRANKED: Final = 1_000_000
"""The rank of what no search found: it comes after what one did."""

Count = Callable[[str], int]


@dataclass(frozen=True, slots=True, kw_only=True)
class PackItem:
    """Something that could be a line of a section, and what it rests on.

    `text`, which says something, is the line without its cites, `shorter` what may stand instead;
    in the section of the evidence the line is made of what is quoted. `rank` is its place among
    what a search found. `says` are texts that would tell nothing beside it. `origin` is whose share
    it takes, "" for nobody's.
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
    origin: str = ""

    @property
    def cites(self) -> tuple[str, ...]:
        """Itself, and the first page that it rests on."""
        return (self.evidence.ref, *(span.ref for span in self.evidence.rests_on[:1]))

    @property
    def place(self) -> tuple[int, int, int, str, str, str]:
        """Where it stands among the items: the least first."""
        return self.tier, self.rank, -self.at_ms, self.evidence.ref, self.section, self.text

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
    chosen, trimmed = _fill(ordered, head, target=target, count=count, origin_share=origin_share)
    while True:
        pack = _pack(chosen, head, [*left_out, *trimmed], target, trimmed=len(trimmed))
        used = measured(pack) if chosen else 0
        if used <= target:
            return replace(pack, token_budget=replace(pack.token_budget, used=used))
        last = chosen.pop()
        trimmed.append(_trimmed(last.item, "no room", count(shown_line(last.item.line(last.text)))))


def _merged(items: Iterable[PackItem]) -> list[PackItem]:
    """Each thing once. What other sections tell is no evidence beside them, but raises them: they
    get its rank, and its tier if that comes first.
    """
    kept: list[PackItem] = []
    saying: dict[str, int] = {}
    told = sorted(items, key=lambda one: (one.section == EVIDENCE, one.place))
    for item in told:
        key = _key(item.text)
        at = saying.get(key)
        if at is None:
            for text in (item.text, *item.says):
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


def _fill(
    ordered: Sequence[PackItem],
    head: PackHead,
    *,
    target: int,
    count: Count,
    origin_share: float,
) -> tuple[list[_Chosen], list[LeftOut]]:
    rules = {rule.name: rule for rule in SECTIONS[head.pack_type]}
    room = target - count(framed(head.query, head.pack_type, head.generated_at))
    rooms = {name: int(rule.share * target) for name, rule in rules.items()}
    shares: Counter[str] = Counter()
    chosen: list[_Chosen] = []
    trimmed: list[LeftOut] = []
    for item in ordered:
        if item.section not in rules:
            continue
        heading = 0
        if not any(one.item.section == item.section for one in chosen):
            heading = count(f"\n## {rules[item.section].title}\n")
        for text in filter(None, (item.text, item.shorter)):
            tokens = count(shown_line(item.line(text)) + "\n")
            share = int(origin_share * target)
            if item.origin and shares[item.origin] + tokens > share:
                why = f"{item.origin} has its share of the pack"
            elif tokens > rooms[item.section]:
                why = "its section is full"
            elif heading + tokens > room:
                why = "no room"
            else:
                rooms[item.section] -= tokens
                room -= heading + tokens
                shares[item.origin] += tokens
                chosen.append(_Chosen(item, text))
                break
        else:
            trimmed.append(_trimmed(item, why, tokens))
    return chosen, trimmed


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
