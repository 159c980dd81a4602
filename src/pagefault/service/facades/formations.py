"""Formation: ranges of a session's turns become memory, formed by the model that lived them."""

from __future__ import annotations

from pagefault.engine.api import Engine
from pagefault.engine.former import Former
from pagefault.model.errors import BadInput
from pagefault.model.kinds import LayoutName
from pagefault.model.signatures import checked_verbs
from pagefault.pack.engine_former import EngineFormer
from pagefault.service.facades.parts import SessionParts, check_open
from pagefault.service.turn.formation import Formed


@checked_verbs(usable=check_open)
class Formations(SessionParts):
    """The verbs by which ranges of turns become memory."""

    async def form(
        self,
        engine: Engine | None = None,
        *,
        former: Former | None = None,
        rest: bool = False,
        dry_run: bool = False,
    ) -> list[Formed]:
        """Form memory from every closed range of turns that was not formed yet (about 2,000 tokens
        each), and return these.

        `engine`, which should be the one that the session runs with, gets the session's last
        request plus one message, so that nearly all of it is read from a provider's cache. Without
        one, rules quote sentences. `former` is one of your own. Proposals are kept if the pages
        that they cite support them: sentences of a summary, which an epoch shows
        `limits.formed_after_turns` later; claims of every kind of card, which are proposed until a
        person states them or the user agrees.

        `rest` means that the conversation pauses here: its last turns are formed, too, though the
        range could still grow, and sections of core memory are proposed (`core(proposed=True)`),
        which hold once `core_accept` takes them. Up to three lessons of finished work are proposed,
        as by `reflect`.

        `dry_run` calls no model, and returns the ranges, and the tokens of each request.

        With `formation="on"` this happens after each turn of `run`, in the background, and as with
        `rest` once nothing was said for `limits.formation_rest_s`. It stops, without an error, if
        the budget is spent or the request would not fit the window. Raises `EngineError` if the
        engine failed: a later call tries the range again, up to `limits.formation_tries_max` times.
        Raises `BadInput` for a proxied session.
        """
        state = self._state
        if state.is_relayed:
            asks_model = engine is not None or (former is not None and former.reads_window)
            raise BadInput(
                "the requests of this session are those of a proxy's client, on its user's account"
                if asks_model
                else "this session is a proxy's, which decides what is formed of it",
                hint="where its user agrees the proxy forms memory: `serve --form`, or the header "
                "x-pagefault-form",
            )
        if engine is not None and former is not None:
            raise BadInput("an engine and a former", hint="give one: a former asks whom it wants")
        if engine is not None:
            former = EngineFormer(engine, self._runtime.counter)
        if former is None:
            from pagefault.represent.extractive_former import ExtractiveFormer

            former = ExtractiveFormer(self._runtime.counter.count)
        if former.reads_window and state.layout_name is not LayoutName.STABLE:
            raise BadInput(
                "the developer layout is rebuilt for every request, so none can be gone on from",
                hint="`form()` without an engine quotes; or `configure(layout='stable')`",
            )
        if dry_run:
            return await self._formation.due(former, rests=rest)
        return await self._formation.form(former, rests=rest)

    async def formations(self) -> list[Formed]:
        """The ranges of this session whose forming has begun, oldest first, with their outcomes;
        then those that are due.
        """
        return await self._formation.told()
