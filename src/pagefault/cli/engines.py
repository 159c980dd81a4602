"""The engine of a command: the configured endpoint, or the scripted one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pagefault.model.errors import BadInput

if TYPE_CHECKING:
    from pagefault.engine.remote import RemoteEngine
    from pagefault.represent.asked import Asked
    from pagefault.service.config import Config


def compressor_of(config: Config) -> Asked | None:
    """The writer of abstracts, if it is not our rules. Raises `BadInput` as `remote_engine`."""
    from pagefault.service.config import Compressors

    told = config.compress
    if told.by is Compressors.RULES:
        return None
    from pagefault.model.catalogue import find_model
    from pagefault.pack.count import O200k
    from pagefault.represent.asked import Asked

    return Asked(
        remote_engine(config),
        O200k().count,
        find_model(config.engine.model).room_tokens,
        timeout_s=told.timeout_s,
        tokens_max=told.tokens_max,
        name=config.engine.model,
    )


def remote_engine(config: Config) -> RemoteEngine:
    """The configured endpoint. If there is none, raises `BadInput`, which says what to set."""
    from pagefault.engine.endpoint import Timeouts
    from pagefault.engine.remote import RemoteEngine

    told = config.engine
    if not told.model:
        raise BadInput(
            "no model is configured",
            hint="set PAGEFAULT_ENGINE__MODEL and OPENAI_API_KEY (for another server also "
            "PAGEFAULT_ENGINE__BASE_URL, like http://localhost:11434/v1), or write "
            '[engine] model = "…" into the file of `pagefault config path`; offline: '
            "`pagefault chat --engine scripted`, `pagefault form --by rules`",
        )
    if not told.api_key and config.origin("engine.base_url") == "default":
        raise BadInput(
            f"no key is configured for {told.base_url}",
            hint="set OPENAI_API_KEY or PAGEFAULT_ENGINE__API_KEY, or name another server by "
            "PAGEFAULT_ENGINE__BASE_URL; offline: `pagefault chat --engine scripted`",
        )
    return RemoteEngine(
        told.base_url,
        told.model,
        told.api_key,
        key_from=config.origin("engine.api_key"),
        stream=told.stream,
        timeouts=Timeouts(
            connect_s=told.connect_s,
            first_byte_s=told.first_byte_s,
            between_s=told.between_s,
            total_s=told.total_s,
        ),
        allow_http=told.allow_http,
    )
