"""The root command: it knows the sub-commands without importing any."""

from __future__ import annotations

from importlib import import_module
from typing import Final

import click

from pagefault import __version__
from pagefault.cli.app import Group

SECTIONS: Final[dict[str, dict[str, str]]] = {
    "See it work": {
        "demo": "A conversation that outgrows its window, and remembers. Offline, no key.",
        "chat": "Chat with a model that remembers.",
        "wrap": "Run a coding client through a proxy, for this run alone: claude, codex, opencode, "
        "aider.",
        "serve": "A proxy for coding clients: their conversations are kept, and fit a window.",
        "mcp": "Memory as a server of the Model Context Protocol, on stdin and stdout.",
        "stop": "End the proxy that runs on a memory, and wait until it has let go of it.",
        "statusline": "A line for Claude Code: its window, what left it, what came back, cache and "
        "cost.",
        "import": "Bring in one's own conversations from other programs.",
        "replay": "Run recorded conversations through a small window and measure what is lost.",
    },
    "Look": {
        "sessions": "List the sessions of a memory.",
        "search": "Find pages in every session.",
        "recall": "Ask for pages: the latest, by topic, by task, by time, by words.",
        "pages": "List, show, search and pin pages.",
        "claims": "List, show, state and change claims: decisions, preferences, facts and rules.",
        "cards": "List and review memory cards: claims with their proof, checks and age.",
        "pack": "What bears on a query, put together for a prompt: in so many tokens, with "
        "sources.",
        "handoff": "What somebody needs who goes on with a session: what changed, failed, and is "
        "next.",
        "synopsis": "What a session, or a project, is about, and how its work is run.",
        "digest": "What changed since some time: commits, files, tests, decisions.",
        "status": "How a session stands: its window, what came back, and what needs a look.",
        "studio": "Look through a memory, travel in time, and correct what it holds true.",
        "report": "A session on one page of HTML: what each request held, what came back, what it "
        "cost.",
        "dashboard": "A page in the browser that shows a memory as it is used: read-only, live.",
        "at": "What the window held at some time.",
        "diff": "What changed in the window from A to B.",
        "history": "Everything that happened to a page.",
        "sent": "A past request, byte for byte as it was packed.",
        "items": "A conversation by kind, and what a proxy's client sent, as it sent it.",
        "events": "What was done: commands, changes of files, tests; the newest first.",
        "ledger": "What every request should have cost, what the provider reported, and why.",
        "bill": "What requests cost, beside what they would have cost without us: saved, or lost.",
        "abi": "What a session's window holds and could still take, for programs.",
        "faults": "Every page fault of a session: what was asked for, and what came of it.",
        "scan": "What of a file would be redacted before it is written, and by which rule.",
        "config": "Show the configuration and where each value came from.",
        "models": "Windows and cache prices of models, as far as they are known offline.",
        "schema": "Print the JSON Schema of a log record.",
    },
    "Steer": {
        "mode": "What memory keeps of conversations, and what it brings back.",
        "scopes": "Memory that sessions share: regions, and who may see what of them.",
        "core": "Core memory, which stands in every request, and archival memory, which is "
        "searched.",
        "heat": "Hot, warm and cold memory of a session: what stands in every request, and what "
        "cooled.",
        "goal": "Set the goal that stays in a session's window.",
        "form": "Form memory of the turns of a session, by the model that lived them or by rules.",
        "undo": "Take back the newest pin, unpin or goal, or the claims of a message.",
        "redo": "Do again what `undo` took back last.",
        "checkpoint": "Name the present point of a session, with everything written.",
        "fork": "A new session that goes on from here, or from a moment in the past.",
    },
    "Care": {
        "unwrap": "Put back what runs of `wrap` left behind that were killed with their proxy.",
        "doctor": "Check this installation, its configuration, its memory, and the way through a "
        "proxy.",
        "adopt": "Trust a memory that was made elsewhere, or by somebody else.",
        "verify": "Read everything in a memory and check it against itself.",
        "embed": "Give every page a vector that has none yet.",
        "rebuild": "Build the index anew from the log.",
        "repair": "Set damaged records aside and go on with the rest.",
        "upgrade": "Make a memory of an earlier format one of this format.",
        "backup": "Copy a memory, and verify the copy.",
        "restore": "Make a backup a memory again.",
        "export": "Write what a memory holds, for other programs and for people.",
        "forget": "Erase a page, all pages that match, or a whole session, for good.",
        "origins": "Whose word a page is, and what may rest on it.",
        "scrub": "Redact what is written already as what is written from now on is.",
        "retention": "How long pages are kept, and what is past its time.",
        "archive": "Compress old segments, and read them as before.",
        "gc": "Find unreferenced files, and with --yes delete them.",
        "bench": "Measure what a memory does, and what it costs.",
    },
}

_HOMES: Final = {
    "archive": "space",
    "at": "moments",
    "backup": "copies",
    "checkpoint": "paging",
    "diff": "moments",
    "digest": "pack",
    "fork": "paging",
    "gc": "space",
    "goal": "paging",
    "handoff": "pack",
    "history": "moments",
    "import": "imports",
    "ledger": "status",
    "mcp": "mcp_stdio",
    "rebuild": "upkeep",
    "redo": "paging",
    "repair": "upkeep",
    "restore": "copies",
    "synopsis": "pack",
    "undo": "paging",
    "unwrap": "wrap",
    "upgrade": "upkeep",
    "verify": "upkeep",
}

_NAMES: Final = {"import": "import_"}  # names that no Python function can have

_EPILOG: Final = """\
Begin with `pagefault demo`; `pagefault help COMMAND` explains a command. The memory is the folder
that --root or PAGEFAULT_HOME names, else the nearest `.pagefault/`, else your data folder.

\b
Exit codes:  0 done   1 problems found   2 wrong usage   3 not found
             4 refused (busy, read-only, damaged)   5 engine failed   130 interrupted"""


class LazyRoot(Group):
    """Imports a sub-command when it is called, and none to list them."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [name for section in SECTIONS.values() for name in section]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in self.list_commands(ctx):
            return None
        module = import_module(f"pagefault.cli.{_HOMES.get(cmd_name, cmd_name)}")
        command = getattr(module, _NAMES.get(cmd_name, cmd_name))
        assert isinstance(command, click.Command)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        for title, section in SECTIONS.items():
            with formatter.section(title):
                formatter.write_dl(list(section.items()), col_max=12)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """`help COMMAND …` is `COMMAND … --help`."""
        if args[:1] == ["help"]:
            args = [*args[1:], "--help"]
        return super().parse_args(ctx, args)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """As click's, with a suggestion for a typo."""
        name = args[0]
        if self.get_command(ctx, name) is None and not name.startswith("-"):
            from difflib import get_close_matches

            near = get_close_matches(name, ["help", *self.list_commands(ctx)], n=1)
            guess = f" Did you mean {near[0]!r}?" if near else ""
            ctx.fail(f"No such command {name!r}.{guess}")
        return super().resolve_command(ctx, args)


@click.group(
    cls=LazyRoot,
    visible_options=True,
    epilog=_EPILOG,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(__version__, "-V", "--version", message="pagefault %(version)s")
def root() -> None:
    """Virtual memory for the context windows of language models."""
