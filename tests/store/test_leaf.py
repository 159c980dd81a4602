"""A page taken straight from its record is the page that its event would have made."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from pagefault.model.errors import StoreCorrupt
from pagefault.model.events import BODY_TYPES, Event, PageBody
from pagefault.model.ids import PageId, Seq, SessionNo, TurnNo
from pagefault.model.kinds import DERIVED_TYPES, USER_TYPED, Actor, EventType, Role
from pagefault.model.page import DERIVED_ORDER
from pagefault.store import codec
from pagefault.store.leaf import Leaf, leaf_of, to_fold

SALT, LINK = b"s" * codec.SALT_BYTES, b"l" * codec.CUT_BYTES


def page(event_type: EventType = EventType.CHAT_TURN, **fields: object) -> Event:
    cls = BODY_TYPES[event_type]
    page = {
        "page_id": PageId("msg_7"),
        "order": 6,
        "text": "We chose tea, green tea and the src/tea_pot.py; tea!",
        "tokens": 12,
    }
    required = {
        "event_type": event_type,
        "role": Role.USER,
        "call_id": "c1",
        "represents": PageId("msg_6"),
        "level": 2,
        "claim_type": "fact",
        "note_type": "fact",
        "section": "human",
    }
    names = {field.name for field in dataclasses.fields(cls)}
    body = page | {name: value for name, value in required.items() if name in names}
    return Event(
        seq=Seq(9),
        event_id="01kjyjqwq0ega909y4t71rdey4",
        session=SessionNo(1),
        turn=TurnNo(3),
        at_ms=1_772_700_300_000,
        actor=Actor.USER,
        origin=USER_TYPED,
        body=cls(**(body | fields)),
        key="k" * 22,
    )


def record_of(event: Event) -> codec.Record:
    line, _ = codec.encode(event, more=0, salt=SALT, previous=LINK)
    return codec.parse(line)


def rewritten(event: Event, old: bytes, new: bytes) -> codec.Record:
    """The record of an event, as a writer that knows other words would have sealed it."""
    line, _ = codec.encode(event, more=0, salt=SALT, previous=LINK)
    assert old in line
    return codec.parse(codec.seal(line[: line.rindex(b',"crc":')].replace(old, new)))


@pytest.mark.parametrize("event_type", list(EventType))
def test_a_page_is_the_same_from_its_event_and_from_its_record(event_type: EventType) -> None:
    order = DERIVED_ORDER if event_type in DERIVED_TYPES else 6
    event = page(event_type, order=order)
    assert isinstance(event.body, PageBody)
    assert to_fold(record_of(event)) == leaf_of(event, event.body)


@pytest.mark.parametrize(
    "fields",
    [
        {"speaker": "Ann Lee"},
        {"speaker": "!!!"},
        {"title": "Brewing", "occurred_at": "2023-05-07T10:00:00+02:00"},
        {"occurred_at": "2023-05-07"},
        {"occurred_at": "last Friday"},
        {"occurred_at": "0001-01-01T00:00:00+14:00"},
        {"importance": 0.9, "part": 1, "parts": 3, "part_of": PageId("msg_6")},
        {"text": "茶と tea", "tokens": 4},
    ],
)
def test_whatever_a_page_says_it_is_the_same(fields: dict[str, Any]) -> None:
    event = page(**fields)
    assert isinstance(event.body, PageBody)
    assert to_fold(record_of(event)) == leaf_of(event, event.body)


def test_what_was_forgotten_is_no_page() -> None:
    line, _ = codec.encode(page(), more=0, salt=SALT, previous=LINK)
    record = codec.parse(codec.erase(line, LINK))
    assert to_fold(record) == codec.to_event(record)


def test_a_page_of_a_newer_version_with_a_value_unknown_here_is_opaque() -> None:
    newer = b'{"v":"2.9"'
    line, _ = codec.encode(page(), more=0, salt=SALT, previous=LINK)
    old = line[: line.index(b",")]
    body = line[: line.rindex(b',"crc":')].replace(old, newer)
    record = codec.parse(codec.seal(body.replace(b'"role":"user"', b'"role":"oracle"')))
    assert to_fold(record) == codec.to_event(record)
    assert not isinstance(to_fold(record), Leaf)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b'"role":"user"', b'"role":"oracle"'),
        (b'"actor":"user"', b'"actor":"oracle"'),
        (b'"origin":"user_typed"', b'"origin":"elsewhere"'),
        (b'"order":6', b'"order":"6"'),
    ],
)
def test_a_page_that_makes_no_sense_is_refused_either_way(old: bytes, new: bytes) -> None:
    record = rewritten(page(), old, new)
    with pytest.raises(StoreCorrupt):
        codec.to_event(record)
    with pytest.raises(StoreCorrupt):
        to_fold(record)


@pytest.mark.parametrize(
    ("occurred_at", "occurred_ms"),
    [
        ("", None),
        ("1970-01-01T00:00:00.250Z", 250),
        ("1970-01-01T01:00:00+01:00", 0),
        ("1970-01-01", 0),
        ("1969-12-31T23:59:59+00:00", -1_000),
        ("last Friday", None),
        ("2024-13-45", None),
        ("9999-12-31T23:59:59-14:00", None),
        ("9" * 5_000, None),
    ],
)
def test_a_page_is_of_the_time_its_record_tells_if_that_is_one(
    occurred_at: str, occurred_ms: int | None
) -> None:
    leaf = to_fold(record_of(page(occurred_at=occurred_at)))
    assert isinstance(leaf, Leaf)
    assert leaf.occurred_ms == occurred_ms


def test_a_leaf_tells_its_terms_as_often_as_they_stand() -> None:
    leaf = to_fold(record_of(page(text="tea tea tea tea pot pot", tokens=6)))
    assert isinstance(leaf, Leaf)
    assert sorted(leaf.terms.split()) == ["pot", "pot#2", "tea", "tea#2", "tea#3"]
    assert leaf.length == 6
