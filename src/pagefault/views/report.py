"""A report: one self-contained page of HTML about a session, to keep and pass on.

It needs no script and no network: styles and charts are inline. The template escapes every text,
and the page's own policy blocks loading and scripts all the same.
"""

from __future__ import annotations

from base64 import b64encode
from datetime import datetime, tzinfo
from functools import cache
from hashlib import sha256
from importlib.resources import files

from jinja2 import Environment
from markupsafe import Markup

from pagefault.views.charts import draw_map, draw_requests
from pagefault.views.claim_drawing import draw_claims
from pagefault.views.picture import Picture
from pagefault.views.rendering import environment


def render_report(
    picture: Picture, *, made_at: datetime, command: str, version: str, zone: tzinfo | None = None
) -> str:
    """The report as HTML. Times are in `zone`, by default the machine's. The same picture, time,
    command and version give the same bytes.
    """
    style = _style("drawing.css", "claims.css", "report.css")
    return (
        _environment()
        .get_template("report.html")
        .render(
            picture=picture,
            map=draw_map(picture),
            chart=draw_requests(picture),
            graph=draw_claims(picture.claims),
            style=Markup(style),
            style_hash=b64encode(sha256(style.encode()).digest()).decode(),
            made_at=made_at,
            command=command,
            version=version,
            zone=zone,
        )
    )


def render_map(picture: Picture) -> str:
    """The memory map alone, as SVG; "" if the session sent no request."""
    drawn = draw_map(picture)
    if drawn is None:
        return ""
    style = Markup(_style("drawing.css"))
    return _environment().get_template("map.svg").render(of=drawn, picture=picture, style=style)


@cache
def _style(*names: str) -> str:
    folder = files("pagefault.views") / "templates"
    return "".join(folder.joinpath(name).read_text("utf-8") for name in names)


@cache
def _environment() -> Environment:
    return environment("pagefault.views", day=_day, minute=_minute)


def _at(at_ms: int, zone: tzinfo | None) -> datetime:
    at = datetime.fromtimestamp(at_ms / 1000, zone)
    return at if zone is not None else at.astimezone()


def _day(at_ms: int, zone: tzinfo | None) -> str:
    at = _at(at_ms, zone)
    return f"{at.day} {at:%b %Y}"


def _minute(at_ms: int, zone: tzinfo | None) -> str:
    at = _at(at_ms, zone)
    return f"{at.day} {at:%b %Y, %H:%M}"
