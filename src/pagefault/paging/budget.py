"""Where the tokens of a window go, by modality."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from pagefault.model.kinds import Modality
from pagefault.paging.questions import Resident


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenBudget:
    """A window's tokens by use; modalities, reserved and available add up to `total`.

    `reserved_head` is the system prompt and the rules, `reserved_tools` the tools' schemas,
    `reserved_tail` the standing rules at the end of each request. `text` includes calls and the
    framing of messages.
    """

    total: int
    text: int
    image: int
    audio: int
    video: int
    structured: int
    reserved_head: int
    reserved_tools: int
    reserved_tail: int

    @property
    def reserved(self) -> int:
        return self.reserved_head + self.reserved_tools + self.reserved_tail

    @property
    def used(self) -> int:
        """The tokens of the conversation, over all modalities."""
        return self.text + self.image + self.audio + self.video + self.structured

    @property
    def available(self) -> int:
        return self.total - self.reserved - self.used


def token_budget(
    residents: Iterable[Resident], *, total: int, request: int, head: int, tools: int, tail: int
) -> TokenBudget:
    """The budget of a window of `total` tokens. `request` includes `head`, `tools` and `tail`."""
    taken = dict.fromkeys(Modality, 0)
    for page in residents:
        taken[page.modality] += page.tokens
    media = sum(tokens for modality, tokens in taken.items() if modality is not Modality.TEXT)
    conversation = request - head - tools - tail
    return TokenBudget(
        total=total,
        text=conversation - media,
        image=taken[Modality.IMAGE],
        audio=taken[Modality.AUDIO],
        video=taken[Modality.VIDEO],
        structured=taken[Modality.STRUCTURED],
        reserved_head=head,
        reserved_tools=tools,
        reserved_tail=tail,
    )
