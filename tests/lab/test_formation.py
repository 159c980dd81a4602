"""`bench formation`: the arms differ in what is asked, and what is false is dropped in each."""

from __future__ import annotations

from pagefault.lab.formation import SCRIPTED, bench_formation
from pagefault.lab.transcripts import Conversation, Line
from pagefault.model.kinds import Role


def _talk() -> Conversation:
    lines: list[Line] = []
    for turn in range(3):
        said = f"In week {turn} we paid {turn}12 euros for lamp L{turn}0, and never for oil. " * 75
        lines.append(Line(role=Role.USER, text=said))
        lines.append(Line(role=Role.ASSISTANT, text=f"Noted: lamp L{turn}0."))
    return Conversation(name="lamps", lines=tuple(lines))


async def test_a_fork_of_the_live_request_reads_the_cache_and_a_request_of_its_own_does_not() -> (
    None
):
    rows = await bench_formation(_talk(), prices_of="claude-opus-5", window=16_000)
    rules, fork, alone = rows
    assert [one["arm"] for one in rows] == [
        "rules",
        f"{SCRIPTED}, same state",
        f"{SCRIPTED}, range alone",
    ]
    assert (rules["requests"], rules["cost"]) == (0, 0)
    assert fork["requests"] == alone["requests"] == fork["ranges"] > 1
    assert fork["cached_share"] > 0.8 > 0.2 > alone["cached_share"]
    for one in (fork, alone):
        assert one["dropped"]["uncited"] >= one["ranges"], "a line that cites nothing was kept"
        assert one["dropped"]["unquoted"] >= one["ranges"], "a quotation of nothing was kept"
        assert one["made"] == one["ranges"]
        assert one["talk_cost"] == rules["talk_cost"], "the talk is the same in each"
        assert one["fidelity"] == rules["fidelity"] > 0
