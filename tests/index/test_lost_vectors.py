"""A lost or altered file of vectors: said by search, found by `verify`, and written again by the next run."""

import os
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from inorder.index.vectors.table import list_matrix_files
from inorder.library.connection import connect_library
from inorder.library.whole.verify import LibraryFinding, verify_library
from tests.index.project import Project
from tests.index.published import read_published

LOSSES: dict[str, Callable[[Path], object]] = {
    "missing": Path.unlink,
    "cut": lambda path: os.truncate(path, 100),
    "unchecked": lambda path: (
        os.truncate(path, 100),
        (path.parent / "library.sums").unlink(),
    ),
}


@pytest.fixture
def project(tmp_path: Path) -> Project:
    """A library whose vectors are in two files. The second one has the vector of `b.md`."""
    project = Project(tmp_path)
    project.write("lamp.py", "def light():\n    return wick()\n")
    for number in range(9):
        project.write(f"{number}.md", f"The keeper of lamp {number}.\n")
    project.build()
    project.write("b.md", "Fog and horn, and a lamp.\n")
    project.build()
    assert len(list(project.data.glob("library.vectors.*"))) == 2
    return project


def find_file(project: Project, at: int) -> Path:
    """The first file with vectors, or a further one."""
    with closing(connect_library(str(project.data))) as connection:
        return Path(list_matrix_files(connection, str(project.data))[at].path)


def list_findings(project: Project) -> list[LibraryFinding]:
    return list(verify_library(str(project.data)))


@pytest.mark.slow
@pytest.mark.req("IDX-5")
@pytest.mark.parametrize("at", [0, 1])
@pytest.mark.parametrize("loss", LOSSES)
def test_a_lost_file_of_vectors_is_found_by_verify_and_said_by_search_and_written_again(
    project: Project, loss: str, at: int
) -> None:
    before = read_published(project.data)
    matrix = find_file(project, at)
    LOSSES[loss](matrix)
    [finding] = list_findings(project)
    assert matrix.name in finding.where
    assert "inorder run" in finding.remedy
    hybrid = project.call("search", "lamp")
    assert hybrid.returncode == 0
    assert f"warning: hybrid search uses words only: {matrix}" in hybrid.stderr
    dense = project.call("search", "lamp", "--mode", "dense")
    assert dense.returncode == 6
    assert str(matrix) in dense.stderr
    assert "uses words only" not in project.call("search", "lamp", "--mode", "lexical").stderr
    assert project.build().counts.unchanged == 11
    assert read_published(project.data) == before
    assert "uses words only" not in project.call("search", "lamp").stderr
    assert project.ask("search", "lamp", "--mode", "dense")["hits"]


@pytest.mark.slow
@pytest.mark.req("IDX-5")
@pytest.mark.parametrize("at", [0, 1])
def test_altered_vectors_are_found_by_verify(project: Project, at: int) -> None:
    before = read_published(project.data)
    matrix = find_file(project, at)
    content = bytearray(matrix.read_bytes())
    content[5] ^= 1
    matrix.write_bytes(content)
    [finding] = list_findings(project)
    assert matrix.name in finding.where
    matrix.unlink()
    project.build()
    assert read_published(project.data) == before


@pytest.mark.slow
def test_a_library_without_vectors_is_nothing_to_warn_of(tmp_path: Path) -> None:
    project = Project(tmp_path)
    project.write("lamp.py", "def light():\n    return wick()\n")
    project.build()
    assert list_findings(project) == []
    assert project.call("search", "lamp").stderr == ""
    assert project.call("search", "lamp", "--mode", "dense").stderr == ""
