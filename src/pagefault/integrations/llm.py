"""A plugin for `llm`: `llm -f pagefault:"spare key" "Where is it?"`, and `llm -T Pagefault …`.

`llm` finds it by itself once both are installed. The memory is the one that the command `pagefault`
would use. Only `llm` is imported before the first use.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import llm

RESULT_TOKENS = 2_000  # of the pages for one question


class Pagefault(llm.Toolbox):  # type: ignore[no-untyped-call]
    """Tools that search a memory; `root` overrides the configured one."""

    def __init__(self, root: str = "") -> None:
        self._root = root

    def search(self, query: str) -> str:
        """Search what was said in earlier conversations. Quote the ids of what you use."""
        return _found(query, self._root)

    def page(self, session: str, page_id: str) -> str:
        """The whole text of a page that a search found, by its session and its id."""
        import pagefault

        with pagefault.sync.open(self._root or None) as memory:
            try:
                return memory.session(session, create=False).page(page_id).text
            except pagefault.PagefaultError as error:
                return str(error)

    def remember(self, text: str) -> str:
        """Keep a note for later conversations: something that the user said or decided."""
        import pagefault

        with pagefault.sync.open(self._root or None) as memory:
            noted = pagefault.Incoming(text=text, role="assistant")  # type: ignore[arg-type]
            session = memory.session("llm", mode="passive")
            [page_id, *_] = session.say([noted], origin="model_generated")
            return f"noted as {page_id}"


@llm.hookimpl
def register_tools(register: Callable[..., Any]) -> None:
    register(Pagefault)


@llm.hookimpl
def register_fragment_loaders(register: Callable[..., Any]) -> None:
    register("pagefault", load_fragment)


def load_fragment(query: str) -> llm.Fragment:
    """What a memory has that bears on a query."""
    made: Any = llm.Fragment
    fragment: llm.Fragment = made(_found(query, ""), source=f"pagefault:{query}")
    return fragment


def _found(query: str, root: str) -> str:
    import pagefault

    with pagefault.sync.open(root or None) as memory:
        told = [
            f"[{hit.session_id} {hit.page.page_id}, {hit.page.origin}]\n"
            f"{memory.read(hit.page).text}"
            for hit in memory.recall(query, tokens=RESULT_TOKENS).hits
        ]
    return "\n\n".join(told) or f"Nothing bears on {query!r}."
