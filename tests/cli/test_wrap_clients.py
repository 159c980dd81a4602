"""Real coding clients behind `pagefault wrap`, where `make clients` installed them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import pytest

import pagefault
from pagefault.cli.background import proxies
from pagefault.proxy.history.history import unmarked
from pagefault.proxy.running import all_running
from tests.clients.programs import PROGRAMS
from tests.clients.scenario import LOOK, PLAN, TELL, USERS, Model, write_files
from tests.proxy.upstream import Seen, Upstream, always

BIN = Path(__file__).resolve().parents[2] / ".clients" / "node_modules" / ".bin"
ANSWER = "Under the northern eaves."

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not BIN.is_dir(), reason="`make clients` installs the clients that this runs"
    ),
]

COMMANDS = {
    "claude": ["claude", "--", "-p", "Where do the swifts nest?"],
    "codex": [
        "--upstream",
        "{}",
        "codex",
        "--",
        "exec",
        "--skip-git-repo-check",
        "Where do the swifts nest?",
    ],
}


@pytest.mark.parametrize("client", COMMANDS)
def test_a_real_client_goes_through_and_its_conversation_is_in_the_memory(
    tmp_path: Path, empty_home: Path, client: str
) -> None:
    with Upstream(always(ANSWER)) as upstream:
        words = [word.format(upstream.url) for word in COMMANDS[client]]
        done = subprocess.run(
            [sys.executable, "-m", "pagefault.cli", "wrap", *words],
            env={
                **os.environ,
                "PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}",
                "PAGEFAULT_HOME": str(tmp_path / "memory"),
                "ANTHROPIC_BASE_URL": upstream.url,
                "ANTHROPIC_API_KEY": "none",
                "OPENAI_API_KEY": "none",
                "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            },
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=180,
            check=False,
        )
        sent = [one for one in upstream.seen if one.method == "POST"]
    assert done.returncode == 0, done.stderr
    assert ANSWER in done.stdout
    assert done.stderr.startswith(f"pagefault: {client} → http://127.0.0.1:")
    assert sent
    assert not any("x-pagefault-token" in one.headers for one in sent)
    deadline = time.monotonic() + 300
    while all_running(proxies()):
        assert time.monotonic() < deadline, "the private proxy outlived its client"
        time.sleep(0.05)
    with pagefault.sync.open(tmp_path / "memory", read_only=True) as memory:
        named = [row for row in memory.sessions() if row.name.startswith(f"{client}:")]
        texts = [
            memory.read(page).text
            for row in named
            for page in memory.pages(memory.session(row.session_id, create=False))
        ]
    assert "Where do the swifts nest?" in texts
    assert ANSWER in texts


def _said(seen: Seen) -> list[tuple[str, str]]:
    """The blocks by which a provider's cache recognises a request. A string counts as equal to a
    block with the same text: Claude Code switches between the two as its mark moves on.
    """
    found = [("", json.dumps(unmarked([seen.body["tools"], seen.body["system"]])))]
    for message in seen.body["messages"]:
        told = message["content"]
        told = [{"type": "text", "text": told}] if isinstance(told, str) else told
        found += [(message["role"], json.dumps(unmarked(block))) for block in told]
    return found


def _breaks(folder: Path, words: Sequence[str]) -> int:
    """How many requests of Claude Code do not begin with the whole request before, if each prompt
    is a run of its own that resumes the last. `words` is the command line before its arguments.
    """
    (folder / "project").mkdir(parents=True)
    write_files(folder / "project")
    program = PROGRAMS["claude"]
    scripted = Model(program.reads(folder / "project"), program.is_main)
    with Upstream(scripted.script()) as upstream:
        for number, prompt in enumerate((TELL, PLAN, LOOK, USERS.asked)):
            subprocess.run(
                [*words, *program.words(prompt, number > 0)[1:]],
                cwd=folder / "project",
                env={
                    **os.environ,
                    **program.env(upstream.url, 0),
                    "PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}",
                    "HOME": str(folder),
                    "PAGEFAULT_HOME": str(folder / "memory"),
                },
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=180,
                check=True,
            )
    told = list(map(_said, scripted.asked))
    return sum(later[: len(earlier)] != earlier for earlier, later in pairwise(told))


def test_claude_code_resumed_goes_on_with_its_prefix(tmp_path: Path, empty_home: Path) -> None:
    wrap = [sys.executable, "-m", "pagefault.cli", "wrap", "--window", "60000", "claude", "--"]
    assert _breaks(tmp_path / "wrapped", wrap) == 0


def test_control_alone_it_leaves_out_its_thinking_where_it_is_resumed(
    tmp_path: Path, empty_home: Path
) -> None:
    assert _breaks(tmp_path / "alone", [str(BIN / "claude")]) > 0
