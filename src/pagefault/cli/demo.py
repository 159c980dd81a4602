"""`pagefault demo`: the main job, narrated. Offline, no key, nothing left behind."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path
from typing import Any

import click

from pagefault.cli import demo_view
from pagefault.cli.app import App, Command, json_option


@click.command(cls=Command)
@json_option
def demo(app: App) -> None:
    """A conversation that outgrows its window, and remembers. Offline, no key.

    Seven weeks of planning a bike workshop pass through a window of 3,000 tokens, so most of them
    leave it. Then questions are asked, each on a fork, and a scripted engine (no model) finds and
    faults in the pages that answer them. Finally, the decisions are listed. The memory is temporary
    unless --root names one. Every run is the same.

    JSON: {conversation, weeks, questions, claims, totals}.
    """
    began = time.monotonic()
    if app.root is not None:
        told = app.run(_play(app, app.config().root))
    else:
        with tempfile.TemporaryDirectory(prefix="pagefault-demo-") as folder:
            told = app.run(_play(app, str(Path(folder) / "memory")))
    if app.as_json:
        app.term.data(told)
    else:
        demo_view.farewell(app.term, app.root)
    app.term.note(f"took {time.monotonic() - began:.1f} s")


async def _play(app: App, root: str) -> dict[str, Any]:
    """Play the scenes, show each as it comes, and collect them."""
    from pagefault.cli import demo_script
    from pagefault.service.bootstrap import open_memory
    from pagefault.service.limits import Limits

    # Recall is off here, so that every page that comes back is a fault.
    limits = Limits(recall_tokens_max=0)
    told: dict[str, Any] = {"weeks": [], "questions": []}
    async with open_memory(root, limits=limits, window=demo_script.WINDOW_TOKENS) as memory:
        async for scene, facts in demo_script.play(memory):
            if not app.as_json:
                demo_view.show(app.term, scene, facts)
            match scene:
                case "week" | "question":
                    told[f"{scene}s"].append(facts)
                case "evicted":
                    told["weeks"][-1]["evicted"].append(facts)
                case "claims":
                    told[scene] = facts["claims"]
                case _:
                    told[scene] = facts
    return told
