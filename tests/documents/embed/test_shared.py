"""Providers in a process of their own: fed from many documents at once, started when needed, replaced when killed."""

import os
import select
import signal
import subprocess
import sys
import textwrap
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import inorder
from inorder.documents.embed.providers.registry import open_dense
from inorder.documents.embed.providers.server.limits import ServerLimits
from inorder.documents.embed.shared import process as shared_process
from inorder.documents.embed.shared.client import RemoteDense, ServiceConnection
from inorder.documents.embed.shared.process import ProviderProcess
from inorder.documents.embed.stage import EmbedSettings, make
from inorder.engines.process import engine as process_engine
from tests.documents.embed.models import WORDS, onnx_folder
from tests.documents.embed.servers import DIMENSIONS, Script, refusing, serving
from tests.documents.stage_runs import StageRuns
from tests.support.gates import FixedSizer

pytestmark = [pytest.mark.process, pytest.mark.req("DAT-4")]
GUARD_S = 120.0
DOCUMENTS = 40


@pytest.fixture
def runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> StageRuns:
    """Small documents, cut into one chunk each, in stores. Items are sent in batches of one size."""
    monkeypatch.setattr(process_engine, "BatchSizer", lambda **_: FixedSizer(16))
    runs = StageRuns(tmp_path)
    for number in range(DOCUMENTS):
        runs.write(f"docs/{number:03}.md", f"# one\n\ntext number {number} and {WORDS[number % len(WORDS)]}\n")
    runs.doctags()
    runs.chunk()
    return runs


def embed(runs: StageRuns, spec: str, **options: Any) -> inorder.StageOutcome:
    """Run the stage as the command line does: in worker processes."""
    stage = make(EmbedSettings(dense=spec, server_texts_max=5))
    return runs.run(stage, **({"policy": stage.options.policy, "workers": 1} | options))


def read_vectors(runs: StageRuns) -> dict[str, Any]:
    with inorder.open(runs.data) as dataset:
        return {found.chunk_id: np.asarray(found.vector) for found in dataset.vectors("dense")}


@pytest.mark.req("DOC-4")
def test_chunks_of_many_documents_share_the_batches_of_a_model(runs: StageRuns, tmp_path: Path) -> None:
    spec = f"onnx:{onnx_folder(tmp_path / 'model')}"
    outcome = embed(runs, spec)
    assert (outcome.succeeded, outcome.failed) == (DOCUMENTS + 1, 0)
    measured = runs.snapshot(outcome)["groups"]["dense"]
    assert measured["vectors"] == DOCUMENTS
    assert measured["batches"] < DOCUMENTS / 2, "a batch has the chunks of several documents"
    with inorder.open(runs.data) as dataset:
        texts = {chunk.chunk_id: chunk.text for chunk in dataset.chunks()}
    provider = open_dense(spec)
    try:
        expected = dict(zip(texts, provider.embed(list(texts.values())), strict=True))
    finally:
        provider.close()
    found = read_vectors(runs)
    assert found.keys() == expected.keys()
    for chunk_id, vector in expected.items():
        np.testing.assert_allclose(found[chunk_id], vector, atol=1e-6)


def test_requests_to_a_server_have_the_chunks_of_many_documents(runs: StageRuns) -> None:
    script = Script()
    with serving(script) as url:
        assert embed(runs, f"tei:{url}").failed == 0
    sizes = [len(texts) for texts in script.texts]
    assert sum(sizes) == DOCUMENTS
    assert max(sizes) == 5, "as many as the limits allow"
    assert next(iter(read_vectors(runs).values())).shape == (DIMENSIONS,)


def test_a_document_that_the_provider_refuses_fails_alone(runs: StageRuns) -> None:
    with serving(Script(otherwise=refusing("number 7 ", 413))) as url:
        outcome = embed(runs, f"tei:{url}", retries=0)
    assert outcome.failed == 1
    rows = runs.rows("embed")
    assert [name for name, row in rows.items() if row["status"] == "failure"] == ["dense/docs/007.md"]
    assert "413" in rows["dense/docs/007.md"]["error"]["message"]


def test_a_run_in_which_nothing_has_changed_loads_no_model(
    runs: StageRuns, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spec = f"onnx:{onnx_folder(tmp_path / 'model')}"
    embed(runs, spec)
    started: list[object] = []
    monkeypatch.setattr(shared_process, "start_process", started.append)
    outcome = embed(runs, spec)
    assert (outcome.skipped, outcome.failed, started) == (DOCUMENTS + 1, 0, [])


def test_a_provider_that_cannot_be_opened_fails_the_items_with_the_reason(runs: StageRuns, tmp_path: Path) -> None:
    folder = onnx_folder(tmp_path / "model")
    (folder / "tokenizer.json").write_text("{")
    outcome = embed(runs, f"onnx:{folder}")
    assert outcome.failed == DOCUMENTS
    [error] = {row["error"]["message"] for row in runs.rows("embed").values() if row["status"] == "failure"}
    assert error.startswith("cannot open the dense provider: cannot read the tokenizer")


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
    with pytest.raises(inorder.StageError, match="the process of the provider ended") as caught:
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
    with pytest.raises(inorder.StageError, match="the process of the provider ended"):
        provider.embed(["one"])


def start_driver(tmp_path: Path) -> "subprocess.Popen[str]":
    """A driver that prints the id of the process of its providers and the folder of their socket, and then waits."""
    script = textwrap.dedent(f"""
        import sys
        from inorder.documents.embed.providers.server.limits import ServerLimits
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
