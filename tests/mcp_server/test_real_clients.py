"""Real clients start the server as they are told to, and have it answer: those that `make clients`
installed.

In the place of the model stands a server of the tests. It calls the tool under the name by which
the client offers it, and says what the client sends it back: where the page is from, and its words.
The control is the same client without the server.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

import pagefault
from tests.integrations.frameworks import needs
from tests.mcp_server.memories import TALKS, fill
from tests.proxy.upstream import Call, Say, Seen, Upstream

BIN = Path(__file__).resolve().parents[2] / ".clients" / "node_modules" / ".bin"
QUESTION = "What did we decide last week about the heating?"
TOOL = "memory_recall"
CLAUDES = f"mcp__pagefault__{TOOL}"
NO_TOOL = "I cannot look that up."
ANSWER = f"In planning, on 2026-11-16 (msg_1): {TALKS['planning'][0]}"

pytestmark = [
    needs("mcp", "the package mcp"),
    pytest.mark.slow,
    pytest.mark.skipif(
        not (BIN / "claude").exists(), reason="`make clients` installs the clients that this runs"
    ),
]

# As text, and as data, in whatever quotes the client puts it.
AS_TEXT = r"user \((?P<page>msg_\d+) · (?P<session>\w+) · (?P<day>[\d-]{10})\): (?P<words>[^.]*\.)"
AS_DATA = (
    r"page_id\W+(?P<page>msg_\d+)\W+session\W+(?P<session>\w+)\W+uri.*?said_at\W+"
    r"(?P<day>[\d-]{10}).*?\Wtext\W+(?P<words>[^.]*\.)"
)


def _answer(sent: str) -> str:
    """What a model says that has read the tool's result; "" before there is one."""
    found = re.search(AS_TEXT, sent) or re.search(AS_DATA, sent)
    return "In {session}, on {day} ({page}): {words}".format(**found.groupdict()) if found else ""


def _model(seen: Seen) -> Say:
    sent = json.dumps(seen.body, ensure_ascii=False)
    answer = _answer(sent)
    if answer:
        return Say(text=answer)
    tools = seen.body.get("tools", [])
    asked = {"query": QUESTION}
    names = [tool.get("name") for tool in tools]
    if CLAUDES in names:
        return Say(calls=(Call("call_2", CLAUDES, asked),))
    if "ToolSearch" in names and CLAUDES in sent:  # it offers most tools by their names alone
        return Say(calls=(Call("call_1", "ToolSearch", {"query": f"select:{CLAUDES}"}),))
    if "mcp__pagefault" in names:
        return Say(calls=(Call("call_1", TOOL, asked, namespace="mcp__pagefault"),))
    return Say(text=NO_TOOL)


Run = Callable[..., str]


def _claude(run: Run, home: Path, url: str, server: list[str]) -> str:
    if server:
        run("claude", "mcp", "add", "pagefault", "-e", f"PYTHONPATH={PATHS}", "--", *server)
    return run("claude", "-p", QUESTION, "--allowedTools", CLAUDES)


def _codex(run: Run, home: Path, url: str, server: list[str]) -> str:
    (home / ".codex").mkdir()
    (home / ".codex" / "config.toml").write_text(
        'model = "scripted"\nmodel_provider = "here"\n[model_providers.here]\nname = "here"\n'
        f'base_url = "{url}/v1"\nwire_api = "responses"\nenv_key = "ANY_KEY"\n'
    )
    waits = []
    if server:
        run("codex", "mcp", "add", "pagefault", "--env", f"PYTHONPATH={PATHS}", "--", *server)
        waits = [
            *("-c", "mcp_servers.pagefault.required=true"),
            *("-c", 'mcp_servers.pagefault.default_tools_approval_mode="approve"'),
        ]
    return run("codex", "exec", "--skip-git-repo-check", *waits, QUESTION)


CLIENTS = {"claude": _claude, "codex": _codex}


@pytest.mark.parametrize("serves", [True, False], ids=["served", "control"])
@pytest.mark.parametrize("name", CLIENTS)
async def test_a_question_is_answered_from_another_session_with_citations(
    tmp_path: Path, name: str, serves: bool
) -> None:
    async with pagefault.open(tmp_path / "m", sync="os") as memory:
        await fill(memory)
    home = tmp_path / "somebody"
    home.mkdir()
    with Upstream(_model) as upstream:
        env: Mapping[str, str] = {
            "PATH": os.environ["PATH"],
            "HOME": str(home),
            "ANTHROPIC_BASE_URL": upstream.url,
            "ANTHROPIC_API_KEY": "none",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "CLAUDE_CODE_MCP_STARTUP_WAIT_MS": "60000",  # a prompt on the command line is early
            "MCP_CONNECTION_NONBLOCKING": "false",
            "ANY_KEY": "none",
        }

        def run(*words: str) -> str:
            done = subprocess.run(
                [str(BIN / words[0]), *words[1:]],
                cwd=home,
                env=env,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                timeout=300,
                check=False,
            )
            assert done.returncode == 0, done.stderr
            return done.stdout

        server = [sys.executable, "-m", "pagefault.cli", "--root", str(tmp_path / "m"), "mcp"]
        said = CLIENTS[name](run, home, upstream.url, server if serves else [])
        assert (ANSWER in said, NO_TOOL in said) == (serves, not serves), said


PATHS = str(Path(pagefault.__file__).resolve().parents[1])
