"""Memory for clients that speak the Model Context Protocol: tools, resources, prompts.

Called so, and not `mcp`, since that is the package it is built on: `import mcp` must mean one
thing. That package is an extra (`pagefault[mcp]`) and takes most of a second of processor time to
import, so nothing outside of this one imports it, and the command line imports this one only to
serve.

    reach     whose part of a memory a client reads
    shapes    what the tools answer, as data
    answers   the verbs: answers within a budget of tokens, cited, the same for the same memory
    server    the tools, resources and prompts, by their names in the protocol; stdio
    http      the same behind a path of the proxy, for whoever asks there

Invariants:
 (1) A client reads what its reach holds, and nothing that it is answered tells of the rest: neither
     by text nor by counts, and what it may not read is answered like what is not there.
 (2) What others wrote is data wherever it stands: neutralised, and marked off where it is text.
 (3) No state is a connection's. What an answer refers to is named by its session and its id, in
     both eras of the protocol.
"""

from importlib.util import find_spec

from pagefault.model.errors import not_installed


def check_installed() -> None:
    """Raise `CallerError` where the package `mcp` is not there."""
    if find_spec("mcp") is None:
        raise not_installed("serving MCP needs the package mcp", "mcp")
