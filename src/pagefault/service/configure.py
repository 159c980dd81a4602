"""Changes of a session's window, mode, prompt, layout or tools, as records."""

from __future__ import annotations

from pagefault.model.events import OfferedTool, SessionConfigured, SessionOpened
from pagefault.model.kinds import Actor
from pagefault.service.arguments import a_control, a_layout, a_mode, a_window
from pagefault.service.ownership import Owned
from pagefault.service.runtime import Runtime


async def configure(
    owned: Owned,
    runtime: Runtime,
    *,
    name: str,
    window: int | None = None,
    mode: str | None = None,
    system: str | None = None,
    layout: str | None = None,
    control: str | None = None,
    tools: tuple[OfferedTool, ...] | None = None,
) -> None:
    """Record the change, unless nothing changes. Called within a verb. Raises `BadInput`, and
    `WindowTooSmall` for a window that could not hold its required contents.
    """
    state = owned.state
    body = SessionConfigured(
        window_tokens=state.window_tokens if window is None else a_window(window),
        mode=state.asked_mode if mode is None else a_mode(mode),
        system=state.system if system is None else runtime.journal.clean(system),
        layout=state.layout_name if layout is None else a_layout(layout),
        control=state.control if control is None else a_control(control),
        tools=state.tools if tools is None else tools,
    )
    if body == state.configured:
        return
    runtime.check_opened(
        SessionOpened(
            session_id=state.session_id,
            name=name,
            window_tokens=body.window_tokens,
            mode=body.mode,
            system=body.system,
            layout=body.layout,
            control=body.control,
            tools=body.tools,
        ),
        state.must_show(),
        factor=state.factor,
    )
    await owned.record(body, actor=Actor.USER)
