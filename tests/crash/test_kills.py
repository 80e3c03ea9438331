"""Real processes, killed before, within or after each of their durable operations, and followed by others.

No loss of power here: what the simulated disk cannot show is that real processes end with all they have started, that
locks and databases are left so that the next one can go on, and that the operating system is as it was imagined.
"""

import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from itertools import count
from pathlib import Path
from signal import SIGKILL
from typing import IO
from zlib import crc32

import msgspec
import pytest

from inorder.host.filesystem import SystemFilesystem
from inorder.journal.writer import FsyncPolicy
from inorder.runtime.recovery import read_journal
from inorder.sinks.base import Entry, Output
from inorder.sinks.manifest import complete_lines
from tests.crash.program import HEAD, SUCCESS, Errand, row_of
from tests.crash.template import Answer
from tests.crash.worker import ITEMS, STAGING, fails, files_of

ROOT = Path(__file__).parents[2]
FAIL = 5
KILLED = -SIGKILL

Do = Callable[[Errand], Answer]
"""Sends a process on an errand, and waits until nothing of it is left."""


@pytest.fixture(scope="module")
def do() -> Iterator[Do]:
    command = [sys.executable, "-c", "from tests.crash.template import main; main()"]
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as template:
        asked, answers = template.stdin, template.stdout
        assert asked is not None
        assert answers is not None
        yield lambda errand: _sent(errand, asked, answers)
        asked.close()
    assert template.returncode == 0


def _sent(errand: Errand, asked: IO[bytes], answers: IO[bytes]) -> Answer:
    asked.write(msgspec.json.encode(errand) + b"\n")
    asked.flush()
    return msgspec.json.decode(answers.readline(), type=Answer)


class Place:
    """The folder of one run."""

    def __init__(self, path: Path) -> None:
        self.path = path
        path.mkdir()

    def files(self, folder: str) -> dict[str, bytes]:
        """Every file in a folder of it, and below."""
        top = self.path / folder
        return {str(path.relative_to(top)): path.read_bytes() for path in top.rglob("*") if path.is_file()}

    def manifest(self) -> bytes:
        path = self.path / "manifest.jsonl"
        return path.read_bytes() if path.exists() else b""

    def committed(self) -> int:
        """How many items the journal says are committed."""
        path = self.path / "run.journal"
        if not path.exists():
            return 0
        return read_journal(SystemFilesystem(), str(path))[1].newest_candidate.end

    def ran(self, life: int) -> list[int]:
        """Items that somebody worked on in this life."""
        path = self.path / f"ran-{life}"
        return [int(line) for line in path.read_text().split()] if path.exists() else []

    def rows(self) -> list[tuple[int, int]]:
        with closing(sqlite3.connect(self.path / "results.sqlite")) as reader:
            assert reader.execute('SELECT "end" FROM inorder_position').fetchall() == [(ITEMS,)]
            return reader.execute("SELECT seq, files FROM results ORDER BY rowid").fetchall()


def wanted_files() -> dict[str, bytes]:
    return {path: data for item in range(ITEMS) if not fails(item) for path, data in files_of(item).items()}


def wanted_manifest() -> bytes:
    rows = [*HEAD]
    for item in range(ITEMS):
        outputs = [] if fails(item) else [Output(path, len(data), crc32(data)) for path, data in files_of(item).items()]
        rows.append(row_of(Entry(item, FAIL if fails(item) else SUCCESS, item=item, outputs=outputs)))
    return b"".join(msgspec.json.encode(row) + b"\n" for row in rows)


def look(place: Place) -> None:
    """What a reader finds beside the dead: whole rows and whole files, all of them right."""
    rows = b"".join(line + b"\n" for line in complete_lines(place.manifest()))
    assert wanted_manifest().startswith(rows)
    assert place.files("out").items() <= wanted_files().items()


def check_end(place: Place, errand: Errand) -> None:
    """All is there, and nothing else."""
    assert place.manifest() == wanted_manifest()
    assert place.files("out") == wanted_files()
    assert place.files(STAGING) == {}
    assert place.committed() == ITEMS
    if errand.has_database:
        assert place.rows() == [(item, len(files_of(item))) for item in range(ITEMS) if not fails(item)]


def killed(do: Do, place: Place, errand: Errand, resume_journal: str = "inline") -> bool:
    """Have it killed, and another go on. Whether it came to that, or went to its end first."""
    answer = do(errand)
    assert answer.orphans == 0, "a worker outlived its program"
    assert answer.status in (0, KILLED)
    look(place)
    committed = place.committed()
    if answer.status == KILLED:
        again = msgspec.structs.replace(errand, life=1, kill_at=-1, engine=resume_journal)
        assert do(again) == Answer(status=0, orphans=0)
        assert set(place.ran(1)).isdisjoint(range(committed)), f"{committed} were committed, ran {place.ran(1)}"
        assert set(place.ran(1)) >= set(range(committed, ITEMS))
    check_end(place, errand)
    return answer.status == KILLED


def kill_everywhere(do: Do, folder: Path, errand: Errand, *, first: int = 0, step: int = 1) -> int:
    """Kill it at one operation after the other, until it gets to its end before. How often that was. Now and then the
    one that goes on has the same kind of workers."""
    for number, kill_at in enumerate(count(first, step)):
        place = Place(folder / str(kill_at))
        where = msgspec.structs.replace(errand, folder=str(place.path), kill_at=kill_at)
        if not killed(do, place, where, errand.engine if number % 12 == 11 else "inline"):
            return number
    raise AssertionError("it never ends")


@pytest.mark.req("COM-2", "JRN-3", "JRN-7")
@pytest.mark.parametrize(("policy", "step"), [("batch", 1), ("always", 2), ("interval", 2), ("off", 2)])
def test_a_process_killed_before_any_operation_is_followed_by_one_that_ends_the_same(
    do: Do, tmp_path: Path, policy: FsyncPolicy, step: int
) -> None:
    assert kill_everywhere(do, tmp_path, Errand(folder="", fsync=policy), step=step) >= 120 // step


@pytest.mark.req("JRN-5", "JRN-7")
def test_a_process_killed_within_a_write_leaves_a_torn_end_that_is_cut(do: Do, tmp_path: Path) -> None:
    errand = Errand(folder="", fsync="always", has_database=True, moment="within")
    assert kill_everywhere(do, tmp_path, errand, step=2) >= 75


@pytest.mark.req("COM-3", "JRN-3", "JRN-7")
def test_a_process_that_commits_on_a_thread_of_its_own_can_be_killed_after_any_operation(
    do: Do, tmp_path: Path
) -> None:
    errand = Errand(folder="", engine="threads", commit_thread=True, has_database=True, moment="after")
    assert kill_everywhere(do, tmp_path, errand, step=2) >= 55


@pytest.mark.req("JRN-3", "JRN-7")
@pytest.mark.parametrize(
    ("moment", "has_database", "first"),
    [("before", False, 0), ("after", False, 1), ("before", True, 2), ("after", True, 0)],
)
def test_a_program_with_worker_processes_is_killed_with_them_and_another_goes_on(
    do: Do, tmp_path: Path, moment: str, has_database: bool, first: int
) -> None:
    errand = Errand(folder="", engine="processes", has_database=has_database, moment=moment)
    assert kill_everywhere(do, tmp_path, errand, first=first, step=3) >= 26


def test_a_run_that_went_to_its_end_is_not_done_again(do: Do, tmp_path: Path) -> None:
    place = Place(tmp_path / "run")
    assert do(Errand(folder=str(place.path))) == Answer(status=0, orphans=0)
    check_end(place, Errand(folder=""))
    assert sorted(set(place.ran(0))) == list(range(ITEMS))
    before = place.manifest()
    assert do(Errand(folder=str(place.path), life=1)) == Answer(status=0, orphans=0)
    assert place.ran(1) == [], "a run that went to its end was done again"
    assert place.manifest() == before
