"""Anthropic's memory tool, over a memory: the model's notes are documents, and searchable.

    client.beta.messages.tool_runner(..., tools=[MemoryTool(memory="./memory")]).until_done()

The answers are those of the SDK's own tool over a folder. A rewritten file supersedes its old
version; a deleted one is forgotten.
"""

from __future__ import annotations

from collections.abc import Coroutine
from typing import Any, Final

from pagefault.integrations.documents import Documents
from pagefault.integrations.pager import Root
from pagefault.model.errors import CallerError

try:
    from anthropic.lib.tools import (
        BetaAbstractMemoryTool,
        BetaAsyncAbstractMemoryTool,
        ToolError,
    )
except ImportError as missing:
    raise CallerError(
        "the memory tool needs the package anthropic, which is not installed",
        hint="pip install 'anthropic>=1'",
    ) from missing

ROOT: Final = "/memories"
_NUMBER_WIDTH: Final = 6
_NOT_THERE: Final = "The path {} does not exist. Please provide a valid path."


class _Verbs:
    """The verbs of the tool, each the text of its result, or for an asynchronous client an
    awaitable of it: `_done` makes the difference.
    """

    _files: _Files

    def view(self, command: Any) -> Any:
        return self._done(self._files.view(command))

    def create(self, command: Any) -> Any:
        return self._done(self._files.create(command))

    def str_replace(self, command: Any) -> Any:
        return self._done(self._files.str_replace(command))

    def insert(self, command: Any) -> Any:
        return self._done(self._files.insert(command))

    def delete(self, command: Any) -> Any:
        return self._done(self._files.delete(command))

    def rename(self, command: Any) -> Any:
        return self._done(self._files.rename(command))

    def clear_all_memory(self) -> Any:
        return self._done(self._files.clear())

    def close(self) -> None:
        """Close the memory, if it was opened here and has no other user."""
        self._files.documents.close()

    def _done(self, verb: Coroutine[Any, Any, str]) -> Any:
        raise NotImplementedError


class MemoryTool(_Verbs, BetaAbstractMemoryTool):
    """For a synchronous client. `memory` is a root, as `pagefault.open` takes it, or a memory of
    `pagefault.sync`; the files belong to a `session`.
    """

    def __init__(
        self, *, memory: Root = None, session: str = "memory-tool", cache_control: Any = None
    ) -> None:
        super().__init__(cache_control=cache_control)
        self._files = _Files(memory, session)

    def _done(self, verb: Coroutine[Any, Any, str]) -> str:
        return self._files.documents.home.waited(verb)


class AsyncMemoryTool(_Verbs, BetaAsyncAbstractMemoryTool):
    """Like `MemoryTool`, for an asynchronous client: it also takes a memory of its own loop."""

    def __init__(
        self, *, memory: Root = None, session: str = "memory-tool", cache_control: Any = None
    ) -> None:
        super().__init__(cache_control=cache_control)
        self._files = _Files(memory, session)

    async def _done(self, verb: Coroutine[Any, Any, str]) -> str:
        return await self._files.documents.home.awaited(verb)


class _Files:
    """Paths under /memories, each a document. A folder exists while it has a file."""

    def __init__(self, memory: Root, session: str) -> None:
        self.documents = Documents(memory, session, "model_generated")

    async def view(self, command: Any) -> str:
        path, texts = _checked(command.path), await self._texts()
        if path in texts:
            lines = texts[path].split("\n")
            start, end = 0, len(lines)
            if command.view_range and len(command.view_range) == 2:
                start = max(1, command.view_range[0]) - 1
                end = end if command.view_range[1] == -1 else command.view_range[1]
            return (
                f"Here's the content of {command.path} with line numbers:\n"
                f"{_numbered(lines[start:end], start + 1)}"
            )
        inside = {name: text for name, text in texts.items() if name.startswith(f"{path}/")}
        if not inside and path != ROOT:
            raise ToolError(_NOT_THERE.format(command.path))
        sizes: dict[str, int] = {}
        for name, text in inside.items():
            steps = name.removeprefix(f"{path}/").split("/")
            if any(step.startswith(".") for step in steps[:2]):
                continue
            for depth in range(1, min(2, len(steps)) + 1):
                shown = "/".join(steps[:depth]) + ("/" if depth < len(steps) else "")
                sizes[shown] = sizes.get(shown, 0) + len(text.encode())
        listed = [f"{_size(size)}\t{command.path}/{name}" for name, size in sorted(sizes.items())]
        whole = _size(sum(len(text.encode()) for text in inside.values()))
        head = "Here're the files and directories up to 2 levels deep in"
        return "\n".join(
            [f"{head} {command.path}, excluding hidden items:", f"{whole}\t{command.path}", *listed]
        )

    async def create(self, command: Any) -> str:
        path, texts = _checked(command.path), await self._texts()
        if _is_there(path, texts):
            raise ToolError(f"File {command.path} already exists")
        _check_place(path, texts)
        await self.documents.put(path, command.file_text)
        return f"File created successfully at: {command.path}"

    async def str_replace(self, command: Any) -> str:
        path, text = await self._file(command.path)
        old, new = command.old_str, command.new_str
        places = [at for at in range(len(text)) if old and text.startswith(old, at)]
        if not places:
            raise ToolError(
                f"No replacement was performed, old_str `{old}` did not appear verbatim in "
                f"{command.path}."
            )
        if len(places) > 1:
            lines = ", ".join(str(text[:at].count("\n") + 1) for at in places)
            raise ToolError(
                f"No replacement was performed. Multiple occurrences of old_str `{old}` in lines: "
                f"{lines}. Please ensure it is unique"
            )
        changed = text.replace(old, new)
        await self.documents.put(path, changed)
        at = text[: places[0]].count("\n")
        first = max(0, at - 2)
        return (
            "The memory file has been edited. Here is the snippet showing the change (with line "
            f"numbers):\n{_numbered(changed.split(chr(10))[first : at + 3], first + 1)}"
        )

    async def insert(self, command: Any) -> str:
        path, text = await self._file(command.path)
        lines = text.split("\n")
        if lines[-1] == "":
            lines.pop()
        if not 0 <= command.insert_line <= len(lines):
            raise ToolError(
                f"Invalid `insert_line` parameter: {command.insert_line}. It should be within the "
                f"range [0, {len(lines)}]."
            )
        lines.insert(command.insert_line, command.insert_text.rstrip("\n"))
        changed = "\n".join(lines)
        await self.documents.put(path, changed if changed.endswith("\n") else f"{changed}\n")
        return f"The file {command.path} has been edited."

    async def delete(self, command: Any) -> str:
        path, texts = _checked(command.path), await self._texts()
        if path == ROOT:
            raise ToolError("Cannot delete the /memories directory itself")
        if not _is_there(path, texts):
            raise ToolError(f"The path {command.path} does not exist")
        for name in _under(path, texts):
            await self.documents.delete(name)
        return f"Successfully deleted {command.path}"

    async def rename(self, command: Any) -> str:
        old, new = _checked(command.old_path), _checked(command.new_path)
        texts = await self._texts()
        if old == ROOT:
            raise ToolError("Cannot rename the /memories directory itself")
        if _is_there(new, texts) or new == ROOT:
            raise ToolError(f"The destination {command.new_path} already exists")
        if not _is_there(old, texts) or new.startswith(f"{old}/"):
            raise ToolError(f"The path {command.old_path} does not exist")
        _check_place(new, texts)
        for name in _under(old, texts):
            await self.documents.put(new + name.removeprefix(old), texts[name])
            await self.documents.delete(name)
        return f"Successfully renamed {command.old_path} to {command.new_path}"

    async def clear(self) -> str:
        await self.documents.clear()
        return "All memory cleared"

    async def _texts(self) -> dict[str, str]:
        return {path: one.text for path, one in (await self.documents.all()).items()}

    async def _file(self, given: str) -> tuple[str, str]:
        path, texts = _checked(given), await self._texts()
        if path in texts:
            return path, texts[path]
        if _is_there(path, texts):
            raise ToolError(f"The path {given} is not a file.")
        raise ToolError(_NOT_THERE.format(given))


def _checked(path: str) -> str:
    """A path in its stored form. Raises `ToolError` for one outside /memories."""
    if path != ROOT and not path.startswith(f"{ROOT}/"):
        raise ToolError(f"Path must start with /memories, got: {path}")
    steps = [step for step in path.removeprefix(ROOT).split("/") if step not in ("", ".")]
    if ".." in steps:
        raise ToolError(f"Path {path} would escape /memories directory")
    return "/".join([ROOT, *steps])


def _under(path: str, texts: dict[str, str]) -> list[str]:
    return [name for name in texts if name == path or name.startswith(f"{path}/")]


def _is_there(path: str, texts: dict[str, str]) -> bool:
    return path == ROOT or bool(_under(path, texts))


def _check_place(path: str, texts: dict[str, str]) -> None:
    """A file cannot contain anything."""
    steps = path.split("/")
    for depth in range(3, len(steps)):
        if (folder := "/".join(steps[:depth])) in texts:
            raise ToolError(f"The path {folder} is not a directory.")


def _numbered(lines: list[str], first: int) -> str:
    return "\n".join(
        f"{str(number).rjust(_NUMBER_WIDTH)}\t{line}" for number, line in enumerate(lines, first)
    )


def _size(size: float) -> str:
    for unit in "BKM":
        if size < 1_024:
            return f"{size:.1f}".removesuffix(".0") + unit
        size /= 1_024
    return f"{size:.1f}".removesuffix(".0") + "G"
