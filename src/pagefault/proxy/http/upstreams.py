"""Which of several providers a request goes to.

A provider is given for a path prefix, which is removed (`/groq`), for one of the formats
(`messages`), or for everything else. A format's provider also gets what its clients ask besides:
the models, a token count. Headers that only one format's clients send show which it is.
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
    """Providers by their purpose; "" is everything else, and always there. `of` returns a relay and
    the rest of the path.
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
    """Addresses by their purpose, from `URL`, `FORMAT=URL` or `/PATH=URL`. The first one also
    serves everything else, unless another does. Raises `BadInput`.
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
    """One relay for each distinct address. Raises what `make` raises."""
    made: dict[str, Relay] = {}
    for url in urls.values():
        if url not in made:
            made[url] = make(url)
    return Upstreams({name: made[url] for name, url in urls.items()})
