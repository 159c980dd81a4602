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
        "wrap": "Run a coding client through a proxy, for this run only: claude, codex, opencode, "
        "aider.",
        "serve": "Run a proxy for coding clients that keeps their conversations and fits them into "
        "a window.",
        "mcp": "Serve a memory over the Model Context Protocol, on stdin and stdout.",
        "stop": "Stop the proxy that runs on a memory, and wait until it has released it.",
        "statusline": "Print a line for Claude Code: its window, what left it, what came back, "
        "cache and cost.",
        "import": "Import your own conversations from other programs.",
        "replay": "Run recorded conversations through a small window and measure what is lost.",
    },
    "Look": {
        "sessions": "List the sessions of a memory.",
        "search": "Find pages in every session.",
        "recall": "Find pages: the latest, by topic, by task, by time, by words.",
        "pages": "List, show, search and pin pages.",
        "claims": "List, show, state and change claims: decisions, preferences, facts and rules.",
        "cards": "List and review memory cards: claims with their proof, checks and age.",
        "pack": "Pack what bears on a query for a prompt: within a token budget, with sources.",
        "handoff": "Pack what somebody needs to continue a session: what changed, failed, and is "
        "next.",
        "synopsis": "Summarise what a session or project is about, and how its work is run.",
        "digest": "Summarise what changed since some time: commits, files, tests, decisions.",
        "status": "Show the state of a session: its window, what came back, what needs attention.",
        "studio": "Browse a memory, travel in time, and correct its claims.",
        "report": "Write a session as one page of HTML: what each request held, what came back, "
        "what it cost.",
        "dashboard": "Show a memory in the browser as it is used: read-only, live.",
        "at": "Show what the window held at some time.",
        "diff": "Show what changed in the window from A to B.",
        "history": "Everything that happened to a page.",
        "sent": "Show a past request, byte for byte as it was packed.",
        "items": "List a conversation by kind, and show what a proxy's client sent, as it sent it.",
        "events": "List what was done: commands, file changes, tests; newest first.",
        "ledger": "Show each request's predicted cost, the provider's report, and why they differ.",
        "bill": "Show what requests cost, and what they would have cost without pagefault.",
        "abi": "A session's window contents and free room, for programs.",
        "faults": "List the page faults of a session, with their outcomes.",
        "scan": "Show what would be redacted from a file before it is written, and by which rule.",
        "config": "Show the configuration and where each value came from.",
        "models": "Show the windows and cache prices of models, as known offline.",
        "schema": "Print the JSON Schema of a log record.",
    },
    "Steer": {
        "mode": "Set what memory keeps of conversations and brings back.",
        "scopes": "Memory that sessions share: regions, and who may see what of them.",
        "core": "Core memory, which every request shows, and archival memory, which is searched.",
        "heat": "Hot, warm and cold memory of a session: what every request shows, and what has "
        "cooled.",
        "goal": "Set the goal that stays in a session's window.",
        "remember": "Remember WORDS that were said as a claim, on your word.",
        "form": "Form memory from the turns of a session, by the model that lived them or by "
        "rules.",
        "undo": "Undo the newest pin, unpin or goal, the claims of a message, or a ruling on one.",
        "redo": "Redo what `undo` undid last.",
        "checkpoint": "Name the current point of a session.",
        "fork": "Fork a session, from here or from a moment in the past.",
    },
    "Care": {
        "unwrap": "Restore what `wrap` left behind when it was killed with its proxy.",
        "doctor": "Check this installation, its configuration, its memory, and the path through a "
        "proxy.",
        "adopt": "Trust a memory that was made elsewhere, or by somebody else.",
        "verify": "Read everything in a memory and check that it is consistent.",
        "embed": "Compute the missing vectors of pages.",
        "rebuild": "Rebuild the index from the log.",
        "repair": "Set damaged records aside and go on with the rest.",
        "upgrade": "Upgrade a memory of an earlier format.",
        "backup": "Copy a memory, and verify the copy.",
        "restore": "Make a backup a memory again.",
        "export": "Export a memory's contents, for other programs and for people.",
        "forget": "Erase a page, all pages that match, or a whole session, for good.",
        "origins": "Where pages come from, and what may rest on them.",
        "scrub": "Redact what is already written, by the current rules.",
        "retention": "How long pages are kept, and which are past their time.",
        "archive": "Compress old segments; they can be read as before.",
        "gc": "Find unreferenced files, and with --yes delete them.",
        "bench": "Measure the quality and cost of a memory.",
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
    "remember": "claims",
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

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """As click's; `help COMMAND …` is `COMMAND … --help`, and a typo gets a suggestion."""
        if args[0] == "help":
            if not args[1:] or args[1] == "help" or args[1].startswith("-"):
                click.echo(ctx.get_help())
                ctx.exit()
            args = [*args[1:], "--help"]
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
