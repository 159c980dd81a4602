"""`pagefault scrub`, as it is installed: what a file hands in goes from every file of the root."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pagefault
from tests.cli.conftest import Cli, start
from tests.service.test_redaction import TOKEN
from tests.service.traces import Files

VALUE = "Kvothe-9f83-hides"


def _made(root: Path) -> Path:
    with pagefault.sync.open(root, sync="os", redact="known") as memory:
        session = memory.session(f"talk of {VALUE}")
        session.user(f"We decided to use {VALUE} for the harbour.")
        session.document(f"token: {TOKEN}\nand the rest of the harbour", title="notes")
        session.fork("aside").user(f"{VALUE}, again.")
    return root


def _run(*words: str | Path, text: str = "") -> tuple[int, str, str]:
    with start(*words, stdin=subprocess.PIPE) as process:
        out, err = process.communicate(text)
        return process.returncode, out, err


def _object(*words: str | Path, text: str = "") -> Any:
    code, out, err = _run(*words, "--json", text=text)
    assert code == 0, err
    return json.loads(out)


def test_what_is_handed_in_goes_from_every_file_and_is_never_shown(tmp_path: Path) -> None:
    root = _made(tmp_path / "m")
    (tmp_path / "values").write_text(f"\n  {VALUE}\n")
    both = {"value": VALUE, "token": TOKEN}
    assert set(Files(root).traces(both)) == set(both), "control"
    told = _object("--root", root, "scrub", "--value-from", tmp_path / "values")
    assert (told["done"], set(told["found"])) == (False, {"given.1", "github-token"})
    assert told["command"].endswith(f"scrub --value-from {tmp_path / 'values'} --yes")
    assert set(Files(root).traces(both)) == set(both), "a dry run changes nothing"
    code, out, err = _run("--root", root, "scrub", "--value-from", "-", "--yes", text=VALUE)
    assert code == 0, err
    assert VALUE not in json.dumps(told) + out + err
    assert "redacted:" in out
    assert Files(root).traces(both) == {}
    assert _object("--root", root, "verify")["problems"] == []
    for found in (_object("--root", root, "search", "harbour"),):
        assert {hit["page_id"] for hit in found["hits"]} >= {"msg_1", "art_1"}
    assert _object("--root", root, "scrub")["records"] == 0


def test_what_it_cannot_do_is_said_plainly(cli: Cli, tmp_path: Path) -> None:
    root = _made(tmp_path / "m")
    (tmp_path / "short").write_text("1234\n")
    (tmp_path / "none").write_text("\n")
    for words, why in (
        (["--value-from", tmp_path / "short", "--yes"], "value 1 is shorter than 8"),
        (["--value-from", tmp_path / "none"], "no value in"),
        (["--value-from", tmp_path / "nowhere"], "cannot read"),
        (["--dry-run", "--yes"], "contradict"),
    ):
        done = cli("--root", root, "scrub", *words)
        assert done.code == 2
        assert why in done.err
    assert cli("--root", root, "mode", "paused").code == 0
    done = cli("--root", root, "scrub", "--yes")
    assert done.code == 4
    assert "nothing scrubbed" in done.err
    assert Files(root).traces({"token": TOKEN}), "nothing was changed"
    assert cli("--root", tmp_path / "empty", "scrub").code == 3
