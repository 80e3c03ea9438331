"""Providers in a process of their own: started when needed, replaced when killed."""

import os
import select
import signal
import subprocess
import sys
import textwrap
import threading
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from inorder.documents.embed.shared import process as shared_process
from inorder.documents.embed.shared.client import RemoteDense, ServiceConnection
from inorder.documents.embed.shared.process import ProviderProcess
from inorder.errors import StageError
from inorder.models.limits import ServerLimits
from tests.documents.embed.models import onnx_folder

pytestmark = [pytest.mark.process, pytest.mark.req("DAT-4")]
GUARD_S = 120.0


@pytest.fixture
def provider_process(tmp_path: Path) -> Iterator[ProviderProcess]:
    process = ProviderProcess({"dense": f"onnx:{onnx_folder(tmp_path / 'model')}"}, ServerLimits())
    yield process
    process.close()
    assert not Path(process.address).parent.exists()


def wait_for_end(pid: int) -> None:
    """Wait until a process has ended."""
    try:
        descriptor = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    assert select.select([descriptor], [], [], GUARD_S)[0], "the process goes on"
    os.close(descriptor)


def test_a_killed_process_is_replaced_and_another_attempt_succeeds(provider_process: ProviderProcess) -> None:
    provider = RemoteDense(ServiceConnection(provider_process.address, workers=1), "dense")
    before = provider.embed(["one text"])
    pid = provider_process.process_id
    assert pid is not None
    os.kill(pid, signal.SIGKILL)
    wait_for_end(pid)
    with pytest.raises(StageError, match="the process of the provider ended") as caught:
        provider.embed(["one text"])
    assert caught.value.retryable
    assert provider.embed(["one text"]).tolist() == before.tolist()
    assert provider_process.process_id != pid


def test_a_process_that_dies_again_and_again_is_given_up(provider_process: ProviderProcess) -> None:
    for _ in range(shared_process.STARTS_MAX):
        RemoteDense(ServiceConnection(provider_process.address, workers=1), "dense").embed(["one"])
        pid = provider_process.process_id
        assert pid is not None
        os.kill(pid, signal.SIGKILL)
        wait_for_end(pid)
    provider_process.join(GUARD_S)
    provider = RemoteDense(ServiceConnection(provider_process.address, workers=1), "dense")
    with pytest.raises(StageError, match="the process of the provider ended"):
        provider.embed(["one"])


def start_driver(tmp_path: Path) -> "subprocess.Popen[str]":
    """A driver that prints the id of the process of its providers and the folder of their socket, and then waits."""
    script = textwrap.dedent(f"""
        import sys
        from inorder.models.limits import ServerLimits
        from inorder.documents.embed.shared.client import RemoteDense, ServiceConnection
        from inorder.documents.embed.shared.process import ProviderProcess
        if __name__ == "__main__":
            process = ProviderProcess({{"dense": "onnx:{onnx_folder(tmp_path / "model")}"}}, ServerLimits())
            RemoteDense(ServiceConnection(process.address, workers=1), "dense").embed(["one"])
            print(process.process_id, process.address, flush=True)
            sys.stdin.read()
    """)
    path = tmp_path / "driver.py"
    path.write_text(script)
    return subprocess.Popen([sys.executable, path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def test_the_process_ends_with_a_killed_driver(tmp_path: Path) -> None:
    with start_driver(tmp_path) as driver:
        assert driver.stdout is not None
        pid = int(driver.stdout.readline().split()[0])
        driver.kill()
    wait_for_end(pid)


def test_a_driver_that_ends_without_closing_leaves_neither_process_nor_folder(tmp_path: Path) -> None:
    with start_driver(tmp_path) as driver:
        assert driver.stdout is not None
        pid, address = driver.stdout.readline().split()
        assert Path(address).exists()
        driver.communicate(timeout=GUARD_S)
    wait_for_end(int(pid))
    assert not Path(address).parent.exists()


def test_callers_in_several_processes_get_their_own_rows(provider_process: ProviderProcess) -> None:
    texts = [["one", "two", "word"], ["number the and"], ["a", "b"], ["text one two"]]
    rows: dict[int, list[list[float]]] = {}

    def call(number: int) -> None:
        provider = RemoteDense(ServiceConnection(provider_process.address, workers=1), "dense")
        rows[number] = [provider.embed(texts[number]).tolist() for _ in range(20)][-1]

    threads = [threading.Thread(target=call, args=(number,)) for number in range(len(texts))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(GUARD_S)
    alone = RemoteDense(ServiceConnection(provider_process.address, workers=1), "dense")
    for number, each in enumerate(texts):
        np.testing.assert_allclose(rows[number], alone.embed(each), atol=1e-6)
    assert alone.embed([]).shape == (0, 16)
