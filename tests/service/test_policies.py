"""Every eviction policy that can be named, in a session: from the configuration to who leaves."""

from __future__ import annotations

from pathlib import Path

import pytest

import pagefault
from pagefault import Request
from pagefault.model.errors import BadInput
from pagefault.policy.locality_lru import REFETCH
from pagefault.service.bootstrap import POLICIES
from tests.service.memories import check_request, fault, faulted, words

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("policy", POLICIES)
async def test_under_every_policy_requests_fit_and_a_restart_sends_the_same(
    tmp_path: Path, policy: str
) -> None:
    async with pagefault.open(
        tmp_path / "m", sync="os", window=2_000, eviction_policy=policy
    ) as memory:
        session = await memory.session("s")
        for number in range(15):
            said = f"Message {number}: {words(90, f'w{number}x')}"
            await session.user(said)
            if number % 5 == 4:
                await faulted(session, fault(f"msg_{number - 3}", call_id=f"call_{number}"))
            request = await session.request()
            check_request(request, said)
            session.check()
            await session.assistant(f"Noted. [ref: msg_{max(1, number)}] {words(30)}")
        await session.user("And now?")
        before = await session.request()
        assert (await session.status()).epoch > 1
    async with pagefault.open(
        tmp_path / "m", sync="os", window=2_000, eviction_policy=policy
    ) as memory:
        again: Request = await (await memory.session("s")).request()
    assert again.messages == before.messages


async def test_a_policy_that_does_not_exist_is_refused_and_the_others_are_named(
    tmp_path: Path,
) -> None:
    with pytest.raises(BadInput, match="'clairvoyant'") as refused:
        async with pagefault.open(tmp_path / "m", eviction_policy="clairvoyant"):
            pass
    assert refused.value.hint == "one of " + ", ".join(POLICIES)
    assert not (tmp_path / "m").exists()


async def test_the_configuration_names_the_policy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PAGEFAULT_EVICTION_POLICY", "clairvoyant")
    with pytest.raises(BadInput, match="'clairvoyant'"):
        async with pagefault.open(tmp_path / "m"):
            pass
    monkeypatch.setenv("PAGEFAULT_EVICTION_POLICY", "s3_fifo")
    async with pagefault.open(tmp_path / "m"):
        pass


async def _epochs_outlived(tmp_path: Path) -> tuple[int, int]:
    """How many epochs a picture and a message of the same age and length stay."""
    policy = "locality_aware_lru"
    async with pagefault.open(
        tmp_path / "m", sync="os", window=4_000, eviction_policy=policy
    ) as memory:
        session = await memory.session("s")
        picture = await session.artifact(b"\x89PNG", name="hall.png", text=words(60, "plan"))
        message = await session.user(words(60, "plain"))
        stayed = {picture: 0, message: 0}
        for number in range(40):
            await session.request()
            await session.assistant(words(80, "more"))
            await session.user(f"Something else, {number}: {words(80, 'other')}")
            for page_id in stayed:
                if page_id in session.resident():
                    stayed[page_id] = (await session.status()).epoch
        assert (await session.status()).epoch > max(stayed.values()), "both have left by now"
        return stayed[picture], stayed[message]


async def test_in_a_session_what_is_dear_to_bring_back_outlives_what_is_not(
    tmp_path: Path,
) -> None:
    picture, message = await _epochs_outlived(tmp_path)
    assert picture > message


async def test_control_where_all_costs_the_same_the_picture_does_not_outlive_the_message(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for tier in REFETCH:
        monkeypatch.setitem(REFETCH, tier, 1.0)
    picture, message = await _epochs_outlived(tmp_path)
    assert picture <= message
