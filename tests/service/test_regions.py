"""Regions: who may see what of memory that sessions share, and what becomes of it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

import pytest

import pagefault
from pagefault import (
    AccessRefused,
    BadInput,
    Event,
    Memory,
    NoSuchPage,
    PageId,
    RegionNotFound,
    Session,
    StoreReadOnly,
)
from pagefault.model.events import Draft
from pagefault.model.ids import Seq
from pagefault.service.bootstrap import open_memory
from tests.service.memories import check_request, fault, faulted, search, text_of
from tests.service.test_retention import Clock
from tests.service.traces import Files, canary

WORD, OTHER, TITLE, OWNER, PROJECT, GRANT, NAME = map(
    canary, ("region", "other", "title", "owner", "project", "grant", "regionname")
)
SAID = f"The key of the boat house hangs behind the {WORD}."
ASKED = "Where does the key of the boat house hang?"


async def shelf(memory: Memory, **rules: object) -> tuple[Session, Session, str]:
    """A session that put a page on a shelf, one that looks there, and the page's id."""
    writer, reader = await memory.session("writer"), await memory.session("reader")
    said = await writer.user(SAID, speaker="Anna")
    await memory.create_region("shelf", **rules)  # type: ignore[arg-type]
    await writer.mount("shelf", "rw")
    brought = await writer.promote(said, "shelf")
    await reader.mount("shelf")
    return writer, reader, brought.pages[0]


async def asked(session: Session, question: str = ASKED) -> str:
    """A request after a question, as its model reads it."""
    await session.user(question)
    request = await session.request()
    check_request(request, question)
    return text_of(request)


# --- what a session sees --------------------------------------------------------------------------


async def test_a_session_sees_nothing_of_a_region_that_it_does_not_mount() -> None:
    async with pagefault.open(":memory:") as memory:
        _, reader, page = await shelf(memory)
        await reader.unmount("shelf")
        assert not (await reader.recall("boat house key")).hits
        assert WORD not in await asked(reader)
        assert (await faulted(reader, fault(page)))["error"]["code"] == "unknown_page"
        with pytest.raises(NoSuchPage):
            await reader.page(page)


async def test_what_a_region_holds_is_found_recalled_and_faulted_like_what_was_said() -> None:
    async with pagefault.open(":memory:") as memory:
        writer, reader, page = await shelf(memory)
        [hit] = (await reader.recall("boat house key")).hits
        assert (hit.page.page_id, hit.source, hit.speaker) == (page, "region:shelf", "Anna")
        assert hit.session_id == (await memory.regions())[0].region_id
        assert WORD in await asked(reader)
        assert page in reader.resident()
        late = await memory.session("late")
        await late.mount("shelf")
        await late.user("Good morning.")
        await late.request()
        [found] = (await faulted(late, search("boat house key")))["results"]
        assert found["page_id"] == page
        assert WORD in await late.call(fault(page, call_id="call_2"))
        assert page not in writer.resident()


async def test_the_pages_of_a_session_and_of_a_region_stand_in_the_order_of_their_likelihood() -> (
    None
):
    async with pagefault.open(":memory:") as memory:
        _, reader, page = await shelf(memory)
        own = await reader.user("The boat house was painted green in spring.")
        found = (await reader.recall("Where is the key of the boat house?")).hits
        assert {hit.page.page_id for hit in found} == {own, page}
        likely = [hit.relevance for hit in found]
        assert likely == sorted(likely, reverse=True)


WAYS = ("recent", "timeline", "by_topic", "by_task")


async def listings(session: Session) -> dict[str, list[str]]:
    """What each way of listing tells of the shelf, by its hits' sources."""
    found = {
        "recent": await session.recent(),
        "timeline": await session.timeline("2000-01-01"),
        "by_topic": await session.by_topic("boats"),
        "by_task": await session.by_task("BOAT-7"),
    }
    return {way: [hit.source for hit in told.hits if WORD in hit.excerpt] for way, told in
            found.items()}  # fmt: skip


async def test_listings_have_what_a_session_may_look_into_and_nothing_else() -> None:
    """`recent`, `timeline`, topics and tasks, as a search: by the policy of the moment."""
    here = {way: ["region:shelf"] for way in WAYS}
    nothing: dict[str, list[str]] = {way: [] for way in WAYS}
    async with pagefault.open(":memory:") as memory:
        writer, reader = await memory.session("writer"), await memory.session("reader")
        page = await writer.user(f"#boats BOAT-7: the key of the {WORD} hangs behind the door.")
        await memory.create_region("shelf")
        await writer.mount("shelf", "rw")
        [brought] = (await writer.promote(page, "shelf")).pages
        await reader.user("Good morning.")
        assert await listings(reader) == nothing
        await reader.mount("shelf")
        assert await listings(reader) == here
        assert [hit.page.page_id for hit in (await reader.recent()).hits] == ["msg_1", brought]
        kinds = pagefault.SearchFilter(kinds=("claim",))
        assert (await reader.recent(wanted=kinds)).hits == ()
        await memory.set_policy("shelf", read=["session:writer"])
        assert await listings(reader) == nothing
        await memory.set_policy("shelf", read=["anyone"])
        await memory.fork_region("shelf", "attic")
        await reader.mount("attic")
        assert {way: len(told) for way, told in (await listings(reader)).items()} == dict.fromkeys(
            WAYS, 1
        ), "a page that two regions share stands once"
        await reader.unmount("attic")
        await memory.revoke_origin("writer", page)
        assert await listings(reader) == nothing
        assert not (await writer.recent()).hits, "as a search: what was withdrawn is not told"
        await reader.unmount("shelf")
        assert await listings(reader) == nothing


async def test_a_page_of_a_region_is_shown_whole_or_not_at_all() -> None:
    """A shorter form would be a page of the session, and stay when the mount goes."""
    async with pagefault.open(":memory:") as memory:
        _, reader, page = await shelf(memory)
        for level in range(4):
            assert (await reader.at_level(page, level))[0] == 0
        assert await reader.compress(page, 2) is not None
        assert WORD in await reader.call(fault(page, level=2))
        assert not [row for row in await memory.pages(reader) if row.page_id != page]


async def test_every_verb_of_a_page_takes_one_of_a_region() -> None:
    async with pagefault.open(":memory:") as memory:
        _, reader, page = await shelf(memory)
        await asked(reader)
        assert (await reader.page(page, details=True)).access_count == 1
        assert [one.what for one in await reader.history(page)] == ["recalled"]
        assert (await reader.page_at(page, turn=0)).text == SAID
        with pytest.raises(BadInput, match="not written by then"):
            await reader.page_at(page, seq=3)
        assert (await reader.tiers([page]))[PageId(page)] == "L0"
        assert (await (await reader.defer(page)).page()).text == SAID
        assert page in [one.page_id for one in (await reader.at(turn=0)).pages]
        await reader.pin(page)
        assert page in (await reader.status()).pinned
        await reader.unpin(page)
        with pytest.raises(BadInput, match="no bytes"):
            await reader.artifact_bytes(page)
        with pytest.raises(pagefault.CallerError):
            await reader.claim("barometer", evidence=[pagefault.Quote(WORD, page)])
        with pytest.raises(pagefault.CallerError):
            await reader.remember(WORD, page_id=page)


async def test_a_region_is_no_session() -> None:
    async with pagefault.open(":memory:") as memory:
        await shelf(memory)
        assert {row.name for row in await memory.sessions()} == {"writer", "reader"}
        for name in ("region:shelf", "region:new", (await memory.regions())[0].region_id):
            with pytest.raises(BadInput, match="not a session"):
                await memory.session(name)
        with pytest.raises(BadInput, match="are regions"):
            await (await memory.session("writer")).fork("region:new")
        with pytest.raises(BadInput, match="name"):
            await memory.create_region("x" * 125)


# --- who may --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("scope", "may"),
    [
        ({"scope": "global"}, {"ann red", "ann blue", "bob red", "nobody's"}),
        ({"scope": "user", "owner": "ann"}, {"ann red", "ann blue"}),
        ({"scope": "project", "project": "red"}, {"ann red", "bob red"}),
        ({"read": ["session:nobody's"]}, {"nobody's"}),
        ({"read": []}, set()),
    ],
)
async def test_the_scope_of_a_region_says_whose_sessions_read_it(
    scope: dict[str, object], may: set[str]
) -> None:
    users = {"ann red": "ann", "ann blue": "ann", "bob red": "bob", "nobody's": ""}
    async with pagefault.open(":memory:") as memory:
        await memory.create_region("shelf", **scope)  # type: ignore[arg-type]
        found = set()
        for name, user in users.items():
            session = await memory.session(name)
            project = name.partition(" ")[2] if user else ""
            await memory.assign(name, user=user, project=project)
            if name in may:
                found |= {name} if (await session.mount("shelf")).is_open else set()
            else:
                with pytest.raises(AccessRefused, match="does not let") as refused:
                    await session.mount("shelf")
                assert "Memory.set_policy" in refused.value.hint
        assert found == may


async def test_whoever_mounts_to_write_waits_for_the_owner() -> None:
    async with pagefault.open(":memory:") as memory:
        await memory.create_region("shelf", owner="ann", write=["anyone"], promote=["anyone"])
        bob = await memory.session("bob")
        await memory.assign("bob", user="bob")
        page = await bob.user(SAID)
        mount = await bob.mount("shelf", "rw")
        assert (mount.is_open, mount.why) == (False, "consent")
        with pytest.raises(AccessRefused, match="has not agreed"):
            await bob.promote(page, "shelf")
        with pytest.raises(AccessRefused, match="the caller was not named"):
            await memory.consent("shelf", "bob", "rw")
        with pytest.raises(AccessRefused, match="another owner than 'bob'"):
            await memory.consent("shelf", "bob", "rw", by="bob")
        agreed = await memory.consent("shelf", "bob", "rw", by="ann")
        assert agreed is not None
        assert agreed.is_open
        assert (await bob.promote(page, "shelf")).done
        assert (await bob.share("And the oars stand there, too.", "shelf")).done


async def test_consent_taken_back_leaves_nothing_in_the_window() -> None:
    async with pagefault.open(":memory:", window=4_000) as memory:
        _, reader, page = await consented(memory)
        assert WORD in await asked(reader)
        await memory.consent("shelf", "reader", "none", by="ann")
        assert (await reader.mounts())[0].why == "consent"
        assert page not in reader.resident()
        assert WORD not in await asked(reader)
        assert (await faulted(reader, fault(page)))["error"]["code"] == "unknown_page"
        assert "unmounted" in {one.epoch for one in await reader.ledger()}
        await memory.consent("shelf", "reader", "ro", by="ann")
        assert WORD in await asked(reader, "And where does the key of the boat house hang now?")


async def consented(memory: Memory) -> tuple[Session, Session, str]:
    """As `shelf`, with an owner who agreed to both mounts."""
    everybody = ["anyone"]
    await memory.create_region(
        "shelf", owner="ann", read=everybody, write=everybody, promote=everybody, consent="always"
    )
    writer, reader = await memory.session("writer"), await memory.session("reader")
    said = await writer.user(SAID)
    await writer.mount("shelf", "rw")
    assert not (await reader.mount("shelf")).is_open
    await memory.consent("shelf", "writer", "rw", by="ann")
    await memory.consent("shelf", "reader", by="ann")
    brought = await writer.promote(said, "shelf")
    return writer, reader, brought.pages[0]


@pytest.mark.parametrize("to", ["promote", "share"])
async def test_who_only_reads_brings_nothing_there(to: str) -> None:
    async with pagefault.open(":memory:") as memory:
        _, reader, _ = await shelf(memory)
        page = await reader.user("Something else.")
        bring = reader.promote(page, "shelf") if to == "promote" else reader.share("x", "shelf")
        with pytest.raises(AccessRefused, match="has not mounted"):
            await bring


async def test_promoting_and_writing_are_granted_apart() -> None:
    async with pagefault.open(":memory:") as memory:
        await memory.create_region("shelf", write=["session:b"], promote=["session:a"])
        a, b = await memory.session("a"), await memory.session("b")
        pages = [await one.user(SAID) for one in (a, b)]
        for one in (a, b):
            await one.mount("shelf", "rw")
        assert (await a.promote(pages[0], "shelf")).done
        assert (await b.share("The oars stand there.", "shelf")).done
        with pytest.raises(AccessRefused, match="does not let session 'a' write"):
            await a.share("x", "shelf")
        with pytest.raises(AccessRefused, match="does not let session 'b' promote"):
            await b.promote(pages[1], "shelf")


async def test_a_dry_run_tells_and_changes_nothing() -> None:
    async with pagefault.open(":memory:") as memory:
        writer, reader, page = await shelf(memory)
        other = await writer.user("The oars stand in the shed.")
        before = memory.records
        assert (await memory.create_region("new", dry_run=True)).name == "new"
        assert (await memory.fork_region("shelf", "new", dry_run=True)).pages == 1
        assert (await memory.set_policy("shelf", read=[], dry_run=True)).read == ()
        await memory.consent("shelf", "reader", "none", dry_run=True)
        await memory.assign("reader", user="eve", dry_run=True)
        assert (await reader.mount("shelf", "rw", dry_run=True)).mode == "rw"
        assert (await reader.unmount("shelf", dry_run=True)).mode == "ro"
        told = await writer.promote(other, "shelf", dry_run=True)
        assert (told.done, told.pages, told.sources) == (False, (), (other,))
        assert not (await writer.share("x", "shelf", dry_run=True)).done
        assert memory.records == before
        assert [one.name for one in await memory.regions()] == ["shelf"]
        assert (await reader.page(page)).text == SAID


async def test_a_dry_run_tells_which_mounts_would_be_open() -> None:
    async with pagefault.open(":memory:") as memory:
        writer, reader = await memory.session("writer"), await memory.session("reader")
        await memory.assign("writer", user="ana")
        await memory.create_region("shelf", owner="ana", consent="always", read=["anyone"])
        for session in (writer, reader):
            await session.mount("shelf")

        async def opened(*, dry_run: bool, **rules: object) -> dict[str, bool]:
            told = await memory.set_policy("shelf", by="ana", dry_run=dry_run, **rules)  # type: ignore[arg-type]
            return {one.session: one.is_open for one in told.mounts}

        assert await opened(dry_run=True, consent="write") == {"writer": True, "reader": True}
        assert await opened(dry_run=True, owner="eve") == {"writer": False, "reader": False}
        for mode in ("ro", "none"):
            dry = await memory.consent("shelf", "reader", mode, by="ana", dry_run=True)
            assert dry == await memory.consent("shelf", "reader", mode, by="ana")
            assert dry is not None
            assert dry.is_open is (mode == "ro")
        changes: list[dict[str, object]] = [{"consent": "write"}, {"read": []}, {"owner": "eve"}]
        for rules in changes:
            assert await opened(dry_run=True, **rules) == await opened(dry_run=False, **rules)


async def test_what_cannot_be_is_refused_by_name() -> None:
    async with pagefault.open(":memory:") as memory:
        session = await memory.session("s")
        await memory.create_region("shelf")
        with pytest.raises(BadInput, match="region 'shelf' already exists"):
            await memory.create_region("shelf")
        with pytest.raises(BadInput, match="project"):
            await memory.create_region("p", scope="project")
        with pytest.raises(BadInput, match="owner"):
            await memory.create_region("u", scope="user")
        with pytest.raises(BadInput, match="which is unknown"):
            await memory.create_region("g", read=["everyone"])
        for verb in (session.mount("nowhere"), session.unmount("nowhere")):
            with pytest.raises(RegionNotFound):
                await verb
        with pytest.raises(pagefault.SessionNotFound):
            await memory.consent("shelf", "nobody")
        with pytest.raises(BadInput, match="way to mount"):
            await session.mount("shelf", "rx")


# --- what is brought ------------------------------------------------------------------------------


async def test_a_page_keeps_its_origin_its_speaker_and_its_time() -> None:
    async with pagefault.open(":memory:") as memory:
        await memory.create_region("shelf")
        session = await memory.session("s")
        await session.mount("shelf", "rw")
        await session.user("What does the tide table say?")
        [result] = await session.tool_result("High water at nine.", name="tides")
        spoken = await session.user("I rowed out.", speaker="Anna", occurred_at="2026-03-05T08:00Z")
        for page_id in (result, spoken):
            [copied] = (await session.promote(page_id, "shelf")).pages
            one, other = await session.page(page_id), await session.page(copied)
            assert (other.row.origin, other.row.role) == (one.row.origin, one.row.role)
            assert (other.text, other.speaker, other.title) == (one.text, one.speaker, one.title)
        assert other.occurred_at == one.occurred_at
        assert (await session.page(copied)).row.origin == "user_typed"


async def test_what_was_imported_is_not_recalled_by_itself_in_a_region_either() -> None:
    async with pagefault.open(":memory:") as memory:
        await memory.create_region("shelf")
        writer, reader = await memory.session("writer"), await memory.session("reader")
        said = pagefault.Incoming(text=SAID, role=pagefault.Role.USER)
        [page] = await writer.say([said], origin=pagefault.Origin("import"))
        await writer.mount("shelf", "rw")
        await reader.mount("shelf")
        await writer.promote(page, "shelf")
        assert WORD not in await asked(reader)
        assert (await reader.recall("boat house key")).hits


async def test_a_long_text_is_brought_with_all_of_its_parts_and_once() -> None:
    text = "\n\n".join(f"Paragraph {n} of the log of the boat house. " * 20 for n in range(30))
    async with pagefault.open(":memory:") as memory:
        await memory.create_region("shelf")
        session = await memory.session("s")
        await session.mount("shelf", "rw")
        await session.user("Here is the log.")
        parts = await session.document(text)
        assert len(parts) > 2
        brought = await session.promote(parts[1], "shelf")
        assert list(brought.sources) == parts
        assert "".join([(await session.page(one)).text for one in brought.pages]) == text
        assert await session.promote(parts[0], "shelf") == brought
        shared = await session.share(text, "shelf", title="log")
        assert "".join([(await session.page(one)).text for one in shared.pages]) == text


async def test_a_claim_is_brought_as_what_it_says() -> None:
    async with pagefault.open(":memory:") as memory:
        await memory.create_region("shelf")
        session = await memory.session("s")
        await session.mount("shelf", "rw")
        await session.user("We decided to use PostgreSQL for the database.")
        [claim] = await session.claims()
        [page] = (await session.promote(claim.claim_id, "shelf")).pages
        assert "PostgreSQL" in (await session.page(page)).text


async def test_a_secret_is_kept_out_of_a_region_too() -> None:
    async with pagefault.open(":memory:", secrets={"key": "hunter2-hunter2"}) as memory:
        await memory.create_region("shelf")
        session = await memory.session("s")
        await session.mount("shelf", "rw")
        [page] = (await session.share("It is hunter2-hunter2.", "shelf")).pages
        assert "hunter2" not in (await session.page(page)).text


async def test_a_conversation_that_is_not_kept_brings_nothing_anywhere() -> None:
    async with pagefault.open(":memory:") as memory:
        writer, reader, page = await shelf(memory)
        await reader.set_control("incognito")
        assert WORD in (await reader.page(page)).text
        assert WORD in await asked(reader)
        for verb in (reader.mount("shelf", "rw"), reader.unmount("shelf"), reader.share("x", "a")):
            with pytest.raises(StoreReadOnly, match="incognito"):
                await verb
        await memory.set_policy("shelf", read=["session:writer"])
        with pytest.raises(NoSuchPage):
            await reader.page(page)
        assert WORD not in await asked(reader)
        assert (await writer.page(page)).text == SAID


async def test_what_another_process_rules_holds_in_a_conversation_that_is_not_kept(
    tmp_path: Path,
) -> None:
    async with pagefault.open(tmp_path / "m") as memory, pagefault.open(tmp_path / "m") as other:
        _, reader, page = await shelf(memory)
        await reader.set_control("incognito")
        assert WORD in await asked(reader)
        await other.set_policy("shelf", read=["session:writer"])
        with pytest.raises(NoSuchPage):
            await reader.page(page)
        assert WORD not in await asked(reader, "And now?")


async def test_a_region_is_opened_by_what_holds_when_it_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another process writes between the verb's first look and its record."""
    async with pagefault.open(tmp_path / "m") as memory, pagefault.open(tmp_path / "m") as other:
        await memory.create_region("shelf", owner="ann")
        share = memory._runtime.journal.share

        def after(first: Callable[[], Awaitable[object]]) -> None:
            async def late(plan: Callable[[Seq], Sequence[Draft]]) -> list[Event]:
                await first()
                return await share(plan)

            monkeypatch.setattr(memory._runtime.journal, "share", late)

        after(lambda: other.set_policy("shelf", read=["user:bob"], by="ann"))
        copy = await memory.fork_region("shelf", "copy", by="ann")
        assert copy.read == ("user:bob",)
        after(lambda: other.set_policy("shelf", owner="bob", by="ann"))
        with pytest.raises(AccessRefused, match="another owner"):
            await memory.fork_region("shelf", "mine", by="ann")
        after(lambda: other.set_control("off"))
        with pytest.raises(StoreReadOnly, match="off"):
            await memory.create_region("late")
        assert {one.name for one in await memory.regions()} == {"copy", "shelf"}


# --- forks ----------------------------------------------------------------------------------------


async def test_a_fork_keeps_the_mounts_of_that_moment() -> None:
    async with pagefault.open(":memory:") as memory:
        _, reader, page = await shelf(memory)
        fork = await reader.fork("fork")
        await reader.unmount("shelf")
        assert (await fork.page(page)).text == SAID
        later = await reader.fork("later")
        with pytest.raises(NoSuchPage):
            await later.page(page)


async def test_a_fork_is_judged_as_itself() -> None:
    async with pagefault.open(":memory:") as memory:
        _, reader, page = await shelf(memory)
        await memory.set_policy("shelf", read=["session:reader"])
        fork = await reader.fork("fork")
        assert (await fork.mounts())[0].why == "policy"
        with pytest.raises(NoSuchPage):
            await fork.page(page)


async def test_a_fork_stands_on_its_parents_consent_until_it_has_its_own() -> None:
    async with pagefault.open(":memory:") as memory:
        _, reader, page = await consented(memory)
        fork = await reader.fork("fork")
        assert (await fork.page(page)).text == SAID
        await memory.consent("shelf", "reader", "none", by="ann")
        assert (await fork.mounts())[0].why == "consent"
        await memory.consent("shelf", "fork", by="ann")
        assert (await fork.mounts())[0].is_open


async def test_a_fork_of_a_region_shares_its_pages_and_nothing_later() -> None:
    async with pagefault.open(":memory:") as memory:
        writer, reader, page = await shelf(memory)
        before = memory.records
        forked = await memory.fork_region("shelf", "attic")
        assert (forked.fork_of, forked.pages) == ("shelf", 1)
        assert memory.records == before + 2, "a page was copied"
        await writer.mount("attic", "rw")
        [late] = (await writer.share(f"The oars stand behind the {OTHER}.", "shelf")).pages
        [above] = (await writer.share("The sails are in the attic.", "attic")).pages
        assert late != above
        await reader.unmount("shelf")
        await reader.mount("attic")
        assert (await reader.page(page)).text == SAID
        assert "sails" in (await reader.page(above)).text
        with pytest.raises(NoSuchPage):
            await reader.page(late)
        assert OTHER not in str(await reader.recall("oars stand"))
        await reader.mount("shelf")
        found = [hit.page.page_id for hit in (await reader.recall("boat house key oars")).hits]
        assert found.count(PageId(page)) == 1


# --- what lasts -----------------------------------------------------------------------------------


async def test_a_restart_sends_the_same_bytes(tmp_path: Path) -> None:
    async with pagefault.open(tmp_path / "m") as memory:
        _, reader, page = await shelf(memory)
        await asked(reader)
        await reader.assistant(f"It says so in [ref: {page}].")
        before = text_of(await reader.request())
    async with pagefault.open(tmp_path / "m") as memory:
        reader = await memory.session("reader")
        assert page in reader.resident()
        assert text_of(await reader.request()) == before


@pytest.mark.parametrize("back", [False, True])
async def test_a_restart_after_a_loss_begins_the_same_epoch(tmp_path: Path, back: bool) -> None:
    """Whether the session was folded on or anew, what was taken away and given back is the same."""
    sent = []
    for restarts in (False, True):
        root = tmp_path / f"m{restarts}"
        async with open_memory(root, clock=Clock(), seed=7) as memory:
            _, reader, _ = await shelf(memory)
            assert WORD in await asked(reader)
            await memory.set_policy("shelf", read=["owner"], owner="ann")
            if back:
                await memory.set_policy("shelf", read=["anyone"], by="ann")
            if not restarts:
                sent.append(await asked(reader, "Anything else?"))
        if restarts:
            async with open_memory(root, clock=Clock(), seed=7) as memory:
                sent.append(await asked(await memory.session("reader"), "Anything else?"))
    assert sent[0] == sent[1]
    assert (WORD in sent[0]) is back


async def test_what_another_process_rules_holds_here(tmp_path: Path) -> None:
    async with pagefault.open(tmp_path / "m") as memory, pagefault.open(tmp_path / "m") as other:
        _, reader, page = await shelf(memory)
        assert WORD in await asked(reader)
        await other.set_policy("shelf", read=["session:writer"])
        with pytest.raises(NoSuchPage):
            await reader.page(page)
        assert WORD not in str(await reader.recall("boat house key"))
        assert WORD not in await asked(reader)
        writer = await memory.session("writer")
        guest = await other.session("guest")
        await other.set_policy("shelf", read=["anyone"])
        await guest.mount("shelf", "rw")
        [mine] = (await writer.share("One writes here.", "shelf")).pages
        [theirs] = (await guest.share("And one there.", "shelf")).pages
        assert mine != theirs
        assert (await writer.page(theirs)).text == "And one there."
        assert not (await memory.verify()).problems


# --- forgetting -----------------------------------------------------------------------------------


@pytest.mark.parametrize("whole", [False, True])
async def test_what_is_forgotten_where_it_was_said_is_gone_from_every_region(
    tmp_path: Path, whole: bool
) -> None:
    root = tmp_path / "m"
    async with pagefault.open(root) as memory:
        writer, reader, page = await shelf(memory)
        await memory.create_region("attic")
        await writer.mount("attic", "rw")
        [again] = (await writer.promote(page, "attic")).pages
        assert WORD in await asked(reader)
        await reader.call(search("boat house key"))
        dry = await memory.forget("writer", "" if whole else "msg_1", dry_run=True)
        done = await memory.forget("writer", "" if whole else "msg_1")
        assert dry.copies == done.copies == (f"shelf: {page}", f"attic: {again}")
        assert "reader" in done.seen_from
        assert WORD not in await asked(reader)
        assert not (await memory.verify()).problems
        assert Files(root).traces({"text": WORD}) == {}
    async with pagefault.open(root) as memory:
        assert WORD not in await asked(await memory.session("reader"), "And now?")


async def test_what_is_forgotten_in_a_region_stays_where_it_was_said(tmp_path: Path) -> None:
    async with pagefault.open(tmp_path / "m") as memory:
        writer, reader, page = await shelf(memory)
        assert WORD in await asked(reader)
        await memory.forget("region:shelf", page)
        assert WORD not in await asked(reader, "And now?")
        assert (await writer.page("msg_1")).text == SAID
        [anew] = (await writer.promote("msg_1", "shelf")).pages
        assert anew != page


async def test_a_session_cannot_forget_for_a_region(tmp_path: Path) -> None:
    async with pagefault.open(tmp_path / "m") as memory:
        _, _, page = await shelf(memory)
        with pytest.raises(NoSuchPage):
            await memory.forget("reader", page)


async def test_a_region_that_is_forgotten_leaves_neither_text_nor_name_nor_policy(
    tmp_path: Path,
) -> None:
    root = tmp_path / "m"
    told = {one: one for one in (NAME, PROJECT, OWNER, GRANT, WORD, TITLE)}
    async with pagefault.open(root) as memory:
        session, other = await memory.session("s"), await memory.session("other")
        await memory.create_region(
            NAME, scope="project", project=PROJECT, owner="", read=["anyone"],
            write=["owner", f"user:{GRANT}"],
        )  # fmt: skip
        await memory.set_policy(NAME, owner=OWNER, write=["anyone"], consent="never")
        await session.mount(NAME, "rw")
        await other.mount(NAME)
        await session.share(SAID, NAME, title=TITLE)
        assert WORD in await asked(other)
        assert set(Files(root).traces(told)) == set(told)
        done = await memory.forget(f"region:{NAME}")
        assert done.done
        assert await memory.regions() == []
        assert await other.mounts() == []
        assert WORD not in await asked(other, "And now?")
        assert not (await memory.verify()).problems
        assert Files(root).traces(told) == {}
        await memory.create_region(NAME)
        assert await other.mounts() == [], "a new region of the name is another"


async def test_what_is_past_its_time_goes_from_a_region_and_the_region_stays(
    tmp_path: Path,
) -> None:
    clock = Clock()
    async with open_memory(tmp_path / "m", clock=clock) as memory:
        writer, reader, page = await shelf(memory)
        [kept] = (await writer.share("The oars stand in the shed.", "shelf")).pages
        await memory.set_retention("30d", session="region:shelf")
        clock.pass_days(31)
        await memory.expire()
        for gone in (page, kept):
            with pytest.raises(pagefault.PagefaultError):
                await reader.page(gone)
        assert (await writer.page("msg_1")).text == SAID
        assert [one.name for one in await memory.regions()] == ["shelf"]
        assert (await writer.share("New.", "shelf")).done


async def test_a_scrub_redacts_what_regions_hold(tmp_path: Path) -> None:
    root = tmp_path / "m"
    async with pagefault.open(root) as memory:
        writer, reader, page = await shelf(memory)
        [own] = (await writer.share(f"And {OTHER} is the word.", "shelf")).pages
        assert WORD in await asked(reader)
        done = await memory.scrub([WORD, OTHER])
        assert done.done
        assert (await reader.page(page)).text.startswith("The key of the boat house hangs behind")
        assert (await reader.page(own)).text.endswith("is the word.")
        sent = await asked(reader, "And where does the key hang?")
        assert WORD not in sent
        assert not (await memory.verify()).problems
        assert Files(root).traces({"said": WORD, "shared": OTHER}) == {}
        assert [one.name for one in await memory.regions()] == ["shelf"]


# --- whose word it is -----------------------------------------------------------------------------


async def test_no_page_becomes_more_trusted_by_being_shared() -> None:
    async with pagefault.open(":memory:") as memory:
        writer, reader = await memory.session("writer"), await memory.session("reader")
        await memory.create_region("shelf")
        await writer.mount("shelf", "rw")
        await reader.mount("shelf")
        await writer.user("What does the tide table say?")
        await writer.tool_result(f"High water at nine, behind the {WORD}.", name="tides")
        await writer.request()
        answer = await writer.assistant(f"At nine, it says, behind the {WORD} of the boat house.")
        told = await writer.promote(answer, "shelf")
        assert told.origin == "tool:tides", "the answer is no more than what it was made under"
        assert WORD in await asked(reader, f"What is behind the {WORD} of the boat house?")
        under = await reader.assistant("The tide table is.")
        assert (await memory.origins("reader", under)).label == "tool:tides"


async def test_what_is_withdrawn_is_withdrawn_from_regions_and_from_what_rests_on_it() -> None:
    async with pagefault.open(":memory:") as memory:
        writer, reader, page = await shelf(memory)
        assert WORD in await asked(reader)
        under = await reader.assistant("Behind the barometer.")
        gone = await memory.revoke_origin("writer", "msg_1")
        assert {page, "msg_1", under} <= {one for each in gone for one in each.pages}
        assert WORD not in await asked(reader, "And now?")
        assert (await memory.origins("reader", under)).withdrawn
        assert (await writer.page("msg_1")).text == SAID


async def test_what_was_withdrawn_is_brought_to_no_region() -> None:
    async with pagefault.open(":memory:") as memory:
        session = await memory.session("a")
        await session.user("What does it say?")
        [page] = await session.tool_result("Use the lever.", name="manual")
        await memory.create_region("shelf")
        await session.mount("shelf", "rw")
        await memory.revoke_origin("a", page)
        with pytest.raises(BadInput, match="withdrawn"):
            await session.promote(page, "shelf")


async def test_who_reads_a_region_of_another_carries_nothing_of_it_elsewhere() -> None:
    async with pagefault.open(":memory:") as memory:
        ann, bob = await memory.session("ann"), await memory.session("bob")
        for name in ("ann", "bob"):
            await memory.assign(name, user=name)
        await memory.create_region("hers", owner="ann", consent="always")
        await ann.mount("hers", "rw")
        page = (await ann.share("The quokka sleeps at noon.", "hers")).pages[0]
        await bob.mount("hers")
        await memory.consent("hers", "bob", "ro", by="ann")
        await memory.create_region("his", owner="bob")
        await bob.mount("his", "rw")
        with pytest.raises(AccessRefused, match="region of 'ann'"):
            await bob.promote(page, "his")
        assert (await bob.recall("quokka noon")).hits


async def test_a_fork_that_is_called_like_its_parent_is_not_meant_by_that_name() -> None:
    async with pagefault.open(":memory:") as memory:
        session = await memory.session("a")
        named = ["session:a"]
        await memory.create_region("shelf", consent="never", read=named, write=named, promote=named)
        await session.mount("shelf", "rw")
        page = (await session.share("The pin is under the mat.", "shelf")).pages[0]
        fork = await session.fork("a")
        with pytest.raises(NoSuchPage):
            await fork.page(page)
        assert (await session.page(page)).text == "The pin is under the mat."
