"""Paths in answers: one form for documents and code, which opens from the current folder."""

import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from inorder.index.locations import locate
from inorder.index.search import search
from inorder.library.opening import find_index
from tests.index.project import Project
from tests.pipeline.folders import FolderRuns

pytestmark = pytest.mark.process

CODE = "def trim_wick(length):\n    return light_lamp(length)\n"
TEXT = "# Trim the wick\n\nTrim the wick before you light the lamp, and never by more than a finger.\n"


@pytest.fixture
def project(tmp_path: Path) -> Project:
    project = Project(tmp_path)
    project.write("code/wick.py", CODE)
    project.write("how to/100% wick.md", TEXT)
    run(project)
    return project


def run(project: Project, source: str = "src") -> dict[str, Any]:
    """Run the pipeline. Returns what each step did."""
    found: dict[str, Any] = project.ask("run", source, "--quiet")["steps"]
    return found


def paths_from(project: Project, folder: Path) -> dict[str, str]:
    """The path of each item, as a search started in this folder shows it; as text and as JSON."""
    hits = project.ask("search", "trim the wick", cwd=folder)["hits"]
    assert {hit["only"] for hit in hits} == {"code", "document"}
    shown = project.call("search", "trim the wick", cwd=folder).stdout
    assert all(any(line.startswith(hit["path"]) for line in shown.splitlines()) for hit in hits)
    return {hit["item_id"]: hit["path"] for hit in hits}


@pytest.mark.req("IDX-5")
@pytest.mark.parametrize(("folder", "prefix"), [(".", "src/"), ("src", ""), ("elsewhere", None)])
def test_documents_and_code_have_paths_that_open_from_the_current_folder(
    project: Project, folder: str, prefix: str | None
) -> None:
    here = (project.folder / folder).resolve()
    here.mkdir(exist_ok=True)
    paths = paths_from(project, here)
    start = f"{project.source}/" if prefix is None else prefix
    assert set(paths.values()) == {f"{start}code/wick.py", f"{start}how to/100% wick.md"}
    assert all((here / path).is_file() for path in paths.values())
    [symbol] = project.ask("symbols", f"{start}code/wick.py", cwd=here)["symbols"]
    graph = project.ask("graph", "trim_wick", cwd=here)
    [callee] = graph["callees"]
    assert {symbol["path"], graph["definitions"][0]["path"], callee["path"]} == {f"{start}code/wick.py"}
    [only_code] = project.ask("search", "wick", "--path", f"{start}code/*", cwd=here)["hits"]
    assert only_code["path"] == f"{start}code/wick.py"


@pytest.mark.req("IDX-5")
def test_a_source_that_was_moved_and_indexed_again_has_its_new_paths(project: Project) -> None:
    (project.folder / "new").mkdir()
    shutil.move(project.source, project.folder / "new" / "src")
    before = project.content_hash()
    assert run(project, "new/src") == {}
    paths = paths_from(project, project.folder)
    assert set(paths.values()) == {"new/src/code/wick.py", "new/src/how to/100% wick.md"}
    assert project.content_hash() == before


@pytest.mark.req("IDX-5")
def test_sources_of_several_runs_keep_their_places(project: Project) -> None:
    more = project.folder / "deep" / "more"
    more.mkdir(parents=True)
    (more / "notes.md").write_text(f"{TEXT}\n\nWith more words, since copies are shown once.\n")
    run(project, "deep/more")
    assert "deep/more/notes.md" in paths_from(project, project.folder).values()
    assert "src/how to/100% wick.md" in paths_from(project, project.folder).values()


def test_a_root_may_be_a_file_and_an_unknown_root_has_the_stored_path(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir("/")
    roots = {"code": {"a.py": "/x/a.py", "b%25": "/x/b%"}}
    assert locate(roots, "code", "a.py", "/old/a.py") == "x/a.py"
    assert locate(roots, "code", "b%25/%FF.py", "") == f"x/b%/{os.fsdecode(b'%c' % 255)}.py"
    assert locate(roots, "code", "c/d.py", "/old/c/d.py") == "old/c/d.py"
    assert locate(roots, "document", "a.py", "a.py") == "a.py"


def test_a_name_that_is_not_valid_unicode_is_found_and_its_location_is_printable(tmp_path: Path) -> None:
    runs = FolderRuns(tmp_path)
    runs.write(os.fsdecode(b"docs/bad\xff.md"), "# Lamp\n\nThe lamp is lit.\n")
    runs.run("docs")
    [hit] = search(find_index(str(runs.data)), "lamp").hits
    assert hit.item_id == "docs/bad%FF.md"
