"""A provider's token report for a call, in any format in use, as one `Usage`.

Chat Completions and Responses count cached tokens within the input; Anthropic counts them
separately; DeepSeek has names of its own. `Usage.input_tokens` is always the whole prompt. Cached
tokens that are not reported are unknown, not zero.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from pagefault.model.request import Usage
from pagefault.model.signatures import INT_MAX

_COUNT_MAX: Final = INT_MAX // 4  # so that any sum of them is also valid


def usage_from(report: object) -> Usage | None:
    """The readable part of a report; None if it is not an object. Never raises."""
    if not isinstance(report, Mapping):
        return None
    if "cache_read_input_tokens" in report or "cache_creation_input_tokens" in report:
        return _beside(report)
    if "promptTokenCount" in report:
        return Usage(
            input_tokens=_count(report["promptTokenCount"]),
            output_tokens=_count(report.get("candidatesTokenCount"))
            + _count(report.get("thoughtsTokenCount")),
            cached_tokens=_known(report.get("cachedContentTokenCount")),
        )
    details: Mapping[str, Any] = {}
    for name in ("prompt_tokens_details", "input_tokens_details"):
        if isinstance(report.get(name), Mapping):
            details = report[name]
    return Usage(
        input_tokens=_count(report.get("prompt_tokens", report.get("input_tokens"))),
        output_tokens=_count(report.get("completion_tokens", report.get("output_tokens"))),
        cached_tokens=_known(details.get("cached_tokens"), report.get("prompt_cache_hit_tokens")),
        cache_write_tokens=_count(details.get("cache_write_tokens")),
    )


def _beside(report: Mapping[str, Any]) -> Usage:
    cached = _known(report.get("cache_read_input_tokens"))
    written = _count(report.get("cache_creation_input_tokens"))
    return Usage(
        input_tokens=_count(report.get("input_tokens")) + (cached or 0) + written,
        output_tokens=_count(report.get("output_tokens")),
        cached_tokens=cached,
        cache_write_tokens=written,
    )


def _known(*values: object) -> int | None:
    """The largest valid count; None if there is none."""
    return max((_count(value) for value in values if isinstance(value, int)), default=None)


def _count(value: object) -> int:
    return min(max(0, int(value)), _COUNT_MAX) if isinstance(value, int) else 0
