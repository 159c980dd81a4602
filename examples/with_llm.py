"""What the plugin of `llm` gives: tools, and fragments (`llm -f pagefault:"key" …`). Offline."""

import tempfile

from pagefault.integrations.llm import Pagefault

tools = Pagefault(root=tempfile.mkdtemp())
print(tools.remember("The spare key hangs behind the barrel."))
print(tools.search("spare key"))
