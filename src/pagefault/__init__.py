"""Virtual memory for the context windows of language models.

    async with pagefault.open("./memory") as memory:
        session = await memory.session("planning", window=32_000)
        await session.user("Which database did we pick?")
        request = await session.request(format="openai")

`pagefault.sync` has the same verbs for programs without an event loop.
"""

from __future__ import annotations

TYPE_CHECKING = False  # as `typing` has it, which takes a third of a bare interpreter's start
if TYPE_CHECKING:
    from typing import Any

    from pagefault import sync
    from pagefault.activity.commits import Commit
    from pagefault.engine.api import Engine
    from pagefault.engine.embedding import Embedder
    from pagefault.engine.endpoint import Retries, Timeouts
    from pagefault.engine.former import (
        FormationRequest,
        Former,
        Proposal,
        ProposalKind,
        Proposals,
    )
    from pagefault.engine.onnx_embedding import OnnxEmbedder
    from pagefault.engine.remote import RemoteEngine
    from pagefault.engine.remote_embedding import RemoteEmbedder
    from pagefault.engine.remote_reranking import RemoteReranker
    from pagefault.engine.reranking import Reranker
    from pagefault.engine.scripted import ScriptedEngine
    from pagefault.engine.static_embedding import StaticEmbedder
    from pagefault.history.values import Flaw
    from pagefault.integrations.wrapping import behind, wrap
    from pagefault.model.catalogue import find_prices
    from pagefault.model.clock import Clock
    from pagefault.model.errors import (
        AccessRefused,
        ArchiveMissing,
        BadInput,
        CallerError,
        CannotUndo,
        CoreFull,
        EngineError,
        EngineGarbled,
        EngineRefused,
        EngineUnreachable,
        FaultRefused,
        HotFull,
        MessageTooLarge,
        ModelError,
        NoSuchPage,
        NotAdopted,
        PagefaultError,
        PinsFull,
        QuotaExceeded,
        RecordDamaged,
        RecordGone,
        RegionNotFound,
        ScreenFailed,
        SessionBusy,
        SessionNotFound,
        StoreBusy,
        StoreClosed,
        StoreCorrupt,
        StoreError,
        StoreIncompatible,
        StoreLatched,
        StoreMissing,
        StoreReadOnly,
        WindowTooSmall,
    )
    from pagefault.model.events import Conflict, Dropped, Event, Faulted, PageBody, Relayed
    from pagefault.model.ids import PageId, Seq
    from pagefault.model.kinds import (
        Actor,
        CheckOutcome,
        EventType,
        FaultReason,
        FormerKind,
        ItemKind,
        Kind,
        LayoutName,
        Level,
        Modality,
        Mode,
        Origin,
        PackType,
        Role,
        Tier,
        Validator,
    )
    from pagefault.model.page import (
        About,
        CardFacts,
        ClaimRef,
        Derived,
        Evidence,
        FileEvidence,
        FileQuote,
        Page,
        PageDetails,
        PageRow,
        Quote,
        SessionRow,
    )
    from pagefault.model.prices import Measured, PriceList, calibrate
    from pagefault.model.quotas import Quotas
    from pagefault.model.request import Message, Reply, Request, ToolCall, ToolSpec, Usage
    from pagefault.model.segments import Facet, RenderedSegment
    from pagefault.model.wanted import SearchFilter
    from pagefault.pack.abi import MemoryABI, PageManifestEntry
    from pagefault.pack.bill import Bill, BillPart, BillRow
    from pagefault.pack.context_forms import PackChange, PackDiff
    from pagefault.pack.context_pack import (
        ContextPack,
        InclusionReason,
        LeftOut,
        PackEvidence,
        PackLine,
        PackSpan,
        PackTokens,
        ValidationReport,
    )
    from pagefault.pack.developer import build_vm_developer_message
    from pagefault.pack.ledger import Line
    from pagefault.pack.vm_prompts import VM_STRICT_PROMPT
    from pagefault.pack.vm_wire import VM_TOOLS
    from pagefault.paging.budget import TokenBudget
    from pagefault.paging.deferred import DeferredPage
    from pagefault.paging.fault import FaultLimits
    from pagefault.paging.pressure import Pressure
    from pagefault.policy.prefetch import Facts, Strategy
    from pagefault.recall.search import SearchHit, SearchResult
    from pagefault.represent.api import Compressor, Representation, Source
    from pagefault.service.adopt import Adoption, adopt
    from pagefault.service.derived.cards import (
        Card,
        CardEdit,
        CardEvidence,
        CardScope,
        CardTtl,
        CardValidation,
    )
    from pagefault.service.derived.claims import ClaimEdit, ClaimInfo, LastCheck
    from pagefault.service.derived.elsewhere import ClaimElsewhere
    from pagefault.service.derived.embedding import EmbeddingStatus
    from pagefault.service.derived.heat import HeatItem
    from pagefault.service.derived.reranking import RerankingStatus
    from pagefault.service.facades.heater import HeatStatus, RecallResult, SpillResult
    from pagefault.service.facades.notebook import ImportedBlocks, NotImported
    from pagefault.service.forget import Forgetting, Staying
    from pagefault.service.inspection.checkpoints import Checkpoint
    from pagefault.service.inspection.ledger import Entries, Entry
    from pagefault.service.inspection.memory_map import (
        MapColumn,
        MapPlace,
        MapRow,
        MapSpan,
        MemoryMap,
    )
    from pagefault.service.inspection.metrics import Tally
    from pagefault.service.inspection.received import ConversationItem
    from pagefault.service.inspection.recollections import CitedAs, Recollection
    from pagefault.service.inspection.relayed import Proxied
    from pagefault.service.inspection.report import Metrics
    from pagefault.service.inspection.status import AutoPins, PrefetchStatus, PressureStatus, Status
    from pagefault.service.inspection.targets import Judged, Target
    from pagefault.service.inspection.timetravel import (
        Difference,
        InWindow,
        Moment,
        Movement,
        Sent,
    )
    from pagefault.service.inspection.work_events import WorkEvent
    from pagefault.service.journal import Redaction
    from pagefault.service.limits import Limits
    from pagefault.service.lookup.imported import (
        Exported,
        ImportedSession,
        ImportReport,
        SourceCount,
    )
    from pagefault.service.lookup.knowledge import Knowledge
    from pagefault.service.memory import Memory
    from pagefault.service.open import open
    from pagefault.service.options import Options
    from pagefault.service.regions import Mount, Promotion, Region
    from pagefault.service.root.warden import Descendants, PageOrigin
    from pagefault.service.scrub import ScrubbedSession, Scrubbing
    from pagefault.service.session import Session
    from pagefault.service.turn.archival import ArchivalHit, ArchivalNote
    from pagefault.service.turn.claim_validators import ClaimCheck, Look
    from pagefault.service.turn.core_memory import CoreSection
    from pagefault.service.turn.drafts import Incoming
    from pagefault.service.turn.drive import Answer
    from pagefault.service.turn.formation import Formed
    from pagefault.service.turn.reflection import Lesson
    from pagefault.service.turn.undo import Undone
    from pagefault.store.allowance import QuotaUse
    from pagefault.store.api import Copied
    from pagefault.store.store import Verification

__version__ = "0.1.0"

__all__ = [
    "VM_STRICT_PROMPT",
    "VM_TOOLS",
    "About",
    "AccessRefused",
    "Actor",
    "Adoption",
    "Answer",
    "ArchivalHit",
    "ArchivalNote",
    "ArchiveMissing",
    "AutoPins",
    "BadInput",
    "Bill",
    "BillPart",
    "BillRow",
    "CallerError",
    "CannotUndo",
    "Card",
    "CardEdit",
    "CardEvidence",
    "CardFacts",
    "CardScope",
    "CardTtl",
    "CardValidation",
    "CheckOutcome",
    "Checkpoint",
    "CitedAs",
    "ClaimCheck",
    "ClaimEdit",
    "ClaimElsewhere",
    "ClaimInfo",
    "ClaimRef",
    "Clock",
    "Commit",
    "Compressor",
    "Conflict",
    "ContextPack",
    "ConversationItem",
    "Copied",
    "CoreFull",
    "CoreSection",
    "DeferredPage",
    "Derived",
    "Descendants",
    "Difference",
    "Dropped",
    "Embedder",
    "EmbeddingStatus",
    "Engine",
    "EngineError",
    "EngineGarbled",
    "EngineRefused",
    "EngineUnreachable",
    "Entries",
    "Entry",
    "Event",
    "EventType",
    "Evidence",
    "Exported",
    "Facet",
    "Facts",
    "FaultLimits",
    "FaultReason",
    "FaultRefused",
    "Faulted",
    "FileEvidence",
    "FileQuote",
    "Flaw",
    "Forgetting",
    "FormationRequest",
    "Formed",
    "Former",
    "FormerKind",
    "HeatItem",
    "HeatStatus",
    "HotFull",
    "ImportReport",
    "ImportedBlocks",
    "ImportedSession",
    "InWindow",
    "InclusionReason",
    "Incoming",
    "ItemKind",
    "Judged",
    "Kind",
    "Knowledge",
    "LastCheck",
    "LayoutName",
    "LeftOut",
    "Lesson",
    "Level",
    "Limits",
    "Line",
    "Look",
    "MapColumn",
    "MapPlace",
    "MapRow",
    "MapSpan",
    "Measured",
    "Memory",
    "MemoryABI",
    "MemoryMap",
    "Message",
    "MessageTooLarge",
    "Metrics",
    "Modality",
    "Mode",
    "ModelError",
    "Moment",
    "Mount",
    "Movement",
    "NoSuchPage",
    "NotAdopted",
    "NotImported",
    "OnnxEmbedder",
    "Options",
    "Origin",
    "PackChange",
    "PackDiff",
    "PackEvidence",
    "PackLine",
    "PackSpan",
    "PackTokens",
    "PackType",
    "Page",
    "PageBody",
    "PageDetails",
    "PageId",
    "PageManifestEntry",
    "PageOrigin",
    "PageRow",
    "PagefaultError",
    "PinsFull",
    "PrefetchStatus",
    "Pressure",
    "PressureStatus",
    "PriceList",
    "Promotion",
    "Proposal",
    "ProposalKind",
    "Proposals",
    "Proxied",
    "QuotaExceeded",
    "QuotaUse",
    "Quotas",
    "Quote",
    "RecallResult",
    "Recollection",
    "RecordDamaged",
    "RecordGone",
    "Redaction",
    "Region",
    "RegionNotFound",
    "Relayed",
    "RemoteEmbedder",
    "RemoteEngine",
    "RemoteReranker",
    "RenderedSegment",
    "Reply",
    "Representation",
    "Request",
    "Reranker",
    "RerankingStatus",
    "Retries",
    "Role",
    "ScreenFailed",
    "ScriptedEngine",
    "ScrubbedSession",
    "Scrubbing",
    "SearchFilter",
    "SearchHit",
    "SearchResult",
    "Sent",
    "Seq",
    "Session",
    "SessionBusy",
    "SessionNotFound",
    "SessionRow",
    "Source",
    "SourceCount",
    "SpillResult",
    "StaticEmbedder",
    "Status",
    "Staying",
    "StoreBusy",
    "StoreClosed",
    "StoreCorrupt",
    "StoreError",
    "StoreIncompatible",
    "StoreLatched",
    "StoreMissing",
    "StoreReadOnly",
    "Strategy",
    "Tally",
    "Target",
    "Tier",
    "Timeouts",
    "TokenBudget",
    "ToolCall",
    "ToolSpec",
    "Undone",
    "Usage",
    "ValidationReport",
    "Validator",
    "Verification",
    "WindowTooSmall",
    "WorkEvent",
    "adopt",
    "behind",
    "build_vm_developer_message",
    "calibrate",
    "find_prices",
    "open",
    "sync",
    "wrap",
]

# Loaded on first use, so that `import pagefault` loads no driver, no HTTP and no terminal library.
_NAMES = {
    "activity.commits": "Commit",
    "engine.api": "Engine",
    "engine.embedding": "Embedder",
    "engine.endpoint": "Retries Timeouts",
    "engine.former": "FormationRequest Former Proposal ProposalKind Proposals",
    "engine.onnx_embedding": "OnnxEmbedder",
    "engine.remote": "RemoteEngine",
    "engine.remote_embedding": "RemoteEmbedder",
    "engine.remote_reranking": "RemoteReranker",
    "engine.reranking": "Reranker",
    "engine.scripted": "ScriptedEngine",
    "engine.static_embedding": "StaticEmbedder",
    "history.values": "Flaw",
    "integrations.wrapping": "behind wrap",
    "model.catalogue": "find_prices",
    "model.clock": "Clock",
    "model.errors": (
        "AccessRefused ArchiveMissing BadInput CallerError CannotUndo EngineError EngineGarbled "
        "EngineRefused EngineUnreachable FaultRefused CoreFull HotFull MessageTooLarge "
        "ModelError NoSuchPage NotAdopted PagefaultError PinsFull QuotaExceeded RecordDamaged "
        "RecordGone RegionNotFound ScreenFailed SessionBusy SessionNotFound StoreBusy "
        "StoreClosed StoreCorrupt StoreError StoreIncompatible StoreLatched StoreMissing "
        "StoreReadOnly WindowTooSmall"
    ),
    "model.events": "Conflict Dropped Event Faulted PageBody Relayed",
    "model.ids": "Seq PageId",
    "model.kinds": (
        "Actor CheckOutcome EventType FaultReason FormerKind ItemKind Kind LayoutName Level "
        "PackType Modality Mode Origin Role Tier Validator"
    ),
    "model.page": (
        "About CardFacts ClaimRef Derived Evidence FileEvidence FileQuote Page PageDetails "
        "PageRow Quote SessionRow"
    ),
    "model.prices": "Measured PriceList calibrate",
    "model.quotas": "Quotas",
    "model.request": "Message Reply Request ToolCall ToolSpec Usage",
    "model.segments": "Facet RenderedSegment",
    "model.wanted": "SearchFilter",
    "pack.abi": "MemoryABI PageManifestEntry",
    "pack.bill": "Bill BillPart BillRow",
    "pack.context_forms": "PackChange PackDiff",
    "pack.context_pack": (
        "ContextPack InclusionReason LeftOut PackEvidence PackLine PackSpan PackTokens "
        "ValidationReport"
    ),
    "pack.developer": "build_vm_developer_message",
    "pack.ledger": "Line",
    "pack.vm_prompts": "VM_STRICT_PROMPT",
    "pack.vm_wire": "VM_TOOLS",
    "paging.budget": "TokenBudget",
    "paging.deferred": "DeferredPage",
    "paging.fault": "FaultLimits",
    "paging.pressure": "Pressure",
    "policy.prefetch": "Facts Strategy",
    "recall.search": "SearchHit SearchResult",
    "represent.api": "Compressor Representation Source",
    "service.adopt": "adopt Adoption",
    "service.derived.cards": "Card CardEdit CardEvidence CardScope CardTtl CardValidation",
    "service.derived.claims": "ClaimEdit ClaimInfo LastCheck",
    "service.derived.elsewhere": "ClaimElsewhere",
    "service.derived.embedding": "EmbeddingStatus",
    "service.derived.heat": "HeatItem",
    "service.derived.reranking": "RerankingStatus",
    "service.facades.heater": "HeatStatus RecallResult SpillResult",
    "service.facades.notebook": "ImportedBlocks NotImported",
    "service.forget": "Forgetting Staying",
    "service.inspection.checkpoints": "Checkpoint",
    "service.inspection.ledger": "Entries Entry",
    "service.inspection.memory_map": "MapColumn MapPlace MapRow MapSpan MemoryMap",
    "service.inspection.metrics": "Tally",
    "service.inspection.received": "ConversationItem",
    "service.inspection.recollections": "CitedAs Recollection",
    "service.inspection.relayed": "Proxied",
    "service.inspection.report": "Metrics",
    "service.inspection.status": "AutoPins PrefetchStatus PressureStatus Status",
    "service.inspection.targets": "Judged Target",
    "service.inspection.timetravel": "Difference InWindow Moment Sent Movement",
    "service.inspection.work_events": "WorkEvent",
    "service.journal": "Redaction",
    "service.limits": "Limits",
    "service.lookup.imported": "Exported ImportReport ImportedSession SourceCount",
    "service.lookup.knowledge": "Knowledge",
    "service.memory": "Memory",
    "service.open": "open",
    "service.options": "Options",
    "service.regions": "Mount Promotion Region",
    "service.root.warden": "Descendants PageOrigin",
    "service.scrub": "ScrubbedSession Scrubbing",
    "service.session": "Session",
    "service.turn.archival": "ArchivalNote ArchivalHit",
    "service.turn.claim_validators": "ClaimCheck Look",
    "service.turn.core_memory": "CoreSection",
    "service.turn.drafts": "Incoming",
    "service.turn.drive": "Answer",
    "service.turn.formation": "Formed",
    "service.turn.reflection": "Lesson",
    "service.turn.undo": "Undone",
    "store.allowance": "QuotaUse",
    "store.api": "Copied",
    "store.store": "Verification",
}
_HOMES = {name: home for home, names in _NAMES.items() for name in names.split()}


def __getattr__(name: str) -> Any:
    from importlib import import_module

    if name == "sync":
        return import_module("pagefault.sync")
    try:
        home = _HOMES[name]
    except KeyError:
        raise AttributeError(f"module 'pagefault' has no attribute {name!r}") from None
    return getattr(import_module(f"pagefault.{home}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
