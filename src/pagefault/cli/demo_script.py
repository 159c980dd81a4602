"""The demo's script: a recorded conversation, and questions about what has left the window.

Everything goes through the public verbs, and searches and faults are read from the requests, as an
engine sees them.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from importlib.resources import as_file, files
from itertools import groupby
from typing import TYPE_CHECKING, Any, Final

from pagefault.cli.claim_objects import claim_object
from pagefault.cli.demo_view import SESSION
from pagefault.engine.scripted import ScriptedEngine
from pagefault.lab.replay import Watched
from pagefault.lab.transcripts import Conversation, Line, read_conversations
from pagefault.model.kinds import Role
from pagefault.model.page import is_derived
from pagefault.model.request import Message, Request
from pagefault.pack.render import LABEL_TOKENS

if TYPE_CHECKING:
    from pagefault.model.ids import PageId
    from pagefault.service.memory import Memory
    from pagefault.service.session import Session
    from pagefault.service.turn.drive import Answer

WINDOW_TOKENS: Final = 3_000
QUESTIONS: Final = (
    "Who has an allergy, and to what?",
    "How much notice does Mr Lindqvist's lease need?",
    "How many votes did the name Spoke House get?",
    "When may the compressor not run?",
    "What does the Nordlicht insurance cost a year?",
    "What did the dentist say?",  # nobody mentioned one
)

Scene = tuple[str, dict[str, Any]]


async def play(memory: Memory) -> AsyncIterator[Scene]:
    """Play the scenes in order: conversation, week, evicted, question, claims, totals."""
    conversation = _recorded()
    session = await memory.session(SESSION, window=WINDOW_TOKENS, mode="active")
    replayed = (await session.status()).pages == 0
    yield "conversation", _opening(conversation, replayed=replayed)
    if replayed:
        async for scene in _replay(session, conversation):
            yield scene
    asked = []
    for number, text in enumerate(QUESTIONS, 1):
        fork = await session.fork(f"question {number}")
        facts = await _ask(fork, text)
        asked.append(facts)
        yield "question", {"number": number, "of": len(QUESTIONS), **facts}
    yield "claims", {"claims": [claim_object(one) for one in await session.claims()]}
    yield "totals", await _totals(memory, session, asked)


async def replay(session: Session) -> None:
    """Log the whole conversation in a session."""
    async for _ in _replay(session, _recorded()):
        pass


def _recorded() -> Conversation:
    with as_file(files("pagefault.lab") / "demo.jsonl") as path:
        [conversation] = read_conversations(path, "jsonl")
    return conversation


def _opening(conversation: Conversation, *, replayed: bool) -> dict[str, Any]:
    lines = conversation.lines
    return {
        "session": SESSION,
        "messages": len(lines),
        "speakers": list(dict.fromkeys(line.speaker for line in lines)),
        "from": lines[0].occurred_at,
        "to": lines[-1].occurred_at,
        "window_tokens": WINDOW_TOKENS,
        "replayed": replayed,
    }


async def _replay(session: Session, conversation: Conversation) -> AsyncIterator[Scene]:
    for week, lines in groupby(conversation.lines, key=_week):
        evicted: list[dict[str, Any]] = []
        day = ""
        for line in lines:
            day = day or line.occurred_at[:10]
            gone = await _say(session, line)
            if gone:
                evicted.append(gone)
        status = await session.status()
        facts = {
            "week": week,
            "from": day,
            "request_tokens": status.request_tokens,
            "window_tokens": status.window_tokens,
            "pages": status.pages,
            "resident_pages": status.resident_pages - status.resident_derived,
            "evicted": [],
        }
        yield "week", facts
        for gone in evicted:
            yield "evicted", gone


async def _say(session: Session, line: Line) -> dict[str, Any]:
    """Log one line. Returns the pages that left the window for it."""
    if line.role is Role.ASSISTANT:
        await session.assistant(line.text, speaker=line.speaker, occurred_at=line.occurred_at)
        return {}
    await session.user(line.text, speaker=line.speaker, occurred_at=line.occurred_at)
    before = _in_order(session)
    await session.request()
    after = set(session.resident())
    gone = [page for page in before if page not in after and not is_derived(page)]
    if not gone:
        return {}
    return {"at": line.occurred_at, "pages": len(gone), "first": gone[0], "last": gone[-1]}


async def _ask(fork: Session, text: str) -> dict[str, Any]:
    status, held = await fork.status(), _in_order(fork)
    shown = [page for page in held if not is_derived(page)]
    await fork.user(text, speaker="Mira")
    engine = Watched(ScriptedEngine())
    answer = await fork.run(engine)
    return {
        "question": text,
        "window": {
            "pages": len(shown),
            "of": status.pages,
            "first": shown[0],
            "last": shown[-1],
            "tokens": status.request_tokens,
        },
        **_calls(engine.requests[-1]),
        "answer": answer.text,
        "citations": [await _cited(fork, page, held, answer) for page in answer.citations],
        "request_tokens": answer.request_tokens,
        "requests": answer.requests,
    }


def _calls(request: Request) -> dict[str, Any]:
    """The searches and faults of the newest turn, from the request with their results."""
    results = {m.call_id: json.loads(m.content) for m in _newest(request) if m.role is Role.TOOL}
    searches: list[dict[str, Any]] = []
    faults: list[dict[str, Any]] = []
    for call in (call for message in _newest(request) for call in message.tool_calls):
        asked, result = json.loads(call.arguments), results[call.call_id]
        if call.name == "search_pages":
            hits = [
                {name: hit[name] for name in ("page_id", "relevance", "hint")}
                for hit in result.get("results", ())
            ]
            searches.append({"query": asked["query"], "hits": hits})
        else:
            refused = result.get("error", {}).get("code")
            tokens = result.get("effects", {}).get("tokens_est", 0)
            faults.append({"page_id": asked["page_id"], "tokens": tokens, "refused": refused})
    return {"searches": searches, "faults": faults}


def _newest(request: Request) -> list[Message]:
    users = [n for n, m in enumerate(request.messages) if m.role is Role.USER]
    return list(request.messages[users[-1] + 1 :])


async def _cited(fork: Session, page_id: str, held: list[PageId], answer: Answer) -> dict[str, Any]:
    page = await fork.page(page_id)
    return {
        "page_id": page_id,
        "valid": page_id not in answer.citations_invalid,
        "was_evicted": page_id not in held,
        "speaker": page.speaker,
        "occurred_at": page.occurred_at,
        "text": page.text,
    }


async def _totals(memory: Memory, session: Session, asked: list[dict[str, Any]]) -> dict[str, Any]:
    pages = await memory.pages(session, limit=100_000)
    verified = await memory.verify()
    cited = [one for facts in asked for one in facts["citations"]]
    served = [fault for facts in asked for fault in facts["faults"] if not fault["refused"]]
    return {
        "questions": len(asked),
        "answered": sum(bool(facts["citations"]) for facts in asked),
        "declined": sum(not facts["citations"] for facts in asked),
        "citations": len(cited),
        "citations_valid": sum(one["valid"] for one in cited),
        "recalled_evicted": sum(one["was_evicted"] for one in cited),
        "faults": len(served),
        "paged_in_tokens": sum(fault["tokens"] for fault in served),
        "conversation_tokens": sum(page.tokens + LABEL_TOKENS for page in pages),
        "request_tokens_max": max(facts["request_tokens"] for facts in asked),
        "records": verified.records,
        "problems": list(verified.problems),
    }


def _in_order(session: Session) -> list[PageId]:
    return sorted(session.resident(), key=lambda page: int(page.rpartition("_")[2]))


def _week(line: Line) -> str:
    from datetime import datetime

    year, week, _ = datetime.fromisoformat(line.occurred_at).isocalendar()
    return f"{year}-W{week:02}"
