"""Files of equal content are one document: the first path, whatever order they came in."""

from pathlib import Path

import pytest

from inorder.pipeline.outcome import FileCounts

from .runs import Library, write

TEXT = "# Fog\n\nThe horn is started when the fog comes in.\n"
OTHER = "# Lamp\n\nThe lamp is lit at dusk, whoever is on watch.\n"


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    root = tmp_path / "docs"
    write(root, **{"b.md": TEXT, "c.md": TEXT, "other.md": OTHER})
    return root


@pytest.fixture
def library(tmp_path: Path) -> Library:
    return Library(tmp_path / "data")


def check(library: Library, docs: Path, tmp_path: Path) -> None:
    """Whether the library is what a build from scratch gives."""
    fresh = Library(tmp_path / "fresh")
    fresh.run(docs)
    assert library.list_copies() == fresh.list_copies()
    assert library.list_searchable() == fresh.list_searchable()
    assert library.read_content_hash() == fresh.read_content_hash()


@pytest.mark.slow
def test_the_first_path_is_the_document(docs: Path, library: Library) -> None:
    assert library.run(docs).counts == FileCounts(new=2, copies=1)
    assert library.list_copies() == [("docs/c.md", "docs/b.md")]
    assert library.run(docs).counts == FileCounts(unchanged=2, copies=1)


@pytest.mark.slow
def test_an_earlier_path_takes_the_place_of_the_document(docs: Path, library: Library, tmp_path: Path) -> None:
    library.run(docs)
    write(docs, **{"a.md": TEXT})
    library.run(docs)
    assert library.list_copies() == [("docs/b.md", "docs/a.md"), ("docs/c.md", "docs/a.md")]
    check(library, docs, tmp_path)


@pytest.mark.slow
def test_a_later_path_is_a_copy(docs: Path, library: Library, tmp_path: Path) -> None:
    library.run(docs)
    write(docs, **{"d.md": TEXT})
    assert library.run(docs).counts == FileCounts(unchanged=2, copies=2)
    check(library, docs, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("is_removed", [True, False])
def test_a_copy_takes_the_place_of_a_document_that_is_gone(
    docs: Path, library: Library, tmp_path: Path, is_removed: bool
) -> None:
    write(docs, **{"d.md": TEXT})
    library.run(docs)
    if is_removed:
        (docs / "b.md").unlink()
    else:
        write(docs, **{"b.md": "# Another\n\nThis has nothing to do with fog at all.\n"})
    library.run(docs)
    assert library.list_copies() == [("docs/d.md", "docs/c.md")]
    check(library, docs, tmp_path)


@pytest.mark.slow
def test_a_renamed_document_is_there_once(docs: Path, library: Library, tmp_path: Path) -> None:
    library.run(docs)
    (docs / "other.md").rename(docs / "moved.md")
    outcome = library.run(docs)
    assert outcome.counts == FileCounts(new=1, unchanged=1, copies=1, removed=1)
    assert library.list_searchable() == ["docs/b.md", "docs/moved.md"]
    check(library, docs, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["a.md", "z.md"])
def test_a_renamed_document_with_copies_leaves_the_first_path_the_document(
    docs: Path, library: Library, tmp_path: Path, name: str
) -> None:
    write(docs, **{"d.md": TEXT})
    library.run(docs)
    (docs / "b.md").rename(docs / name)
    outcome = library.run(docs)
    check(library, docs, tmp_path)
    assert (outcome.counts.files, outcome.counts.copies) == (4, 2)
    assert library.run(docs).counts == FileCounts(unchanged=2, copies=2)


@pytest.mark.slow
@pytest.mark.req("PIP-1", "JRN-7")
@pytest.mark.parametrize("changed", [None, OTHER], ids=["removed", "changed"])
def test_a_copy_becomes_the_document_after_a_run_that_was_stopped_before(
    docs: Path, library: Library, tmp_path: Path, changed: str | None
) -> None:
    """The document goes with one commit, and the copy takes its place with a later one."""
    library.run(docs)
    (docs / "b.md").unlink()
    if changed is not None:
        write(docs, **{"b.md": f"{changed}It burns oil.\n"})
    broken = {f"b{number}.pdf": b"%PDF-1.4 torn" + bytes([number]) for number in range(3)}
    write(docs, **broken)
    assert library.run(docs, error_budget=0, workers=1).stop_kind == "error budget"
    for name in broken:
        (docs / name).unlink()
    library.run(docs)
    check(library, docs, tmp_path)
