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
_HOMES = {
    "About": "model.page",
    "AccessRefused": "model.errors",
    "Actor": "model.kinds",
    "Answer": "service.turn.drive",
    "ArchiveMissing": "model.errors",
    "AutoPins": "service.inspection.status",
    "BadInput": "model.errors",
    "CallerError": "model.errors",
    "CannotUndo": "model.errors",
    "Card": "service.derived.cards",
    "CardEdit": "service.derived.cards",
    "CardEvidence": "service.derived.cards",
    "CardFacts": "model.page",
    "CardScope": "service.derived.cards",
    "CardTtl": "service.derived.cards",
    "CardValidation": "service.derived.cards",
    "CheckOutcome": "model.kinds",
    "Checkpoint": "service.inspection.checkpoints",
    "CitedAs": "service.inspection.recollections",
    "ClaimCheck": "service.turn.claim_validators",
    "ClaimEdit": "service.derived.claims",
    "ClaimElsewhere": "service.derived.elsewhere",
    "ClaimInfo": "service.derived.claims",
    "ClaimRef": "model.page",
    "Clock": "model.clock",
    "Compressor": "represent.api",
    "Conflict": "model.events",
    "ConversationItem": "service.inspection.received",
    "Copied": "store.api",
    "DeferredPage": "paging.deferred",
    "Derived": "model.page",
    "Difference": "service.inspection.timetravel",
    "Dropped": "model.events",
    "Embedder": "engine.embedding",
    "EmbeddingStatus": "service.derived.embedding",
    "Engine": "engine.api",
    "EngineError": "model.errors",
    "EngineGarbled": "model.errors",
    "EngineRefused": "model.errors",
    "EngineUnreachable": "model.errors",
    "Entries": "service.inspection.ledger",
    "Entry": "service.inspection.ledger",
    "Event": "model.events",
    "EventType": "model.kinds",
    "Evidence": "model.page",
    "Exported": "service.lookup.imported",
    "Facet": "model.segments",
    "Facts": "policy.prefetch",
    "FaultLimits": "paging.fault",
    "FaultReason": "model.kinds",
    "FaultRefused": "model.errors",
    "Faulted": "model.events",
    "FileEvidence": "model.page",
    "FileQuote": "model.page",
    "Flaw": "history.values",
    "Forgetting": "service.forget",
    "Descendants": "service.root.warden",
    "FormationRequest": "engine.former",
    "CoreFull": "model.errors",
    "HotFull": "model.errors",
    "ImportedBlocks": "service.facades.notebook",
    "NotImported": "service.facades.notebook",
    "CoreSection": "service.turn.core_memory",
    "ArchivalNote": "service.turn.archival",
    "ArchivalHit": "service.turn.archival",
    "HeatItem": "service.derived.heat",
    "HeatStatus": "service.facades.heater",
    "RecallResult": "service.facades.heater",
    "SpillResult": "service.facades.heater",
    "Formed": "service.turn.formation",
    "Former": "engine.former",
    "FormerKind": "model.kinds",
    "ImportReport": "service.lookup.imported",
    "Knowledge": "service.lookup.knowledge",
    "LastCheck": "service.derived.claims",
    "Look": "service.turn.claim_validators",
    "MapColumn": "service.inspection.memory_map",
    "MapPlace": "service.inspection.memory_map",
    "MapRow": "service.inspection.memory_map",
    "MapSpan": "service.inspection.memory_map",
    "MemoryMap": "service.inspection.memory_map",
    "PageOrigin": "service.root.warden",
    "ImportedSession": "service.lookup.imported",
    "InWindow": "service.inspection.timetravel",
    "Judged": "service.inspection.targets",
    "ItemKind": "model.kinds",
    "Kind": "model.kinds",
    "LayoutName": "model.kinds",
    "Lesson": "service.turn.reflection",
    "Level": "model.kinds",
    "Limits": "service.limits",
    "Commit": "activity.commits",
    "ContextPack": "pack.context_pack",
    "InclusionReason": "pack.context_pack",
    "LeftOut": "pack.context_pack",
    "PackChange": "pack.context_forms",
    "PackDiff": "pack.context_forms",
    "PackEvidence": "pack.context_pack",
    "PackLine": "pack.context_pack",
    "PackSpan": "pack.context_pack",
    "PackTokens": "pack.context_pack",
    "PackType": "model.kinds",
    "ValidationReport": "pack.context_pack",
    "Bill": "pack.bill",
    "BillPart": "pack.bill",
    "BillRow": "pack.bill",
    "Line": "pack.ledger",
    "Measured": "model.prices",
    "Memory": "service.memory",
    "MemoryABI": "pack.abi",
    "Message": "model.request",
    "MessageTooLarge": "model.errors",
    "Metrics": "service.inspection.report",
    "Modality": "model.kinds",
    "Mode": "model.kinds",
    "ModelError": "model.errors",
    "Moment": "service.inspection.timetravel",
    "Mount": "service.regions",
    "Recollection": "service.inspection.recollections",
    "Proposal": "engine.former",
    "ProposalKind": "engine.former",
    "Proposals": "engine.former",
    "RenderedSegment": "model.segments",
    "Sent": "service.inspection.timetravel",
    "Seq": "model.ids",
    "Movement": "service.inspection.timetravel",
    "NoSuchPage": "model.errors",
    "NotAdopted": "model.errors",
    "adopt": "service.adopt",
    "Adoption": "service.adopt",
    "Incoming": "service.turn.drafts",
    "OnnxEmbedder": "engine.onnx_embedding",
    "Options": "service.options",
    "Origin": "model.kinds",
    "Page": "model.page",
    "PageBody": "model.events",
    "PageId": "model.ids",
    "PageManifestEntry": "pack.abi",
    "PageDetails": "model.page",
    "PageRow": "model.page",
    "PagefaultError": "model.errors",
    "PinsFull": "model.errors",
    "PrefetchStatus": "service.inspection.status",
    "Pressure": "paging.pressure",
    "PressureStatus": "service.inspection.status",
    "PriceList": "model.prices",
    "Promotion": "service.regions",
    "Proxied": "service.inspection.relayed",
    "QuotaExceeded": "model.errors",
    "QuotaUse": "store.allowance",
    "Quotas": "model.quotas",
    "Quote": "model.page",
    "RecordDamaged": "model.errors",
    "RecordGone": "model.errors",
    "RegionNotFound": "model.errors",
    "Relayed": "model.events",
    "RemoteEmbedder": "engine.remote_embedding",
    "RemoteEngine": "engine.remote",
    "RemoteReranker": "engine.remote_reranking",
    "Reply": "model.request",
    "Representation": "represent.api",
    "Request": "model.request",
    "Reranker": "engine.reranking",
    "Redaction": "service.journal",
    "Region": "service.regions",
    "RerankingStatus": "service.derived.reranking",
    "Retries": "engine.endpoint",
    "Role": "model.kinds",
    "ScreenFailed": "model.errors",
    "ScriptedEngine": "engine.scripted",
    "ScrubbedSession": "service.scrub",
    "Scrubbing": "service.scrub",
    "SearchFilter": "model.wanted",
    "SearchHit": "recall.search",
    "SearchResult": "recall.search",
    "Session": "service.session",
    "SessionBusy": "model.errors",
    "SessionNotFound": "model.errors",
    "Staying": "service.forget",
    "SessionRow": "model.page",
    "Source": "represent.api",
    "SourceCount": "service.lookup.imported",
    "StaticEmbedder": "engine.static_embedding",
    "Status": "service.inspection.status",
    "StoreBusy": "model.errors",
    "StoreClosed": "model.errors",
    "StoreCorrupt": "model.errors",
    "StoreError": "model.errors",
    "StoreIncompatible": "model.errors",
    "StoreLatched": "model.errors",
    "StoreMissing": "model.errors",
    "StoreReadOnly": "model.errors",
    "Strategy": "policy.prefetch",
    "Tally": "service.inspection.metrics",
    "Target": "service.inspection.targets",
    "Tier": "model.kinds",
    "Timeouts": "engine.endpoint",
    "TokenBudget": "paging.budget",
    "ToolCall": "model.request",
    "ToolSpec": "model.request",
    "Undone": "service.turn.undo",
    "Usage": "model.request",
    "VM_STRICT_PROMPT": "pack.vm_prompts",
    "VM_TOOLS": "pack.vm_wire",
    "Validator": "model.kinds",
    "Verification": "store.store",
    "WorkEvent": "service.inspection.work_events",
    "WindowTooSmall": "model.errors",
    "behind": "integrations.wrapping",
    "build_vm_developer_message": "pack.developer",
    "calibrate": "model.prices",
    "find_prices": "model.catalogue",
    "open": "service.open",
    "wrap": "integrations.wrapping",
}


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
