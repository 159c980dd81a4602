"""What is quoted with a proxied message: the part of a page that bears on it, or nothing."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import pagefault
from pagefault.pack.count import O200k
from pagefault.proxy.history.history import Json
from tests.proxy.histories import body, call, model, result, user
from tests.proxy.standing import Standing, post, standing
from tests.proxy.upstream import Upstream, always

ASKED = "Which port does the billing service listen on?"
ANSWER = "billing: listens on port 8472, behind the gateway"
LISTING = "\n".join(
    ANSWER if n == 60 else f"service_{n}: image registry/app_{n}, replicas {n % 5}"
    for n in range(85)
)


@pytest.fixture
def upstream() -> Iterator[Upstream]:
    with Upstream(always("Understood.")) as provider:
        yield provider


def work(turns: int = 8) -> list[Json]:
    """A file is read that is too long to be quoted whole, and then much else is done."""
    said = [user("Read services.txt."), model(call("c1", path="services.txt"))]
    said += [user(result("c1", LISTING)), model("It lists the services.")]
    for n in range(turns):
        said += [user(f"Now bed {n}. " + f"leaf{n} " * 200), model(f"Bed {n} is done.")]
    return said


async def worked(to: Standing) -> list[Json]:
    said = work()
    for upto in range(1, len(said) + 1, 2):
        assert (await post(to, body(*said[:upto]))).status_code == 200
    return said


def newest(upstream: Upstream) -> str:
    return str(upstream.seen[-1].body["messages"][-1]["content"])


async def test_the_part_of_a_long_result_that_bears_on_a_message_is_quoted_with_it(
    upstream: Upstream, tmp_path: Path
) -> None:
    assert O200k().count(LISTING) > 1_000, "it is a page that no room of quotes holds"
    async with standing(upstream, root=tmp_path / "m", window=2_500, counter=O200k()) as to:
        said = await worked(to)
        await post(to, body(*said, user(ASKED)))
        told = newest(upstream)
        assert ANSWER in told
        assert "service_5:" not in told
        [row] = await to.memory.sessions()
        relayed = await to.memory.proxied(await to.memory.session(row.session_id))
        assert relayed is not None
        assert relayed.last.passages
        before = upstream.seen[-1].body
    async with standing(upstream, root=tmp_path / "m", window=2_500, counter=O200k()) as to:
        await post(to, body(*said, user(ASKED)))
        assert upstream.seen[-1].body == before, "a restart quotes the same bytes"
        await post(to, body(*said, user(ASKED), model("8472."), user("Thanks, that was all!")))
        assert "VM:CONTEXT" not in newest(upstream), "thanks call for nothing"


@pytest.mark.parametrize("message", ["Thanks!", "ok", "👍", "Sounds great, thank you!"])
async def test_what_calls_for_nothing_is_sent_without_quotes(
    upstream: Upstream, message: str
) -> None:
    async with standing(upstream, window=2_500, counter=O200k()) as to:
        said = await worked(to)
        await post(to, body(*said, user(message)))
        assert "VM:CONTEXT" not in newest(upstream)
        await post(to, body(*said, user(ASKED)))
        assert ANSWER in newest(upstream), "the control"


async def test_how_much_is_quoted_is_the_memory_s_setting(upstream: Upstream) -> None:
    lengths = []
    for most in (1_000, 50, 0):
        limits = pagefault.Limits(recall_tokens_max=most)
        async with standing(upstream, window=2_500, counter=O200k(), limits=limits) as to:
            said = await worked(to)
            await post(to, body(*said, user(ASKED)))
            assert (ANSWER in newest(upstream)) == (most > 0)
            lengths.append(len(newest(upstream)))
    assert lengths == sorted(lengths, reverse=True)
    assert lengths[0] > lengths[1] > lengths[2]


async def test_a_part_of_what_was_forgotten_is_quoted_no_more(
    upstream: Upstream, tmp_path: Path
) -> None:
    async with standing(upstream, root=tmp_path / "m", window=2_500, counter=O200k()) as to:
        said = await worked(to)
        await post(to, body(*said, user(ASKED)))
        assert ANSWER in newest(upstream)
        [row] = await to.memory.sessions()
        session = await to.memory.session(row.session_id)
        found = await session.recall("billing service port")
        page = next(hit.page.page_id for hit in found.hits if hit.page.role == "tool")
        await to.memory.forget(session, page)
        await post(to, body(*said, user(ASKED), model("8472."), user("And again: which port?")))
        assert "8472, behind" not in str(upstream.seen[-1].body)


@pytest.mark.parametrize("words", [1_023, 1_026, 1_029])  # the room of what is recalled just fits
async def test_quotes_fit_the_window_with_their_labels(upstream: Upstream, words: int) -> None:
    async with standing(upstream, window=2_000, counter=O200k()) as to:
        said: list[Json] = []
        for n in range(8):
            said += [
                user(f"Oak worktop {n} is nice. " + "calm " * 40),
                model(f"Worktop {n}: noted."),
            ]
        for n in range(3):
            said += [user(f"Bed {n}. " + "leaf " * 500), model(f"Bed {n} is done.")]
        for upto in range(len(said) - 5, len(said) + 1, 2):
            await post(to, body(*said[:upto]))
        said += [user("Now a tree. " + "twig " * words), model("A tree it is.")]
        await post(to, body(*said[:-1]))
        await post(to, body(*said, user("Which oak worktop did we say is nice?")))
        assert "Oak worktop" in newest(upstream).split("[VM:", 1)[-1]
        [row] = await to.memory.sessions()
        relayed = await to.memory.proxied(await to.memory.session(row.session_id))
        assert relayed is not None
        assert not relayed.last.epoch, "nothing had to leave for them"
        assert relayed.last.tokens <= 2_000
