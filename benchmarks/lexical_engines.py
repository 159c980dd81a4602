"""Two full-text engines beside each other: SQLite's FTS5 as the index uses it, and tantivy.

    python benchmarks/lexical_engines.py PAGES

needs `pip install tantivy`. Both get the same analysed terms of the same made-up pages; both are
asked for the 200 likeliest pages of the same six-word questions. FTS5 is also asked as it is,
`ORDER BY rank`, to tell what reading every posting costs.
"""

from __future__ import annotations

import random
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import apsw
import tantivy

from pagefault.lab.kernel import BATCH, SESSION_PAGES, question, words
from pagefault.language.analyzer import analyze, query_terms
from pagefault.model.events import Body, Event, PageBody, Said, SessionOpened
from pagefault.model.ids import PageId, Seq, SessionNo, TurnNo
from pagefault.model.kinds import RUNTIME, USER_TYPED, Actor, EventType, Mode, Role
from pagefault.model.page import EVERYTHING, Scope
from pagefault.store.embedded.index import SqliteIndex

QUESTIONS = 200
CANDIDATES = 200


def pages(count: int) -> Iterator[list[str]]:
    chance = random.Random(7)
    for start in range(0, count, BATCH):
        yield [words(chance) for _ in range(min(BATCH, count - start))]


def quantiles(ask: Callable[[str], object]) -> str:
    chance = random.Random(11)
    asked = [question(chance) for _ in range(QUESTIONS)]
    for text in asked[:20]:
        ask(text)
    times = []
    for text in asked:
        began = time.perf_counter()
        ask(text)
        times.append(1000 * (time.perf_counter() - began))
    times.sort()
    return f"p50 {times[len(times) // 2]:8.2f}   p95 {times[int(0.95 * len(times))]:8.2f} ms"


def say(name: str, value: object) -> None:
    sys.stdout.write(f"{name:<44}{value}\n")
    sys.stdout.flush()


def fts5(count: int, folder: Path) -> None:
    path = folder / "index.db"
    index = SqliteIndex.create(path, root_id="benchmark")
    seconds, seq, session, order = 0.0, 0, SessionNo(0), 0
    for texts in pages(count):
        events = []
        for text in texts:
            if not session or order == SESSION_PAGES:
                seq, order = seq + 1, 0
                session = SessionNo(seq)
                events.append(_event(seq, session, _opened(seq)))
            seq += 1
            events.append(_event(seq, session, _content(text, order)))
            order += 1
        began = time.perf_counter()
        index.apply(events)
        index.tidy()
        seconds += time.perf_counter() - began
    say("fts5: a page, tables and analysis included", f"{1e6 * seconds / count:.0f} µs")
    began = time.perf_counter()
    while index.tidy():
        pass
    say("fts5: merging that was left", f"{time.perf_counter() - began:.1f} s")
    one = Scope(((SessionNo(1), Seq(2**62)),))

    def ask(scope: Scope) -> Callable[[str], object]:
        return lambda text: index.candidates(scope, query_terms(text), limit=CANDIDATES)

    say("fts5: 200 candidates of everything", quantiles(ask(EVERYTHING)))
    say("fts5: 200 candidates of one session", quantiles(ask(one)))
    db = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)

    def by_rank(text: str) -> object:
        match = " OR ".join(f'"{term}"' for term in query_terms(text))
        return db.execute(
            "SELECT rowid FROM event_fts WHERE event_fts MATCH ? ORDER BY rank LIMIT 200", (match,)
        ).fetchall()

    say("fts5: ORDER BY rank, everything", quantiles(by_rank))
    size = db.execute("SELECT sum(length(block)) FROM event_fts_data").fetchall()[0][0]
    say("fts5: bytes a page, postings alone", f"{size / count:.0f}")
    db.close()
    began = time.perf_counter()
    index.forget([Seq(seq)], [])
    say("fts5: forgetting one page for good", f"{time.perf_counter() - began:.1f} s")
    index.close()


def _opened(seq: int) -> SessionOpened:
    return SessionOpened(
        session_id=f"s{seq}", name=f"s{seq}", window_tokens=1, mode=Mode.PASSIVE, system=""
    )


def _content(text: str, order: int) -> Said:
    return Said(
        event_type=EventType.CHAT_TURN,
        page_id=PageId(f"msg_{order + 1}"),
        order=order,
        role=Role.USER,
        text=text,
        tokens=60,
    )


def _event(seq: int, session: SessionNo, body: Body) -> Event:
    return Event(
        seq=Seq(seq),
        event_id=str(seq),
        session=session,
        turn=TurnNo(0),
        at_ms=0,
        actor=Actor.USER,
        origin=USER_TYPED if isinstance(body, PageBody) else RUNTIME,
        body=body,
    )


def rival(count: int, folder: Path) -> None:
    folder.mkdir()
    builder = tantivy.SchemaBuilder()
    builder.add_text_field("terms", tokenizer_name="whitespace", index_option="freq")
    builder.add_unsigned_field("session", indexed=True, fast=True)
    builder.add_unsigned_field("seq", stored=True, indexed=True, fast=True)
    index = tantivy.Index(builder.build(), path=str(folder))
    writer = index.writer(heap_size=50_000_000, num_threads=1)
    seconds = 0.0
    for number, texts in enumerate(pages(count)):
        began = time.perf_counter()
        for offset, text in enumerate(texts):
            seq = number * BATCH + offset + 1
            document = tantivy.Document()
            document.add_text("terms", " ".join(analyze(text)))
            document.add_unsigned("session", seq // SESSION_PAGES)
            document.add_unsigned("seq", seq)
            writer.add_document(document)
        if number % 4 == 3:
            writer.commit()
        seconds += time.perf_counter() - began
    writer.commit()
    say("tantivy: a page, analysis included", f"{1e6 * seconds / count:.0f} µs")
    commits = []
    for number in range(20):
        document = tantivy.Document()
        document.add_text("terms", f"late {number}")
        document.add_unsigned("session", 0)
        document.add_unsigned("seq", count + number)
        writer.add_document(document)
        began = time.perf_counter()
        writer.commit()
        commits.append(1000 * (time.perf_counter() - began))
    say("tantivy: a commit of one page", f"{sorted(commits)[10]:.1f} ms")
    writer.wait_merging_threads()
    index.reload()
    searcher = index.searcher()

    def ask(extra: str) -> Callable[[str], object]:
        def asked(text: str) -> object:
            query = index.parse_query(f"({' '.join(query_terms(text))}){extra}", ["terms"])
            return searcher.search(query, CANDIDATES, count=False)

        return asked

    say("tantivy: 200 candidates of everything", quantiles(ask("")))
    say("tantivy: 200 candidates of one session", quantiles(ask(" AND session:1")))
    size = sum(file.stat().st_size for file in folder.iterdir())
    say("tantivy: bytes a page", f"{size / count:.0f}")


def main(count: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        fts5(count, Path(folder))
        rival(count, Path(folder) / "tantivy")


if __name__ == "__main__":
    main(int(sys.argv[1]))
