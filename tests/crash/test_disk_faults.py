"""The disk fails under a command: it ends with one line and its exit code, and the next one ends as without the fault.

Each fault takes the place of one call of the operating system, below the real filesystem class and below SQLite. Some
calls are drawn, the same ones each time; `FAULTS=all` takes every call.
"""

import json
import os
import shutil
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from inorder import InorderError, imap
from tests.index.published import read_published
from tests.support.command_line import CommandLine, CommandResult
from tests.support.disk_faults import FAULT_KINDS, HARMLESS, WRITES, FaultKind, disk_of
from tests.support.system_calls import Operation

pytestmark = [pytest.mark.slow, pytest.mark.req("RUN-7", "CLI-3")]
RUN = ("run", "sources", "--policy", "io", "--workers", "1", "--dense", "hash:16")
ROOT = Path(__file__).parents[2]
DRAWN = 6
"""Calls for each kind of fault."""
OPTIONAL = ("telemetry", "cache", "library.sums")
"""What a run does without: it goes on if it cannot be written."""
AT_THE_END = ("library.sqlite", "library.sqlite-wal", "library.sqlite-journal", ".")
"""What is tidied up after everything is committed and visible."""
Published = object


@pytest.fixture
def cli(tmp_path: Path) -> Iterator[CommandLine]:
    found = CommandLine(tmp_path)
    found.source("lamp.md", "# Lamp\n\nThe wick.\n")
    found.source("lamp.py", "def light():\n    return 1\n")
    found.source("oil.txt", "oil " * 300)
    yield found
    found.close()


def draw_calls(log: Sequence[Operation], kind: FaultKind) -> list[int]:
    """The numbers of the calls that fail: every one to which the fault can happen, or some, which are the same each
    time."""
    is_write = kind in ("torn", *HARMLESS)
    numbers = [number for number, (name, _) in enumerate(log) if name in WRITES or not is_write]
    if os.environ.get("FAULTS") == "all":
        return numbers
    step = len(numbers) / DRAWN
    first = FAULT_KINDS.index(kind) / len(FAULT_KINDS)
    return [numbers[place] for place in sorted({int((turn + first) * step) for turn in range(DRAWN)})]


def assert_one_line(ended: CommandResult) -> None:
    """It failed with one line that says why, and no traceback."""
    lines = [line for line in ended.err.splitlines() if line.startswith("inorder: ")]
    assert len(lines) == 1, ended.err
    assert "Traceback" not in ended.err
    assert "this is a bug" not in ended.err


def run_undisturbed(cli: CommandLine) -> tuple[Published, list[Operation]]:
    """What a run without a fault publishes, and its calls."""
    with disk_of(cli.data) as disk:
        assert cli.run_in_process(*RUN).code == 0
    published = read_published(cli.data)
    shutil.rmtree(cli.data)
    return published, disk.calls.log


@pytest.mark.parametrize("kind", FAULT_KINDS)
def test_a_run_ends_clearly_and_the_next_one_completes_it(cli: CommandLine, kind: FaultKind) -> None:
    expected, log = run_undisturbed(cli)
    codes: set[int] = set()
    for number in draw_calls(log, kind):
        shutil.rmtree(cli.data, ignore_errors=True)
        with disk_of(cli.data, kind, number) as disk:
            ended = cli.run_in_process(*RUN)
        where = f"{kind} at call {number}, {disk.struck}"
        codes.add(ended.code)
        if ended.code == 1:
            assert kind not in HARMLESS, where
            assert_one_line(ended)
        elif ended.code == 3:  # what a worker writes is the matter of its item
            assert disk.struck is not None, where
            assert disk.struck[1].startswith(".staging/"), where
            assert "(io): " in ended.err, where
        else:
            assert ended.code == 0, f"{where}: {ended}"
            assert kind in HARMLESS or disk.struck is None or disk.struck[1].startswith((*OPTIONAL, *AT_THE_END)), where
            assert read_published(cli.data) == expected, where
        again = cli.run_in_process(*RUN)
        assert again.code == 0, f"{where}: {again.err}"
        assert read_published(cli.data) == expected, where
        assert cli.run("verify").code == 0, where
    assert codes == {0} if kind in HARMLESS else 1 in codes


@pytest.mark.parametrize("kind", FAULT_KINDS)
@pytest.mark.parametrize("file_format", ["parquet", "jsonl", "files"])
def test_an_export_ends_clearly_and_the_next_one_completes_it(
    cli: CommandLine, kind: FaultKind, file_format: str
) -> None:
    assert cli.run_in_process(*RUN).code == 0
    export = ("export", "all", "--to", "out", "--format", file_format)
    out = cli.folder / "out"

    def read_files() -> dict[str, bytes]:
        files = [path for path in sorted(out.rglob("*")) if path.is_file() and path.name != "lock"]
        return {str(path.relative_to(out)): path.read_bytes() for path in files}

    with disk_of(out) as disk:
        assert cli.run(*export).code == 0
    expected, log = read_files(), disk.calls.log
    assert len(log) > 5
    codes: set[int] = set()
    for number in draw_calls(log, kind)[:: 1 if file_format == "parquet" else 2]:
        shutil.rmtree(out, ignore_errors=True)
        with disk_of(out, kind, number) as disk:
            ended = cli.run(*export)
        where = f"{kind} at call {number}, {disk.struck}"
        codes.add(ended.code)
        if ended.code:
            assert ended.code == 1, f"{where}: {ended}"
            assert kind not in HARMLESS, where
            assert_one_line(ended)
        assert cli.run(*export).code == 0, where
        assert read_files() == expected, where
    assert codes == {0} if kind in HARMLESS else 1 in codes


def is_refused(iterate: Callable[[list[int]], None], taken: list[int]) -> bool:
    """Whether the disk ends an iteration, with an error that is one line and blames the machine."""
    try:
        iterate(taken)
    except InorderError as error:
        return (error.exit_code, "\n" in str(error)) == (1, False) or pytest.fail(repr(error))
    return False


@pytest.mark.parametrize("file", ["library.sqlite", "library.sqlite-wal", "library.sqlite-journal"])
def test_a_file_of_sqlite_that_finds_no_room_is_the_fault_of_the_disk(cli: CommandLine, file: str) -> None:
    expected, log = run_undisturbed(cli)
    with disk_of(cli.data, "no space", log.index(("create", file))) as disk:
        ended = cli.run_in_process(*RUN)
    assert (ended.code, disk.struck) == (1, ("create", file)), ended.err
    assert_one_line(ended)
    assert cli.run_in_process(*RUN).code == 0
    assert read_published(cli.data) == expected


def double(number: int) -> int:
    return 2 * number


@pytest.mark.parametrize("where", ["inline", "threads"])
@pytest.mark.parametrize("kind", FAULT_KINDS)
def test_an_iteration_ends_clearly_and_the_next_one_goes_on(tmp_path: Path, kind: FaultKind, where: str) -> None:
    folder = tmp_path / "work"

    def iterate(taken: list[int]) -> None:
        taken.extend(imap(double, range(20), journal=folder / "run.journal", where=where))

    folder.mkdir()
    with disk_of(folder) as disk:
        iterate(expected := [])
    failed = 0
    for number in draw_calls(disk.calls.log, kind):
        shutil.rmtree(folder)
        folder.mkdir()
        taken: list[int] = []
        with disk_of(folder, kind, number) as disk:
            failed += is_refused(iterate, taken)
        assert taken == expected[: len(taken)]
        first, rest = len(taken), []
        iterate(rest)
        assert rest == expected[len(expected) - len(rest) :], f"{kind} at call {number}, {disk.struck}"
        assert first + len(rest) >= len(expected), "a result is lost"
        assert first + len(rest) <= len(expected) + 1, "only the last one may be repeated"
    assert bool(failed) != (kind in HARMLESS)


def find_call(log: Sequence[Operation], name: str, place: str) -> int:
    """The number of a call in the middle of those of this name and file."""
    found = [number for number, operation in enumerate(log) if operation == (name, place)]
    return found[len(found) // 2]


@pytest.mark.process
@pytest.mark.parametrize(
    ("kind", "name", "place", "is_retried"),
    [
        ("no space", "create", "library.sqlite-wal", True),
        ("no space", "write", "library.sqlite-wal", True),
        ("no space", "append", "journal/run.journal", True),
        ("torn", "append", "manifests/index.jsonl", True),
        ("failing", "sync", "journal/run.journal", True),
        ("short", "append", "journal/run.journal", False),
    ],
)
def test_a_watch_goes_on_after_the_disk_has_failed(
    cli: CommandLine, kind: FaultKind, name: str, place: str, is_retried: bool
) -> None:
    expected, log = run_undisturbed(cli)
    number = find_call(log, name, place)
    program = [sys.executable, "-m", "tests.crash.faulty_command", str(cli.data), kind, str(number)]
    cli.command = program
    watch = cli.start("watch", "sources", "--json", "--settle", "0.05", *RUN[2:], PYTHONPATH=str(ROOT))
    assert watch.stdout is not None
    ended = []
    for event in map(json.loads, watch.stdout):
        if event["event"] == "run_ended":
            ended.append(event["exit_code"])
        if ended[-1:] == [0]:
            break
    watch.send_signal(signal.SIGTERM)
    result = cli.end_of(watch)
    assert (ended, result.code) == ([1, 0] if is_retried else [0], 143), result.err
    assert "Traceback" not in result.err
    assert read_published(cli.data) == expected
