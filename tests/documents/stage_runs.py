"""Built-in stages, run in this process on threads: quick enough for many small tests."""

import json
from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import Any

import msgspec

import inorder
from inorder.documents.chunk import stage as chunk
from inorder.documents.doctags import stage as doctags
from inorder.documents.embed import stage as embed
from inorder.index.stage import stage as index
from inorder.stage.manifest.reader import find_last_run
from inorder.stage.manifest.reader import read_lines as read_manifest
from tests.stage.jobs import Row, read_lines

QUICK: dict[str, Any] = {"policy": "io", "workers": 2, "progress": "none", "fsync": "off", "timeout_s": 0.0}


class StageRuns:
    """Documents in `docs`, and DATA beside them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.docs = folder / "docs"
        self.docs.mkdir()
        self.data = folder / "data"

    def write(self, name: str, text: str) -> Path:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path

    def run(self, stage: inorder.Stage, *sources: str, **options: Any) -> inorder.StageOutcome:
        """Run a stage on folders of this one, `docs` unless others are named."""
        places = [self.folder / name for name in sources or ("docs",)]
        settings = msgspec.structs.replace(stage.options, data=self.data, **(QUICK | options))
        return inorder.run_stage(
            stage.plan(places, self.data),
            stage.worker,
            settings,
            stage.hooks,
            origin={"sources": [str(place) for place in places]},
            sinks=stage.sinks(self.data) if stage.sinks is not None else (),
            finish=None if stage.finish is None else partial(stage.finish, self.data),
        )

    def doctags(self, *sources: str, **settings: Any) -> inorder.StageOutcome:
        return self.run(doctags.make(doctags.DoctagsSettings(**settings)), *sources)

    def chunk(self, **settings: Any) -> inorder.StageOutcome:
        return self.run(chunk.make(chunk.ChunkSettings(**settings)))

    def embed(self, **settings: Any) -> inorder.StageOutcome:
        return self.run(embed.make(embed.EmbedSettings(**settings)))

    def index(self, *sources: str) -> inorder.StageOutcome:
        return self.run(index, *sources)

    # ---- what is found afterwards

    def rows(self, stage: str) -> dict[str, Row]:
        """The rows of the latest run by item."""
        path = str(self.data / "manifests" / f"{stage}.jsonl")
        last = find_last_run(path)
        rows: list[Row] = [json.loads(line.raw) for line in read_manifest(path, last[0] if last else 0)]
        return {row["doc_id"]: row for row in rows if row["doc_id"] != "__config__"}

    def done(self, stage: str) -> set[str]:
        """The items that the latest run processed."""
        return {name for name, row in self.rows(stage).items() if row["status"] == "success"}

    def snapshot(self, outcome: inorder.StageOutcome) -> Row:
        """The last snapshot of a run."""
        lines = read_lines(self.data / "telemetry" / f"{outcome.run_id}.jsonl")
        return [line for line in lines if line["event"] == "snapshot"][-1]


def pick(row: Row, names: Iterable[str]) -> Row:
    """These fields of a row."""
    return {name: row[name] for name in names}
