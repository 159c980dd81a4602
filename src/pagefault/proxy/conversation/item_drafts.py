"""What is logged of an item of a client's history."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from pagefault.model.errors import PagefaultError
from pagefault.model.kinds import MODEL_GENERATED, USER_TYPED, EventType, Origin, Role
from pagefault.proxy.history.history import Item, Part, digest
from pagefault.proxy.history.item_keys import key_of, text_of, tool_name
from pagefault.service.memory import Memory
from pagefault.service.turn.drafts import Incoming
from pagefault.service.turn.turn import encodable

CALL_CHARS_MAX: Final = 4_000  # of a call's arguments that are kept: an edit quotes whole files
MODEL_CHARS_MAX: Final = 200


class ItemDrafts:
    """Drafts of the items of one conversation."""

    def __init__(self, memory: Memory) -> None:
        self._memory = memory
        self._names: dict[str, str] = {}  # of tools, by the id of a call
        self._words: dict[bytes, str] = {}

    def learn_names(self, items: Iterable[Item]) -> None:
        """Remember which tool each call names: its result may come without the name."""
        for item in items:
            if item.part is Part.CALL:
                self._names[item.call_id] = item.name
            elif item.of_call:  # a call says its name, and the answer to it stands behind it
                self._names.setdefault(item.of_call.partition(" ")[2], item.name)

    def draft(
        self,
        item: Item,
        follows: str,
        old: str,
        *,
        model: str = "",
        under: str = "",
        **more: Any,
    ) -> Incoming | None:
        """The draft of an item that follows one page and replaces `old`, if any, with `more` of its
        fields; None if the item has nothing to log. `model` wrote what a model says; `under` is the
        provider's tool whose results an answer cites, which is then the origin. Raises
        `ScreenFailed` if the secrets in it cannot be found.
        """
        text = text_of(item)
        call_id = encodable(item.call_id)
        more |= {"key": key_of(item, follows, old), "follows": follows, "supersedes": old}
        by_model: dict[str, Any] = {
            "model": model,
            "origin": Origin(f"tool:{under}") if under else MODEL_GENERATED,
        }
        match item.part:
            case Part.TEXT if text:
                users = USER_TYPED if item.role is Role.USER else MODEL_GENERATED
                by = by_model if item.role is Role.ASSISTANT else {"origin": users}
                return Incoming(text=text, role=item.role, **by, **more)
            case Part.CALL:
                # Cut after secrets are taken out: half a secret is not recognised.
                kept = self._memory.written(text)[: CALL_CHARS_MAX + len(item.name)]
                return Incoming(
                    text=kept,
                    role=Role.ASSISTANT,
                    event_type=EventType.TOOL_CALL,
                    call_id=call_id,
                    **by_model,
                    **more,
                )
            case Part.RESULT | Part.SEALED if text:
                call = item.call_id or item.of_call.partition(" ")[2]
                tool = encodable(self._names.get(call, item.name))
                name = tool_name(self._memory.written(tool))
                return Incoming(
                    text=text,
                    role=Role.TOOL,
                    event_type=EventType.TOOL_RESULT,
                    title=name,
                    call_id=call_id,
                    origin=Origin(f"tool:{name}"),
                    **more,
                )
        return None

    def words_of(self, item: Item) -> str:
        """A digest of the text that would be logged of an item, or "" """
        if item.exact not in self._words:
            try:
                said = self.draft(item, "", "")
                written = "" if said is None else self._memory.written(said.text)
            except PagefaultError:
                written = ""  # it cannot be written, and was not
            is_said = bool(written) and not item.asks_for_summary
            self._words[item.exact] = digest(written) if is_said else ""
        return self._words[item.exact]

    def drop_words(self) -> None:
        """Drop the digests: they are asked for several times within one match only."""
        self._words.clear()

    def model_name(self, model: object) -> str:
        """The name of a request's model as it is logged; "" if it cannot be."""
        try:
            return self._memory.written(encodable(str(model or "")))[:MODEL_CHARS_MAX]
        except PagefaultError:
            return ""
