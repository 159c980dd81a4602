"""The composition root: picks real clocks, stores, screens and policies, and wires them
together.
"""

from __future__ import annotations

import asyncio
import os
import random
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import ExitStack, asynccontextmanager, suppress
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import Final, TypeVar, Unpack

from pagefault.guard.detect import Layer
from pagefault.guard.layers import layers_of
from pagefault.guard.screen import Screen, known_secrets, password_in
from pagefault.model import defaults
from pagefault.model.catalogue import find_model
from pagefault.model.clock import Clock, SystemClock
from pagefault.model.errors import BadInput, StoreError
from pagefault.model.events import Event
from pagefault.model.ids import IdMinter, SessionNo
from pagefault.model.kinds import (
    ClaimRules,
    Compaction,
    ControlMode,
    FormationMode,
    LayoutName,
    Mode,
    RedactLevel,
    Sync,
)
from pagefault.model.prices import PriceList
from pagefault.model.progress import Progress
from pagefault.model.quotas import Quotas
from pagefault.pack.cache import PackCache
from pagefault.pack.count import O200k, TokenCounter
from pagefault.pack.render import sealed_with
from pagefault.paging.questions import EvictionPolicy
from pagefault.policy.affinity import Affinity
from pagefault.policy.arc import ARC
from pagefault.policy.epochs import BETA, BreakEven, ColdOrFull, EpochRule, OnlyWhenFull
from pagefault.policy.importance_lru import ImportanceLRU
from pagefault.policy.locality_lru import LocalityLRU
from pagefault.policy.lru import LRU
from pagefault.policy.modality_lru import ModalityLRU
from pagefault.policy.s3_fifo import S3FIFO
from pagefault.policy.sieve import Sieve
from pagefault.policy.steady import Steady
from pagefault.recall.search import Searcher
from pagefault.service.arguments import (
    a_claims,
    a_compaction,
    a_control,
    a_formation,
    a_layout,
    a_mode,
    a_profile,
    a_redact_level,
    a_sync,
    a_window,
)
from pagefault.service.config import MEMORY, Config
from pagefault.service.control import Overlay
from pagefault.service.derived.embedders import EmbedderSpec
from pagefault.service.derived.embedding import Embedding
from pagefault.service.derived.rerankers import RerankerSpec
from pagefault.service.derived.reranking import Reranking
from pagefault.service.journal import Journal
from pagefault.service.limits import Limits
from pagefault.service.lookup.topics import Texts
from pagefault.service.memory import Memory
from pagefault.service.options import Options
from pagefault.service.quarantine import Quarantine
from pagefault.service.receipts import Receipts
from pagefault.service.regions import Regions
from pagefault.service.runtime import PageReader, Runtime
from pagefault.service.scrub import CountingScreen, screen_of
from pagefault.store.api import Copied
from pagefault.store.commit import Committer
from pagefault.store.embedded.adoption import Adoptions
from pagefault.store.embedded.backup import backup
from pagefault.store.embedded.root import open_store
from pagefault.store.in_memory.store import memory_store
from pagefault.store.store import Store

T = TypeVar("T")

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


def scanner_cache() -> Path:
    """The folder for a scanner's compiled rules, which only the user can access."""
    import platformdirs

    return platformdirs.user_cache_path("pagefault", appauthor=False) / "scanner"


class Wiring(Options, total=False):
    """The options of a memory, and the parts that only its front ends choose. What is omitted has
    its default.

    embedder_spec: an embedder to be made here, and closed with the memory; `embedder` wins.
    reranker_spec: likewise a reranker; `reranker` wins.
    beta: the patience of break_even. 0 or more; 1 is the cheapest.
    claims: "rules", or "off": then no claims are made from the user's messages.
    profile: the default ranking of searches: "measured", "studio-v1".
    project: the name of a root that is made here.
    clock: the time, for records and waits.
    seed: with one, ids and salts are the same in every run: for tests and replays, not for secrets.
    counter: counts tokens.
    progress: called with bytes done and total bytes, while an index is built.
    meter: called with the seconds that each append, request, search and fault took.
    cache_s: a clock in seconds for the provider's cache, if other than `clock`: that of a replayed
        conversation.
    lock_wait_s: how long to wait for another process that writes.
    lease_s: how long a process that stopped keeps the sessions it writes to.
    expire: whether opening erases what is past its time.
    """

    embedder_spec: EmbedderSpec | None
    reranker_spec: RerankerSpec | None
    beta: float
    claims: str
    profile: str
    project: str
    clock: Clock | None
    seed: int | None
    counter: TokenCounter | None
    progress: Progress | None
    meter: Callable[[str, float], None]
    cache_s: Callable[[], float]
    lock_wait_s: float
    lease_s: float
    expire: bool


def wiring_of(config: Config, given: Wiring) -> Wiring:
    """The given options, completed from the configuration, except the model; secrets are merged."""
    return {
        "sync": config.sync,
        "window": config.window_tokens,
        "mode": config.mode,
        "layout": config.layout,
        "control": config.control,
        "eviction_policy": config.eviction_policy,
        "prices": given.get("prices") or config.price_list,
        "epochs": config.epochs.rule,
        "beta": config.epochs.beta,
        "claims": config.claims.extract,
        "formation": config.formation,
        "compaction": config.compaction if config.origins.get("compaction") else None,
        "profile": config.recall.profile,
        "limits": Limits(**asdict(config.limits)),
        "quotas": config.quotas,
        "redact": config.redact.level,
        "redact_paths": config.redact.paths,
        "redact_allow": config.redact.allow.split(),
        "embedder_spec": config.embedder_spec,
        "reranker_spec": config.reranker_spec,
        **given,
        "secrets": {
            "engine.api_key": config.engine.api_key,
            "engine.base_url": password_in(config.engine.base_url),
            **(given.get("secrets") or {}),
        },
    }


@asynccontextmanager
async def open_memory(root: str | Path, **wiring: Unpack[Wiring]) -> AsyncIterator[Memory]:
    """Open a memory for the length of the block; messages are durable as they are logged.

    `root` is a directory, or ":memory:". A root that was made elsewhere, or by somebody else, is
    read-only until it is adopted (`adopt`).
    """
    if unknown := wiring.keys() - Wiring.__optional_keys__:
        raise TypeError(f"open_memory: unknown option {', '.join(sorted(unknown))}")
    policy = _or(wiring.get("eviction_policy"), defaults.EVICTION_POLICY)
    epochs, beta = _or(wiring.get("epochs"), "break_even"), wiring.get("beta", BETA)
    model, prices = _or(wiring.get("model"), ""), wiring.get("prices")
    if policy not in POLICIES:
        raise BadInput(f"unknown eviction policy {policy!r}", hint=f"one of {', '.join(POLICIES)}")
    if epochs not in EPOCHS:
        raise BadInput(f"unknown rule for epochs {epochs!r}", hint=f"one of {', '.join(EPOCHS)}")
    if not 0 <= beta < float("inf"):
        raise BadInput(f"beta is {beta}", hint="it takes 0 or more; 1 is the cheapest")
    extracts_claims = a_claims(wiring.get("claims", "rules")) is ClaimRules.RULES
    forms = a_formation(_or(wiring.get("formation"), FormationMode.OFF)) is FormationMode.ON
    compaction = a_compaction(_or(wiring.get("compaction"), Compaction.EXTRACTIVE))
    order = a_profile(wiring.get("profile", "measured"))
    seed, read_only = wiring.get("seed"), wiring.get("read_only", False)
    chance = random.SystemRandom() if seed is None else random.Random(seed)
    entropy = os.urandom if seed is None else chance.randbytes
    real_clock = wiring.get("clock") or SystemClock()
    embedder = _or(wiring.get("embedder"), wiring.get("embedder_spec"))
    if isinstance(embedder, str):
        embedder = EmbedderSpec(text=embedder)
    embeds = embedder.make() if isinstance(embedder, EmbedderSpec) else embedder
    reranker = _or(wiring.get("reranker"), wiring.get("reranker_spec"))
    if isinstance(reranker, str):
        reranker = RerankerSpec(text=reranker)
    judges = reranker.make() if isinstance(reranker, RerankerSpec) else reranker
    minter = IdMinter(real_clock, chance)
    level = a_sync(_or(wiring.get("sync"), Sync.GROUP))
    window = a_window(_or(wiring.get("window"), defaults.WINDOW_TOKENS))
    mode = a_mode(_or(wiring.get("mode"), Mode.ACTIVE))
    layout = a_layout(_or(wiring.get("layout"), LayoutName.STABLE))
    level_of_redaction = a_redact_level(_or(wiring.get("redact"), RedactLevel.DETECT))
    paths = bool(wiring.get("redact_paths"))
    control = a_control(_or(wiring.get("control"), ControlMode.ASSIST))

    def make() -> Store:
        store = made()
        store.bound(wiring.get("quotas") or Quotas(), real_clock.now_ms)
        if embeds is not None:
            with suppress(StoreError):  # search uses words alone, and `Memory.embedding` says why
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
            project=wiring.get("project", ""),
            entropy=entropy,
            progress=wiring.get("progress"),
            lock_wait_s=wiring.get("lock_wait_s", defaults.LOCK_WAIT_S),
            lease_s=wiring.get("lease_s", defaults.LEASE_S),
            adoptions=user_adoptions(),
        )

    store = await asyncio.to_thread(make)
    with ExitStack() as until_owned:
        until_owned.callback(store.close)
        secrets = known_secrets(os.environ, wiring.get("secrets") or {})
        allow = _or(wiring.get("redact_allow"), ())

        def layers_for(paths: bool) -> list[Layer]:
            return layers_of(level_of_redaction, paths=paths, cache=scanner_cache())

        screen = Screen(secrets, store.secret, layers_for(paths), allow)
        embedding: Embedding | None = None
        if embeds is not None:
            owned = isinstance(embedder, EmbedderSpec)
            embedding = Embedding(embeds, store, real_clock, owned=owned)
        reranking: Reranking | None = None
        if judges is not None:
            owned = isinstance(reranker, RerankerSpec)
            reranking = Reranking(judges, real_clock, owned=owned)
        can_embed = embedding is not None and store.vectors is not None and not read_only
        pages = PageReader(store.log)
        committer = Committer(store, level)
        until_owned.callback(committer.close)
        quarantine = Quarantine(store.log, store.index, store.log.hash_key)

        def appended(events: Sequence[Event]) -> None:
            quarantine.appended(events)
            if embedding is not None and can_embed:
                embedding.wake()

        runtime = Runtime(
            log=store.log,
            index=store.index,
            blobs=store.blobs,
            receipts=Receipts(store.log, store.index),
            quarantine=quarantine,
            regions=Regions(store.log, store.index),
            journal=Journal(store, committer, screen, appended),
            pages=pages,
            searcher=Searcher(store.index, embedding, Texts(pages), reranking),
            counter=wiring.get("counter") or O200k(),
            limits=wiring.get("limits") or Limits(),
            policy=lambda: Steady(POLICIES[policy]()),
            epochs=EPOCHS[epochs](prices or find_model(model).prices, beta),
            model=model,
            profile=order,
            is_adopted=store.is_adopted,
            extracts_claims=extracts_claims,
            forms=forms or compaction.forms,
            compaction=compaction,
            names_compaction=wiring.get("compaction") is not None,
            compressor=wiring.get("compressor"),
            prefetch=tuple(wiring.get("prefetch", ())),
            hash_key=store.log.hash_key,
            seal=sealed_with(lambda text: store.log.hash_key(SessionNo(0), text)),
            clock=real_clock,
            meter=wiring.get("meter", lambda what, seconds: None),
            cache_s=wiring.get("cache_s", real_clock.monotonic_s),
            mint_session_id=lambda: f"ses_{minter.mint()}",
        )

        def overlay(number: int) -> Overlay:
            # Rarely used, and it imports NumPy, a tenth of a second at each start.
            from pagefault.store.overlay.store import overlay_store

            above = overlay_store(store, real_clock, minter, number=number)
            writer = Committer(above, level)
            texts = PageReader(above.log)
            return Overlay(
                store=above,
                committer=writer,
                runtime=replace(
                    runtime,
                    log=above.log,
                    index=above.index,
                    blobs=above.blobs,
                    receipts=Receipts(above.log, above.index),
                    regions=Regions(above.log, above.index),
                    journal=Journal(above, writer, screen, below=runtime.journal),
                    pages=texts,
                    searcher=Searcher(above.index, None, Texts(texts), reranking),
                    hash_key=above.log.hash_key,
                    packs=PackCache(),
                    under_way=set(),
                ),
            )

        def screen_for(values: Sequence[str], with_paths: bool) -> CountingScreen:
            return screen_of(values, secrets, store.secret, layers_for(paths or with_paths), allow)

        memory = Memory(
            store=store,
            committer=committer,
            runtime=runtime,
            embedding=embedding,
            reranking=reranking,
            home=home,
            copy=None if home is None else partial(_copied, home, real_clock),
            window_tokens=window,
            mode=mode,
            layout=layout,
            control=control,
            overlay=overlay,
            screen_for=screen_for,
        )
        until_owned.pop_all()
    try:
        if wiring.get("expire", True) and store.is_adopted and not read_only:
            await memory.begin()
        yield memory
    finally:
        await memory.close()


def _or(given: T | None, default: T) -> T:
    return default if given is None else given


def _home(root: str | Path) -> Path | None:
    """The root's folder as an absolute path; None for `:memory:`."""
    return None if str(root) == MEMORY else Path(os.path.realpath(Path(root).expanduser()))


def _copied(home: Path, clock: Clock, target: Path, progress: Progress | None) -> Copied:
    return backup(home, target, clock=clock, adoptions=user_adoptions(), progress=progress)
