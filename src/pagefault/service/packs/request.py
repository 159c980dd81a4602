"""A pack's request from a verb's arguments, and the pack made from the candidates."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from pagefault.activity.commits import Commit
from pagefault.model.errors import BadInput
from pagefault.model.kinds import ControlMode, PackType
from pagefault.model.times import iso_utc
from pagefault.model.wanted import Time, a_time_ms
from pagefault.pack.context_pack import EVIDENCE, ContextPack
from pagefault.pack.context_packer import PackHead, PackItem, pack_items
from pagefault.service.arguments import a_count, a_path, a_time, one_of
from pagefault.service.packs.gathered import TIERS, Gathered, PackAsked, says_last
from pagefault.service.packs.key_lines import key_lines
from pagefault.service.packs.quoted_pages import Quoted
from pagefault.service.packs.work_items import commit_items
from pagefault.service.runtime import Runtime

BUDGET_TOKENS: Final = 2_000
"""The default size of a pack."""

Measure = Callable[[ContextPack], int]


def asked_for(
    runtime: Runtime,
    pack_type: str,
    *,
    query: str = "",
    at: Time = "",
    since: Time = "",
    unproved: bool = False,
    root: str = "",
    budget: int,
) -> PackAsked:
    """Raises `BadInput` for invalid arguments."""
    kind = PackType.TASK if query.strip() else PackType.BOOT
    if pack_type:
        kind = one_of(PackType, pack_type, "type of pack")
    if kind is PackType.TASK and not query.strip():
        raise BadInput(
            "a pack for a task needs a query", hint="give a query, or make a `boot` pack"
        )
    return PackAsked(
        pack_type=kind,
        at_ms=runtime.clock.now_ms() if at == "" else a_time(at),
        query=query.strip(),
        unproved=unproved,
        root=a_path(root, called="root") if root else None,
        tokens=a_count(budget, called="budget"),
        since_ms=0 if since == "" else max(a_time_ms(since), 0),
    )


def check_recalls(control: ControlMode, what: str) -> None:
    """Raise `BadInput` in a mode without recall: a pack is made to be brought in."""
    if not control.recalls:
        raise BadInput(
            f"this {what} is {control}: nothing can be packed from it",
            hint="`Memory.set_control` sets another mode",
        )


def made(
    runtime: Runtime,
    asked: PackAsked,
    found: Gathered,
    quoted: Quoted,
    *,
    commits: Sequence[Commit] = (),
    measure: Measure | None = None,
) -> ContextPack:
    """The pack of the candidates."""
    found.items += key_lines(found.talk, found.items, asked, quoted, runtime.counter.count)
    items: list[PackItem] = [*found.marked]
    items += commit_items(commits, tier=TIERS[asked.pack_type].work)
    is_missed = bool(asked.query) and not found.matched and says_last(asked, 0)
    head = PackHead(
        query=asked.query,
        generated_at=iso_utc(asked.at_ms),
        pack_type=asked.pack_type,
        matched=found.matched,
        fallback="recent" if is_missed and any(o.section == EVIDENCE for o in items) else "",
        validation=found.validation,
    )
    return pack_items(
        items,
        head,
        target=asked.tokens,
        count=runtime.counter.count,
        left_out=sorted(found.left_out, key=lambda one: (one.section, one.ref)),
        origin_share=runtime.limits.untrusted_recall_share,
        measure=measure,
    )
