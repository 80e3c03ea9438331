"""The run on nodes: they read sources in place or get their content, never open the library, and give the same results
as this machine."""

import time
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from inorder.documents.chunk.settings import ChunkSettings
from inorder.documents.convert import parts
from inorder.documents.convert.settings import ConvertSettings
from inorder.library.reader import LibraryReader
from inorder.pipeline.outcome import RunOutcome
from inorder.stage.files.file_stat import RACY_NS
from tests.pipeline.runs import Library, count_steps
from tests.pipeline.test_parts import make_pdf
from tests.ray.machines import Machines

COUNT = 12
SETTINGS: dict[str, Any] = {"dense": "hash:16", "convert": ConvertSettings(split_pages=2)}


@pytest.fixture
def sources(tmp_path: Path) -> Path:
    folder = tmp_path / "docs"
    folder.mkdir()
    for number in range(COUNT):
        (folder / f"{number}.md").write_text(f"# Note {number}\n\n" + f"Words about {number}. " * 40)
    (folder / "tool.py").write_text("import os\n\n\ndef ring():\n    return os.getpid()\n")
    (folder / "bad.pdf").write_bytes(b"%PDF-1.7 no more")
    settle()
    return folder


def settle() -> None:
    """Wait until files that were written before have a stat that can be trusted."""
    time.sleep(RACY_NS / 1e9)


def on_nodes(machines: Machines, files: str, **options: Any) -> dict[str, Any]:
    return {"engine": "ray", "policy": "cpu", "ray": machines.options(files=files, **options)}


def describe(library: Library) -> dict[str, Any]:
    """Everything that a run has made, without what may differ."""
    with closing(LibraryReader(str(library.data))) as reader:
        files = [
            (each.item_id, each.kind, each.path, each.signature, each.sha256, each.size, each.reason, each.states)
            for each in reader.list_files()
        ]
        failures = [(each.item_id, each.step, each.category, each.message) for each in reader.list_failures()]
        return {"files": files, "failures": failures, "content": reader.read_totals().content_hash}


@pytest.mark.req("DAT-1", "JRN-7", "RUN-4")
@pytest.mark.parametrize("files", ["shared", "send"])
def test_a_run_on_nodes_gives_the_same_library(machines: Machines, sources: Path, tmp_path: Path, files: str) -> None:
    here = Library(tmp_path / "here", **SETTINGS)
    there = Library(tmp_path / "there", **SETTINGS)
    options = on_nodes(machines, files)
    expected, found = here.run(sources), there.run(sources, **options)
    assert found.counts == expected.counts
    assert describe(there) == describe(here)
    again = there.run(sources)
    assert (count_steps(again), again.counts.unchanged) == ({}, COUNT + 1)
    for library, chosen in ((here, {}), (there, options)):
        changed = Library(library.data, **SETTINGS, chunk=ChunkSettings(tokens_max=64))
        outcome: RunOutcome = changed.run(sources, **chosen)
        assert count_steps(outcome) == dict.fromkeys(("chunk", "index", "embed:dense"), COUNT)
    assert describe(there) == describe(here)


@pytest.mark.parametrize("files", ["shared", "send"])
def test_a_long_document_is_read_in_parts_on_nodes(
    machines: Machines, tmp_path: Path, files: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parts, "LARGE_BYTES", 1)
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "long.pdf").write_bytes(make_pdf("lamp"))
    settle()
    here, there = Library(tmp_path / "here", **SETTINGS), Library(tmp_path / "there", **SETTINGS)
    here.run(tmp_path / "docs")
    outcome = there.run(tmp_path / "docs", **on_nodes(machines, files))
    assert (outcome.counts.new, outcome.counts.failed) == (1, 0)
    assert describe(there) == describe(here)
