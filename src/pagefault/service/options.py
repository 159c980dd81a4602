"""The options of a memory, as a program gives them to `pagefault.open` or `pagefault.sync.open`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypedDict

from pagefault.engine.embedding import Embedder
from pagefault.engine.reranking import Reranker
from pagefault.model.prices import PriceList
from pagefault.model.quotas import Quotas
from pagefault.policy.prefetch import Strategy
from pagefault.represent.api import Compressor
from pagefault.service.limits import Limits


class Options(TypedDict, total=False):
    """How a memory is opened: `pagefault.open(root, window=8_000)`; or, as one object,
    `options: pagefault.Options = {"window": 8_000}` and `pagefault.open(root, **options)`.

    Each may be left out. What is left out, or None where its type has that, is as it is configured
    (docs/cli.md, Settings), else the default. `BadInput` refuses a value of the wrong type, or one
    that is none of the named ones; `TypeError` a name that is not listed here.

    window: tokens of one request, for new sessions. Default: what `model` takes, less room for its
        answer; else 128,000.
    mode: whether new sessions offer the model memory's tools: "passive", "active" (the default) or
        "strict" (docs/protocol.md).
    layout: how requests of new sessions are laid out: "stable" (the default) or "developer".
    control: what memory may do with new sessions: "assist" (the default), "capture_only", "paused",
        "incognito" or "off" (`Session.set_control`).
    sync: what an acknowledged write may still lose: "always" and "group" (the default, which lets
        writes share an fsync) lose nothing; "os" loses nothing if only the process dies.
    model: the model that is asked, as its API calls it: it has a window and prices, which hold
        unless `window` or `prices` are given. One that is not known is warned of.
    prices: what its tokens cost, cached or not (`pagefault.find_prices`). Epochs are weighed by
        them, and a session's ledger tells them whoever asks: they are written down with requests.
    epochs: when the prefix of the requests is rewritten: "break_even" (the default), "window_full"
        or "cold_or_full" (docs/policies.md).
    eviction_policy: who chooses what leaves then, by its name in docs/policies.md. Default:
        "importance_weighted_lru".
    compressor: who writes the shorter forms that `Session.compress` wants (docs/ladder.md).
        Default: rules.
    formation: whether the engine of `Session.run` forms memory after its turns: "off" (the
        default), "on" (docs/formation.md). It is asked once more for about every 2,000 tokens said.
    compaction: what stands in a request for the turns that left it: "extractive" (the default),
        "abstractive_with_citations", "hierarchical" or "hybrid" (docs/formation.md). The second
        and the last have the engine of `Session.run` form memory, as `formation="on"` does.
    limits: what a turn, a page and an answer may take (`pagefault.Limits`).
    quotas: what may be written (`pagefault.Quotas`): `QuotaExceeded` refuses what goes beyond.
    embedder: with one, search goes by meaning too: an object, or as it is configured
        ("onnx:PATH", "model2vec:PATH", "openai:MODEL"). Default: none.
    reranker: with one, what words leave open is put in order by it: an object, or as it is
        configured ("rerank:MODEL", "rerank:MODEL@URL"). Default: none.
    prefetch: strategies of yours that name pages to read ahead, beside those of `limits.loading`
        (docs/paging.md).
    secrets: values, by name, that must never be logged, beside those that the environment and the
        configuration have.
    redact: what is taken out of every text before it is written: "detect" (the default), known
        secrets and what looks like one; or "known", known secrets alone.
    redact_paths: whether the names of users are taken out of paths too: `/home/ann` becomes `~`.
    redact_allow: values that look like secrets and are none, with `*` and `?`.
    read_only: whether this program only reads: a verb that writes raises `StoreReadOnly`.
    """

    window: int | None
    mode: str | None
    layout: str | None
    control: str | None
    sync: str | None
    model: str | None
    prices: PriceList | None
    epochs: str | None
    eviction_policy: str | None
    compressor: Compressor | None
    formation: str | None
    compaction: str | None
    limits: Limits | None
    quotas: Quotas | None
    embedder: str | Embedder | None
    reranker: str | Reranker | None
    prefetch: Sequence[Strategy]
    secrets: Mapping[str, str] | None
    redact: str | None
    redact_paths: bool | None
    redact_allow: Sequence[str] | None
    read_only: bool
