"""Configuration: where each value came from, and who may set it.

Flags win over the environment, the environment over the project's file (`.pagefault/config.toml`,
searched upward), the project's over the user's (`config.toml` in the platform's folder, or the file
that `PAGEFAULT_CONFIG` names), the user's over OPENAI_BASE_URL and OPENAI_API_KEY, and these over
the defaults: they are exported for other programs, so they fill gaps and replace nothing.

Invariants:
 (1) A project's file sets nothing marked `trust`: a cloned repository decides neither where
     conversations are kept nor who reads them.
 (2) A key in the user's file goes only to the `base_url` in the user's file.
 (3) Every value knows its origin; only the length of a secret is shown.
"""

from __future__ import annotations

import difflib
import os
import re
import stat
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from enum import Enum, StrEnum
from functools import cache
from pathlib import Path
from typing import Any, Final, get_type_hints

from pagefault.guard.screen import without_password
from pagefault.model import defaults
from pagefault.model.catalogue import find_model, find_prices
from pagefault.model.errors import BadInput
from pagefault.model.kinds import (
    ClaimRules,
    Compaction,
    ControlMode,
    CoreOverflow,
    FormationMode,
    HostileNotes,
    LayoutName,
    Mode,
    Profile,
    RedactLevel,
    Sync,
)
from pagefault.model.prices import PriceList
from pagefault.model.quotas import Quotas
from pagefault.service.derived.embedders import EmbedderSpec
from pagefault.service.derived.rerankers import RerankerSpec

MEMORY: Final = ":memory:"
FILE_NAME: Final = "config.toml"
PROJECT_FOLDER: Final = ".pagefault"
FILE_BYTES_MAX: Final = 1024 * 1024


def setting(
    default: Any,
    *,
    trust: bool = False,
    secret: bool = False,
    at_least: float | None = None,
    flag: str = "",
    variable: str = "",
    fallback: str = "",
) -> Any:
    """A field that can be configured. A new setting needs only its type and this line.

    `trust`: not for a project's file. `flag` and `variable` override the names made from the key;
    `fallback` is a variable of other programs, used if the setting is not set.
    """
    told = {
        "trust": trust,
        "secret": secret,
        "at_least": at_least,
        "flag": flag,
        "variable": variable,
        "fallback": fallback,
    }
    return field(default=default, metadata=told, repr=not secret)


# --- settings -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineConfig:
    """The endpoint that answers requests."""

    base_url: str = setting("https://api.openai.com/v1", trust=True, fallback="OPENAI_BASE_URL")
    model: str = setting("")
    api_key: str = setting("", trust=True, secret=True, fallback="OPENAI_API_KEY")
    allow_http: bool = setting(False, trust=True)  # plain http beyond this machine
    stream: bool = setting(True)
    connect_s: float = setting(10.0, at_least=0.1)
    first_byte_s: float = setting(300.0, at_least=0.1)
    between_s: float = setting(60.0, at_least=0.1)
    total_s: float = setting(1800.0, at_least=0.1)


@dataclass(frozen=True, slots=True, kw_only=True)
class LimitsConfig:
    """Limits of one turn, one page and one answer. `model/defaults.py` gives the reasons."""

    faults_per_turn_max: int = setting(defaults.FAULTS_PER_TURN, at_least=0)
    fault_tokens_per_turn_max: int = setting(defaults.FAULT_TOKENS_PER_TURN, at_least=0)
    searches_per_turn_max: int = setting(defaults.SEARCHES_PER_TURN, at_least=0)
    steps_per_turn_max: int = setting(defaults.STEPS_PER_TURN, at_least=1)
    recall_tokens_max: int = setting(defaults.RECALL_TOKENS, at_least=0)
    paged_in_tokens_max: int = setting(defaults.PAGED_IN_TOKENS, at_least=0)
    page_tokens_max: int = setting(defaults.PAGE_TOKENS, at_least=64)
    artifact_bytes_max: int = setting(defaults.ARTIFACT_BYTES, at_least=1)
    formed_share: float = setting(defaults.FORMED_SHARE, at_least=0)
    formed_after_turns: int = setting(defaults.FORMED_AFTER_TURNS, at_least=0)
    formation_tokens_per_session: int = setting(
        defaults.FORMATION_TOKENS_PER_SESSION, trust=True, at_least=0
    )
    formation_tokens_per_day: int = setting(
        defaults.FORMATION_TOKENS_PER_DAY, trust=True, at_least=0
    )
    formation_rest_s: float = setting(defaults.FORMATION_REST_S, trust=True, at_least=0)
    loading: str = setting(defaults.LOADING)
    prefetch_pages_max: int = setting(defaults.PREFETCH_PAGES, at_least=0)
    compress_after_tokens: int = setting(defaults.COMPRESS_AFTER_TOKENS, at_least=0)
    compress_after_s: float = setting(defaults.COMPRESS_AFTER_S, at_least=0)
    hot_tokens_max: int = setting(defaults.HOT_TOKENS, at_least=0)
    warm_accesses: int = setting(defaults.WARM_ACCESSES, at_least=0)
    promote_relevance: float = setting(defaults.PROMOTE_RELEVANCE, at_least=0)
    cold_items_max: int = setting(defaults.COLD_ITEMS, at_least=0)
    auto_spill: bool = setting(defaults.AUTO_SPILL)
    auto_promote: bool = setting(defaults.AUTO_PROMOTE)
    core_section_chars: int = setting(defaults.CORE_SECTION_CHARS, at_least=1)
    core_chars_max: int = setting(defaults.CORE_CHARS, at_least=1)
    core_overflow: CoreOverflow = setting(CoreOverflow.REFUSE)  # noqa: RUF009
    core_tools: bool = setting(defaults.CORE_TOOLS, trust=True)
    hostile_notes: HostileNotes = setting(HostileNotes.QUARANTINE, trust=True)  # noqa: RUF009


_OF_EACH_QUOTA: Final = setting(0, trust=True, at_least=0).metadata


class EpochRuleName(StrEnum):
    """When the prefix of a session's requests is rewritten."""

    BREAK_EVEN = "break_even"
    WINDOW_FULL = "window_full"
    COLD_OR_FULL = "cold_or_full"


@dataclass(frozen=True, slots=True, kw_only=True)
class EpochsConfig:
    """When a prefix is rewritten; `beta` is the patience of break_even."""

    rule: EpochRuleName = setting(EpochRuleName.BREAK_EVEN)  # noqa: RUF009 - it is a field
    beta: float = setting(1.0, at_least=0)


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimsConfig:
    """How decisions, preferences and facts are extracted from the user's messages."""

    extract: ClaimRules = setting(ClaimRules.RULES)  # noqa: RUF009


class Compressors(StrEnum):
    """Who writes shorter forms on request."""

    RULES = "rules"
    MODEL = "model"


@dataclass(frozen=True, slots=True, kw_only=True)
class CompressConfig:
    """Who writes the abstract of a page. A model is the configured engine."""

    by: Compressors = setting(Compressors.RULES, trust=True)  # noqa: RUF009
    tokens_max: int = setting(0, at_least=0)  # of an abstract; 0 is a tenth
    timeout_s: float = setting(30.0, at_least=0.1)


@dataclass(frozen=True, slots=True, kw_only=True)
class RecallConfig:
    """How pages are found."""

    profile: Profile = setting(Profile.MEASURED)  # noqa: RUF009


@dataclass(frozen=True, slots=True, kw_only=True)
class RedactConfig:
    """What is redacted from everything written, besides known secrets."""

    level: RedactLevel = setting(RedactLevel.DETECT, trust=True)  # noqa: RUF009
    paths: bool = setting(False, trust=True)  # user names in paths
    allow: str = setting("", trust=True)  # what is not a secret, with * and ?, separated by spaces


@dataclass(frozen=True, slots=True, kw_only=True)
class Config:
    """The whole configuration, read and checked. Made by `load`."""

    root: str = setting("", trust=True, variable="PAGEFAULT_HOME")  # a folder, or `MEMORY`
    sync: Sync = setting(Sync.GROUP, trust=True)  # noqa: RUF009 - it is a field
    window_tokens: int = setting(defaults.WINDOW_TOKENS, at_least=256, flag="--window")
    mode: Mode = setting(Mode.ACTIVE)  # noqa: RUF009
    layout: LayoutName = setting(LayoutName.STABLE)  # noqa: RUF009
    control: ControlMode = setting(ControlMode.ASSIST, trust=True)  # noqa: RUF009
    formation: FormationMode = setting(FormationMode.OFF, trust=True)  # noqa: RUF009 - it costs
    compaction: Compaction = setting(Compaction.EXTRACTIVE, trust=True)  # noqa: RUF009 - likewise
    eviction_policy: str = setting(defaults.EVICTION_POLICY)
    embedder: str = setting("", trust=True)  # it sees every page, or is the user's own code
    reranker: str = setting("", trust=True)  # it sees pages, or is the user's own code
    prices: str = setting("")  # a list by name, or READ/WRITE/SECONDS; by default the model's
    epochs: EpochsConfig = field(default_factory=EpochsConfig)
    engine: EngineConfig = field(default_factory=EngineConfig)
    limits: LimitsConfig = field(default_factory=LimitsConfig)
    quotas: Quotas = field(default_factory=Quotas, metadata=_OF_EACH_QUOTA)
    claims: ClaimsConfig = field(default_factory=ClaimsConfig)
    compress: CompressConfig = field(default_factory=CompressConfig)
    recall: RecallConfig = field(default_factory=RecallConfig)
    redact: RedactConfig = field(default_factory=RedactConfig)
    origins: Mapping[str, str] = field(default_factory=dict, repr=False, compare=False)

    @property
    def price_list(self) -> PriceList:
        """The prices of prompts. Raises `BadInput` for an unknown list."""
        if self.prices:
            return find_prices(self.prices)
        return find_model(self.engine.model).prices

    @property
    def embedder_spec(self) -> EmbedderSpec | None:
        """The configured embedder, if any; `openai:` uses the engine's endpoint."""
        return EmbedderSpec(**self._asked_as(self.embedder)) if self.embedder else None

    @property
    def reranker_spec(self) -> RerankerSpec | None:
        """The configured reranker, if any; `rerank:` uses the engine's endpoint."""
        return RerankerSpec(**self._asked_as(self.reranker)) if self.reranker else None

    def _asked_as(self, text: str) -> dict[str, Any]:
        engine = self.engine
        return {
            "text": text,
            "base_url": engine.base_url,
            "api_key": engine.api_key,
            "key_from": self.origin("engine.api_key"),
            "allow_http": engine.allow_http,
        }

    def origin(self, key: str) -> str:
        """Where the value of `key` ("engine.model") came from. Raises `BadInput`."""
        return self.origins.get(_known(key, "there is no setting").key, "default")

    def shown(self, key: str) -> str:
        """The value of `key` as text: a secret as its length, an address without its password.

        Raises `BadInput`.
        """
        item = _known(key, "there is no setting")
        value: Any = self
        for name in item.key.split("."):
            value = getattr(value, name)
        if item.secret:
            return f"set, {len(value)} characters" if value else "not set"
        return str(value).lower() if isinstance(value, bool) else without_password(str(value))

    def rows(self) -> list[tuple[str, str, str]]:
        """Key, shown value and origin of every setting, for `config show`."""
        return [(key, self.shown(key), self.origin(key)) for key in schema()]


@dataclass(frozen=True, slots=True)
class Setting:
    """One line of the schema, made from a field."""

    key: str
    type: type
    trust: bool
    secret: bool
    at_least: float | None
    flag: str
    variable: str
    fallback: str


@cache
def schema() -> Mapping[str, Setting]:
    """Every setting by its dotted key, in the order of the classes above."""
    return {item.key: item for item in _settings(Config, "")}


def _settings(
    owner: type[Any], prefix: str, of_each: Mapping[str, Any] | None = None
) -> Iterator[Setting]:
    """The settings in a class; `of_each` are the rules of fields that have none."""
    types = get_type_hints(owner)
    for one in fields(owner):
        key, kind = prefix + one.name, types[one.name]
        if isinstance(kind, type) and is_dataclass(kind):
            yield from _settings(kind, key + ".", one.metadata)
        elif rules := one.metadata or of_each:
            yield Setting(
                key=key,
                type=kind,
                trust=rules["trust"],
                secret=rules["secret"],
                at_least=rules["at_least"],
                flag=rules["flag"] or "--" + re.sub(r"[._]", "-", key),
                variable=rules["variable"] or "PAGEFAULT_" + key.upper().replace(".", "__"),
                fallback=rules["fallback"],
            )


_LISTED: Final = "`pagefault config show` lists what there is"
_OTHER_VARIABLES: Final = (
    "PAGEFAULT_CONFIG",
    "PAGEFAULT_DEBUG",
    "PAGEFAULT_PROXY_TOKEN",
    "PAGEFAULT_WRAP_TOKEN",
    "PAGEFAULT_VERIFY",
)


# --- loading --------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class UserFolders:
    """Where the platform keeps a user's configuration and data."""

    config: Path
    data: Path


@dataclass(frozen=True, slots=True)
class _Found:
    """A value, its origin, and (for a path) the folder that it is relative to."""

    value: object
    origin: str
    layer: str
    folder: Path


def load(
    *,
    environ: Mapping[str, str],
    cwd: Path,
    flags: Mapping[str, object] | None = None,
    arguments: Mapping[str, str] | None = None,
    folders: UserFolders | None = None,
) -> Config:
    """The configuration for a process in `cwd`.

    `flags` are values by dotted key; None is a flag not given. Those that a program gave to
    `pagefault.open` have its name for them in `arguments`, by the same keys, for errors. Reads two
    files at most, and creates nothing. Raises `BadInput`, which names the file, the line and the
    key.
    """
    folders = folders or _platform_folders()
    found: dict[str, _Found] = {}
    fallbacks = {s.fallback: s.key for s in schema().values() if s.fallback}
    _add_environment(found, environ, cwd, fallbacks)
    _add_user_file(found, environ, folders)
    named = [(flags or {}).get("root"), environ.get("PAGEFAULT_HOME"), found.get("root")]
    project = find_project(cwd, skip_theirs=any(named))
    if project is not None:
        _add_file(found, project / FILE_NAME, layer="project")
    variables = {s.variable: s.key for s in schema().values()}
    _refuse_unknown_variables(environ, variables)
    _add_environment(found, environ, cwd, variables)
    _add_flags(found, flags or {}, cwd, arguments or {})
    _withhold_key(found)
    values = {key: _checked(schema()[key], one) for key, one in found.items()}
    origins = {key: one.origin for key, one in found.items()}
    if "root" not in values:
        values["root"] = str(project or folders.data)
        origins["root"] = "default: found here" if project else "default: the user's data folder"
    model = find_model(str(values.get("engine.model", "")))
    if "window_tokens" not in values and model.is_known:
        values["window_tokens"] = model.room_tokens
        origins["window_tokens"] = f"default: of {model.name}, room for the answer kept"
    config: Config = _build(Config, "", values, origins=origins)
    return config


def find_project(cwd: Path, *, skip_theirs: bool = False) -> Path | None:
    """The nearest `.pagefault` folder from `cwd` upward.

    A folder that belongs to somebody else, or is inside somebody else's, would make us write
    conversations into it, or read its settings; one that is a link, or not a folder, leads
    elsewhere or nowhere. Both raise `BadInput`, or are skipped if the root is given anyway
    (`skip_theirs`).
    """
    for folder in (cwd, *cwd.parents):
        candidate = folder / PROJECT_FOLDER
        try:
            told, around = candidate.lstat(), folder.stat()
        except OSError:
            continue
        wrong = _wrong_with(told, around)
        if not wrong:
            return candidate
        if skip_theirs:
            return None
        raise BadInput(
            f"{candidate} {wrong}",
            hint="set the memory's folder explicitly: `root` or PAGEFAULT_HOME",
        )
    return None


def _wrong_with(told: os.stat_result, around: os.stat_result) -> str:
    """Why a folder found on the way up is not used; empty if it is. Folders of root above it are
    every user's.
    """
    if stat.S_ISLNK(told.st_mode):
        return "is a link, and none is followed unasked"
    if not stat.S_ISDIR(told.st_mode):
        return "is no folder"
    if os.name == "posix" and told.st_uid != os.geteuid():
        return "belongs to another user"
    if os.name == "posix" and around.st_uid not in (0, os.geteuid()):
        return "lies in a folder of another user"
    return ""


def _platform_folders() -> UserFolders:
    import platformdirs

    return UserFolders(
        platformdirs.user_config_path("pagefault", appauthor=False),
        platformdirs.user_data_path("pagefault", appauthor=False),
    )


def _add_user_file(
    found: dict[str, _Found], environ: Mapping[str, str], folders: UserFolders
) -> None:
    named = environ.get("PAGEFAULT_CONFIG")
    if named is None:
        _add_file(found, folders.config / FILE_NAME, layer="user")
    elif named:  # empty: the user has no file
        path = Path(named).expanduser()
        if not path.is_file():
            raise BadInput(
                f"PAGEFAULT_CONFIG names {path}, which is not a file",
                hint="correct the path, or unset the variable",
            )
        _add_file(found, path, layer="user")


def _add_file(found: dict[str, _Found], path: Path, *, layer: str) -> None:
    try:
        if layer == "project" and path.is_symlink():
            raise BadInput(f"{path} is a link, and links in a project's folder are not followed")
        if path.exists() and not path.is_file():
            raise BadInput(f"{path} is not a file")  # a pipe would block us
        with path.open("rb") as file:
            raw = file.read(FILE_BYTES_MAX + 1)
    except FileNotFoundError:
        return
    except OSError as error:
        raise BadInput(f"cannot read {path}: {error.strerror}") from None
    if len(raw) > FILE_BYTES_MAX:
        raise BadInput(f"{path} is too large for a configuration file")
    try:
        text = raw.decode("utf-8")
        document = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise BadInput(f"{path} is not TOML: {error}") from None
    for key, value in _flat(document, ""):
        line = _line_of(text, key)
        where = f"{path}:{line}" if line else str(path)
        item = _known(key, f"{where}: unknown key")
        if item.trust and layer == "project":
            raise BadInput(
                f"{where}: {key} may not be set by a project",
                hint=f"set it in your own {FILE_NAME} (`pagefault config path`), by "
                f"{item.variable}, or by {item.flag}",
            )
        found[key] = _Found(value, f"{layer} file: {where}", layer, path.parent)


def _refuse_unknown_variables(environ: Mapping[str, str], known: Mapping[str, str]) -> None:
    for name in environ:
        if name.startswith("PAGEFAULT_") and name not in known and name not in _OTHER_VARIABLES:
            raise BadInput(
                f"unknown variable {name}",
                hint=_did_you_mean(name, list(known)) or _LISTED,
            )


def _add_environment(
    found: dict[str, _Found], environ: Mapping[str, str], cwd: Path, names: Mapping[str, str]
) -> None:
    for name, key in names.items():
        if environ.get(name):  # an empty variable counts as unset
            found[key] = _Found(environ[name], f"environment: {name}", "environment", cwd)


def _add_flags(
    found: dict[str, _Found], flags: Mapping[str, object], cwd: Path, arguments: Mapping[str, str]
) -> None:
    for key, value in flags.items():
        if value is not None:
            item = _known(key, "there is no setting")
            origin = f"flag: {item.flag}"
            if key in arguments:
                origin = f"pagefault.open({arguments[key]}=…)"
            found[key] = _Found(value, origin, "flag", cwd)


def _withhold_key(found: dict[str, _Found]) -> None:
    """Invariant (2). A key is for one provider; another address needs its own."""
    key, url = found.get("engine.api_key"), found.get("engine.base_url")
    if key is not None and url is not None and key.layer == "user" and url.layer != "user":
        why = f"withheld: the key in {key.origin} is not for the base_url from {url.origin}"
        found["engine.api_key"] = _Found("", why, key.layer, key.folder)


@cache
def _types_of(owner: type) -> dict[str, Any]:
    """Evaluating them takes longer than everything else here."""
    return get_type_hints(owner)


def _build(owner: type, prefix: str, values: Mapping[str, object], **given: object) -> Any:
    types = _types_of(owner)
    for one in fields(owner):
        key, kind = prefix + one.name, types[one.name]
        if is_dataclass(kind) and isinstance(kind, type):
            given[one.name] = _build(kind, key + ".", values)
        elif key in values:
            given[one.name] = values[key]
    return owner(**given)


# --- keys -----------------------------------------------------------------------------------------


def _known(key: str, complaint: str) -> Setting:
    item = schema().get(key)
    if item is None:
        raise BadInput(
            f"{complaint} {key!r}",
            hint=_did_you_mean(key, list(schema())) or _LISTED,
        )
    return item


def _did_you_mean(word: str, words: list[str]) -> str:
    near = difflib.get_close_matches(word, words, n=1)
    if not near:  # the right name in the wrong section, or without one
        near = [w for w in words if w.rpartition(".")[2] == word.rpartition(".")[2]]
    return f"did you mean {near[0]}?" if near else ""


def _flat(table: Mapping[str, object], prefix: str) -> Iterator[tuple[str, object]]:
    """Dotted keys and values of a document. A table under a setting's key is its value."""
    for name, value in table.items():
        key = prefix + name
        if isinstance(value, dict) and key not in schema():
            if value:
                yield from _flat(value, key + ".")
            elif not any(known.startswith(key + ".") for known in schema()):
                yield key, value
        else:
            yield key, value


def _line_of(text: str, key: str) -> int:
    """The line that sets `key`, found by a simple scan; 0 if it is not found."""
    section = ""
    for number, line in enumerate(text.splitlines(), start=1):
        line = line.strip()
        if table := re.match(r"\[+([^\[\]]+)\]+", line):
            section = _bare(table[1]) + "."
            if section == key + ".":
                return number
        elif (left := re.match(r"""([\w."' -]+?)\s*=""", line)) and section + _bare(left[1]) == key:
            return number
    return 0


def _bare(dotted: str) -> str:
    return ".".join(part.strip(" \"'") for part in dotted.split("."))


# --- values ---------------------------------------------------------------------------------------

_TRUE: Final = frozenset({"1", "true", "yes", "on"})
_FALSE: Final = frozenset({"0", "false", "no", "off"})


def _checked(item: Setting, found: _Found) -> object:
    """The value in its type and range. Raises `BadInput`, which shows no secret."""
    try:
        value = _typed(item, found)
    except ValueError as error:
        got = "" if item.secret else f", not {found.value!r}"
        raise BadInput(f"{found.origin}: {item.key} must be {error}{got}") from None
    return value


def _typed(item: Setting, found: _Found) -> object:
    value = found.value
    if isinstance(value, str) and not isinstance(value, Enum):
        value = value.strip()
    if item.key == "root":
        return _root(value, found.folder)
    if issubclass(item.type, StrEnum):
        words = [str(word) for word in item.type]
        if value not in words:
            raise ValueError("one of " + ", ".join(words))
        return item.type(value)
    if item.type is bool:
        return _bool(value)
    if item.type is str:
        if not isinstance(value, str):
            raise ValueError("text")
        return value
    return _number(item, value, text=found.layer in ("environment", "flag"))


def _bool(value: object) -> bool:
    if isinstance(value, bool):
        return value
    if isinstance(value, str) and value.lower() in _TRUE | _FALSE:
        return value.lower() in _TRUE
    raise ValueError("true or false")


def _number(item: Setting, value: object, *, text: bool) -> int | float:
    kind = "a whole number" if item.type is int else "a number"
    if text and isinstance(value, str):
        try:
            value = int(value) if item.type is int else float(value)
        except ValueError:
            raise ValueError(kind) from None
    if item.type is float and isinstance(value, int) and not isinstance(value, bool):
        value = float(value)
    if not isinstance(value, item.type) or isinstance(value, bool):
        raise ValueError(kind)
    assert isinstance(value, (int, float))
    if item.at_least is not None and not item.at_least <= value < float("inf"):
        raise ValueError(f"{kind} of at least {item.at_least:g}")
    return value


def _root(value: object, folder: Path) -> str:
    if not isinstance(value, (str, Path)) or not str(value) or "\0" in str(value):
        raise ValueError(f"a folder, or {MEMORY}")
    if str(value) == MEMORY:
        return MEMORY
    if "://" in str(value):
        raise ValueError(f"a folder, or {MEMORY} (no server is supported yet)")
    return str(folder / Path(value).expanduser())
