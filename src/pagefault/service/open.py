"""`pagefault.open`: a memory from options, completed from the configuration."""

from __future__ import annotations

import os
import warnings
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Final, Unpack, cast

from pagefault.model.catalogue import find_model
from pagefault.model.signatures import checked
from pagefault.service.bootstrap import Wiring, open_memory, wiring_of
from pagefault.service.config import load
from pagefault.service.memory import Memory
from pagefault.service.options import Options

_SETTINGS: Final = {  # options that are set like a flag of the command line
    "mode": "mode",
    "layout": "layout",
    "control": "control",
    "formation": "formation",
    "compaction": "compaction",
    "sync": "sync",
    "model": "engine.model",
    "eviction_policy": "eviction_policy",
    "embedder": "embedder",
    "reranker": "reranker",
    "redact": "redact.level",
}


@checked
def open(
    root: str | Path | None = None, **options: Unpack[Options]
) -> AbstractAsyncContextManager[Memory]:
    """Open a memory for the length of an `async with` block.

    `root` is a directory (created if missing) or ":memory:"; the default is PAGEFAULT_HOME, the
    project's `.pagefault/`, or the user's data directory. `help(pagefault.Options)` describes each
    option. Any number of processes may have a root open: they take turns, and each session has one
    writer at a time.
    """
    given = cast(Wiring, {name: one for name, one in options.items() if one is not None})
    flags = {"root": root} | {
        _SETTINGS[name]: one
        for name, one in given.items()
        if name in _SETTINGS and isinstance(one, str)
    }
    config = load(
        environ=os.environ,
        cwd=Path.cwd(),
        flags={key: str(value) for key, value in flags.items() if value is not None},
        arguments={"root": "root"} | {key: name for name, key in _SETTINGS.items()},
    )
    model = given.get("model")
    if model and not given.get("prices") and not config.prices and not find_model(model).is_known:
        warnings.warn(
            f"{model!r} is no model that is known here: its window and its prices are assumed; "
            "name it as its API does, or give `window` and `prices`",
            stacklevel=3,  # the caller of `open`, past the check of arguments
        )
    if isinstance(given.get("embedder"), str):
        del given["embedder"]  # it is in the configuration by now
    if isinstance(given.get("reranker"), str):
        del given["reranker"]  # likewise
    given["model"] = config.engine.model
    return open_memory(config.root, **wiring_of(config, given))
