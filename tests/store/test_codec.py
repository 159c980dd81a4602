"""Records as lines: every body comes back, every changed bit is noticed, newer lines are read."""

from __future__ import annotations

import hmac
import json
import string
from dataclasses import replace
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pagefault.model.errors import StoreCorrupt, StoreIncompatible
from pagefault.model.events import (
    BODY_TYPES,
    VERSION,
    Body,
    Erased,
    Event,
    Opaque,
    Packed,
    PageBody,
    PagedIn,
    Said,
    SetAside,
    erased,
)
from pagefault.model.ids import PageId, Seq, SessionNo, TurnNo
from pagefault.model.kinds import ORIGINS, SAID_TYPES, Actor, EventType, Origin
from pagefault.store import codec
from pagefault.store.schema import record_schema, validate
from pagefault.testing.builders import said

SALT = bytes(range(16))
START = bytes(16)
V = f"{VERSION[0]}.{VERSION[1]}"

_TEXT = st.text(st.characters(codec="utf-8"), max_size=60)
st.register_type_strategy(str, _TEXT)
st.register_type_strategy(int, st.integers(0, 2**53))
st.register_type_strategy(float, st.floats(allow_nan=False, allow_infinity=False))

_JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | _TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_TEXT, inner, max_size=3),
    max_leaves=6,
)
_BODIES: st.SearchStrategy[Body] = st.one_of(
    *(st.from_type(cls) for cls in sorted(set(BODY_TYPES.values()), key=lambda cls: cls.__name__)),
    st.builds(
        Opaque,
        type=st.text(string.ascii_lowercase + ' "\\é', min_size=1).filter(
            lambda t: t not in BODY_TYPES
        ),
        payload=st.dictionaries(_TEXT, _JSON, max_size=4),
    ),
)
_ORIGINS = st.sampled_from([Origin(text) for text in ORIGINS]) | st.builds(
    lambda name: Origin(f"tool:{name}"),
    st.text(st.characters(codec="utf-8"), min_size=1, max_size=9),
)


def _can_be(body: Body) -> bool:
    """A message is of a message's type."""
    return not isinstance(body, Said) or body.event_type in SAID_TYPES


_EVENTS = st.builds(
    Event,
    seq=st.integers(1, 2**53).map(Seq),
    event_id=st.text(string.ascii_lowercase, min_size=1),
    session=st.integers(0, 2**53).map(SessionNo),
    turn=st.integers(0, 2**31).map(TurnNo),
    at_ms=st.integers(0, 2**45),
    actor=st.sampled_from(Actor),
    origin=_ORIGINS,
    body=_BODIES.filter(_can_be),
    cause=st.integers(0, 2**53).map(Seq),
    key=st.sampled_from(["", "A" * 22]),
    model=st.just("") | st.text(st.characters(codec="utf-8"), max_size=9),
)


def _event(body: Body | None = None) -> Event:
    return Event(
        seq=Seq(7),
        event_id="01jd0000000000000000000000",
        session=SessionNo(1),
        turn=TurnNo(3),
        at_ms=1_764_000_000_000,
        actor=Actor.USER,
        origin=Origin("user_typed"),
        body=body or said("Which database did we pick?", order=4).body,
    )


def _line(event: Event, more: int = 0) -> bytes:
    return codec.encode(event, more=more, salt=SALT, previous=START)[0]


def _altered(line: bytes, **fields: Any) -> bytes:
    """The line of a writer of another version: some fields set, checksum and commitment right."""
    record = json.loads(line)
    record.update(fields)
    del record["crc"]
    payload = json.dumps(record.get("payload"), separators=(",", ":")).encode()
    commit = hmac.digest(SALT, payload, "sha256")[:16]
    record["commit"] = codec.short(commit).decode()
    return codec.seal(json.dumps(record, separators=(",", ":"), ensure_ascii=False).encode()[:-1])


@given(event=_EVENTS, more=st.integers(0, 9))
def test_every_event_comes_back_equal(event: Event, more: int) -> None:
    line, link = codec.encode(event, more=more, salt=SALT, previous=START)
    assert line.count(b"\n") == 1
    record = codec.parse(line)
    assert codec.to_event(record) == event
    assert record.more == more
    assert codec.confirms(record)
    assert codec.follows(START, line, record)
    assert link == codec.long(record.link)
    assert codec.encode(event, more=more, salt=SALT, previous=START) == (line, link)


_SCHEMA = jsonschema.Draft202012Validator(record_schema())


@given(event=_EVENTS, more=st.integers(0, 9))
def test_every_line_fits_the_published_schema(event: Event, more: int) -> None:
    line = _line(event, more)
    for one in (line, codec.erase(line, START)):
        _SCHEMA.validate(json.loads(one))
        assert validate(one) == []


def test_the_schema_itself_is_one_and_covers_every_type() -> None:
    jsonschema.Draft202012Validator.check_schema(record_schema())
    told = {
        rule["if"]["properties"].get("type", {}).get("const") for rule in record_schema()["allOf"]
    }
    assert set(BODY_TYPES) <= told


@pytest.mark.parametrize(
    "fields",
    [
        {"seq": 0},
        {"seq": "7"},
        {"actor": "robot"},
        {"origin": "nowhere"},
        {"salt": None},
        {"payload": None},
        {"payload": {}},
        {"payload": {"page_id": 1}},
        {"more": -1},
        {"commit": "short"},
        {"v": "1.0"},
        {"v": "3.0"},
        {"model": ""},
    ],
)
def test_the_schema_refuses_what_is_no_record(fields: dict[str, Any]) -> None:
    record = json.loads(_line(_event())) | fields
    assert not _SCHEMA.is_valid(record)


@given(event=_EVENTS)
def test_forgetting_keeps_the_chain_and_nothing_else(event: Event) -> None:
    line, link = codec.encode(event, more=2, salt=SALT, previous=START)
    gone = codec.erase(line, START)
    record = codec.parse(gone)
    assert codec.to_event(record) == erased(event)
    assert codec.follows(START, gone, record)
    assert not codec.follows(SALT, gone, record)
    assert link == codec.long(record.link), "the next record is chained to it"
    assert not codec.confirms(record)
    assert codec.short(SALT) not in gone
    assert codec.erase(gone, START) == gone


def test_what_is_left_confirms_no_guess_at_a_key_or_a_name() -> None:
    told = replace(_event(), origin=Origin("tool:weather"), key="A" * 22, model="secret-ft")
    line, link = codec.encode(told, more=1, salt=SALT, previous=START)
    header, commit = line[: line.index(b',"salt"')], codec.parse(line).commit
    assert codec.next_link(START, header, codec.long(commit)) == link, "before, it does"
    gone = codec.erase(line, START)
    left = codec.parse(gone)
    assert (left.key, left.model, left.origin, left.more) == ("", "", "tool:*", 1)
    for trace in ("weather", "secret-ft", told.key, commit):
        assert trace.encode() not in gone
    assert codec.long(left.link) == link, "without the commitment, what it was made of is unknown"
    assert codec.next_link(START, header, codec.long(left.commit)) != link


def test_a_plain_record_that_was_erased_can_be_proved_by_its_commitment() -> None:
    line = _line(_event())
    record = codec.parse(codec.erase(line, START))
    assert record.commit == codec.parse(line).commit
    assert not record.redacted


def test_every_flipped_bit_is_noticed() -> None:
    line = _line(_event())
    for at in range(len(line)):
        for bit in range(8):
            damaged = bytearray(line)
            damaged[at] ^= 1 << bit
            with pytest.raises(StoreCorrupt):
                codec.parse(bytes(damaged))
            assert validate(bytes(damaged))


def test_control_the_check_needs_the_checksum(monkeypatch: pytest.MonkeyPatch) -> None:
    line = _line(_event())
    damaged = line.replace(b"Which", b"Witch")
    with pytest.raises(StoreCorrupt):
        codec.parse(damaged)
    monkeypatch.setattr(codec, "is_sealed", lambda line: True)
    assert codec.parse(damaged).seq == 7
    assert validate(damaged), "the commitment notices it all the same"


def test_every_truncation_is_noticed() -> None:
    line = _line(_event())
    for length in range(len(line)):
        with pytest.raises(StoreCorrupt):
            codec.parse(line[:length])


@given(rest=st.binary(max_size=200))
def test_noise_is_damage_and_never_another_error(rest: bytes) -> None:
    for line in (rest, codec.seal(rest), codec.seal(b'{"v":"2.0",' + rest)):
        with pytest.raises((StoreCorrupt, StoreIncompatible)):
            codec.decode(line)


# --- evolution --------------------------------------------------------------------------------


def test_unknown_fields_of_a_newer_minor_version_are_ignored_and_kept() -> None:
    event = _event()
    payload = json.loads(_line(event))["payload"] | {"mood": {"score": [1, 2]}}
    line = _altered(_line(event), v="2.7", payload=payload, shiny="new")
    assert codec.decode(line) == event
    assert validate(line) == []
    erased = codec.erase(_altered(line, mood="kept"), START)
    assert b'"mood"' not in erased[: erased.index(b'"salt"')]
    assert b'"v":"2.7"' in erased
    assert codec.to_event(codec.parse(erased)) == replace(event, body=Erased(type="chat_turn"))


def test_an_unknown_type_is_read_as_opaque() -> None:
    line = _altered(_line(_event()), type="dreamt", payload={"of": ["sheep"]})
    assert codec.decode(line).body == Opaque(type="dreamt", payload={"of": ["sheep"]})
    assert codec.decode(codec.erase(line, START)).body == Erased(type="dreamt")


def test_an_unknown_value_in_a_payload_is_opaque_if_newer_and_set_aside_if_not() -> None:
    line = _line(_event())
    payload = json.loads(line)["payload"] | {"modality": "hologram"}
    newer = codec.decode(_altered(line, v="2.9", payload=payload)).body
    assert isinstance(newer, Opaque)
    assert newer.type == "chat_turn"
    assert newer.payload["modality"] == "hologram"
    for version in ("2.0", V):  # of ours and of any before it everything is known
        ours = codec.decode(_altered(line, v=version, payload=payload)).body
        assert ours == SetAside(type="chat_turn", why="it is not what its type says: modality")


def test_a_page_of_an_earlier_minor_version_is_read_as_one_of_this() -> None:
    line = _line(_event())
    assert V != "2.0", "the control: this is another version"
    old = _altered(line, v="2.0")
    assert codec.decode(old) == codec.decode(line)
    assert codec.to_page(codec.parse(old)) == codec.to_page(codec.parse(line)) is not None


def test_what_is_not_what_was_written_is_damage_and_not_set_aside() -> None:
    line = _line(_event())
    record = json.loads(line)
    del record["crc"]
    record["payload"]["modality"] = "hologram"  # without the commitment to it
    changed = json.dumps(record, separators=(",", ":"), ensure_ascii=False).encode()[:-1]
    with pytest.raises(StoreCorrupt):
        codec.decode(codec.seal(changed))


@pytest.mark.parametrize("version", ["3.0", "4.14", "10.0"])
def test_a_newer_major_version_is_refused(version: str) -> None:
    with pytest.raises(StoreIncompatible) as caught:
        codec.decode(_altered(_line(_event()), v=version))
    assert "upgrade" in caught.value.hint
    with pytest.raises(StoreIncompatible):
        codec.decode(codec.seal(b'{"v":"%b","everything":"else"' % version.encode()))


@pytest.mark.parametrize("version", ["1.0", "1.7", "0.1"])
def test_an_older_major_version_is_refused_by_name_with_what_helps(version: str) -> None:
    with pytest.raises(StoreIncompatible) as caught:
        codec.decode(_altered(_line(_event()), v=version))
    assert f"format {version}" in caught.value.message
    assert "pagefault upgrade" in caught.value.hint


def test_a_damaged_version_is_damage_and_not_news() -> None:
    with pytest.raises(StoreCorrupt):
        codec.decode(_line(_event()).replace(f'{{"v":"{V}"'.encode(), b'{"v":"3.0"'))


def test_a_content_type_cannot_be_forged_from_within_the_payload() -> None:
    line = _line(_event())
    payload = json.loads(line)["payload"] | {"event_type": "decision"}
    body = codec.decode(_altered(line, payload=payload)).body
    assert isinstance(body, PageBody)
    assert body.event_type is EventType.CHAT_TURN


# --- size -------------------------------------------------------------------------------------


def test_what_says_nothing_is_left_out() -> None:
    record = json.loads(_line(_event()))
    assert not {"cause", "key", "more"} & record.keys()
    assert list(record["payload"]) == [
        *("page_id", "order", "text", "tokens", "role"),
    ]
    packed = Packed(request=0, renderer=1, tokens=9, recalled=(PagedIn(page_id=PageId("msg_1")),))
    told = json.loads(_line(_event(packed)))["payload"]
    assert told == {"request": 0, "renderer": 1, "tokens": 9, "recalled": [{"page_id": "msg_1"}]}


def test_a_line_of_sixty_words_costs_little_more_than_its_text() -> None:
    text = "words " * 60
    assert len(_line(_event(said(text, order=300).body))) - len(text) < 400


def test_the_order_of_fields_is_fixed() -> None:
    event = replace(_event(), cause=Seq(3), key="K" * 22, model="m")
    assert list(json.loads(_line(event, more=2))) == [
        *("v", "seq", "id", "ses", "turn", "at", "type", "actor", "origin"),
        *("model", "cause", "key", "more"),
        *("salt", "commit", "link", "payload", "crc"),
    ]
