"""Items that misbehave, and what else worker processes are given to do in tests.

Everything stands at the top level, because it travels to processes by name. Nothing heavy is imported here: each worker
process imports this module.
"""

import ctypes
import os
import pickle
import select
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

from inorder.errors import ItemError

GUARD_S = 60.0
"""What no passing test ever waits for: the machine may be slow, and busy with something else."""
PAUSE_S = 0.005
MEMORY_BYTES = 2 * 2**30
HOARD_BYTES = 128 * 2**20


def wait_until(condition: Callable[[], bool]) -> bool:
    """Whether it came to be within the guard."""
    end_s = time.monotonic() + GUARD_S
    while not condition():
        if time.monotonic() > end_s:
            return False
        time.sleep(PAUSE_S)
    return True


class Endings:
    """Processes that run now, watched by descriptors that are told of their end whoever their parent is."""

    def __init__(self, pids: Iterable[int]) -> None:
        self._descriptors = [os.pidfd_open(pid) for pid in pids]

    def come(self, within_s: float = GUARD_S) -> bool:
        """Whether all of them have ended."""
        end_s = time.monotonic() + within_s
        while self._descriptors:
            ended = select.select(self._descriptors, [], [], max(0.0, end_s - time.monotonic()))[0]
            if not ended:
                return False
            for descriptor in ended:
                os.close(descriptor)
                self._descriptors.remove(descriptor)
        return True


def is_running(pid: int) -> bool:
    """Whether there is such a process that has not ended; one that nobody has asked for its status yet has."""
    try:
        return Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


class Mischief(NamedTuple):
    """An item that does this; `path` is where it leaves a word about it."""

    name: str
    path: str = ""


class Sealed(Exception):
    """An exception that cannot be pickled."""

    def __init__(self) -> None:
        super().__init__("sealed")
        self.lock = threading.Lock()


def refuse(kind: str, message: str) -> None:
    raise {"ValueError": ValueError, "OSError": OSError, "SystemExit": SystemExit, "Mute": Mute}[kind](message)


class Mute(Exception):
    """An exception that cannot be printed."""

    def __str__(self) -> str:
        raise ValueError("no words")


class Unreadable:
    """Can be pickled, and then not be unpickled."""

    def __init__(self, kind: str = "ValueError") -> None:
        self.kind = kind

    def __reduce__(self) -> tuple[Any, ...]:
        return refuse, (self.kind, "cannot be put together")


class Unsendable:
    """Cannot be pickled."""

    def __init__(self, kind: type[BaseException] = TypeError) -> None:
        self.kind = kind

    def __reduce__(self) -> tuple[Any, ...]:
        raise self.kind("cannot be taken apart")


class Tensor:
    """Like an array: a large buffer, which pickle may take out of band."""

    def __init__(self, data: Any, shape: tuple[int, ...]) -> None:
        self.data = data
        self.shape = shape

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:
        return Tensor, (pickle.PickleBuffer(self.data), self.shape)


class Tee:
    """Stands in for a stream as far as `print` can tell."""

    def write(self, text: str) -> None:
        """Nowhere to."""

    def flush(self) -> None:
        """At once."""


def leave_word(path: str, word: int) -> None:
    """Write a number where the test looks for it, whole or not at all."""
    Path(f"{path}.part").write_text(str(word))
    os.replace(f"{path}.part", path)


def word_at(path: Path | str) -> int:
    assert wait_until(Path(path).exists), "no word was left"
    return int(Path(path).read_text())


def hold_interpreter(_: str = "") -> None:
    """Stay in C for good, with the interpreter's lock."""
    ctypes.PyDLL(None).pause()


def wait_for(path: str) -> None:
    """Stay until this file is there."""
    if not wait_until(Path(path).exists):
        raise AssertionError("it never came")


def _hang(path: str) -> None:
    leave_word(path, os.getpid())
    while True:
        signal.pause()


def _hang_beside_a_child(path: str) -> None:
    leave_word(path, subprocess.Popen(["sleep", "1000"]).pid)
    while True:
        signal.pause()


def _hang_in_c(path: str) -> None:
    leave_word(path, os.getpid())
    hold_interpreter()


def _ignore_the_request_to_end(path: str) -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    _hang(path)


def _raise_sealed(_: str) -> None:
    raise Sealed


def _raise_undecodable(_: str) -> None:
    raise ValueError("no such thing: caf\udce9.txt")


def _close_stream(_: str) -> None:
    print("the last word", flush=True)
    sys.stdout.close()


def _close_descriptor(_: str) -> None:
    os.close(1)


def _close_descriptor_and_linger(_: str) -> None:
    os.close(1)
    time.sleep(0.01)  # long enough to be looked at thoroughly


def _leave_child(path: str) -> None:
    leave_word(path, subprocess.Popen(["sleep", "1000"]).pid)
    time.sleep(0.01)


def _leave_child_at_once(path: str) -> None:
    leave_word(path, subprocess.Popen(["sleep", "1000"]).pid)


def _wait_beside_a_child(path: str) -> None:
    stay_a_while(0)  # the system knows when a process began to a hundredth of a second
    with subprocess.Popen(["sleep", "1000"]) as child:
        wait_for(path)
        child.kill()


def _leave_family(path: str) -> None:
    script = f"sleep 1000 & echo $! > {path}.part; mv {path}.part {path}; wait"
    subprocess.Popen(["sh", "-c", script])
    wait_for(path)


def _leave_fork_and_exit(path: str) -> None:
    if os.fork() == 0:
        _hang(path)
    wait_for(path)
    os._exit(3)


def _replace_stream(_: str) -> None:
    sys.stdout = Tee()  # type: ignore[assignment]


def _want_memory(_: str) -> int:
    return len(bytearray(2 * MEMORY_BYTES))


def _die_once_then_stumble_once(path: str) -> str:
    if not Path(path).exists():
        Path(path).touch()
        os.kill(os.getpid(), signal.SIGKILL)
    if not Path(f"{path}.again").exists():
        Path(f"{path}.again").touch()
        raise ConnectionError("not yet")
    return "at last"


MISCHIEF: dict[str, Callable[[str], Any]] = {
    "kill": lambda path: os.kill(os.getpid(), signal.SIGKILL),
    "segfault": lambda path: ctypes.string_at(0),
    "exit": lambda path: os._exit(3),
    "hang": _hang,
    "hang in C": _hang_in_c,
    "hang beside a child": _hang_beside_a_child,
    "hang and ignore SIGTERM": _ignore_the_request_to_end,
    "raise sealed": _raise_sealed,
    "raise undecodable": _raise_undecodable,
    "return unsendable": lambda path: Unsendable(),
    "return unreadable": lambda path: Unreadable(),
    "return unreadable, as of the disk": lambda path: Unreadable("OSError"),
    "return unreadable, as an exit": lambda path: Unreadable("SystemExit"),
    "return unreadable, without words": lambda path: Unreadable("Mute"),
    "close stream": _close_stream,
    "close descriptor": _close_descriptor,
    "close descriptor and linger": _close_descriptor_and_linger,
    "leave child": _leave_child,
    "leave child at once": _leave_child_at_once,
    "leave family": _leave_family,
    "leave fork and exit": _leave_fork_and_exit,
    "replace stream": _replace_stream,
    "want memory": _want_memory,
    "die once, then stumble once": _die_once_then_stumble_once,
    "50 MB": lambda path: b"\xab" * (50 * 2**20),
    "tensor": lambda path: Tensor(bytearray(b"\xcd" * (8 * 2**20)), (8, 2**20)),
    "wait": wait_for,
    "wait beside a child": _wait_beside_a_child,
}


def stay_a_while(number: int) -> int:
    """Take twenty milliseconds of the processor."""
    until_s = time.thread_time() + 0.02
    while time.thread_time() < until_s:
        pass
    return number


def serve(item: Any) -> Any:
    """Twice a number, at once; or the mischief."""
    return MISCHIEF[item.name](item.path) if isinstance(item, Mischief) else item * 2


def serve_slowly(item: Any) -> Any:
    """The same, but no number is so fast that the worker does not look around after it."""
    if not isinstance(item, Mischief):
        time.sleep(0.003)
    return serve(item)


def whoami(_: Any) -> int:
    """Which process it is."""
    return os.getpid()


def whoami_slowly(_: Any) -> int:
    time.sleep(0.003)
    return os.getpid()


_hoard: list[bytearray] = []


def hoard(item: Any) -> int:
    """Which process it is; on the item `hoard` its memory grows for good."""
    if item == "hoard":
        _hoard.append(bytearray(b"\x01") * HOARD_BYTES)
    return os.getpid()


def sign(path: str) -> int:
    """Leave the worker's pid at this path."""
    leave_word(path, os.getpid())
    return os.getpid()


def sign_or_wait(item: Any) -> Any:
    """Leave the worker's pid at the path, or make the mischief."""
    return serve(item) if isinstance(item, Mischief) else sign(item)


def wait_for_the_others(item: tuple[str, int, bool]) -> int:
    """Sign, but first, if this is the one that waits, see everybody else's signature."""
    folder, number, is_last = item
    others = Path(folder)
    if is_last and not wait_until(lambda: len(list(others.glob("*.done"))) == 39):
        raise AssertionError("the others never came")
    leave_word(f"{folder}/{number}.done", os.getpid())
    return number


def hold_interpreter_for(milliseconds: int) -> int:
    """Stay in C with the interpreter's lock for so long."""
    ctypes.PyDLL(None).usleep(milliseconds * 1000)
    return milliseconds


@contextmanager
def ended_at_last(path: str) -> Any:
    """Whatever happens, the process that left its word there does not outlive the test."""
    try:
        yield
    finally:
        if Path(path).exists():
            with suppress(OSError):
                os.kill(word_at(path), signal.SIGKILL)


def the_one_failure_in(results: list[Any], guilty: int, item: Any) -> ItemError:
    """The error of the guilty item, after all others were found as they should be."""
    assert results[:guilty] + results[guilty + 1 :] == [seq * 2 for seq in range(len(results)) if seq != guilty]
    error = results[guilty]
    assert isinstance(error, ItemError)
    assert (error.seq, error.item) == (guilty, item)
    return error
