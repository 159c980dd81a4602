"""The demo's output on a terminal."""

from __future__ import annotations

import shlex
import sys
from datetime import datetime
from pathlib import Path
from shutil import which
from typing import Any, Final

from pagefault.cli.term import Term, cut, plural, wrapped

SESSION: Final = "bike workshop"
_GAUGE: Final = 24
_INDENT: Final = " " * 13


def show(term: Term, scene: str, facts: dict[str, Any]) -> None:
    match scene:
        case "conversation":
            _conversation(term, facts)
        case "week":
            _week(term, facts)
        case "evicted":
            _evicted(term, facts)
        case "question":
            _question(term, facts)
        case "claims":
            _claims(term, facts["claims"])
        case "totals":
            _totals(term, facts)


def _conversation(term: Term, facts: dict[str, Any]) -> None:
    who = " and ".join("an assistant" if s == "Assistant" else s for s in facts["speakers"])
    when = f"{_day(facts['from'])} to {_day(facts['to'])}"
    term.line()
    term.line(term.style("A conversation outgrows its window", "bold"))
    term.line()
    term.line(f"{facts['messages']} messages between {who}, {when}, planning a community bike")
    term.line(
        f"workshop. The window holds {facts['window_tokens']:,} tokens, rules and tools included. "
        "No model and no network"
    )
    term.line("here: a scripted engine plays the model, and sees only what a model would see.")
    term.line()
    if not facts["replayed"]:
        term.line(f"The session {facts['session']!r} is in this memory already.")


def _week(term: Term, facts: dict[str, Any]) -> None:
    label = f"{_day(facts['from']):>10}"
    filled = min(_GAUGE, round(_GAUGE * facts["request_tokens"] / facts["window_tokens"]))
    gauge = term.style("█" * filled, "cyan") + term.style("░" * (_GAUGE - filled), "dim")
    term.line(
        f"{label}   {gauge} {facts['request_tokens']:>5,} tokens   "
        f"{facts['resident_pages']:>3} of {facts['pages']:>3} pages in the window"
    )


def _evicted(term: Term, facts: dict[str, Any]) -> None:
    term.line(
        term.style(
            f"{_INDENT}window full on {_day(facts['at'])}: {plural(facts['pages'], 'page')} "
            f"({facts['first']} … {facts['last']}) left it, and stay in the log",
            "yellow",
        )
    )


def _question(term: Term, facts: dict[str, Any]) -> None:
    window = facts["window"]
    term.line()
    number = term.style(f"{facts['number']}/{facts['of']}", "dim")
    term.line(f"{number}  {term.style('“' + facts['question'] + '”', 'bold')}")
    _field(
        term,
        "window",
        f"{window['pages']} of {window['of']} pages, {window['first']} … {window['last']}",
    )
    for search in facts["searches"]:
        best = " · ".join(f"{hit['page_id']} {hit['relevance']:.2f}" for hit in search["hits"][:4])
        _field(term, "search", f"“{search['query']}” → {best or 'nothing'}")
    if not facts["searches"]:
        _field(term, "search", "none needed: the window holds the answer")
    for fault in facts["faults"]:
        outcome = (
            f"refused: {fault['refused']}"
            if fault["refused"]
            else f"paged in from the log, {plural(fault['tokens'], 'token')}"
        )
        _field(term, "fault", f"{fault['page_id']} {outcome}", "magenta")
    for line in facts["answer"].split("\n"):
        _field(term, "answer", line, "green")
    for cited in facts["citations"]:
        away = "had left the window" if cited["was_evicted"] else "was in the window"
        when = cited["occurred_at"][:16].replace("T", " ")
        who = ", ".join(filter(None, (cited["speaker"], when)))
        _field(term, "page", " · ".join(filter(None, (cited["page_id"], who, away))))
        term.text(cited["text"], "dim", indent=_INDENT + "│ ", width=96)
    if not facts["citations"]:
        _field(term, "", "It was never mentioned: no page is cited, and nothing is made up.")


def _claims(term: Term, claims: list[dict[str, Any]]) -> None:
    """Decisions and facts, with the words that say so; outdated ones are dim."""
    term.line()
    term.line(term.style("Decisions and facts, found by rules, and where they were said", "bold"))
    for claim in claims:
        closed = f", superseded by {claim['closed_by']}" if claim["closed_by"] else ""
        style = "dim" if closed else "green"
        _field(term, claim["claim_id"], f"{claim['text']}{closed}", style)
        for span in claim["evidence"]:
            _field(term, "", f"{span['page_id']}: “{span['quote']}”", "dim")


def _field(term: Term, name: str, text: str, *styles: str) -> None:
    lines = wrapped(text, min(term.width, 96), _INDENT)
    head = f"     {name}".ljust(len(_INDENT))
    term.line(term.style(head, "dim") + term.style(lines[0].lstrip(), *styles))
    for line in lines[1:]:
        term.line(term.style(line, *styles))


def _totals(term: Term, facts: dict[str, Any]) -> None:
    term.line()
    good = facts["citations_valid"] == facts["citations"] and not facts["problems"]
    mark = term.style("✓", "green", "bold") if good else term.style("✗", "red", "bold")
    term.line(
        f"{mark} {facts['recalled_evicted']} answers cite pages that had left the window; "
        f"{facts['citations_valid']} of {plural(facts['citations'], 'citation')} valid; "
        f"{plural(facts['declined'], 'question')} declined"
    )
    term.line(
        f"{mark} {plural(facts['faults'], 'fault')} brought {facts['paged_in_tokens']:,} tokens "
        "back; "
        f"the largest request took {facts['request_tokens_max']:,}, the whole "
        f"conversation {facts['conversation_tokens']:,}"
    )
    sound = "verified, sound" if not facts["problems"] else "; ".join(facts["problems"])
    term.line(f"{mark} {plural(facts['records'], 'record')} in the log, {sound}")


def farewell(term: Term, root: str | None) -> None:
    """Suggestions for next steps."""
    kept = shlex.quote(root) if root else "demo-memory"
    home = kept if root and Path(root).is_absolute() else f'"$PWD"/{kept}'
    tries = [
        (f"export PAGEFAULT_HOME={home}", "use this memory in the commands below"),
        ("pagefault pages search grease", "look for yourself"),
        ("pagefault faults --forks", "every fault of the questions above"),
        ("pagefault claims", "what was decided, and what became of it"),
        (f"pagefault chat '{SESSION}' --engine scripted", "ask questions of your own"),
        ("pagefault report", "the whole session on one page of HTML"),
        ("pagefault doctor", "what is missing to talk to a real model"),
    ]
    if root is None:
        tries.insert(0, (f"pagefault demo --root {kept}", "the same, and keep the memory"))
    if which("pagefault") is None:  # as from a checkout, whose environment nobody activated
        folder = Path(sys.executable).parent
        told = folder.relative_to(Path.cwd()) if folder.is_relative_to(Path.cwd()) else folder
        begin = "" if told.is_absolute() else "$PWD/"
        tries.insert(0, (f'export PATH="{begin}{told}:$PATH"', "where this command is"))
    width = max(len(command) for command, _ in tries)
    term.line()
    term.line(term.style("Next", "bold"))
    for command, why in tries:
        room = max(term.width - width - 4, 10)
        term.line(f"  {command:<{width}}  {term.style(cut(why, room), 'dim')}")


def _day(when: str) -> str:
    moment = datetime.fromisoformat(when)
    return f"{moment.day} {moment:%b}"
