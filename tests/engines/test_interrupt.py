"""A program that is interrupted or killed, or leaves the loop, leaves no worker process behind."""

import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from inorder import imap
from tests.support.misbehaviour import GUARD_S, Endings, is_running, wait_until

pytestmark = pytest.mark.process

ROOT = Path(__file__).parents[2]

Start = Callable[[str], subprocess.Popen[str]]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Start the program, and kill it at the end."""
    programs: list[subprocess.Popen[str]] = []

    def start(how: str) -> subprocess.Popen[str]:
        command = [sys.executable, "-m", "tests.engines.interruptible", str(tmp_path), how]
        pipe = subprocess.PIPE
        programs.append(subprocess.Popen(command, cwd=ROOT, stdin=pipe, stdout=pipe, stderr=pipe, text=True))
        return programs[-1]

    yield start
    for program in programs:
        program.kill()
        program.communicate(timeout=GUARD_S)


def workers_in(folder: Path) -> list[int]:
    """The pids of the two workers, once both are at work."""
    assert wait_until(lambda: len(list(folder.glob("*.pid"))) == 2), "the workers never came"
    return [int(path.stem) for path in folder.glob("*.pid")]


@pytest.mark.parametrize("how", ["python", "c"])
def test_an_interrupt_of_the_program_surfaces_and_ends_its_workers(start: Start, tmp_path: Path, how: str) -> None:
    program = start(how)
    pids = workers_in(tmp_path)
    endings = Endings(pids)
    program.send_signal(signal.SIGINT)
    _, errors = program.communicate(timeout=GUARD_S)
    assert program.returncode == -signal.SIGINT
    assert errors.strip().endswith("KeyboardInterrupt")
    assert endings.come(within_s=0), "a worker outlived the program that had waited for it"
    assert not any(map(is_running, pids))


@pytest.mark.parametrize("how", ["python", "c"])
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_workers_die_with_the_program(start: Start, tmp_path: Path, how: str, number: signal.Signals) -> None:
    program = start(how)
    endings = Endings(workers_in(tmp_path))
    program.send_signal(number)
    assert program.wait(GUARD_S) == -number
    assert endings.come(), "a worker outlived the program"


def describe_interrupts(_: int) -> tuple[bool, bool, str]:
    """Whether SIGINT is ignored, whether it is blocked, and the signals that are blocked in a child process."""
    show = "import signal; print([*signal.pthread_sigmask(signal.SIG_BLOCK, [])])"
    child = subprocess.run([sys.executable, "-c", show], capture_output=True, text=True, check=True)
    is_blocked = signal.SIGINT in signal.pthread_sigmask(signal.SIG_BLOCK, [])
    return signal.getsignal(signal.SIGINT) == signal.SIG_IGN, is_blocked, child.stdout.strip()


def test_items_and_the_processes_they_start_have_interrupts_ignored_and_not_blocked() -> None:
    assert list(imap(describe_interrupts, range(2), workers=2)) == [(True, False, "[]")] * 2


@pytest.mark.parametrize("how", ["break", "collect"])
def test_a_program_that_leaves_the_loop_has_no_workers_any_more(start: Start, tmp_path: Path, how: str) -> None:
    program = start(how)
    assert program.stdout is not None
    assert program.stdout.readline() == "left\n"
    pids = workers_in(tmp_path)
    assert program.poll() is None
    assert not any(map(is_running, pids)), "the program goes on, and so does a worker"


def test_a_program_that_leaves_the_loop_ends_with_its_workers(start: Start, tmp_path: Path) -> None:
    program = start("break")
    assert program.stdout is not None
    assert program.stdout.readline() == "left\n"
    pids = workers_in(tmp_path)
    program.communicate(timeout=GUARD_S)
    assert program.returncode == 0
    assert not any(map(is_running, pids))
