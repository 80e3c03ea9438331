"""A folder with documents and DATA beside it, on which commands are run."""

import json
import os
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

from inorder.library.reader import KnownFile, LibraryReader
from tests.documents.stage_runs import read_files, read_reasons, read_rows
from tests.support.command_line import GUARD_S
from tests.support.in_process import run_in_process

PROSE = "The keeper lights the lamp at dusk, and notes the hour in the book. "
STEPS = ("doctags", "chunk", "index", "embed:dense")


class Workspace:
    """A folder with documents, and DATA beside it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.docs = folder / "docs"
        self.docs.mkdir(exist_ok=True)
        self.data = folder / "data"

    def write(self, name: str, text: str) -> None:
        path = self.docs / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")

    def run(self, *arguments: str, expected: int = 0, policy: str = "io", **environment: str) -> dict[str, Any]:
        """`inorder run`; what it says to programs. It runs in this process if its workers are threads, and in one of
        its own if they are processes or it has an environment of its own."""
        chosen = arguments or ("run", "docs")
        command = [*chosen, "--policy", policy, "--data", str(self.data), "--quiet", "--json"]
        if policy == "io" and not environment:
            code, out, err = run_in_process(command, self.folder, os.environ)
        else:
            ended = subprocess.run(
                [sys.executable, "-m", "inorder", *command],
                cwd=self.folder,
                env={**os.environ, **environment},
                capture_output=True,
                text=True,
                timeout=GUARD_S,
                check=False,
            )
            code, out, err = ended.returncode, ended.stdout, ended.stderr
        assert code == expected, err
        found: dict[str, Any] = json.loads(out)
        return found

    def rows(self, step: str) -> dict[str, dict[str, Any]]:
        """The rows of the latest run that had something to do, by file."""
        return read_rows(self.data / "manifests" / f"{step.replace(':', '-')}.jsonl")

    def done(self, step: str) -> set[str]:
        """The files of which a step of the latest run that had something to do has made a result."""
        return {name for name, row in self.rows(step).items() if row["status"] == "success"}

    def files(self) -> dict[str, KnownFile]:
        """What the library knows of each file."""
        return {each.item_id: each for each in read_files(self.data)}

    def reasons(self) -> dict[str, str]:
        """Why files are not read, or have failed."""
        return read_reasons(self.data)

    def outputs(self) -> dict[str, str]:
        """The hash of everything that is visible, by step and file."""
        found = {}
        with closing(LibraryReader(str(self.data))) as library:
            for file in library.list_files():
                for step in STEPS:
                    state = file.states.get(step)
                    if state is not None and state.output is not None:
                        found[f"{step} {file.item_id}"] = state.output.hex()
            found["content"] = library.read_totals().content_hash
        return found
