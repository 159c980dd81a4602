"""The words of the field, as types: kinds, levels, tiers, origins, reasons, modes."""

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
    """Where content lives: `residency.tier_of` says it of a page."""

    L0 = "L0"  # in the model's window
    L1 = "L1"  # derived, and not written yet
    L2 = "L2"  # the log
    L3 = "L3"  # the blob store
    L4 = "L4"  # the cold archive


class Heat(StrEnum):
    """How near an item of memory is kept to a session's window, by how it is used."""

    HOT = "hot"  # it stands in every request
    WARM = "warm"  # it left, and was recalled often
    COLD = "cold"  # it left, or was kept for later; recalled when it bears on something
    ARCHIVED = "archived"  # it is kept, and recalled no more by itself


class NoteType(StrEnum):
    """What a note is of: requirement 002's types of items."""

    MESSAGE = "message"
    FACT = "fact"
    DECISION = "decision"
    ENTITY = "entity"
    CONTEXT = "context"


class NoteArea(StrEnum):
    """What a note is about: who the user is, or what is worked at."""

    PERSONAL = "personal"
    TASK = "task"


class CoreOverflow(StrEnum):
    """What happens to a text for which a section of core memory has no room."""

    REFUSE = "refuse"  # it is not taken
    ARCHIVE = "archive"  # the section's oldest lines go to archival memory in its place


class HostileNotes(StrEnum):
    """What happens to a note of a stranger's that reads like an order to the model."""

    QUARANTINE = "quarantine"  # it is kept, and never brought in by itself
    REJECT = "reject"  # it is not written


class Role(StrEnum):
    USER = "user"
    ASSISTANT = "assistant"
    TOOL = "tool"
    SYSTEM = "system"


class Actor(StrEnum):
    """Who acted, as the mutation log tells it."""

    USER = "user"
    MODEL = "model"
    TOOL = "tool"
    SYSTEM = "system"


class Mode(StrEnum):
    """How the model may page.

    `passive`: no tools, the runtime pages by itself. `active`: it may search and fault.
    `strict`: as active, and answers rest on evidence only, with citations.
    """

    PASSIVE = "passive"
    ACTIVE = "active"
    STRICT = "strict"


class ControlMode(StrEnum):
    """What a memory may do with a conversation: keep it, and bring back what was kept.

    `assist`: both. `capture_only`: what is said is kept, and nothing is brought in. `paused`: what
    was kept is brought in, and nothing more is written. `incognito`: likewise, for a conversation
    that leaves nothing behind. `off`: neither.
    """

    OFF = "off"
    CAPTURE_ONLY = "capture_only"
    ASSIST = "assist"
    PAUSED = "paused"
    INCOGNITO = "incognito"

    @property
    def captures(self) -> bool:
        """Whether what is said is kept."""
        return self in (ControlMode.CAPTURE_ONLY, ControlMode.ASSIST)

    @property
    def recalls(self) -> bool:
        """Whether what was kept is brought in."""
        return self not in (ControlMode.OFF, ControlMode.CAPTURE_ONLY)

    def within(self, other: ControlMode) -> ControlMode:
        """What both allow: whoever asks for less has it."""
        recalls = self.recalls and other.recalls
        if self.captures and other.captures:
            return ControlMode.ASSIST if recalls else ControlMode.CAPTURE_ONLY
        if not recalls:
            return ControlMode.OFF
        is_incognito = ControlMode.INCOGNITO in (self, other)
        return ControlMode.INCOGNITO if is_incognito else ControlMode.PAUSED


class RegionScope(StrEnum):
    """Whose sessions a region is for: those of a project, of a user, or all of a memory."""

    PROJECT = "project"
    USER = "user"
    GLOBAL = "global"


class MountMode(StrEnum):
    """How a session looks into a region: `ro` to read it, `rw` to bring pages into it, too."""

    RO = "ro"
    RW = "rw"


class Consent(StrEnum):
    """Which mounts wait for the owner of a region to agree to them, besides what its policy says.

    `never`: none. `write`: those that may write. `always`: all.
    """

    NEVER = "never"
    WRITE = "write"
    ALWAYS = "always"

    def covers(self, mode: MountMode) -> bool:
        """Whether a mount in this mode waits."""
        return self is Consent.ALWAYS or (self is Consent.WRITE and mode is MountMode.RW)


class LayoutName(StrEnum):
    """How a request is laid out.

    `stable`: what was sent stays, so that a provider's cache of it lasts. `developer`: one message
    with manifest and context, rebuilt for every request.
    """

    STABLE = "stable"
    DEVELOPER = "developer"


class ItemKind(StrEnum):
    """What an item of a conversation is."""

    MESSAGE = "message"
    CALL = "call"  # of a tool
    RESULT = "result"  # of such a call
    REASONING = "reasoning"  # thinking of a model, in clear or encrypted
    MEDIA = "media"  # an image, a recording, a file
    OPAQUE = "opaque"  # of a kind that only its provider knows


class FaultReason(StrEnum):
    USER_REQUESTED_RECALL = "user_requested_recall"
    RESOLVE_REFERENCE = "resolve_reference"
    TOOL_PREREQ = "tool_prereq"
    SPECULATIVE = "speculative"


class FormerKind(StrEnum):
    """Who makes memory of a range of turns."""

    EXTRACTIVE = "extractive"  # nobody: it quotes
    ENGINE = "engine"  # the model that is asked, over the request that it was asked last
    SCRIPTED = "scripted"  # proposals that were written beforehand: for tests and benches
    OTHER = "other"  # a program's own


class FormationMode(StrEnum):
    """Whether memory is formed of a session that a model is run with, after its turns."""

    OFF = "off"  # what leaves the window is quoted, as without a model
    ON = "on"  # by that model, over the request that it was asked last


class Compaction(StrEnum):
    """What stands in a request for the turns that left it. The requirement's four strategies."""

    EXTRACTIVE = "extractive"  # quotes of them; of what was formed, the model's words
    ABSTRACTIVE_WITH_CITATIONS = "abstractive_with_citations"  # likewise, and it has them formed
    HIERARCHICAL = "hierarchical"  # a line for each run, which names what can be loaded
    HYBRID = "hybrid"  # quotes first, and then the model's words of the same turns

    @property
    def forms(self) -> bool:
        """Whether the model is asked for its words."""
        return self in (Compaction.ABSTRACTIVE_WITH_CITATIONS, Compaction.HYBRID)


class FormationOutcome(StrEnum):
    """What became of a range that was taken up."""

    FORMED = "formed"
    NOTHING = "nothing"  # nothing that was proposed could be kept
    GIVEN_UP = "given_up"  # whoever was asked failed too often, or the range left the window first


class Sync(StrEnum):
    """What an acknowledged append may still lose.

    `always`: nothing; one fsync for each append. `group`: nothing; appends that arrive together
    share an fsync. `os`: nothing if only the process dies; up to what the kernel has not yet
    written if the machine does.
    """

    ALWAYS = "always"
    GROUP = "group"
    OS = "os"


class Profile(StrEnum):
    """How what a search found is ordered.

    `measured`: as found the most evidence where it was measured. `studio-v1`: the studio's
    formula.
    """

    MEASURED = "measured"
    STUDIO_V1 = "studio-v1"


class RedactLevel(StrEnum):
    """What is taken out of everything that is written down."""

    KNOWN = "known"  # the values that the process knows to be secret
    DETECT = "detect"  # and what looks like a secret


class ClaimRules(StrEnum):
    """How claims are made of what users say: by rules, or not at all."""

    RULES = "rules"
    OFF = "off"


class Source(StrEnum):
    """Where something comes from, as a pack tells its sources."""

    CHAT = "chat"
    TERMINAL = "terminal"
    GIT = "git"
    FILES = "files"
    DOCS = "docs"


class PackType(StrEnum):
    """What a context pack is for. `boot`: to begin with. `task`: for a piece of work, by a query.
    `handoff`: to go on with a session. `synopsis`: what a session or a project is. `digest`: what
    changed since some time.
    """

    BOOT = "boot"
    TASK = "task"
    HANDOFF = "handoff"
    SYNOPSIS = "synopsis"
    DIGEST = "digest"


class EventType(StrEnum):
    """What happened: what people and agents do, then documents, calls of tools, their results,
    bytes, what a session shared, notes and core memory; then what is made of other pages.
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
"""Records whose page was made of other pages, and could be made again."""

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
"""Records of messages, whatever somebody did who said them."""

NOT_SAID: Final = frozenset({EventType.SHARED, EventType.NOTE, EventType.CORE})
"""Records of pages that are no part of the conversation: no window shows one by itself."""

HANDED_IN: Final = frozenset({EventType.DOCUMENT, EventType.ARTIFACT})
"""Records of what a user hands in, and does not say."""


class ClaimType(StrEnum):
    DECISION = "decision"
    PREFERENCE = "preference"
    FACT = "fact"
    RULE = "rule"  # how to answer, from now on: it is recited with every request
    TASK = "task"  # where some piece of work stands
    PROJECT_FACT = "project_fact"  # of a repository: modules, owners, how things are done there
    PROCEDURE = "procedure"  # steps that can be done again
    GOTCHA = "gotcha"  # what goes wrong, and when
    GLOSSARY = "glossary"  # what a word means here
    ENTITY = "entity"  # who or what somebody or something is
    CONTEXT = "context"  # how things are just now
    GOAL = "goal"  # what a session works at: somebody sets it, no text makes one
    RETRACTION = "retraction"  # says of an earlier claim that it no longer stands


class RulingKind(StrEnum):
    """What is said about a claim after it was made."""

    CHECKED = "checked"  # whether what it rests on still says so
    ENDED = "ended"  # its time is over
    CONTRADICTED = "contradicted"  # another claim says something else; both stand
    UNDONE = "undone"  # an earlier ruling counts no more, or again


class CheckOutcome(StrEnum):
    """What a check of a claim came to. `unknown`: nothing that it rests on could be looked at."""

    PASS = "pass"
    FAIL = "fail"
    UNKNOWN = "unknown"


class Validator(StrEnum):
    """Who or what checks a claim."""

    SPANS = "spans"  # the words it rests on stand where it says
    FILES = "files"  # files still say it
    BRANCH = "branch"  # the branch it is true of is there
    SOURCES = "sources"  # the claims it was derived from hold
    RUNS = "runs"  # a command or test that it rests on was run last with success
    PERSON = "person"


GOAL_SUBJECT: Final = "vm:goal"
"""The subject of a goal, and of its end: no claim that is found in a text has such a one."""

REGION_PREFIX: Final = "region:"
"""What the names of regions begin with among those of sessions, and no session's name does."""

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
"""What the ids of pages begin with. A prefix is lower-case letters; a number follows `_`."""

DERIVED_STEMS: Final = frozenset(
    PAGE_PREFIX[kind] for kind in ("summary", "claim", "procedure", "index")
)
"""The prefixes of derived pages."""


TOOL_PREFIX: Final = "tool:"


def is_tools(origin: str) -> bool:
    """Whether an origin is that of some tool."""
    return origin.startswith(TOOL_PREFIX)


class Origin(str):
    """Who wrote it, as the channel it came through says. Never taken from content.

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
    "runtime",  # bookkeeping of our own: it carries no content
)

SOME_TOOL: Final = Origin("tool:*")
"""Of what some tool returned, and was forgotten: which tool it was, nothing tells any more."""

MCP: Final = Origin("tool:mcp")
"""Of what a client of our MCP server wrote."""

USER_TYPED: Final = Origin("user_typed")
USER_APPROVED: Final = Origin("user_approved")
LOCAL_FILE: Final = Origin("local_file")
IMPORT: Final = Origin("import")
MODEL_GENERATED: Final = Origin("model_generated")
RUNTIME: Final = Origin("runtime")

USERS: Final = frozenset({USER_TYPED, USER_APPROVED})
"""What has the user's authority: what the user typed, or agreed to. Nothing else may stand in the
core, supersede what a user said, or be recited as a rule.
"""
