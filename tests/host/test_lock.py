"""One holder at a time, also across processes and deaths."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from inorder.errors import BusyError, InfrastructureError
from inorder.host.lock import Lock

HOLD = """
import sys
from inorder.host.lock import Lock
lock = Lock(sys.argv[1], "it")
print("held", flush=True)
sys.stdin.read()
"""


@pytest.mark.process
def test_another_process_has_it_until_it_dies(tmp_path: Path) -> None:
    path = str(tmp_path / "it.lock")
    command = [sys.executable, "-c", HOLD, path]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        with pytest.raises(
            BusyError,
            match=rf"^it is in use by process {holder.pid} on .+ since \d{{4}}-.+; wait until it ends, or stop it$",
        ):
            Lock(path, "it")
        holder.send_signal(signal.SIGKILL)
    Lock(path, "it").release()


def test_the_file_of_a_lock_is_never_removed_and_names_its_latest_holder(tmp_path: Path) -> None:
    path = tmp_path / "it.lock"
    path.write_text("12345678901234567890\n")
    number = path.stat().st_ino
    for _ in range(2):
        lock = Lock(str(path), "it")
        assert path.read_text().startswith(f"process {os.getpid()} on ")
        lock.release()
        lock.release()
    assert path.stat().st_ino == number


def test_a_holder_that_has_not_said_its_number_is_another_process(tmp_path: Path) -> None:
    path = tmp_path / "it.lock"
    lock = Lock(str(path), "it")
    path.write_text("")
    with pytest.raises(BusyError, match=r"^it is in use by another process; wait until it ends, or stop it$"):
        Lock(str(path), "it")
    lock.release()


def test_a_lock_that_cannot_be_made_is_the_machines_fault(tmp_path: Path) -> None:
    with pytest.raises(InfrastructureError, match=r"^it cannot be locked: .*No such file"):
        Lock(str(tmp_path / "missing" / "it.lock"), "it")


def test_a_refused_lock_leaves_no_file_open(tmp_path: Path) -> None:
    path = str(tmp_path / "lock")
    lock = Lock(path, "it")
    before = os.listdir("/proc/self/fd")
    with pytest.raises(BusyError) as caught:
        Lock(path, "it")
    assert len(os.listdir("/proc/self/fd")) == len(before)
    assert "in use by process" in str(caught.value)
    lock.release()
