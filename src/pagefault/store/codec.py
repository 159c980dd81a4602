"""The codec between records and lines of JSON: the only module that knows the format on disk.

    {"v":"2.1","seq":7,"id":"01jd…","ses":1,"turn":3,"at":1764000000000,"type":"chat_turn",
     "actor":"user","origin":"user_typed","model":…,"cause":…,"key":…,"more":…,        (header)
     "salt":…,"commit":…,"link":…,"payload":{…},"crc":"89abcdef"}                (one line, "\\n")

* `model`, `cause`, `key` and `more` are left out where empty, and so are a payload's fields that
  hold their default or follow from the record's type. `more` counts the later records of the same
  batch: a batch is valid as a whole or not at all.
* `salt` is random; `commit` is HMAC-SHA256(salt, payload), truncated to 16 bytes; `link` is
  SHA-256(link before || header || commit), truncated likewise, where the header is every byte
  before `,"salt"`. All three are base64url without padding.
* Forgetting sets `salt` and `payload` to `null`. Header, commit and link stay, so the chain still
  verifies; but without the salt nobody can confirm a guess at the payload.
* A forgotten record's header is redacted if it holds a key, a model or a tool's name: key and model
  are removed, the name becomes `*`, and `"redacted":1` is added. The commitment is removed, too.
  The link is a hash of it and of the old header, so with the commitment one could try keys and
  names until the link matches. The link stays, because the next one is made from it. The commitment
  is replaced by SHA-256(link before || header || link), truncated likewise, which ties the redacted
  line to its neighbours.
* Scrubbing gives a record a new payload, salt and commitment, and removes its key if that may
  derive from its text (and its model or tool, if the name held a secret). The link stays, for the
  same reason. `"join"`, after the link, is SHA-256(link before || header || commit || link),
  truncated likewise, and does what the commitment does in a redacted line. A `scrub_begun` record
  vouches for the new commitment. The old one is known to nobody, so nobody can confirm a guess at
  the old payload.
* `crc` is CRC-32C over every byte of the line before `,"crc":`.

Compatibility. In every version a record is one line that begins with `{"v":` and ends with the crc
of what is before it, so damage is distinguishable from a newer format. A newer minor version may
add fields (ignored here and kept on disk, because rewriting copies lines and never re-encodes
them), types (read as `Opaque`) and values inside a payload (the payload is then also read as
`Opaque`). Anything else, including a new actor or origin, is a new major version, which is refused.
An older major version is refused by name; `upgrade.py` converts its lines.
"""

from __future__ import annotations

import hashlib
import hmac
import re
from binascii import a2b_base64, b2a_base64
from collections.abc import Callable
from dataclasses import MISSING, fields, is_dataclass
from functools import lru_cache
from math import isfinite
from operator import attrgetter
from typing import Any, ClassVar, Final, TypeVar, cast, get_args, get_origin, get_type_hints

import google_crc32c
import msgspec

from pagefault.model.errors import BadInput, StoreCorrupt, StoreIncompatible
from pagefault.model.events import (
    BODY_TYPES,
    VERSION,
    Body,
    Erased,
    Event,
    Opaque,
    PageBody,
    Said,
    SetAside,
    type_of,
)
from pagefault.model.ids import NOTHING, Seq, SessionNo, TurnNo
from pagefault.model.kinds import SOME_TOOL, Actor, Origin, is_tools

T = TypeVar("T")

SALT_BYTES: Final = 16
CUT_BYTES: Final = 16
"""Commitments and links are cut to 128 bits: forging one is infeasible, and lines stay short."""

_V: Final = f"{VERSION[0]}.{VERSION[1]}"
_KNOWN: Final = frozenset(f"{VERSION[0]}.{minor}" for minor in range(VERSION[1] + 1))
"""Versions whose records this one understands completely."""

_CRC_FIELD: Final = b',"crc":"'
_TAIL: Final = len(_CRC_FIELD) + 8 + len(b'"}\n')
_SALT_FIELD: Final = b',"salt":'
_URL: Final = bytes.maketrans(b"+/", b"-_")
_STANDARD: Final = bytes.maketrans(b"-_", b"+/")


class Record(msgspec.Struct, frozen=True, gc=False):
    """A parsed line, whose payload is still bytes."""

    v: str
    seq: int
    id: str
    ses: int
    turn: int
    at: int
    type: str
    actor: str
    origin: str
    salt: str | None
    commit: str
    link: str
    payload: msgspec.Raw
    crc: str
    cause: int = 0
    key: str = ""
    more: int = 0
    redacted: int = 0
    model: str = ""
    join: str = ""

    @property
    def erased(self) -> bool:
        return self.salt is None


# --- writing ----------------------------------------------------------------------------------


def encode(event: Event, *, more: int, salt: bytes, previous: bytes) -> tuple[bytes, bytes]:
    """The line of an event, and the link after it. `BadInput` if JSON cannot hold the body."""
    payload = encode_body(event.body)
    head = (
        f'{{"v":"{_V}","seq":{event.seq},"id":{_quoted(event.event_id)},"ses":{event.session}'
        f',"turn":{event.turn},"at":{event.at_ms},"type":{_known(event.type)}'
        f',"actor":"{event.actor.value}","origin":{_known(event.origin)}'
    )
    if event.model:
        head += f',"model":{_known(event.model)}'
    if event.cause:
        head += f',"cause":{event.cause}'
    if event.key:
        head += f',"key":{_quoted(event.key)}'
    if more:
        head += f',"more":{more}'
    header = head.encode()
    commit = hmac.digest(salt, payload, "sha256")[:CUT_BYTES]
    link = next_link(previous, header, commit)
    # All in one call, because every turn pays for it: 16 bytes and 2 of padding make 24 characters.
    chars = b2a_base64(b"%b\0\0%b\0\0%b\0\0" % (salt, commit, link), newline=False).translate(_URL)
    line = b'%b,"salt":"%b","commit":"%b","link":"%b","payload":%b' % (
        header,
        chars[:22],
        chars[24:46],
        chars[48:70],
        payload,
    )
    return seal(line), link


def encode_body(body: Body) -> bytes:
    """A payload: the body's fields that do not hold their default.

    `BadInput` for text that is not Unicode, numbers that are not finite, and values that JSON
    cannot represent.
    """
    try:
        return _ENCODERS[type(body)](body)
    except (UnicodeEncodeError, OverflowError, TypeError) as problem:
        raise BadInput(
            f"a {type_of(body)} cannot be stored: {problem}",
            hint="give plain values: texts of valid Unicode, without lone surrogates, and numbers",
        ) from problem


def erase(line: bytes, previous: bytes) -> bytes:
    """The same record without its salt, payload, key and names; `previous` is the link before it.
    An erased line is returned unchanged. `StoreCorrupt` if the line is damaged.
    """
    record = parse(line)
    header, commit = line[: line.index(_SALT_FIELD)], record.commit.encode()
    is_telling = (
        record.key
        or record.model
        or (is_tools(record.origin) and record.origin != SOME_TOOL)
        or record.join  # its link was not made of this commitment
    )
    if record.erased and not is_telling:
        return line
    if is_telling:
        header = _redacted(header)
        commit = short(next_link(previous, header, long(record.link)))
    return seal(
        b'%b,"salt":null,"commit":"%b","link":"%b","payload":null'
        % (header, commit, record.link.encode())
    )


def revise(line: bytes, event: Event, *, salt: bytes, previous: bytes) -> bytes:
    """The same record with the event's body, origin and model, and without its key if the event has
    none; `previous` is the link before it. `StoreCorrupt` if the line is damaged, `BadInput` as for
    `encode`.
    """
    record = parse(line)
    told: dict[str, Any] = msgspec.json.decode(line[: line.index(_SALT_FIELD)] + b"}")
    for name in ("key", "model"):
        told.pop(name, None)
        if value := getattr(event, name):
            told[name] = value
    told["origin"] = str(event.origin)
    header = _JSON.encode(told)[:-1]
    payload = encode_body(event.body)
    commit = hmac.digest(salt, payload, "sha256")[:CUT_BYTES]
    join = next_link(previous, header, commit + long(record.link))
    return seal(
        b'%b,"salt":"%b","commit":"%b","link":"%b","join":"%b","payload":%b'
        % (header, short(salt), short(commit), record.link.encode(), short(join), payload)
    )


def _redacted(header: bytes) -> bytes:
    """A header without key and names; fields unknown to this version stay."""
    told: dict[str, Any] = msgspec.json.decode(header + b"}")
    told.pop("key", None)
    told.pop("model", None)
    if is_tools(str(told["origin"])):
        told["origin"] = str(SOME_TOOL)
    told["redacted"] = 1
    return _JSON.encode(told)[:-1]


def seal(opened: bytes) -> bytes:
    """Close a line with its checksum."""
    return b'%b,"crc":"%08x"}\n' % (opened, google_crc32c.value(opened))


def short(raw: bytes) -> bytes:
    """16 bytes as 22 characters of base64url."""
    return b2a_base64(raw, newline=False)[:22].translate(_URL)


# --- reading ----------------------------------------------------------------------------------


def is_sealed(line: bytes) -> bool:
    """Whether a line is complete and its checksum is right."""
    return (
        line[-_TAIL : 8 - _TAIL] == _CRC_FIELD
        and line[-3:] == b'"}\n'
        and line[8 - _TAIL : -3] == b"%08x" % google_crc32c.value(line[:-_TAIL])
    )


def parse(line: bytes) -> Record:
    """Parse a line.

    `StoreCorrupt` if it is damaged, `StoreIncompatible` if it is intact but of another major
    version.
    """
    try:
        record = take_apart(line)
    except StoreCorrupt:
        if is_sealed(line):
            refuse_other_major(line)
        raise
    if record.v not in _KNOWN:
        refuse_other_major(line)
    return record


def take_apart(line: bytes) -> Record:
    """As `parse`, for any version."""
    if not is_sealed(line):
        raise StoreCorrupt("a record is damaged: its checksum is not that of its bytes")
    try:
        return _RECORD.decode(line)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as problem:
        raise StoreCorrupt(f"a record is whole but cannot be read: {problem}") from problem


def decode(line: bytes) -> Event:
    """The event of a line. Errors as for `parse`."""
    return to_event(parse(line))


def to_event(record: Record) -> Event:
    """The event of a record. `SetAside` if a body was written that way but is not valid for its
    type. `StoreCorrupt` if it was not written that way, or for an unknown actor or origin.
    """
    try:
        return Event(
            seq=Seq(record.seq),
            event_id=record.id,
            session=SessionNo(record.ses),
            turn=TurnNo(record.turn),
            at_ms=record.at,
            actor=_ACTORS[record.actor],
            origin=_origin(record.origin),
            body=_body_written(record),
            cause=Seq(record.cause) if record.cause else NOTHING,
            key=record.key,
            model=record.model,
        )
    except (*_UNREADABLE, KeyError) as problem:
        raise StoreCorrupt(f"record {record.seq} does not make sense: {problem}") from problem


_UNREADABLE: Final = (msgspec.MsgspecError, RecursionError, ValueError)
_FIELD: Final = re.compile(r"at `\$\.?([^`]*)`$")


def _body_written(record: Record) -> Body:
    try:
        return _body(record)
    except _UNREADABLE as problem:
        if record.v not in _KNOWN or not confirms(record):
            raise
        told = _FIELD.search(str(problem))  # the field only: the rest quotes the record
        field = f": {told[1]}" if told and told[1] else ""
        return SetAside(
            type=record.type,
            why=f"it is not what its type says{field}",
            blobs=_blobs_named(bytes(record.payload)),
        )


def _blobs_named(payload: bytes) -> tuple[str, ...]:
    """The blobs that a payload of any kind names, so that they are not deleted as unused."""
    try:
        told = msgspec.json.decode(payload)
    except _UNREADABLE:
        return ()
    holes = told.get("holes") if isinstance(told, dict) else None
    named = [told, *(holes if isinstance(holes, list) else ())]
    blobs = [one.get("blob") for one in named if isinstance(one, dict)]
    return tuple(blob for blob in blobs if isinstance(blob, str) and blob)


def to_page(record: Record) -> PageBody | None:
    """The body of a page's record, as a value with the same attributes but another class, at a
    third of the cost; for folds over many records. `None` for anything else, and for what only
    `to_event` can judge.
    """
    cls = BODY_TYPES.get(record.type)
    if cls is None or cls not in _PAGES or record.salt is None or record.v not in _KNOWN:
        return None
    try:
        _origin(record.origin)
        page = cast(PageBody, _QUICK[cls].decode(_typed(record, cls)))
    except (msgspec.MsgspecError, UnicodeDecodeError, ValueError):
        return None
    return page if record.actor in _ACTORS else None


def confirms(record: Record) -> bool:
    """Whether the payload matches the commitment. False for an erased one."""
    if record.salt is None:
        return False
    commit = hmac.digest(long(record.salt), bytes(record.payload), "sha256")[:CUT_BYTES]
    return short(commit) == record.commit.encode()


def follows(previous: bytes, line: bytes, record: Record, *, own: bytes = b"") -> bool:
    """Whether a record is chained to the link before it; `own` is its own link, if known."""
    header, commit = line[: line.index(_SALT_FIELD)], long(record.commit)
    link = own or long(record.link)
    if record.redacted:
        return next_link(previous, header, link) == commit
    if record.join:
        return next_link(previous, header, commit + link) == long(record.join)
    return next_link(previous, header, commit) == link


def next_link(previous: bytes, header: bytes, commit: bytes) -> bytes:
    return hashlib.sha256(b"%b%b%b" % (previous, header, commit)).digest()[:CUT_BYTES]


def long(text: str) -> bytes:
    """The inverse of `short`. `StoreCorrupt` for any other text."""
    try:
        return a2b_base64(text.encode().translate(_STANDARD) + b"==")
    except ValueError as problem:
        raise StoreCorrupt(f"{text!r} is not base64url") from problem


def refuse_other_major(line: bytes) -> None:
    """`StoreIncompatible` if an intact line is of another major version."""
    version = line[6 : line.find(b'"', 6)].decode("ascii", "replace")
    if line.startswith(b'{"v":"'):
        check_version(version, "a record")


def check_version(version: str, what: str) -> None:
    """`StoreIncompatible` if this is another major version than ours; `what` names what has it."""
    major = version.partition(".")[0]
    if not major.isdecimal() or int(major) == VERSION[0]:
        return
    if int(major) > VERSION[0]:
        raise StoreIncompatible(f"{what} has format {version}, this version reads up to {_V}")
    raise StoreIncompatible(
        f"{what} has format {version}, this version reads {_V}",
        hint="`pagefault upgrade` converts the memory to this format and verifies it",
    )


# --- pieces -----------------------------------------------------------------------------------

_JSON: Final = msgspec.json.Encoder()
_RECORD: Final = msgspec.json.Decoder(Record)
_ACTORS: Final = {actor.value: actor for actor in Actor}


def _quoted(text: str) -> str:
    return _JSON.encode(str(text)).decode()


_known: Final = lru_cache(maxsize=1024)(_quoted)  # types and origins: few, and in every record
_origin: Final = lru_cache(maxsize=1024)(Origin)


def _fields_encoder(cls: type, *, leave_out: str = "") -> Callable[[Any], dict[str, object]]:
    """A function from a dataclass value to its fields, leaving out those at their default."""
    hints = get_type_hints(cls)
    told_of = [field for field in fields(cls) if field.name != leave_out]
    required = [field.name for field in told_of if field.default is MISSING]
    optional = [field.name for field in told_of if field.default is not MISSING]
    defaults = tuple(field.default for field in told_of if field.default is not MISSING)
    required_of, optional_of = _getter(required), _getter(optional)
    names = required + optional
    floats = [name for name in names if hints[name] is float]
    inner = {
        name: _fields_encoder(get_args(hints[name])[0])
        for name in names
        if get_args(hints[name]) and is_dataclass(get_args(hints[name])[0])
    }

    def encoded(body: Any) -> dict[str, object]:
        told: dict[str, Any] = dict(zip(required, required_of(body), strict=True))
        rest = optional_of(body)
        if rest != defaults:  # rare: this is what makes a plain turn cheap
            told |= {n: v for n, v, d in zip(optional, rest, defaults, strict=True) if v != d}
        for name in floats:
            if name in told and not isfinite(told[name]):
                raise BadInput(f"{name} is {told[name]}, which JSON cannot hold")
        for name, encode_one in inner.items():
            if name in told:
                told[name] = [encode_one(one) for one in told[name]]
        return told

    return encoded


def _getter(names: list[str]) -> Callable[[Any], tuple[object, ...]]:
    """`attrgetter`, but returning a tuple for one name and for none, too."""
    if len(names) > 1:
        return attrgetter(*names)
    return lambda body: tuple(getattr(body, name) for name in names)


def _encoder(cls: type) -> Callable[[Any], bytes]:
    encoded = _fields_encoder(cls, leave_out="event_type" if cls is Said else "")
    return lambda body: _JSON.encode(encoded(body))


_CLASSES: Final = frozenset(BODY_TYPES.values())
_PAGES: Final = frozenset(cls for cls in _CLASSES if issubclass(cls, PageBody))


class _Made(dict[type, T]):
    """A cache of values per body class, made on first use: all would take a tenth of start-up."""

    def __init__(self, make: Callable[[type], T]) -> None:
        super().__init__()
        self._make = make

    def __missing__(self, cls: type) -> T:
        if cls not in _CLASSES:
            raise KeyError(cls)
        self[cls] = made = self._make(cls)
        return made


_ENCODERS: Final = _Made(_encoder)
_ENCODERS[Opaque] = lambda body: _JSON.encode(body.payload)

_DECODERS: Final[_Made[msgspec.json.Decoder[Any]]] = _Made(msgspec.json.Decoder)


def _struct_of(cls: type) -> type[msgspec.Struct]:
    """A struct with a dataclass's attributes: the same values fit both."""
    hints = get_type_hints(cls)
    told = [(f.name, hints[f.name], f.default) for f in fields(cls)]
    same = {name: getattr(cls, name) for name, hint in hints.items() if _is_same_for_all(hint)}
    return msgspec.defstruct(
        f"Quick{cls.__name__}",
        [(name, hint) if value is MISSING else (name, hint, value) for name, hint, value in told],
        namespace=same,
        kw_only=True,
        frozen=True,
        gc=False,
    )


def _is_same_for_all(hint: object) -> bool:
    return get_origin(hint) is ClassVar


_QUICK: Final[_Made[msgspec.json.Decoder[Any]]] = _Made(
    lambda cls: msgspec.json.Decoder(_struct_of(cls))
)


def _typed(record: Record, cls: type) -> bytes:
    """The payload of a record, with a message's type taken from the header. Of duplicate names the
    last counts.
    """
    payload = bytes(record.payload)
    if cls is not Said:
        return payload
    return b'%b,"event_type":%b}' % (payload[:-1], _known(record.type).encode())


def _body(record: Record) -> Body:
    cls = BODY_TYPES.get(record.type)
    if record.salt is None:
        return Erased(type=record.type)
    payload = bytes(record.payload)
    if cls is None:
        return _opaque(record.type, payload)
    try:
        body: Body = _DECODERS[cls].decode(_typed(record, cls))
        return body
    except msgspec.ValidationError:
        if record.v in _KNOWN:
            raise
        return _opaque(record.type, payload)


def as_written(type_: str, payload: bytes) -> bytes | None:
    """A payload as `encode_body` would write the same values; None if it is not valid for that
    type, or the type is unknown.
    """
    cls = BODY_TYPES.get(type_)
    if cls is None:
        return None
    if cls is Said:
        payload = b'%b,"event_type":%b}' % (payload[:-1], _known(type_).encode())
    try:
        return encode_body(_DECODERS[cls].decode(payload))
    except (msgspec.MsgspecError, UnicodeDecodeError, BadInput):
        return None


def _opaque(type_: str, payload: bytes) -> Opaque:
    return Opaque(type=type_, payload=msgspec.json.decode(payload, type=dict[str, object]))
