"""`inorder export --format files`: one set of files per document."""

import hashlib
import json
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

import inorder
from tests.dataset.test_export import read_manifest, read_tree
from tests.pipeline.folders import FolderRuns
from tests.support.in_process import run_in_process

pytestmark = [pytest.mark.req("DAT-2"), pytest.mark.slow]

TIDES = """\
# Tides

The tide rises twice a day.

- spring
- neap

| port | metres |
| --- | --- |
| Brest | 6.1 |

## Moon

The moon pulls the water.
"""
PUMPS = "<html><body><article><h1>Pumps</h1><p>A pump moves water &amp; air.</p></article></body></html>"
NOTES = "Plain notes about valves.\n"
TIDES_DOCTAGS = """\
<doctag><title>Tides</title>
<text>The tide rises twice a day.</text>
<unordered_list><list_item>spring</list_item>
<list_item>neap</list_item>
</unordered_list>
<otsl><ched>port<ched>metres<nl><fcel>Brest<fcel>6.1<nl></otsl>
<section_header_level_1>Moon</section_header_level_1>
<text>The moon pulls the water.</text>
</doctag>"""
RECORDS = {
    "docs/sub/notes.txt": "6d67825217b873a43fe928068b01987acd0c5b32585332c8ece03de557edcc53",
    "docs/sub/pumps.html": "5e07457eee4d102aed97a3294ea1e49bc84e7660ad8bbe7a1e039b59c5ab8ec1",
    "docs/tides.md": "830bfc157c7fa2ea25fab0a5e40c3a39962d299c0de3ee53090106af877624dc",
}
"""The hashes of the `.docling.json` files. Versions up to 0.1.0 have written the same ones to DATA."""
TIDES_CHUNK = {
    "chunk_id": "69a18e4f-28e7-5351-8572-8f75e8b26d25",
    "doc_id": "docs/tides.md",
    "number": 0,
    "text": "Tides\n\nThe tide rises twice a day.\n\nspring\n\nneap\n\nport | metres\nBrest | 6.1\n\nMoon\n\n"
    "The moon pulls the water.",
    "tokens": 25,
    "start": 0,
    "end": 108,
    "section_path": ["Tides"],
    "pages": [],
    "refs": ["#/texts/0", "#/texts/1", "#/texts/2", "#/texts/3", "#/tables/0", "#/texts/4", "#/texts/5"],
    "links": [],
    "code": [],
}
NOTES_VECTOR = [-0.18898223, 0.42257711, -0.37796447, 0.26726124, -0.42257711, 0.5, -0.37796447, 0.0]


@pytest.fixture
def runs(tmp_path: Path) -> FolderRuns:
    made = FolderRuns(tmp_path, dense="hash:8")
    made.write("docs/tides.md", TIDES)
    made.write("docs/sub/pumps.html", PUMPS)
    made.write("docs/sub/notes.txt", NOTES)
    made.run()
    return made


def export(runs: FolderRuns, to: str = "out", what: str = "all") -> dict[str, Any]:
    """Export files. Returns what the command says."""
    arguments = ["export", what, "--format", "files", "--to", to, "--data", str(runs.data), "--json"]
    code, out, err = run_in_process(arguments, runs.folder, {})
    assert (code, err) == (0, "")
    found: dict[str, Any] = json.loads(out)
    return found


def list_paths(runs: FolderRuns) -> set[str]:
    """The files of documents in the export, but those of lexical vectors."""
    names = read_tree(runs.folder / "out").keys() - {"README.md", "_inorder.json"}
    return {name for name in names if not name.startswith("vectors/lexical/")}


def list_files_of(*doc_ids: str) -> set[str]:
    return {
        name
        for doc_id in doc_ids
        for name in (
            f"doctags/{doc_id}.doctags",
            f"doctags/{doc_id}.docling.json",
            f"chunks/{doc_id}.parquet",
            f"vectors/dense/{doc_id}.parquet",
        )
    }


def test_every_document_has_its_files_and_these_are_their_contents(runs: FolderRuns) -> None:
    said = export(runs)
    out = runs.folder / "out"
    assert list_paths(runs) == list_files_of(*RECORDS)
    assert (out / "doctags/docs/tides.md.doctags").read_text() == TIDES_DOCTAGS
    records = {name: (out / f"doctags/{name}.docling.json").read_bytes() for name in RECORDS}
    assert {name: hashlib.sha256(content).hexdigest() for name, content in records.items()} == RECORDS
    chunks = pq.read_table(out / "chunks/docs/tides.md.parquet")
    assert chunks.to_pylist() == [TIDES_CHUNK]
    assert chunks.schema.metadata[b"inorder.schema"] == b"inorder.chunks"
    vectors = pq.read_table(out / "vectors/dense/docs/sub/notes.txt.parquet")
    [row] = vectors.to_pylist()
    assert row["chunk_id"] == "62e8ea72-82f5-5381-afa3-3f1275fb9591"
    assert row["vector"] == pytest.approx(NOTES_VECTOR)
    assert {
        name: vectors.schema.metadata[f"inorder.{name}".encode()] for name in ("provider", "spec", "dimensions")
    } == {
        "provider": b"hash/1:8",
        "spec": b"hash:8",
        "dimensions": b"8",
    }
    assert {name: said["tables"][name]["written"] for name in ("documents", "chunks", "vectors/dense")} == {
        "documents": 6,
        "chunks": 3,
        "vectors/dense": 3,
    }
    assert read_manifest(out)["format"] == "files"


def test_only_files_that_change_are_written_and_files_of_removed_documents_go(runs: FolderRuns) -> None:
    export(runs)
    out = runs.folder / "out"
    again = export(runs)
    assert {table["written"] for table in again["tables"].values()} == {0}
    (out / "chunks" / "mine.txt").write_text("not of this export")
    before = {name: (out / name).stat().st_ino for name in list_paths(runs)}
    runs.write("docs/sub/notes.txt", "Other notes about valves.\n")
    (runs.docs / "tides.md").unlink()
    runs.run()
    assert export(runs)["removed"] >= 4
    after = {name: (out / name).stat().st_ino for name in list_paths(runs)}
    assert after.keys() == list_files_of("docs/sub/notes.txt", "docs/sub/pumps.html") | {"chunks/mine.txt"}
    changed = {name for name in before.keys() & after.keys() if before[name] != after[name]}
    assert changed == list_files_of("docs/sub/notes.txt")
    (out / "chunks" / "mine.txt").unlink()
    export(runs, "fresh")
    assert read_tree(out) == read_tree(runs.folder / "fresh")


def test_files_of_a_table_that_is_gone_go_and_those_of_tables_that_are_not_asked_for_stay(runs: FolderRuns) -> None:
    export(runs)
    runs.data = runs.folder / "without vectors"
    runs.change_settings(dense="none")
    runs.run()
    export(runs, what="chunks")
    assert list_paths(runs) == list_files_of(*RECORDS)
    export(runs, what="vectors")
    assert list_paths(runs) == {name for name in list_files_of(*RECORDS) if not name.startswith("vectors/")}
    export(runs, "fresh")
    assert read_tree(runs.folder / "out") == read_tree(runs.folder / "fresh")


def test_what_an_interrupted_export_has_left_is_removed(runs: FolderRuns) -> None:
    export(runs)
    out = runs.folder / "out"
    wanted = read_tree(out)
    (out / "chunks/docs/gone.md.parquet.new").write_bytes(b"the beginning of a file")
    (out / "doctags/docs/tides.md.doctags").write_text("another text")
    assert export(runs)["removed"] == 1
    assert read_tree(out) == wanted


def test_a_file_that_cannot_be_written_leaves_no_manifest(runs: FolderRuns, monkeypatch: pytest.MonkeyPatch) -> None:
    export(runs)
    wanted = read_tree(runs.folder / "out")
    runs.write("docs/tides.md", f"{TIDES}\nMore.\n")
    runs.run()
    monkeypatch.setattr("inorder.dataset.export.files.write_rows", fail)
    with pytest.raises(inorder.InfrastructureError, match="No space left"):
        inorder.open(runs.data).export(runs.folder / "out", format="files")
    assert not (runs.folder / "out" / "_inorder.json").exists()
    monkeypatch.undo()
    runs.write("docs/tides.md", TIDES)
    runs.run()
    export(runs)
    assert read_tree(runs.folder / "out") == wanted


def fail(*_: object) -> None:
    raise OSError(28, "No space left on device")
