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
from typing import Any, Final, TypeVar, Unpack

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
    Profile,
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
    a_control,
    a_layout,
    a_mode,
    a_window,
    one_of,
)
from pagefault.service.config import MEMORY, Config
from pagefault.service.control import Overlay
from pagefault.service.derived.embedders import EmbedderSpec
from pagefault.service.derived.embedding import Embedding
from pagefault.service.derived.model_spec import ModelSpec
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
    parts = _Parts(root, wiring)
    store = await asyncio.to_thread(parts.store)
    with ExitStack() as until_owned:
        until_owned.callback(store.close)
        memory = parts.memory(store, until_owned)
        until_owned.pop_all()
    try:
        if wiring.get("expire", True) and store.is_adopted and not wiring.get("read_only"):
            await memory.begin()
        yield memory
    finally:
        await memory.close()


class _Parts:
    """The options of a memory, checked before anything is opened, and the parts made from them."""

    def __init__(self, root: str | Path, wiring: Wiring) -> None:
        """Raises `BadInput` for an invalid option."""
        if unknown := wiring.keys() - Wiring.__optional_keys__:
            raise TypeError(f"open_memory: unknown option {', '.join(sorted(unknown))}")
        self._wiring = wiring
        self._home = _home(root)
        self._policy = _policy_of(wiring)
        self._epochs = _epochs_of(wiring)
        claims, formation = wiring.get("claims", "rules"), wiring.get("formation")
        self._claims = one_of(ClaimRules, claims, "way to make claims")
        self._formation = one_of(FormationMode, _or(formation, "off"), "formation mode")
        compaction = _or(wiring.get("compaction"), Compaction.EXTRACTIVE)
        self._compaction = one_of(Compaction, compaction, "way of compaction")
        self._profile = one_of(Profile, wiring.get("profile", "measured"), "profile")
        self._sync = one_of(Sync, _or(wiring.get("sync"), Sync.GROUP), "sync level")
        self._window = a_window(_or(wiring.get("window"), defaults.WINDOW_TOKENS))
        self._mode = a_mode(_or(wiring.get("mode"), Mode.ACTIVE))
        self._layout = a_layout(_or(wiring.get("layout"), LayoutName.STABLE))
        self._control = a_control(_or(wiring.get("control"), ControlMode.ASSIST))
        redact = _or(wiring.get("redact"), RedactLevel.DETECT)
        self._redact = one_of(RedactLevel, redact, "level of redaction")
        self._allow = _or(wiring.get("redact_allow"), ())
        seed = wiring.get("seed")
        chance = random.SystemRandom() if seed is None else random.Random(seed)
        self._entropy = os.urandom if seed is None else chance.randbytes
        self._clock = wiring.get("clock") or SystemClock()
        self._minter = IdMinter(self._clock, chance)
        embedder = _or(wiring.get("embedder"), wiring.get("embedder_spec"))
        self._embedder, self._owns_embedder = _model_of(embedder, EmbedderSpec)
        reranker = _or(wiring.get("reranker"), wiring.get("reranker_spec"))
        self._reranker, self._owns_reranker = _model_of(reranker, RerankerSpec)

    def store(self) -> Store:
        """The store, opened, with its vectors if pages are embedded. Blocks."""
        store = self._opened()
        store.bound(self._wiring.get("quotas") or Quotas(), self._clock.now_ms)
        if self._embedder is not None:
            with suppress(StoreError):  # search uses words alone, and `Memory.embedding` says why
                store.open_vectors(make=True)
        return store

    def _opened(self) -> Store:
        wiring = self._wiring
        if self._home is None:
            return memory_store(self._clock, self._minter, self._entropy)
        return open_store(
            self._home,
            clock=self._clock,
            minter=self._minter,
            sync=self._sync,
            read_only=wiring.get("read_only", False),
            project=wiring.get("project", ""),
            entropy=self._entropy,
            progress=wiring.get("progress"),
            lock_wait_s=wiring.get("lock_wait_s", defaults.LOCK_WAIT_S),
            lease_s=wiring.get("lease_s", defaults.LEASE_S),
            adoptions=user_adoptions(),
        )

    def memory(self, store: Store, until_owned: ExitStack) -> Memory:
        """A memory that owns this store. Until it does, `until_owned` ends what was begun."""
        secrets = known_secrets(os.environ, self._wiring.get("secrets") or {})
        paths = bool(self._wiring.get("redact_paths"))
        screen = Screen(secrets, store.secret, self._layers(paths), self._allow)
        embedding: Embedding | None = None
        if self._embedder is not None:
            embedding = Embedding(self._embedder, store, self._clock, owned=self._owns_embedder)
        reranking: Reranking | None = None
        if self._reranker is not None:
            reranking = Reranking(self._reranker, self._clock, owned=self._owns_reranker)
        committer = Committer(store, self._sync)
        until_owned.callback(committer.close)
        runtime = self._runtime(store, committer, screen, embedding, reranking)

        def screen_for(values: Sequence[str], with_paths: bool) -> CountingScreen:
            layers = self._layers(paths or with_paths)
            return screen_of(values, secrets, store.secret, layers, self._allow)

        return Memory(
            store=store,
            committer=committer,
            runtime=runtime,
            embedding=embedding,
            reranking=reranking,
            home=self._home,
            copy=None if self._home is None else partial(_copied, self._home, self._clock),
            window_tokens=self._window,
            mode=self._mode,
            layout=self._layout,
            control=self._control,
            overlay=partial(self._overlay, store, runtime, screen, reranking),
            screen_for=screen_for,
        )

    def _layers(self, paths: bool) -> list[Layer]:
        return layers_of(self._redact, paths=paths, cache=scanner_cache())

    def _runtime(
        self,
        store: Store,
        committer: Committer,
        screen: Screen,
        embedding: Embedding | None,
        reranking: Reranking | None,
    ) -> Runtime:
        wiring = self._wiring
        can_embed = store.vectors is not None and not wiring.get("read_only")
        quarantine = Quarantine(store.log, store.index, store.log.hash_key)
        pages = PageReader(store.log)

        def appended(events: Sequence[Event]) -> None:
            quarantine.appended(events)
            if embedding is not None and can_embed:
                embedding.wake()

        return Runtime(
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
            policy=lambda: Steady(self._policy()),
            epochs=self._epochs,
            model=_or(wiring.get("model"), ""),
            profile=self._profile,
            is_adopted=store.is_adopted,
            read_only=wiring.get("read_only", False),
            extracts_claims=self._claims is ClaimRules.RULES,
            forms=self._formation is FormationMode.ON or self._compaction.forms,
            compaction=self._compaction,
            names_compaction=wiring.get("compaction") is not None,
            compressor=wiring.get("compressor"),
            prefetch=tuple(wiring.get("prefetch", ())),
            hash_key=store.log.hash_key,
            seal=sealed_with(lambda text: store.log.hash_key(SessionNo(0), text)),
            clock=self._clock,
            meter=wiring.get("meter", lambda what, seconds: None),
            cache_s=wiring.get("cache_s", self._clock.monotonic_s),
            mint_session_id=lambda: f"ses_{self._minter.mint()}",
        )

    def _overlay(
        self,
        store: Store,
        runtime: Runtime,
        screen: Screen,
        reranking: Reranking | None,
        number: int,
    ) -> Overlay:
        """An overlay, and its runtime: this one, in another store."""
        # Rarely used, and it imports NumPy, a tenth of a second at each start.
        from pagefault.store.overlay.store import overlay_store

        above = overlay_store(store, self._clock, self._minter, number=number)
        writer = Committer(above, self._sync)
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


def _policy_of(wiring: Wiring) -> Callable[[], EvictionPolicy]:
    policy = _or(wiring.get("eviction_policy"), defaults.EVICTION_POLICY)
    if policy not in POLICIES:
        raise BadInput(f"unknown eviction policy {policy!r}", hint=f"one of {', '.join(POLICIES)}")
    return POLICIES[policy]


def _epochs_of(wiring: Wiring) -> EpochRule:
    """The rule for epochs, at the prices given or else the model's."""
    epochs, beta = _or(wiring.get("epochs"), "break_even"), wiring.get("beta", BETA)
    if epochs not in EPOCHS:
        raise BadInput(f"unknown rule for epochs {epochs!r}", hint=f"one of {', '.join(EPOCHS)}")
    if not 0 <= beta < float("inf"):
        raise BadInput(f"beta is {beta}", hint="it takes 0 or more; 1 is the cheapest")
    prices = wiring.get("prices") or find_model(_or(wiring.get("model"), "")).prices
    return EPOCHS[epochs](prices, beta)


def _model_of(given: Any, spec: type[ModelSpec[Any]]) -> tuple[Any, bool]:
    """The model given, or made from a setting, or None; and whether it was made here."""
    if isinstance(given, str):
        given = spec(text=given)
    return (given.make(), True) if isinstance(given, ModelSpec) else (given, False)


def _or(given: T | None, default: T) -> T:
    return default if given is None else given


def _home(root: str | Path) -> Path | None:
    """The root's folder as an absolute path; None for `:memory:`."""
    return None if str(root) == MEMORY else Path(os.path.realpath(Path(root).expanduser()))


def _copied(home: Path, clock: Clock, target: Path, progress: Progress | None) -> Copied:
    return backup(home, target, clock=clock, adoptions=user_adoptions(), progress=progress)
