"""The log of answers, written in the background: no client waits for it."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any

from pagefault.model.errors import PagefaultError
from pagefault.proxy import access_log
from pagefault.proxy.conversations import Conversations
from pagefault.proxy.desk import Desk
from pagefault.proxy.intake import AcceptedRequest
from pagefault.proxy.metrics import Metrics, NoMetrics
from pagefault.proxy.reply import THE_MEMORY, Told
from pagefault.proxy.telemetry import Telemetry
from pagefault.proxy.wires.gemini import numbered
from pagefault.proxy.wires.wire import Answered
from pagefault.service.lookup.names import brief
from pagefault.service.turn.formation import Formed


class AnswerLog:
    """For one proxy. `log` takes lines of the access log."""

    def __init__(
        self,
        conversations: Conversations,
        desk: Desk,
        metrics: Metrics | NoMetrics | Telemetry,
        log: Callable[[str], None],
    ) -> None:
        self._conversations = conversations
        self._desk = desk
        self._metrics = metrics
        self._log = log
        self.under_way: set[asyncio.Task[None]] = set()

    def answered(self, taken: AcceptedRequest, answered: Answered, told: Told) -> None:
        """Log the answer to a request, then form memory if its user agreed."""
        answered = numbered(answered, taken.passed.match)
        self._desk.answered(taken.conversation.name, answered.usage)
        if answered.usage is not None:
            told.metrics.reported(answered.usage)
        is_next = True
        if taken.chain is not None and answered.complete and not taken.passed.aside:
            is_next = self._conversations.is_next(taken.chain, taken.mark, answered)
        work = taken.conversation.answered(taken.passed, answered, is_next=is_next)
        self._begin(taken, work, told, partial(self._form, taken, answered))

    def ended(self, taken: AcceptedRequest, told: Told) -> None:
        """Log that a request ended without an answer."""
        self._begin(taken, taken.conversation.ended(), told)

    def _begin(
        self,
        taken: AcceptedRequest,
        work: Coroutine[Any, Any, None],
        told: Told,
        then: Callable[[], None] = lambda: None,
    ) -> None:
        conversation = taken.conversation

        async def settle() -> None:
            before = conversation.problem
            try:
                await work
            finally:
                self._conversations.under_way -= Counter([conversation.name])
            if conversation.problem != before and not told.not_logged:
                told.not_logged = conversation.full or THE_MEMORY
                told.words += f" · not logged: {conversation.problem}"
            then()

        task = asyncio.create_task(settle())
        self.under_way.add(task)
        task.add_done_callback(self.under_way.discard)
        told.learning = task

    def _form(self, taken: AcceptedRequest, answered: Answered) -> None:
        def told(one: Formed | PagefaultError) -> None:
            self._metrics.formed(one)
            self._log(f"{brief(taken.conversation.name)} · {access_log.of_formed(one)}")

        try:
            taken.conversation.form(taken.passed, answered, taken.fork, told)
        except Exception as bug:  # what the client reads never depends on it
            self._log(f"{brief(taken.conversation.name)} · nothing formed: {type(bug).__name__}")
