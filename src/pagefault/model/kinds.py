"""The terms of the domain, as types: kinds, levels, tiers, origins, reasons, modes."""

from __future__ import annotations

from enum import IntEnum, StrEnum
from typing import Final


class Kind(StrEnum):
    """What a page is for; eviction and compression treat kinds differently."""

    TRANSCRIPT = "transcript"
    SUMMARY = "summary"
    ARTIFACT = "artifact"
    CLAIM = "claim"
    PROCEDURE = "procedure"
    INDEX = "index"


class Modality(StrEnum):
    TEXT = "text"
    IMAGE = "image"
    AUDIO = "audio"
    VIDEO = "video"
    STRUCTURED = "structured"


class Level(IntEnum):
    """How much of a page is shown. A higher level costs fewer tokens and is never longer."""

    FULL = 0
    REDUCED = 1
    ABSTRACT = 2
    REFERENCE = 3


class Tier(StrEnum):
    """Where content is; `residency.tier_of` determines it."""

    L0 = "L0"  # in the model's window
    L1 = "L1"  # derived, and not written yet
    L2 = "L2"  # the log
    L3 = "L3"  # the blob store
    L4 = "L4"  # the cold archive


class Heat(StrEnum):
    """How close an item of memory is kept to a session's window, by its use."""

    HOT = "hot"  # in every request
    WARM = "warm"  # no longer hot, and recalled often
    COLD = "cold"  # no longer hot, or stored for later; recalled when relevant
    ARCHIVED = "archived"  # kept, and no longer recalled by itself


class NoteType(StrEnum):
    """The type of a note: requirement 002's types of items."""

    MESSAGE = "message"
    FACT = "fact"
    DECISION = "decision"
    ENTITY = "entity"
    CONTEXT = "context"


class NoteArea(StrEnum):
    """What a note is about: the user, or the work."""

    PERSONAL = "personal"
    TASK = "task"


class CoreOverflow(StrEnum):
    """What happens to a text that does not fit a section of core memory."""

    REFUSE = "refuse"  # it is refused
    ARCHIVE = "archive"  # the section's oldest lines move to archival memory instead


class HostileNotes(StrEnum):
    """What happens to an untrusted note that reads like an order to the model."""

    QUARANTINE = "quarantine"  # kept, and never recalled by itself
    REJECT = "reject"  # not written


class Role(StrEnum):
    USER = "user"
    ASSISTANT = "assistant"
    TOOL = "tool"
    SYSTEM = "system"


class Actor(StrEnum):
    """Who acted, for the mutation log."""

    USER = "user"
    MODEL = "model"
    TOOL = "tool"
    SYSTEM = "system"


class Mode(StrEnum):
    """How the model may page.

    `passive`: no tools, the runtime pages by itself. `active`: it may search and fault. `strict`:
    as active, and answers must rest on evidence, with citations.
    """

    PASSIVE = "passive"
    ACTIVE = "active"
    STRICT = "strict"


class ControlMode(StrEnum):
    """What a memory may do with a conversation: keep it, and recall what was kept.

    `assist`: both. `capture_only`: the conversation is kept, and nothing is recalled. `paused`:
    earlier content is recalled, and nothing more is written. `incognito`: the same, for a
    conversation that leaves nothing behind. `off`: neither.
    """

    OFF = "off"
    CAPTURE_ONLY = "capture_only"
    ASSIST = "assist"
    PAUSED = "paused"
    INCOGNITO = "incognito"

    @property
    def captures(self) -> bool:
        """Whether the conversation is kept."""
        return self in (ControlMode.CAPTURE_ONLY, ControlMode.ASSIST)

    @property
    def recalls(self) -> bool:
        """Whether kept content is recalled."""
        return self not in (ControlMode.OFF, ControlMode.CAPTURE_ONLY)

    def within(self, other: ControlMode) -> ControlMode:
        """The mode that allows only what both allow."""
        recalls = self.recalls and other.recalls
        if self.captures and other.captures:
            return ControlMode.ASSIST if recalls else ControlMode.CAPTURE_ONLY
        if not recalls:
            return ControlMode.OFF
        is_incognito = ControlMode.INCOGNITO in (self, other)
        return ControlMode.INCOGNITO if is_incognito else ControlMode.PAUSED


class RegionScope(StrEnum):
    """Which sessions a region is for: those of a project, of a user, or all of a memory."""

    PROJECT = "project"
    USER = "user"
    GLOBAL = "global"


class MountMode(StrEnum):
    """How a session mounts a region: `ro` to read it, `rw` to share pages into it, too."""

    RO = "ro"
    RW = "rw"


class Consent(StrEnum):
    """Which mounts need the consent of a region's owner, besides what its policy says.

    `never`: none. `write`: writable ones. `always`: all.
    """

    NEVER = "never"
    WRITE = "write"
    ALWAYS = "always"

    def covers(self, mode: MountMode) -> bool:
        """Whether a mount in this mode needs consent."""
        return self is Consent.ALWAYS or (self is Consent.WRITE and mode is MountMode.RW)


class LayoutName(StrEnum):
    """How a request is laid out.

    `stable`: sent content stays, so that a provider's cache of it lasts. `developer`: one message
    with manifest and context, rebuilt for every request.
    """

    STABLE = "stable"
    DEVELOPER = "developer"


class ItemKind(StrEnum):
    """The kind of an item in a conversation."""

    MESSAGE = "message"
    CALL = "call"  # of a tool
    RESULT = "result"  # of such a call
    REASONING = "reasoning"  # a model's thinking, in clear text or encrypted
    MEDIA = "media"  # an image, a recording, a file
    OPAQUE = "opaque"  # of a kind that only its provider knows


class FaultReason(StrEnum):
    USER_REQUESTED_RECALL = "user_requested_recall"
    RESOLVE_REFERENCE = "resolve_reference"
    TOOL_PREREQ = "tool_prereq"
    SPECULATIVE = "speculative"


class FormerKind(StrEnum):
    """What forms memory from a range of turns."""

    EXTRACTIVE = "extractive"  # no model: it quotes
    ENGINE = "engine"  # the session's model, with its last request as context
    SCRIPTED = "scripted"  # proposals written beforehand: for tests and benches
    OTHER = "other"  # a program's own


class FormationMode(StrEnum):
    """Whether memory is formed, after its turns, in a session that runs a model."""

    OFF = "off"  # turns that leave the window are quoted, as without a model
    ON = "on"  # by that model, with its last request as context


class Compaction(StrEnum):
    """What replaces turns that left a request. The requirement's four strategies."""

    EXTRACTIVE = "extractive"  # quotes; the model's words where ranges were formed
    ABSTRACTIVE_WITH_CITATIONS = "abstractive_with_citations"  # likewise, and the model forms them
    HIERARCHICAL = "hierarchical"  # a line for each run, naming the pages to load
    HYBRID = "hybrid"  # quotes first, then the model's summary of the same turns

    @property
    def forms(self) -> bool:
        """Whether the model is asked to summarise."""
        return self in (Compaction.ABSTRACTIVE_WITH_CITATIONS, Compaction.HYBRID)


class FormationOutcome(StrEnum):
    """The outcome of formation for a range."""

    FORMED = "formed"
    NOTHING = "nothing"  # no proposal could be kept
    GIVEN_UP = "given_up"  # the former failed too often, or the range left the window first


class Sync(StrEnum):
    """What a crash may lose of an acknowledged append.

    `always`: nothing; one fsync for each append. `group`: nothing; appends that arrive together
    share an fsync. `os`: nothing if only the process dies; whatever the kernel has not yet written
    if the machine does.
    """

    ALWAYS = "always"
    GROUP = "group"
    OS = "os"


class Profile(StrEnum):
    """How search results are ordered.

    `measured`: the order that found the most evidence in our measurements. `studio-v1`: the
    studio's formula.
    """

    MEASURED = "measured"
    STUDIO_V1 = "studio-v1"


class RedactLevel(StrEnum):
    """What is redacted from everything that is written."""

    KNOWN = "known"  # values that the process knows to be secret
    DETECT = "detect"  # and anything that looks like a secret


class ClaimRules(StrEnum):
    """How claims are made from users' messages: by rules, or not at all."""

    RULES = "rules"
    OFF = "off"


class Source(StrEnum):
    """Where something comes from, as a context pack names its sources."""

    CHAT = "chat"
    TERMINAL = "terminal"
    GIT = "git"
    FILES = "files"
    DOCS = "docs"


class PackType(StrEnum):
    """The purpose of a context pack. `boot`: to start a session. `task`: for a piece of work, by a
    query. `handoff`: to continue a session. `synopsis`: what a session or a project is. `digest`:
    what changed since some time.
    """

    BOOT = "boot"
    TASK = "task"
    HANDOFF = "handoff"
    SYNOPSIS = "synopsis"
    DIGEST = "digest"


class EventType(StrEnum):
    """What happened: actions of people and agents, documents, tool calls, their results, bytes,
    shared pages, notes and core memory; then derived pages.
    """

    CHAT_TURN = "chat_turn"
    VOICE_TRANSCRIPT = "voice_transcript"
    COMMAND_INTENT = "command_intent"
    COMMAND_RUN = "command_run"
    FILE_CHANGE = "file_change"
    TEST_RESULT = "test_result"
    DECISION = "decision"
    HANDOFF = "handoff"
    SUMMARY = "summary"
    DOCUMENT = "document"
    TOOL_CALL = "tool_call"
    TOOL_RESULT = "tool_result"
    ARTIFACT = "artifact"
    SHARED = "shared"
    NOTE = "note"
    CORE = "core"
    CLAIM = "claim"
    PROCEDURE = "procedure"
    INDEX = "index"
    REPRESENTATION = "representation"


DERIVED_TYPES: Final = frozenset(
    {
        EventType.SUMMARY,
        EventType.CLAIM,
        EventType.PROCEDURE,
        EventType.INDEX,
        EventType.REPRESENTATION,
    }
)
"""Records of derived pages, which could be derived again."""

SAID_TYPES: Final = (
    EventType.CHAT_TURN,
    EventType.VOICE_TRANSCRIPT,
    EventType.COMMAND_INTENT,
    EventType.COMMAND_RUN,
    EventType.FILE_CHANGE,
    EventType.TEST_RESULT,
    EventType.DECISION,
    EventType.HANDOFF,
)
"""Records of messages, whatever the speaker was doing."""

NOT_SAID: Final = frozenset({EventType.SHARED, EventType.NOTE, EventType.CORE})
"""Records of pages outside the conversation: none enters a window by itself."""

HANDED_IN: Final = frozenset({EventType.DOCUMENT, EventType.ARTIFACT})
"""Records of what a user hands in rather than says."""


class ClaimType(StrEnum):
    DECISION = "decision"
    PREFERENCE = "preference"
    FACT = "fact"
    RULE = "rule"  # how to answer, from now on: recited with every request
    TASK = "task"  # the state of some piece of work
    PROJECT_FACT = "project_fact"  # of a repository: modules, owners, conventions
    PROCEDURE = "procedure"  # repeatable steps
    GOTCHA = "gotcha"  # what goes wrong, and when
    GLOSSARY = "glossary"  # what a word means here
    ENTITY = "entity"  # who or what somebody or something is
    CONTEXT = "context"  # the present circumstances
    GOAL = "goal"  # what a session works towards: set explicitly, never found in text
    RETRACTION = "retraction"  # says that an earlier claim no longer holds


class RulingKind(StrEnum):
    """What is said about a claim after it was made."""

    CHECKED = "checked"  # whether its evidence still says so
    ENDED = "ended"  # its time is over
    CONTRADICTED = "contradicted"  # another claim contradicts it; both stay valid
    UNDONE = "undone"  # an earlier ruling is void, or valid again


class CheckOutcome(StrEnum):
    """The outcome of checking a claim. `unknown`: none of its evidence could be examined."""

    PASS = "pass"
    FAIL = "fail"
    UNKNOWN = "unknown"


class Validator(StrEnum):
    """Who or what checks a claim."""

    SPANS = "spans"  # the words of its evidence are where it says
    FILES = "files"  # files still say it
    BRANCH = "branch"  # the branch that it is about exists
    SOURCES = "sources"  # the claims that it was derived from hold
    RUNS = "runs"  # the last run of a command or test that it rests on succeeded
    PERSON = "person"


GOAL_SUBJECT: Final = "vm:goal"
"""The subject of a goal, and of its end: no claim found in a text has such a subject."""

REGION_PREFIX: Final = "region:"
"""The prefix of regions' names among the names of sessions; no session has it."""

PAGE_PREFIX: Final[dict[str, str]] = {
    "message": "msg",
    "tool": "tool",
    "artifact": "art",
    "shared": "shr",
    "note": "note",
    "core": "core",
    "summary": "sum",
    "claim": "clm",
    "procedure": "prc",
    "index": "idx",
}
"""The prefixes of page ids: lower-case letters; a number follows `_`."""

DERIVED_STEMS: Final = frozenset(
    PAGE_PREFIX[kind] for kind in ("summary", "claim", "procedure", "index")
)
"""The prefixes of derived pages."""


TOOL_PREFIX: Final = "tool:"


def is_tools(origin: str) -> bool:
    """Whether an origin is a tool's."""
    return origin.startswith(TOOL_PREFIX)


class Origin(str):
    """Who wrote it, according to the channel. Never taken from content.

    One of `ORIGINS`, or `tool:NAME`. A plain string on disk; `Origin(text)` refuses others.
    """

    __slots__ = ()

    def __new__(cls, text: str) -> Origin:
        if text not in ORIGINS and not (is_tools(text) and len(text) > len(TOOL_PREFIX)):
            raise ValueError(f"unknown origin {text!r}: one of {', '.join(ORIGINS)} or tool:NAME")
        return super().__new__(cls, text)


ORIGINS: Final = (
    "user_typed",
    "user_approved",
    "local_file",
    "command_output",
    "web",
    "import",
    "model_generated",
    "runtime",  # our own bookkeeping: it has no content
)

SOME_TOOL: Final = Origin("tool:*")
"""The origin of a forgotten tool result, whose tool is no longer known."""

MCP: Final = Origin("tool:mcp")
"""The origin of what a client of our MCP server wrote."""

USER_TYPED: Final = Origin("user_typed")
USER_APPROVED: Final = Origin("user_approved")
LOCAL_FILE: Final = Origin("local_file")
IMPORT: Final = Origin("import")
MODEL_GENERATED: Final = Origin("model_generated")
RUNTIME: Final = Origin("runtime")

USERS: Final = frozenset({USER_TYPED, USER_APPROVED})
"""Origins with the user's authority: typed, or approved. Only these may be in the core, supersede
what a user said, or be recited as a rule.
"""


def actor_of(channel: Origin) -> Actor:
    """Who acts, if something comes through this channel."""
    if channel in USERS:
        return Actor.USER
    if is_tools(channel):
        return Actor.TOOL
    return Actor.MODEL if channel == MODEL_GENERATED else Actor.SYSTEM
