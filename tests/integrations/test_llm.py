"""The plugin, in the real `llm`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

import pagefault
from tests.integrations.frameworks import needs

pytestmark = needs("llm", "llm")


@pytest.fixture(autouse=True)
def memory(empty_home: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    from llm.plugins import load_plugins, pm

    import pagefault.integrations.llm as plugin

    monkeypatch.setenv("PAGEFAULT_HOME", str(empty_home / "memory"))
    monkeypatch.setenv("LLM_USER_PATH", str(empty_home / "llm"))
    with pagefault.sync.open() as memory:
        memory.session("talk").user("The spare key hangs behind the juniper barrel.")
    # By entry points, where this package is installed with them. llm's own is not annotated.
    load_plugins()  # type: ignore[no-untyped-call]
    is_new = not pm.is_registered(plugin)
    if is_new:
        pm.register(plugin)
    yield
    if is_new:
        pm.unregister(plugin)


def test_a_fragment_is_what_bears_on_a_query() -> None:
    import llm

    from pagefault.integrations.llm import load_fragment

    fragment = llm.get_fragment_loaders()["pagefault"]("spare key")
    assert isinstance(fragment, llm.Fragment)
    assert "msg_1, user_typed]\nThe spare key hangs behind the juniper barrel." in str(fragment)
    assert fragment.source == "pagefault:spare key"
    assert str(load_fragment("zebra")) == "Nothing bears on 'zebra'."


def test_the_model_has_tools_that_look_read_and_note() -> None:
    from pagefault.integrations.llm import Pagefault

    tools = {tool.name: tool for tool in Pagefault().tools()}
    assert set(tools) == {"Pagefault_search", "Pagefault_page", "Pagefault_remember"}
    search, page, remember = (
        tools[f"Pagefault_{name}"].implementation for name in ("search", "page", "remember")
    )
    assert search is not None
    assert page is not None
    assert remember is not None
    found = search(query="spare key")
    session_id = found.removeprefix("[").partition(" ")[0]
    assert "juniper" in page(session=session_id, page_id="msg_1")
    assert "msg_9" in page(session=session_id, page_id="msg_9")
    remember(text="Ana prefers the ferry.")
    assert "model_generated]\nAna prefers the ferry." in search(query="ferry")


def test_the_command_of_llm_knows_them() -> None:
    from llm.cli import cli

    told = CliRunner().invoke(cli, ["tools", "list"])
    assert told.exit_code == 0, told.output
    assert "Pagefault" in told.output
    assert "pagefault:" in CliRunner().invoke(cli, ["fragments", "loaders"]).output
