"""Artifacts: bytes with a page that stands for them, and that go when the page goes."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

from pagefault import Limits
from pagefault.model.errors import BadInput, NoSuchPage, RecordGone, StoreCorrupt
from pagefault.model.kinds import Kind, Modality
from pagefault.model.wanted import SearchFilter
from pagefault.service.bootstrap import open_memory
from pagefault.service.memory import Memory
from pagefault.store.embedded.blobs import DirectoryBlobs
from pagefault.store.embedded.segment import Segment
from pagefault.store.references import References
from tests.store.roots import make_segments_tiny
from tests.workers import Worker

PNG = b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 40


def _blobs(root: Path) -> list[Path]:
    return [path for path in (root / "blobs").rglob("*") if path.is_file()]


def _everything(root: Path) -> list[bytes]:
    return [path.read_bytes() for path in root.rglob("*") if path.is_file()]


async def test_an_artifact_is_kept_found_and_given_back(tmp_path: Path) -> None:
    async with open_memory(tmp_path) as memory:
        session = await memory.session("s")
        await session.user("Here is the drawing.")
        page_id = await session.artifact(PNG, name="bridge.png", text="the bridge at Remagen")
        assert page_id == "art_1"
        page = await session.page(page_id)
        assert page.text == "bridge.png (image/png, 10,248 bytes): the bridge at Remagen"
        assert (page.row.kind, page.row.modality) == (Kind.ARTIFACT, Modality.IMAGE)
        assert await session.artifact_bytes(page_id) == PNG
        request = await session.request()
        assert any("bridge at Remagen" in message.content for message in request.messages)
        hits = (await session.recall("Remagen", wanted=SearchFilter(modalities=("image",)))).hits
        assert [hit.page.page_id for hit in hits] == ["art_1"]
        fork = await session.fork("f")
        assert await fork.artifact_bytes(page_id) == PNG
        assert (await session.status()).turns == 1, "it opens no turn"
    async with open_memory(tmp_path, read_only=True) as memory:
        session = await memory.session("s", create=False)
        assert await session.artifact_bytes("art_1") == PNG
        assert (await memory.verify()).problems == ()


@pytest.mark.parametrize(
    ("name", "media_type", "modality", "told"),
    [
        ("a.wav", "audio/wav", Modality.AUDIO, "audio/wav"),
        ("a.mp4", "", Modality.VIDEO, "video/mp4"),
        ("a.txt", "", Modality.TEXT, "text/plain"),
        ("a.json", "", Modality.STRUCTURED, "application/json"),
        ("what", "", Modality.STRUCTURED, "application/octet-stream"),
    ],
)
async def test_its_modality_is_that_of_its_type(
    name: str, media_type: str, modality: Modality, told: str
) -> None:
    async with open_memory(":memory:") as memory:
        session = await memory.session("s")
        page = await session.page(await session.artifact(b"x", name=name, media_type=media_type))
        assert page.row.modality is modality
        assert page.text == f"{name} ({told}, 1 bytes)"


async def test_what_cannot_be_an_artifact_is_refused_and_nothing_is_kept(tmp_path: Path) -> None:
    async with open_memory(tmp_path, limits=Limits(artifact_bytes_max=10)) as memory:
        session = await memory.session("s")
        for data, name in ((b"x" * 11, "a"), (b"x", ""), (b"x", "a\nb"), ("text", "a")):
            with pytest.raises(BadInput):
                await session.artifact(data, name=name)  # type: ignore[arg-type]
        assert await session.user("hello") == "msg_1"
        with pytest.raises(BadInput, match="no bytes"):
            await session.artifact_bytes("msg_1")
        with pytest.raises(NoSuchPage):
            await session.artifact_bytes("art_1")
        assert _blobs(tmp_path) == []


async def test_the_bytes_are_there_before_the_record_that_names_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(self: DirectoryBlobs, data: bytes) -> str:
        raise StoreCorrupt("no")

    async with open_memory(tmp_path) as memory:
        session = await memory.session("s")
        with monkeypatch.context() as failing:
            failing.setattr(DirectoryBlobs, "put", full)
            with pytest.raises(StoreCorrupt):
                await session.artifact(PNG, name="a.png")
        assert (await session.status()).pages == 0
        assert await session.artifact(PNG, name="a.png", key="k") == "art_1"
        assert await session.artifact(PNG, name="a.png", key="k") == "art_1"
        assert (await session.status()).pages == 1


async def test_forgetting_the_page_deletes_its_bytes(tmp_path: Path) -> None:
    async with open_memory(tmp_path) as memory:
        session = await memory.session("s")
        await session.artifact(PNG, name="a.png", key="k")
        assert len(_blobs(tmp_path)) == 1
        await memory.forget("s", "art_1")
        assert _blobs(tmp_path) == []
        with pytest.raises(RecordGone):
            await session.artifact(PNG, name="a.png", key="k")
        assert _blobs(tmp_path) == [], "a late retry does not bring it back"
        assert not any(PNG[:64] in data for data in _everything(tmp_path))


async def test_bytes_that_another_page_shares_stay_until_that_goes_too(tmp_path: Path) -> None:
    async with open_memory(tmp_path) as memory:
        session, other = await memory.session("s"), await memory.session("t")
        await session.artifact(PNG, name="a.png")
        await session.artifact(PNG, name="b.png")
        await other.artifact(PNG, name="c.png")
        await memory.forget("s", "art_1")
        assert await session.artifact_bytes("art_2") == PNG
        await memory.forget("s")
        assert await other.artifact_bytes("art_1") == PNG
        await memory.forget("t")
        assert _blobs(tmp_path) == []


async def test_an_artifact_and_a_forget_of_the_same_bytes_do_not_cross(tmp_path: Path) -> None:
    async with open_memory(tmp_path) as memory:
        first, second = await memory.session("s"), await memory.session("t")
        for _ in range(5):
            page_id = await first.artifact(PNG, name="a.png")
            _, kept = await asyncio.gather(
                memory.forget("s", page_id), second.artifact(PNG, name="b.png")
            )
            assert await second.artifact_bytes(kept) == PNG
            await memory.forget("t", kept)
            assert _blobs(tmp_path) == []


async def test_missing_and_changed_bytes_are_noticed(tmp_path: Path) -> None:
    async with open_memory(tmp_path) as memory:
        session = await memory.session("s")
        await session.artifact(PNG, name="a.png")
        [path] = _blobs(tmp_path)
        path.write_bytes(PNG[:-1])
        assert any("damaged" in problem for problem in (await memory.verify()).problems)
        with pytest.raises(StoreCorrupt):
            await session.artifact_bytes("art_1")
        path.unlink()
        assert any("is missing" in problem for problem in (await memory.verify()).problems)
        with pytest.raises(StoreCorrupt, match="missing") as caught:
            await session.artifact_bytes("art_1")
        assert "backup" in caught.value.hint


async def test_a_long_caption_is_split_and_every_part_leads_to_the_bytes(tmp_path: Path) -> None:
    async with open_memory(tmp_path, window=2_000) as memory:
        session = await memory.session("s")
        text = "A caption of many words about the bridge. " * 200
        await session.artifact(PNG, name="a.png", text=text)
        assert await session.artifact_bytes("art_3") == PNG
        await session.user("What is it?")
        assert (await session.request()).tokens < 2_000
        await memory.forget("s", "art_2")
        assert _blobs(tmp_path) == []


async def _lose_it_before_it_is_named(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another process forgets the same bytes after they were put, and before the record."""
    put = DirectoryBlobs.put
    deleted: list[bool] = []

    def unluckily(self: DirectoryBlobs, data: bytes) -> str:
        name = put(self, data)
        if not deleted:
            deleted.append(self.delete(name))
        return name

    monkeypatch.setattr(DirectoryBlobs, "put", unluckily)
    async with open_memory(root) as memory:
        session = await memory.session("s")
        page_id = await session.artifact(PNG, name="a.png")
        assert page_id == "art_1"
        assert (await session.status()).pages == 1
        assert await session.artifact_bytes(page_id) == PNG
        assert (await memory.verify()).problems == ()


async def test_bytes_that_go_before_they_are_named_are_put_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await _lose_it_before_it_is_named(tmp_path, monkeypatch)


async def test_control_an_append_that_does_not_look_for_them_lacks_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(DirectoryBlobs, "holds", lambda self, name: True)
    with pytest.raises(StoreCorrupt, match="missing"):
        await _lose_it_before_it_is_named(tmp_path, monkeypatch)


# --- what is read under the lock ----------------------------------------------------------------


async def check_little_is_read_under_the_lock(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make_segments_tiny(monkeypatch)
    under_the_lock: list[str] = []
    content = Segment.content
    async with open_memory(root) as memory:
        session = await memory.session("s")
        for number in range(60):
            await session.user(f"message {number} of a long talk about nothing much")
        page_id = await session.artifact(PNG, name="a.png")
        for number in range(60):
            await session.user(f"message {number} of a long talk about nothing much")

        def read(self: Segment, end: int | None = None) -> bytes:
            if memory._store._depth:
                under_the_lock.append(self.path.name)
            return content(self, end)

        monkeypatch.setattr(Segment, "content", read)
        await memory.forget("s", page_id)
        assert _blobs(root) == []
    assert len(set(under_the_lock)) <= 1, "others waited while the whole log was read"


async def test_forgetting_an_artifact_reads_its_own_segment_alone_while_others_wait(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await check_little_is_read_under_the_lock(tmp_path / "m", monkeypatch)


async def test_control_looking_for_what_names_a_blob_under_the_lock_is_caught(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Memory, "_references_for", lambda *args: None)
    with pytest.raises(AssertionError, match="others waited"):
        await check_little_is_read_under_the_lock(tmp_path / "m", monkeypatch)


NAME_IT = """
import pagefault
async def name_it(memory):
    return await (await memory.session("theirs")).artifact(DATA, name="theirs.png")
do_as_ever = do
async def do(memory, verb, args):
    return await name_it(memory) if verb == "name" else await do_as_ever(memory, verb, args)
"""


async def _forget_while(
    root: Path, monkeypatch: pytest.MonkeyPatch, verb: Callable[..., None]
) -> None:
    """Forget an artifact, and let another process do something after the log was read."""
    with Worker(root) as other:
        other.ask("exec", f"DATA = {PNG!r}\n{NAME_IT}")
        async with open_memory(root) as memory:
            session = await memory.session("ours")
            page_id = await session.artifact(PNG, name="ours.png")
            verb(other, before=True)
            look = Memory._references_for

            def then(self: Memory, *args: object) -> References | None:
                known = look(self, *args)  # type: ignore[arg-type]
                verb(other, before=False)
                return known

            monkeypatch.setattr(Memory, "_references_for", then)
            await memory.forget("ours", page_id)


def _named_meanwhile(other: Worker, *, before: bool) -> None:
    if not before:
        assert other.ask("name") == "art_1"


def _forgotten_meanwhile(other: Worker, *, before: bool) -> None:
    if before:
        assert other.ask("name") == "art_1"
    else:
        assert other.ask("forget", "theirs", "art_1") == ["art_1"]


async def test_bytes_that_another_process_names_meanwhile_stay(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await _forget_while(tmp_path / "m", monkeypatch, _named_meanwhile)
    assert [path.read_bytes() for path in _blobs(tmp_path / "m")] == [PNG]


async def test_control_without_reading_on_they_go(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(References, "read_on", lambda *args: None)
    await _forget_while(tmp_path / "m", monkeypatch, _named_meanwhile)
    assert _blobs(tmp_path / "m") == []


async def test_bytes_whose_other_page_is_forgotten_meanwhile_go(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await _forget_while(tmp_path / "m", monkeypatch, _forgotten_meanwhile)
    assert _blobs(tmp_path / "m") == []


async def test_control_without_another_look_at_the_others_they_stay(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pagefault.store.references._names", lambda *args: True)
    await _forget_while(tmp_path / "m", monkeypatch, _forgotten_meanwhile)
    assert _blobs(tmp_path / "m")
