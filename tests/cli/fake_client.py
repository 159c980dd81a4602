"""A coding client that is none: it writes down what it was given, and does what its words say.

`python fake_client.py NOTE WORDS…`; a file of `--settings` is written down with its mode. With `ask
URL_VARIABLE` it sends a message through the proxy, with `sleep` it waits until somebody ends it,
with `exit N` it ends with that.
"""

from __future__ import annotations

import json
import os
import sys
import time


def main(note: str, words: list[str]) -> int:
    told = {"pid": os.getpid(), "argv": words, "env": dict(os.environ)}
    path = words[words.index("--settings") + 1] if "--settings" in words else ""
    if os.path.isfile(path):
        with open(path) as file:
            told["settings"] = {"text": file.read(), "mode": os.stat(path).st_mode & 0o777}
    with open(f"{note}.new", "w") as file:
        json.dump(told, file)
    os.rename(f"{note}.new", note)
    if "ask" in words:
        import http.client  # half of what it takes to start
        from urllib.parse import urlsplit

        parts = urlsplit(os.environ[words[words.index("ask") + 1]])
        link = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=300)
        said = {"role": "user", "content": "Where do the swifts nest?"}
        headers = {"X-Claude-Code-Session-Id": "one", "Content-Type": "application/json"}
        for line in os.environ.get("ANTHROPIC_CUSTOM_HEADERS", "").splitlines():
            name, _, value = line.partition(": ")
            headers[name] = value
        body = json.dumps({"model": "m", "max_tokens": 9, "messages": [said]})
        link.request("POST", f"{parts.path}/v1/messages", body, headers)
        answer = link.getresponse()
        print(answer.status, answer.read().decode())
    while "sleep" in words:
        time.sleep(0.05)
    return int(words[words.index("exit") + 1]) if "exit" in words else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
