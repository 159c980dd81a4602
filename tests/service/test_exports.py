"""An export holds what the memory holds, each form is read again, and nothing forgotten returns."""

from __future__ import annotations

import json
import re
import stat
import zipfile
from pathlib import Path
from typing import Any

import pytest

import pagefault
from pagefault.model.wanted import SearchFilter

FORMS = ("events", "snapshot", "markdown")
TEXTS = (
    "Der Leuchtturm wird im Mai gestrichen.",
    "<!-- pagefault event {} -->\n\n# not a heading of ours\n\n```\nfence\n```\n",
    "灯塔在五月粉刷。\n\n\\<!-- pagefault session {} -->",
    "trailing blank lines\n\n",
)


async def _fill(memory: pagefault.Memory) -> None:
    session = await memory.session("harbour: log?", system="Be brief.")
    for text in TEXTS:
        await session.user(text)
        await session.assistant(f"Heard: {text}")
    await session.user("The lighthouse has 96 steps.")
    await session.remember("The lighthouse has 96 steps.")
    await session.document("Tide table\n" * 40, title="tides")
    await session.artifact(b"\x00\x01chart", name="chart.bin", media_type="application/x-chart")
    await session.tool_result("depth: 11 m", name="soundings")
    other = await session.fork("what-if")
    await other.user("And if it were painted in June?")


async def _said(memory: pagefault.Memory) -> dict[str, list[tuple[str, str, str]]]:
    """Role, time and text of what stands in each imported session."""
    found: dict[str, list[tuple[str, str, str]]] = {}
    for one in await memory.imports():
        session = await memory.session(one.name, create=False)
        rows = [row for row in await memory.pages(session, limit=500) if row.part == 0]
        pages = [await session.page(row.page_id) for row in rows]
        found[one.name] = [(str(p.row.role), p.occurred_at[:19], p.text) for p in pages]
    return found


def _events(target: Path, form: str) -> list[dict[str, Any]]:
    if form == "snapshot":
        with zipfile.ZipFile(target) as archive:
            text = archive.read("events.jsonl").decode()
    else:
        text = target.read_text()
    return [json.loads(line) for line in text.splitlines()]


def _there(folder: Path) -> set[str]:
    return {one.name for one in folder.iterdir()} - {"home"}


@pytest.mark.parametrize("form", FORMS)
async def test_every_form_is_read_again_word_for_word(tmp_path: Path, form: str) -> None:
    target = tmp_path / f"out-{form}"
    async with pagefault.open(tmp_path / "a", sync="os") as memory:
        await _fill(memory)
        made = await memory.export(target, form=form)
        assert made.done
        assert (made.sessions, made.artifacts, made.claims) == (2, 1, 1)
    async with pagefault.open(tmp_path / "b", sync="os") as memory:
        report = await memory.import_history([target])
        assert report.flaws == ()
        assert report.messages == made.messages
        said = await _said(memory)
        assert len(said) == 2
        assert all(name.startswith("import:pagefault:ses_") for name in said)
        by_size = sorted(said.values(), key=len)
        texts = [text for _, _, text in by_size[1]]
        assert [text for text in texts if not text.startswith("Heard: ")][: len(TEXTS)] == [*TEXTS]
        assert any("depth: 11 m" in text for text in texts)
        assert [text for _, _, text in by_size[0]] == ["And if it were painted in June?"]
        again = await memory.import_history([target])
        assert (again.messages, again.known) == (0, made.messages)


@pytest.mark.parametrize("form", ["snapshot", "markdown"])
async def test_the_bytes_of_artifacts_come_with_it(tmp_path: Path, form: str) -> None:
    target = tmp_path / "out"
    async with pagefault.open(tmp_path / "a", sync="os") as memory:
        session = await memory.session("s")
        await session.artifact(b"\x00\x01chart", name="chart.bin", media_type="application/x-chart")
        await memory.export(target, form=form)
    async with pagefault.open(tmp_path / "b", sync="os") as memory:
        await memory.import_history([target])
        [one] = await memory.imports()
        session = await memory.session(one.name, create=False)
        [row] = await memory.pages(session)
        assert await session.artifact_bytes(row.page_id) == b"\x00\x01chart"


async def test_a_line_is_an_event_envelope(tmp_path: Path) -> None:
    async with pagefault.open(tmp_path / "a", sync="os") as memory:
        await _fill(memory)
        await memory.export(tmp_path / "out", form="events")
    lines = _events(tmp_path / "out", "events")
    wanted = {
        *("event_id", "session_id", "project_id", "ts", "source", "event_type", "role", "text"),
        *("topic_tags", "entities", "task_refs", "artifacts", "importance", "confidence", "hash"),
    }
    assert all(wanted <= line.keys() for line in lines)
    ids = [line["event_id"] for line in lines]
    assert len(ids) == len(set(ids))
    assert all(line["follows"] in {"", *ids} for line in lines if "follows" in line)
    [claim] = [line for line in lines if line["event_type"] == "claim"]
    assert (claim["status"], claim["authority"]) == ("standing", "user")
    pages = {line["page_id"]: line["text"].encode() for line in lines}
    [span] = claim["evidence"]
    assert b"96 steps" in pages[span["ref"]][span["start"] : span["end"]]


@pytest.mark.parametrize("form", FORMS)
async def test_what_was_forgotten_does_not_come_back_by_an_older_export(
    tmp_path: Path, form: str
) -> None:
    target = tmp_path / "out"
    async with pagefault.open(tmp_path / "a", sync="os") as memory:
        session = await memory.session("s")
        await session.user("The cat is called Quimby.")
        page = await session.user("The safe opens with a heron feather.")
        await memory.export(target, form=form)
        await memory.forget(session, page)
        report = await memory.import_history([target])
        assert (report.messages, report.known) == (0, 1)
        [flaw] = report.flaws
        assert "stays so" in flaw.why
        assert (await memory.recall("heron feather")).hits == ()
        await memory.export(tmp_path / "later", form=form)
    kept = tmp_path / "later"
    files = [kept] if kept.is_file() else [one for one in kept.rglob("*") if one.is_file()]
    if form == "snapshot":
        with zipfile.ZipFile(kept) as archive:
            held = b"".join(archive.read(name) for name in archive.namelist())
    else:
        held = b"".join(one.read_bytes() for one in files)
    assert b"heron" not in held
    assert b"Quimby" in held


async def test_a_secret_that_is_known_by_now_is_taken_out(tmp_path: Path) -> None:
    async with pagefault.open(tmp_path / "a", sync="os") as memory:
        await (await memory.session("s")).user("the door code is zanzibar-441-quail, keep it")
    secrets = {"DOOR": "zanzibar-441-quail"}
    async with pagefault.open(tmp_path / "a", sync="os", secrets=secrets) as memory:
        made = await memory.export(tmp_path / "out", form="events")
        assert made.redacted == 1
    assert "zanzibar" not in (tmp_path / "out").read_text()
    assert "REDACTED" in (tmp_path / "out").read_text()


async def test_a_filter_says_what_is_exported(tmp_path: Path) -> None:
    async with pagefault.open(tmp_path / "a", sync="os") as memory:
        await _fill(memory)
        await (await memory.session("apart")).user("Something else.")
        whole = await memory.export(tmp_path / "x", wanted=SearchFilter(session="apart"))
        assert (whole.sessions, whole.messages) == (1, 1)
        tools = await memory.export(
            tmp_path / "y", form="events", wanted=SearchFilter(origins=("tool",))
        )
        assert tools.messages == 1
        assert tools.claims == 0
        planned = await memory.export(tmp_path / "z", dry_run=True)
        assert (planned.done, planned.path, planned.bytes) == (False, "", 0)
        assert not (tmp_path / "z").exists()
        with pytest.raises(pagefault.SessionNotFound):
            await memory.export(tmp_path / "z", wanted=SearchFilter(session="nobody"))


@pytest.mark.parametrize("form", FORMS)
async def test_only_its_owner_may_read_it(tmp_path: Path, form: str) -> None:
    async with pagefault.open(tmp_path / "a", sync="os") as memory:
        await _fill(memory)
        await memory.export(tmp_path / "out", form=form)
    assert stat.S_IMODE((tmp_path / "out").stat().st_mode) & 0o077 == 0
    assert _there(tmp_path) == {"a", "out"}


async def test_nothing_stands_there_unless_it_is_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with pagefault.open(tmp_path / "a", sync="os") as memory:
        await _fill(memory)

        def full(*_: Any) -> None:
            raise OSError(28, "No space left on device")

        with monkeypatch.context() as patched:
            patched.setattr("pagefault.service.exports.os.fsync", full)
            with pytest.raises(pagefault.StoreError, match="No space left"):
                await memory.export(tmp_path / "out", form="events")
        assert _there(tmp_path) == {"a"}
        (tmp_path / "out").write_text("mine")
        with pytest.raises(pagefault.BadInput, match="already exists"):
            await memory.export(tmp_path / "out")
        assert (tmp_path / "out").read_text() == "mine"
        with pytest.raises(pagefault.BadInput, match="inside the memory"):
            await memory.export(tmp_path / "a" / "exports")
        with pytest.raises(pagefault.BadInput, match="form of export"):
            await memory.export(tmp_path / "other", form="csv")


async def test_of_what_is_not_kept_nothing_is_exported(tmp_path: Path) -> None:
    async with pagefault.open(tmp_path / "a", sync="os") as memory:
        await (await memory.session("s")).user("Kept.")
        unkept = await memory.session("secret", control="incognito")
        await unkept.user("The canary is aubergine.")
        await memory.export(tmp_path / "out", form="events")
    assert "aubergine" not in (tmp_path / "out").read_text()
    assert "Kept." in (tmp_path / "out").read_text()


async def test_each_form_carries_the_cards_of_claims_and_none_is_believed_when_read_again(
    tmp_path: Path,
) -> None:
    said = "Die Bojen werden von zanzibar-441-quail gestrichen."
    async with pagefault.open(tmp_path / "a", sync="os") as memory:
        session = await memory.session("harbour")
        await session.user(said)
        facts = pagefault.CardFacts(branch="main", path="bojen.md", decay_days=9, owner="Ödön")
        first = await session.claim("Bojen gestrichen", evidence=[said], kind="gotcha", facts=facts)
        later = await session.claim("Folgt daraus", derived_from=[first])
        await session.validate_claims([later], verdict="pass")
        await session.retract(first)
        cards = {one.card_id: one.to_dict() for one in await session.cards()}
    secrets = {"PAINTER": "zanzibar-441-quail"}
    async with pagefault.open(tmp_path / "a", sync="os", secrets=secrets) as memory:
        for form in FORMS:
            await memory.export(tmp_path / form, form=form)
    [document] = (tmp_path / "markdown").glob("harbour-*.md")
    comments = re.findall(r"^<!-- pagefault event (.*) -->$", document.read_text(), re.MULTILINE)
    for lines in (
        _events(tmp_path / "events", "events"),
        _events(tmp_path / "snapshot", "snapshot"),
        list(map(json.loads, comments)),
    ):
        told = {line["page_id"]: line["card"] for line in lines if "card" in line}
        assert told.keys() == cards.keys() == {first, later}
        for card_id, card in told.items():
            wanted = json.loads(json.dumps(cards[card_id]))
            del wanted["digest"]
            told_so = re.sub(r"\[REDACTED:PAINTER[^]]*\]", "zanzibar-441-quail", json.dumps(card))
            assert json.loads(told_so) == wanted
        assert told[first]["scope"] == {"project_id": "", "branch": "main", "path": "bojen.md"}
        assert told[first]["ttl_policy"]["decay_days"] == 9
        assert told[first]["owner"] == "Ödön"
        assert "REDACTED" in told[first]["evidence"][0]["quote"]
        assert [edit["what"] for edit in told[first]["edit_history"]] == ["made", "retracted"]
        assert told[later]["validation"]["status"] == "stale"
    async with pagefault.open(tmp_path / "b", sync="os") as memory:
        for form in FORMS:
            report = await memory.import_history([tmp_path / form])
            assert report.flaws == ()
        for one in await memory.imports():
            assert await (await memory.session(one.name, create=False)).cards() == []
