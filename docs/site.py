"""Builds the documentation as a site, of the files in docs/ and of docstrings: `script/site`.

    script/site            builds build/site-src/site, with an environment of its own in build/
    script/site --sources  only gathers what it is built of, in build/site-src

The pages are the repository's own. A link from one to another stays a link; one to code becomes its
words, as the site has no code. The reference is made of docstrings.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parent.parent
NAV: Final[dict[str, tuple[str, ...]]] = {
    "Begin": ("README", "library", "clients", "cli"),
    "Use": (
        "wrap",
        "proxy",
        "bill",
        "mcp",
        "sdks",
        "frameworks",
        "tools",
        "import",
        "export",
        "context-packs",
    ),
    "Look": ("report", "dashboard", "studio", "notebooks", "events"),
    "Run": ("runbook", "privacy", "origins", "scopes"),
    "Concepts": (
        "design",
        "paging",
        "policies",
        "protocol",
        "recall",
        "truth",
        "claims",
        "core-memory",
        "heat",
        "ladder",
        "formation",
        "storage",
    ),
    "Measured": ("benchmarks", "testing"),
    "Inside": ("ARCHITECTURE", "CONTRIBUTING", "CHANGELOG"),
}
"""Every page of docs/ stands in one section, in the order in which one would read."""

REFERENCE: Final[dict[str, tuple[str, ...]]] = {
    "Memory": ("open", "wrap", "adopt", "Memory", "Options", "Limits", "Quotas"),
    "Session": ("Session", "Answer", "Request", "Status", "Metrics", "MemoryMap", "Recollection"),
    "Search": ("SearchResult", "SearchHit", "SearchFilter", "ContextPack", "Embedder", "Reranker"),
    "Models": ("Engine", "RemoteEngine", "ScriptedEngine", "Usage", "ToolCall", "PriceList"),
    "Pages": ("Page", "PageRow", "Evidence", "Quote", "ClaimInfo", "Kind", "Level", "Tier"),
    "Errors": ("PagefaultError", "CallerError", "ModelError", "StoreError", "EngineError"),
}
"""What the reference shows of `pagefault`, by pages; `pagefault.sync` has the same verbs."""

_OUTSIDE: Final = ("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md", "LICENSE")
_LINK: Final = re.compile(r"(?P<image>!?)\[(?P<text>[^\]]*)\]\((?P<target>[^)\s]+)\)")
_FENCE: Final = re.compile(r"(^```.*?^```$)", re.DOTALL | re.MULTILINE)


def pages() -> dict[Path, str]:
    """The site's pages: where each lies in the repository, and in the site."""
    own = {ROOT / name: name for name in _OUTSIDE} | {ROOT / "README.md": "index.md"}
    found = sorted((ROOT / "docs").rglob("*.md"))
    own |= {path: path.relative_to(ROOT / "docs").as_posix() for path in found}
    own[ROOT / "docs" / "decisions" / "README.md"] = "decisions/index.md"
    return {path: name for path, name in own.items() if path.suffix == ".md"}


def in_site(text: str, at: Path) -> str:
    """A page of the repository as a page of the site. Raises `LookupError` for a dead link."""
    known = pages()
    depth = known[at].count("/")

    def moved(match: re.Match[str]) -> str:
        target, hash_, anchor = match["target"].partition("#")
        if "://" in target or not target:
            return match[0]
        there = (at.parent / target).resolve()
        if not there.exists():
            raise LookupError(f"{at.relative_to(ROOT)}: {match['target']} leads nowhere")
        if there.is_dir() and (there / "README.md") in known:
            there /= "README.md"
        name = known.get(there)
        if name is None and there.is_relative_to(ROOT / "docs" / "images"):
            name = there.relative_to(ROOT / "docs").as_posix()
        if name is None:  # code, which the site has not
            return match["text"] if "`" in match["text"] else f"`{match['text']}`"
        return f"{match['image']}[{match['text']}]({'../' * depth}{name}{hash_}{anchor})"

    parts = _FENCE.split(text)
    return "".join(part if part.startswith("```") else _LINK.sub(moved, part) for part in parts)


def gather(to: Path) -> None:
    """Write what the site is built of into a folder that is made anew."""
    shutil.rmtree(to, ignore_errors=True)
    docs = to / "docs"
    for path, name in pages().items():
        page = docs / name
        page.parent.mkdir(parents=True, exist_ok=True)
        page.write_text(in_site(path.read_text(encoding="utf-8"), path), encoding="utf-8")
    shutil.copytree(ROOT / "docs" / "images", docs / "images")
    for title, names in REFERENCE.items():
        page = docs / "reference" / f"{title.lower()}.md"
        page.parent.mkdir(exist_ok=True)
        told = "\n\n".join(f"::: pagefault.{name}" for name in names)
        page.write_text(f"# {title}\n\n{told}\n", encoding="utf-8")
    (to / "mkdocs.yml").write_text(_config(), encoding="utf-8")


def _config() -> str:
    return f"""\
site_name: pagefault
site_description: Virtual memory for the context windows of language models.
docs_dir: docs
site_dir: site
theme:
  name: material
  font: false
  palette:
    - media: "(prefers-color-scheme: light)"
      scheme: default
      toggle: {{icon: lucide/sun, name: Dark}}
    - media: "(prefers-color-scheme: dark)"
      scheme: slate
      toggle: {{icon: lucide/moon, name: Light}}
markdown_extensions:
  - tables
  - toc:
      permalink: true
      slugify: !!python/object/apply:pymdownx.slugs.slugify {{kwds: {{case: lower}}}}
  - pymdownx.superfences:
      custom_fences:
        - name: mermaid
          class: mermaid
          format: !!python/name:pymdownx.superfences.fence_code_format
plugins:
  - search
  - mkdocstrings:
      handlers:
        python:
          paths: [{(ROOT / "src").as_posix()}]
          options: {{show_source: false, heading_level: 2, inherited_members: true}}
nav:
{chr(10).join(_nav())}
"""


def _nav() -> Iterator[str]:
    for section, names in NAV.items():
        yield f"  - {section}:"
        for name in names:
            yield f"      - {'index.md' if name == 'README' else f'{name}.md'}"
        if section == "Inside":
            yield "      - Decisions: decisions/index.md"
    yield "  - Reference:"
    yield from (f"      - reference/{title.lower()}.md" for title in REFERENCE)


def main() -> int:
    sources, venv = ROOT / "build" / "site-src", ROOT / "build" / "site-venv"
    gather(sources)
    if sys.argv[1:] == ["--sources"]:
        return 0
    if not (venv / "bin" / "zensical").exists():
        subprocess.run([sys.executable, "-m", "venv", venv], check=True)
        wanted = [str(venv / "bin" / "pip"), "install", "-q", "--group", "site"]
        subprocess.run(wanted, cwd=ROOT, check=True)
    return subprocess.run([venv / "bin" / "zensical", "build"], cwd=sources, check=False).returncode


if __name__ == "__main__":
    raise SystemExit(main())
