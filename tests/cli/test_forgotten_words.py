"""What is typed on a command line is forgotten like anything said: no file keeps a word of it."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from pagefault.cli.root import root as pagefault_command
from tests.cli.conftest import start
from tests.service.traces import Files, canary

KEPT = {
    "chat.session_name", "chat.system", "goal.text", "checkpoint.name", "fork.name",
    "chat.engine_model", "claims add.value", "claims add.subject",
    "claims add.key", "claims retract.key",  # under the secret of the memory
    "claims add.branch", "claims add.owner", "claims add.project_id", "claims edit.value",
    "claims edit.subject", "claims merge.value", "claims merge.subject",
    "scopes create.region", "scopes create.owner", "scopes create.read", "scopes create.write",
    "scopes create.promote", "scopes fork.name", "scopes share.text", "scopes share.title",
    "scopes assign.project", "scopes assign.user",
    "heat add.text", "heat add.metadata", "heat add.key", "core append.section", "core append.text",
    "core replace.new", "core insert.text", "core insert.key",
}  # fmt: skip
"""What a command writes down, or passes on: each has a word below."""

ASKED = {
    "search.words", "search.origins", "recall search.words", "recall search.origins",
    "recall recent.origins", "recall task.named", "recall task.origins", "recall topic.named",
    "recall topic.origins", "recall timeline.origins", "pages search.words",
    "pages search.origins", "pages search.topic", "pages search.task", "pages ls.topic",
    "pages ls.task", "goal.session", "checkpoint.session", "fork.session", "undo.session",
    "redo.session", "history.page_id",
    "models ls.names", "claims add.quotes", "search.imported_from",
    "import list.imported_from", "import approve.imported_from", "import approve.run",
    "import revoke.imported_from", "import revoke.run",
    "events.command", "events.test", "claims known.query", "claims edit.quotes",
    "remember.words",
    "pack.words", "digest.git_range",
    "forget.query", "forget.origins", "forget.imported_from",
    "scopes show.region", "scopes pages.region", "scopes fork.region", "scopes policy.region",
    "scopes mount.region", "scopes unmount.region", "scopes consent.region",
    "scopes promote.region", "scopes share.region", "scopes fork.by", "scopes policy.by",
    "scopes consent.by",
    "heat recall.query", "core search.query", "core replace.section", "core replace.old",
    "export.origins", "export.imported_from", "mcp.sessions", "mcp.project",
}  # fmt: skip
"""What is only asked. The library keeps none of it, and no command writes its own line down."""

NO_WORDS = {
    "root", "session_name", "session_named", "page_id", "claim_id", "since", "until", "when",
    "before", "after", "out", "file", "prices", "embedder", "reranker", "target", "source", "to",
    "at", "data", "windows", "folder", "only", "audit", "upstream", "upstreams", "host", "token",
    "engine_base_url", "path", "paths", "user", "tokens", "origin", "replaces",
    "item_ids", "item_id",
    "keep", "files", "digest", "log", "swaps", "env", "worth", "picture",
    "prices_of", "other_model", "other_base_url", "derived_from", "claim_ids", "other", "proposal",
    "templates",
    # of a claim: what `claims add` takes, too
    "claims edit.branch", "claims edit.owner", "claims edit.project_id", "claims edit.key",
    "claims merge.key", "claims confirm.key",
    "older", "studio.theme",
    # of a region: what `scopes create` takes, too, whose words are looked for
    "scopes create.project", "scopes policy.owner", "scopes policy.read", "scopes policy.write",
    "scopes policy.promote",
}  # fmt: skip
"""Names, times, places and settings."""


def _texts(command: click.Command, path: str = "") -> Iterator[str]:
    """Every parameter of a command, and of those below it, that takes any text."""
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            below = command.get_command(context, name)
            assert below is not None
            yield from _texts(below, f"{path} {name}".strip())
        return
    for parameter in command.params:
        if isinstance(parameter.type, click.types.StringParamType | click.Path):
            yield f"{path}.{parameter.name}"


def test_every_text_that_a_command_takes_is_looked_for() -> None:
    """A command, or an option, that is added without a word fails here."""
    texts = set(_texts(pagefault_command))
    named = {one for one in texts if one.split(".")[1] in NO_WORDS} | (texts & NO_WORDS)
    assert texts - named - KEPT - ASKED == set()
    assert texts >= KEPT | ASKED, "these are no parameters any more"


def _typed(root: Path, *words: str, said: str = "") -> None:
    environment = os.environ | {"PAGEFAULT_HOME": str(root)}
    with start(*words, stdin=subprocess.PIPE, env=environment) as process:
        _, err = process.communicate(said, timeout=300)
    assert process.returncode in (0, 3), err


@pytest.mark.slow
def test_no_word_of_a_command_line_outlives_the_session_that_it_spoke_to(tmp_path: Path) -> None:
    root = tmp_path / "m"
    words = {name: canary(name) for name in sorted(KEPT | ASKED)} | {"stdin": canary("stdin")}
    name, model = words["chat.session_name"], words["chat.engine_model"]
    _typed(
        root, "chat", name, "--engine", "scripted", "--system", words["chat.system"],
        "--engine-model", model, said=f"The word is {words['stdin']}.",
    )  # fmt: skip
    _typed(root, "goal", name, words["goal.text"])
    _typed(root, "checkpoint", name, words["checkpoint.name"])
    _typed(root, "fork", name, words["fork.name"])
    _typed(
        root, "claims", "add", words["claims add.value"], "--session", name,
        "--quote", f"word is {words['stdin']}", "--subject", words["claims add.subject"],
        "--key", words["claims add.key"], "--branch", words["claims add.branch"], "--owner",
        words["claims add.owner"], "--project", words["claims add.project_id"],
    )  # fmt: skip
    _typed(
        root, "claims", "edit", "clm_2", "--value", words["claims edit.value"], "--subject",
        words["claims edit.subject"], "--session", name,
    )  # fmt: skip
    _typed(
        root, "claims", "add", "Another.", "--quote", f"word is {words['stdin']}",
        "--session", name,
    )  # fmt: skip
    _typed(
        root, "claims", "merge", "clm_3", "clm_4", "--value", words["claims merge.value"],
        "--subject", words["claims merge.subject"], "--session", name,
    )  # fmt: skip
    _typed(
        root, "claims", "retract", "clm_5", "--session", name,
        "--key", words["claims retract.key"],
    )  # fmt: skip
    _typed(
        root, "heat", "add", words["heat add.text"], "--session", name,
        "--metadata", f'{{"m": "{words["heat add.metadata"]}"}}', "--key", words["heat add.key"],
    )  # fmt: skip
    section = words["core append.section"]
    _typed(root, "core", "append", section, f"I am {words['core append.text']}", "--session", name)
    _typed(root, "core", "replace", section, "I am", words["core replace.new"], "--session", name)
    _typed(
        root, "core", "insert", words["core insert.text"], "--session", name,
        "--key", words["core insert.key"],
    )  # fmt: skip
    _typed(root, "heat", "recall", words["heat recall.query"], "--session", name)
    _typed(root, "core", "search", words["core search.query"], "--session", name)
    region = words["scopes create.region"]
    _typed(
        root, "scopes", "assign", "--session", name, "--project", words["scopes assign.project"],
        "--user", words["scopes assign.user"],
    )  # fmt: skip
    owner, grants = words["scopes create.owner"], ("read", "write", "promote")
    granted = [("--" + one, "user:" + words[f"scopes create.{one}"]) for one in grants]
    _typed(
        root, "scopes", "create", region, "--owner", owner, "--write",
        "user:" + words["scopes assign.user"], *(word for one in granted for word in one),
        "--consent", "never",
    )  # fmt: skip
    _typed(root, "scopes", "fork", region, words["scopes fork.name"], "--by", owner)
    _typed(root, "scopes", "mount", region, "--session", name, "--rw")
    _typed(
        root, "scopes", "share", region, words["scopes share.text"], "--session", name,
        "--title", words["scopes share.title"],
    )  # fmt: skip
    _typed(root, "search", words["search.words"])
    _typed(root, "pages", "ls", name, "--topic", words["pages ls.topic"])
    _typed(root, "recall", "task", words["recall task.named"])
    _typed(root, "forget", "--query", words["forget.query"], "--yes")
    kept = {name: words[name] for name in KEPT - {"chat.engine_model"}} | {"stdin": words["stdin"]}
    assert set(Files(root).traces(words)) == set(kept), "the control: that alone is kept"
    regions = (f"region:{one}" for one in (region, words["scopes fork.name"]))
    for one in (words["fork.name"], name, *regions):
        _typed(root, "forget", "--session", one, "--session-whole", "--yes")
    assert Files(root).traces(words) == {}
