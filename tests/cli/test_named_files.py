"""What a user names may be a pipe or a device: it stays what it is, and waiting for it answers signals."""

import os
import signal
import stat
import threading
from pathlib import Path

import pytest

from tests.support.command_line import GUARD_S, CommandLine

pytestmark = [pytest.mark.process, pytest.mark.req("ROB-1")]

RUN = ("run", "sources", "--policy", "io")


@pytest.fixture
def pipe(cli: CommandLine) -> Path:
    cli.source("a.md", "# A lamp\n")
    os.mkfifo(cli.folder / "pipe")
    return cli.folder / "pipe"


def is_pipe(path: Path) -> bool:
    return stat.S_ISFIFO(path.stat().st_mode)


def read_all(pipe: Path) -> tuple[threading.Thread, list[bytes]]:
    """Read a pipe to its end, in a thread."""
    found: list[bytes] = []
    thread = threading.Thread(target=lambda: found.append(pipe.read_bytes()), daemon=True)
    thread.start()
    return thread, found


def test_a_fifo_as_a_source_is_not_read(cli: CommandLine, pipe: Path) -> None:
    ended = cli.run("run", "pipe", "--policy", "io")
    assert ended.code == 0
    assert "1 file: 1 not read" in ended.err


def test_a_report_is_written_into_a_pipe(cli: CommandLine, pipe: Path) -> None:
    assert cli.run(*RUN).code == 0
    thread, found = read_all(pipe)
    program = cli.start("report", "--output", "pipe")
    assert cli.end_of(program).code == 0
    thread.join(timeout=GUARD_S)
    assert found[0].startswith(b"<!doctype html>")
    assert is_pipe(pipe)


def test_a_report_into_a_pipe_that_nobody_reads_is_one_line(cli: CommandLine, pipe: Path) -> None:
    assert cli.run(*RUN).code == 0
    ended = cli.end_of(cli.start("report", "--output", "pipe"))
    assert ended.code == 2
    assert ended.err == (
        "inorder: pipe cannot be written: nobody reads from this pipe, or it is a socket; choose another with -o\n"
    )
    assert is_pipe(pipe)


def test_a_run_does_not_wait_for_whoever_reads_its_metrics(cli: CommandLine, pipe: Path) -> None:
    assert cli.run(*RUN, "--set", "metrics_file=pipe").code == 0
    assert is_pipe(pipe)


def test_passwords_come_from_a_regular_file(cli: CommandLine, pipe: Path) -> None:
    ended = cli.run(*RUN, "--password-file", "pipe")
    assert ended.code == 2
    assert "pipe cannot be read: not a regular file" in ended.err


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_waiting_for_questions_from_a_pipe_hears_a_signal(cli: CommandLine, pipe: Path, number: int) -> None:
    assert cli.run(*RUN).code == 0
    program = cli.start("eval", "pipe", "pipe")
    with pipe.open("wb", buffering=0):  # opens once the command reads from the pipe, and writes nothing
        program.send_signal(number)
        assert cli.end_of(program).code == 128 + number


def test_questions_may_come_from_pipes(cli: CommandLine, pipe: Path) -> None:
    assert cli.run(*RUN).code == 0
    (cli.folder / "judged").write_text("q1\t0\ta.md\t1\n")
    program = cli.start("eval", "pipe", "judged", "--json")
    pipe.write_text('{"_id": "q1", "text": "lamp"}\n')
    ended = cli.end_of(program)
    assert ended.code == 0, ended.err
