"""What the commands that find pages share: their options, and how hits are printed."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeVar

import click

from pagefault.cli.app import (
    App,
    called,
    find_session,
    json_option,
    names_of,
    options,
    titles_that_name,
)
from pagefault.cli.proxied import CLIENT_DECIDES, resident_pages
from pagefault.cli.term import cut, iso, local, plural, printable
from pagefault.cli.wording import LIMIT, ONLY_SOURCE
from pagefault.model.kinds import Kind, Modality, Profile

if TYPE_CHECKING:
    from pagefault.model.page import PageRow
    from pagefault.model.wanted import SearchFilter
    from pagefault.recall.search import SearchHit, SearchResult
    from pagefault.service.lookup.questions import Asking
    from pagefault.service.memory import Memory
    from pagefault.service.session import Session

F = TypeVar("F", bound=Callable[..., Any])

JSON: Final = """JSON: {session, query, total, left_out, tokens, hits: [{session, session_id,
    page_id, turn, role, speaker, kind, modality, origin, said_at, occurred_at, tokens, history,
    lapse, relevance, coverage, score, parts, excerpt, marks, why, hint, resident, also,
    also_in, archive, source, project}]}. The outer `session`, and `resident`, are null if every
    session is searched; `resident` also if a proxy's client decides. `coverage` is the share of
    the words asked for that are in a page or, counting less, around it. `parts` add up to
    `score`; both are 0 if pages are listed, not searched. `excerpt` is the part of the page that
    was found, and `marks` are the matching words in it, as half-open ranges of characters; `why`
    is what found it: words, link, meaning or neighbours. `history` is set if other words, or
    another claim, replaced it; `lapse` is why a claim that none replaced no longer holds. `also`
    are pages with the same content, and `also_in` the ids of their sessions. `archive` is the
    missing directory that has a page's text, else empty. `source` and `project` are where an
    imported page came from."""
"""The output of all of them, for their helps."""

RELEVANCE: Final = """`relevance` is how likely a page bears on what is asked: half of the hits at
    0.5 do. Pages are ranked by their words, speaker, time and surroundings. `also` are pages with
    the same content. Under each hit is the part that was found, with matching words in bold on a
    terminal, or else its beginning and what found it."""
"""The columns of a search's table, for the helps of those that search."""


def kinds_option(kinds: Iterable[Kind] = Kind) -> Callable[[F], F]:
    return click.option(
        "--kind",
        "kinds",
        multiple=True,
        type=click.Choice([str(kind) for kind in kinds]),
        help="Only pages of this kind. May be repeated.",
    )


origins_option = click.option(
    "--origin",
    "origins",
    multiple=True,
    metavar="ORIGIN",
    help="Only pages of this origin: user_typed, tool, tool:NAME … May be repeated.",
)


def period_options(of: str) -> Callable[[F], F]:
    """--since and --until; `of` names in the help what they select, such as "pages"."""
    return options(
        click.option(
            "--since",
            metavar="WHEN",
            help=f'Only {of} since WHEN: 2026-03-01, yesterday, "3 days ago".',
        ),
        click.option(
            "--until",
            metavar="WHEN",
            help=f"Only {of} until WHEN. A day is included in full.",
        ),
    )


asking_options = options(
    click.option(
        "-n", "--limit", type=click.IntRange(1, 1000), default=10, show_default=True, help=LIMIT
    ),
    click.option(
        "--tokens", type=click.IntRange(min=0), help="Token budget: show the best pages that fit."
    ),
    kinds_option(),
    click.option(
        "--modality",
        "modalities",
        multiple=True,
        type=click.Choice([str(modality) for modality in Modality]),
        help="Only pages of this modality. May be repeated.",
    ),
    origins_option,
    period_options("pages"),
    click.option(
        "--history",
        is_flag=True,
        help="Include earlier versions of edited text, and closed claims.",
    ),
    json_option,
)
"""The options of all commands that find pages."""


def _a_source(_ctx: click.Context, _param: click.Parameter, value: str) -> str:
    from pagefault.history.recognise import SOURCES

    if value and not any(source.startswith(value) for source in SOURCES):
        raise click.BadParameter(f"there is no source {value!r}; there are {', '.join(SOURCES)}.")
    return value


def in_option(told: str = ONLY_SOURCE) -> Callable[[F], F]:
    """For commands over a whole memory. "" is every source."""
    return click.option(
        "--in",
        "imported_from",
        metavar="SOURCE",
        default="",
        callback=_a_source,
        help=told,
    )


profile_option = click.option(
    "--profile",
    type=click.Choice([str(profile) for profile in Profile]),
    help="Ranking profile. Default: the setting `recall.profile`.",
)


def filter_of(
    kinds: tuple[str, ...] = (),
    modalities: tuple[str, ...] = (),
    origins: tuple[str, ...] = (),
    since: str | None = None,
    until: str | None = None,
    *,
    history: bool = False,
    imported_from: str = "",
) -> SearchFilter:
    """The filter that these options make. Times are by this computer's clock."""
    from pagefault.cli.when import after_ms, first_ms
    from pagefault.model.errors import BadInput
    from pagefault.model.wanted import SearchFilter

    now = datetime.now(UTC)
    first = None if since is None else first_ms(since, now)
    after = None if until is None else after_ms(until, now)
    if first is not None and after is not None and first >= after:
        raise BadInput(
            f"--since {since!r} is later than --until {until!r}", hint="give the earlier as --since"
        )
    return SearchFilter(
        kinds=kinds,
        modalities=modalities,
        origins=origins,
        since=first,
        until=after,
        history=history,
        imported_from=imported_from,
    )


class QuestionVerb(Protocol):
    """A query to a session, or to a whole memory."""

    def __call__(
        self, asked: Asking, wanted: SearchFilter, limit: int, tokens: int | None
    ) -> Awaitable[SearchResult]: ...


def ask(
    app: App,
    question: QuestionVerb,
    *,
    session_name: str | None,
    everywhere: bool,
    limit: int,
    tokens: int | None,
    query: str = "",
    **filters: Any,
) -> None:
    """Run a query on a session, or on all of a memory, and print its hits."""
    wanted = filter_of(**filters)

    async def read() -> dict[str, Any]:
        async with app.reading() as memory:
            session = None if everywhere else await find_session(memory, session_name)
            result = await question(session or memory, wanted, limit, tokens)
            if not app.as_json:
                result = replace(result, hits=await _for_people(memory, result.hits, everywhere))
            judging = await memory.reranking()
            if judging is not None and judging.failure:
                app.term.note(f"ordered by words alone: {judging.failure}")
            told: dict[str, Any] = {
                "session": session.called if session else None,
                "query": query,
                "total": result.total,
                "left_out": result.left_out,
                "tokens": result.tokens,
                "hits": await _hits(memory, session, result, titled=not app.as_json),
            }
            if not app.as_json:
                told["is_by_kin"] = await _is_by_kin(memory, query, result)
            return told

    found = app.run(read())
    if app.as_json:
        app.term.data(found)
    else:
        _print(app, found)


def search_words(
    app: App,
    words: tuple[str, ...],
    *,
    session_name: str | None = None,
    everywhere: bool = False,
    topic: str = "",
    task: str = "",
    profile: str | None = None,
    **options: Any,
) -> None:
    """Search one session or all: `recall search`, `pages search` and `search`."""
    query = " ".join(words)
    if not query.strip():
        from pagefault.model.errors import BadInput

        raise BadInput(
            "there are no words to search for",
            hint="`pagefault recall recent` lists the latest pages",
        )
    ask(
        app,
        lambda asked, wanted, limit, tokens: asked.recall(
            query,
            limit=limit,
            wanted=wanted,
            topic=topic,
            task=task,
            tokens=tokens,
            profile=profile or "",
        ),
        session_name=session_name,
        everywhere=everywhere,
        query=query,
        **options,
    )


async def _for_people(
    memory: Memory, hits: Sequence[SearchHit], everywhere: bool
) -> tuple[SearchHit, ...]:
    """The hits of a table, in its order."""
    from pagefault.views.sources import sources_first, worth_showing

    hits = worth_showing(hits)
    if everywhere:
        # By the relevance that is printed, which is not the rank: a low coverage caps it.
        hits = await sources_first(memory, sorted(hits, key=lambda hit: -round(hit.relevance, 2)))
    return tuple(hits)


async def _is_by_kin(memory: Memory, query: str, result: SearchResult) -> bool:
    """Whether words matched, but no page has a word of the query itself."""
    from pagefault.model.errors import ArchiveMissing, RecordGone
    from pagefault.recall.excerpt import has_word

    matched = [hit for hit in result.hits if hit.marks]
    for hit in matched:
        try:
            page = await memory.read(hit.page)
        except (ArchiveMissing, RecordGone):
            return False
        if has_word(f"{page.title} {page.text}", query):
            return False
    return bool(matched)


async def _hits(
    memory: Memory, session: Session | None, result: SearchResult, *, titled: bool
) -> list[dict[str, Any]]:
    """Their sessions by name; if `titled`, by the short name that `sessions` lists, and an imported
    one's by its title, which is a name too, unless other sessions are found by it. Pages of other
    sessions that say the same are then told with their session.
    """
    names = await names_of(memory, briefly=titled and session is None) if result.hits else {}
    rows = await memory.sessions() if any(hit.source or hit.also for hit in result.hits) else ()
    ids = {row.session: row.session_id for row in rows}
    if titled and session is None and any(hit.source for hit in result.hits):
        shown = {ids.get(row.session, "") for hit in result.hits for row in (hit.page, *hit.also)}
        names |= await titles_that_name(memory, rows, shown)

    def copy_name(page: PageRow, hit: SearchHit) -> str:
        """A page of another session may have the hit's own id."""
        if session is not None or page.session == hit.page.session or page.session not in ids:
            return page.page_id
        return f"{names[ids[page.session]]}/{page.page_id}"

    resident = None if session is None else await resident_pages(memory, session)
    return [
        {
            "session": names.get(hit.session_id, "(forgotten)"),
            "session_id": hit.session_id,
            "page_id": hit.page.page_id,
            "turn": hit.page.turn,
            "role": str(hit.page.role),
            "speaker": hit.speaker,
            "kind": str(hit.page.kind),
            "modality": str(hit.page.modality),
            "origin": str(hit.page.origin),
            "said_at": iso(hit.page.said_ms),
            "occurred_at": hit.occurred_at,
            "tokens": hit.page.tokens,
            "history": bool(hit.page.superseded),
            "lapse": hit.lapse,
            "relevance": round(hit.relevance, 3),
            "coverage": round(hit.coverage, 3),
            "score": round(hit.score, 4),
            "parts": {name: round(value, 4) for name, value in hit.parts.items()},
            "excerpt": hit.excerpt,
            "marks": [list(mark) for mark in hit.marks],
            "why": hit.why,
            "hint": await _begins(memory, hit),
            "resident": None if resident is None else hit.page.page_id in resident,
            "also": [copy_name(row, hit) if titled else row.page_id for row in hit.also],
            "also_in": [
                hit.session_id if row.session == hit.page.session else ids.get(row.session, "")
                for row in hit.also
            ],
            "archive": hit.archive,
            "source": hit.source,
            "project": hit.project,
        }
        for hit in result.hits
    ]


async def _begins(memory: Memory, hit: SearchHit) -> str:
    from pagefault.model.errors import ArchiveMissing, RecordGone
    from pagefault.recall.hint import begins

    try:
        page = await memory.read(hit.page)
    except (ArchiveMissing, RecordGone) as gone:
        return instead_of(gone)
    return begins(page)


def instead_of(gone: Exception) -> str:
    """The replacement for a page's first words, if it has none to show."""
    from pagefault.model.errors import ArchiveMissing, RecordDamaged

    if isinstance(gone, ArchiveMissing):
        return "(archived)"
    return "(damaged)" if isinstance(gone, RecordDamaged) else "(forgotten)"


def _print(app: App, found: dict[str, Any]) -> None:
    hits, where = found["hits"], called(found["session"]) if found["session"] else "any session"
    if not hits:
        app.term.note(_nothing(found, where))
        return
    is_ranked = any(hit["score"] for hit in hits)
    if not found["session"]:
        room = app.term.width // 3
        hits = [hit | {"session": cut(str(hit["session"]), room)} for hit in hits]
    columns = _columns(hits, everywhere=not found["session"], is_ranked=is_ranked)
    app.term.table(
        list(columns),
        [[_cell(hit, field) for field in columns.values()] for hit in hits],
        right="relevance tokens",
        spare=("tokens", "also", "from", "who", "said"),
        below=[_shown(app, hit) for hit in hits] if is_ranked else (),
    )
    _tell_of_archives(app, hits)
    if found["is_by_kin"]:
        app.term.note("no page has these words themselves: these have words that begin alike")
    more = f", {found['left_out']} left out for their tokens" if found["left_out"] else ""
    first = hits[0]
    app.term.note(
        f"{len(hits)} of {plural(found['total'], 'page')} in {where}{more}; "
        f"`{app.to_show(first['page_id'], first['session_id'], first['source'])}` shows the first"
    )
    if found["session"] and not _is_known(hits):
        app.term.note(CLIENT_DECIDES)


def _columns(hits: list[dict[str, Any]], *, everywhere: bool, is_ranked: bool) -> dict[str, str]:
    """The columns that some hit fills, each with the field that it shows."""
    is_imported = any(hit["source"] for hit in hits)
    wanted = (
        (everywhere, "session", "session"),
        (True, "id", "page_id"),
        (is_ranked, "relevance", "relevance"),
        (not is_ranked, "when", "said_at"),
        (True, "who", "who"),
        (True, "tokens", "tokens"),
        (is_imported, "from", "from"),
        (is_imported and is_ranked, "said", "said_at"),
        (any(hit["also"] for hit in hits), "also", "also"),
        (_is_known(hits) or any(hit["history"] or hit["lapse"] for hit in hits), "state", "state"),
        (not is_ranked, "begins", "hint"),
    )
    return {name: field for is_wanted, name, field in wanted if is_wanted}


def _is_known(hits: list[dict[str, Any]]) -> bool:
    """Whether it is known what the window holds. The client of a proxy decides that itself."""
    return any(hit["resident"] is not None for hit in hits)


def _shown(app: App, hit: dict[str, Any]) -> str:
    """The part of a page that was found, with its words in bold; or what else matched."""
    from pagefault.recall.excerpt import Excerpt, narrowed
    from pagefault.views.texts import WHY_FOUND

    why = f"  ({WHY_FOUND[hit['why']]})" if hit["why"] in WHY_FOUND else ""
    if not hit["excerpt"]:
        return str(hit["hint"]) + why
    whole = Excerpt(hit["excerpt"], tuple((start, end) for start, end in hit["marks"]))
    text, marks = narrowed(whole, max(app.term.width - 2 - len(why), 20))
    parts: list[str] = []
    at = 0
    for start, end in marks:
        parts += [printable(text[at:start]), app.term.style(printable(text[start:end]), "bold")]
        at = end
    return "".join([*parts, printable(text[at:]), app.term.style(why, "dim")])


def _nothing(found: dict[str, Any], where: str) -> str:
    if found["left_out"]:
        return f"none of {plural(found['total'], 'page')} in {where} fits so few tokens"
    if found["query"]:
        return f"no matches in {where}; try other words"
    return f"no page in {where} is as asked for"


def _cell(hit: dict[str, Any], field: str) -> str:
    match field:
        case "relevance":
            return f"{hit['relevance']:.2f}"
        case "who":
            return str(hit["speaker"] or hit["role"])
        case "also":
            first, more = hit["also"][:1], len(hit["also"]) - 1
            return "".join(first) + (f" +{more}" if more > 0 else "")
        case "from":
            return f"{hit['source']} {hit['project']}".strip()
        case "tokens":
            return f"{hit['tokens']:,}"
        case "said_at":
            return local(int(datetime.fromisoformat(hit["said_at"]).timestamp() * 1000))
        case "state":
            words = ["in window"] if hit["resident"] else []
            words += ["history"] if hit["history"] else []
            return ", ".join([*words, *filter(None, [hit["lapse"]])])
    return str(hit[field])


def _tell_of_archives(app: App, hits: list[dict[str, Any]]) -> None:
    """Name the archive that is away, if some of these hits are in one."""
    away = [hit for hit in hits if hit["archive"]]
    if away:
        what = f"the text of {plural(len(away), 'hit')} is in the archive at {away[0]['archive']}"
        app.term.warn(f"{what}, which is not there: mount it, or put it back, to read it")
