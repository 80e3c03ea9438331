"""What is said of one file: what a run would do with it, which part of the settings changed, and what happened last."""

import os
from pathlib import Path

import pytest

from inorder.documents.chunk.settings import ChunkSettings
from inorder.pipeline.questions.explanation import FileExplanation, explain_file
from inorder.pipeline.steps import PipelineSettings
from tests.documents.archives.archive_files import make_archive

from .runs import Library, write

pytestmark = [pytest.mark.req("CLI-5", "CLI-7"), pytest.mark.slow]

NOTE = "# {0}\n\nThe keeper of {0} lights the lamp at dusk.\n"


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    root = tmp_path / "docs"
    write(root, **{f"{name}.md": NOTE.format(name) for name in ("ash", "birch")})
    write(root, **{"copy.md": NOTE.format("ash"), "tool.py": "def light(): ...\n", "torn.pdf": b"%PDF-1.4 no more"})
    write(
        root, **{"photo.png": b"\x89PNG\r\n\x1a\n0000", ".inorderignore": "# none of these\nskip/\n", "skip/me.md": "x"}
    )
    write(root, **{"box.zip": make_archive("zip", {"in.md": b"# In\n\nA letter.\n", "t.pdf": b"%PDF-1.4 torn"})})
    for path in root.rglob("*.*"):
        os.utime(path, (10**9, 10**9))
    return root


@pytest.fixture
def library(tmp_path: Path, docs: Path) -> Library:
    made = Library(tmp_path / "data")
    made.run(docs)
    return made


def explain(library: Library, path: Path | str) -> FileExplanation:
    return explain_file(str(path), library.settings, str(library.data))


def verdicts(found: FileExplanation) -> dict[str, str]:
    return {each.step: each.verdict for each in found.steps}


def test_an_unchanged_file_is_skipped_by_every_step(library: Library, docs: Path) -> None:
    found = explain(library, docs / "ash.md")
    assert (found.item_id, found.file_class) == ("docs/ash.md", "unchanged")
    assert verdicts(found) == dict.fromkeys(("doctags", "chunk", "index", "embed:dense"), "skip")
    assert {each.reason for each in found.steps} == {"its input and settings are unchanged"}
    assert {each.latest.status for each in found.steps if each.latest} == {"made"}
    assert all(each.latest is not None and each.latest.at for each in found.steps)


def test_a_changed_file_is_processed_and_later_steps_depend(library: Library, docs: Path) -> None:
    write(docs, **{"ash.md": NOTE.format("ash, edited")})
    found = explain(library, docs / "ash.md")
    assert found.file_class == "changed"
    assert [(each.step, each.verdict, each.reason) for each in found.steps] == [
        ("doctags", "process", "the content has changed"),
        ("chunk", "depends", "if the document changes"),
        ("index", "depends", "if the chunks change"),
        ("embed:dense", "depends", "if the chunks change"),
    ]


def test_the_part_of_the_settings_that_changed_is_named(library: Library, docs: Path) -> None:
    library.settings = PipelineSettings(chunk=ChunkSettings(tokens_max=400))
    [doctags, chunk, *_] = explain(library, docs / "ash.md").steps
    assert (doctags.verdict, chunk.verdict) == ("skip", "process")
    assert chunk.reason == "its settings have changed: tokens_max, tokens_min", "one follows from the other"
    assert (chunk.changed["tokens_max"].was, chunk.changed["tokens_max"].now) == ("512", "400")


def test_a_failed_file_says_why_and_that_it_waits(library: Library, docs: Path) -> None:
    found = explain(library, docs / "torn.pdf")
    assert found.file_class == "failed"
    [doctags, chunk, *_] = found.steps
    assert doctags.verdict == "skip"
    assert "not tried again until the file changes" in doctags.reason
    assert doctags.latest is not None
    assert (doctags.latest.status, doctags.latest.category) == ("failed", "input")
    assert doctags.latest.message
    assert chunk.reason == "there is nothing to work on: doctags has failed"


@pytest.mark.parametrize(
    ("name", "file_class", "reason"),
    [
        ("copy.md", "copy", ""),
        ("photo.png", "not read", "an image: --ocr reads its text"),
        ("skip/me.md", "ignored", "excluded by {docs}/.inorderignore: skip/"),
        (".inorderignore", "ignored", "it is hidden: .inorderignore"),
        ("nothing.md", "unknown", "no such file or directory: {docs}/nothing.md"),
        ("box.zip", "archive", "an archive: its members are files of their own"),
        ("sub", "folder", "a folder; `inorder plan` lists what would be done with its files"),
    ],
)
def test_what_is_no_document_is_said_to_be_none(
    library: Library, docs: Path, name: str, file_class: str, reason: str
) -> None:
    (docs / "sub").mkdir()
    found = explain(library, docs / name)
    assert (found.file_class, found.reason) == (file_class, reason.format(docs=docs))
    assert found.copy_of == ("docs/ash.md" if file_class == "copy" else "")
    assert found.file_class == "archive" or found.steps == []


def test_members_of_archives_are_explained(library: Library, docs: Path) -> None:
    assert explain(library, docs / "box.zip" / "in.md").file_class == "unchanged"
    assert explain(library, docs / "box.zip" / "t.pdf").file_class == "failed"
    write(docs, **{"box.zip": make_archive("zip", {"in.md": b"# In\n\nAnother.\n", "new.md": b"# New\n"})})
    assert explain(library, docs / "box.zip" / "in.md").file_class == "changed"
    assert explain(library, docs / "box.zip" / "new.md").file_class == "new"
    assert explain(library, docs / "box.zip" / "t.pdf").file_class == "removed"
    (docs / "box.zip").unlink()
    assert explain(library, docs / "box.zip" / "in.md").file_class == "removed"


def test_new_and_removed_files_and_copies_are_explained(library: Library, docs: Path) -> None:
    write(docs, **{"new.md": NOTE.format("new"), "zz.md": NOTE.format("birch")})
    (docs / "ash.md").unlink()
    assert explain(library, docs / "new.md").file_class == "new"
    assert explain(library, docs / "zz.md").copy_of == "docs/birch.md"
    assert explain(library, docs / "ash.md").file_class == "removed"


def test_a_copy_whose_document_has_changed_becomes_one(library: Library, docs: Path) -> None:
    write(docs, **{"ash.md": NOTE.format("ash, edited")})
    found = explain(library, docs / "copy.md")
    assert (found.file_class, found.copy_of) == ("changed", "")
    assert set(verdicts(found).values()) == {"process"}


def test_a_file_is_known_by_its_path_in_any_spelling_and_by_its_id(
    library: Library, docs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "link").symlink_to(docs)
    monkeypatch.chdir(tmp_path)
    for spelling in ("docs/ash.md", str(docs / "ash.md"), "./docs/../docs/ash.md", "link/ash.md"):
        assert explain(library, spelling).item_id == "docs/ash.md"
    monkeypatch.chdir("/")
    assert explain(library, "docs/ash.md").file_class == "unchanged"
    assert explain(library, "docs/box.zip/in.md").file_class == "unchanged"


def test_what_lies_in_no_source_is_unknown(library: Library, tmp_path: Path) -> None:
    found = explain(library, tmp_path / "elsewhere.md")
    assert (found.file_class, found.reason) == ("unknown", "it lies in no source of this DATA; sources: docs")
    fresh = Library(tmp_path / "none")
    assert explain(fresh, tmp_path / "x").reason == f"there is no library in {tmp_path / 'none'}"
    assert not (tmp_path / "none").exists()


def test_source_code_that_is_ignored_names_the_rule(library: Library, docs: Path) -> None:
    write(docs, **{".gitignore": "*.py\n"})
    found = explain(library, docs / "tool.py")
    assert (found.file_class, found.reason) == ("ignored", f"excluded by {docs}/.gitignore: *.py")
    library.run(docs)
    assert explain(library, docs / "tool.py") == found
