"""The totals of each family of vectors: kept with the rows, and written to the manifest after each run that changed
them."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from inorder.library.totals import FamilySummary, count_family, summarize_families

from .runs import Library, write

pytestmark = pytest.mark.req("DOC-3", "RUN-16")
STEP = "embed:dense"


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    root = tmp_path / "docs"
    write(root, **{"a.md": "# Ash\n\nA tree.\n", "b.md": "# Birch\n\nAnother tree.\n"})
    return root


@pytest.fixture
def library(tmp_path: Path) -> Library:
    return Library(tmp_path / "data", dense="hash:16")


def read_rows(library: Library) -> list[dict[str, Any]]:
    text = (library.data / "manifests" / "embed-dense.jsonl").read_text()
    return [json.loads(line) for line in text.splitlines()]


def read_totals(library: Library) -> list[dict[str, Any]]:
    return [row for row in read_rows(library) if row["doc_id"] == "__corpus__"]


def test_a_run_writes_the_totals_before_its_counts(docs: Path, library: Library) -> None:
    library.run(docs)
    rows = read_rows(library)
    assert [row["doc_id"] for row in rows] == ["__config__", "docs/a.md", "docs/b.md", "__corpus__", "__run__"]
    totals = rows[-2]
    assert (totals["documents"], totals["vectors"], totals["dimensions"]) == (2, 2, 16)
    assert totals["providers"] == ["hash:16"]
    assert totals["norms"] == {"min": 1.0, "avg": 1.0, "max": 1.0, "p95": 1.0, "p99": 1.0, "outliers": 0}


@pytest.mark.slow
def test_a_run_that_changes_no_vector_writes_none(docs: Path, library: Library) -> None:
    library.run(docs)
    library.run(docs)
    write(docs, **{"tool.py": "def ring():\n    return 1\n"})
    library.run(docs)
    assert len(read_totals(library)) == 1


@pytest.mark.slow
def test_removed_files_are_not_in_them(docs: Path, library: Library) -> None:
    """Also if the run did nothing else."""
    library.run(docs)
    (docs / "b.md").unlink()
    library.run(docs)
    assert [row["documents"] for row in read_totals(library)] == [2, 1]
    assert [row["doc_id"] for row in read_rows(library)][-3:] == ["__config__", "__corpus__", "__run__"]
    (docs / "a.md").unlink()
    library.run(docs)
    assert read_totals(library)[-1]["vectors"] == 0


@pytest.mark.slow
def test_an_update_has_the_totals_of_a_build_from_scratch(docs: Path, library: Library, tmp_path: Path) -> None:
    library.run(docs)
    write(docs, **{"a.md": "# Ash\n\n" + "A much longer text. " * 900, "c.md": "# Cedar\n\nOne more.\n"})
    (docs / "b.md").unlink()
    library.run(docs)
    fresh = Library(tmp_path / "fresh", dense="hash:16")
    fresh.run(docs)
    [expected] = read_totals(fresh)
    found = read_totals(library)[-1]
    assert {**found, "run_id": ""} == {**expected, "run_id": ""}
    assert found["vectors"] > 2


def summarize(*documents: FamilySummary) -> Mapping[str, Any]:
    counts: dict[str, int] = {}
    for each in documents:
        for name, count in count_family(STEP, each).items():
            counts[name] = counts.get(name, 0) + count
    return summarize_families(counts, [STEP, "embed:sparse"])


def test_totals_of_sparse_vectors_have_terms_and_norms() -> None:
    document = FamilySummary(3, 0, "splade:x", {5000: 1, 0: 1, 1000: 1}, {2: 1, 0: 1, 1: 1})
    assert summarize(document) == {
        STEP: {
            "documents": 1,
            "vectors": 3,
            "providers": ["splade:x"],
            "nnz": {"avg": 1.0, "p95": 2, "p99": 2},
            "norms": {"min": 0.0, "avg": 2.0, "max": 5.0, "p95": 5.0, "p99": 5.0, "outliers": 0},
        }
    }


def test_vectors_of_unusual_length_are_outliers() -> None:
    lengths = [1000, 1100, 1200, 1000, 1100, 9000, 1200, 1100]
    norms = summarize(*(FamilySummary(1, 4, "hash:4", {length: 1}) for length in lengths))[STEP]["norms"]
    assert norms == {"min": 1.0, "avg": 2.0875, "max": 9.0, "p95": 9.0, "p99": 9.0, "outliers": 1}
