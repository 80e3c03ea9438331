"""Every further format through the command line."""

import os
from pathlib import Path

import pytest

from tests.documents.formats.samples import NAMES, SAMPLES
from tests.documents.workspace import Workspace
from tests.support.in_process import run_in_process


@pytest.mark.req("DOC-1", "DOC-2")
def test_a_folder_with_every_format_is_read_and_chunked(tmp_path: Path) -> None:
    workspace = Workspace(tmp_path)
    for kind, data in SAMPLES.items():
        (workspace.docs / NAMES[kind]).write_bytes(data)
    (workspace.docs / "drawing.xml").write_text("<svg><text>not a document</text></svg>")
    environment = {"PATH": os.environ["PATH"], "HOME": str(tmp_path)}
    options = ("--policy", "io", "--workers", "2", "--data", "data", "--quiet", "--fsync", "off")
    for command in (("doctags", "docs"), ("chunk",)):
        code, _, errors = run_in_process([*command, *options], tmp_path, environment)
        assert code == 0, errors
    read = {row["doc_id"]: row for row in workspace.rows("doctags")}
    assert read.pop("docs/drawing.xml")["status"] == "skip"
    assert read.pop("docs/lamp.eml/lamp.png")["status"] == "skip"
    assert read["docs/lamp.eml/list.md"]["engine"].startswith("markdown")
    assert {doc_id: row["status"] for doc_id, row in read.items()} == {
        f"docs/{name}": "success" for name in (*NAMES.values(), "lamp.eml/list.md")
    }
    assert {row["doc_id"] for row in workspace.rows("chunk") if row["chunks"]} == set(read)
    assert all(row["engine"].startswith(kind) for kind, name in NAMES.items() for row in [read[f"docs/{name}"]])
    assert read["docs/talk.pptx"]["pages"] == 2
