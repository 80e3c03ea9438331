"""Runs over a folder of documents in this process, on threads: quick enough for many small tests."""

import json
import os
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec

from inorder.documents.chunk.settings import ChunkSettings
from inorder.documents.convert.settings import ConvertSettings
from inorder.library.reader import KnownFile, LibraryReader
from inorder.pipeline.outcome import RunOutcome
from inorder.pipeline.steps import CHUNK, DOCTAGS, EMBED, INDEX
from inorder.stage.options import StageOptions
from tests.pipeline.runs import Library
from tests.stage.jobs import Row, read_lines

QUICK: dict[str, Any] = {"telemetry": True, "fsync": "off", "timeout_s": 0.0}
ALL = (DOCTAGS, CHUNK, EMBED, INDEX)


class StageRuns:
    """Documents in `docs`, and DATA beside them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.docs = folder / "docs"
        self.docs.mkdir()
        self.data = folder / "data"
        self._has_rows = False
        """Whether the latest run had something to do."""
        self._read: list[str] = []
        """The sources that `doctags` has read."""

    def write(self, name: str, text: str) -> Path:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path

    def run(self, *sources: str, steps: tuple[str, ...] = ALL, retries: bool = False, **settings: Any) -> RunOutcome:
        """Run steps on folders of this one, `docs` unless others are named. Settings are those of steps, of all steps
        and of the run, by their names."""
        places = sources or ("docs",)
        if DOCTAGS in steps:
            self._read += [name for name in places if name not in self._read]
        convert, chunk, options = (_choose(settings, kind) for kind in (ConvertSettings, ChunkSettings, StageOptions))
        library = Library(
            self.data, convert=ConvertSettings(**convert), chunk=ChunkSettings(**chunk), commands=steps, **settings
        )
        outcome = library.run(*(self.folder / name for name in places), retries=retries, **(QUICK | options))
        self._has_rows = bool(outcome.steps)
        return outcome

    def doctags(self, *sources: str, **settings: Any) -> RunOutcome:
        return self.run(*sources, steps=(DOCTAGS,), **settings)

    def chunk(self, **settings: Any) -> RunOutcome:
        return self.run(*self._read, steps=(CHUNK,), **settings)

    def embed(self, **settings: Any) -> RunOutcome:
        return self.run(*self._read, steps=(EMBED,), **settings)

    def index(self, *sources: str, **settings: Any) -> RunOutcome:
        return self.run(*sources, steps=(INDEX,), **settings)

    # ---- what is found afterwards

    def rows(self, step: str) -> dict[str, Row]:
        """The rows of the latest run by file."""
        name = "embed-dense" if step == EMBED else step
        return read_rows(self.data / "manifests" / f"{name}.jsonl") if self._has_rows else {}

    def done(self, step: str) -> set[str]:
        """The files of which a step of the latest run has made a result."""
        return {name for name, row in self.rows(step).items() if row["status"] == "success"}

    def documents(self) -> list[str]:
        """The ids of the documents that DATA has."""
        with closing(LibraryReader(os.fspath(self.data))) as library:
            return [*library.list_visible(DOCTAGS)]

    def files(self) -> dict[str, KnownFile]:
        """What the library knows of each file."""
        return {each.item_id: each for each in read_files(self.data)}

    def copies(self) -> list[tuple[str, str]]:
        """The id of each copy, and that of its document."""
        return Library(self.data).list_copies()

    def reasons(self) -> dict[str, str]:
        """Why files are not read, or have failed."""
        return read_reasons(self.data)

    def snapshot(self, outcome: RunOutcome) -> Row:
        """The last snapshot of a run."""
        lines = read_lines(self.data / "telemetry" / f"{outcome.run_id}.jsonl")
        return [line for line in lines if line["event"] == "snapshot"][-1]


def _choose(settings: dict[str, Any], kind: Any) -> dict[str, Any]:
    """Take the settings out that a struct has."""
    names = {field.name for field in msgspec.structs.fields(kind)}
    return {name: settings.pop(name) for name in names & settings.keys()}


def read_rows(manifest: Path) -> dict[str, Row]:
    """The rows of the latest run in a manifest, by file."""
    found: dict[str, Row] = {}
    for line in manifest.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        if row["doc_id"] == "__config__":
            found = {}
        elif not row["doc_id"].startswith("__"):
            found[row["doc_id"]] = row
    return found


def read_files(data: Path) -> list[KnownFile]:
    """What the library of DATA knows of each file."""
    with closing(LibraryReader(os.fspath(data))) as library:
        return [*library.list_files()]


def read_reasons(data: Path) -> dict[str, str]:
    """Why files of DATA are not read, or have failed, in the order of their ids."""
    with closing(LibraryReader(os.fspath(data))) as library:
        failed = {each.item_id: each.message for each in library.list_failures()}
        unread = {each.item_id: each.reason for each in library.list_files() if each.reason}
    return dict(sorted((failed | unread).items()))


def pick(row: Row, names: Iterable[str]) -> Row:
    """These fields of a row."""
    return {name: row[name] for name in names}
