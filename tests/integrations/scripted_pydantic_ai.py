"""A model of Pydantic AI that says what it is told to say, and remembers what it was sent."""

from __future__ import annotations

from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart
from pydantic_ai.models.function import AgentInfo


class Scripted:
    def __init__(self, *says: ModelResponse) -> None:
        self.says = list(says)
        self.seen: list[list[ModelMessage]] = []

    def __call__(self, messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        self.seen.append(list(messages))
        return self.says.pop(0) if self.says else ModelResponse(parts=[TextPart("Understood.")])

    def texts(self) -> list[str]:
        return [
            "\n".join(str(getattr(part, "content", "")) for one in asked for part in one.parts)
            for asked in self.seen
        ]
