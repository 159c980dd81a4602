"""Virtual memory for the context windows of language models.

    async with pagefault.open("./memory") as memory:
        session = await memory.session("planning", window=32_000)
        await session.user("Which database did we pick?")
        request = await session.request(format="openai")

`pagefault.sync` has the same verbs for programs without an event loop.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pagefault import sync
    from pagefault.engine.api import Engine
    from pagefault.engine.embedding import Embedder
    from pagefault.engine.remote import RemoteEngine
    from pagefault.engine.remote_embedding import RemoteEmbedder
    from pagefault.engine.scripted import ScriptedEngine
    from pagefault.engine.static_embedding import StaticEmbedder
    from pagefault.model.catalogue import find_prices
    from pagefault.model.errors import (
        ArchiveMissing,
        BadInput,
        CallerError,
        EngineError,
        EngineGarbled,
        EngineRefused,
        EngineUnreachable,
        FaultRefused,
        MessageTooLarge,
        ModelError,
        NoSuchPage,
        PagefaultError,
        PinsFull,
        RecordDamaged,
        RecordGone,
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
    from pagefault.model.prices import Measured, PriceList, calibrate
    from pagefault.model.request import Reply, Request, ToolCall, Usage
    from pagefault.model.wanted import SearchFilter
    from pagefault.pack.abi import MemoryABI, PageManifestEntry
    from pagefault.pack.developer import build_vm_developer_message
    from pagefault.pack.vm_prompts import VM_STRICT_PROMPT
    from pagefault.pack.vm_wire import VM_TOOLS
    from pagefault.recall.search import SearchHit, SearchResult
    from pagefault.represent.api import Compressor, Representation, Source
    from pagefault.service.derived.claiming import ClaimInfo
    from pagefault.service.derived.embedding import EmbeddingStatus
    from pagefault.service.limits import Limits
    from pagefault.service.memory import Forgetting, Memory
    from pagefault.service.open import open
    from pagefault.service.session import Session
    from pagefault.service.telling.checkpoints import Checkpoint
    from pagefault.service.telling.relaying import Proxied
    from pagefault.service.telling.reporting import Metrics
    from pagefault.service.telling.status import Status
    from pagefault.service.telling.timetravel import Difference, Moment, Movement
    from pagefault.service.turn.drive import Answer
    from pagefault.service.turn.writing import Said

__version__ = "0.1.0"

__all__ = [
    "VM_STRICT_PROMPT",
    "VM_TOOLS",
    "Answer",
    "ArchiveMissing",
    "BadInput",
    "CallerError",
    "Checkpoint",
    "ClaimInfo",
    "Compressor",
    "Difference",
    "Embedder",
    "EmbeddingStatus",
    "Engine",
    "EngineError",
    "EngineGarbled",
    "EngineRefused",
    "EngineUnreachable",
    "FaultRefused",
    "Forgetting",
    "Limits",
    "Measured",
    "Memory",
    "MemoryABI",
    "MessageTooLarge",
    "Metrics",
    "ModelError",
    "Moment",
    "Movement",
    "NoSuchPage",
    "PageManifestEntry",
    "PagefaultError",
    "PinsFull",
    "PriceList",
    "Proxied",
    "RecordDamaged",
    "RecordGone",
    "RemoteEmbedder",
    "RemoteEngine",
    "Reply",
    "Representation",
    "Request",
    "Said",
    "ScreenFailed",
    "ScriptedEngine",
    "SearchFilter",
    "SearchHit",
    "SearchResult",
    "Session",
    "SessionBusy",
    "SessionNotFound",
    "Source",
    "StaticEmbedder",
    "Status",
    "StoreBusy",
    "StoreClosed",
    "StoreCorrupt",
    "StoreError",
    "StoreIncompatible",
    "StoreLatched",
    "StoreMissing",
    "StoreReadOnly",
    "ToolCall",
    "Usage",
    "WindowTooSmall",
    "build_vm_developer_message",
    "calibrate",
    "find_prices",
    "open",
    "sync",
]

# Loaded on first use, so that `import pagefault` loads no driver, no HTTP and no terminal library.
_HOMES = {
    "SearchResult": "recall.search",
    "SearchHit": "recall.search",
    "Checkpoint": "service.telling.checkpoints",
    "Proxied": "service.telling.relaying",
    "Compressor": "represent.api",
    "Representation": "represent.api",
    "Source": "represent.api",
    "Answer": "service.turn.drive",
    "ArchiveMissing": "model.errors",
    "BadInput": "model.errors",
    "CallerError": "model.errors",
    "Difference": "service.telling.timetravel",
    "Embedder": "engine.embedding",
    "EmbeddingStatus": "service.derived.embedding",
    "Engine": "engine.api",
    "EngineError": "model.errors",
    "EngineGarbled": "model.errors",
    "EngineRefused": "model.errors",
    "EngineUnreachable": "model.errors",
    "FaultRefused": "model.errors",
    "Forgetting": "service.memory",
    "Limits": "service.limits",
    "Memory": "service.memory",
    "MemoryABI": "pack.abi",
    "MessageTooLarge": "model.errors",
    "Metrics": "service.telling.reporting",
    "ModelError": "model.errors",
    "Moment": "service.telling.timetravel",
    "Movement": "service.telling.timetravel",
    "NoSuchPage": "model.errors",
    "PageManifestEntry": "pack.abi",
    "PagefaultError": "model.errors",
    "PinsFull": "model.errors",
    "Measured": "model.prices",
    "PriceList": "model.prices",
    "calibrate": "model.prices",
    "RecordDamaged": "model.errors",
    "RecordGone": "model.errors",
    "RemoteEmbedder": "engine.remote_embedding",
    "RemoteEngine": "engine.remote",
    "Reply": "model.request",
    "Request": "model.request",
    "Said": "service.turn.writing",
    "ScreenFailed": "model.errors",
    "ScriptedEngine": "engine.scripted",
    "SearchFilter": "model.wanted",
    "Session": "service.session",
    "SessionBusy": "model.errors",
    "SessionNotFound": "model.errors",
    "ClaimInfo": "service.derived.claiming",
    "StaticEmbedder": "engine.static_embedding",
    "Status": "service.telling.status",
    "StoreBusy": "model.errors",
    "StoreClosed": "model.errors",
    "StoreCorrupt": "model.errors",
    "StoreError": "model.errors",
    "StoreIncompatible": "model.errors",
    "StoreLatched": "model.errors",
    "StoreMissing": "model.errors",
    "StoreReadOnly": "model.errors",
    "ToolCall": "model.request",
    "Usage": "model.request",
    "VM_STRICT_PROMPT": "pack.vm_prompts",
    "VM_TOOLS": "pack.vm_wire",
    "WindowTooSmall": "model.errors",
    "build_vm_developer_message": "pack.developer",
    "find_prices": "model.catalogue",
    "open": "service.open",
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
