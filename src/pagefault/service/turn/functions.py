"""The host's functions as tools: schemas from their type hints, and calls.

`msgspec` makes the schema and validates the model's arguments by it, so a function gets values of
exactly the types that it names.
"""

from __future__ import annotations

import asyncio
import contextvars
import inspect
import json
import threading
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final, get_type_hints

import msgspec

from pagefault.model.errors import BadInput
from pagefault.model.request import ToolCall, ToolSpec
from pagefault.model.threads import start
from pagefault.service.turn.host_tools import MemoryAnswer
from pagefault.service.turn.toolset import Tool

RunnableTool = Tool | Callable[..., Any]

CALLS_MAX: Final = 32
"""Default limit on calls of the host's tools in one turn: it stops a model that loops, but not one
that reads a few files.
"""

TIMEOUT_S: Final = 60.0
"""Default time limit of one call: a user waits for it. Slower work should be started, and polled
later.
"""

_NAMED: Final = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
_HINT: Final = "annotate it with plain types, or give a ToolSpec and run the call yourself"


class ToolFailed(Exception):
    """A failed call; the model reads why."""


@dataclass(frozen=True, slots=True)
class HostFunction:
    """A function that a model may call, and its parameters."""

    function: Callable[..., Any]
    takes: type[msgspec.Struct]
    spec: ToolSpec

    async def call(self, arguments: str, alone: asyncio.Lock, timeout_s: float) -> Any:
        """Call the function. One that is not `async` runs on a thread, and only one of those at a
        time (`alone`); a cancelled one continues there, and its result is lost. `timeout_s` counts
        from its start; 0 means no limit.

        Raises `ToolFailed` for invalid arguments, and whatever the function raises.
        """
        try:
            told = json.loads(arguments or "{}")
            given = msgspec.convert(told, self.takes, strict=False)
        except (ValueError, RecursionError) as problem:
            raise ToolFailed(f"the arguments cannot be used: {problem}") from None
        named = {
            field: value
            for field in self.takes.__struct_fields__
            if (value := getattr(given, field)) is not msgspec.UNSET
        }
        if inspect.iscoroutinefunction(self.function):
            async with asyncio.timeout(timeout_s or None):
                return _plain(await _contained(self.function(**named)))
        async with alone, asyncio.timeout(timeout_s or None) as bound:
            returned = await _on_a_thread(lambda: self.function(**named))
        if inspect.isawaitable(returned):  # of an object with an `async` __call__
            async with asyncio.timeout_at(bound.when()):
                returned = await _contained(returned)
        return _plain(returned)


def host_function(function: Callable[..., Any]) -> HostFunction:
    """A function as a tool: its name, its docstring, and the types of its parameters. Raises
    `BadInput` if no schema can be made of it.
    """
    name = getattr(function, "__name__", type(function).__name__)
    try:
        parameters = inspect.signature(function).parameters.values()
        hints = get_type_hints(_annotated(function), include_extras=True)
    except (NameError, TypeError, ValueError) as problem:
        raise BadInput(f"{name} has no signature: {problem}", hint=_HINT) from None
    for parameter in parameters:
        if parameter.kind not in _NAMED:
            raise BadInput(
                f"{name} takes {str(parameter)!r}, which has no name in a call", hint=_HINT
            )
    fields: list[Any] = []
    for parameter in parameters:
        hint = hints.get(parameter.name, Any)
        if parameter.default is parameter.empty:
            fields.append((parameter.name, hint))
        else:
            fields.append((parameter.name, hint | msgspec.UnsetType, msgspec.UNSET))
    try:
        takes = msgspec.defstruct(
            name if name.isidentifier() else "Arguments",
            fields,
            kw_only=True,
            forbid_unknown_fields=True,
        )
        schema = _schema(takes)
    except (TypeError, ValueError, RuntimeError) as problem:  # the last, of names that are mangled
        raise BadInput(f"{name} has no schema: {problem}", hint=_HINT) from None
    for parameter in parameters:
        if parameter.default is not parameter.empty and _is_json(parameter.default):
            told = schema["properties"][parameter.name]
            schema["properties"][parameter.name] = {**told, "default": parameter.default}
    return HostFunction(function, takes, ToolSpec(name, inspect.getdoc(function) or "", schema))


def _annotated(function: Callable[..., Any]) -> Any:
    """The object with the annotations: for a callable object, its method."""
    if inspect.isfunction(function) or inspect.ismethod(function):
        return inspect.unwrap(function)
    inner = getattr(function, "func", None)  # of a partial
    return _annotated(inner) if inner is not None else type(function).__call__


def _schema(takes: type[msgspec.Struct]) -> dict[str, Any]:
    """The JSON Schema of an object, with its own definition in place of a reference to it."""
    (reference,), components = msgspec.json.schema_components(
        (takes,), ref_template="#/$defs/{name}"
    )
    own = reference["$ref"].rpartition("/")[2]
    schema = {key: value for key, value in components.pop(own).items() if key != "title"}
    return {**schema, "$defs": components} if components else schema


def _is_json(value: object) -> bool:
    try:
        json.dumps(value, allow_nan=False)
    except (TypeError, ValueError, RecursionError):
        return False
    return True


def _plain(value: Any) -> Any:
    """A value as JSON, if it has a form: dataclasses, times, sets and the like."""
    if isinstance(value, str | bytes | bytearray | memoryview | MemoryAnswer):
        return value
    try:
        return msgspec.to_builtins(value)
    except (TypeError, ValueError, RecursionError) as problem:
        raise ToolFailed(f"what it returned is not JSON: {problem}") from None


async def _contained(awaited: Awaitable[Any]) -> Any:
    """Await the call. If it raises `KeyboardInterrupt`, `SystemExit` or a cancellation of its own,
    the call has failed: the loop and the run continue.
    """
    try:
        return await awaited
    except asyncio.CancelledError:
        task = asyncio.current_task()
        if task is not None and task.cancelling():
            raise
        raise ToolFailed("it was cancelled") from None
    except (KeyboardInterrupt, SystemExit) as ended:
        raise ToolFailed(repr(ended)) from None


async def _on_a_thread(function: Callable[[], Any]) -> Any:
    """Run a blocking function outside the loop. Its thread is a daemon: a stuck one does not keep
    the program from ending.
    """
    loop = asyncio.get_running_loop()
    done: asyncio.Future[Any] = loop.create_future()
    context = contextvars.copy_context()

    def settle(value: Any, problem: BaseException | None) -> None:
        if done.done():
            return  # nobody waits any more
        if problem is None:
            done.set_result(value)
        else:
            done.set_exception(problem)

    def work() -> None:
        value: Any = None
        problem: Exception | None = None
        try:
            value = context.run(function)
        except StopIteration as stopped:  # a future cannot hold it
            problem = RuntimeError(f"StopIteration: {stopped}")
        except BaseException as raised:
            problem = raised if isinstance(raised, Exception) else RuntimeError(repr(raised))
        with suppress(RuntimeError):  # the loop is closed: nobody waits any more
            loop.call_soon_threadsafe(settle, value, problem)

    start(threading.Thread(target=work, name="pagefault tool", daemon=True))
    return await done


class Toolbox:
    """The tools of one run: functions that it calls, and schemas whose calls are left to the
    caller.
    """

    def __init__(self, tools: Sequence[RunnableTool]) -> None:
        functions = [
            host_function(tool)
            for tool in tools
            if not isinstance(tool, ToolSpec | Mapping) and callable(tool)
        ]
        schemas = [tool for tool in tools if isinstance(tool, ToolSpec | Mapping)]
        self.offered: list[Tool] = [*schemas, *(one.spec for one in functions)]
        self._functions = {one.spec.name: one for one in functions}
        self._alone = asyncio.Lock()

    def can_run(self, call: ToolCall) -> bool:
        return call.name in self._functions

    async def run(self, call: ToolCall, timeout_s: float) -> tuple[Any, bool]:
        """The result of a call, and whether it failed. Raises only if cancelled."""
        try:
            function = self._functions[call.name]
            return await function.call(call.arguments, self._alone, timeout_s), False
        except TimeoutError as late:
            return _words(late) or f"{call.name} took longer than {timeout_s:g} s", True
        except ToolFailed as failed:
            return str(failed), True
        except Exception as problem:
            return f"{type(problem).__name__}: {_words(problem)}", True


def _words(problem: Exception) -> str:
    try:
        return str(problem)
    except Exception:  # an error of the host's that fails even to describe itself
        return "(it does not say what it is)"
