"""The protocol's own suite and its inspector, where `make clients` installed them.

What of the suite is expected to fail, and why, stands in `conformance.yml`; a scenario that fails
beside these, or no longer fails, fails the test. This version of the suite knows the eras with a
handshake; of the other one, `test_http.py` and `test_stdio.py` are the test.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import pagefault
from tests.integrations.frameworks import needs
from tests.proxy.upstream import Upstream, always

MODULES = Path(__file__).resolve().parents[2] / ".clients" / "node_modules"
EXPECTED = Path(__file__).with_name("conformance.yml")
WAIT_S = 300

pytestmark = [
    needs("mcp", "the package mcp"),
    pytest.mark.slow,
    pytest.mark.skipif(
        not (MODULES / ".bin" / "conformance").exists(),
        reason="`make clients` installs the suite and the inspector that this runs",
    ),
]


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """`/mcp` of a proxy that serves one user."""
    root = tmp_path_factory.mktemp("serving") / "m"
    with pagefault.sync.open(root) as memory:
        session = memory.session("planning")
        session.user("We decided to run the greenhouse heating on wood chips.")
        memory.assign("planning", user="ann")
    with Upstream(always()) as upstream:
        words = ["--root", str(root), "serve", "--upstream", upstream.url, "--user", "ann"]
        process = subprocess.Popen(
            [sys.executable, "-m", "pagefault.cli", *words, "--port", "0", "--json"],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        try:
            assert process.stdout is not None
            yield json.loads(process.stdout.readline())["url"] + "/mcp"
        finally:
            process.terminate()
            process.communicate(timeout=300)


def node(*words: str | Path) -> subprocess.CompletedProcess[str]:
    """Run a program of Node.js, with the one that was installed beside it."""
    own = MODULES / "node" / "bin"
    path = f"{own}{os.pathsep}{os.environ['PATH']}"
    return subprocess.run(
        ["node", *map(str, words)],
        env=os.environ | {"PATH": path},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=WAIT_S,
        check=False,
    )


def test_the_suite_fails_where_it_is_expected_to_and_nowhere_else(url: str, tmp_path: Path) -> None:
    suite = MODULES / ".bin" / "conformance"
    asked = ("server", "--url", url, "--expected-failures", str(EXPECTED))
    done = node(suite, *asked, "-o", tmp_path)
    assert done.returncode == 0, done.stdout[-3_000:]
    passed = {line.split()[1].rstrip(":") for line in done.stdout.splitlines() if line[:1] == "✓"}
    assert {"server-initialize", "ping", "tools-list", "tools-call-error"} <= passed
    assert {"resources-list", "prompts-list", "dns-rebinding-protection"} <= passed


@pytest.mark.parametrize("transport", ["http", "stdio"])
def test_the_inspector_calls_a_tool(url: str, transport: str, tmp_path: Path) -> None:
    with pagefault.sync.open(tmp_path / "m") as memory:
        memory.session("planning").user("We heat with wood chips.")
    child = [sys.executable, "-m", "pagefault.cli", "--root", str(tmp_path / "m"), "mcp"]
    target = [url, "--transport", "http"] if transport == "http" else child
    if transport == "stdio":
        target += ["-e", f"PYTHONPATH={Path(pagefault.__file__).resolve().parents[1]}"]
    asked = ("--method", "tools/call", "--tool-name", "memory_recall")
    inspector = MODULES / ".bin" / "mcp-inspector"
    done = node(inspector, "--cli", *target, *asked, "--tool-arg", "query=wood chips")
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert "wood chips" in told["structuredContent"]["pages"][0]["text"]
