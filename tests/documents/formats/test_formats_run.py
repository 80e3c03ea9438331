"""Every further format through the command line."""

import os
from pathlib import Path

import pytest

from tests.documents.formats.samples import NAMES, SAMPLES
from tests.documents.workspace import Workspace
from tests.support.in_process import run_in_process


@pytest.mark.slow
@pytest.mark.req("DOC-1", "DOC-2")
def test_a_folder_with_every_format_is_read_and_chunked(tmp_path: Path) -> None:
    workspace = Workspace(tmp_path)
    for kind, data in SAMPLES.items():
        (workspace.docs / NAMES[kind]).write_bytes(data)
    (workspace.docs / "drawing.xml").write_text("<svg><text>not a document</text></svg>")
    environment = {"PATH": os.environ["PATH"], "HOME": str(tmp_path)}
    options = ("--policy", "io", "--workers", "2", "--data", "data", "--quiet", "--set", "fsync=off")
    code, _, errors = run_in_process(["run", "docs", *options], tmp_path, environment)
    assert code == 0, errors
    chunked = {name for name, row in workspace.rows("chunk").items() if row["chunks"]}
    read = workspace.rows("doctags")
    assert workspace.reasons() == {"docs/lamp.eml/lamp.png": "an image: --ocr reads its text"}
    assert read["docs/lamp.eml/list.md"]["engine"].startswith("markdown")
    assert chunked == set(read) == {f"docs/{name}" for name in (*NAMES.values(), "lamp.eml/list.md")}
    assert all(row["engine"].startswith(kind) for kind, name in NAMES.items() for row in [read[f"docs/{name}"]])
    assert read["docs/talk.pptx"]["pages"] == 2
