"""The export to a target, here one in a file: after each run the target equals the index."""

from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from inorder.documents.chunk.settings import ChunkSettings
from inorder.errors import InfrastructureError, OperatorError
from inorder.sinks.base import Position
from inorder.stage.contracts import StageOutcome
from inorder.stage.options import StageOptions
from inorder.targets.base import TargetChanges
from inorder.targets.export import ExportSettings, export_index
from inorder.targets.index_reader import IndexReader
from inorder.targets.registry import KINDS, TargetKind
from tests.pipeline.runs import Library, write
from tests.targets.file_target import FileTarget, read_file

PROSE = "The keeper walks to the lamp room at dusk and trims the wick. "
IDS = ["docs/deep/page.html", "docs/note.md", "docs/plain.txt"]


@pytest.fixture(autouse=True)
def file_kind(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(KINDS, "file", TargetKind("tests.targets.file_target", "a file"))


class Exported:
    """A folder with documents, its library, and a target beside them."""

    def __init__(self, folder: Path) -> None:
        self.docs = folder / "docs"
        self.data = folder / "data"
        self.target = folder / "target.json"
        self.dense = "hash:16"
        page = f"<h1>Rota</h1><p>{PROSE}</p>"
        write(self.docs, **{"note.md": f"# Note\n\n{PROSE * 40}", "deep/page.html": page, "plain.txt": PROSE})
        self.run()

    def run(self) -> None:
        Library(self.data, dense=self.dense, chunk=ChunkSettings(tokens_max=100)).run(self.docs)

    def export(self, **settings: Any) -> StageOutcome:
        options = StageOptions(data=str(self.data), progress="none", policy="io", workers=2)
        return export_index(ExportSettings(to=f"file://{self.target}", **settings), options)

    def read(self) -> dict[str, Any]:
        documents: dict[str, Any] = read_file(str(self.target))["documents"]
        return documents

    def list_index(self) -> dict[str, str]:
        """The hash of every document of the index as it is now."""
        with closing(IndexReader(str(self.data))) as reader:
            return {each.doc_id: each.hash for each in reader.list_documents("", 100)}

    def list_target(self) -> dict[str, str]:
        return {doc_id: document["hash"] for doc_id, document in self.read().items()}


@pytest.fixture
def made(tmp_path: Path) -> Exported:
    return Exported(tmp_path)


def test_the_target_holds_every_document_of_the_index(made: Exported) -> None:
    outcome = made.export()
    assert (outcome.succeeded, outcome.failed) == (3, 0)
    documents = made.read()
    assert sorted(documents) == IDS
    assert made.list_target() == made.list_index()
    chunks = documents["docs/note.md"]["chunks"]
    assert [chunk[0] for chunk in chunks] == list(range(len(chunks)))
    assert len(chunks) > 1
    assert chunks[0][5] == "Note"
    assert chunks[0][9].startswith("Note\n\nThe keeper") or chunks[0][9].startswith("The keeper")
    assert all(chunk[10] for chunk in chunks)
    with closing(IndexReader(str(made.data))) as reader:
        assert (reader.layout.dimensions, reader.layout.provider) == (16, "hash:16")


@pytest.mark.slow
def test_a_second_export_has_nothing_to_do(made: Exported) -> None:
    made.export()
    assert made.export().scheduled == 0


@pytest.mark.slow
def test_only_changes_are_exported(made: Exported) -> None:
    made.export()
    before = made.read()
    write(made.docs, **{"plain.txt": "Something else entirely.", "new.md": "# New\n\nA new page."})
    (made.docs / "note.md").unlink()
    made.run()
    assert made.export().succeeded == 3
    after = made.read()
    assert sorted(after) == ["docs/deep/page.html", "docs/new.md", "docs/plain.txt"]
    assert after["docs/deep/page.html"] == before["docs/deep/page.html"]
    assert "entirely" in after["docs/plain.txt"]["chunks"][0][9]


@pytest.mark.slow
def test_a_document_that_the_target_lost_is_written_again(made: Exported) -> None:
    made.export()
    expected = made.read()
    made.target.unlink()
    assert made.export().succeeded == 3
    assert made.read() == expected


@pytest.mark.slow
def test_with_another_provider_every_document_is_written_again(made: Exported) -> None:
    made.export()
    made.dense = "hash:32"
    made.run()
    assert made.export().succeeded == 3
    assert len(made.read()["docs/plain.txt"]["chunks"][0][10]) > len("0" * 4 * 32)


@pytest.mark.slow
def test_without_vectors_the_chunks_have_none(made: Exported) -> None:
    made.dense = "none"
    write(made.docs, **{"new.md": "# New\n\nA page without vectors."})
    made.run()
    made.export()
    assert sorted(made.read()) == sorted([*IDS, "docs/new.md"])
    assert {chunk[10] for document in made.read().values() for chunk in document["chunks"]} == {""}


@pytest.mark.slow
def test_what_the_target_holds_is_removed_if_asked_for(made: Exported) -> None:
    made.export()
    assert made.export(recreate=True).succeeded == 3


@pytest.mark.slow
def test_an_export_that_was_stopped_is_not_resumed_but_does_the_rest(
    made: Exported, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_all = FileTarget.write

    def write_the_first_and_fail(target: FileTarget, changes: TargetChanges, position: Position) -> None:
        write_all(target, changes._replace(written=changes.written[:1]), position)
        if changes.written:
            raise InfrastructureError("the server is gone")

    with monkeypatch.context() as patch:
        patch.setattr(FileTarget, "write", write_the_first_and_fail)
        with pytest.raises(InfrastructureError, match="the server is gone"):
            made.export()
    assert sorted(made.read()) == IDS[:1]
    outcome = made.export()
    assert (outcome.resumed_at, outcome.scheduled) == (None, 2)
    assert sorted(made.read()) == IDS


@pytest.mark.slow
@pytest.mark.req("PIP-7")
def test_what_is_published_during_an_export_is_left_to_the_next_one(
    made: Exported, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another run adds documents between the plan's first page and the end of the export."""
    expected = made.list_index()
    list_documents = IndexReader.list_documents

    def publish_first(reader: IndexReader, after: str, count: int) -> Any:
        if not (made.docs / "late.md").exists():
            write(made.docs, **{"late.md": "# Late\n\nIt comes late.", "a.md": "# Early\n\nIt sorts first."})
            made.run()
        return list_documents(reader, after, count)

    monkeypatch.setattr(IndexReader, "list_documents", publish_first)
    assert made.export().succeeded == 3
    assert made.list_target() == expected
    assert made.export().succeeded == 2
    assert made.list_target() == made.list_index()


@pytest.mark.slow
@pytest.mark.req("PIP-7")
def test_a_document_that_is_replaced_during_an_export_is_exported_as_it_is_then(
    made: Exported, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The old rows are gone before they were read, so the export is repeated with the present generation."""
    made.export()
    write(made.docs, **{"note.md": "# Note\n\nThe first edition.", "plain.txt": "Also edited."})
    made.run()
    read = IndexReader.read

    def replace_first(reader: IndexReader, doc_id: str) -> Any:
        if b"second" not in (made.docs / "note.md").read_bytes():
            write(made.docs, **{"note.md": "# Note\n\nThe second edition."})
            made.run()
        return read(reader, doc_id)

    monkeypatch.setattr(IndexReader, "read", replace_first)
    outcome = made.export()
    assert (outcome.succeeded, outcome.failed) == (2, 0)
    assert made.list_target() == made.list_index()
    assert "second edition" in made.read()["docs/note.md"]["chunks"][0][9]


def test_without_an_index_nothing_is_connected(tmp_path: Path) -> None:
    with pytest.raises(OperatorError, match="no library"):
        export_index(
            ExportSettings(to=f"file://{tmp_path}/target.json"), StageOptions(data=str(tmp_path), progress="none")
        )
    assert list(tmp_path.iterdir()) == []


def test_an_unknown_target_is_refused(tmp_path: Path) -> None:
    with pytest.raises(OperatorError, match=r"unknown target 'tape://user@drive'; valid targets:.*file://"):
        export_index(ExportSettings(to="tape://user:secret@drive"), StageOptions(data=str(tmp_path)))


def test_an_export_leaves_the_library_in_one_file(made: Exported) -> None:
    made.export()
    assert list(made.data.glob("library.sqlite-*")) == []
