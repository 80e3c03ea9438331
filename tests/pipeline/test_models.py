"""Vectors of a server are a second pass, fed across documents."""

from pathlib import Path

import pytest

from inorder.pipeline.outcome import FileCounts
from tests.documents.embed.servers import Script, refusing, serving, well

from .runs import Library, count_steps, write

pytestmark = [pytest.mark.process, pytest.mark.req("PIP-1", "DAT-4")]
COUNT = 12


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    root = tmp_path / "docs"
    write(root, **{f"{number:03}.md": f"# Log\n\nThis is number {number} of the log.\n" for number in range(COUNT)})
    return root


def test_requests_have_the_chunks_of_many_documents(docs: Path, tmp_path: Path) -> None:
    script = Script()
    with serving(script) as url:
        library = Library(tmp_path / "data", dense=f"tei:{url}")
        outcome = library.run(docs, policy="cpu")
        assert outcome.counts == FileCounts(new=COUNT)
        assert count_steps(outcome) == dict.fromkeys(("doctags", "chunk", "index", "embed:dense"), COUNT)
        sizes = [len(texts) for texts in script.texts]
        assert sum(sizes) == COUNT
        assert max(sizes) > 1
        assert library.run(docs, policy="cpu").counts == FileCounts(unchanged=COUNT)
        assert len(script.texts) == len(sizes), "nothing is asked for twice"


@pytest.mark.req("PIP-2")
def test_a_document_that_the_server_refuses_is_found_by_its_words(docs: Path, tmp_path: Path) -> None:
    with serving(Script(otherwise=refusing("number 7 ", 413))) as url:
        library = Library(tmp_path / "data", dense=f"tei:{url}")
        outcome = library.run(docs, policy="cpu")
    assert outcome.counts == FileCounts(new=COUNT - 1, failed=1)
    assert [(item_id, step) for item_id, step, _ in library.list_failures()] == [("docs/007.md", "embed:dense")]
    assert "docs/007.md" in library.list_searchable()


@pytest.mark.req("PIP-2")
def test_the_next_run_begins_at_the_step_that_failed(docs: Path, tmp_path: Path) -> None:
    script = Script(otherwise=refusing("number 7 ", 413))
    with serving(script) as url:
        library = Library(tmp_path / "data", dense=f"tei:{url}")
        library.run(docs, policy="cpu")
        script._otherwise = well
        outcome = library.run(docs, policy="cpu", retries=True)
    assert count_steps(outcome) == {"embed:dense": 1}
    assert library.list_failures() == []
