"""A word of its own in every field that the library takes: which of them a forgetting leaves, in
any encoding and in any file, and that the receipt tells of exactly those.
"""

from __future__ import annotations

import inspect
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

import pytest

import pagefault
from pagefault import (
    CardFacts,
    FileQuote,
    Incoming,
    Memory,
    Reply,
    ScriptedEngine,
    SearchFilter,
    Session,
    ToolCall,
)
from pagefault.model.clock import SystemClock
from pagefault.model.kinds import MODEL_GENERATED, EventType, Modality, Origin, Role
from pagefault.store.embedded.archiver import archive
from tests.service.memories import fault, search
from tests.service.traces import Files, canary
from tests.store.roots import make_segments_tiny

TELLING = ("str", "bytes", "datetime", "Incoming", "ToolCall", "Engine", "SearchFilter", "Time")
"""Types of parameters by which a caller's words come in."""

CHOICES = {
    "Memory.session.mode", "Memory.session.layout", "Memory.recall.profile",
    "Memory.session.control", "Memory.set_control.mode", "Session.set_control.mode",
    "Memory.set_retention.keep", "Memory.set_retention.kind",
    "Memory.create_region.scope", "Memory.create_region.consent", "Memory.set_policy.consent",
    "Memory.consent.mode", "Session.mount.mode",
    "Session.configure.mode", "Session.configure.layout", "Session.history.actor",
    "Session.recall.profile", "Session.record_event.event_type",
    "Memory.events.event_type", "Memory.events.outcome", "Memory.bill.by",
    "Memory.pack.pack_type", "Session.pack.pack_type",
    "Session.request.format", "Incoming.event_type", "Incoming.role",
    "Incoming.modality", "Incoming.importance", "Incoming.follows", "Incoming.supersedes",
    "Incoming.spliced",
    "Session.claim.kind", "Session.remember.kind", "Session.edit_claim.kind", "Session.known.kinds",
    "Session.validate_claims.verdict",
    "Session.heat_add.type", "Session.heat_recall.types", "Session.archival_insert.type",
    "Session.archival_insert.area", "Session.archival_search.type", "Session.archival_search.area",
    "Incoming.is_whole", "Incoming.goes_on", "Incoming.is_error", "Session.tool_result.media_type",
    "Incoming.source", "Incoming.mime_type", "Incoming.size_bytes",
    "Session.document.source", "Session.tool_result.source",
    "Memory.export.form", "Memory.keyed.text", "Memory.written.text", "Session.written.text",
    "Memory.find_said.names", "Memory.find_said.keys", "Memory.session_names.begins",
}  # fmt: skip
"""One of a few words of ours, or a number: anything else is refused."""

TIMES = {
    "Session.assistant.occurred_at", "Session.document.occurred_at",
    "Session.tool_result.occurred_at", "Session.artifact.occurred_at", "Incoming.occurred_at",
    "Session.at.time", "Session.page_at.time", "Session.fork.time",
    "Session.timeline.start", "Session.timeline.end",
    "Memory.timeline.start", "Memory.timeline.end",
    "Memory.events.since", "Memory.events.until", "Memory.bill.since", "Memory.bill.until",
    "Session.record_event.occurred_at",
    "Memory.pack.at", "Memory.synopsis.at", "Memory.digest.at", "Memory.digest.since",
    "Session.pack.at", "Session.synopsis.at", "Session.digest.at", "Session.digest.since",
    "Session.handoff.at",
}  # fmt: skip
"""A time, and no words; those that are kept are dates of their own below."""

NAMES_OF_OURS = {
    "Memory.forget.page_id", "Memory.forget.session",
    "Memory.usage.session", "Memory.events.session", "Memory.bill.session",
    "Memory.bill.per_million",
    "Memory.pack.sessions", "Memory.synopsis.sessions", "Memory.digest.sessions",
    "Memory.pack.query", "Session.pack.query",  # kept by nothing: test_context_packs.py
    "Memory.control_of.session", "Memory.set_control.session", "Memory.set_retention.session",
    "Incoming.origin",  # of a page, which tells it; `say` takes none
    "Memory.import_history.paths",  # whose words are looked for in test_imports.py
    "Memory.imports.source", "Memory.approve_import.run", "Memory.approve_import.session",
    "Memory.approve_import.source", "Memory.revoke_import.run", "Memory.revoke_import.session",
    "Memory.revoke_import.source",
    "Memory.origins.session", "Memory.origins.page_id",
    "Memory.is_withdrawn.session", "Memory.is_withdrawn.page_id", "Memory.raise_origin.session",
    "Memory.raise_origin.page_id", "Memory.raise_origin.digest", "Memory.revoke_origin.session",
    "Memory.revoke_origin.page_id", "Memory.revoke_origin.origin",
    "Memory.scrub.values",  # whose words are looked for in test_scrub.py
    "Memory.backup.target", "Memory.export.target", "Session.artifact_bytes.page_id",
    "Session.at_level.page_id", "Session.compress.page_id", "Session.defer.page_id",
    "Session.history.page_id", "Session.page.page_id", "Session.page_at.page_id",
    "Session.tiers.page_ids", "Session.pin.page_id",
    "Session.unpin.page_id", "Session.no_such_page.page_id", "Session.say.items",
    "Session.form.engine",  # what it makes memory of goes in test_formation.py
    "Session.run.engine", "Session.call.call", "Incoming.blob", "Session.run.on_text",
    "Session.claim.evidence", "Session.claim.replaces", "Session.remember.words",
    "Session.remember.page_id", "Session.remember.replaces", "Session.retract.claim_id",
    "Session.claim.derived_from", "Session.edit_claim.claim_id", "Session.edit_claim.evidence",
    "Session.edit_claim.derived_from", "Session.merge_claims.claim_ids",
    "Session.confirm_claim.claim_id", "Session.confirm_claim.digest",
    "Session.expire_claim.claim_id", "Session.contradict_claim.claim_id",
    "Session.contradict_claim.other", "Session.validate_claims.claim_ids",
    "Session.validate_claims.root", "FileQuote.root",  # places, which are not written down
    "Session.pack.root", "Memory.pack.root",
    "Session.heat_spill.item_ids", "Session.heat_promote.item_id", "Session.heat_prune.item_ids",
    "Session.core_accept.page_id", "Session.archival_insert.replaces",
    "Session.core_replace.old", "Session.core_replace.section",  # which stand there already
    "Session.import_blocks.text",  # whose words are looked for in test_core_memory.py
    "Session.assistant.calls", "Session.is_of_memory.call", "Session.replied.calls",
}  # fmt: skip
"""Names that pagefault gave, and values whose own fields are below."""


OF_REGIONS = {
    "Memory.create_region.name", "Memory.create_region.owner", "Memory.create_region.project",
    "Memory.create_region.read", "Memory.create_region.write", "Memory.create_region.promote",
    "Memory.fork_region.region", "Memory.fork_region.name", "Memory.fork_region.by",
    "Memory.set_policy.region", "Memory.set_policy.owner", "Memory.set_policy.by",
    "Memory.set_policy.read", "Memory.set_policy.write", "Memory.set_policy.promote",
    "Memory.consent.region", "Memory.consent.session", "Memory.consent.by",
    "Memory.assign.session", "Memory.assignment.session",
    "Session.mount.region", "Session.unmount.region",
    "Session.promote.page_id", "Session.promote.region",
    "Session.share.text", "Session.share.title", "Session.share.region",
}  # fmt: skip
"""What is no session's: the words of these are looked for in test_regions.py."""


@dataclass
class Told:
    """What was told, field by field: to which page it belongs, or to what of the session."""

    words: dict[str, str] = field(default_factory=dict)
    of: dict[str, set[str]] = field(default_factory=dict)
    pages: dict[str, str] = field(default_factory=dict)  # by what they are called here

    def word(self, field_: str, belongs_to: str) -> str:
        return self.add(field_, canary(field_), belongs_to)

    def add(self, field_: str, text: str, belongs_to: str) -> str:
        assert field_ not in self.words, "one field, one word"
        self.words[field_] = text
        self.of.setdefault(belongs_to, set()).add(field_)
        return text


def _parameters() -> Iterator[str]:
    """Every parameter of the public face that takes a caller's words."""
    for owner in (Memory, Session):
        for name, verb in inspect.getmembers(owner, inspect.isfunction):
            if not name.startswith("_"):
                for parameter in inspect.signature(verb).parameters.values():
                    if any(one in str(parameter.annotation) for one in TELLING):
                        yield f"{owner.__name__}.{name}.{parameter.name}"
    told = ("project_id", "branch", "path", "owner")
    yield from (f"CardFacts.{one.name}" for one in fields(CardFacts) if one.name in told)
    for cls in (Incoming, ToolCall, SearchFilter, Reply, FileQuote):
        yield from (f"{cls.__name__}.{one.name}" for one in fields(cls))


async def tell(memory: Memory) -> Told:
    """One session, with a word of its own in every field. Nothing else is said in it."""
    told = Told()
    word = told.word
    session = await memory.session(
        word("Memory.session.name", "name"), system=word("Memory.session.system", "system"),
        window=6_000,
    )  # fmt: skip
    # One turn for each page that is to be forgotten alone, with the calls that belong to it.
    told.pages["user"] = await session.user(
        f"We decided to use {word('Session.user.text', 'user')} for the login.",
        speaker=word("Session.user.speaker", "user"),
        key=word("Session.user.key", "user"),
        occurred_at=told.add("Session.user.occurred_at", "1987-03-14T05:17:00", "user"),
    )
    stated = await session.claim(
        word("Session.claim.value", "user"),
        evidence=[told.words["Session.user.text"]],
        subject=word("Session.claim.subject", "user"),
        origin="tool:" + word("Session.claim.origin", "user"),
        key=word("Session.claim.key", "user"),
    )
    words, name = word("FileQuote.words", "nothing"), word("FileQuote.path", "user")
    folder = tempfile.TemporaryDirectory()
    (Path(folder.name) / name).write_text(f"It says {words}.")
    derived = await session.claim(
        "What rests on it.",
        evidence=[told.words["Session.user.text"], FileQuote(words, name, folder.name)],
        facts=CardFacts(
            project_id=word("CardFacts.project_id", "user"),
            branch=word("CardFacts.branch", "user"),
            path=word("CardFacts.path", "user"),
            owner=word("CardFacts.owner", "user"),
        ),
        origin="model_generated",
    )
    folder.cleanup()
    [digest] = [one.digest for one in await session.claims() if one.claim_id == derived]
    lifted = await session.confirm_claim(
        derived, digest, key=word("Session.confirm_claim.key", "user")
    )
    edited = await session.edit_claim(
        lifted,
        value=word("Session.edit_claim.value", "user"),
        subject=word("Session.edit_claim.subject", "user"),
        key=word("Session.edit_claim.key", "user"),
    )
    first = await session.edit_claim(
        stated,
        facts=CardFacts(),
        kind="gotcha",
        origin="tool:" + word("Session.edit_claim.origin", "user"),
    )
    second = await session.claim(
        "Another.", evidence=[told.words["Session.user.text"]], kind="gotcha", origin="web"
    )
    await session.contradict_claim(
        first, second, origin="tool:" + word("Session.contradict_claim.origin", "nothing")
    )
    await session.expire_claim(
        second, origin="tool:" + word("Session.expire_claim.origin", "nothing")
    )
    await session.validate_claims([edited])
    await session.merge_claims(
        [first, second],
        value=word("Session.merge_claims.value", "user"),
        subject=word("Session.merge_claims.subject", "user"),
        origin="tool:" + word("Session.merge_claims.origin", "user"),
        key=word("Session.merge_claims.key", "user"),
    )
    claim_id = await session.remember(
        told.words["Session.user.text"],
        subject=word("Session.remember.subject", "user"),
        origin="tool:" + word("Session.remember.origin", "user"),
        key=word("Session.remember.key", "user"),
    )
    await session.retract(
        claim_id,
        origin="tool:" + word("Session.retract.origin", "user"),
        key=word("Session.retract.key", "user"),
    )
    await session.request()
    page = told.pages["user"]
    said = word("Session.call.said", "user")
    query, call_id = word("ToolCall.arguments", "user"), word("ToolCall.call_id", "user")
    await session.call(search(query, call_id=call_id), said=said)
    await session.call(fault(page, reason=word("ToolCall.arguments of a fault", "user")))
    await session.call(
        ToolCall("c", word("ToolCall.name", "user"), word("ToolCall.arguments unread", "user"))
    )
    told.pages["assistant"] = await session.assistant(
        f"Noted: {word('Session.assistant.text', 'assistant')}.",
        speaker=word("Session.assistant.speaker", "assistant"),
        model=word("Session.assistant.model", "assistant"),
        key=word("Session.assistant.key", "assistant"),
    )
    await session.user("On we go.")
    [told.pages["document"]] = await session.document(
        f"The text is {word('Session.document.text', 'document')}.",
        title=word("Session.document.title", "document"),
        origin="tool:" + word("Session.document.origin", "document"),
        key=word("Session.document.key", "document"),
    )
    await session.user("And on.")
    [told.pages["tool"]] = await session.tool_result(
        f"It returned {word('Session.tool_result.text', 'tool')}.",
        name=word("Session.tool_result.name", "tool"),
        call_id=word("Session.tool_result.call_id", "tool"),
        key=word("Session.tool_result.key", "tool"),
    )
    await session.user("And on and on.")
    told.pages["artifact"] = await session.artifact(
        word("Session.artifact.data", "artifact").encode(),
        name=word("Session.artifact.name", "artifact"),
        media_type="image/x-" + word("Session.artifact.media_type", "artifact"),
        text=word("Session.artifact.text", "artifact"),
        key=word("Session.artifact.key", "artifact"),
    )
    await session.user("Which way?")
    told.pages["call"] = await session.assistant(
        "", calls=[ToolCall("h", "maps", {"to": word("ToolCall.arguments of a host", "call")})]
    )
    [told.pages["result"]] = await session.tool_result(
        "h", {"via": word("Session.tool_result.result", "result")}
    )
    await session.user("And back?")
    told.pages["replied"], _ = await session.replied(
        word("Session.replied.text", "replied"), [ToolCall("r", "maps", "{}")], ""
    )
    await session.tool_result("r", "The same way.")
    told.pages["other call"], _ = await session.replied(
        "", [ToolCall("s", "maps", "{}")], word("Session.replied.model", "other call")
    )
    await session.tool_result("s", "There is no other.")
    await session.user("Still here.")
    [told.pages["renamed"]] = await session.say(
        [
            Incoming(
                text="[calls maps] {}",
                role=Role.ASSISTANT,
                event_type=EventType.TOOL_CALL,
                call_id="g",
                given_id=word("Incoming.given_id", "renamed"),
            )
        ],
        origin=MODEL_GENERATED,
    )
    await session.user("And here.")
    [told.pages["said"]] = await session.say(
        [
            Incoming(
                text=f"It says {word('Incoming.text', 'said')}.",
                role=Role.TOOL,
                event_type=EventType.COMMAND_RUN,
                speaker=word("Incoming.speaker", "said"),
                title=word("Incoming.title", "said"),
                call_id=word("Incoming.call_id", "said"),
                model=word("Incoming.model", "said"),
                key=word("Incoming.key", "said"),
                modality=Modality.STRUCTURED,
            )
        ],
        origin=Origin("tool:" + word("Session.say.origin", "said")),
    )
    told.pages["stated"] = await session.record_event(
        "file_change",
        f"It tells {word('Session.record_event.text', 'stated')}.",
        facts={"path": word("Session.record_event.facts", "stated"), "content": "secret"},
        key=word("Session.record_event.key", "stated"),
    )
    told.pages["goal"] = str(await session.goal(f"Ship {word('Session.goal.text', 'goal')}."))
    told.pages["hot"] = (
        await session.heat_add(
            f"Hot is {word('Session.heat_add.text', 'hot')}.",
            metadata={"m": word("Session.heat_add.metadata", "hot")},
            origin="tool:" + word("Session.heat_add.origin", "hot"),
            key=word("Session.heat_add.key", "hot"),
        )
    ).id
    await session.request()
    await session.heat_spill()
    told.pages["note"] = (
        await session.archival_insert(
            f"Noted is {word('Session.archival_insert.text', 'note')}.",
            metadata={"m": word("Session.archival_insert.metadata", "note")},
            origin="tool:" + word("Session.archival_insert.origin", "note"),
            key=word("Session.archival_insert.key", "note"),
        )
    ).page_id
    section = word("Session.core_append.section", "core")
    await session.core_append(section, f"I am {word('Session.core_append.text', 'core')}.")
    told.pages["core"] = (
        await session.core_replace(section, "I am", word("Session.core_replace.new", "core"))
    ).page_id
    for field_, page in (("append", "proposed"), ("replace", "edited")):
        origin = "tool:" + word(f"Session.core_{field_}.origin", page)
        if field_ == "append":
            made = await session.core_append("other", "No word of it", origin=origin)
        else:
            await session.core_append("third", "No word")
            made = await session.core_replace("third", "No word", "None", origin=origin)
        told.pages[page] = made.page_id
    await session.request()
    await session.user("Something else now: what does the harbour look like?")
    told.pages["answer"] = (
        await session.run(_Answers(word("Reply.text", "answer")))
    ).page_id  # fmt: skip
    await session.user("A turn that stays.")
    await session.request()
    await session.call(search(word("ToolCall.arguments elsewhere", "calls"), call_id="d"))
    await session.checkpoint(word("Session.checkpoint.name", "checkpoints"))
    await session.configure(system=word("Session.configure.system", "system"))
    await memory.assign(
        session.session_id,
        project=word("Memory.assign.project", "assignment"),
        user=word("Memory.assign.user", "assignment"),
    )
    for page_id in told.pages.values():
        for level in (1, 2):
            await session.compress(page_id, level)
    await session.request()
    await session.flush()
    await _ask(memory, session, told)
    return told


async def _ask(memory: Memory, session: Session, told: Told) -> None:
    """What only asks, and is kept nowhere."""

    def word(field_: str) -> str:
        return told.word(field_, "nothing")

    for owner, who in ((memory, "Memory"), (session, "Session")):
        await owner.recall(word(f"{who}.recall.query"))
        await owner.recall(topic=word(f"{who}.recall.topic"))
        await owner.recall(task=word(f"{who}.recall.task"))
        await owner.by_topic(word(f"{who}.by_topic.topic"))
        await owner.by_task(word(f"{who}.by_task.task"))
        for verb in ("recall", "recent", "timeline", "by_topic", "by_task"):
            told.word(f"{who}.{verb}.wanted", "nothing")
    await session.known(word("Session.known.query"))
    await session.heat_recall(word("Session.heat_recall.query"))
    await session.archival_search(word("Session.archival_search.query"))
    await session.conversation_search(word("Session.conversation_search.query"))
    await memory.events(
        path=word("Memory.events.path"),
        command=word("Memory.events.command"),
        test=word("Memory.events.test"),
    )
    wanted = SearchFilter(origins=("tool:" + told.words["Memory.recall.wanted"],))
    await memory.recall("harbour", wanted=wanted)
    told.word("Memory.forget_matching.wanted", "nothing")
    await memory.forget_matching(word("Memory.forget_matching.query"), wanted=wanted, dry_run=True)
    told.word("Memory.export.wanted", "nothing")
    await memory.export("nowhere", wanted=wanted, dry_run=True)
    await memory.pages(session, topic=word("Memory.pages.topic"))
    await memory.pages(session, task=word("Memory.pages.task"))
    with pytest.raises(pagefault.BadInput):
        await session.at(checkpoint=word("Session.at.checkpoint"))
    shown = next(iter(session.resident()))
    with pytest.raises(pagefault.BadInput):
        await session.page_at(shown, checkpoint=word("Session.page_at.checkpoint"))
    with pytest.raises(pagefault.BadInput):
        await session.fork(checkpoint=word("Session.fork.checkpoint"))
    with pytest.raises(pagefault.BadInput):
        await session.restore(word("Session.restore.checkpoint"))
    with pytest.raises(pagefault.SessionNotFound):
        await memory.session(word("Memory.session.name of none"), create=False)
    with pytest.raises(pagefault.NoSuchPage):
        await session.page(word("Session.page.page_id of none"))
    with pytest.raises(pagefault.SessionNotFound):
        await memory.recall("x", wanted=SearchFilter(session=word("SearchFilter.session")))


class _Answers(ScriptedEngine):
    """Answers every request with one word."""

    def __init__(self, word: str) -> None:
        super().__init__()
        self._word = word

    async def reply(self, request: pagefault.Request) -> Any:
        yield Reply(text=f"It looks {self._word}.")


def staying(told: Told, forgotten: pagefault.Forgetting) -> set[str]:
    """The fields of which a receipt says that they stay."""
    return {name for one in forgotten.stays for name in told.of.get(one.what, ())}


def kept(told: Told, pages: Mapping[str, str]) -> set[str]:
    """The fields of these pages."""
    return {name for page in pages for name in told.of.get(page, ())}


async def test_every_field_of_the_public_face_has_a_word_of_its_own() -> None:
    """A verb, or a field, that is added without one fails here."""
    async with pagefault.open(":memory:") as memory:
        told = await tell(memory)
        session = (await memory.sessions())[0].session_id
        fork = await (await memory.session(session)).fork(told.word("Session.fork.name", "fork"))
        assert fork.name
    covered = {name.split(" ")[0] for name in told.words}
    covered |= CHOICES | TIMES | NAMES_OF_OURS | OF_REGIONS
    covered |= {name for name in _parameters() if name.startswith(("SearchFilter.", "Reply."))}
    assert set(_parameters()) - covered == set()
    stale = CHOICES | TIMES | NAMES_OF_OURS | OF_REGIONS
    assert stale - set(_parameters()) == set(), "these are no parameters any more"


async def _told_in(root: Path, place: str, monkeypatch: pytest.MonkeyPatch) -> Told:
    """A root in which all was told, in many segments; in `archive` old ones are compressed."""
    make_segments_tiny(monkeypatch)
    async with pagefault.open(root, sync="os") as memory:
        told = await tell(memory)
    if place == "archive":
        assert archive(root, clock=SystemClock(), keep=0).segments
    return told


@pytest.mark.slow
@pytest.mark.parametrize("place", ["log", "archive"])
async def test_a_page_leaves_what_its_receipt_names_and_nothing_else(
    tmp_path: Path, place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = tmp_path / "m"
    told = await _told_in(root, place, monkeypatch)
    async with pagefault.open(root, sync="os") as memory:
        [row] = await memory.sessions()
        at_first = Files(root).traces(told.words)
        assert set(told.words) - set(at_first) == told.of["nothing"], "the control: all was there"
        left = dict(told.pages)
        for called, page_id in told.pages.items():
            del left[called]
            forgotten = await memory.forget(row.session_id, page_id)
            found = Files(root).traces(told.words)
            assert set(found) - kept(told, left) == staying(told, forgotten), found
            assert kept(told, left) <= set(found), "nothing else was asked to go"
        assert (await memory.verify()).problems == ()
    found = Files(root).traces(told.words)
    assert set(found) == staying(told, forgotten), "closed, too"
    assert {one.what for one in forgotten.stays} == {
        "calls", "checkpoints", "name", "system", "counts", "assignment",
    }  # fmt: skip
    async with pagefault.open(root) as memory:
        assert (await memory.verify()).problems == ()
        whole = await memory.forget(row.session_id)
        assert whole.stays == ()
        assert Files(root).traces(told.words) == {}
    assert Files(root).traces(told.words) == {}


@pytest.mark.slow
@pytest.mark.parametrize("place", ["log", "archive"])
async def test_a_session_leaves_what_its_receipt_names_and_nothing_else(
    tmp_path: Path, place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = tmp_path / "m"
    told = await _told_in(root, place, monkeypatch)
    async with pagefault.open(root, sync="os") as memory:
        [row] = await memory.sessions()
        session = await memory.session(row.session_id)
        fork = await session.fork(told.word("Session.fork.name", "fork"))
        await fork.user("It goes on here. What was decided for the login?")
        await fork.request()
        await fork.call(fault(told.pages["document"]))
        for page_id in told.pages.values():
            await fork.compress(page_id)
        await fork.flush()
        [receipt] = [await memory.forget(row.session_id)]
        stays, assigned = receipt.stays
        assert (stays.what, stays.session) == ("system", told.words["Session.fork.name"])
        assert (assigned.what, assigned.session_id) == ("assignment", stays.session_id)
        of_fork = {"Session.fork.name", "Session.configure.system", *told.of["assignment"]}
        assert set(Files(root).traces(told.words)) == of_fork
        assert (await memory.verify()).problems == ()
        last = await memory.forget(stays.session_id)
        assert last.stays == ()
        assert Files(root).traces(told.words) == {}
    assert Files(root).traces(told.words) == {}
    for path in root.glob("index.db*"):
        path.unlink()
    async with pagefault.open(root) as memory:
        assert (await memory.verify()).problems == ()
    assert Files(root).traces(told.words) == {}
