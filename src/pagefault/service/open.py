"""`pagefault.open`: a memory from arguments, and for what is not given, from the configuration."""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import asdict
from pathlib import Path

from pagefault.engine.embedding import Embedder
from pagefault.model.catalogue import find_model
from pagefault.model.prices import PriceList
from pagefault.model.signatures import checked
from pagefault.policy.prefetch import Strategy
from pagefault.represent.api import Compressor
from pagefault.service.arguments import a_window
from pagefault.service.bootstrap import open_memory
from pagefault.service.config import load
from pagefault.service.limits import Limits
from pagefault.service.memory import Memory


@checked
def open(
    root: str | Path | None = None,
    *,
    window: int | None = None,
    mode: str | None = None,
    layout: str | None = None,
    sync: str | None = None,
    model: str | None = None,
    prices: PriceList | None = None,
    epochs: str | None = None,
    compressor: Compressor | None = None,
    eviction_policy: str | None = None,
    limits: Limits | None = None,
    embedder: str | Embedder | None = None,
    prefetch: Sequence[Strategy] = (),
    secrets: Mapping[str, str] | None = None,
    read_only: bool = False,
) -> AbstractAsyncContextManager[Memory]:
    """Open a memory for the length of an `async with` block.

    `root` is a directory (made if it is not there) or ":memory:"; without it, PAGEFAULT_HOME, the
    project's `.pagefault/`, or the user's data directory. `window` (tokens of one request), `mode`
    (passive, active, strict) and `layout` (stable, developer) are what new sessions get. `model`,
    as its API calls it, gives the window that is not given, and the prices, unless there are
    `prices`; one that is not known is warned of. What it is weighed by is written down with the
    requests of a session, so that its ledger tells the same whoever asks. By these an epoch
    rewrites the prefix when `epochs` (break_even, window_full,
    cold_or_full) says so; what leaves then is for the `eviction_policy` to choose (one of those in
    docs/policies.md). `compressor` writes the shorter forms that `Session.compress` wants. With an
    `embedder`, an object or as it is configured ("model2vec:PATH", "openai:MODEL"), search goes by
    meaning too. `prefetch` are strategies of yours that name pages to read ahead, beside those of
    `limits.loading` (docs/paging.md). `secrets` are values, by name, that must never be logged. Any
    number of processes may have a root open: they take turns, and each session has one writer at a
    time.
    """
    given = {
        "embedder": embedder if isinstance(embedder, str) else None,
        "root": root,
        "mode": mode,
        "layout": layout,
        "sync": sync,
        "engine.model": model,
        "eviction_policy": eviction_policy,
    }
    flags = {key: str(value) for key, value in given.items() if value is not None}
    config = load(environ=os.environ, cwd=Path.cwd(), flags=flags)
    if model and not prices and not config.prices and not find_model(model).is_known:
        warnings.warn(
            f"{model!r} is no model that is known here: its window and its prices are assumed; "
            "name it as its API does, or give `window` and `prices`",
            stacklevel=3,  # whoever called `open`, past what checks its arguments
        )
    return open_memory(
        config.root,
        sync=config.sync,
        window=config.window_tokens if window is None else a_window(window),
        mode=config.mode,
        layout=config.layout,
        model=config.engine.model,
        policy=config.eviction_policy,
        prices=config.price_list if prices is None else prices,
        epochs=config.epochs.rule if epochs is None else epochs,
        beta=config.epochs.beta,
        claims=config.claims.extract,
        profile=config.recall.profile,
        compressor=compressor,
        limits=limits or Limits(**asdict(config.limits)),
        secrets={"engine.api_key": config.engine.api_key} | dict(secrets or {}),
        embedder=config.embedder_spec
        if embedder is None or isinstance(embedder, str)
        else embedder,
        prefetch=prefetch,
        read_only=read_only,
    )
