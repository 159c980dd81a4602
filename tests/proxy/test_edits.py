"""Where a client puts other words in the place of what it sent, these count: the old are kept."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import pagefault
from pagefault.model.wanted import SearchFilter
from pagefault.proxy.history.history import Json, is_blanked, is_same_call
from tests.proxy.histories import body, call, long_talk, model, reminder, result, user
from tests.proxy.standing import Standing, post, standing
from tests.proxy.upstream import Say, Upstream, always, in_turn

OLD = "The offer goes out on Monday, for 500 euros, to Ilse."
NEW = "The offer goes out on Friday, for 900 euros, to Ilse."
AGAIN = "The offer goes out on Sunday, for 700 euros, to Ilse."
ASKED = user("When does the offer to Ilse go out, and for how many euros?")


@pytest.fixture
def upstream() -> Iterator[Upstream]:
    with Upstream(always("Noted.")) as up:
        yield up


def said(text: str, turns: int) -> list[Json]:
    return [user(text), model("Noted."), *long_talk(turns)[2:]]


async def in_requests(to: Standing, messages: list[Json], first: int = 1) -> None:
    for upto in range(first, len(messages) + 1, 2):
        assert (await post(to, body(*messages[:upto]))).status_code == 200


async def found(to: Standing, words: str, *, history: bool = False) -> list[str]:
    [name] = await to.sessions()
    session = await to.memory.session(name, create=False)
    hits = (await session.recall(words, limit=20, wanted=SearchFilter(history=history))).hits
    return [(await to.memory.read(hit.page)).text for hit in hits if hit.page.page_id[:3] != "clm"]


async def test_the_newest_words_are_logged_found_and_quoted_and_the_old_are_history(
    upstream: Upstream,
) -> None:
    async with standing(upstream, window=600) as to:
        await in_requests(to, said(OLD, 2))
        await in_requests(to, said(NEW, 14), first=5)
        await post(to, body(*said(NEW, 14), ASKED))
        sent = upstream.seen[-1].raw.decode()
        assert NEW in sent
        assert "Monday" not in sent
        assert NEW in await found(to, "offer euros Ilse")
        assert OLD not in await found(to, "offer euros Ilse Monday")
        assert OLD in await found(to, "offer euros Ilse Monday", history=True)
        [name] = await to.sessions()
        texts = await to.logged(name)
        assert (texts.count(OLD), texts.count(NEW)) == (1, 1)
        rows = await to.memory.pages(await to.memory.session(name, create=False), limit=500)
        assert [row.page_id for row in rows if row.superseded] == ["msg_1"]


@pytest.mark.parametrize("rebuilt", [False, True], ids=["restarted", "rebuilt"])
async def test_an_edit_is_one_after_a_restart_and_stays_one(
    upstream: Upstream, tmp_path: Path, *, rebuilt: bool
) -> None:
    root = tmp_path / "memory"
    async with standing(upstream, root=root, window=600) as to:
        await in_requests(to, said(OLD, 6))
    for _ in range(2):  # the edit, and what was edited sent again
        async with standing(upstream, root=root, window=600) as to:
            await post(to, body(*said(NEW, 6)))
            texts = await to.logged((await to.sessions())[0])
            assert (texts.count(OLD), texts.count(NEW)) == (1, 1)
            asked = [text for text in texts if text.startswith("Tell me")]
            assert len(asked) == len(set(asked)) == 6
        if rebuilt:
            pagefault_rebuild(root)
    async with standing(upstream, root=root, window=600) as to:
        await in_requests(to, said(NEW, 14), first=13)
        await post(to, body(*said(NEW, 14), ASKED))
        assert OLD not in await found(to, "offer euros Ilse Monday")
    sent = upstream.seen[-1].raw.decode()
    assert NEW in sent
    assert "Monday" not in sent


def pagefault_rebuild(root: Path) -> None:
    for file in root.glob("index.db*"):
        file.unlink()


@pytest.mark.parametrize("restarts", [False, True])
async def test_an_edit_may_be_edited_and_taken_back(
    upstream: Upstream, tmp_path: Path, *, restarts: bool
) -> None:
    root, words = tmp_path / "memory", [OLD, NEW, AGAIN, OLD]
    if restarts:
        for text in words:
            async with standing(upstream, root=root) as to:
                await post(to, body(*said(text, 3)))
    async with standing(upstream, root=root) as to:
        for text in words:
            await post(to, body(*said(text, 3)))
        texts = await to.logged((await to.sessions())[0])
        offers = [text for text in texts if "offer" in text]
        assert offers == (words + words[1:] if restarts else words)
        texts = await found(to, "offer euros Ilse Monday Friday Sunday")
        assert [text for text in texts if "offer" in text] == [OLD]


async def test_an_answer_and_a_result_that_were_edited_are_superseded_too(
    upstream: Upstream,
) -> None:
    def messages(price: str, answer: str) -> list[Json]:
        return [
            user("Read the price."),
            model("I look.", call("c1", path="price.txt")),
            user(result("c1", f"The price of the tulips is {price} euros.")),
            model(answer),
            user("Thanks."),
        ]

    async with standing(upstream, window=5_000) as to:
        await post(to, body(*messages("500", "Five hundred for tulips.")))
        await post(to, body(*messages("90", "Five hundred for tulips.")))
        assert "90 euros" in upstream.seen[-1].raw.decode()
        await post(to, body(*messages("90", "Ninety for tulips.")))
        texts = await found(to, "price tulips euros five hundred ninety")
    assert "The price of the tulips is 90 euros." in texts
    assert "Ninety for tulips." in texts
    assert not [text for text in texts if "500" in text or "Five" in text]


@pytest.mark.parametrize("price", ["The price of the tulips is 500 euros.", "Tulips: 500"])
@pytest.mark.parametrize("partial", [5, 3], ids=["old", "last of a partial request"])
async def test_a_result_that_was_only_blanked_still_says_what_it_said(
    upstream: Upstream, tmp_path: Path, price: str, partial: int
) -> None:
    def messages(price: str) -> list[Json]:
        return [
            user("Read the price."),
            model("I look.", call("c1", path="price.txt")),
            user(result("c1", price)),
            model("Done."),
            user("Thanks."),
        ]

    blanked = messages("[Old tool result content cleared]")
    for restarts in range(2):
        async with standing(upstream, root=tmp_path / "memory", window=5_000) as to:
            if not restarts:
                await post(to, body(*messages(price)))
            await post(to, body(*blanked[:partial]))
            await post(to, body(*blanked))
            assert price in await found(to, "price tulips")
            texts = await to.logged((await to.sessions())[0])
            assert not [text for text in texts if "cleared" in text]
            assert texts.count("Thanks.") == 1
    assert [one.body["messages"][2] for one in upstream.seen] == [messages(price)[2]] * 5


@pytest.mark.parametrize(
    ("now", "blanked"),
    [
        ("", True),
        ("[Old tool result content cleared]", True),
        ("<result removed>", True),
        ("line 1\nline 2\n[98 lines truncated]\nline 100", True),
        ("line 1\nline 2", True),
        ("\n".join(f"line {n}" for n in range(1, 100)), False),
        ("line one\nline two", False),
        ("[1, 2, 3]", False),
        ("The lines are gone.", False),
    ],
)
def test_blanked_is_what_was_cut_and_not_what_was_changed(now: str, *, blanked: bool) -> None:
    before = "\n".join(f"line {n}" for n in range(1, 101))
    assert is_blanked(before, now) == blanked
    assert not is_blanked(now, before)


def test_a_notice_may_be_longer_than_what_it_stands_for() -> None:
    assert is_blanked("ok", "[Old tool result content cleared]")
    assert not is_blanked("ok", "ok, and more")


def test_arguments_that_one_of_two_leaves_out_make_no_other_call() -> None:
    assert is_same_call('{"a": 1}', '{"a": 1, "b": false}')
    assert not is_same_call('{"a": 1}', '{"a": 2}')
    assert is_same_call("[1]", "[1]")
    assert not is_same_call("{", "[")


# --- claims -----------------------------------------------------------------------------------

DECIDED = "We decided to use PostgreSQL for the archive."
CHANGED = "We decided to use SQLite for the archive."


async def statuses(to: Standing) -> dict[str, list[str]]:
    [name] = await to.sessions()
    told: dict[str, list[str]] = {}
    for one in await (await to.memory.session(name, create=False)).claims():
        told.setdefault(one.status, []).append(one.value)
    return told


@pytest.mark.parametrize("restarts", [False, True])
async def test_claims_of_old_words_stand_no_longer(
    upstream: Upstream, tmp_path: Path, *, restarts: bool
) -> None:
    root = tmp_path / "memory"
    async with standing(upstream, root=root, window=900) as to:
        await in_requests(to, said(DECIDED, 3))
        assert (await statuses(to))["standing"] == [DECIDED.rstrip(".")]
        if not restarts:
            await post(to, body(*said(CHANGED, 3)))
    async with standing(upstream, root=root, window=900) as to:
        await post(to, body(*said(CHANGED, 3)))
        assert (await statuses(to))["standing"] == [CHANGED.rstrip(".")]
        await in_requests(to, said(CHANGED, 20), first=7)
        sent = upstream.seen[-1].raw.decode()
        assert "SQLite" in sent
        assert "PostgreSQL" not in sent
        await post(to, body(*said("Never mind the archive.", 20)))
        assert "standing" not in await statuses(to)


@pytest.mark.parametrize("changed", [CHANGED, "Never mind the archive."])
async def test_a_closed_claim_is_history_and_its_closing_is_never_found(
    upstream: Upstream, tmp_path: Path, changed: str
) -> None:
    root = tmp_path / "memory"
    async with standing(upstream, root=root, window=900) as to:
        await post(to, body(*said(DECIDED, 3)))
        await post(to, body(*said(changed, 3)))
        name = (await to.sessions())[0]
    asked, kept = "PostgreSQL archive of Heron: no longer said", SearchFilter(history=True)
    async with pagefault.open(root) as memory:
        session = await memory.session(name, create=False)
        for asking in (session, memory):
            for wanted in (SearchFilter(), SearchFilter(kinds=("claim",))):
                hits = (await asking.recall(asked, limit=20, wanted=wanted)).hits
                assert "clm_1" not in [hit.page.page_id for hit in hits]
            hits = (await asking.recall(asked, limit=20, wanted=kept)).hits
            marked = {str(hit.page.page_id): bool(hit.page.superseded) for hit in hits}
            assert marked["clm_1"]
            assert not [hit for hit in hits if "No longer said" in hit.excerpt]
        for wanted in (
            SearchFilter(kinds=("claim",)),
            SearchFilter(kinds=("claim",), history=True),
        ):
            listed = (await memory.recent(20, wanted)).hits
            assert not [hit for hit in listed if "No longer said" in hit.excerpt]


async def test_old_words_lend_nothing_to_what_stands_beside_them(upstream: Upstream) -> None:
    async def relevance(to: Standing, *, history: bool = False) -> float:
        session = await to.memory.session((await to.sessions())[0], create=False)
        kept = SearchFilter(history=history)
        hits = (await session.recall("zeppelin price in garden 0", wanted=kept)).hits
        return next(hit.relevance for hit in hits if "garden 0" in hit.excerpt)

    async with standing(upstream, window=5_000) as to:
        await post(to, body(*said("The zeppelin has a price.", 4)))
        before = await relevance(to)
        await post(to, body(*said("Never mind that.", 4)))
        assert await relevance(to) < before
        assert await relevance(to, history=True) == pytest.approx(before, abs=0.05)


# --- quotes that were sent ------------------------------------------------------------------


def sent_by(upstream: Upstream) -> list[Json]:
    messages: list[Json] = upstream.seen[-1].body["messages"]
    return messages


@pytest.mark.parametrize("restarts", [False, True])
async def test_a_quote_that_was_sent_stays_and_the_next_turn_closes_it(
    upstream: Upstream, tmp_path: Path, *, restarts: bool
) -> None:
    root, before, after = tmp_path / "memory", [*said(OLD, 8), ASKED], [*said(NEW, 8), ASKED]
    then = [model("Noted."), user("And what of the hedge?")]
    async with standing(upstream, root=root, window=700) as to:
        await in_requests(to, before)
        quoted = sent_by(upstream)
        assert OLD in str(quoted)
        if not restarts:
            await post(to, body(*after, *then))
            assert sent_by(upstream)[: len(quoted)] == quoted
    async with standing(upstream, root=root, window=700) as to:
        await post(to, body(*after, *then))
        closed = sent_by(upstream)
        assert OLD in str(closed)
        assert NEW in str(closed[len(quoted) :])
        assert "supersedes msg_1)" in str(closed[len(quoted) :])
        await post(to, body(*after, *then, model("Noted."), user("And the pond?")))
        assert sent_by(upstream)[: len(closed)] == closed
        assert str(sent_by(upstream)).count(NEW) == 1


async def test_an_epoch_quotes_the_newest_words_only(upstream: Upstream, tmp_path: Path) -> None:
    def messages(offer: str) -> list[Json]:
        gardens = [message for n in range(50, 65) for message in garden(n)]
        return [*said(offer, 30), user("Go on."), model("Noted."), *gardens, ASKED]

    root, window = tmp_path / "memory", 2_000
    async with standing(upstream, root=root, window=window) as to:
        await post(to, body(*messages(OLD)[:63]))
        await post(to, body(*messages(OLD)))
        was = sent_by(upstream)
        assert OLD in str(was[-1])
        edited = [*messages(NEW), model("Noted."), user("And the hedge? " + "leaf " * 60)]
        await post(to, body(*edited))
        now = sent_by(upstream)
        assert now[0] != was[0]  # an epoch began, and kept the turn that quotes
        [asked] = [message for message in now if "how many euros" in str(message)]
        assert NEW in str(asked)
        assert "Monday" not in str(now)
    async with standing(upstream, root=root, window=window) as to:
        await post(to, body(*edited))
        assert sent_by(upstream) == now


def garden(n: int) -> list[Json]:
    return [user(f"Tell me of garden {n}. " + f"leaf{n} " * 60), model(f"Garden {n} is green.")]


async def test_an_edit_with_the_same_last_message_reaches_its_quote_at_once(
    upstream: Upstream,
) -> None:
    async with standing(upstream, window=700) as to:
        await in_requests(to, [*said(OLD, 8), ASKED])
        quoted = sent_by(upstream)
        await post(to, body(*said(NEW, 8), ASKED))
        assert sent_by(upstream)[:-1] == quoted[:-1]
        assert NEW in str(sent_by(upstream)[-1])


async def test_a_claim_quoted_in_front_is_closed_when_its_words_are_edited(
    upstream: Upstream,
) -> None:
    async with standing(upstream, window=900) as to:
        await in_requests(to, [*said(DECIDED, 14), user("And the hedge?")])
        quoted = sent_by(upstream)
        assert "C (clm_1)" in str(quoted)
        await post(
            to, body(*said(CHANGED, 14), user("And the hedge?"), model("Noted."), user("The pond?"))
        )
        assert sent_by(upstream)[: len(quoted)] == quoted
        assert "takes back clm_1" in str(sent_by(upstream)[len(quoted) :])
        assert CHANGED in str(sent_by(upstream)[len(quoted) :])


IMAGE = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBO"}}


@pytest.mark.parametrize(
    ("blocks", "claimed"),
    [
        (["Please always answer in German"], 1),
        ([reminder("It is Monday."), "Please always answer in German"], 1),
        (["Never do the following:", "Please always answer in German"], 0),
        (["Please always answer in German", "That is what Ana says."], 0),
        (["Please always answer in German", IMAGE], 0),
    ],
)
@pytest.mark.parametrize("path", ["/v1/messages", "/v1/chat/completions", "/v1/responses"])
async def test_a_block_of_a_message_is_not_taken_for_a_message(
    upstream: Upstream, path: str, blocks: list[str | Json], claimed: int
) -> None:
    told = user(*blocks)
    asked = {**body(told), "input": [in_responses(told)]} if "resp" in path else body(told)
    async with standing(upstream) as to:
        await post(to, asked, path)
        session = await to.memory.session((await to.sessions())[0], create=False)
        assert len(await session.claims()) == claimed


def in_responses(message: Json) -> Json:
    parts = [
        {**one, "type": one["type"].replace("text", "input_text")} for one in message["content"]
    ]
    return {**message, "type": "message", "content": parts}


@pytest.mark.parametrize("goes_back", [False, True])
async def test_a_yes_agrees_to_what_stands_before_it_in_its_own_branch(
    upstream: Upstream, *, goes_back: bool
) -> None:
    asks, proposes = "What matters to you?", "I recommend GPL for the license."
    begun = [user("Which license?"), model(asks), user("Freedom.")]
    upstream.script = in_turn(Say(text=asks), Say(text=proposes))
    async with standing(upstream) as to:
        await post(to, body(*begun[:1]))
        await post(to, body(*begun))
        await to.proxy.settled()
        before = begun[:2] if goes_back else [*begun, model(proposes)]
        await post(to, body(*before, user("Yes")))
        session = await to.memory.session((await to.sessions())[0], create=False)
        assert len(await session.claims()) == (0 if goes_back else 1)


# --- what was forgotten -----------------------------------------------------------------------


async def test_forgetting_new_words_forgets_those_in_whose_place_they_stand(
    upstream: Upstream, tmp_path: Path
) -> None:
    root = tmp_path / "memory"
    async with standing(upstream, root=root) as to:
        await post(to, body(*said(OLD, 2)))
        await post(to, body(*said(NEW, 2)))
        [name] = await to.sessions()
        rows = await to.memory.pages(await to.memory.session(name, create=False))
        newest = next(row.page_id for row in rows if row.order == len(rows) - 1)
        plan = await to.memory.forget(name, newest, dry_run=True)
        assert set(plan.pages) == {"msg_1", newest}
        await to.memory.forget(name, newest)
        assert not [text for text in await to.logged(name) if "offer" in text]
        await post(to, body(*said(NEW, 2)))
        assert not [text for text in await to.logged(name) if "offer" in text]


@pytest.mark.parametrize("count", [1, 2])
async def test_after_a_restart_what_was_forgotten_in_the_middle_stays_away(
    upstream: Upstream, tmp_path: Path, count: int
) -> None:
    root, messages = tmp_path / "memory", said(OLD, 4)
    async with standing(upstream, root=root) as to:
        await in_requests(to, messages)
        [name] = await to.sessions()
        for number in range(3, 3 + count):
            await to.memory.forget(name, f"msg_{number}")
        before = await to.logged(name)
    async with standing(upstream, root=root) as to:
        await post(to, body(*messages, model("Noted."), user("And now?")))
        assert (await to.logged(name))[: len(before)] == before
        assert (await to.logged(name))[len(before) :][-2:] == ["And now?", "Noted."]
        assert not [t for t in await to.logged(name) if "garden 0" in t and count == 1]


async def test_after_a_restart_pictures_between_words_move_nothing(
    upstream: Upstream, tmp_path: Path
) -> None:
    picture = {"type": "image", "source": {"type": "base64", "data": "AAAA"}}
    messages = [user("Look.", picture), model("A cat."), user(picture, "And this?"), model("Dog.")]
    for upto in (3, 5):
        async with standing(upstream, root=tmp_path / "memory") as to:
            for _ in range(2):
                await post(to, body(*[*messages, user("Thanks.")][:upto]))
            [name] = await to.sessions()
            texts = [text for text in await to.logged(name) if text != "Noted."]
            [seen, *_] = pictures = [text for text in texts if text.startswith("[image, ")]
            expected = ["Look.", seen, "A cat.", seen, "And this?", "Dog.", "Thanks."]
            assert texts == expected[: len(texts)]
            assert len(pictures) == 2


@pytest.mark.parametrize("window", [0, 600])
async def test_a_log_of_before_that_has_nothing_of_pictures_goes_on(
    upstream: Upstream, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, window: int
) -> None:
    shown = {"type": "tool_result", "tool_use_id": "c1", "content": [IMAGE]}
    messages = [user("Look.", IMAGE, IMAGE), model("Which?", call("c1")), user(shown, "That one.")]
    messages += [model("A cat."), user("And this?", IMAGE)]
    async with standing(upstream, root=tmp_path / "memory", window=window) as to:
        with monkeypatch.context() as before:
            before.setattr("pagefault.proxy.history.history.named", lambda *_: "")
            before.setattr("pagefault.proxy.wires.wire.named", lambda *_: "")
            await in_requests(to, messages)
            [name] = await to.sessions()
            told = await to.logged(name)
            assert not [text for text in told if text.startswith("[image, ")], "the control"
    messages += [model("A dog."), user("Thanks.")]
    for _ in range(2):
        async with standing(upstream, root=tmp_path / "memory", window=window) as to:
            await post(to, body(*messages))
            assert await to.sessions() == [name]
            texts = await to.logged(name)
            assert texts[: len(told)] == told
            assert [texts.count(text) for text in ("Look.", "A cat.", "Thanks.")] == [1, 1, 1]


async def test_after_a_restart_what_was_forgotten_beside_a_picture_stays_away(
    upstream: Upstream, tmp_path: Path
) -> None:
    messages = [user("Look.", IMAGE), model("A cat."), user("And this?"), model("A dog.")]
    async with standing(upstream, root=tmp_path / "memory") as to:
        await in_requests(to, messages)
        [name] = await to.sessions()
        await to.memory.forget(name, "msg_1")
    async with standing(upstream, root=tmp_path / "memory") as to:
        await post(to, body(*messages, user("Thanks.")))
        texts = await to.logged(name)
        assert "Look." not in texts
        assert [texts.count(text) for text in ("A cat.", "And this?", "Thanks.")] == [1, 1, 1]


async def test_after_a_restart_an_edit_beside_a_picture_takes_the_place_of_the_old_words(
    upstream: Upstream, tmp_path: Path
) -> None:
    after = [model("A cat."), user("And this?"), model("A dog."), user("Thanks.")]
    async with standing(upstream, root=tmp_path / "memory") as to:
        await in_requests(to, [user("Look.", IMAGE), *after])
    async with standing(upstream, root=tmp_path / "memory") as to:
        await post(to, body(user("Look here.", IMAGE), *after))
        [name] = await to.sessions()
        texts = await to.logged(name)
        assert [texts.count(text) for text in ("Look here.", "A cat.", "Thanks.")] == [1, 1, 1]
        rows = await to.memory.pages(await to.memory.session(name, create=False), limit=500)
        assert [row.page_id for row in rows if row.superseded] == ["msg_1"]


async def test_a_memory_opened_as_a_library_marks_what_is_history(
    upstream: Upstream, tmp_path: Path
) -> None:
    async with standing(upstream, root=tmp_path / "memory") as to:
        await post(to, body(*said(OLD, 2)))
        await post(to, body(*said(NEW, 2)))
    async with pagefault.open(tmp_path / "memory") as memory:
        for hits in (await memory.recall("offer Ilse"), await memory.recent(50)):
            assert "msg_1" not in [hit.page.page_id for hit in hits.hits]
        asked = SearchFilter(history=True)
        for hits in (
            await memory.recall("offer Ilse", wanted=asked),
            await memory.recent(50, wanted=asked),
        ):
            assert "msg_1" in [hit.page.page_id for hit in hits.hits]
