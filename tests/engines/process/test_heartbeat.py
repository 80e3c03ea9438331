"""Worker processes that are stopped or wedged, for real."""

import os
import pickle
import signal
import threading
from pathlib import Path

import pytest

import inorder
from inorder.engines.process.shared_status import SharedStatus
from inorder.engines.process.worker_process import ProcessOptions, WorkerProcess
from tests.engines.process.silent import compute_until, hold_interpreter, tell_pid_and_wait
from tests.support.misbehaviour import wait_until

LEASE_S = 2.0
"""A process whose start takes longer is replaced, which changes no result."""


@pytest.mark.process
@pytest.mark.req("HBT-1")
def test_the_item_of_a_stopped_worker_process_is_done_by_another(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "never")
    stopped: list[int] = []

    def stop_worker() -> None:
        assert wait_until((tmp_path / "pid").exists)
        stopped.append(int((tmp_path / "pid").read_text()))
        os.kill(stopped[0], signal.SIGSTOP)

    stopper = threading.Thread(target=stop_worker)
    stopper.start()
    [pid] = inorder.imap(tell_pid_and_wait, [str(tmp_path)], workers=1, options=inorder.RunOptions(lease_s=LEASE_S))
    stopper.join()
    assert pid not in (0, *stopped)
    assert wait_until(lambda: not Path(f"/proc/{stopped[0]}").exists())


@pytest.mark.process
@pytest.mark.slow
@pytest.mark.req("HBT-1")
def test_an_item_that_wedges_two_processes_fails_and_the_others_are_done() -> None:
    found = list(
        inorder.imap(hold_interpreter, range(3), workers=2, errors="yield", options=inorder.RunOptions(lease_s=LEASE_S))
    )
    assert found[0] == 0
    assert found[2] == 2
    assert isinstance(found[1], inorder.ItemError)
    assert f"its process gave no heartbeat for {LEASE_S:g} s" in found[1].message


@pytest.mark.process
@pytest.mark.req("HBT-1")
def test_a_process_that_computes_in_python_gives_heartbeats(tmp_path: Path) -> None:
    worker = WorkerProcess(pickle.dumps(compute_until), ProcessOptions())
    try:
        worker.send([(0, 1, pickle.dumps(str(tmp_path / "enough")))], 2**20)
        beats: set[int] = set()

        def has_beaten() -> bool:
            beats.add(worker.status.find_last_beat())
            return len(beats - {0}) >= 3

        assert wait_until(has_beaten)
        (tmp_path / "enough").touch()
        found, is_last = [], False
        while not is_last:  # a thread of the process may send the result before the end of the batch
            envelopes, is_last, _ = worker.receive()
            found += envelopes
        assert [envelope.seq for envelope in found] == [0]
    finally:
        worker.close()


def test_a_lease_of_no_time_is_refused() -> None:
    with pytest.raises(inorder.OperatorError, match="lease_s must be greater than 0"):
        inorder.imap(str, [], where="threads", options=inorder.RunOptions(lease_s=0))
    with pytest.raises(inorder.OperatorError, match="lease_s must be greater than 0"):
        inorder.StageOptions(lease_s=0)


@pytest.mark.req("HBT-1")
def test_progress_is_read_whole_and_only_for_the_attempt_that_reported_it() -> None:
    status, _ = SharedStatus.create()
    assert status.read_progress(0, 0) is None
    before = status.find_last_beat()
    status.write_progress(7, 2, 31, 900, "page")
    assert status.find_last_beat() > before
    found = status.read_progress(7, 2)
    assert found is not None
    assert (found.done, found.total, found.note) == (31, 900, "page")
    assert status.read_progress(7, 1) is None
    assert status.read_progress(8, 2) is None
    status.write_progress(7, 2, 0.5, None, "ä" * 500)
    found = status.read_progress(7, 2)
    assert found is not None
    assert (found.done, found.total, found.note) == (0.5, None, "ä" * 100)


@pytest.mark.req("HBT-1")
def test_progress_that_is_being_written_is_not_read() -> None:
    status, _ = SharedStatus.create()
    status.write_progress(7, 2, 1, None, "")
    status._words[6] += 1
    assert status.read_progress(7, 2) is None
