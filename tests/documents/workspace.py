"""A folder with documents and DATA beside it, on which commands are run."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from inorder.stage.freshness import REMOVED_FROM_PLAN
from inorder.stage.store.database import open_store
from tests.support.command_line import GUARD_S

PROSE = "The keeper lights the lamp at dusk, and notes the hour in the book. "


class Workspace:
    """A folder with documents, and DATA beside it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.docs = folder / "docs"
        self.docs.mkdir()
        self.data = folder / "data"

    def write(self, name: str, text: str) -> None:
        path = self.docs / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")

    def run(self, *arguments: str, expected: int = 0, policy: str = "io", **environment: str) -> dict[str, Any]:
        """`inorder run`, as a program of its own; what it says to programs. Threads begin sooner than processes."""
        command = (*(arguments or ("run", "docs")), "--policy", policy)
        ended = subprocess.run(
            [sys.executable, "-m", "inorder", *command, "--data", str(self.data), "--quiet", "--json"],
            cwd=self.folder,
            env={**os.environ, **environment},
            capture_output=True,
            text=True,
            timeout=GUARD_S,
            check=False,
        )
        assert ended.returncode == expected, ended.stderr
        found: dict[str, Any] = json.loads(ended.stdout)
        return found

    def rows(self, stage: str) -> list[dict[str, Any]]:
        """Of the latest run."""
        lines = (self.data / "manifests" / f"{stage}.jsonl").read_text(encoding="utf-8").splitlines()
        found: list[dict[str, Any]] = []
        for row in map(json.loads, lines):
            found = [] if row["doc_id"] == "__config__" else [*found, row]
        return found

    def done(self, stage: str) -> dict[str, str]:
        """What the latest run has made or removed, by item."""
        said = {row["doc_id"]: row for row in self.rows(stage)}
        return {
            name: "gone" if row["reason"] == REMOVED_FROM_PLAN else row["status"]
            for name, row in said.items()
            if row["status"] != "skip" or row["reason"] == REMOVED_FROM_PLAN
        }

    def outputs(self) -> dict[str, bytes]:
        """Everything that was made, by its name."""
        found = {}
        for stage in ("doctags", "chunk", "embed"):
            store = open_store(str(self.data), stage)
            for item in () if store is None else store.iterate():
                content = store.read(item.item_id) if store is not None else None
                assert content is not None
                found[f"{item.folder}/{item.item_id}"] = content[1]
        return found
