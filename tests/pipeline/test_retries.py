"""A retry looks at the files that have failed, and at nothing else."""

from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from inorder.errors import OperatorError
from inorder.library.reader import LibraryReader
from inorder.pipeline import plan as plan_module
from inorder.pipeline.outcome import FileCounts, decode_outcome
from inorder.pipeline.sources.walk import ListedFile, ListedMembers
from tests.documents.archives.archive_files import make_zip

from .runs import Library, count_steps, write
from .test_parts import make_pdf

NOTE = "# {0}\n\nThe keeper of {0} lights the lamp at dusk.\n"
TORN = b"%PDF-1.4 and no more"


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    root = tmp_path / "docs"
    files: dict[str, str | bytes] = {f"{name}.md": NOTE.format(name) for name in ("ash", "birch")}
    write(root, **files, **{"a folder/100%.pdf": TORN, "torn.pdf": TORN + b"!", "tool.py": "def f():\n    return 1\n"})
    return root


@pytest.fixture
def library(tmp_path: Path) -> Library:
    return Library(tmp_path / "data")


@pytest.fixture
def looked_at(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The ids of the files that were listed."""
    found: list[str] = []
    walk_part = plan_module.walk_part

    def note(*arguments: Any) -> Any:
        for file in walk_part(*arguments):
            assert isinstance(file, ListedFile | ListedMembers)
            found.append(file.item_id)
            yield file

    monkeypatch.setattr(plan_module, "walk_part", note)
    return found


@pytest.mark.slow
@pytest.mark.req("CLI-4", "PIP-6")
def test_a_retry_reads_the_failed_files_and_looks_at_no_other(
    docs: Path, library: Library, looked_at: list[str]
) -> None:
    assert library.run(docs).counts == FileCounts(new=3, failed=2)
    assert library.run(docs).counts == FileCounts(unchanged=3, failed=2)
    write(docs, **{"ash.md": NOTE.format("ash, edited"), "cedar.md": NOTE.format("cedar")})
    looked_at.clear()
    assert library.run(retries=True).counts == FileCounts(failed=2)
    assert {path.removesuffix("/") for path in looked_at} == {"docs/a folder/100%25.pdf", "docs/torn.pdf"}
    write(docs, **{"torn.pdf": make_pdf("whole", 1)})
    outcome = library.run(retries=True)
    assert (outcome.counts, count_steps(outcome)) == (
        FileCounts(changed=1, failed=1),
        {"doctags": 1, "chunk": 1, "index": 1, "embed:dense": 1},
    )
    assert library.list_failures() == [("docs/a folder/100%25.pdf", "doctags", "input")]
    assert library.run(docs).counts == FileCounts(new=1, changed=1, unchanged=3, failed=1)


@pytest.mark.slow
@pytest.mark.req("PIP-6")
def test_a_failed_file_that_is_gone_or_excluded_is_no_longer_failed(docs: Path, library: Library) -> None:
    library.run(docs)
    (docs / "torn.pdf").unlink()
    write(docs, **{".inorderignore": "100*\n", ".gitignore": "100*\n"})
    assert library.run(retries=True).counts == FileCounts(removed=2)
    assert library.list_failures() == []
    assert library.run(retries=True).counts == FileCounts()


@pytest.mark.slow
@pytest.mark.req("PIP-6", "PIP-3")
def test_a_source_that_is_not_there_loses_nothing_by_a_retry(docs: Path, library: Library) -> None:
    library.run(docs)
    docs.rename(docs.with_name("elsewhere"))
    with pytest.raises(OperatorError, match="no such file or directory"):
        library.run(retries=True)
    assert len(library.list_failures()) == 2


@pytest.mark.slow
@pytest.mark.req("CLI-4")
def test_a_failed_member_of_an_archive_is_read_again(docs: Path, library: Library) -> None:
    write(docs, **{"box.zip": make_zip({"torn.pdf": TORN + b"?", "oak.md": NOTE.format("oak").encode()})})
    library.run(docs)
    assert library.run(retries=True).counts == FileCounts(unchanged=1, failed=3)
    write(docs, **{"box.zip": make_zip({"torn.pdf": make_pdf("whole", 1), "oak.md": b"# Oak\n\nOther.\n"})})
    assert library.run(retries=True).counts == FileCounts(changed=2, failed=2)


@pytest.mark.slow
@pytest.mark.req("CLI-4")
def test_an_archive_that_was_mended_has_its_members_read(docs: Path, library: Library) -> None:
    whole = make_zip({"oak.md": NOTE.format("oak").encode()})
    write(docs, **{"box.zip": whole[:-30]})
    assert library.run(docs).counts.failed == 3
    write(docs, **{"box.zip": whole})
    library.run(retries=True)
    assert "docs/box.zip/oak.md" in library.list_searchable()
    assert len(library.list_failures()) == 2


@pytest.mark.slow
@pytest.mark.req("PIP-5")
def test_the_library_has_the_outcome_of_every_run(docs: Path, library: Library) -> None:
    outcomes = [library.run(docs), library.run(docs)]
    with closing(LibraryReader(str(library.data))) as reader:
        runs = reader.list_runs()
    assert [run.run_id for run in runs] == [outcome.run_id for outcome in reversed(outcomes)]
    stored = [decode_outcome(run.outcome) for run in reversed(runs)]
    assert [each.counts for each in stored if each is not None] == [outcome.counts for outcome in outcomes]
    assert stored[0] is not None
    assert stored[0].steps["doctags"].failed == 2
