"""Run the console blocks of the pages, and write their output: `python -m tools.console`.

A block of the language `console` has commands, each after `$ `, and the output that follows. The commands of a page run
one after the other in one folder, which has a copy of `examples/`. A block after `<!-- file: NAME -->` is a file of it.
A line `...` in an output stands for any lines. What differs from run to run is not compared.

`tests/docs/test_console.py` compares the pages with what this program would write.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
HOME = "/home/ann"
"""What is shown for the folder in which the commands run."""

_BLOCK = re.compile(r"(?:^<!-- file: (?P<file>\S+) -->\n)?^```(?P<language>\w*)\n(?P<text>.*?)^```$", re.DOTALL | re.M)
_COMMAND = re.compile(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", re.MULTILINE)
_PROGRESS = re.compile(r"^\[\w+\] .*\n", re.MULTILINE)
"""Lines that stand for the bar where there is no terminal."""
_KILLED = re.compile(r"^bash: line 1: +\d+ Killed.*", re.MULTILINE)
_VOLATILE = (
    (re.compile(r"\b\d+(?:\.\d+)? (?:s|ms|files/s)\b"), "N s"),
    (re.compile(r"\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d)?(?:\.\d+)?(?:\+00:00|Z)?"), "DATE"),
    (re.compile(r"\b[0-9a-f]{16,64}\b"), "HASH"),
    (re.compile(r"\bprocess \d+"), "process N"),
    (re.compile(r"\b\d+(?:\.\d+)? (?:bytes|kB|MB)\b"), "N bytes"),
    (re.compile(r" {2,}"), "  "),
)


class Shown(NamedTuple):
    """One command of a page, its output, and where that begins."""

    command: str
    output: str
    at: int


def pages() -> list[str]:
    """Return the pages that have console blocks."""
    found = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    return [str(path.relative_to(ROOT)) for path in found if "```console\n" in path.read_text(encoding="utf-8")]


def is_same(shown: str, printed: str) -> bool:
    """Tell whether the output on a page is what was printed, but for what differs from run to run."""
    parts = [re.escape(part) for part in re.split(r"^\.\.\.\n", _normalize(shown), flags=re.MULTILINE)]
    return re.fullmatch("(?:.*\n)*?".join(parts), _normalize(printed)) is not None


def _normalize(output: str) -> str:
    for pattern, word in _VOLATILE:
        output = pattern.sub(word, output)
    return output


def run_page(text: str) -> Iterator[tuple[Shown, str]]:
    """Run the commands of a page, and yield each with what it printed."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name).resolve() / "work"
        shutil.copytree(ROOT / "examples", folder / "examples", ignore=shutil.ignore_patterns("__pycache__"))
        for program, call in (("inorder", '-m inorder "$@"'), ("python", '"$@"')):
            script = folder.parent / "bin" / program
            script.parent.mkdir(exist_ok=True)
            script.write_text(f'#!/bin/sh\nexec "{sys.executable}" {call}\n', encoding="utf-8")
            script.chmod(0o755)
        for match in _BLOCK.finditer(text):
            if match["file"]:
                (folder / match["file"]).write_text(match["text"], encoding="utf-8")
            if match["language"] == "console":
                for command in _COMMAND.finditer(text, match.start("text"), match.end("text")):
                    yield Shown(command[1], command[2], command.start(2)), _run(command[1], folder)


def _run(command: str, folder: Path) -> str:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("INORDER_")}
    path = f"{folder.parent / 'bin'}{os.pathsep}{environment['PATH']}"
    environment |= {"PATH": path, "COLUMNS": "100", "LC_ALL": "C.UTF-8"}
    finished = subprocess.run(
        ["bash", "-c", f"{command}\nexit $?"],
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    return _KILLED.sub("Killed", _PROGRESS.sub("", finished.stdout)).replace(str(folder), HOME)


def write(page: str) -> bool:
    """Replace the outputs of a page that are not what their commands print, and tell whether there are any."""
    path = ROOT / page
    text = path.read_text(encoding="utf-8")
    changed, moved = text, 0
    for shown, printed in run_page(text):
        if not is_same(shown.output, printed):
            start = shown.at + moved
            changed = changed[:start] + printed + changed[start + len(shown.output) :]
            moved += len(printed) - len(shown.output)
    path.write_text(changed, encoding="utf-8")
    return changed != text


if __name__ == "__main__":
    for page in sys.argv[1:] or pages():
        if write(page):
            print(f"wrote {page}")
