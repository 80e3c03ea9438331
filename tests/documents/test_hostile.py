"""Files that want to do harm: each costs only itself, and everything else is done."""

import os
import zipfile
from collections import Counter
from pathlib import Path
from typing import Any, Literal

import pytest

from inorder.pipeline.outcome import FileCounts
from inorder.stage.sources import quote_id
from tests.documents.workspace import PROSE, Workspace

pytestmark = pytest.mark.process

Outcome = Literal["read", "not read", "failed"]
GOOD = {"a-good.md": "# A\n\n" + PROSE * 9, "m/good.txt": PROSE * 9, "z-good.html": f"<p>{PROSE * 9}</p>"}


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    workspace = Workspace(tmp_path)
    for name, text in GOOD.items():
        workspace.write(name, text)
    return workspace


def fifo(path: Path) -> None:
    os.mkfifo(path)


def unreadable(path: Path) -> None:
    path.write_text(PROSE)
    path.chmod(0)


def loop(path: Path) -> None:
    path.symlink_to(path)


def out_of_the_root(path: Path) -> None:
    secret = path.parent.parent / "secret.txt"
    secret.write_text("nobody was asked to read this")
    path.symlink_to(secret)


def dangling(path: Path) -> None:
    path.symlink_to(path.parent / "nowhere")


def content(data: bytes) -> Any:
    return lambda path: path.write_bytes(data)


def bomb(path: Path) -> None:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as package:
        package.writestr("[Content_Types].xml", b"<Types/>")
        package.writestr("word/document.xml", b"<w:document>" + b" " * (600 * 2**20))


ENTITIES = (
    b'<?xml version="1.0"?><!DOCTYPE x [<!ENTITY a "'
    + b"x" * 1000
    + b'">'
    + b"".join(b'<!ENTITY %c "%b">' % (98 + n, b"&%c;" % (97 + n) * 100) for n in range(8))
    + b"]><w:document>&i;</w:document>"
)


def entities(path: Path) -> None:
    with zipfile.ZipFile(path, "w") as package:
        package.writestr("word/document.xml", ENTITIES)


CASES: list[tuple[str, Any, Outcome, str]] = [
    ("pipe.txt", fifo, "not read", "not a regular file"),
    ("loop.txt", loop, "not read", "a file that is not there"),
    ("link.txt", out_of_the_root, "not read", "outside of the source folder"),
    ("dangling.txt", dangling, "not read", "a symbolic link to a file"),
    ("cut.pdf", content(b"%PDF-1.7\n1 0 obj"), "failed", "the PDF is damaged or truncated"),
    ("not.pdf", content(b"MZ" * 500), "failed", "not a PDF"),
    ("bomb.docx", bomb, "failed", "unpacks to 629,145,612 bytes"),
    ("entities.docx", entities, "failed", "document type declaration"),
    ("not.docx", content(b"PK\3\4" + b"\0" * 100), "failed", "not a DOCX file"),
    ("nul.txt", content(b"\0" * 5000), "failed", "it contains NUL bytes"),
    ("picture.png", content(b"\x89PNG\r\n\x1a\n" + b"\0" * 100), "not read", "an image: --ocr reads its text"),
    ("empty.md", content(b""), "not read", "the file is empty"),
    ("source.py", content(b"print(1)\n"), "read", ""),
    ("source.dat", content(b"\0\1\2" * 99), "not read", "not a text file"),
    ("deep.html", content(b"<div>" * 100_000 + b"deep" + b"</div>" * 100_000), "read", ""),
    ("line.txt", content(b"word " * 2_000_000), "read", ""),
    ("new\nline.md", content(b"# new line"), "read", ""),
    ("emoji \U0001f6a2.md", content(b"# ship"), "read", ""),
    ("\u202egnp.txt", content(b"right to left mark"), "read", ""),
    (os.fsdecode(b"bytes-\xff\xfe.md"), content(b"# odd bytes"), "read", ""),
    ("percent%41.md", content(b"# percent"), "read", ""),
]
"""The name of a file, how it is made, what becomes of it, and a part of the reason."""


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    """All of them among good documents, run once."""
    workspace = Workspace(tmp_path_factory.mktemp("hostile"))
    for name, text in GOOD.items():
        workspace.write(name, text)
    for name, make, _, _ in CASES:
        make(workspace.docs / name)
    outcome = workspace.run(expected=3, policy="cpu")
    expected = Counter(case[2] for case in CASES)
    counts = FileCounts(new=len(GOOD) + expected["read"], failed=expected["failed"], not_read=expected["not read"])
    assert FileCounts(**outcome["counts"]) == counts
    return workspace


@pytest.mark.req("DOC-1")
def test_everything_else_is_done(hostile: Workspace) -> None:
    assert {f"docs/{name}" for name in GOOD} <= hostile.done("chunk")


@pytest.mark.req("DOC-1")
@pytest.mark.parametrize(
    ("name", "outcome", "reason"),
    [(name, outcome, reason) for name, _, outcome, reason in CASES],
    ids=[ascii(name) for name, _, _, _ in CASES],
)
def test_a_hostile_file_costs_only_itself(hostile: Workspace, name: str, outcome: Outcome, reason: str) -> None:
    item_id = quote_id(f"docs/{name}")
    odd = hostile.files()[item_id]
    found = "failed" if odd.is_failed else "not read" if odd.reason else "read"
    assert found == outcome
    said = hostile.reasons().get(item_id, "")
    assert reason in said
    assert "\n" not in said


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_that_must_not_be_read_fails_with_the_reason(workspace: Workspace) -> None:
    unreadable(workspace.docs / "secret.md")
    workspace.run(expected=3)
    [reason] = workspace.reasons().values()
    assert "Permission denied" in reason


def test_a_folder_that_is_a_loop_of_links_is_not_walked(workspace: Workspace) -> None:
    (workspace.docs / "m" / "again").symlink_to(workspace.docs)
    assert workspace.run()["not_read"] == {"a symbolic link to a folder": {"again": 1}}
    assert len(workspace.files()) == len(GOOD) + 1


def test_what_an_ignore_file_names_is_left_out_and_goes_when_it_is_named_later(workspace: Workspace) -> None:
    workspace.run()
    (workspace.docs / ".inorderignore").write_text("m/\n*.html\n!z-good.html\n")
    (workspace.docs / "m" / ".hidden.txt").write_text("hidden")
    outcome = workspace.run()
    assert FileCounts(**outcome["counts"]) == FileCounts(unchanged=2, removed=1)
    assert set(workspace.files()) == {"docs/a-good.md", "docs/z-good.html"}
