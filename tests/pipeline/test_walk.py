"""A source is walked once, in the order of the ids, under the rules for documents and those for code."""

import os
from pathlib import Path

import pytest

from inorder.code.rules import IGNORED, THIRD_PARTY
from inorder.pipeline.sources.names import SourcePart
from inorder.pipeline.sources.walk import LINK, ListedFile, walk_part

pytestmark = pytest.mark.req("PIP-3")


def write(root: Path, **files: str) -> None:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def walk(root: Path, below: str = "", excluded: tuple[str, ...] = ()) -> dict[str, ListedFile]:
    found = list(walk_part(SourcePart("src", str(root), below=below, excluded=excluded), ()))
    return {file.item_id.removeprefix("src/"): file for file in found}


def test_the_order_is_that_of_the_ids(tmp_path: Path) -> None:
    names = ["a/x", "a.txt", "a-b", "a0", "a/b/c", "ä", "Z", "a%", "\u0001"]
    write(tmp_path, **dict.fromkeys(names, ""))
    ids = [file.item_id for file in walk_part(SourcePart("src", str(tmp_path)), ())]
    assert ids == sorted(ids, key=lambda item_id: item_id.encode())
    assert len(ids) == len(names)


def test_hidden_and_ignored_files_are_left_out(tmp_path: Path) -> None:
    write(tmp_path, **{".inorderignore": "*.tmp\nout/\n", "a.tmp": "", "out/b": "", ".git/c": "", ".h": "", "d": ""})
    assert list(walk(tmp_path)) == ["d"]


def test_what_git_ignores_may_be_a_document_but_no_code(tmp_path: Path) -> None:
    write(tmp_path, **{".gitignore": "build/\n*.log\n", "build/a.md": "", "b.log": "", "c.py": ""})
    found = walk(tmp_path)
    assert {name: file.not_code for name, file in found.items()} == {
        "build/a.md": IGNORED,
        "b.log": IGNORED,
        "c.py": "",
    }
    assert all(file.is_document for file in found.values())


def test_code_that_a_deeper_rule_admits_is_no_document(tmp_path: Path) -> None:
    write(tmp_path, **{".inorderignore": "*.py\n", "a/.gitignore": "!b.py\n", "a/b.py": "", "a/c.py": ""})
    found = walk(tmp_path)
    assert {name: (file.is_document, file.not_code) for name, file in found.items()} == {"a/b.py": (False, "")}


def test_third_party_folders_have_documents_but_no_code(tmp_path: Path) -> None:
    write(tmp_path, **{"node_modules/p/a.js": "", "env/pyvenv.cfg": "", "env/b.py": "", "__pycache__/c.pyc": ""})
    assert {name: file.not_code for name, file in walk(tmp_path).items()} == {
        "__pycache__/c.pyc": IGNORED,
        "env/b.py": THIRD_PARTY,
        "env/pyvenv.cfg": THIRD_PARTY,
        "node_modules/p/a.js": THIRD_PARTY,
    }


def test_a_link_is_followed_within_the_root_only(tmp_path: Path) -> None:
    root = tmp_path / "root"
    write(root, **{"a.md": "text"})
    (tmp_path / "outside.md").write_text("")
    (root / "in.md").symlink_to(root / "a.md")
    (root / "out.md").symlink_to(tmp_path / "outside.md")
    found = walk(root)
    assert (found["in.md"].problem, found["in.md"].not_code) == ("", LINK)
    assert (found["out.md"].problem, "outside" in found["out.md"].not_read) == ("", True)


def test_a_pipe_is_not_read_and_is_not_opened(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    assert walk(tmp_path)["pipe"].not_read == "not a regular file"


def test_a_part_is_walked_under_the_rules_of_its_source(tmp_path: Path) -> None:
    write(tmp_path, **{".inorderignore": "*.tmp\n", "a/b/c.md": "", "a/b/d.tmp": "", "a/e.md": "", "b/f.md": ""})
    assert list(walk(tmp_path, below="a/b")) == ["a/b/c.md"]


def test_folders_of_other_sources_are_left_to_them(tmp_path: Path) -> None:
    write(tmp_path, **{"a/b.md": "", "c.md": ""})
    assert list(walk(tmp_path, excluded=(str(tmp_path / "a"),))) == ["c.md"]


def test_a_folder_that_cannot_be_read_is_listed_with_the_problem(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path, **{"a/b.md": "", "c.md": ""})
    scandir = os.scandir

    def refuse(path: str) -> object:
        if os.fspath(path).rstrip("/").endswith("/a"):
            raise PermissionError(13, "Permission denied")
        return scandir(path)

    monkeypatch.setattr(os, "scandir", refuse)
    found = walk(tmp_path)
    assert found["a"].is_unread_folder
    assert "cannot be read" in found["a"].problem
    assert "c.md" in found


def test_a_source_can_be_one_file(tmp_path: Path) -> None:
    write(tmp_path, **{"a.md": "text"})
    [file] = walk_part(SourcePart("a.md", str(tmp_path / "a.md")), ())
    assert (file.item_id, file.path) == ("a.md", str(tmp_path / "a.md"))
