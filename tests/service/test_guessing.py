"""Whoever has every file of a root, its secret too, cannot tell by trying what was forgotten."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

import pagefault
from pagefault.model.errors import RecordGone
from pagefault.store import codec
from pagefault.store.acceptance import hash_key
from tests.adopted import copied
from tests.service.traces import Files, digests, encodings, guesses

RIGHT = "7391"
OTHERS = ("0000", "1234", "7390", "7392", "9371")


def said(pin: str) -> str:
    return f"My PIN is {pin}"


def keys(pin: str) -> dict[str, str]:
    """Keys as callers make them of what they say."""
    text = said(pin)
    return {
        "the text": text,
        "a digest": hashlib.sha256(text.encode()).hexdigest(),
        "a digest cut": f"node {hashlib.sha256(text.encode()).hexdigest()[:24]}",
    }


def _functions(pin: str, secret: bytes) -> Iterator[bytes]:
    for text in (said(pin), *keys(pin).values()):
        yield from digests(guesses(text), secret)
        yield from encodings(text)


def _links(root: Path, pin: str, secret: bytes) -> Iterator[int]:
    """Records whose stored hashes come out if their header is as it stands, and had a key that is
    made of a guess.
    """
    for path in sorted((root / "log").iterdir()):
        header, *lines = path.read_bytes().splitlines()
        before = json.loads(header)["link"]
        for line in lines:
            record = json.loads(line)
            if "seal" in record:
                continue
            head = line[: line.index(b',"salt":')].replace(b',"redacted":1', b"")
            at = head.find(b',"more":') if b',"more":' in head else len(head)
            stored = {_raw(record["link"]), _raw(record["commit"])}
            for key in keys(pin).values():
                hashed = hash_key(secret, record["ses"], key)
                tried = head[:at] + f',"key":"{hashed}"'.encode() + head[at:]
                for other in stored:
                    made = hashlib.sha256(_raw(before) + tried + other).digest()[:16]
                    if made in stored:
                        yield record["seq"]
            before = record["link"]


def _raw(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "==")


def confirmed(root: Path) -> set[str]:
    """The guesses for which anything that can be computed stands anywhere under the root."""
    files = Files(root)
    return {
        pin
        for pin in (RIGHT, *OTHERS)
        if files.holding(_functions(pin, files.secret)) or set(_links(root, pin, files.secret))
    }


@pytest.mark.parametrize("whole", [False, True])
@pytest.mark.parametrize("key", sorted(keys(RIGHT)))
async def test_no_function_of_a_guess_stands_in_the_root(
    tmp_path: Path, key: str, *, whole: bool
) -> None:
    root = tmp_path / "m"
    async with pagefault.open(root, sync="os") as memory:
        session = await memory.session("bank")
        await session.user("Hello.", key="first")
        page = await session.user(said(RIGHT), key=keys(RIGHT)[key])
        await session.assistant("I shall not tell.", key="last")
        await session.request()
        assert confirmed(root) == {RIGHT}, "the control: before, it can be confirmed"
        await memory.forget("bank", "" if whole else page)
        assert confirmed(root) == set()
    assert confirmed(root) == set()


async def test_control_a_commitment_that_is_kept_confirms_a_key_through_the_chain(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    erase = codec.erase

    def without_its_key(line: bytes, previous: bytes) -> bytes:
        old, new = codec.parse(line).commit.encode(), erase(line, previous)
        return codec.seal(new.replace(codec.parse(new).commit.encode(), old).rsplit(b',"crc"')[0])

    monkeypatch.setattr(codec, "erase", without_its_key)
    async with pagefault.open(tmp_path / "m", sync="os") as memory:
        session = await memory.session("bank")
        page = await session.user(said(RIGHT), key=said(RIGHT))
        await memory.forget("bank", page)
        assert confirmed(tmp_path / "m") == {RIGHT}


@pytest.mark.parametrize("key", sorted(keys(RIGHT)))
async def test_saying_a_guess_again_to_a_copy_tells_nothing(tmp_path: Path, key: str) -> None:
    """The program itself is the cleverest function of a guess and the files there is."""
    root = tmp_path / "m"
    async with pagefault.open(root, sync="os") as memory:
        session = await memory.session("bank")
        page = await session.user(said(RIGHT), key=keys(RIGHT)[key])
        with pytest.raises(pagefault.NoSuchPage):
            await session.page("msg_2")
        await memory.forget("bank", page)
        with pytest.raises(RecordGone):
            await session.user(said(RIGHT), key=keys(RIGHT)[key])
    answers = set()
    for pin in (RIGHT, *OTHERS):
        copy = tmp_path / pin
        copied(root, copy)
        async with pagefault.open(copy, sync="os") as memory:
            session = await memory.session("bank")
            made = await session.user(said(pin), key=keys(pin)[key])
            answers.add((made, (await session.status()).pages, (await memory.verify()).records))
    assert len(answers) == 1
