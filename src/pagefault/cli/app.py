"""What every command gets: global options, configuration, an open memory, the terminal."""

from __future__ import annotations

import os
import shlex
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Sequence, Set
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field, replace
from inspect import CORO_CREATED, getcoroutinestate
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, Unpack

import click
from click.core import ParameterSource

from pagefault.cli.outcome import worded
from pagefault.cli.term import Term, named, spellings
from pagefault.cli.wording import DRY_RUN, SESSION

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from pagefault.model.page import SessionRow
    from pagefault.service.bootstrap import Wiring
    from pagefault.service.config import Config
    from pagefault.service.memory import Memory
    from pagefault.service.session import Session

T = TypeVar("T")
F = TypeVar("F", bound=Callable[..., Any])


@dataclass(slots=True)
class App:
    """One run of the command line."""

    root: str | None = None
    term: Term = field(default_factory=Term)
    as_json: bool = False  # how results are printed
    dry_run: bool = False  # whether only to show what would be done

    def config(self, **flags: object) -> Config:
        """The current configuration, with `flags` by their keys with `__` for dots."""
        from pagefault.service.config import load

        given: dict[str, object] = {key.replace("__", "."): v for key, v in flags.items()}
        given["root"] = self.root
        return load(environ=os.environ, cwd=_here(), flags=given)

    def directory(self) -> Path:
        """The root as a directory, for commands that need files."""
        from pagefault.model.errors import BadInput
        from pagefault.service.config import MEMORY

        root = self.config().root
        if root == MEMORY:
            raise BadInput(
                f"a memory at {MEMORY} has no files", hint="name a folder: --root, PAGEFAULT_HOME"
            )
        return Path(root)

    def existing_directory(self) -> Path:
        """As `directory`, which must contain a memory. Raises `StoreMissing`."""
        from pagefault.store.embedded.root_file import check_there

        path = self.directory()
        check_there(path, hint=MAKE_ONE)
        return path

    def to_show(self, page_id: str, session_id: str, source: str = "") -> str:
        """The command that shows a page, as typed here; for a region, all of it."""
        if source.startswith("region:"):
            return self.command("scopes", "pages", source.removeprefix("region:"))
        return self.command("pages", "show", page_id, "--session", session_id)

    def command(self, *words: str) -> str:
        """A command of pagefault on the memory of this one, as it is typed."""
        return shlex.join(["pagefault", *(["--root", self.root] if self.root else []), *words])

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        try:
            import asyncio

            return asyncio.run(work)
        finally:
            if getcoroutinestate(work) == CORO_CREATED:  # interrupted before it began
                work.close()

    def read(self, name: str | None, verb: Callable[[Session], Awaitable[T]]) -> T:
        """The result of a verb that reads the named session, which `find_session` finds."""
        return self.run(_of_session(self.reading(), name, verb))

    def write(self, name: str | None, verb: Callable[[Session], Awaitable[T]]) -> T:
        """The result of a verb that writes to the named session. The memory must exist."""
        self.existing_directory()
        return self.run(_of_session(self.writing(dry_run=self.dry_run), name, verb))

    @asynccontextmanager
    async def reading(self) -> AsyncIterator[Memory]:
        """The memory, for reading: works while another process writes. Raises `StoreMissing`."""
        async with self.memory(self.config(), read_only=True) as memory:
            yield memory

    @asynccontextmanager
    async def writing(
        self, config: Config | None = None, *, dry_run: bool = False, **more: Unpack[Wiring]
    ) -> AsyncIterator[Memory]:
        """The memory, created if missing. Raises `StoreBusy`, and `NotAdopted`.

        For a `dry_run` it is opened for reading, and taken to be empty if missing; what writing
        refuses for lack of adoption is refused there, too.
        """
        from pagefault.service.config import MEMORY

        config = config or self.config()
        if dry_run and config.root != MEMORY:
            from pagefault.store.embedded.root_file import is_missing

            if is_missing(Path(config.root)):
                config = replace(config, root=MEMORY)
            else:
                more["read_only"] = True
        async with self.memory(config, to_write=True, **more) as memory:
            yield memory

    @asynccontextmanager
    async def memory(
        self, config: Config, *, to_write: bool = False, **more: Unpack[Wiring]
    ) -> AsyncIterator[Memory]:
        """Open the memory with these settings. Raises `NotAdopted` if it is opened `to_write`
        and is not adopted.
        """
        from pagefault.service.bootstrap import open_memory, wiring_of

        self.term.detail(f"memory: {config.root}")
        with self.term.progress() as progress:
            more["progress"] = lambda done, total: progress("building the index", done, total)
            opening = open_memory(config.root, **wiring_of(config, more))
            memory = await opening.__aenter__()
        try:
            if to_write and not memory.is_adopted:
                from pagefault.store.embedded.adoption import not_adopted

                raise not_adopted(Path(config.root))
            for notice in memory.notices:
                self.term.note(f"note: {worded(notice)}")
            yield memory
        finally:
            await opening.__aexit__(None, None, None)


MAKE_ONE = (
    "`pagefault chat`, `pagefault replay FILE` or `pagefault import PATH` makes one; "
    "--root or PAGEFAULT_HOME says where"
)


async def _of_session(
    opening: AbstractAsyncContextManager[Memory],
    name: str | None,
    verb: Callable[[Session], Awaitable[T]],
) -> T:
    async with opening as memory:
        return await verb(await find_session(memory, name))


def called(name: str) -> str:
    """A session's name within a sentence: quoted, and what a proxy adds to it cut short."""
    from pagefault.service.lookup.names import brief

    return repr(brief(name))


async def names_of(memory: Memory, *, briefly: bool = False) -> dict[str, str]:
    """The name of each session and region by its id, if `briefly` the short one that lists show;
    the id of one without a name.
    """
    rows = await memory.sessions()
    if briefly:
        from pagefault.service.lookup.names import brief_names

        names = brief_names(rows)
    else:
        names = {row.session_id: row.called for row in rows}
    return names | {one.region_id: f"region:{one.name}" for one in await memory.regions()}


async def titles_of(memory: Memory, rows: Sequence[SessionRow]) -> dict[str, str]:
    """The original titles of imported sessions, by their ids."""
    from pagefault.service.lookup.imported import IMPORT_PREFIX

    if not any(row.name.startswith(IMPORT_PREFIX) for row in rows):
        return {}
    return {one.session_id: one.title for one in await memory.imports() if one.title}


async def titles_that_name(
    memory: Memory, rows: Sequence[SessionRow], session_ids: Set[str]
) -> dict[str, str]:
    """The original titles of some of all sessions, by their ids, without those that are how the
    name or id of a session begins: they would open that one.
    """
    from pagefault.service.lookup.names import begun_by

    titles = await titles_of(memory, rows)
    return {
        one: title
        for one, title in titles.items()
        if one in session_ids and not begun_by(title.strip(), rows)
    }


async def shown_titles(memory: Memory, rows: Sequence[SessionRow]) -> dict[str, str]:
    """The titles of imported and proxied sessions, whose names tell a reader little."""
    from pagefault.views.titles import titles_by_words

    titles = await titles_of(memory, rows)
    untitled = [row for row in rows if row.session_id not in titles]
    return titles | await titles_by_words(memory, untitled, str)


async def find_kept(memory: Memory, name: str | None) -> str:
    """As `find_row`, but only by its full name, and `region:NAME` is a region. Returns the id."""
    if name is None or not name.startswith("region:"):
        return (await find_row(memory, name, in_full=True)).session_id
    for one in await memory.regions():
        if name == f"region:{one.name}":
            return one.region_id
    from pagefault.model.errors import RegionNotFound

    raise RegionNotFound(name.removeprefix("region:"))


async def find_row(memory: Memory, name: str | None, *, in_full: bool = False) -> SessionRow:
    """The session with that name or id; without one, the last conversation. Of a session and
    those that `restore` made of it, a name opens the one used last.

    An unambiguous prefix of either, or of an imported title, is enough, unless it must be named
    `in_full`, for irreversible commands. So is the name of a proxied session without the proxy's
    additions.
    """
    from pagefault.model.errors import BadInput
    from pagefault.service.lookup.names import NAMES_TOLD, meant, not_found, short_names

    rows = await memory.sessions()
    if name is None:
        return await _last_conversation(memory, rows)
    by_id = [row for row in rows if row.session_id == name]
    by_name = [row for row in rows if row.name == name]
    if not in_full and (row := meant(by_name)) is not None:
        by_name = [row]
    found = by_id or by_name or [row for row in rows if name in spellings(row.name)]
    if not found:
        found = [row for row in rows if name in short_names(row.name)]
    begun = [] if found else await _begun(memory, name, rows)
    if not in_full and len({one.name for one in begun}) == 1 and (row := meant(begun)) is not None:
        return row
    if not found:
        missing = not_found(name, rows)
        if in_full and name and begun:
            names = ", ".join(repr(row.called) for row in begun[:NAMES_TOLD])
            missing.hint = f"did you mean {names}? what cannot be undone takes names in full"
        elif first := _session_last(name, rows):
            missing.hint = first
        raise missing
    if len(found) > 1:
        raise BadInput(
            f"{name!r} matches {len(found)} sessions",
            hint=_which(name, found, rows, in_full=in_full),
        )
    return found[0]


def _session_last(name: str, rows: Sequence[SessionRow]) -> str:
    """The hint if `name` was typed where a session belongs, and the session after it; else ""."""
    ctx = click.get_current_context(silent=True)
    if ctx is None:
        return ""
    typed = [
        (str(one.name), value)
        for one in ctx.command.params
        if isinstance(one, click.Argument) and isinstance(value := ctx.params.get(one.name), str)
    ]
    if not any("session" in key and value == name for key, value in typed):
        return ""
    known = {one for row in rows for one in (row.name, row.session_id)}
    last = [value for key, value in typed if value in known and value != name]
    if not last:
        return ""
    program, *verbs = ctx.command_path.split()
    root = ctx.ensure_object(App).root
    rest = (value for _, value in typed if value != last[0])
    words = [program, *(["--root", root] if root else []), *verbs, last[0], *rest]
    return f"the session comes first: `{shlex.join(words)}`"


async def _last_conversation(memory: Memory, rows: Sequence[SessionRow]) -> SessionRow:
    """What a command without a SESSION means. Raises `SessionNotFound` if there is no session."""
    from pagefault.service.lookup.names import not_found
    from pagefault.views.titles import last_conversation

    row = await last_conversation(memory, rows)
    if row is None:
        missing = not_found("", rows)
        missing.args = ("there is no session here yet",)
        missing.hint = MAKE_ONE
        raise missing
    return row


async def _begun(memory: Memory, name: str, rows: Sequence[SessionRow]) -> list[SessionRow]:
    """The sessions whose name or id begins so; if there is none, those whose title does."""
    from pagefault.service.lookup.names import begun_by

    begun = begun_by(name, rows)
    if begun or not name:
        return begun
    titles = await titles_of(memory, rows)
    start = name.casefold()
    titled = {one for one, title in titles.items() if title.casefold().startswith(start)}
    return [row for row in rows if row.session_id in titled]


def _which(
    name: str, found: Sequence[SessionRow], rows: Sequence[SessionRow], *, in_full: bool
) -> str:
    """How to say which of them is meant: their names, and the command with the first of these."""
    from pagefault.service.lookup.names import NAMES_TOLD, told_apart

    names = [row.called for row in found]
    if not in_full or len({*names}) < len(names):
        names = told_apart(found, rows)
    names = list(map(named, names))
    more = ", …" if len(names) > NAMES_TOLD else ""
    told = f"say which: {', '.join(names[:NAMES_TOLD])}{more}"
    ctx = click.get_current_context(silent=True)
    if ctx is None:
        return told
    program, *verbs = ctx.command_path.split()
    root = ctx.ensure_object(App).root
    words = [program, *(["--root", root] if root else []), *verbs]
    for one in ctx.command.params:
        key = one.name or ""
        if ctx.get_parameter_source(key) is not ParameterSource.COMMANDLINE:
            continue
        given = ctx.params.get(key)
        for value in given if isinstance(given, tuple) else (given,):
            is_meant = value == name and "session" in key
            if isinstance(one, click.Option):
                words.append(next((opt for opt in one.opts if opt.startswith("--")), one.opts[0]))
            if value is not None and not (isinstance(one, click.Option) and one.is_flag):
                words.append(names[0] if is_meant else str(value))
    return f"{told}; for the first, `{shlex.join(words)}`"


async def find_session(memory: Memory, name: str | None) -> Session:
    """The named session. `StoreReadOnly` if nothing of it is kept now, and it is to be
    written to.
    """
    row = await find_row(memory, name)
    session = await memory.session(row.session_id, create=False)
    if session.overlay is not None:
        from pagefault.model.errors import StoreReadOnly

        raise StoreReadOnly(
            f"the session {row.called!r} is {session.control}: nothing is written",
            hint="`pagefault mode assist --session NAME` turns keeping back on",
        )
    return session


def _here() -> Path:
    from pagefault.model.errors import BadInput

    try:
        return Path.cwd()
    except OSError:
        raise BadInput(
            "the current folder no longer exists", hint="change to an existing folder and try again"
        ) from None


# --- options ------------------------------------------------------------------------------------


def _set_root(ctx: click.Context, _param: click.Parameter, value: str | None) -> None:
    if value is not None:
        ctx.ensure_object(App).root = value


def _set_loudness(by: int) -> Callable[[click.Context, click.Parameter, bool], None]:
    def set_loudness(ctx: click.Context, _param: click.Parameter, given: bool) -> None:
        if given:
            ctx.ensure_object(App).term.loudness = by

    return set_loudness


def _set_plain(ctx: click.Context, _param: click.Parameter, given: bool) -> None:
    if given:
        ctx.ensure_object(App).term.plain()


def _set_dry_run(ctx: click.Context, _param: click.Parameter, given: bool) -> None:
    ctx.ensure_object(App).dry_run = given


def _set_json(ctx: click.Context, _param: click.Parameter, given: bool) -> None:
    ctx.ensure_object(App).as_json = given


def _global_options(*, hidden: bool) -> list[click.Parameter]:
    """Accepted before and after the sub-command; only the root's help lists them."""
    return [
        click.Option(
            ["--root"],
            metavar="PATH",
            help='Folder of the memory, or ":memory:" for one that is not saved.',
            callback=_set_root,
            expose_value=False,
            hidden=hidden,
        ),
        click.Option(
            ["-q", "--quiet"],
            is_flag=True,
            help="Print only results and errors.",
            callback=_set_loudness(-1),
            expose_value=False,
            hidden=hidden,
        ),
        click.Option(
            ["-v", "--verbose"],
            is_flag=True,
            help="Print more detail to stderr.",
            callback=_set_loudness(1),
            expose_value=False,
            hidden=hidden,
        ),
        click.Option(
            ["--no-color"],
            is_flag=True,
            help="Disable colours. NO_COLOR and TERM=dumb do the same.",
            callback=_set_plain,
            expose_value=False,
            hidden=hidden,
        ),
    ]


class Command(click.Command):
    """A command whose function is called with the `App` first. It also takes the global options
    and, if SESSION is its first argument, --session.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        assert self.callback is not None
        self.callback = click.make_pass_decorator(App, ensure=True)(self.callback)
        self.params += _global_options(hidden=True)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        first = next((one for one in self.params if isinstance(one, click.Argument)), None)
        takes_it = any("--session" in one.opts for one in self.params)
        if first is not None and "SESSION" in first.make_metavar(ctx) and not takes_it:
            args = _named_first(args)
        return super().parse_args(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; after a dry run, say that nothing was changed."""
        app = ctx.ensure_object(App)
        try:
            done, left = super().invoke(ctx), None
        except click.exceptions.Exit as exits:
            done, left = None, exits
        if app.dry_run and not app.as_json:
            app.term.note("nothing was changed")
        if left is not None:
            raise left
        return done


def _named_first(args: Sequence[str]) -> list[str]:
    """Put the value of --session first among the arguments."""
    rest = list(args)
    upto = rest.index("--") if "--" in rest else len(rest)
    for at, one in enumerate(rest[:upto]):
        if one == "--session" and at + 1 < upto:
            return [rest[at + 1], *rest[:at], *rest[at + 2 :]]
        if one.startswith("--session="):
            return [one.partition("=")[2], *rest[:at], *rest[at + 1 :]]
    return rest


class Group(click.Group):
    """A group of such commands."""

    command_class = Command

    def __init__(self, *args: Any, visible_options: bool = False, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.params += _global_options(hidden=not visible_options)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """As click's, with the first sentence of each command's help in full."""
        below = ((name, self.get_command(ctx, name)) for name in self.list_commands(ctx))
        told = [(name, one.get_short_help_str(_WHOLE)) for name, one in below if one is not None]
        if told:
            with formatter.section("Commands"):
                formatter.write_dl(told)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """As click's; of an unknown verb it says which there are."""
        word = args[0]
        if self.get_command(ctx, word) is None and not word.startswith("-"):
            ctx.fail(_has_no_verb(ctx, word, self.list_commands(ctx)))
        return super().resolve_command(ctx, args)


def _has_no_verb(ctx: click.Context, word: str, verbs: Sequence[str], cutoff: float = 0.6) -> str:
    from difflib import get_close_matches

    near = get_close_matches(word, verbs, 1, cutoff)
    guess = f"did you mean {near[0]}?" if near else f"the verbs are {', '.join(verbs)}"
    return f"{ctx.command_path} has no verb {word!r}; {guess}"


_WHOLE = 400  # characters: longer than any first sentence of a command's help
_VERB_NEAR = 0.4  # so that `add` is near to `append`: a wrong guess costs a word, as none would
_NO_VERB = "pagefault.cli.no_verb"  # the key of a first argument that is not a verb


class WithDefault(Group):
    """A group with a `default` verb: `pagefault claims SESSION`."""

    def __init__(self, *args: Any, default: str, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.default = default

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Also lists the options of its default verb."""
        told = self.default_options(ctx)
        if told:
            with formatter.section(f"Options of {self.default}, where no command is named"):
                formatter.write_dl(told)
        super().format_options(ctx, formatter)

    def default_options(self, ctx: click.Context) -> list[tuple[str, str]]:
        """The help of each option of the default verb."""
        options = (p for p in self.commands[self.default].params if isinstance(p, click.Option))
        records = (one.get_help_record(ctx) for one in options)
        return [one for one in records if one is not None]

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        is_named = any(arg in self.commands for arg in args[:1])
        if not is_named and not any(arg in ("--help", "-h") for arg in args):
            ctx.meta[_NO_VERB] = args[:1]
            args = [self.default, *args]
        return super().parse_args(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        """As click's; a first argument that the default verb cannot use may be a mistyped verb."""
        from pagefault.model.errors import SessionNotFound

        try:
            return super().invoke(ctx)
        except click.UsageError as wrong:
            raise self._naming_verbs(ctx, wrong) from None
        except SessionNotFound as missing:
            from difflib import get_close_matches

            for word in ctx.meta.get(_NO_VERB, []):
                for near in get_close_matches(word, self.commands, n=1):
                    missing.hint = f"did you mean `{ctx.command_path} {near}`? {missing.hint}"
            raise

    def _naming_verbs(self, ctx: click.Context, wrong: click.UsageError) -> click.UsageError:
        """A complaint about the default verb's arguments, which says that the first is no verb."""
        from difflib import get_close_matches

        for word in ctx.meta.get(_NO_VERB, []):
            if "extra argument" in wrong.message and not word.startswith("-"):
                told = _has_no_verb(ctx, word, [*self.commands], _VERB_NEAR)
                return click.UsageError(told, ctx=ctx)
            for near in get_close_matches(word, self.commands, 1):
                told = f"If {word!r} is a verb, did you mean {near}?"
                return click.UsageError(f"{wrong.format_message()} {told}", ctx=wrong.ctx)
        return wrong


def number_option(
    name: str, default: int, told: str, *, least: int = 0, metavar: str | None = None
) -> Callable[[F], F]:
    """A whole number of at least `least`, whose default the help shows."""
    return click.option(
        name,
        type=click.IntRange(min=least),
        default=default,
        show_default=True,
        metavar=metavar,
        help=told,
    )


def options(*each: Callable[[Any], Any]) -> Callable[[F], F]:
    """Several options as one decorator, in this order in the help."""

    def declared(command: F) -> F:
        for option in reversed(each):
            command = option(command)
        return command

    return declared


json_option = click.option(
    "--json", is_flag=True, help="Print JSON to stdout.", callback=_set_json, expose_value=False
)


def completer(
    of: str,
) -> Callable[[click.Context, click.Parameter, str], list[str | CompletionItem]]:
    """Completes with the function of this name in `cli/completing.py`, imported when first used."""

    def complete(
        ctx: click.Context, _param: click.Parameter, incomplete: str
    ) -> list[str | CompletionItem]:
        from pagefault.cli import completing

        return list(getattr(completing, of)(ctx, incomplete))

    return complete


complete_page = completer("pages")
complete_session = completer("sessions")


def page_argument(**more: Any) -> Callable[[F], F]:
    """PAGE_ID. A bare number is a message's: 16 is msg_16."""
    return click.argument("page_id", callback=numbered, shell_complete=complete_page, **more)


def numbered(_ctx: click.Context, _param: click.Parameter, value: str | None) -> str | None:
    return None if value is None else page_named(value)


def page_named(value: str) -> str:
    """16 is msg_16; anything else is itself."""
    return f"msg_{int(value)}" if value.isascii() and value.isdecimal() else value


def dry_run_with_help(text: str) -> Callable[[F], F]:
    """--dry-run, with a help text of its own."""
    return click.option(
        "--dry-run", is_flag=True, help=text, callback=_set_dry_run, expose_value=False
    )


dry_run_option = dry_run_with_help(DRY_RUN)

session_argument = click.argument(
    "session_name", metavar="[SESSION]", required=False, shell_complete=complete_session
)
session_either = click.argument(
    "session_named", metavar="[SESSION]", required=False, shell_complete=complete_session
)
"""For commands that also take --session; `either` decides between them."""


def either(named: str | None, option: str | None) -> str | None:
    """The session given to a command, as its argument or with --session."""
    if named is not None and option is not None and named != option:
        raise click.UsageError(f"Two sessions are named: {named!r} and {option!r}.")
    return named if named is not None else option


session_option = click.option(
    "--session",
    "session_name",
    metavar="NAME",
    shell_complete=complete_session,
    help=SESSION,
)
