"""Memories that were copied about, as if they had been made where they are."""

from __future__ import annotations

import shutil
from pathlib import Path

from pagefault.service.bootstrap import user_adoptions
from pagefault.store.embedded.root_file import read_root


def adopted(path: Path) -> Path:
    """Vouch for a memory as it is: unlike `pagefault adopt`, this leaves its index alone."""
    user_adoptions().add(path, read_root(path).id)
    return path


def copied(source: Path, target: Path) -> Path:
    """A copy of a memory, vouched for."""
    return adopted(Path(shutil.copytree(source, target)))
