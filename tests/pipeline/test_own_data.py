"""DATA is no source, and a source that is empty or gone is said to be, with what would help."""

from pathlib import Path

import pytest

from inorder.errors import OperatorError
from inorder.pipeline.outcome import FileCounts
from tests.pipeline.runs import Library, write

pytestmark = pytest.mark.req("SIL-1")


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    write(tmp_path / "docs", **{"a.md": "# Lamp\n", "b.md": "# Horn\n"})
    return tmp_path / "docs"


@pytest.mark.parametrize("below", ["", "manifests", "library.sqlite"])
def test_data_is_left_out_with_a_word(tmp_path: Path, docs: Path, below: str) -> None:
    library = Library(tmp_path / "data")
    library.run(docs)
    outcome = library.run(library.data / below)
    assert outcome.counts == FileCounts()
    path = str(library.data / below)
    assert outcome.notes == [f"{path} is DATA, where inorder keeps its results: nothing in it is read"]
    assert library.list_searchable() == ["docs/a.md", "docs/b.md"]


def test_data_in_a_source_is_left_out_whatever_its_path_is_called_by(tmp_path: Path, docs: Path) -> None:
    (tmp_path / "link").symlink_to(docs)
    library = Library(tmp_path / "link" / "data")
    for _ in range(2):
        outcome = library.run(docs)
    assert outcome.counts == FileCounts(unchanged=2)


def test_what_a_stage_has_made_in_data_is_a_source(tmp_path: Path) -> None:
    library = Library(tmp_path / "data")
    write(library.data / "texts", **{"a.md": "# Lamp\n"})
    assert library.run(library.data / "texts").counts == FileCounts(new=1)


def test_a_source_without_files_is_said_to_be_one(tmp_path: Path, docs: Path) -> None:
    library = Library(tmp_path / "data")
    library.run(docs)
    (docs / "a.md").unlink()
    assert library.run(docs).notes == []
    (docs / "b.md").unlink()
    outcome = library.run(docs)
    assert outcome.counts == FileCounts(removed=1)
    assert outcome.notes == [f"no file is left in {docs}; `inorder forget docs` removes the source, too"]
    assert library.run(docs).notes == []


def test_a_source_that_is_gone_is_said_to_be_one(tmp_path: Path, docs: Path) -> None:
    library = Library(tmp_path / "data")
    library.run(docs)
    docs.rename(tmp_path / "elsewhere")
    with pytest.raises(OperatorError, match=r"if it is gone for good, `inorder forget docs` removes its files$"):
        library.run(docs)
    with pytest.raises(OperatorError, match=r"no such file or directory: .*nowhere$"):
        library.run(tmp_path / "nowhere")
    assert library.list_searchable() == ["docs/a.md", "docs/b.md"]
