"""A proxy that is left running: a disk that fills up under it, and has room again."""

from __future__ import annotations

import asyncio
import json
import os
import re
import resource
import signal
import sys
import threading
import time
from pathlib import Path
from typing import Any

import httpx2
import pytest

import pagefault
from tests.cli.conftest import Cli
from tests.cli.test_serve import KEY, serving
from tests.proxy.histories import body, model, user
from tests.proxy.upstream import Say, Seen, Upstream, always

NOT_LOGGED = "x-pagefault-not-logged"
SESSION = {"x-api-key": KEY, "x-pagefault-session": "planning"}


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="the limits of another process: prlimit")
def test_once_a_full_disk_has_room_again_the_proxy_goes_on_by_itself(
    cli: Cli, tmp_path: Path
) -> None:
    root, said = tmp_path / "memory", list[Any]()
    with (
        Upstream(always("Noted.")) as upstream,
        serving("--upstream", upstream.url, "--json", root=root) as process,
    ):
        assert process.stdout is not None
        url = json.loads(process.stdout.readline())["url"]
        with httpx2.Client(base_url=url, headers=SESSION, timeout=300) as http:

            def ask(words: str) -> Any:
                said.append(user(words))
                answer = http.post("/v1/messages", json=body(*said))
                assert answer.json()["content"] == [{"type": "text", "text": "Noted."}]
                said.append(model("Noted."))
                return answer

            assert NOT_LOGGED not in ask("The gander is called Ilse.").headers
            largest = max(p.stat().st_size for p in root.rglob("*") if p.is_file())
            resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (largest + 2_000, -1))
            for number in range(3):
                answer = ask(f"Entry {number}:" + " of the long log" * 150)
            assert answer.headers[NOT_LOGGED] == "memory"
            assert not (health := http.get("/healthz").json())["ok"]
            assert health["not_logged"] == 1

            resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (-1, -1))
            until = time.monotonic() + 60
            while not http.get("/healthz").json()["ok"] and time.monotonic() < until:
                time.sleep(0.05)
            assert NOT_LOGGED not in ask("The goose is called Olga.").headers
            assert http.get("/healthz").json()["ok"]
            metrics = http.get("/metrics").text
            assert "\npagefault_recoveries_total 1.0" in metrics
            assert "\npagefault_memory_writable 1.0" in metrics
        process.send_signal(signal.SIGINT)
        _, log = process.communicate(timeout=300)
    assert log.count("nothing is kept from now on: ") == 1, log
    assert log.count("what is said is kept again") == 1, log
    assert "Traceback" not in log
    assert cli("--root", root, "verify", "--json").data["ok"]
    with pagefault.sync.open(root, read_only=True) as memory:
        session = memory.session(memory.sessions()[0].name, create=False)
        kept = [memory.read(row).text for row in memory.pages(session, limit=100)]
    assert kept == [one["content"][0]["text"] for one in said], "all of it, once, in order"


def _of(pid: int) -> tuple[int, int]:
    """A process's resident memory, in MB, and how many files it has open."""
    status = Path(f"/proc/{pid}/status").read_text()
    resident = next(one for one in status.splitlines() if one.startswith("VmRSS:"))
    return int(resident.split()[1]) // 1024, len(os.listdir(f"/proc/{pid}/fd"))


def _whose(text: str) -> set[str]:
    return set(re.findall(r"owner\d{4}", text))


@pytest.mark.torture
@pytest.mark.timeout(1_800)
@pytest.mark.skipif(sys.platform != "linux", reason="/proc")
def test_two_hundred_sessions_at_once_are_told_apart_and_take_bounded_room(
    cli: Cli, tmp_path: Path
) -> None:
    count, turns, root = 200, 6, tmp_path / "memory"
    filler = " ".join(f"leaf{n}" for n in range(400))

    def echo(seen: Seen) -> Say:
        whose = _whose(seen.raw.decode())
        mixed.update(dict.fromkeys(whose, whose) if len(whose) > 1 else {})
        return Say(text=f"Yes, {' '.join(sorted(whose))}.")

    mixed: dict[str, set[str]] = {}
    with (
        Upstream(echo) as upstream,
        serving("--upstream", upstream.url, "--window", "3000", "--json", root=root) as process,
    ):
        assert process.stdout is not None
        assert process.stderr is not None
        log: list[str] = []
        reading = threading.Thread(target=log.extend, args=(process.stderr,))
        reading.start()  # a pipe that nobody reads holds up who writes to it
        url = json.loads(process.stdout.readline())["url"]
        limits = httpx2.Limits(max_connections=count)
        _, before = _of(process.pid)

        async def talk(number: int, http: httpx2.AsyncClient) -> None:
            owner, said = f"owner{number:04}", list[Any]()
            headers = {"x-api-key": f"key-{number % 7}", "x-pagefault-session": owner}
            for turn in range(turns):
                said.append(user(f"I am {owner}, turn {turn}. {filler}"))
                answer = await http.post("/v1/messages", json=body(*said), headers=headers)
                assert answer.json()["content"][0]["text"] == f"Yes, {owner}."
                assert NOT_LOGGED not in answer.headers
                said.append(model(f"Yes, {owner}."))
                takes.append(_of(process.pid))

        async def talks() -> None:
            async with httpx2.AsyncClient(base_url=url, timeout=900, limits=limits) as http:
                await asyncio.gather(*(talk(number, http) for number in range(count)))

        takes: list[tuple[int, int]] = []
        asyncio.run(talks())
        resident, files = map(max, zip(*takes, strict=True))
        health = httpx2.get(f"{url}/healthz", timeout=300).json()
        process.send_signal(signal.SIGINT)
        process.wait(timeout=300)
        reading.join()
    assert mixed == {}
    assert (health["ok"], health["requests"]) == (True, count * turns + 1)
    assert resident < 400
    assert files < before + 2 * count + 50
    assert not [line for line in log if "Traceback" in line or "not logged" in line]
    assert cli("--root", root, "verify", "--json").data["ok"]
    with pagefault.sync.open(root, read_only=True) as memory:
        rows = memory.sessions()
        assert len(rows) == count
        for row in rows[::20]:
            session = memory.session(row.name, create=False)
            kept = [memory.read(one).text for one in memory.pages(session, limit=100)]
            assert len(kept) == 2 * turns
            assert _whose(" ".join(kept)) == _whose(row.name)
    print(f"{resident} MB, {files} files")
