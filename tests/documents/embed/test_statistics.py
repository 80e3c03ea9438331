"""The statistics of the terms of a corpus, and their table."""

import os
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest

from inorder.documents.embed import term_statistics
from inorder.documents.embed.storage import make_statistics, write_statistics
from inorder.documents.embed.stored import make_stored_terms, pack_lexical, unpack_lexical
from inorder.documents.embed.term_statistics import TermStatistics

IDS = ["00000000-0000-0000-0000-00000000000a", "00000000-0000-0000-0000-00000000000b"]
DOCUMENTS: list[list[dict[str, int]]] = [
    [{"zwei": 1, "äpfel": 2**20}, {"äpfel": 3}],
    [{}, {"zwei": 255}],
    [{}],
    [],
]


@pytest.mark.req("RUN-16")
@pytest.mark.parametrize(("pending", "merged"), [(1, 1), (1, 2_000_000), (2_000_000, 2_000_000)])
@pytest.mark.parametrize("settled", [1, 3, 100])
@pytest.mark.parametrize("documents", [[], DOCUMENTS], ids=["none", "some"])
def test_the_table_is_the_one_that_pyarrow_makes_of_lists(
    documents: list[list[dict[str, int]]], pending: int, merged: int, settled: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(term_statistics, "_MERGED_TERMS", merged)
    monkeypatch.setattr(term_statistics, "_TERMS_PENDING", pending)
    statistics = TermStatistics()
    for number, chunks in enumerate(documents * 5):
        statistics.add(make_stored_terms(b"", chunks))
        if number % settled == 0:
            statistics.settle()
    counted = statistics.finish()
    made = make_statistics(7, statistics.length, counted)
    found = [chunk for chunks in documents * 5 for chunk in chunks]
    terms = sorted({term for chunk in found for term in chunk})
    columns = {
        "term": terms,
        "chunks": [sum(term in chunk for chunk in found) for term in terms],
        "count": [sum(chunk.get(term, 0) for chunk in found) for term in terms],
    }
    expected = pa.table(columns, schema=made.schema)
    made.validate(full=True)
    assert made == expected
    assert write_statistics(made) == write_statistics(expected)
    assert statistics.length == sum(columns["count"])


def test_the_sums_in_memory_grow_with_the_vocabulary_and_not_with_the_documents(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(term_statistics, "_MERGED_TERMS", 100)
    monkeypatch.setattr(term_statistics, "_TERMS_PENDING", 20)
    statistics = TermStatistics()
    held = []
    for number in range(400):
        words = {f"word{each % 50}": 1 for each in range(number, number + 10)}
        statistics.add(make_stored_terms(b"", [words]))
        held.append(statistics.count_held())
    assert 50 < max(held) <= 50 + 100 + 20
    counted = statistics.finish()
    assert counted.num_rows == 50
    assert statistics.length == 4000


@pytest.mark.parametrize("chunks", DOCUMENTS[:2])
def test_stored_terms_are_those_that_were_counted(chunks: list[dict[str, int]]) -> None:
    assert unpack_lexical(pack_lexical(IDS, chunks)) == (IDS, chunks)


@pytest.mark.process
@pytest.mark.req("STL-1")
def test_an_update_does_not_load_pandas_where_it_is_installed(tmp_path: Path) -> None:
    """It takes half a second, which is more than everything else."""
    (tmp_path / "pandas.py").write_text("__version__ = '2.2.0'\n")
    program = (
        "import io, sys\n"
        "from inorder.documents.embed.storage import make_statistics, write_statistics\n"
        "from inorder.documents.embed.stored import make_stored_terms\n"
        "from inorder.documents.embed.term_statistics import TermStatistics\n"
        "from inorder.documents.parquet import read_table\n"
        "first, second, removed = TermStatistics(), TermStatistics(), TermStatistics()\n"
        "first.add(make_stored_terms(b'', [{'ash': 1, 'elm': 2}]))\n"
        "stored = write_statistics(make_statistics(1, 3, first.finish()))\n"
        "second.start_from(read_table(io.BytesIO(stored)))\n"
        "removed.add(make_stored_terms(b'', [{'ash': 1}]))\n"
        "second.subtract(removed)\n"
        "print(second.finish().to_pydict(), 'pandas' in sys.modules)\n"
    )
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    finished = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60, env=environment
    )
    assert finished.stdout == "{'term': ['elm'], 'chunks': [1], 'count': [2]} False\n"
