"""English sentences that state how something is done, or define a word.

`truth` makes claims and procedures of them.
"""

from __future__ import annotations

import re
from typing import Final

_VERB: Final = (
    r"(?:run|call|use|open|start|stop|build|push|pull|check|set|execute|do|go|create|update|edit"
    r"|apply|deploy|merge|tag|restart|install|fetch|copy|log|send|ask|load|read|write|wait|bump"
    r"|export|import|commit|rebase|test|verify|delete|remove|add|make|put|enter|click|type)"
)
_LEAD: Final = r"(?:(?:first|always|just|please|you|we|i|should|must|have to|need to|then),?\s+)*"
PURPOSE: Final = re.compile(
    rf"(?:(?:please|remember|note|fyi|btw|so|ok|okay)[:,]?\s+)*(?:in order )?to "
    rf"(?P<subject>[a-z][^,:;]{{1,50}}?)\s*[,:]\s*{_LEAD}(?P<steps>{_VERB}\b.*)",
    re.IGNORECASE,
)
OCCASION: Final = re.compile(
    rf"(?:(?:please|remember|note|fyi|btw|so|ok|okay)[:,]?\s+)*(?P<subject>(?:when|whenever|before"
    rf"|after) (?:you |we |i )?(?:call|calling|use|using|run|running|deploy|deploying|release"
    rf"|releasing) [^,:;]{{2,50}}?),\s*{_LEAD}(?P<steps>{_VERB}\b.*)",
    re.IGNORECASE,
)
LISTED: Final = re.compile(
    r"(?:how (?:we|to)|to) (?P<subject>[a-z][^\n:?]{1,50}):[ \t]*\n"
    r"(?P<steps>(?:[ \t]*(?:\d+[.)]|[-*])[ \t]+\S[^\n]*(?:\n|\Z)){2,})",
    re.IGNORECASE,
)
NEXT: Final = re.compile(
    r"\s*(?:,?\s+(?:and\s+)?(?:then|next|after that|finally|lastly),?\s+|\s*(?:→|->)\s*"
    rf"|,\s+(?:and\s+)?(?={_VERB}\b)|\s+and\s+(?={_VERB}\b))",
    re.IGNORECASE,
)
SUPPOSED: Final = re.compile(
    r"\b(?:if|unless|suppose|supposing|imagine|whether|would|could|might)\b"
)
DENIED: Final = re.compile(r"\b(?:not|never|no longer|without)\b|n't\b")


OCCASIONS: Final = re.compile(
    r"^(?:when|whenever|before|after) (?:you |we |i )?(?:call|calling|use|using|run|running)\s+",
    re.IGNORECASE,
)
FILLERS: Final = frozenset(
    "a an the this that these those your its of for in on to and with we us i "
    "choice decision pick selection whole entire overall project projects".split()
)
ONE_WORD: Final = {
    "db": "database",
    "dbs": "database",
    "databases": "database",
    "fe": "frontend",
    "be": "backend",
    "repo": "repository",
    "repos": "repository",
    "infra": "infrastructure",
    "auth": "authentication",
    "docs": "documentation",
    "config": "configuration",
    "k8s": "kubernetes",
    "postgres": "postgresql",
    "tests": "test",
    "testing": "test",
    "deploy": "deployment",
    "deploying": "deployment",
    "deployments": "deployment",
    "hosting": "host",
    "lang": "language",
}
JOINED: Final = (
    (re.compile(r"\bfront[\s-]end\b"), "frontend"),
    (re.compile(r"\bback[\s-]end\b"), "backend"),
    (re.compile(r"\bdata[\s-]base\b"), "database"),
    (re.compile(r"\btime[\s-]zone\b"), "timezone"),
    (re.compile(r"\bci\s*/\s*cd\b"), "ci cd"),
)
