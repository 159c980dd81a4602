"""Which provider a request goes to, where the proxy stands before several.

A provider is given for a path's beginning, which is taken off (`/groq`), for one of the formats
(`messages`), or for all else. Each format's own provider also has what its clients ask beside it:
the models, a count of tokens. Which format's client asks is told by headers that only those send.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from pagefault.model.errors import BadInput
from pagefault.proxy.http.relay import Relay

FORMATS: Final[Mapping[str, re.Pattern[str]]] = {
    "chat": re.compile(r"/chat/completions\Z"),
    "responses": re.compile(r"/v1/responses(?:/|\Z)|/responses\Z"),
    "messages": re.compile(r"/v1/messages(?:/|\Z)|/messages\Z"),
    "gemini": re.compile(r"\A/v1beta\d*/|:[a-zA-Z]+\Z"),
}
_SENT_BY: Final = {"anthropic-version": "messages", "x-goog-api-client": "gemini"}
_PATH: Final = re.compile(r"(?:/(?!\.\.?(?:/|\Z))[A-Za-z0-9._-]+)+")


@dataclass(frozen=True, slots=True)
class Upstreams:
    """Addresses by what they are for; "" is all else, and is there. `of` picks a relay and what is
    left of the path.
    """

    relays: Mapping[str, Relay]

    def of(self, path: str, headers: Mapping[str, str]) -> tuple[Relay, str]:
        paths = [one for one in self.relays if one.startswith("/") and _is_under(path, one)]
        if paths:
            longest = max(paths, key=len)
            return self.relays[longest], path[len(longest) :] or "/"
        asked = [name for name, is_asked in FORMATS.items() if is_asked.search(path)]
        asked += [name for header, name in _SENT_BY.items() if header in headers]
        name = next((one for one in asked if one in self.relays), "")
        return self.relays[name], path

    async def aclose(self) -> None:
        for relay in {id(one): one for one in self.relays.values()}.values():
            await relay.aclose()


def _is_under(path: str, beginning: str) -> bool:
    return path == beginning or path.startswith(f"{beginning}/")


def read_upstreams(told: Iterable[str]) -> dict[str, str]:
    """Addresses by what they are for, of what is written as `URL`, `FORMAT=URL` or `/PATH=URL`. The
    first one is for all else as well, unless another is. Raises `BadInput`.
    """
    found: dict[str, str] = {}
    for one in told:
        before, separator, after = one.partition("=")
        name, url = (before, after) if separator and "//" not in before else ("", one)
        if name not in FORMATS and name != "" and not _PATH.fullmatch(name):
            raise BadInput(
                f"{name!r} is neither a request format nor a path",
                hint=f"put one of these before the address: {', '.join(FORMATS)}, or a path "
                "like /groq",
            )
        if name in found:
            what = f"for {name}" if name else "for all else"
            raise BadInput(f"there are two upstreams {what}")
        found[name] = url
    found.setdefault("", next(iter(found.values())))
    return found


def opened(urls: Mapping[str, str], make: Callable[[str], Relay]) -> Upstreams:
    """A relay for each address, one for those that are the same. Raises what `make` raises."""
    made: dict[str, Relay] = {}
    for url in urls.values():
        if url not in made:
            made[url] = make(url)
    return Upstreams({name: made[url] for name, url in urls.items()})
