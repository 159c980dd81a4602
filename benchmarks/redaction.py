"""What the guard finds in files: recall on labelled corpora, false redactions in ordinary text.

    python benchmarks/redaction.py --labelled DIR... --ordinary DIR_OR_FILE... [--show N]

A labelled folder has the corpus's files and a `labels.csv` beside them: `file,line,secret`, where
`secret` may be empty: then any redaction within the line counts. Corpora are not part of the
repository; docs/benchmarks.md names those that were measured, with their licences. Of ordinary
files every redaction counts as false, whatever it is; `--show` prints some by rule, so that a
person may judge.
"""

from __future__ import annotations

import argparse
import csv
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import click

from pagefault.guard.layers import layers_of
from pagefault.guard.screen import Screen
from pagefault.model.kinds import RedactLevel

FILE_BYTES_MAX = 2 << 20


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--labelled", nargs="*", type=Path, default=[])
    parser.add_argument("--ordinary", nargs="*", type=Path, default=[])
    parser.add_argument("--bytes-max", type=int, default=64 << 20)
    parser.add_argument("--show", type=int, default=0)
    parser.add_argument("--missed", action="store_true")
    parser.add_argument("--no-scanner", action="store_true")
    parser.add_argument("--cache", type=Path, help="where the scanner keeps its compiled rules")
    given = parser.parse_args()
    screen = Screen(
        {}, None, layers_of(RedactLevel.DETECT, scanner=not given.no_scanner, cache=given.cache)
    )
    click.echo("layers: " + ", ".join(layer.name for layer in screen.layers))
    for folder in given.labelled:
        _labelled(screen, folder, show_missed=given.missed)
    for path in given.ordinary:
        _ordinary(screen, path, given.bytes_max, given.show)


def _labelled(screen: Screen, folder: Path, *, show_missed: bool) -> None:
    found = labels = 0
    rows: dict[str, list[tuple[int, str]]] = {}
    with (folder / "labels.csv").open(newline="") as file:
        for name, line, secret in csv.reader(file):
            rows.setdefault(name, []).append((int(line), secret))
    for name, expected in rows.items():
        text = (folder / name).read_text(errors="replace")
        starts = [0]
        for one in text.splitlines(keepends=True):
            starts.append(starts[-1] + len(one))
        spans = screen.found(text)
        for number, secret in expected:
            labels += 1
            start, end = starts[number - 1], starts[number]
            if secret:
                at = text.find(secret, start)
                hit = at >= 0 and any(f.start <= at and at + len(secret) <= f.end for f in spans)
            else:
                hit = any(f.start < end and f.end > start for f in spans)
            found += hit
            if not hit and show_missed:
                click.echo(f"  missed {name}:{number}: {text[start:end].strip()[:100]}")
    click.echo(f"{folder}: {found} of {labels}, {found / max(1, labels):.1%}")


def _texts(path: Path) -> Iterator[str]:
    for file in [path] if path.is_file() else sorted(path.rglob("*")):
        try:
            if file.is_file() and not file.is_symlink() and file.stat().st_size <= FILE_BYTES_MAX:
                yield file.read_bytes().decode()
        except (OSError, UnicodeDecodeError):
            continue


def _ordinary(screen: Screen, path: Path, bytes_max: int, show: int) -> None:
    size = count = texts = 0
    spent = 0.0
    rules: Counter[str] = Counter()
    shown: dict[str, list[str]] = {}
    for text in _texts(path):
        began = time.process_time()
        spans = screen.found(text)
        spent += time.process_time() - began
        size += len(text.encode())
        texts += 1
        count += len(spans)
        for one in spans:
            rules[one.rule] += 1
            at = text.rfind("\n", 0, one.start) + 1
            shown.setdefault(one.rule, []).append(
                f"{text[max(at, one.start - 60) : one.start]}⟦{text[one.start : one.end][:60]}⟧"
            )
        if size > bytes_max:
            break
    mib = size / (1 << 20)
    click.echo(
        f"{path}: {count} in {mib:.1f} MiB of {texts} files, {count / max(mib, 1e-9):.2f} a MiB,"
        f" {1e3 * spent / max(mib, 1e-9) / 1024:.3f} ms a KiB; {dict(rules.most_common())}"
    )
    for rule, examples in shown.items():
        step = max(1, len(examples) // max(1, show))
        for example in examples[::step][:show]:
            click.echo(f"    {rule}: {example!r}")


if __name__ == "__main__":
    main()
