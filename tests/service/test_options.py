"""The options of a memory: one documented object, which both faces take, as keywords or whole."""

from __future__ import annotations

import asyncio
import inspect
import pydoc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import pagefault
import pagefault.sync
from pagefault.service import bootstrap
from pagefault.service.bootstrap import Wiring, open_memory


def _asynchronously(*args: Any, **options: Any) -> pagefault.Status:
    async def opened() -> pagefault.Status:
        async with pagefault.open(*args, **options) as memory:
            return await (await memory.session("work")).status()

    return asyncio.run(opened())


def _synchronously(*args: Any, **options: Any) -> pagefault.Status:
    with pagefault.sync.open(*args, **options) as memory:
        return memory.session("work").status()


either_face = pytest.mark.parametrize("opened", [_asynchronously, _synchronously])
Opened = Callable[..., pagefault.Status]

OPTIONS = set(pagefault.Options.__annotations__)


@either_face
def test_options_as_one_object_are_those_given_by_name(opened: Opened) -> None:
    options: pagefault.Options = {"window": 8_000, "mode": "strict"}
    one, other = opened(":memory:", **options), opened(":memory:", window=8_000, mode="strict")
    assert (one.window_tokens, one.mode) == (8_000, "strict")
    assert (one.window_tokens, one.mode) == (other.window_tokens, other.mode)


@either_face
def test_an_option_that_is_none_is_as_configured(
    opened: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PAGEFAULT_WINDOW_TOKENS", "9000")
    given = dict.fromkeys(OPTIONS - {"prefetch", "read_only"})
    assert opened(":memory:", **given).window_tokens == 9_000


@either_face
@pytest.mark.parametrize(
    ("mistaken", "meant"), [("windw", "window"), ("evictionpolicy", "eviction_policy")]
)
def test_an_unknown_option_is_refused_and_the_nearest_named(
    opened: Opened, tmp_path: Path, mistaken: str, meant: str
) -> None:
    with pytest.raises(TypeError, match=rf"^open: .* '{mistaken}': did you mean '{meant}'\?$"):
        opened(tmp_path / "m", **{mistaken: 1})
    with pytest.raises(TypeError, match=r"^open: .* argument 'zzz'$"):
        opened(tmp_path / "m", zzz=1)
    assert not (tmp_path / "m").exists()


@either_face
@pytest.mark.parametrize("option", sorted(OPTIONS))
def test_an_option_of_the_wrong_type_is_refused_by_name(
    opened: Opened, tmp_path: Path, option: str
) -> None:
    with pytest.raises(pagefault.BadInput, match=f"^{option} is ") as refused:
        opened(tmp_path / "m", **{option: object()})
    assert "help(pagefault.open)" in refused.value.hint
    assert not (tmp_path / "m").exists()


@either_face
@pytest.mark.parametrize(
    "option", ["mode", "layout", "sync", "eviction_policy", "epochs", "embedder", "reranker"]
)
def test_an_option_that_names_nothing_is_refused_with_what_there_is(
    opened: Opened, tmp_path: Path, option: str
) -> None:
    with pytest.raises(pagefault.BadInput, match="'nonsense'") as refused:
        opened(tmp_path / "m", **{option: "nonsense"})
    assert "must be one of" in str(refused.value) or refused.value.hint
    assert not (tmp_path / "m").exists()


@pytest.mark.parametrize("face", [pagefault.open, pagefault.sync.open])
def test_help_leads_to_every_option(face: Callable[..., object]) -> None:
    assert set(inspect.signature(face).parameters) == {"root", *OPTIONS}
    told = pydoc.plain(pydoc.render_doc(face))
    assert "help(pagefault.Options)" in told
    for option in OPTIONS:
        assert f"{option}: " in told


@pytest.mark.parametrize("cls", [pagefault.Options, Wiring])
def test_every_option_is_described(cls: type) -> None:
    own = cls.__annotations__.keys() - (OPTIONS if cls is Wiring else set())
    lines = (inspect.getdoc(cls) or "").splitlines()
    described = [line.split(":")[0] for line in lines if line.split(":")[0].isidentifier()]
    assert sorted(described) == sorted(own), "each once"


async def test_what_puts_a_memory_together_takes_no_name_that_it_does_not_know() -> None:
    with pytest.raises(TypeError, match="unknown option windw"):
        async with open_memory(":memory:", windw=8_000):  # type: ignore[call-arg]
            pass


async def test_a_password_in_the_configured_address_is_a_secret(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = tmp_path / "config.toml"
    config.write_text('[engine]\nbase_url = "https://me:kieselstein42@models.example/v1"\n')
    config.chmod(0o600)
    monkeypatch.setenv("PAGEFAULT_CONFIG", str(config))
    async with pagefault.open(tmp_path / "m", sync="os") as memory:
        session = await memory.session("work")
        page = await session.user("Log in with kieselstein42, please.")
        assert "kieselstein42" not in (await session.page(page)).text


async def test_a_memory_that_cannot_be_put_together_lets_go_of_its_root(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as broken:
        broken.setattr(bootstrap, "known_secrets", _fails)
        with pytest.raises(RuntimeError, match="no secrets"):
            async with pagefault.open(tmp_path / "m"):
                pass
    assert not list((tmp_path / "m" / "instances").iterdir()), "nobody has it open"
    async with pagefault.open(tmp_path / "m") as memory:
        await (await memory.session()).user("Hello")


def _fails(*_: object) -> None:
    raise RuntimeError("no secrets")
