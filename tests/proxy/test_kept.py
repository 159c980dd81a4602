"""Nothing leaves a request that the memory has not got, and nothing of a secret gets into it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pagefault.model.errors import SessionBusy
from pagefault.pack.count import O200k
from pagefault.proxy.history.history import Json
from pagefault.proxy.http.client import Client
from pagefault.service.arguments import check_name
from pagefault.service.session import Session
from tests.proxy.histories import body, call, long_talk, model, result, user
from tests.proxy.recorded import keyed
from tests.proxy.standing import SESSION, Standing, standing
from tests.proxy.upstream import Upstream, always

CODE = "The code of the vault is 4711."
SECRET = "Zx81-Qp93kLm27Vt65nR"


@pytest.fixture
def upstream() -> Iterator[Upstream]:
    with Upstream(always("Hello.")) as up:
        yield up


async def ask(to: Standing, said: list[Json], **headers: str) -> Json:
    """Send it, and return what the provider was sent."""
    asked = json.dumps(body(*said)).encode()  # half a pair as an escape, as clients write it
    answer = await to.http.post("/v1/messages", content=asked, headers=SESSION | headers)
    assert answer.status_code == 200
    await to.proxy.settled()
    sent: Json = to.upstream.seen[-1].body
    return sent


def _busy(*_: Any) -> Any:
    raise SessionBusy("session 'planning' is being written to by process 7")


async def test_what_could_not_be_logged_does_not_leave_a_request(
    upstream: Upstream, monkeypatch: pytest.MonkeyPatch
) -> None:
    talk = long_talk(12)
    said = [*talk[:6], user(CODE), model("Noted."), *talk[8:]]
    async with standing(upstream, window=600) as to:
        await ask(to, said[:5])
        with monkeypatch.context() as patch:
            patch.setattr(Session, "_say_each", _busy)
            sent = await ask(to, said)
            assert "not logged" in (await to.lines())[-1]
        assert CODE in str(sent["messages"])
        assert len(sent["messages"]) > len(said) - 6, "what was logged may leave"
        sent = await ask(to, [*said, model("Hello."), user("And on we go.")])
        assert len(sent["messages"]) < len(said)
        assert CODE in await to.logged((await to.sessions())[0])


@pytest.mark.parametrize(
    "messages",
    [
        [user("half a pair \ud800")],
        [user("Hi"), model("half a pair \udfff"), user("Go on.")],
        [
            user("Hi"),
            model(call("c\ud800", "Re\ud800d", path="\ud800")),
            user(result("c\ud800", "\ud800")),
        ],
    ],
    ids=["user", "assistant", "call"],
)
async def test_half_a_surrogate_pair_hinders_neither_log_nor_window(
    upstream: Upstream, messages: list[Json]
) -> None:
    said = [*messages, model("Hello."), *long_talk(20)]
    async with standing(upstream, window=2_000, counter=O200k()) as to:
        sent = await ask(to, said)
        assert len(sent["messages"]) < len(said)
        assert (await to.http.get("/healthz")).json()["not_logged"] == 0
        assert len(await to.logged((await to.sessions())[0])) >= len(said) - 1


@pytest.mark.parametrize("kind", ["named", "claude", "codex", "opencode"])
@pytest.mark.parametrize("length", [1, 36, 48, 300])
def test_whatever_id_and_user_make_a_sessions_name(kind: str, length: int) -> None:
    client = Client(kind, "i" * length)
    for principal in ("u" * 32, f"~{keyed('credential')}"):
        name = client.session_name("2a30e1", principal, keyed)
        check_name(name)
        check_name(client.sealed_name("2a30e1", principal, keyed))


async def test_a_secret_that_is_cut_is_taken_out_first(
    upstream: Upstream, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MY_API_KEY", SECRET)
    arguments = "x" * (4_000 - len('{"path":"') - 10) + SECRET
    tool = "t" * 54 + SECRET
    said = [
        user("Hi"),
        model(call("c1", path=arguments), call("c2", tool)),
        user(result("c1", "Read."), result("c2", "Done.")),
    ]
    async with standing(upstream, root=tmp_path / "m", window=9_000) as to:
        for name in (f"{'n' * 30}-{SECRET}-{'n' * 30}", f"{SECRET[:8]}\n{SECRET}"):
            sent = {"x-pagefault-session": name.replace("\n", "%")}
            answer = await to.http.post(
                "/v1/messages", json={**body(*said), "model": "m" * 190 + SECRET}, headers=sent
            )
            assert answer.status_code == 200
        lines = await to.lines()
    kept = [path.read_bytes() for path in (tmp_path / "m").rglob("*") if path.is_file()]
    for piece in (SECRET[:10], SECRET[4:14], SECRET[-10:]):
        assert not any(piece.encode() in data for data in kept)
        assert not any(piece in line for line in lines)
