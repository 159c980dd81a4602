"""`pagefault config`."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pagefault.cli.app import App, Group, json_option

if TYPE_CHECKING:
    from pagefault.service.config import Config


@click.group(cls=Group)
def config() -> None:
    """Show the configuration and where each value came from.

    Flags win over the environment (PAGEFAULT_WINDOW_TOKENS, PAGEFAULT_ENGINE__MODEL), the
    environment over the project's .pagefault/config.toml, and that over your own config.toml.
    """


@config.command("show")
@click.option("--origin", is_flag=True, help="Show where each value comes from.")
@json_option
def show(app: App, origin: bool) -> None:
    """Show every setting and its value, secrets only by their length, and addresses without
    passwords.

    JSON: {key: {value, origin}} by dotted key; a secret has "set" instead of "value".
    """
    loaded = app.config()
    rows = loaded.rows()
    if app.as_json:
        app.term.data({key: _object(loaded, key, told) for key, _, told in rows})
    elif origin:
        app.term.table(["setting", "value", "origin"], rows)
    else:
        app.term.table(["setting", "value"], [(key, value) for key, value, _ in rows])


def _object(loaded: Config, key: str, origin: str) -> dict[str, Any]:
    from pagefault.service.config import schema

    value: Any = loaded
    for name in key.split("."):
        value = getattr(value, name)
    if schema()[key].secret:
        return {"set": bool(value), "origin": origin}
    shown = loaded.shown(key) if isinstance(value, str) else value
    return {"value": shown, "origin": origin}


@config.command("path")
@json_option
def path(app: App) -> None:
    """Show the path of your own configuration file, and of the project's, if this folder is in one.

    JSON: [{layer, path, exists}].
    """
    rows = paths()
    if app.as_json:
        app.term.data([{"layer": n, "path": str(p), "exists": p.is_file()} for n, p in rows])
        return
    for name, file in rows:
        app.term.line(str(file))
        app.term.note(f"  {name}, {'read' if file.is_file() else 'not there'}")


def paths() -> list[tuple[str, Path]]:
    """The files that are read, by layer. A file need not exist."""
    import platformdirs

    from pagefault.service.config import FILE_NAME, find_project

    named = os.environ.get("PAGEFAULT_CONFIG")
    rows = []
    if named is None:
        folder = platformdirs.user_config_path("pagefault", appauthor=False)
        rows.append(("user", folder / FILE_NAME))
    elif named:
        rows.append(("user", Path(named).expanduser()))
    project = find_project(Path.cwd(), skip_theirs=True)
    if project is not None:
        rows.append(("project", project / FILE_NAME))
    return rows
