"""A state machine for regions: sessions see what they may see, and forgotten words are gone.

Every text has a unique word. The model has no records or scopes: it tracks where texts are, whom
each policy names, who mounted and who agreed, and derives the words that a session may see. After
each step every session asks for every page by id, and one of them searches; steps include requests
and faults. Rules are set from this and from a second opening of the memory. Now and then the memory
is reopened, its index rebuilt, and everything verified. At the end no file has a word of a
forgotten text.

Run it with `hypothesis.stateful.run_state_machine_as_test(RegionMachine)`.
"""

from __future__ import annotations

import asyncio
import json
import random
import re
import shutil
import tempfile
from collections.abc import Callable, Coroutine
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Final, TypeVar

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from pagefault.model.clock import SystemClock
from pagefault.model.errors import AccessRefused, NoSuchPage, RecordGone
from pagefault.model.ids import IdMinter
from pagefault.model.request import ToolCall
from pagefault.service.bootstrap import open_memory
from pagefault.service.memory import Memory
from pagefault.service.session import Session
from pagefault.store.embedded.root import rebuild

T = TypeVar("T")

SESSIONS: Final = ("ann-1", "ann-2", "bob-1", "bob-2")
ASSIGNED: Final = {
    "ann-1": ("red", "ann"),
    "ann-2": ("blue", "ann"),
    "bob-1": ("red", "bob"),
    "bob-2": ("", "bob"),
}
REGIONS: Final = ("shelf", "attic", "cellar")
GRANTS: Final = (
    ("anyone",),
    ("owner",),
    ("project:red",),
    ("user:bob",),
    ("session:ann-2", "session:bob-2"),
    (),
)
_WORD: Final = re.compile(r"canary[a-z]+")
_FORKS_MAX: Final = 3
_ASKED: Final = "Where does the harbour mast stand, and what hangs there?"


@dataclass(eq=False)
class Text:
    """A text that was said, or brought into a region."""

    word: str
    page_id: str
    origin: Text | None = None  # the text it is a copy of
    is_gone: bool = False


@dataclass
class Talk:
    """A session of the model. Unassigned, it inherits its parent's project and user."""

    names: set[str]
    assigned: tuple[str, str] | None = None  # project and user
    texts: list[Text] = field(default_factory=list)
    mounts: dict[str, str] = field(default_factory=dict)
    parents: list[str] = field(default_factory=list)  # nearest first
    is_gone: bool = False  # forgotten whole; its forks still inherit from it


@dataclass
class Place:
    """A region of the model."""

    owner: str
    read: tuple[str, ...]
    write: tuple[str, ...]
    promote: tuple[str, ...]
    consent: str
    texts: list[Text] = field(default_factory=list)


def word_of(number: int) -> str:
    """A unique word that nothing else can be inferred from."""
    letters = "".join(chr(ord("a") + int(digit)) for digit in f"{number:04}")
    return f"canary{letters}"


class RegionMachine(RuleBasedStateMachine):
    """Two users with two sessions each, and what they share."""

    checks: ClassVar[bool] = True

    def __init__(self) -> None:
        super().__init__()
        self.root = Path(tempfile.mkdtemp(prefix="pagefault-regions-"))
        self.runner = asyncio.Runner()
        self.talks = {name: Talk(names={name}, assigned=ASSIGNED[name]) for name in SESSIONS}
        self.places: dict[str, Place] = {}
        self.consents: dict[tuple[str, str], str] = {}
        self.every: list[Text] = []
        self.number = 0
        self.looks = 0
        self.open()
        for name, (project, user) in ASSIGNED.items():
            self.run(self.session(name))
            self.run(self.memory.assign(name, project=project, user=user))
            self.tell(name)
        everybody = ("anyone",)
        self.make(REGIONS[0], "ann", everybody, everybody, everybody, "write")
        for name, mode in (("ann-1", "rw"), ("ann-2", "ro"), ("bob-1", "ro")):
            self.mounted(name, REGIONS[0], mode)
        self.brought("ann-1", REGIONS[0], self.talks["ann-1"].texts[0])

    # --- the memory ---------------------------------------------------------------------------

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        return self.runner.run(work)

    def open(self) -> None:
        self.stack = AsyncExitStack()
        self.memory: Memory = self.run(self.entered())
        self.other: Memory = self.run(self.entered())

    async def entered(self) -> Memory:
        return await self.stack.enter_async_context(open_memory(self.root, window=16_000))

    def either(self, there: bool) -> Memory:
        """The memory, or a second opening of it, as in another process."""
        return self.other if there else self.memory

    def close(self) -> None:
        self.run(self.stack.aclose())

    async def session(self, name: str) -> Session:
        return await self.memory.session(name)

    def on(self, name: str, verb: Callable[[Session], Coroutine[Any, Any, T]]) -> T:
        async def work() -> T:
            return await verb(await self.session(name))

        return self.run(work())

    def teardown(self) -> None:
        self.close()
        self.runner.close()
        try:
            gone = {one.word for one in self.every if one.is_gone}
            gone -= {one.word for one in self.every if not one.is_gone}
            for path in self.root.rglob("*"):
                held = path.read_bytes() if path.is_file() else b""
                left = [word for word in gone if word.encode() in held]
                assert not left, f"{path.name} has {left}"
        finally:
            shutil.rmtree(self.root, ignore_errors=True)

    # --- the model ----------------------------------------------------------------------------

    def alive(self) -> list[str]:
        """Sessions that were not forgotten."""
        return sorted(name for name, talk in self.talks.items() if not talk.is_gone)

    def assigned(self, name: str) -> tuple[str, str]:
        """A session's project and user."""
        known = (self.talks[one].assigned for one in (name, *self.talks[name].parents))
        return next(filter(None, known), ("", ""))

    def names(self, name: str, grants: tuple[str, ...], place: Place) -> bool:
        """Whether one of these grants names a session."""
        project, user = self.assigned(name)
        own = {"anyone"} | {f"session:{one}" for one in self.talks[name].names}
        own |= {f"project:{project}"} if project else set()
        own |= {f"user:{user}"} if user else set()
        own |= {"owner"} if user == place.owner else set()
        return bool(own.intersection(grants))

    def allows(self, name: str, region: str, mode: str) -> bool:
        place = self.places[region]
        grants = place.read if mode == "ro" else place.write + place.promote
        return self.names(name, grants, place)

    def is_open(self, name: str, region: str) -> bool:
        """Whether a session may read a region now."""
        talk, place = self.talks[name], self.places[region]
        mode = talk.mounts.get(region)
        if mode is None or not self.allows(name, region, mode):
            return False
        is_asked = place.consent == "always" or (place.consent == "write" and mode == "rw")
        if self.assigned(name)[1] == place.owner or not is_asked:
            return True
        for one in (name, *talk.parents):
            if (region, one) in self.consents:
                return self.consents[region, one] in (mode, "rw")
        return False

    def seen(self, name: str) -> dict[str, Text]:
        """What a session may see now, by page id."""
        texts = list(self.talks[name].texts)
        for region, place in self.places.items():
            if self.is_open(name, region):
                texts += place.texts
        return {one.page_id: one for one in texts if not one.is_gone}

    def forget(self, text: Text) -> None:
        """Forget a text and every copy of it."""
        going = {text}
        for one in self.every:  # copies come after their originals
            if one.origin in going:
                going.add(one)
        for one in going:
            one.is_gone = True

    def pick(self, data: st.DataObject) -> tuple[str, str]:
        """A session and a region."""
        name = data.draw(st.sampled_from(self.alive()), label="session")
        return name, data.draw(st.sampled_from(sorted(self.places)), label="region")

    def new_text(self) -> str:
        self.number += 1
        word = word_of(self.number)
        return f"At the harbour mast number {self.number} hangs the {word}, as nobody else knows."

    # --- what is said and shared --------------------------------------------------------------

    @rule(data=st.data())
    def say(self, data: st.DataObject) -> None:
        self.tell(data.draw(st.sampled_from(self.alive()), label="session"))

    def tell(self, name: str) -> None:
        text = self.new_text()
        page_id = self.on(name, lambda session: session.user(text))
        one = Text(word_of(self.number), page_id)
        self.talks[name].texts.append(one)
        self.every.append(one)

    @rule(
        region=st.sampled_from(REGIONS),
        owner=st.sampled_from(["ann", "bob"]),
        read=st.sampled_from(GRANTS),
        write=st.sampled_from(GRANTS),
        promote=st.sampled_from(GRANTS),
        consent=st.sampled_from(["never", "write", "always"]),
        there=st.booleans(),
    )
    def make_or_rule(
        self,
        region: str,
        owner: str,
        read: tuple[str, ...],
        write: tuple[str, ...],
        promote: tuple[str, ...],
        consent: str,
        there: bool,
    ) -> None:
        if region not in self.places:
            self.make(region, owner, read, write, promote, consent, there=there)
            return
        given: dict[str, Any] = {"read": read, "write": write, "promote": promote}
        place = self.places[region]
        by = place.owner
        self.run(self.either(there).set_policy(region, consent=consent, by=by, **given))
        place.read, place.write, place.promote, place.consent = read, write, promote, consent

    def make(
        self,
        region: str,
        owner: str,
        read: tuple[str, ...],
        write: tuple[str, ...],
        promote: tuple[str, ...],
        consent: str,
        there: bool = False,
    ) -> None:
        made = self.either(there).create_region(
            region, owner=owner, read=read, write=write, promote=promote, consent=consent
        )
        self.run(made)
        self.places[region] = Place(owner, read, write, promote, consent)

    @rule(data=st.data(), mode=st.sampled_from(["ro", "rw"]))
    def mount(self, data: st.DataObject, mode: str) -> None:
        self.mounted(*self.pick(data), mode)

    def mounted(self, name: str, region: str, mode: str) -> None:
        try:
            told = self.on(name, lambda session: session.mount(region, mode))
        except AccessRefused:
            assert not self.allows(name, region, mode)
            return
        if self.checks:
            assert self.allows(name, region, mode)
        self.talks[name].mounts[region] = mode
        if self.checks:
            assert told.is_open == self.is_open(name, region)

    @rule(data=st.data())
    def unmount(self, data: st.DataObject) -> None:
        name, region = self.pick(data)
        self.on(name, lambda session: session.unmount(region))
        self.talks[name].mounts.pop(region, None)

    @rule(data=st.data(), mode=st.sampled_from(["ro", "rw", "none"]), there=st.booleans())
    def agree(self, data: st.DataObject, mode: str, there: bool) -> None:
        name, region = self.pick(data)
        by = self.places[region].owner
        self.run(self.either(there).consent(region, name, mode, by=by))
        self.consents[region, name] = mode

    @rule(data=st.data(), own=st.booleans())
    def bring(self, data: st.DataObject, own: bool) -> None:
        name, region = self.pick(data)
        seen = [one for one in self.seen(name).values() if one.word]
        if own or seen:
            self.brought(name, region, None if own else data.draw(st.sampled_from(seen)))

    def brought(self, name: str, region: str, source: Text | None) -> None:
        """A session promotes a text, or shares one of its own."""
        talk, place = self.talks[name], self.places[region]
        grants = place.write if source is None else place.promote
        text = self.new_text()
        may = talk.mounts.get(region) == "rw" and self.is_open(name, region)
        may = may and self.names(name, grants, place)
        try:
            told = self.on(
                name,
                lambda session: (
                    session.share(text, region)
                    if source is None
                    else session.promote(source.page_id, region)
                ),
            )
        except AccessRefused:
            assert not may
            return
        if self.checks:
            assert may
        [page_id] = told.pages
        if any(one.page_id == page_id for one in place.texts):
            return  # it was there already
        word = word_of(self.number) if source is None else source.word
        one = Text(word, page_id, source)
        place.texts.append(one)
        self.every.append(one)

    @rule(data=st.data())
    def let_go(self, data: st.DataObject) -> None:
        there = [(talk, one) for talk in self.alive() for one in self.talks[talk].texts]
        there += [(f"region:{at}", one) for at in self.places for one in self.places[at].texts]
        there = [(at, one) for at, one in there if not one.is_gone]
        if not there:
            return
        at, one = data.draw(st.sampled_from(there))
        done = self.run(self.memory.forget(at, one.page_id))
        assert done.done
        self.forget(one)

    @rule(
        data=st.data(),
        project=st.sampled_from(["", "red"]),
        user=st.sampled_from(["", "ann", "bob"]),
        there=st.booleans(),
    )
    def reassign(self, data: st.DataObject, project: str, user: str, there: bool) -> None:
        name = data.draw(st.sampled_from(self.alive()))
        if self.assigned(name) != (project, user):
            self.run(self.either(there).assign(name, project=project, user=user))
            self.talks[name].assigned = project, user

    @rule(data=st.data())
    def let_a_session_go(self, data: st.DataObject) -> None:
        if len(self.alive()) < 3:
            return
        name = data.draw(st.sampled_from(self.alive()))
        talk = self.talks[name]
        inherited = {one for parent in talk.parents for one in self.talks[parent].texts}
        self.run(self.memory.forget(name))
        talk.is_gone = True
        for text in talk.texts:
            if text not in inherited:
                self.forget(text)

    @rule(data=st.data())
    def let_a_region_go(self, data: st.DataObject) -> None:
        region = data.draw(st.sampled_from(sorted(self.places)))
        forked = {page for at in self.places if at != region for page in self.places[at].texts}
        if len(self.places) == 1 or forked.intersection(self.places[region].texts):
            return  # its forks would lose their pages, too
        self.run(self.memory.forget(f"region:{region}"))
        for text in self.places.pop(region).texts:
            self.forget(text)
        for talk in self.talks.values():
            talk.mounts.pop(region, None)
        self.consents = {key: mode for key, mode in self.consents.items() if key[0] != region}

    # --- forks --------------------------------------------------------------------------------

    @rule(data=st.data())
    def fork(self, data: st.DataObject) -> None:
        if len(self.talks) >= len(SESSIONS) + _FORKS_MAX:
            return
        name = data.draw(st.sampled_from(self.alive()))
        fork = f"{name}-fork{len(self.talks)}"
        self.on(name, lambda session: session.fork(fork))
        talk = self.talks[name]
        self.talks[fork] = Talk(
            names={fork},
            texts=list(talk.texts),
            mounts=dict(talk.mounts),
            parents=[name, *talk.parents],
        )

    @rule(data=st.data(), there=st.booleans())
    def fork_region(self, data: st.DataObject, there: bool) -> None:
        missing = [one for one in REGIONS if one not in self.places]
        if not missing:
            return
        region = data.draw(st.sampled_from(sorted(self.places)))
        place = self.places[region]
        self.run(self.either(there).fork_region(region, missing[0], by=place.owner))
        self.places[missing[0]] = Place(
            *(place.owner, place.read, place.write, place.promote, place.consent),
            texts=list(place.texts),
        )

    # --- what is shown ------------------------------------------------------------------------

    @rule(data=st.data())
    def ask(self, data: st.DataObject) -> None:
        name = data.draw(st.sampled_from(self.alive()))

        async def asked(session: Session) -> tuple[str, str]:
            page_id = await session.user(_ASKED)
            request = await session.request()
            return page_id, "".join(str(message) for message in request.messages)

        page_id, shown = self.on(name, asked)
        self.talks[name].texts.append(Text("", page_id))
        self.check_shown(name, shown)

    @precondition(lambda self: any(one.texts for one in self.places.values()))
    @rule(data=st.data())
    def fault(self, data: st.DataObject) -> None:
        name = data.draw(st.sampled_from(self.alive()))
        there = [one for place in self.places.values() for one in place.texts]
        one = data.draw(st.sampled_from(there))
        calls = [
            ToolCall("f1", "page_fault", json.dumps({"page_id": one.page_id, "target_level": 0})),
            ToolCall("s1", "search_pages", json.dumps({"query": "harbour mast", "limit": 5})),
        ]

        async def called(session: Session) -> str:
            return "".join([await session.call(call) for call in calls])

        self.check_shown(name, self.on(name, called))

    @invariant()
    def every_session_sees_what_it_may(self) -> None:
        there = [one for place in self.places.values() for one in place.texts]

        async def look(session: Session, name: str) -> None:
            seen = self.seen(name)
            for one in there:
                try:
                    page = await session.page(one.page_id)
                except (NoSuchPage, RecordGone):
                    if self.checks:
                        assert one.page_id not in seen, f"{name} does not see {one}"
                else:
                    assert one.page_id in seen, f"{name} sees {one}"
                    assert one.word in page.text
            if name == searching:
                found = await session.recall("harbour mast hangs", limit=50)
                listed = [await session.recent(50), await session.timeline("2000-01-01")]
                self.check_shown(name, "".join(map(str, [found, *listed])))

        names = self.alive()
        self.looks += 1
        searching = names[self.looks % len(names)]  # in rotation

        async def every() -> None:
            for name in names:
                await look(await self.session(name), name)

        self.run(every())

    def check_shown(self, name: str, shown: str) -> None:
        may = {one.word for one in self.seen(name).values()}
        found = set(_WORD.findall(shown))
        assert found <= may, f"{name} is shown {found - may}"

    # --- what must change nothing -------------------------------------------------------------

    @rule(anew=st.booleans())
    def restart(self, anew: bool) -> None:
        self.close()
        if anew:
            clock = SystemClock()
            rebuild(self.root, clock=clock, minter=IdMinter(clock, random.Random(0)))
        self.open()

    @rule()
    def verify(self) -> None:
        told = self.run(self.memory.verify())
        assert not told.problems, told.problems
