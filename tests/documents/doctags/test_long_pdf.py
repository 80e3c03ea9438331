"""A long PDF is read in parts by all workers, with the same result as reading it as a whole."""

import io
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from reportlab.pdfgen.canvas import Canvas

from tests.documents.workspace import PROSE, Workspace
from tests.support.command_line import GUARD_S

pytestmark = pytest.mark.process

PAGES = 47


def long_pdf() -> bytes:
    """Prose with headings and a page number at the foot, large enough to be surveyed."""
    written = io.BytesIO()
    canvas = Canvas(written, invariant=1, pageCompression=0)
    for page in range(1, PAGES + 1):
        canvas.setFont("Helvetica-Bold", 18)
        canvas.drawString(72, 760, f"Chapter {page}")
        canvas.setFont("Helvetica", 11)
        for line in range(50):
            canvas.drawString(72, 730 - 13 * line, f"{page}.{line} {PROSE}")
        canvas.drawString(290, 30, str(page))
        canvas.showPage()
    canvas.save()
    data = written.getvalue()
    assert len(data) >= 256 * 1024
    return data


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    workspace = Workspace(tmp_path)
    (workspace.docs / "long.pdf").write_bytes(long_pdf())
    workspace.write("short.md", "# Short\n\n" + PROSE)
    return workspace


def test_read_in_parts_it_is_the_same_document(workspace: Workspace) -> None:
    workspace.run("doctags", "docs", "--set", "split_pages=10")
    assert workspace.done("doctags") == {"docs/long.pdf", "docs/short.md"}
    in_parts = workspace.outputs()
    assert set(workspace.files()) == {"docs/long.pdf", "docs/short.md"}, "parts stayed"
    workspace.run("doctags", "docs", "--set", "split_pages=0", "--force")
    assert workspace.outputs() == in_parts


def test_parts_are_read_once_and_go_with_their_document(workspace: Workspace) -> None:
    workspace.run("doctags", "docs", "--set", "split_pages=10")
    assert workspace.run("doctags", "docs", "--set", "split_pages=10")["steps"] == {}
    (workspace.docs / "long.pdf").unlink()
    workspace.run("doctags", "docs", "--set", "split_pages=10")
    assert set(workspace.files()) == {"docs/short.md"}


def test_one_that_cannot_be_read_fails_once_and_as_a_document(workspace: Workspace) -> None:
    data = (workspace.docs / "long.pdf").read_bytes()
    (workspace.docs / "long.pdf").write_bytes(b"%PDF-1.4\n" + b"\0" * len(data))
    outcome = workspace.run("doctags", "docs", expected=3)
    assert outcome["counts"]["failed"] == 1
    [failed] = [row for row in workspace.rows("doctags").values() if row["status"] == "failure"]
    assert failed["doc_id"] == "docs/long.pdf"


@pytest.mark.req("JRN-7", "DOC-4")
def test_killed_three_times_on_the_way_everything_is_as_if_undisturbed(workspace: Workspace, tmp_path: Path) -> None:
    """The kills come when the journal has grown, wherever that may be in the work."""
    options = ["--set", "split_pages=4", "--tokens-max", "64"]
    for size in (1, 400, 1200):
        _run_until(workspace, size, options)
    workspace.run("run", "docs", *options, policy="cpu")
    undisturbed = Workspace(tmp_path)
    undisturbed.data = tmp_path / "undisturbed"
    undisturbed.run("run", "docs", *options)
    assert workspace.outputs() == undisturbed.outputs()
    assert set(workspace.files()) == set(undisturbed.files())


def _run_until(workspace: Workspace, size: int, options: list[str]) -> None:
    """Run, and kill it with everything it has started as soon as its journal has so many bytes."""
    journal = workspace.data / "journal" / "run.journal"
    command = [sys.executable, "-m", "inorder", "run", "docs", *options, "--data", str(workspace.data), "--quiet"]
    process = subprocess.Popen(command, cwd=workspace.folder, stderr=subprocess.DEVNULL)
    while process.poll() is None and not (journal.exists() and journal.stat().st_size >= size):
        os.sched_yield()
    if process.poll() is None:
        process.send_signal(signal.SIGKILL)
    process.wait(timeout=GUARD_S)
