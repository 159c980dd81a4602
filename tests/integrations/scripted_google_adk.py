"""A model of Google's Agent Development Kit."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Any

from google.adk.models import BaseLlm
from google.adk.models.llm_response import LlmResponse
from google.genai import types
from pydantic import Field


class Scripted(BaseLlm):
    """Says what it is told to say, and remembers what it was sent."""

    says: list[Any] = Field(default_factory=list)
    seen: list[str] = Field(default_factory=list)

    async def generate_content_async(
        self, llm_request: Any, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        parts = [part for one in llm_request.contents for part in one.parts]
        self.seen.append("\n".join(str(part.text or part.function_response) for part in parts))
        said = self.says.pop(0) if self.says else types.Part(text="Understood.")
        yield LlmResponse(content=types.Content(role="model", parts=[said]))
