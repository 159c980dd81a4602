"""Coding clients as they are installed by `make clients`, each prompt a run of its own that goes on
with the session before; and aider, where it is on the PATH, in one run.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.clients.scenario import (
    CHAPTERS,
    LOOK,
    NOTES,
    PROMPTS,
    WORK,
    Read,
    chapter_name,
    contents,
    write_files,
)
from tests.history.test_clients import BIN
from tests.proxy.test_faults import names
from tests.proxy.upstream import Seen

RUN_S = 180


@dataclass(frozen=True)
class Program:
    """A client. `sums_up_at` in a configuration is how many tokens the client is told to sum up at;
    0 leaves it to itself, which is far above what a session here has.
    """

    words: Callable[[str, bool], list[str]]  # of a prompt, and whether it goes on
    env: Callable[[str, int], Mapping[str, str]]  # by the address, and `sums_up_at`
    configure: Callable[[Path, str, int], None]  # in a home, likewise
    reads: Callable[[Path], Read]
    tool: str  # that only its conversation's own requests have

    def is_main(self, seen: Seen) -> bool:
        return self.tool in names(seen)


class Session:
    """A client in a home and a project of its own."""

    def __init__(self, program: Program, url: str, folder: Path, *, sums_up_at: int = 0) -> None:
        self._program = program
        self._home, self.project = folder / "home", folder / "project"
        self._home.mkdir(parents=True)
        self.project.mkdir()
        write_files(self.project)
        program.configure(self._home, url, sums_up_at)
        self._env = {
            "PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}",
            "HOME": str(self._home),
            "XDG_CONFIG_HOME": str(self._home / ".config"),
            "XDG_DATA_HOME": str(self._home / ".local/share"),
            "NO_COLOR": "1",
            **program.env(url, sums_up_at),
        }
        self._is_begun = False

    def ask(self, text: str) -> str:
        """What it shows. Raises `CalledProcessError` where it fails."""
        words = self._program.words(text, self._is_begun)
        self._is_begun = True
        done = subprocess.run(
            [str(BIN / words[0]), *words[1:]],
            cwd=self.project,
            env=self._env,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=RUN_S,
            check=True,
        )
        return done.stdout.strip()

    def say(self) -> list[str]:
        """What it shows for each prompt; "" where it fails."""
        said = []
        for prompt in PROMPTS:
            said.append("")
            with contextlib.suppress(subprocess.CalledProcessError):
                said[-1] = self.ask(prompt)
        return said


# --- Claude Code ----------------------------------------------------------------------------------


def _claude_words(text: str, again: bool) -> list[str]:
    return ["claude", "-p", text, "--allowedTools", "Read", *(["--continue"] if again else [])]


def _claude_env(url: str, sums_up_at: int) -> Mapping[str, str]:
    limit = {}
    if sums_up_at:  # a share of the least that it takes, less 20,000 for its answer
        limit["CLAUDE_CODE_AUTO_COMPACT_WINDOW"] = "100000"
        limit["CLAUDE_AUTOCOMPACT_PCT_OVERRIDE"] = str(sums_up_at // 800)
    return {
        "ANTHROPIC_BASE_URL": url,
        "ANTHROPIC_API_KEY": "none",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "DISABLE_AUTOUPDATER": "1",
        **limit,
    }


# --- Codex ----------------------------------------------------------------------------------------


def _codex_words(text: str, again: bool) -> list[str]:
    free = ["--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox"]
    return ["codex", "exec", *free, *(["resume", "--last"] if again else []), text]


def _codex_configure(home: Path, url: str, sums_up_at: int) -> None:
    limit = f"model_auto_compact_token_limit = {sums_up_at}\n" if sums_up_at else ""
    folder = home / ".codex"
    folder.mkdir()
    (folder / "config.toml").write_text(
        f'model = "scripted"\nmodel_provider = "here"\n{limit}[model_providers.here]\n'
        f'name = "here"\nbase_url = "{url}/v1"\nwire_api = "responses"\nenv_key = "ANY_KEY"\n'
        "request_max_retries = 0\nstream_max_retries = 0\n"
    )


# --- opencode -------------------------------------------------------------------------------------


def _opencode_words(text: str, again: bool) -> list[str]:
    return ["opencode", "run", *(["--continue"] if again else []), text]


def _opencode_env(url: str, sums_up_at: int) -> Mapping[str, str]:
    kept_free = 32_000
    context = sums_up_at + kept_free if sums_up_at else 1_000_000
    model: Any = {"name": "scripted", "limit": {"context": context, "output": kept_free}}
    provider = {
        "npm": "@ai-sdk/openai-compatible",
        "name": "here",
        "options": {"baseURL": f"{url}/v1", "apiKey": "none"},
        "models": {"scripted": model},
    }
    config = {
        "provider": {"here": provider},
        "model": "here/scripted",
        "small_model": "here/scripted",
        "autoupdate": False,
        "share": "disabled",
        "permission": {"*": "allow"},
    }
    return {
        "OPENCODE_CONFIG_CONTENT": json.dumps(config),
        "OPENCODE_DISABLE_MODELS_FETCH": "1",
        "OPENCODE_DISABLE_AUTOUPDATE": "1",
    }


def _nothing(home: Path, url: str, sums_up_at: int) -> None:
    """Its environment is all that it needs."""


PROGRAMS: Mapping[str, Program] = {
    "claude": Program(
        words=_claude_words,
        env=_claude_env,
        configure=_nothing,
        reads=lambda project: lambda name: ("Read", {"file_path": str(project / name)}),
        tool="Read",
    ),
    "codex": Program(
        words=_codex_words,
        env=lambda url, sums_up_at: {"ANY_KEY": "none"},
        configure=_codex_configure,
        reads=lambda project: lambda name: ("exec_command", {"cmd": f"cat {name}"}),
        tool="exec_command",
    ),
    "opencode": Program(
        words=_opencode_words,
        env=_opencode_env,
        configure=_nothing,
        reads=lambda project: lambda name: ("read", {"filePath": str(project / name)}),
        tool="read",
    ),
}


def is_installed(program: Program) -> bool:
    return (BIN / program.words("", False)[0]).exists()


# --- aider ----------------------------------------------------------------------------------------

AIDER = shutil.which("aider")
_AIDER_WORDS = (
    "--model openai/scripted --openai-api-key none --no-git --no-check-update --analytics-disable "
    "--no-show-release-notes --no-show-model-warnings --no-pretty --no-fancy-input --yes-always "
    "--edit-format ask --map-tokens 0 --no-gitignore --no-detect-urls --no-suggest-shell-commands "
    "--max-chat-history-tokens 10000000"
).split()
"""It counts its history itself, and sums it up by that: so it is told to leave it."""


def run_aider(url: str, folder: Path) -> list[str]:
    """What it shows for each line, less what it counts. It has no tools: a command's output is put
    into the chat, and files are pasted.
    """
    assert AIDER is not None
    folder.mkdir()
    write_files(folder)
    files = contents()
    lines: list[str] = []
    for prompt in PROMPTS:
        lines += [f"/run cat {NOTES}"] if prompt == LOOK else []
        if prompt != WORK:
            lines.append(prompt)
        for number in range(CHAPTERS) if prompt == WORK else ():
            pasted = files[chapter_name(number)].replace("\n", " ")
            lines.append(f"{'' if number else WORK} {pasted}")
    done = subprocess.run(
        [AIDER, *_AIDER_WORDS, "--openai-api-base", f"{url}/v1"],
        cwd=folder,
        env={"PATH": os.environ["PATH"], "HOME": str(folder)},
        input="\n".join(lines) + "\n",
        capture_output=True,
        text=True,
        timeout=3 * RUN_S,
        check=True,
    )
    shown = [line for line in done.stdout.splitlines() if not line.startswith("Tokens: ")]
    return "\n".join(shown).replace(str(folder), "").split("ask> ")[:-1]
