"""What pages name: the bonds that search follows from one page to others."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from pagefault.model.page import PageRow


class Named(NamedTuple):
    """Tasks ("ABC-7"), and names, paths and dates, as they are written in a page's text."""

    tasks: tuple[str, ...] = ()
    entities: tuple[str, ...] = ()


Naming = Callable[[PageRow], Named]
"""What a page names: nothing, where its text is out of reach. Called from several threads."""
