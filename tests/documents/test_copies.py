"""The same content under two names is read once, and is one document with two paths."""

import json
from pathlib import Path

import pytest

import inorder
from inorder.dataset import SearchWhere
from inorder.pipeline.outcome import FileCounts
from inorder.stage.files import file_stat
from tests.documents.archives.archive_files import make_archive, make_zip
from tests.documents.archives.test_attachments import make_mail
from tests.documents.stage_runs import StageRuns
from tests.documents.workspace import PROSE

pytestmark = pytest.mark.req("DOC-4")

TEXT = f"# The lamp\n\n{PROSE}\n"
LONG = f"# The lamp\n\n{PROSE * 200}\n"


@pytest.fixture
def runs(tmp_path: Path) -> StageRuns:
    return StageRuns(tmp_path)


@pytest.mark.parametrize("text", [TEXT, LONG], ids=["short", "long"])
def test_a_copy_is_not_read_and_names_the_document(runs: StageRuns, text: str) -> None:
    for name in ("a.md", "b.md", "sub/c.md"):
        runs.write(f"docs/{name}", text)
    runs.write("docs/other.md", text.replace("lamp", "wick"))
    runs.write("docs/plain.txt", text)
    assert runs.doctags().counts == FileCounts(new=3, copies=2)
    assert runs.documents() == ["docs/a.md", "docs/other.md", "docs/plain.txt"]
    assert runs.copies() == [("docs/b.md", "docs/a.md"), ("docs/sub/c.md", "docs/a.md")]


@pytest.mark.slow
@pytest.mark.parametrize("text", [TEXT, LONG], ids=["short", "long"])
def test_the_next_copy_takes_the_place_of_a_document_that_is_gone(runs: StageRuns, text: str) -> None:
    for name in ("b.md", "c.md"):
        runs.write(f"docs/{name}", text)
    runs.doctags()
    runs.write("docs/a.md", text)
    runs.doctags()
    assert runs.documents() == ["docs/a.md"], "it comes first now"
    runs.write("docs/a.md", "# Something else\n")
    runs.doctags()
    assert runs.documents() == ["docs/a.md", "docs/b.md"]
    (runs.docs / "b.md").unlink()
    runs.doctags()
    assert runs.documents() == ["docs/a.md", "docs/c.md"]
    assert runs.copies() == []


def test_members_and_attachments_are_copies_too(runs: StageRuns) -> None:
    files = {"note.md": TEXT.encode(), "long.md": LONG.encode()}
    (runs.docs / "a.zip").write_bytes(make_zip(files))
    (runs.docs / "b.tar.gz").write_bytes(make_archive("tar.gz", files))
    (runs.docs / "c.eml").write_bytes(make_mail(files).as_bytes())
    runs.write("docs/d.md", LONG)
    runs.doctags()
    assert runs.documents() == ["docs/a.zip/long.md", "docs/a.zip/note.md", "docs/c.eml"]
    assert dict(runs.copies()) == {
        "docs/b.tar.gz/long.md": "docs/a.zip/long.md",
        "docs/b.tar.gz/note.md": "docs/a.zip/note.md",
        "docs/c.eml/long.md": "docs/a.zip/long.md",
        "docs/c.eml/note.md": "docs/a.zip/note.md",
        "docs/d.md": "docs/a.zip/long.md",
    }


def test_copies_below_other_sources_stay_known(tmp_path: Path) -> None:
    runs = StageRuns(tmp_path)
    runs.write("docs/a.md", TEXT)
    runs.write("docs/b.md", TEXT)
    for name in ("more/c.md", "more/d.md"):
        runs.write(name, TEXT.replace("lamp", "wick"))
    runs.doctags("docs")
    runs.doctags("more")
    assert runs.copies() == [("docs/b.md", "docs/a.md"), ("more/d.md", "more/c.md")]


@pytest.mark.slow
def test_every_path_is_shown_and_found(tmp_path: Path) -> None:
    runs = StageRuns(tmp_path)
    for name in ("a.md", "sub/b.md"):
        runs.write(f"docs/{name}", TEXT)
    (runs.docs / "box.zip").write_bytes(make_zip({"oil.md": b"# Oil\n\nA barrel of oil.\n"}))
    runs.doctags()
    runs.chunk()
    runs.embed(dense="none")
    runs.index()
    with inorder.open(runs.data) as data:
        document = data.get("docs/a.md")
        assert document.paths == data.get("docs/sub/b.md").paths == ["docs/a.md", "docs/sub/b.md"]
        assert data.find("docs/sub/b.md").doc_id == "docs/a.md"
        wheres: list[SearchWhere] = [{}, {"path": "docs/a*"}, {"path": "*/sub/*"}]
        for where in wheres:
            [hit] = data.search("lamp", where=where).hits
            assert (hit.item_id, hit.copies) == ("docs/a.md", ["docs/sub/b.md"])
        assert data.search("lamp", where={"path": "docs/c*"}).hits == []
        answer = data.search("barrel")
        assert [hit.item_id for hit in answer.hits] == ["docs/box.zip/oil.md"]
        assert answer.warnings == [], "it is there: in the archive"


@pytest.mark.slow
def test_show_and_inspect_agree(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from inorder.cli.commands.look.inspect import inspect
    from inorder.cli.commands.look.show import show

    runs = StageRuns(tmp_path)
    for name in ("a.md", "b.md"):
        runs.write(f"docs/{name}", TEXT)
    runs.doctags()
    runs.chunk()
    show("docs/b.md", data=str(runs.data), as_json=True)
    assert json.loads(capsys.readouterr().out)["paths"] == ["docs/a.md", "docs/b.md"]
    inspect(duplicates=True, data=str(runs.data), as_json=True)
    groups = json.loads(capsys.readouterr().out)["duplicates"]
    assert groups == [{"documents": ["docs/a.md", "docs/b.md"], "similarity": 1.0}]


@pytest.mark.slow
@pytest.mark.parametrize("text", [TEXT, LONG], ids=["short", "long"])
def test_a_run_that_checks_little_finds_new_copies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    """Of a corpus without copies, only the files that changed are planned again."""
    runs = StageRuns(tmp_path)
    monkeypatch.setattr(file_stat, "RACY_NS", -(10**12))
    for number in range(8):
        runs.write(f"docs/{number}.md", text.replace("lamp", f"lamp {number}"))
    runs.doctags()
    runs.write("docs/3.md", text.replace("lamp", "lamp 5"))
    runs.doctags()
    assert runs.copies() == [("docs/5.md", "docs/3.md")]
    runs.write("docs/3.md", text.replace("lamp", "lamp 9"))
    runs.doctags()
    assert runs.done("doctags") == {"docs/3.md", "docs/5.md"}
    runs.write("docs/2.md", text.replace("lamp", "lamp 7"))
    runs.write("docs/7.md", text.replace("lamp", "lamp 2"))
    runs.doctags()
    assert runs.done("doctags") == {"docs/2.md", "docs/7.md"}, "they have changed places"
    assert runs.copies() == []
