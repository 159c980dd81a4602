"""Regenerates the parts of the documentation that come from the code, between their markers.

    script/docs            rewrites what is out of date
    script/docs --check    says what is, and exits 1

A part stands between `<!-- begin NAME (script/docs) -->` and `<!-- end NAME -->`. Every part is a
function of the code alone: time and chance are fixed, so the same code gives the same bytes.
"""

from __future__ import annotations

import asyncio
import json
import random
import re
import sys
import tempfile
import textwrap
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from pagefault.cli import demo_script
from pagefault.engine.scripted import ScriptedEngine
from pagefault.model.clock import Clock
from pagefault.model.ids import IdMinter, Seq
from pagefault.model.request import Request, ToolCall
from pagefault.model.residency import mermaid
from pagefault.pack.layout import SILENCE
from pagefault.pack.vm_prompts import VM_STRICT_PROMPT
from pagefault.service.bootstrap import open_memory
from pagefault.service.config import schema
from pagefault.service.limits import Limits
from pagefault.service.memory import Memory
from pagefault.service.session import Session
from pagefault.store.embedded.segments import SegmentLog
from pagefault.testing.builders import opened, said
from pagefault.views.picture import picture_of
from pagefault.views.report import render_map

DOCS: Final = Path(__file__).parent
sys.path.insert(0, str(DOCS))  # a test loads this file from elsewhere

from defaults_table import TABLE, Default  # noqa: E402

AT_MS: Final = 1_772_700_300_000  # 2026-03-05 08:45 UTC

_PART: Final = re.compile(
    r"<!-- begin (?P<name>[\w-]+) \(script/docs\) -->\n.*?<!-- end (?P=name) -->\n", re.DOTALL
)


@dataclass(frozen=True)
class FixedClock(Clock):
    def now_ms(self) -> int:
        return AT_MS

    def monotonic_s(self) -> float:
        return 0.0


# --- paging.md ------------------------------------------------------------------------------------


def residency() -> str:
    return _fenced("mermaid", mermaid())


def defaults() -> str:
    rows = [(f"`{d.name}`", _figure(d.ours), d.unit, _plan(d)) for d in TABLE if d.ours is not None]
    return _table(("Name", "Value", "Unit", "Also named, and why this one"), rows)


def waiting() -> str:
    rows = [(f"`{d.name}`", _figure(d.theirs), d.unit, d.why) for d in TABLE if d.ours is None]
    return _table(("Name", "Figure", "Unit", "When"), rows)


def _plan(default: Default) -> str:
    other = "" if default.theirs in (None, default.ours) else _figure(default.theirs)
    return "; ".join(filter(None, (other, default.why)))


def _figure(value: object) -> str:
    if isinstance(value, tuple):
        return " / ".join(map(_figure, value))
    return f"{value:,}" if isinstance(value, int) else str(value)


# --- cli.md ---------------------------------------------------------------------------------------


def settings() -> str:
    from pagefault.service.config import Config

    config = Config()
    rows = [
        (
            f"`{one.key}`",
            "" if one.key == "root" else f"`{config.shown(one.key)}`",
            f"`{one.variable}`" + (f", else `{one.fallback}`" if one.fallback else ""),
            "no" if one.trust else "yes",
        )
        for one in schema().values()
    ]
    return _table(("Setting", "Default", "Variable", "A project may set it"), rows)


# --- storage.md -----------------------------------------------------------------------------------


def segment() -> str:
    """A segment of three records that is full, and what is left of one that was forgotten."""
    chance = random.Random(1)
    with tempfile.TemporaryDirectory() as folder:
        log = SegmentLog(
            Path(folder) / "log",
            root="01kjy0z8w4f3v8qe8pr7v2hm5n",
            project="",
            secret=b"\1" * 32,
            clock=FixedClock(),
            minter=IdMinter(FixedClock(), chance),
            entropy=chance.randbytes,
            segment_bytes=1_000,
        )
        log.append([opened("planning", session_id="ses_01kjy10")])
        log.append([said("We picked Postgres."), said("It replicates.", order=1)])
        log.append([said("Next segment.", order=2)])
        whole = (Path(folder) / "log" / "00000001.g0.jsonl").read_text().splitlines()
        log.erase([Seq(2)])
        left = (Path(folder) / "log" / "00000001.g1.jsonl").read_text().splitlines()
        log.close()
    names = ("header", "record 1", "record 2", "record 3", "footer")
    told = [f"{name}\n{_folded(line)}" for name, line in zip(names, whole, strict=True)]
    told.append(f"record 2, forgotten (in 00000001.g1.jsonl)\n{_folded(left[2])}")
    return _fenced("text", "\n\n".join(told) + "\n")


def _folded(line: str) -> str:
    """One line of JSON over several, so that a page can show it; folded lines are indented."""
    width, rest, lines = 98, line, []
    while len(rest) > width:
        cut = rest.rfind(',"', 0, width) + 1 or width
        lines.append(rest[:cut])
        rest = rest[cut:]
    return "\n  ".join([*lines, rest])


# --- protocol.md ----------------------------------------------------------------------------------

TALK: Final = (
    ("Which database do we take for the ledger?", "Postgres or MySQL; look at replication."),
    (
        "We picked Postgres for the database.",
        "Noted: Postgres, for replication.",
    ),
    ("Lunch is at noon. " + "We talked about the menu for a while. " * 12, "Enjoy it."),
    ("The office moves. " + "There was a lot to say about the boxes. " * 12, "Good luck."),
    ("Parking costs 40 a month. " + "And then about bicycles. " * 16, "A bicycle is cheaper."),
    ("Invoices go out on Mondays. " + "The printer was out of paper. " * 14, "Understood."),
    ("The plants need water. " + "Nobody knew who had watered them last. " * 12, "I will ask."),
    ("The heating is loud. " + "It has been loud since the autumn. " * 12, "That is the pump."),
    ("Keys are with Jonas. " + "He is in on most days, though not all. " * 11, "Understood."),
)


@dataclass
class Example:
    """What one small session showed."""

    rules: str = ""
    tools: str = ""
    request: str = ""
    search: str = ""
    fault: str = ""
    mapped: str = ""
    reference: str = ""
    refusals: str = ""
    developer: str = ""
    manifest: str = ""
    strict: str = ""
    abi: str = ""


async def _example() -> Example:
    told = Example()
    async with open_memory(":memory:", window=1_400, seed=1, clock=FixedClock()) as memory:
        session = await _talked(memory)
        fork = await session.fork("levels")
        await session.user("Who hurt us in March?")
        request = await session.request()
        rules, _, _ = request.messages[0].content.partition("\n</VM:RULES>")
        told.rules = _fenced("text", rules.partition("\n\n")[2] + "\n</VM:RULES>\n")
        told.tools = _fenced("json", _readable([_tool(tool) for tool in request.tools]))
        told.request = _fenced("text", _script(request))
        told.search = await _called(session, "search_pages", query="lunch menu", limit=2)
        told.fault = await _called(
            session, "page_fault", page_id="msg_5", reason="user_requested_recall"
        )
        told.mapped = await _called(session, "page_fault", page_id="msg_6")
        await fork.user("What do you have?")
        told.reference = await _called(fork, "page_fault", page_id="msg_7", target_level=3)
    told.refusals = await _refusals()
    await _developer(told)
    return told


async def _developer(told: Example) -> None:
    """The same conversation, as developer messages."""
    async with open_memory(
        ":memory:", window=1_900, seed=1, clock=FixedClock(), layout="developer"
    ) as memory:
        session = await _talked(memory)
        await session.user("Who hurt us in March?")
        request = await session.request()
        text = request.messages[1].content
        _, _, rest = text.partition("<VM:MANIFEST_JSON>\n")
        manifest = json.loads(rest.partition("\n</VM:MANIFEST_JSON>")[0])
        told.developer = _fenced("text", _script(request))
        for name in ("working_set", "available_pages"):
            manifest[name] = manifest[name][:2]
        told.manifest = _fenced("json", _readable(manifest))
        told.strict = _fenced("text", "\n".join(_wrapped(VM_STRICT_PROMPT)) + "\n")
        abi = json.loads(json.dumps(session.abi().as_dict()))
        abi["pages"] = abi["pages"][:1]
        told.abi = _fenced("json", _readable(abi))


def _wrapped(text: str) -> Iterator[str]:
    for line in text.split("\n"):
        yield from textwrap.wrap(line, 98, subsequent_indent="  " if line[:1] == "-" else "") or [
            ""
        ]


async def _talked(memory: Memory) -> Session:
    """A session whose window was full once, so that its first pages have left."""
    session = await memory.session("planning", system="You help a small team.")
    for question, answer in TALK:
        await session.user(question, speaker="Maria", occurred_at="2026-03-05T09:45:00+01:00")
        await session.request()
        await session.assistant(answer)
    return session


async def _refusals() -> str:
    """Each stable code, as a call that gets it and the whole result."""
    short = {"page_id": "msg_4", "target_level": 0}
    long = {"page_id": "msg_5", "target_level": 0}
    limits = Limits(fault_tokens_per_turn_max=100, recall_tokens_max=0, searches_per_turn_max=1)
    rows: dict[str, tuple[str, ...]] = {}
    async with open_memory(
        ":memory:", window=1_500, seed=1, clock=FixedClock(), limits=limits
    ) as memory:
        session = await _talked(memory)

        async def ask(name: str, arguments: dict[str, Any]) -> None:
            call = ToolCall(f"call_{len(rows)}", name, json.dumps(arguments))
            error = json.loads(await session.call(call)).get("error")
            if error is not None and error["code"] not in rows:
                others = error.keys() - {"code", "message"}
                rest = ", ".join(f"{key}: {error[key]}" for key in sorted(others))
                shown = (f"`{error['code']}`", f"`{name} {call.arguments}`", error["message"], rest)
                rows[error["code"]] = shown

        await session.user("Go on.")
        await session.request()
        await ask("open_page", {"page_id": "msg_4"})
        await ask("page_fault", {"page_id": "msg_4", "target_level": 7})
        await ask("page_fault", {"page_id": "msg_99"})
        await ask("page_fault", {**short, "reason": "speculative"})
        await ask("page_fault", long)
        await ask("page_fault", short)
        await ask("page_fault", {"page_id": "msg_2", "target_level": 0})
        await ask("page_fault", {"page_id": "msg_3", "target_level": 0})
        await session.user("When is lunch?")
        await session.request()
        for _ in range(limits.searches_per_turn_max + 1):
            await ask("search_pages", {"query": "lunch"})
        await session.user("Now something long. " + "It fills what the window has left. " * 98)
        await session.request()
        await ask("page_fault", short)
        await memory.revoke_origin("planning", "msg_6")
        await session.user("And now?")
        await session.request()
        await ask("page_fault", {"page_id": "msg_6"})
    assert len(rows) == 9, f"docs/protocol.md counts nine of these, not {', '.join(rows)}"
    head = ("Code", "A call that gets it", "Its message", "Other fields")
    return _table(head, list(rows.values()))


async def _called(session: Session, name: str, **arguments: object) -> str:
    text = json.dumps(arguments)
    result = await session.call(ToolCall(f"call_{name}", name, text))
    return _fenced("json", f"// {name} {text}\n{_readable(json.loads(result))}")


def _tool(tool: Any) -> dict[str, Any]:
    return {"name": tool.name, "description": tool.description, "parameters": tool.parameters}


def _readable(value: object) -> str:
    """JSON in as few lines as fit a page."""

    def told(value: object, indent: int) -> str:
        flat = json.dumps(value, ensure_ascii=False)
        if len(flat) + indent <= 96 or not isinstance(value, (dict, list)):
            return flat
        inner, space = indent + 2, " " * (indent + 2)
        if isinstance(value, dict):
            lines = [f"{space}{json.dumps(k)}: {told(v, inner)}" for k, v in value.items()]
            return "{\n" + ",\n".join(lines) + "\n" + " " * indent + "}"
        return "[\n" + ",\n".join(space + told(v, inner) for v in value) + "\n" + " " * indent + "]"

    return told(value, 0) + "\n"


def _script(request: Request) -> str:
    """The messages of a request, long ones cut."""
    told = []
    for message in request.messages:
        text = message.content
        if message is request.messages[0]:
            before, _, rest = text.partition("<VM:RULES>\n")
            text = f"{before}<VM:RULES> … </VM:RULES>{rest.partition('</VM:RULES>')[2]}"
        text = "\n".join(line if len(line) < 90 else line[:80] + " …" for line in text.split("\n"))
        told.append(f"── {message.role}\n{text}")
    return "\n".join(told) + "\n"


def silence() -> str:
    told = [f"after {role}: {one.role}: {one.content}\n" for role, one in SILENCE.items()]
    return _fenced("text", "".join(told))


# --- all parts ------------------------------------------------------------------------------------


def parts() -> Iterator[tuple[str, Callable[[], str]]]:
    """Every part by its name."""
    example: list[Example] = []

    def shown(name: str) -> Callable[[], str]:
        def text() -> str:
            if not example:
                example.append(asyncio.run(_example()))
            part: str = getattr(example[0], name)
            return part

        return text

    yield from (("residency", residency), ("defaults", defaults), ("waiting", waiting))
    yield from (("settings", settings), ("segment", segment))
    yield "silence", silence
    for name in Example.__dataclass_fields__:
        yield name, shown(name)


async def memory_map() -> str:
    """The map of the demo's conversation, its questions asked in it and not on forks."""
    limits = Limits(recall_tokens_max=0)  # as in the demo, every page that comes back is a fault
    async with open_memory(
        ":memory:", limits=limits, window=demo_script.WINDOW_TOKENS, clock=FixedClock()
    ) as memory:
        session = await memory.session("bike workshop", mode="active")
        await demo_script.replay(session)
        for question in demo_script.QUESTIONS:
            await session.user(question, speaker="Mira")
            await session.run(ScriptedEngine())
        return render_map(await picture_of(memory, session, clean=str))


PICTURES: Final = {"images/memory-map.svg": memory_map}


def _fenced(language: str, text: str) -> str:
    return f"```{language}\n{text}```\n"


def _table(head: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> str:
    lines = [head, tuple("---" for _ in head), *rows]
    cells = [[cell.replace("|", "&#124;") for cell in row] for row in lines]
    return "".join(f"| {' | '.join(row)} |\n" for row in cells)


def regenerated(text: str) -> str:
    """A document with every part in it made anew. `KeyError` for a part that nobody makes."""
    makers = dict(parts())

    def made(match: re.Match[str]) -> str:
        name = match["name"]
        return f"<!-- begin {name} (script/docs) -->\n{makers[name]()}<!-- end {name} -->\n"

    return _PART.sub(made, text)


def main(arguments: list[str]) -> int:
    files = {path: regenerated(path.read_text("utf-8")) for path in sorted(DOCS.glob("*.md"))}
    files |= {DOCS / name: asyncio.run(drawn()) for name, drawn in PICTURES.items()}
    stale = False
    for path, new in files.items():
        if not path.exists() or path.read_text("utf-8") != new:
            stale = True
            if "--check" not in arguments:
                path.write_text(new, encoding="utf-8")
            sys.stderr.write(f"docs/{path.relative_to(DOCS)}: out of date\n")
    return int(stale and "--check" in arguments)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
