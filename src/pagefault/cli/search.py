"""`pagefault search`: pages of every session."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from pagefault.cli.app import App, Command, json_option, pass_app
from pagefault.cli.pages import instead_of, tell_of_archives
from pagefault.cli.term import plural

if TYPE_CHECKING:
    from pagefault.recall.search import SearchHit
    from pagefault.service.memory import Memory


@click.command(cls=Command)
@click.argument("words", nargs=-1, required=True)
@click.option("-n", "--limit", type=click.IntRange(1, 1000), default=10, show_default=True)
@json_option
@pass_app
def search(app: App, words: tuple[str, ...], limit: int, as_json: bool) -> None:
    """Find pages in every session.

    Those that bear on some WORDS come best first, and say whose they are. `pagefault pages search`
    looks in one session. A model's own search never leaves its session.

    JSON: {query, total, hits: [{session, session_id, page_id, relevance, score, parts, hint, turn,
    role, speaker, occurred_at, tokens, archive}]}; `parts` add up to `score`. `archive` is the
    directory that a page's text is in, where that is not there now; else empty.
    """
    query = " ".join(words)

    async def read() -> dict[str, Any]:
        async with app.reading() as memory:
            result = await memory.recall(query, limit=limit)
            names = {row.session: row for row in await memory.sessions()} if result.hits else {}
            hits = []
            for hit in result.hits:
                row = names.get(hit.page.session)
                whose = {
                    "session": (row.name or row.session_id) if row else "(forgotten)",
                    "session_id": row.session_id if row else "",
                }
                hits.append(whose | await _hit(memory, hit))
            return {"query": query, "total": result.total, "hits": hits}

    found = app.run(read())
    if as_json:
        app.term.data(found)
        return
    if not found["hits"]:
        app.term.note("nothing in any session bears on that; try other words")
        return
    app.term.table(
        ["session", "id", "relevance", "who", "begins"],
        [
            [
                hit["session"],
                hit["page_id"],
                f"{hit['relevance']:.2f}",
                hit["speaker"] or hit["role"],
                hit["hint"],
            ]
            for hit in found["hits"]
        ],
        right="relevance",
    )
    tell_of_archives(app, found["hits"])
    first = found["hits"][0]
    app.term.note(
        f"{len(found['hits'])} of {plural(found['total'], 'page')}; "
        f"`{app.to_show(first['page_id'], first['session_id'])}` shows the first"
    )


async def _hit(memory: Memory, hit: SearchHit) -> dict[str, Any]:
    from pagefault.model.errors import ArchiveMissing, RecordGone
    from pagefault.recall.hint import hint

    page, begins = None, ""
    try:
        page = await memory.read(hit.page)
    except (ArchiveMissing, RecordGone) as gone:
        begins = instead_of(gone)
    return {
        "page_id": hit.page.page_id,
        "relevance": round(hit.relevance, 3),
        "score": round(hit.score, 4),
        "parts": {name: round(value, 4) for name, value in hit.parts.items()},
        "hint": hint(page.text, title=page.title) if page else begins,
        "turn": hit.page.turn,
        "role": str(hit.page.role),
        "speaker": page.speaker if page else "",
        "occurred_at": page.occurred_at if page else "",
        "tokens": hit.page.tokens,
        "archive": hit.archive,
    }
