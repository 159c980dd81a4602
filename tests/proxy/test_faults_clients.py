"""Claude Code and Codex, as they are, in front of a model that asks memory: each is run here, where
`make clients` installed it, and knows nothing of that.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest

from pagefault.pack.count import O200k
from tests.history.test_clients import BIN, CLIENTS
from tests.proxy.standing import Standing, standing
from tests.proxy.strict import strict
from tests.proxy.test_faults import blocks, names, results, search
from tests.proxy.upstream import Call, Say, Seen, Upstream

pytestmark = pytest.mark.skipif(
    not BIN.is_dir(), reason="`make clients` installs the clients that this runs"
)

READ: dict[str, Callable[[Path], tuple[str, dict[str, str]]]] = {
    "claude-code": lambda path: ("Read", {"file_path": str(path)}),
    "codex": lambda path: ("exec_command", {"cmd": f"cat {path}"}),
}


def model(name: str, file: Path) -> Callable[[Seen], Say]:
    """Asks memory alone, beside a call of the client's, and in the next turn again."""
    read = Call("call_1", *READ[name](file))
    fault = Call("call_pf", "page_fault", {"page_id": "msg_99"})
    left = [
        Say(text="Let me look. ", calls=(search("colours", "call_a"),)),
        Say(text="First the file.", thinking="hm", calls=(search("red", "call_b"), read)),
        Say(thinking="there", calls=(fault,)),
        Say(text="I have read it.", thinking="well"),
        Say(text="Once more. ", thinking="so", calls=(search("green", "call_c"),)),
        Say(text="Red it is."),
    ]

    def reply(seen: Seen) -> Say:
        if "Read" in names(seen) or "exec_command" in names(seen):
            return replace(left.pop(0), input_tokens=1_000)
        return Say(text="{}")  # a title, or something else beside the conversation

    return reply


@pytest.mark.parametrize("name", CLIENTS)
async def test_a_real_client_reads_one_answer_and_the_prefix_stays(
    tmp_path: Path, name: str
) -> None:
    (tmp_path / "notes.txt").write_text("red\ngreen\n")
    counter = O200k()
    with Upstream(strict(model(name, tmp_path / "notes.txt"), counter, 200_000)) as upstream:
        async with standing(
            upstream, window=60_000, counter=counter, body_bytes_max=20_000_000
        ) as to:
            said = [
                await asyncio.to_thread(_ask, name, to, tmp_path, prompt, again=again)
                for again, prompt in ((False, "Which colours?"), (True, "And which of them?"))
            ]
    assert "I have read it." in said[0]
    assert "Red it is." in said[1]
    mains = [seen for seen in upstream.seen if seen.method == "POST" and len(names(seen)) > 2]
    assert len(mains) == 6
    assert all(names(seen)[-2:] == ["page_fault", "search_pages"] for seen in mains)
    assert len(results(mains[-1])) == 4
    for earlier, later in pairwise(mains):
        assert blocks(later)[: len(blocks(earlier))] == blocks(earlier)


def _ask(name: str, to: Standing, home: Path, prompt: str, *, again: bool) -> str:
    command, _ = CLIENTS[name]
    words = command(to.url, home, prompt, again=again)
    free = {
        "claude-code": ["--allowedTools", "Read"],
        "codex": ["--dangerously-bypass-approvals-and-sandbox"],
    }[name]
    env = {
        "PATH": os.environ["PATH"],
        "HOME": str(home),
        "ANTHROPIC_BASE_URL": to.url,
        "ANTHROPIC_API_KEY": "none",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "ANY_KEY": "none",
    }
    at = 2 if name == "codex" else len(words)
    done = subprocess.run(
        [str(BIN / words[0]), *words[1:at], *free, *words[at:]],
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
