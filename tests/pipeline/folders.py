"""A folder with sources and DATA beside it, which the pipeline runs on in this process: quick enough for many small
tests."""

import json
from pathlib import Path
from typing import Any

from inorder.documents.chunk.settings import ChunkSettings
from inorder.pipeline.outcome import RunOutcome
from inorder.stage.manifest.reader import find_last_run
from inorder.stage.manifest.reader import read_lines as read_manifest
from tests.pipeline.runs import Library
from tests.stage.jobs import Row


class FolderRuns:
    """Documents in `docs`, and DATA beside them. Settings hold for all later runs."""

    def __init__(self, folder: Path, *, tokens_max: int = 512, **settings: Any) -> None:
        self.folder = folder
        self.docs = folder / "docs"
        self.docs.mkdir(parents=True)
        self.data = folder / "data"
        self._settings: dict[str, Any] = {"chunk": ChunkSettings(tokens_max=tokens_max), **settings}

    def write(self, name: str, text: str) -> Path:
        """Write a file below the folder."""
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path

    def change_settings(self, **settings: Any) -> None:
        """Set what holds from now on."""
        self._settings |= settings

    def run(self, *sources: str, **options: Any) -> RunOutcome:
        """Run the pipeline on folders of this one, `docs` unless others are named."""
        places = [self.folder / name for name in sources or ("docs",)]
        return self.library.run(*places, **({"fsync": "off"} | options))

    @property
    def library(self) -> Library:
        """The library, with the settings that hold."""
        return Library(self.data, **self._settings)

    def done(self, step: str) -> set[str]:
        """The files that the latest run has made a result of."""
        path = str(self.data / "manifests" / f"{step}.jsonl")
        last = find_last_run(path)
        rows: list[Row] = [json.loads(line.raw) for line in read_manifest(path, last[0] if last else 0)]
        return {row["doc_id"] for row in rows if row["status"] == "success"}
