"""Progress is on stderr: a bar where that is a terminal, plain lines elsewhere."""

import fcntl
import itertools
import json
import os
import pty
import re
import struct
import subprocess
import termios
from collections.abc import Iterator
from typing import IO

import pytest

from tests.support.command_line import COMMAND, GUARD_S, CommandLine, clean_environment

pytestmark = [pytest.mark.req("RUN-9"), pytest.mark.process]

LINE = re.compile(
    r"\[count\] \d+/\d+ \| succ \d+ \| skip \d+ \| fail \d+ \| \d+\.\d it/s \| ETA [-\d]{2}:[-\d]{2}:[-\d]{2}"
)

REPORT = " | 1.txt: page 31 of 900"
LINES_MAX = 5000
"""At an interval of 20 ms, more than a minute of lines: what no passing test reads."""


def on_a_terminal(cli: CommandLine, *arguments: str, columns: int = 200) -> tuple[int, str, str]:
    """Run a command with a terminal of so many columns for its stderr: exit code, stdout, and what was shown."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    program = subprocess.Popen(
        [COMMAND, *arguments],
        cwd=cli.folder,
        env=clean_environment() | {"TERM": "xterm"},
        stdout=subprocess.PIPE,
        stderr=theirs,
    )
    os.close(theirs)
    shown = b""
    try:
        while piece := os.read(ours, 65536):
            shown += piece
    except OSError:  # how a terminal says that everybody has left
        pass
    finally:
        os.close(ours)
    out, _ = program.communicate(timeout=GUARD_S)
    return program.returncode, out.decode(), shown.decode()


def without_colours(shown: str) -> str:
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", shown)


def test_on_a_terminal_there_is_a_bar(cli: CommandLine) -> None:
    cli.sources("one", "fail input", "skip no words")
    code, out, shown = on_a_terminal(cli, "stage", "jobs:count", "sources", "--json")
    assert (code, json.loads(out)["failed"]) == (3, 1)
    assert "\x1b[" in shown
    plain = without_colours(shown)
    assert "3/3" in plain
    assert re.search(r"succ 1 skip 1 fail 1 \| \d+\.\d it/s \| ETA \S+\s", plain)
    assert not LINE.search(plain)
    assert not re.search("lag|flight|buffered", plain)


def test_on_a_terminal_verbose_adds_what_the_engine_holds(cli: CommandLine) -> None:
    cli.sources("one")
    _, _, shown = on_a_terminal(cli, "stage", "jobs:count", "sources", "-v")
    assert re.search(r"\| \d+ in flight \| \S+ MB buffered \| lag", without_colours(shown))


@pytest.mark.parametrize("columns", [80, 120])
def test_a_run_has_one_bar_for_the_files_with_something_to_do(cli: CommandLine, columns: int) -> None:
    for number in range(9):
        cli.source(f"{number}.md", f"# Lamp {number}\n")
    cli.source("empty.md", "")
    cli.source("again.md", "# Lamp 1\n")
    code, _, shown = on_a_terminal(cli, "run", "sources", "--policy", "io", columns=columns)
    plain = without_colours(shown)
    assert code == 0
    bars = [line for line in re.split(r"[\r\n]+", plain) if line.startswith("run ")]
    assert re.search(r"9/9 \d+\.\d files/s\s*$", bars[-1]), "a copy and an empty file are nothing to do"
    assert max(map(len, bars)) <= columns
    assert not re.search("seq|lag|window|lease|flight|buffered|skip|ETA", plain)
    assert "11 files: 9 new, 1 copy, 1 not read   in " in plain
    cli.source("0.md", "# Lamp 0, trimmed\n")
    _, _, shown = on_a_terminal(cli, "run", "sources", "--policy", "io", columns=columns)
    assert " 1/1 " in without_colours(shown).split("11 files: ")[0]


def test_on_a_terminal_errors_of_the_command_are_coloured_and_quiet_hides_the_bar(cli: CommandLine) -> None:
    cli.sources("fail input")
    code, _, shown = on_a_terminal(cli, "stage", "jobs:count", "sources", "--quiet")
    assert code == 3
    assert shown.startswith("\x1b[31minorder:\x1b[0m count: 0 succeeded")


def read_until_reported(stream: IO[str]) -> Iterator[str]:
    """Read lines until three in a row say that the first of two items is committed, and what the second reports."""
    count = 0
    for line in itertools.islice(stream, LINES_MAX):
        yield line.strip()
        is_reported = line.startswith("[count] 1/2 | succ 1 | skip 0 | fail 0 | ") and line.strip().endswith(REPORT)
        count = count + 1 if is_reported else 0
        if count == 3:
            return
    pytest.fail("the report of the running item was not shown")


def test_into_a_pipe_goes_one_line_an_interval_and_a_last_one(cli: CommandLine) -> None:
    """The lines carry the report of the running item from the first look at the workers after it, until the item ends.
    How many lines go before that depends on the speed of the machine."""
    cli.sources("one")
    cli.held("1.txt")
    program = cli.start("stage", "jobs:chatty", "sources", "--workers", "1")
    cli.is_held("1.txt")
    assert program.stderr is not None
    lines = list(read_until_reported(program.stderr))
    assert [line for line in lines if not LINE.fullmatch(line.removesuffix(REPORT))] == []
    are_reported = [line.endswith(REPORT) for line in lines]
    assert are_reported == sorted(are_reported)
    cli.let_go("1.txt")
    last = [line for line in cli.end_of(program).err.splitlines() if line.startswith("[")][-1]
    assert LINE.fullmatch(last)
    assert last.startswith("[count] 2/2 | succ 2 | skip 0 | fail 0")


def test_verbose_adds_the_slowest_items_and_the_kinds_of_errors(cli: CommandLine) -> None:
    cli.sources("one", "fail input", "fail io")
    said = cli.stage("count", "-v").err
    assert re.search(r"  slowest: \d.txt \d\.\d\ds, ", said)
    assert re.search(r"  errors: (input 1, io 1|io 1, input 1)", said)
    assert "slowest" not in cli.stage("count", "--force").err


def test_a_plan_of_unknown_length_has_its_total_at_the_end(cli: CommandLine) -> None:
    cli.sources("one", "two")
    assert "[lazy] 2/2 | succ 2" in cli.stage("lazy").err
