"""A run with fewer steps, over sources or over what the library knows, and what makes a failed step due again."""

from pathlib import Path
from typing import Any

import pytest

from inorder.documents.chunk.chunks import Chunk
from inorder.documents.chunk.settings import ChunkSettings
from inorder.documents.chunk.step import chunk
from inorder.index import step as index_step
from inorder.pipeline.outcome import FileCounts, RunOutcome
from inorder.pipeline.steps import PipelineSettings
from inorder.pipeline.visit import visit
from inorder.stage.context import StageContext
from inorder.stage.contracts import WorkItem
from tests.documents.pdf_files import draw_lines, draw_pdf

from .runs import Library, count_steps, write

NOTE = "# {0}\n\nThe keeper of {0} lights the lamp at dusk.\n"
CODE = "def light(lamp):\n    return lamp\n"


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    root = tmp_path / "docs"
    write(root, **{"ash.md": NOTE.format("ash"), "oak.md": NOTE.format("oak"), "tool.py": CODE})
    return root


class Steps:
    """Runs steps alone on one library."""

    def __init__(self, data: Path) -> None:
        self.data = data

    def run(self, step: str, *sources: Path, **settings: object) -> RunOutcome:
        return Library(self.data, commands=(step,), **settings).run(*sources)


@pytest.fixture
def steps(tmp_path: Path) -> Steps:
    return Steps(tmp_path / "data")


@pytest.mark.slow
@pytest.mark.req("DAT-3")
def test_one_visit_takes_a_file_through_all_steps_and_each_step_has_its_own_duration(
    docs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    visited: list[str] = []

    def visit_and_note(settings: PipelineSettings, item: WorkItem, context: StageContext) -> object:
        visited.append(item.item_id)
        return visit(settings, item, context)

    clock = [0.0]

    def chunk_slowly(*arguments: Any) -> list[Chunk]:
        clock[0] += 10.0
        return chunk(*arguments)

    library = Library(tmp_path / "data")
    monkeypatch.setattr("inorder.pipeline.passes.visit", visit_and_note)
    monkeypatch.setattr("inorder.documents.chunk.step.chunk", chunk_slowly)
    monkeypatch.setattr("inorder.pipeline.visit.time.perf_counter", lambda: clock[0])
    outcome = library.run(docs, workers=1)
    assert sorted(visited) == ["docs/ash.md", "docs/oak.md", "docs/tool.py"]
    assert count_steps(outcome) == {"doctags": 2, "chunk": 2, "index": 3, "embed:dense": 2}
    assert {step: totals.duration_s for step, totals in outcome.steps.items()} == {
        "doctags": 0.0,
        "chunk": 20.0,
        "index": 0.0,
        "embed:dense": 0.0,
    }


@pytest.mark.slow
@pytest.mark.req("PIP-1", "PIP-2", "DAT-3")
def test_steps_alone_one_after_another_equal_one_run(docs: Path, steps: Steps, tmp_path: Path) -> None:
    assert count_steps(steps.run("doctags", docs)) == {"doctags": 2}
    assert count_steps(steps.run("chunk")) == {"chunk": 2}
    assert count_steps(steps.run("embed")) == {"embed:dense": 2}
    assert count_steps(steps.run("index")) == {"index": 2}
    assert count_steps(steps.run("index", docs)) == {"index": 1}
    whole = Library(tmp_path / "whole")
    whole.run(docs)
    assert Library(steps.data).read_content_hash() == whole.read_content_hash()
    assert count_steps(Library(steps.data).run(docs)) == {}


@pytest.mark.slow
@pytest.mark.req("PIP-5")
def test_files_of_other_steps_are_not_read_and_the_reason_says_who_reads_them(docs: Path, steps: Steps) -> None:
    outcome = steps.run("doctags", docs)
    assert outcome.counts == FileCounts(new=2, not_read=1)
    assert outcome.not_read == {"source code: inorder index reads it": {".py": 1}}
    write(docs, **{"ash.md": NOTE.format("ash, again"), "elm.md": NOTE.format("elm")})
    outcome = steps.run("index", docs)
    assert outcome.counts == FileCounts(new=1, unchanged=1, not_read=2)
    assert outcome.not_read == {"a document that is new or has changed: inorder run reads it": {".md": 2}}
    outcome = Library(steps.data).run(docs)
    assert outcome.counts == FileCounts(new=1, changed=2, unchanged=1)
    assert Library(steps.data).list_searchable() == ["docs/ash.md", "docs/elm.md", "docs/oak.md", "docs/tool.py"]


@pytest.mark.slow
@pytest.mark.req("PIP-2")
def test_later_rows_stay_searchable_and_are_due(docs: Path, steps: Steps) -> None:
    library = Library(steps.data)
    library.run(docs)
    before = library.list_searchable()
    write(docs, **{"ash.md": NOTE.format("ash, again")})
    assert count_steps(steps.run("doctags", docs)) == {"doctags": 1}
    assert library.list_searchable() == before
    assert count_steps(library.run(docs)) == {"chunk": 1, "index": 1, "embed:dense": 1}


@pytest.mark.slow
@pytest.mark.req("PIP-2", "RUN-4")
def test_a_step_without_sources_walks_nothing(docs: Path, steps: Steps) -> None:
    library = Library(steps.data)
    library.run(docs)
    write(docs, **{"elm.md": NOTE.format("elm")})
    (docs / "oak.md").unlink()
    outcome = steps.run("chunk", chunk=ChunkSettings(tokens_max=8))
    assert outcome.counts == FileCounts(changed=2, unchanged=1)
    assert count_steps(outcome) == {"chunk": 2}
    assert library.list_searchable() == ["docs/ash.md", "docs/oak.md", "docs/tool.py"]


@pytest.mark.slow
def test_code_is_indexed_again_without_sources_if_its_step_is_due(
    docs: Path, steps: Steps, monkeypatch: pytest.MonkeyPatch
) -> None:
    Library(steps.data).run(docs)
    monkeypatch.setattr(index_step, "VERSION", "other")
    outcome = steps.run("index")
    assert count_steps(outcome) == {"index": 3}
    assert outcome.counts == FileCounts(changed=3)
    assert steps.run("index").counts == FileCounts(unchanged=3)


@pytest.mark.slow
@pytest.mark.req("PIP-2")
def test_a_reader_that_fails_alone_takes_the_later_rows_with_it(docs: Path, steps: Steps) -> None:
    write(docs, **{"sealed.pdf": draw_pdf(draw_lines("the letter"))})
    library = Library(steps.data)
    library.run(docs)
    assert "docs/sealed.pdf" in library.list_searchable()
    write(docs, **{"sealed.pdf": b"%PDF-1.4\nnot really"})
    assert steps.run("doctags", docs).counts.failed == 1
    assert "docs/sealed.pdf" not in library.list_searchable()


@pytest.mark.slow
@pytest.mark.req("PIP-6")
def test_an_encrypted_file_is_tried_again_with_other_passwords_only(tmp_path: Path) -> None:
    docs, passwords = tmp_path / "docs", tmp_path / "passwords"
    write(docs, **{"sealed.pdf": draw_pdf(draw_lines("the sealed letter"), encrypt="sesame")})
    without = Library(tmp_path / "data")
    assert without.run(docs).counts == FileCounts(failed=1)
    assert without.run(docs).steps == {}
    passwords.write_text("wrong\n")
    library = Library(tmp_path / "data", password_file=str(passwords))
    assert library.run(docs).steps["doctags"].failed == 1
    assert library.run(docs).steps == {}
    passwords.write_text("wrong\nsesame\n")
    assert library.run(docs).counts == FileCounts(changed=1)
    assert without.run(docs).steps == {}
