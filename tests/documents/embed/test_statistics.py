"""The statistics of the terms of a corpus, and their table."""

import os
import random
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from inorder.documents.embed import term_statistics
from inorder.documents.embed.corpus_statistics import (
    PackedStatistics,
    TermChange,
    change_statistics,
    decode_statistics,
    encode_statistics,
)
from inorder.documents.embed.storage import (
    make_statistics_file,
    make_statistics_table,
    pack_counted,
    read_statistics_file,
)
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
    packed = pack_counted(7, counted)
    made = make_statistics_table(packed)
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
    assert (packed.chunks, packed.length, packed.terms) == (7, sum(columns["count"]), len(terms))


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
    assert (counted.num_rows, pack_counted(1, counted).length) == (50, 4000)


@pytest.mark.parametrize("chunks", DOCUMENTS[:2])
def test_stored_terms_are_those_that_were_counted(chunks: list[dict[str, int]]) -> None:
    assert unpack_lexical(pack_lexical(IDS, chunks)) == (IDS, chunks)


TERMS = ["ash", "elm", "oak", "zwei", "äpfel", "櫟"]


def count_documents(*documents: list[dict[str, int]]) -> PackedStatistics:
    statistics = TermStatistics()
    for chunks in documents:
        statistics.add(make_stored_terms(b"", chunks))
    return pack_counted(sum(map(len, documents)), statistics.finish())


def change_documents(
    known: PackedStatistics, chunks: int, added: list[list[dict[str, int]]], removed: list[list[dict[str, int]]]
) -> PackedStatistics | None:
    change = TermChange()
    for times, documents in ((1, added), (-1, removed)):
        for terms in documents:
            change.add(make_stored_terms(b"", terms), times=times)
    return change_statistics(known, chunks, change)


def make_document(source: random.Random) -> list[dict[str, int]]:
    """Up to three chunks. A frequency takes one byte, four, or, added up, more than four."""
    sizes = (3, 300, 2**31)
    return [
        {term: source.randint(1, source.choice(sizes)) for term in sorted(source.sample(TERMS, source.randint(0, 6)))}
        for _ in range(source.randint(0, 3))
    ]


@pytest.mark.req("RUN-16")
@pytest.mark.parametrize("seed", range(40))
def test_statistics_that_follow_a_change_are_those_of_all_documents(seed: int) -> None:
    source = random.Random(seed)
    kept, removed, added = ([make_document(source) for _ in range(source.randint(0, 4))] for _ in range(3))
    known = decode_statistics(encode_statistics(count_documents(*kept, *removed)))
    assert known is not None
    expected = count_documents(*kept, *added)
    assert change_documents(known, expected.chunks, added, removed) == expected
    assert expected.length == sum(sum(chunk.values()) for document in (*kept, *added) for chunk in document)


@pytest.mark.parametrize(
    "removed", [{"elm": 1}, {"ash": 3}, {"ash": 1}], ids=["an unknown term", "too often", "no chunk left"]
)
def test_statistics_that_lack_what_is_removed_are_counted_again(removed: dict[str, int]) -> None:
    assert change_documents(count_documents([{"ash": 2}]), 0, [], [[removed]]) is None


@pytest.mark.req("RUN-16")
@pytest.mark.parametrize("documents", [[], DOCUMENTS], ids=["none", "some"])
def test_a_file_of_statistics_has_all_that_the_store_has(documents: list[list[dict[str, int]]]) -> None:
    packed = count_documents(*documents)
    content = make_statistics_file(encode_statistics(packed))
    assert decode_statistics(content) is None
    assert make_statistics_file(content) == content, "what an older version has stored"
    assert read_statistics_file(content) == packed
    footer = pq.read_schema(pa.BufferReader(content)).metadata
    assert (int(footer[b"inorder.chunks"]), int(footer[b"inorder.length"])) == (packed.chunks, packed.length)


@pytest.mark.process
@pytest.mark.req("STL-1")
@pytest.mark.parametrize("is_parquet", [False, True], ids=["store", "older version"])
def test_an_update_loads_no_library_of_tables(tmp_path: Path, *, is_parquet: bool) -> None:
    """They take longer than everything else; Pandas half a second, where it is installed. What an older version has
    stored is read with PyArrow."""
    (tmp_path / "pandas.py").write_text("__version__ = '2.2.0'\n")
    content = encode_statistics(count_documents([{"ash": 1, "elm": 2}]))
    (tmp_path / "stored").write_bytes(make_statistics_file(content) if is_parquet else content)
    program = (
        "import sys\n"
        "from inorder.documents.embed.corpus import load_statistics\n"
        "from inorder.documents.embed.corpus_statistics import TermChange, change_statistics\n"
        "from inorder.documents.embed.stored_terms import StoredTerms\n"
        "change = TermChange()\n"
        "change.add(StoredTerms(b'', 'ash', [1], bytes([1])), times=-1)\n"
        "known = load_statistics(open(sys.argv[1], 'rb').read())\n"
        "found = change_statistics(known, 1, change)\n"
        "print(found.text, found.length, [name for name in ('numpy', 'pyarrow', 'pandas') if name in sys.modules])\n"
    )
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    finished = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path / "stored")],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
        env=environment,
    )
    loaded = ["numpy", "pyarrow"] if is_parquet else []
    assert finished.stdout == f"b'elm\\n' 2 {loaded}\n"
