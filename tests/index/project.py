"""A folder with code and documents, indexed and searched through the command line."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from inorder.library.whole.verify import verify_library
from inorder.pipeline.outcome import RunOutcome
from tests.pipeline.runs import Library
from tests.support.command_line import GUARD_S
from tests.support.in_process import is_read_only, run_in_process


class Project:
    """A folder with sources in `src`, and DATA beside it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.source = folder / "src"
        self.source.mkdir(exist_ok=True)
        self.data = folder / "data"

    def write(self, name: str, text: str) -> Path:
        path = self.source / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path

    def call(self, *arguments: str, cwd: Path | None = None, **environment: str) -> "subprocess.CompletedProcess[str]":
        """Run `inorder` with these arguments: in this process if the command only reads."""
        arguments = (*arguments, "--data", str(self.data))
        variables = {**os.environ, **environment}
        if is_read_only(arguments):
            code, out, err = run_in_process(arguments, cwd or self.folder, variables)
            return subprocess.CompletedProcess(arguments, code, out, err)
        return subprocess.run(
            [sys.executable, "-m", "inorder", *arguments],
            cwd=cwd or self.folder,
            env=variables,
            capture_output=True,
            text=True,
            timeout=GUARD_S,
            check=False,
        )

    def ask(self, *arguments: str, expected: int = 0, cwd: Path | None = None) -> Any:
        """The JSON answer of a command."""
        ended = self.call(*arguments, "--json", cwd=cwd)
        assert ended.returncode == expected, ended.stderr
        return json.loads(ended.stdout)

    def index(self, *options: str, expected: int = 0, **environment: str) -> dict[str, Any]:
        """`inorder run src`."""
        ended = self.call("run", "src", *options, "--quiet", "--json", **environment)
        assert ended.returncode == expected, ended.stderr
        found: dict[str, Any] = json.loads(ended.stdout)
        return found

    def build(self, data: Path | None = None, **options: Any) -> RunOutcome:
        """The same in this process, with threads."""
        return Library(data or self.data, dense="hash:16").run(self.source, **({"fsync": "off"} | options))

    def rows(self) -> dict[str, dict[str, Any]]:
        """The rows of the step `index` in the latest run."""
        found: dict[str, dict[str, Any]] = {}
        for line in (self.data / "manifests" / "index.jsonl").read_text(encoding="utf-8").splitlines():
            row = json.loads(line)
            if row["doc_id"] == "__config__":
                found = {}
            elif not row["doc_id"].startswith("__"):
                found[row["doc_id"]] = row
        return found

    def content_hash(self, data: Path | None = None) -> str:
        """What identifies everything that is visible in a library, which must be intact."""
        assert [str(finding) for finding in verify_library(str(data or self.data))] == []
        return Library(data or self.data).read_content_hash()
