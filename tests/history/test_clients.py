"""What real clients write is read: each is run here, where `make clients` installed it.

In the place of the model stands a server of the tests. Each client keeps a session in a home of its
own; a second prompt goes on with it, and only that comes in with the second import.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest

import pagefault
from tests.proxy.upstream import Upstream, always

BIN = Path(__file__).resolve().parents[2] / ".clients" / "node_modules" / ".bin"

pytestmark = pytest.mark.skipif(
    not BIN.is_dir(), reason="`make clients` installs the clients that this runs"
)

ANSWERS = {"nest": "Under the northern eaves.", "count": "There are eleven holes."}


def _claude(url: str, home: Path, prompt: str, *, again: bool) -> list[str]:
    return ["claude", "-p", prompt, *(["--continue"] if again else [])]


def _codex(url: str, home: Path, prompt: str, *, again: bool) -> list[str]:
    folder = home / ".codex"
    folder.mkdir(exist_ok=True)
    (folder / "config.toml").write_text(
        'model = "scripted"\nmodel_provider = "here"\n[model_providers.here]\nname = "here"\n'
        f'base_url = "{url}/v1"\nwire_api = "responses"\nenv_key = "ANY_KEY"\n'
    )
    go_on = ["resume", "--last"] if again else []
    return ["codex", "exec", "--skip-git-repo-check", *go_on, prompt]


CLIENTS = {"claude-code": (_claude, ".claude/projects"), "codex": (_codex, ".codex/sessions")}


def _ask(source: str, home: Path, prompt: str, *, again: bool) -> str:
    said = ANSWERS[prompt.rsplit(maxsplit=1)[-1].rstrip("?")]
    with Upstream(always(said)) as upstream:
        command, _ = CLIENTS[source]
        words = command(upstream.url, home, prompt, again=again)
        env: Mapping[str, str] = {
            "PATH": os.environ["PATH"],
            "HOME": str(home),
            "ANTHROPIC_BASE_URL": upstream.url,
            "ANTHROPIC_API_KEY": "none",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "ANY_KEY": "none",
        }
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


@pytest.mark.parametrize("source", CLIENTS)
def test_a_session_of_a_real_client_comes_in_and_goes_on(tmp_path: Path, source: str) -> None:
    home = tmp_path / "somebody"
    home.mkdir()
    kept = home / CLIENTS[source][1]
    assert ANSWERS["nest"] in _ask(source, home, "Where do the swifts nest?", again=False)
    with pagefault.sync.open(tmp_path / "m") as memory:
        first = memory.import_history([kept])
        assert [one.source for one in first.sources] == [source]
        assert first.flaws == ()
        assert ANSWERS["count"] in _ask(source, home, "How many do you count?", again=True)
        second = memory.import_history([kept])
        assert second.known >= first.messages
        wanted = pagefault.SearchFilter(imported_from=source)
        for words, said in (("swifts nest", "nest?"), ("eleven holes", ANSWERS["count"])):
            hits = memory.recall(words, wanted=wanted).hits
            assert any(said in hit.excerpt for hit in hits), words
        [session] = memory.imports(source)
        assert session.pages == second.known + second.messages
        assert memory.import_history([kept]).messages == 0
