"""Vectors of models and servers are a second pass, fed across documents."""

import json
import multiprocessing
import os
import signal
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import inorder
from inorder.documents.embed.providers.registry import open_dense
from inorder.documents.embed.shared import process as shared_process
from inorder.documents.embed.shared.process import ProviderProcess
from inorder.errors import OperatorError
from inorder.models.limits import ServerLimits
from inorder.pipeline.outcome import FileCounts, RunOutcome
from inorder.pipeline.run import RunRequest, run_pipeline
from inorder.pipeline.steps import PipelineSettings
from inorder.report.build import build_report
from inorder.stage.options import StageOptions
from tests.documents.embed.models import WORDS, onnx_folder
from tests.documents.embed.servers import (
    DIMENSIONS,
    Handler,
    Script,
    cut_before_the_answer,
    held_by,
    refusing,
    saying,
    serving,
    status,
    well,
)

from .runs import Library, count_steps, write

pytestmark = [pytest.mark.process, pytest.mark.req("PIP-1", "DAT-4")]
COUNT = 12
IDS = [f"docs/{number:03}.md" for number in range(COUNT)]
ALL_STEPS = dict.fromkeys(("doctags", "chunk", "index", "embed:dense"), COUNT)
QUICK = ServerLimits(attempts_max=2, deadline_s=2.0)


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    root = tmp_path / "docs"
    texts = [f"# Log\n\nThis is number {number} and {WORDS[number]} of the log.\n" for number in range(COUNT)]
    write(root, **{f"{number:03}.md": text for number, text in enumerate(texts)})
    return root


@pytest.fixture
def library(tmp_path: Path) -> Library:
    return Library(tmp_path / "data")


def run(
    library: Library,
    docs: Path,
    spec: str,
    server: ServerLimits = QUICK,
    settings: dict[str, Any] | None = None,
    **options: Any,
) -> RunOutcome:
    """Run as the command line does: in worker processes."""
    chosen_settings = PipelineSettings(dense=spec, server=server, **(settings or {}))
    options = {"policy": "cpu", "progress": "none", "telemetry": False} | options
    chosen = StageOptions(data=library.data, workers=1, **options)
    return run_pipeline(RunRequest(sources=(str(docs),), settings=chosen_settings, options=chosen))


def read_vectors(library: Library) -> dict[str, Any]:
    with inorder.open(library.data) as dataset:
        return {found.chunk_id: np.asarray(found.vector) for found in dataset.vectors("dense")}


def read_events(library: Library) -> dict[str, list[dict[str, Any]]]:
    """The telemetry of the last run, by event."""
    found: dict[str, list[dict[str, Any]]] = {}
    for path in sorted(Path(library.data, "telemetry").glob("**/*.jsonl"), key=os.path.getmtime):
        for line in path.read_text().splitlines():
            fields = json.loads(line)
            found.setdefault(fields["event"], []).append(fields)
    return found


def read_texts(library: Library) -> dict[str, str]:
    with inorder.open(library.data) as dataset:
        return {chunk.chunk_id: chunk.text for chunk in dataset.chunks()}


@pytest.mark.req("DOC-4")
def test_the_vectors_are_those_that_the_model_gives_alone(docs: Path, library: Library, tmp_path: Path) -> None:
    spec = f"onnx:{onnx_folder(tmp_path / 'model')}"
    assert count_steps(run(library, docs, spec)) == ALL_STEPS
    texts = read_texts(library)
    provider = open_dense(spec)
    try:
        expected = dict(zip(texts, provider.embed(list(texts.values())), strict=True))
    finally:
        provider.close()
    found = read_vectors(library)
    assert found.keys() == expected.keys()
    for chunk_id, vector in expected.items():
        np.testing.assert_allclose(found[chunk_id], vector, atol=1e-6)


@pytest.mark.parametrize("kind", ["tei", "openai"])
def test_requests_have_the_chunks_of_many_documents(docs: Path, library: Library, kind: str) -> None:
    script = Script()
    with serving(script) as url:
        spec = f"tei:{url}" if kind == "tei" else f"openai:{url}/v1#a-model"
        outcome = run(library, docs, spec, ServerLimits(texts_max=5))
        assert outcome.counts == FileCounts(new=COUNT)
        assert count_steps(outcome) == ALL_STEPS
        sizes = [len(texts) for texts in script.texts]
        assert sum(sizes) == COUNT
        assert max(sizes) == 5, "as many as the limits allow"
        assert next(iter(read_vectors(library).values())).shape == (DIMENSIONS,)
        assert run(library, docs, spec).counts == FileCounts(unchanged=COUNT)
        assert len(script.texts) == len(sizes), "nothing is asked for twice"


def test_a_run_in_which_nothing_has_changed_loads_no_model(
    docs: Path, library: Library, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spec = f"onnx:{onnx_folder(tmp_path / 'model')}"
    run(library, docs, spec)
    started: list[object] = []
    monkeypatch.setattr(shared_process, "start_process", started.append)
    assert run(library, docs, spec).counts == FileCounts(unchanged=COUNT)
    assert started == []


@pytest.mark.req("PIP-2")
def test_a_document_that_the_server_refuses_is_found_by_its_words(docs: Path, library: Library) -> None:
    with serving(Script(otherwise=refusing("number 7 ", 413))) as url:
        outcome = run(library, docs, f"tei:{url}")
    assert outcome.counts == FileCounts(new=COUNT - 1, failed=1)
    assert [(item_id, step) for item_id, step, _ in library.list_failures()] == [("docs/007.md", "embed:dense")]
    assert library.list_searchable() == IDS
    assert len(read_vectors(library)) == COUNT - 1


@pytest.mark.req("PIP-2")
def test_the_next_run_begins_at_the_step_that_failed(docs: Path, library: Library) -> None:
    script = Script(otherwise=refusing("number 7 ", 413))
    with serving(script) as url:
        run(library, docs, f"tei:{url}")
        script.otherwise = well
        outcome = Library(library.data, dense=f"tei:{url}").run(docs, policy="cpu", retries=True)
    assert count_steps(outcome) == {"embed:dense": 1}
    assert library.list_failures() == []


@pytest.mark.req("PIP-2")
@pytest.mark.parametrize("answer", [saying(b"<html>it works!</html>"), saying(b"[]")])
def test_a_server_that_answers_nonsense_leaves_the_words_searchable(docs: Path, library: Library, answer: Any) -> None:
    """And the vectors come with the next run, which asks for nothing that has arrived."""
    script = Script(otherwise=answer)
    with serving(script) as url:
        outcome = run(library, docs, f"tei:{url}")
        assert outcome.counts == FileCounts(failed=COUNT)
        assert {step for _, step, _ in library.list_failures()} == {"embed:dense"}
        assert library.list_searchable() == IDS
        script.otherwise = well
        again = Library(library.data, dense=f"tei:{url}").run(docs, policy="cpu", retries=True)
    assert count_steps(again) == {"embed:dense": COUNT}
    assert (library.list_failures(), len(read_vectors(library))) == ([], COUNT)


@pytest.mark.req("RTY-5", "LED-7")
@pytest.mark.parametrize("policy", ["cpu", "io"])
def test_a_run_waits_for_a_server_that_is_down_and_goes_on(
    docs: Path, library: Library, capsys: pytest.CaptureFixture[str], policy: str
) -> None:
    """No file fails for it. The line, telemetry and the report say what the run has waited for."""
    script = Script(status(503), status(503), cut_before_the_answer, status(429))
    limits = ServerLimits(attempts_max=2, backoff_s=0.01)
    with serving(script) as url:
        outcome = run(library, docs, f"tei:{url}", limits, policy=policy, progress="lines", telemetry=True)
    assert outcome.counts == FileCounts(new=COUNT)
    assert len(read_vectors(library)) == COUNT
    said = capsys.readouterr().err
    assert f"[models] paused: {url} is down (gave up after 2 attempts: {url}/embed returned" in said
    assert f"[models] {url} answers again after" in said
    assert "| 1 request retried |" in said
    events = read_events(library)
    assert [(each["server"], each["is_over"]) for each in events["outage_changed"]][-1] == (url, True)
    assert events["snapshot"][-1]["measures"]["requests_retried"] >= 1
    report = next(each for each in build_report(str(library.data)).runs if each.stage == "models")
    assert report.requests_retried >= 1
    assert [span.reason for span in report.spans if span.kind == "paused"] == [
        f"{url} is down: {events['outage_changed'][0]['reason']}"
    ]


@pytest.mark.req("RTY-5", "LED-7", "PIP-2")
@pytest.mark.parametrize("is_there", [True, False])
def test_a_run_stops_resumable_if_the_server_stays_down(docs: Path, library: Library, is_there: bool) -> None:
    script = Script(otherwise=status(503))
    with serving(script) as url:
        if is_there:
            outcome = run(library, docs, f"tei:{url}", outage_s_max=0.5)
    if not is_there:
        outcome = run(library, docs, f"tei:{url}", outage_s_max=0.5)
    assert (outcome.stop_kind, outcome.counts) == ("infrastructure", FileCounts(new=COUNT))
    assert f"{url} is down" in (outcome.cancel_reason or "")
    assert library.list_failures() == []
    assert library.list_searchable() == IDS
    with serving(Script()) as url:  # another port is another provider
        assert count_steps(run(library, docs, f"tei:{url}")) == {"embed:dense": COUNT}
    assert len(read_vectors(library)) == COUNT


@pytest.mark.req("RTY-5", "ROB-1", "LED-7")
def test_no_file_fails_at_its_time_limit_for_a_server_that_hangs(docs: Path, library: Library) -> None:
    gate = threading.Event()
    settings = {"timeouts_s": {"embed:dense": 12.0}}
    with serving(Script(otherwise=held_by(gate))) as url:
        outcome = run(library, docs, f"tei:{url}", ServerLimits(), settings, timeout_s=12.0, outage_s_max=0.5)
        gate.set()
    assert (outcome.stop_kind, outcome.counts) == ("infrastructure", FileCounts(new=COUNT))
    assert f"{url} is down" in (outcome.cancel_reason or "")
    assert library.list_failures() == []


@pytest.mark.req("RTY-5")
def test_requests_to_a_server_end_before_the_time_limit_of_their_file() -> None:
    def limit(timeout_s: float) -> tuple[float, float]:
        found = PipelineSettings(timeouts_s={"embed:dense": timeout_s}).limit_server()
        return found.deadline_s, found.check_s

    assert limit(10) == (4, 1)
    assert limit(3600) == limit(0) == (120, 30)
    assert PipelineSettings(timeouts_s={}).limit_server() == ServerLimits()


@pytest.mark.req("RTY-5", "ROB-1")
def test_a_text_at_which_the_server_fails_is_the_failure_of_its_document(docs: Path, library: Library) -> None:
    with serving(Script(otherwise=refusing("number 7 ", 503))) as url:
        outcome = run(library, docs, f"tei:{url}", ServerLimits(attempts_max=2, backoff_s=0.01))
    assert outcome.counts == FileCounts(new=COUNT - 1, failed=1)
    assert [(item_id, step) for item_id, step, _ in library.list_failures()] == [("docs/007.md", "embed:dense")]


@pytest.mark.req("RTY-5", "CLI-3")
@pytest.mark.parametrize("code", [401, 403, 404])
def test_a_wrong_key_or_address_ends_the_run_at_once(docs: Path, library: Library, code: int) -> None:
    script = Script(otherwise=status(code))
    with serving(script) as url, pytest.raises(OperatorError, match=f"^{url}/embed returned {code}: no; "):
        run(library, docs, f"tei:{url}")
    assert multiprocessing.active_children() == []
    assert len(script.texts) <= COUNT
    assert library.list_failures() == []
    assert library.list_searchable() == IDS
    script.otherwise = well
    with serving(script) as url:
        assert run(library, docs, f"tei:{url}").counts.failed == 0
    assert len(read_vectors(library)) == COUNT


@pytest.mark.req("PIP-2", "PIP-7")
def test_a_server_that_is_down_keeps_the_vectors_of_files_that_were_searchable(docs: Path, library: Library) -> None:
    with serving(Script()) as url:
        run(library, docs, f"tei:{url}")
    assert len(read_vectors(library)) == COUNT
    outcome = run(library, docs, f"tei:{url}/other", outage_s_max=0)
    assert outcome.stop_kind == "infrastructure"
    assert len(read_vectors(library)) == COUNT


def test_a_model_that_cannot_be_opened_fails_the_files_with_the_reason(
    docs: Path, library: Library, tmp_path: Path
) -> None:
    folder = onnx_folder(tmp_path / "model")
    (folder / "tokenizer.json").write_text("{")
    outcome = run(library, docs, f"onnx:{folder}")
    assert outcome.counts.failed == COUNT
    assert all(error.message.startswith("cannot open the dense provider") for error in outcome.errors)
    assert library.list_searchable() == IDS


@pytest.fixture
def processes(monkeypatch: pytest.MonkeyPatch) -> list[ProviderProcess]:
    """The processes of providers that runs have opened."""
    found: list[ProviderProcess] = []

    class Noted(ProviderProcess):
        def __init__(self, *arguments: Any) -> None:
            super().__init__(*arguments)
            found.append(self)

    monkeypatch.setattr(shared_process, "ProviderProcess", Noted)
    return found


def test_a_model_process_that_is_killed_is_replaced(
    docs: Path, library: Library, processes: list[ProviderProcess]
) -> None:
    """It dies in the middle of a request. Another attempt of the same files succeeds."""
    killed: list[int] = []

    def kill(handler: Handler, texts: list[str]) -> None:
        pid = processes[-1].process_id
        assert pid is not None
        killed.append(pid)
        os.kill(pid, signal.SIGKILL)

    with serving(Script(kill)) as url:
        outcome = run(library, docs, f"tei:{url}", retries=2)
    assert outcome.counts == FileCounts(new=COUNT)
    assert len(read_vectors(library)) == COUNT
    assert killed
