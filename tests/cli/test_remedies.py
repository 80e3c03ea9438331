"""Every finding of `inorder verify` says what to do, and that mends it."""

import os
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.test_verify_library import FILES, change, find_vectors, leave, manifest, repeat_row, rewrite
from tests.pipeline.runs import Library, write
from tests.support.command_line import CommandResult, clean_environment
from tests.support.in_process import run_in_process

pytestmark = [pytest.mark.req("CLI-6"), pytest.mark.process]

ROUNDS_MAX = 4
JOURNAL = "data/journal/run.journal"


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with documents and the DATA of two runs."""
    folder = tmp_path_factory.mktemp("whole")
    write(folder / "docs", **FILES)
    Library(folder / "data").run(folder / "docs")
    write(folder / "docs", **{"c.md": "# Gamma\n\nThe third answer.\n"})
    Library(folder / "data").run(folder / "docs")
    (folder / "docs").rename(folder / "kept")
    return folder


@pytest.fixture
def folder(whole: Path, tmp_path: Path) -> Path:
    """The same, to be damaged."""
    shutil.copytree(whole / "data", tmp_path / "data")
    shutil.copytree(whole / "kept", tmp_path / "docs")
    return tmp_path


def verify(folder: Path) -> CommandResult:
    return CommandResult(
        *run_in_process(("verify", "--json", "--data", str(folder / "data")), folder, clean_environment())
    )


def mend(folder: Path, path: str, message: str) -> None:
    """Do what a finding says."""
    remedy = message.rpartition("; ")[2]
    if "move it away" in remedy:
        away = folder / "away"
        away.mkdir(exist_ok=True)
        (folder / "data" / path).rename(away / Path(path).name)
    elif "remove" in remedy and "next run" not in remedy:
        named = re.search(r"remove (library\.\S+)", remedy)
        target = folder / "data" / (named[1] if named else path)
        target.unlink(missing_ok=True)
    if re.search(r"(run .* again|the next run|a run begins|remove it to start over)", remedy):
        Library(folder / "data").run(folder / "docs", force="--force" in remedy)


def cut(path: Path, share: float) -> None:
    os.truncate(path, int(path.stat().st_size * share))


def flip(path: Path, place: float) -> None:
    content = bytearray(path.read_bytes())
    content[int(place * len(content))] ^= 4
    path.write_bytes(content)


def append(path: Path, content: bytes) -> None:
    path.write_bytes(path.read_bytes() + content)


def pipe(path: Path) -> None:
    path.unlink(missing_ok=True)
    os.mkfifo(path)


def displace(path: Path) -> None:
    path.unlink(missing_ok=True)
    (path / "inside").mkdir(parents=True)


DAMAGES: dict[str, Callable[[Path], object]] = {
    "library page": lambda folder: flip(folder / "data/library.sqlite", 0.7),
    "library cut": lambda folder: cut(folder / "data/library.sqlite", 0.7),
    "library header": lambda folder: flip(folder / "data/library.sqlite", 0.0),
    "result": lambda folder: change(folder, "UPDATE results SET data = x'00' WHERE id = 1"),
    "rows": lambda folder: change(folder, "UPDATE chunk_rows SET name = 'other'"),
    "texts": lambda folder: change(folder, "DELETE FROM texts"),
    "postings": lambda folder: change(folder, "DELETE FROM term_blocks"),
    "totals": lambda folder: change(folder, "UPDATE totals SET data = x'00'"),
    "orphaned rows": lambda folder: change(folder, "DELETE FROM items WHERE id = 1"),
    "orphaned vectors": lambda folder: change(folder, "UPDATE vectors SET chunks = x'6300000000000000'"),
    "position": lambda folder: change(folder, "UPDATE inorder_position SET checksum = checksum + 1"),
    "vectors lost": lambda folder: find_vectors(folder).unlink(),
    "vectors cut": lambda folder: cut(find_vectors(folder), 0.5),
    "vectors altered": lambda folder: flip(find_vectors(folder), 0.5),
    "vectors altered, no checksums": lambda folder: (
        flip(find_vectors(folder), 0.5),
        (folder / "data/library.sums").unlink(),
    ),
    "checksums": lambda folder: flip(folder / "data/library.sums", 0.5),
    "journal lost": lambda folder: (folder / JOURNAL).unlink(),
    "journal empty": lambda folder: cut(folder / JOURNAL, 0),
    "journal cut early": lambda folder: cut(folder / JOURNAL, 0.1),
    "journal cut": lambda folder: cut(folder / JOURNAL, 0.5),
    "journal cut late": lambda folder: cut(folder / JOURNAL, 0.95),
    "journal torn after its end": lambda folder: append(folder / JOURNAL, b"\0\1\2"),
    "journal with zeros after its end": lambda folder: append(folder / JOURNAL, bytes(4096)),
    "journal altered": lambda folder: flip(folder / JOURNAL, 0.5),
    "journal of another program": lambda folder: (folder / JOURNAL).write_bytes(b"nonsense"),
    "journal.new": lambda folder: leave(folder / f"{JOURNAL}.new"),
    "journal.distrusted": lambda folder: leave(folder / f"{JOURNAL}.distrusted"),
    "journal.distrusted.new": lambda folder: leave(folder / f"{JOURNAL}.distrusted.new"),
    "models journal.distrusted.new": lambda folder: leave(folder / "data/journal/models.journal.distrusted.new"),
    "staging of the run": lambda folder: leave(folder / "data/.staging/run/half"),
    "staging of models": lambda folder: leave(folder / "data/.staging/models/half"),
    "staging of nobody": lambda folder: leave(folder / "data/.staging/gone/half"),
    "stray file": lambda folder: leave(folder / "data/stray.txt"),
    "new vectors": lambda folder: leave(folder / "data/library.vectors.new"),
    "vectors of nobody": lambda folder: leave(folder / "data/library.vectors.000000000000000000000000.f32"),
    "new checksums": lambda folder: leave(folder / "data/library.sums.new"),
    "lock of a dead process": lambda folder: leave(folder / "data/locks/run.lock"),
    "manifest torn": lambda folder: append(manifest(folder), b'{"stage":'),
    "manifest cut": lambda folder: cut(manifest(folder), 0.5),
    "manifest altered": lambda folder: rewrite(manifest(folder), b'"duration_s":0.', b'"duration_s":1.'),
    "manifest repeats": lambda folder: repeat_row(manifest(folder)),
    "manifest lost": lambda folder: manifest(folder).unlink(),
    "manifest empty": lambda folder: cut(manifest(folder), 0),
    "manifest of zeros": lambda folder: manifest(folder).write_bytes(bytes(2000)),
    "library is a FIFO": lambda folder: pipe(folder / "data/library.sqlite"),
    "library is a folder": lambda folder: displace(folder / "data/library.sqlite"),
    "log is a FIFO": lambda folder: pipe(folder / "data/library.sqlite-wal"),
    "checksums are a FIFO": lambda folder: pipe(folder / "data/library.sums"),
    "vectors are a FIFO": lambda folder: pipe(find_vectors(folder)),
    "vectors are a folder": lambda folder: displace(find_vectors(folder)),
    "journal is a FIFO": lambda folder: pipe(folder / JOURNAL),
    "journal is a folder": lambda folder: displace(folder / JOURNAL),
    "manifest is a FIFO": lambda folder: pipe(manifest(folder)),
    "lock is a FIFO": lambda folder: (pipe(folder / "data/locks/run.lock"), pipe(folder / "data/locks/models.lock")),
}
UNNOTICED = {"lock of a dead process", "new checksums", "journal.distrusted"}
"""Files that the next run replaces, and the mark of a failed sync, which it removes."""


@pytest.mark.parametrize("name", DAMAGES)
def test_what_is_said_mends_it(folder: Path, name: str) -> None:
    DAMAGES[name](folder)
    found = verify(folder)
    assert (found.code == 0) == (name in UNNOTICED), found.out
    for _ in range(ROUNDS_MAX):
        problems = found.json["problems"]
        if not problems:
            break
        assert found.code == 6
        for problem in problems:
            assert "; " in problem["message"], problem
            mend(folder, problem["path"], problem["message"])
        found = verify(folder)
    assert found.json["problems"] == []
    assert found.code == 0
    Library(folder / "data").run(folder / "docs")
    assert verify(folder).code == 0
