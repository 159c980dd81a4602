"""What values look like at a prompt and in a notebook: a few lines, a table, the map; all inert."""

from __future__ import annotations

import re
from dataclasses import replace
from html.parser import HTMLParser

import pagefault.sync
from pagefault import PageId
from pagefault.model.reprs import bar, html_table, inert, marked_html
from pagefault.recall.search import SearchResult
from tests.service.memories import fault, words

HOSTILE = "<img src=x onerror=steal()> \x1b]0;owned\x07 \u202egnp"


class Shown(HTMLParser):
    """The tags of a piece of HTML, and its text."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.text = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)

    def handle_data(self, data: str) -> None:
        self.text += data


def test_a_session_its_status_and_what_it_finds_can_be_read_at_a_prompt() -> None:
    with pagefault.sync.open(":memory:", window=1_600) as memory:
        session = memory.session("planning")
        for number in range(7):
            session.user(f"Oak {number}. {HOSTILE} {words(60, f'w{number}')}", speaker="Mira")
            session.request()
            session.assistant(f"Noted {number}.")
        status, hits = session.status(), session.recall("oak", limit=2)
        assert repr(memory).startswith("Memory in this process · ")
        assert repr(session) == (
            "Session 'planning' · 7 turns · 14 pages · window "
            f"{status.request_tokens:,}/{status.window_tokens:,}"
        )
        lines = repr(status).splitlines()
        assert lines[0] == "Session  'planning' · 7 turns"
        assert f"{status.request_tokens:,} of 1,600 tokens" in lines[1]
        assert (lines[3], status.epoch) == ("Requests 7 · 1 rewrite", 1)
        counted, *told = repr(hits).splitlines()
        assert (counted, len(told)) == (f"{hits.total} pages found, 2 shown", 2)
        assert told[0].startswith(f"  {hits.hits[0].page.page_id} · Mira · ")
        assert all(line.isprintable() for line in (*lines, *told)), "nothing acts on a terminal"
        page = session.page("msg_1")
        assert repr(page).startswith(f"msg_1 · Mira · {page.created_at:%Y-%m-%d %H:%M} · ")
        assert repr(page).isprintable()
        claim = session.remember("Oak 6")
        [check] = session.validate_claims(dry_run=True)
        assert repr(check).splitlines()[0] == f"{claim} · pass · not recorded"
        rows = [memory.sessions()[0], memory.pages(session, limit=1)[0]]
        then = [session.at(turn=6), session.sent(6), session.history("msg_1")[0]]
        values = [*rows, *then, session.known("oak"), session.known("Was it pine?")]
        printed = [repr(one).splitlines() for one in values]
        begun = (
            r"ses_\w+ · 'planning' · 7 turns · \d+ pages · last used 20",
            r"msg_1 · user · 20.* · transcript · \d+ tokens$",
            r"Moment \d+ · turn 6 · 20.* · request 6 · [\d,]+ of 1,600 tokens · \d+ pages$",
            r"Request 6 · turn 6 · 20.* · \d+ messages · [\d,]+ of 1,600 tokens$",
            r"msg_1 · created · turn 0 · 20.* · user · - → L0 · chat_turn$",
            rf"known · {claim}",
            r"never_said · not in memory: nobody said it here$",
        )
        for shape, [first, *more] in zip(begun, printed, strict=True):
            assert re.match(shape, first), (shape, first)
            assert len(more) <= 6
            assert all(one.isprintable() and len(one) < 240 for one in (first, *more))
        pack = session.pack("oak")
        change = repr(replace(pack, sections={}).since(pack))
        assert re.match(r"Pack difference · 0 added · [1-9]\d* removed\n", change)
        shown = Shown(hits._repr_html_())
        assert set(shown.tags) <= {"table", "thead", "tbody", "tr", "th", "td", "b", "p"}
        assert "onerror" in shown.text, "quoted, and not obeyed"
        assert re.search(r"<b>oak</b>", hits._repr_html_(), re.IGNORECASE)
    assert repr(session).startswith("Session 'planning'"), "closed, it still says what it was"


def test_a_map_draws_itself_and_lists_where_each_message_was() -> None:
    with pagefault.sync.open(":memory:", window=1_600) as memory:
        session = memory.session("planning")
        assert "Nothing to draw yet" in session.memory_map()._repr_html_()
        for number in range(12):
            session.user(f"Oak {number}. {words(60, f'w{number}')}")
            session.request()
            session.assistant(f"Noted {number}.")
        session.user("Which was first?")
        session.request()
        session.call(fault("msg_1"))
        session.request()
        of, ledger = session.memory_map(), session.ledger()
        per_turn, whole = session.metrics(per_turn=True), session.metrics()
    drawn, spans = of._repr_html_(), of.to_dicts()
    assert [tag for tag in Shown(drawn).tags if tag in ("script", "img", "a")] == []
    coloured = {"brought_back": "#e0702f", "in_window": "#3f86ad"}
    for place, colour in coloured.items():
        [path] = re.findall(rf'<path fill="{colour}" d="([^"]*)"', drawn)
        assert path.count("M") == sum(one["place"] == place for one in spans) > 0
    first = [one for one in spans if one["first"] == PageId("msg_1")]
    assert [one["place"] for one in first] == ["in_window", "brought_back"]
    assert first[-1]["last_request"] == of.requests - 1
    calls = ledger.to_dicts()
    assert [one["request"] for one in calls] == list(range(of.requests))
    assert [one["prompt_tokens"] for one in calls] == [one.packed.tokens for one in ledger]
    assert f"{of.requests} requests" in repr(ledger)
    assert f"{of.requests} requests" in repr(of)
    assert Shown(ledger._repr_html_()).tags.count("tr") == of.requests + 1
    assert [one["turn"] for one in per_turn.to_dicts()] == list(range(13))
    assert whole.to_dicts() == [whole.figures]


def test_hits_are_rows_of_plain_values() -> None:
    with pagefault.sync.open(":memory:") as memory:
        memory.session("s").user("Oak for the shelves.", speaker="Mira")
        [row] = memory.recall("oak").to_dicts()
    assert (row["page_id"], row["speaker"], row["turn"]) == ("msg_1", "Mira", 0)
    assert all(isinstance(value, str | int | float) for value in row.values())
    assert repr(SearchResult()) == "0 pages found"


def test_what_is_drawn_of_anything_stays_in_its_bounds() -> None:
    assert [len(bar(share)) for share in (-1.0, 0.0, 0.511, 1.0, 7.0)] == [14] * 5
    assert inert("a\n\tb\x1b[31m" + "c" * 200, 12) == "a b\ufffd[31mccc…"
    assert marked_html("a<b&c", [(1, 2), (4, 5)]) == "a<b>&lt;</b>b&amp;<b>c</b>"
    assert "<th>&lt;</th>" in html_table(["<"], [], "a & b")


def test_packs_claims_cards_heat_and_core_are_a_line_or_a_few_and_inert() -> None:
    with pagefault.sync.open(":memory:") as memory:
        session = memory.session("店")
        session.user("Let's use PostgreSQL 16 for the database")
        session.heat_add(f"Größe: 5 {HOSTILE}")
        session.core_append("human", f"Ånn {HOSTILE}", origin="web")
        session.archival_insert(f"紅茶 {HOSTILE}")
        for number in range(9):
            session.user(f"PostgreSQL, number {number}: {HOSTILE} {words(20, f'w{number}')}")
        [claim], [card], [item] = session.claims(), session.cards(), session.heat_hot()
        assert repr(claim) == (
            "clm_1 · decision · standing · user · Let's use PostgreSQL 16 for the database"
        )
        assert repr(card).startswith("clm_1 · decision · unchecked · user · Let's use")
        assert repr(item).startswith("note_1 · hot · ")
        [core], [note] = session.core(proposed=True), session.archival_search("紅茶")
        assert repr(core).startswith("human · core_1 · ")
        assert "· proposed · Ånn <img" in repr(core)
        assert repr(note).startswith("note_2 · 店 · 2")
        assert "Heat · hot 1 (" in repr(session.heat_status())
        assert repr(session.heat_recall("紅茶")).startswith("1 item found · ")
        pack = session.pack("PostgreSQL")
        first, *lines = repr(pack).splitlines()
        assert first.startswith("Pack task · 'PostgreSQL' · ")
        assert (len(lines), lines[-1]) == (6, f"  … {len([*pack.lines]) - 5} more")
        shown = (claim, card, item, core, note, session.heat_recall("紅茶"), pack)
        for line in "\n".join(map(repr, shown)).splitlines():
            assert line.isprintable(), "nothing acts on a terminal"
            assert len(line) < 240
