"""A copy of a document of another source, which an earlier run has read, is found; and takes its place later."""

from pathlib import Path

import pytest

import inorder
from inorder.pipeline.outcome import FileCounts
from inorder.stage.files import file_stat
from tests.documents.archives.archive_files import make_zip
from tests.documents.stage_runs import StageRuns
from tests.documents.workspace import PROSE

pytestmark = [pytest.mark.req("DOC-4"), pytest.mark.slow]

TEXT = f"# The lamp\n\n{PROSE}\n"
LONG = f"# The lamp\n\n{PROSE * 200}\n"


@pytest.fixture(autouse=True)
def _settled(monkeypatch: pytest.MonkeyPatch) -> None:
    """No file counts as written a moment ago, so that runs take every shortcut that they may."""
    monkeypatch.setattr(file_stat, "RACY_NS", -(10**12))


@pytest.fixture
def runs(tmp_path: Path) -> StageRuns:
    return StageRuns(tmp_path)


def read_copy(runs: StageRuns) -> None:
    """Read a document, and then its copy below another source."""
    runs.write("docs/a.md", TEXT)
    runs.write("more/c.md", TEXT)
    runs.doctags("docs")
    runs.doctags("more")


@pytest.mark.parametrize("text", [TEXT, LONG], ids=["short", "long"])
def test_a_copy_that_a_later_run_of_another_source_finds_is_not_read(runs: StageRuns, text: str) -> None:
    runs.write("docs/a.md", text)
    runs.doctags("docs")
    runs.write("more/c.md", text)
    runs.write("more/d.md", text)
    runs.write("more/other.md", "# Another one\n")
    assert runs.doctags("more").counts == FileCounts(new=1, copies=2)
    assert runs.documents() == ["docs/a.md", "more/other.md"]
    assert runs.copies() == [("more/c.md", "docs/a.md"), ("more/d.md", "docs/a.md")]
    assert runs.doctags("docs").steps == {}
    assert runs.doctags("more").steps == {}
    assert len(runs.copies()) == 2


def test_a_few_new_files_are_compared_with_other_sources_too(runs: StageRuns) -> None:
    runs.write("docs/a.md", TEXT)
    runs.doctags("docs")
    for number in range(8):
        runs.write(f"more/{number}.md", f"# Note {number}\n\n{PROSE}\n")
    runs.doctags("more")
    runs.write("more/9.md", TEXT)
    assert runs.doctags("more").counts == FileCounts(unchanged=8, copies=1)
    assert runs.copies() == [("more/9.md", "docs/a.md")]


@pytest.mark.parametrize("is_changed", [True, False], ids=["changed", "removed"])
@pytest.mark.parametrize("order", [["docs", "more"], ["docs more"]], ids=["apart", "together"])
def test_when_the_document_is_gone_its_copy_elsewhere_takes_its_place(
    runs: StageRuns, order: list[str], *, is_changed: bool
) -> None:
    """Also in a run of the source of the document alone."""
    runs.write("docs/a.md", TEXT)
    runs.write("docs/b.md", "# Something\n")
    runs.write("more/c.md", TEXT)
    for sources in order:
        runs.doctags(*sources.split())
    assert runs.copies() == [("more/c.md", "docs/a.md")]
    if is_changed:
        runs.write("docs/a.md", "# Something else\n")
    else:
        (runs.docs / "a.md").unlink()
    runs.doctags("docs")
    assert "more/c.md" in runs.documents()
    assert runs.copies() == []
    runs.doctags("docs")
    runs.doctags("more")
    assert "more/c.md" in runs.documents()


def test_a_copy_that_is_gone_is_forgotten(runs: StageRuns) -> None:
    read_copy(runs)
    (runs.folder / "more/c.md").unlink()
    runs.doctags("docs")
    assert runs.copies() == [("more/c.md", "docs/a.md")], "only a run of its source removes it"
    runs.write("more/d.md", "# Something\n")
    runs.doctags("more")
    assert runs.copies() == []
    assert runs.documents() == ["docs/a.md", "more/d.md"]


def test_a_member_of_an_archive_elsewhere_takes_the_place_too(runs: StageRuns) -> None:
    runs.write("docs/a.md", TEXT)
    (runs.folder / "more").mkdir()
    (runs.folder / "more/box.zip").write_bytes(make_zip({"in/a.md": TEXT.encode(), "own.md": b"# Its own\n"}))
    runs.doctags("docs")
    runs.doctags("more")
    assert runs.copies() == [("more/box.zip/in/a.md", "docs/a.md")]
    assert runs.documents() == ["docs/a.md", "more/box.zip/own.md"]
    (runs.docs / "a.md").unlink()
    runs.write("docs/b.md", "# Something\n")
    runs.doctags("docs")
    assert runs.documents() == ["docs/b.md", "more/box.zip/in/a.md", "more/box.zip/own.md"]


OWN = b"# Its own\n\nNothing else has it.\n"


@pytest.fixture
def boxed(runs: StageRuns) -> StageRuns:
    """An archive with a copy of a document of another source, and a document with a copy beside the archive."""
    runs.write("docs/a.md", TEXT)
    runs.write("docs/k.md", "# Kept\n")
    runs.write("more/z.md", OWN.decode())
    (runs.folder / "more/box.zip").write_bytes(make_zip({"in/a.md": TEXT.encode(), "own.md": OWN}))
    runs.doctags("docs")
    runs.doctags("more")
    assert runs.copies() == [
        ("more/box.zip/in/a.md", "docs/a.md"),
        ("more/z.md", "more/box.zip/own.md"),
    ]
    (runs.docs / "a.md").unlink()
    return runs


def test_copies_of_a_document_that_becomes_a_copy_are_those_of_its_document(boxed: StageRuns) -> None:
    boxed.write("docs/own.md", OWN.decode())
    boxed.doctags("docs")
    assert boxed.documents() == ["docs/k.md", "docs/own.md", "more/box.zip/in/a.md"]
    assert boxed.copies() == [("more/box.zip/own.md", "docs/own.md"), ("more/z.md", "docs/own.md")]


def test_the_content_of_a_member_that_changes_remains_in_its_copy(boxed: StageRuns) -> None:
    changed = make_zip({"in/a.md": TEXT.encode(), "own.md": b"# Another text\n"})
    (boxed.folder / "more/box.zip").write_bytes(changed)
    boxed.doctags("docs", "more")
    assert boxed.documents() == ["docs/k.md", "more/box.zip/in/a.md", "more/box.zip/own.md", "more/z.md"]
    assert boxed.copies() == []


def test_searches_name_every_path(runs: StageRuns) -> None:
    runs.write("docs/a.md", TEXT)
    runs.doctags("docs")
    runs.write("more/c.md", TEXT)
    runs.doctags("more")
    runs.chunk()
    runs.embed(dense="none")
    runs.index("docs", "more")
    with inorder.open(runs.data) as data:
        [hit] = data.search("lamp").hits
        assert (hit.item_id, hit.copies) == ("docs/a.md", ["more/c.md"])


def test_a_run_of_a_third_source_leaves_documents_and_copies_alone(runs: StageRuns) -> None:
    read_copy(runs)
    (runs.docs / "a.md").unlink()
    runs.write("third/x.md", "# The third\n")
    runs.doctags("third")
    assert runs.documents() == ["docs/a.md", "third/x.md"]
    assert runs.copies() == [("more/c.md", "docs/a.md")]
