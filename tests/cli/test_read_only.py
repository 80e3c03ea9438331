"""DATA that cannot be written, with what an interrupted run has left beside the library."""

import ctypes
import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from inorder.models.answers import Answer, AnswerStore
from inorder.models.question import Question
from tests.pipeline.runs import Library, write
from tests.support.command_line import clean_environment

pytestmark = [pytest.mark.req("SIL-2"), pytest.mark.process]

ANSWER = Answer(text="lamp", tokens_in=12, tokens_out=1, finish_reason="stop", model="m", seconds=0.5)
_BOUNDING_SET_DROP, _CAP_DAC_OVERRIDE = 24, 1


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """A folder with documents and DATA, whose newest commit is in the log alone."""
    write(tmp_path / "docs", **{"a.md": "# Lamp\n\nA yellow lamp.\n"})
    Library(tmp_path / "whole").run(tmp_path / "docs")
    library, data = tmp_path / "whole" / "library.sqlite", tmp_path / "data"
    answers = tmp_path / "whole" / "answers.sqlite"
    with closing(sqlite3.connect(library, isolation_level=None)) as writer, AnswerStore(str(answers)) as store:
        writer.execute("PRAGMA journal_mode=WAL")
        writer.execute("UPDATE sources SET path = '/moved/docs'")
        store.keep(Question(model="m", prompt="Read it."), ANSWER)
        shutil.copytree(tmp_path / "whole", data, ignore=shutil.ignore_patterns("*-shm", "*.sums"))
    assert (data / "library.sqlite-wal").stat().st_size
    assert (data / "answers.sqlite-wal").stat().st_size
    data.chmod(0o555)
    yield tmp_path
    data.chmod(0o755)


def ask(folder: Path, *command: str) -> subprocess.CompletedProcess[str]:
    """Run a command as a user for whom modes of files count, which they do not for root."""
    return subprocess.run(
        [sys.executable, "-m", "inorder", *command, "--data", str(folder / "data")],
        cwd=folder,
        env=clean_environment(),
        capture_output=True,
        text=True,
        preexec_fn=_heed_modes,
    )


def _heed_modes() -> None:
    if os.getuid() == 0:
        ctypes.CDLL(None).prctl(_BOUNDING_SET_DROP, _CAP_DAC_OVERRIDE)


@pytest.mark.skipif(sys.platform != "linux", reason="root heeds no modes elsewhere")
def test_a_log_in_data_that_cannot_be_written_is_read(folder: Path) -> None:
    assert "A yellow lamp." in ask(folder, "search", "lamp").stdout
    assert "/moved/docs" in ask(folder, "sources").stdout
    assert "Read it." in ask(folder, "answers").stdout
    assert not [name for name in os.listdir(folder / "data") if name.endswith("-shm")]
    verified = ask(folder, "verify")
    assert (verified.returncode, verified.stdout) == (0, "")
    assert ask(folder, "export", "search", "--to", "copy").returncode == 0
    copied = subprocess.run(
        [sys.executable, "-m", "inorder", "sources", "--data", "copy"], cwd=folder, capture_output=True, text=True
    )
    assert "/moved/docs" in copied.stdout


@pytest.mark.skipif(sys.platform != "linux", reason="root heeds no modes elsewhere")
def test_without_a_log_it_is_read_too(folder: Path) -> None:
    for name in ("library", "answers"):
        (folder / "data").chmod(0o755)
        with closing(sqlite3.connect(folder / "data" / f"{name}.sqlite")) as writer:
            writer.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    (folder / "data").chmod(0o555)
    assert not [name for name in os.listdir(folder / "data") if name.endswith(("-shm", "-wal"))]
    assert "A yellow lamp." in ask(folder, "search", "lamp").stdout
    assert "Read it." in ask(folder, "answers").stdout
