"""Where a value comes from, who may set it, and what is said when it is wrong."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from types import SimpleNamespace

import pytest

import pagefault
from pagefault.model.errors import BadInput
from pagefault.model.kinds import Mode, Sync
from pagefault.model.quotas import Quotas
from pagefault.service import config as module
from pagefault.service.config import Config, UserFolders, find_project, load, schema

KEY = "sk-test-0123456789abcdef"


class Place:
    """A user's folders and a project in it, and the configuration as seen from the project."""

    def __init__(self, base: Path) -> None:
        self.folders = UserFolders(base / "config", base / "data")
        self.project = base / "code" / "project"
        self.inside = self.project / "src" / "deep"
        self.inside.mkdir(parents=True)
        self.folders.config.mkdir()

    def user(self, text: str) -> Path:
        path = self.folders.config / "config.toml"
        path.write_text(text, encoding="utf-8")
        return path

    def theirs(self, text: str) -> Path:
        """The project's own file."""
        path = self.project / ".pagefault" / "config.toml"
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path

    def load(
        self,
        environ: Mapping[str, str] | None = None,
        flags: Mapping[str, object] | None = None,
    ) -> Config:
        return load(environ=environ or {}, cwd=self.inside, flags=flags, folders=self.folders)

    def refused(
        self,
        environ: Mapping[str, str] | None = None,
        flags: Mapping[str, object] | None = None,
    ) -> BadInput:
        with pytest.raises(BadInput) as caught:
            self.load(environ, flags)
        return caught.value


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


# --- precedence -----------------------------------------------------------------------------------


def test_with_nothing_said_the_defaults_hold(place: Place) -> None:
    config = place.load()
    assert config == Config(root=str(place.folders.data))
    assert config.sync is Sync.GROUP
    assert {origin.partition(":")[0] for _, _, origin in config.rows()} == {"default"}


def test_each_layer_wins_over_the_one_below(place: Place) -> None:
    def model(environ: Mapping[str, str] | None = None, **flags: object) -> tuple[str, str]:
        config = place.load(environ, {key.replace("__", "."): v for key, v in flags.items()})
        return config.engine.model, config.origin("engine.model")

    assert model() == ("", "default")
    user = place.user('[engine]\nmodel = "user"\n')
    assert model() == ("user", f"user file: {user}:2")
    theirs = place.theirs('# ours\nengine.model = "project"\n')
    assert model() == ("project", f"project file: {theirs}:2")
    environ = {"PAGEFAULT_ENGINE__MODEL": "variable"}
    assert model(environ) == ("variable", "environment: PAGEFAULT_ENGINE__MODEL")
    assert model(environ, engine__model="flag") == ("flag", "flag: --engine-model")


def test_flags_not_given_and_empty_variables_say_nothing(place: Place) -> None:
    config = place.load({"PAGEFAULT_ENGINE__MODEL": ""}, {"engine.model": None})
    assert config.origin("engine.model") == "default"


def test_values_arrive_in_their_types(place: Place) -> None:
    place.user(
        'mode = "strict"\nsync = "always"\nwindow_tokens = 8_192\n'
        "[engine]\nstream = false\ntotal_s = 5\n[limits]\nrecall_tokens_max = 0\n"
    )
    config = place.load({"PAGEFAULT_ENGINE__FIRST_BYTE_S": " 2.5 "}, {"mode": Mode.PASSIVE})
    assert (config.mode, config.sync) == (Mode.PASSIVE, Sync.ALWAYS)
    assert (config.window_tokens, config.limits.recall_tokens_max) == (8192, 0)
    assert (config.engine.stream, config.engine.total_s) == (False, 5.0)
    assert config.engine.first_byte_s == 2.5
    assert isinstance(config.engine.total_s, float)
    assert config.origin("window_tokens").startswith("user file:")


@pytest.mark.parametrize(
    ("text", "value"), [("1", True), ("TRUE", True), ("off", False), ("No", False)]
)
def test_a_variable_says_yes_or_no_in_many_ways(place: Place, text: str, value: bool) -> None:
    assert place.load({"PAGEFAULT_ENGINE__STREAM": text}).engine.stream is value


def test_every_setting_can_be_a_variable_and_every_key_is_its_own(place: Place) -> None:
    assert len({item.variable for item in schema().values()}) == len(schema())
    assert len({item.flag for item in schema().values()}) == len(schema())
    assert schema()["window_tokens"].flag == "--window"
    for item in schema().values():
        if item.type is int:
            assert place.load({item.variable: "5000"}).shown(item.key) == "5000"


# --- the root -------------------------------------------------------------------------------------


def test_a_project_is_found_from_below_and_is_the_root(place: Place) -> None:
    place.theirs("")
    config = place.load()
    assert config.root == str(place.project / ".pagefault")
    assert config.origin("root") == "default: found here"


def test_the_root_is_named_by_flag_variable_or_the_users_file(place: Place) -> None:
    place.theirs("")
    place.user('root = "memory"')
    assert place.load().root == str(place.folders.config / "memory")
    named = {"PAGEFAULT_HOME": "sub"}
    assert place.load(named).root == str(place.inside / "sub")
    assert place.load(named).origin("root") == "environment: PAGEFAULT_HOME"
    assert place.load(named, {"root": ":memory:"}).root == ":memory:"
    assert place.load(flags={"root": Path("/abs")}).root == "/abs"


def test_a_home_directory_is_spelled_out(
    place: Place, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    assert place.load(flags={"root": "~/memory"}).root == str(tmp_path / "memory")


@pytest.mark.parametrize("root", ["postgresql://host/db", "a\0b", " "])
def test_what_is_no_folder_is_refused(place: Place, root: str) -> None:
    assert "a folder" in str(place.refused(flags={"root": root}))


@pytest.mark.skipif(os.name != "posix", reason="owners are POSIX")
def test_a_project_of_somebody_else_is_refused_unless_the_root_is_named(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    place.theirs("mode = 'strict'")
    monkeypatch.setattr(module, "os", SimpleNamespace(name="posix", geteuid=lambda: -5))
    refused = place.refused()
    assert "another user" in str(refused)
    assert "PAGEFAULT_HOME" in refused.hint
    config = place.load({"PAGEFAULT_HOME": "/mine"})
    assert config.root == "/mine"
    assert config.mode is Mode.ACTIVE


def test_the_search_ends_at_the_top() -> None:
    assert find_project(Path("/"), skip_theirs=True) in (None, Path("/.pagefault"))


# --- trust ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        'root = "/tmp/theirs"',
        'sync = "os"',
        '[engine]\nbase_url = "https://evil.test/v1"',
        '[engine]\napi_key = "sk-theirs"',
        "[engine]\nallow_http = true",
        'engine = { base_url = "https://evil.test/v1" }',
        'engine."base_url" = "https://evil.test/v1"',
    ],
)
def test_a_project_may_not_set_what_is_trust(place: Place, text: str) -> None:
    path = place.theirs(text)
    refused = place.refused()
    assert str(path) in str(refused)
    assert "may not be set by a project" in str(refused)
    assert "your own config.toml" in refused.hint
    assert "sk-theirs" not in str(refused)
    place.theirs("")
    place.user(text)
    place.load()


def test_the_trusted_settings_are_these() -> None:
    trusted = {key for key, item in schema().items() if item.trust}
    assert trusted == {
        "formation",
        "compaction",
        "limits.formation_tokens_per_session",
        "limits.formation_tokens_per_day",
        "limits.formation_rest_s",
        "limits.hostile_notes",
        "limits.core_tools",
        "root",
        "sync",
        "control",
        "compress.by",
        "embedder",
        "reranker",
        "engine.base_url",
        "engine.api_key",
        "engine.allow_http",
        "redact.level",
        "redact.paths",
        "redact.allow",
        *(f"quotas.{field.name}" for field in fields(Quotas)),
    }


def test_the_variables_of_other_programs_fill_gaps(place: Place) -> None:
    others = {"OPENAI_BASE_URL": "https://other.test/v1", "OPENAI_API_KEY": KEY}
    config = place.load(others)
    assert (config.engine.base_url, config.engine.api_key) == ("https://other.test/v1", KEY)
    assert config.origin("engine.api_key") == "environment: OPENAI_API_KEY"
    ours = {"PAGEFAULT_ENGINE__BASE_URL": "http://localhost:1/v1", **others}
    assert place.load(ours).engine.base_url == "http://localhost:1/v1"
    place.user('engine.base_url = "https://mine.test/v1"\nengine.api_key = "sk-mine"')
    config = place.load(others)
    assert (config.engine.base_url, config.engine.api_key) == ("https://mine.test/v1", "sk-mine")


@pytest.mark.parametrize(
    ("environ", "flags"),
    [
        ({"PAGEFAULT_ENGINE__BASE_URL": "https://other.test/v1"}, {}),
        ({}, {"engine.base_url": "https://other.test/v1"}),
    ],
)
def test_a_key_of_the_users_file_goes_to_the_address_in_it_only(
    place: Place, environ: dict[str, str], flags: dict[str, object]
) -> None:
    place.user(f'[engine]\nbase_url = "https://mine.test/v1"\napi_key = "{KEY}"')
    assert place.load().engine.api_key == KEY
    config = place.load(environ, flags)
    assert config.engine.api_key == ""
    assert config.origin("engine.api_key").startswith("withheld:")
    with_key = place.load({**environ, "PAGEFAULT_ENGINE__API_KEY": "sk-other"}, flags)
    assert with_key.engine.api_key == "sk-other"


# --- what is shown --------------------------------------------------------------------------------


def test_a_secret_is_never_shown(place: Place) -> None:
    config = place.load({"PAGEFAULT_ENGINE__API_KEY": KEY})
    assert config.shown("engine.api_key") == f"set, {len(KEY)} characters"
    assert KEY not in repr(config) + repr(config.rows())
    assert Config().shown("engine.api_key") == "not set"


def test_a_wrong_secret_is_not_shown_either(place: Place) -> None:
    place.user("[engine]\napi_key = 123456789")
    refused = place.refused()
    assert "engine.api_key must be text" in str(refused)
    assert "123456789" not in str(refused)


def test_rows_name_every_setting_once(place: Place) -> None:
    rows = place.load().rows()
    assert [key for key, _, _ in rows] == list(schema())
    assert ("engine.stream", "true", "default") in rows
    assert ("mode", "active", "default") in rows


@pytest.mark.parametrize("ask", [Config().shown, Config().origin])
def test_asking_for_an_unknown_setting_suggests_one(ask: object) -> None:
    assert callable(ask)
    with pytest.raises(BadInput) as caught:
        ask("engine.modle")
    assert caught.value.hint == "did you mean engine.model?"


# --- mistakes -------------------------------------------------------------------------------------


def test_a_model_that_is_known_gives_the_window_and_the_prices(place: Place) -> None:
    place.theirs('[engine]\nmodel = "openai/gpt-4o-2024-11-20"')
    config = place.load()
    assert config.window_tokens == 96_000
    assert config.origin("window_tokens") == "default: of gpt-4o, room for the answer kept"
    assert config.price_list.read == 0.5
    config = place.load(flags={"window_tokens": "8000", "prices": "0.10/1.25"})
    assert config.window_tokens == 8_000
    assert (config.price_list.read, config.price_list.write) == (0.10, 1.25)
    place.theirs('[engine]\nmodel = "mine"\n[epochs]\nrule = "window_full"\nbeta = 2')
    config = place.load()
    assert config.window_tokens == 128_000
    assert config.price_list.name == "assumed"
    assert (config.epochs.rule, config.epochs.beta) == ("window_full", 2.0)


@pytest.mark.parametrize(
    ("text", "says", "hint"),
    [
        ('[engine]\nmodle = "x"', ":2: unknown key 'engine.modle'", "did you mean engine.model?"),
        ('model = "x"', ":1: unknown key 'model'", "did you mean"),
        ("faults_per_turn_max = 3", "unknown key", "limits.faults_per_turn_max?"),
        ("[[engine]]\nx = 1", "unknown key 'engine'", ""),
        ("[nonsense]", ":1: unknown key 'nonsense'", "config show"),
        ("[engine]\n\nmodel = 3", ":3: engine.model must be text, not 3", ""),
        ('window_tokens = "many"', ":1: window_tokens must be a whole number, not 'many'", ""),
        ('window_tokens = "8192"', "must be a whole number", ""),
        ("window_tokens = true", "must be a whole number", ""),
        ("window_tokens = 8192.5", "must be a whole number", ""),
        ("window_tokens = 3", "of at least 256, not 3", ""),
        ("engine.total_s = nan", "of at least 0.1", ""),
        ("engine.total_s = inf", "of at least 0.1", ""),
        ("engine.stream = 1", "must be true or false, not 1", ""),
        ('mode = "eager"', "one of passive, active, strict, not 'eager'", ""),
        ("[mode]\nx = 1", "mode must be one of", ""),
        ("mode = ", "is not TOML", ""),
        ("a = 1\na = 2", "is not TOML", ""),
    ],
)
def test_a_mistake_in_a_file_is_placed(place: Place, text: str, says: str, hint: str) -> None:
    path = place.theirs(text)
    refused = place.refused()
    assert str(path) in str(refused)
    assert says in str(refused)
    assert hint in refused.hint


@pytest.mark.parametrize(
    ("environ", "says", "hint"),
    [
        ({"PAGEFAULT_ENGINE__MODLE": "x"}, "PAGEFAULT_ENGINE__MODLE", "PAGEFAULT_ENGINE__MODEL?"),
        ({"PAGEFAULT_ROOT": "x"}, "PAGEFAULT_ROOT", ""),
        ({"PAGEFAULT_WINDOW_TOKENS": "lots"}, "PAGEFAULT_WINDOW_TOKENS: window_tokens must be", ""),
        ({"PAGEFAULT_ENGINE__STREAM": "maybe"}, "true or false", ""),
        ({"PAGEFAULT_CONFIG": "/nowhere/config.toml"}, "/nowhere/config.toml", "unset"),
    ],
)
def test_a_mistake_in_a_variable_is_named(
    place: Place, environ: dict[str, str], says: str, hint: str
) -> None:
    refused = place.refused(environ)
    assert says in str(refused)
    assert hint in refused.hint


def test_a_mistake_in_a_flag_is_named(place: Place) -> None:
    assert "flag: --window: window_tokens must be" in str(
        place.refused(flags={"window_tokens": "x"})
    )
    assert "did you mean" in place.refused(flags={"engine.url": "x"}).hint


def test_a_mistake_in_an_argument_is_named_as_the_program_gave_it() -> None:
    with pytest.raises(BadInput) as caught:
        pagefault.open(":memory:", redact="x")
    assert str(caught.value).startswith("pagefault.open(redact=…): redact.level must be one of")


def test_the_users_file_may_be_elsewhere_or_nowhere(place: Place, tmp_path: Path) -> None:
    place.user("mode = 'strict'")
    other = tmp_path / "other.toml"
    other.write_text("mode = 'passive'")
    assert place.load({"PAGEFAULT_CONFIG": str(other)}).mode is Mode.PASSIVE
    assert place.load({"PAGEFAULT_CONFIG": ""}).mode is Mode.ACTIVE


@pytest.mark.parametrize("content", [b"\xff\xfe", b"#" * (module.FILE_BYTES_MAX + 1)])
def test_a_file_that_is_no_configuration_is_refused(place: Place, content: bytes) -> None:
    path = place.user("")
    path.write_bytes(content)
    assert str(path) in str(place.refused())


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes")
@pytest.mark.parametrize("make", ["mkfifo", "mkdir"])
def test_what_is_not_a_file_is_refused_at_once(place: Place, make: str) -> None:
    path = place.theirs("")
    path.unlink()
    getattr(os, make)(path)
    assert "is not a file" in str(place.refused())


def test_empty_sections_are_fine(place: Place) -> None:
    place.theirs("[engine]\n[limits]\n")
    assert place.load().engine == Config().engine


def test_loading_imports_nothing_slow() -> None:
    code = (
        "import sys, pagefault.service.config as c\n"
        "c.schema()\n"
        "sys.exit(bool({'pydantic', 'httpx2', 'click', 'apsw', 'platformdirs'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
