"""Core memory: a few sections in every request, written by person and model.

A section is a page, and an edit writes its next version: the one before stays as history. The edit
changes no byte that was sent. Its version is appended with the next request, marked as newer than
the one it replaces, and the next epoch shows it alone, in front: rewriting the front at each edit
would cost the whole prefix, and waiting for an epoch would hide what was just noted.

A version that does not fit is refused, with the limit: `core_section_chars` of one section,
`core_chars_max` of all, core's share of the window. With `core_overflow="archive"` an append drops
the section's oldest lines instead, and they become notes; nothing is lost.

A version that may come from untrusted text (`model/trust.py`) is *proposed*: kept, and in no
request until a person accepts it. Otherwise a page that a model reads once could write itself into
every later request.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from pagefault.model.errors import BadInput, CoreFull, NoSuchPage, PinsFull
from pagefault.model.events import CoreWritten, Draft, PageBody, expected
from pagefault.model.ids import PageId, SessionNo
from pagefault.model.kinds import PAGE_PREFIX, USERS, CoreOverflow, Origin, Role, actor_of
from pagefault.model.page import Page
from pagefault.model.reprs import outline
from pagefault.model.trust import is_untrusted
from pagefault.service.turn.notes import NewNote, is_hostile, note_drafts
from pagefault.service.window.content import page_of
from pagefault.service.window.room import check_pins
from pagefault.service.window.state import SessionState, turn_now

_STEM: Final = PAGE_PREFIX["core"]
SECTION_CHARS: Final = 40  # of a section's name


@dataclass(frozen=True, slots=True, kw_only=True)
class CoreSection:
    """A section of core memory, and the page with its current text. A `proposed` one is in no
    request until a person accepts it (`Session.core_accept`).
    """

    section: str
    text: str
    page_id: PageId
    chars_max: int
    origin: str
    session_id: str = ""
    proposed: bool = False
    archived: tuple[PageId, ...] = ()  # notes that its dropped lines became

    def __repr__(self) -> str:
        size = f"{len(self.text):,} of {self.chars_max:,} characters"
        return outline(self.section, self.page_id, size, "proposed" * self.proposed, self.text)


class CoreMemory:
    """The sections of one session, from its state. Blocks on the store."""

    def __init__(
        self, state: SessionState, session: SessionNo, clean: Callable[[str], str]
    ) -> None:
        self._state = state
        self._session = session
        self._clean = clean
        self._pages = {
            section: state.read_page(page_id)
            for section, page_id in state.sections.items()
            if state.is_there(page_id)
        }

    def sections(self) -> list[CoreSection]:
        return [self._told(name, page) for name, page in self._pages.items() if page.text]

    def append(self, section: str, text: str, origin: Origin) -> tuple[list[Draft], CoreSection]:
        """A section with a text appended. Raises `CoreFull`."""
        name, text = self._name(section), self._clean(text)
        if not text.strip():
            raise BadInput("the text must not be blank", hint="give the text to add")
        before = self._pages.get(name)
        lines = before.text.split("\n") if before is not None and before.text else []
        return self._write(name, lines, text, origin, drops=True)

    def replace(
        self, section: str, old: str, new: str, origin: Origin
    ) -> tuple[list[Draft], CoreSection]:
        """A section with some words replaced. Raises `BadInput` if it does not have them, and
        `CoreFull`.
        """
        name = self._name(section)
        before = self._pages.get(name)
        if before is None:
            known = ", ".join(self._pages) or "none"
            raise BadInput(
                f"section {name!r} not found in core memory",
                hint=f"there is {known}; `core_memory_append` begins one",
            )
        old, new = self._clean(old), self._clean(new)
        if not old:
            raise BadInput("the text to replace is empty", hint="give the current words")
        if old not in before.text:
            raise BadInput(
                f"section {name!r} does not contain {old!r:.80}",
                hint="give the section's exact words",
            )
        return self._write(name, [], before.text.replace(old, new, 1), origin, drops=False)

    def put(self, section: str, text: str, origin: Origin) -> tuple[list[Draft], CoreSection]:
        """A section with exactly this text. Raises `CoreFull`."""
        return self._write(self._name(section), [], self._clean(text), origin, drops=False)

    def propose(
        self, section: str, said: Sequence[str], origin: Origin, *, before: int = 0
    ) -> Draft:
        """A version of a section with these lines appended, which is not in use until a person
        accepts it; `before` are those that the same batch proposes already. Raises `CoreFull`, and
        `BadInput` for an invalid name.
        """
        name = self._name(section)
        held = self._pages.get(name)
        lines = [held.text] if held is not None and held.text else []
        draft = self._version(name, "\n".join([*lines, *map(self._clean, said)]), origin, True)
        full = self._wrong_with(draft, is_proposed=True)
        if full is not None:
            raise full
        return _behind(draft, before, versions=before)

    def accept(self, page: Page, section: str, origin: Origin) -> tuple[list[Draft], CoreSection]:
        """The proposed version, as a person approved it."""
        drafts, told = self._write(section, [], page.text, origin, drops=False)
        return [replace(draft, cause=page.row.seq) for draft in drafts], told

    # ------------------------------------------------------------------------------------------

    def _name(self, section: str) -> str:
        name = " ".join(self._clean(section).split())
        if not name or len(name) > SECTION_CHARS:
            raise BadInput(
                f"{section!r:.80} cannot be a section's name",
                hint=f"1 to {SECTION_CHARS} characters, such as human, persona or task",
            )
        return name

    def _write(
        self, section: str, lines: list[str], text: str, origin: Origin, *, drops: bool
    ) -> tuple[list[Draft], CoreSection]:
        """The version, and as many notes as are needed to make room. A proposal replaces nothing
        and is only limited by the section's size.
        """
        is_proposed = is_untrusted(origin) or is_hostile(text, origin)
        drops = drops and self._state.limits.core_overflow == CoreOverflow.ARCHIVE
        for kept in range(len(lines) + 1 if drops else 1):
            draft = self._version(section, "\n".join([*lines[kept:], text]), origin, is_proposed)
            full = self._wrong_with(draft, is_proposed=is_proposed)
            if full is None:
                break
        gone = lines[:kept]
        drafts, archived = [draft], tuple[PageId, ...]()
        if full is not None:
            if not drops:
                raise full
            drafts, gone = [], [text]  # it does not fit even alone
        if gone:
            note = NewNote(text="\n".join(gone), origin=origin)
            made = note_drafts([note], session=self._session, state=self._state, clean=self._clean)
            drafts = [*made, *(_behind(one, len(made)) for one in drafts)]
            archived = tuple(b.page_id for one in made if isinstance(b := one.body, PageBody))
        page = self._page(drafts[-1]) if full is None else self._pages.get(section)
        told = CoreSection(
            section=section,
            text=page.text if page is not None else "",
            page_id=page.page_id if page is not None else PageId(""),
            chars_max=self._state.limits.core_section_chars,
            origin=str(origin),
            session_id=self._state.session_id,
            proposed=is_proposed,
            archived=archived,
        )
        return drafts, told

    def _version(self, section: str, text: str, origin: Origin, is_proposed: bool) -> Draft:
        state, before = self._state, self._pages.get(section)
        supersedes = PageId("") if before is None or is_proposed else before.page_id
        return Draft(
            session=self._session,
            turn=turn_now(state),
            actor=actor_of(origin),
            origin=origin,
            body=CoreWritten(
                page_id=PageId(f"{_STEM}_{state.numbers.get(_STEM, 0) + 1}"),
                order=state.order_next,
                text=text,
                tokens=state.counter.count(text),
                title=section,
                role=Role.USER if origin in USERS else Role.SYSTEM,
                section=section,
                is_proposed=is_proposed,
                supersedes=supersedes,
                importance=1.0,
            ),
        )

    def _wrong_with(self, draft: Draft, *, is_proposed: bool) -> CoreFull | None:
        """Why a version does not fit: the smallest limit that it exceeds."""
        body, limits = draft.body, self._state.limits
        assert isinstance(body, CoreWritten)
        chars = len(body.text)
        if chars > limits.core_section_chars:
            return CoreFull(
                f"section {body.section!r} would have {chars:,} characters; it takes at most "
                f"{limits.core_section_chars:,} (limits.core_section_chars)",
                hint=_HINT,
            )
        if is_proposed or not body.text:
            return None
        others = sum(len(p.text) for name, p in self._pages.items() if name != body.section)
        if others + chars > limits.core_chars_max:
            return CoreFull(
                f"core memory would have {others + chars:,} characters; all its sections take at "
                f"most {limits.core_chars_max:,} (limits.core_chars_max)",
                hint=_HINT,
            )
        try:
            check_pins(self._state, self._page(draft), instead=self._pages.get(body.section))
        except PinsFull as full:
            return CoreFull(
                f"section {body.section!r} has no room in core's share of the window "
                f"(limits.core_window_share): {full}",
                hint=_HINT,
            )
        return None

    @staticmethod
    def _page(draft: Draft) -> Page:
        assert isinstance(draft.body, PageBody)
        return page_of(expected(draft), draft.body)

    def _told(self, section: str, page: Page) -> CoreSection:
        return CoreSection(
            section=section,
            text=page.text,
            page_id=page.page_id,
            chars_max=self._state.limits.core_section_chars,
            origin=str(page.row.origin),
            session_id=self._state.session_id,
        )


def _behind(draft: Draft, places: int, *, versions: int = 0) -> Draft:
    """The draft with so many others before it, of which so many are versions of sections."""
    body = draft.body
    assert isinstance(body, CoreWritten)
    number = int(body.page_id.rpartition("_")[2]) + versions
    moved = replace(body, page_id=PageId(f"{_STEM}_{number}"), order=body.order + places)
    return replace(draft, body=moved)


def find_proposed(page: Page | None, page_id: str, called: str) -> Page:
    """A page that may be accepted. Raises `NoSuchPage`."""
    if page is None or not page.page_id.startswith(f"{_STEM}_"):
        raise NoSuchPage(page_id, called)
    return page


_HINT: Final = (
    "`core_memory_replace` shortens it, `archival_memory_insert` keeps the text to be searched"
)
