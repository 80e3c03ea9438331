"""A run that is told which paths have changed looks at nothing else."""

import os
from pathlib import Path

import pytest

from inorder.errors import OperatorError
from inorder.pipeline.outcome import FileCounts
from tests.documents.archives.archive_files import make_archive

from .runs import Library, write

NOTE = "# {0}\n\nThe keeper of {0} lights the lamp at dusk.\n"


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    root = tmp_path / "docs"
    write(root, **{f"{name}.md": NOTE.format(name) for name in ("ash", "birch", "cedar", "sub/elm", "sub/fir")})
    return root


@pytest.fixture
def library(tmp_path: Path, docs: Path) -> Library:
    made = Library(tmp_path / "data")
    made.run(docs)
    return made


def equals_a_rebuild(library: Library, tmp_path: Path, *sources: Path) -> bool:
    fresh = Library(tmp_path / "fresh")
    fresh.run(*sources)
    return (fresh.read_content_hash(), fresh.list_copies()) == (library.read_content_hash(), library.list_copies())


@pytest.mark.slow
@pytest.mark.req("PIP-3", "PIP-5")
def test_a_file_is_compared_and_the_others_are_not(library: Library, docs: Path) -> None:
    write(docs, **{"ash.md": NOTE.format("ash, again"), "birch.md": NOTE.format("birch, unseen")})
    assert library.run(docs, hints=[docs / "ash.md"]).counts == FileCounts(changed=1)
    assert library.run(docs).counts == FileCounts(changed=1, unchanged=4)


@pytest.mark.slow
@pytest.mark.req("PIP-3")
def test_a_folder_is_walked(library: Library, docs: Path) -> None:
    write(docs, **{"sub/elm.md": NOTE.format("elm, again"), "sub/deep/new.md": NOTE.format("new")})
    (docs / "sub" / "fir.md").unlink()
    assert library.run(docs, hints=[docs / "sub"]).counts == FileCounts(new=1, changed=1, removed=1)
    assert library.run(docs).counts == FileCounts(unchanged=5)


@pytest.mark.slow
@pytest.mark.req("PIP-3")
def test_every_change_that_events_tell_of_ends_as_a_full_run_does(library: Library, docs: Path, tmp_path: Path) -> None:
    (docs / "ash.md").unlink()
    (docs / "birch.md").rename(docs / "walnut.md")
    (docs / "sub").rename(docs / "other")
    write(docs, **{"copy.md": NOTE.format("cedar"), "a-copy.md": NOTE.format("walnut"), "tool.py": "x = 1\n"})
    (docs / "box.zip").write_bytes(make_archive("zip", {"in.md": b"# In\n\nA letter.\n"}))
    names = ("ash.md", "birch.md", "walnut.md", "sub", "other", "copy.md", "a-copy.md", "tool.py", "box.zip")
    library.run(docs, hints=[docs / name for name in names])
    assert equals_a_rebuild(library, tmp_path, docs)
    (docs / "box.zip").write_bytes(make_archive("zip", {"other.md": b"# Other\n\nAnother letter.\n"}))
    (docs / "cedar.md").unlink()
    library.run(docs, hints=[docs / "box.zip", docs / "cedar.md"])
    assert equals_a_rebuild(Library(library.data), tmp_path / "again", docs)


@pytest.mark.slow
@pytest.mark.req("PIP-3")
@pytest.mark.parametrize("name", [".inorderignore", ".gitignore", "pyvenv.cfg"])
def test_a_file_with_rules_has_its_folder_compared(library: Library, docs: Path, tmp_path: Path, name: str) -> None:
    write(docs, **{"sub/tool.py": "x = 1\n"})
    library.run(docs)
    write(docs, **{f"sub/{name}": "elm.md\n*.py\n"})
    library.run(docs, hints=[docs / "sub" / name])
    assert equals_a_rebuild(library, tmp_path, docs)


@pytest.mark.slow
@pytest.mark.req("PIP-4")
def test_a_missing_source_removes_nothing(library: Library, docs: Path) -> None:
    docs.rename(docs.with_name("away"))
    with pytest.raises(OperatorError, match="no such file or directory"):
        library.run(docs, hints=[docs / "ash.md", docs])
    assert len(library.list_searchable()) == 5


@pytest.mark.slow
@pytest.mark.req("PIP-4")
def test_paths_of_other_sources_and_of_none_are_left_alone(library: Library, docs: Path, tmp_path: Path) -> None:
    inner = docs / "sub"
    other = tmp_path / "other"
    write(other, **{"oak.md": NOTE.format("oak")})
    library.run(other)
    write(other, **{"oak.md": NOTE.format("oak, again")})
    assert library.run(docs, hints=[other / "oak.md", tmp_path / "nowhere", tmp_path]).counts == FileCounts()
    assert library.run(docs, hints=[]).counts == FileCounts()
    assert library.run(docs, hints=[inner, inner / "elm.md"]).counts == FileCounts(unchanged=2)


@pytest.mark.slow
def test_the_spelling_of_a_path_does_not_matter(library: Library, docs: Path, tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(docs)
    write(docs, **{"ash.md": NOTE.format("ash, again")})
    assert library.run(link, hints=[link / "sub" / ".." / "ash.md"]).counts == FileCounts(changed=1)
    write(docs, **{"ash.md": NOTE.format("ash, once more")})
    os.utime(docs / "ash.md", (10**9, 10**9))
    assert library.run(link, hints=[link / "ash.md"]).counts == FileCounts(changed=1)
