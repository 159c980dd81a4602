"""A model of LangChain."""

from __future__ import annotations

from typing import Any

from langchain_core.callbacks import CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from pydantic import Field


class Scripted(BaseChatModel):
    """Says what it is told to say, and remembers what it was sent."""

    says: list[Any] = Field(default_factory=list)
    seen: list[list[BaseMessage]] = Field(default_factory=list)

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, tools: Any, **more: Any) -> Any:
        return self

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **more: Any,
    ) -> ChatResult:
        self.seen.append(list(messages))
        said = self.says.pop(0) if self.says else AIMessage("Understood.")
        usage = {"input_tokens": 707, "output_tokens": 9, "total_tokens": 716}
        said = said.model_copy(update={"usage_metadata": usage})
        return ChatResult(generations=[ChatGeneration(message=said)])

    def texts(self) -> list[str]:
        return ["\n".join(str(one.content) for one in asked) for asked in self.seen]
