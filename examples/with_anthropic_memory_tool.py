"""Anthropic's memory tool over a memory: hand `tool` to `client.beta.messages.tool_runner`."""

from pagefault.integrations.anthropic_memory import MemoryTool

tool = MemoryTool(memory=":memory:")
note = "Ana likes green tea.\n"
print(tool.call({"command": "create", "path": "/memories/ana.md", "file_text": note}))
print(tool.call({"command": "view", "path": "/memories/ana.md"}))
tool.close()
