"""A conversation at a terminal: line input, streamed answers, and slash commands."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING

from pagefault.cli import INTERRUPTED, chat
from pagefault.cli.outcome import describe
from pagefault.cli.status import pages_of
from pagefault.cli.term import Term, local_said, plural
from pagefault.model.errors import PagefaultError

if TYPE_CHECKING:
    from pagefault.engine.api import Engine
    from pagefault.model.page import Page, PageRow
    from pagefault.service.memory import Memory
    from pagefault.service.session import Session

_HELP = """\
/help            this list
/quit            leave (so does Ctrl-D); everything said is stored
/retry           let the engine answer again, after an error or Ctrl-C
/cited           the pages that the last answer cites
/page ID         a page in full
/pages           the latest pages, and which of them the window holds
/search WORDS    pages that bear on some words
/pin ID          keep a page in the window; /unpin ID lets it go
/faults          what was faulted in, or refused
/status          the window, counted
/mode MODE       what memory keeps and brings back: assist, capture_only, paused, incognito, off
A line that ends in a backslash goes on in the next one."""


class Chat:
    """Runs one verb at a time on the runner's loop: Ctrl-C stops a verb but not the
    conversation.
    """

    def __init__(
        self,
        term: Term,
        runner: asyncio.Runner,
        memory: Memory,
        session: Session,
        engine: Engine,
    ) -> None:
        self._term = term
        self._runner = runner
        self._memory = memory
        self._session = session
        self._engine = engine
        self._cited: tuple[str, ...] = ()
        self._commands: dict[str, Callable[[str], None]] = {
            "help": lambda _: term.line(_HELP),
            "retry": lambda _: self._ask(""),
            "cited": lambda _: self._show(*self._cited),
            "page": lambda text: self._show(*text.split()),
            "pages": lambda _: self._pages(),
            "search": self._search,
            "pin": lambda text: self._pin(text, pinned=True),
            "unpin": lambda text: self._pin(text, pinned=False),
            "faults": lambda _: self._faults(),
            "status": lambda _: self._status(),
            "mode": self._mode,
        }

    def talk(self) -> None:
        """Until /quit, Ctrl-D, or Ctrl-C twice."""
        with suppress(ImportError):
            import readline  # noqa: F401 - line editing, by being there

        status = self._runner.run(self._session.status())
        self._term.note(
            f"{self._session.called}: {plural(status.pages, 'page')}, "
            f"a window of {status.window_tokens:,} tokens, {status.mode}, {status.control}. "
            "/help lists what can be typed."
        )
        interrupted = False
        while True:
            try:
                text = self._read()
                interrupted = False
            except EOFError:
                self._term.line()
                return
            except UnicodeError:
                self._term.warn("error: that was not UTF-8; nothing was sent")
                continue
            except KeyboardInterrupt:
                self._term.line()
                if interrupted:
                    raise SystemExit(INTERRUPTED) from None
                interrupted = True
                self._term.note("Ctrl-C again, Ctrl-D or /quit leaves; everything said is stored")
                continue
            if text in ("/quit", "/exit", "/q"):
                return
            self._answer(text)

    def _read(self) -> str:
        lines = [input("> ")]
        while lines[-1].endswith("\\"):
            lines[-1] = lines[-1][:-1]
            lines.append(input("… "))
        text = "\n".join(lines).strip()
        text.encode()  # in the C locale, other bytes than UTF-8 come as surrogates
        return text

    def _answer(self, text: str) -> None:
        try:
            if text.startswith("/"):
                name, _, rest = text[1:].partition(" ")
                command = self._commands.get(name)
                if command is None:
                    self._term.warn(f"there is no /{name}; /help lists what there is")
                else:
                    command(rest.strip())
            elif text:
                self._ask(text)
        except PagefaultError as error:
            message, hint = describe(error)
            self._term.warn(f"error: {message}")
            if hint:
                self._term.warn(f"hint: {hint}")
        except KeyboardInterrupt:
            self._term.line()
            self._term.note("stopped; your message is stored, the answer is not: /retry asks again")

    def _ask(self, text: str) -> None:
        with self._term.stream() as show:
            answer = self._runner.run(chat.ask(self._session, self._engine, text, show))
        self._cited = answer.citations
        self._term.line()
        chat.tell(self._term.note, answer)
        if answer.citations:
            self._term.note("/cited shows what it rests on")

    # --- commands -----------------------------------------------------------------------------

    def _show(self, *page_ids: str) -> None:
        if not page_ids:
            self._term.note("no page to show: name one (/page msg_12)")
        for page_id in page_ids:
            page = self._runner.run(self._session.page(page_id))
            who = page.speaker or str(page.row.role)
            when = local_said(page.occurred_at)
            head = f"{page_id} · {who}{', ' + when if when else ''} · turn {page.row.turn}"
            self._term.line(self._term.style(head, "bold"))
            self._term.text(page.text, indent="  ")

    def _mode(self, mode: str) -> None:
        if mode:
            self._runner.run(self._session.set_control(mode))
        self._term.note(f"this session is {self._session.control}")

    def _pages(self) -> None:
        rows = self._runner.run(self._memory.pages(self._session, limit=15, newest_first=True))
        resident = set(self._session.resident())
        told = []
        for row in rows[::-1]:
            page, text = self._page_of(row)
            who = (page.speaker if page else "") or str(row.role)
            state = "in window" if row.page_id in resident else ""
            told.append([row.page_id, str(row.turn), who, f"{row.tokens:,}", state, text])
        self._term.table(
            ["id", "turn", "who", "tokens", "state", "text"], told, right="turn tokens"
        )

    def _search(self, words: str) -> None:
        if not words:
            self._term.note("say what to look for: /search WORDS")
            return
        result = self._runner.run(self._session.recall(words, limit=10))
        told = []
        for hit in result.hits:
            page, text = self._page_of(hit.page)
            who = (page.speaker if page else "") or str(hit.page.role)
            told.append([hit.page.page_id, f"{hit.relevance:.2f}", who, text])
        if told:
            self._term.table(["id", "relevance", "who", "text"], told, right="relevance")
        else:
            self._term.note("no matches")

    def _page_of(self, row: PageRow) -> tuple[Page | None, str]:
        """A page and its text, or what to show instead."""
        from pagefault.cli.asking import instead_of
        from pagefault.model.errors import ArchiveMissing, RecordGone

        try:
            page = self._runner.run(self._session.page(row.page_id))
        except (ArchiveMissing, RecordGone) as gone:
            return None, instead_of(gone)
        return page, page.text

    def _pin(self, page_id: str, *, pinned: bool) -> None:
        if not page_id:
            self._term.note("name a page: /pin msg_12")
            return
        self._runner.run(self._session.pin(page_id) if pinned else self._session.unpin(page_id))
        self._term.line(f"pinned: {', '.join(self._session.pinned()) or 'nothing'}")

    def _faults(self) -> None:
        from pagefault.cli.faults import cells, fault_object

        told = [fault_object("", event) for event in self._runner.run(self._session.faults())]
        if not told:
            self._term.note("no faults yet")
            return
        self._term.table(
            ["turn", "page", "level", "tokens", "reason", "outcome"],
            [cells(one) for one in told],
            right="turn level tokens",
        )

    def _status(self) -> None:
        status = self._runner.run(self._session.status())
        share = status.request_tokens / status.window_tokens
        self._term.table(
            ["what", "value"],
            [
                ["session", status.name or status.session_id],
                ["turns", f"{status.turns:,}"],
                ["pages", pages_of(status)],
                [
                    "window",
                    f"{status.request_tokens:,} of {status.window_tokens:,} tokens ({share:.0%})",
                ],
                ["mode", status.mode],
                ["epoch", f"{status.epoch:,}, {plural(status.requests, 'request')} so far"],
                ["pinned", ", ".join(status.pinned) or "nothing"],
                ["faults left", f"{status.faults_left} in this turn"],
            ],
        )
