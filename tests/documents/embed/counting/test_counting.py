"""The statistics of the corpus are counted while a model computes, by a process of their own."""

import os
import select
import signal
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from inorder.documents.embed.counting import process as counting
from inorder.documents.embed.counting.counts import CorpusSummary, count_corpus, summarize_counts
from inorder.documents.embed.counting.messages import CountsReply, CountsRequest
from inorder.documents.embed.counting.process import CountingProcess, ask_for_counts, is_worth_counting
from inorder.documents.embed.counting.service import CorpusFollower
from inorder.documents.embed.stage import EmbedSettings, make
from inorder.stage.store.database import close_readers, open_store, store_path
from tests.documents.embed.models import WORDS, onnx_folder
from tests.documents.stage_runs import StageRuns

pytestmark = pytest.mark.req("DAT-4", "DOC-4")
GUARD_S = 120.0
DOCUMENTS = 6
FAMILIES = ("dense", "lexical")
ALL = dict.fromkeys(FAMILIES, DOCUMENTS)


@pytest.fixture
def runs(tmp_path: Path) -> StageRuns:
    """Documents of one chunk each, in stores."""
    runs = StageRuns(tmp_path)
    for number in range(DOCUMENTS):
        runs.write(f"docs/{number}.md", f"# one\n\ntext number {number} and {WORDS[number % len(WORDS)]}\n")
    runs.doctags()
    runs.chunk()
    return runs


@pytest.fixture
def data(runs: StageRuns) -> str:
    """DATA with the vectors of all documents."""
    runs.embed(dense="hash:16")
    return str(runs.data)


def summarize(data: str) -> CorpusSummary:
    counts = count_corpus(data, FAMILIES)
    return summarize_counts(counts.totals, counts.terms)


def change_run(data: str) -> None:
    """Let the rows of the store belong to another run."""
    with closing(sqlite3.connect(store_path(data, "embed"))) as connection:
        connection.execute("UPDATE inorder_position SET checksum = checksum + 1")
        connection.commit()


def test_rows_are_counted_as_they_are_committed(data: str, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = summarize(data)
    follower = CorpusFollower(data, FAMILIES)
    store = open_store(data, "embed")
    assert store is not None
    rows = store.read_written(0, 100, without_content="dense/")
    seen: list[int] = []

    def read(after: int, count: int, **_: Any) -> list[Any]:
        """One row more at every look, and then the end."""
        found = [row for row in rows if after < row[0]][: 1 if len(seen) % 2 == 0 else 0]
        seen.append(after)
        return found

    with monkeypatch.context() as patched:
        patched.setattr(type(store), "read_written", lambda _, *arguments, **named: read(*arguments, **named))
        for _ in rows[:3]:
            follower.read_new()
    reply = follower.answer(CountsRequest(ALL))
    assert (reply.statistics, reply.terms, reply.length) == (expected.statistics, expected.terms, expected.length)
    assert {name: len(state.files) for name, state in reply.families.items()} == {"dense": 1, "lexical": 1}


@pytest.mark.parametrize(
    "documents", [ALL | {"lexical": DOCUMENTS - 1}, ALL | {"sparse": 0}, {}], ids=["other number", "other", "none"]
)
def test_statistics_of_other_documents_are_not_returned(data: str, documents: dict[str, int]) -> None:
    assert CorpusFollower(data, FAMILIES).answer(CountsRequest(documents)) == CountsReply()


def test_rows_of_a_run_that_was_started_over_are_not_returned(data: str) -> None:
    follower = CorpusFollower(data, FAMILIES)
    follower.read_new()
    change_run(data)
    assert follower.answer(CountsRequest(ALL)) == CountsReply()
    assert CorpusFollower(data, FAMILIES).answer(CountsRequest(ALL)) != CountsReply()


def test_without_a_store_there_is_nothing_to_count(tmp_path: Path) -> None:
    assert CorpusFollower(str(tmp_path), FAMILIES).answer(CountsRequest({})) == CountsReply()
    assert ask_for_counts(str(tmp_path / "no socket"), {}) is None


@pytest.mark.process
def test_a_worker_gets_what_the_process_has_counted(data: str) -> None:
    process = CountingProcess(data, FAMILIES)
    try:
        found, expected = ask_for_counts(process.address, ALL), summarize(data)
        assert found is not None
        assert found[1:] == expected[1:]
        assert {name: total.summarize() for name, total in found.totals.items()} == {
            name: total.summarize() for name, total in expected.totals.items()
        }
    finally:
        process.close()
    assert not Path(process.address).parent.exists()


@pytest.mark.process
def test_a_worker_counts_itself_if_the_process_is_dead(data: str) -> None:
    process = CountingProcess(data, FAMILIES)
    assert process.process_id is not None
    descriptor = os.pidfd_open(process.process_id)
    os.kill(process.process_id, signal.SIGKILL)
    assert select.select([descriptor], [], [], GUARD_S)[0]
    os.close(descriptor)
    assert ask_for_counts(process.address, ALL) is None
    process.close()


class ObservedProcess(CountingProcess):
    """Waits at the end of the run until the process has ended by itself."""

    codes: list[int | None]

    def close(self) -> None:
        self._process.join(GUARD_S)
        self.codes.append(self._process.exitcode)
        super().close()


@pytest.mark.process
def test_the_corpus_is_counted_while_a_model_computes(
    runs: StageRuns, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(counting, "CountingProcess", ObservedProcess)
    monkeypatch.setattr(counting, "DOCUMENTS_MIN", DOCUMENTS)
    monkeypatch.setattr(ObservedProcess, "codes", [], raising=False)
    stage = make(EmbedSettings(dense=f"onnx:{onnx_folder(tmp_path / 'model')}"))
    outcome = runs.run(stage, policy=stage.options.policy, workers=1)
    assert (outcome.failed, ObservedProcess.codes) == (0, [0]), "the process was asked, and has answered"
    row, expected = runs.rows("embed")["__corpus__"], summarize(str(runs.data))
    assert (row["status"], row["terms"], row["documents"]) == ("success", expected.terms, DOCUMENTS)
    assert row["families"] == {name: total.summarize() for name, total in expected.totals.items()}
    store = open_store(str(runs.data), "embed")
    found = None if store is None else store.read("__corpus__")
    assert found is not None
    assert found[1] == expected.statistics
    close_readers()
    assert {path.name for path in (runs.data / "store").glob("embed*")} == {"embed.sqlite", "embed.sqlite.store.lock"}


def test_a_process_is_worth_it_for_many_documents_and_an_empty_store(
    runs: StageRuns, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = str(runs.data)
    monkeypatch.setattr(counting, "DOCUMENTS_MIN", DOCUMENTS + 1)
    assert not is_worth_counting(data), "few documents"
    monkeypatch.setattr(counting, "DOCUMENTS_MIN", DOCUMENTS)
    assert is_worth_counting(data)
    runs.embed(dense="hash:16")
    assert not is_worth_counting(data), "rows of earlier runs may be replaced"
