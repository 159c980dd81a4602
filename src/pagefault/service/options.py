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
    """The options of a memory: `pagefault.open(root, window=8_000)`; or, as one object,
    `options: pagefault.Options = {"window": 8_000}` and `pagefault.open(root, **options)`.

    Each may be left out. An option that is left out, or None if its type has that, comes from the
    configuration (docs/cli.md, Settings), else it has its default. `BadInput` refuses a value of
    the wrong type, or one that is not listed; `TypeError` a name that is not listed here.

    window: tokens of one request, for new sessions. Default: the window of `model`, less room for
        its answer; else 128,000.
    mode: whether new sessions offer the model memory's tools: "passive", "active" (the default) or
        "strict" (docs/protocol.md).
    layout: the layout of requests of new sessions: "stable" (the default) or "developer".
    control: whether new sessions are kept, and recall: "assist" (the default), "capture_only",
        "paused", "incognito" or "off" (`Session.set_control`).
    sync: what an acknowledged write may still lose: "always" and "group" (the default, which lets
        writes share an fsync) lose nothing; "os" loses nothing if only the process dies.
    model: the model's name in its API: it decides the window and the prices, unless `window` or
        `prices` are given. An unknown one causes a warning.
    prices: the price of its tokens, cached or not (`pagefault.find_prices`). They decide when
        epochs pay. They are logged with requests, so a session's ledger has them.
    epochs: when the prefix of the requests is rewritten: "break_even" (the default), "window_full"
        or "cold_or_full" (docs/policies.md).
    eviction_policy: the policy that chooses what leaves then, by its name in docs/policies.md.
        Default: "importance_weighted_lru".
    compressor: writes the shorter forms for `Session.compress` (docs/ladder.md). Default: rules.
    formation: whether the engine of `Session.run` forms memory after its turns: "off" (the
        default), "on" (docs/formation.md). It is asked once more for about every 2,000 tokens said.
    compaction: the form that turns take once they left the window: "extractive" (the default),
        "abstractive_with_citations", "hierarchical" or "hybrid" (docs/formation.md). The second
        and the last have the engine of `Session.run` form memory, as `formation="on"` does. If
        given, it applies to a proxy's conversations, too.
    limits: the limits of a turn, a page and an answer (`pagefault.Limits`).
    quotas: the limits of what may be written (`pagefault.Quotas`), enforced by `QuotaExceeded`.
    embedder: with one, search also uses meaning: an object, or a setting's value ("onnx:PATH",
        "model2vec:PATH", "openai:MODEL"). Default: none.
    reranker: with one, it orders the hits that words do not decide: an object, or a setting's value
        ("rerank:MODEL", "rerank:MODEL@URL"). Default: none.
    prefetch: your own strategies that name pages to prefetch, beside those of `limits.loading`
        (docs/paging.md).
    secrets: values, by name, that must never be logged, beside those of the environment and the
        configuration.
    redact: what is redacted from every text before it is written: "detect" (the default), known
        secrets and what looks like one; or "known", only known secrets.
    redact_paths: whether user names are redacted from paths, too: `/home/ann` becomes `~`.
    redact_allow: values that look like secrets but are not, with `*` and `?`.
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
