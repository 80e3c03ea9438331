"""A step that fails, hangs or runs out of budget: what was made before it is kept, and the next run begins there."""

import errno
import re
import threading
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from inorder.documents.chunk import step as chunk_step
from inorder.documents.chunk.settings import ChunkSettings
from inorder.errors import BusyError, InfrastructureError
from inorder.index.vector_files import MatrixWriter
from inorder.library.reader import LibraryReader
from inorder.library.sink import LibrarySink
from inorder.pipeline import visit as visit_module
from inorder.pipeline.outcome import FileCounts

from .runs import Library, count_steps, write

NOTE = "# {0}\n\nThe keeper of {0} lights the lamp at dusk.\n"


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    root = tmp_path / "docs"
    write(root, **{f"{name}.md": NOTE.format(name) for name in ("ash", "birch", "cedar")})
    return root


@pytest.fixture
def library(tmp_path: Path) -> Library:
    return Library(tmp_path / "data")


def fail_for(monkeypatch: pytest.MonkeyPatch, name: str, fail: Any) -> None:
    """Let the chunker fail for a document."""
    chunk = chunk_step.chunk

    def call(doc_id: str, *arguments: Any) -> Any:
        if doc_id.endswith(name):
            fail()
        return chunk(doc_id, *arguments)

    monkeypatch.setattr(chunk_step, "chunk", call)


def crash() -> None:
    raise RuntimeError("out of order")


def list_made(library: Library, item_id: str) -> list[str]:
    with closing(LibraryReader(str(library.data))) as reader:
        known = reader.get_file(item_id)
        assert known is not None
        return [step for step, state in known.states.items() if state.output is not None]


@pytest.mark.slow
@pytest.mark.req("PIP-2", "COM-2")
def test_what_the_steps_before_a_failure_made_is_kept(
    docs: Path, library: Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    fail_for(monkeypatch, "birch.md", crash)
    outcome = library.run(docs)
    assert (outcome.counts.new, outcome.counts.failed) == (2, 1)
    assert library.list_failures() == [("docs/birch.md", "chunk", "unknown")]
    assert list_made(library, "docs/birch.md") == ["doctags"]
    monkeypatch.undo()
    assert count_steps(library.run(docs)) == {"chunk": 1, "index": 1, "embed:dense": 1}
    assert library.list_failures() == []


@pytest.mark.slow
@pytest.mark.req("PIP-2", "COM-2")
def test_a_step_that_fails_takes_the_rows_of_later_steps_with_it(
    docs: Path, library: Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    library.run(docs)
    fail_for(monkeypatch, "birch.md", crash)
    write(docs, **{"birch.md": NOTE.format("birch, again")})
    library.run(docs)
    assert library.list_searchable() == ["docs/ash.md", "docs/cedar.md"]


@pytest.mark.slow
@pytest.mark.req("PIP-2", "RTY-4")
def test_a_step_that_hangs_fails_under_its_name_after_its_own_limit(
    docs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate = threading.Event()
    fail_for(monkeypatch, "birch.md", gate.wait)
    monkeypatch.setattr(visit_module, "HANDED_OVER_S", 0.0)
    library = Library(tmp_path / "data", timeouts_s={"chunk": 0.5})
    try:
        library.run(docs)
    finally:
        gate.set()
    assert library.list_failures() == [("docs/birch.md", "chunk", "timeout")]
    assert list_made(library, "docs/birch.md") == ["doctags"], "it was handed over before the next step began"


@pytest.mark.slow
@pytest.mark.req("CAN-3", "CAN-4")
def test_a_budget_stop_keeps_what_was_computed_and_it_is_searchable(docs: Path, library: Library) -> None:
    write(docs, **{f"broken-{number}.pdf": f"%PDF-1.4\nnot really {number}" for number in range(3)})
    outcome = library.run(docs, error_budget=1, workers=1)
    assert outcome.stop_kind == "error budget"
    assert library.list_searchable() == ["docs/ash.md", "docs/birch.md"]
    outcome = library.run(docs)
    assert outcome.stop_kind is None
    assert library.list_searchable() == ["docs/ash.md", "docs/birch.md", "docs/cedar.md"]


def test_two_runs_at_once_are_refused(docs: Path, library: Library) -> None:
    library.data.mkdir()
    with closing(LibrarySink(str(library.data))), pytest.raises(BusyError):
        library.run(docs)


@pytest.mark.slow
@pytest.mark.req("PIP-7")
def test_a_change_of_settings_becomes_visible_as_a_whole(docs: Path, library: Library) -> None:
    library.run(docs)
    before = library.read_content_hash()
    write(docs, **{"broken.pdf": b"%PDF-1.4\nnot really"})
    other = Library(library.data, chunk=ChunkSettings(tokens_max=6))
    assert other.run(docs, error_budget=0, workers=1).stop_kind == "error budget"
    assert library.read_content_hash() == before, "old rows stay until the pass is complete"
    (docs / "broken.pdf").unlink()
    other.run(docs)
    assert library.read_content_hash() != before


@pytest.mark.slow
@pytest.mark.req("PIP-2")
def test_a_run_that_walks_nothing_loses_no_file_of_a_source_that_is_not_there(docs: Path, library: Library) -> None:
    write(docs, **{"tool.py": "def light():\n    return 1\n"})
    library.run(docs)
    before = library.read_content_hash()
    docs.rename(docs.parent / "elsewhere")
    outcome = library.run(force=True)
    assert outcome.counts == FileCounts(unchanged=4)
    assert outcome.warnings == [f"4 files are not there, and not read again; the first: {docs}/ash.md"]
    assert library.read_content_hash() == before


@pytest.mark.slow
@pytest.mark.req("PIP-2")
def test_a_file_that_could_not_be_read_is_read_when_it_is_back(
    docs: Path, library: Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*arguments: Any) -> bytes:
        raise FileNotFoundError(2, "No such file or directory")

    _age(docs)
    with monkeypatch.context() as patch:
        patch.setattr(visit_module, "read_content_of", fail)
        assert library.run(docs).counts == FileCounts(failed=3)
    assert library.run(docs).counts == FileCounts(changed=3)


def _age(docs: Path) -> None:
    """Wait until the files are not so new that they may change again without a change of their times."""
    newest_s = max(path.stat().st_mtime for path in docs.iterdir())
    time.sleep(max(0.0, newest_s + 2.5 - time.time()))


@pytest.mark.slow
@pytest.mark.req("PIP-1")
def test_a_full_disk_is_one_clear_line_and_the_next_run_goes_on(
    docs: Path, library: Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    append = MatrixWriter.append

    def fail(*arguments: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(MatrixWriter, "append", fail)
    said = f"{library.data}/library.sqlite: it cannot be published: No space left on device"
    with pytest.raises(InfrastructureError, match=re.escape(said)):
        library.run(docs)
    monkeypatch.setattr(MatrixWriter, "append", append)
    library.run(docs)
    assert len(library.list_searchable()) == 3
