"""Real coding clients behind `pagefault wrap`, where `make clients` installed them."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

import pagefault
from pagefault.cli.background import proxies
from pagefault.proxy.running import all_running
from tests.proxy.upstream import Upstream, always

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
    deadline = time.monotonic() + 30
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
