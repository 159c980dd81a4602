"""Known facts about models: window, reserve, tokenizer, price list.

As of 2026-11. Prices, minima and lifetimes are from the providers' published pages, except where
`note` says otherwise. They change, so a list carries its month, and callers can pass their own list
instead. A model that is not listed gets `UNKNOWN`, with its own name.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Final

from pagefault.model import defaults
from pagefault.model.errors import BadInput
from pagefault.model.prices import PriceList
from pagefault.model.signatures import checked

AS_OF: Final = "2026-11"


@dataclass(frozen=True, slots=True, kw_only=True)
class Model:
    """`factor` is a safe estimate of the model's tokens per o200k token, used until a session has
    measured it. `reserve_tokens` of the window stay free for the answer.
    """

    name: str
    provider: str
    window_tokens: int
    reserve_tokens: int
    tokenizer: str
    factor: float
    prices: PriceList
    note: str = ""

    @property
    def is_known(self) -> bool:
        return self.provider != ""

    @property
    def room_tokens(self) -> int:
        """A request's room, in the model's tokens: below the price cliff, without the reserve."""
        return self.prices.room(self.window_tokens - self.reserve_tokens)


_OUTPUT: Final = 8.0  # no list below has one for input = 1; only weighs generated summaries

_ANTHROPIC: Final = PriceList(
    name="anthropic-5m",
    as_of=AS_OF,
    read=0.10,
    write=1.25,
    output=_OUTPUT,
    ttl_s=300.0,
    min_tokens=1_024,
    takes_marks=True,
)
_OPENAI: Final = PriceList(
    name="openai",
    as_of=AS_OF,
    read=0.10,
    write=1.0,
    output=_OUTPUT,
    ttl_s=300.0,  # 5 to 10 minutes idle
    min_tokens=1_024,
    quantum=128,
)
_OPENAI_MARKED: Final = replace(
    _OPENAI, name="openai-marked", write=1.25, ttl_s=1_800.0, takes_marks=True, whole_units=True
)
_GEMINI: Final = PriceList(
    name="gemini-implicit",
    as_of=AS_OF,
    read=0.10,
    write=1.0,
    output=_OUTPUT,
    ttl_s=300.0,
    min_tokens=4_096,
)
_DEEPSEEK: Final = PriceList(
    name="deepseek",
    as_of=AS_OF,
    read=0.02,
    write=1.0,
    output=_OUTPUT,
    ttl_s=4 * 3_600.0,  # hours to days
    min_tokens=64,
    quantum=64,
    whole_units=True,
)
_LOCAL: Final = PriceList(
    name="local", as_of=AS_OF, read=0.10, write=1.0, output=3.0, ttl_s=None, quantum=1
)
_UNKNOWN: Final = replace(
    _ANTHROPIC, name="assumed", min_tokens=4_096, takes_marks=False, quantum=128
)

_WINDOW_NOTE: Final = "window assumed: the smaller of those that clients of this provider report"
_CLIFF: Final = 272_000
_ASKS: Final = "not controllable: a hit is likely, never promised"


def _claude(name: str, prices: PriceList, note: str = _WINDOW_NOTE) -> Model:
    return Model(
        name=name,
        provider="anthropic",
        window_tokens=200_000,
        reserve_tokens=32_000,
        tokenizer="own",
        factor=1.35,
        prices=prices,
        note=note,
    )


def _gpt(name: str, prices: PriceList, note: str = "", window: int = _CLIFF) -> Model:
    return Model(
        name=name,
        provider="openai",
        window_tokens=window,
        reserve_tokens=32_000,
        tokenizer="o200k",
        factor=1.0,
        prices=prices,
        note=note,
    )


def _other(name: str, provider: str, prices: PriceList, note: str) -> Model:
    return Model(
        name=name,
        provider=provider,
        window_tokens=defaults.WINDOW_TOKENS,
        reserve_tokens=8_192,
        tokenizer="own",
        factor=1.35,
        prices=prices,
        note=note,
    )


def _at(prices: PriceList, **changes: float | int | str) -> PriceList:
    return replace(prices, **changes)  # type: ignore[arg-type]


_GPT_6: Final = _at(_OPENAI_MARKED, cliff_tokens=_CLIFF, cliff_factor=2.0)
_MARKED: Final = "a prefix matches only at marks that an earlier request wrote"

CATALOGUE: Final[tuple[Model, ...]] = (
    _claude("claude-opus-5-5", _at(_ANTHROPIC, read=0.05)),
    _claude("claude-sonnet-5-5", _at(_ANTHROPIC, read=0.05)),
    _claude("claude-fable-5-1", _at(_ANTHROPIC, read=0.025, min_tokens=512)),
    _claude(
        "claude-haiku-5-5",
        _at(_ANTHROPIC, min_tokens=4_096, cliff_tokens=100_000, cliff_factor=5.0),
        "the cliff is from a secondary source; the minimum is that of 4.5",
    ),
    _claude("claude-opus-5", _at(_ANTHROPIC, min_tokens=512)),
    _claude("claude-sonnet-5", _ANTHROPIC),
    _claude("claude-opus-4-8", _ANTHROPIC),
    _claude("claude-opus-4-7", _at(_ANTHROPIC, min_tokens=2_048)),
    _claude("claude-opus-4-6", _at(_ANTHROPIC, min_tokens=4_096)),
    _claude("claude-opus-4-5", _at(_ANTHROPIC, min_tokens=4_096)),
    _claude("claude-haiku-4-5", _at(_ANTHROPIC, min_tokens=4_096)),
    _claude("claude-sonnet-4-5", _ANTHROPIC),
    _gpt("gpt-6-1-sol", _at(_GPT_6, read=0.05), _MARKED),
    _gpt("gpt-6-1-terra", _at(_GPT_6, read=0.05), _MARKED),
    _gpt("gpt-6-sol", _GPT_6, _MARKED),
    _gpt("gpt-5-6", _OPENAI_MARKED, _MARKED),
    _gpt("gpt-5-5", _at(_OPENAI, ttl_s=86_400.0), "kept for 24 hours where that is asked for"),
    _gpt("gpt-5-1", _at(_OPENAI, ttl_s=86_400.0), "kept for 24 hours where that is asked for"),
    _gpt("gpt-5", _at(_OPENAI, ttl_s=86_400.0), "kept for 24 hours where that is asked for"),
    _gpt("gpt-4-1", _at(_OPENAI, read=0.25)),
    _gpt("gpt-4o", _at(_OPENAI, read=0.5), window=128_000),
    _other("gemini", "google", _GEMINI, _ASKS),
    _other("deepseek-v4-1-flash", "deepseek", _DEEPSEEK, "units end where a request or reply did"),
    _other("deepseek-v4-pro", "deepseek", _at(_DEEPSEEK, read=0.033), "units as of V4.1"),
    _other(
        "local",
        "local",
        _LOCAL,
        "measured on one small model, 100 generated tokens a call; `calibrate` measures yours",
    ),
)

UNKNOWN: Final = Model(
    name="unknown",
    provider="",
    window_tokens=defaults.WINDOW_TOKENS,
    reserve_tokens=8_192,
    tokenizer="own",
    factor=1.35,
    prices=_UNKNOWN,
    note="not in the catalogue: a short-lived cache that costs a surcharge is assumed",
)

_BY_NAME: Final = {model.name: model for model in CATALOGUE}
_EDITION: Final = re.compile(r"-(latest|preview|\d{6,8}|\d{4}-\d{2}-\d{2})$")
_FAMILIES: Final = ("gemini", "local")  # one list for the whole family


def find_model(name: str) -> Model:
    """The catalogue's entry for a model, by any usual spelling of its name; else `UNKNOWN`.

    A provider before a slash, a trailing date, dots for dashes and case make no difference. An
    unlisted version does not match a similar one.
    """
    wanted = _EDITION.sub("", name.strip().lower().rpartition("/")[2].replace(".", "-"))
    family = wanted.partition("-")[0]
    model = _BY_NAME.get(wanted) or (_BY_NAME[family] if family in _FAMILIES else None)
    return model or replace(UNKNOWN, name=name)


PRICE_LISTS: Final = {
    one.name: one
    for one in (_ANTHROPIC, _OPENAI, _OPENAI_MARKED, _GEMINI, _DEEPSEEK, _LOCAL, _UNKNOWN)
}
"""Price lists shared by models, by name."""

_TTL_S: Final = 300.0  # of a list that names no lifetime: the shortest that any provider promises


@checked
def find_prices(name: str) -> PriceList:
    """A price list by its own name or a model's, or a custom one, written READ/WRITE or
    READ/WRITE/SECONDS.

    A custom list has no minimum size and no steps. Raises `BadInput`.
    """
    if known := PRICE_LISTS.get(name.strip().lower()):
        return known
    if (model := find_model(name)).is_known:
        return model.prices
    try:
        read, write, *rest = map(float, name.split("/"))
        (ttl_s,) = rest or [_TTL_S]
    except ValueError:
        raise BadInput(
            f"unknown price list {name!r}",
            hint=f"a model, or one of {', '.join(PRICE_LISTS)}; or your own, as READ/WRITE or "
            "READ/WRITE/SECONDS: 0.10/1.25/300",
        ) from None
    return PriceList(name=name, as_of=AS_OF, read=read, write=write, output=_OUTPUT, ttl_s=ttl_s)
