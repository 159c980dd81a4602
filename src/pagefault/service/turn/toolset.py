"""The host's tools in a request, in one internal form, whatever form they come in."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from pagefault.model.errors import BadInput
from pagefault.model.events import OfferedTool
from pagefault.model.request import ToolSpec
from pagefault.pack.tools import PAGE_FAULT, SEARCH_PAGES

Tool = ToolSpec | Mapping[str, Any]

TOOLS_MAX: Final = 128
"""OpenAI's limit. No other provider is known to take fewer."""

_NAME: Final = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_SCHEMAS: Final = ("parameters", "input_schema", "parametersJsonSchema")


def a_toolset(tools: Sequence[Tool], clean: Callable[[str], str]) -> tuple[OfferedTool, ...]:
    """These tools sorted by name, because their order means nothing and would break a cached
    prefix. Raises `BadInput` for what no provider takes, and for a name that is taken.
    """
    offered = sorted((a_tool(tool, clean) for tool in tools), key=lambda tool: tool.name)
    if len(offered) > TOOLS_MAX:
        raise BadInput(
            f"tools has {len(offered)}; a request takes at most {TOOLS_MAX}",
            hint="offer only those this turn may need",
        )
    names = [tool.name for tool in offered]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise BadInput(f"two tools are called {twice!r}", hint="give each its own name")
    return tuple(offered)


def a_tool(tool: Tool, clean: Callable[[str], str]) -> OfferedTool:
    spec = tool if isinstance(tool, ToolSpec) else _spec(tool)
    name: object = spec.name  # any value that a dict had
    if not isinstance(name, str) or not _NAME.fullmatch(name) or clean(name) != name:
        raise BadInput(
            f"{clean(repr(name)):.80} cannot be a tool's name",
            hint="1 to 64 of the letters a to z, digits, _ and -, and no secret",
        )
    if spec.name in (PAGE_FAULT, SEARCH_PAGES):
        raise BadInput(f"{spec.name!r} is a memory tool", hint="rename yours")
    try:
        schema = json.dumps(
            {"type": "object"} | dict(spec.parameters), ensure_ascii=False, allow_nan=False
        )
        cleaned = clean(schema)
        is_object = json.loads(cleaned)["type"] == "object"
    except (TypeError, ValueError, RecursionError) as problem:
        raise BadInput(
            f"the parameters of {spec.name} are not a JSON Schema: {problem}",
            hint='give a dict such as {"type": "object", "properties": {…}}, without secrets',
        ) from None
    if not is_object:
        raise BadInput(
            f"the parameters of {spec.name} are not an object",
            hint='a schema of parameters has "type": "object"',
        )
    return OfferedTool(name=spec.name, description=clean(str(spec.description)), parameters=cleaned)


def _spec(told: Mapping[str, Any]) -> ToolSpec:
    """A tool in a provider's form: OpenAI's two ways, Anthropic's or Gemini's."""
    inner = told.get("function", told)
    if not isinstance(inner, Mapping) or told.get("type", "function") not in ("function", "custom"):
        raise BadInput(
            f"a tool of type {told.get('type')!r:.40} is the provider's own",
            hint="pagefault accepts functions; add the others to the request it returns",
        )
    schema: Any = next((inner[key] for key in _SCHEMAS if inner.get(key) is not None), {})
    return ToolSpec(inner.get("name", ""), inner.get("description") or "", schema)
