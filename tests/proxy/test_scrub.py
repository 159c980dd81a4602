"""What a proxied client sent is redacted in its own JSON as in the pages, and known again after."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

import pagefault
from tests.proxy.standing import standing
from tests.proxy.test_received import ASKED, IMAGE, WIRES, given_back, log_of, sent
from tests.proxy.upstream import Upstream, always
from tests.service.traces import Files

TOLD = "the project that is named Heron"  # in a page
CODE = "a line that is long enough"  # in a call
PICTURE = IMAGE[100:160]  # in a blob
THOUGHT = "colour is asked"  # in nothing but the client's own JSON

VALUES = [TOLD, CODE, PICTURE, THOUGHT]


def _plain(told: object) -> str:
    return re.sub(r"\[REDACTED:[^\]]*\]", "#", json.dumps(told, ensure_ascii=False))


@pytest.mark.parametrize("path", WIRES)
async def test_a_clients_json_is_redacted_and_the_rest_of_it_is_given_back(
    tmp_path: Path, path: str
) -> None:
    said, root = WIRES[path][1], tmp_path / "m"
    with Upstream(always()) as upstream:
        async with standing(upstream, root=root) as to:
            await sent(to, path, said)
        before = log_of(root)
        assert before.count('"type":"received"') == len(said)
        async with pagefault.open(root, sync="os") as memory:
            [row] = await memory.sessions()
            assert (await memory.scrub([TOLD, CODE, THOUGHT])).records
            told = await given_back(await memory.session(row.session_id))
            wanted = json.dumps(said, ensure_ascii=False)
            for value in (TOLD, CODE, THOUGHT):
                wanted = wanted.replace(value, "#")
            assert _plain(told) == wanted
            await memory.scrub([PICTURE])
            told = await given_back(await memory.session(row.session_id))
            assert PICTURE not in json.dumps(told)
            assert (await memory.verify()).problems == ()
    assert Files(root).traces({value: value for value in VALUES}) == {}
    assert ASKED[:20] in log_of(root)


async def test_a_history_with_what_the_guard_knows_is_known_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is not logged twice, though the client sends it as it was."""
    token = "kvothe-9f83-hides"
    said = [
        {"role": "user", "content": f"Log in with {token}, please."},
        {"role": "assistant", "content": "I did."},
        {"role": "user", "content": "And what do you see there, if I may ask?"},
    ]
    root = tmp_path / "m"
    with Upstream(always()) as upstream:
        async with standing(upstream, root=root) as to:
            session = await sent(to, "/v1/messages", said)
            pages = len(await to.memory.pages(session))
        assert token in log_of(root), "control"
        monkeypatch.setenv("DEPLOY_PASSWORD", token)
        async with pagefault.open(root, sync="os") as memory:
            assert (await memory.scrub()).records == 2  # the page, and the client's JSON of it
        async with standing(upstream, root=root) as to:
            session = await sent(to, "/v1/messages", said)
            assert len(await to.memory.pages(session)) == pages
    assert Files(root).traces({"token": token}) == {}
