"""Files as other programs write them, made of a few sentences: each of the shape that is published,
and no more of it than a reader looks at.
"""

from __future__ import annotations

import base64
import json
import sqlite3
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

PIXEL = b"\x89PNG\r\n\x1a\n" + bytes(24)


def jsonl(path: Path, lines: Sequence[Mapping[str, Any]]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


# --- Claude Code ----------------------------------------------------------------------------------

CC_SESSION = "0a1b2c3d-0000-4000-8000-00000000cafe"


def cc_line(
    uuid: str, parent: str | None, kind: str, content: Any, *, minute: int = 0, **more: Any
) -> dict[str, Any]:
    message: dict[str, Any] = {"role": kind, "content": content}
    if kind == "assistant":
        message["model"] = "claude-test-1"
    return {
        "parentUuid": parent,
        "isSidechain": False,
        "userType": "external",
        "cwd": "/home/somebody/work/tower",
        "sessionId": CC_SESSION,
        "version": "2.0.14",
        "gitBranch": "main",
        "type": kind,
        "message": message,
        "uuid": uuid,
        "timestamp": f"2025-03-01T10:{minute:02}:00.000Z",
        **more,
    }


def text(words: str) -> list[dict[str, Any]]:
    return [{"type": "text", "text": words}]


def claude_code() -> list[dict[str, Any]]:
    """A session with two calls side by side, thinking, a picture, a subagent, a compaction, a
    prompt that the user went back to, and lines that say nothing of a conversation.
    """
    call = {"type": "tool_use", "id": "toolu_1", "name": "Bash", "input": {"command": "make test"}}
    look = {"type": "tool_use", "id": "toolu_2", "name": "Read", "input": {"file_path": "a.py"}}
    image = {"type": "base64", "media_type": "image/png", "data": base64.b64encode(PIXEL).decode()}

    def result(call_id: str, words: str) -> list[dict[str, Any]]:
        return [{"type": "tool_result", "tool_use_id": call_id, "content": words}]

    return [
        {"type": "summary", "summary": "Swifts of the tower", "leafUuid": "a9"},
        {"type": "file-history-snapshot", "messageId": "u1", "snapshot": {}},
        cc_line("u1", None, "user", "Where do the swifts nest?"),
        cc_line("m1", "u1", "user", "Caveat: made by the client", isMeta=True),
        cc_line("a1", "m1", "assistant", [{"type": "thinking", "thinking": "Perhaps the eaves."}]),
        cc_line("a2", "a1", "assistant", text("Let me look."), minute=1),
        cc_line("a3", "a2", "assistant", [call], minute=1),
        cc_line("a4", "a3", "assistant", [look], minute=1),
        cc_line("r1", "a3", "user", result("toolu_1", "11 passed in 0.3s"), minute=2),
        cc_line("r2", "a4", "user", result("toolu_2", "eaves = north"), minute=2),
        cc_line("s1", None, "user", "Look into the archive", isSidechain=True, minute=2),
        cc_line("s2", "s1", "assistant", text("Archive: 1911."), isSidechain=True, minute=2),
        cc_line("a5", "r2", "assistant", text("Under the northern eaves."), minute=3),
        cc_line("u2", "a5", "user", [*text("And this one?"), {"type": "image", "source": image}]),
        cc_line("a6", "u2", "assistant", text("A house martin."), minute=5),
        cc_line("u3", "a5", "user", "Who counted them?", minute=6),
        cc_line("a7", "u3", "assistant", text("Ottilie did."), minute=7),
        {
            **cc_line("c1", None, "system", None, minute=8),
            "subtype": "compact_boundary",
            "content": "Conversation compacted",
            "logicalParentUuid": "a7",
        },
        cc_line("c2", "c1", "user", "Summary: swifts.", isCompactSummary=True, minute=8),
        cc_line("u4", "c2", "user", "Go on", minute=9),
    ]


# --- ChatGPT --------------------------------------------------------------------------------------


def gpt_node(
    name: str,
    parent: str | None,
    role: str,
    content: Any,
    *,
    at: Any = 1_740_823_200.5,
    **more: Any,
) -> dict[str, Any]:
    if isinstance(content, str):
        content = {"content_type": "text", "parts": [content]}
    message = {
        "id": name,
        "author": {"role": role, "name": more.pop("author", None), "metadata": {}},
        "create_time": at,
        "content": content,
        "metadata": more.pop("metadata", {}),
        "recipient": more.pop("recipient", "all"),
        **more,
    }
    return {"id": name, "message": message, "parent": parent, "children": []}


def gpt_conversation(
    nodes: Sequence[dict[str, Any]], current: str, *, name: str = "conv-1", title: str = "Swifts"
) -> dict[str, Any]:
    root: dict[str, Any] = {"id": "root", "message": None, "parent": None, "children": []}
    mapping = {"root": root} | {node["id"]: node for node in nodes}
    for node in nodes:
        if node["parent"] in mapping:
            mapping[node["parent"]]["children"].append(node["id"])
    return {
        "title": title,
        "create_time": 1_740_823_200.5,
        "update_time": 1_740_826_800.5,
        "mapping": mapping,
        "moderation_results": [],
        "current_node": current,
        "conversation_id": name,
        "id": name,
    }


def chatgpt() -> list[dict[str, Any]]:
    """A conversation with an edited message, a call of a tool, and a picture; and another."""
    picture = {
        "content_type": "multimodal_text",
        "parts": [
            {
                "content_type": "image_asset_pointer",
                "asset_pointer": "file-service://file-AbC123",
                "size_bytes": len(PIXEL),
            },
            "What bird is it?",
        ],
    }
    nodes = [
        gpt_node("sys", "root", "system", ""),
        gpt_node("q1", "sys", "user", "Where do the swifts nest?"),
        gpt_node("a1", "q1", "assistant", "Under the eaves.", metadata={"model_slug": "gpt-test"}),
        gpt_node("q2", "a1", "user", "How many holes?"),
        gpt_node("a2", "q2", "assistant", "Eleven."),
        gpt_node("q2b", "a1", "user", "How many holes in June?"),
        gpt_node(
            "t1",
            "q2b",
            "assistant",
            {"content_type": "code", "language": "python", "text": "print(5 + 6)"},
            recipient="python",
        ),
        gpt_node(
            "t2",
            "t1",
            "tool",
            {"content_type": "execution_output", "text": "11"},
            author="python",
        ),
        gpt_node("a3", "t2", "assistant", "Eleven in June, too."),
        gpt_node(
            "q3",
            "a3",
            "user",
            picture,
            metadata={
                "attachments": [{"id": "file-AbC123", "name": "bird.png", "mime_type": "image/png"}]
            },
        ),
    ]
    other = [gpt_node("x1", "root", "user", "Another talk about kestrels", at=1_700_000_000)]
    return [
        gpt_conversation(nodes, "q3"),
        gpt_conversation(other, "x1", name="conv-2", title="Kestrels"),
    ]


def chatgpt_talks(said: Mapping[str, str]) -> list[dict[str, Any]]:
    """Conversations of one message each, by their ids."""
    return [
        gpt_conversation([gpt_node("q1", "root", "user", text)], "q1", name=name, title="")
        for name, text in said.items()
    ]


def chatgpt_zip(path: Path, conversations: Any = None) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("user.json", json.dumps({"id": "user-1", "email": "a@b.example"}))
        archive.writestr("conversations.json", json.dumps(conversations or chatgpt()))
        archive.writestr("file-AbC123-bird.png", PIXEL)
    return path


# --- Claude's export ------------------------------------------------------------------------------

_ROOT = "00000000-0000-4000-8000-000000000000"


def claude_message(name: str, parent: str, sender: str, words: str, **more: Any) -> dict[str, Any]:
    return {
        "uuid": name,
        "text": words,
        "content": [{"type": "text", "text": words, "citations": []}],
        "sender": sender,
        "created_at": "2025-04-02T08:00:00.000000Z",
        "updated_at": "2025-04-02T08:00:00.000000Z",
        "attachments": [],
        "files": [],
        "parent_message_uuid": parent,
        **more,
    }


def claude() -> list[dict[str, Any]]:
    attached = [
        {
            "file_name": "ring-list.txt",
            "file_size": 40,
            "file_type": "txt",
            "extracted_content": "Ring 7311 was read at the tower.",
        }
    ]
    tool = [
        {"type": "thinking", "thinking": "Rings are numbered."},
        {"type": "tool_use", "id": "tu1", "name": "web_search", "input": {"query": "ring 7311"}},
        {
            "type": "tool_result",
            "tool_use_id": "tu1",
            "name": "web_search",
            "content": [{"type": "text", "text": "Ring 7311: Ottilie, 2019"}],
            "is_error": False,
        },
        {"type": "text", "text": "Ottilie ringed it in 2019."},
    ]
    return [
        {
            "uuid": "cl-1",
            "name": "Rings",
            "summary": "",
            "created_at": "2025-04-02T08:00:00.000000Z",
            "updated_at": "2025-04-02T09:00:00.000000Z",
            "account": {"uuid": "acc-1"},
            "chat_messages": [
                claude_message("h1", _ROOT, "human", "Who ringed it?", attachments=attached),
                claude_message("c1", "h1", "assistant", "Nobody knows."),
                claude_message("c1b", "h1", "assistant", "", content=tool),
                claude_message("h2", "c1b", "human", "Thanks", files=[{"file_name": "swift.jpg"}]),
            ],
        }
    ]


def claude_projects() -> list[dict[str, Any]]:
    return [
        {
            "uuid": "pr-1",
            "name": "Tower",
            "description": "All about the tower",
            "is_private": True,
            "prompt_template": "Answer in metres.",
            "created_at": "2025-04-01T08:00:00Z",
            "docs": [
                {
                    "uuid": "d1",
                    "filename": "heights.md",
                    "content": "The tower is 31 metres high.",
                    "created_at": "2025-04-01T08:00:00Z",
                }
            ],
        }
    ]


# --- Codex ----------------------------------------------------------------------------------------


def codex_line(kind: str, payload: Mapping[str, Any], *, second: int = 0) -> dict[str, Any]:
    return {"timestamp": f"2025-10-29T00:59:{second:02}.317Z", "type": kind, "payload": payload}


def codex_message(role: str, words: str) -> dict[str, Any]:
    kind = "output_text" if role == "assistant" else "input_text"
    return {"type": "message", "role": role, "content": [{"type": kind, "text": words}]}


def codex() -> list[dict[str, Any]]:
    """A session with a call, reasoning, a turn that was taken back, and a compaction."""
    meta = {
        "id": "019a2d7a-41c4-78b1-b7cc-a45d62a89cd5",
        "timestamp": "2025-10-29T00:59:38.308Z",
        "cwd": "/home/somebody/work/belfry",
        "originator": "codex_cli_rs",
        "cli_version": "0.46.0",
    }
    item = "response_item"
    return [
        codex_line("session_meta", meta),
        codex_line(item, codex_message("user", "<environment_context>…</environment_context>")),
        codex_line(item, codex_message("user", "Where do the swifts nest?"), second=1),
        codex_line("event_msg", {"type": "user_message", "message": "Where do the swifts nest?"}),
        codex_line("turn_context", {"cwd": "/x", "model": "gpt-test-codex"}),
        codex_line(
            item, {"type": "reasoning", "summary": [{"type": "summary_text", "text": "Hm."}]}
        ),
        codex_line(
            item,
            {
                "type": "function_call",
                "name": "shell",
                "arguments": '{"command":["ls"]}',
                "call_id": "call_1",
            },
        ),
        codex_line(
            item,
            {"type": "function_call_output", "call_id": "call_1", "output": "eaves.txt"},
        ),
        codex_line(item, codex_message("assistant", "Under the eaves."), second=3),
        codex_line(item, codex_message("user", "Paint them green"), second=4),
        codex_line(item, codex_message("assistant", "Painted."), second=5),
        codex_line("event_msg", {"type": "thread_rolled_back", "num_turns": 1}),
        codex_line(item, codex_message("user", "Who counted them?"), second=6),
        codex_line("compacted", {"message": "Summary: swifts, eaves."}, second=7),
    ]


def codex_old() -> list[dict[str, Any]]:
    return [
        {
            "id": "old-1",
            "timestamp": "2025-06-01T10:00:00.000Z",
            "instructions": None,
            "git": {"branch": "main"},
        },
        {"record_type": "state"},
        codex_message("user", "Where do the swifts nest?"),
        {
            "type": "local_shell_call",
            "call_id": "c9",
            "status": "completed",
            "action": {"type": "exec", "command": ["ls"]},
        },
        {"type": "function_call_output", "call_id": "c9", "output": "eaves.txt"},
        codex_message("assistant", "Under the eaves."),
    ]


# --- the others -----------------------------------------------------------------------------------


def opencode_store(folder: Path) -> Path:
    """A session and one of a subagent's, as files."""
    storage = folder / "storage"
    files: dict[str, Any] = {
        "session/proj1/ses_1.json": {
            "id": "ses_1",
            "projectID": "proj1",
            "directory": "/home/somebody/work/aviary",
            "title": "Swifts",
            "time": {"created": 1_750_000_000_000, "updated": 1_750_000_100_000},
        },
        "session/proj1/ses_2.json": {
            "id": "ses_2",
            "projectID": "proj1",
            "parentID": "ses_1",
            "directory": "/home/somebody/work/aviary",
            "title": "Looks it up",
            "time": {"created": 1_750_000_050_000},
        },
        "message/ses_1/msg_1.json": {
            "id": "msg_1",
            "sessionID": "ses_1",
            "role": "user",
            "time": {"created": 1_750_000_000_000},
        },
        "message/ses_1/msg_2.json": {
            "id": "msg_2",
            "sessionID": "ses_1",
            "role": "assistant",
            "modelID": "test-model",
            "time": {"created": 1_750_000_010_000},
        },
        "message/ses_2/msg_3.json": {
            "id": "msg_3",
            "sessionID": "ses_2",
            "role": "user",
            "time": {"created": 1_750_000_050_000},
        },
        "part/msg_1/prt_1.json": {
            "id": "prt_1",
            "type": "text",
            "text": "Where do the swifts nest?",
        },
        "part/msg_2/prt_2.json": {"id": "prt_2", "type": "step-start"},
        "part/msg_2/prt_3.json": {
            "id": "prt_3",
            "type": "tool",
            "callID": "call_1",
            "tool": "bash",
            "state": {"status": "completed", "input": {"command": "ls"}, "output": "eaves.txt"},
        },
        "part/msg_2/prt_4.json": {"id": "prt_4", "type": "text", "text": "Under the eaves."},
        "part/msg_3/prt_5.json": {"id": "prt_5", "type": "text", "text": "Look up the eaves"},
    }
    for name, value in files.items():
        path = storage / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(value))
    return storage


def opencode_database(path: Path, storage: Path) -> Path:
    """The same as the files of a store, as newer versions keep it."""
    db = sqlite3.connect(path)
    db.executescript(
        "CREATE TABLE session (id text PRIMARY KEY, parent_id text, directory text, title text,"
        " time_created integer);"
        "CREATE TABLE message (id text PRIMARY KEY, session_id text, time_created integer,"
        " data text);"
        "CREATE TABLE part (id text PRIMARY KEY, message_id text, session_id text, data text);"
    )
    for file in sorted(storage.rglob("*.json")):
        told = json.loads(file.read_text())
        row: tuple[Any, ...]
        name, kind = told.pop("id"), file.relative_to(storage).parts[0]
        if kind == "session":
            created = told["time"]["created"]
            row = (name, told.get("parentID"), told["directory"], told["title"], created)
            db.execute("INSERT INTO session VALUES (?, ?, ?, ?, ?)", row)
        elif kind == "message":
            row = (name, told.pop("sessionID"), told["time"]["created"], json.dumps(told))
            db.execute("INSERT INTO message VALUES (?, ?, ?, ?)", row)
        else:
            row = (name, file.parent.name, "", json.dumps(told))
            db.execute("INSERT INTO part VALUES (?, ?, ?, ?)", row)
    db.commit()
    db.close()
    return path


AIDER = """
# aider chat started at 2025-02-03 09:10:11

> Aider v0.75.1
> Model: test-model

#### where do the swifts nest?
#### please

Under the eaves.

```py
eaves = "north"
```

> Tokens: 1k sent, 20 received.

#### who counted them?

Ottilie did.

# aider chat started at 2025-02-04 10:00:00

#### paint them green

Painted.
"""

NOTE = """---
title: Swifts
date: 2024-06-21
---

# The swifts of the tower

They nest in **eleven** holes under the northern eaves.
"""


def messages() -> list[dict[str, Any]]:
    call = {
        "id": "call_1",
        "type": "function",
        "function": {"name": "count", "arguments": '{"what": "holes"}'},
    }
    return [
        {"role": "system", "content": "You know birds."},
        {"role": "user", "content": "How many holes?"},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "call_1", "content": "11"},
        {"role": "assistant", "content": "Eleven."},
    ]
