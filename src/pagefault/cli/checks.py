"""The checks of `pagefault doctor`. Every check answers; none changes anything."""

from __future__ import annotations

import os
import platform
import shutil
import stat
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final

from pagefault.cli.app import App
from pagefault.cli.config import paths
from pagefault.cli.term import plural
from pagefault.cli.upkeep import store_tools
from pagefault.model.errors import BadInput, PagefaultError

if TYPE_CHECKING:
    from pagefault.service.config import Config
    from pagefault.store.store import Store

PYTHON_MIN: Final = (3, 11)
SQLITE_MIN: Final = (3, 51, 3)  # earlier ones have the WAL reset bug
FREE_WARN: Final = 1_000_000_000
FREE_FAIL: Final = 20_000_000
EPOCH_2026_MS: Final = 1_767_225_600_000


@dataclass(frozen=True, slots=True)
class Check:
    """`status` is ok, warn or fail; `advice` says what to do, if anything."""

    name: str
    status: str
    found: str
    advice: str = ""


def run_checks(app: App, *, network: bool, canary: bool, live: bool) -> Iterator[Check]:
    """Every check in order; those that depend on a failed one are left out."""
    from pagefault.service.config import MEMORY

    yield _python()
    yield _sqlite()
    yield _tokenizer()
    config: Config | None = None
    try:
        config = app.config()
        files = [str(path) for _, path in paths() if path.is_file()]
        yield Check("config", "ok", f"valid; {', '.join(files) or 'no files'} read")
    except BadInput as bad:
        yield Check("config", "fail", bad.message, bad.hint)
    if config is not None:
        newest_ms = 0
        if config.root == MEMORY:
            yield Check("root", "ok", "in memory: nothing is saved")
        else:
            for check, at_ms in _root(Path(os.path.realpath(config.root))):
                newest_ms = max(newest_ms, at_ms)
                yield check
        yield _clock(newest_ms)
        engine = _engine(config)
        yield engine
        if network and engine.status == "ok" and config.engine.model:
            yield _network(app, config)
        yield _redaction(config)
        if config.embedder:
            yield _embedder(app, config, network=network)
        if config.reranker:
            yield _reranker(config, network=network)
        from pagefault.cli.checks_proxy import proxy_checks

        yield from proxy_checks(app, config, canary=canary, live=live)


# --- installation ---------------------------------------------------------------------------------


def _python() -> Check:
    found = f"{platform.python_version()} ({sys.executable})"
    if sys.version_info[:2] < PYTHON_MIN:
        return Check("python", "fail", found, "install Python 3.11 or newer")
    return Check("python", "ok", found)


def _sqlite() -> Check:
    try:
        import apsw
    except ImportError as error:
        return Check("sqlite", "fail", f"apsw cannot be loaded: {error}", "pip install apsw")
    version = apsw.sqlite_lib_version()
    if "ENABLE_FTS5" not in apsw.compile_options:
        return Check(
            "sqlite", "fail", f"{version} without FTS5", "pip install --force-reinstall apsw"
        )
    if tuple(int(part) for part in version.split(".")) < SQLITE_MIN:
        return Check(
            "sqlite",
            "warn",
            f"{version}, whose write-ahead log can lose a commit",
            "pip install --upgrade apsw; otherwise the index may need a `pagefault rebuild`",
        )
    return Check("sqlite", "ok", f"{version} with FTS5")


def _tokenizer() -> Check:
    from pagefault.pack.count import O200k

    began = time.perf_counter()
    try:
        counted = O200k().count("hello world")
    except Exception as error:  # a compiled extension may raise anything
        return Check("tokenizer", "fail", f"cannot be loaded: {error}", "pip install toktok-rs")
    took_ms = 1000 * (time.perf_counter() - began)
    if counted != 2:
        return Check(
            "tokenizer", "fail", f"counts {counted} tokens instead of 2", "reinstall toktok-rs"
        )
    return Check("tokenizer", "ok", f"o200k, loaded in {took_ms:.0f} ms")


# --- memory ---------------------------------------------------------------------------------------


def _root(path: Path) -> Iterator[tuple[Check, int]]:
    """Checks, each with the time of the newest record it saw, 0 if none."""
    if not path.exists():
        yield _unmade(path), 0
        return
    if not path.is_dir():
        yield Check("root", "fail", f"{path} is not a folder", "choose another: --root"), 0
        return
    yield _access(path), 0
    yield _space(path), 0
    if not os.path.lexists(path / "root.json"):
        yield _no_root_file(path), 0
        return
    writers = _writers(path)
    yield Check("lock", "ok", f"open for writing by {writers}" if writers else "free"), 0
    yield _adopted(path), 0
    for stray in _strays(path):
        yield stray, 0
    yield from _contents(path, busy=bool(writers))


def _adopted(path: Path) -> Check:
    """Whether the memory was made here by this user, or adopted."""
    from pagefault.service.adopt import is_adopted
    from pagefault.store.embedded.adoption import not_adopted

    try:
        if is_adopted(path):
            return Check("adopted", "ok", "created here by you, or adopted")
    except PagefaultError as error:
        return Check("adopted", "fail", error.message, error.hint)
    refusal = not_adopted(path)
    return Check("adopted", "warn", refusal.message, refusal.hint)


def _strays(path: Path) -> Iterator[Check]:
    from pagefault.store.embedded.inventory import take_inventory

    try:
        strays = take_inventory(path / "log").strays
    except PagefaultError as error:
        yield Check("log", "fail", error.message, error.hint)
        return
    for stray in strays:
        yield Check("strays", "warn", str(stray), "inspect it, then remove it")


def _no_root_file(path: Path) -> Check:
    from pagefault.model.errors import StoreCorrupt, StoreMissing
    from pagefault.store.embedded.root_file import check_there

    try:
        check_there(path)
    except StoreCorrupt as error:
        return Check("log", "fail", error.message, error.hint)
    except StoreMissing:
        pass
    return Check("log", "ok", "no memory in this folder yet; the first chat creates it")


def _unmade(path: Path) -> Check:
    parent = next(folder for folder in path.parents if folder.exists())
    if not os.access(parent, os.W_OK | os.X_OK):
        advice = "choose another folder: --root or PAGEFAULT_HOME"
        return Check("root", "fail", f"{path} does not exist and cannot be created", advice)
    return Check("root", "ok", f"{path} does not exist yet; the first chat creates it")


def _access(path: Path) -> Check:
    if not os.access(path, os.R_OK | os.W_OK | os.X_OK):
        return Check("root", "fail", f"{path} cannot be written", f"chown or chmod u+rwx {path}")
    mode = stat.S_IMODE(path.stat().st_mode)
    if mode & 0o077:
        return Check(
            "root", "warn", f"{path} is open to other users (mode {mode:04o})", f"chmod 700 {path}"
        )
    return Check("root", "ok", f"{path}, mode {mode:04o}")


def _space(path: Path) -> Check:
    free = shutil.disk_usage(path).free
    found = f"{free / 1e9:,.1f} GB free"
    if free < FREE_WARN:
        return Check("disk", "fail" if free < FREE_FAIL else "warn", found, "free some space")
    return Check("disk", "ok", found)


def _writers(path: Path) -> str:
    """The processes that have it open for writing now."""
    from pagefault.model.clock import SystemClock
    from pagefault.store.embedded.presence import all_living

    return "; ".join(map(str, all_living(path.resolve() / "instances", SystemClock())))


def _contents(path: Path, *, busy: bool) -> Iterator[tuple[Check, int]]:
    from pagefault.store.embedded.root import open_store

    try:
        store = open_store(path, read_only=True, **store_tools())
    except PagefaultError as error:
        yield Check("log", "fail", error.message, error.hint), 0
        return
    try:
        yield _log(store), _newest_ms(store)
        if away := _away(store):
            yield away, 0
        yield _index(store, busy=busy), 0
    finally:
        store.close()


def _log(store: Store) -> Check:
    from pagefault.model.errors import StoreCorrupt
    from pagefault.store.embedded.opening import SHORT_HINT

    head, log = store.log.head(), store.log.known()
    if log.problems:
        found = f"damaged in {plural(len(log.problems), 'place')}, the first: {log.problems[0]}"
        advice = SHORT_HINT if log.missing else StoreCorrupt.hint
        return Check("log", "fail", found, advice)
    if log.recovery:
        advice = "the next command that writes removes it"
        return Check("log", "warn", log.recovery, advice)
    return Check("log", "ok", f"{plural(head, 'record')}; `pagefault verify` reads them all")


def _away(store: Store) -> Check | None:
    from pagefault.model.errors import ArchiveMissing

    away = store.log.known().away
    return Check("archive", "warn", away, ArchiveMissing.hint) if away else None


def _index(store: Store, *, busy: bool) -> Check:
    if store.rebuilt:
        return Check("index", "warn", f"unusable: {store.rebuilt}", "`pagefault rebuild`")
    behind = store.behind or store.log.head() - store.index.applied_seq()
    if behind > 0 and not busy:
        advice = "the next command that writes catches up"
        return Check("index", "warn", f"{plural(behind, 'record')} behind the log", advice)
    if aside := store.index.set_aside():
        found = f"current; {plural(len(aside), 'record')} that cannot be read, set aside"
        return Check("index", "warn", found, "`pagefault verify` lists them")
    return Check("index", "ok", "current")


def _newest_ms(store: Store) -> int:
    try:
        return store.log.get(store.log.head()).at_ms if store.log.head() else 0
    except PagefaultError:
        return 0


def _clock(newest_ms: int) -> Check:
    now_ms = int(time.time() * 1000)
    if now_ms < EPOCH_2026_MS:
        return Check("clock", "fail", f"{_clocked(now_ms)} is in the past", "set the system clock")
    if newest_ms > now_ms + 60_000:
        return Check(
            "clock",
            "warn",
            f"{_clocked(now_ms)}, before the newest record ({_clocked(newest_ms)})",
            "set the system clock; the order of records is safe, their times are not",
        )
    return Check("clock", "ok", _clocked(now_ms))


def _clocked(at_ms: int) -> str:
    moment = datetime.fromtimestamp(at_ms / 1000).astimezone()
    return moment.isoformat(sep=" ", timespec="seconds")


# --- engine ---------------------------------------------------------------------------------------


def _engine(config: Config) -> Check:
    from pagefault.cli.engines import remote_engine

    try:
        remote_engine(config)
    except PagefaultError as error:
        if not config.engine.model:  # search, packs, MCP and the proxy need none
            needs = "only commands that ask a model need one, such as `chat` and `form`"
            found = f"{error.message}: {needs}"
            return Check("engine", "ok", found, error.hint)
        return Check("engine", "warn", error.message, error.hint)
    told = f"{config.engine.model} at {config.shown('engine.base_url')}"
    return Check("engine", "ok", f"{told} (not tested; --network tests it)")


def _embedder(app: App, config: Config, *, network: bool) -> Check:
    """Whether it can be made; and whether it answers, if it needs no network, or may use it."""
    from pathlib import Path

    try:
        spec = config.embedder_spec
        assert spec is not None
        embedder = spec.make()
        try:
            if spec.is_remote and not network:
                return Check("embedder", "ok", f"{embedder.name} (not tested; --network tests it)")
            width = embedder.embed(["Is anybody there?"], kind="query").shape[1]
            missing = app.run(_not_embedded(app, config)) if Path(config.root).is_dir() else 0
        finally:
            spec.close(embedder)
    except PagefaultError as error:
        advice = error.hint or "until it works, search uses words only"
        return Check("embedder", "warn", error.message, advice)
    except Exception as error:  # of the user's own code
        told = f"{config.embedder} fails: {type(error).__name__}: {error}"
        return Check("embedder", "warn", told, "until it works, search uses words only")
    found = f"{embedder.name}, {width} dimensions"
    if missing:
        found = f"{found}; {plural(missing, 'page')} without a vector"
        return Check("embedder", "warn", found, "`pagefault embed` creates them now")
    return Check("embedder", "ok", found)


def _redaction(config: Config) -> Check:
    """The layers that look for secrets in what is written, each of them tried."""
    from pagefault.guard.layers import layers_of
    from pagefault.guard.scanner import is_installed
    from pagefault.model.kinds import RedactLevel
    from pagefault.service.bootstrap import scanner_cache

    level = config.redact.level
    names = ["known values"]
    for layer in layers_of(level, paths=config.redact.paths, cache=scanner_cache()):
        try:
            layer.find("Nothing to see here: 0123456789abcdef0123456789")
        except Exception as error:
            told = f"{layer.name} fails: {type(error).__name__}: {error}"
            return Check(
                "redaction", "warn", told, "until it works, texts are withheld and not stored"
            )
        names.append(layer.name)
    if level is RedactLevel.KNOWN:
        return Check("redaction", "ok", f"{', '.join(names)} (redact.level is known)")
    more = "" if is_installed() else " (pip install 'pagefault[scanner]' adds a scanner's rules)"
    return Check("redaction", "ok", f"{', '.join(names)}{more}")


def _reranker(config: Config, *, network: bool) -> Check:
    """Whether it can be made; and whether it answers, if it needs no network, or may use it."""
    advice = "until it works, search uses words only"
    try:
        spec = config.reranker_spec
        assert spec is not None
        reranker = spec.make()
        try:
            if spec.is_remote and not network:
                return Check("reranker", "ok", f"{reranker.name} (not tested; --network tests it)")
            reranker.rerank("Is anybody there?", ["Yes.", "The lease ends in May."])
        finally:
            spec.close(reranker)
    except PagefaultError as error:
        return Check("reranker", "warn", error.message, error.hint or advice)
    except Exception as error:  # of the user's own code
        told = f"{config.reranker} fails: {type(error).__name__}: {error}"
        return Check("reranker", "warn", told, advice)
    return Check("reranker", "ok", reranker.name)


async def _not_embedded(app: App, config: Config) -> int:
    async with app.memory(config, read_only=True) as memory:
        now = await memory.embedding()
    return now.missing if now is not None else 0


def _network(app: App, config: Config) -> Check:
    from pagefault.cli.engines import remote_engine
    from pagefault.model.kinds import Role
    from pagefault.model.request import Message, Reply, Request

    request = Request(
        messages=(Message(role=Role.USER, content="Answer with the one word: ready"),),
        tools=(),
        tokens=16,
        factor=1.0,
        window_tokens=config.window_tokens,
    )

    async def ask() -> str:
        async with remote_engine(config) as engine:
            async for piece in engine.reply(request):
                if isinstance(piece, Reply):
                    return piece.text
        return ""

    began = time.perf_counter()
    try:
        text = " ".join(app.run(ask()).split())[:40]
    except PagefaultError as error:
        return Check("network", "fail", error.message, error.hint)
    return Check("network", "ok", f"answered {text!r} in {time.perf_counter() - began:.1f} s")
