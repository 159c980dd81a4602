"""Each example is short, runs offline, and says something."""

from __future__ import annotations

import os
import runpy
from pathlib import Path

import pytest

EXAMPLES = sorted((Path(__file__).parents[2] / "examples").glob("with_*.py"))
NEEDS = {
    "with_claude_agent_sdk": "claude_agent_sdk",
    "with_google_adk": "google.adk",
    "with_google_genai": "google.genai",
    "with_langchain": "langchain",
    "with_langgraph": "langgraph",
    "with_litellm": "litellm",
    "with_llm": "llm",
    "with_openai_agents": "agents",
    "with_pydantic_ai": "pydantic_ai",
}


def test_there_is_one_for_each_integration() -> None:
    import pagefault.integrations

    folder = Path(pagefault.integrations.__file__).parent
    told = "\n".join(example.read_text() for example in EXAMPLES)
    for_wrap = {"exchange", "google_genai", "home", "wrapping"}
    ours = {"__init__", "documents", "entries", "pager", *for_wrap}
    for module in folder.glob("*.py"):
        assert module.stem in ours or f"pagefault.integrations.{module.stem} " in told


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_runs_offline(
    example: Path,
    empty_home: Path,
    current_loop: None,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    if example.stem == "with_litellm" and not os.environ.get("HEAVY_TESTS"):
        pytest.skip("importing LiteLLM takes 12 to 19 s: HEAVY_TESTS=1")
    if example.stem in NEEDS:
        pytest.importorskip(NEEDS[example.stem], reason=f"{NEEDS[example.stem]} is not installed")
    monkeypatch.setenv("OPENAI_AGENTS_DISABLE_TRACING", "1")
    monkeypatch.setenv("LITELLM_LOCAL_MODEL_COST_MAP", "True")
    assert len(example.read_text().splitlines()) < 20
    runpy.run_path(str(example), run_name="__main__")
    told = capsys.readouterr().out
    assert "spare key" in told or "Noted" in told or "coffee" in told or "green tea" in told
