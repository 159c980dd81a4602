"""The one place that picks real clocks, stores, screens and policies, and puts them together."""

from __future__ import annotations

import asyncio
import os
import random
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Final

from pagefault.engine.embedding import Embedder
from pagefault.guard.screen import Screen, known_secrets
from pagefault.model import defaults
from pagefault.model.catalogue import find_model
from pagefault.model.clock import Clock, SystemClock
from pagefault.model.errors import BadInput, StoreError
from pagefault.model.ids import IdMinter
from pagefault.model.kinds import ClaimRules
from pagefault.model.prices import PriceList
from pagefault.model.progress import Progress
from pagefault.pack.count import O200k, TokenCounter
from pagefault.paging.questions import EvictionPolicy
from pagefault.policy.affinity import Affinity
from pagefault.policy.arc import ARC
from pagefault.policy.epochs import BETA, BreakEven, ColdOrFull, EpochRule, OnlyWhenFull
from pagefault.policy.importance_lru import ImportanceLRU
from pagefault.policy.locality_lru import LocalityLRU
from pagefault.policy.lru import LRU
from pagefault.policy.modality_lru import ModalityLRU
from pagefault.policy.prefetch import Strategy
from pagefault.policy.s3_fifo import S3FIFO
from pagefault.policy.sieve import Sieve
from pagefault.policy.steady import Steady
from pagefault.recall.search import Searcher
from pagefault.represent.api import Compressor
from pagefault.service.arguments import a_claims, a_layout, a_mode, a_profile, a_sync
from pagefault.service.config import MEMORY
from pagefault.service.derived.embedders import EmbedderSpec
from pagefault.service.derived.embedding import Embedding
from pagefault.service.finding.topics import Texts
from pagefault.service.journal import Journal
from pagefault.service.limits import Limits
from pagefault.service.lineage import Lineage
from pagefault.service.memory import Memory
from pagefault.service.runtime import PageReader, Runtime
from pagefault.store.api import Copied
from pagefault.store.commit import Committer
from pagefault.store.embedded.adoption import Adoptions
from pagefault.store.embedded.backup import backup
from pagefault.store.embedded.root import open_store
from pagefault.store.in_memory.store import memory_store
from pagefault.store.store import Store

POLICIES: Final[dict[str, Callable[[], EvictionPolicy]]] = {
    "importance_weighted_lru": lambda: Affinity(ImportanceLRU()),
    "lru": LRU,
    "modality_aware_lru": ModalityLRU,
    "locality_aware_lru": LocalityLRU,
    "sieve": Sieve,
    "s3_fifo": S3FIFO,
    "arc": ARC,
}

EPOCHS: Final[dict[str, Callable[[PriceList, float], EpochRule]]] = {
    "break_even": lambda prices, beta: BreakEven(
        prices=prices, beta=beta, dead_share_max=defaults.DEAD_SHARE_MAX
    ),
    "window_full": lambda prices, _: OnlyWhenFull(prices=prices),
    "cold_or_full": lambda prices, _: ColdOrFull(prices=prices),
}


def user_adoptions() -> Adoptions:
    """The memories that the user of this process vouches for: see `store/embedded/adoption.py`."""
    import platformdirs

    return Adoptions(
        platformdirs.user_state_path("pagefault", appauthor=False) / "adopted",
        platformdirs.user_data_path("pagefault", appauthor=False),
    )


@asynccontextmanager
async def open_memory(
    root: str | Path,
    *,
    sync: str = "group",
    window: int = defaults.WINDOW_TOKENS,
    mode: str = "active",
    layout: str = "stable",
    policy: str = defaults.EVICTION_POLICY,
    model: str = "",
    prices: PriceList | None = None,
    epochs: str = "break_even",
    beta: float = BETA,
    claims: str = "rules",
    profile: str = "measured",
    compressor: Compressor | None = None,
    limits: Limits | None = None,
    secrets: Mapping[str, str] | None = None,
    read_only: bool = False,
    project: str = "",
    clock: Clock | None = None,
    seed: int | None = None,
    counter: TokenCounter | None = None,
    embedder: Embedder | EmbedderSpec | None = None,
    prefetch: Sequence[Strategy] = (),
    progress: Progress | None = None,
    meter: Callable[[str, float], None] = lambda what, seconds: None,
    cache_s: Callable[[], float] | None = None,
    lock_wait_s: float = defaults.LOCK_WAIT_S,
    lease_s: float = defaults.LEASE_S,
) -> AsyncIterator[Memory]:
    """Open a memory for the length of the block; what was said in it is durable as it is said.

    `root` is a directory, or ":memory:". `secrets` are values that must never be logged, besides
    those that the environment names. With `seed`, ids and salts are the same in every run: for
    tests and replays, not for secrets. `meter` is told how many seconds each append, request,
    search and fault took. Other processes may use the same root: `lock_wait_s` is how long to wait
    for one that writes, `lease_s` how long one that stopped keeps the sessions it writes to. A root
    that was made elsewhere, or by somebody else, is only read until it is adopted (`adopt`).

    `epochs` is when the prefix is rewritten (`break_even`, `window_full`, `cold_or_full`), by the
    `prices` of what is asked, which are else those of `model`, as far as they are known; `beta` is
    the patience of break_even. `cache_s` are the seconds by which the provider's cache lapses, if
    other than the clock's: those of a conversation that is replayed. `claims` is "rules", or "off":
    then what users say is not made into claims. `compressor` is asked for the shorter forms that
    `Session.compress` wants (`represent.asked.Asked` asks a model); without it, or where what it
    writes will not do, they are made by rules. `profile` (measured, studio-v1) is how what a search
    finds is ordered, unless it says otherwise. The strategies in `prefetch` say what to read ahead,
    beside those of `limits.loading`.

    With an `embedder`, pages get vectors in a thread of its own, and search finds them by meaning
    too. One that was made here, of an `EmbedderSpec`, is closed with the memory.
    """
    if policy not in POLICIES:
        raise BadInput(f"unknown eviction policy {policy!r}", hint=f"one of {', '.join(POLICIES)}")
    if epochs not in EPOCHS:
        raise BadInput(f"unknown rule for epochs {epochs!r}", hint=f"one of {', '.join(EPOCHS)}")
    if not 0 <= beta < float("inf"):
        raise BadInput(f"a beta of {beta} cannot be", hint="0 or more; 1 is the cheapest")
    extracts_claims = a_claims(claims) is ClaimRules.RULES
    order = a_profile(profile)
    chance = random.SystemRandom() if seed is None else random.Random(seed)
    entropy = os.urandom if seed is None else chance.randbytes
    real_clock = clock or SystemClock()
    embeds = embedder.make() if isinstance(embedder, EmbedderSpec) else embedder
    minter = IdMinter(real_clock, chance)
    level, wanted_mode, wanted_layout = (
        a_sync(sync),
        a_mode(mode),
        a_layout(layout),
    )  # before opening

    def make() -> Store:
        store = made()
        if embeds is not None:
            with suppress(StoreError):  # search goes by words, and `Memory.embedding` says why
                store.open_vectors(make=True)
        return store

    home = _home(root)

    def made() -> Store:
        if home is None:
            return memory_store(real_clock, minter, entropy)
        return open_store(
            home,
            clock=real_clock,
            minter=minter,
            sync=level,
            read_only=read_only,
            project=project,
            entropy=entropy,
            progress=progress,
            lock_wait_s=lock_wait_s,
            lease_s=lease_s,
            adoptions=user_adoptions(),
        )

    store = await asyncio.to_thread(make)
    try:
        committer = Committer(store, level)
    except BaseException:
        store.close()
        raise
    screen = Screen(known_secrets(os.environ, secrets or {}), store.secret)
    embedding: Embedding | None = None
    if embeds is not None:
        owned = isinstance(embedder, EmbedderSpec)
        embedding = Embedding(embeds, store, real_clock, owned=owned)
    can_embed = embedding is not None and store.vectors is not None and not read_only
    pages = PageReader(store.log)
    runtime = Runtime(
        log=store.log,
        index=store.index,
        blobs=store.blobs,
        lineage=Lineage(store.log, store.index),
        journal=Journal(
            store,
            committer,
            screen,
            embedding.wake if embedding is not None and can_embed else lambda: None,
        ),
        pages=pages,
        searcher=Searcher(store.index, embedding, Texts(pages)),
        counter=counter or O200k(),
        limits=limits or Limits(),
        policy=lambda: Steady(POLICIES[policy]()),
        epochs=EPOCHS[epochs](prices or find_model(model).prices, beta),
        model=model,
        profile=order,
        is_adopted=store.is_adopted,
        extracts_claims=extracts_claims,
        compressor=compressor,
        prefetch=tuple(prefetch),
        hash_key=store.log.hash_key,
        clock=real_clock,
        meter=meter,
        cache_s=cache_s or real_clock.monotonic_s,
        mint_session_id=lambda: f"ses_{minter.mint()}",
    )
    memory = Memory(
        store=store,
        committer=committer,
        runtime=runtime,
        embedding=embedding,
        copy=None if home is None else partial(_copied, home, real_clock),
        window_tokens=window,
        mode=wanted_mode,
        layout=wanted_layout,
    )
    try:
        yield memory
    finally:
        await memory.close()


def _home(root: str | Path) -> Path | None:
    """The folder that is meant, wherever this process goes later; none by `:memory:`."""
    return None if str(root) == MEMORY else Path(os.path.realpath(Path(root).expanduser()))


def _copied(home: Path, clock: Clock, target: Path, progress: Progress | None) -> Copied:
    return backup(home, target, clock=clock, adoptions=user_adoptions(), progress=progress)
