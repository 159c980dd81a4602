"""The programs that write parts of the repository, which are in no package, as modules."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

ROOT = Path(__file__).parents[1]


def sync_script() -> ModuleType:
    return _loaded("write_sync", ROOT / "script" / "sync.py")


def docs_script() -> ModuleType:
    return _loaded("generate_docs", ROOT / "docs" / "generate.py")


def defaults_table() -> ModuleType:
    return _loaded("defaults_table", ROOT / "docs" / "defaults_table.py")


def site_script() -> ModuleType:
    return _loaded("build_site", ROOT / "docs" / "site.py")


def man_script() -> ModuleType:
    return _loaded("write_man", ROOT / "docs" / "man.py")


def _loaded(name: str, path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module
