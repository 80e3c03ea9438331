"""A process with everything loaded that does errands in copies of itself: a line each, and a line in answer.

A process that starts from nothing takes a quarter of a second, a fork some milliseconds. The template has no threads.
Whatever a copy leaves behind when it dies becomes the template's own, which waits for all of it: an orphan that does
not end by itself is told of, and killed.
"""

import ctypes
import gc
import os
import signal
import sys
import time
import traceback

import msgspec

from tests.crash.program import Errand, run

GUARD_S = 60.0
"""What no passing test ever waits for."""
_PR_SET_CHILD_SUBREAPER = 36


class Answer(msgspec.Struct):
    """What became of an errand."""

    status: int
    """Of the process: 0 it went to its end, 1 it failed, -9 it was killed."""
    orphans: int
    """Processes that it left behind and that had to be killed."""


def main() -> None:
    """Until there are no more lines."""
    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGCHLD})
    gc.freeze()  # or every copy would copy all of it as soon as it collects garbage
    for line in sys.stdin.buffer:
        errand = msgspec.json.decode(line, type=Errand)
        answer = msgspec.json.encode(do(errand))
        sys.stdout.buffer.write(answer + b"\n")
        sys.stdout.buffer.flush()


def do(errand: Errand) -> Answer:
    """Fork, and wait until nothing of it is left."""
    child = os.fork()
    if child == 0:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGCHLD})
        os._exit(_perform(errand))
    _, status = os.waitpid(child, 0)
    return Answer(os.waitstatus_to_exitcode(status), _orphans())


def _perform(errand: Errand) -> int:
    try:
        run(errand)
    except BaseException:
        traceback.print_exc()
        return 1
    return 0


def _orphans() -> int:
    """How many processes had to be killed; they come to us one by one, as their parents end."""
    killed = 0
    deadline_s = time.monotonic() + GUARD_S
    while True:
        try:
            ended, _ = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return killed
        if ended:
            continue
        if time.monotonic() > deadline_s:
            for orphan in _children():
                killed += 1
                os.kill(orphan, signal.SIGKILL)
                os.waitpid(orphan, 0)
        else:
            signal.sigtimedwait({signal.SIGCHLD}, 1.0)


def _children() -> list[int]:
    with open(f"/proc/self/task/{os.getpid()}/children", encoding="ascii") as file:
        return [int(pid) for pid in file.read().split()]
