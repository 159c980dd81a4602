"""The memory tool, beside the one of Anthropic's SDK that keeps files in a folder."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import pagefault
from tests.integrations.frameworks import needs
from tests.proxy.upstream import Call, Say, Upstream, in_turn

if TYPE_CHECKING:
    from pagefault.integrations.anthropic_memory import MemoryTool

pytestmark = needs("anthropic", "the package anthropic")


@pytest.fixture
def tool(tmp_path: Path) -> Iterator[MemoryTool]:
    from pagefault.integrations.anthropic_memory import MemoryTool

    tool = MemoryTool(memory=tmp_path / "m")
    yield tool
    tool.close()


def _answer(tool: Any, command: dict[str, Any]) -> str:
    from anthropic.lib.tools import ToolError

    try:
        told = str(tool.call(command))
    except ToolError as error:
        told = f"refused: {error}"
    return re.sub(r"(?m)^[\d.]+[BKMG]\t", "SIZE\t", told)  # a folder's is its file system's


def _drawn(chance: random.Random) -> dict[str, Any]:
    names = ["a.md", "b.md", "notes/c.md", "notes/d.md", "notes/old/e.md", "notes", ".hidden"]
    path, other = (f"/memories/{name}" for name in chance.choices(names, k=2))
    match chance.randrange(8):
        case 0 | 1 | 2:
            text = "".join(chance.choices(["one\n", "two\n", "tea and tea\n", "end"], k=3))
            return {"command": "create", "path": path, "file_text": text}
        case 3:
            old = chance.choice(["one\n", "two", "tea", "none"])
            return {"command": "str_replace", "path": path, "old_str": old, "new_str": "cup"}
        case 4:
            line = chance.randrange(5)
            return {"command": "insert", "path": path, "insert_line": line, "insert_text": "new\n"}
        case 5:
            return {"command": "delete", "path": path}
        case 6:
            return {"command": "rename", "old_path": path, "new_path": other}
        case _:
            view = {"command": "view", "path": chance.choice([path, "/memories"])}
            return view | chance.choice([{}, {"view_range": [2, 3]}, {"view_range": [2, -1]}])


def test_it_answers_as_the_tool_over_a_folder_does(tool: MemoryTool, tmp_path: Path) -> None:
    from anthropic.tools.memory import BetaLocalFilesystemMemoryTool

    chance = random.Random(15)
    theirs = BetaLocalFilesystemMemoryTool(str(tmp_path / "theirs"))
    answered = 0
    for _ in range(200):
        command = _drawn(chance)
        if "notes" in (
            command.get("path", "").rpartition("/")[2],
            command.get("new_path", "")[-5:],
        ):
            continue  # a file in a folder's place: theirs raises what the system raises
        for folder in sorted((tmp_path / "theirs" / "memories").rglob("*"), reverse=True):
            if folder.is_dir() and not any(folder.iterdir()):
                folder.rmdir()  # theirs keeps a folder with nothing in it
        expected = _answer(theirs, command)
        assert _answer(tool, command) == expected, command
        answered += not expected.startswith("refused")
    assert answered > 60


@pytest.mark.parametrize("path", ["/etc/passwd", "/memories/../x", "/memoriesx", "memories/a"])
def test_nothing_is_outside_of_memories(tool: MemoryTool, path: str) -> None:
    from anthropic.lib.tools import ToolError

    with pytest.raises(ToolError):
        tool.call({"command": "create", "path": path, "file_text": "x"})


def test_the_models_notes_outlive_the_program_and_are_found_by_words(tmp_path: Path) -> None:
    from pagefault.integrations.anthropic_memory import MemoryTool

    note = {
        "command": "create",
        "path": "/memories/key.md",
        "file_text": "The key is in the barn.\n",
    }
    first = MemoryTool(memory=tmp_path / "m")
    first.call(note)
    first.close()
    second = MemoryTool(memory=tmp_path / "m")
    assert "in the barn" in str(second.call({"command": "view", "path": "/memories/key.md"}))
    second.close()
    with pagefault.sync.open(tmp_path / "m") as memory:
        [hit] = memory.recall("barn").hits
        assert str(hit.page.origin) == "model_generated"
    third = MemoryTool(memory=tmp_path / "m")
    assert third.clear_all_memory() == "All memory cleared"
    assert "key.md" not in str(third.call({"command": "view", "path": "/memories"}))
    third.close()


def test_the_sdks_own_loop_runs_it(tool: MemoryTool) -> None:
    import anthropic

    note = {"command": "create", "path": "/memories/tea.md", "file_text": "Ana likes green tea."}
    says = in_turn(Say(calls=(Call("toolu_1", "memory", note),)), Say(text="Noted."))
    with (
        Upstream(says) as upstream,
        anthropic.Anthropic(base_url=upstream.url, api_key="k", max_retries=0) as client,
    ):
        runner = client.beta.messages.tool_runner(
            model="m",
            max_tokens=99,
            messages=[{"role": "user", "content": "I like green tea."}],
            tools=[tool],
        )
        assert runner.until_done().content[0].type == "text"
        assert upstream.seen[0].body["tools"] == [{"type": "memory_20250818", "name": "memory"}]
        assert "File created successfully" in upstream.seen[1].raw.decode()


async def test_an_asynchronous_tool_uses_a_memory_of_its_loop() -> None:
    from pagefault.integrations.anthropic_memory import AsyncMemoryTool

    async with pagefault.open(":memory:") as memory:
        tool = AsyncMemoryTool(memory=memory)
        for path in ("/memories/a.md", "/memories/b/c.md"):
            await tool.call({"command": "create", "path": path, "file_text": "x"})
        await tool.call({"command": "rename", "old_path": "/memories/b", "new_path": "/memories/d"})
        shown = str(await tool.call({"command": "view", "path": "/memories"}))
        assert shown.splitlines()[2:] == [
            "1B\t/memories/a.md",
            "1B\t/memories/d/",
            "1B\t/memories/d/c.md",
        ]
