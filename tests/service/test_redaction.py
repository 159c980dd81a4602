"""A memory keeps what looks like a secret out of every file, and goes on where that fails."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import pagefault
from pagefault import Reply, ToolCall
from pagefault.guard import layers
from pagefault.guard.detect import Finding
from pagefault.guard.structure import Structure
from tests.service.memories import Replies, calls, files_with, search

TOKEN = "gh" + "p_" + "q7Rk2" * 7 + "Z"
PASSWORD = "hunter" + "22x!"


async def _mention(root: Path, **options: object) -> None:
    async with pagefault.open(root, sync="os", **options) as memory:  # type: ignore[arg-type]
        session = await memory.session(f"about {TOKEN}", system=f"Use {TOKEN}.")
        await session.user(f"My token is {TOKEN}, and /home/ann/x is where it lies.")
        await session.document(f"DB_PASSWORD={PASSWORD}\n", title=f"{TOKEN}.env")
        await session.artifact(b"bytes", name=f"{TOKEN}.txt", text=f"It shows {TOKEN}.")
        call = ToolCall("call_1", "login", json.dumps({"user": "ann", "password": PASSWORD}))
        await session.assistant("I log in.", calls=[call])
        await session.tool_result(
            json.dumps({"password": PASSWORD}), name="login", call_id="call_1"
        )
        engine = Replies(calls(search(TOKEN), text=f"I look for {TOKEN}"), Reply(text=f"{TOKEN}!"))
        await session.run(engine)
        await session.checkpoint(f"with {TOKEN}")


@pytest.mark.parametrize("secret", [TOKEN, PASSWORD])
async def test_what_looks_like_a_secret_reaches_no_file(tmp_path: Path, secret: str) -> None:
    await _mention(tmp_path / "m")
    assert files_with(tmp_path / "m", secret.encode()) == []
    assert files_with(tmp_path / "m", b"[REDACTED:github-token:") != []
    assert files_with(tmp_path / "m", b"/home/ann") != []


async def test_control_where_known_values_alone_are_redacted_it_does(tmp_path: Path) -> None:
    await _mention(tmp_path / "m", redact="known")
    assert files_with(tmp_path / "m", TOKEN.encode()) != []
    assert files_with(tmp_path / "m", PASSWORD.encode()) != []


async def test_home_folders_are_taken_out_where_that_is_asked(tmp_path: Path) -> None:
    await _mention(tmp_path / "m", redact_paths=True)
    assert files_with(tmp_path / "m", b"/home/ann") == []


async def test_what_is_allowed_is_kept(tmp_path: Path) -> None:
    await _mention(tmp_path / "m", redact_allow=["gh*"])
    assert files_with(tmp_path / "m", TOKEN.encode()) != []
    assert files_with(tmp_path / "m", PASSWORD.encode()) == []


async def test_a_level_that_there_is_not_is_refused(tmp_path: Path) -> None:
    with pytest.raises(pagefault.BadInput, match="known, detect"):
        async with pagefault.open(tmp_path / "m", redact="everything"):
            pass


async def test_what_was_shown_is_what_was_written(tmp_path: Path) -> None:
    async with pagefault.open(tmp_path / "m", sync="os") as memory:
        session = await memory.session("s")
        await session.user(f"It is {TOKEN}.")
        request = await session.request()
        assert TOKEN not in repr(request.messages)
    async with pagefault.open(tmp_path / "m") as memory:
        session = await memory.session("s")
        assert (await session.request()).messages == request.messages


class _Broken(Structure):
    """A scanner that fails on whatever it is given."""

    def may_hold(self, text: str) -> bool:
        return len(text) > 24 and " " in text

    def find(self, text: str) -> list[Finding]:
        raise RuntimeError(f"no rules for {text}")


async def test_where_a_layer_fails_the_turn_goes_on_without_the_text(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(layers, "Structure", _Broken)
    said = "The plan is to move the archive to the new machine"
    async with pagefault.open(tmp_path / "m", sync="os") as memory:
        session = await memory.session("s")
        page_id = await session.user(said)
        reply = await session.run(Replies(Reply(text="I will see to that by the end of the week.")))
        assert reply.text == "I will see to that by the end of the week."
        (page, *_) = [await session.page(page_id)]
        assert page.text.startswith(f"[WITHHELD:{len(said)} characters:")
        redaction = await memory.redaction()
        assert redaction.withheld >= 2
        assert redaction.failure == "structure: RuntimeError"
    for word in (b"archive", b"end of the week"):
        assert files_with(tmp_path / "m", word) == []


async def test_a_memory_tells_which_layers_look_for_secrets(tmp_path: Path) -> None:
    async with pagefault.open(tmp_path / "m", redact_paths=True) as memory:
        redaction = await memory.redaction()
        assert redaction.layers[:2] == ("known values", "structure")
        assert redaction.layers[-1] == "paths"
        assert (redaction.withheld, redaction.failure) == (0, "")
    async with pagefault.open(tmp_path / "m", redact="known") as memory:
        assert (await memory.redaction()).layers == ("known values",)
