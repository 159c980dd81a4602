"""A session's window, mode, prompt, layout or tools changed: what is written of it."""

from __future__ import annotations

from pagefault.model.events import OfferedTool, SessionConfigured, SessionOpened
from pagefault.service.arguments import a_layout, a_mode, a_window
from pagefault.service.runtime import Runtime
from pagefault.service.window.state import SessionState


def configured(
    state: SessionState,
    runtime: Runtime,
    *,
    name: str,
    window: int | None,
    mode: str | None,
    system: str | None,
    layout: str | None,
    tools: tuple[OfferedTool, ...] | None = None,
) -> SessionConfigured | None:
    """The record of the change, or none if nothing changes. `BadInput`, or `WindowTooSmall` for a
    window that could not hold what must be in it.
    """
    body = SessionConfigured(
        window_tokens=state.window_tokens if window is None else a_window(window),
        mode=state.mode if mode is None else a_mode(mode),
        system=state.system if system is None else runtime.journal.clean(system),
        layout=state.layout_name if layout is None else a_layout(layout),
        tools=state.tools if tools is None else tools,
    )
    now = (state.window_tokens, state.mode, state.system, state.layout_name, state.tools)
    if (body.window_tokens, body.mode, body.system, body.layout, body.tools) == now:
        return None
    runtime.check_opened(
        SessionOpened(
            session_id=state.session_id,
            name=name,
            window_tokens=body.window_tokens,
            mode=body.mode,
            system=body.system,
            layout=body.layout,
            tools=body.tools,
        ),
        state.must_show(),
        factor=state.factor,
    )
    return body
