"""What is known of the bytes that a page stands for, and that its caption is not taken for them."""

from __future__ import annotations

import io
import json
import struct
import wave
import zlib
from datetime import UTC, datetime
from pathlib import Path

import pytest

import pagefault
from pagefault import Level, Limits, Session
from pagefault.pack.manifest import level_of
from pagefault.service.bootstrap import open_memory
from pagefault.service.turn.media import dimensions, duration_seconds
from tests.service.memories import fault, faulted, search, words

NO_RECALL = Limits(recall_tokens_max=0)


def _chunk(name: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))


def png(width: int, height: int) -> bytes:
    head = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    rows = zlib.compress((b"\0" + bytes(width)) * height)
    chunks = _chunk(b"IHDR", head) + _chunk(b"IDAT", rows) + _chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + chunks


def jpeg(width: int, height: int, *, frame: int = 0xC0) -> bytes:
    """With a thumbnail of another size in its metadata, as cameras write it."""
    thumbnail = b"\xff\xd8\xff\xc0\x00\x11\x08" + struct.pack(">HH", 7, 9) + bytes(8)
    exif = b"\xff\xe1" + struct.pack(">H", 2 + 6 + len(thumbnail)) + b"Exif\0\0" + thumbnail
    tables = b"\xff\xc4" + struct.pack(">H", 6) + b"\xff\xc0\x00\x11"
    shape = struct.pack(">BHHB", 8, height, width, 3) + bytes(9)
    start = b"\xff\xff" + bytes([frame]) + struct.pack(">H", 2 + len(shape)) + shape
    return b"\xff\xd8" + exif + tables + start + b"\xff\xda" + bytes(40) + b"\xff\xd9"


def webp(kind: bytes, data: bytes) -> bytes:
    body = b"WEBP" + kind + struct.pack("<I", len(data)) + data
    return b"RIFF" + struct.pack("<I", len(body)) + body


def wav(seconds: float, rate: int = 8_000) -> bytes:
    file = io.BytesIO()
    with wave.open(file, "wb") as sound:
        sound.setnchannels(1)
        sound.setsampwidth(2)
        sound.setframerate(rate)
        sound.writeframes(bytes(2 * int(seconds * rate)))
    return file.getvalue()


PICTURES = {
    "png": png(640, 3),
    "gif": b"GIF89a" + struct.pack("<HH", 640, 3) + bytes(9),
    "jpeg": jpeg(640, 3),
    "progressive.jpeg": jpeg(640, 3, frame=0xC2),
    "lossy.webp": webp(
        b"VP8 ", b"\x30\x01\x00\x9d\x01\x2a" + struct.pack("<HH", 640, 3) + b"\0" * 8
    ),
    "lossless.webp": webp(b"VP8L", b"\x2f" + struct.pack("<I", 639 | 2 << 14) + b"\0" * 8),
    "extended.webp": webp(b"VP8X", bytes(4) + b"\x7f\x02\x00\x02\x00\x00"),
}


@pytest.mark.parametrize("name", PICTURES)
def test_a_picture_tells_its_size_and_one_cut_off_anywhere_tells_that_or_nothing(name: str) -> None:
    data = PICTURES[name]
    assert dimensions(data) == (640, 3)
    told = {dimensions(data[:end]) for end in range(len(data))}
    assert told <= {None, (640, 3)}
    assert dimensions(b"x" + data) is None


def test_a_recording_tells_how_long_it_is() -> None:
    data = wav(1.5)
    assert duration_seconds(data) == 1.5
    assert duration_seconds(b"ID3" + data) is None
    for end in range(60):
        assert duration_seconds(data[:end]) in (None, 0.0, 1.5)
    assert dimensions(data) is None


async def shown_picture(session: Session, *, text: str = "a bridge in fog") -> str:
    await session.user("Here is the drawing.")
    return await session.artifact(PICTURES["png"], name="bridge.png", text=text)


async def leave(session: Session, turns: int = 8) -> None:
    for number in range(turns):
        await session.user(words(100, f"t{number}w"))
        await session.assistant("I see.")
    await session.request()


async def test_a_page_tells_type_size_and_time_and_asked_for_details_all_that_can_be_known() -> (
    None
):
    async with open_memory(":memory:", window=1_600, limits=NO_RECALL, claims="off") as memory:
        session = await memory.session("s")
        page_id = await shown_picture(session)
        page = await session.page(page_id)
        assert (page.mime_type, page.size_bytes) == ("image/png", len(PICTURES["png"]))
        assert page.created_at == datetime.fromtimestamp(page.row.at_ms / 1000, UTC)
        assert (page.access_count, page.last_accessed, page.dimensions) == (None, None, None)
        fresh = await session.page(page_id, details=True)
        assert fresh == page, "the details are no part of what it says"
        assert (fresh.access_count, fresh.last_accessed) == (0, None)
        assert (fresh.dimensions, fresh.duration_seconds) == ((640, 3), None)
        await leave(session)
        await session.user("What is on the drawing?")
        await session.request()
        await session.call(fault(page_id, call_id="a"))
        await session.call(fault(page_id, call_id="b"))  # it is there already: a use all the same
        await session.request()
        await session.assistant(f"A bridge [ref: {page_id}].")
        used = await session.page(page_id, details=True)
        last = [one for one in await session.history(page_id) if one.what == "cited"][-1]
        assert used.access_count == 3
        assert used.last_accessed == datetime.fromtimestamp(last.at_ms / 1000, UTC)
        said = await session.page("msg_1", details=True)
        assert (said.mime_type, said.size_bytes) == ("text/plain", len("Here is the drawing."))
        assert (said.dimensions, said.duration_seconds) == (None, None)
        sound = await session.artifact(wav(2.0), name="hello.wav")
        assert (await session.page(sound, details=True)).duration_seconds == 2.0
        made = await session.compress("msg_3", 2)
        assert (await session.page(made.page_id, details=True)).access_count == 0


async def test_bytes_that_are_gone_take_the_details_away_and_not_the_page(tmp_path: Path) -> None:
    async with open_memory(tmp_path / "m") as memory:
        session = await memory.session("s")
        page_id = await shown_picture(session)
        for path in [path for path in (tmp_path / "m" / "blobs").rglob("*") if path.is_file()]:
            path.unlink()
        page = await session.page(page_id, details=True)
        assert (page.dimensions, page.size_bytes) == (None, len(PICTURES["png"]))


@pytest.mark.parametrize(
    "caption", ["a bridge in fog", f"A bridge. {words(60)}. {words(60, 'x')}."]
)
async def test_no_level_of_a_picture_is_told_to_be_more_than_its_caption(caption: str) -> None:
    limits = Limits(recall_tokens_max=0, faults_per_turn_max=3)
    for level in (0, 1, 2):
        async with open_memory(":memory:", window=3_000, limits=limits) as memory:
            session = await memory.session("s")
            page_id = await shown_picture(session, text=caption)
            assert level_of(await session.page(page_id)) is Level.ABSTRACT
            told, text, _ = await session.at_level(page_id, level)
            assert told is Level.ABSTRACT
            await leave(session, 12)
            await session.user("What is on the drawing of the bridge?")
            await session.request()
            found = await faulted(session, search("bridge fog", call_id="a"))
            [hit] = [hit for hit in found["results"] if hit["page_id"] == page_id]
            assert hit["levels"] == [2, 3]
            served = (await faulted(session, fault(page_id, level=level, call_id="b")))["page"]
            assert (served["level"], served["content"]["text"]) == (2, text)
            again = (await faulted(session, fault(page_id, level=level, call_id="c")))["page"]
            assert (again["level"], again["meta"]["source_tier"]) == (2, "L3")
            moved = [one.level for one in await session.history(page_id) if one.what == "faulted"]
            assert moved == [2]
            await session.request()
            then = await session.at(turn=13)
            assert [one.level for one in then.pages if one.page_id == page_id] in ([2], [])


async def test_a_long_transcript_is_a_reduced_form_of_its_recording_and_has_an_abstract() -> None:
    async with open_memory(":memory:") as memory:
        session = await memory.session("s")
        said = " ".join(f"Sentence {n} is about the harbour." for n in range(40))
        page_id = await session.artifact(wav(1.0), name="talk.wav", text=said)
        levels = [(await session.at_level(page_id, level))[0] for level in (0, 1, 2, 3)]
        assert levels == [1, 1, 2, 3]
        short = await session.artifact(wav(1.0), name="hm.wav")
        assert (await session.at_level(short, 0))[0] == 2


async def test_a_refusal_offers_the_levels_that_would_be_told() -> None:
    limits = Limits(recall_tokens_max=0, faults_per_turn_max=3, fault_tokens_per_turn_max=60)
    async with open_memory(":memory:", window=3_000, limits=limits) as memory:
        session = await memory.session("s")
        page_id = await shown_picture(session, text=f"A bridge. {words(60)}. {words(60, 'x')}.")
        await leave(session, 12)
        await session.user("What is on the drawing?")
        await session.request()
        refused = (await faulted(session, fault(page_id, level=0)))["error"]
        assert set(refused["levels"]) <= {2, 3}
        assert refused["levels"]
        assert set(refused["level_tokens"]) == {str(level) for level in refused["levels"]}


async def test_a_fault_tells_of_bytes_their_type_and_size_and_of_every_page_when_it_was_made() -> (
    None
):
    async with open_memory(":memory:", window=1_600, limits=NO_RECALL) as memory:
        session = await memory.session("s")
        page_id = await shown_picture(session)
        await leave(session)
        await session.user("What is on the drawing?")
        await session.request()
        picture = (await faulted(session, fault(page_id, call_id="a")))["page"]["meta"]
        text = (await faulted(session, fault("msg_1", call_id="b")))["page"]["meta"]
        assert (picture["mime_type"], picture["size_bytes"]) == ("image/png", len(PICTURES["png"]))
        created = datetime.fromisoformat(picture["created_at"])
        assert created == (await session.page(page_id)).created_at
        assert text.keys() & {"mime_type", "size_bytes", "dimensions", "duration_seconds"} == set()
        assert (
            datetime.fromisoformat(text["created_at"]) == (await session.page("msg_1")).created_at
        )


def test_the_synchronous_face_has_the_same_details() -> None:
    with pagefault.sync.open(":memory:") as memory:
        session = memory.session("s")
        page = session.page(session.artifact(PICTURES["gif"], name="a.gif"), details=True)
        assert (page.dimensions, page.access_count) == ((640, 3), 0)
        assert json.dumps(page.dimensions) == "[640, 3]"
