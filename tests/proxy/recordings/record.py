"""Make the recordings anew: run real clients against the scripted provider, scrub, write JSONL.

    python -m tests.proxy.recordings.record BIN [CLIENT …]

`BIN` is the folder with `codex`, `claude` and `opencode` (`node_modules/.bin`). Nothing leaves this
machine: every client is given a loopback address and a key that is none. README.md says the rest.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.proxy.upstream import Call, Say, Seen, Upstream

HERE = Path(__file__).parent
KEPT_HEADERS = (
    "anthropic-beta",
    "anthropic-version",
    "content-encoding",
    "session-id",
    "thread-id",
    "user-agent",
    "x-claude-code-session-id",
    "x-codex-window-id",
    "x-session-affinity",
    "x-session-id",
)
TEXT_MAX = (
    600  # characters of an instruction or a description that are kept: they are their makers'
)
TASK = "Read notes.txt, add the line blue to it, and list the folder."
NEXT = "Which colour did you add, and why not yellow?"
OTHER = "Forget that. Which colour comes first in notes.txt?"


class Run:
    """A client, a fresh home and project, and the provider that answers it."""

    def __init__(self, bin: Path, replies: Callable[[Seen], Say]) -> None:
        self.bin = bin
        self.folder = tempfile.TemporaryDirectory()
        self.home = Path(self.folder.name, "home")
        self.project = Path(self.folder.name, "project")
        self.home.mkdir()
        self.project.mkdir()
        (self.project / "notes.txt").write_text("red\ngreen\n")
        self.lines: list[dict[str, Any]] = []
        self.replies = replies

    def answer(self, seen: Seen) -> Say:
        say = self.replies(seen)
        self.lines.append(
            {
                "step": self.step,
                "method": seen.method,
                "path": seen.path,
                "headers": {k: v for k, v in seen.headers.items() if k in KEPT_HEADERS},
                "status": say.status,
                "answer": {
                    "text": say.text,
                    "calls": [[c.call_id, c.name, c.arguments] for c in say.calls],
                },
                "body": seen.body,
            }
        )
        return say

    def run(self, step: str, words: Sequence[str], env: Mapping[str, str], stdin: str = "") -> str:
        self.step = step
        own = {k: v for k, v in os.environ.items() if k in ("PATH", "LANG", "TERM")}
        done = subprocess.run(
            [str(self.bin / words[0]), *words[1:]],
            cwd=self.project,
            env={**own, "HOME": str(self.home), **env},
            input=stdin,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        print(f"{step}: {done.returncode} {done.stdout[-200:]!r} {done.stderr[-300:]!r}")
        return done.stdout

    def write(self, name: str) -> None:
        scrub = scrubber(self.folder.name)
        with (HERE / f"{name}.jsonl").open("w", encoding="utf-8") as out:
            for line in self.lines:
                trimmed = trim(line)
                out.write(scrub(json.dumps(trimmed, ensure_ascii=False)) + "\n")


def scrubber(folder: str) -> Callable[[str], str]:
    plain = [
        (folder, "/home/user"),
        (folder.replace("/", "-"), "-home-user"),
        (os.uname().nodename, "host"),
        (os.uname().release, "6.0.0"),
    ]

    def scrub(text: str) -> str:
        for found, put in plain:
            text = text.replace(found, put)
        text = re.sub(r'((?:installation|device)_id\\*":\s*\\*")[0-9a-f-]+', r"\g<1>0", text)
        text = re.sub(r"\((?:Debian|Ubuntu)[^;]*; ", "(Linux; ", text)
        return re.sub(r"\broot( +)root\b", r"user\1user", text)

    return scrub


def trim(line: dict[str, Any]) -> dict[str, Any]:
    body = line["body"]
    for key in ("system", "instructions"):
        if key in body:
            body[key] = shorten(body[key])
    for tool in body.get("tools", []):
        one = tool.get("function", tool)
        for key in ("description", "parameters", "input_schema", "format"):
            if key not in one:
                continue
            if key == "description":
                one[key] = one[key][:60]
            elif key == "format":
                one[key] = {"type": one[key].get("type", "text")}
            else:
                one[key] = {"type": "object", "properties": {}}
    for items in ("messages", "input"):
        for message in body.get(items, []):
            if message.get("role") in ("system", "developer") or "<system-reminder>" in str(
                message
            ):
                message["content"] = shorten(message["content"])
    for key in ("client_metadata",):
        body.pop(key, None)
    return line


def shorten(value: Any) -> Any:
    """Head and tail of a long text: their makers' words are not ours to give on."""
    if isinstance(value, str):
        if len(value) <= TEXT_MAX:
            return value
        half = TEXT_MAX // 2
        return f"{value[:half]} […] {value[-half:]}"
    if isinstance(value, list):
        return [shorten(one) for one in value]
    if isinstance(value, dict):
        return {k: shorten(v) if k in ("text", "content") else v for k, v in value.items()}
    return value


def script(
    plan: Sequence[Say], aside: Say, is_main: Callable[[Seen], bool]
) -> Callable[[Seen], Say]:
    left = list(plan)

    def reply(seen: Seen) -> Say:
        if not is_main(seen):
            return aside
        return left.pop(0) if left else Say(text="There is nothing more to do.")

    return reply


# --- the clients ---------------------------------------------------------------------------------


def codex(bin: Path) -> None:
    def call(number: int, command: str) -> Call:
        return Call(f"call_{number}", "exec_command", {"cmd": command})

    first = [
        Say(thinking="look first", calls=(call(1, "cat notes.txt"),)),
        Say(status=500),
        Say(text="I add it.", calls=(call(2, "echo blue >> notes.txt"), call(3, "ls"))),
        Say(thinking="done", text="I added blue; the folder holds notes.txt."),
        Say(text="Blue. Yellow was not asked for."),
        Say(text="Red comes first."),
    ]

    def words(url: str, *more: str) -> list[str]:
        provider = f'{{name="scripted",base_url="{url}/v1",env_key="A_KEY",wire_api="responses"}}'
        return [
            "codex", "exec", *more[:-1], "--skip-git-repo-check",
            "--dangerously-bypass-approvals-and-sandbox",
            "-c", 'model_provider="scripted"', "-c", f"model_providers.scripted={provider}",
            "-c", 'model="gpt-5.5"', more[-1],
        ]  # fmt: skip

    def env(run: Run) -> dict[str, str]:
        (run.home / ".codex").mkdir(exist_ok=True)
        return {"A_KEY": "sk-none"}

    run = Run(bin, script(first, Say(text="ok"), lambda seen: True))
    with Upstream(run.answer) as up:
        run.run("task", words(up.url, TASK), env(run))
        session = run.lines[0]["headers"]["session-id"]
        run.run("resumed", words(up.url, "resume", session, NEXT)[:], env(run))
        run.run("forked", words(up.url, "fork", session, OTHER), env(run))
    run.write("codex-task")

    plan = [
        Say(calls=(call(1, "cat notes.txt"),), input_tokens=8_000),
        Say(text="It says red and green.", input_tokens=60_000),
        Say(text="Summary: notes.txt says red and green. The user asks about colours."),
        Say(text="Blue was not added yet.", input_tokens=3_000),
        Say(text="Nothing else.", input_tokens=3_000),
    ]
    run = Run(bin, script(plan, Say(text="ok"), lambda seen: True))
    with Upstream(run.answer) as up:
        small = ("-c", "model_auto_compact_token_limit=9000")
        run.run("task", words(up.url, *small, "What does notes.txt say?"), env(run))
        session = run.lines[0]["headers"]["session-id"]
        run.run("compacted", words(up.url, "resume", *small, session, NEXT), env(run))
        run.run("after", words(up.url, "resume", *small, session, "Anything else?"), env(run))
    run.write("codex-compaction")


def claude(bin: Path) -> None:
    def plan(run: Run) -> list[Say]:
        notes = str(run.project / "notes.txt")
        return [
            Say(thinking="look first", calls=(Call("toolu_01", "Read", {"file_path": notes}),)),
            Say(status=529),
            Say(
                text="I add it.",
                calls=(
                    Call(
                        "toolu_02",
                        "Edit",
                        {"file_path": notes, "old_string": "green", "new_string": "green\nblue"},
                    ),
                    Call("toolu_03", "Bash", {"command": "ls"}),
                ),
            ),
            Say(thinking="done", text="I added blue; the folder holds notes.txt."),
            Say(text="Blue. Yellow was not asked for."),
            Say(text="Summary: blue was added to notes.txt, which says red, green, blue."),
            Say(text="Red comes first."),
        ]

    def env(url: str) -> dict[str, str]:
        return {
            "ANTHROPIC_BASE_URL": url,
            "ANTHROPIC_API_KEY": "sk-ant-none",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "DISABLE_AUTOUPDATER": "1",
            "DISABLE_TELEMETRY": "1",
        }

    session = "11111111-2222-4333-8444-555555555555"
    tools = ["--allowedTools", "Read,Edit,Bash"]
    for name in ("claude-task", "claude-compaction"):
        run = Run(bin, lambda seen: Say())
        run.replies = script(plan(run), Say(text="{}"), lambda seen: bool(seen.body.get("tools")))
        with Upstream(run.answer) as up:
            run.run("task", ["claude", "-p", TASK, "--session-id", session, *tools], env(up.url))
            run.run("resumed", ["claude", "-p", NEXT, "--resume", session, *tools], env(up.url))
            if name == "claude-task":
                transcript = next((run.home / ".claude").rglob(f"{session}.jsonl"))
                turns = [json.loads(line) for line in transcript.read_text().splitlines()]
                last = [t["uuid"] for t in turns if t.get("type") == "assistant"]
                rewound = ["--resume", session, "--resume-session-at", last[-2]]
                run.run("rewound", ["claude", "-p", OTHER, *rewound, *tools], env(up.url))
                forked = ["--resume", session, "--fork-session"]
                run.run("forked", ["claude", "-p", OTHER, *forked, *tools], env(up.url))
            else:
                run.run("compacted", ["claude", "-p", "/compact", "--resume", session], env(up.url))
                run.run("after", ["claude", "-p", OTHER, "--resume", session, *tools], env(up.url))
        run.write(name)


def opencode(bin: Path) -> None:
    def plan(run: Run, full: int) -> list[Say]:
        notes = str(run.project / "notes.txt")
        return [
            Say(calls=(Call("call_1", "read", {"filePath": notes}),)),
            Say(status=500),
            Say(
                text="I add it.",
                calls=(
                    Call(
                        "call_2",
                        "edit",
                        {"filePath": notes, "oldString": "green", "newString": "green\nblue"},
                    ),
                    Call("call_3", "bash", {"command": "ls", "description": "Lists the folder"}),
                ),
            ),
            Say(text="I added blue; the folder holds notes.txt.", input_tokens=full),
            Say(text="Blue. Yellow was not asked for."),
            Say(text="Red comes first."),
        ]

    def env(url: str) -> dict[str, str]:
        model = {"name": "m", "limit": {"context": 40_000, "output": 4_000}}
        provider = {
            "npm": "@ai-sdk/openai-compatible",
            "name": "scripted",
            "options": {"baseURL": f"{url}/v1", "apiKey": "sk-none"},
            "models": {"m": model},
        }
        config = {
            "provider": {"scripted": provider},
            "model": "scripted/m",
            "autoupdate": False,
            "share": "disabled",
        }
        return {"OPENCODE_CONFIG_CONTENT": json.dumps(config)}

    for name, full in (("opencode-task", 1_000), ("opencode-compaction", 39_500)):
        run = Run(bin, lambda seen: Say())
        aside = Say(text="Summary: blue was added to notes.txt, which says red, green, blue.")
        run.replies = script(plan(run, full), aside, lambda seen: bool(seen.body.get("tools")))
        with Upstream(run.answer) as up:
            run.run("task", ["opencode", "run", TASK], env(up.url))
            session = run.lines[-1]["headers"]["x-session-id"]
            run.run("resumed", ["opencode", "run", "-s", session, NEXT], env(up.url))
            forked = ["--fork"] if name == "opencode-task" else []
            run.run("forked", ["opencode", "run", "-s", session, *forked, OTHER], env(up.url))
        run.write(name)


def main(bin: str, *clients: str) -> None:
    for client in (codex, claude, opencode):
        if not clients or client.__name__ in clients:
            client(Path(bin).resolve())


if __name__ == "__main__":
    main(*sys.argv[1:])
